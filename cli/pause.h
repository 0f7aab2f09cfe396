/* SPDX-License-Identifier: Apache-2.0 */
/* pause.h - gpreempt attach --pause. */
#ifndef GP_CLI_PAUSE_H
#define GP_CLI_PAUSE_H

#include <stdint.h>
#include <sys/types.h>

#define GP_PAUSE_NS 20000000u
#define GP_PAUSE_MIN_NS 1000000u
#define GP_PAUSE_MAX_NS 1000000000u

/**
 * Stand in for process @pid: pause it while LC processes ask for it, at most @limit_ns at a time,
 * until it ends or a signal comes. @weight: its weight, for gpreempt ls. Returns the exit status.
 */
int gp_pause_run(pid_t pid, uint32_t weight, uint64_t limit_ns);

#endif
