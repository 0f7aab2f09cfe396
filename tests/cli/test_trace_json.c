// SPDX-License-Identifier: Apache-2.0
/*
 * Traces, checked against the rules of the Trace Event Format. The output is JSON. Begin and
 * end events of one thread are balanced and in order. No event with a length overlaps another
 * in its thread, and each thread has a name.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/daemon.c"
#include "cli/message.c"
#include "cli/text.c"
#include "cli/trace_json.c"
#include "cli/view.c"
#include "tests/common/gp_test.h"
#include "tests/common/gp_xorshift.h"

#define SEED 20261122u
#define RUNS 40
#define THREADS_MAX 8192
#define BASE_NS 1700000000000000000ull

/* ---- the checker -------------------------------------------------------------------- */

struct thread {
	json_int_t pid, tid;
	int open;	    /* spans */
	double last_us;	    /* of B, E, i */
	double whole_to_us; /* of X */
	bool named;
};

static struct thread thread[THREADS_MAX];
static size_t threads;

static struct thread *thread_of(json_int_t pid, json_int_t tid)
{
	for (size_t i = 0; i < threads; i++)
		if (thread[i].pid == pid && thread[i].tid == tid)
			return &thread[i];
	assert_true(threads < THREADS_MAX);
	thread[threads] = (struct thread){ .pid = pid, .tid = tid };
	return &thread[threads++];
}

static double number(json_t *event, const char *key)
{
	json_t *value = json_object_get(event, key);

	assert_true(json_is_number(value));
	assert_true(json_number_value(value) >= 0);
	return json_number_value(value);
}

static void judge_metadata(json_t *event, struct thread *th)
{
	const char *name = json_string_value(json_object_get(event, "name"));
	json_t *args = json_object_get(event, "args");

	assert_non_null(name);
	if (!strcmp(name, "thread_name") || !strcmp(name, "process_name"))
		assert_true(json_string_length(json_object_get(args, "name")) > 0);
	else
		assert_true(json_is_integer(json_object_get(args, "sort_index")));
	th->named |= !strcmp(name, "thread_name");
}

static void judge_event(json_t *event)
{
	const char *ph = json_string_value(json_object_get(event, "ph"));
	const char *name = json_string_value(json_object_get(event, "name"));
	struct thread *th;
	double ts;

	assert_non_null(ph);
	assert_int_equal(strlen(ph), 1);
	assert_true(json_is_integer(json_object_get(event, "pid")));
	assert_true(json_is_integer(json_object_get(event, "tid")));
	th = thread_of(json_integer_value(json_object_get(event, "pid")),
		       json_integer_value(json_object_get(event, "tid")));
	ts = number(event, "ts");
	if (*ph == 'M') {
		judge_metadata(event, th);
		return;
	}
	/* Named before use. */
	assert_true(th->named);
	if (*ph == 'X') {
		/* Its end is a sum of doubles. */
		assert_true(ts >= th->whole_to_us * (1 - 1e-15) - 0.0005);
		th->whole_to_us = ts + number(event, "dur");
		assert_non_null(name);
		return;
	}
	assert_non_null(strchr("BEi", *ph));
	assert_true(ts >= th->last_us);
	th->last_us = ts;
	if (*ph == 'i')
		assert_string_equal(json_string_value(json_object_get(event, "s")), "t");
	if (*ph != 'E')
		assert_true(name && *name);
	th->open += *ph == 'B' ? 1 : *ph == 'E' ? -1 : 0;
	/* In our traces no span is inside another of its thread. */
	assert_true(th->open == 0 || th->open == 1);
}

/* The events; a new reference. */
static json_t *judge(const char *text)
{
	json_error_t error;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error), *events, *event;
	size_t i;

	if (!json)
		fail_msg("%d: %s", error.line, error.text);
	events = json_object_get(json, "traceEvents");
	assert_true(json_is_array(events));
	threads = 0;
	json_array_foreach(events, i, event) judge_event(event);
	for (i = 0; i < threads; i++)
		assert_int_equal(thread[i].open, 0);
	json_incref(events);
	json_decref(json);
	return events;
}

static size_t count_events(json_t *events, const char *ph, const char *name)
{
	size_t i, n = 0;
	json_t *event;

	json_array_foreach(events, i, event)
	{
		const char *is = json_string_value(json_object_get(event, "name"));

		n += !strcmp(json_string_value(json_object_get(event, "ph")), ph) &&
		     (!name || (is && !strcmp(is, name)));
	}
	return n;
}

static json_t *find_event(json_t *events, const char *ph, const char *name)
{
	size_t i;
	json_t *event;

	json_array_foreach(events, i, event)
	{
		const char *is = json_string_value(json_object_get(event, "name"));

		if (!strcmp(json_string_value(json_object_get(event, "ph")), ph) && is &&
		    !strcmp(is, name))
			return event;
	}
	fail_msg("no %s %s", ph, name);
	return NULL;
}

/* ---- a trace ------------------------------------------------------------------------ */

struct rig {
	struct gp_view view;
	struct gp_wire_tenant tenant[3];
	char *text;
	size_t len;
	FILE *out;
	struct gp_trace_json *trace;
	struct gp_trace_json_stat stat;
};

static int setup(void **state)
{
	static struct rig rig;

	memset(&rig, 0, sizeof(rig));
	rig.view.devices = 2;
	for (uint8_t i = 0; i < 2; i++) {
		memset(rig.view.device[i].uuid, i + 1, 16);
		snprintf(rig.view.device[i].name, GP_WIRE_NAME_LEN, "GPU \"%u\"\n", i);
	}
	rig.view.tenant = rig.tenant;
	rig.view.tenants = 3;
	for (int i = 0; i < 3; i++) {
		rig.tenant[i].pid = -10 - i; /* no process's, so /proc has no name */
		memset(rig.tenant[i].uuid, 1, 16);
		snprintf(rig.tenant[i].comm, sizeof(rig.tenant[i].comm), "t\\\"%d", i);
	}
	rig.tenant[0].pid = 2000000001;
	rig.tenant[1].pid = 2000000002;
	rig.tenant[2].pid = 2000000003;
	rig.out = open_memstream(&rig.text, &rig.len);
	assert_int_equal(gp_trace_json_open(rig.out, &rig.view, &rig.trace), 0);
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	free(rig->text);
	return 0;
}

static void add(struct rig *rig, uint64_t at_ns, enum gp_wire_trace_kind kind, int32_t pid,
		uint64_t value)
{
	const struct gp_wire_trace_record record = {
		.time_ns = BASE_NS + at_ns,
		.kind = (uint16_t)kind,
		.pid = pid,
		.value = value,
	};

	gp_trace_json_add(rig->trace, &record, at_ns);
}

static json_t *finish(struct rig *rig)
{
	gp_trace_json_close(rig->trace, &rig->stat);
	fclose(rig->out);
	return judge(rig->text);
}

#define A 2000000001
#define B 2000000002

static void each_kind(void **state)
{
	struct rig *rig = *state;
	json_t *events, *event;

	add(rig, 0, GP_WIRE_TRACE_JOIN, A, (uint64_t)GP_CLASS_BE << 32 | 100);
	add(rig, 1000, GP_WIRE_TRACE_RESIDENT, A, 0);
	add(rig, 1500, GP_WIRE_TRACE_START, A, 0);
	add(rig, 2000, GP_WIRE_TRACE_SLICE, A, 1);
	add(rig, 3000, GP_WIRE_TRACE_PREEMPT, A, 9);
	add(rig, 3500, GP_WIRE_TRACE_END, A, 0);
	add(rig, 4000, GP_WIRE_TRACE_SUSPEND, A, 77);
	add(rig, 4000, GP_WIRE_TRACE_RESIDENT, 0, 0);
	add(rig, 5000, GP_WIRE_TRACE_BUSY, B, GP_PAGE_SEGMENT | GP_PAGE_WORK);
	add(rig, 6000, GP_WIRE_TRACE_BUSY, B, 0);
	add(rig, 5001, GP_WIRE_TRACE_HOLD, B, 900);
	add(rig, 7123, GP_WIRE_TRACE_RESUME, A, 78);
	add(rig, 8000, GP_WIRE_TRACE_LOST, 0, 12);
	add(rig, 9000, GP_WIRE_TRACE_LEAVE, A, 0);
	events = finish(rig);
	assert_int_equal(rig->stat.records, 14);
	assert_int_equal(rig->stat.late, 0);
	assert_int_equal(count_events(events, "B", "turn"), 1);
	assert_int_equal(count_events(events, "B", "2000000001 t\\\"0"), 1);
	assert_int_equal(count_events(events, "B", "suspended"), 1);
	assert_int_equal(count_events(events, "B", "segment"), 1);
	assert_int_equal(count_events(events, "B", "work"), 1);
	assert_int_equal(count_events(events, "E", NULL), 5);
	assert_int_equal(count_events(events, "i", "slice 1 us"), 1);
	assert_int_equal(count_events(events, "i", "be:100"), 1);
	assert_int_equal(count_events(events, "i", "preempt"), 1);
	assert_int_equal(count_events(events, "i", "log lost"), 1);
	assert_int_equal(count_events(events, "i", "leaves"), 1);
	event = find_event(events, "X", "hold");
	assert_true(number(event, "ts") == 5.001);
	assert_true(number(event, "dur") == 0.9);
	event = find_event(events, "i", "resume");
	assert_true(number(event, "ts") == 7.123);
	json_decref(events);
}

/* The log is later than decisions: records are sorted. */
static void what_comes_late_is_in_order(void **state)
{
	struct rig *rig = *state;
	json_t *events;

	for (uint64_t i = 0; i < 100; i++) {
		add(rig, 1000000 * (i + 40), GP_WIRE_TRACE_RESIDENT, i % 2 ? A : B, 0);
		add(rig, 1000000 * i, GP_WIRE_TRACE_START, i % 2 ? A : B, 0);
		add(rig, 1000000 * i + 900000, GP_WIRE_TRACE_END, i % 2 ? A : B, 0);
		gp_trace_json_write(rig->trace, 1000000 * (i + 40));
	}
	events = finish(rig);
	assert_int_equal(rig->stat.late, 0);
	assert_int_equal(count_events(events, "B", "turn"), 100);
	assert_int_equal(count_events(events, "B", NULL), 200);
	json_decref(events);
}

/* Memory is bounded: records are written when they are old enough, and no sooner. */
static void written_as_it_comes(void **state)
{
	struct rig *rig = *state;
	json_t *events;
	long before;

	fflush(rig->out);
	before = ftell(rig->out);
	add(rig, 0, GP_WIRE_TRACE_START, A, 0);
	gp_trace_json_write(rig->trace, GP_TRACE_LATE_NS - 1);
	assert_int_equal(ftell(rig->out), before);
	gp_trace_json_write(rig->trace, GP_TRACE_LATE_NS);
	assert_true(ftell(rig->out) > before);
	/* Older than written records: counted, except a hold. */
	add(rig, 100, GP_WIRE_TRACE_END, A, 0);
	gp_trace_json_write(rig->trace, GP_TRACE_LATE_NS * 2);
	add(rig, 50, GP_WIRE_TRACE_SUSPEND, A, 0);
	add(rig, 50, GP_WIRE_TRACE_HOLD, B, 20);
	events = finish(rig);
	assert_int_equal(rig->stat.late, 1);
	assert_int_equal(count_events(events, "B", "suspended"), 0);
	assert_int_equal(count_events(events, "X", "hold"), 1);
	json_decref(events);
}

static void how_it_stood(void **state)
{
	struct rig *rig = *state;
	json_t *events;

	rig->view.device[0].resident_pid = A;
	rig->tenant[0].flags = GP_WIRE_RESIDENT | GP_WIRE_BUSY;
	rig->tenant[1].flags = GP_WIRE_SUSPENDED;
	rig->tenant[2].flags = GP_WIRE_SEGMENT;
	add(rig, 1000, GP_WIRE_TRACE_RESIDENT, B, 0);
	add(rig, 2000, GP_WIRE_TRACE_RESUME, B, 0);
	events = finish(rig);
	assert_int_equal(count_events(events, "B", "turn"), 2);
	assert_int_equal(count_events(events, "B", "suspended"), 1);
	assert_int_equal(count_events(events, "B", "segment"), 1);
	assert_int_equal(count_events(events, "B", "work"), 1);
	json_decref(events);
}

static void nothing_at_all(void **state)
{
	struct rig *rig = *state;
	json_t *events = finish(rig);

	assert_int_equal(count_events(events, "M", "process_name"), 2);
	assert_int_equal(count_events(events, "M", NULL), json_array_size(events));
	json_decref(events);
}

static void what_was_lost_is_said(void **state)
{
	struct rig *rig = *state;
	json_t *events;

	gp_trace_json_lost(rig->trace, 3);
	add(rig, 0, GP_WIRE_TRACE_PREEMPT, A, 9);
	gp_trace_json_lost(rig->trace, 4);
	events = finish(rig);
	assert_int_equal(rig->stat.lost, 7);
	assert_true(count_events(events, "i", "read too slowly") >= 1);
	json_decref(events);
}

/* A reused PID is another tenant, and more than the maximum come and go. */
static void many_come_and_go(void **state)
{
	struct rig *rig = *state;
	json_t *events;
	uint64_t at = 0;

	for (int i = 0; i < 3 * (int)GP_TRACE_TENANTS; i++) {
		add(rig, at += 10, GP_WIRE_TRACE_SUSPEND, 2000001000 + i % 700, 1);
		add(rig, at += 10, GP_WIRE_TRACE_LEAVE, 2000001000 + i % 700, 0);
	}
	events = finish(rig);
	assert_int_equal(rig->stat.crowded, 0);
	assert_int_equal(count_events(events, "B", "suspended"), 3 * GP_TRACE_TENANTS);
	json_decref(events);
}

static void too_many_at_once(void **state)
{
	struct rig *rig = *state;
	json_t *events;

	for (int i = 0; i < 2 * (int)GP_TRACE_TENANTS; i++)
		add(rig, (uint64_t)i, GP_WIRE_TRACE_SUSPEND, 2000001000 + i, 1);
	events = finish(rig);
	/* Three were there before. */
	assert_int_equal(rig->stat.crowded, GP_TRACE_TENANTS + 3);
	assert_int_equal(count_events(events, "B", "suspended"), GP_TRACE_TENANTS - 3);
	json_decref(events);
}

static uint64_t random_state = SEED;

static uint64_t next_random(void)
{
	return gp_xorshift(&random_state);
}

/* For any records in any order the trace is valid. */
static void any_records(void **state)
{
	struct rig *rig = *state;
	struct gp_wire_trace_record record;
	uint64_t now_ns = 0;
	size_t n;

	printf("seed %u\n", SEED);
	for (int run = 0; run < RUNS; run++) {
		if (run)
			setup(state);
		n = next_random() % (run % 8 ? 2000 : GP_TRACE_KEPT + 5000);
		while (n--) {
			now_ns += next_random() % 1000000;
			record = (struct gp_wire_trace_record){
				.time_ns = BASE_NS + now_ns - next_random() % 50000000,
				.value = next_random() % 64 ? next_random() % 10000000 :
							      next_random(),
				.pid = next_random() % 8 ? A + (int32_t)(next_random() % 8) :
							   (int32_t)next_random(),
				.context = (uint32_t)next_random(),
				.kind = (uint16_t)(next_random() % 15),
				.device = (uint16_t)(next_random() % 64 ? next_random() % 3 :
									  next_random()),
			};
			gp_trace_json_add(rig->trace, &record, now_ns);
			if (!(next_random() % 16))
				gp_trace_json_write(rig->trace, now_ns);
		}
		json_decref(finish(rig));
		if (run < RUNS - 1)
			teardown(state);
	}
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIGGED(each_kind),	     RIGGED(what_comes_late_is_in_order),
		RIGGED(written_as_it_comes), RIGGED(how_it_stood),
		RIGGED(nothing_at_all),	     RIGGED(what_was_lost_is_said),
		RIGGED(many_come_and_go),    RIGGED(too_many_at_once),
		RIGGED(any_records),
	};

	return gp_run_tests(tests);
}
