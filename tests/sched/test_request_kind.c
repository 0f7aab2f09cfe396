// SPDX-License-Identifier: Apache-2.0
/* Which requests pile up, when they need the device, and how soon that follows a change. */
#include <string.h>

#include "sched/request_kind.h"
#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

#define PREEMPT_NS (400 * US)
#define CALLS 100
#define SPARSE 7
#define DENSE 8

/* A program: launches of launch_ns, beside kernels of kernels_ns in all. */
struct program {
	struct gp_requests r;
	uint64_t now_ns;
	bool may_not;	     /* there is nobody to let it pile up */
	uint64_t tail_ns;    /* the last launch's kernel */
	bool any_calls;	     /* each request has another number of launches, not 100 */
	unsigned int piled;  /* requests that did */
	uint64_t longest_ns; /* wait */
	uint64_t needed_ns;  /* sum of the times with the device before the wait, if piled */
};

/*
 * A kernel can run once it was launched, and the device is there: from the first launch on, or from
 * @needs_ns or the wait on after a preemption.
 */
static uint64_t wait_of(uint64_t launch_ns, uint64_t kernels_ns, uint64_t ready_ns)
{
	/* The last kernel is launched at launch_ns; before, they come evenly. */
	const uint64_t last_ns = kernels_ns / 100;
	const uint64_t done_ns = ready_ns + kernels_ns;

	return done_ns > launch_ns + last_ns ? done_ns - launch_ns : last_ns;
}

static void request(struct program *p, uint64_t key, uint64_t launch_ns, uint64_t kernels_ns)
{
	const uint64_t needs_ns = gp_request_begin(&p->r, key, p->now_ns, !p->may_not);
	const uint32_t calls = CALLS * (p->any_calls ? 1 + p->piled % 3 : 1);
	uint64_t ready_ns = 0, wait_ns;

	if (needs_ns) {
		const uint64_t call_ns = launch_ns * p->r.needs_call / calls;

		ready_ns = needs_ns - p->now_ns < launch_ns ? needs_ns - p->now_ns : launch_ns;
		if (p->r.needs_call && call_ns < ready_ns) {
			gp_request_needs(&p->r, p->now_ns + call_ns);
			ready_ns = call_ns;
		}
		p->needed_ns += launch_ns - ready_ns;
		ready_ns += PREEMPT_NS;
		p->piled++;
	}
	p->now_ns += launch_ns;
	gp_request_wait(&p->r, p->now_ns, calls);
	wait_ns = wait_of(launch_ns, kernels_ns, ready_ns) + p->tail_ns;
	if (wait_ns > p->longest_ns)
		p->longest_ns = wait_ns;
	p->now_ns += wait_ns;
	gp_request_end(&p->r, p->now_ns, calls);
	p->now_ns += 100 * US;
}

/* Return: how many of @n piled. */
static unsigned int requests(struct program *p, unsigned int n, uint64_t key, uint64_t launch_ns,
			     uint64_t kernels_ns)
{
	const unsigned int before = p->piled;

	p->longest_ns = 0;
	for (unsigned int i = 0; i < n; i++)
		request(p, key, launch_ns, kernels_ns);
	return p->piled - before;
}

/* A token of a language model: launches of 16 ms for kernels of 5. */
static void test_sparse(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };

	memset(&p.r, 0, sizeof(p.r));
	assert_false(gp_requests_sparse(&p.r, p.now_ns));
	assert_int_equal(requests(&p, 6, SPARSE, 16 * MS, 5 * MS), 0);
	assert_int_equal(requests(&p, 1, SPARSE, 16 * MS, 5 * MS), 1);
	assert_true(gp_requests_sparse(&p.r, p.now_ns));
	requests(&p, 20, SPARSE, 16 * MS, 5 * MS);
	p.needed_ns = 0;
	assert_int_equal(requests(&p, 100, SPARSE, 16 * MS, 5 * MS), 100);
	/* The pile is done as the wait begins, and BE had most of the time. */
	assert_in_range(p.longest_ns, 0, 500 * US);
	assert_in_range(p.needed_ns, 100 * 4500 * US, 100 * 6 * MS);
}

/* A wait by another program's fault moves the lead a little. */
static void test_one_long_wait(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };

	memset(&p.r, 0, sizeof(p.r));
	requests(&p, 100, SPARSE, 16 * MS, 5 * MS);
	gp_request_begin(&p.r, SPARSE, p.now_ns, true);
	p.now_ns += 16 * MS;
	gp_request_needs(&p.r, p.now_ns - 5 * MS);
	gp_request_wait(&p.r, p.now_ns, CALLS);
	p.now_ns += 20 * MS;
	gp_request_end(&p.r, p.now_ns, CALLS);
	p.needed_ns = 0;
	assert_int_equal(requests(&p, 10, SPARSE, 16 * MS, 5 * MS), 10);
	assert_in_range(p.needed_ns, 0, 10 * 8 * MS);
}

/* Its kernels became shorter: BE has the difference, in time. */
static void test_shorter(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };

	memset(&p.r, 0, sizeof(p.r));
	requests(&p, 100, SPARSE, 16 * MS, 6 * MS);
	requests(&p, 1000, SPARSE, 16 * MS, 1 * MS);
	p.needed_ns = 0;
	assert_int_equal(requests(&p, 100, SPARSE, 16 * MS, 1 * MS), 100);
	assert_in_range(p.needed_ns, 0, 100 * 2 * MS);
}

static void test_dense(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };

	memset(&p.r, 0, sizeof(p.r));
	/* A graph; kernels that fill the time of their launches twice; and short launches. */
	assert_int_equal(requests(&p, 200, DENSE, 20 * US, 600 * US), 0);
	assert_int_equal(requests(&p, 200, DENSE + 1, 5 * MS, 10 * MS), 0);
	assert_int_equal(requests(&p, 200, DENSE + 2, 400 * US, 50 * US), 0);
	assert_false(gp_requests_sparse(&p.r, p.now_ns));
}

/* As long as the launches: it looks sparse, and one trial shows that it is not. */
static void test_trial(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };

	memset(&p.r, 0, sizeof(p.r));
	assert_int_equal(requests(&p, 70, DENSE, 10 * MS, 10 * MS), 1);
	assert_int_equal(requests(&p, 70, DENSE, 10 * MS, 10 * MS), 1);
	/* The next trials are ever rarer. */
	assert_in_range(requests(&p, 2000, DENSE, 10 * MS, 10 * MS), 2, 5);
}

/* More than half as long: BE gains little. */
static void test_too_full(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };

	memset(&p.r, 0, sizeof(p.r));
	assert_in_range(requests(&p, 60, DENSE, 10 * MS, 7 * MS), 1, 8);
}

/* Within some ten requests each way. */
static void test_changes_over(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };

	memset(&p.r, 0, sizeof(p.r));
	requests(&p, 100, SPARSE, 16 * MS, 5 * MS);
	/* The batch grew. */
	assert_in_range(requests(&p, 100, SPARSE, 16 * MS, 40 * MS), 1, 10);
	/* Two rests later at most it piles again. */
	assert_in_range(requests(&p, 100, SPARSE, 16 * MS, 5 * MS), 20, 100);
	assert_int_equal(requests(&p, 20, SPARSE, 16 * MS, 5 * MS), 20);
}

/* A graph for the prompt, then tokens: each as its kind. */
static void test_both_kinds(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };
	unsigned int dense = 0, sparse = 0;

	memset(&p.r, 0, sizeof(p.r));
	for (unsigned int i = 0; i < 40; i++) {
		dense += requests(&p, 1, DENSE, 50 * US, 30 * MS);
		sparse += requests(&p, 10, SPARSE, 16 * MS, 5 * MS);
	}
	assert_int_equal(dense, 0);
	assert_in_range(sparse, 390, 400);
}

/* A sampler's kernel after each token: it piles up like the tokens, and alone it does not. */
static void test_small(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };
	unsigned int small = 0;

	memset(&p.r, 0, sizeof(p.r));
	assert_int_equal(requests(&p, 100, DENSE, 20 * US, 30 * US), 0);
	for (unsigned int i = 0; i < 40; i++) {
		requests(&p, 1, SPARSE, 16 * MS, 5 * MS);
		small += requests(&p, 1, DENSE, 20 * US, 30 * US);
	}
	assert_in_range(small, 30, 40);
	/* It grew. */
	assert_int_equal(requests(&p, 10, DENSE, 20 * US, 30 * MS), 1);
}

/* More kinds than places, as an interpreter's program may have: none disturbs another. */
static void test_many_kinds(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };
	unsigned int piled = 0;

	memset(&p.r, 0, sizeof(p.r));
	for (unsigned int i = 0; i < 100; i++)
		for (uint64_t key = 100; key < 112; key++)
			piled += requests(&p, 1, key, 16 * MS, 5 * MS);
	assert_int_equal(piled, 0);
	assert_int_equal(requests(&p, 20, 100, 16 * MS, 5 * MS), 14);
}

/* The CPU is slow at times. The request's calls show how far it is. */
static void test_slow_at_times(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };

	memset(&p.r, 0, sizeof(p.r));
	for (unsigned int i = 0; i < 100; i++)
		requests(&p, 1, SPARSE, i % 4 ? 12 * MS : 24 * MS, 3 * MS);
	p.needed_ns = 0;
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(requests(&p, 1, SPARSE, i % 4 ? 12 * MS : 24 * MS, 3 * MS), 1);
		assert_in_range(p.longest_ns, 0, 800 * US);
	}
	assert_in_range(p.needed_ns, 100 * 3 * MS, 100 * 6 * MS);
}

/* Its last kernel is long: no lead shortens the wait for that. */
static void test_long_tail(void **state)
{
	static struct program p = { .now_ns = 1000 * MS, .tail_ns = 2 * MS };

	memset(&p.r, 0, sizeof(p.r));
	requests(&p, 100, SPARSE, 16 * MS, 3 * MS);
	p.needed_ns = 0;
	assert_int_equal(requests(&p, 100, SPARSE, 16 * MS, 3 * MS), 100);
	assert_in_range(p.longest_ns, 2 * MS, 2600 * US);
	assert_in_range(p.needed_ns, 100 * 2 * MS, 100 * 4 * MS);
}

/* A first request of another length, as a prompt's, does not disturb the others. */
static void test_prompts(void **state)
{
	static struct program p = { .now_ns = 1000 * MS };

	memset(&p.r, 0, sizeof(p.r));
	requests(&p, 40, SPARSE, 12 * MS, 3 * MS);
	for (unsigned int i = 0; i < 40; i++) {
		p.any_calls = i % 20 == 0;
		requests(&p, 1, SPARSE, 12 * MS, 3 * MS);
		assert_in_range(p.longest_ns, 0, 800 * US);
	}
}

/*
 * Launches of no fixed length or number: only the wait, or twice the usual time, calls for the
 * device.
 */
static void test_no_rhythm(void **state)
{
	static struct program p = { .now_ns = 1000 * MS, .any_calls = true };

	memset(&p.r, 0, sizeof(p.r));
	for (unsigned int i = 0; i < 60; i++)
		requests(&p, 1, SPARSE, i % 2 ? 4 * MS : 30 * MS, 1 * MS);
	p.needed_ns = 0;
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(requests(&p, 1, SPARSE, i % 2 ? 4 * MS : 30 * MS, 1 * MS), 1);
	assert_int_equal(p.needed_ns, 0);
}

/* One that never waits, as it polls, or somebody else waits for its work. */
static void test_never_waits(void **state)
{
	struct gp_requests r = { 0 };
	uint64_t now_ns = 1000 * MS;

	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(gp_request_begin(&r, SPARSE, now_ns, true), 0);
		now_ns += 10 * MS;
		gp_request_void(&r);
	}
	assert_false(gp_requests_sparse(&r, now_ns));
}

/* Nobody lets it pile up: it only says that it could. */
static void test_may_not(void **state)
{
	static struct program p = { .now_ns = 1000 * MS, .may_not = true };

	memset(&p.r, 0, sizeof(p.r));
	assert_int_equal(requests(&p, 50, SPARSE, 16 * MS, 5 * MS), 0);
	assert_true(gp_requests_sparse(&p.r, p.now_ns));
	assert_int_equal(requests(&p, 50, SPARSE, 16 * MS, 40 * MS), 0);
	assert_false(gp_requests_sparse(&p.r, p.now_ns + 10000 * MS));
	p.may_not = false;
	assert_int_equal(requests(&p, 20, SPARSE, 16 * MS, 40 * MS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sparse),	      cmocka_unit_test(test_one_long_wait),
		cmocka_unit_test(test_shorter),	      cmocka_unit_test(test_dense),
		cmocka_unit_test(test_trial),	      cmocka_unit_test(test_too_full),
		cmocka_unit_test(test_changes_over),  cmocka_unit_test(test_both_kinds),
		cmocka_unit_test(test_small),	      cmocka_unit_test(test_many_kinds),
		cmocka_unit_test(test_slow_at_times), cmocka_unit_test(test_prompts),
		cmocka_unit_test(test_long_tail),     cmocka_unit_test(test_no_rhythm),
		cmocka_unit_test(test_never_waits),   cmocka_unit_test(test_may_not),
	};

	return gp_run_tests(tests);
}
