// SPDX-License-Identifier: Apache-2.0
/*
 * test_model.c - each behaviour of the model separately, to the nanosecond, on a small device
 * with round costs; and a long random run of everything.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/model.h"
#include "tests/common/gp_test.h"

#define US 1000ull
#define MS 1000000ull
/* From a doorbell on an idle, empty device to the first instruction. */
#define FIRST_NS (1000 + 4000 + 500)
#define MAX_EVENTS 200000

struct fix {
	struct gp_model *m;
	struct gp_model_event ev[MAX_EVENTS];
	size_t n;
};

static void on_event(void *arg, const struct gp_model_event *ev)
{
	struct fix *f = arg;

	assert_true(f->n < MAX_EVENTS);
	assert_true(!f->n || ev->time_ns >= f->ev[f->n - 1].time_ns);
	f->ev[f->n++] = *ev;
}

static struct gp_model_config small(void)
{
	return (struct gp_model_config){
		.kind = GP_MODEL_TIMESLICE,
		.slots = 2,
		.sms = 4,
		.blocks_per_sm = 2,
		.notice_ns = 1000,
		.switch_out_ns = 2000,
		.save_ns = 1000,
		.switch_in_ns = 4000,
		.idle_switch_ns = 4000,
		.begin_ns = 500,
		.restore_ns = 500,
		.start_ns = 100,
		.end_ns = 100,
		.slice_unit_ns = 1000,
		.default_slice_us = 2000,
		.default_copy_slice_us = 2000,
		.min_slice_us = 1,
		.max_slice_us = 1000000,
		.copy_bytes_per_us = 1000,
		.copy_setup_ns = 500,
		.set_slice_ns = 1000,
		.suspend_ns = 5000,
		.resume_ns = 3000,
		.fault_drain_ns = 1000000,
		.seed = 7,
	};
}

static struct fix *make(const struct gp_model_config *config)
{
	struct fix *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->m = gp_model_create(config, on_event, f);
	assert_non_null(f->m);
	return f;
}

static int set_up(void **state)
{
	struct gp_model_config c = small();

	*state = make(&c);
	return 0;
}

static int set_up_slots(void **state)
{
	struct gp_model_config c = small();

	c.kind = GP_MODEL_SLOTS;
	*state = make(&c);
	return 0;
}

static int tear_down(void **state)
{
	struct fix *f = *state;

	gp_model_destroy(f->m);
	free(f);
	return 0;
}

static uint32_t group(struct fix *f, int32_t pid)
{
	int id = gp_model_group_add(f->m, pid, GP_GROUP_COMPUTE);

	assert_true(id > 0);
	return (uint32_t)id;
}

static uint32_t channel(struct fix *f, uint32_t of)
{
	int id = gp_model_channel_add(f->m, of);

	assert_true(id > 0);
	return (uint32_t)id;
}

static uint64_t put(struct fix *f, uint32_t ch, struct gp_model_method method)
{
	uint64_t seq = 0;

	assert_int_equal(gp_model_submit(f->m, ch, &method, &seq), 0);
	return seq;
}

static struct gp_model_method kernel(uint64_t blocks, uint64_t ns, uint64_t cookie)
{
	return (struct gp_model_method){
		.type = GP_METHOD_KERNEL,
		.blocks = blocks,
		.block_ns = ns,
		.cookie = cookie,
	};
}

static struct gp_model_method hold(const volatile uint32_t *word, uint32_t ticket,
				   uint64_t limit_ns, uint64_t cookie)
{
	return (struct gp_model_method){
		.type = GP_METHOD_HOLD,
		.word = word,
		.ticket = ticket,
		.limit_ns = limit_ns,
		.cookie = cookie,
	};
}

/* Time of the first event of @type for @cookie; UINT64_MAX: there is none. */
static uint64_t when(const struct fix *f, uint32_t type, uint64_t cookie)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->ev[i].type == type && f->ev[i].cookie == cookie)
			return f->ev[i].time_ns;
	return UINT64_MAX;
}

static uint64_t blocks_of(const struct fix *f, uint64_t cookie)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->ev[i].type == GP_MODEL_BLOCKS && f->ev[i].cookie == cookie)
			n += f->ev[i].count;
	return n;
}

static size_t switches(const struct fix *f, int32_t pid, uint32_t kind)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += f->ev[i].type == GP_MODEL_SWITCH && f->ev[i].pid == pid &&
		     f->ev[i].switch_kind == kind;
	return n;
}

/* Keep @group busy for @ns: two kernels of all the device. */
static uint32_t busy(struct fix *f, uint32_t of, uint64_t ns, uint64_t cookie)
{
	uint32_t ch = channel(f, of);

	put(f, ch, kernel(8, ns, cookie));
	put(f, ch, kernel(8, ns, cookie + 1));
	return ch;
}

/* ---- work ------------------------------------------------------------------ */

static void kernel_alone(void **state)
{
	struct fix *f = *state;
	uint32_t ch = channel(f, group(f, 1));

	put(f, ch, kernel(8, 10 * US, 5));
	gp_model_advance(f->m, MS);
	assert_int_equal(when(f, GP_MODEL_STARTED, 5), FIRST_NS);
	assert_int_equal(when(f, GP_MODEL_BLOCKS, 5), FIRST_NS + 10 * US);
	assert_int_equal(when(f, GP_MODEL_DONE, 5), FIRST_NS + 10 * US + 100);
	assert_true(gp_model_next(f->m) == UINT64_MAX);

	/* Its context is still loaded. */
	put(f, ch, kernel(1, 10 * US, 6));
	gp_model_advance(f->m, 2 * MS);
	assert_int_equal(when(f, GP_MODEL_STARTED, 6), MS + 100);
}

static void blocks_run_in_waves(void **state)
{
	struct fix *f = *state;
	uint32_t ch = channel(f, group(f, 1));
	static const uint64_t first[] = { 0, 8, 16 }, count[] = { 8, 8, 4 };
	size_t wave = 0;

	put(f, ch, kernel(20, 10 * US, 5));
	gp_model_advance(f->m, MS);
	for (size_t i = 0; i < f->n; i++) {
		if (f->ev[i].type != GP_MODEL_BLOCKS)
			continue;
		assert_true(wave < 3);
		assert_int_equal(f->ev[i].first, first[wave]);
		assert_int_equal(f->ev[i].count, count[wave]);
		assert_int_equal(f->ev[i].time_ns, FIRST_NS + ++wave * 10 * US);
	}
	assert_int_equal(wave, 3);
}

static void channels_of_a_group_run_together(void **state)
{
	struct fix *f = *state;
	uint32_t g = group(f, 1), a = channel(f, g), b = channel(f, g);
	uint32_t word = 0;

	put(f, a, hold(&word, 1, 50 * US, 1));
	put(f, b, kernel(14, 10 * US, 2));
	gp_model_advance(f->m, MS);
	assert_int_equal(when(f, GP_MODEL_STARTED, 1), FIRST_NS);
	assert_int_equal(when(f, GP_MODEL_STARTED, 2), FIRST_NS);
	/* Seven places beside the hold: two waves. */
	assert_int_equal(when(f, GP_MODEL_DONE, 2), FIRST_NS + 20 * US + 100);
	assert_int_equal(when(f, GP_MODEL_DONE, 1), FIRST_NS + 50 * US + 100);
}

static void methods_of_a_channel_run_in_order(void **state)
{
	struct fix *f = *state;
	uint32_t ch = channel(f, group(f, 1));

	put(f, ch, kernel(1, 10 * US, 1));
	put(f, ch, kernel(1, 10 * US, 2));
	put(f, ch, (struct gp_model_method){ .type = GP_METHOD_FENCE, .cookie = 3 });
	gp_model_advance(f->m, MS);
	assert_int_equal(when(f, GP_MODEL_STARTED, 2), FIRST_NS + 10 * US);
	assert_int_equal(when(f, GP_MODEL_DONE, 3), FIRST_NS + 20 * US + 100);
}

static void cooperative_waits_for_all_its_room(void **state)
{
	struct fix *f = *state;
	uint32_t g = group(f, 1), a = channel(f, g), b = channel(f, g);
	struct gp_model_method all = kernel(8, 10 * US, 2);

	all.flags = GP_METHOD_COOPERATIVE;
	put(f, a, kernel(1, 30 * US, 1));
	put(f, b, all);
	gp_model_advance(f->m, MS);
	assert_int_equal(when(f, GP_MODEL_STARTED, 2), FIRST_NS + 30 * US);
	all.blocks = 9;
	assert_int_equal(gp_model_submit(f->m, b, &all, NULL), -EINVAL);
}

static void hold_ends_by_word_or_limit(void **state)
{
	struct fix *f = *state;
	uint32_t ch = channel(f, group(f, 1)), word = UINT32_MAX;

	put(f, ch, hold(&word, 1, 100 * US, 1)); /* tickets wrap */
	gp_model_advance(f->m, 50 * US);
	assert_true(when(f, GP_MODEL_DONE, 1) == UINT64_MAX);
	word = 2;
	assert_true(gp_model_next(f->m) == 50 * US + 100);
	gp_model_advance(f->m, 60 * US);
	assert_int_equal(when(f, GP_MODEL_DONE, 1), 50 * US + 100);
	put(f, ch, hold(&word, 3, 100 * US, 2));
	gp_model_advance(f->m, MS);
	assert_int_equal(when(f, GP_MODEL_DONE, 2), 60 * US + 100 + 100 * US + 100);
}

static void wait_waits_for_another_channel(void **state)
{
	struct fix *f = *state;
	uint32_t a = channel(f, group(f, 1)), b = channel(f, group(f, 2));
	uint64_t seq = put(f, a, kernel(1, 100 * US, 1));

	put(f, b,
	    (struct gp_model_method){ .type = GP_METHOD_WAIT, .wait_channel = a, .wait_seq = seq });
	put(f, b, kernel(1, 10 * US, 2));
	gp_model_advance(f->m, MS);
	/* A group that only waits does not take the device: no switch in between. */
	assert_int_equal(when(f, GP_MODEL_DONE, 1), FIRST_NS + 100 * US + 100);
	assert_int_equal(when(f, GP_MODEL_STARTED, 2), FIRST_NS + 100 * US + 2000 + 4000 + 500);

	/* A channel that is gone delays no other. */
	seq = put(f, a, kernel(1, 100 * US, 3));
	put(f, b,
	    (struct gp_model_method){ .type = GP_METHOD_WAIT, .wait_channel = a, .wait_seq = seq });
	put(f, b, kernel(1, 10 * US, 4));
	assert_int_equal(gp_model_channel_del(f->m, a), 0);
	gp_model_advance(f->m, 2 * MS);
	assert_true(when(f, GP_MODEL_DONE, 4) < 2 * MS);
}

static void copies_take_their_bandwidth(void **state)
{
	struct fix *f = *state;
	struct gp_model_method copy = { .type = GP_METHOD_COPY, .bytes = 50000, .cookie = 1 };
	int g = gp_model_group_add(f->m, 1, GP_GROUP_COPY);
	uint32_t ch = channel(f, (uint32_t)g), k = channel(f, group(f, 2));

	put(f, ch, copy);
	copy.cookie = 2;
	put(f, ch, copy);
	put(f, k, kernel(8, 10 * US, 3));
	gp_model_advance(f->m, MS);
	/* 50.5 µs each, in sequence, beside the kernel. */
	assert_int_equal(when(f, GP_MODEL_DONE, 2) - when(f, GP_MODEL_DONE, 1), 50500);
	assert_int_equal(when(f, GP_MODEL_DONE, 3), FIRST_NS + 10 * US + 100);
	assert_int_equal(
		gp_model_submit(f->m, ch,
				&(struct gp_model_method){ .type = GP_METHOD_KERNEL, .blocks = 1 },
				NULL),
		-EINVAL);
}

/* ---- switches ---------------------------------------------------------------- */

static void slices_alternate(void **state)
{
	struct fix *f = *state;
	uint32_t a = group(f, 1), b = group(f, 2);

	assert_int_equal(gp_model_set_slice(f->m, a, 100), 0);
	assert_int_equal(gp_model_set_slice(f->m, b, 300), 0);
	busy(f, a, 100 * MS, 10);
	busy(f, b, 100 * MS, 20);
	gp_model_advance(f->m, 40 * MS);
	/* Of a round of 414 µs, 98.5 and 298.5 remain for work .. */
	assert_true(switches(f, 1, GP_SWITCH_END) >= 95);
	assert_true(switches(f, 1, GP_SWITCH_END) <= 98);
	/* .. and the slice of a single group is renewed without a switch. */
	assert_int_equal(gp_model_suspend(f->m, &b, 1, 0), 0);
	gp_model_advance(f->m, 41 * MS);
	f->n = 0;
	gp_model_advance(f->m, 50 * MS);
	assert_int_equal(switches(f, 1, GP_SWITCH_END), 0);
}

/* At any time since it came: no other group wanted the device. */
static void work_begins_a_slice(void **state)
{
	struct fix *f = *state;
	uint32_t a = group(f, 1), b = group(f, 2);
	uint32_t ch = channel(f, a);

	put(f, ch, kernel(8, 10 * US, 5));
	gp_model_advance(f->m, 3 * MS);
	put(f, ch, kernel(8, 100 * MS, 6));
	put(f, ch, kernel(8, 100 * MS, 7));
	busy(f, b, MS, 20);
	/* Of 2 ms: noticed after 1 us, it waits for the end; then saved and loaded. */
	gp_model_advance(f->m, 20 * MS);
	assert_int_equal(when(f, GP_MODEL_STARTED, 6), 3 * MS + 100);
	assert_in_range(when(f, GP_MODEL_STARTED, 20), 5 * MS, 5 * MS + 10 * US);
}

/* From START to END: it counts a little later, in units of its own. */
static void a_slice_lasts_what_it_says(void **state)
{
	struct gp_model_config c = small();
	uint64_t start_ns = 0, end_ns = 0;
	struct fix *f;

	c.slice_unit_ns = 1024;
	c.slice_begin_ns = 700;
	f = make(&c);
	for (int i = 1; i <= 2; i++) {
		uint32_t g = group(f, i);

		assert_int_equal(gp_model_set_slice(f->m, g, 100), 0);
		busy(f, g, 100 * MS, 10 * (uint64_t)i);
	}
	gp_model_advance(f->m, 10 * MS);
	for (size_t i = 0; i < f->n && !end_ns; i++) {
		if (f->ev[i].type != GP_MODEL_SWITCH || f->ev[i].pid != 2)
			continue;
		if (f->ev[i].switch_kind == GP_SWITCH_START)
			start_ns = f->ev[i].time_ns;
		else
			end_ns = f->ev[i].time_ns;
	}
	assert_int_equal(end_ns - start_ns, 700 + 100 * 1024 + 2000 + 1000);
	gp_model_destroy(f->m);
	free(f);
	(void)state;
}

/* Wait of a group that comes at @at_ns, beside two kernels, or one that has a waiter. */
static uint64_t waits_beside(bool waited_for, uint64_t at_ns)
{
	const struct gp_model_method fence = { .type = GP_METHOD_FENCE, .cookie = 12 };
	struct gp_model_config c = small();
	struct fix *f = make(&c);
	uint32_t be = group(f, 1), lc = group(f, 2), ch = channel(f, be);
	uint64_t start_ns;

	put(f, ch, kernel(8, 100 * MS, 10));
	put(f, ch, waited_for ? fence : kernel(8, 100 * MS, 11));
	gp_model_advance(f->m, at_ns);
	busy(f, lc, MS, 20);
	gp_model_advance(f->m, 20 * MS);
	start_ns = when(f, GP_MODEL_STARTED, 20);
	gp_model_destroy(f->m);
	free(f);
	return start_ns - at_ns;
}

/* Within the first slice a new group waits for its end; after it only beside more work. */
static void what_is_waited_for_has_one_slice(void **state)
{
	(void)state;
	assert_in_range(waits_beside(true, MS), MS, MS + 20 * US);
	assert_in_range(waits_beside(false, MS), MS, MS + 20 * US);
	assert_in_range(waits_beside(true, 5 * MS), 0, 10 * US);
	assert_in_range(waits_beside(false, 5 * MS), MS, MS + 20 * US);
}

/* The host moved on to the third before the second came. */
static void who_comes_later_is_not_next(void **state)
{
	struct fix *f = *state;
	uint32_t g[3];

	for (int i = 0; i < 3; i++)
		g[i] = group(f, i + 1);
	busy(f, g[0], 100 * MS, 10);
	busy(f, g[2], 100 * MS, 30);
	gp_model_advance(f->m, MS);
	busy(f, g[1], 100 * MS, 20);
	gp_model_advance(f->m, 10 * MS);
	assert_true(when(f, GP_MODEL_STARTED, 10) < when(f, GP_MODEL_STARTED, 30));
	assert_true(when(f, GP_MODEL_STARTED, 30) < when(f, GP_MODEL_STARTED, 20));
	assert_true(when(f, GP_MODEL_STARTED, 20) != UINT64_MAX);
	/* The next group may leave, or lose its work. */
	f->n = 0;
	assert_int_equal(gp_model_group_del(f->m, g[0]), 0);
	assert_int_equal(gp_model_suspend(f->m, &g[1], 1, 0), 0);
	gp_model_advance(f->m, 20 * MS);
	assert_true(switches(f, 2, GP_SWITCH_START) <= 1);
	assert_int_equal(gp_model_resume(f->m, &g[1], 1, 0), 0);
	gp_model_advance(f->m, 30 * MS);
	assert_true(switches(f, 2, GP_SWITCH_START) > 1);
}

static void a_switch_costs_what_it_says(void **state)
{
	struct fix *f = *state;
	uint32_t be = group(f, 1), lc = group(f, 2), ch = channel(f, lc);

	assert_int_equal(gp_model_set_slice(f->m, be, 1), 0);
	assert_int_equal(gp_model_set_slice(f->m, lc, 1000000), 0);
	busy(f, be, 10 * MS, 10);
	gp_model_advance(f->m, MS);
	put(f, ch, kernel(1, 5 * US, 1));
	put(f, ch, (struct gp_model_method){ .type = GP_METHOD_FENCE });
	gp_model_advance(f->m, 2 * MS);
	/* Noticed, saved with blocks, loaded; a slice of 1 µs may end meanwhile. */
	assert_in_range(when(f, GP_MODEL_STARTED, 1), MS + 1000 + 3000 + 4500,
			MS + 1000 + 3000 + 4500 + 1000);
	/* BE's blocks continue where they stopped. */
	gp_model_advance(f->m, 40 * MS);
	assert_int_equal(blocks_of(f, 10), 8);
	assert_in_range(when(f, GP_MODEL_DONE, 10), FIRST_NS + 10 * MS + 18 * US,
			FIRST_NS + 10 * MS + 25 * US);
}

static void lone_hold_is_lost_a_pair_is_not(void **state)
{
	struct fix *f = *state;
	uint32_t be = group(f, 1), lc = group(f, 2), ch = channel(f, lc);
	uint32_t word = 0;

	assert_int_equal(gp_model_set_slice(f->m, be, 1), 0);
	assert_int_equal(gp_model_set_slice(f->m, lc, 1000000), 0);
	busy(f, be, 100 * MS, 10);
	gp_model_advance(f->m, MS);
	put(f, ch, hold(&word, 1, 50 * MS, 1));
	gp_model_advance(f->m, MS + 20 * US);
	/* It started, and gave up though its slice is a second. */
	assert_int_equal(switches(f, 2, GP_SWITCH_START), 1);
	assert_int_equal(switches(f, 2, GP_SWITCH_END), 1);
	put(f, ch, hold(&word, 1, 50 * MS, 2));
	gp_model_advance(f->m, 2 * MS);
	f->n = 0;
	gp_model_advance(f->m, 10 * MS);
	assert_int_equal(f->n, 0);
	word = 1;
	gp_model_advance(f->m, 11 * MS);
	assert_int_equal(switches(f, 1, GP_SWITCH_START), 1);
}

static void two_at_1_us_livelock(void **state)
{
	struct fix *f = *state;

	for (int i = 1; i <= 2; i++) {
		uint32_t g = group(f, i);

		assert_int_equal(gp_model_set_slice(f->m, g, 1), 0);
		busy(f, g, 20 * US, 10 * (uint64_t)i);
	}
	gp_model_advance(f->m, 20 * MS);
	/* Loading alone uses up the slice of a preempted group. */
	assert_true(blocks_of(f, 10) + blocks_of(f, 20) == 0);
	assert_true(switches(f, 1, GP_SWITCH_START) > 1000);
}

/* LC's start after its doorbell, with BE in @mode, 3 µs into blocks of 100. */
static uint64_t start_beside(struct fix *f, enum gp_preempt_mode mode)
{
	uint32_t be = group(f, 1), lc = group(f, 2), ch = channel(f, be);

	assert_int_equal(gp_model_set_mode(f->m, be, mode), 0);
	assert_int_equal(gp_model_set_slice(f->m, be, 1), 0);
	for (int i = 0; i < 4; i++)
		put(f, ch, kernel(80, 100 * US, 10));
	gp_model_advance(f->m, FIRST_NS + 303 * US);
	put(f, channel(f, lc), kernel(1, 1, 1));
	gp_model_advance(f->m, 10 * MS);
	return when(f, GP_MODEL_STARTED, 1) - (FIRST_NS + 303 * US);
}

static void instruction_mode_is_cut_at_once(void **state)
{
	assert_in_range(start_beside(*state, GP_PREEMPT_INSTRUCTION), 8500, 9500);
}

static void block_mode_waits_for_the_blocks(void **state)
{
	/* 97 µs to the wave's end; nothing to save then. */
	assert_int_equal(start_beside(*state, GP_PREEMPT_BLOCK), 97 * US + 2000 + 4500);
}

static void wait_for_idle_cannot_be_cut(void **state)
{
	/* Ten waves to a kernel, three done. */
	assert_int_equal(start_beside(*state, GP_PREEMPT_WAIT_IDLE), 697 * US + 2000 + 4500);
}

static uint64_t suspend_beside_faults(uint64_t seed, uint32_t flags)
{
	struct gp_model_config c = small();
	struct gp_model_method k = kernel(8, 50 * MS, 10);
	struct fix *f;
	uint32_t g;
	uint64_t took;

	c.seed = seed;
	k.flags = flags;
	f = make(&c);
	g = group(f, 1);
	put(f, channel(f, g), k);
	gp_model_advance(f->m, MS);
	assert_int_equal(gp_model_suspend(f->m, &g, 1, 77), 0);
	gp_model_advance(f->m, 10 * MS);
	took = when(f, GP_MODEL_CONTROL_DONE, 77) - MS;
	gp_model_destroy(f->m);
	free(f);
	return took;
}

static void faults_delay_a_suspend(void **state)
{
	uint64_t longest = 0;
	int late = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t took = suspend_beside_faults(seed, GP_METHOD_FAULTS);

		assert_true(took == suspend_beside_faults(seed, GP_METHOD_FAULTS));
		assert_true(took <= MS + 3000);
		late += took > 5000;
		longest = took > longest ? took : longest;
	}
	assert_in_range(late, 50, 110);
	assert_true(longest > 800 * US);
	assert_int_equal(suspend_beside_faults(1, 0), 5000);
}

/* ---- controls ----------------------------------------------------------------- */

static void suspend_and_resume(void **state)
{
	struct fix *f = *state;
	uint32_t g = group(f, 1);
	uint64_t usage, later;

	busy(f, g, 10 * MS, 10);
	gp_model_advance(f->m, MS);
	assert_int_equal(gp_model_suspend(f->m, &g, 1, 71), 0);
	gp_model_advance(f->m, 5 * MS);
	assert_int_equal(when(f, GP_MODEL_CONTROL_DONE, 71), MS + 5000);
	assert_int_equal(switches(f, 1, GP_SWITCH_END), 1);
	assert_int_equal(gp_model_suspended(f->m, g), 1);
	assert_int_equal(gp_model_usage(f->m, g, &usage), 0);
	assert_int_equal(usage, MS - 5000 + 3000);
	assert_int_equal(gp_model_resume(f->m, &g, 1, 72), 0);
	gp_model_advance(f->m, 30 * MS);
	assert_int_equal(when(f, GP_MODEL_CONTROL_DONE, 72), 5 * MS + 3000);
	/* 4 ms away, and the time to return. */
	assert_int_equal(when(f, GP_MODEL_DONE, 10),
			 FIRST_NS + 10 * MS + 100 + 4 * MS + 3000 + 4000 + 1000);
	assert_int_equal(gp_model_usage(f->m, g, &later), 0);
	assert_true(later > usage + 18 * MS);
}

/* A group with a long slice is preempted, and has its slice again in its next turn. */
static void preempt_ends_a_turn(void **state)
{
	struct fix *f = *state;
	uint32_t a = group(f, 1), b = group(f, 2);

	assert_int_equal(gp_model_set_slice(f->m, a, 1000000), 0);
	assert_int_equal(gp_model_set_slice(f->m, b, 200), 0);
	busy(f, a, 100 * MS, 10);
	gp_model_advance(f->m, MS);
	/* No other group waits: no effect, then or later. */
	assert_int_equal(gp_model_preempt(f->m, a), 0);
	busy(f, b, 100 * MS, 20);
	gp_model_advance(f->m, 5 * MS);
	assert_int_equal(switches(f, 1, GP_SWITCH_END), 0);
	/* Not on the device: the same. */
	assert_int_equal(gp_model_preempt(f->m, b), 0);
	gp_model_advance(f->m, 6 * MS);
	assert_int_equal(switches(f, 1, GP_SWITCH_END), 0);
	assert_int_equal(gp_model_preempt(f->m, a), 0);
	gp_model_advance(f->m, 6 * MS + 3000);
	assert_int_equal(switches(f, 1, GP_SWITCH_END), 1);
	gp_model_advance(f->m, 7 * MS);
	assert_int_equal(switches(f, 2, GP_SWITCH_END), 1);
	gp_model_advance(f->m, 50 * MS);
	assert_int_equal(switches(f, 1, GP_SWITCH_END), 1);
	assert_int_equal(gp_model_preempt(f->m, 99), -ENOENT);
}

static void slots_have_no_turns(void **state)
{
	struct fix *f = *state;

	assert_int_equal(gp_model_preempt(f->m, group(f, 1)), -ENOTSUP);
}

static void resume_overtakes_a_suspend(void **state)
{
	struct fix *f = *state;
	uint32_t g = group(f, 1);

	busy(f, g, 10 * MS, 10);
	gp_model_advance(f->m, MS);
	assert_int_equal(gp_model_suspend(f->m, &g, 1, 71), 0);
	assert_int_equal(gp_model_resume(f->m, &g, 1, 72), 0);
	gp_model_advance(f->m, 40 * MS);
	assert_true(when(f, GP_MODEL_CONTROL_DONE, 71) < 2 * MS);
	assert_true(when(f, GP_MODEL_CONTROL_DONE, 72) < 2 * MS);
	assert_true(when(f, GP_MODEL_DONE, 11) != UINT64_MAX);

	/* In the opposite order it stays suspended. */
	busy(f, g, 10 * MS, 20);
	gp_model_advance(f->m, 41 * MS);
	assert_int_equal(gp_model_suspend(f->m, &g, 1, 0), 0);
	gp_model_advance(f->m, 42 * MS);
	assert_int_equal(gp_model_resume(f->m, &g, 1, 0), 0);
	assert_int_equal(gp_model_suspend(f->m, &g, 1, 0), 0);
	gp_model_advance(f->m, 80 * MS);
	assert_true(when(f, GP_MODEL_DONE, 20) == UINT64_MAX);
}

static void controls_refuse_what_is_wrong(void **state)
{
	struct fix *f = *state;
	uint32_t g[2] = { group(f, 1), 999999 };
	uint64_t us = 0;

	assert_int_equal(gp_model_suspend(f->m, g, 2, 0), -ENOENT);
	assert_int_equal(gp_model_suspended(f->m, g[0]), 0);
	assert_int_equal(gp_model_resume(f->m, g, 2, 0), -ENOENT);
	assert_int_equal(gp_model_suspend(f->m, g, 0, 0), -EINVAL);
	assert_int_equal(gp_model_set_slice(f->m, g[0], 0), -ERANGE);
	assert_int_equal(gp_model_set_slice(f->m, g[0], 1000001), -ERANGE);
	assert_int_equal(gp_model_set_slice(f->m, 0, 1), -ENOENT);
	assert_int_equal(gp_model_get_slice(f->m, g[0], &us), 0);
	assert_int_equal(us, 2000);
	assert_int_equal(gp_model_set_mode(f->m, g[0], (enum gp_preempt_mode)9), -EINVAL);
	assert_int_equal(gp_model_group_del(f->m, g[1]), -ENOENT);
	assert_int_equal(gp_model_channel_add(f->m, g[1]), -ENOENT);
	assert_int_equal(gp_model_channel_del(f->m, 5), -ENOENT);
	assert_int_equal(gp_model_group_add(f->m, 1, GP_GROUP_UNKNOWN), -EINVAL);
	assert_int_equal(gp_model_group_del(f->m, g[0]), 0);
	assert_int_equal(gp_model_group_del(f->m, g[0]), -ENOENT);
	assert_int_equal(gp_model_suspended(f->m, g[0]), -ENOENT);
}

static void config_is_checked(void **state)
{
	struct gp_model_config c = small();

	c.sms = 0;
	errno = 0;
	assert_null(gp_model_create(&c, NULL, NULL));
	assert_int_equal(errno, EINVAL);
	c = small();
	c.min_slice_us = 0;
	assert_null(gp_model_create(&c, NULL, NULL));
	gp_model_config_h200(&c);
	assert_int_equal(c.sms, 132);
}

static void there_is_room_for_many(void **state)
{
	struct fix *f = *state;

	for (int i = 1; i <= 64; i++) {
		uint32_t ch = channel(f, group(f, i));

		for (uint64_t k = 0; k < 1024; k++)
			put(f, ch, kernel(1, 10, 1));
		assert_int_equal(
			gp_model_submit(f->m, ch,
					&(struct gp_model_method){ .type = GP_METHOD_FENCE }, NULL),
			-ENOSPC);
	}
	gp_model_advance(f->m, 40 * MS);
	assert_int_equal(blocks_of(f, 1), 64 * 1024);
}

/* ---- slots ---------------------------------------------------------------------- */

static void slots_run_side_by_side(void **state)
{
	struct fix *f = *state;
	uint32_t a = channel(f, group(f, 1)), b = channel(f, group(f, 2));

	put(f, a, kernel(4, 100 * US, 1));
	put(f, b, kernel(4, 100 * US, 2));
	gp_model_advance(f->m, MS);
	assert_int_equal(when(f, GP_MODEL_DONE, 1), 500 + 100 * US + 100);
	assert_int_equal(when(f, GP_MODEL_DONE, 2), 500 + 100 * US + 100);
}

static void slots_are_counted(void **state)
{
	struct fix *f = *state;
	uint32_t g[3];

	for (int i = 0; i < 3; i++) {
		g[i] = group(f, i + 1);
		put(f, channel(f, g[i]), kernel(2, 3 * MS, (uint64_t)i + 1));
	}
	gp_model_advance(f->m, MS);
	assert_int_equal(gp_model_suspended(f->m, g[2]), 1);
	assert_true(when(f, GP_MODEL_STARTED, 3) == UINT64_MAX);
	assert_int_equal(gp_model_resume(f->m, &g[2], 1, 0), -EBUSY);

	/* Unloaded in the middle, loaded again, its blocks continue. */
	assert_int_equal(gp_model_suspend(f->m, &g[0], 1, 71), 0);
	assert_int_equal(gp_model_resume(f->m, &g[2], 1, 72), 0);
	gp_model_advance(f->m, 4 * MS + 100 * US);
	assert_int_equal(when(f, GP_MODEL_CONTROL_DONE, 71), MS + 5000);
	assert_true(when(f, GP_MODEL_STARTED, 3) < MS + 20 * US);
	assert_true(when(f, GP_MODEL_DONE, 3) != UINT64_MAX);
	assert_int_equal(blocks_of(f, 1), 0);
	assert_int_equal(gp_model_group_del(f->m, g[2]), 0);
	assert_int_equal(gp_model_resume(f->m, &g[0], 1, 73), 0);
	gp_model_advance(f->m, 5 * MS);
	assert_true(when(f, GP_MODEL_DONE, 1) == UINT64_MAX);
	gp_model_advance(f->m, 7 * MS);
	assert_int_equal(blocks_of(f, 1), 2);
	assert_true(when(f, GP_MODEL_DONE, 1) < 4 * MS + 100 * US + 2 * MS + 50 * US);
}

/* All of a list get slots, or none. */
static void slots_are_given_to_all_or_none(void **state)
{
	struct fix *f = *state;
	uint32_t g[3] = { group(f, 1), group(f, 2), group(f, 3) };

	assert_int_equal(gp_model_suspend(f->m, g, 1, 0), 0);
	gp_model_advance(f->m, MS);
	assert_int_equal(gp_model_resume(f->m, g, 3, 0), -EBUSY);
	gp_model_advance(f->m, 2 * MS);
	assert_int_equal(gp_model_suspended(f->m, g[0]), 1);
	assert_int_equal(gp_model_resume(f->m, &g[2], 1, 0), 0);
	gp_model_advance(f->m, 3 * MS);
	assert_int_equal(gp_model_suspended(f->m, g[2]), 0);
}

/* ---- everything at once ---------------------------------------------------------- */

#define R_GROUPS 12
#define R_STEPS 60000

struct random_run {
	struct fix *f;
	uint64_t rng;
	uint32_t group[R_GROUPS], channel[R_GROUPS][2];
	bool off[R_GROUPS];
	uint32_t word;
	uint64_t cookies;
};

/* The finished blocks of each kernel, once each and no others. */
static uint8_t done_kernel[R_STEPS + 1], blocks_done[R_STEPS + 1][16];

static uint64_t draw(struct random_run *r, uint64_t below)
{
	r->rng = r->rng * 6364136223846793005u + 1442695040888963407u;
	return (r->rng >> 33) % below;
}

static void check_event(void *arg, const struct gp_model_event *ev)
{
	struct fix *f = arg;

	assert_true(ev->time_ns == gp_model_now(f->m));
	if (ev->type == GP_MODEL_BLOCKS && ev->cookie) {
		assert_false(done_kernel[ev->cookie]);
		for (uint64_t b = ev->first; b < ev->first + ev->count; b++)
			assert_int_equal(blocks_done[ev->cookie][b]++, 0);
	}
	if (ev->type == GP_MODEL_DONE && ev->cookie) {
		assert_false(done_kernel[ev->cookie]);
		done_kernel[ev->cookie] = 1;
		for (uint64_t b = 0; b < ev->count; b++)
			assert_int_equal(blocks_done[ev->cookie][b], 1);
	}
}

static void random_submit(struct random_run *r, size_t i)
{
	uint32_t ch = r->channel[i][draw(r, 2)];
	struct gp_model_method m = kernel(1 + draw(r, 16), draw(r, 40 * US), 0);

	switch (draw(r, 6)) {
	case 0:
		m = hold(&r->word, (uint32_t)draw(r, r->word + 3), 300 * US, 0);
		break;
	case 1:
		m = (struct gp_model_method){ .type = GP_METHOD_FENCE };
		break;
	case 2:
		m.flags = GP_METHOD_FAULTS;
		break;
	case 3:
		m = (struct gp_model_method){ .type = GP_METHOD_COPY, .bytes = 9000 };
		break;
	default:
		m.cookie = ++r->cookies;
		break;
	}
	(void)gp_model_submit(r->f->m, ch, &m, NULL);
}

static void random_control(struct random_run *r, size_t i)
{
	struct gp_model *m = r->f->m;

	switch (draw(r, 5)) {
	case 0:
		r->off[i] = gp_model_suspend(m, &r->group[i], 1, 0) == 0;
		break;
	case 1:
		r->off[i] &= gp_model_resume(m, &r->group[i], 1, 0) != 0;
		break;
	case 2:
		(void)gp_model_set_slice(m, r->group[i], 1 + draw(r, 200));
		break;
	case 3:
		(void)gp_model_set_mode(m, r->group[i], (enum gp_preempt_mode)draw(r, 3));
		break;
	default:
		r->word++;
		break;
	}
}

static void random_group(struct random_run *r, size_t i)
{
	if (r->group[i])
		assert_int_equal(gp_model_group_del(r->f->m, r->group[i]), 0);
	r->group[i] = group(r->f, (int32_t)i + 1);
	r->channel[i][0] = channel(r->f, r->group[i]);
	r->channel[i][1] = channel(r->f, r->group[i]);
	r->off[i] = false;
}

static void random_run_of(uint32_t kind, uint64_t seed)
{
	struct gp_model_config c = small();
	struct random_run r = { .rng = seed };

	c.kind = kind;
	r.f = calloc(1, sizeof(*r.f));
	assert_non_null(r.f);
	r.f->m = gp_model_create(&c, check_event, r.f);
	assert_non_null(r.f->m);
	memset(done_kernel, 0, sizeof(done_kernel));
	memset(blocks_done, 0, sizeof(blocks_done));
	for (size_t i = 0; i < R_GROUPS; i++)
		random_group(&r, i);
	for (int step = 0; step < R_STEPS; step++) {
		size_t i = draw(&r, R_GROUPS);
		uint64_t what = draw(&r, 100);

		if (what < 45)
			random_submit(&r, i);
		else if (what < 55)
			random_control(&r, i);
		else if (what < 56)
			random_group(&r, i);
		else
			gp_model_advance(r.f->m, gp_model_now(r.f->m) + draw(&r, 60 * US));
	}
	/* No leftover may hang. */
	r.word = UINT32_MAX / 4;
	for (size_t i = 0; i < R_GROUPS; i++) {
		(void)gp_model_set_slice(r.f->m, r.group[i], 1000);
		assert_int_equal(gp_model_suspend(r.f->m, &r.group[i], 1, 0), 0);
	}
	gp_model_advance(r.f->m, gp_model_now(r.f->m) + 1000 * MS);
	for (size_t i = 0; i < R_GROUPS; i++) {
		assert_int_equal(gp_model_resume(r.f->m, &r.group[i], 1, 0), 0);
		gp_model_advance(r.f->m, gp_model_now(r.f->m) + 1000 * MS);
		if (kind == GP_MODEL_SLOTS)
			assert_int_equal(gp_model_group_del(r.f->m, r.group[i]), 0);
	}
	assert_true(gp_model_next(r.f->m) == UINT64_MAX);
	gp_model_destroy(r.f->m);
	free(r.f);
}

static void random_runs_lose_nothing(void **state)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		printf("seed %llu\n", (unsigned long long)seed);
		random_run_of(GP_MODEL_TIMESLICE, seed);
		random_run_of(GP_MODEL_SLOTS, seed);
	}
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
#define TEST_SLOTS(t) cmocka_unit_test_setup_teardown(t, set_up_slots, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernel_alone),
		TEST(blocks_run_in_waves),
		TEST(channels_of_a_group_run_together),
		TEST(methods_of_a_channel_run_in_order),
		TEST(cooperative_waits_for_all_its_room),
		TEST(hold_ends_by_word_or_limit),
		TEST(wait_waits_for_another_channel),
		TEST(copies_take_their_bandwidth),
		TEST(slices_alternate),
		TEST(work_begins_a_slice),
		cmocka_unit_test(a_slice_lasts_what_it_says),
		cmocka_unit_test(what_is_waited_for_has_one_slice),
		TEST(who_comes_later_is_not_next),
		TEST(a_switch_costs_what_it_says),
		TEST(lone_hold_is_lost_a_pair_is_not),
		TEST(two_at_1_us_livelock),
		TEST(instruction_mode_is_cut_at_once),
		TEST(block_mode_waits_for_the_blocks),
		TEST(wait_for_idle_cannot_be_cut),
		cmocka_unit_test(faults_delay_a_suspend),
		TEST(suspend_and_resume),
		TEST(resume_overtakes_a_suspend),
		TEST(preempt_ends_a_turn),
		TEST_SLOTS(slots_have_no_turns),
		TEST(controls_refuse_what_is_wrong),
		cmocka_unit_test(config_is_checked),
		TEST(there_is_room_for_many),
		TEST_SLOTS(slots_run_side_by_side),
		TEST_SLOTS(slots_are_counted),
		TEST_SLOTS(slots_are_given_to_all_or_none),
		cmocka_unit_test(random_runs_lose_nothing),
	};

	return gp_run_tests(tests);
}
