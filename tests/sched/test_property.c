// SPDX-License-Identifier: Apache-2.0
/*
 * Random sequences of events, outcomes, errors and deaths against the
 * invariants of ARCHITECTURE.md, as world.h checks them. A failing sequence is
 * shrunk and printed as a list that replay[] below takes.
 *
 * GP_SEED and GP_SEQUENCES choose others.
 */
#include "tests/common/gp_test.h"
#include "tests/sched/world.h"

#define SEQUENCES 100000
#define SEED 20240607
#define OPS_MAX 60

enum op_kind {
	OP_JOIN,
	OP_LEAVE,
	OP_CLASS,
	OP_APPEAR,
	OP_GONE,
	OP_KILL,
	OP_HINT,
	OP_BEGIN,
	OP_END,
	OP_HOLD,
	OP_RELEASE,
	OP_BUSY,
	OP_IDLE,
	OP_SYNC,
	OP_SYNC_DONE,
	OP_SLOT,
	OP_MEASURED,
	OP_EARLY_TIMER,
	OP_OUTCOME,
	OP_HOLD_FAILS,
	OP_USAGE,
	OP_POLICY,
	OP_QUEUED,
	OP_COPIES,
	OP_KEEP,
	OP_KINDS,
};

static const char *const op_name[] = {
	"OP_JOIN",    "OP_LEAVE",    "OP_CLASS",       "OP_APPEAR",  "OP_GONE",
	"OP_KILL",    "OP_HINT",     "OP_BEGIN",       "OP_END",     "OP_HOLD",
	"OP_RELEASE", "OP_BUSY",     "OP_IDLE",	       "OP_SYNC",    "OP_SYNC_DONE",
	"OP_SLOT",    "OP_MEASURED", "OP_EARLY_TIMER", "OP_OUTCOME", "OP_HOLD_FAILS",
	"OP_USAGE",   "OP_POLICY",   "OP_QUEUED",      "OP_COPIES",  "OP_KEEP",
};

/* How often each comes, of 143. */
static const uint8_t op_share[OP_KINDS] = {
	[OP_JOIN] = 12,	   [OP_LEAVE] = 3,	 [OP_CLASS] = 5,     [OP_APPEAR] = 14,
	[OP_GONE] = 3,	   [OP_KILL] = 2,	 [OP_HINT] = 7,	     [OP_BEGIN] = 8,
	[OP_END] = 7,	   [OP_HOLD] = 4,	 [OP_RELEASE] = 4,   [OP_BUSY] = 5,
	[OP_IDLE] = 5,	   [OP_SYNC] = 3,	 [OP_SYNC_DONE] = 3, [OP_SLOT] = 4,
	[OP_MEASURED] = 2, [OP_EARLY_TIMER] = 3, [OP_OUTCOME] = 32,  [OP_HOLD_FAILS] = 2,
	[OP_USAGE] = 3,	   [OP_POLICY] = 2,	 [OP_QUEUED] = 3,    [OP_COPIES] = 3,
	[OP_KEEP] = 4,
};

struct op {
	uint8_t kind, a, b;
	uint32_t dt_us;
};

struct sequence {
	uint32_t config;
	uint8_t close;
	size_t count;
	struct op op[OPS_MAX];
};

static uint64_t rnd_state;

static uint32_t rnd(void)
{
	/* splitmix64 */
	uint64_t z = rnd_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) >> 16);
}

static uint8_t rnd_kind(void)
{
	uint32_t r = rnd() % 143, k = 0;

	while (k < OP_KINDS - 1 && r >= op_share[k])
		r -= op_share[k++];
	return (uint8_t)k;
}

static void generate(struct sequence *q)
{
	q->config = rnd() & 0x7ffff;
	q->close = rnd() % 2;
	q->count = 10 + rnd() % (OPS_MAX - 10);
	for (size_t i = 0; i < q->count; i++) {
		static const uint32_t scale_us[] = { 1, 50, 300, 1000, 12000 };

		q->op[i] = (struct op){ .kind = rnd_kind(),
					.a = (uint8_t)rnd(),
					.b = (uint8_t)rnd(),
					.dt_us = rnd() % scale_us[rnd() % 5] };
	}
}

static const struct gp_be_policy *be_policy_of(uint32_t bits)
{
	uint32_t n = 0;

	while (gp_be_policies[n])
		n++;
	return gp_be_policies[bits % n];
}

static const struct gp_lc_policy *lc_policy_of(uint32_t bits)
{
	uint32_t n = 0;

	while (gp_lc_policies[n])
		n++;
	return gp_lc_policies[bits % n];
}

static struct gp_sched_config config_of(uint32_t bits)
{
	static const uint32_t slots[] = { 0, 0, 3, 4 };
	struct gp_sched_config c = {
		.rotate = bits % 4 != 0,
		.slice_preempts = (bits >> 2) % 4 != 0,
		.lc_slice_us = 5000000,
		.be_slice_us = 1,
		.quantum_ns = 5000000,
		.hold_limit_ns = 4000000,
		.hint_timeout_ns = 500000,
		.rotation_defer_max_ns = 2000000,
		.hold_piece_ns = (bits >> 4) % 4 == 0 ? 500000 : 0,
		.be_policy = be_policy_of(bits >> 8),
		.lc_policy = lc_policy_of(bits >> 10),
		.be_min_pct = (bits >> 11) % 4 == 0 ? 20 : 0,
		.lc_preempt = (bits >> 13) % 4 % 3,
		.idle_slice_us = bits >> 15 & 1 ? 500 : 0,
		.leave_limit_ns = bits >> 16 & 3 ? 0 : 1000000,
		.pile_slice_us = bits >> 18 & 1 ? 20000 : 0,
	};

	if (!c.slice_preempts && c.rotate)
		c.slots = slots[(bits >> 6) % 4];
	return c;
}

static struct gp_class_request spec_of(uint8_t b)
{
	const uint32_t cls = b % 8 < 4 ? GP_CLASS_BE : b % 8 < 7 ? GP_CLASS_LC : GP_CLASS_NONE;

	return (struct gp_class_request){ .cls = { cls, cls == GP_CLASS_LC ? b / 8 % 3 :
							b & 128		   ? 200 :
									     100 },
					  .cap_pct = b & 64 ? 30 : 0,
					  .deadline_ns = b & 64 ? (3 + b / 8 % 4) * 1000000ull :
								  0 };
}

static void do_kill(struct world *w, uint32_t tenant)
{
	for (size_t i = 1; i <= W_ALL; i++) {
		if (w->group[i].tenant != tenant)
			continue;
		w->group[i].alive = false;
		w->group[i].runs = false;
	}
}

static void do_outcome(struct world *w, const struct op *op)
{
	static const int errors[] = { 0, 0, 0, 0, 0, -EIO, -EBUSY, -EPERM };
	size_t which;

	if (!w->n_pending)
		return;
	which = op->a % w->n_pending;
	w_outcome(w, which, errors[op->b % 8], op->b & 8);
}

static void do_policy(struct world *w, const struct op *op)
{
	gp_sched_set_policy(w->sched, op->a % 3 ? be_policy_of(op->b) : NULL,
			    op->a % 2 ? lc_policy_of(op->b >> 2) : NULL);
	if (op->a % 2)
		w_lc_policy(w, lc_policy_of(op->b >> 2));
	w_timer(w);
}

static const uint8_t event_of[OP_KINDS] = {
	[OP_JOIN] = GP_EV_TENANT_JOIN,	  [OP_LEAVE] = GP_EV_TENANT_LEAVE,
	[OP_CLASS] = GP_EV_TENANT_CLASS,  [OP_APPEAR] = GP_EV_GROUP_APPEAR,
	[OP_GONE] = GP_EV_GROUP_GONE,	  [OP_HINT] = GP_EV_HINT,
	[OP_BEGIN] = GP_EV_SEGMENT_BEGIN, [OP_END] = GP_EV_SEGMENT_END,
	[OP_HOLD] = GP_EV_HOLD,		  [OP_RELEASE] = GP_EV_RELEASE,
	[OP_BUSY] = GP_EV_BUSY,		  [OP_IDLE] = GP_EV_IDLE,
	[OP_SYNC] = GP_EV_SYNC,		  [OP_SYNC_DONE] = GP_EV_SYNC_DONE,
	[OP_SLOT] = GP_EV_SLOT,		  [OP_MEASURED] = GP_EV_SWITCH_MEASURED,
	[OP_USAGE] = GP_EV_USAGE,	  [OP_QUEUED] = GP_EV_QUEUED,
	[OP_COPIES] = GP_EV_GROUP_APPEAR, [OP_KEEP] = GP_EV_KEEP,
};

/* The fields of an event besides type and tenant. */
static void fill(const struct world *w, const struct op *op, struct gp_event *ev)
{
	switch (op->kind) {
	case OP_JOIN:
	case OP_CLASS:
		ev->spec = spec_of(op->b);
		ev->party = op->b >> 6;
		break;
	case OP_APPEAR:
	case OP_GONE:
		ev->group.id = 1 + op->b % W_GROUPS;
		break;
	case OP_COPIES:
		ev->group.id = W_GROUPS + 1 + op->b % (W_ALL - W_GROUPS);
		ev->group.copies = true;
		ev->type = op->b & 192 ? GP_EV_GROUP_APPEAR : GP_EV_GROUP_GONE;
		break;
	case OP_HINT:
		ev->hint.at_ns = w->now_ns + op->b * 8000ull;
		ev->hint.limit_ns = op->b * 20000ull;
		ev->hint.lead_ns = op->b * 2000ull;
		ev->hint.guess = op->b & 1;
		break;
	case OP_HOLD:
	case OP_KEEP:
		ev->hold.limit_ns = op->b * 20000ull;
		break;
	case OP_BUSY:
		ev->busy.how = op->b & 31;
		ev->busy.at_ns = w->now_ns + op->b * 40000ull;
		break;
	case OP_IDLE:
		ev->idle.how = op->b % 3;
		break;
	case OP_QUEUED:
		ev->queued.reported = op->b & 1;
		break;
	case OP_SLOT:
		ev->slot.have = op->b & 1;
		break;
	case OP_MEASURED:
		ev->measured.took_ns = op->b * 2000ull;
		ev->measured.missed = op->b & 1;
		break;
	case OP_USAGE:
		ev->usage.used_ns = op->b * 2000ull;
		ev->usage.displaced_ns = op->a * 3000ull;
		ev->usage.at_ns = op->b & 2 ? w->now_ns - op->b * 8000ull : 0;
		break;
	}
}

static void do_op(struct world *w, const struct op *op)
{
	struct gp_event ev = { .type = event_of[op->kind], .tenant = 1 + op->a % W_TENANTS };

	w_advance(w, op->dt_us * 1000ull);
	switch (op->kind) {
	case OP_KILL:
		do_kill(w, ev.tenant);
		return;
	case OP_EARLY_TIMER:
		w_timer(w);
		return;
	case OP_OUTCOME:
		do_outcome(w, op);
		return;
	case OP_HOLD_FAILS:
		w_hold_failed(w);
		return;
	case OP_POLICY:
		do_policy(w, op);
		return;
	}
	fill(w, op, &ev);
	w_step(w, &ev);
}

/* Tenants that must get turns: best-effort ones with work. */
static bool has_turns(const struct world *w, uint32_t tenant)
{
	const struct w_tenant *t = &w->tenant[tenant];

	return t->there && !t->idle &&
	       (t->spec.cls.cls == GP_CLASS_BE ||
		(t->spec.cls.cls == GP_CLASS_NONE && w->config.slots));
}

static bool all_turns_came(const struct world *w, const uint64_t *before)
{
	bool came[W_TENANTS + 1] = { false }, any[W_TENANTS + 1] = { false };

	for (size_t i = 1; i <= W_GROUPS; i++) {
		const struct w_group *g = &w->group[i];

		if (!g->known || !g->alive)
			continue;
		any[g->tenant] = true;
		came[g->tenant] |= g->ran_ns > before[i];
	}
	for (uint32_t i = 1; i <= W_TENANTS; i++)
		if (any[i] && has_turns(w, i) && !came[i])
			return false;
	return true;
}

/* LC that is never idle keeps BE off that is slow to leave, but for the minimum. */
static void end_lc_work(struct world *w)
{
	for (uint32_t i = 1; i <= W_TENANTS; i++) {
		struct gp_event ev = { .type = GP_EV_IDLE, .tenant = i };

		if (w->tenant[i].spec.cls.cls == GP_CLASS_LC)
			w_step(w, &ev);
	}
}

/*
 * Invariant 3: once nothing fails, every BE tenant with work runs within the bound of
 * docs/sched.md, plus its earlier lead. With weights 100 and 200 that is three turns of each
 * other tenant. Four times that with caps of 30 %, and five times where LC that is never idle
 * leaves BE its 20 %.
 */
static void check_turns(struct world *w)
{
	uint64_t turn = w->config.quantum_ns + w->config.rotation_defer_max_ns + 2000000;
	uint64_t end = w->now_ns + ((W_TENANTS - 1) * 3 * turn + 2 * w->now_ns) * 4 *
					   (w->config.be_min_pct ? 5 : 1);
	uint64_t before[W_GROUPS + 1];

	if (w->config.leave_limit_ns && !w->config.be_min_pct)
		end_lc_work(w);
	for (size_t i = 1; i <= W_GROUPS; i++)
		before[i] = w->group[i].ran_ns;
	while (!all_turns_came(w, before) && !w->broken) {
		w_run(w, turn);
		if (w->now_ns > end)
			w_broken(w, "3: a best-effort tenant starves");
	}
}

static bool wants_minimum(const struct world *w)
{
	for (size_t i = 1; i <= W_GROUPS; i++) {
		const struct w_group *g = &w->group[i];
		const struct w_tenant *t = &w->tenant[g->tenant];

		if (g->known && g->alive && g->tenant && !t->idle &&
		    t->spec.cls.cls == GP_CLASS_BE && !t->spec.cap_pct)
			return w->config.be_min_pct && w->config.slice_preempts;
	}
	return false;
}

/*
 * Invariant 3 under LC that may always be busy: 20 % of 600 ms, less the bracket of
 * docs/sched.md (a period is 50 ms, a control 1 ms).
 */
static void check_minimum(struct world *w)
{
	uint64_t before = w->be_ns;

	if (!wants_minimum(w))
		return;
	w_run(w, 600000000);
	if (w->be_ns - before + 11250000 + W_GROUPS * 200000 < 120000000)
		w_broken(w, "3: best-effort has not its minimum");
}

static bool may_be_off(const struct world *w, const struct w_group *g)
{
	const struct w_tenant *t = &w->tenant[g->tenant];

	return g->tenant && t->spec.cls.cls != GP_CLASS_LC &&
	       (t->spec.cls.cls != GP_CLASS_NONE || w->config.slots);
}

/* Invariant 2, for tenants without turns: they run, LC except for BE's guaranteed time. */
static void check_others_run(struct world *w)
{
	bool ran[W_GROUPS + 1] = { false };

	for (int k = 0; k < (w->config.be_min_pct ? 100 : 1); k++) {
		if (k)
			w_run(w, 3000000);
		for (size_t i = 1; i <= W_GROUPS; i++)
			ran[i] |= w->group[i].runs;
	}
	for (size_t i = 1; i <= W_GROUPS; i++) {
		const struct w_group *g = &w->group[i];

		if (g->known && g->alive && !ran[i] && !may_be_off(w, g))
			w_broken(w, "2: left suspended");
	}
}

/* All leave; groups of living processes are as they were found. */
static void check_put_back(struct world *w, bool close)
{
	struct gp_event ev = { .type = GP_EV_CLOSE };

	if (close)
		w_step(w, &ev);
	for (uint32_t i = 1; i <= W_TENANTS && !close; i++) {
		ev.type = GP_EV_TENANT_LEAVE;
		ev.tenant = i;
		w_step(w, &ev);
	}
	w_run(w, 300000000);
	for (size_t i = 1; i <= W_ALL; i++) {
		const struct w_group *g = &w->group[i];

		if (!g->known || !g->alive)
			continue;
		if (!g->runs)
			w_broken(w, "2: suspended after the end");
		/* The core gives up on a driver that refuses five times. */
		if (g->slice_us && g->slice_errors < 5)
			w_broken(w, "2: slice not put back");
	}
	if (!gp_sched_settled(w->sched))
		w_broken(w, "2: not settled");
	if (w->armed_ns)
		w_broken(w, "a timer armed for nothing");
}

static const char *run_sequence(const struct sequence *q, uint32_t mutation)
{
	static struct world w;
	static struct gp_sched *mem;
	struct gp_sched_config config = config_of(q->config);

	if (!mem)
		mem = malloc(gp_sched_size());
	w_init(&w, &config, mem);
	w.mutation = mutation;
	for (size_t i = 0; i < q->count && !w.broken; i++)
		do_op(&w, &q->op[i]);
	/* The dead are dead by now; nothing fails any more. */
	w_run(&w, 200000000);
	check_others_run(&w);
	w_check_copies(&w);
	if (w.config.rotate) {
		check_turns(&w);
		check_minimum(&w);
	}
	check_put_back(&w, q->close);
	return w.broken;
}

/* ---- shrinking ---------------------------------------------------------- */

static bool still_fails(const struct sequence *q, uint32_t mutation)
{
	return run_sequence(q, mutation) != NULL;
}

static bool try_without(struct sequence *q, size_t at, size_t n, uint32_t mutation)
{
	struct sequence less = *q;

	memmove(&less.op[at], &less.op[at + n], (less.count - at - n) * sizeof(less.op[0]));
	less.count -= n;
	if (!still_fails(&less, mutation))
		return false;
	*q = less;
	return true;
}

static bool shrink_values(struct sequence *q, uint32_t mutation)
{
	bool smaller = false;

	for (size_t i = 0; i < q->count; i++) {
		struct sequence less = *q;

		if (!less.op[i].dt_us)
			continue;
		less.op[i].dt_us /= 2;
		if (still_fails(&less, mutation)) {
			*q = less;
			smaller = true;
		}
	}
	return smaller;
}

static void shrink(struct sequence *q, uint32_t mutation)
{
	bool smaller = true;

	while (smaller) {
		smaller = false;
		for (size_t n = q->count / 2; n; n /= 2)
			for (size_t at = 0; at + n <= q->count;)
				if (try_without(q, at, n, mutation))
					smaller = true;
				else
					at++;
		smaller |= shrink_values(q, mutation);
	}
}

static void print_sequence(const struct sequence *q, const char *why)
{
	printf("broken: %s\n{ .config = %u, .close = %u, .count = %zu, .op = {\n", why, q->config,
	       q->close, q->count);
	for (size_t i = 0; i < q->count; i++)
		printf("\t{ %s, %u, %u, %u },\n", op_name[q->op[i].kind], q->op[i].a, q->op[i].b,
		       q->op[i].dt_us);
	printf("} },\n");
}

/* ---- tests -------------------------------------------------------------- */

static uint64_t env_or(const char *name, uint64_t def)
{
	const char *v = getenv(name);

	return v ? strtoull(v, NULL, 0) : def;
}

/* Number of the first failing sequence, in @q; @n: none. */
static uint64_t first_failure(uint64_t seed, uint64_t n, uint32_t mutation, struct sequence *q)
{
	for (uint64_t i = 0; i < n; i++) {
		rnd_state = seed + (i << 20);
		generate(q);
		if (run_sequence(q, mutation))
			return i;
	}
	return n;
}

static void test_random_sequences(void **state)
{
	uint64_t seed = env_or("GP_SEED", SEED);
	uint64_t n = env_or("GP_SEQUENCES", SEQUENCES), at;
	struct sequence q;

	printf("seed %llu, %llu sequences\n", (unsigned long long)seed, (unsigned long long)n);
	at = first_failure(seed, n, W_SOUND, &q);
	if (at < n) {
		printf("sequence %llu\n", (unsigned long long)at);
		shrink(&q, W_SOUND);
		print_sequence(&q, run_sequence(&q, W_SOUND));
		fail();
	}
}

/* A device that lies about its actions must be caught, and the sequence shrunk. */
static void test_checker_can_fail(void **state)
{
	static const uint32_t each[] = { W_SUSPEND_LOST, W_RESUME_LOST, W_RELEASE_LOST, W_HOLD_LOST,
					 W_SLICE_LOST };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct sequence q;

		assert_true(first_failure(SEED, 2000, each[i], &q) < 2000);
		shrink(&q, each[i]);
		assert_non_null(run_sequence(&q, each[i]));
		assert_true(q.count <= 8);
	}
}

/* Sequences that failed once. */
static const struct sequence replay[] = {
	/* Turns end endlessly: five LC groups, of which one is overdue every 3 ms. */
	{ .config = 16197, .close = 1, .count = 16, .op = {
		{ OP_JOIN, 52, 222, 0 },
		{ OP_JOIN, 249, 218, 0 },
		{ OP_APPEAR, 45, 5, 0 },
		{ OP_APPEAR, 39, 93, 0 },
		{ OP_CLASS, 195, 6, 0 },
		{ OP_JOIN, 36, 69, 0 },
		{ OP_BEGIN, 114, 183, 0 },
		{ OP_JOIN, 217, 116, 7210 },
		{ OP_JOIN, 185, 219, 2847 },
		{ OP_APPEAR, 226, 77, 3855 },
		{ OP_APPEAR, 191, 237, 4508 },
		{ OP_CLASS, 144, 84, 0 },
		{ OP_GONE, 105, 118, 4489 },
		{ OP_BUSY, 133, 201, 0 },
		{ OP_APPEAR, 22, 94, 0 },
		{ OP_APPEAR, 105, 149, 0 },
	} },
	{ .config = 1 | 1 << 2, .close = 1, .count = 3, .op = {
		{ OP_JOIN, 0, 0, 0 },
		{ OP_APPEAR, 0, 0, 0 },
		{ OP_LEAVE, 0, 0, 0 },
	} },
	/* A cap's debt beyond the bucket was never paid. */
	{ .config = 48834, .close = 1, .count = 6, .op = {
		{ OP_JOIN, 9, 227, 0 },
		{ OP_APPEAR, 213, 51, 0 },
		{ OP_OUTCOME, 2, 38, 9698 },
		{ OP_APPEAR, 231, 118, 0 },
		{ OP_BEGIN, 4, 228, 225 },
		{ OP_APPEAR, 204, 74, 10399 },
	} },
	/* A group that was no longer LC had its turn ended. */
	{ .config = 13259, .close = 0, .count = 5, .op = {
		{ OP_JOIN, 172, 164, 0 },
		{ OP_JOIN, 60, 37, 0 },
		{ OP_APPEAR, 82, 53, 0 },
		{ OP_HOLD, 18, 235, 0 },
		{ OP_CLASS, 4, 199, 0 },
	} },
	/* A tenant kept the deadline of its former class. */
	{ .config = 1772, .close = 1, .count = 5, .op = {
		{ OP_JOIN, 249, 230, 0 },
		{ OP_JOIN, 114, 93, 0 },
		{ OP_BEGIN, 126, 13, 0 },
		{ OP_BEGIN, 81, 3, 0 },
		{ OP_CLASS, 0, 22, 0 },
	} },
};

static void test_replay(void **state)
{
	for (size_t i = 0; i < sizeof(replay) / sizeof(replay[0]); i++)
		assert_null(run_sequence(&replay[i], W_SOUND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_checker_can_fail),
		cmocka_unit_test(test_random_sequences),
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	return gp_run_tests(tests);
}
