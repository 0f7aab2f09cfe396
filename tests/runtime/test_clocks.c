// SPDX-License-Identifier: Apache-2.0
#include "runtime/clocks.h"
#include "tests/common/gp_test.h"

#define US 1000ull
#define MS 1000000ull

struct world {
	struct gp_clocks c;
	uint64_t now_ns, rnd;
	int64_t ahead_ns, drift_ppm;
	uint64_t most_ns; /* off by, after the first second */
};

static uint64_t below(struct world *w, uint64_t n)
{
	w->rnd = w->rnd * 6364136223846793005u + 1442695040888963407u;
	return (w->rnd >> 33) % n;
}

static uint64_t there(const struct world *w)
{
	return w->now_ns + (uint64_t)(w->ahead_ns + (int64_t)w->now_ns * w->drift_ppm / 1000000);
}

/* Most readings take @took_ns, some ten times that; every 20 ms, for a minute. */
static void readings(struct world *w, uint64_t took_ns)
{
	for (int i = 0; i < 3000; i++) {
		uint64_t takes = took_ns + below(w, took_ns);
		uint64_t before = w->now_ns, then, off;

		if (!below(w, 4))
			takes *= 10;
		w->now_ns += below(w, takes);
		then = there(w);
		w->now_ns = before + takes;
		gp_clocks_read(&w->c, before, then, w->now_ns);
		off = there(w) - w->now_ns - (uint64_t)w->c.ahead_ns;
		if ((int64_t)off < 0)
			off = 0 - off;
		assert_true(!w->c.known || off <= gp_clocks_doubt(&w->c, w->now_ns) + 10);
		if (i > 50 && off > w->most_ns)
			w->most_ns = off;
		w->now_ns += 20 * MS;
	}
}

static void follows_a_drift(void **state)
{
	/* On a machine where a reading takes 4 us, and on one that takes 20. */
	for (uint64_t took = 4; took <= 20; took += 16)
		for (int64_t ppm = -100; ppm <= 100; ppm += 50) {
			struct world w = { .now_ns = 5000 * MS,
					   .rnd = took,
					   .ahead_ns = -77 * (int64_t)MS,
					   .drift_ppm = ppm };

			readings(&w, took * US);
			assert_true(w.c.known);
			assert_in_range(w.most_ns, 0, (took + 14) * US);
		}
}

static void what_took_too_long_is_not_known(void **state)
{
	struct gp_clocks c = { 0 };

	assert_int_equal(gp_clocks_doubt(&c, 5), UINT64_MAX);
	assert_false(gp_clocks_read(&c, 1000, 5000, 1000 + 201 * US));
	assert_false(gp_clocks_read(&c, 1000, 5000, 999));
	assert_false(c.known);
	assert_true(gp_clocks_read(&c, 1000, 5000, 1000 + 100 * US));
	assert_int_equal(c.ahead_ns, 4000 - 50 * (int64_t)US);
}

static void a_worse_one_is_taken_when_it_is_better_by_then(void **state)
{
	struct gp_clocks c = { 0 };
	uint64_t now = 10 * MS;

	assert_true(gp_clocks_read(&c, now, now + 3, now + 6 * US));
	assert_false(gp_clocks_read(&c, now + MS, 0, now + MS + 30 * US));
	now += 150 * MS;
	assert_true(gp_clocks_read(&c, now, now + 20 * US, now + 30 * US));
	assert_int_equal(c.ahead_ns, 5 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_a_drift),
		cmocka_unit_test(what_took_too_long_is_not_known),
		cmocka_unit_test(a_worse_one_is_taken_when_it_is_better_by_then),
	};

	return gp_run_tests(tests);
}
