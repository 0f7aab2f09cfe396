// SPDX-License-Identifier: Apache-2.0
/*
 * The bytes of version 1: tests/wire/golden/v1/ has each message as the code of that
 * version wrote it. The test reads each file with the right values and writes the same
 * bytes. The files of a released version never change; --write adds those of new messages.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/gp_test.h"
#include "wire/wire.h"

#define FOLDER "tests/wire/golden/v1/"
#define MSG ((union gp_wire_msg *)0)

/* A number, or a row of numbers @stride apart; or a text, whose value is its own name. */
struct field {
	const char *name;
	size_t at, bytes, count, stride;
	bool text;
};

#define NUMBER(f)                                                               \
	{                                                                       \
#f, offsetof(union gp_wire_msg, f), sizeof(MSG->f), 1, 0, false \
	}
#define NUMBERS(f)                                                                   \
	{                                                                            \
#f, offsetof(union gp_wire_msg, f), sizeof(MSG->f[0]),               \
			sizeof(MSG->f) / sizeof(MSG->f[0]), sizeof(MSG->f[0]), false \
	}
#define TEXT(f)                                                                \
	{                                                                      \
#f, offsetof(union gp_wire_msg, f), sizeof(MSG->f), 1, 0, true \
	}
#define RECORDS(f)                                                                      \
	{                                                                               \
		"traced.record[]." #f, offsetof(union gp_wire_msg, traced.record[0].f), \
			sizeof(MSG->traced.record[0].f), GP_WIRE_TRACE_RECORDS,         \
			sizeof(struct gp_wire_trace_record), false                      \
	}
#define FIGURES(m)                                                                           \
	NUMBER(m.movable), NUMBER(m.fixed), NUMBER(m.out), NUMBER(m.moves), NUMBER(m.moved), \
		NUMBER(m.move_ns), NUMBER(m.pinned), NUMBER(m.kept), NUMBER(m.host_max)
#define REQUEST(r)                                                                             \
	NUMBER(r.cls), NUMBER(r.value), NUMBER(r.cap_pct), NUMBER(r.pad), NUMBER(r.period_ns), \
		NUMBER(r.deadline_ns), NUMBER(r.runtime_ns)

static const struct field head[] = { NUMBER(head.result), { 0 } };
static const struct field set_class[] = {
	NUMBER(head.result),
	NUMBER(set_class.cls),
	NUMBER(set_class.value),
	{ 0 },
};
static const struct field hint[] = { NUMBER(head.result), NUMBER(hint.in_ns), { 0 } };
static const struct field yield[] = {
	NUMBER(head.result),	NUMBER(yield.on),    NUMBER(yield.level),
	NUMBER(yield.limit_ns), NUMBERS(yield.uuid), { 0 },
};
static const struct field memory[] = {
	NUMBER(head.result),
	NUMBER(memory.leave),
	NUMBER(memory.moving),
	FIGURES(memory.figures),
	NUMBERS(memory.uuid),
	NUMBER(memory.need),
	{ 0 },
};
static const struct field query[] = { NUMBER(head.result), NUMBER(query.number), { 0 } };
static const struct field status[] = {
	NUMBER(head.result),
	NUMBER(status.pid),
	NUMBER(status.uid),
	NUMBER(status.cls),
	NUMBER(status.value),
	NUMBER(status.groups),
	NUMBER(status.short_slice),
	NUMBER(status.sync_seen),
	NUMBER(status.preloaded),
	NUMBER(status.slice_us),
	NUMBER(status.hints),
	NUMBER(status.segments),
	NUMBER(status.holds),
	NUMBER(status.holds_late),
	NUMBER(status.holds_expired),
	NUMBER(status.syncs_cut),
	NUMBER(status.held_ns),
	NUMBER(status.switch_ns),
	NUMBER(status.switch_min_ns),
	NUMBER(status.switch_max_ns),
	NUMBER(status.margin_ns),
	NUMBER(status.learns),
	NUMBER(status.rhythm),
	NUMBER(status.guesses),
	NUMBER(status.guess_hits),
	NUMBER(status.guess_misses),
	TEXT(status.comm),
	TEXT(status.device),
	TEXT(status.uuid),
	{ 0 },
};
static const struct field hello[] = {
	NUMBER(head.result),
	NUMBERS(hello.uuid),
	NUMBER(hello.flags),
	NUMBER(hello.pad),
	REQUEST(hello.request),
	NUMBERS(hello.key),
	{ 0 },
};
static const struct field files[] = { NUMBER(head.result), NUMBERS(files.key), { 0 } };
static const struct field welcome[] = {
	NUMBER(head.result),	  NUMBER(welcome.daemon_pid), NUMBER(welcome.pad),
	REQUEST(welcome.request), TEXT(welcome.why),	      { 0 },
};
static const struct field ask_class[] = {
	NUMBER(head.result),
	REQUEST(ask_class.request),
	{ 0 },
};
static const struct field take[] = {
	NUMBER(head.result), NUMBER(take.pid),	    NUMBER(take.kind),
	NUMBERS(take.uuid),  REQUEST(take.request), { 0 },
};
static const struct field said[] = { NUMBER(head.result), TEXT(said.text), { 0 } };
static const struct field tenant[] = {
	NUMBER(head.result),
	NUMBER(tenant.pid),
	NUMBER(tenant.uid),
	NUMBERS(tenant.uuid),
	NUMBER(tenant.origin),
	NUMBER(tenant.flags),
	NUMBER(tenant.groups),
	NUMBER(tenant.usage),
	REQUEST(tenant.request),
	NUMBER(tenant.age_ns),
	NUMBER(tenant.resident_ns),
	NUMBER(tenant.used_ns),
	NUMBER(tenant.suspended_ns),
	NUMBER(tenant.turns),
	NUMBER(tenant.preempted),
	NUMBER(tenant.wait_p50_ns),
	NUMBER(tenant.wait_p99_ns),
	NUMBER(tenant.switch_p50_ns),
	NUMBER(tenant.switch_p99_ns),
	NUMBER(tenant.hints),
	NUMBER(tenant.segments),
	NUMBER(tenant.holds),
	NUMBER(tenant.holds_late),
	NUMBER(tenant.holds_expired),
	NUMBER(tenant.held_ns),
	NUMBER(tenant.corrected),
	FIGURES(tenant.memory),
	NUMBER(tenant.quota_used),
	NUMBER(tenant.quota_max),
	TEXT(tenant.comm),
	TEXT(tenant.device),
	TEXT(tenant.cgroup),
	TEXT(tenant.why),
	{ 0 },
};
static const struct field device[] = {
	NUMBER(head.result),	     NUMBERS(device.uuid),
	TEXT(device.name),	     TEXT(device.be_policy),
	TEXT(device.lc_policy),	     NUMBER(device.be_min_pct),
	NUMBER(device.tenants),	     NUMBER(device.groups),
	NUMBER(device.resident_pid), NUMBER(device.usage),
	NUMBER(device.daemon_pid),   NUMBER(device.quantum_ns),
	NUMBER(device.up_ns),	     NUMBER(device.turns),
	NUMBER(device.suspends),     NUMBER(device.resumes),
	NUMBER(device.slices),	     NUMBER(device.preempts),
	NUMBER(device.failed),	     NUMBER(device.control_ns),
	NUMBER(device.log_lost),     { 0 },
};
static const struct field reason[] = {
	NUMBER(head.result),	 NUMBER(reason.pid),
	NUMBER(reason.reason),	 NUMBER(reason.other_pid),
	NUMBER(reason.ahead),	 NUMBER(reason.error),
	NUMBER(reason.pad),	 NUMBERS(reason.uuid),
	NUMBER(reason.for_ns),	 NUMBER(reason.until_ns),
	REQUEST(reason.request), TEXT(reason.comm),
	TEXT(reason.other_comm), TEXT(reason.device),
	TEXT(reason.why),	 { 0 },
};
static const struct field away[] = {
	NUMBER(head.result), NUMBER(away.away), NUMBER(away.count), NUMBERS(away.keep), { 0 },
};
static const struct field room[] = {
	NUMBER(head.result), NUMBERS(room.uuid), NUMBER(room.may_come),
	NUMBER(room.moving), NUMBER(room.need),	 { 0 },
};
static const struct field quota[] = {
	NUMBER(head.result),
	NUMBER(quota.place),
	NUMBER(quota.pad),
	{ 0 },
};
static const struct field pool[] = {
	NUMBER(head.result), NUMBER(pool.pid), NUMBER(pool.count), NUMBERS(pool.client), { 0 },
};
static const struct field ruled[] = {
	NUMBER(head.result),
	NUMBER(ruled.pool),
	NUMBER(ruled.percent),
	NUMBER(ruled.one),
	NUMBER(ruled.turns),
	NUMBER(ruled.memory_min),
	NUMBER(ruled.memory_max),
	NUMBER(ruled.host_memory),
	TEXT(ruled.rule),
	TEXT(ruled.hook),
	{ 0 },
};
static const struct field buckets[] = {
	NUMBER(head.result),
	NUMBER(buckets.sum_ns),
	NUMBERS(buckets.count),
	{ 0 },
};
static const struct field traced[] = {
	NUMBER(head.result),
	NUMBER(traced.count),
	NUMBER(traced.lost),
	RECORDS(time_ns),
	RECORDS(value),
	RECORDS(pid),
	RECORDS(context),
	RECORDS(kind),
	RECORDS(device),
	RECORDS(pad),
	{ 0 },
};

static const struct message {
	enum gp_wire_type type;
	const char *name;
	const struct field *field;
} messages[] = {
	{ GP_WIRE_QUERY, "query", head },
	{ GP_WIRE_SET_CLASS, "set_class", set_class },
	{ GP_WIRE_HINT, "hint", hint },
	{ GP_WIRE_YIELD, "yield", yield },
	{ GP_WIRE_QUERY_DEVICE, "query_device", query },
	{ GP_WIRE_MEMORY, "memory", memory },
	{ GP_WIRE_HELLO, "hello", hello },
	{ GP_WIRE_FILES, "files", files },
	{ GP_WIRE_ASK_CLASS, "ask_class", ask_class },
	{ GP_WIRE_AWAY, "away", away },
	{ GP_WIRE_LIST, "list", head },
	{ GP_WIRE_DEVICES, "devices", head },
	{ GP_WIRE_WHY, "why", take },
	{ GP_WIRE_TAKE, "take", take },
	{ GP_WIRE_HISTOGRAM, "histogram", take },
	{ GP_WIRE_TRACE, "trace", head },
	{ GP_WIRE_POOL, "pool", pool },
	{ GP_WIRE_RULE, "rule", ask_class },
	{ GP_WIRE_RULED, "ruled", ruled },
	{ GP_WIRE_ROOM, "room", room },
	{ GP_WIRE_QUOTA, "quota", quota },
	{ GP_WIRE_STATUS, "status", status },
	{ GP_WIRE_RESULT, "result", head },
	{ GP_WIRE_WELCOME, "welcome", welcome },
	{ GP_WIRE_CLASS, "class", welcome },
	{ GP_WIRE_TENANT, "tenant", tenant },
	{ GP_WIRE_DEVICE, "device", device },
	{ GP_WIRE_REASON, "reason", reason },
	{ GP_WIRE_SAID, "said", said },
	{ GP_WIRE_BUCKETS, "buckets", buckets },
	{ GP_WIRE_TRACED, "traced", traced },
};

#define MESSAGES (sizeof(messages) / sizeof(messages[0]))

/*
 * Value @index of a field's row; the field has number @ordinal in its message. Fields of
 * one size differ, and so do the first 32 values of a row.
 */
static uint64_t number(const struct field *f, unsigned int ordinal, size_t index)
{
	const uint64_t all = (ordinal + 1) * 0x0102030405060708ull + index;

	return f->bytes == sizeof(all) ? all : all & ((1ull << f->bytes * 8) - 1);
}

static void put(unsigned char *to, const struct field *f, uint64_t value)
{
	uint16_t two = (uint16_t)value;
	uint32_t four = (uint32_t)value;

	if (f->bytes == 1)
		*to = (unsigned char)value;
	else if (f->bytes == 2)
		memcpy(to, &two, sizeof(two));
	else if (f->bytes == 4)
		memcpy(to, &four, sizeof(four));
	else
		memcpy(to, &value, sizeof(value));
}

static uint64_t get(const unsigned char *from, const struct field *f)
{
	uint64_t eight;
	uint32_t four;
	uint16_t two;

	if (f->bytes == 1)
		return *from;
	if (f->bytes == 2) {
		memcpy(&two, from, sizeof(two));
		return two;
	}
	if (f->bytes == 4) {
		memcpy(&four, from, sizeof(four));
		return four;
	}
	memcpy(&eight, from, sizeof(eight));
	return eight;
}

static void encode(const struct message *m, union gp_wire_msg *msg)
{
	unsigned char *bytes = (unsigned char *)msg;
	const struct field *f;

	gp_wire_init(msg, m->type);
	for (f = m->field; f->name; f++) {
		unsigned int ordinal = (unsigned int)(f - m->field);

		if (f->text)
			memcpy(bytes + f->at, f->name, strnlen(f->name, f->bytes - 1));
		for (size_t i = 0; !f->text && i < f->count; i++)
			put(bytes + f->at + i * f->stride, f, number(f, ordinal, i));
	}
}

static void path_of(const struct message *m, char *path, size_t len)
{
	snprintf(path, len, FOLDER "%s.bin", m->name);
}

/* Read at most @max bytes from the file of @m. Return: the number of bytes. */
static size_t read_golden(const struct message *m, void *bytes, size_t max)
{
	char path[128];
	size_t len;
	FILE *f;

	path_of(m, path, sizeof(path));
	f = fopen(path, "rbe");
	/* Tests run at the top of the tree. */
	assert_non_null(f);
	len = fread(bytes, 1, max, f);
	fclose(f);
	return len;
}

static void compare(const struct message *m, const unsigned char *bytes)
{
	const struct field *f;

	for (f = m->field; f->name; f++) {
		unsigned int ordinal = (unsigned int)(f - m->field);

		if (f->text && strncmp((const char *)bytes + f->at, f->name, f->bytes - 1))
			fail_msg("%s: %s is \"%.*s\"", m->name, f->name, (int)f->bytes,
				 (const char *)bytes + f->at);
		for (size_t i = 0; !f->text && i < f->count; i++) {
			uint64_t got = get(bytes + f->at + i * f->stride, f);

			if (got != number(f, ordinal, i))
				fail_msg("%s: %s, number %zu, is 0x%llx", m->name, f->name, i,
					 (unsigned long long)got);
		}
	}
}

static void decode(void **state)
{
	for (size_t i = 0; i < MESSAGES; i++) {
		union gp_wire_msg msg;
		char more[sizeof(msg) + 1];
		size_t len = read_golden(&messages[i], more, sizeof(more));

		assert_true(len <= sizeof(msg));
		memset(&msg, 0, sizeof(msg));
		memcpy(&msg, more, len);
		if (gp_wire_check(&msg, len))
			fail_msg("%s: its file is no message", messages[i].name);
		assert_int_equal(msg.head.type, messages[i].type);
		compare(&messages[i], (const unsigned char *)&msg);
	}
}

static void encode_again(void **state)
{
	for (size_t i = 0; i < MESSAGES; i++) {
		union gp_wire_msg msg;
		char golden[sizeof(msg) + 1];
		size_t len = read_golden(&messages[i], golden, sizeof(golden));

		encode(&messages[i], &msg);
		assert_int_equal(msg.head.size, len);
		assert_memory_equal(&msg, golden, len);
	}
}

/* Each byte after the fixed head belongs to exactly one field, so no new field is missed. */
static void every_byte_is_named(void **state)
{
	for (size_t i = 0; i < MESSAGES; i++) {
		unsigned char named[sizeof(union gp_wire_msg)] = { 0 };
		const struct message *m = &messages[i];
		union gp_wire_msg msg;

		for (const struct field *f = m->field; f->name; f++)
			for (size_t k = 0; k < f->count; k++)
				for (size_t b = 0; b < f->bytes; b++)
					named[f->at + k * f->stride + b]++;
		gp_wire_init(&msg, m->type);
		for (size_t b = 0; b < sizeof(msg); b++)
			if (named[b] !=
			    (b >= offsetof(struct gp_wire_head, result) && b < msg.head.size))
				fail_msg("%s: byte %zu is %d fields'", m->name, b, named[b]);
	}
}

/* All fields of one size have different values, so that the test sees a swap. */
static void no_two_alike(void **state)
{
	for (size_t i = 0; i < MESSAGES; i++)
		for (const struct field *f = messages[i].field; f->name; f++)
			for (const struct field *g = messages[i].field; g < f; g++) {
				unsigned int a = (unsigned int)(f - messages[i].field);
				unsigned int b = (unsigned int)(g - messages[i].field);

				if (f->text || g->text || f->bytes != g->bytes)
					continue;
				assert_true(number(f, a, 0) != number(g, b, 0));
			}
}

static void every_message_has_one(void **state)
{
	for (unsigned int type = 0; type <= UINT16_MAX; type++) {
		union gp_wire_msg msg;
		int found = 0;

		gp_wire_init(&msg, (enum gp_wire_type)type);
		for (size_t i = 0; i < MESSAGES; i++)
			found += messages[i].type == type;
		if (found != !gp_wire_check(&msg, msg.head.size))
			fail_msg("messages of type %u: %d golden ones", type, found);
	}
}

/* Write missing files only; an existing one never changes. */
static int write_missing(void)
{
	for (size_t i = 0; i < MESSAGES; i++) {
		union gp_wire_msg msg;
		char path[128];
		FILE *f;

		path_of(&messages[i], path, sizeof(path));
		f = fopen(path, "wbxe");
		if (!f && errno == EEXIST)
			continue;
		encode(&messages[i], &msg);
		if (!f || fwrite(&msg, msg.head.size, 1, f) != 1 || fclose(f)) {
			perror(path);
			return 1;
		}
		printf("%s: %u bytes\n", path, msg.head.size);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest golden[] = {
		cmocka_unit_test(decode),
		cmocka_unit_test(encode_again),
		cmocka_unit_test(every_byte_is_named),
		cmocka_unit_test(no_two_alike),
		cmocka_unit_test(every_message_has_one),
	};

	if (argc == 2 && !strcmp(argv[1], "--write"))
		return write_missing();
	return gp_run_tests(golden);
}
