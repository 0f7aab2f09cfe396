// SPDX-License-Identifier: Apache-2.0
/*
 * live.cu - gp_live_R of kernels.h. `make bench-ptx` makes live_ptx.c of it: a module of its
 * own, since they take longer to compile than all others, and few programs want them.
 */
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#include <stdint.h>

#include "bodies.h"
#include "kernels.h"

#define KERNEL(registers, pairs)                                                             \
	extern "C" __global__ void __launch_bounds__(GP_LIVE_THREADS(registers))             \
	gp_live_##registers(uint32_t *buf, const uint32_t *in, uint32_t mul, uint32_t iters, \
			    uint32_t one)                                                    \
	{                                                                                    \
		const uint32_t g = blockIdx.x * blockDim.x + threadIdx.x;                    \
		const uint32_t x = in ? buf[g] + in[g] : buf[g];                             \
											     \
		buf[g] = gp_body_live_##registers(x, mul, 2 * g + 1, iters, one);            \
	}
GP_LIVE_KERNELS(KERNEL)
