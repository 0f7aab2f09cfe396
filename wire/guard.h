/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - between these two, this thread's waits for a file to be closed end
 * after the limit of gp_wire_guard(); without one, they do nothing.
 */
#ifndef GP_WIRE_GUARD_H
#define GP_WIRE_GUARD_H

#include <stdbool.h>

void gp_guard_up(void);
void gp_guard_down(void);
/** Has this thread one? */
bool gp_guarded(void);

#endif
