// SPDX-License-Identifier: Apache-2.0
/* Stand-ins for models, and messages about invalid files of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/plan/alias.h"
#include "tests/common/gp_test.h"

static int find(const char *text, const char *model, char *name, char why[256])
{
	return gp_alias_parse("a.json", text, strlen(text), model, name, why, 256);
}

static void finds(void **state)
{
	static const char text[] = "{\"schema_version\": 1, \"aliases\": {\"vgg\": \"vgg19\", "
				   "\"-\": \"spin:1ms\"}}";
	char name[GP_ALIAS_LEN] = "", why[256];

	assert_int_equal(find(text, "vgg", name, why), 0);
	assert_string_equal(name, "vgg19");
	assert_int_equal(find(text, "-", name, why), 0);
	assert_string_equal(name, "spin:1ms");
	assert_int_equal(find(text, "bfs", name, why), -ENOENT);
	assert_int_equal(gp_alias_find("bench/data/workloads/aliases.json", "vgg19-imagenet", name,
				       why, sizeof(why)),
			 0);
	assert_string_equal(name, "vgg19");
}

static void refused(void **state)
{
	static const char *const wrong[][2] = {
		{ "[", "a.json:1: " },
		{ "[]", "schema_version: 1 is wanted" },
		{ "{\"schema_version\": 2, \"aliases\": {}}", "schema_version: 1 is wanted" },
		{ "{\"schema_version\": 1}", "aliases: {\"NAME\": \"WORKLOAD\", ..} is wanted" },
		{ "{\"schema_version\": 1, \"aliases\": {\"a\": 1}}",
		  "aliases.a: found 1, a workload's name is wanted" },
		{ "{\"schema_version\": 1, \"aliases\": {\"a\\n\": \"\"}}", "aliases.a?: found " },
		{ "{\"schema_version\": 1, \"aliases\": {}, \"more\": 1}", "nothing but " },
	};
	char name[GP_ALIAS_LEN], why[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(find(wrong[i][0], "a", name, why), -EINVAL);
		assert_non_null(strstr(why, wrong[i][1]));
		assert_null(strchr(why, '\n'));
	}
	assert_int_equal(gp_alias_find("/none/such.json", "a", name, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "/none/such.json"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds),
		cmocka_unit_test(refused),
	};

	return gp_run_tests(tests);
}
