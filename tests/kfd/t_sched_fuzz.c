// SPDX-License-Identifier: Apache-2.0
/*
 * Random sequences of all KFD calls, by root and by an ordinary user. The kernel does
 * not warn, and the user gains no right. Half the arguments are random, half are
 * results of earlier calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define CALLS 1000000
#define BATCH 2000 /* calls of one process */

static uint64_t pool[64];
static unsigned int pool_used;

static void remember(uint64_t v)
{
	pool[pool_used++ % 64] = v;
}

static uint64_t value(struct kfd *k)
{
	switch (rng() % 10) {
	case 0:
		return 0;
	case 1:
		return rng() % 16;
	case 2:
		return k->gpus[0].gpu_id;
	case 3:
		return (uintptr_t)pool;
	case 4:
		return (uint64_t)rng() << 32 | rng();
	case 5:
		return getpid();
	case 6:
		return (uint64_t)-1;
	case 7:
		return 1ull << rng() % 64;
	default:
		return pool[rng() % 64];
	}
}

/* Fill a structure with words; the size field of a sched call is mostly right. */
static void fill(struct kfd *k, uint8_t *buf, unsigned int bytes, bool sized)
{
	unsigned int i;

	for (i = 0; i + 4 <= bytes; i += 4) {
		uint64_t v = value(k);

		if (rng() % 3 == 0 && i + 8 <= bytes) {
			memcpy(buf + i, &v, 8);
			i += 4;
		} else {
			memcpy(buf + i, &v, 4);
		}
	}
	if (sized && rng() % 8) {
		uint32_t zero = 0;

		memcpy(buf, &bytes, 4);
		memcpy(buf + 4, &zero, 4);
		memcpy(buf + 8, &k->gpus[0].gpu_id, 4);
	}
}

static const unsigned long requests[] = {
	AMDKFD_IOC_GET_VERSION,
	AMDKFD_IOC_CREATE_QUEUE,
	AMDKFD_IOC_DESTROY_QUEUE,
	AMDKFD_IOC_SET_MEMORY_POLICY,
	AMDKFD_IOC_GET_CLOCK_COUNTERS,
	AMDKFD_IOC_GET_PROCESS_APERTURES,
	AMDKFD_IOC_UPDATE_QUEUE,
	AMDKFD_IOC_CREATE_EVENT,
	AMDKFD_IOC_DESTROY_EVENT,
	AMDKFD_IOC_SET_EVENT,
	AMDKFD_IOC_RESET_EVENT,
	AMDKFD_IOC_WAIT_EVENTS,
	AMDKFD_IOC_SET_SCRATCH_BACKING_VA,
	AMDKFD_IOC_GET_TILE_CONFIG,
	AMDKFD_IOC_SET_TRAP_HANDLER,
	AMDKFD_IOC_GET_PROCESS_APERTURES_NEW,
	AMDKFD_IOC_ACQUIRE_VM,
	AMDKFD_IOC_ALLOC_MEMORY_OF_GPU,
	AMDKFD_IOC_FREE_MEMORY_OF_GPU,
	AMDKFD_IOC_MAP_MEMORY_TO_GPU,
	AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU,
	AMDKFD_IOC_SET_CU_MASK,
	AMDKFD_IOC_GET_QUEUE_WAVE_STATE,
	AMDKFD_IOC_GET_DMABUF_INFO,
	AMDKFD_IOC_IMPORT_DMABUF,
	AMDKFD_IOC_ALLOC_QUEUE_GWS,
	AMDKFD_IOC_SMI_EVENTS,
	AMDKFD_IOC_SVM,
	AMDKFD_IOC_SET_XNACK_MODE,
	AMDKFD_IOC_CRIU_OP,
	AMDKFD_IOC_AVAILABLE_MEMORY,
	AMDKFD_IOC_EXPORT_DMABUF,
	AMDKFD_IOC_RUNTIME_ENABLE,
	AMDKFD_IOC_DBG_TRAP,
	AMDKFD_IOC_SCHED_SET_CLASS,
	AMDKFD_IOC_SCHED_HOLD,
	AMDKFD_IOC_SCHED_RELEASE,
	AMDKFD_IOC_SCHED_STATE,
	AMDKFD_IOC_SCHED_WAIT,
};

#define NUM_REQUESTS (sizeof(requests) / sizeof(requests[0]))
#define FIRST_SCHED (NUM_REQUESTS - 5)

/* Shorten waits and holds. */
static void tame(unsigned long request, uint8_t *buf)
{
	if (request == AMDKFD_IOC_WAIT_EVENTS)
		((struct kfd_ioctl_wait_events_args *)buf)->timeout = 0;
	if (request == AMDKFD_IOC_SCHED_WAIT)
		memset(buf + 12, 0, 4);
	if (request == AMDKFD_IOC_SCHED_HOLD) {
		uint64_t limit = rng() % 3000000;

		memcpy(buf + offsetof(struct kfd_ioctl_sched_hold_args, limit_ns), &limit, 8);
	}
}

/* An ordinary user must not get a hold. */
static bool gained(unsigned long request, int err)
{
	return !err && request == AMDKFD_IOC_SCHED_HOLD;
}

static void one_call(struct kfd *k, struct kfd_queue *q, bool user, uint32_t *rights)
{
	unsigned int which = rng() % 3 ? rng() % NUM_REQUESTS :
					 FIRST_SCHED + rng() % (NUM_REQUESTS - FIRST_SCHED);
	unsigned long request = requests[which];
	unsigned int bytes = _IOC_SIZE(request);
	uint8_t buf[1024] __attribute__((aligned(8))) = { 0 };
	int err;

	if (bytes > sizeof(buf))
		return;
	fill(k, buf, bytes, which >= FIRST_SCHED);
	tame(request, buf);
	err = kfd_call(k, request, buf);
	*rights += user && gained(request, err);
	if (!err)
		remember(*(uint64_t *)(buf + rng() % (bytes / 8 + 1) * 8 % sizeof(buf)));
	if (rng() % 64 == 0 && q->id != UINT32_MAX)
		kfd_queue_update(q, rng() % 2 * 100);
}

/* One process. It begins with real queues and memory, so that calls have targets. */
static int fuzz(uint32_t seed, bool user, unsigned int calls, uint32_t *rights)
{
	struct kfd_queue q[2] = { { .id = UINT32_MAX }, { .id = UINT32_MAX } };
	struct kfd_work w;
	unsigned int i;
	struct kfd k;

	rng_start(seed);
	alarm(120);
	if (kfd_setup(&k))
		return 1;
	if (user && (setgroups(0, NULL) || setgid(1000) || setuid(1000)))
		return 2;
	if (kfd_work_create(&k, 0, 256, 2, &w))
		return 3;
	for (i = 0; i < 2; i++) {
		if (kfd_queue_create(&k, 0, 64, &q[i])) {
			q[i].id = UINT32_MAX;
			continue;
		}
		remember(q[i].id);
		remember(q[i].ring.handle);
		remember((uintptr_t)q[i].ring.va);
		kfd_work_launch(&w, &q[i], i, NULL);
	}
	for (i = 0; i < calls; i++)
		one_call(&k, &q[i % 2], user, rights);
	return 0;
}

static void check(bool user, unsigned int calls)
{
	uint32_t *rights = shared_alloc(4096);
	unsigned int done_calls = 0, bad = 0;

	while (done_calls < calls) {
		unsigned int now = calls - done_calls < BATCH ? calls - done_calls : BATCH;
		uint32_t seed = rng();
		int status = -1;
		pid_t pid = fork();

		if (!pid)
			_exit(fuzz(seed, user, now, rights));
		waitpid(pid, &status, 0);
		/* A call may end its caller by a fault, which is no error. */
		bad += WIFEXITED(status) && WEXITSTATUS(status);
		done_calls += now;
	}
	ok(!bad, "%u random calls by %s (%u processes could not begin)", done_calls,
	   user ? "an ordinary user" : "root", bad);
	if (user)
		ok(!*rights, "it gained no hold (%u)", *rights);
}

/* The device works as before for other processes. */
static void check_after(void)
{
	struct tenant *t = tenants_alloc(2);

	tenants_simple(t, 2, 4, 2);
	sleep_ns(20000000);
	tenants_stop(t, 2, 120000);
}

int main(void)
{
	struct kfd k;

	rng_seed(12);
	kfd_open_sched(&k);
	check(true, scaled(CALLS / 2));
	check(false, scaled(CALLS / 2));
	check_after();
	return done();
}
