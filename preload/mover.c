// SPDX-License-Identifier: Apache-2.0
/* mover.c - the thread that owns all moves: requests wake it, and it decides on moves. */
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "preload/hook.h"
#include "preload/host.h"
#include "preload/memory.h"
#include "preload/move.h"
#include "preload/quota.h"
#include "runtime/log.h"

#define STEP_NS 100000000      /* between attempts to come back, and steps of pinning ahead .. */
#define PIN_QUIET_NS 500000000 /* .. after the last allocation: pinning slows it */
#define QUIET_NS 1000000000    /* from the last request for room to the first attempt */
#define NEEDED_NS 10000000     /* between attempts to come back for a call that waits */
#define LEAST_PARTS 2	       /* leave at least: a 128th of the device's memory */
#define PIN_STEP (1ull << 30)
#define HOST_SPARE (1ull << 30) /* is not given back */
#define CAPTURE_RELAXED 2

static _Thread_local bool is_mover;

static struct {
	/* gp_memory.lock */
	bool started;
	int error; /* CUDA's, of its start */
	sem_t wake;
	/* Any thread, without a lock: requests never wait. */
	atomic_bool ready, wanted, moving, resized;
	atomic_bool leaving;	      /* memory leaves for a request */
	_Atomic(uint64_t) need;	      /* bytes that were asked for, with wanted */
	_Atomic(uint64_t) asked_ns;   /* last request */
	_Atomic(uint64_t) resized_ns; /* last allocation or release */
	_Atomic(uint64_t) failed_ns;  /* last move out that failed */
} mover;

bool gp_memory_is_mover(void)
{
	return is_mover;
}

void gp_mover_wake(void)
{
	if (mover.started)
		(void)sem_post(&mover.wake);
}

/* ---- the host's memory -------------------------------------------------------------- */

/* Have as much host memory as may leave; a step at a time, and without the lock. */
static void match_host(void)
{
	const bool wanted = atomic_load(&mover.wanted);
	const uint64_t need = gp_host_allows(gp_memory.resident) ? gp_memory.resident : 0;

	if (!wanted && gp_memory_now_ns() - atomic_load(&mover.resized_ns) < PIN_QUIET_NS)
		return;
	atomic_store(&mover.resized, false);
	if (gp_host_bytes() > need + need / 4 + HOST_SPARE)
		gp_host_trim(need);
	else if (gp_host_grow(need, wanted ? UINT64_MAX : PIN_STEP) > 0)
		atomic_store(&mover.resized, true);
}

void gp_memory_mover_resized(void)
{
	atomic_store(&mover.resized_ns, gp_memory_now_ns());
	if (!atomic_exchange(&mover.resized, true))
		(void)sem_post(&mover.wake);
}

/* ---- moves ------------------------------------------------------------------- */

/* It leaves if the host could have all of it. */
static bool may_leave(void)
{
	return gp_quota_had(gp_memory.device) > gp_memory.min &&
	       gp_host_allows(atomic_load(&gp_memory.resident)) &&
	       (!atomic_load(&mover.failed_ns) || gp_memory_now_ns() - mover.failed_ns > QUIET_NS);
}

static bool is_quiet(void)
{
	return gp_memory_now_ns() - atomic_load(&mover.asked_ns) >= QUIET_NS;
}

static bool has_room(void)
{
	size_t room, total;

	return !gp_memory_cuda.mem_get_info(&room, &total) && room >= gp_memory.out;
}

/*
 * How much leaves, if @need bytes shall. The process runs only when all is back, so more costs the
 * copies alone: each further move doubles that which is out, and many small requests take few.
 * Programs that take turns leave whole, so that others have their place.
 */
static uint64_t share_of(uint64_t need)
{
	if (gp_memory.takes_turns)
		return UINT64_MAX;
	if (need < LEAST_PARTS * gp_memory.part)
		need = LEAST_PARTS * gp_memory.part;
	return need > gp_memory.out ? need : gp_memory.out;
}

/* 0: until it is woken. */
static uint64_t sleep_ns(void)
{
	uint64_t ns;

	if (gp_idle_is_out())
		return gp_idle_is_needed() ? NEEDED_NS : 0;
	/* Only this thread changes what is out. */
	if (atomic_load(&gp_memory.out) || atomic_load(&mover.resized) || gp_memory_hook_sleeps())
		return STEP_NS;
	if (!gp_memory.idle_ns || !atomic_load(&gp_memory.resident))
		return 0;
	if (!may_leave())
		return QUIET_NS;
	ns = gp_idle_until_ns();
	if (!ns && !gp_host_could(atomic_load(&gp_memory.resident)))
		return QUIET_NS;
	return ns > NEEDED_NS ? ns : NEEDED_NS;
}

static void sleep_until_due(void)
{
	const uint64_t ns = sleep_ns();
	const struct timespec in = gp_move_after(ns);

	if (ns)
		(void)sem_timedwait(&mover.wake, &in);
	else
		(void)sem_wait(&mover.wake);
}

/* Without the lock: the program runs on. A request may come while it wakes. */
static void wake_or_sleep(void)
{
	if (gp_memory_hook_sleeps() && !atomic_load(&gp_memory.out) && is_quiet())
		gp_memory_hook_wake();
	if (!atomic_load(&mover.wanted) || !gp_memory_hook_is_awake())
		return;
	atomic_store(&mover.moving, true);
	if (gp_memory_hook_sleep()) {
		atomic_store(&mover.wanted, false);
		atomic_store(&mover.need, 0);
	}
}

/* Requests came during a move that failed, too. */
static void left(int err)
{
	if (!err)
		return;
	/* Other programs' memory leaves the host sooner or later. */
	if (err != -ENOSPC)
		atomic_store(&mover.failed_ns, gp_memory_now_ns());
	atomic_store(&mover.wanted, false);
	atomic_store(&mover.need, 0);
}

/* gp_memory.lock held. */
static void move_asked(void)
{
	static atomic_int said;
	int err;

	atomic_store(&mover.leaving, true);
	err = gp_move_out(share_of(atomic_exchange(&mover.need, 0)));
	left(err);
	atomic_store(&mover.leaving, false);
	if (err == -ENOSPC)
		gp_log_once(&said, GP_LOG_WARN,
			    "memory stays on the device: other programs have too much of the host "
			    "memory that they share with this one; raise --mem-host, or add host "
			    "memory");
}

static void serve(void)
{
	sleep_until_due();
	if (!atomic_load(&gp_memory.out))
		match_host();
	wake_or_sleep();
	if (may_leave() && gp_idle_is_due() && gp_host_could(atomic_load(&gp_memory.resident)))
		left(gp_idle_out());
	if (gp_idle_is_needed())
		gp_idle_make_room();
	pthread_mutex_lock(&gp_memory.lock);
	atomic_store(&mover.moving, true);
	if (atomic_exchange(&mover.wanted, false) && gp_memory.resident)
		move_asked();
	else if (gp_idle_is_needed())
		gp_idle_in();
	else if (gp_memory.out && !gp_idle_is_out() && is_quiet() && has_room())
		gp_move_in();
	atomic_store(&mover.moving, false);
	pthread_mutex_unlock(&gp_memory.lock);
	gp_memory_changed(gp_memory.uuid);
}

static void *run(void *arg)
{
	int relaxed = CAPTURE_RELAXED, err;

	(void)arg;
	is_mover = true;
	/* A capture in another thread forbids calls that pin memory, but not in such a thread. */
	(void)gp_memory_cuda.capture_mode(&relaxed);
	err = gp_move_begin();
	pthread_mutex_lock(&gp_memory.lock);
	mover.error = err;
	atomic_store(&mover.ready, true);
	pthread_cond_broadcast(&gp_memory.changed);
	pthread_mutex_unlock(&gp_memory.lock);
	if (err)
		return NULL;
	for (;;)
		serve();
}

/* ---- requests ----------------------------------------------------------------------- */

/* @uuid is the device of the pieces, and these can be moved. */
static bool moves_on(const uint8_t uuid[16])
{
	return atomic_load(&mover.ready) && !mover.error && !memcmp(uuid, gp_memory.uuid, 16);
}

/*
 * 0: memory that is out stays there. Another request while memory leaves may be for the same
 * allocation: if room is still missing afterwards, it comes again.
 */
static void ask(uint64_t need)
{
	uint64_t before = atomic_load(&mover.need);

	atomic_store(&mover.asked_ns, gp_memory_now_ns());
	if (!need || atomic_load(&mover.leaving) || !may_leave() ||
	    !atomic_load(&gp_memory.resident))
		return;
	while (before < need && !atomic_compare_exchange_weak(&mover.need, &before, need))
		;
	if (!atomic_exchange(&mover.wanted, true))
		(void)sem_post(&mover.wake);
}

/* The figures change one after another meanwhile. */
static uint64_t without(uint64_t from, uint64_t part)
{
	return from > part ? from - part : 0;
}

void gp_memory_stat(const uint8_t uuid[16], const uint64_t *need, struct gp_memory_stat *stat)
{
	const uint64_t had = gp_quota_had(gp_quota_device(uuid));
	struct gp_wire_memory_figures *f = &stat->figures;

	*stat = (struct gp_memory_stat){ .figures.fixed = had };
	if (!moves_on(uuid))
		return;
	if (need)
		ask(*need);
	f->movable = may_leave() ? atomic_load(&gp_memory.resident) : 0;
	f->out = atomic_load(&gp_memory.out);
	f->fixed = without(had, atomic_load(&gp_memory.asked));
	if (!f->movable)
		f->fixed += atomic_load(&gp_memory.resident);
	if (!gp_host_allows(atomic_load(&gp_memory.resident)))
		f->kept = atomic_load(&gp_memory.resident);
	f->host_max = gp_host_most() == UINT64_MAX ? 0 : gp_host_most();
	f->pinned = gp_host_bytes();
	f->moves = atomic_load(&gp_memory.moves);
	f->moved = atomic_load(&gp_memory.moved);
	f->move_ns = atomic_load(&gp_memory.move_ns);
	stat->ready = true;
	stat->takes_turns = gp_memory.takes_turns;
	stat->by_itself = gp_memory.idle_ns;
	stat->moving = atomic_load(&mover.wanted) || atomic_load(&mover.moving);
}

int gp_memory_mover_start(void)
{
	pthread_t thread;

	if (!mover.started) {
		if (sem_init(&mover.wake, 0, 0))
			return CU_OUT_OF_MEMORY;
		if (pthread_create(&thread, NULL, run, NULL))
			return CU_OUT_OF_MEMORY;
		pthread_detach(thread);
		mover.started = true;
	}
	while (!atomic_load(&mover.ready))
		pthread_cond_wait(&gp_memory.changed, &gp_memory.lock);
	return mover.error;
}
