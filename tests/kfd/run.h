/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - other programs, run by a test: gpreempt, hsaq, the test's own. */
#ifndef KFD_RUN_H
#define KFD_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define RUN_OUTPUT_BYTES 65536

/* The output of the last program that ended. */
extern char run_output[RUN_OUTPUT_BYTES];

/** run_quietly - run argv without showing run_output; exit status, 128 + n for a signal */
int run_quietly(char *const argv[]);
/** run_program - the same, and show run_output */
int run_program(char *const argv[]);

#define RUN(...) run_program((char *const[]){ __VA_ARGS__, NULL })
#define SAYS(word) ok(strstr(run_output, word) != NULL, "it says \"%s\"", word)

/** struct run_program - a program that runs beside the test; its output comes by @from */
struct run_program {
	pid_t pid;
	FILE *from;
};

struct run_program run_beside(char *const argv[]);
/** run_reads - read on until a line has @word in it; all lines are shown */
bool run_reads(struct run_program *p, const char *word);

#define SPAWN(...) run_beside((char *const[]){ __VA_ARGS__, NULL })

/** run_to_file - start a program that appends its output to @path; returns its pid */
pid_t run_to_file(const char *path, char *const argv[]);

/** run_text - n in decimal */
char *run_text(uint64_t n);
/** run_make_count - create a file with a count of 0, for run_map_count() */
volatile uint64_t *run_make_count(const char *path);
volatile uint64_t *run_map_count(const char *path);
/** run_find_libraries - set the library path to the folder of the programs */
void run_find_libraries(void);

#endif
