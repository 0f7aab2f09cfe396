// SPDX-License-Identifier: Apache-2.0
/* Names of models in a plan, also without memory for them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/cmd/models.h"
#include "tests/common/gp_test.h"

static bool next_fails;

/* The linker replaces strdup() by this one. */
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
	const bool fails = next_fails;

	next_fails = false;
	return fails ? NULL : __real_strdup(text);
}

static struct gp_plan *plan_of(const char *model)
{
	char text[256], why[256];
	struct gp_plan *plan;

	snprintf(text, sizeof(text),
		 "{\"time\": 1, \"tasks\": [{\"id\": \"a\", \"load\": "
		 "{\"type\": \"continuous\"}, \"client\": {\"model_name\": \"%s\"}}]}",
		 model);
	plan = gp_plan_parse("p", text, strlen(text), why, sizeof(why));
	assert_non_null(plan);
	return plan;
}

/* By a name, by a file, and by a stand-in. */
static void opens(void **state)
{
	static const char *const model[][2] = {
		{ "spin:1ms", "spin:1ms" },
		{ "vgg19", "bench/data/workloads/vgg19.json" },
		{ "vgg", "bench/data/workloads/vgg19.json" },
	};
	struct gp_models models;

	for (size_t i = 0; i < sizeof(model) / sizeof(model[0]); i++) {
		struct gp_plan *plan = plan_of(model[i][0]);

		assert_int_equal(gp_models_open(&models, "p", plan, "bench/data/workloads", NULL),
				 0);
		assert_string_equal(models.name[0], model[i][1]);
		gp_models_close(&models);
		next_fails = true;
		assert_int_equal(gp_models_open(&models, "p", plan, "bench/data/workloads", NULL),
				 -ENOENT);
		assert_null(models.workload[0]);
		gp_models_close(&models);
		gp_plan_destroy(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens),
	};

	return gp_run_tests(tests);
}
