// SPDX-License-Identifier: Apache-2.0
/* The switch time computed from run times, against the model's cost of a switch. */
#include <errno.h>
#include <math.h>

#include "bench/model/switch.h"
#include "tests/common/gp_test.h"

#define KERNEL_NS 2000000000u

/*
 * A slice counts from slice_begin after the switch to a process, so part of loading its state
 * is in it. Of a slice L less remains for work. So the method finds the switch times L / (L +
 * slice_begin - begin - restore).
 */
static void as_the_model_makes_it(void **state)
{
	static const uint64_t slices[] = { 1024, 2048, 10000 };
	struct gp_model_config device;

	gp_model_config_h200(&device);
	for (size_t i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
		const struct gp_switch_run run = { 3, slices[i], KERNEL_NS };
		const double slice_ns = (double)(slices[i] * device.slice_unit_ns);
		const double works_ns = slice_ns + (double)device.slice_begin_ns -
					(double)(device.begin_ns + device.restore_ns);
		const double expect = gp_switch_of_model(&device) * slice_ns / works_ns;
		double us;

		assert_int_equal(gp_switch_estimate(&device, &run, &us), 0);
		print_message("slice %llu us: %.2f of %.2f us\n", (unsigned long long)slices[i], us,
			      expect);
		/* The first and the last slice have one part only. */
		assert_true(fabs(us / expect - 1) < 0.01);
	}
	device.switch_in_ns += 100000;
	assert_true(fabs(gp_switch_of_model(&device) - 282) < 1e-9);
}

static void refused(void **state)
{
	const struct gp_switch_run one = { 1, 2048, KERNEL_NS };
	const struct gp_switch_run many = { GP_SWITCH_PROCESSES_MAX + 1, 2048, KERNEL_NS };
	const struct gp_switch_run two = { 2, 2048, KERNEL_NS };
	struct gp_model_config device;
	double us;

	gp_model_config_h200(&device);
	assert_int_equal(gp_switch_estimate(&device, &one, &us), -EINVAL);
	assert_int_equal(gp_switch_estimate(&device, &many, &us), -EINVAL);
	device.kind = GP_MODEL_SLOTS;
	assert_int_equal(gp_switch_estimate(&device, &two, &us), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_model_makes_it),
		cmocka_unit_test(refused),
	};

	return gp_run_tests(tests);
}
