// SPDX-License-Identifier: Apache-2.0
/*
 * Memory eviction, suspend of the system and reset of the GPU, while queues are held
 * and while they rotate. The states are right afterwards.
 */
#include <errno.h>
#include <string.h>

#include "kfd.h"

#define MS 1000000ull
#define QUEUES 6

static struct kfd k;

static uint32_t count_in(uint32_t state)
{
	struct kfd_sched_queue_state q[32];
	int i, n = kfd_states(&k, k.gpus[0].gpu_id, q, 32, NULL);
	uint32_t found = 0;

	must(n, "state");
	for (i = 0; i < n && i < 32; i++)
		found += q[i].state == state;
	return found;
}

static bool await(uint32_t state, uint32_t num)
{
	uint64_t end = now_ns() + 5000 * MS;
	bool seen;

	/* Queues rotate, so the number can change until the next look. */
	while (!(seen = count_in(state) == num) && now_ns() < end)
		sleep_ns(MS);
	return seen;
}

static void note_states(void)
{
	struct kfd_sched_queue_state q[32];
	int i, n = kfd_states(&k, k.gpus[0].gpu_id, q, 32, NULL);

	for (i = 0; i < n && i < 32; i++)
		note("pid %u queue %u: state %u, loads %llu, saves %llu", q[i].pid, q[i].queue_id,
		     q[i].state, (unsigned long long)q[i].loads, (unsigned long long)q[i].saves);
}

static void check_held(const char *what)
{
	ok(await(KFD_SCHED_STATE_HELD, QUEUES), "%s: all are held (%u of %u)", what,
	   count_in(KFD_SCHED_STATE_HELD), QUEUES);
	ok(!count_in(KFD_SCHED_STATE_LOADED), "%s: none is loaded", what);
}

static void check_back(struct tenant *t, const char *what)
{
	uint32_t beat = t[0].words[0][TENANT_BEAT];

	if (!ok(await(KFD_SCHED_STATE_LOADED, 4), "%s: slots are taken again (%u)", what,
		count_in(KFD_SCHED_STATE_LOADED)))
		note_states();
	is_err(wait_word(&t[0].words[0][TENANT_BEAT], beat + 1, 5000), 0, "%s: waves go on", what);
}

static uint32_t hold(void)
{
	struct kfd_ioctl_sched_hold_args args;

	must(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 9000 * MS, 0, &args), "hold");
	return args.hold_id;
}

static void evict(void)
{
	must(simgpu_write_u64(0, "evict", 0), "evict");
}

static void suspend(void)
{
	must(machine_suspend(2), "suspend");
}

static void both_ways(struct tenant *t, void (*event)(void), const char *what)
{
	uint32_t id = hold();

	event();
	check_held(what);
	is_err(kfd_release(&k, k.gpus[0].gpu_id, id, NULL), 0, "%s: release", what);
	check_back(t, what);
	event();
	check_back(t, what);
}

/*
 * A reset ends holds. The KFD evicts the processes of that time for good and sends them
 * an event, so that they end. Later processes have all slots.
 */
static void check_reset(void)
{
	struct tenant *t = tenants_alloc(2), *next = tenants_alloc(2);
	struct kfd_ioctl_sched_release_args rel;
	struct kfd_sched_device_state dev;
	unsigned int i;
	uint32_t id;

	tenants_simple(t, 2, 3, 0);
	id = hold();
	check_held("before a reset");
	must(simgpu_write_u64(0, "reset", 1), "reset");
	must(kfd_states(&k, k.gpus[0].gpu_id, NULL, 0, &dev), "state");
	ok(!dev.holders, "a reset ends the hold");
	is_err(kfd_release(&k, k.gpus[0].gpu_id, id, &rel), 0, "its release");
	ok(rel.ended == KFD_SCHED_ENDED_RESET, "says so (%u)", rel.ended);
	if (!ok(count_in(KFD_SCHED_STATE_EVICTED) == QUEUES, "all are evicted (%u)",
		count_in(KFD_SCHED_STATE_EVICTED)))
		note_states();
	tenants_simple(next, 2, 3, 0);
	check_back(next, "after a reset while held");
	for (i = 0; i < 2; i++)
		tenant_kill(&t[i]);
	tenants_stop(next, 2, 60000);
}

/* suspend: only that of the system. */
int main(int argc, char **argv)
{
	const bool whole = argc > 1 && !strcmp(argv[1], "suspend");
	struct tenant *t = tenants_alloc(2);

	rng_seed(9);
	kfd_open_sched(&k);
	driver_be_patient();
	tenants_simple(t, 2, 3, 0);
	if (whole)
		both_ways(t, suspend, "suspend");
	else
		both_ways(t, evict, "eviction");
	tenants_stop(t, 2, 60000);
	if (!whole)
		check_reset();
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
