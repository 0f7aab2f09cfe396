// SPDX-License-Identifier: Apache-2.0
/*
 * quick.c - the suite "quick": the purpose of gpreempt on the model of an H200 in virtual
 * time, with small plans that need no recorded model.
 */
#include "bench/cmd/embedded.h"

#define LC(load)                                                                \
	"{\"id\": \"lc\", \"load\": {" load "}, \"client\": {\"priority\": 0, " \
	"\"model_name\": \"train:5x110us\", \"preprocess_time\": 300}}"
#define EVERY_5MS "\"type\": \"periodic\", \"frequency\": 200"
#define BE(id)                                                                     \
	"{\"id\": \"" id "\", \"load\": {\"type\": \"continuous\"}, \"client\": {" \
	"\"priority\": 1, \"model_name\": \"spin:10ms\"}}"
#define BE4 BE("be1") ", " BE("be2") ", " BE("be3") ", " BE("be4")
#define PLAN(clients) "{\"time\": 20, \"tasks\": [" clients "]}"
#define AT_RANDOM(rate)                                                                \
	PLAN("{\"id\": \"lc\", \"load\": {\"type\": \"poisson\", \"frequency\": " rate \
	     "}, \"client\": {\"priority\": 0, \"model_name\": \"spin:500us\", "       \
	     "\"preprocess_time\": 300}}, " BE("be"))

static const struct gp_embedded_plan plans[] = {
	{ "one-be", PLAN(LC(EVERY_5MS) ", " BE("be")) },
	{ "four-be", PLAN(LC(EVERY_5MS) ", " BE4) },
	{ "gaps", PLAN("{\"id\": \"lc\", \"load\": {\"type\": \"periodic\", \"frequency\": "
		       "200}, \"client\": {\"priority\": 0, \"model_name\": "
		       "\"train:20x25us,gap=30us\", \"preprocess_time\": 300}}, " BE("be")) },
	{ "random@0.05", AT_RANDOM("100") },
	{ "random@0.25", AT_RANDOM("500") },
	{ "random@0.50", AT_RANDOM("1000") },
	{ "two-lc", PLAN("{\"id\": \"lc1\", \"load\": {\"type\": \"poisson\", "
			 "\"frequency\": 100}, \"client\": {\"priority\": 0, "
			 "\"model_name\": \"train:5x110us\", \"preprocess_time\": 300}}, "
			 "{\"id\": \"lc2\", \"load\": {\"type\": \"periodic\", "
			 "\"frequency\": 25}, \"client\": {\"priority\": 0, \"model_name\": "
			 "\"train:10x1ms\", \"preprocess_time\": 300}}, " BE("be")) },
};
#define PLANS (sizeof(plans) / sizeof(plans[0]))

static int run_quick(const struct gp_suite_options *options, struct gp_results *results, FILE *out)
{
	return gp_embedded_run(plans, PLANS, options, results, out);
}

const struct gp_suite gp_suite_quick = {
	.name = "quick",
	.what = "ways to share an H200 between latency-critical and best-effort, on a model; no "
		"GPU, 20 s",
	.samples = true,
	.run = run_quick,
};
