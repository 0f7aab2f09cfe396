// SPDX-License-Identifier: Apache-2.0
/*
 * 64 queues of 12 processes on 4 slots and 4 VMIDs. All make progress. The processes share the
 * busy time by weight, and the queues of each share what it has.
 */
#include <errno.h>
#include <stdlib.h>

#include "kfd.h"

#define TENANTS 12
#define QUEUES 64
#define QUANTA 13000 /* turns, over all slots: some 203 for each queue */
/*
 * Queues that got more time during the start get less for some time, to even it out. The
 * share by weight therefore skips some 30 turns of each queue. In those, shares were up
 * to 7 % off.
 */
#define SETTLE 2000

static struct kfd k;

struct account {
	uint32_t pid, id, weight, siblings;
	uint64_t loaded_ns;
};

static uint32_t of_process(const struct kfd_sched_queue_state *q, int num, uint32_t pid)
{
	uint32_t n = 0;

	for (int i = 0; i < num && i < QUEUES; i++)
		n += q[i].pid == pid;
	return n;
}

static int read_accounts(struct account *a)
{
	static struct kfd_sched_queue_state q[QUEUES];
	int i, n = kfd_states(&k, k.gpus[0].gpu_id, q, QUEUES, NULL);

	must(n, "state");
	for (i = 0; i < n && i < QUEUES; i++)
		a[i] = (struct account){ q[i].pid, q[i].queue_id, q[i].weight,
					 of_process(q, n, q[i].pid), q[i].loaded_ns };
	return n;
}

static const struct account *same(const struct account *all, const struct account *one)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		if (all[i].pid == one->pid && all[i].id == one->id)
			return &all[i];
	bail("a queue went away");
}

/* Largest deviation of a queue's share from its share by weight, in 1/1000. */
static unsigned int worst_share(const struct account *before, const struct account *after)
{
	uint64_t sum_ns = 0;
	double sum_weight = 0;
	unsigned int i, worst = 0;

	for (i = 0; i < QUEUES; i++) {
		sum_ns += after[i].loaded_ns - same(before, &after[i])->loaded_ns;
		sum_weight += (double)after[i].weight / after[i].siblings;
	}
	for (i = 0; i < QUEUES; i++) {
		double got = after[i].loaded_ns - same(before, &after[i])->loaded_ns;
		double want = (double)sum_ns * after[i].weight / after[i].siblings / sum_weight;
		unsigned int off = abs((int)(1000 * (got / want - 1)));

		if (off > worst)
			worst = off;
	}
	return worst;
}

/* Wait for @num turns of all queues together. Returns the time. */
static uint64_t wait_turns(uint64_t num)
{
	uint64_t saves = simgpu_counter(0, "saves"), start = now_ns(), done;

	do {
		sleep_ns(50000000);
		done = simgpu_counter(0, "saves") - saves;
	} while (done < num && now_ns() - start < 600000000000ull);
	return done;
}

int main(void)
{
	static const uint32_t weights[4] = { 50, 100, 100, 200 };
	static struct account first[QUEUES], before[QUEUES], after[QUEUES];
	struct tenant *t = tenants_alloc(TENANTS);
	unsigned int i, n, worst, still = 0, quanta = scaled(QUANTA);
	uint32_t beats[TENANTS][6];
	uint64_t saves, start;

	rng_seed(10);
	kfd_open_sched(&k);
	for (i = 0; i < TENANTS; i++) {
		t[i].queues = i < 4 ? 6 : 5;
		t[i].by_class = 1;
		t[i].weight = weights[i % 4];
		if (t[i].weight > 100) /* an ordinary process may not set it itself */
			t[i].by_class = 0;
		tenant_start(&t[i]);
	}
	must(tenants_ready(t, TENANTS, 300000), "tenants");
	for (i = 0; i < TENANTS; i++)
		must(kfd_set_class(&k, k.gpus[0].gpu_id, t[i].pid, UINT32_MAX, KFD_SCHED_CLASS_BE,
				   0, weights[i % 4]),
		     "weight");
	for (i = 0; i < TENANTS; i++)
		for (n = 0; n < t[i].queues; n++)
			beats[i][n] = t[i].words[n][TENANT_BEAT];
	ok(read_accounts(first) == QUEUES, "%u queues of %u processes on 4 slots", QUEUES, TENANTS);
	saves = wait_turns(SETTLE);
	read_accounts(before);
	worst = worst_share(first, before);
	figure("before the count: %u.%u %% off at worst in %llu turns", worst / 10, worst % 10,
	       (unsigned long long)saves);
	start = now_ns();
	saves = wait_turns(quanta);
	read_accounts(after);
	worst = worst_share(before, after);
	for (i = 0; i < TENANTS; i++)
		for (n = 0; n < t[i].queues; n++)
			still += t[i].words[n][TENANT_BEAT] == beats[i][n];
	ok(!still, "all made progress (%u did not)", still);
	ok_time(worst <= 30, "shares by weight within 3 %% (%u.%u %% at worst) over %llu turns",
		worst / 10, worst % 10, (unsigned long long)saves);
	figure("shares: %u.%u %% off at worst, %llu turns in %llu ms", worst / 10, worst % 10,
	       (unsigned long long)saves, (unsigned long long)(now_ns() - start) / 1000000);
	tenants_stop(t, TENANTS, 300000);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
