// SPDX-License-Identifier: Apache-2.0
/*
 * trace.c - records are gathered into one message for all readers, which is sent when it is
 * full or FLUSH_NS after its first record. A reader's queue is its socket's buffer: messages
 * that do not fit are lost to it, and counted.
 */
#include "daemon/device/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READERS_MAX 8
#define FLUSH_NS 20000000u
/* Some 100 messages in the kernel's count; it may give less. */
#define BUFFER_BYTES 212992

struct reader {
	struct gp_source source; /* first: see reader_ready() */
	struct gp_trace *trace;	 /* NULL: free */
	uint32_t lost;
	uid_t uid;
	uint64_t number; /* the older one has the smaller */
};

struct gp_trace {
	struct gp_loop *loop;
	struct gp_tick flush;
	bool armed;
	size_t readers;
	uint64_t last_number;
	struct reader reader[READERS_MAX];
	union gp_wire_msg msg; /* gathered records */
};

static void reader_end(struct reader *reader)
{
	int fd = reader->source.fd;

	reader->trace->readers--;
	gp_loop_remove(&reader->source);
	close(fd);
	reader->trace = NULL;
}

static void lose(struct reader *reader, uint32_t count)
{
	uint32_t lost = reader->lost + count;

	reader->lost = lost < reader->lost ? UINT32_MAX : lost;
}

/* Sends @msg to @reader, or counts the loss. */
static void tell(struct reader *reader, union gp_wire_msg *msg)
{
	bool behind = reader->lost;
	int err;

	msg->traced.lost = reader->lost;
	err = gp_wire_send(reader->source.fd, msg, NULL, 0);
	if (err && err != -EAGAIN) {
		reader_end(reader);
		return;
	}
	if (err)
		lose(reader, msg->traced.count);
	else
		reader->lost = 0;
	/* It gets its loss when it reads again, even without further records. */
	if (behind != !!reader->lost &&
	    gp_loop_change(&reader->source, reader->lost ? EPOLLOUT : 0u))
		reader_end(reader);
}

static void flush(struct gp_trace *trace)
{
	for (size_t i = 0; trace->msg.traced.count && i < READERS_MAX; i++)
		if (trace->reader[i].trace)
			tell(&trace->reader[i], &trace->msg);
	trace->msg.traced.count = 0;
}

static void flush_due(struct gp_tick *tick)
{
	struct gp_trace *trace =
		(struct gp_trace *)((char *)tick - offsetof(struct gp_trace, flush));

	trace->armed = false;
	flush(trace);
}

/* A reader cannot send: its socket is shut down for that, and only its end is reported. */
static void reader_ready(struct gp_source *source, uint32_t events)
{
	struct reader *reader = (struct reader *)(void *)source;
	union gp_wire_msg msg;

	_Static_assert(offsetof(struct reader, source) == 0, "cast");
	if (events & ~(uint32_t)EPOLLOUT) {
		reader_end(reader);
		return;
	}
	gp_wire_init(&msg, GP_WIRE_TRACED);
	tell(reader, &msg);
}

int gp_trace_create(struct gp_loop *loop, struct gp_trace **trace)
{
	struct gp_trace *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->loop = loop;
	t->flush.due = flush_due;
	gp_wire_init(&t->msg, GP_WIRE_TRACED);
	err = gp_tick_add(loop, &t->flush);
	if (err) {
		free(t);
		return err;
	}
	*trace = t;
	return 0;
}

void gp_trace_destroy(struct gp_trace *trace)
{
	if (!trace)
		return;
	flush(trace);
	for (size_t i = 0; i < READERS_MAX; i++)
		if (trace->reader[i].trace)
			reader_end(&trace->reader[i]);
	gp_tick_remove(&trace->flush);
	free(trace);
}

/* NULL: none is free. */
static struct reader *free_place(const struct gp_trace *trace)
{
	const struct reader *reader = trace->reader;

	while (reader < trace->reader + READERS_MAX && reader->trace)
		reader++;
	return reader < trace->reader + READERS_MAX ? (struct reader *)reader : NULL;
}

static uint32_t readers_of(const struct gp_trace *trace, uid_t uid)
{
	uint32_t n = 0;

	for (size_t i = 0; i < READERS_MAX; i++)
		n += trace->reader[i].trace && trace->reader[i].uid == uid;
	return n;
}

/* When no place is free: the reader that a new one of @uid replaces; NULL: none. */
static const struct reader *to_replace(const struct gp_trace *trace, uid_t uid)
{
	/* Root comes before any other user. */
	uint32_t most = readers_of(trace, uid) + (uid != 0);
	const struct reader *found = NULL;

	for (size_t i = 0; i < READERS_MAX; i++) {
		const struct reader *r = &trace->reader[i];
		uint32_t n = readers_of(trace, r->uid);

		if (n > most || (found && n == most && r->number < found->number)) {
			most = n;
			found = r;
		}
	}
	return found;
}

bool gp_trace_full(const struct gp_trace *trace, uid_t uid)
{
	return !free_place(trace) && !to_replace(trace, uid);
}

int gp_trace_reader(struct gp_trace *trace, int fd, uid_t uid)
{
	const int bytes = BUFFER_BYTES;
	struct reader *reader = free_place(trace);
	int err;

	if (!reader) {
		reader = (struct reader *)to_replace(trace, uid);
		if (!reader)
			return -EUSERS;
		reader_end(reader);
	}
	shutdown(fd, SHUT_RD);
	*reader = (struct reader){
		.source = { .fd = fd, .ready = reader_ready },
		.uid = uid,
		.number = ++trace->last_number,
	};
	err = gp_loop_add(trace->loop, &reader->source, 0);
	if (err)
		return err;
	/* A smaller buffer is no failure: more is lost. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	/* Earlier records are not for it. */
	flush(trace);
	reader->trace = trace;
	trace->readers++;
	return 0;
}

bool gp_trace_wanted(const struct gp_trace *trace)
{
	return trace->readers;
}

void gp_trace_add(struct gp_trace *trace, const struct gp_wire_trace_record *record)
{
	struct gp_wire_traced *traced = &trace->msg.traced;

	if (!trace->readers)
		return;
	traced->record[traced->count++] = *record;
	if (traced->count == GP_WIRE_TRACE_RECORDS) {
		flush(trace);
	} else if (!trace->armed) {
		gp_tick_in(&trace->flush, FLUSH_NS);
		trace->armed = true;
	}
}
