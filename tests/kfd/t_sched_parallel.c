// SPDX-License-Identifier: Apache-2.0
/*
 * A hold saves all queues in parallel: it takes as long as the slowest one, not as
 * their sum. TENANTS processes have 3 queues each, all loaded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kfd.h"

#define SAVE_NS 5000000ull
#define ROUNDS 20

static struct kfd k;

/* Time from the first request to the last answer, and the slowest single save. */
static void read_saves(struct sim_log *log, uint64_t *all_ns, uint64_t *slowest_ns,
		       unsigned int *num)
{
	static struct {
		uint64_t queue, ns;
	} asked[64];
	uint64_t first = UINT64_MAX, last = 0;
	unsigned int i, n = 0;
	struct sim_event ev;

	*slowest_ns = 0;
	*num = 0;
	while (sim_log_next(log, &ev)) {
		if (!strcmp(ev.kind, "dequeue") && n < 64) {
			asked[n].queue = ev.queue;
			asked[n++].ns = ev.ns;
			if (ev.ns < first)
				first = ev.ns;
		}
		for (i = 0; i < n && !strcmp(ev.kind, "unloaded"); i++) {
			if (asked[i].queue != ev.queue)
				continue;
			if (ev.ns - asked[i].ns > *slowest_ns)
				*slowest_ns = ev.ns - asked[i].ns;
			last = ev.ns;
			++*num;
			break;
		}
	}
	*all_ns = last > first ? last - first : 0;
}

static void check_holds(unsigned int queues)
{
	unsigned int n, bad_wait = 0, bad_count = 0, rounds = scaled(ROUNDS);
	uint64_t worst_ns = 0, worst_of_ns = 1;
	struct sim_log log;

	must(sim_log_open(&log, 0), "event log");
	for (n = 0; n < rounds; n++) {
		struct kfd_ioctl_sched_hold_args hold;
		uint64_t all_ns, slowest_ns;
		unsigned int num;

		sleep_ns(20000000 + rng() % 5000000);
		sim_log_skip(&log);
		must(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 1000000000, 0, &hold),
		     "hold");
		read_saves(&log, &all_ns, &slowest_ns, &num);
		must(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, NULL), "release");
		bad_count += hold.unloaded != queues || num != queues;
		bad_wait += hold.wait_ns > slowest_ns + slowest_ns / 10;
		if (hold.wait_ns * worst_of_ns > worst_ns * slowest_ns) {
			worst_ns = hold.wait_ns;
			worst_of_ns = slowest_ns ? slowest_ns : 1;
		}
	}
	ok(!bad_count, "%u holds took all %u queues off (%u did not)", rounds, queues, bad_count);
	ok_time(!bad_wait, "none waited longer than the slowest save and a tenth (%u did)",
		bad_wait);
	figure("hold of %u queues: at worst %llu us, its slowest save %llu us", queues,
	       (unsigned long long)worst_ns / 1000, (unsigned long long)worst_of_ns / 1000);
	sim_log_close(&log);
}

int main(int argc, char **argv)
{
	unsigned int i, queues = argc > 1 ? strtoul(argv[1], NULL, 10) : 4, per = queues / 4;
	struct tenant *t = tenants_alloc(4);
	uint64_t save_ns;

	rng_seed(4);
	kfd_open_sched(&k);
	save_ns = simgpu_param("save_ns", SAVE_NS);
	for (i = 0; i < 4; i++) {
		t[i].queues = per;
		tenant_start(&t[i]);
	}
	must(tenants_ready(t, 4, 60000), "tenants");
	check_holds(queues);
	tenants_stop(t, 4, 60000);
	simgpu_param("save_ns", save_ns);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
