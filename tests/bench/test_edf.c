// SPDX-License-Identifier: Apache-2.0
/* Random tasks with deadlines, and the deadlines that they miss. */
#include <errno.h>
#include <math.h>

#include "bench/model/edf.h"
#include "tests/common/gp_test.h"

#define MS 1000000ull
#define TASKS 3

static void as_much_as_was_asked_for(void **state)
{
	struct gp_edf_task task[TASKS], first;
	struct gp_random random;
	double most = 0, least = 1;

	gp_random_seed(&random, 1, 1);
	for (int i = 0; i < 200; i++) {
		double sum = 0;

		gp_edf_draw(&random, 0.7, task, TASKS);
		for (size_t k = 0; k < TASKS; k++) {
			const double share = (double)task[k].runtime_ns / task[k].period_ns;

			assert_in_range(task[k].period_ns, 10 * MS, 100 * MS);
			assert_in_range(task[k].deadline_ns, task[k].period_ns * 6 / 10 - 1,
					task[k].period_ns);
			assert_in_range(task[k].phase_ns, 0, task[k].period_ns);
			most = fmax(most, share);
			least = fmin(least, share);
			sum += share;
		}
		assert_true(fabs(sum - 0.7) < 1e-4);
		if (!i)
			first = task[0];
	}
	/* The shares differ, so that sets of several kinds are tested. */
	assert_true(most > 0.6 && least < 0.01);
	gp_random_seed(&random, 1, 1);
	gp_edf_draw(&random, 0.7, task, TASKS);
	assert_memory_equal(&first, &task[0], sizeof(first));
}

static void one_alone(void **state)
{
	const struct gp_edf_task task = { 20 * MS, 10 * MS, 4 * MS, 3 * MS };
	struct gp_model_config device;
	struct gp_edf_result r;

	gp_model_config_h200(&device);
	assert_int_equal(gp_edf_run(&device, &task, 1, 1000 * MS, &r), 0);
	assert_true(r.admitted);
	assert_int_equal(r.jobs, 50);
	assert_int_equal(r.missed, 0);
	/* The time of its kernel and one switch from BE. */
	assert_true(r.worst > 0.4 && r.worst < 0.45);
	assert_true(r.promised > 0.2 && r.promised < 0.25);
}

/* Tasks that need more than the device are refused, and miss deadlines. */
static void too_much(void **state)
{
	const struct gp_edf_task task[2] = { { 20 * MS, 20 * MS, 12 * MS, 0 },
					     { 30 * MS, 30 * MS, 15 * MS, 0 } };
	struct gp_model_config device;
	struct gp_edf_result r;

	gp_model_config_h200(&device);
	assert_int_equal(gp_edf_run(&device, task, 2, 2000 * MS, &r), 0);
	assert_false(r.admitted);
	assert_true(r.missed > r.jobs / 4);
	assert_true(r.worst > 2);
	assert_int_equal(gp_edf_run(&device, task, GP_EDF_TASKS_MAX + 1, MS, &r), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_much_as_was_asked_for),
		cmocka_unit_test(one_alone),
		cmocka_unit_test(too_much),
	};

	return gp_run_tests(tests);
}
