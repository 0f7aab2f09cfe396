/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - the CPU time of a process and of all that came of it. */
#ifndef GP_BENCH_DEVICE_USAGE_H
#define GP_BENCH_DEVICE_USAGE_H

#include <stdint.h>
#include <sys/types.h>

/**
 * gp_usage_ns() - what @pid has used so far, with those below it and those who were waited
 * for: whose parent ends goes on counting where @pid was begun by gp_process_start_tree().
 * Of those who have ended it is to 10 ms, as the kernel tells no more.
 * Return: ns; < 0: /proc does not tell, or there is no such process.
 */
int64_t gp_usage_ns(pid_t pid);

#endif
