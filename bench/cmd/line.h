/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line.h - a command, in one line.
 */
#ifndef GP_BENCH_LINE_H
#define GP_BENCH_LINE_H

/** Quoted for a shell; the program without its folder. The caller frees it. NULL: no memory. */
char *gp_command_line(int argc, char *const *argv);

#endif
