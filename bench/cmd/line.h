/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line.h - a command, in one line.
 */
#ifndef GP_BENCH_LINE_H
#define GP_BENCH_LINE_H

/** As a shell takes it; the program by its name alone. The caller frees it. NULL: no memory. */
char *gp_command_line(int argc, char *const *argv);

#endif
