// SPDX-License-Identifier: Apache-2.0
/* The form of figures, top's text for two views, and reasons as text. */
#include <stdlib.h>
#include <string.h>

#include "cli/daemon.c"
#include "cli/message.c"
#include "cli/text.c"
#include "cli/top_text.c"
#include "cli/view.c"
#include "cli/why_text.c"
#include "tests/common/gp_test.h"

static void times_have_three_digits(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} c[] = {
		{ 0, "0ns" },
		{ 1, "1ns" },
		{ 999, "999ns" },
		{ 1000, "1.00us" },
		{ 9994, "9.99us" },
		{ 9996, "10.0us" },
		{ 99949, "99.9us" },
		{ 99951, "100us" },
		{ 999499, "999us" },
		{ 999500, "1.00ms" },
		{ 12345678, "12.3ms" },
		{ 999500000, "1.00s" },
		{ 61000000000, "61.0s" },
		{ 3600000000000, "3600s" },
		{ GP_WIRE_UNKNOWN, "-" },
	};
	char buf[GP_VIEW_TEXT_LEN];

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		assert_string_equal(gp_view_time(c[i].ns, buf), c[i].text);
}

static void bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} c[] = {
		{ 0, "0B" },
		{ 999, "999B" },
		{ 1000, "0.98KiB" },
		{ 1 << 20, "1.00MiB" },
		{ 96 << 20, "96.0MiB" },
		{ 100ull << 30, "100GiB" },
		{ UINT64_MAX, "16777216TiB" },
	};
	char buf[GP_VIEW_TEXT_LEN];

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		assert_string_equal(gp_view_bytes(c[i].bytes, buf), c[i].text);
}

static void states(void **state)
{
	static const struct {
		uint32_t flags;
		const char *text;
	} c[] = {
		{ 0, "-" },
		{ GP_WIRE_RESIDENT, "runs" },
		{ GP_WIRE_BUSY, "runs" },
		{ GP_WIRE_RESIDENT | GP_WIRE_IDLE, "idle" },
		{ GP_WIRE_SUSPENDED, "waits" },
		{ GP_WIRE_SUSPENDED | GP_WIRE_BUSY, "waits" },
		{ GP_WIRE_SUSPENDED | GP_WIRE_IDLE, "idle" },
		{ GP_WIRE_SEGMENT | GP_WIRE_BUSY, "segment" },
		{ GP_WIRE_SEGMENT | GP_WIRE_HELD, "held" },
		{ GP_WIRE_BANNED | GP_WIRE_SUSPENDED, "banned" },
	};
	struct gp_wire_tenant t = { 0 };

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		t.flags = c[i].flags;
		assert_string_equal(gp_view_state(&t), c[i].text);
	}
}

/* ---- top --------------------------------------------------------------------------- */

static struct gp_view before, now;
static struct gp_wire_tenant old_tenant[3], new_tenant[3];

static void one(struct gp_wire_tenant *t, int pid, uint32_t cls, const char *comm)
{
	*t = (struct gp_wire_tenant){
		.pid = pid,
		.request = { .cls = cls, .value = cls == GP_CLASS_BE ? 100 : 0 },
		.age_ns = 1000000000,
		.used_ns = 100000000,
		.resident_ns = 200000000,
		.wait_p50_ns = GP_WIRE_UNKNOWN,
		.wait_p99_ns = GP_WIRE_UNKNOWN,
		.switch_p50_ns = GP_WIRE_UNKNOWN,
		.switch_p99_ns = GP_WIRE_UNKNOWN,
	};
	strcpy(t->comm, comm);
}

static int setup(void **state)
{
	memset(&before, 0, sizeof(before));
	before.devices = 1;
	strcpy(before.device[0].name, "GPU");
	strcpy(before.device[0].be_policy, "credit");
	strcpy(before.device[0].lc_policy, "edf");
	before.device[0].up_ns = 5000000000;
	before.device[0].log_lost = GP_WIRE_UNKNOWN;
	before.tenants = 3;
	before.tenant = old_tenant;
	one(&old_tenant[0], 10, GP_CLASS_BE, "ten");
	one(&old_tenant[1], 20, GP_CLASS_BE, "twenty");
	one(&old_tenant[2], 30, GP_CLASS_LC, "lc\033[2J");
	now = before;
	now.tenant = new_tenant;
	memcpy(new_tenant, old_tenant, sizeof(old_tenant));
	now.device[0].up_ns += 2000000000;
	now.device[0].turns = 40;
	now.device[0].control_ns = 20000000;
	for (int i = 0; i < 3; i++)
		new_tenant[i].age_ns += 2000000000;
	return 0;
}

/* To be freed. */
static char *top(const struct gp_view *was, enum gp_top_key key, bool reverse)
{
	const struct gp_top_order order = { .key = key, .reverse = reverse };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	gp_top_print(out, was, &now, &order);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* The field @number, from 0, of the line that begins with @pid. */
static void assert_field(const char *text, const char *pid, int number, const char *value)
{
	char line[256], *field, *save;
	const char *at = strstr(text, pid);

	assert_non_null(at);
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	field = strtok_r(line, " ", &save);
	while (number--)
		field = strtok_r(NULL, " ", &save);
	assert_non_null(field);
	assert_string_equal(field, value);
}

enum {
	USED = 4,
	TURN,
	WAIT50,
	WAIT99,
	SWITCH50,
	SWITCH99,
	CUT,
	MEM,
	OUT,
	COMMAND
};

static void what_came_about(void **state)
{
	char *text;

	new_tenant[0].used_ns += 500000000;
	new_tenant[0].resident_ns += 1000000000;
	new_tenant[0].preempted = 10;
	new_tenant[0].wait_p99_ns = 1500000;
	new_tenant[1].used_ns = GP_WIRE_UNKNOWN;
	new_tenant[0].memory.movable = 6 << 20;
	new_tenant[0].memory.fixed = 2 << 20;
	new_tenant[1].memory.out = 1 << 30;
	text = top(&before, GP_TOP_PID, false);
	assert_field(text, "10 ", USED, "25.0");
	assert_field(text, "10 ", TURN, "50.0");
	assert_field(text, "10 ", WAIT50, "-");
	assert_field(text, "10 ", WAIT99, "1.50ms");
	assert_field(text, "10 ", CUT, "5.0");
	assert_field(text, "10 ", MEM, "8.00MiB");
	assert_field(text, "10 ", OUT, "0B");
	assert_field(text, "20 ", MEM, "0B");
	assert_field(text, "20 ", OUT, "1.00GiB");
	assert_field(text, "30 ", MEM, "-");
	assert_field(text, "20 ", USED, "-");
	assert_field(text, "20 ", TURN, "0.0");
	/* Turns are best-effort's. */
	assert_field(text, "30 ", USED, "0.0");
	assert_field(text, "30 ", TURN, "-");
	assert_field(text, "30 ", CUT, "-");
	assert_non_null(strstr(text, "be credit, lc edf"));
	assert_non_null(strstr(text, "turns/s 20.0"));
	assert_non_null(strstr(text, "control 1.0%"));
	assert_non_null(strstr(text, "log lost -"));
	assert_non_null(strstr(text, "USED% is unknown here"));
	/* A name cannot control the terminal. */
	assert_null(strchr(text, '\033'));
	free(text);
}

/* A new tenant, or one with restarted counters, has no rate. */
static void nothing_to_compare_with(void **state)
{
	char *text = top(NULL, GP_TOP_PID, false);

	assert_field(text, "10 ", USED, "-");
	assert_non_null(strstr(text, "turns/s -"));
	free(text);
	old_tenant[0].pid = 11;
	new_tenant[1].age_ns = old_tenant[1].age_ns / 2;
	new_tenant[2].used_ns = old_tenant[2].used_ns - 1;
	now.device[0].up_ns = 1;
	text = top(&before, GP_TOP_PID, false);
	assert_field(text, "10 ", USED, "-");
	assert_field(text, "20 ", USED, "-");
	assert_field(text, "30 ", USED, "-");
	assert_non_null(strstr(text, "turns/s -"));
	free(text);
}

static void assert_order(enum gp_top_key key, bool reverse, const char *a, const char *b,
			 const char *c)
{
	char *text = top(&before, key, reverse);
	const char *x = strstr(text, a), *y = strstr(text, b), *z = strstr(text, c);

	assert_non_null(x);
	assert_non_null(y);
	assert_non_null(z);
	assert_true(x < y && y < z);
	free(text);
}

static void sorted(void **state)
{
	new_tenant[0].used_ns += 1;
	new_tenant[1].used_ns += 5000000;
	new_tenant[2].used_ns = GP_WIRE_UNKNOWN;
	new_tenant[1].resident_ns += 10;
	new_tenant[0].wait_p99_ns = 0;
	new_tenant[2].switch_p99_ns = 7;
	assert_order(GP_TOP_PID, false, "10 ", "20 ", "30 ");
	assert_order(GP_TOP_PID, true, "30 ", "20 ", "10 ");
	assert_order(GP_TOP_USED, false, "20 ", "10 ", "30 ");
	assert_order(GP_TOP_USED, true, "30 ", "10 ", "20 ");
	assert_order(GP_TOP_TURN, false, "20 ", "10 ", "30 ");
	assert_order(GP_TOP_WAIT, false, "10 ", "20 ", "30 ");
	assert_order(GP_TOP_SWITCH, false, "30 ", "10 ", "20 ");
	assert_order(GP_TOP_NAME, false, "30 ", "10 ", "20 ");
}

static void keys_have_names(void **state)
{
	enum gp_top_key key;

	for (int i = 0; i < GP_TOP_KEYS; i++) {
		assert_int_equal(gp_top_key_parse(gp_top_key_name((enum gp_top_key)i), &key), 0);
		assert_int_equal(key, i);
	}
	assert_int_equal(gp_top_key_parse("", &key), -EINVAL);
	assert_int_equal(gp_top_key_parse("usedd", &key), -EINVAL);
}

/* ---- why --------------------------------------------------------------------------- */

static struct gp_wire_reason reason_of(uint32_t why)
{
	struct gp_wire_reason r = {
		.pid = 1,
		.reason = why,
		.for_ns = GP_WIRE_UNKNOWN,
		.until_ns = GP_WIRE_UNKNOWN,
	};

	return r;
}

static void assert_sentence(const struct gp_wire_reason *r, const char *text)
{
	char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	gp_why_sentence(out, r);
	fclose(out);
	assert_string_equal(got, text);
	free(got);
}

static void a_sentence_for_each(void **state)
{
	struct gp_wire_reason r;

	r = reason_of(GP_WHY_RUNS);
	assert_sentence(&r, "Nothing delays it: its work runs.");
	r = reason_of(GP_WHY_NO_GROUP);
	assert_sentence(&r, "It has nothing to run: it has no known compute group on this device.");
	r = reason_of(GP_WHY_IDLE);
	assert_sentence(&r, "It has no work.");

	r = reason_of(GP_WHY_TURN);
	assert_sentence(&r, "It waits for its turn.");
	r.ahead = 1;
	assert_sentence(&r, "It waits for its turn; 1 other goes before it.");
	r.ahead = 2;
	r.other_pid = 4711;
	strcpy(r.other_comm, "train");
	r.for_ns = 12000000;
	r.until_ns = 38000000;
	assert_sentence(&r, "It waits for its turn; 2 others go before it. It is the turn of "
			    "process 4711 (train), for 12.0ms so far and 38.0ms more at most.");
	r.until_ns = GP_WIRE_UNKNOWN;
	assert_sentence(&r, "It waits for its turn; 2 others go before it. It is the turn of "
			    "process 4711 (train), for 12.0ms so far; the rest is unknown.");

	r.reason = GP_WHY_PUT_OFF;
	r.for_ns = GP_WIRE_UNKNOWN;
	r.until_ns = 20000000;
	assert_sentence(&r, "Its turn has come, but latency-critical process 4711 (train) defers "
			    "it, for 20.0ms more at most.");
	r.reason = GP_WHY_SWITCHING;
	assert_sentence(&r, "Its turn has begun: gpreemptd suspends process 4711 (train) first.");
	r.reason = GP_WHY_LC;
	assert_sentence(&r, "Latency-critical process 4711 (train) has the device, or goes first, "
			    "for 20.0ms more at most.");
	r.reason = GP_WHY_MINIMUM;
	assert_sentence(&r, "Best-effort has its minimum of the device now, for 20.0ms more at "
			    "most.");
	r.reason = GP_WHY_SLOW;
	assert_sentence(&r, "It takes longer than be_leave_limit to leave the device, and "
			    "latency-critical work may come before it has left, for 20.0ms more "
			    "at most.");
	r.reason = GP_WHY_RETRY;
	r.error = -EBUSY;
	assert_sentence(
		&r,
		"It could not be resumed (Device or resource busy); gpreemptd retries in 20.0ms.");
	r.reason = GP_WHY_CAP;
	r.request.cap_pct = 30;
	assert_sentence(
		&r,
		"It has used its cap, 30 % of the device, for now; it may run again in 20.0ms.");

	r = reason_of(GP_WHY_SWITCHING);
	assert_sentence(&r, "Its turn has begun: gpreemptd resumes it.");
	r = reason_of(GP_WHY_PILES);
	r.until_ns = 3000000;
	assert_sentence(&r, "Its launches pile up while best-effort work runs, until it waits for "
			    "them, for 3.00ms more at most.");
	r = reason_of(GP_WHY_PILES + 1);
	assert_sentence(&r, "Unknown reason 12; install the gpreempt of gpreemptd's version.");
}

static void each_reason_has_a_name(void **state)
{
	for (uint32_t i = 0; i <= GP_WHY_PILES; i++) {
		assert_string_not_equal(gp_why_name(i), "unknown");
		for (uint32_t other = 0; other < i; other++)
			assert_string_not_equal(gp_why_name(i), gp_why_name(other));
	}
	assert_string_equal(gp_why_name(GP_WHY_PILES + 1), "unknown");
}

static char *late(uint32_t cls, uint32_t origin, uint32_t usage)
{
	const struct gp_wire_tenant t = {
		.request = { .cls = cls },
		.origin = origin,
		.usage = usage,
	};
	const struct gp_wire_device d = { .suspends = 2, .resumes = 2, .control_ns = 4800000 };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	gp_why_late(out, &t, &d);
	fclose(out);
	return text;
}

static void late_knowledge_is_told(void **state)
{
	char *text = late(GP_CLASS_LC, GP_WIRE_BY_ATTACH, GP_WIRE_USAGE_LOG);

	assert_non_null(strstr(text, "33 ms after it arrives"));
	assert_non_null(strstr(text, "takes 1.20ms on average"));
	free(text);
	text = late(GP_CLASS_LC, GP_WIRE_BY_RULE, GP_WIRE_USAGE_NONE);
	assert_non_null(strstr(text, "does not see its work"));
	free(text);
	text = late(GP_CLASS_LC, GP_WIRE_BY_RUN, GP_WIRE_USAGE_LOG);
	assert_string_equal(text, "");
	free(text);
	text = late(GP_CLASS_BE, GP_WIRE_BY_RULE, GP_WIRE_USAGE_LOG);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_have_three_digits),
		cmocka_unit_test(bytes),
		cmocka_unit_test(states),
		cmocka_unit_test_setup(what_came_about, setup),
		cmocka_unit_test_setup(nothing_to_compare_with, setup),
		cmocka_unit_test_setup(sorted, setup),
		cmocka_unit_test(keys_have_names),
		cmocka_unit_test(a_sentence_for_each),
		cmocka_unit_test(each_reason_has_a_name),
		cmocka_unit_test(late_knowledge_is_told),
	};

	return gp_run_tests(tests);
}
