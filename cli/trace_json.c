// SPDX-License-Identifier: Apache-2.0
/*
 * trace_json.c - a device is a "process" of the trace. Its first "thread" is the hardware;
 * then each tenant has one for each kind of event that may overlap.
 */
#include "cli/trace_json.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/daemon.h"
#include "cli/text.h"
#include "gpreempt/hal.h"
#include "wire/page.h"

#define HARDWARE_TID 1u
#define FIRST_TID 16u
#define NAME_LEN 128
#define NUMBER_MAX (1ull << 62)

/* Threads of a tenant. */
enum track {
	TURN,
	SUSPENDED,
	SEGMENT,
	WORK,
	HOLD,
	EVENTS,
	TRACKS
};

static const char *const track_name[TRACKS] = {
	[TURN] = "turns", [SUSPENDED] = "suspended", [SEGMENT] = "segments",
	[WORK] = "work",  [HOLD] = "holds",	     [EVENTS] = "events",
};
static const char *const span_name[TRACKS] = {
	[TURN] = "turn", [SUSPENDED] = "suspended", [SEGMENT] = "segment",
	[WORK] = "work", [HOLD] = "hold",
};

struct tenant {
	int32_t pid;
	uint16_t device;
	bool left;
	uint32_t number;      /* from 0, never reused */
	uint32_t named, open; /* bits of enum track */
	uint64_t hold_to_ns;  /* the latest one's end */
	char name[NAME_LEN];  /* "4711 serve" */
};

struct kept {
	struct gp_wire_trace_record record;
	uint64_t came_ns;
	uint64_t sequence;
};

struct gp_trace_json {
	FILE *out;
	const struct gp_view *view;
	struct gp_trace_json_stat stat;
	bool began, comma;
	uint64_t base_ns; /* start of the trace */
	uint64_t last_ns; /* written up to here */
	uint64_t lost_said;
	uint32_t devices_named; /* bits */
	struct {
		bool on;
		int32_t resident; /* 0: none */
	} device[GP_WIRE_MAX_DEVICES];
	uint32_t numbers;
	size_t tenants;
	struct tenant tenant[GP_TRACE_TENANTS];
	size_t kept;
	struct kept heap[GP_TRACE_KEPT]; /* the earliest is [0] */
};

/* ---- events ------------------------------------------------------------------- */

/* @text as a JSON string. */
static void write_text(FILE *out, const char *text)
{
	json_t *json = json_string(text);
	char *dump = json ? json_dumps(json, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	fputs(dump ? dump : "\"?\"", out);
	free(dump);
	json_decref(json);
}

static void begin_event(struct gp_trace_json *t)
{
	fputs(t->comma ? ",\n" : "\n", t->out);
	t->comma = true;
}

/* Nanoseconds as exact microseconds. */
static void write_us(FILE *out, const char *key, uint64_t ns)
{
	fprintf(out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned int)(ns % 1000));
}

/* An event of @kind in the Trace Event Format; leaves its line open. */
static void event(struct gp_trace_json *t, char kind, uint64_t time_ns, uint32_t device,
		  uint32_t tid, const char *name)
{
	begin_event(t);
	fprintf(t->out, "{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u", kind, device + 1, tid);
	write_us(t->out, "ts", time_ns > t->base_ns ? time_ns - t->base_ns : 0);
	if (name) {
		fputs(",\"name\":", t->out);
		write_text(t->out, name);
	}
}

static void end_event(struct gp_trace_json *t)
{
	fputc('}', t->out);
}

/*
 * @what: "process_name" and its like. @name NULL: writes @number, not a text.
 */
static void metadata(struct gp_trace_json *t, const char *what, uint32_t device, uint32_t tid,
		     const char *name, uint32_t number)
{
	begin_event(t);
	fprintf(t->out,
		"{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"ts\":0,\"name\":\"%s\","
		"\"args\":{",
		device + 1, tid, what);
	if (name) {
		fputs("\"name\":", t->out);
		write_text(t->out, name);
	} else {
		fprintf(t->out, "\"sort_index\":%u", number);
	}
	fputs("}}", t->out);
}

static void name_device(struct gp_trace_json *t, uint32_t device)
{
	char name[GP_WIRE_NAME_LEN + 64], uuid[48];

	if (t->devices_named & 1u << device)
		return;
	t->devices_named |= 1u << device;
	if (device < t->view->devices) {
		gp_uuid_format(t->view->device[device].uuid, uuid, sizeof(uuid));
		snprintf(name, sizeof(name), "%s %s", t->view->device[device].name, uuid);
	} else {
		snprintf(name, sizeof(name), "device %u", device);
	}
	gp_printable(name);
	metadata(t, "process_name", device, 0, name, 0);
	metadata(t, "process_sort_index", device, 0, NULL, device);
	metadata(t, "thread_name", device, HARDWARE_TID, "hardware", 0);
	metadata(t, "thread_sort_index", device, HARDWARE_TID, NULL, 0);
}

/* ---- tenants -------------------------------------------------------------------- */

static void name_process(const struct gp_trace_json *t, int32_t pid, char *buf, size_t len)
{
	char comm[GP_WIRE_COMM_LEN] = "";

	for (size_t i = 0; i < t->view->tenants; i++)
		if (t->view->tenant[i].pid == pid)
			memcpy(comm, t->view->tenant[i].comm, sizeof(comm));
	if (!*comm)
		gp_read_comm(pid, comm, sizeof(comm));
	if (*comm)
		snprintf(buf, len, "%d %s", pid, gp_printable(comm));
	else
		snprintf(buf, len, "%d", pid);
}

static struct tenant *find_tenant(struct gp_trace_json *t, int32_t pid, uint16_t device)
{
	for (size_t i = 0; i < t->tenants; i++)
		if (t->tenant[i].pid == pid && t->tenant[i].device == device && !t->tenant[i].left)
			return &t->tenant[i];
	return NULL;
}

/* A free place, else one of a tenant that left. */
static struct tenant *free_tenant(struct gp_trace_json *t)
{
	if (t->tenants < GP_TRACE_TENANTS)
		return &t->tenant[t->tenants++];
	for (size_t i = 0; i < t->tenants; i++)
		if (t->tenant[i].left)
			return &t->tenant[i];
	return NULL;
}

static struct tenant *tenant_of(struct gp_trace_json *t, int32_t pid, uint16_t device)
{
	struct tenant *tenant = find_tenant(t, pid, device);

	if (tenant || pid <= 0)
		return tenant;
	tenant = free_tenant(t);
	if (!tenant) {
		t->stat.crowded++;
		return NULL;
	}
	*tenant = (struct tenant){
		.pid = pid,
		.device = device,
		.number = t->numbers++,
	};
	name_process(t, pid, tenant->name, sizeof(tenant->name));
	return tenant;
}

static uint32_t tid_of(struct gp_trace_json *t, struct tenant *tenant, enum track track)
{
	uint32_t tid = FIRST_TID + tenant->number * TRACKS + track;
	char name[NAME_LEN + 16];

	if (!(tenant->named & 1u << track)) {
		tenant->named |= 1u << track;
		snprintf(name, sizeof(name), "%s: %s", tenant->name, track_name[track]);
		metadata(t, "thread_name", tenant->device, tid, name, 0);
		metadata(t, "thread_sort_index", tenant->device, tid, NULL, tid);
	}
	return tid;
}

static void span_end(struct gp_trace_json *t, struct tenant *tenant, enum track track,
		     uint64_t time_ns)
{
	if (!(tenant->open & 1u << track))
		return;
	tenant->open &= ~(1u << track);
	event(t, 'E', time_ns, tenant->device, tid_of(t, tenant, track), NULL);
	end_event(t);
}

/*
 * @took_ns: of the control that began it; 0: no control.
 */
static void span_begin(struct gp_trace_json *t, struct tenant *tenant, enum track track,
		       uint64_t time_ns, uint64_t took_ns)
{
	if (tenant->open & 1u << track)
		return;
	event(t, 'B', time_ns, tenant->device, tid_of(t, tenant, track), span_name[track]);
	if (took_ns)
		fprintf(t->out, ",\"args\":{\"took_ns\":%" PRIu64 "}", took_ns);
	end_event(t);
	tenant->open |= 1u << track;
}

static void span_set(struct gp_trace_json *t, struct tenant *tenant, enum track track, bool on,
		     uint64_t time_ns)
{
	if (on)
		span_begin(t, tenant, track, time_ns, 0);
	else
		span_end(t, tenant, track, time_ns);
}

/* An event without a length, with one number. */
static void instant(struct gp_trace_json *t, uint64_t time_ns, uint32_t device, uint32_t tid,
		    const char *name, const char *what, uint64_t number)
{
	event(t, 'i', time_ns, device, tid, name);
	fprintf(t->out, ",\"s\":\"t\",\"args\":{\"%s\":%" PRIu64 "}", what, number);
	end_event(t);
}

/* ---- the hardware's activity ---------------------------------------------------------- */

static void hardware_end(struct gp_trace_json *t, uint32_t device, uint64_t time_ns)
{
	if (!t->device[device].on)
		return;
	t->device[device].on = false;
	event(t, 'E', time_ns, device, HARDWARE_TID, NULL);
	end_event(t);
}

/* One context at a time has the device, so a new one ends the former. */
static void hardware_begin(struct gp_trace_json *t, const struct gp_wire_trace_record *r)
{
	char name[NAME_LEN] = "another user's";
	struct tenant *tenant;

	hardware_end(t, r->device, r->time_ns);
	tenant = r->pid > 0 ? find_tenant(t, r->pid, r->device) : NULL;
	if (tenant)
		snprintf(name, sizeof(name), "%s", tenant->name);
	else if (r->pid > 0)
		name_process(t, r->pid, name, sizeof(name));
	event(t, 'B', r->time_ns, r->device, HARDWARE_TID, name);
	fprintf(t->out, ",\"args\":{\"pid\":%d,\"context\":%u}", r->pid, r->context);
	end_event(t);
	t->device[r->device].on = true;
}

/* ---- decisions ------------------------------------------------------------------------- */

static void resident(struct gp_trace_json *t, const struct gp_wire_trace_record *r)
{
	int32_t *pid = &t->device[r->device].resident;
	struct tenant *tenant = *pid ? find_tenant(t, *pid, r->device) : NULL;

	if (tenant)
		span_end(t, tenant, TURN, r->time_ns);
	*pid = r->pid;
	tenant = r->pid ? tenant_of(t, r->pid, r->device) : NULL;
	if (tenant)
		span_begin(t, tenant, TURN, r->time_ns, 0);
}

static void leave(struct gp_trace_json *t, struct tenant *tenant, uint64_t time_ns)
{
	for (int track = 0; track < TRACKS; track++)
		span_end(t, tenant, (enum track)track, time_ns);
	instant(t, time_ns, tenant->device, tid_of(t, tenant, EVENTS), "leaves", "pid",
		(uint64_t)tenant->pid);
	if (t->device[tenant->device].resident == tenant->pid)
		t->device[tenant->device].resident = 0;
	tenant->left = true;
}

static void join(struct gp_trace_json *t, struct tenant *tenant,
		 const struct gp_wire_trace_record *r)
{
	const struct gp_wire_request request = {
		.cls = (uint32_t)(r->value >> 32),
		.value = (uint32_t)r->value,
	};
	char cls[GP_CLASS_REQUEST_TEXT_LEN];

	gp_daemon_class(&request, cls, sizeof(cls));
	instant(t, r->time_ns, r->device, tid_of(t, tenant, EVENTS), cls, "pid", (uint64_t)r->pid);
}

/*
 * Known once it is over. A tenant's holds come in order. If one overlaps its predecessor, only
 * the rest is shown.
 */
static void hold(struct gp_trace_json *t, struct tenant *tenant,
		 const struct gp_wire_trace_record *r)
{
	uint64_t from_ns = r->time_ns, to_ns = r->time_ns + r->value;

	if (from_ns < t->base_ns)
		from_ns = t->base_ns;
	if (from_ns < tenant->hold_to_ns)
		from_ns = tenant->hold_to_ns;
	if (to_ns <= from_ns) {
		t->stat.late++;
		return;
	}
	event(t, 'X', from_ns, r->device, tid_of(t, tenant, HOLD), span_name[HOLD]);
	write_us(t->out, "dur", to_ns - from_ns);
	end_event(t);
	tenant->hold_to_ns = to_ns;
}

static void decided(struct gp_trace_json *t, const struct gp_wire_trace_record *r)
{
	struct tenant *tenant;
	char name[64];

	tenant = r->kind == GP_WIRE_TRACE_LEAVE ? find_tenant(t, r->pid, r->device) :
						  tenant_of(t, r->pid, r->device);
	if (!tenant)
		return;
	switch (r->kind) {
	case GP_WIRE_TRACE_JOIN:
		join(t, tenant, r);
		break;
	case GP_WIRE_TRACE_LEAVE:
		leave(t, tenant, r->time_ns);
		break;
	case GP_WIRE_TRACE_SUSPEND:
		span_begin(t, tenant, SUSPENDED, r->time_ns, r->value);
		break;
	case GP_WIRE_TRACE_RESUME:
		span_end(t, tenant, SUSPENDED, r->time_ns);
		instant(t, r->time_ns, r->device, tid_of(t, tenant, EVENTS), "resume", "took_ns",
			r->value);
		break;
	case GP_WIRE_TRACE_SLICE:
		snprintf(name, sizeof(name), "slice %" PRIu64 " us", r->value);
		instant(t, r->time_ns, r->device, tid_of(t, tenant, EVENTS), name, "slice_us",
			r->value);
		break;
	case GP_WIRE_TRACE_PREEMPT:
		instant(t, r->time_ns, r->device, tid_of(t, tenant, EVENTS), "preempt", "took_ns",
			r->value);
		break;
	case GP_WIRE_TRACE_BUSY:
		span_set(t, tenant, SEGMENT, r->value & GP_PAGE_SEGMENT, r->time_ns);
		span_set(t, tenant, WORK, r->value & GP_PAGE_WORK, r->time_ns);
		break;
	}
}

/* ---- in order --------------------------------------------------------------------------- */

/* The state at the start of the trace. */
static void begin(struct gp_trace_json *t, uint64_t time_ns)
{
	const struct gp_wire_tenant *now;
	struct tenant *tenant;

	t->began = true;
	t->base_ns = t->last_ns = time_ns;
	for (size_t d = 0; d < t->view->devices; d++)
		for (size_t i = 0; i < t->view->tenants; i++) {
			now = &t->view->tenant[i];
			if (memcmp(now->uuid, t->view->device[d].uuid, sizeof(now->uuid)))
				continue;
			tenant = tenant_of(t, now->pid, (uint16_t)d);
			if (!tenant)
				continue;
			if (t->view->device[d].resident_pid == now->pid) {
				t->device[d].resident = now->pid;
				span_begin(t, tenant, TURN, time_ns, 0);
			}
			if (now->flags & GP_WIRE_SUSPENDED)
				span_begin(t, tenant, SUSPENDED, time_ns, 0);
			if (now->flags & GP_WIRE_SEGMENT)
				span_begin(t, tenant, SEGMENT, time_ns, 0);
			if (now->flags & GP_WIRE_BUSY)
				span_begin(t, tenant, WORK, time_ns, 0);
		}
}

/* Records lost on the way here have no device: count them for the first one. */
static void say_lost(struct gp_trace_json *t)
{
	uint64_t more = t->stat.lost - t->lost_said;

	if (!more)
		return;
	t->lost_said = t->stat.lost;
	name_device(t, 0);
	instant(t, t->last_ns, 0, HARDWARE_TID, "read too slowly", "lost", more);
}

static void write_record(struct gp_trace_json *t, const struct gp_wire_trace_record *r)
{
	if (!t->began)
		begin(t, r->time_ns);
	name_device(t, r->device);
	if (r->kind == GP_WIRE_TRACE_HOLD) {
		struct tenant *tenant = tenant_of(t, r->pid, r->device);

		if (tenant)
			hold(t, tenant, r);
		return;
	}
	if (r->time_ns < t->last_ns) {
		t->stat.late++;
		return;
	}
	t->last_ns = r->time_ns;
	say_lost(t);
	switch (r->kind) {
	case GP_WIRE_TRACE_START:
		hardware_begin(t, r);
		break;
	case GP_WIRE_TRACE_END:
		hardware_end(t, r->device, r->time_ns);
		break;
	case GP_WIRE_TRACE_LOST:
		/* It is unknown which context had it in between. */
		hardware_end(t, r->device, r->time_ns);
		instant(t, r->time_ns, r->device, HARDWARE_TID, "log lost", "lost", r->value);
		break;
	case GP_WIRE_TRACE_RESIDENT:
		resident(t, r);
		break;
	default:
		decided(t, r);
	}
}

static bool is_before(const struct kept *a, const struct kept *b)
{
	if (a->record.time_ns != b->record.time_ns)
		return a->record.time_ns < b->record.time_ns;
	return a->sequence < b->sequence;
}

static void swap(struct kept *a, struct kept *b)
{
	struct kept c = *a;

	*a = *b;
	*b = c;
}

/* Writes and removes the earliest. */
static void pop(struct gp_trace_json *t)
{
	struct kept first = t->heap[0];
	size_t at = 0, child;

	t->heap[0] = t->heap[--t->kept];
	while ((child = 2 * at + 1) < t->kept) {
		if (child + 1 < t->kept && is_before(&t->heap[child + 1], &t->heap[child]))
			child++;
		if (!is_before(&t->heap[child], &t->heap[at]))
			break;
		swap(&t->heap[child], &t->heap[at]);
		at = child;
	}
	write_record(t, &first.record);
}

/* JSON readers have no integers beyond 63 bits, and no time is so large. */
static uint64_t bounded(uint64_t number)
{
	return number < NUMBER_MAX ? number : NUMBER_MAX;
}

void gp_trace_json_add(struct gp_trace_json *t, const struct gp_wire_trace_record *record,
		       uint64_t now_ns)
{
	size_t at;

	t->stat.records++;
	if (record->device >= GP_WIRE_MAX_DEVICES)
		return;
	if (t->kept == GP_TRACE_KEPT)
		pop(t);
	at = t->kept++;
	t->heap[at] = (struct kept){ *record, now_ns, t->stat.records };
	t->heap[at].record.time_ns = bounded(record->time_ns);
	t->heap[at].record.value = bounded(record->value);
	while (at && is_before(&t->heap[at], &t->heap[(at - 1) / 2])) {
		swap(&t->heap[at], &t->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

void gp_trace_json_lost(struct gp_trace_json *t, uint64_t count)
{
	t->stat.lost += count;
}

void gp_trace_json_write(struct gp_trace_json *t, uint64_t now_ns)
{
	while (t->kept && now_ns - t->heap[0].came_ns >= GP_TRACE_LATE_NS)
		pop(t);
}

int gp_trace_json_open(FILE *out, const struct gp_view *view, struct gp_trace_json **trace)
{
	struct gp_trace_json *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->out = out;
	t->view = view;
	fputs("{\"traceEvents\":[", out);
	for (uint32_t i = 0; i < view->devices; i++)
		name_device(t, i);
	*trace = t;
	return 0;
}

static void end_all(struct gp_trace_json *t)
{
	for (uint32_t i = 0; i < GP_WIRE_MAX_DEVICES; i++)
		hardware_end(t, i, t->last_ns);
	for (size_t i = 0; i < t->tenants; i++)
		for (int track = 0; track < TRACKS; track++)
			span_end(t, &t->tenant[i], (enum track)track, t->last_ns);
}

void gp_trace_json_close(struct gp_trace_json *t, struct gp_trace_json_stat *stat)
{
	if (!t)
		return;
	while (t->kept)
		pop(t);
	say_lost(t);
	end_all(t);
	fprintf(t->out,
		"\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"version\":"
		"\"gpreempt " GP_VERSION "\",\"base_ns\":\"%" PRIu64 "\","
		"\"records\":\"%" PRIu64 "\",\"lost\":\"%" PRIu64 "\",\"late\":\"%" PRIu64 "\"}}\n",
		t->base_ns, t->stat.records, t->stat.lost, t->stat.late);
	*stat = t->stat;
	free(t);
}
