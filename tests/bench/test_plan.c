// SPDX-License-Identifier: Apache-2.0
/* Plans: used, ignored and refused contents of a file. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "bench/plan/plan.h"
#include "tests/common/gp_test.h"

#define NAMED(id, load, client)                                                                  \
	"{\"time\": 2, \"tasks\": [{\"id\": \"" id "\", \"load\": " load ", \"client\": " client \
	"}]}"
#define TASK(load, client) NAMED("a", load, client)
#define LOAD "{\"type\": \"periodic\", \"frequency\": 100}"

static struct gp_plan *parse(const char *text, char *why, size_t len)
{
	return gp_plan_parse("p.json", text, strlen(text), why, len);
}

static struct gp_plan *good(const char *text)
{
	char why[256] = "";
	struct gp_plan *p = parse(text, why, sizeof(why));

	if (!p)
		fail_msg("%s", why);
	return p;
}

static void takes_what_it_says(void **state)
{
	struct gp_plan *p = good(
		"{\"time\": 1.5, \"more\": 1, \"tasks\": ["
		"{\"id\": \"a\", \"load\": {\"type\": \"poisson\", \"frequency\": 0.5, \"x\": 1},"
		" \"client\": {\"model_name\": \"vgg\", \"priority\": 0, \"batch_size\": 4,"
		"  \"use_cuda_graph\": true, \"preprocess_time\": 200, \"addr\": \"b\"}},"
		"{\"load\": {\"type\": \"trace\", \"priority\": 0, \"trace\": [0, 2.5, 2.5, 9]},"
		" \"client\": {\"name\": \"n\", \"addr\": 1}},"
		"{\"load\": {\"type\": \"continuous\"}, \"client\": {\"model_name\": \"m\"}},"
		"{\"load\": {\"type\": \"dependent\", \"prev_task_ids\": [\"a\", \"m-2\"]},"
		" \"client\": {}}]}");
	const struct gp_plan_client *c = p->client;

	assert_true(p->seconds == 1.5);
	assert_int_equal(p->clients, 4);
	assert_string_equal(c[0].id, "a");
	assert_string_equal(c[0].model, "vgg");
	assert_true(c[0].lc && c[0].graph && c[0].rate == 0.5);
	assert_int_equal(c[0].load, GP_PLAN_POISSON);
	assert_int_equal(c[0].batch, 4);
	assert_int_equal(c[0].prepare_us, 200);
	assert_string_equal(c[1].id, "n-1");
	assert_null(c[1].model);
	assert_true(c[1].lc && !c[1].graph);
	assert_int_equal(c[1].traces, 4);
	assert_int_equal(c[1].trace_ns[1], 2500000);
	assert_int_equal(c[1].trace_ns[3], 9000000);
	assert_string_equal(c[2].id, "m-2");
	assert_false(c[2].lc);
	assert_int_equal(c[2].batch, 1);
	assert_string_equal(c[3].id, "task-3");
	assert_int_equal(c[3].after, 1u << 0 | 1u << 2);
	/* Each unknown field once. */
	assert_int_equal(p->unknowns, 3);
	assert_string_equal(p->unknown[0], "load.x");
	assert_string_equal(p->unknown[1], "client.addr");
	assert_string_equal(p->unknown[2], "more");
	gp_plan_destroy(p);
}

/* The client's priority is its class; else its id's; else the load's priority. */
static void takes_more_than_theirs(void **state)
{
	struct gp_plan *p = good(
		"{\"schema_version\": 1, \"what\": \"w\", \"source\": \"s\", \"time\": 1, "
		"\"tasks\": ["
		"{\"id\": \"a\", \"load\": {\"type\": \"bursty\", \"frequency\": 5, \"sigma\": 2},"
		" \"client\": {\"priority\": 0, \"level\": 3, \"deadline_us\": 7,"
		"  \"hint_off_us\": -300}},"
		"{\"id\": \"b\", \"load\": {\"type\": \"poisson\", \"offered\": 0.25},"
		" \"client\": {\"weight\": 300, \"killed_every_s\": 2.5}}]}");
	const struct gp_plan_client *c = p->client;
	char law[32];

	assert_string_equal(p->what, "w");
	assert_string_equal(p->source, "s");
	assert_int_equal(p->unknowns, 0);
	assert_int_equal(c[0].load, GP_PLAN_BURSTY);
	gp_plan_law(&c[0], law, sizeof(law));
	assert_string_equal(law, "bursty:2.000000");
	assert_int_equal(c[0].level, 3);
	assert_int_equal(c[0].deadline_us, 7);
	assert_int_equal(c[0].hint_off_us, -300);
	assert_true(c[1].offered == 0.25 && c[1].rate == 0);
	gp_plan_law(&c[1], law, sizeof(law));
	assert_string_equal(law, "poisson");
	assert_int_equal(c[1].weight, 300);
	assert_true(c[0].killed_every_s == 0 && c[1].killed_every_s == 2.5);
	assert_true(gp_plan_kills(p));
	p->client[1].killed_every_s = 0;
	assert_false(gp_plan_kills(p));
	gp_plan_destroy(p);
}

static void says_of_deadlines(void **state)
{
	struct gp_plan *p =
		good(NAMED("a", "{\"type\": \"periodic\", \"frequency\": 16.666666666666668}",
			   "{\"priority\": 0, \"deadline_us\": 60000, \"runtime_us\": 60000}"));
	struct gp_plan_client *c = p->client;

	assert_int_equal(c->runtime_us, 60000);
	assert_int_equal(gp_plan_period_ns(c), 60000000);
	assert_true(gp_plan_period_fits(c));
	c->rate = 17;
	assert_false(gp_plan_period_fits(c));
	c->rate = 0.1;
	assert_true(gp_plan_period_fits(c));
	c->rate = 0.09;
	assert_false(gp_plan_period_fits(c));
	gp_plan_destroy(p);
}

static void scales(void **state)
{
	static const double alone_per_s[] = { 10, 100, 1000 };
	struct gp_plan *p =
		good("{\"time\": 2, \"tasks\": ["
		     "{\"id\": \"a\", \"load\": {\"type\": \"periodic\", \"frequency\": 8},"
		     " \"client\": {}},"
		     "{\"id\": \"b\", \"load\": {\"type\": \"trace\", \"trace\": [0, 3, 900]},"
		     " \"client\": {\"model_name\": \"m\"}},"
		     "{\"id\": \"c\", \"load\": {\"type\": \"poisson\", \"offered\": 0.2},"
		     " \"client\": {}}]}");
	struct gp_plan *scaled = gp_plan_scaled(p, alone_per_s, 1.5);

	gp_plan_destroy(p);
	assert_non_null(scaled);
	assert_true(scaled->seconds == 2 && scaled->clients == 3);
	assert_true(scaled->client[0].rate == 12);
	assert_string_equal(scaled->client[1].model, "m");
	assert_int_equal(scaled->client[1].trace_ns[0], 0);
	assert_int_equal(scaled->client[1].trace_ns[1], 2000000);
	assert_int_equal(scaled->client[1].trace_ns[2], 600000000);
	/* Its offered rate is reported. */
	assert_true(scaled->client[2].rate == 200);
	gp_plan_destroy(scaled);
}

static void knows_the_class(void **state)
{
	static const struct {
		const char *text;
		bool lc;
	} tries[] = {
		{ TASK("{\"type\": \"continuous\"}", "{}"), false },
		{ TASK("{\"type\": \"continuous\", \"priority\": 0}", "{}"), true },
		{ TASK("{\"type\": \"continuous\", \"priority\": 1}", "{}"), false },
		{ TASK("{\"type\": \"continuous\", \"priority\": 0}", "{\"priority\": 1}"), false },
		{ TASK("{\"type\": \"continuous\", \"priority\": 1}", "{\"priority\": 0}"), true },
		{ NAMED("a_rt", "{\"type\": \"continuous\"}", "{}"), true },
		{ NAMED("a_be", "{\"type\": \"continuous\", \"priority\": 0}", "{}"), false },
		{ NAMED("a_rt", "{\"type\": \"continuous\"}", "{\"priority\": 1}"), false },
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct gp_plan *p = good(tries[i].text);

		assert_int_equal(p->client[0].lc, tries[i].lc);
		gp_plan_destroy(p);
	}
}

static void says_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *why;
	} tries[] = {
		{ "", "p.json:1: " },
		{ "[1]", "p.json: time: found nothing, seconds above 0" },
		{ "{\"time\": -1, \"tasks\": []}", "time: found -1, " },
		{ "{\"time\": 1, \"tasks\": []}", "tasks: found 0, a list of 1 to 64" },
		{ "{\"time\": 1, \"tasks\": [3]}", "tasks[0]: {\"id\": .., " },
		{ TASK("3", "{}"), "tasks[0].load: found 3, " },
		{ TASK("{}", "{}"), "tasks[0].load.type: found nothing, periodic, " },
		{ TASK("{\"type\": \"x\"}", "{}"), "load.type: found \"x\", " },
		{ TASK("{\"type\": \"periodic\"}", "{}"), "load.frequency: found nothing, " },
		{ TASK("{\"type\": \"poisson\", \"frequency\": 0}", "{}"),
		  "load.frequency: found 0, a number above 0" },
		{ TASK("{\"type\": \"poisson\", \"frequency\": 1e9}", "{}"), "up to 1000000" },
		{ TASK("{\"type\": \"trace\"}", "{}"), "load.trace: found nothing, a list" },
		{ TASK("{\"type\": \"trace\", \"trace\": [1, \"2\"]}", "{}"),
		  "load.trace[1]: found \"2\", a time in ms" },
		{ TASK("{\"type\": \"trace\", \"trace\": [1, 0.5]}", "{}"),
		  "load.trace[1]: found 0.5, times in ascending" },
		{ TASK("{\"type\": \"trace\", \"trace\": [1e15]}", "{}"), "of one day" },
		{ TASK("{\"type\": \"dependent\"}", "{}"), "prev_task_ids: found nothing" },
		{ TASK("{\"type\": \"dependent\", \"prev_task_ids\": [\"b\"]}", "{}"),
		  "prev_task_ids: found \"b\", the id of another" },
		{ TASK("{\"type\": \"dependent\", \"prev_task_ids\": [\"a\"]}", "{}"),
		  "\"a\" waits for itself; remove the circle" },
		{ "{\"schema_version\": 2, \"time\": 1, \"tasks\": []}",
		  "p.json: schema_version: found 2, 1 is wanted" },
		{ "{\"what\": \"a\\nb\", \"time\": 1, \"tasks\": []}", "what: found " },
		{ TASK("{\"type\": \"bursty\", \"frequency\": 1, \"sigma\": 4}", "{}"),
		  "load.sigma: found 4, a number from 0.001 to 3" },
		{ TASK("{\"type\": \"poisson\", \"offered\": 1.5}", "{}"),
		  "load.offered: found 1.5, a number above 0, up to 1" },
		{ TASK("{\"type\": \"poisson\", \"offered\": 0.5, \"frequency\": 1}", "{}"),
		  "load.offered: found 0.5, \"frequency\" or \"offered\" is wanted, not both" },
		{ TASK(LOAD, "{\"level\": 1}"), "client.level: found 1, \"level\" is a latency" },
		{ TASK(LOAD, "{\"priority\": 0, \"weight\": 1}"), "\"weight\" is a best-effort" },
		{ TASK(LOAD, "{\"priority\": 0, \"level\": 16}"), "from 0 to 15 is wanted" },
		{ TASK(LOAD, "{\"weight\": 0}"), "from 1 to 10000 is wanted" },
		{ TASK(LOAD, "{\"deadline_us\": 0}"), "from 1 to 100000000 is wanted" },
		{ TASK(LOAD, "{\"hint_off_us\": -1000001}"), "from -1000000 to 1000000" },
		{ TASK(LOAD, "{\"runtime_us\": 5}"),
		  "p.json: tasks[0].client.runtime_us: found 5, \"runtime_us\" is a latency-" },
		{ TASK(LOAD, "{\"priority\": 0, \"runtime_us\": 5}"),
		  "client.runtime_us: found 5, \"deadline_us\" is wanted with it" },
		{ TASK(LOAD, "{\"priority\": 0, \"deadline_us\": 9000, \"runtime_us\": 9001}"),
		  "client.runtime_us: found 9001, a whole number from 1 to 9000 is wanted" },
		{ TASK(LOAD, "{\"priority\": 0, \"deadline_us\": 10001, \"runtime_us\": 9}"),
		  "client.deadline_us: found 10001, with \"runtime_us\" no more than the period" },
		{ TASK("{\"type\": \"periodic\", \"frequency\": 0.09}",
		       "{\"priority\": 0, \"deadline_us\": 9, \"runtime_us\": 9}"),
		  "and that of 10 s at most" },
		{ TASK("{\"type\": \"poisson\", \"frequency\": 100}",
		       "{\"priority\": 0, \"deadline_us\": 9, \"runtime_us\": 9}"),
		  "client.runtime_us: found 9, a load that is periodic" },
		{ TASK("{\"type\": \"periodic\", \"offered\": 0.5}",
		       "{\"priority\": 0, \"deadline_us\": 9, \"runtime_us\": 9}"),
		  "client.runtime_us: found 9, a load that is periodic" },
		{ TASK(LOAD, "{\"killed_every_s\": 0.0625}"),
		  "p.json: tasks[0].client.killed_every_s: found 0.0625, a number of seconds "
		  "from 0.1 to 86400 is wanted" },
		{ TASK(LOAD, "{\"killed_every_s\": \"2\"}"), "found \"2\", a number of seconds" },
		{ TASK(LOAD, "{\"killed_every_s\": 1e9}"), "found 1000000000.0, a number of s" },
		{ TASK(LOAD, "{\"killed_every_s\": 2, \"priority\": 0}"),
		  "killed_every_s: found 2, \"killed_every_s\" is a best-effort client's" },
		{ TASK(LOAD, "{\"killed_every_s\": 2}"),
		  "p.json: tasks: found \"killed_every_s\" in all clients; one client without "
		  "it is wanted" },
		{ TASK("{\"type\": \"dependent\", \"prev_task_ids\": [\"b\"]}",
		       "{\"killed_every_s\": 2}"),
		  "a dependent client cannot have it" },
		{ "{\"time\": 1, \"tasks\": [{\"id\": \"a\", \"load\": {\"type\": "
		  "\"continuous\"}, \"client\": {\"killed_every_s\": 2}}, {\"id\": \"b\", "
		  "\"load\": {\"type\": \"dependent\", \"prev_task_ids\": [\"a\"]}, "
		  "\"client\": {}}]}",
		  "tasks[1].load.prev_task_ids: found \"a\", the id of a task "
		  "that is not killed is wanted" },
		{ TASK(LOAD, "3"), "tasks[0].client: found 3, " },
		{ TASK(LOAD, "{\"priority\": 2}"), "client.priority: found 2, " },
		{ TASK(LOAD, "{\"batch_size\": 0}"), "a whole number from 1 to 65536" },
		{ TASK(LOAD, "{\"preprocess_time\": 1.5}"), "client.preprocess_time: found 1.5" },
		{ TASK(LOAD, "{\"use_cuda_graph\": 1}"), "true or false is wanted" },
		{ TASK(LOAD, "{\"model_name\": \"\"}"), "client.model_name: found \"\", a text" },
		{ TASK(LOAD, "{\"model_name\": \"a b\"}"), "none of them a blank" },
		{ "{\"time\": 1, \"tasks\": [{\"id\": \"a\", \"load\": {\"type\": "
		  "\"continuous\"}, \"client\": {}}, {\"id\": \"a\", \"load\": {\"type\": "
		  "\"continuous\"}, \"client\": {}}]}",
		  "tasks[1].id: found \"a\", the id of tasks[0]" },
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		char why[256] = "";

		assert_null(parse(tries[i].text, why, sizeof(why)));
		if (!strstr(why, tries[i].why))
			fail_msg("\"%s\" is not in \"%s\"", tries[i].why, why);
	}
}

/* Two clients wait for each other, beside one that does not. */
static void refuses_circles(void **state)
{
	static const char text[] =
		"{\"time\": 1, \"tasks\": ["
		"{\"id\": \"a\", \"load\": {\"type\": \"continuous\"}, \"client\": {}},"
		"{\"id\": \"b\", \"load\": {\"type\": \"dependent\", \"prev_task_ids\": "
		"[\"a\", \"c\"]}, \"client\": {}},"
		"{\"id\": \"c\", \"load\": {\"type\": \"dependent\", \"prev_task_ids\": "
		"[\"b\"]}, \"client\": {}}]}";
	char why[256] = "";

	assert_null(parse(text, why, sizeof(why)));
	assert_non_null(strstr(why, "tasks[1].load.prev_task_ids: \"b\" waits"));
}

/* Plans as their authors published them: the first client is LC, and others are beside it. */
static size_t read_all(const char *folder)
{
	DIR *dir = opendir(folder);
	size_t count = 0;

	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		char path[512], why[256] = "";
		struct gp_plan *p;

		if (!strstr(e->d_name, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		p = gp_plan_read(path, why, sizeof(why));
		if (!p)
			fail_msg("%s", why);
		assert_true(p->clients >= 2);
		assert_true(p->client[0].lc);
		gp_plan_destroy(p);
		count++;
	}
	closedir(dir);
	return count;
}

static void reads_the_artifacts_files(void **state)
{
	assert_int_equal(read_all("bench/data/plans/gpreempt"), 9);
	assert_int_equal(read_all("bench/data/plans/gpreempt/micro-3.2.2"), 5);
	assert_int_equal(read_all("bench/data/plans/gpreempt/micro-5.3"), 6);
	assert_int_equal(read_all("bench/data/plans/disb"), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_it_says), cmocka_unit_test(takes_more_than_theirs),
		cmocka_unit_test(says_of_deadlines),  cmocka_unit_test(scales),
		cmocka_unit_test(knows_the_class),    cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(refuses_circles),    cmocka_unit_test(reads_the_artifacts_files),
	};

	return gp_run_tests(tests);
}
