// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/shape.h"

#include "bench/gpu/hip.h"

static const struct {
	const char *name;
	uint32_t registers;
} live[GP_SHAPES] = {
#define LIVE(registers, pairs) { "gp_live_" #registers, registers },
	GP_LIVE_KERNELS(LIVE)
#undef LIVE
};

void gp_shapes_open(struct gp_shapes *shapes, const struct gp_bench_gpu *gpu)
{
	const void *image = gp_cu.is_hip ? gp_hip_kernels() : gp_live_ptx;
	void *module;
	int value;

	GP_CU(cuModuleLoadData(&module, image));
	for (size_t i = 0; i < GP_SHAPES; i++) {
		struct gp_shape *s = &shapes->most[i];

		*s = (struct gp_shape){ .registers = live[i].registers };
		GP_CU(cuModuleGetFunction(&s->fn, module, live[i].name));
		GP_CU(cuFuncGetAttribute(&value, GP_CU_FUNCTION_THREADS_MAX, s->fn));
		s->threads = (uint32_t)value;
	}
	GP_CU(cuDeviceGetAttribute(&value, GP_CU_DEVICE_SHARED_BYTES_MAX, gpu->dev));
	shapes->shared_max = (uint32_t)value;
}

/* With as many registers, if a block of so many threads can have them. */
static const struct gp_shape *kernel_for(const struct gp_shapes *shapes, uint32_t threads,
					 uint32_t registers)
{
	const struct gp_shape *found = &shapes->most[0];

	for (size_t i = 1; i < GP_SHAPES && found->registers < registers; i++)
		if (shapes->most[i].threads >= threads)
			found = &shapes->most[i];
	return found;
}

/* More than 48 KiB a kernel has to ask for beforehand. */
static void allow_shared(void *fn, uint32_t bytes)
{
	int allowed;

	GP_CU(cuFuncGetAttribute(&allowed, GP_CU_FUNCTION_SHARED_BYTES, fn));
	if (allowed < (int)bytes)
		GP_CU(cuFuncSetAttribute(fn, GP_CU_FUNCTION_SHARED_BYTES, (int)bytes));
}

static uint32_t at_most(uint32_t value, uint32_t most)
{
	return value < most ? value : most;
}

struct gp_shape gp_shapes_near(const struct gp_shapes *shapes, struct gp_shape wanted)
{
	const struct gp_shape *most = kernel_for(shapes, wanted.threads, wanted.registers);
	const struct gp_shape near = {
		.fn = most->fn,
		.threads = at_most(wanted.threads, most->threads),
		.registers = most->registers,
		.shared_bytes = at_most(wanted.shared_bytes, shapes->shared_max),
	};

	allow_shared(near.fn, near.shared_bytes);
	return near;
}
