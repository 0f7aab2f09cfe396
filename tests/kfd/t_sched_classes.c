// SPDX-License-Identifier: Apache-2.0
/*
 * Effects of classes, levels and weights. LC stays loaded, and BE shares by weight.
 * Too many LC queues take turns within the driver's bound. No turn ends before it
 * begins.
 */
#include <errno.h>

#include "kfd.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define MAX_STATES 64
#define SHARE_QUANTA 200
#define SHARE_QUEUES 12

static struct kfd k;
static uint32_t gpu_id;
static struct kfd_sched_queue_state states[MAX_STATES];

static struct kfd_sched_device_state device_state(void)
{
	struct kfd_sched_device_state dev;

	must(kfd_states(&k, gpu_id, states, MAX_STATES, &dev) < 0 ? -EIO : 0, "states");
	return dev;
}

static struct kfd_sched_queue_state *queue_of(const struct tenant *t, unsigned int n)
{
	unsigned int i, queues = device_state().queues;

	for (i = 0; i < queues && i < MAX_STATES; i++)
		if (states[i].pid == (uint32_t)t->pid && states[i].queue_id == t->queue_id[n])
			return &states[i];
	bail("the kernel does not know queue %u of %d", t->queue_id[n], (int)t->pid);
}

static struct tenant *start(unsigned int queues, uint32_t sched_class, uint32_t level,
			    uint32_t weight)
{
	struct tenant *t = tenants_alloc(1);

	t->queues = queues;
	t->by_class = 1;
	t->sched_class = sched_class;
	t->level = level;
	t->weight = weight;
	tenant_start(t);
	must(tenants_ready(t, 1, 60000), "tenant");
	return t;
}

static const struct kfd_sched_queue_state *lc_queue(void)
{
	unsigned int i, queues = device_state().queues;

	for (i = 0; i < queues && i < MAX_STATES; i++)
		if (states[i].sched_class == KFD_SCHED_CLASS_LC)
			return &states[i];
	return NULL;
}

/* An idle LC queue of this process beside more BE queues than slots. */
static void check_idle_lc(void)
{
	struct tenant *be = start(6, KFD_SCHED_CLASS_BE, 0, 0);
	const struct kfd_sched_queue_state *s;
	struct kfd_queue q;

	must(kfd_set_class(&k, gpu_id, 0, UINT32_MAX, KFD_SCHED_CLASS_LC, 2, 0), "class");
	must(kfd_queue_create(&k, 0, 64, &q), "queue");
	sleep_ns(SECOND_NS / 4);
	s = lc_queue();
	ok(s && s->level == 2, "a new queue has the class of its process");
	ok(s && s->state == KFD_SCHED_STATE_LOADED && s->loads == 1 && !s->saves,
	   "an idle LC queue is loaded once and stays");
	is_err(kfd_queue_destroy(&q), 0, "destroy");
	must(kfd_set_class(&k, gpu_id, 0, UINT32_MAX, KFD_SCHED_CLASS_BE, 0, 0), "class");
	tenants_stop(be, 1, 20000);
}

struct party {
	unsigned int queues;
	uint32_t weight;
};

/* Processes share by weight, whatever the number of their queues. */
static void check_shares(const struct party party[3])
{
	uint64_t weights = 0, before[3][TENANT_QUEUES], sum = 0, ran[3] = { 0 };
	struct tenant *t[3];
	unsigned int i, n;
	double worst = 0;

	for (i = 0; i < 3; i++)
		t[i] = start(party[i].queues, KFD_SCHED_CLASS_BE, 0, party[i].weight);
	for (i = 0; i < 3; i++)
		for (n = 0; n < party[i].queues; n++)
			before[i][n] = queue_of(t[i], n)->loaded_ns;
	sleep_ns(SHARE_QUANTA * device_state().quantum_ns * SHARE_QUEUES / 4);
	for (i = 0; i < 3; i++)
		for (n = 0; n < party[i].queues; n++)
			ran[i] += queue_of(t[i], n)->loaded_ns - before[i][n];
	for (i = 0; i < 3; i++) {
		sum += ran[i];
		weights += party[i].weight;
	}
	for (i = 0; i < 3; i++) {
		double share = (double)ran[i] / sum,
		       want = (double)party[i].weight / (double)weights;
		double off = share > want ? share - want : want - share;

		figure("%u queues, weight %u: %.4f of the time, should be %.4f", party[i].queues,
		       party[i].weight, share, want);
		worst = off / want > worst ? off / want : worst;
	}
	ok_time(worst <= 0.03, "shares by weight within 3 %% (%.2f %% off)", worst * 100);
	for (i = 0; i < 3; i++)
		tenants_stop(t[i], 1, 20000);
}

/* 3 slots for 5 LC queues: levels are strict, and no queue waits beyond the bound. */
static void check_rotation(void)
{
	struct tenant *high = start(2, KFD_SCHED_CLASS_LC, 0, 0);
	struct tenant *low = start(3, KFD_SCHED_CLASS_LC, 3, 0);
	struct tenant *be = start(2, KFD_SCHED_CLASS_BE, 0, 0);
	uint64_t bound = device_state().lc_bound_ns, longest = 0, since[3], end;
	uint32_t beat[3], before;
	unsigned int n;

	ok(bound > 0, "the driver states a bound (%llu us)", (unsigned long long)bound / 1000);
	before = be->words[0][TENANT_BEAT];
	for (n = 0; n < 3; n++) {
		since[n] = now_ns();
		beat[n] = low->words[n][TENANT_BEAT];
	}
	end = now_ns() + SECOND_NS;
	while (now_ns() < end) {
		for (n = 0; n < 3; n++) {
			uint64_t now = now_ns();

			if (now - since[n] > longest)
				longest = now - since[n];
			if (low->words[n][TENANT_BEAT] != beat[n])
				since[n] = now;
			beat[n] = low->words[n][TENANT_BEAT];
		}
		sleep_ns(MS_NS / 5);
	}
	ok_time(longest <= bound, "no LC queue stood still for longer (%llu us)",
		(unsigned long long)longest / 1000);
	ok(be->words[0][TENANT_BEAT] != before, "BE has a slot");
	for (n = 0; n < 2; n++)
		ok_time(queue_of(high, n)->waiting_ns < SECOND_NS / 4,
			"urgent queue %u waits little (%llu us)", n,
			(unsigned long long)queue_of(high, n)->waiting_ns / 1000);
	for (n = 0; n < 3; n++)
		ok(queue_of(low, n)->loads > 10, "the others take turns (%llu)",
		   (unsigned long long)queue_of(low, n)->loads);
	tenants_stop(high, 1, 20000);
	tenants_stop(low, 1, 20000);
	tenants_stop(be, 1, 20000);
}

/* A save and a load each take longer than a turn, as with much state over a slow bus. */
static void check_slow_saves(void)
{
	uint64_t save_ns, load_ns, quantum_ns = device_state().quantum_ns;
	unsigned int n, round, moved, queues = 12;
	uint32_t beat[TENANT_QUEUES];
	struct tenant *be;

	save_ns = simgpu_param("save_ns", 2 * quantum_ns);
	load_ns = simgpu_param("load_ns", 2 * quantum_ns);
	be = start(queues, KFD_SCHED_CLASS_BE, 0, 0);
	for (round = 0; round < 2; round++) {
		for (n = 0; n < queues; n++)
			beat[n] = be->words[n][TENANT_BEAT];
		sleep_ns(SECOND_NS / 2);
		for (n = moved = 0; n < queues; n++)
			moved += be->words[n][TENANT_BEAT] != beat[n];
		ok(moved == queues, "saves of 2 turns, half second %u: %u of %u queues moved on",
		   round, moved, queues);
	}
	simgpu_param("save_ns", save_ns);
	simgpu_param("load_ns", load_ns);
	tenants_stop(be, 1, 20000);
}

int main(void)
{
	rng_seed(8);
	expect_dmesg("more latency-critical queues than slots");
	must(kfd_setup(&k), "set up");
	if (!kfd_has_sched(&k))
		bail("the kernel does not know the calls of kfd_sched.h");
	gpu_id = k.gpus[0].gpu_id;
	check_idle_lc();
	check_shares((struct party[3]){ { 4, 50 }, { 4, 100 }, { 4, 200 } });
	check_shares((struct party[3]){ { 2, 100 }, { 3, 100 }, { 7, 100 } });
	check_rotation();
	check_slow_saves();
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
