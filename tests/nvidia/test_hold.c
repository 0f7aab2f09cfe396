// SPDX-License-Identifier: Apache-2.0
#include "tests/common/gp_test.h"

#include <stdlib.h>

#include "nvidia-backend/cuda.h"
#include "tests/nvidia/fake_rm.h"

/*
 * A driver API whose launches wait in a queue until the test runs them, at times that it
 * chooses. kernel() does the work of the hold kernel, as hold_abi.h describes it.
 */
#define QUEUE 128

static struct {
	struct gp_nv_hold_params queue[QUEUE];
	size_t queued, ran;
	size_t written;		   /* number of writes behind kernels */
	uint32_t *behind;	   /* address of the last write */
	uint32_t behind_at_launch; /* value there at the last launch */
	uint64_t write_at_ns;	   /* when a late write is done */
	uint64_t tick_ns;	   /* step of the clock at each read */
	void *current;
	int push_error, launch_error;
	unsigned int calls, fail_at;
	uint8_t uuid[16];
	int modules, streams, hosts; /* alive */
	char apps_stream;	     /* its address stands for the app's stream */
	unsigned int written_behind; /* writes in that stream */
	uint64_t behind_at;	     /* address of the last one */
	void *host;
} cu;

static void kernel(const struct gp_nv_hold_params *p, uint64_t start_ns, uint64_t release_ns)
{
	struct gp_nv_hold_stamp *s = (void *)(uintptr_t)p->stamp;
	const uint32_t *word = (const void *)(uintptr_t)p->word;
	bool released = (int32_t)(*word - p->ticket) >= 0;

	s->start_ns = start_ns;
	s->end_ns = released ? release_ns : start_ns + p->limit_ns;
	if (s->end_ns < start_ns)
		s->end_ns = start_ns;
	s->how = released ? GP_NV_HOLD_RELEASED : GP_NV_HOLD_LIMIT;
	if (s->end_ns > start_ns)
		s->how |= GP_NV_HOLD_WAITED;
	s->ticket = p->ticket;
}

static void write_behind(void)
{
	if (cu.written >= cu.ran)
		*cu.behind = cu.queue[(cu.ran - 1) % QUEUE].ticket;
}

/* Run the next kernel of the queue, without the write behind it. */
static void run_kernel(uint64_t start_ns, uint64_t release_ns)
{
	kernel(&cu.queue[cu.ran++ % QUEUE], start_ns, release_ns);
}

static void run_one(uint64_t start_ns, uint64_t release_ns)
{
	run_kernel(start_ns, release_ns);
	write_behind();
}

static uint64_t ticking_ns(void)
{
	fake_now += cu.tick_ns;
	if (cu.write_at_ns && fake_now >= cu.write_at_ns) {
		cu.write_at_ns = 0;
		write_behind();
	}
	return fake_now;
}

static int f_get_current(void **ctx)
{
	*ctx = cu.current;
	return 0;
}

static void *pushed;

static int f_push(void *ctx)
{
	if (cu.push_error)
		return cu.push_error;
	pushed = cu.current;
	cu.current = ctx;
	return 0;
}

static int f_pop(void **ctx)
{
	*ctx = cu.current;
	cu.current = pushed;
	return 0;
}

static int f_device(int *device)
{
	*device = 0;
	return 0;
}

static int f_priorities(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return 0;
}

static int f_uuid(uint8_t uuid[16], int device)
{
	memcpy(uuid, cu.uuid, 16);
	return 0;
}

static int f_host_alloc(void **host, size_t bytes, unsigned int flags)
{
	*host = cu.host = malloc(bytes);
	cu.hosts++;
	return 0;
}

static int f_device_pointer(uint64_t *at, void *host, unsigned int flags)
{
	*at = (uintptr_t)host;
	return 0;
}

static int f_host_free(void *host)
{
	free(host);
	cu.hosts--;
	return 0;
}

static int f_module_load(void **module, const void *image)
{
	assert_non_null(strstr(image, ".entry " GP_NV_HOLD_KERNEL));
	*module = &cu;
	cu.modules++;
	return 0;
}

static int f_module_unload(void *module)
{
	cu.modules--;
	return 0;
}

static int f_function(void **function, void *module, const char *name)
{
	*function = &cu;
	return strcmp(name, GP_NV_HOLD_KERNEL) ? 500 : 0;
}

static int f_stream_create(void **stream, unsigned int flags, int priority)
{
	assert_int_equal(flags, GP_CU_STREAM_NON_BLOCKING);
	assert_int_equal(priority, -5);
	*stream = &cu;
	cu.streams++;
	return 0;
}

static int f_stream_destroy(void *stream)
{
	cu.streams--;
	return 0;
}

static int f_synchronize(void *stream)
{
	while (cu.ran < cu.queued)
		run_one(fake_now, fake_now);
	return 0;
}

/* Does this call fail? */
static bool failing(void)
{
	return cu.launch_error && cu.calls++ == cu.fail_at;
}

static int f_launch(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
		    unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared_bytes,
		    void *stream, void **params, void **extra)
{
	struct gp_nv_hold_params *p = &cu.queue[cu.queued % QUEUE];

	assert_int_equal(gx * gy * gz * bx * by * bz, 1);
	if (failing())
		return cu.launch_error;
	p->word = *(uint64_t *)params[0];
	p->stamp = *(uint64_t *)params[1];
	p->limit_ns = *(uint64_t *)params[2];
	p->ticket = *(uint32_t *)params[3];
	cu.behind_at_launch = cu.behind ? *cu.behind : 0;
	cu.queued++;
	return 0;
}

static int app_context;

/* A write behind the kernel must not hit a word that its hold uses. */
static int f_write(void *stream, uint64_t at, uint32_t value, unsigned int flags)
{
	const struct gp_nv_hold_params *p = &cu.queue[(cu.queued - 1) % QUEUE];

	if (stream == &cu.apps_stream) {
		assert_ptr_equal(cu.current, &app_context);
		cu.written_behind++;
		cu.behind_at = at;
		return failing() ? cu.launch_error : 0;
	}
	assert_ptr_equal(stream, &cu);
	assert_int_equal(cu.queued, cu.written + 1);
	assert_int_equal(value, p->ticket);
	assert_in_range(at, p->word + sizeof(uint32_t), p->word + 60);
	if (failing())
		return cu.launch_error;
	cu.behind = (void *)(uintptr_t)at;
	cu.written++;
	return 0;
}

static int fake_cuda(struct gp_nv_cuda *c)
{
	*c = (struct gp_nv_cuda){
		.ctx_get_current = f_get_current,
		.ctx_push = f_push,
		.ctx_pop = f_pop,
		.ctx_get_device = f_device,
		.ctx_priorities = f_priorities,
		.device_uuid = f_uuid,
		.host_alloc = f_host_alloc,
		.host_device_pointer = f_device_pointer,
		.host_free = f_host_free,
		.module_load = f_module_load,
		.module_unload = f_module_unload,
		.module_function = f_function,
		.stream_create = f_stream_create,
		.stream_destroy = f_stream_destroy,
		.stream_synchronize = f_synchronize,
		.launch = f_launch,
		.stream_write32 = f_write,
	};
	return 0;
}

static struct gp_nv_transport transport;
static struct gp_nv_device *dev;
static struct gp_hold *hold;

static void setup(void)
{
	memset(&cu, 0, sizeof(cu));
	fake_reset();
	fake_now = 1000000;
	transport = fake_transport;
	transport.cuda = fake_cuda;
	transport.now_ns = ticking_ns;
	dev = fake_device(0);
	dev->t = &transport;
	fake_uuid(0, cu.uuid);
	assert_int_equal(gp_nv_hold_create(&dev->base, &app_context, &hold), 0);
	assert_null(cu.current);     /* the thread's context is unchanged */
	assert_int_equal(cu.ran, 1); /* the warm-up has ended */
}

static void teardown(void)
{
	gp_nv_hold_destroy(hold);
	assert_int_equal(cu.modules + cu.streams + cu.hosts, 0);
	assert_null(cu.current);
	dev->base.ops->close(&dev->base);
}

static struct gp_hold_stat stat_now(void)
{
	struct gp_hold_stat st;

	assert_int_equal(gp_nv_hold_stat(hold, &st), 0);
	return st;
}

/* Hold for 1 ms on the CPU's clock; the GPU's clock has another origin. */
static void hold_once(uint64_t switch_ns)
{
	uint64_t gpu = 77000000000000ull;

	assert_int_equal(gp_nv_hold(hold, 20000000), 0);
	fake_now += 1000000;
	assert_int_equal(gp_nv_release(hold), 0);
	run_one(gpu + switch_ns, gpu + 1000000);
}

static void test_measures_the_switch(void **state)
{
	setup();
	assert_int_equal(stat_now().seq, 0);
	assert_int_equal(stat_now().switch_ns, 0);
	hold_once(170000);
	assert_int_equal(stat_now().seq, 1);
	assert_int_equal(stat_now().switch_ns, 170000);
	assert_int_equal(stat_now().held_ns, 830000);
	assert_int_equal(stat_now().expired, 0);
	teardown();
}

/* The write behind the app's own work has a word of its own, apart from holds. */
static void test_behind_what_is_queued(void **state)
{
	uint64_t word;

	setup();
	assert_int_equal(gp_nv_hold_queued(hold, &cu.apps_stream), 0);
	assert_int_equal(cu.written_behind, 1);
	word = cu.queue[0].word;
	assert_in_range(cu.behind_at, word + sizeof(uint32_t), word + 60);
	assert_int_not_equal(cu.behind_at, (uintptr_t)cu.behind);
	assert_null(cu.current);
	hold_once(170000);
	assert_int_equal(stat_now().switch_ns, 170000);
	cu.launch_error = 400; /* CUDA_ERROR_INVALID_HANDLE */
	cu.fail_at = cu.calls;
	assert_true(gp_nv_hold_queued(hold, &cu.apps_stream) < 0);
	assert_null(cu.current);
	cu.launch_error = 0;
	hold_once(170000);
	teardown();
}

static void test_busy_while_on(void **state)
{
	setup();
	assert_int_equal(gp_nv_hold(hold, 20000000), 0);
	assert_int_equal(gp_nv_hold(hold, 20000000), -EBUSY);
	assert_int_equal(stat_now().switch_ns, 0);
	assert_int_equal(gp_nv_release(hold), 0);
	assert_int_equal(gp_nv_release(hold), 0);
	/* The hold is released, although its kernel has not begun. */
	assert_int_equal(gp_nv_hold(hold, 20000000), 0);
	assert_int_equal(cu.queued, 3);
	assert_int_equal(cu.written, 3);
	teardown();
}

/* Hold, release, and run the hold's kernel, but not the write behind it. */
static void hold_and_run_kernel(void)
{
	assert_int_equal(gp_nv_hold(hold, 20000000), 0);
	assert_int_equal(gp_nv_release(hold), 0);
	run_kernel(500, 900);
}

static void test_waits_for_the_last_ones_end(void **state)
{
	setup();
	hold_and_run_kernel();
	cu.tick_ns = 100;
	cu.write_at_ns = fake_now + 5000;
	assert_int_equal(gp_nv_hold(hold, 20000000), 0);
	assert_int_equal(cu.queued, 3);
	assert_int_equal(cu.behind_at_launch, cu.queue[1].ticket);
	teardown();
}

/* A preempted kernel ends in its next turn: a hold does not wait for that. */
static void test_waits_for_no_switch(void **state)
{
	uint64_t from_ns;

	setup();
	hold_and_run_kernel();
	cu.tick_ns = 100;
	from_ns = fake_now;
	assert_int_equal(gp_nv_hold(hold, 20000000), 0);
	assert_in_range(fake_now - from_ns, 10000, 100000);
	/* This kernel has not begun. */
	assert_int_equal(gp_nv_release(hold), 0);
	from_ns = fake_now;
	assert_int_equal(gp_nv_hold(hold, 20000000), 0);
	assert_in_range(fake_now - from_ns, 0, 1000);
	assert_int_equal(cu.queued, 4);
	teardown();
}

/* With one connection all streams are one queue, and a hold would block its own work. */
static void test_one_connection(void **state)
{
	static const char name[] = "CUDA_DEVICE_MAX_CONNECTIONS";
	struct gp_hold *other = NULL;

	setup();
	setenv(name, "1", 1);
	assert_int_equal(gp_nv_hold_create(&dev->base, &app_context, &other), -EOPNOTSUPP);
	assert_null(other);
	setenv(name, "2", 1);
	assert_int_equal(gp_nv_hold_create(&dev->base, &app_context, &other), 0);
	gp_nv_hold_destroy(other);
	unsetenv(name);
	teardown();
}

static void test_limit(void **state)
{
	struct gp_nv_hold_params *p;

	setup();
	assert_int_equal(gp_nv_hold(hold, 0), -ERANGE);
	assert_int_equal(gp_nv_hold(hold, GP_NV_MAX_HOLD_NS + 1), -ERANGE);
	assert_int_equal(gp_nv_hold(hold, 5000), 0);
	p = &cu.queue[1];
	assert_int_equal(p->limit_ns, 5000);
	run_one(100, 0);
	assert_int_equal(stat_now().expired, 1);
	assert_int_equal(stat_now().switch_ns, 0);
	/* The limit ended the hold: the next one needs no release. */
	hold_once(9000);
	assert_int_equal(stat_now().expired, 1);
	assert_int_equal(stat_now().seq, 2);
	assert_int_equal(stat_now().switch_ns, 9000);
	teardown();
}

static void test_released_before_it_ran(void **state)
{
	setup();
	assert_int_equal(gp_nv_hold(hold, 20000000), 0);
	assert_int_equal(gp_nv_release(hold), 0);
	run_one(500, 500);
	assert_int_equal(stat_now().switch_ns, 0); /* nothing was measured */
	assert_int_equal(stat_now().missed_ns, 0);
	hold_once(170000);
	assert_int_equal(stat_now().missed_ns, 0);
	assert_int_equal(gp_nv_hold(hold, 20000000), 0);
	fake_now += 250000;
	assert_int_equal(gp_nv_release(hold), 0);
	run_one(500, 500);
	assert_int_equal(stat_now().switch_ns, 0);
	assert_int_equal(stat_now().missed_ns, 250000);
	assert_int_equal(stat_now().held_ns, 0);
	teardown();
}

static void test_many_holds(void **state)
{
	setup();
	for (uint64_t i = 1; i <= 1000; i++) {
		hold_once(i);
		assert_int_equal(stat_now().switch_ns, i);
	}
	assert_int_equal(stat_now().seq, 1000);
	teardown();
}

/* The device runs no hold kernels: a stamp in use is not reused. */
static void test_ring_full(void **state)
{
	int r = 0, n = 0;

	setup();
	while (n < 100 && !(r = gp_nv_hold(hold, 20000000))) {
		gp_nv_release(hold);
		n++;
	}
	assert_int_equal(r, -EBUSY);
	assert_in_range(n, 16, 64);
	f_synchronize(NULL);
	hold_once(42);
	assert_int_equal(stat_now().switch_ns, 42);
	teardown();
}

static void failing_call(unsigned int at)
{
	setup();
	cu.launch_error = 999;
	cu.fail_at = at;
	assert_int_equal(gp_nv_hold(hold, 20000000), -EIO);
	cu.launch_error = 0;
	assert_int_equal(cu.queued, 1 + at);
	if (at) {
		/* The kernel that was launched ends at once. */
		struct gp_nv_hold_params *p = &cu.queue[1];

		assert_true(*(uint32_t *)(uintptr_t)p->word >= p->ticket);
		run_kernel(500, 900);
		cu.written++;
	}
	assert_int_equal(stat_now().seq, 0);
	for (int i = 0; i < 100; i++)
		hold_once(33);
	assert_int_equal(stat_now().switch_ns, 33);
	assert_int_equal(stat_now().expired, 0);
	teardown();
}

static void test_launch_fails(void **state)
{
	failing_call(0);
}

static void test_write_fails(void **state)
{
	failing_call(1);
}

static void test_dead_context(void **state)
{
	setup();
	cu.push_error = GP_CU_ERROR_CONTEXT_IS_DESTROYED;
	assert_int_equal(gp_nv_hold(hold, 20000000), -ENXIO);
	assert_int_equal(gp_nv_release(hold), 0);
	/* Its memory ended with the context: the backend frees nothing of it. */
	gp_nv_hold_destroy(hold);
	assert_int_equal(cu.hosts, 1);
	free(cu.host);
	dev->base.ops->close(&dev->base);
}

static void test_wrong_contexts(void **state)
{
	struct gp_hold *other = NULL;

	setup();
	assert_int_equal(gp_nv_hold_create(&dev->base, NULL, &other), -ENXIO);
	cu.uuid[0] ^= 1;
	assert_int_equal(gp_nv_hold_create(&dev->base, &app_context, &other), -ENODEV);
	assert_null(other);
	assert_null(cu.current);
	gp_nv_hold_destroy(NULL);
	teardown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_measures_the_switch),
		cmocka_unit_test(test_behind_what_is_queued),
		cmocka_unit_test(test_busy_while_on),
		cmocka_unit_test(test_waits_for_the_last_ones_end),
		cmocka_unit_test(test_waits_for_no_switch),
		cmocka_unit_test(test_one_connection),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_released_before_it_ran),
		cmocka_unit_test(test_many_holds),
		cmocka_unit_test(test_ring_full),
		cmocka_unit_test(test_launch_fails),
		cmocka_unit_test(test_write_fails),
		cmocka_unit_test(test_dead_context),
		cmocka_unit_test(test_wrong_contexts),
	};

	return gp_run_tests(tests);
}
