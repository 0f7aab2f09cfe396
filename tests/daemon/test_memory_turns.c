// SPDX-License-Identifier: Apache-2.0
/* Tenants whose memory does not fit together: the choice, its time, and the shares. */
#include "daemon/memory_turns.h"
#include "tests/common/gp_test.h"

#define GIB (1ull << 30)
#define MS 1000000ull
#define S (1000 * MS)

static struct gp_memory_turn tenant_of(uint32_t weight, uint64_t bytes)
{
	return (struct gp_memory_turn){ .bytes = bytes, .weight = weight, .here = true };
}

static void test_length(void **state)
{
	struct gp_memory_turn a = tenant_of(100, 80 * GIB), b = a;

	/* 160 GiB at 25 GB/s, 5.5 times; at the measured rate; never less than the least. */
	assert_in_range(gp_memory_turn_ns(&a, &b), 37 * S, 38 * S);
	a.moved = b.moved = GIB;
	a.move_ns = b.move_ns = 20 * MS;
	assert_in_range(gp_memory_turn_ns(&a, &b), 17 * S, 18 * S);
	a.bytes = b.bytes = 0;
	assert_int_equal(gp_memory_turn_ns(&a, &b), GP_MEMORY_TURN_MIN_NS);
	/* Figures of a liar. */
	a.bytes = UINT64_MAX / 2;
	a.moved = b.moved = 1;
	a.move_ns = UINT64_MAX / 2;
	assert_int_equal(gp_memory_turn_ns(&a, &b), GP_MEMORY_TURN_MAX_NS);
}

static void test_choice(void **state)
{
	struct gp_memory_turn t[] = { tenant_of(100, GIB), tenant_of(100, GIB),
				      tenant_of(100, GIB) };
	const uint64_t lead = gp_memory_turn_ns(&t[0], &t[1]) * 1024 / 100;

	t[0].here = false;
	t[1].served = lead - 1;
	t[2].served = lead - 2;
	assert_int_equal(gp_memory_turn_choose(t, 3, 0), -1);
	t[2].served = lead;
	assert_int_equal(gp_memory_turn_choose(t, 3, 0), 2);
	t[1].served = lead + 1;
	assert_int_equal(gp_memory_turn_choose(t, 3, 0), 1);
	/* It moves already, or has nothing. */
	t[1].here = false;
	t[2].bytes = 0;
	assert_int_equal(gp_memory_turn_choose(t, 3, 0), -1);
}

static void test_two_that_wait(void **state)
{
	struct gp_memory_turn t[] = { tenant_of(100, GIB), tenant_of(100, GIB) };

	t[0].waits = t[1].waits = true;
	assert_int_equal(gp_memory_turn_choose(t, 2, 0), 1);
	gp_memory_turn_serve(t, 2, S);
	assert_int_equal(t[0].served | t[1].served, 0);
	t[0].served = 1;
	assert_int_equal(gp_memory_turn_choose(t, 2, 0), -1);
}

#define TENANTS 3

struct run {
	struct gp_memory_turn turn[TENANTS];
	uint64_t had_ns[TENANTS]; /* on the device */
	size_t changes;
};

/* A change of places takes as long as its moves. */
static void run_on(struct run *r, size_t n, size_t changes)
{
	const uint64_t step_ns = 50 * MS;
	uint64_t pause_ns = 0;

	while (r->changes < changes) {
		size_t waits = n;
		int leaves;

		for (size_t i = 0; i < n; i++) {
			r->had_ns[i] += r->turn[i].here && !pause_ns ? step_ns : 0;
			if (!r->turn[i].here &&
			    (waits == n || r->turn[i].served < r->turn[waits].served))
				waits = i;
		}
		pause_ns -= pause_ns < step_ns ? pause_ns : step_ns;
		if (pause_ns)
			continue;
		gp_memory_turn_serve(r->turn, n, step_ns);
		leaves = gp_memory_turn_choose(r->turn, n, waits);
		if (leaves < 0)
			continue;
		r->turn[leaves].here = false;
		r->turn[waits].here = true;
		r->changes++;
		pause_ns = 2 * gp_memory_turn_ns(&r->turn[leaves], &r->turn[waits]) / 11;
	}
}

/* @fit of the tenants fit at a time. */
static void run(struct run *r, size_t n, size_t fit, size_t changes)
{
	for (size_t i = fit; i < n; i++)
		r->turn[i].here = false;
	run_on(r, n, changes);
}

static double share(const struct run *r, size_t n, size_t i)
{
	uint64_t all = 0;

	for (size_t k = 0; k < n; k++)
		all += r->had_ns[k];
	return (double)r->had_ns[i] / (double)all;
}

static void test_shares(void **state)
{
	struct run even = { .turn = { tenant_of(100, 80 * GIB), tenant_of(100, 80 * GIB) } };
	struct run three_to_one = { .turn = { tenant_of(300, 80 * GIB),
					      tenant_of(100, 80 * GIB) } };
	struct run pairs = { .turn = { tenant_of(100, 55 * GIB), tenant_of(100, 55 * GIB),
				       tenant_of(100, 55 * GIB) } };

	run(&even, 2, 1, 20);
	assert_true(share(&even, 2, 0) > 0.485 && share(&even, 2, 0) < 0.515);
	run(&three_to_one, 2, 1, 20);
	assert_true(share(&three_to_one, 2, 0) > 0.73 && share(&three_to_one, 2, 0) < 0.77);
	run(&pairs, 3, 2, 30);
	for (size_t i = 0; i < 3; i++)
		assert_true(share(&pairs, 3, i) > 0.32 && share(&pairs, 3, i) < 0.345);
}

static void test_moves_take_a_twelfth(void **state)
{
	struct run r = { .turn = { tenant_of(100, 80 * GIB), tenant_of(100, 80 * GIB) } };
	const double move_ns = 2.0 * (double)gp_memory_turn_ns(&r.turn[0], &r.turn[1]) / 11;
	uint64_t before_ns;
	double had_ns;

	/* The first turn is shorter: nobody was ahead. */
	run(&r, 2, 1, 1);
	before_ns = r.had_ns[0] + r.had_ns[1];
	r.changes = 0;
	run_on(&r, 2, 20);
	had_ns = (double)(r.had_ns[0] + r.had_ns[1] - before_ns);
	assert_true(20 * move_ns / (20 * move_ns + had_ns) <= 0.084);
}

/* One that was kept out for long does not keep the others out as long. */
static void test_nobody_is_owed_without_bound(void **state)
{
	struct gp_memory_turn t[] = { tenant_of(100, GIB), tenant_of(100, GIB) };
	const uint64_t lead = gp_memory_turn_ns(&t[0], &t[1]) * 1024 / 100;

	t[1].here = false;
	for (int i = 0; i < 3600; i++)
		gp_memory_turn_serve(t, 2, S);
	assert_int_equal(t[0].served - t[1].served, 2 * lead);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_two_that_wait),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_moves_take_a_twelfth),
		cmocka_unit_test(test_nobody_is_owed_without_bound),
	};

	return gp_run_tests(tests);
}
