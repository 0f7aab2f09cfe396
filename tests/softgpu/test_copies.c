// SPDX-License-Identifier: Apache-2.0
/*
 * LC copies beside BE that copies all the time, in the model of an H200. By the slices of
 * their classes, LC's copies take little longer than alone, and BE copies as much.
 */
#include <limits.h>
#include <stdio.h>

#include "runtime/outside.h"
#include "sched/sched.h"
#include "softgpu/sim_hal.h"
#include "tests/common/gp_test.h"

#define MS 1000000ull
#define PERIOD_NS (5 * MS)
#define REQUESTS 200u
#define LC_BYTES 600000u
#define BE_BYTES (64u << 20)

enum {
	LC,
	BE,
	PROCESSES
};

struct rig {
	struct gp_sim *sim;
	struct gp_sim_context *context[PROCESSES];
	uint64_t came_ns, took_ns, be_bytes;
	uint32_t requests;
};

static void copy(struct rig *r, int who)
{
	const struct gp_model_method method = { .type = GP_METHOD_COPY,
						.bytes = who == BE ? BE_BYTES : LC_BYTES,
						.cookie = (uint64_t)who };

	assert_int_equal(gp_sim_submit(r->context[who], UINT_MAX, &method, NULL), 0);
}

static uint64_t next_request(void *arg)
{
	const struct rig *r = arg;

	return (r->requests + 1) * PERIOD_NS;
}

static void request(void *arg, uint64_t now_ns)
{
	struct rig *r = arg;

	r->requests++;
	r->came_ns = now_ns;
	copy(r, LC);
}

static void done(void *arg, const struct gp_model_event *ev)
{
	struct rig *r = arg;

	if (ev->type != GP_MODEL_DONE)
		return;
	if (ev->cookie == LC) {
		r->took_ns += ev->time_ns - r->came_ns;
	} else {
		r->be_bytes += BE_BYTES;
		copy(r, BE);
	}
}

static void set_class(struct gp_device *dev, int who)
{
	const struct gp_class_value lc = { GP_CLASS_LC, 0 }, be = { GP_CLASS_BE, 100 };
	struct gp_group_list list = { 0 };

	assert_int_equal(dev->ops->groups(dev, 1000 + who, &list), 0);
	assert_int_equal(gp_outside_set(dev, &list, who == LC ? &lc : &be, true, NULL), 0);
	gp_group_list_put(&list);
}

/* The mean length of LC's copy, ns; BE's bytes in *@be_bytes. */
static uint64_t run(bool be, bool classes, uint64_t *be_bytes)
{
	struct rig r = { 0 };
	const struct gp_sim_agent agent = { &r, next_request, request, done };
	struct gp_model_config config;
	struct gp_device_id id;
	struct gp_device *dev;

	gp_model_config_h200(&config);
	r.sim = gp_sim_create(&config);
	assert_non_null(r.sim);
	for (int who = 0; who < PROCESSES; who++) {
		r.context[who] = gp_sim_context_create(r.sim, 1000 + who, 1);
		assert_non_null(r.context[who]);
	}
	gp_sim_id(r.sim, &id);
	assert_int_equal(gp_sim_timeslice_ops.open(&id, &dev), 0);
	for (int who = 0; classes && who < PROCESSES; who++)
		set_class(dev, who);
	gp_sim_set_agent(r.sim, &agent);
	for (int i = 0; be && i < 2; i++)
		copy(&r, BE);
	gp_sim_advance(r.sim, (REQUESTS + 1) * PERIOD_NS - 1);
	assert_int_equal(r.requests, REQUESTS);
	*be_bytes = r.be_bytes;
	dev->ops->close(dev);
	for (int who = 0; who < PROCESSES; who++)
		gp_sim_context_destroy(r.context[who]);
	gp_sim_destroy(r.sim);
	return r.took_ns / REQUESTS;
}

static void test_copies_of_both_classes(void **state)
{
	uint64_t none, shared_bytes, be_bytes;
	const uint64_t alone = run(false, false, &none);
	const uint64_t shared = run(true, false, &shared_bytes);
	const uint64_t managed = run(true, true, &be_bytes);

	printf("LC's copy: alone %llu us, as the driver shares %llu, by classes %llu; BE %.3f of "
	       "before\n",
	       (unsigned long long)alone / 1000, (unsigned long long)shared / 1000,
	       (unsigned long long)managed / 1000, (double)be_bytes / (double)shared_bytes);
	assert_int_equal(none, 0);
	/* A slice of the driver is 1024 us; the mean wait for its end is half of that. */
	assert_true(shared > alone + 300000);
	assert_true(managed < alone + 30000);
	assert_true(be_bytes >= shared_bytes * 98 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_copies_of_both_classes) };

	return gp_run_tests(tests);
}
