/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roundtrip.h - bytes from pinned memory to the device, and back to other pinned memory. An error
 * of CUDA's ends the program with a line. Not for several threads.
 */
#ifndef GP_BENCH_ROUNDTRIP_H
#define GP_BENCH_ROUNDTRIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/gpu/cuda.h"

struct gp_roundtrip {
	size_t bytes; /* 0: none, and all calls do nothing */
	void *stream; /* borrowed */
	uint64_t device;
	uint64_t *in, *out; /* pinned */
	uint64_t trips;	    /* since open */
};

/** @bytes: at least 8, a multiple of 8, or 0. */
void gp_roundtrip_open(struct gp_roundtrip *trip, size_t bytes, void *stream);
/** Queue the copy to the device. */
void gp_roundtrip_in(struct gp_roundtrip *trip);
/** Queue the copy back. */
void gp_roundtrip_out(struct gp_roundtrip *trip);
/** Wait for all. Is what came back the last that went in? */
bool gp_roundtrip_check(struct gp_roundtrip *trip);

#endif
