// SPDX-License-Identifier: Apache-2.0
/*
 * Ties groups.pml and turns.pml to the core.
 *
 * `replay groups`, `replay fair` and `replay credit` read a trace of a model, feed its events to
 * the core, and compare the states after each step. `replay record SEED` prints a trace of the
 * core in the language of groups.pml, for the model to follow.
 *
 * For a trace of groups.pml the core has a policy of its own, which gives the turn to the
 * group that the model gave it to. The core decides all the rest.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/internal.h"

#define GROUPS 2
#define NOBODY 255u

/* As in groups.pml. */
enum {
	LEFT,
	BE,
	IDLE,
	LC
};
enum {
	DRIVER,
	SHORT,
	LONG,
	MIDDLE,
	ANY
};
enum {
	APPEAR = 1,
	LEAVE,
	GONE,
	KIND,
	CLOSE,
	OUTCOME,
	TIMER,
	OTHER
};

static struct gp_sched *s;
static struct gp_decisions out;
static uint64_t now_ns = 1000000;
static uint32_t kind[GROUPS];

static void die(const char *what)
{
	fprintf(stderr, "replay: %s\n", what);
	exit(1);
}

static void step(struct gp_event ev)
{
	if (gp_sched_step(s, now_ns, &ev, &out))
		die("the core refuses an event");
}

static void step_tenant(uint32_t type, uint32_t tenant)
{
	step((struct gp_event){ .type = type, .tenant = tenant });
}

/* ---- the policy of the model --------------------------------------------------- */

static uint32_t wanted; /* tenant */

static bool model_before(const struct gp_be_entity *a, const struct gp_be_entity *b)
{
	return a->tenant == wanted && b->tenant != wanted;
}

static void model_charge(struct gp_be_entity *e, uint64_t ns, const struct gp_be_time *t)
{
}

static void model_enter(struct gp_be_entity *e, const struct gp_be_time *t)
{
}

/* A turn may end at any time. */
static uint64_t model_quantum(const struct gp_be_entity *e, const struct gp_be_time *t)
{
	return 0;
}

static const struct gp_be_policy model_policy = {
	.name = "model",
	.before = model_before,
	.charge = model_charge,
	.enter = model_enter,
	.quantum = model_quantum,
	.refund = model_charge,
	.reset = model_enter,
};

static uint32_t resident(void)
{
	return s->resident == GP_NONE ? NOBODY : s->group[s->resident].id - 1;
}

/* ---- groups ---------------------------------------------------------------------- */

struct group_state {
	uint32_t known, run, pend, slice, next, refused, fails, backoff;
};

static void init_groups(const struct gp_be_policy *policy)
{
	const struct gp_sched_config config = {
		.be_policy = policy, .rotate = 1, .slice_preempts = 1, .idle_slice_us = 500
	};

	s = calloc(1, gp_sched_size());
	if (!s || gp_sched_init(s, &config))
		die("no core");
}

static uint32_t slice_of(uint64_t us)
{
	return us == 0			  ? DRIVER :
	       us == GP_NEVER		  ? ANY :
	       us == GP_SCHED_BE_SLICE_US ? SHORT :
	       us == GP_SCHED_LC_SLICE_US ? LONG :
					    MIDDLE;
}

static struct gp_group_state *find(uint32_t group)
{
	for (uint32_t i = 0; i < s->groups; i++)
		if (s->group[i].id == group + 1)
			return &s->group[i];
	return NULL;
}

static struct group_state state_of(uint32_t group)
{
	const struct gp_group_state *g = find(group);
	const bool set = g && g->pending && g->pending_type == GP_DO_SET_SLICE;

	if (!g)
		return (struct group_state){ .refused = ANY };
	return (struct group_state){
		.known = 1,
		.run = g->run,
		.pend = !g->pending			 ? 0 :
			g->pending_type == GP_DO_SUSPEND ? 1 :
			g->pending_type == GP_DO_RESUME	 ? 2 :
							   3,
		.slice = slice_of(g->slice_us),
		.next = set ? slice_of(g->slice_next_us) : 0,
		.refused = slice_of(g->slice_refused_us),
		.fails = g->slice_failures < GP_SLICE_TRIES ? g->slice_failures : GP_SLICE_TRIES,
		.backoff = g->retry_ns > s->now_ns,
	};
}

static struct gp_class_request class_of(uint32_t k)
{
	return (struct gp_class_request){ .cls = { k == LC ? GP_CLASS_LC : GP_CLASS_BE,
						   k == LC ? 0 : GP_WEIGHT_DEFAULT } };
}

static void leaves(uint32_t group)
{
	if (kind[group] != LEFT)
		step_tenant(GP_EV_TENANT_LEAVE, group + 1);
	kind[group] = LEFT;
}

static void join(uint32_t group, uint32_t how)
{
	kind[group] = how & 7;
	step((struct gp_event){
		.type = GP_EV_TENANT_JOIN, .tenant = group + 1, .spec = class_of(kind[group]) });
}

static void appear(uint32_t group, uint32_t how)
{
	step((struct gp_event){
		.type = GP_EV_GROUP_APPEAR, .tenant = group + 1, .group = { group + 1, how & 8 } });
}

/* Unknown activity is no reason to defer turns. */
static void change(uint32_t group, uint32_t k)
{
	const uint32_t was = kind[group];

	kind[group] = k;
	if (k == LC || was == LC)
		step((struct gp_event){
			.type = GP_EV_TENANT_CLASS, .tenant = group + 1, .spec = class_of(k) });
	else
		step((struct gp_event){ .type = GP_EV_IDLE,
					.tenant = group + 1,
					.idle.how = k == IDLE ? 0 : GP_IDLE_UNSURE });
}

static void outcome(uint32_t group, uint32_t how)
{
	const struct gp_group_state *g = find(group);

	if (!g || !g->pending)
		die("no decision is under way");
	step((struct gp_event){ .type = GP_EV_OUTCOME,
				.outcome = { g->pending, how == 0 ? 0 :
							 how == 1 ? -EIO :
								    -ESRCH } });
}

static void other(void)
{
	step((struct gp_event){ .type = GP_EV_OUTCOME, .outcome = { UINT32_MAX, 0 } });
}

/* The event itself: its tenant is there, and leaves with a later one. */
static void apply(uint32_t ev, uint32_t at, uint32_t how)
{
	switch (ev) {
	case APPEAR:
		appear(at, how);
		break;
	case LEAVE:
		leaves(at);
		break;
	case GONE:
		step((struct gp_event){ .type = GP_EV_GROUP_GONE, .group.id = at + 1 });
		break;
	case KIND:
		change(at, how);
		break;
	case CLOSE:
		step_tenant(GP_EV_CLOSE, 0);
		memset(kind, 0, sizeof(kind));
		break;
	case OUTCOME:
		outcome(at, how);
		break;
	case TIMER:
		step_tenant(GP_EV_TIMER, 0);
		break;
	case OTHER:
		other();
		break;
	default:
		die("no such event");
	}
}

static int replay_groups(void)
{
	uint32_t ev, at, how, who, steps = 0;
	char line[512];

	init_groups(&model_policy);
	while (fgets(line, sizeof(line), stdin)) {
		struct group_state m[GROUPS], c;

		if (sscanf(line,
			   " step %u %u %u %u | %u %u %u %u %u %u %u %u | %u %u %u %u %u %u %u %u",
			   &ev, &at, &how, &who, &m[0].known, &m[0].run, &m[0].pend, &m[0].slice,
			   &m[0].next, &m[0].refused, &m[0].fails, &m[0].backoff, &m[1].known,
			   &m[1].run, &m[1].pend, &m[1].slice, &m[1].next, &m[1].refused,
			   &m[1].fails, &m[1].backoff) != 20)
			continue;
		steps++;
		if (ev == APPEAR)
			join(at, how);
		now_ns += ev == TIMER ? 100000000 : 0;
		wanted = who + 1;
		apply(ev, at, how);
		if (ev == GONE || (ev == OUTCOME && how == 3))
			leaves(at);
		for (uint32_t i = 0; i < GROUPS; i++) {
			c = state_of(i);
			if (!memcmp(&c, &m[i], sizeof(c)))
				continue;
			printf("step %u, group %u: the core has %u %u %u %u %u %u %u %u\n%s", steps,
			       i, c.known, c.run, c.pend, c.slice, c.next, c.refused, c.fails,
			       c.backoff, line);
			return 1;
		}
		if (resident() == who)
			continue;
		printf("step %u: the core's resident is %u\n%s", steps, resident(), line);
		return 1;
	}
	printf("replayed %u steps\n", steps);
	return steps ? 0 : 1;
}

/* ---- turns ------------------------------------------------------------------------ */

#define TURN_TENANTS 3
#define TICK_NS 1200
#define QUANTUM 2 /* ticks */

/* As in turns.pml. */
enum {
	TICK = 1,
	PAUSE,
	RETURN,
	LEAVES,
	JOINS
};

static const uint32_t weight[TURN_TENANTS] = { 100, 200, 100 };

static void init_turns(const struct gp_be_policy *policy)
{
	const struct gp_sched_config config = { .be_policy = policy,
						.rotate = 1,
						.slice_preempts = 1,
						.quantum_ns = QUANTUM * TICK_NS };

	s = calloc(1, gp_sched_size());
	if (!s || gp_sched_init(s, &config))
		die("no core");
}

/* Controls take no time. */
static void finish_all(void)
{
	for (uint32_t i = 0; i < s->groups; i++)
		if (s->group[i].id && s->group[i].pending) {
			step((struct gp_event){ .type = GP_EV_OUTCOME,
						.outcome.decision = s->group[i].pending });
			i = -1u;
		}
}

static void turn_event(uint32_t ev, uint32_t at)
{
	now_ns += ev == TICK ? TICK_NS : 0;
	switch (ev) {
	case TICK:
		step_tenant(GP_EV_TIMER, 0);
		break;
	case PAUSE:
		step_tenant(GP_EV_IDLE, at + 1);
		break;
	case RETURN:
		step_tenant(GP_EV_BUSY, at + 1);
		break;
	case LEAVES:
		step_tenant(GP_EV_TENANT_LEAVE, at + 1);
		break;
	case JOINS:
		step((struct gp_event){ .type = GP_EV_TENANT_JOIN,
					.tenant = at + 1,
					.spec.cls = { GP_CLASS_BE, weight[at] } });
		appear(at, 0);
		break;
	default:
		die("no such event");
	}
	finish_all();
	other();
}

/* The model's account: above the minimum, or settled if no other tenant could run. */
static int64_t account_of(uint32_t tenant)
{
	const struct gp_be_entity *be = &s->tenant[tenant].be;
	int64_t runnable = 0, sum = 0;

	if (s->config.be_policy == &gp_policy_fair)
		return (int64_t)gp_sub_sat(be->vruntime_ns,
					   s->tenant[tenant].id ? s->min_vruntime_ns : 0);
	for (uint32_t i = 0; i < s->tenants; i++) {
		runnable += s->tenant[i].be.runnable;
		sum += s->tenant[i].be.credit_ns;
	}
	return be->credit_ns - (runnable == 1 && be->runnable ? sum : 0);
}

static int replay_turns(const struct gp_be_policy *policy)
{
	uint32_t ev, at, who, runs[TURN_TENANTS], steps = 0;
	long long account[TURN_TENANTS];
	char line[512];

	init_turns(policy);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, " step %u %u %u | %u %lld | %u %lld | %u %lld", &ev, &at, &who,
			   &runs[0], &account[0], &runs[1], &account[1], &runs[2],
			   &account[2]) != 9)
			continue;
		steps++;
		turn_event(ev, at);
		for (uint32_t i = 0; i < TURN_TENANTS; i++) {
			const struct gp_be_entity *be = &s->tenant[i].be;

			if (be->runnable == runs[i] && account_of(i) == account[i] &&
			    resident() == who)
				continue;
			printf("step %u, tenant %u: the core has %u %lld, resident %u\n%s", steps,
			       i, be->runnable, (long long)account_of(i), resident(), line);
			return 1;
		}
	}
	printf("replayed %u steps\n", steps);
	return steps ? 0 : 1;
}

/* ---- a trace of the core --------------------------------------------------------- */

#define STEPS 400

struct recorded {
	uint32_t ev, at, how, over, resident;
	struct group_state group[GROUPS];
};

static struct recorded trace[STEPS];
static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rnd_state >> 33) % below;
}

static bool waits(uint32_t group)
{
	const struct gp_group_state *g = find(group);

	return g && !g->pending && g->retry_ns > s->now_ns;
}

static bool record(size_t *n, uint32_t ev, uint32_t at, uint32_t how)
{
	struct recorded *r = &trace[*n];

	if (*n == STEPS)
		return false;
	*r = (struct recorded){ .ev = ev, .at = at, .how = how };
	for (uint32_t i = 0; i < GROUPS; i++)
		r->over |= (uint32_t)(waits(i) && find(i)->retry_ns <= now_ns) << i;
	if (ev == APPEAR && how & 16)
		join(at, how & 15);
	else
		apply(ev, at, how);
	if (ev == TIMER || (ev == APPEAR && how & 16))
		r->ev = OTHER;
	r->resident = resident();
	for (uint32_t i = 0; i < GROUPS; i++)
		r->group[i] = state_of(i);
	(*n)++;
	return true;
}

/* An event that may come for @at; none if what fell out is impossible. */
static void something(size_t *n, uint32_t at)
{
	const struct gp_group_state *g = find(at);
	const uint32_t what = rnd(16);

	if (!g) {
		const uint32_t how = rnd(4) ? BE : rnd(2) ? LC : BE + 8;

		if (at && !find(0))
			return;
		record(n, APPEAR, at, how | 16);
		record(n, APPEAR, at, how);
	} else if (g->pending && what < 12) {
		const uint32_t how = rnd(3) ? 0 : rnd(8) ? 1 : 3;

		record(n, OUTCOME, at, how);
		if (how == 3 && kind[at] != LEFT && *n < STEPS)
			leaves(at);
	} else if (what == 12 && kind[at] != LEFT) {
		record(n, LEAVE, at, 0);
	} else if (what == 13) {
		record(n, GONE, at, 0);
		if (*n < STEPS)
			leaves(at);
	} else if (what > 13 && kind[at] != LEFT) {
		record(n, KIND, at, kind[at] != BE ? BE : rnd(2) ? IDLE : LC);
	} else {
		record(n, TIMER, 0, 0);
	}
}

static void print_steps(const char *name, size_t member)
{
	printf("byte t_%s[STEPS] = {", name);
	for (size_t i = 0; i < STEPS; i++)
		printf("%s%u", i ? ", " : " ", *(uint32_t *)((char *)&trace[i] + member));
	printf(" };\n");
}

static void print_groups(const char *name, size_t member)
{
	printf("byte t_%s[STEPS * 2] = {", name);
	for (size_t i = 0; i < STEPS * GROUPS; i++)
		printf("%s%u", i ? ", " : " ",
		       *(uint32_t *)((char *)&trace[i / GROUPS].group[i % GROUPS] + member));
	printf(" };\n");
}

static int record_groups(uint64_t seed)
{
	static const uint64_t pass_ns[] = { 0, 0, 1000000, 5000000, 60000000 };
	size_t n = 0;

	rnd_state = seed;
	init_groups(gp_be_policies[seed % 3]);
	while (n < STEPS) {
		now_ns += pass_ns[rnd(5)];
		something(&n, rnd(GROUPS));
	}
	printf("#define STEPS %d\n", STEPS);
	print_steps("ev", offsetof(struct recorded, ev));
	print_steps("at", offsetof(struct recorded, at));
	print_steps("how", offsetof(struct recorded, how));
	print_steps("over", offsetof(struct recorded, over));
	print_steps("resident", offsetof(struct recorded, resident));
	print_groups("known", offsetof(struct group_state, known));
	print_groups("state", offsetof(struct group_state, run));
	print_groups("pend", offsetof(struct group_state, pend));
	print_groups("slice", offsetof(struct group_state, slice));
	print_groups("next", offsetof(struct group_state, next));
	print_groups("refused", offsetof(struct group_state, refused));
	print_groups("fails", offsetof(struct group_state, fails));
	print_groups("backoff", offsetof(struct group_state, backoff));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "groups"))
		return replay_groups();
	if (argc == 2 && !strcmp(argv[1], "fair"))
		return replay_turns(&gp_policy_fair);
	if (argc == 2 && !strcmp(argv[1], "credit"))
		return replay_turns(&gp_policy_credit);
	if (argc == 3 && !strcmp(argv[1], "record"))
		return record_groups(strtoull(argv[2], NULL, 0));
	die("usage: replay groups | fair | credit | record SEED");
}
