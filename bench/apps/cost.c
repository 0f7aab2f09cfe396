// SPDX-License-Identifier: Apache-2.0
/*
 * cost - CPU time on the calling thread of kernel launches, in a row and two after a rest. With
 * --hold also of gp_hold() and gp_release() together, in a row and after a rest. In a rest the CPU
 * sleeps and loses its caches. It prints the cost of reading the clock after a rest, too. Each
 * figure contains it once, hold and release twice. Run it with and without gpreempt.
 */
#include <stdio.h>
#include <time.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/cuda.h"
#include "bench/gpu/gpreempt_dl.h"
#include "bench/gpu/opts.h"
#include "bench/plan/samples.h"
#include "bench/gpu/work.h"

#define BATCH 100u
#define MAX_ROUNDS 1000u
#define HOLD_LIMIT_NS 5000000u
#define REST_NS 1000000u

static uint64_t rounds = 200;
static bool with_hold;

static const struct gp_opt opts[] = {
	{ .name = "rounds", .number = &rounds, .help = "at most 1000 (200)" },
	{ .name = "hold", .flag = &with_hold, .help = "measure gp_hold() and gp_release() too" },
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A batch fits the queue, so that no launch waits for the device. */
static uint64_t launch_cost_ns(struct gp_work *work)
{
	const uint64_t start_ns = cpu_ns();
	uint64_t took_ns;

	for (unsigned int i = 0; i < BATCH; i++)
		gp_work_launch(work);
	took_ns = cpu_ns() - start_ns;
	GP_CU(cuStreamSynchronize(work->stream));
	return took_ns / BATCH;
}

static void rest(void)
{
	gp_clock_sleep_until(gp_clock_now_ns() + REST_NS);
}

/* The time between two readings of the clock in a row. */
static uint64_t clock_cost_ns(void)
{
	uint64_t start_ns;

	rest();
	start_ns = cpu_ns();
	return cpu_ns() - start_ns;
}

static uint64_t rested_cost_ns(struct gp_work *work)
{
	uint64_t start_ns, took_ns;

	rest();
	start_ns = cpu_ns();
	gp_work_launch(work);
	gp_work_launch(work);
	took_ns = cpu_ns() - start_ns;
	GP_CU(cuStreamSynchronize(work->stream));
	return took_ns;
}

static uint64_t hold_cost_ns(struct gp_bench_client *client, bool rested)
{
	uint64_t start_ns, took_ns;

	start_ns = cpu_ns();
	gp_bench_client_check(client->hold(client->handle, HOLD_LIMIT_NS), "gp_hold");
	took_ns = cpu_ns() - start_ns;
	if (rested)
		rest();
	start_ns = cpu_ns();
	gp_bench_client_check(client->release(client->handle), "gp_release");
	took_ns += cpu_ns() - start_ns;
	/* Spins until the hold's kernels have ended. */
	GP_CU(cuCtxSynchronize());
	if (rested)
		rest();
	return took_ns;
}

static void print_row(const char *name, uint64_t *value, size_t count)
{
	gp_samples_sort(value, count);
	printf(" %s_p50_ns=%llu %s_p99_ns=%llu", name,
	       (unsigned long long)gp_samples_rank(value, count, 500), name,
	       (unsigned long long)gp_samples_rank(value, count, 990));
}

static void print_holds(struct gp_bench_client *client, const char *name, bool rested)
{
	uint64_t value[MAX_ROUNDS];

	hold_cost_ns(client, rested);
	for (uint64_t i = 0; i < rounds; i++)
		value[i] = hold_cost_ns(client, rested);
	print_row(name, value, rounds);
}

int main(int argc, char **argv)
{
	uint64_t value[MAX_ROUNDS];
	struct gp_bench_client client = { 0 };
	struct gp_bench_gpu gpu;
	struct gp_work work;
	void *stream;

	gp_opts_parse(opts, sizeof(opts) / sizeof(*opts), argc, argv);
	if (rounds > MAX_ROUNDS)
		rounds = MAX_ROUNDS;
	gp_bench_gpu_open(&gpu, GP_CU_CTX_SCHED_SPIN);
	GP_CU(cuStreamCreate(&stream, GP_CU_STREAM_NON_BLOCKING));
	gp_work_open(&work, &gpu, GP_WORK_PLAIN, 1, stream);
	work.iters = 1;
	launch_cost_ns(&work);
	for (uint64_t i = 0; i < rounds; i++)
		value[i] = launch_cost_ns(&work);
	printf("cost");
	print_row("launch", value, rounds);
	for (uint64_t i = 0; i < rounds; i++)
		value[i] = rested_cost_ns(&work);
	print_row("rested", value, rounds);
	for (uint64_t i = 0; i < rounds; i++)
		value[i] = clock_cost_ns();
	print_row("clock", value, rounds);
	if (with_hold) {
		gp_bench_client_open(&client);
		print_holds(&client, "hold", false);
		print_holds(&client, "rested_hold", true);
		client.close(client.handle);
	}
	putchar('\n');
	return 0;
}
