/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - other programs, run by a test: gpreempt, hsaq, the test's own. */
#ifndef KFD_RUN_H
#define KFD_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define RUN_OUTPUT_BYTES 65536

/* What the last one wrote, that ended. */
extern char run_output[RUN_OUTPUT_BYTES];

/** run_quietly - exit status of argv, 128 + n of a signal; run_output is not shown */
int run_quietly(char *const argv[]);
/** run_program - the same, and shown */
int run_program(char *const argv[]);

#define RUN(...) run_program((char *const[]){ __VA_ARGS__, NULL })
#define SAYS(word) ok(strstr(run_output, word) != NULL, "it says \"%s\"", word)

/** struct run_program - one that runs on beside us; its output comes by @from */
struct run_program {
	pid_t pid;
	FILE *from;
};

struct run_program run_beside(char *const argv[]);
/** run_reads - read on until a line has @word in it; all lines are shown */
bool run_reads(struct run_program *p, const char *word);

#define SPAWN(...) run_beside((char *const[]){ __VA_ARGS__, NULL })

/** run_to_file - one that runs on, and writes to the end of @path. Its pid */
pid_t run_to_file(const char *path, char *const argv[]);

/** run_text - n in decimal */
char *run_text(uint64_t n);
/** run_make_count - a file with a count in it, 0, for run_map_count() */
volatile uint64_t *run_make_count(const char *path);
volatile uint64_t *run_map_count(const char *path);
/** run_find_libraries - they are looked for beside the programs, as in a build's folder */
void run_find_libraries(void);

#endif
