// SPDX-License-Identifier: Apache-2.0
/*
 * The bench's queueing theory against closed forms from textbooks, and the model of a GPU
 * against that theory. (The suite "theory" does the latter with more requests.)
 */
#include <errno.h>
#include <math.h>

#include "bench/model/theory.h"
#include "bench/model/against_theory.h"
#include "bench/model/queue.h"
#include "tests/common/gp_test.h"

#define STEP 0.01

static void assert_near(double is, double should, double within)
{
	if (fabs(is - should) > within * fabs(should))
		print_message("%.6f is not %.6f\n", is, should);
	assert_true(fabs(is - should) <= within * fabs(should));
}

static double exponential(double t, const void *mean)
{
	return exp(-t / *(const double *)mean);
}

static void distributions(void **state)
{
	const double mean = 2;
	struct gp_pmf x, three, sum, mixed, rest;

	assert_int_equal(gp_pmf_of_tail(&x, exponential, &mean, STEP, 1000), 0);
	assert_int_equal(gp_pmf_constant(&three, 3, STEP), 0);
	assert_near(gp_pmf_mean(&x), 2, 1e-4);
	assert_near(gp_pmf_square(&x), 8, 1e-4);
	assert_near(gp_pmf_quantile(&x, 0.99), 2 * log(100), 1e-3);
	assert_near(gp_pmf_mean(&three), 3, 1e-9);
	assert_int_equal(gp_pmf_add(&sum, &x, &three, 1000), 0);
	assert_near(gp_pmf_mean(&sum), 5, 1e-4);
	assert_near(gp_pmf_quantile(&sum, 0.5), 3 + 2 * log(2), 5e-3);
	assert_int_equal(gp_pmf_mix(&mixed, &x, &three, 0.25), 0);
	assert_near(gp_pmf_mean(&mixed), 0.25 * 2 + 0.75 * 3, 1e-4);
	/* The rest of an exponential time has the same law at any moment; of 3, half. */
	assert_int_equal(gp_pmf_residual(&rest, &x), 0);
	assert_near(gp_pmf_mean(&rest), 2, 1e-3);
	gp_pmf_free(&rest);
	assert_int_equal(gp_pmf_residual(&rest, &three), 0);
	assert_near(gp_pmf_mean(&rest), 1.5, 1e-3);
	gp_pmf_free(&rest);
	/* Truncated at its mean, the missing part is the tail. */
	gp_pmf_free(&sum);
	assert_int_equal(gp_pmf_add(&sum, &x, &three, 5), 0);
	assert_near(gp_pmf_missing(&sum), exp(-1), 1e-2);
	assert_true(isinf(gp_pmf_quantile(&sum, 0.9)));
	gp_pmf_free(&sum);
	gp_pmf_free(&mixed);
	gp_pmf_free(&three);
	gp_pmf_free(&x);
}

/* M/M/1: times are exponential with mean 1 / (mu - lambda). */
static void exponential_services(void **state)
{
	const double mean = 1;
	struct gp_pmf service, times;
	struct gp_queue q = { 0, &service, NULL };

	assert_int_equal(gp_pmf_of_tail(&service, exponential, &mean, STEP, 100), 0);
	for (q.rate = 0.1; q.rate < 0.95; q.rate += 0.2) {
		assert_near(gp_queue_load(&q), q.rate, 1e-4);
		assert_near(gp_queue_mean(&q), 1 / (1 - q.rate), 1e-3);
		assert_int_equal(gp_queue_times(&times, &q, 40 / (1 - q.rate)), 0);
		assert_near(gp_pmf_mean(&times), 1 / (1 - q.rate), 2e-3);
		assert_near(gp_pmf_quantile(&times, 0.99), log(100) / (1 - q.rate), 5e-3);
		gp_pmf_free(&times);
		assert_near(gp_queue_left(&q, 0), 1 - q.rate, 1e-3);
	}
	q.rate = 1.01;
	assert_int_equal(gp_queue_times(&times, &q, 100), -EDOM);
	gp_pmf_free(&service);
}

/* M/D/1 at half load: the mean wait is 1/2; Erlang's P(no wait) = 1/2. */
static void constant_services(void **state)
{
	struct gp_pmf service, times;
	const struct gp_queue q = { 0.5, &service, NULL };
	double nobody = 0;

	assert_int_equal(gp_pmf_constant(&service, 1, STEP), 0);
	assert_near(gp_queue_mean(&q), 1.5, 1e-6);
	assert_int_equal(gp_queue_times(&times, &q, 60), 0);
	for (size_t i = 0; i <= 100; i++)
		nobody += times.p[i];
	assert_near(nobody, 0.5, 1e-2);
	/* P(W <= 1) = (1 - rho) e^rho: Erlang's formula up to one service. */
	nobody = 0;
	for (size_t i = 0; i <= 200; i++)
		nobody += times.p[i];
	assert_near(nobody, 0.5 * exp(0.5), 1e-2);
	gp_pmf_free(&times);
	gp_pmf_free(&service);
}

/* With a set-up the sum's mean follows from moments alone. */
static void setups(void **state)
{
	const double mean = 1;
	struct gp_pmf service, setup, times;
	const struct gp_queue q = { 0.6, &service, &setup };

	assert_int_equal(gp_pmf_of_tail(&service, exponential, &mean, STEP, 100), 0);
	assert_int_equal(gp_pmf_constant(&setup, 0.7, STEP), 0);
	assert_near(gp_queue_mean(&q), 1 / 0.4 + (1.4 + 0.6 * 0.49) / (2 * (1 + 0.42)), 1e-3);
	assert_int_equal(gp_queue_times(&times, &q, 100), 0);
	assert_near(gp_pmf_mean(&times), gp_queue_mean(&q), 2e-3);
	/* The queue is busy for (0.7 + 1) / 0.4 on average, and empty for 1 / 0.6. */
	assert_near(gp_queue_left(&q, 0), (1 / 0.6) / (1 / 0.6 + 1.7 / 0.4), 1e-3);
	gp_pmf_free(&times);
	gp_pmf_free(&setup);
	gp_pmf_free(&service);
}

/* The sum of the model's constants (softgpu/h200.c). */
static void a_switch_costs(void **state)
{
	struct gp_model_config device;
	struct gp_virtual_switch cost;
	const size_t last = sizeof(cost.setup_ns) / sizeof(cost.setup_ns[0]) - 1;
	uint64_t made_ns;

	gp_model_config_h200(&device);
	made_ns = device.notice_ns + device.switch_out_ns + device.save_ns + device.switch_in_ns +
		  device.begin_ns + device.end_ns;
	assert_int_equal(gp_virtual_switch_measure(&device, &cost), 0);
	/* BE's slice of 1 us may have to end first. */
	assert_in_range(cost.setup_ns[last], made_ns, made_ns + device.slice_unit_ns);
	assert_true(cost.setup_ns[0] > cost.setup_ns[last]);
	device.kind = GP_MODEL_SLOTS;
	assert_int_equal(gp_virtual_switch_measure(&device, &cost), -EINVAL);
}

static void model_against_theory(void **state)
{
	struct gp_against a = { .service_ns = 500000, .requests = 100000, .seed = 1 };
	struct gp_model_config device;
	struct gp_virtual_switch cost;
	struct gp_against_result r;

	gp_model_config_h200(&device);
	assert_int_equal(gp_virtual_switch_measure(&device, &cost), 0);
	for (a.service = GP_SERVICE_CONSTANT; a.service <= GP_SERVICE_LOGNORMAL; a.service++) {
		a.load = 0.5;
		assert_int_equal(gp_against_theory(&device, &cost, &a, &r), 0);
		assert_near(r.run.mean_us, r.theory.mean_us, 0.03);
		assert_near(r.run.be_share, r.theory.be_share, 0.01);
		if (a.service != GP_SERVICE_LOGNORMAL)
			assert_near(r.run.p99_us, r.theory.p99_us, 0.03);
	}
	a.load = 1;
	assert_int_equal(gp_against_theory(&device, &cost, &a, &r), -EDOM);
}

/* A switch that costs twice as much disagrees with the theory. */
static void model_can_fail(void **state)
{
	struct gp_against a = { .service_ns = 500000, .requests = 20000, .seed = 1, .load = 0.3 };
	struct gp_model_config device;
	struct gp_virtual_switch cost;
	struct gp_against_result slow, fast;

	gp_model_config_h200(&device);
	assert_int_equal(gp_virtual_switch_measure(&device, &cost), 0);
	assert_int_equal(gp_against_theory(&device, &cost, &a, &fast), 0);
	device.switch_in_ns *= 2;
	assert_int_equal(gp_against_theory(&device, &cost, &a, &slow), 0);
	assert_true(slow.run.mean_us > 1.05 * slow.theory.mean_us);
	assert_true(fast.run.mean_us < 1.03 * fast.theory.mean_us);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distributions),     cmocka_unit_test(exponential_services),
		cmocka_unit_test(constant_services), cmocka_unit_test(setups),
		cmocka_unit_test(a_switch_costs),    cmocka_unit_test(model_against_theory),
		cmocka_unit_test(model_can_fail),
	};

	return gp_run_tests(tests);
}
