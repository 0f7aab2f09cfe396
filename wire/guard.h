/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - between these two calls, the limit of gp_wire_guard() bounds this thread's waits
 * for a file to be closed. Without a guard they do nothing.
 */
#ifndef GP_WIRE_GUARD_H
#define GP_WIRE_GUARD_H

#include <stdbool.h>

void gp_guard_up(void);
void gp_guard_down(void);
/** Does this thread have a guard? */
bool gp_guarded(void);

#endif
