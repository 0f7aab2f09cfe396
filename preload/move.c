// SPDX-License-Identifier: Apache-2.0
/* move.c - copies memory to the host and releases it, and the way back. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "preload/host.h"
#include "preload/memory.h"
#include "preload/move.h"
#include "runtime/log.h"

#define DRAIN_NS 50000000
#define STREAM_NON_BLOCKING 1u
#define EVENT_DISABLE_TIMING 2u

static struct {
	void *stream, *event[2];
	uint64_t copies_ns; /* of the last move */
} move;

struct timespec gp_move_after(uint64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += (t.tv_nsec + (int64_t)ns) / 1000000000;
	t.tv_nsec = (t.tv_nsec + (int64_t)ns) % 1000000000;
	return t;
}

int gp_move_begin(void)
{
	size_t room, total = 0;
	void *context;
	int err = gp_memory_cuda.ctx_create(&context, 0, gp_memory.device);

	if (!err)
		err = gp_memory_cuda.stream_create(&move.stream, STREAM_NON_BLOCKING);
	for (size_t i = 0; !err && i < 2; i++)
		err = gp_memory_cuda.event_create(&move.event[i], EVENT_DISABLE_TIMING);
	if (!err)
		err = gp_memory_cuda.mem_get_info(&room, &total);
	if (!err && gp_host_start(total))
		err = CU_OUT_OF_MEMORY;
	return err;
}

void gp_move_shut(void)
{
	const struct timespec end = gp_move_after(DRAIN_NS);

	atomic_store(&gp_memory_state, GP_MEMORY_SHUT);
	while (gp_memory_inside() &&
	       pthread_cond_timedwait(&gp_memory.changed, &gp_memory.lock, &end) != ETIMEDOUT)
		;
}

void gp_move_open(void)
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
	err = out ? cu->memcpy_dtoh(gp_host_at(host), p->at + done, bytes, move.stream) :
		    cu->memcpy_htod(p->at + done, gp_host_at(host), bytes, move.stream);
	return err ? 0 : bytes;
}

/* Copies that were queued end before their memory is used again. */
static bool end_copies(uint64_t since_ns)
{
	const bool ok = !gp_memory_cuda.stream_synchronize(move.stream);

	move.copies_ns = gp_memory_now_ns() - since_ns;
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
	return !gp_memory_cuda.event_record(event, move.stream);
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
 * @left bytes leave, and the rest of the last part. Memory is released as soon as it was copied,
 * while the next copies run: the driver clears it meanwhile. False: a copy failed; a part may be
 * out.
 */
static bool copy_and_release(uint64_t left)
{
	const uint64_t since_ns = gp_memory_now_ns();
	struct place queued = on_device(gp_memory_next(NULL)), released = queued, copied;
	bool ok = queue_copies(&queued, &left, move.event[0]);
	unsigned int yields = 0;

	for (unsigned int i = 0; ok && !is_same(&released, &queued); i ^= 1) {
		copied = queued;
		gp_idle_give_way(&left, &yields);
		ok = !queued.piece || queue_copies(&queued, &left, move.event[i ^ 1]);
		ok = !gp_memory_cuda.event_synchronize(move.event[i]) && ok;
		move.copies_ns = gp_memory_now_ns() - since_ns;
		if (ok)
			release_copied(&released, &copied);
	}
	if (!ok)
		(void)end_copies(since_ns);
	return ok;
}

/* gp_memory.lock held: nothing is allocated meanwhile. */
static int have_host(void)
{
	static atomic_int said;
	const uint64_t bytes = gp_memory.resident + gp_memory.out;
	uint64_t host = 0;
	int err = gp_host_take(bytes);

	if (err && err != -ENOSPC)
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot move %llu MiB to the host: it has too little memory that can "
			    "be pinned; run fewer programs with --mem, or add host memory",
			    (unsigned long long)(bytes >> 20));
	if (err)
		return err;
	GP_EACH_PIECE(p)
	{
		p->host = host;
		host += p->bytes;
	}
	return 0;
}

static void say_moved(uint64_t bytes, const char *where, uint64_t since_ns)
{
	gp_memory.moved += bytes;
	gp_memory.move_ns += gp_memory_now_ns() - since_ns;
	gp_log(GP_LOG_INFO, "moved %llu MiB %s in %.1f ms, %.1f of them for copies",
	       (unsigned long long)(bytes >> 20), where,
	       (double)(gp_memory_now_ns() - since_ns) / 1e6, (double)move.copies_ns / 1e6);
}

static void come_back(uint64_t since_ns);

/* Memory that is out already comes back, at once or later. */
static void stay(int err, bool stopped)
{
	static atomic_int said;

	if (err != -ENOSPC)
		gp_log_once(&said, GP_LOG_WARN, "memory stays on the device: %s", strerror(-err));
	if (gp_memory.out) {
		if (stopped)
			come_back(gp_memory_now_ns());
		return;
	}
	gp_host_leave();
	if (stopped)
		(void)gp_memory_stop(gp_memory.uuid, GP_MEMORY_RUN);
	gp_move_open();
}

/* Memory that stayed, also when a move failed, leaves likewise. */
int gp_move_out(uint64_t bytes)
{
	const uint64_t since_ns = gp_memory_now_ns(), was_out = gp_memory.out;
	bool stopped;
	int err;

	gp_move_shut();
	err = gp_memory_stop(gp_memory.uuid, GP_MEMORY_MOVE);
	stopped = !err;
	if (!err)
		err = have_host();
	if (!err && !copy_and_release(bytes))
		err = -EIO;
	if (err) {
		stay(err, stopped);
		return err;
	}
	gp_memory.moves++;
	say_moved(gp_memory.out - was_out, "to the host", since_ns);
	(void)gp_memory_stop(gp_memory.uuid, GP_MEMORY_OUT);
	return 0;
}

/* ---- in --------------------------------------------------------------------------- */

static void drop_all(void)
{
	GP_EACH_PIECE(p)
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

	GP_EACH_PIECE(p)
	if (!*err)
		*err = fill(p);
	if (*err)
		return false;
	GP_EACH_PIECE(p)
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
	GP_EACH_PIECE(p)
	p->out = p->back = 0;
	gp_memory.resident += gp_memory.out;
	gp_memory.out = 0;
	gp_host_leave();
	gp_move_open();
}

void gp_move_in(void)
{
	const uint64_t since_ns = gp_memory_now_ns();

	if (!gp_memory_stop(gp_memory.uuid, GP_MEMORY_MOVE))
		come_back(since_ns);
}
