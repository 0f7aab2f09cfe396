// SPDX-License-Identifier: Apache-2.0
/*
 * Recorded kernels in their shapes, on a fake device. It refuses shapes that a card refuses,
 * and its time depends on the resident blocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/kernels.h"
#include "bench/gpu/replay.h"
#include "tests/common/gp_test.h"

#define SMS 4u
#define LAUNCHES_MAX 16

static struct function {
	char name[32];
	uint32_t registers, threads_max;
	int allowed; /* shared bytes */
} functions[GP_SHAPES + 1];

static struct launch {
	uint32_t blocks, threads, registers, shared_bytes;
	uint64_t ns;
} launches[LAUNCHES_MAX];

static size_t launched;
static uint32_t shared_max, threads_max;
static uint64_t now_ns;
static int lost, twice; /* blocks at the end of each grid that run never, or twice */
static uint32_t memory[1u << 16];

/* ---- a fake clock ---------------------------------------------------------------------- */

void gp_clock_choose(void *libcuda)
{
}

bool gp_clock_is_virtual(void)
{
	return true;
}

uint64_t gp_clock_now_ns(void)
{
	return now_ns;
}

void gp_clock_sleep_until(uint64_t at_ns)
{
	now_ns = at_ns > now_ns ? at_ns : now_ns;
}

void gp_clock_busy_until(uint64_t at_ns)
{
	gp_clock_sleep_until(at_ns);
}

bool gp_clock_wait_readable(int fd)
{
	return true;
}

/* ---- the device ------------------------------------------------------------------------ */

static int fake_module(void **module, const void *image)
{
	assert_ptr_equal(image, gp_live_ptx);
	*module = NULL;
	return 0;
}

static int fake_function(void **fn, void *module, const char *name)
{
	struct function *f = functions;

	while (f->name[0] && strcmp(f->name, name))
		f++;
	snprintf(f->name, sizeof(f->name), "%s", name);
	assert_int_equal(sscanf(name, "gp_live_%u", &f->registers), 1);
	f->threads_max = GP_LIVE_THREADS(f->registers);
	if (f->threads_max > threads_max)
		f->threads_max = threads_max;
	f->allowed = 49152;
	*fn = f;
	return 0;
}

static int fake_get(int *value, int attribute, void *fn)
{
	const struct function *f = fn;

	assert_true(attribute == GP_CU_FUNCTION_THREADS_MAX ||
		    attribute == GP_CU_FUNCTION_SHARED_BYTES);
	*value = attribute == GP_CU_FUNCTION_THREADS_MAX ? (int)f->threads_max : f->allowed;
	return 0;
}

static int fake_set(void *fn, int attribute, int value)
{
	assert_int_equal(attribute, GP_CU_FUNCTION_SHARED_BYTES);
	assert_in_range(value, 49153, shared_max);
	((struct function *)fn)->allowed = value;
	return 0;
}

static int fake_attribute(int *value, int attribute, int dev)
{
	assert_int_equal(attribute, GP_CU_DEVICE_SHARED_BYTES_MAX);
	*value = (int)shared_max;
	return 0;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t resident(const struct launch *l)
{
	const uint32_t registers = (l->registers + 7) / 8 * 8;
	const uint32_t blocks = smaller(2048 / l->threads, 65536 / (registers * l->threads));

	return SMS * smaller(blocks, 233472 / (l->shared_bytes + 1024));
}

static int fake_launch(void *fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
		       unsigned int by, unsigned int bz, unsigned int shared, void *stream,
		       void **params, void **extra)
{
	const struct function *f = fn;
	const struct launch l = { gx, bx, f->registers, shared, 0 };
	const uint32_t iters = *(uint32_t *)params[3];
	uint32_t *buf = (uint32_t *)(uintptr_t) * (uint64_t *)params[0];
	struct launch *kept = &launches[launched++ % LAUNCHES_MAX];

	assert_in_range(bx, 1, f->threads_max);
	assert_in_range(shared, 0, f->allowed);
	assert_int_equal(*(uint32_t *)params[4], 1);
	gp_ref_words(buf, NULL, *(uint32_t *)params[2], iters, 0, (size_t)(gx - lost) * bx);
	gp_ref_words(buf, NULL, *(uint32_t *)params[2], iters, (size_t)(gx - twice) * bx,
		     (size_t)twice * bx);
	*kept = l;
	kept->ns = (1000 + 4ull * iters) * ((gx + resident(&l) - 1) / resident(&l));
	now_ns += kept->ns;
	return 0;
}

static int fake_alloc(uint64_t *ptr, size_t bytes)
{
	assert_in_range(bytes, 1, sizeof(memory));
	*ptr = (uint64_t)(uintptr_t)memory;
	return 0;
}

static int fake_in(uint64_t dst, const void *src, size_t bytes)
{
	memcpy((void *)(uintptr_t)dst, src, bytes);
	return 0;
}

static int fake_out(void *dst, uint64_t src, size_t bytes)
{
	memcpy(dst, (void *)(uintptr_t)src, bytes);
	return 0;
}

static int fake_wait(void)
{
	return 0;
}

static int fake_stream_wait(void *stream)
{
	return 0;
}

static int make_device(void **state)
{
	memset(functions, 0, sizeof(functions));
	shared_max = 232448;
	threads_max = 1024;
	lost = twice = 0;
	gp_cu.cuModuleLoadData = fake_module;
	gp_cu.cuModuleGetFunction = fake_function;
	gp_cu.cuFuncGetAttribute = fake_get;
	gp_cu.cuFuncSetAttribute = fake_set;
	gp_cu.cuDeviceGetAttribute = fake_attribute;
	gp_cu.cuLaunchKernel = fake_launch;
	gp_cu.cuMemAlloc_v2 = fake_alloc;
	gp_cu.cuMemcpyHtoD_v2 = fake_in;
	gp_cu.cuMemcpyDtoH_v2 = fake_out;
	gp_cu.cuCtxSynchronize = fake_wait;
	gp_cu.cuStreamSynchronize = fake_stream_wait;
	return 0;
}

static const struct gp_bench_gpu gpu = { .sms = SMS, .fn[GP_KERNEL_WORK] = &functions[GP_SHAPES] };

/* ---- shapes ---------------------------------------------------------------------------- */

static void as_many_registers_as_fit(void **state)
{
	static const struct {
		uint32_t threads, registers, found;
	} cases[] = {
		{ 256, 0, 32 },
		{ 1024, 32, 32 },
		{ 1, 33, 40 },
		{ 1024, 40, 40 },
		{ 1024, 64, 64 },
		{ 256, 65, 96 },
		{ 512, 128, 128 },
		{ 384, 168, 168 },
		{ 128, 169, 255 },
		{ 256, 255, 255 },
		/* A block of this many threads cannot have the next values. */
		{ 640, 97, 96 },
		{ 1024, 72, 64 },
		{ 512, 129, 128 },
		{ 288, 200, 168 },
	};
	struct gp_shapes shapes;

	gp_shapes_open(&shapes, &gpu);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct gp_shape wanted = { NULL, cases[i].threads, cases[i].registers, 0 };
		const struct gp_shape near = gp_shapes_near(&shapes, wanted);

		assert_int_equal(near.registers, cases[i].found);
		assert_int_equal(near.threads, cases[i].threads);
	}
}

/* Any shape on any device; no value is smaller than necessary. */
static void nothing_that_is_refused(void **state)
{
	static const struct {
		uint32_t threads, shared;
	} devices[] = { { 1024, 232448 }, { 1024, 65536 }, { 512, 101376 }, { 256, 49152 } };

	for (size_t d = 0; d < sizeof(devices) / sizeof(devices[0]); d++) {
		struct gp_shapes shapes;

		make_device(NULL);
		threads_max = devices[d].threads;
		shared_max = devices[d].shared;
		gp_shapes_open(&shapes, &gpu);
		for (uint32_t threads = 1; threads <= 1024; threads++)
			for (uint32_t registers = 0; registers < 256; registers += 5) {
				const struct gp_shape near = gp_shapes_near(
					&shapes, (struct gp_shape){ NULL, threads, registers,
								    threads * registers });
				const struct function *f = near.fn;

				assert_int_equal(near.threads, smaller(threads, threads_max));
				assert_in_range(near.threads, 1, f->threads_max);
				assert_int_equal(near.shared_bytes,
						 smaller(threads * registers, shared_max));
				assert_in_range(near.shared_bytes, 0, f->allowed);
				if (threads <= 256)
					assert_true(near.registers >= registers);
			}
	}
}

/* ---- replaying ------------------------------------------------------------------------- */

/* Two differ in their registers alone, two in their shared memory alone. */
#define KERNELS 6
static struct gp_workload_kernel kernels[KERNELS] = {
	{ .length_ns = 20000, .blocks = 64, .threads = 128, .registers = 32 },
	{ .length_ns = 20000, .blocks = 64, .threads = 128, .registers = 255 },
	{ .length_ns = 20000, .blocks = 64, .threads = 128, .shared_bytes = 100000 },
	{ .length_ns = 2000, .blocks = 1, .threads = 1 },
	{ .length_ns = 50000,
	  .blocks = 4,
	  .threads = 384,
	  .registers = 168,
	  .shared_bytes = 231424 },
	{ .length_ns = 40000, .blocks = 33, .threads = 1024, .registers = 34 },
};

static char recorded[] = "a card", name[] = "made up";
static struct gp_workload workload = {
	.name = name,
	.device = recorded,
	.kernel = kernels,
	.kernels = KERNELS,
};

static void each_has_its_shape_and_length(void **state)
{
	static const uint32_t registers[KERNELS] = { 32, 255, 32, 32, 168, 40 };
	struct gp_replay *r = gp_replay_open(&gpu, &workload, false, NULL, NULL);

	launched = 0;
	gp_replay_request(r, NULL);
	assert_int_equal(launched, KERNELS);
	for (size_t i = 0; i < KERNELS; i++) {
		const struct gp_workload_kernel *k = &kernels[i];

		assert_int_equal(launches[i].blocks, k->blocks);
		assert_int_equal(launches[i].threads, k->threads);
		assert_int_equal(launches[i].registers, registers[i]);
		assert_int_equal(launches[i].shared_bytes, k->shared_bytes);
		assert_in_range(launches[i].ns, k->length_ns * 95 / 100, k->length_ns * 105 / 100);
	}
	assert_true(gp_replay_check(r));
	gp_replay_close(r);
}

/* Known shapes are not determined again, except after an invalid file. */
static void what_was_found(void **state)
{
	char path[] = "/tmp/gpreempt-test-XXXXXX";
	const int fd = mkstemp(path);
	struct gp_replay *r;
	uint64_t ns[KERNELS];

	assert_true(fd >= 0);
	close(fd);
	for (int time = 0; time < 3; time++) {
		launched = 0;
		r = gp_replay_open(&gpu, &workload, false, path, NULL);
		assert_int_equal(launched > 0, time != 1);
		launched = 0;
		gp_replay_request(r, NULL);
		for (size_t i = 0; i < KERNELS; i++) {
			if (time)
				assert_int_equal(launches[i].ns, ns[i]);
			ns[i] = launches[i].ns;
		}
		assert_true(gp_replay_check(r));
		gp_replay_close(r);
		if (time == 1)
			assert_int_equal(truncate(path, 3), 0);
	}
	unlink(path);
}

static void every_block_once(void **state)
{
	struct gp_replay *r = gp_replay_open(&gpu, &workload, false, NULL, NULL);

	for (int requests = 0; requests < 3; requests++) {
		gp_replay_request(r, NULL);
		assert_true(gp_replay_check(r));
	}
	lost = 1;
	gp_replay_request(r, NULL);
	assert_false(gp_replay_check(r));
	gp_replay_reset(r);
	lost = 0;
	gp_replay_request(r, NULL);
	assert_true(gp_replay_check(r));
	twice = 1;
	gp_replay_request(r, NULL);
	assert_false(gp_replay_check(r));
	gp_replay_close(r);
}

static void a_device_with_less(void **state)
{
	struct gp_replay *r;

	shared_max = 65536;
	r = gp_replay_open(&gpu, &workload, false, NULL, NULL);
	launched = 0;
	gp_replay_request(r, NULL);
	assert_int_equal(launches[2].shared_bytes, 65536);
	assert_int_equal(launches[4].shared_bytes, 65536);
	assert_true(gp_replay_check(r));
	gp_replay_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(as_many_registers_as_fit, make_device),
		cmocka_unit_test(nothing_that_is_refused),
		cmocka_unit_test_setup(each_has_its_shape_and_length, make_device),
		cmocka_unit_test_setup(what_was_found, make_device),
		cmocka_unit_test_setup(every_block_once, make_device),
		cmocka_unit_test_setup(a_device_with_less, make_device),
	};

	return gp_run_tests(tests);
}
