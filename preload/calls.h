/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - the functions that the app gets instead of the driver's. */
#ifndef GP_PRELOAD_CALLS_H
#define GP_PRELOAD_CALLS_H

#include <stdbool.h>

#include "preload/layer.h"

void gp_calls_start(const struct gp_stub *stub);
/** As gp_layer.answer. */
void *gp_calls_answer(unsigned int id, void *found);
/**
 * For programs that the stub does not precede: lookups and calls that lead straight to the C
 * library and to libcuda pass through the stub from now on. Pointers that the program has
 * already do not.
 */
void gp_calls_patch_imports(void);
/** The driver's own function @symbol; NULL: none is loaded, or has it. */
void *gp_calls_driver(const char *symbol);
/** False: GPREEMPT_INTERCEPT=0, and lookups get the driver's own functions. */
bool gp_calls_intercepted(void);

#endif
