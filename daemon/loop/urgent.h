/* SPDX-License-Identifier: Apache-2.0 */
/*
 * urgent.h - threads that run before all programs without a real-time priority. On a busy machine
 * a thread of nice -10 may wait for a tick of the kernel: 4 ms, and more for each thread that it
 * waits for.
 */
#ifndef GP_DAEMON_URGENT_H
#define GP_DAEMON_URGENT_H

#include <pthread.h>
#include <stdbool.h>

/** @thread is urgent from now on, if this process may have such threads, or no longer. */
void gp_urgent_set(pthread_t thread, bool urgent);

/** Is the calling thread urgent? What it makes is, too, unless it is made otherwise. */
bool gp_urgent_is(void);

#endif
