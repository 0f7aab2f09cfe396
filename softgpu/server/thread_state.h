/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_state.h - what the kernel reports of a thread. The server asks at each event, so it reads
 * the files that the kernel writes fastest: `stat` and `schedstat` take a third of the time of
 * `status`.
 */
#ifndef GP_SOFTGPU_SERVER_THREAD_STATE_H
#define GP_SOFTGPU_SERVER_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Descriptors; -1: the thread is not known, or gone. */
struct soft_thread_files {
	int stat;
	int count; /* `schedstat`; `status`, if the kernel has no such figures */
};

#define SOFT_NO_THREAD ((struct soft_thread_files){ .stat = -1, .count = -1 })

void soft_thread_open(struct soft_thread_files *files, pid_t pid, pid_t tid);
void soft_thread_close(struct soft_thread_files *files);

/** Its state letter, and how often it had a CPU or lost it. False: it is gone. */
bool soft_thread_read(const struct soft_thread_files *files, char *letter, uint64_t *switches);

/** The state letter of thread @tid of the open /proc/PID/task; 'X': it is gone. */
char soft_thread_letter(int tasks_fd, const char *tid);

/** Its CPU time. False: it is gone, or the kernel does not count that. */
bool soft_thread_cpu(int tasks_fd, const char *tid, uint64_t *ns);

#endif
