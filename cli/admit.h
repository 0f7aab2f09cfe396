/* SPDX-License-Identifier: Apache-2.0 */
/* admit.h - gpreempt run --mem=MIN:MAX: does a device have MIN for CMD? */
#ifndef GP_CLI_ADMIT_H
#define GP_CLI_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct gp_admit_args
 * @min: bytes that CMD needs; 0: any
 * @device: as gp_devices_open() takes it; NULL: any device will do
 * @wait: until so much is free
 * @turns: CMD's memory takes turns, so it need not be free
 */
struct gp_admit_args {
	uint64_t min;
	const char *device;
	bool wait, turns;
};

/**
 * 0: a device has the memory, or that is not known; GP_EXIT_OWN after one line. It reserves
 * nothing.
 */
int gp_admit(const char *verb, const struct gp_admit_args *args);

#endif
