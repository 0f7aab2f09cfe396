/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h - what the stencil comes to, by the CPU. Pure. */
#ifndef GP_BENCH_SWEEP_H
#define GP_BENCH_SWEEP_H

#include <stdint.h>

/** One step over @cell, along x (in @from's rows) or z, into @to. At least 4 by 4. */
void gp_sweep(const uint32_t *from, uint32_t *to, uint32_t width, uint32_t height,
	      uint32_t along_z);

#endif
