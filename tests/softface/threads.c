// SPDX-License-Identifier: Apache-2.0
/*
 * threads [--client] - threads use the GPU at the same time and check their results.
 * Odd threads create and destroy contexts of their own. With --client, each thread
 * gives hints through a handle of libgpreempt of its own. Prints "ok" and the number
 * of launches.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bench/gpu/cuda.h"
#include "bench/gpu/gpreempt_dl.h"
#include "bench/gpu/kernels.h"
#include "bench/gpu/work.h"

#define THREADS 4u
#define CONTEXTS 3u /* of an odd thread, one after the other */
#define ROUNDS 10u
#define LAUNCHES 3u
#define BLOCKS 4u
#define ITERS 500u
#define HINT_NS 300000u

struct thread {
	pthread_t id;
	const struct gp_bench_gpu *gpu;
	bool own_context, client;
	unsigned int launches, wrong;
};

static void one_round(struct thread *t, struct gp_work *work, struct gp_bench_client *client)
{
	if (t->client) {
		gp_bench_client_check(client->hint(client->handle, HINT_NS), "gp_hint");
		gp_bench_client_check(client->segment_begin(client->handle), "gp_segment_begin");
	}
	for (unsigned int i = 0; i < LAUNCHES; i++)
		gp_work_launch(work);
	t->launches += LAUNCHES;
	GP_CU(cuStreamSynchronize(work->stream));
	if (t->client)
		gp_bench_client_check(client->segment_end(client->handle), "gp_segment_end");
}

static void use_context(struct thread *t, const struct gp_bench_gpu *gpu)
{
	struct gp_bench_client client;
	struct gp_work work;
	void *stream;

	if (t->client)
		gp_bench_client_open(&client);
	GP_CU(cuStreamCreate(&stream, GP_CU_STREAM_NON_BLOCKING));
	gp_work_open(&work, gpu, GP_WORK_PLAIN, BLOCKS, stream);
	work.iters = ITERS;
	for (unsigned int i = 0; i < ROUNDS; i++)
		one_round(t, &work, &client);
	if (!gp_work_check(&work, NULL))
		t->wrong++;
	GP_CU(cuMemFree_v2(work.buf));
	GP_CU(cuStreamDestroy_v2(stream));
	if (t->client)
		client.close(client.handle);
}

static void own_context(struct thread *t)
{
	struct gp_bench_gpu gpu = *t->gpu;

	GP_CU(cuCtxCreate_v2(&gpu.ctx, GP_CU_CTX_SCHED_BLOCKING, gpu.dev));
	GP_CU(cuModuleLoadData(&gpu.module, gp_kernels_ptx));
	GP_CU(cuModuleGetFunction(&gpu.fn[GP_KERNEL_WORK], gpu.module, "gp_work"));
	use_context(t, &gpu);
	GP_CU(cuCtxDestroy_v2(gpu.ctx));
}

static void *work_thread(void *arg)
{
	struct thread *t = arg;

	for (unsigned int i = 0; i < CONTEXTS; i++) {
		if (t->own_context) {
			own_context(t);
			continue;
		}
		GP_CU(cuCtxSetCurrent(t->gpu->ctx));
		use_context(t, t->gpu);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const bool client = argc == 2 && !strcmp(argv[1], "--client");
	struct thread thread[THREADS] = { 0 };
	unsigned int launches = 0, wrong = 0;
	struct gp_bench_gpu gpu;

	gp_bench_gpu_open(&gpu, GP_CU_CTX_SCHED_BLOCKING);
	for (unsigned int i = 0; i < THREADS; i++) {
		thread[i].gpu = &gpu;
		thread[i].own_context = i & 1;
		thread[i].client = client;
		if (pthread_create(&thread[i].id, NULL, work_thread, &thread[i]))
			return 1;
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(thread[i].id, NULL);
		launches += thread[i].launches;
		wrong += thread[i].wrong;
	}
	printf("%s %u\n", wrong ? "wrong" : "ok", launches);
	return wrong ? 1 : 0;
}
