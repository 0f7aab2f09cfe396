/* SPDX-License-Identifier: Apache-2.0 */
/* why.h - gpreemptd's reason as text. */
#ifndef GP_CLI_WHY_H
#define GP_CLI_WHY_H

#include <stddef.h>
#include <stdio.h>

#include "wire/wire.h"

/** "turn" for GP_WHY_TURN, and so on; "unknown". */
const char *gp_why_name(uint32_t reason);

/** Prints one or two sentences on @reason, no newline. */
void gp_why_sentence(FILE *out, const struct gp_wire_reason *reason);

/** For a tenant with GP_WIRE_PILES: what that means for it. */
void gp_why_piles(FILE *out);
/**
 * Prints the cost of an LC @tenant's work without hints, no newline. Prints nothing if it
 * gives hints, or is not LC. @device: for the average time of one control so far; may be NULL.
 */
void gp_why_late(FILE *out, const struct gp_wire_tenant *tenant,
		 const struct gp_wire_device *device);

#endif
