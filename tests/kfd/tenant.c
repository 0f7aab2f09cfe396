// SPDX-License-Identifier: Apache-2.0
/* Processes that keep queues busy and check their results. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define RING_PACKETS 64
#define ITEMS 256
#define FAR (1ll << 40)
#define END_TIMEOUT_MS 120000

struct lane {
	struct kfd_queue q;
	struct kfd_work w;
	struct kfd_signal *sig;
	struct kfd_mem words; /* of an endless wave */
	uint32_t sent;
};

/* Exits on an error; the parent sees @failed. */
static void check(struct tenant *t, int err)
{
	if (err) {
		__atomic_store_n(&t->failed, -err, __ATOMIC_RELEASE);
		_exit(1);
	}
}

static void start_endless(struct kfd *k, struct lane *l, const struct kfd_code *code)
{
	uint32_t *words = l->words.va;
	struct k_spin_args args = {
		words + TENANT_OUT,
		words + TENANT_BEAT,
		words + TENANT_STOP,
	};
	struct kfd_launch launch = {
		.kernel = kfd_code_find(code, "k_spin"),
		.grid = { 64 },
		.workgroup = { 64 },
		.args = &args,
		.args_bytes = sizeof(args),
		.signal = l->sig,
	};

	if (!kfd_launch(&l->q, &launch))
		l->sent++;
}

static void make_lanes(struct tenant *t, struct kfd *k, struct lane *lanes)
{
	struct kfd_code code = { 0 };
	uint32_t i;

	check(t, kfd_setup(k));
	if (t->by_class)
		check(t, kfd_set_class(k, k->gpus[0].gpu_id, 0, UINT32_MAX, t->sched_class,
				       t->level, t->weight));
	if (!t->heavy)
		check(t, kfd_code_load(k, 0, KFD_MEM_VRAM, &code));
	for (i = 0; i < t->queues; i++) {
		struct lane *l = &lanes[i];

		l->sig = kfd_signal_create(k, FAR, false);
		check(t, l->sig ? 0 : -ENOMEM);
		check(t, kfd_queue_create(k, 0, RING_PACKETS, &l->q));
		t->queue_id[i] = l->q.id;
		t->ring[i] = (uintptr_t)l->q.ring.va;
		if (t->heavy) {
			check(t, kfd_work_create(k, 0, ITEMS, t->heavy, &l->w));
		} else {
			check(t,
			      kfd_mem_import(k, 0, (void *)t->words[i], KFD_PAGE_BYTES, &l->words));
			start_endless(k, l, &code);
		}
	}
}

static bool feed(struct tenant *t, struct lane *l)
{
	bool any = false;

	while (RING_PACKETS - kfd_queue_room(&l->q) < t->ahead) {
		check(t, kfd_work_launch(&l->w, &l->q, rng() % WORK_VARIANTS, l->sig));
		l->sent++;
		any = true;
		if (t->gap_us)
			break;
	}
	return any;
}

static void finish(struct tenant *t, struct lane *l)
{
	uint32_t i;

	if (!t->heavy)
		((volatile uint32_t *)l->words.va)[TENANT_STOP] = 1;
	if (kfd_signal_wait(l->q.k, l->sig, FAR - (int64_t)l->sent + 1, END_TIMEOUT_MS))
		t->unfinished += kfd_signal_value(l->sig) - (FAR - (int64_t)l->sent);
	if (t->heavy)
		t->wrong += kfd_work_wrong(&l->w);
	else
		for (i = 0; i < 64; i++)
			t->wrong += ((uint32_t *)l->words.va)[TENANT_OUT + i] != 1;
	t->sent += l->sent;
}

static void tenant_main(struct tenant *t)
{
	static struct lane lanes[TENANT_QUEUES];
	static struct kfd k;
	uint32_t i;

	make_lanes(t, &k, lanes);
	while (!__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE)) {
		bool any = false;

		for (i = 0; i < t->queues && t->heavy; i++)
			any |= feed(t, &lanes[i]);
		__atomic_store_n(&t->ready, 1, __ATOMIC_RELEASE);
		sleep_ns(t->gap_us ? t->gap_us * 1000ull : any ? 100000 : 500000);
	}
	for (i = 0; i < t->queues; i++)
		finish(t, &lanes[i]);
	_exit(0);
}

struct tenant *tenants_alloc(unsigned int num)
{
	struct tenant *t = shared_alloc(num * sizeof(struct tenant));
	unsigned int i, n;

	for (i = 0; i < num; i++)
		for (n = 0; n < TENANT_QUEUES; n++)
			t[i].words[n] = shared_alloc(KFD_PAGE_BYTES);
	return t;
}

void tenant_start(struct tenant *t)
{
	uint32_t seed = rng();
	pid_t pid;
	uint32_t i;

	t->stop = t->ready = t->failed = t->sent = t->wrong = t->unfinished = 0;
	for (i = 0; i < t->queues; i++)
		memset((void *)t->words[i], 0, KFD_PAGE_BYTES);
	if (!t->ahead)
		t->ahead = RING_PACKETS / 4;
	/* The struct is shared memory: the child must not write its 0 to @pid. */
	pid = fork();
	if (pid) {
		t->pid = pid;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rng_start(seed);
	tenant_main(t);
}

int tenants_ready(struct tenant *t, unsigned int num, int timeout_ms)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ull;
	unsigned int i;

	for (i = 0; i < num; i++) {
		while (!__atomic_load_n(&t[i].ready, __ATOMIC_ACQUIRE)) {
			if (t[i].failed)
				return -(int)t[i].failed;
			if (now_ns() > end)
				return -ETIME;
			sleep_ns(1000000);
		}
	}
	return 0;
}

void tenants_simple(struct tenant *t, unsigned int num, unsigned int queues, unsigned int heavy)
{
	unsigned int i;

	for (i = 0; i < num; i++) {
		t[i].queues = queues;
		t[i].heavy = heavy;
		tenant_start(&t[i]);
	}
	must(tenants_ready(t, num, 120000), "tenants");
}

struct tenants_sum tenants_end(struct tenant *t, unsigned int num, int timeout_ms)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ull;
	struct tenants_sum sum = { 0 };
	uint32_t i;

	for (i = 0; i < num; i++)
		__atomic_store_n(&t[i].stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < num; i++) {
		int status = -1;

		if (t[i].pid <= 0)
			continue;
		while (!waitpid(t[i].pid, &status, WNOHANG) && now_ns() < end)
			sleep_ns(1000000);
		if (status == -1)
			tenant_kill(&t[i]);
		sum.died += status != 0;
		sum.sent += t[i].sent;
		sum.wrong += t[i].wrong;
		sum.unfinished += t[i].unfinished;
		t[i].pid = 0;
	}
	return sum;
}

void tenants_stop(struct tenant *t, unsigned int num, int timeout_ms)
{
	struct tenants_sum sum = tenants_end(t, num, timeout_ms);

	ok(!sum.wrong && !sum.unfinished && !sum.died,
	   "%u tenants: %u packets, each ran once and exactly (%u wrong, %u unfinished, %u died)",
	   num, sum.sent, sum.wrong, sum.unfinished, sum.died);
}

void tenant_kill(struct tenant *t)
{
	if (t->pid <= 0)
		return;
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	t->pid = 0;
}
