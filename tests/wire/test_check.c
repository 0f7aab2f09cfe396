// SPDX-License-Identifier: Apache-2.0
/*
 * Allowed values in a message of the right size, and classes over the wire.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/class.h"
#include "tests/common/gp_test.h"
#include "wire/quota.h"

#define MS 1000000ull

#define LC(...)                                 \
	{                                       \
		.cls = GP_CLASS_LC, __VA_ARGS__ \
	}
#define BE(...)                                 \
	{                                       \
		.cls = GP_CLASS_BE, __VA_ARGS__ \
	}

static void requests_allowed(void **state)
{
	static const struct gp_wire_request good[] = {
		{ .cls = GP_CLASS_NONE },
		LC(0),
		LC(.value = GP_LEVEL_MAX),
		LC(.value = 3, .period_ns = 20 * MS, .deadline_ns = 20 * MS, .runtime_ns = MS),
		LC(.period_ns = 1, .deadline_ns = 1, .runtime_ns = 1),
		LC(.period_ns = GP_PERIOD_MAX_NS, .deadline_ns = GP_PERIOD_MAX_NS,
		   .runtime_ns = GP_PERIOD_MAX_NS),
		BE(.value = GP_WEIGHT_MIN),
		BE(.value = GP_WEIGHT_MAX),
		BE(.value = 100, .cap_pct = 1),
		BE(.value = 100, .cap_pct = 100),
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(gp_wire_request_check(&good[i]), 0);
}

static void requests_refused(void **state)
{
	static const struct gp_wire_request bad[] = {
		{ .cls = GP_CLASS_NONE, .value = 1 },
		{ .cls = GP_CLASS_NONE, .cap_pct = 1 },
		{ .cls = GP_CLASS_NONE, .runtime_ns = 1 },
		{ .cls = GP_CLASS_BE + 1 },
		{ .cls = UINT32_MAX },
		LC(.value = GP_LEVEL_MAX + 1),
		LC(.cap_pct = 1),
		LC(.pad = 1),
		LC(.period_ns = 1),
		LC(.deadline_ns = 1),
		LC(.runtime_ns = 1),
		LC(.period_ns = 2, .runtime_ns = 1),
		LC(.period_ns = 2, .deadline_ns = 1),
		LC(.deadline_ns = 2, .runtime_ns = 1),
		LC(.period_ns = 2, .deadline_ns = 3, .runtime_ns = 1),
		LC(.period_ns = 3, .deadline_ns = 2, .runtime_ns = 3),
		LC(.period_ns = GP_PERIOD_MAX_NS + 1, .deadline_ns = 1, .runtime_ns = 1),
		LC(.period_ns = UINT64_MAX, .deadline_ns = UINT64_MAX, .runtime_ns = UINT64_MAX),
		BE(.value = 0),
		BE(.value = GP_WEIGHT_MAX + 1),
		BE(.value = UINT32_MAX),
		BE(.value = 100, .cap_pct = 101),
		BE(.value = 100, .pad = 1),
		BE(.value = 100, .period_ns = 2, .deadline_ns = 2, .runtime_ns = 1),
		BE(.value = 100, .runtime_ns = 1),
		BE(.value = 100, .deadline_ns = 1),
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct gp_class_request out = { { 77, 77 }, 77, 77, 77, 77, 77 };
		const struct gp_class_request untouched = out;

		if (!gp_wire_request_check(&bad[i]))
			fail_msg("request %zu of the bad ones is allowed", i);
		assert_int_equal(gp_class_request_from_wire(&bad[i], &out), -EINVAL);
		assert_memory_equal(&out, &untouched, sizeof(out));
	}
}

/* Every class that a user may write crosses the wire unchanged. */
static void requests_cross(void **state)
{
	static const char *const text[] = {
		"lc",
		"lc:15",
		"be",
		"be:1",
		"be:10000,cap=100%",
		"be:7,cap=1%",
		"lc:2,period=20ms,runtime=2ms",
		"lc,period=10s,deadline=10s,runtime=10s",
		"lc:1,period=20ms,deadline=10ms,runtime=2ms",
		"lc,period=1us,runtime=1us",
	};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		struct gp_class_request request, again;
		struct gp_wire_request wire;
		const char *why;

		assert_int_equal(gp_class_request_parse(text[i], &request, &why), 0);
		memset(&wire, 0xa5, sizeof(wire));
		memset(&again, 0xa5, sizeof(again));
		gp_class_request_to_wire(&request, &wire);
		assert_int_equal(gp_class_request_from_wire(&wire, &again), 0);
		assert_memory_equal(&request, &again, sizeof(again));
	}
}

static void none_crosses(void **state)
{
	const struct gp_class_request request = { .cls = { GP_CLASS_NONE, 100 } };
	struct gp_class_request again;
	struct gp_wire_request wire;

	gp_class_request_to_wire(&request, &wire);
	assert_int_equal(gp_class_request_from_wire(&wire, &again), 0);
	assert_int_equal(again.cls.cls, GP_CLASS_NONE);
	assert_int_equal(again.cls.value, 0);
}

static void texts(void **state)
{
	const char full[4] = { 'a', 'b', 'c', 'd' };

	assert_true(gp_wire_text_ok("", 1));
	assert_true(gp_wire_text_ok("abc", 4));
	assert_false(gp_wire_text_ok("abc", 3));
	assert_false(gp_wire_text_ok(full, sizeof(full)));
	assert_false(gp_wire_text_ok("", 0));
}

static void expect(const union gp_wire_msg *msg, int want)
{
	assert_int_equal(gp_wire_check(msg, msg->head.size), 0);
	if (gp_wire_check_body(msg) != want)
		fail_msg("a message of type %u: %d, not %d", msg->head.type,
			 gp_wire_check_body(msg), want);
}

/* @field = @bad is refused; @msg is valid otherwise. */
#define REFUSED(msg, field, bad)                 \
	do {                                     \
		union gp_wire_msg changed = msg; \
		expect(&changed, 0);             \
		changed.field = (bad);           \
		expect(&changed, -EINVAL);       \
	} while (0)
/* A text without a NUL is refused; the longest with one is valid. */
#define TEXT_ENDS(msg, field)                                      \
	do {                                                       \
		union gp_wire_msg changed = msg;                   \
		memset(changed.field, 'x', sizeof(changed.field)); \
		expect(&changed, -EINVAL);                         \
		changed.field[sizeof(changed.field) - 1] = '\0';   \
		expect(&changed, 0);                               \
	} while (0)

static union gp_wire_msg new_msg(enum gp_wire_type type)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, type);
	return msg;
}

static void result_is_no_number(void **state)
{
	for (unsigned int type = 0; type < 256; type++) {
		union gp_wire_msg msg = new_msg(type);

		msg.head.result = 1;
		assert_int_equal(gp_wire_check_body(&msg), -EINVAL);
		msg.head.result = INT32_MAX;
		assert_int_equal(gp_wire_check_body(&msg), -EINVAL);
	}
}

static void memory_that_leaves(void **state)
{
	union gp_wire_msg msg = new_msg(GP_WIRE_AWAY), room = new_msg(GP_WIRE_ROOM);
	union gp_wire_msg quota = new_msg(GP_WIRE_QUOTA), memory = new_msg(GP_WIRE_MEMORY);

	REFUSED(msg, away.away, 2);
	REFUSED(msg, away.count, 1);
	REFUSED(msg, away.keep[0], 7);
	msg.away.away = 1;
	REFUSED(msg, away.count, 1); /* and no group */
	msg.away.count = 2;
	msg.away.keep[0] = msg.away.keep[1] = 7;
	REFUSED(msg, away.away, 0);
	REFUSED(msg, away.count, 3);
	REFUSED(msg, away.count, 1);
	REFUSED(msg, away.keep[1], 0);
	REFUSED(msg, away.keep[GP_WIRE_KEEP_MAX - 1], 7);
	for (size_t i = 0; i < GP_WIRE_KEEP_MAX; i++)
		msg.away.keep[i] = 7;
	msg.away.count = GP_WIRE_KEEP_MAX;
	REFUSED(msg, away.count, GP_WIRE_KEEP_MAX + 1);
	REFUSED(memory, memory.need, 1); /* for nothing that leaves */
	memory.memory.leave = 1;
	memory.memory.need = UINT64_MAX;
	assert_int_equal(gp_wire_check_body(&memory), 0);
	REFUSED(memory, memory.leave, 2);
	REFUSED(memory, memory.moving, 2);
	REFUSED(room, room.may_come, 2);
	REFUSED(room, room.moving, 2);
	quota.quota.place = GP_QUOTA_PLACES - 1;
	assert_int_equal(gp_wire_check_body(&quota), 0);
	REFUSED(quota, quota.place, GP_QUOTA_PLACES);
	REFUSED(quota, quota.pad, 1);
}

static void hellos(void **state)
{
	union gp_wire_msg msg = new_msg(GP_WIRE_HELLO);

	REFUSED(msg, hello.flags, 4);
	REFUSED(msg, hello.flags, UINT32_MAX);
	REFUSED(msg, hello.pad, 1);
	/* Without GP_WIRE_ASKS the request must be empty. */
	REFUSED(msg, hello.request.cls, GP_CLASS_LC);
	REFUSED(msg, hello.request.cap_pct, 1);
	msg.hello.flags = GP_WIRE_ASKS;
	msg.hello.request.cls = GP_CLASS_LC;
	REFUSED(msg, hello.request.value, GP_LEVEL_MAX + 1);
	REFUSED(msg, hello.request.period_ns, 1);
}

static void classes(void **state)
{
	union gp_wire_msg msg = new_msg(GP_WIRE_ASK_CLASS);

	REFUSED(msg, ask_class.request.cls, GP_CLASS_BE);
	for (int i = 0; i < 2; i++) {
		msg = new_msg(i ? GP_WIRE_WELCOME : GP_WIRE_CLASS);
		expect(&msg, -EINVAL);
		msg.welcome.daemon_pid = 1;
		REFUSED(msg, welcome.daemon_pid, -1);
		REFUSED(msg, welcome.pad, 1);
		REFUSED(msg, welcome.request.pad, 1);
		TEXT_ENDS(msg, welcome.why);
	}
}

static void takes(void **state)
{
	union gp_wire_msg msg = new_msg(GP_WIRE_WHY);

	expect(&msg, -EINVAL);
	msg.take.pid = 1;
	REFUSED(msg, take.pid, -1);
	REFUSED(msg, take.pid, INT32_MIN);
	REFUSED(msg, take.kind, 1);
	REFUSED(msg, take.request.cls, GP_CLASS_LC);
	msg.head.type = GP_WIRE_HISTOGRAM;
	REFUSED(msg, take.kind, GP_WIRE_HISTS);
	REFUSED(msg, take.request.cls, GP_CLASS_LC);
	msg.take.kind = GP_WIRE_HISTS - 1;
	expect(&msg, 0);
	msg.head.type = GP_WIRE_TAKE;
	expect(&msg, -EINVAL);
	msg.take.kind = 0;
	REFUSED(msg, take.request.cls, GP_CLASS_BE);
	msg.take.request.cls = GP_CLASS_LC;
	expect(&msg, 0);
}

static void pools(void **state)
{
	union gp_wire_msg msg = new_msg(GP_WIRE_POOL);

	expect(&msg, -EINVAL);
	msg.pool.pid = 1;
	expect(&msg, 0);
	REFUSED(msg, pool.client[0], 1);
	msg.pool.count = 1;
	expect(&msg, -EINVAL);
	msg.pool.client[0] = 2;
	expect(&msg, 0);
	REFUSED(msg, pool.client[0], -1);
	REFUSED(msg, pool.client[GP_WIRE_POOL_MAX - 1], 3);
	REFUSED(msg, pool.count, GP_WIRE_POOL_MAX + 1);
	for (size_t i = 0; i < GP_WIRE_POOL_MAX; i++)
		msg.pool.client[i] = 2;
	msg.pool.count = GP_WIRE_POOL_MAX;
	expect(&msg, 0);

	msg = new_msg(GP_WIRE_RULED);
	expect(&msg, -EINVAL);
	msg.ruled.memory_max = 1;
	expect(&msg, -EINVAL);
	msg.ruled.host_memory = 1;
	expect(&msg, 0);
	memset(msg.ruled.rule, 'x', sizeof(msg.ruled.rule));
	expect(&msg, -EINVAL);
	memset(msg.ruled.rule, 0, sizeof(msg.ruled.rule));
	memset(msg.ruled.hook, 'x', sizeof(msg.ruled.hook));
	expect(&msg, -EINVAL);
	memset(msg.ruled.hook, 0, sizeof(msg.ruled.hook));
	REFUSED(msg, ruled.percent, 1);
	REFUSED(msg, ruled.pool, 2);
	REFUSED(msg, ruled.turns, 2);
	msg.ruled.turns = 1;
	expect(&msg, 0);
	msg.ruled.pool = 1;
	msg.ruled.percent = 100;
	expect(&msg, 0);
	REFUSED(msg, ruled.percent, 101);
	REFUSED(msg, ruled.one, 2);
}

static void tenants(void **state)
{
	union gp_wire_msg msg = new_msg(GP_WIRE_TENANT);

	expect(&msg, -EINVAL);
	msg.tenant.pid = 1;
	msg.tenant.origin = GP_WIRE_BY_ATTACH;
	msg.tenant.flags = GP_WIRE_FROZEN * 2 - 1;
	msg.tenant.usage = GP_WIRE_USAGE_DRIVER;
	REFUSED(msg, tenant.pid, 0);
	REFUSED(msg, tenant.origin, 0);
	REFUSED(msg, tenant.origin, GP_WIRE_BY_POOL + 1);
	REFUSED(msg, tenant.flags, GP_WIRE_FROZEN * 2);
	REFUSED(msg, tenant.usage, GP_WIRE_USAGE_DRIVER + 1);
	REFUSED(msg, tenant.request.cls, 9);
	TEXT_ENDS(msg, tenant.comm);
	TEXT_ENDS(msg, tenant.device);
	TEXT_ENDS(msg, tenant.cgroup);
	TEXT_ENDS(msg, tenant.why);
}

static void devices(void **state)
{
	union gp_wire_msg msg = new_msg(GP_WIRE_DEVICE);

	msg.device.be_min_pct = 100;
	REFUSED(msg, device.be_min_pct, 101);
	REFUSED(msg, device.resident_pid, -1);
	REFUSED(msg, device.usage, GP_WIRE_USAGE_DRIVER + 1);
	REFUSED(msg, device.daemon_pid, -1);
	TEXT_ENDS(msg, device.name);
	TEXT_ENDS(msg, device.be_policy);
	TEXT_ENDS(msg, device.lc_policy);
}

static void reasons(void **state)
{
	union gp_wire_msg msg = new_msg(GP_WIRE_REASON);

	expect(&msg, -EINVAL);
	msg.reason.pid = 1;
	REFUSED(msg, reason.pid, 0);
	REFUSED(msg, reason.other_pid, -1);
	REFUSED(msg, reason.pad, 1);
	REFUSED(msg, reason.request.pad, 1);
	TEXT_ENDS(msg, reason.comm);
	TEXT_ENDS(msg, reason.other_comm);
	TEXT_ENDS(msg, reason.device);
	TEXT_ENDS(msg, reason.why);
}

static void words(void **state)
{
	union gp_wire_msg said = new_msg(GP_WIRE_SAID), status = new_msg(GP_WIRE_STATUS);

	TEXT_ENDS(said, said.text);
	TEXT_ENDS(status, status.comm);
	TEXT_ENDS(status, status.device);
	TEXT_ENDS(status, status.uuid);
}

static void traces(void **state)
{
	union gp_wire_msg msg = new_msg(GP_WIRE_TRACED);
	const unsigned int last = GP_WIRE_TRACE_RECORDS - 1;

	/* Records beyond the count are not checked. */
	msg.traced.record[last].kind = 99;
	expect(&msg, 0);
	REFUSED(msg, traced.count, GP_WIRE_TRACE_RECORDS);
	for (unsigned int i = 0; i <= last; i++)
		msg.traced.record[i].kind = 1 + i % GP_WIRE_TRACE_HOLD;
	msg.traced.count = GP_WIRE_TRACE_RECORDS;
	REFUSED(msg, traced.count, GP_WIRE_TRACE_RECORDS + 1);
	REFUSED(msg, traced.count, UINT32_MAX);
	REFUSED(msg, traced.record[last].kind, 0);
	REFUSED(msg, traced.record[last].kind, GP_WIRE_TRACE_HOLD + 1);
	REFUSED(msg, traced.record[last].device, GP_WIRE_MAX_DEVICES);
	REFUSED(msg, traced.record[last].pad, 1);
}

int main(void)
{
	const struct CMUnitTest check[] = {
		cmocka_unit_test(requests_allowed),
		cmocka_unit_test(requests_refused),
		cmocka_unit_test(requests_cross),
		cmocka_unit_test(none_crosses),
		cmocka_unit_test(texts),
		cmocka_unit_test(result_is_no_number),
		cmocka_unit_test(memory_that_leaves),
		cmocka_unit_test(hellos),
		cmocka_unit_test(classes),
		cmocka_unit_test(takes),
		cmocka_unit_test(pools),
		cmocka_unit_test(tenants),
		cmocka_unit_test(devices),
		cmocka_unit_test(reasons),
		cmocka_unit_test(words),
		cmocka_unit_test(traces),
	};

	return gp_run_tests(check);
}
