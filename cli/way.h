/* SPDX-License-Identifier: Apache-2.0 */
/* way.h - how gpreempt comes into a program, read from the program's file. */
#ifndef GP_CLI_WAY_H
#define GP_CLI_WAY_H

#include <stdbool.h>

/** The ways into a program that work; @why: one line for users. */
struct gp_way {
	bool preload;	/* LD_PRELOAD: all driver calls are seen */
	bool injection; /* CUDA_INJECTION64_PATH: channel groups, and later lookups of calls */
	const char *why;
};

/**
 * gp_way_find() - the ways into @cmd.
 * @cmd: as execvp() takes it; a script stands for its interpreter. NULL, or a file that cannot
 *	be read: an ordinary program.
 */
void gp_way_find(const char *cmd, struct gp_way *way);
/** LD_PRELOAD begins with AddressSanitizer's library, which must stay there. */
bool gp_way_asan_first(void);

#endif
