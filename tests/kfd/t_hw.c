// SPDX-License-Identifier: Apache-2.0
/*
 * Questions that only hardware can answer, each by a word, the safest first: same,
 * slot, vmid, leave, times. The test uses nothing of the software GPU, but runs on
 * it as well.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kfd.h"

#define ITEMS 4096
#define HEAVY 40
#define HOLD_NS 500000000ull
#define CYCLES 400
#define MAX_STATES 256
#define FAR 1000000000ll /* start value of a signal; each packet subtracts 1 */

static struct kfd k;
static uint32_t gpu_id;

struct subject {
	struct kfd_queue queue;
	struct kfd_work work;
	struct kfd_signal *ended;
	unsigned int launched;
};

static void subject_create(struct subject *s)
{
	must(kfd_work_create(&k, 0, ITEMS, HEAVY, &s->work), "work");
	must(kfd_queue_create(&k, 0, 64, &s->queue), "queue");
	s->ended = kfd_signal_create(&k, FAR, false);
	s->launched = 0;
}

/* Keep some packets in the ring. */
static void subject_feed(struct subject *s)
{
	while (kfd_queue_room(&s->queue) > 56)
		must(kfd_work_launch(&s->work, &s->queue, s->launched++ % WORK_VARIANTS, s->ended),
		     "launch");
}

static void subject_end(struct subject *s, const char *what)
{
	is_err(kfd_signal_wait(&k, s->ended, FAR - (int64_t)s->launched + 1, 120000), 0,
	       "%s: all %u packets end", what, s->launched);
	ok(!kfd_work_wrong(&s->work), "%s: results are exact (%u words wrong)", what,
	   kfd_work_wrong(&s->work));
	is_err(kfd_queue_destroy(&s->queue), 0, "%s: destroy", what);
}

static struct kfd_sched_queue_state state_of(uint32_t pid, uint32_t queue_id)
{
	static struct kfd_sched_queue_state states[MAX_STATES];
	int i, n = kfd_states(&k, gpu_id, states, MAX_STATES, NULL);

	for (i = 0; i < n && i < MAX_STATES; i++)
		if (states[i].queue_id == queue_id && states[i].pid == pid)
			return states[i];
	bail("queue %u of pid %u has no state", queue_id, pid);
}

static struct kfd_sched_queue_state state_of_ours(const struct kfd_queue *q)
{
	return state_of((uint32_t)getpid(), q->id);
}

static void cut_once(struct kfd_ioctl_sched_hold_args *hold)
{
	must(kfd_hold(&k, gpu_id, KFD_SCHED_LEVEL_MAX, HOLD_NS, 0, hold), "hold");
	if (hold->failed)
		bail("a queue did not answer its dequeue request: see dmesg");
}

/* A queue is saved and restored in its slot, as the stock driver can do. */
static void same(void)
{
	unsigned int n, cycles = scaled(CYCLES);
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd_sched_queue_state st;
	struct subject s;

	subject_create(&s);
	for (n = 0; n < cycles; n++) {
		subject_feed(&s);
		sleep_ns(rng() % 2000000);
		cut_once(&hold);
		must(kfd_release(&k, gpu_id, hold.hold_id, NULL), "release");
	}
	st = state_of_ours(&s.queue);
	ok(st.saves_midwave > cycles / 4, "%u cuts, %llu of them in mid-wave", cycles,
	   (unsigned long long)st.saves_midwave);
	figure("save: last %llu us, longest %llu us", (unsigned long long)st.last_save_ns / 1000,
	       (unsigned long long)st.max_save_ns / 1000);
	subject_end(&s, "saved and restored");
}

static bool moved(const struct kfd_sched_queue_state *a, const struct kfd_sched_queue_state *b)
{
	return b->state == KFD_SCHED_STATE_LOADED && a->state == KFD_SCHED_STATE_LOADED &&
	       (a->pipe != b->pipe || a->slot != b->slot);
}

/* While the queue is suspended, an LC queue of the process may take its slot. */
static void slot(void)
{
	unsigned int n, moves = 0, cycles = scaled(CYCLES);
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd_sched_queue_state before, after;
	struct kfd_queue other;
	struct subject s;

	subject_create(&s);
	for (n = 0; n < cycles; n++) {
		subject_feed(&s);
		sleep_ns(rng() % 1000000);
		before = state_of_ours(&s.queue);
		cut_once(&hold);
		must(kfd_queue_create(&k, 0, 64, &other), "another queue");
		must(kfd_set_class(&k, gpu_id, 0, other.id, KFD_SCHED_CLASS_LC, 0, 0), "be LC");
		must(kfd_release(&k, gpu_id, hold.hold_id, NULL), "release");
		after = state_of_ours(&s.queue);
		moves += moved(&before, &after);
		must(kfd_queue_destroy(&other), "destroy");
	}
	ok(moves > 0, "of %u cuts %u were restored on another slot", cycles, moves);
	subject_end(&s, "restored on another slot");
}

/* With more processes than VMIDs, each is restored in another VMID at some time. */
static void vmid(void)
{
	struct kfd_sched_device_state dev;
	unsigned int i, n, num, moves = 0, looks = scaled(2000);
	uint32_t *last;
	struct tenant *t;

	kfd_states(&k, gpu_id, NULL, 0, &dev);
	num = dev.vmids + 2;
	t = tenants_alloc(num);
	last = shared_alloc(num * sizeof(*last));
	tenants_simple(t, num, 1, HEAVY);
	/* With slow saves, the first move can take long. */
	for (n = 0; n < looks || (!moves && n < 50 * looks); n++) {
		for (i = 0; i < num; i++) {
			uint32_t now = state_of((uint32_t)t[i].pid, t[i].queue_id[0]).vmid;

			moves += last[i] && now != ~0u && now != last[i];
			last[i] = now != ~0u ? now : last[i];
		}
		sleep_ns(2000000);
	}
	ok(moves > 0, "%u processes on %u VMIDs: queues were restored in another one %u times", num,
	   dev.vmids, moves);
	tenants_stop(t, num, 120000);
}

/* A queue is destroyed during its save: a second request to leave its slot. */
static void leave(void)
{
	unsigned int n, cycles = scaled(CYCLES) / 4 + 1;
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd_sched_device_state dev;
	struct subject s = { 0 };

	must(kfd_work_create(&k, 0, ITEMS, HEAVY, &s.work), "work");
	s.ended = kfd_signal_create(&k, FAR, false);
	for (n = 0; n < cycles; n++) {
		must(kfd_queue_create(&k, 0, 64, &s.queue), "queue");
		subject_feed(&s);
		sleep_ns(rng() % 1000000);
		must(kfd_hold(&k, gpu_id, KFD_SCHED_LEVEL_MAX, HOLD_NS, KFD_SCHED_HOLD_NOWAIT,
			      &hold),
		     "hold");
		must(kfd_queue_destroy(&s.queue), "destroy");
		must(kfd_release(&k, gpu_id, hold.hold_id, NULL), "release");
	}
	kfd_states(&k, gpu_id, NULL, 0, &dev);
	ok(!dev.quarantines, "%u queues were destroyed while they were saved", cycles);
}

/* The time of a hold, by the number of queues that it suspends. */
static void times(void)
{
	static const unsigned int counts[] = { 1, 2, 4, 8, 16 };
	struct kfd_sched_device_state dev;
	unsigned int i, n;

	kfd_states(&k, gpu_id, NULL, 0, &dev);
	for (i = 0; i < sizeof(counts) / sizeof(*counts) && counts[i] < dev.slots; i++) {
		uint64_t sum_ns = 0, max_ns = 0, load_ns = 0;
		struct tenant *t = tenants_alloc(1);
		unsigned int rounds = scaled(50);

		tenants_simple(t, 1, counts[i], HEAVY);
		for (n = 0; n < rounds; n++) {
			struct kfd_ioctl_sched_release_args rel;
			struct kfd_ioctl_sched_hold_args hold;
			uint64_t start;

			sleep_ns(10000000);
			cut_once(&hold);
			sum_ns += hold.wait_ns;
			max_ns = hold.wait_ns > max_ns ? hold.wait_ns : max_ns;
			start = now_ns();
			must(kfd_release(&k, gpu_id, hold.hold_id, &rel), "release");
			load_ns += now_ns() - start;
		}
		tenants_stop(t, 1, 120000);
		figure("hold of %u queues: %llu us, at most %llu us; release %llu us", counts[i],
		       (unsigned long long)sum_ns / rounds / 1000,
		       (unsigned long long)max_ns / 1000,
		       (unsigned long long)load_ns / rounds / 1000);
	}
}

static const struct {
	const char *word;
	void (*ask)(void);
} questions[] = {
	{ "same", same },   { "slot", slot },	{ "vmid", vmid },
	{ "leave", leave }, { "times", times },
};

int main(int argc, char **argv)
{
	unsigned int i;
	int a;

	rng_seed(11);
	kfd_open_sched(&k);
	driver_be_patient();
	must(kfd_acquire(&k, 0), "acquire VM");
	gpu_id = k.gpus[0].gpu_id;
	for (a = 1; a < argc; a++)
		for (i = 0; i < sizeof(questions) / sizeof(*questions); i++)
			if (!strcmp(argv[a], questions[i].word))
				questions[i].ask();
	ok(!simgpu_checks(), "nothing wrong was seen from below");
	return done();
}
