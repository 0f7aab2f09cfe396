/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - a program that frees its device memory itself, such as an inference engine with calls
 * for sleep and wake. The mover makes these calls, without gp_memory.lock: the program allocates
 * and frees meanwhile. A move comes only if the program does not free enough.
 */
#ifndef GP_PRELOAD_HOOK_H
#define GP_PRELOAD_HOOK_H

#include <stdbool.h>

/** @text as gp_hook_parse() takes it, or NULL. Before any thread. */
void gp_memory_hook_start(const char *text);

/* The rest is for the mover. */

/** It has such calls, and is awake. */
bool gp_memory_hook_is_awake(void);
/** Let it free memory. False: it did not say in time that it has. */
bool gp_memory_hook_sleep(void);
/** It had the call for its sleep, and not yet that for its wake. */
bool gp_memory_hook_sleeps(void);
/** If there is room for the memory that it freed, let it take that again. */
void gp_memory_hook_wake(void);

#endif
