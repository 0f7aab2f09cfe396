// SPDX-License-Identifier: Apache-2.0
/*
 * One call suspends all BE queues of 8 processes. Work that an LC queue gets after
 * the call runs before any BE wave.
 */
#include <errno.h>

#include "kfd.h"

#define TENANTS 8
#define TRIES 10000
#define HOLD_NS 2000000000ull
#define MAX_STATES 16

static struct kfd k;
static unsigned int slots;
static struct tenant *be;

static void read_beats(uint32_t beats[TENANTS])
{
	unsigned int i;

	for (i = 0; i < TENANTS; i++)
		beats[i] = be[i].words[0][TENANT_BEAT];
}

static bool same_beats(const uint32_t a[TENANTS], const uint32_t b[TENANTS])
{
	unsigned int i;

	for (i = 0; i < TENANTS; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/**
 * struct look - number of BE queues on the device
 * @loaded: on a slot and not asked to leave
 * @saving: asked to leave, by rotation or by a hold
 */
struct look {
	unsigned int loaded, saving;
	uint64_t rotations;
};

static struct look look(void)
{
	static struct kfd_sched_queue_state states[MAX_STATES];
	struct kfd_sched_device_state dev;
	struct look now = { 0 };
	int i, n = kfd_states(&k, k.gpus[0].gpu_id, states, MAX_STATES, &dev);

	must(n, "states");
	for (i = 0; i < n && i < MAX_STATES; i++) {
		if (states[i].sched_class != KFD_SCHED_CLASS_BE)
			continue;
		now.loaded += states[i].state == KFD_SCHED_STATE_LOADED;
		now.saving += states[i].state == KFD_SCHED_STATE_SAVING;
	}
	now.rotations = dev.rotations;
	return now;
}

/**
 * struct tally - results of all tries
 * @took_none: holds that suspended no queue themselves
 * @unexplained: part of those, without a rotation that had asked the queues to leave
 * @left_on: holds after which a BE queue was on the device
 */
struct tally {
	unsigned int hold_failed, release_failed, lc_late, be_ran, more_than_slots;
	unsigned int took_none, unexplained, left_on;
	uint64_t wait_max_ns, lc_max_ns;
};

/*
 * A hold does not count queues that rotation had already asked to leave, but it waits
 * for them.
 */
static void check_taken(const struct look *before, const struct look *after,
			const struct kfd_ioctl_sched_hold_args *hold, struct tally *sum)
{
	sum->left_on += after->loaded || after->saving;
	if (hold->unloaded)
		return;
	sum->took_none++;
	sum->unexplained += before->loaded && before->rotations == after->rotations;
}

static void one_try(struct kfd_queue *lc, struct kfd_launch *l, struct tally *sum)
{
	struct kfd_ioctl_sched_release_args rel;
	struct kfd_ioctl_sched_hold_args hold;
	uint32_t before[TENANTS], after[TENANTS];
	struct look was, is;
	uint64_t rung;

	sleep_ns(rng() % 3000000);
	was = look();
	if (kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, HOLD_NS, 0, &hold)) {
		sum->hold_failed++;
		return;
	}
	read_beats(before);
	kfd_signal_set(l->signal, 1);
	rung = now_ns();
	must(kfd_launch(lc, l), "launch");
	sum->lc_late += kfd_signal_wait(&k, l->signal, 1, 5000) != 0;
	if (now_ns() - rung > sum->lc_max_ns)
		sum->lc_max_ns = now_ns() - rung;
	read_beats(after);
	sum->be_ran += !same_beats(before, after);
	is = look();
	check_taken(&was, &is, &hold, sum);
	sum->more_than_slots += hold.unloaded > slots || hold.failed;
	if (hold.wait_ns > sum->wait_max_ns)
		sum->wait_max_ns = hold.wait_ns;
	if (kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, &rel) ||
	    rel.ended != KFD_SCHED_ENDED_RELEASED)
		sum->release_failed++;
}

static void check_tries(void)
{
	struct k_hash_args args = { .iters = 5, .seed = 1 };
	struct kfd_launch l = {
		.grid = { 64 }, .workgroup = { 64 }, .args = &args, .args_bytes = sizeof(args)
	};
	unsigned int n, tries = scaled(TRIES);
	struct tally sum = { 0 };
	struct kfd_code code;
	struct kfd_queue lc;
	struct kfd_mem out;

	must(kfd_code_load(&k, 0, KFD_MEM_VRAM, &code), "code");
	must(kfd_mem_alloc(&k, 0, 4096, KFD_MEM_GTT, &out), "memory");
	must(kfd_queue_create(&k, 0, 64, &lc), "queue");
	args.out = out.va;
	l.kernel = kfd_code_find(&code, "k_hash");
	l.signal = kfd_signal_create(&k, 1, false);
	for (n = 0; n < tries; n++)
		one_try(&lc, &l, &sum);
	ok(!sum.hold_failed && !sum.release_failed, "%u holds and releases (%u, %u failed)", tries,
	   sum.hold_failed, sum.release_failed);
	ok(!sum.lc_late, "LC ran each time (%u did not)", sum.lc_late);
	ok(!sum.be_ran, "before any BE wave (%u times not)", sum.be_ran);
	ok(!sum.left_on, "no BE queue is on the device then (%u times one was)", sum.left_on);
	ok(!sum.unexplained, "each took off what rotation had not (%u times not)", sum.unexplained);
	ok(sum.took_none < tries / 2 + 1, "and most holds had something to take off");
	figure("%u of %u holds came while rotation was taking all queues off", sum.took_none,
	       tries);
	ok(!sum.more_than_slots, "and never more than there are slots, or one that failed");
	ok(((uint32_t *)out.va)[3] == tries * kfd_ref_hash(3, 5, 1), "LC's results are exact");
	figure("hold: longest wait %llu us, LC after it at most %llu us",
	       (unsigned long long)sum.wait_max_ns / 1000,
	       (unsigned long long)sum.lc_max_ns / 1000);
	is_err(kfd_queue_destroy(&lc), 0, "destroy");
}

/* All BE waves run again. */
static void check_goes_on(void)
{
	uint32_t beats[TENANTS];
	unsigned int i;

	read_beats(beats);
	for (i = 0; i < TENANTS; i++)
		is_err(wait_word(&be[i].words[0][TENANT_BEAT], beats[i] + 1, 5000), 0,
		       "tenant %u goes on", i);
}

int main(void)
{
	struct kfd_sched_device_state dev;
	unsigned int i;

	rng_seed(2);
	be = tenants_alloc(TENANTS);
	kfd_open_sched(&k);
	must(kfd_acquire(&k, 0), "acquire VM");
	kfd_states(&k, k.gpus[0].gpu_id, NULL, 0, &dev);
	slots = dev.slots;
	must(kfd_set_class(&k, k.gpus[0].gpu_id, 0, UINT32_MAX, KFD_SCHED_CLASS_LC, 0, 0), "be LC");
	for (i = 0; i < TENANTS; i++) {
		be[i].queues = 1;
		tenant_start(&be[i]);
	}
	must(tenants_ready(be, TENANTS, 60000), "tenants");
	check_tries();
	check_goes_on();
	tenants_stop(be, TENANTS, 60000);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
