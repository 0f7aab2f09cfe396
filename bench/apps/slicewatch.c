// SPDX-License-Identifier: Apache-2.0
/*
 * slicewatch - a best-effort program with a thread that reads the slice of its compute group all
 * the time. It prints when (CLOCK_MONOTONIC) the slice first changed: the clock of `gpreempt
 * attach`.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/opts.h"
#include "bench/gpu/work.h"
#include "gpreempt/hal.h"

#define KERNEL_NS 10000000u
#define VIRTUAL_STEP_NS 100000u

static char device[64];
static uint64_t iters, seconds = 20;

static const struct gp_opt opts[] = {
	{ .name = "device",
	  .text = device,
	  .text_len = sizeof(device),
	  .help = "UUID of CUDA's first device (default: the first device)" },
	{ .name = "iters",
	  .number = &iters,
	  .help = "iterations of a 10 ms kernel, from be --calibrate" },
	{ .name = "seconds", .number = &seconds, .help = "time limit (20)" },
};

static atomic_bool watched;

static void die(const char *what, int error, const char *why)
{
	fprintf(stderr, "slicewatch: %s: %s %s\n", what, strerror(-error), why);
	exit(1);
}

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct gp_group *own_compute_group(struct gp_device *dev)
{
	struct gp_group_list list;
	int error = dev->ops->groups(dev, 0, &list);

	if (error)
		die("groups", error, "");
	for (size_t i = 0; i < list.count; i++)
		if (list.group[i]->kind == GP_GROUP_COMPUTE)
			return list.group[i];
	die("groups", -ENOENT, "no compute group of our own");
	return NULL;
}

static uint64_t slice_us(struct gp_group *group)
{
	uint64_t us;
	int error = group->dev->ops->get_slice(group, &us);

	if (error)
		die("get_slice", error, "");
	return us;
}

static void *watch(void *arg)
{
	const uint64_t end_ns = wall_ns() + seconds * 1000000000u;
	struct gp_group *group = arg;
	const uint64_t before_us = slice_us(group);
	uint64_t now_us = before_us;

	printf("ready pid=%d slice_us=%llu\n", (int)getpid(), (unsigned long long)before_us);
	fflush(stdout);
	while (now_us == before_us && wall_ns() < end_ns) {
		if (gp_clock_is_virtual())
			gp_clock_sleep_until(gp_clock_now_ns() + VIRTUAL_STEP_NS);
		now_us = slice_us(group);
	}
	printf("slice us=%llu at_ns=%llu\n", (unsigned long long)now_us,
	       (unsigned long long)wall_ns());
	fflush(stdout);
	atomic_store(&watched, true);
	return NULL;
}

int main(int argc, char **argv)
{
	struct gp_bench_gpu gpu;
	struct gp_device *dev;
	struct gp_work work;
	char why[256] = "";
	pthread_t thread;
	void *stream;
	int error;

	gp_opts_parse(opts, sizeof(opts) / sizeof(*opts), argc, argv);
	gp_bench_gpu_open(&gpu, GP_CU_CTX_SCHED_BLOCKING);
	GP_CU(cuStreamCreate(&stream, GP_CU_STREAM_NON_BLOCKING));
	gp_work_open(&work, &gpu, GP_WORK_PLAIN, 0, stream);
	if (iters)
		work.iters = (uint32_t)iters;
	else
		gp_work_calibrate(&work, KERNEL_NS);
	error = gp_device_open(device[0] ? device : NULL, &dev, why, sizeof(why));
	if (error)
		die("device", error, why);
	error = pthread_create(&thread, NULL, watch, own_compute_group(dev));
	if (error)
		die("thread", -error, "");
	while (!atomic_load(&watched)) {
		gp_work_launch(&work);
		gp_work_launch(&work);
		GP_CU(cuStreamSynchronize(stream));
	}
	pthread_join(thread, NULL);
	return gp_work_check(&work, NULL) ? 0 : 1;
}
