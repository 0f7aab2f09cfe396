// SPDX-License-Identifier: Apache-2.0
/*
 * move.c - the mover: a thread that owns all moves. It has a context of its own: a thread of the
 * program that is blocked in a launch holds the lock of the program's.
 */
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/hook.h"
#include "preload/host.h"
#include "preload/memory.h"
#include "preload/quota.h"
#include "runtime/log.h"

#define DRAIN_NS 50000000
#define STEP_NS 100000000      /* between attempts to come back, and steps of pinning ahead .. */
#define PIN_QUIET_NS 500000000 /* .. after the last allocation: pinning slows it */
#define QUIET_NS 1000000000    /* from the last request for room to the first attempt */
#define NEEDED_NS 10000000     /* between attempts to come back for a call that waits */
#define BOTH_NS 60000000000ull
#define YIELD_NS 1000000 /* an idle program's move looks so often whether the link is free .. */
#define YIELDS_MOST 2000 /* .. in one move: another process may lie */
#define LEAST_PARTS 2	 /* leave at least: a 128th of the device's memory */
#define PIN_STEP (1ull << 30)
#define HOST_SPARE (1ull << 30) /* is not given back */
#define STREAM_NON_BLOCKING 1u
#define CAPTURE_RELAXED 2
#define EVENT_DISABLE_TIMING 2u

static _Thread_local bool is_mover;

static struct {
	/* gp_memory.lock */
	bool started;
	int error;	    /* CUDA's, of its start */
	uint64_t copies_ns; /* of the last move */
	void *stream, *event[2];
	sem_t wake;
	/* Any thread, without a lock: requests never wait. */
	atomic_bool ready, wanted, moving, resized;
	atomic_bool leaving;	      /* memory leaves for a request */
	atomic_bool needed;	      /* a call waits for memory that left an idle program */
	_Atomic(uint64_t) need;	      /* bytes that were asked for, with wanted */
	_Atomic(uint64_t) asked_ns;   /* last request */
	_Atomic(uint64_t) needed_ns;  /* since when */
	_Atomic(uint64_t) resized_ns; /* last allocation or release */
	_Atomic(uint64_t) failed_ns;  /* last move out that failed */
} mover;

static struct {
	bool out;	   /* the memory that is out left so */
	bool leaves;	   /* it does so now */
	uint64_t tried_ns; /* it had work, or could not move */
	uint64_t asked_ns; /* others for room */
} idle;			   /* memory of an idle program; the mover's own */

bool gp_memory_is_mover(void)
{
	return is_mover;
}

#define EACH_PIECE(p) for (struct gp_memory_piece *p = NULL; (p = gp_memory_next(p));)

static struct timespec after(int64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += (t.tv_nsec + ns) / 1000000000;
	t.tv_nsec = (t.tv_nsec + ns) % 1000000000;
	return t;
}

/* gp_memory.lock held. From now on calls that come later wait. */
static void shut(void)
{
	const struct timespec end = after(DRAIN_NS);

	atomic_store(&gp_memory_state, GP_MEMORY_SHUT);
	while (gp_memory_inside() &&
	       pthread_cond_timedwait(&gp_memory.changed, &gp_memory.lock, &end) != ETIMEDOUT)
		;
}

static void open_again(void)
{
	atomic_store(&gp_memory_state, GP_MEMORY_OPEN);
	pthread_cond_broadcast(&gp_memory.changed);
}

/* ---- copies ------------------------------------------------------------------------ */

/* A place in all memory that moves, in the order of the pieces. No piece: the end. */
struct place {
	struct gp_memory_piece *piece;
	uint64_t done; /* bytes of it */
};

/* The first memory of @p, or after it, that is on the device. */
static struct place on_device(struct gp_memory_piece *p)
{
	while (p && p->out == p->bytes)
		p = gp_memory_next(p);
	return (struct place){ p, p ? p->out : 0 };
}

/* Copy @most bytes of @p from @done on, or those within one piece of the host's. 0: it failed. */
static uint64_t copy_part(const struct gp_memory_piece *p, uint64_t done, uint64_t most, bool out)
{
	const struct gp_memory_cuda *cu = &gp_memory_cuda;
	const uint64_t host = p->host + done;
	uint64_t bytes = GP_HOST_PIECE - host % GP_HOST_PIECE;
	int err;

	if (bytes > most)
		bytes = most;
	err = out ? cu->memcpy_dtoh(gp_host_at(host), p->at + done, bytes, mover.stream) :
		    cu->memcpy_htod(p->at + done, gp_host_at(host), bytes, mover.stream);
	return err ? 0 : bytes;
}

/* Copies that were queued end before their memory is used again. */
static bool end_copies(uint64_t since_ns)
{
	const bool ok = !gp_memory_cuda.stream_synchronize(mover.stream);

	mover.copies_ns = gp_memory_now_ns() - since_ns;
	return ok;
}

/* ---- out -------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Is the part before @at whole? Parts are released as one. */
static bool is_between_parts(const struct place *at)
{
	const struct gp_memory_piece *p = at->piece;

	return at->done == p->out || (!p->own && !(at->done % gp_memory.part));
}

static uint64_t rest_of_part(const struct place *at)
{
	const struct gp_memory_piece *p = at->piece;
	const uint64_t rest = p->bytes - at->done;

	return p->own ? rest : least(rest, gp_memory.part - at->done % gp_memory.part);
}

/*
 * Queue copies of a part's bytes, from @at on, and an event behind them; of whole parts, if @left
 * bytes end sooner. False: one failed.
 */
static bool queue_copies(struct place *at, uint64_t *left, void *event)
{
	uint64_t bytes = 0, n;

	while (at->piece && bytes < gp_memory.part && (*left || !is_between_parts(at))) {
		n = least(rest_of_part(at), gp_memory.part - bytes);
		n = copy_part(at->piece, at->done, n, true);
		if (!n)
			return false;
		bytes += n;
		*left -= least(*left, n);
		at->done += n;
		if (at->done == at->piece->bytes)
			*at = on_device(gp_memory_next(at->piece));
	}
	return !gp_memory_cuda.event_record(event, mover.stream);
}

/* From now on the host has the only copy of that. */
static void release(struct gp_memory_piece *p, uint64_t to)
{
	gp_memory_unfill(p, p->out, to);
	gp_memory.resident -= to - p->out;
	gp_memory.out += to - p->out;
	p->out = to;
}

/* All parts from @at on whose copies end before @copied. */
static void release_copied(struct place *at, const struct place *copied)
{
	while (at->piece) {
		const uint64_t to = gp_memory_part_end(at->piece, at->done);

		if (at->piece == copied->piece && to > copied->done)
			return;
		release(at->piece, to);
		*at = on_device(at->piece);
	}
}

static bool is_same(const struct place *a, const struct place *b)
{
	return a->piece == b->piece && (!a->piece || a->done == b->done);
}

/*
 * Nobody waits for an idle program's memory to leave. Copies in both directions slow each other:
 * on an H200 17 GiB came back in 435 ms beside such a move, else in 335. So others' way back goes
 * first. A call of the program's own ends the move.
 */
static void give_way(uint64_t *left, unsigned int *yields)
{
	const struct timespec ns = { .tv_nsec = YIELD_NS };

	if (!idle.leaves)
		return;
	while (!atomic_load(&mover.needed) && *yields < YIELDS_MOST &&
	       gp_memory_link_is_taken(gp_memory.uuid)) {
		nanosleep(&ns, NULL);
		++*yields;
	}
	if (atomic_load(&mover.needed))
		*left = 0;
}

/*
 * @left bytes leave, and the rest of the last part. Memory is released as soon as it was copied,
 * while the next copies run: the driver clears it meanwhile. False: a copy failed; a part may be
 * out.
 */
static bool copy_and_release(uint64_t left)
{
	const uint64_t since_ns = gp_memory_now_ns();
	struct place queued = on_device(gp_memory_next(NULL)), released = queued, copied;
	bool ok = queue_copies(&queued, &left, mover.event[0]);
	unsigned int yields = 0;

	for (unsigned int i = 0; ok && !is_same(&released, &queued); i ^= 1) {
		copied = queued;
		give_way(&left, &yields);
		ok = !queued.piece || queue_copies(&queued, &left, mover.event[i ^ 1]);
		ok = !gp_memory_cuda.event_synchronize(mover.event[i]) && ok;
		mover.copies_ns = gp_memory_now_ns() - since_ns;
		if (ok)
			release_copied(&released, &copied);
	}
	if (!ok)
		(void)end_copies(since_ns);
	return ok;
}

/* gp_memory.lock held: nothing is allocated meanwhile. */
static bool have_host(void)
{
	static atomic_int said;
	const uint64_t bytes = gp_memory.resident + gp_memory.out;
	uint64_t host = 0;

	if (gp_host_grow(bytes, UINT64_MAX)) {
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot move %llu MiB to the host: it has too little memory that can "
			    "be pinned; run fewer programs with --mem, or add host memory",
			    (unsigned long long)(bytes >> 20));
		return false;
	}
	EACH_PIECE(p)
	{
		p->host = host;
		host += p->bytes;
	}
	return true;
}

static void say_moved(uint64_t bytes, const char *where, uint64_t since_ns)
{
	gp_memory.moved += bytes;
	gp_memory.move_ns += gp_memory_now_ns() - since_ns;
	gp_log(GP_LOG_INFO, "moved %llu MiB %s in %.1f ms, %.1f of them for copies",
	       (unsigned long long)(bytes >> 20), where,
	       (double)(gp_memory_now_ns() - since_ns) / 1e6, (double)mover.copies_ns / 1e6);
}

static void come_back(uint64_t since_ns);

/* Memory that is out already comes back, at once or later. */
static void stay(int err, bool stopped)
{
	static atomic_int said;

	gp_log_once(&said, GP_LOG_WARN, "memory stays on the device: %s", strerror(-err));
	atomic_store(&mover.failed_ns, gp_memory_now_ns());
	/* Requests came during the move, too. */
	atomic_store(&mover.wanted, false);
	atomic_store(&mover.need, 0);
	if (gp_memory.out) {
		if (stopped)
			come_back(gp_memory_now_ns());
		return;
	}
	if (stopped)
		(void)gp_memory_stop(gp_memory.uuid, GP_MEMORY_RUN);
	open_again();
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

/* Memory that stayed, also when a move failed, leaves likewise. */
static void move_out(uint64_t bytes)
{
	const uint64_t since_ns = gp_memory_now_ns(), was_out = gp_memory.out;
	int err;

	shut();
	err = gp_memory_stop(gp_memory.uuid, GP_MEMORY_MOVE);
	if (err || !have_host() || !copy_and_release(bytes)) {
		stay(err ? err : -EIO, !err);
		return;
	}
	gp_memory.moves++;
	say_moved(gp_memory.out - was_out, "to the host", since_ns);
	(void)gp_memory_stop(gp_memory.uuid, GP_MEMORY_OUT);
}

/* ---- in --------------------------------------------------------------------------- */

static bool is_quiet(void)
{
	return gp_memory_now_ns() - atomic_load(&mover.asked_ns) >= QUIET_NS;
}

static bool has_room(void)
{
	size_t room, total;

	return !gp_memory_cuda.mem_get_info(&room, &total) && room >= gp_memory.out;
}

static void drop_all(void)
{
	EACH_PIECE(p)
	if (p->back) {
		gp_memory_unfill(p, 0, p->back);
		p->back = 0;
	}
}

/* Queue the copies of [@from, @to) of @p. False: one failed. */
static bool copy_in(const struct gp_memory_piece *p, uint64_t from, uint64_t to)
{
	for (uint64_t n; from < to; from += n) {
		n = copy_part(p, from, to - from, false);
		if (!n)
			return false;
	}
	return true;
}

/* Make memory for all of @p that is out. 0 or CUDA's error. */
static int fill(struct gp_memory_piece *p)
{
	int err = 0;

	if (p->back < p->out)
		err = gp_memory_fill(p, p->back, p->out);
	if (!err)
		p->back = p->out;
	return err;
}

/*
 * All memory comes before the first copy: of two processes that come back to the room of one, one
 * fails at once. @err: CUDA's, if there is no memory. False: that, or a copy failed.
 */
static bool fill_and_copy(int *err)
{
	const uint64_t since_ns = gp_memory_now_ns();
	bool ok = true;

	EACH_PIECE(p)
	if (!*err)
		*err = fill(p);
	if (*err)
		return false;
	EACH_PIECE(p)
	ok = ok && copy_in(p, 0, p->out);
	return end_copies(since_ns) && ok;
}

/*
 * The host's copies are whole until the program runs again, so every step may be repeated from
 * the start. The mover may copy.
 */
static void come_back(uint64_t since_ns)
{
	static atomic_int said, refused;
	int err = 0;

	if (!fill_and_copy(&err)) {
		drop_all();
		(void)gp_memory_stop(gp_memory.uuid, GP_MEMORY_OUT);
		if (err != CU_OUT_OF_MEMORY)
			gp_log_once(
				&said, GP_LOG_WARN,
				"memory cannot come back: %s failed; the process waits, and tries "
				"again",
				err ? "an allocation" : "a copy");
		return;
	}
	err = gp_memory_stop(gp_memory.uuid, GP_MEMORY_RUN);
	if (err) {
		gp_log_once(&refused, GP_LOG_WARN, "cannot resume: %s; trying again",
			    strerror(-err));
		drop_all();
		return;
	}
	say_moved(gp_memory.out, "back", since_ns);
	EACH_PIECE(p)
	p->out = p->back = 0;
	gp_memory.resident += gp_memory.out;
	gp_memory.out = 0;
	open_again();
}

static void move_in(void)
{
	const uint64_t since_ns = gp_memory_now_ns();

	if (!gp_memory_stop(gp_memory.uuid, GP_MEMORY_MOVE))
		come_back(since_ns);
}

/* ---- the thread ------------------------------------------------------------------- */

static int begin(void)
{
	size_t room, total = 0;
	void *context;
	int err = gp_memory_cuda.ctx_create(&context, 0, gp_memory.device);

	if (!err)
		err = gp_memory_cuda.stream_create(&mover.stream, STREAM_NON_BLOCKING);
	for (size_t i = 0; !err && i < 2; i++)
		err = gp_memory_cuda.event_create(&mover.event[i], EVENT_DISABLE_TIMING);
	if (!err)
		err = gp_memory_cuda.mem_get_info(&room, &total);
	if (!err && gp_host_start(total))
		err = CU_OUT_OF_MEMORY;
	return err;
}

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
	else if (!gp_host_grow(need, wanted ? UINT64_MAX : PIN_STEP) && gp_host_bytes() < need)
		atomic_store(&mover.resized, true);
}

void gp_memory_mover_resized(void)
{
	atomic_store(&mover.resized_ns, gp_memory_now_ns());
	if (!atomic_exchange(&mover.resized, true))
		(void)sem_post(&mover.wake);
}

/* It leaves if the host could have all of it. */
static bool may_leave(void)
{
	return gp_quota_had(gp_memory.device) > gp_memory.min &&
	       gp_host_allows(atomic_load(&gp_memory.resident)) &&
	       (!atomic_load(&mover.failed_ns) || gp_memory_now_ns() - mover.failed_ns > QUIET_NS);
}

/* ---- memory of an idle program -------------------------------------------------------- */

static uint64_t latest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* To the moment at which the program may be idle for long enough; 0: now. */
static uint64_t until_idle_ns(void)
{
	const uint64_t since_ns = latest(idle.tried_ns, gp_memory_last_call_ns());
	const uint64_t ns = gp_memory_now_ns() - since_ns;

	return ns < gp_memory.idle_ns ? gp_memory.idle_ns - ns : 0;
}

static bool may_be_idle(void)
{
	return gp_memory.idle_ns && !atomic_load(&gp_memory.out) &&
	       atomic_load(&gp_memory.resident) && may_leave() && !until_idle_ns();
}

#define CONTEXTS 16

/* Those of all pieces; 0: too many. */
static size_t list_contexts(void *context[CONTEXTS])
{
	size_t n = 0, i;

	pthread_mutex_lock(&gp_memory.lock);
	EACH_PIECE(p)
	{
		for (i = 0; i < n && context[i] != p->context;)
			i++;
		if (i < n || n > CONTEXTS || !p->context)
			continue;
		if (n < CONTEXTS)
			context[n] = p->context;
		n++;
	}
	pthread_mutex_unlock(&gp_memory.lock);
	return n > CONTEXTS ? 0 : n;
}

/* Wait for all its work, without a lock: that may take long. False: it cannot be known. */
static bool wait_for_work(void)
{
	void *context[CONTEXTS], *popped;
	const size_t n = list_contexts(context);
	bool ok = n;

	for (size_t i = 0; ok && i < n; i++) {
		ok = !gp_memory_cuda.ctx_push(context[i]);
		if (!ok)
			break;
		ok = !gp_memory_cuda.ctx_synchronize();
		gp_memory_cuda.ctx_pop(&popped);
	}
	return ok;
}

/*
 * No call was in the driver, then all work ended, and no call came until later calls wait: the
 * program has nothing to run.
 */
static void idle_out(void)
{
	const uint64_t calls = gp_memory_calls();
	bool ok;

	/* Of a call that waited before. */
	atomic_store(&mover.needed, false);
	ok = !gp_memory_inside() && wait_for_work() && gp_memory_calls() == calls;

	pthread_mutex_lock(&gp_memory.lock);
	if (ok) {
		shut();
		ok = !gp_memory_inside() && gp_memory_calls() == calls;
		gp_memory_idle(ok);
		idle.leaves = ok;
		if (ok)
			move_out(UINT64_MAX);
		else
			open_again();
		idle.leaves = false;
	}
	idle.out = gp_memory.out;
	gp_memory_idle(idle.out);
	idle.tried_ns = gp_memory_now_ns();
	pthread_mutex_unlock(&gp_memory.lock);
}

/*
 * The bytes that are missing for its way back. A program that loads a model may leave while an
 * allocation of its waits for room. It comes back for that allocation only when both fit, or it
 * would leave again and again. After a minute it comes back without: the allocation then has an
 * end.
 */
static uint64_t idle_lacks(void)
{
	const bool both = gp_memory_now_ns() - atomic_load(&mover.needed_ns) < BOTH_NS;
	uint64_t need = gp_memory.out + (both ? gp_memory.wanted : 0);
	size_t room, total;

	if (gp_memory_cuda.mem_get_info(&room, &total))
		return need;
	if (need > total)
		need = gp_memory.out;
	return need > room ? need - room : 0;
}

/* As for an allocation that does not fit, without a lock. */
static void make_room(void)
{
	const uint64_t need = idle_lacks();

	if (!need || gp_memory_now_ns() - idle.asked_ns < STEP_NS)
		return;
	(void)gp_memory_ask(gp_memory.uuid, need, false);
	idle.asked_ns = gp_memory_now_ns();
}

/* gp_memory.lock held. */
static void idle_in(void)
{
	int link;

	if (idle_lacks())
		return;
	link = gp_memory_link_take(gp_memory.uuid);
	move_in();
	if (link >= 0)
		close(link);
	idle.out = gp_memory.out;
	gp_memory_idle(idle.out);
	idle.tried_ns = gp_memory_now_ns();
	if (idle.out)
		return;
	gp_memory.wanted = 0;
	atomic_store(&mover.needed, false);
}

void gp_memory_mover_need(void)
{
	if (atomic_exchange(&mover.needed, true) || !mover.started)
		return;
	atomic_store(&mover.needed_ns, gp_memory_now_ns());
	(void)sem_post(&mover.wake);
}

/* ---- the thread's turns ---------------------------------------------------------------- */

/* 0: until it is woken. */
static uint64_t sleep_ns(void)
{
	if (idle.out)
		return atomic_load(&mover.needed) ? NEEDED_NS : 0;
	/* Only this thread changes what is out. */
	if (atomic_load(&gp_memory.out) || atomic_load(&mover.resized) || gp_memory_hook_sleeps())
		return STEP_NS;
	if (!gp_memory.idle_ns || !atomic_load(&gp_memory.resident))
		return 0;
	return may_leave() ? latest(until_idle_ns(), NEEDED_NS) : QUIET_NS;
}

static void sleep_until_due(void)
{
	const uint64_t ns = sleep_ns();
	const struct timespec in = after((int64_t)ns);

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

/* gp_memory.lock held. */
static void move_asked(void)
{
	atomic_store(&mover.leaving, true);
	move_out(share_of(atomic_exchange(&mover.need, 0)));
	atomic_store(&mover.leaving, false);
}

static void serve(void)
{
	sleep_until_due();
	if (!atomic_load(&gp_memory.out))
		match_host();
	wake_or_sleep();
	if (may_be_idle())
		idle_out();
	if (idle.out && atomic_load(&mover.needed))
		make_room();
	pthread_mutex_lock(&gp_memory.lock);
	atomic_store(&mover.moving, true);
	if (atomic_exchange(&mover.wanted, false) && gp_memory.resident)
		move_asked();
	else if (idle.out && atomic_load(&mover.needed))
		idle_in();
	else if (gp_memory.out && !idle.out && is_quiet() && has_room())
		move_in();
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
	err = begin();
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
