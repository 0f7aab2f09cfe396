/* SPDX-License-Identifier: Apache-2.0 */
/* why.h - a reason of gpreemptd's, in words. */
#ifndef GP_CLI_WHY_H
#define GP_CLI_WHY_H

#include <stddef.h>
#include <stdio.h>

#include "wire/wire.h"

/** "turn" for GP_WHY_TURN, and so on; "unknown". */
const char *gp_why_name(uint32_t reason);

/** Why it is as @reason says: one or two sentences, no newline. */
void gp_why_sentence(FILE *out, const struct gp_wire_reason *reason);

/**
 * What it costs that an LC @tenant does not announce its work, no newline: nothing is
 * written when it does, or is not LC. @device: what one change took on average, so
 * far; may be NULL.
 */
void gp_why_late(FILE *out, const struct gp_wire_tenant *tenant,
		 const struct gp_wire_device *device);

#endif
