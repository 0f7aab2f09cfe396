/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mps.h - commands for NVIDIA's control daemon of MPS, by its own program. Which daemon that is
 * says CUDA_MPS_PIPE_DIRECTORY of this process.
 */
#ifndef GP_DAEMON_MPS_H
#define GP_DAEMON_MPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GP_MPS_TEXT 4096

/** Start the control daemon. 0; -ETIMEDOUT; -EIO: it failed, and has said why on stderr. */
int gp_mps_start(void);
/**
 * Send @command; @answer gets its output, and ends. 0; -ETIMEDOUT; -EIO: no daemon, or it failed.
 */
int gp_mps_ask(const char *command, char answer[GP_MPS_TEXT]);
/** At most @max PIDs that @command prints. Their number; negative errno, as gp_mps_ask(). */
ssize_t gp_mps_pids(const char *command, pid_t *pid, size_t max);
/** Is @pid a process of MPS, of this user? Another process may have its number. */
bool gp_mps_is(pid_t pid);
/** End process @pid of MPS, by force. */
void gp_mps_kill(pid_t pid);

#endif
