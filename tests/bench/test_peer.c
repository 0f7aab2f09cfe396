// SPDX-License-Identifier: Apache-2.0
/* What a peer's file says, and what is said of one that is wrong. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/device/peer.h"
#include "tests/common/gp_test.h"

static char path[] = "/tmp/gp-peer-XXXXXX";

static struct gp_peer *read_text(const char *text, char *why, size_t why_len)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	return gp_peer_read(path, why, why_len);
}

static void whole(void **state)
{
	char why[256];
	struct gp_peer *p = read_text(
		"{\"schema_version\": 1, \"name\": \"x\", \"what\": \"y\", \"lc\": [\"a\", "
		"\"--device={device}\"], \"be\": [], \"hint\": true, \"needs\": [\"sh\", "
		"\"no-such-program\"]}", why, sizeof(why));

	assert_non_null(p);
	assert_string_equal(p->name, "x");
	assert_string_equal(p->lc[1], "--device={device}");
	assert_null(p->lc[2]);
	assert_null(p->be[0]);
	assert_true(p->hint);
	assert_true(gp_peer_is_absent(p, false, why, sizeof(why)));
	assert_string_equal(why, "no-such-program is not installed");
	gp_peer_destroy(p);
	gp_peer_destroy(NULL);
}

static void words(void **state)
{
	const struct gp_peer_names names = { "soft0", "be:300", "/b/client", "/tmp/f", ",p=1" };
	char why[256], out[32];
	struct gp_peer *p = read_text(
		"{\"schema_version\": 1, \"name\": \"x\", \"what\": \"y\", \"lc\": [], "
		"\"be\": [], \"hint\": false, \"needs\": [\"{$GP_NO_SUCH}/lib\"], "
		"\"together\": [\"{client}\"], \"beside\": [\"{peers}/x\"], "
		"\"cards_only\": true}", why, sizeof(why));

	assert_non_null(p);
	assert_int_equal(gp_peer_word(p, &names, "--c={class},{device}", out, sizeof(out)), 0);
	assert_string_equal(out, "--c=be:300,soft0");
	assert_int_equal(gp_peer_word(p, &names, "{class}{class_times}", out, sizeof(out)), 0);
	assert_string_equal(out, "be:300,p=1");
	assert_int_equal(gp_peer_word(p, &names, p->beside[0], out, sizeof(out)), 0);
	assert_string_equal(out, "/tmp/x");
	assert_int_equal(gp_peer_word(p, &names, "{$GP_SET}{", out, sizeof(out)), 0);
	assert_string_equal(out, "abc{");
	assert_int_equal(gp_peer_word(p, &names, "{what}", out, sizeof(out)), -ENOENT);
	assert_string_equal(out, "what");
	assert_int_equal(gp_peer_word(p, &names, "{client}{client}{client}{client}", out,
				      sizeof(out)), -E2BIG);
	assert_true(gp_peer_is_absent(p, false, why, sizeof(why)));
	assert_string_equal(why, "$GP_NO_SUCH is not set");
	assert_true(gp_peer_is_absent(p, true, why, sizeof(why)));
	assert_string_equal(why, "it is nothing for the software GPU");
	gp_peer_destroy(p);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{ "", "" },
		{ "[]", ": schema_version: 1 is wanted" },
		{ "{\"schema_version\": 2}", ": schema_version: 1 is wanted" },
		{ "{\"schema_version\": 1, \"nme\": \"x\"}", ": nme: there is no such field" },
		{ "{\"schema_version\": 1, \"name\": \"\"}", ": name: a text is wanted" },
		{ "{\"schema_version\": 1, \"name\": \"x\", \"what\": \"y\", \"lc\": \"a\"}",
		  ": lc: a list of at most 16 words is wanted" },
		{ "{\"schema_version\": 1, \"name\": \"x\", \"what\": \"y\", \"lc\": [1]}",
		  ": lc: something else than a word is in the list" },
		{ "{\"schema_version\": 1, \"name\": \"x\", \"what\": \"y\", \"lc\": [], "
		  "\"be\": [], \"needs\": [], \"hint\": 1}", ": hint: true or false is wanted" },
		{ "{\"schema_version\": 1, \"name\": \"x\", \"what\": \"y\", \"lc\": [\"a\"], "
		  "\"be\": [], \"needs\": [], \"hint\": true, \"together\": [\"b\"]}",
		  ": together: nothing in \"lc\" and \"be\" is wanted beside it" },
		{ "{\"schema_version\": 1, \"a\\nb\": 1}", ": a?b: there is no such field" },
	};
	char why[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_null(read_text(wrong[i].text, why, sizeof(why)));
		assert_non_null(strstr(why, path));
		assert_non_null(strstr(why, wrong[i].says));
		assert_null(strchr(why, '\n'));
	}
	assert_null(gp_peer_read("/none/such.json", why, sizeof(why)));
	assert_non_null(strstr(why, "/none/such.json"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(words),
		cmocka_unit_test(refused),
	};
	int fd = mkstemp(path), status;

	setenv("GP_SET", "abc", 1);
	if (fd < 0)
		return 1;
	close(fd);
	status = gp_run_tests(tests);
	unlink(path);
	return status;
}
