// SPDX-License-Identifier: Apache-2.0
/*
 * be - a best-effort program: kernels of fixed work back to back, two always queued. Knows nothing
 * of gpreempt. Prints their number and a checksum of their common result, which it checks. Writes
 * each kernel's completion time to a file as it happens.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/cuda.h"
#include "bench/gpu/die.h"
#include "bench/gpu/kind.h"
#include "bench/gpu/opts.h"
#include "bench/gpu/roundtrip.h"
#include "bench/gpu/work.h"

#define QUEUED 2

static struct {
	char kind[16];
	char out[512], workload[64];
	uint64_t kernel_us, iters, blocks, seconds, kernels, copy_bytes;
	uint64_t die_after_us, die_signal;
	bool calibrate, control;
} opt = { .kind = "plain", .kernel_us = 10000, .die_signal = SIGKILL };

static const struct gp_opt opts[] = {
	{ .name = "kind",
	  .text = opt.kind,
	  .text_len = sizeof(opt.kind),
	  .help = "plain (default), smem, tensor, coop, graph, memory or live" },
	{ .name = "out",
	  .text = opt.out,
	  .text_len = sizeof(opt.out),
	  .help = "file for the completion times, ns, one a line" },
	{ .name = "kernel-us",
	  .number = &opt.kernel_us,
	  .help = "length of a kernel, alone (default 10000)" },
	{ .name = "iters",
	  .number = &opt.iters,
	  .help = "iterations of a kernel, from --calibrate: measures nothing" },
	{ .name = "blocks", .number = &opt.blocks, .help = "grid (default: the whole device)" },
	{ .name = "seconds",
	  .number = &opt.seconds,
	  .help = "time limit (default: until SIGTERM or end of input)" },
	{ .name = "kernels", .number = &opt.kernels, .help = "number of kernels" },
	{ .name = "workload",
	  .text = opt.workload,
	  .text_len = sizeof(opt.workload),
	  .help = "instead of kernels, requests of this one, such as uvm:64MiB" },
	{ .name = "copy-bytes",
	  .number = &opt.copy_bytes,
	  .help = "instead of each kernel, copy so many in and out, a multiple of 8" },
	{ .name = "die-after-us",
	  .number = &opt.die_after_us,
	  .help = "raise --die-signal this long after the first kernel" },
	{ .name = "die-signal", .number = &opt.die_signal, .help = "(9)" },
	{ .name = "calibrate",
	  .flag = &opt.calibrate,
	  .help = "print the iterations that --kernel-us takes here, and end" },
	{ .name = "control",
	  .flag = &opt.control,
	  .help = "start paused; lines on stdin: go, pause, quit" },
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = 1;
}

struct be {
	struct gp_work work;
	struct gp_roundtrip trip; /* no bytes: kernels */
	struct gp_job *job;	  /* NULL: kernels */
	void *event[QUEUED];
	FILE *out;
	uint64_t started, done; /* kernels */
	uint64_t end_ns;	/* 0: no end by time */
	bool paused;
};

/* Read one line of control, if there is one. */
static void control(struct be *be)
{
	struct pollfd poll_fd = { .fd = 0, .events = POLLIN };
	char line[64];

	if (!opt.control || poll(&poll_fd, 1, 0) <= 0)
		return;
	if (!fgets(line, sizeof(line), stdin) || !strcmp(line, "quit\n"))
		stop = 1;
	else
		be->paused = !strcmp(line, "pause\n");
}

static void finish_one(struct be *be)
{
	GP_CU(cuEventSynchronize(be->event[be->done % QUEUED]));
	be->done++;
	if (be->out) {
		fprintf(be->out, "%llu\n", (unsigned long long)gp_clock_now_ns());
		fflush(be->out);
	}
}

static void start_one(struct be *be)
{
	if (!be->started && opt.die_after_us)
		gp_bench_die_at(gp_clock_now_ns() + opt.die_after_us * 1000, (int)opt.die_signal);
	gp_roundtrip_in(&be->trip);
	gp_roundtrip_out(&be->trip);
	if (be->job)
		gp_job_request(be->job, NULL);
	else if (!be->trip.bytes)
		gp_work_launch(&be->work);
	GP_CU(cuEventRecord(be->event[be->started % QUEUED], be->work.stream));
	be->started++;
}

static void pause_here(struct be *be)
{
	while (be->done < be->started)
		finish_one(be);
	printf("paused kernels=%llu\n", (unsigned long long)be->done);
	fflush(stdout);
	while (be->paused && !stop && gp_clock_wait_readable(0))
		control(be);
}

static bool at_end(const struct be *be)
{
	return stop || (opt.kernels && be->started >= opt.kernels) ||
	       (be->end_ns && gp_clock_now_ns() >= be->end_ns);
}

static void loop(struct be *be)
{
	while (!at_end(be)) {
		control(be);
		if (be->paused) {
			pause_here(be);
			continue;
		}
		start_one(be);
		if (be->started - be->done == QUEUED)
			finish_one(be);
	}
	while (be->done < be->started)
		finish_one(be);
}

static void open_workload(struct be *be, const struct gp_bench_gpu *gpu)
{
	char why[256];
	struct gp_workload *workload = gp_workload_named(opt.workload, why, sizeof(why));

	if (!workload) {
		fprintf(stderr, "be: --workload=%s: %s\n", opt.workload, why);
		exit(2);
	}
	be->job = gp_job_open(gpu, workload, false, NULL, be->work.stream);
}

static void setup(struct be *be, struct gp_bench_gpu *gpu)
{
	const int kind = gp_work_kind_parse(opt.kind);
	void *stream;

	if (kind < 0) {
		fprintf(stderr, "be: --kind=%s: plain, smem, tensor, coop, graph, memory or live\n",
			opt.kind);
		exit(2);
	}
	gp_bench_gpu_open(gpu, GP_CU_CTX_SCHED_BLOCKING);
	GP_CU(cuStreamCreate(&stream, GP_CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < QUEUED; i++)
		GP_CU(cuEventCreate(&be->event[i],
				    GP_CU_EVENT_BLOCKING_SYNC | GP_CU_EVENT_DISABLE_TIMING));
	gp_work_open(&be->work, gpu, (enum gp_work_kind)kind, (uint32_t)opt.blocks, stream);
	gp_roundtrip_open(&be->trip, opt.copy_bytes & ~7ull, stream);
	if (opt.workload[0])
		open_workload(be, gpu);
	if (opt.iters)
		be->work.iters = (uint32_t)opt.iters;
	else
		gp_work_calibrate(&be->work, opt.kernel_us * 1000);
}

static void print_calibrated(struct gp_work *work, const struct gp_bench_gpu *gpu)
{
	int registers;

	GP_CU(cuFuncGetAttribute(&registers, GP_CU_FUNCTION_REGISTERS, work->shape.fn));
	printf("be iters=%u kernel_ns=%llu blocks=%u registers=%d shared_bytes=%u", work->iters,
	       (unsigned long long)gp_work_measure(work, 2), work->blocks, registers,
	       work->shape.shared_bytes);
	if (gpu->uuid[0])
		printf(" uuid=%s", gpu->uuid);
	printf(" device=%s\n", gpu->name);
}

static FILE *open_out(void)
{
	FILE *out = fopen(opt.out, "we");

	if (!out) {
		fprintf(stderr, "be: %s: %s\n", opt.out, strerror(errno));
		exit(1);
	}
	return out;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct gp_bench_gpu gpu;
	struct be be = { 0 };
	uint64_t start_ns, checksum;
	bool good;

	gp_opts_parse(opts, sizeof(opts) / sizeof(*opts), argc, argv);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	setvbuf(stdin, NULL, _IONBF, 0); /* poll() sees all there is */
	if (opt.out[0])
		be.out = open_out();
	setup(&be, &gpu);
	if (opt.calibrate) {
		print_calibrated(&be.work, &gpu);
		return 0;
	}
	be.paused = opt.control;
	printf("ready pid=%d iters=%u\n", (int)getpid(), be.work.iters);
	fflush(stdout);
	start_ns = gp_clock_now_ns();
	if (opt.seconds)
		be.end_ns = start_ns + opt.seconds * 1000000000u;
	loop(&be);
	start_ns = gp_clock_now_ns() - start_ns;
	good = gp_work_check(&be.work, &checksum) && gp_roundtrip_check(&be.trip) &&
	       (!be.job || gp_job_check(be.job));
	printf("be kind=%s kernels=%llu ns=%llu checksum=%016llx result=%s\n", opt.kind,
	       (unsigned long long)be.done, (unsigned long long)start_ns,
	       (unsigned long long)checksum, good ? "right" : "WRONG");
	return good ? 0 : 1;
}
