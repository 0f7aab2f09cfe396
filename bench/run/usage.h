/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - the CPU time of a process and of all that came of it. */
#ifndef GP_BENCH_RUN_USAGE_H
#define GP_BENCH_RUN_USAGE_H

#include <stdint.h>
#include <sys/types.h>

/**
 * gp_usage_ns() - CPU time of @pid so far, with its descendants and the children it waited for.
 * With gp_process_start_tree() an orphan still counts. Ended processes count to 10 ms, the kernel's
 * resolution. Return: ns; < 0: not in /proc, or no such process.
 */
int64_t gp_usage_ns(pid_t pid);

#endif
