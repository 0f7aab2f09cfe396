// SPDX-License-Identifier: Apache-2.0
/*
 * tool - a program with segments of libgpreempt and a CUPTI tool of its own, which
 * counts its launches. Prints the result of subscribing, the counted entries and
 * exits, and whether its results are right.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bench/gpu/cuda.h"
#include "bench/gpu/gpreempt_dl.h"
#include "bench/gpu/work.h"
#include "softgpu/cuda/cupti_abi.h"

#define SEGMENTS 20u
#define LAUNCHES 4u
#define BLOCKS 4u
#define ITERS 20000u
#define IDS 1000u

struct cupti {
	int (*subscribe)(void **subscriber, cupti_callback_fn fn, void *user);
	int (*enable)(uint32_t on, void *subscriber, uint32_t domain, uint32_t cbid);
	int (*name)(uint32_t domain, uint32_t cbid, const char **name);
};

static unsigned int count[2];

static void seen(void *user, uint32_t domain, uint32_t cbid, const struct cupti_callback_data *data)
{
	count[data->site]++;
}

static bool load(struct cupti *cupti)
{
	void *lib = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return false;
	*(void **)&cupti->subscribe = dlsym(lib, "cuptiSubscribe");
	*(void **)&cupti->enable = dlsym(lib, "cuptiEnableCallback");
	*(void **)&cupti->name = dlsym(lib, "cuptiGetCallbackName");
	return cupti->subscribe && cupti->enable && cupti->name;
}

static void enable_launches(const struct cupti *cupti, void *subscriber)
{
	const char *name;

	for (uint32_t id = 1; id < IDS; id++)
		if (!cupti->name(CUPTI_DOMAIN_DRIVER_API, id, &name) &&
		    !strcmp(name, "cuLaunchKernel"))
			cupti->enable(1, subscriber, CUPTI_DOMAIN_DRIVER_API, id);
}

static void one_segment(struct gp_work *work, const struct gp_bench_client *client)
{
	gp_bench_client_check(client->segment_begin(client->handle), "gp_segment_begin");
	for (unsigned int i = 0; i < LAUNCHES; i++)
		gp_work_launch(work);
	GP_CU(cuCtxSynchronize());
	gp_bench_client_check(client->segment_end(client->handle), "gp_segment_end");
}

int main(void)
{
	struct gp_bench_client client = { 0 };
	struct cupti cupti = { 0 };
	void *subscriber, *stream;
	struct gp_bench_gpu gpu;
	struct gp_work work;
	int error;
	bool right;

	gp_bench_gpu_open(&gpu, GP_CU_CTX_SCHED_BLOCKING);
	if (!load(&cupti)) {
		fprintf(stderr, "tool: no libcupti.so.13: %s\n", dlerror());
		return 1;
	}
	error = cupti.subscribe(&subscriber, seen, NULL);
	if (!error)
		enable_launches(&cupti, subscriber);
	gp_bench_client_open(&client);
	GP_CU(cuStreamCreate(&stream, GP_CU_STREAM_NON_BLOCKING));
	gp_work_open(&work, &gpu, GP_WORK_PLAIN, BLOCKS, stream);
	work.iters = ITERS;
	for (unsigned int i = 0; i < SEGMENTS; i++)
		one_segment(&work, &client);
	right = gp_work_check(&work, NULL);
	client.close(client.handle);
	printf("subscribe=%d entered=%u left=%u of %u result=%s\n", error, count[0], count[1],
	       SEGMENTS * LAUNCHES, right ? "right" : "WRONG");
	return right ? 0 : 1;
}
