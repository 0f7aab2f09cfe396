// SPDX-License-Identifier: Apache-2.0
/* Times of kills: random, by the seed, and only of clients that the plan kills. */
#include "bench/run/kills.h"
#include "tests/common/gp_test.h"

#define NS_PER_S 1000000000ull
#define BEGIN_NS (7 * NS_PER_S)

static const struct gp_plan plan = {
	.clients = 3,
	.client = { [0] = { .killed_every_s = 2 }, [2] = { .killed_every_s = 0.5 } },
};

/* Count the kills of each client. Return: the time of the last one. */
static uint64_t play(uint64_t seed, uint64_t end_ns, size_t count[3])
{
	uint64_t last_ns = BEGIN_NS, next_ns;
	struct gp_kills k;

	count[0] = count[1] = count[2] = 0;
	gp_kills_begin(&k, &plan, seed, BEGIN_NS, end_ns);
	while ((next_ns = gp_kills_next_ns(&k)) != UINT64_MAX) {
		assert_true(next_ns >= last_ns && next_ns <= end_ns);
		assert_int_equal(gp_kills_take(&k, next_ns - 1), -1);
		count[gp_kills_take(&k, next_ns)]++;
		last_ns = next_ns;
	}
	return last_ns;
}

static void as_often_as_said(void **state)
{
	size_t count[3];

	play(1, BEGIN_NS + 10000 * NS_PER_S, count);
	/* Within four deviations of a Poisson law. */
	assert_in_range(count[0], 5000 - 284, 5000 + 284);
	assert_int_equal(count[1], 0);
	assert_in_range(count[2], 20000 - 566, 20000 + 566);
}

static void by_the_seed(void **state)
{
	const uint64_t end_ns = BEGIN_NS + 60 * NS_PER_S;
	size_t count[3];
	const uint64_t first = play(5, end_ns, count);

	assert_true(play(5, end_ns, count) == first);
	assert_true(play(6, end_ns, count) != first);
}

/* Two clients are due at the same time: one kill after the other. */
static void all_that_are_due(void **state)
{
	struct gp_kills k;
	int first;

	gp_kills_begin(&k, &plan, 1, BEGIN_NS, BEGIN_NS + 3600 * NS_PER_S);
	k.client[0].next_ns = k.client[2].next_ns = BEGIN_NS + 1;
	first = gp_kills_take(&k, BEGIN_NS + 1);
	assert_int_equal(first + gp_kills_take(&k, BEGIN_NS + 1), 2);
	assert_int_equal(gp_kills_take(&k, BEGIN_NS + 1), -1);
}

static void nobody(void **state)
{
	static const struct gp_plan none = { .clients = 2 };
	struct gp_kills k;

	gp_kills_begin(&k, &none, 1, BEGIN_NS, UINT64_MAX);
	assert_true(gp_kills_next_ns(&k) == UINT64_MAX);
	assert_int_equal(gp_kills_take(&k, UINT64_MAX - 1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_often_as_said),
		cmocka_unit_test(by_the_seed),
		cmocka_unit_test(all_that_are_due),
		cmocka_unit_test(nobody),
	};

	return gp_run_tests(tests);
}
