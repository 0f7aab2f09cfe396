// SPDX-License-Identifier: Apache-2.0
/*
 * Questions that only hardware can answer, each by a word, the safest first: writeback, slot,
 * pipes, same, owners, code, vmid, leave, demo, times. The test uses nothing of the software GPU,
 * but runs on it as well.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define ITEMS 4096
#define HEAVY (4 + scaled(36)) /* a test with few cycles has short launches, too */
#define HOLD_NS 500000000ull
#define CYCLES 400
#define MAX_STATES 256
#define END_TIMEOUT_MS 30000
#define OWNERS 30
#define FAR 1000000000ll /* start value of a signal; each packet subtracts 1 */

static struct kfd k;
static uint32_t gpu_id;

struct subject {
	struct kfd_queue queue;
	struct kfd_work work;
	struct kfd_signal *ended;
	unsigned int launched;
	unsigned int kinds; /* of kernels */
};

static void subject_create(struct subject *s, unsigned int items, unsigned int kinds)
{
	s->kinds = kinds;
	must(kfd_work_create(&k, 0, items, HEAVY, &s->work), "work");
	must(kfd_queue_create(&k, 0, 64, &s->queue), "queue");
	s->ended = kfd_signal_create(&k, FAR, false);
	s->launched = 0;
}

static void subject_launch(struct subject *s)
{
	must(kfd_work_launch(&s->work, &s->queue, s->launched++ % s->kinds, s->ended), "launch");
}

/* Keep some packets in the ring. */
static void subject_feed(struct subject *s)
{
	while (kfd_queue_room(&s->queue) > 56)
		subject_launch(s);
}

static void destroy(struct kfd_queue *q)
{
	ok_or_fault(!kfd_queue_destroy(q), "a queue does not answer its dequeue request",
		    "destroy");
}

static void subject_end(struct subject *s, const char *what, const char *fault)
{
	ok_or_fault(!kfd_signal_wait(&k, s->ended, FAR - (int64_t)s->launched + 1, END_TIMEOUT_MS),
		    fault, "%s: all %u packets end", what, s->launched);
	ok_or_fault(!kfd_work_wrong(&s->work), fault, "%s: results are exact (%u words wrong)",
		    what, kfd_work_wrong(&s->work));
	destroy(&s->queue);
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
	if (!hold->failed)
		return;
	ok_or_fault(false, "a queue does not answer its dequeue request", "a hold");
	bail("stopped");
}

/* ---- writeback ---------------------------------------------------------------------- */

#define MQDS "/sys/kernel/debug/kfd/mqds"
#define MQD_RPTR 138 /* cp_hqd_pq_rptr of struct v9_mqd, in dwords */
#define MQD_LINE_DWORDS 8
#define WRITEBACKS 20
#define WRITEBACK_ITEMS 1024
#define LATER_NS 20000000

/* The read pointer in the MQD of this process's only queue; false: the driver does not show it. */
static bool mqd_rptr(uint32_t *rptr)
{
	unsigned int process = 0, offset, w[MQD_LINE_DWORDS];
	bool ours = false, found = false;
	FILE *f = fopen(MQDS, "re");
	char line[256];

	/* The first is that of the first XCC. */
	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Process %u", &process) == 1)
			ours = process == (unsigned int)getpid();
		else if (ours &&
			 sscanf(line, " %x: %x %x %x %x %x %x %x %x", &offset, &w[0], &w[1], &w[2],
				&w[3], &w[4], &w[5], &w[6], &w[7]) == 9 &&
			 offset == MQD_RPTR / MQD_LINE_DWORDS * MQD_LINE_DWORDS * 4) {
			*rptr = w[MQD_RPTR % MQD_LINE_DWORDS];
			found = true;
		}
	}
	if (f)
		fclose(f);
	return found;
}

struct used {
	uint32_t stack, area;
};

static struct used read_used(const struct kfd_queue *q)
{
	struct kfd_ioctl_get_queue_wave_state_args args = {
		.ctl_stack_address = (uintptr_t)q->cwsr.va,
		.queue_id = q->id,
	};

	must(kfd_call(&k, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &args), "wave state");
	return (struct used){ args.ctl_stack_used_size, args.save_area_used_size };
}

static void must_update(struct kfd_queue *q, uint32_t percentage)
{
	int err = kfd_queue_update(q, percentage);

	if (!ok_or_fault(!err, "a queue does not answer its dequeue request", "UPDATE_QUEUE %u",
			 percentage))
		bail("stopped");
}

static bool subject_idle(struct subject *s)
{
	return !kfd_signal_wait(&k, s->ended, FAR - (int64_t)s->launched + 1, END_TIMEOUT_MS);
}

/* Packets leave the ring. Later questions ask for their results. */
static bool ring_empties(const struct kfd_queue *q)
{
	const uint64_t end = now_ns() + END_TIMEOUT_MS * 1000000ull;

	while (kfd_queue_room(q) < q->packets) {
		if (now_ns() > end)
			return false;
		sleep_ns(1000000);
	}
	return true;
}

/* Before anything is restored: does a queue that ran packets have them in its MQD? */
static bool rptr_moves(struct subject *s)
{
	uint32_t before = 0, after = 0;
	unsigned int n;

	if (!mqd_rptr(&before)) {
		skip("no " MQDS, "the MQD has the read pointer");
		return true;
	}
	for (n = 0; n < 7; n++)
		subject_launch(s);
	if (!ring_empties(&s->queue))
		bail("seven packets do not end");
	must_update(&s->queue, 0);
	sleep_ns(LATER_NS);
	mqd_rptr(&after);
	return ok_or_fault(after != before, "the CP does not write the read pointer to the MQD",
			   "after seven packets the MQD's read pointer goes from %u to %u", before,
			   after);
}

/* Once idle, once in mid-wave: the MQD at once and later. */
static bool offsets_stay(struct subject *s, struct used *most)
{
	unsigned int n, late = 0, none = 0;

	for (n = 0; n < WRITEBACKS; n++) {
		struct used at_once, later;

		must_update(&s->queue, 100);
		if (n % 2)
			subject_feed(s);
		sleep_ns(2000000);
		must_update(&s->queue, 0);
		at_once = read_used(&s->queue);
		sleep_ns(LATER_NS);
		later = read_used(&s->queue);
		late += at_once.stack != later.stack || at_once.area != later.area;
		none += n % 2 && !later.area;
		most->area = later.area > most->area ? later.area : most->area;
		most->stack = later.stack > most->stack ? later.stack : most->stack;
		must_update(&s->queue, 100);
		if (!ring_empties(&s->queue))
			break;
		must_update(&s->queue, 0);
	}
	return ok_or_fault(!late, "the CP writes the MQD only after ACTIVE fell",
			   "the MQD is complete at once (%u of %u were not)", late, n) &&
	       ok_or_fault(!none || none < n / 2,
			   "the CP does not write the save's size to the MQD",
			   "saves in mid-wave have a size (%u had none)", none);
}

/* The assumption that all else rests on. */
static void writeback(void)
{
	struct used most = { 0 };
	struct subject s;

	subject_create(&s, WRITEBACK_ITEMS, 1);
	if (!rptr_moves(&s) || !offsets_stay(&s, &most))
		bail("stopped");
	must_update(&s.queue, 100);
	destroy(&s.queue);
	figure("save area used: %u bytes of %u, control stack %u of %u", most.area,
	       k.gpus[0].cwsr_bytes, most.stack, k.gpus[0].ctl_stack_bytes);
}

/* ---- saves and restores --------------------------------------------------------------- */

/* A queue is saved and restored in its slot, as the stock driver can do. */
static void same(void)
{
	unsigned int n, cycles = scaled(CYCLES);
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd_sched_queue_state st;
	struct subject s;

	subject_create(&s, ITEMS, WORK_VARIANTS);
	for (n = 0; n < cycles; n++) {
		subject_feed(&s);
		sleep_ns(rng() % 2000000);
		cut_once(&hold);
		must(kfd_release(&k, gpu_id, hold.hold_id, NULL), "release");
	}
	st = state_of_ours(&s.queue);
	/* How many depends on the card's speed. */
	ok(st.saves_midwave > 0, "%u cuts, %llu of them in mid-wave", cycles,
	   (unsigned long long)st.saves_midwave);
	figure("save: last %llu us, longest %llu us", (unsigned long long)st.last_save_ns / 1000,
	       (unsigned long long)st.max_save_ns / 1000);
	subject_end(&s, "saved and restored", "a hold's save and restore loses the state of waves");
}

static bool moved(const struct kfd_sched_queue_state *a, const struct kfd_sched_queue_state *b)
{
	return b->state == KFD_SCHED_STATE_LOADED && a->state == KFD_SCHED_STATE_LOADED &&
	       (a->pipe != b->pipe || a->slot != b->slot);
}

struct spin {
	struct kfd_code code;
	struct kfd_mem words;
	struct kfd_signal *ended;
};

/* An endless wave on @q; returns its beat. */
static volatile uint32_t *spin_start(struct spin *s, struct kfd_queue *q)
{
	struct k_spin_args args;
	struct kfd_launch l = {
		.grid = { 64 },
		.workgroup = { 64 },
		.args = &args,
		.args_bytes = sizeof(args),
	};
	uint32_t *w;

	must(kfd_code_load(&k, 0, KFD_MEM_VRAM, &s->code), "code");
	must(kfd_mem_alloc(&k, 0, KFD_PAGE_BYTES, KFD_MEM_GTT, &s->words), "memory");
	s->ended = kfd_signal_create(&k, 1, false);
	w = s->words.va;
	args = (struct k_spin_args){ w, w + 64, w + 128 };
	l.kernel = kfd_code_find(&s->code, "k_spin");
	l.signal = s->ended;
	must(kfd_launch(q, &l), "launch");
	/* A queue can be loaded some time after its creation. */
	if (!ok_or_fault(!wait_word(&w[64], 1, END_TIMEOUT_MS),
			 "a doorbell rung while a queue is off is lost", "the endless wave begins"))
		bail("stopped");
	return &w[64];
}

static void spin_end(struct spin *s, struct kfd_queue *q)
{
	volatile uint32_t *w = s->words.va;
	bool ended;

	w[128] = 1;
	ended = !kfd_signal_wait(&k, s->ended, 1, END_TIMEOUT_MS);
	ok_or_fault(ended,
		    w[0] ? "a packet cut by a save ends without its signal" :
			   "packets cut by a save never end",
		    "the endless wave ends");
	ok_or_fault(!ended || w[0] == 1, "work runs twice after a restore", "it ran once (%u)",
		    w[0]);
	destroy(q);
}

/* The driver loads a queue to any free slot: waves go on wherever they are restored. */
static void slot(void)
{
	unsigned int n, moves = 0, cycles = scaled(CYCLES) + 8;
	struct kfd_sched_queue_state before, after;
	volatile uint32_t *beat;
	struct kfd_queue q;
	struct spin spin;

	must(kfd_queue_create(&k, 0, 64, &q), "queue");
	beat = spin_start(&spin, &q);
	for (n = 0; n < cycles; n++) {
		before = state_of_ours(&q);
		must_update(&q, 0);
		must_update(&q, 100);
		after = state_of_ours(&q);
		moves += moved(&before, &after);
		if (!ok_or_fault(!wait_word(beat, *beat + 1, 2000),
				 moved(&before, &after) ? "waves do not return on another slot" :
							  "waves do not go on after a restore",
				 "the wave goes on"))
			bail("stopped");
	}
	ok(moves > 0, "of %u restores %u were on another slot", cycles, moves);
	spin_end(&spin, &q);
}

/* ---- pipes --------------------------------------------------------------------------- */

#define PIPE_QUEUES 9
#define NOP_TIMEOUT_MS 2000

struct pipe_times {
	uint64_t same_ns, other_ns;
	unsigned int same, other, stuck;
};

/* One empty kernel on @q, while the first queue's wave runs. */
static void time_nop(struct kfd_queue *q, uint64_t nop, bool same, struct pipe_times *t)
{
	struct kfd_signal *sig = kfd_signal_create(&k, 1, false);
	struct kfd_launch l = { .kernel = nop, .grid = { 64 }, .workgroup = { 64 }, .signal = sig };
	uint64_t start = now_ns();
	uint64_t *longest = same ? &t->same_ns : &t->other_ns;

	must(kfd_launch(q, &l), "launch");
	t->stuck += kfd_signal_wait(&k, sig, 1, NOP_TIMEOUT_MS) != 0;
	start = now_ns() - start;
	*longest = start > *longest ? start : *longest;
	*(same ? &t->same : &t->other) += 1;
}

static void time_pipes(struct kfd_queue *q, unsigned int num, uint64_t nop)
{
	uint32_t pipe = state_of_ours(&q[0]).pipe;
	struct pipe_times t = { 0 };
	unsigned int i;

	for (i = 1; i < num; i++) {
		struct kfd_sched_queue_state st = state_of_ours(&q[i]);

		if (st.state == KFD_SCHED_STATE_LOADED)
			time_nop(&q[i], nop, st.pipe == pipe, &t);
	}
	figure("an empty kernel beside an endless one: %llu us on its pipe (%u queues), %llu us on "
	       "others (%u)",
	       (unsigned long long)t.same_ns / 1000, t.same, (unsigned long long)t.other_ns / 1000,
	       t.other);
	ok_or_fault(!t.stuck, "a queue waits as long as another one on its pipe has a wave",
		    "each queue runs beside the first (%u do not)", t.stuck);
}

static void pipes(void)
{
	struct kfd_queue q[PIPE_QUEUES];
	struct kfd_sched_device_state dev;
	struct spin spin;
	unsigned int i, num;

	kfd_states(&k, gpu_id, NULL, 0, &dev);
	num = dev.slots < PIPE_QUEUES ? dev.slots : PIPE_QUEUES;
	for (i = 0; i < num; i++)
		must(kfd_queue_create(&k, 0, 64, &q[i]), "queue");
	spin_start(&spin, &q[0]);
	time_pipes(q, num, kfd_code_find(&spin.code, "k_nop"));
	for (i = 1; i < num; i++)
		destroy(&q[i]);
	spin_end(&spin, &q[0]);
}

static void tenants_exact(struct tenant *t, unsigned int num, const char *fault)
{
	struct tenants_sum sum = tenants_end(t, num, END_TIMEOUT_MS);

	ok_or_fault(!sum.wrong && !sum.unfinished && !sum.died, fault,
		    "%u tenants: %u packets (%u words wrong, %u unfinished, %u died)", num,
		    sum.sent, sum.wrong, sum.unfinished, sum.died);
}

/* Processes one after the other, with the same addresses: no waves are saved. */
static void owners(void)
{
	struct tenant *t = tenants_alloc(1);
	unsigned int n, bad = 0, num = scaled(OWNERS) + 2;

	t->queues = 1;
	t->heavy = 1;
	for (n = 0; n < num && !bad; n++) {
		struct tenants_sum sum = { .died = 1 };

		tenant_start(t);
		if (!tenants_ready(t, 1, END_TIMEOUT_MS))
			sum = tenants_end(t, 1, END_TIMEOUT_MS);
		bad += sum.wrong || sum.unfinished || sum.died;
	}
	ok_or_fault(!bad, "a VMID's new owner has its predecessor's memory",
		    "%u processes, one after the other, work exactly", n);
}

#define MULTIPLIER 1664525u /* of kernels.cl */
#define OTHER_MULTIPLIER (MULTIPLIER + 2)
#define CODE_PACKETS 60

struct coder {
	uint32_t odd, wrong, finished;
	pid_t pid;
};

/* In the odd processes the kernels' multiplier is another: different code at one address. */
static void change_code(const struct kfd_code *code)
{
	uint32_t *w = code->mem.va;
	uint64_t i, changed = 0;

	for (i = 0; i < code->mem.bytes / sizeof(*w); i++)
		if (w[i] == MULTIPLIER) {
			w[i] = OTHER_MULTIPLIER;
			changed++;
		}
	if (!changed)
		bail("the kernels have no multiplier");
}

static uint32_t hash_by(uint32_t multiplier, uint32_t x, uint32_t iters)
{
	while (iters--) {
		x = x * multiplier + 1013904223u;
		x ^= x >> 13;
	}
	return x;
}

static void coder_main(struct coder *c)
{
	const uint32_t iters = 20 * HEAVY, seed = 7;
	struct kfd_queue q;
	struct kfd_code code;
	struct kfd_mem out;
	struct k_hash_args args = { .iters = iters, .seed = seed };
	struct kfd_launch l = { .grid = { 256 }, .workgroup = { 64 }, .args_bytes = sizeof(args) };
	uint32_t i, n, want;

	must(kfd_setup(&k), "set up");
	must(kfd_code_load(&k, 0, KFD_MEM_VRAM, &code), "code");
	if (c->odd)
		change_code(&code);
	must(kfd_mem_alloc(&k, 0, KFD_PAGE_BYTES, KFD_MEM_GTT, &out), "memory");
	must(kfd_queue_create(&k, 0, 64, &q), "queue");
	args.out = out.va;
	l.args = &args;
	l.kernel = kfd_code_find(&code, "k_hash");
	l.signal = kfd_signal_create(&k, FAR, false);
	for (n = 0; n < CODE_PACKETS; n++)
		must(kfd_launch(&q, &l), "launch");
	c->finished = !kfd_signal_wait(&k, l.signal, FAR - CODE_PACKETS + 1, END_TIMEOUT_MS);
	for (i = 0; i < 256; i++) {
		want = hash_by(c->odd ? OTHER_MULTIPLIER : MULTIPLIER, i ^ seed, iters);
		c->wrong += args.out[i] != want * CODE_PACKETS;
	}
	_exit(0);
}

/* Processes that share VMIDs, with different code at the same addresses. */
static void code(void)
{
	struct kfd_sched_device_state dev;
	unsigned int i, num, wrong = 0, unfinished = 0;
	struct coder *c;

	kfd_states(&k, gpu_id, NULL, 0, &dev);
	num = dev.vmids + 1;
	c = shared_alloc(num * sizeof(*c));
	for (i = 0; i < num; i++) {
		c[i].odd = i % 2;
		c[i].pid = fork();
		if (!c[i].pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			coder_main(&c[i]);
		}
	}
	for (i = 0; i < num; i++) {
		waitpid(c[i].pid, NULL, 0);
		wrong += c[i].wrong;
		unfinished += !c[i].finished;
	}
	ok_or_fault(!unfinished, "waves do not return in another VMID",
		    "%u processes on %u VMIDs end (%u do not)", num, dev.vmids, unfinished);
	ok_or_fault(!wrong, "a VMID's new owner runs its predecessor's code",
		    "they run their own code (%u words wrong)", wrong);
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
	tenants_exact(t, num, "waves do not return in another VMID");
}

/* A queue is destroyed during its save: a second request to leave its slot. */
static void leave(void)
{
	unsigned int n, cycles = scaled(CYCLES) / 4 + 1;
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd_sched_device_state dev;
	struct subject s = { .kinds = WORK_VARIANTS };

	must(kfd_work_create(&k, 0, ITEMS, HEAVY, &s.work), "work");
	s.ended = kfd_signal_create(&k, FAR, false);
	for (n = 0; n < cycles; n++) {
		must(kfd_queue_create(&k, 0, 64, &s.queue), "queue");
		subject_feed(&s);
		sleep_ns(rng() % 1000000);
		must(kfd_hold(&k, gpu_id, KFD_SCHED_LEVEL_MAX, HOLD_NS, KFD_SCHED_HOLD_NOWAIT,
			      &hold),
		     "hold");
		if (kfd_queue_destroy(&s.queue))
			break;
		must(kfd_release(&k, gpu_id, hold.hold_id, NULL), "release");
	}
	kfd_states(&k, gpu_id, NULL, 0, &dev);
	ok_or_fault(n == cycles && !dev.quarantines,
		    "a queue that is destroyed during its save hangs",
		    "%u queues were destroyed while they were saved", n);
}

/* The time of a hold, by the number of queues that it suspends. */
static void times(void)
{
	static const unsigned int counts[] = { 1, 2, 4, 8, 16, 24, 32 };
	struct kfd_sched_device_state dev;
	unsigned int i, n;

	kfd_states(&k, gpu_id, NULL, 0, &dev);
	for (i = 0; i < sizeof(counts) / sizeof(*counts) && counts[i] <= dev.slots; i++) {
		uint64_t sum_ns = 0, max_ns = 0, load_ns = 0;
		unsigned int rounds = scaled(50), num = (counts[i] + 7) / 8;
		struct tenant *t = tenants_alloc(num);

		tenants_simple(t, num, counts[i] / num, HEAVY);
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
		tenants_exact(t, num, "saves and restores of many queues lose state");
		figure("hold of %u queues: %llu us, at most %llu us; release %llu us", counts[i],
		       (unsigned long long)sum_ns / rounds / 1000,
		       (unsigned long long)max_ns / 1000,
		       (unsigned long long)load_ns / rounds / 1000);
	}
}

/* ---- demo ------------------------------------------------------------------------------- */

#define REQUESTS 400
#define REQUEST_KERNELS 5
#define REQUEST_EVERY_NS 5000000

static uint64_t request(struct subject *s, bool holds)
{
	const uint64_t start = now_ns();
	struct kfd_ioctl_sched_hold_args hold;
	uint64_t took_ns;
	unsigned int i;

	if (holds)
		cut_once(&hold);
	for (i = 0; i < REQUEST_KERNELS; i++) {
		must(kfd_work_launch(&s->work, &s->queue, 0, s->ended), "launch");
		s->launched++;
	}
	if (!ok_or_fault(subject_idle(s), "a request beside best effort does not end", "a request"))
		bail("stopped");
	took_ns = now_ns() - start;
	if (holds)
		must(kfd_release(&k, gpu_id, hold.hold_id, NULL), "release");
	return took_ns;
}

static void requests(struct subject *s, const char *what, bool holds)
{
	unsigned int n, num = scaled(REQUESTS) + 4;
	uint64_t *ns = calloc(num, sizeof(*ns));

	for (n = 0; ns && n < num; n++) {
		ns[n] = request(s, holds);
		sleep_ns(REQUEST_EVERY_NS);
	}
	if (ns)
		figure_times(what, ns, num);
	free(ns);
}

static void demo(void)
{
	struct tenant *t = tenants_alloc(2);
	struct subject s;

	must(kfd_work_create(&k, 0, 256, 3, &s.work), "work");
	must(kfd_queue_create(&k, 0, 64, &s.queue), "queue");
	s.ended = kfd_signal_create(&k, FAR, false);
	s.launched = 0;
	requests(&s, "LC alone", false);
	tenants_simple(t, 2, 4, HEAVY);
	requests(&s, "LC beside best effort, a class of its own for neither", false);
	must(kfd_set_class(&k, gpu_id, 0, s.queue.id, KFD_SCHED_CLASS_LC, 0, 0), "be LC");
	requests(&s, "the same with class LC", false);
	requests(&s, "the same with class LC and holds", true);
	tenants_exact(t, 2, "best effort's results are wrong");
	subject_end(&s, "LC", "LC's results are wrong");
}

static const struct {
	const char *word;
	void (*ask)(void);
} questions[] = {
	{ "writeback", writeback }, { "pipes", pipes }, { "same", same }, { "slot", slot },
	{ "owners", owners },	    { "code", code },	{ "vmid", vmid }, { "leave", leave },
	{ "demo", demo },	    { "times", times },
};

int main(int argc, char **argv)
{
	const unsigned int num = sizeof(questions) / sizeof(*questions);
	unsigned int i;
	int a;

	rng_seed(11);
	kfd_open_sched(&k);
	driver_be_patient();
	must(kfd_acquire(&k, 0), "acquire VM");
	gpu_id = k.gpus[0].gpu_id;
	for (a = 1; a < argc; a++) {
		for (i = 0; i < num && strcmp(argv[a], questions[i].word); i++)
			;
		if (i == num)
			bail("%s is no question", argv[a]);
		questions[i].ask();
	}
	return done();
}
