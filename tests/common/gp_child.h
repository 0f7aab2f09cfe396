/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_CHILD_H
#define GP_CHILD_H

#include <sys/types.h>

/** A child that does nothing until it is killed, or the test has ended. */
pid_t gp_child_start(void);

/** Kill @pid, a child, and wait for its end. Legal if it has ended. */
void gp_child_end(pid_t pid);

#endif
