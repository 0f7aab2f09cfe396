/* SPDX-License-Identifier: Apache-2.0 */
/*
 * criu.h - stop and continue all queues of another process, by the calls of the stock KFD with
 * which CRIU makes checkpoints. They take root, and fail for a process under a debugger. Pauses
 * do not nest, and outlive the caller. Not part of libhsaq.so.
 */
#ifndef HSAQ_CRIU_H
#define HSAQ_CRIU_H

#include <sys/types.h>

/**
 * Stop the queues of @pid on all its devices, in mid-wave; waits until they are saved. Only for a
 * process that has a queue: NO_HWS of Linux 6.12 panics when a process without memory continues.
 * 0; -ESRCH: it is gone; -ENODEV: it has no file of /dev/kfd; -EPERM: no right, or a debugger.
 */
int gp_amd_pause(pid_t pid);
/** Undo that. 0, also if it was not paused; else as above. */
int gp_amd_unpause(pid_t pid);

#endif
