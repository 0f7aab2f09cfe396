// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <math.h>

#include "bench/plan/arrivals.h"
#include "tests/common/gp_test.h"

#define MEAN_NS 5000000u
#define DRAWS 400000

static void parse(const char *text, struct gp_arrivals *a)
{
	assert_int_equal(gp_arrivals_parse(text, MEAN_NS, 7, 1, a), 0);
}

struct moments {
	double mean, deviation; /* of the gaps, in units of their mean */
};

/* For any lateness of requests. */
static struct moments open_loop(const char *text, uint64_t late_ns)
{
	double sum = 0, squares = 0;
	struct gp_arrivals a;
	uint64_t at_ns = 0;

	parse(text, &a);
	assert_true(gp_arrivals_is_open(&a));
	for (int i = 0; i < DRAWS; i++) {
		uint64_t next_ns = gp_arrivals_next_ns(&a, at_ns, at_ns + late_ns);
		double gap = (double)(next_ns - at_ns) / MEAN_NS;

		sum += gap;
		squares += gap * gap;
		at_ns = next_ns;
	}
	sum /= DRAWS;
	return (struct moments){ sum, sqrt(squares / DRAWS - sum * sum) };
}

static void near(double value, double expected, double within)
{
	if (fabs(value / expected - 1) > within)
		fail_msg("%.4f, not %.4f", value, expected);
}

static void gaps_are_of_their_law(void **state)
{
	struct moments m = open_loop("periodic", 0);

	assert_true(m.mean == 1 && m.deviation < 1e-6);
	m = open_loop("poisson", 0);
	near(m.mean, 1, 0.01);
	near(m.deviation, 1, 0.01);
	m = open_loop("bursty:0.5", 0);
	near(m.mean, 1, 0.01);
	near(m.deviation, sqrt(exp(0.25) - 1), 0.02);
	m = open_loop("bursty", 0);
	near(m.mean, 1, 0.01);
	near(m.deviation, sqrt(exp(1) - 1), 0.05);
}

/* A late client is not waited for, and no request is left out. */
static void an_open_loop_does_not_wait(void **state)
{
	struct moments in_time = open_loop("poisson", 0);
	struct moments late = open_loop("poisson", 100u * MEAN_NS);

	assert_true(in_time.mean == late.mean && in_time.deviation == late.deviation);
}

static void a_closed_loop_waits(void **state)
{
	struct gp_arrivals a;

	parse("continuous", &a);
	assert_false(gp_arrivals_is_open(&a));
	assert_int_equal(gp_arrivals_next_ns(&a, 10, 700), 700);
	parse("dependent", &a);
	assert_false(gp_arrivals_is_open(&a));
	assert_int_equal(gp_arrivals_next_ns(&a, 10, 700), 700 + MEAN_NS);
}

static void streams_are_repeated_and_differ(void **state)
{
	struct gp_arrivals a, same, other;
	int equal = 0;

	parse("poisson", &a);
	parse("poisson", &same);
	assert_int_equal(gp_arrivals_parse("poisson", MEAN_NS, 7, 2, &other), 0);
	for (int i = 0; i < 100; i++) {
		uint64_t next_ns = gp_arrivals_next_ns(&a, 0, 0);

		assert_int_equal(gp_arrivals_next_ns(&same, 0, 0), next_ns);
		equal += gp_arrivals_next_ns(&other, 0, 0) == next_ns;
	}
	assert_true(equal < 3);
}

static void what_is_no_law_is_refused(void **state)
{
	static const char *const bad[] = {
		"",	      "poisso",	    "poissons",	    "Poisson",	 "periodic:1", "periodic:",
		":1",	      "bursty:",    "bursty:x",	    "bursty:1x", "bursty: 1",  "bursty:-1",
		"bursty:inf", "bursty:0x1", "bursty:1.2.3", "bursty:.",
	};
	struct gp_arrivals a;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gp_arrivals_parse(bad[i], 1, 1, 1, &a), -EINVAL);
	assert_int_equal(gp_arrivals_parse("bursty:0", 1, 1, 1, &a), -ERANGE);
	assert_int_equal(gp_arrivals_parse("bursty:3.1", 1, 1, 1, &a), -ERANGE);
	assert_int_equal(gp_arrivals_parse("bursty:3", 1, 1, 1, &a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_are_of_their_law),
		cmocka_unit_test(an_open_loop_does_not_wait),
		cmocka_unit_test(a_closed_loop_waits),
		cmocka_unit_test(streams_are_repeated_and_differ),
		cmocka_unit_test(what_is_no_law_is_refused),
	};

	return gp_run_tests(tests);
}
