// SPDX-License-Identifier: Apache-2.0
/*
 * both - one process on all devices at once. As BE program, a thread for each device keeps two
 * kernels queued there. With --requests it is an LC program: every period a request has kernels
 * on all devices, and ends with the last of them. --hint-us gives hints. It starts at a line on
 * stdin; a BE program ends at the next line.
 *
 * Until the devices before it are done, no work is queued behind a device's last kernel. So that
 * kernel may be preempted (docs/nvidia.md, "Holds"). --segment marks the device as needed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/cuda.h"
#include "bench/gpu/gpreempt_dl.h"
#include "bench/gpu/opts.h"
#include "bench/plan/samples.h"
#include "bench/gpu/work.h"

#define DEVICES_MAX 16
#define QUEUED 2
#define LC_BLOCKS 32
#define LC_KERNELS 5
#define WARMUP 20

static struct {
	char out[512];
	uint64_t iters, blocks, requests, period_us, hint_us;
	bool segment;
} opt = { .period_us = 5000 };

static const struct gp_opt opts[] = {
	{ .name = "out",
	  .text = opt.out,
	  .text_len = sizeof(opt.out),
	  .help = "files for the completion times, ns, one a line; .NUMBER of the device is "
		  "added" },
	{ .name = "iters",
	  .number = &opt.iters,
	  .help = "iterations of a kernel, from be --calibrate or lc --calibrate" },
	{ .name = "blocks",
	  .number = &opt.blocks,
	  .help = "grid of best-effort (the whole device)" },
	{ .name = "requests",
	  .number = &opt.requests,
	  .help = "number of latency-critical requests" },
	{ .name = "period-us", .number = &opt.period_us, .help = "time between requests (5000)" },
	{ .name = "hint-us",
	  .number = &opt.hint_us,
	  .help = "time from a hint to its work (0: no hints)" },
	{ .name = "segment",
	  .flag = &opt.segment,
	  .help = "declare each request as a segment, on each device" },
};

struct device {
	struct gp_bench_gpu gpu;
	struct gp_work work;
	struct gp_bench_client client;
	void *event[QUEUED];
	FILE *out;
	pthread_t thread;
	uint64_t kernels;
};

static struct device device[DEVICES_MAX];
static int devices;
static _Atomic int stop;

/* ---- best-effort ----------------------------------------------------------- */

static void finish_one(struct device *d, uint64_t number)
{
	GP_CU(cuEventSynchronize(d->event[number % QUEUED]));
	if (d->out) {
		fprintf(d->out, "%llu\n", (unsigned long long)gp_clock_now_ns());
		fflush(d->out);
	}
}

static void *keep_busy(void *arg)
{
	struct device *d = arg;
	uint64_t done = 0;

	GP_CU(cuCtxSetCurrent(d->gpu.ctx));
	for (d->kernels = 0; !stop; d->kernels++) {
		if (d->kernels - done == QUEUED)
			finish_one(d, done++);
		gp_work_launch(&d->work);
		GP_CU(cuEventRecord(d->event[d->kernels % QUEUED], d->work.stream));
	}
	while (done < d->kernels)
		finish_one(d, done++);
	return NULL;
}

static void best_effort(void)
{
	for (int i = 0; i < devices; i++)
		if (pthread_create(&device[i].thread, NULL, keep_busy, &device[i]))
			exit(1);
	while (!gp_clock_wait_readable(0))
		;
	stop = 1;
	for (int i = 0; i < devices; i++)
		pthread_join(device[i].thread, NULL);
}

/* ---- latency-critical -------------------------------------------------------- */

static void hint(const struct gp_bench_client *client, uint64_t intended_ns)
{
	const uint64_t now_ns = gp_clock_now_ns();

	gp_bench_client_check(client->hint(client->handle,
					   now_ns < intended_ns ? intended_ns - now_ns : 0),
			      "gp_hint");
}

static void segment_begin(const struct gp_bench_client *client)
{
	if (opt.segment)
		gp_bench_client_check(client->segment_begin(client->handle), "gp_segment_begin");
}

static void segment_end(const struct gp_bench_client *client)
{
	if (opt.segment)
		gp_bench_client_check(client->segment_end(client->handle), "gp_segment_end");
}

static uint64_t request(uint64_t intended_ns)
{
	if (opt.hint_us) {
		gp_clock_sleep_until(intended_ns - opt.hint_us * 1000);
		for (int i = 0; i < devices; i++)
			hint(&device[i].client, intended_ns);
	}
	gp_clock_sleep_until(intended_ns);
	for (int i = 0; i < devices; i++)
		segment_begin(&device[i].client);
	for (int k = 0; k < LC_KERNELS; k++) {
		for (int i = 0; i < devices; i++) {
			GP_CU(cuCtxSetCurrent(device[i].gpu.ctx));
			gp_work_launch(&device[i].work);
		}
	}
	for (int i = 0; i < devices; i++) {
		GP_CU(cuCtxSetCurrent(device[i].gpu.ctx));
		GP_CU(cuStreamSynchronize(device[i].work.stream));
		segment_end(&device[i].client);
	}
	return gp_clock_now_ns() - intended_ns;
}

static void latency_critical(void)
{
	uint64_t *took_ns = calloc(opt.requests + WARMUP, sizeof(*took_ns));
	const uint64_t period_ns = opt.period_us * 1000;
	uint64_t at_ns = gp_clock_now_ns() + opt.hint_us * 1000 + period_ns;

	if (!took_ns)
		exit(1);
	for (uint64_t i = 0; i < opt.requests + WARMUP; i++, at_ns += period_ns)
		took_ns[i] = request(at_ns);
	gp_samples_sort(took_ns + WARMUP, opt.requests);
	printf("both requests=%llu p50_ns=%llu p99_ns=%llu max_ns=%llu",
	       (unsigned long long)opt.requests,
	       (unsigned long long)gp_samples_rank(took_ns + WARMUP, opt.requests, 500),
	       (unsigned long long)gp_samples_rank(took_ns + WARMUP, opt.requests, 990),
	       (unsigned long long)gp_samples_rank(took_ns + WARMUP, opt.requests, 1000));
	free(took_ns);
}

/* ---- both kinds ------------------------------------------------------------ */

static void open_out(struct device *d, int number)
{
	char path[sizeof(opt.out) + 16];

	snprintf(path, sizeof(path), "%s.%d", opt.out, number);
	d->out = fopen(path, "we");
	if (!d->out) {
		fprintf(stderr, "both: %s: %s\n", path, strerror(errno));
		exit(1);
	}
}

static void open_device(struct device *d, int number)
{
	const bool lc = opt.requests;
	void *stream;

	gp_bench_gpu_open_nth(&d->gpu, number,
			      lc ? GP_CU_CTX_SCHED_SPIN : GP_CU_CTX_SCHED_BLOCKING);
	GP_CU(cuStreamCreate(&stream, GP_CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < QUEUED; i++)
		GP_CU(cuEventCreate(&d->event[i],
				    GP_CU_EVENT_BLOCKING_SYNC | GP_CU_EVENT_DISABLE_TIMING));
	gp_work_open(&d->work, &d->gpu, GP_WORK_PLAIN, lc ? LC_BLOCKS : (uint32_t)opt.blocks,
		     stream);
	d->work.iters = (uint32_t)opt.iters;
	if (lc && (opt.hint_us || opt.segment))
		gp_bench_client_open(&d->client);
	if (opt.out[0])
		open_out(d, number);
}

int main(int argc, char **argv)
{
	bool right = true;
	char line[16];

	gp_opts_parse(opts, sizeof(opts) / sizeof(*opts), argc, argv);
	setvbuf(stdin, NULL, _IONBF, 0); /* poll() sees all there is */
	if (!opt.iters || opt.iters > UINT32_MAX) {
		fprintf(stderr, "both: --iters: write the number that be --calibrate or lc "
				"--calibrate prints\n");
		return 2;
	}
	devices = gp_bench_gpu_count();
	devices = devices < DEVICES_MAX ? devices : DEVICES_MAX;
	for (int i = 0; i < devices; i++)
		open_device(&device[i], i);
	printf("ready pid=%d devices=%d\n", (int)getpid(), devices);
	fflush(stdout);
	while (!gp_clock_wait_readable(0))
		;
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	if (opt.requests)
		latency_critical();
	else
		best_effort();
	for (int i = 0; i < devices; i++) {
		GP_CU(cuCtxSetCurrent(device[i].gpu.ctx));
		right = gp_work_check(&device[i].work, NULL) && right;
	}
	printf("%s result=%s\n", opt.requests ? "" : "both", right ? "right" : "WRONG");
	return right ? 0 : 1;
}
