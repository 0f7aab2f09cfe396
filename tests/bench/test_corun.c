// SPDX-License-Identifier: Apache-2.0
/* Plans on the model of a GPU: arrivals, and each scheduler's effect on them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/plan/samples.h"
#include "bench/model/corun.h"
#include "tests/common/gp_test.h"

#define US 1000ull
#define MS 1000000ull
#define CLIENT(id, load, more) "{\"id\": \"" id "\", \"load\": {" load "}, \"client\": {" more "}}"
#define EVERY_5MS "\"type\": \"periodic\", \"frequency\": 200"
#define ENDLESS "\"type\": \"continuous\""
#define FIVE "\"priority\": 0, \"model_name\": \"train:5x110us\", \"preprocess_time\": 300"
#define TEN_MS "\"priority\": 1, \"model_name\": \"spin:10ms\""
#define PLAN(clients) "{\"time\": 2, \"tasks\": [" clients "]}"
/* Preparation, five kernels, and a request's overhead. */
#define ALONE_NS (300 * US + 550 * US + 10 * US)

struct fix {
	struct gp_model_config device;
	struct gp_plan *plan;
	struct gp_workload *workload[GP_PLAN_CLIENTS_MAX];
	struct gp_corun run;
	struct gp_plan_result result;
};

static void begin(struct fix *f, const char *text)
{
	char why[256];

	memset(f, 0, sizeof(*f));
	gp_model_config_h200(&f->device);
	f->plan = gp_plan_parse("test", text, strlen(text), why, sizeof(why));
	assert_non_null(f->plan);
	for (size_t i = 0; i < f->plan->clients; i++) {
		f->workload[i] = gp_workload_named(f->plan->client[i].model, why, sizeof(why));
		assert_non_null(f->workload[i]);
	}
	f->run = (struct gp_corun){
		.device = &f->device,
		.plan = f->plan,
		.seed = 1,
		.workload = (const struct gp_workload *const *)f->workload,
	};
}

static const struct gp_plan_done *ran(struct fix *f, enum gp_corun_scheduler scheduler)
{
	gp_plan_result_free(&f->result);
	f->run.scheduler = scheduler;
	assert_int_equal(gp_corun_run(&f->run, &f->result), 0);
	return f->result.client;
}

static void end(struct fix *f)
{
	gp_plan_result_free(&f->result);
	for (size_t i = 0; i < f->plan->clients; i++)
		gp_workload_destroy(f->workload[i]);
	gp_plan_destroy(f->plan);
}

static uint64_t latency(const struct gp_plan_done *c, unsigned int per_mille)
{
	uint64_t ns[4096];

	assert_in_range(c->requests, 1, 4096);
	for (size_t i = 0; i < c->requests; i++)
		ns[i] = c->request[i].end_ns - c->request[i].intended_ns;
	gp_samples_sort(ns, c->requests);
	return gp_samples_rank(ns, c->requests, per_mille);
}

static void alone(void **state)
{
	const struct gp_plan_done *c;
	struct gp_plan_alone by_itself;
	struct fix f;

	begin(&f, PLAN(CLIENT("lc", EVERY_5MS, FIVE)));
	c = ran(&f, GP_CORUN_SLICES);
	assert_int_equal(c->requests, 399);
	assert_int_equal(c->left, 0);
	for (size_t i = 0; i < c->requests; i++) {
		const struct gp_request *r = &c->request[i];

		assert_int_equal(r->intended_ns, f.result.begin_ns + (i + 1) * 5 * MS);
		assert_int_equal(r->start_ns, r->intended_ns);
		/* The first request loads its context. */
		if (i)
			assert_int_equal(r->end_ns - r->intended_ns, ALONE_NS);
	}
	assert_int_equal(gp_corun_alone(&f.run, 0, &by_itself), 0);
	assert_int_equal(by_itself.p50_ns, ALONE_NS);
	assert_int_equal(by_itself.first_ns, 0);
	assert_in_range(by_itself.per_s * ALONE_NS / 1e9 * 1000, 990, 1000);
	end(&f);
}

/* sjf observes launches, which costs no time: neither of a graph nor of kernels. */
static void watched_launches(void **state)
{
	static const char *const graph[] = { "", ", \"use_cuda_graph\": true" };

	for (size_t i = 0; i < 2; i++) {
		char text[512];
		uint64_t ns;
		struct fix f;

		snprintf(text, sizeof(text),
			 PLAN(CLIENT("lc", EVERY_5MS, FIVE "%s") ", " CLIENT(
				 "seldom", "\"type\": \"periodic\", \"frequency\": 0.6",
				 "\"priority\": 0, \"model_name\": \"spin:1ms\"")),
			 graph[i]);
		begin(&f, text);
		ns = latency(ran(&f, GP_CORUN_HINTED), 500);
		assert_int_equal(latency(ran(&f, GP_CORUN_SJF), 500), ns);
		end(&f);
	}
}

/* One switch without hints, none visible with them. */
static void beside_best_effort(void **state)
{
	const uint64_t switch_ns = 190 * US;
	const struct gp_plan_done *c;
	size_t sliced, kept;
	struct fix f;

	begin(&f, PLAN(CLIENT("lc", EVERY_5MS, FIVE) ", " CLIENT("be", ENDLESS, TEN_MS)));
	c = ran(&f, GP_CORUN_SLICES);
	/* Arrival in a new kernel's first slice waits for the rest of the slice: every sixth. */
	assert_true(latency(&c[0], 500) > ALONE_NS + 100 * US);
	assert_true(latency(&c[0], 950) > 2 * ALONE_NS);
	sliced = c[1].requests;
	c = ran(&f, GP_CORUN_GPREEMPT);
	assert_in_range(latency(&c[0], 500), ALONE_NS + 100 * US, ALONE_NS + switch_ns);
	assert_true(latency(&c[0], 990) <= ALONE_NS + switch_ns);
	assert_true(c[1].requests * 100 >= sliced * 97);
	c = ran(&f, GP_CORUN_HINTED);
	assert_true(latency(&c[0], 500) <= ALONE_NS + 5 * US);
	/* The first requests determine the length of a switch. */
	assert_true(latency(&c[0], 980) <= ALONE_NS + 20 * US);
	/* A request's kernels, two switches and the lead take from best-effort. */
	kept = c[1].requests;
	assert_true(kept >= 2000 / 10 * (1 - 0.2 * (0.56 + 2 * 0.18 + 0.1)));
	assert_true(kept <= 2000 / 10 * (1 - 0.2 * (0.56 + 0.18)));
	end(&f);
}

/*
 * The daemon checks now and then: a tenant that continues at once was not idle, others lose
 * their turn.
 */
static void best_effort_is_seen_idle(void **state)
{
	static const char endless[] =
		PLAN(CLIENT("a", ENDLESS, TEN_MS) ", " CLIENT("b", ENDLESS, TEN_MS));
	static const char now_and_then[] = PLAN(CLIENT(
		"a", "\"type\": \"periodic\", \"frequency\": 20",
		"\"priority\": 1, \"model_name\": \"spin:1ms\"") ", " CLIENT("b", ENDLESS, TEN_MS));
	const struct gp_plan_done *c;
	struct fix f;

	begin(&f, endless);
	c = ran(&f, GP_CORUN_GPREEMPT);
	/* Four of five kernels are within one turn. */
	assert_true(latency(&c[0], 500) <= 11 * MS);
	assert_true(latency(&c[1], 500) <= 11 * MS);
	end(&f);
	begin(&f, now_and_then);
	c = ran(&f, GP_CORUN_GPREEMPT);
	/* If an idle tenant kept its turn, the other would get half of the time. */
	assert_true(c[1].requests >= 2000 / 10 * 85 / 100);
	end(&f);
}

/* One client at a time has the device. */
static void one_at_a_time(void **state)
{
	uint64_t had_ns[2] = { 0 }, last_ns = 0;
	struct fix f;

	begin(&f, PLAN(CLIENT("lc", EVERY_5MS, FIVE) ", " CLIENT("be", ENDLESS, TEN_MS)));
	ran(&f, GP_CORUN_HINTED);
	assert_true(f.result.stretches > 700);
	for (size_t i = 0; i < f.result.stretches; i++) {
		const struct gp_stretch *s = &f.result.stretch[i];

		assert_true(s->start_ns >= last_ns && s->end_ns >= s->start_ns);
		assert_in_range(s->client, 0, 1);
		had_ns[s->client] += s->end_ns - s->start_ns;
		last_ns = s->end_ns;
	}
	assert_true(had_ns[0] >= 399 * 550 * US);
	assert_true(had_ns[1] >= f.result.client[1].requests * 10 * MS);
	end(&f);
}

static void same_seed_same_run(void **state)
{
	static const char random[] = PLAN(CLIENT("lc",
						 "\"type\": \"poisson\", \"frequency\": "
						 "300",
						 FIVE) ", " CLIENT("be", ENDLESS, TEN_MS));
	struct fix a, b;
	size_t same = 0;

	begin(&a, random);
	begin(&b, random);
	ran(&a, GP_CORUN_HINTED);
	ran(&b, GP_CORUN_HINTED);
	assert_int_equal(a.result.client[0].requests, b.result.client[0].requests);
	assert_memory_equal(a.result.client[0].request, b.result.client[0].request,
			    a.result.client[0].requests * sizeof(struct gp_request));
	b.run.seed = 2;
	ran(&b, GP_CORUN_HINTED);
	for (size_t i = 0; i < 100; i++)
		same += a.result.client[0].request[i].intended_ns ==
			b.result.client[0].request[i].intended_ns;
	assert_int_equal(same, 0);
	end(&a);
	end(&b);
}

/* In an open loop a late client has more to do, and no request is left out. */
static void nothing_is_left_out(void **state)
{
	const struct gp_plan_done *c;
	struct fix f;

	begin(&f, PLAN(CLIENT("lc", EVERY_5MS, "\"priority\": 0, \"model_name\": \"spin:8ms\"")));
	c = ran(&f, GP_CORUN_GPREEMPT);
	assert_int_equal(c->requests + c->left, 399);
	assert_true(c->left > 80);
	/* Requests complete in the 2 s of the plan and 0.5 s after it. */
	assert_in_range(c->requests, 300, 312);
	for (size_t i = 1; i < c->requests; i++)
		assert_int_equal(c->request[i].intended_ns - c->request[i - 1].intended_ns, 5 * MS);
	assert_true(latency(c, 1000) > 300 * MS);
	end(&f);
}

static void by_a_list_and_after_others(void **state)
{
	/* clang-format off */
	static const char text[] = PLAN(
		CLIENT("a", "\"type\": \"trace\", \"trace\": [1, 2.5, 700]",
		       "\"model_name\": \"spin:1ms\"") ", "
		CLIENT("b", "\"type\": \"periodic\", \"frequency\": 1",
		       "\"model_name\": \"spin:1ms\"") ", "
		CLIENT("c", "\"type\": \"dependent\", \"prev_task_ids\": [\"a\", \"b\"]",
		       "\"model_name\": \"spin:1ms\""));
	/* clang-format on */
	const struct gp_plan_done *c;
	struct fix f;

	begin(&f, text);
	c = ran(&f, GP_CORUN_SLICES);
	assert_int_equal(c[0].requests, 3);
	assert_int_equal(c[0].request[1].intended_ns, f.result.begin_ns + 2500 * US);
	assert_int_equal(c[0].request[2].intended_ns, f.result.begin_ns + 700 * MS);
	/* b's first ends after a second: then both have ended. */
	assert_int_equal(c[1].requests, 1);
	assert_int_equal(c[2].requests, 1);
	assert_int_equal(c[2].request[0].intended_ns, c[1].request[0].end_ns);
	end(&f);
}

#define EVERY_50MS "\"type\": \"periodic\", \"frequency\": 20"
#define LC_SPIN(length) \
	"\"priority\": 0, \"preprocess_time\": 300, \"model_name\": \"spin:" length "\""

/* Three of one level at the same moment: does the short one wait for the long ones? */
static void shorter_ones_first(void **state)
{
	static const char text[] = PLAN(CLIENT("long", EVERY_50MS, LC_SPIN("8ms")) ", " CLIENT(
		"short", EVERY_50MS,
		LC_SPIN("500us")) ", " CLIENT("middle", EVERY_50MS,
					      LC_SPIN("2ms")) ", " CLIENT("be", ENDLESS, TEN_MS));
	static const uint64_t alone_ns[] = { 8 * MS, 500 * US, 2 * MS };
	const struct gp_plan_done *c;
	uint64_t sum_ns = 0;
	struct fix f;

	begin(&f, text);
	assert_true(gp_corun_differs(GP_CORUN_SJF, f.plan));
	c = ran(&f, GP_CORUN_HINTED);
	assert_true(latency(&c[1], 500) > 8 * MS);
	c = ran(&f, GP_CORUN_SJF);
	/* Its own time, shorter ones, preparation, and three switches through others. */
	for (size_t i = 0, order[] = { 1, 2, 0 }; i < 3; i++) {
		sum_ns += alone_ns[order[i]] + 1500 * US;
		assert_true(latency(&c[order[i]], 900) < sum_ns);
	}
	end(&f);
	begin(&f, PLAN(CLIENT("lc", EVERY_5MS, FIVE) ", " CLIENT("other", EVERY_5MS,
								 FIVE ", \"level\": 1")));
	assert_false(gp_corun_differs(GP_CORUN_SJF, f.plan));
	end(&f);
}

/* CPU time between kernels leaves the device to others. */
static void gaps_are_the_cpus(void **state)
{
	static const char text[] =
		PLAN(CLIENT("lc", EVERY_5MS,
			    "\"priority\": 0, \"model_name\": "
			    "\"train:20x25us,gap=30us\"") ", " CLIENT("be", ENDLESS, TEN_MS));
	struct gp_plan_alone by_itself;
	struct fix f;

	begin(&f, text);
	assert_int_equal(gp_corun_alone(&f.run, 0, &by_itself), 0);
	assert_in_range(by_itself.p50_ns, 20 * 25 * US + 19 * 30 * US,
			20 * 25 * US + 19 * 30 * US + 20 * US);
	assert_true(latency(&ran(&f, GP_CORUN_GPREEMPT)[0], 500) > by_itself.p50_ns + 100 * US);
	end(&f);
}

/* The next token can only begin after the last: with slices each waits separately. */
static void a_decoder(void **state)
{
	static const char text[] = PLAN(CLIENT(
		"lc", "\"type\": \"periodic\", \"frequency\": 20",
		"\"priority\": 0, "
		"\"model_name\": \"decoder:2ms,next=9x500us,gap=50us\"") ", " CLIENT("be", ENDLESS,
										     TEN_MS));
	const struct gp_tokens *tokens;
	struct gp_token_latencies l;
	struct gp_plan_alone by_itself;
	const struct gp_plan_done *c;
	uint64_t sliced_ns = 0, p50_ns, p95_ns;
	struct fix f;

	begin(&f, text);
	assert_int_equal(gp_corun_alone(&f.run, 0, &by_itself), 0);
	/* Each includes a launch and the notice of its end. */
	assert_in_range(by_itself.first_ns, 2 * MS, 2 * MS + 20 * US);
	assert_in_range(by_itself.next_ns, 550 * US, 570 * US);
	assert_in_range(by_itself.p50_ns, 2 * MS + 9 * 550 * US, 2 * MS + 9 * 570 * US + 20 * US);
	for (int scheduler = 0; scheduler < GP_CORUN_SCHEDULERS; scheduler++) {
		c = ran(&f, (enum gp_corun_scheduler)scheduler);
		tokens = &c[0].tokens;
		assert_int_equal(tokens->of_each, 10);
		assert_int_equal(c[1].tokens.of_each, 0);
		for (size_t i = 0; i < c[0].requests; i++)
			assert_int_equal(tokens->ns[i * 10 + 9], c[0].request[i].end_ns);
		assert_int_equal(gp_token_latencies(tokens, c[0].request, c[0].requests, &l), 0);
		assert_int_equal(l.firsts, c[0].requests);
		assert_int_equal(l.nexts, 9 * c[0].requests);
		gp_samples_sort(l.first_ns, l.firsts);
		gp_samples_sort(l.next_ns, l.nexts);
		p95_ns = gp_samples_rank(l.first_ns, l.firsts, 950);
		if (scheduler == GP_CORUN_SLICES)
			sliced_ns = p95_ns;
		assert_true(scheduler == GP_CORUN_SLICES ?
				    p95_ns > by_itself.first_ns + 1 * MS :
				    p95_ns < by_itself.first_ns + 200 * US && p95_ns < sliced_ns);
		assert_true(gp_samples_rank(l.next_ns, l.nexts, 0) >= by_itself.next_ns);
		/* A hinted request is a segment, which keeps the device in its gaps. */
		p50_ns = gp_samples_rank(l.next_ns, l.nexts, 500);
		assert_true(scheduler >= GP_CORUN_HINTED ? p50_ns <= by_itself.next_ns + 20 * US :
							   p50_ns >= by_itself.next_ns + 150 * US);
		gp_token_latencies_free(&l);
	}
	end(&f);
}

/* Its time alone is the recorded one, whatever its kernels sum up to. */
static void takes_what_was_recorded(void **state)
{
	static const char recorded[] =
		"{\"schema_version\": 1, \"name\": \"m\", \"what\": \"w\", \"device\": \"d\", "
		"\"driver\": \"1\", \"solo_us\": %s, "
		"\"columns\": [\"gap_us\", \"length_us\", "
		"\"blocks\", \"threads\", \"registers\", \"shared_bytes\"], \"kernels\": "
		"[[7, 100, 64, 128, 32, 0], [0.5, 200, 64, 128, 32, 0], "
		"[40, 300, 64, 128, 32, 0]]}";
	static const struct {
		const char *us;
		uint64_t ns;
	} solo[] = { { "650.5", 650500 }, { "600", 600000 }, { "700", 700000 } };

	for (size_t i = 0; i < sizeof(solo) / sizeof(solo[0]); i++) {
		struct gp_plan_alone alone;
		char text[512], why[256];
		struct fix f;

		begin(&f, PLAN(CLIENT("lc", EVERY_5MS, FIVE)));
		gp_workload_destroy(f.workload[0]);
		snprintf(text, sizeof(text), recorded, solo[i].us);
		f.workload[0] = gp_workload_parse("m", text, strlen(text), why, sizeof(why));
		assert_non_null(f.workload[0]);
		assert_int_equal(gp_corun_alone(&f.run, 0, &alone), 0);
		assert_in_range(alone.p50_ns, 300 * US + solo[i].ns - 5, 300 * US + solo[i].ns + 5);
		end(&f);
	}
}

static void refused(void **state)
{
	struct fix f;

	begin(&f, PLAN(CLIENT("lc", EVERY_5MS, FIVE)));
	f.device.kind = GP_MODEL_SLOTS;
	assert_int_equal(gp_corun_run(&f.run, &f.result), -EINVAL);
	assert_null(f.result.client[0].request);
	end(&f);
	begin(&f, PLAN(CLIENT("lc", EVERY_5MS,
			      FIVE) ", " CLIENT("be", ENDLESS, TEN_MS ", \"killed_every_s\": 1")));
	assert_int_equal(gp_corun_run(&f.run, &f.result), -EINVAL);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(watched_launches),
		cmocka_unit_test(beside_best_effort),
		cmocka_unit_test(best_effort_is_seen_idle),
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(same_seed_same_run),
		cmocka_unit_test(nothing_is_left_out),
		cmocka_unit_test(by_a_list_and_after_others),
		cmocka_unit_test(shorter_ones_first),
		cmocka_unit_test(gaps_are_the_cpus),
		cmocka_unit_test(a_decoder),
		cmocka_unit_test(takes_what_was_recorded),
		cmocka_unit_test(refused),
	};

	return gp_run_tests(tests);
}
