/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - a program whose lines are read, and which is written lines to. */
#ifndef GP_BENCH_RUN_PROCESS_H
#define GP_BENCH_RUN_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gp_process {
	pid_t pid;	 /* 0: none */
	int in, out;	 /* its stdin, -1 once that is at its end, and its stdout */
	char line[4096]; /* read and not returned yet */
	size_t have;
};

/** Its stderr is ours, and it ends when we do. 0, or negative errno. */
int gp_process_start(struct gp_process *p, char *const argv[]);
/** The same. It becomes the parent of its descendants that lose theirs. */
int gp_process_start_tree(struct gp_process *p, char *const argv[]);
/**
 * The next of its lines that begins with @word, in @line. 0; -ETIMEDOUT; -EPIPE: it said
 * no more.
 */
int gp_process_expect(struct gp_process *p, const char *word, uint64_t timeout_ms, char *line,
		      size_t len);
/** 0; -EPIPE: it has ended. SIGPIPE has to be ignored. */
int gp_process_send(struct gp_process *p, const char *line);
/** Its input is at its end. */
void gp_process_say_no_more(struct gp_process *p);
/** True if it has ended by itself, with the @status of gp_process_end(). */
bool gp_process_has_ended(const struct gp_process *p, int *status);
/** Its exit status, once it has ended by itself; -ETIMEDOUT: it was killed. */
int gp_process_end(struct gp_process *p, uint64_t timeout_ms);
/** In any state. */
void gp_process_kill(struct gp_process *p);

#endif
