// SPDX-License-Identifier: Apache-2.0
/* Slices set from outside, on a device in virtual time. */
#include <errno.h>

#include "runtime/outside.h"
#include "softgpu/sim_hal.h"
#include "tests/common/gp_test.h"

#define PID 1000
#define CONTEXTS 3
#define LC_US 5000000u
#define BE_US 1u
#define DRIVER_US 2048u
#define BE_COPY_US 5u
#define DRIVER_COPY_US 1024u

static const struct gp_class_value lc = { GP_CLASS_LC, 0 }, be = { GP_CLASS_BE, 100 };

struct rig {
	struct gp_sim *sim;
	struct gp_sim_context *context[CONTEXTS];
	struct gp_device *dev;
	struct gp_group *group[CONTEXTS];
	struct gp_group_list list;
};

static int setup(void **state)
{
	static struct rig r;
	struct gp_model_config model;
	struct gp_device_id id;
	size_t n = 0;

	gp_model_config_h200(&model);
	r.sim = gp_sim_create(&model);
	assert_non_null(r.sim);
	for (size_t i = 0; i < CONTEXTS; i++) {
		r.context[i] = gp_sim_context_create(r.sim, PID, 1);
		assert_non_null(r.context[i]);
	}
	gp_sim_id(r.sim, &id);
	assert_int_equal(gp_sim_timeslice_ops.open(&id, &r.dev), 0);
	assert_int_equal(r.dev->ops->groups(r.dev, PID, &r.list), 0);
	for (size_t i = 0; i < r.list.count; i++)
		if (r.list.group[i]->kind == GP_GROUP_COMPUTE)
			r.group[n++] = r.list.group[i];
	assert_int_equal(n, CONTEXTS);
	*state = &r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	gp_group_list_put(&r->list);
	r->dev->ops->close(r->dev);
	for (size_t i = 0; i < CONTEXTS; i++)
		gp_sim_context_destroy(r->context[i]);
	gp_sim_destroy(r->sim);
	return 0;
}

static void assert_slices(struct rig *r, uint64_t first_us, uint64_t others_us)
{
	for (size_t i = 0; i < CONTEXTS; i++) {
		uint64_t us = 0;

		assert_int_equal(r->dev->ops->get_slice(r->group[i], &us), 0);
		assert_int_equal(us, i ? others_us : first_us);
	}
}

static void assert_copy_slices(struct rig *r, uint64_t want_us)
{
	size_t copies = 0;

	for (size_t i = 0; i < r->list.count; i++) {
		uint64_t us = 0;

		if (r->list.group[i]->kind != GP_GROUP_COPY)
			continue;
		assert_int_equal(r->dev->ops->get_slice(r->list.group[i], &us), 0);
		assert_int_equal(us, want_us);
		copies++;
	}
	assert_int_equal(copies, CONTEXTS);
}

static int set(struct rig *r, const struct gp_class_value *cls, bool has_slot)
{
	int mode_err = 0;
	int err = gp_outside_set(r->dev, &r->list, cls, has_slot, &mode_err);

	assert_int_equal(mode_err, 0);
	return err;
}

static void slices_follow_the_class(void **state)
{
	struct rig *r = *state;

	assert_int_equal(set(r, &be, true), 0);
	assert_slices(r, BE_US, DRIVER_US);
	assert_int_equal(set(r, &lc, false), 0);
	assert_slices(r, LC_US, LC_US);
	/* No slot: the slices of the class before must not stay. */
	assert_int_equal(set(r, &be, false), 0);
	assert_slices(r, DRIVER_US, DRIVER_US);
	assert_int_equal(set(r, &be, true), 0);
	assert_slices(r, BE_US, DRIVER_US);
}

/* With the slot and without it: no number of short copy groups harms anybody. */
static void copies_follow_the_class(void **state)
{
	const struct gp_class_value none = { GP_CLASS_NONE, 0 };
	struct rig *r = *state;

	assert_copy_slices(r, DRIVER_COPY_US);
	assert_int_equal(set(r, &be, false), 0);
	assert_copy_slices(r, BE_COPY_US);
	assert_int_equal(set(r, &lc, false), 0);
	assert_copy_slices(r, LC_US);
	assert_int_equal(set(r, &be, true), 0);
	assert_copy_slices(r, BE_COPY_US);
	assert_int_equal(set(r, &none, false), 0);
	assert_copy_slices(r, DRIVER_COPY_US);
}

static void the_first_error_ends_it(void **state)
{
	struct rig *r = *state;

	gp_sim_fail(r->sim, GP_SIM_SET_SLICE, 0, -EPERM);
	assert_int_equal(set(r, &lc, false), -EPERM);
	assert_slices(r, DRIVER_US, DRIVER_US);
}

static int no_mode(struct gp_group *group, enum gp_preempt_mode mode)
{
	return -EIO;
}

static void an_error_of_the_mode_is_apart(void **state)
{
	struct rig *r = *state;
	const struct gp_hal_ops *sim_ops = r->dev->ops;
	struct gp_hal_ops ops = *sim_ops;
	int mode_err = 0;

	ops.set_preempt_mode = no_mode;
	r->dev->ops = &ops;
	assert_int_equal(gp_outside_set(r->dev, &r->list, &be, true, &mode_err), 0);
	assert_int_equal(mode_err, -EIO);
	assert_int_equal(gp_outside_set(r->dev, &r->list, &lc, false, &mode_err), 0);
	assert_int_equal(mode_err, 0);
	r->dev->ops = sim_ops;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(slices_follow_the_class, setup, teardown),
		cmocka_unit_test_setup_teardown(copies_follow_the_class, setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_error_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(an_error_of_the_mode_is_apart, setup, teardown),
	};

	return gp_run_tests(tests);
}
