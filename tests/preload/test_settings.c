// SPDX-License-Identifier: Apache-2.0
/* Settings of memory by the environment and by gpreemptd's rule. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Tests link the library, not the preload: its sources are part of this one. */
#define gp_wire_ask_rule answer_rule /* there is no gpreemptd */
#include "preload/settings.c"
#include "tests/common/gp_test.h"

#define GIB (1ull << 30)

static struct gp_wire_ruled rule;
static int answer;
static unsigned int asked;
static char logged[256];

int answer_rule(const struct gp_class_request *request, struct gp_wire_ruled *ruled,
		char refusal[GP_WIRE_TEXT_LEN], int timeout_ms)
{
	assert_int_equal(request->cls.cls, GP_CLASS_NONE);
	assert_true(timeout_ms > 0);
	asked++;
	*ruled = rule;
	return answer;
}

static void note(enum gp_log_level level, const char *text, void *arg)
{
	snprintf(logged, sizeof(logged), "%s", text);
}

static int setup(void **state)
{
	static const char *const names[] = { "",       "_MAX",	"_RULE", "_AS",
					     "_TURNS", "_HOOK", "_HOST", "_ASKED" };
	char name[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "GPREEMPT_MEMORY%s", names[i]);
		unsetenv(name);
	}
	rule = (struct gp_wire_ruled){
		.memory_min = GP_WIRE_UNKNOWN,
		.memory_max = GP_WIRE_UNKNOWN,
		.host_memory = GP_WIRE_UNKNOWN,
	};
	answer = 0;
	asked = 0;
	logged[0] = '\0';
	return 0;
}

static struct gp_memory_settings get(bool be)
{
	struct gp_memory_settings s;

	gp_memory_settings_read(&s, be);
	return s;
}

static void has_nothing(const struct gp_memory_settings *s)
{
	assert_false(s->leaves || s->turns || s->one);
	assert_int_equal(s->limits.min, 0);
	assert_int_equal(s->limits.max, UINT64_MAX);
	assert_int_equal(s->host, UINT64_MAX);
	assert_int_equal(s->max, UINT64_MAX);
	assert_string_equal(s->rule, "");
	assert_string_equal(s->hook, "");
}

static void is_nothing_by_itself(void **state)
{
	struct gp_memory_settings s = get(true);

	has_nothing(&s);
	assert_int_equal(asked, 1);
	/* No gpreemptd, or none that answers. */
	rule.memory_max = rule.turns = 1;
	answer = -ENOENT;
	s = get(true);
	has_nothing(&s);
	setenv("GPREEMPT_MEMORY", "0", 1);
	setenv("GPREEMPT_MEMORY_TURNS", "1", 1);
	s = get(true);
	has_nothing(&s);
}

/* gpreempt run has asked: its environment is all. */
static void reads_the_environment(void **state)
{
	struct gp_memory_settings s;

	setenv("GPREEMPT_MEMORY_ASKED", "1", 1);
	setenv("GPREEMPT_MEMORY", "2GiB:5GiB", 1);
	setenv("GPREEMPT_MEMORY_MAX", "4GiB", 1);
	setenv("GPREEMPT_MEMORY_RULE", "a rule", 1);
	setenv("GPREEMPT_MEMORY_AS", "one", 1);
	setenv("GPREEMPT_MEMORY_HOST", "3GiB", 1);
	setenv("GPREEMPT_MEMORY_HOOK", "http://a/b,http://a/c", 1);
	rule.memory_max = rule.memory_min = 1;
	s = get(true);
	assert_int_equal(asked, 0);
	assert_true(s.leaves && s.one && !s.turns);
	assert_int_equal(s.limits.min, 2 * GIB);
	assert_int_equal(s.limits.max, 5 * GIB);
	assert_int_equal(s.max, 4 * GIB);
	assert_int_equal(s.host, 3 * GIB);
	assert_string_equal(s.rule, "a rule");
	assert_string_equal(s.hook, "http://a/b,http://a/c");
	setenv("GPREEMPT_MEMORY_AS", "each", 1);
	setenv("GPREEMPT_MEMORY_TURNS", "1", 1);
	s = get(true);
	assert_true(!s.one && s.turns);
	setenv("GPREEMPT_MEMORY_ASKED", "0", 1);
	get(true);
	assert_int_equal(asked, 1);
}

static void refuses_other_values(void **state)
{
	struct gp_memory_settings s;

	setenv("GPREEMPT_MEMORY", "20", 1);
	s = get(true);
	has_nothing(&s);
	assert_non_null(strstr(logged,
			       "GPREEMPT_MEMORY=20: not 1 or MIN:MAX; memory of this process "
			       "stays"));
	unsetenv("GPREEMPT_MEMORY");
	setenv("GPREEMPT_MEMORY_MAX", "much", 1);
	s = get(true);
	has_nothing(&s);
	assert_non_null(strstr(logged, "GPREEMPT_MEMORY_MAX=much: not a size; it is no limit"));
	unsetenv("GPREEMPT_MEMORY_MAX");
	setenv("GPREEMPT_MEMORY_HOST", "1", 1);
	s = get(true);
	has_nothing(&s);
	assert_non_null(strstr(logged, "GPREEMPT_MEMORY_HOST=1: not a size; it is no limit"));
}

static void follows_limits(void **state)
{
	struct gp_memory_settings s;

	rule.memory_max = 4 * GIB;
	rule.host_memory = 2 * GIB;
	rule.one = 1;
	strcpy(rule.rule, "the rule at f:2");
	s = get(false);
	assert_true(s.one && !s.leaves);
	assert_int_equal(s.max, 4 * GIB);
	assert_int_equal(s.host, 2 * GIB);
	assert_string_equal(s.rule, "the rule at f:2");
	/* The stricter one counts. */
	setenv("GPREEMPT_MEMORY_HOST", "1GiB", 1);
	assert_int_equal(get(false).host, GIB);
	setenv("GPREEMPT_MEMORY_HOST", "3GiB", 1);
	assert_int_equal(get(false).host, 2 * GIB);
	/* Without a limit it is no rule for memory. */
	rule.memory_max = GP_WIRE_UNKNOWN;
	s = get(false);
	assert_true(s.max == UINT64_MAX && !s.one && !*s.rule);
}

static void lowers_min(void **state)
{
	rule.memory_min = 3 * GIB;
	rule.memory_max = 8 * GIB;
	strcpy(rule.rule, "the rule at f:2");
	setenv("GPREEMPT_MEMORY", "3GiB:", 1);
	assert_int_equal(get(true).limits.min, 3 * GIB);
	assert_string_equal(logged, "");
	setenv("GPREEMPT_MEMORY", "4GiB:", 1);
	assert_int_equal(get(true).limits.min, 3 * GIB);
	assert_non_null(strstr(logged, "--mem: MIN is 3GiB, by the rule at f:2"));
	rule.memory_max = 2 * GIB;
	assert_int_equal(get(true).limits.min, 2 * GIB);
}

static void follows_turns(void **state)
{
	struct gp_memory_settings s;

	rule.turns = 1;
	strcpy(rule.hook, "http://a/b,http://a/c,10s");
	s = get(true);
	assert_true(s.leaves && s.turns && !*s.hook);
	/* Memory of other classes stays. */
	s = get(false);
	assert_false(s.leaves || s.turns);
	assert_string_equal(s.hook, "");
}

static void follows_a_hook(void **state)
{
	strcpy(rule.hook, "http://a/b,http://a/c,10s");
	assert_string_equal(get(true).hook, "");
	setenv("GPREEMPT_MEMORY", "1", 1);
	assert_string_equal(get(true).hook, rule.hook);
	setenv("GPREEMPT_MEMORY_HOOK", "http://own/b,http://own/c", 1);
	assert_string_equal(get(true).hook, "http://own/b,http://own/c");
	unsetenv("GPREEMPT_MEMORY_HOOK");
	setenv("GPREEMPT_MEMORY_TURNS", "1", 1);
	assert_string_equal(get(true).hook, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(is_nothing_by_itself, setup),
		cmocka_unit_test_setup(reads_the_environment, setup),
		cmocka_unit_test_setup(refuses_other_values, setup),
		cmocka_unit_test_setup(follows_limits, setup),
		cmocka_unit_test_setup(lowers_min, setup),
		cmocka_unit_test_setup(follows_turns, setup),
		cmocka_unit_test_setup(follows_a_hook, setup),
	};

	/* Once: an old one is never freed, since a thread may be in it. */
	gp_set_log(note, NULL);
	return gp_run_tests(tests);
}
