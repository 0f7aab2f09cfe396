// SPDX-License-Identifier: Apache-2.0
/* Peers' files: their contents, and messages about invalid ones. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/run/peer.h"
#include "tests/common/gp_test.h"

#define KEYS "keys here are name, what, lc, be, hint, needs, together, beside, cards_only"

static struct gp_peer *parse(const char *text, char why[GP_PEER_WHY_LEN])
{
	return gp_peer_parse("/tmp/f", text, strlen(text), why, GP_PEER_WHY_LEN);
}

static void whole(void **state)
{
	char why[GP_PEER_WHY_LEN];
	struct gp_peer *p = parse("# a word\n"
				  "name: x, of two words\n"
				  "what: >-\n"
				  "  one line,\n"
				  "  folded\n"
				  "lc:\n"
				  "  - a        # and another\n"
				  "  - --device={device}\n"
				  "  - --\n"
				  "be: []\n"
				  "hint: true\n"
				  "needs: [sh, no-such-program]\n",
				  why);

	assert_non_null(p);
	assert_string_equal(p->name, "x, of two words");
	assert_string_equal(p->what, "one line, folded");
	assert_string_equal(p->folder, "/tmp");
	assert_int_equal(p->lc.count, 3);
	assert_string_equal(p->lc.word[1], "--device={device}");
	assert_string_equal(p->lc.word[2], "--");
	assert_null(p->lc.word[3]);
	assert_int_equal(p->be.count, 0);
	assert_null(p->be.word[0]);
	assert_true(p->hint);
	assert_int_equal(p->together.count + p->beside.count, 0);
	assert_false(p->cards_only);
	assert_true(gp_peer_is_absent(p, false, why, sizeof(why)));
	assert_string_equal(why, "no-such-program is not installed");
	gp_peer_destroy(p);
	gp_peer_destroy(NULL);
}

static void words(void **state)
{
	const struct gp_peer_names names = { "soft0", "be:300", "/b/client", "/tmp/f", ",p=1" };
	char why[GP_PEER_WHY_LEN], out[32];
	struct gp_peer *p = parse("name: x\nwhat: y\nlc: []\nbe: []\nhint: false\n"
				  "needs: [\"{$GP_NO_SUCH}/lib\"]\ntogether: [\"{client}\"]\n"
				  "beside: [\"{peers}/x\"]\ncards_only: true\n",
				  why);

	assert_non_null(p);
	assert_int_equal(gp_peer_word(p, &names, "--c={class},{device}", out, sizeof(out)), 0);
	assert_string_equal(out, "--c=be:300,soft0");
	assert_int_equal(gp_peer_word(p, &names, "{class}{class_times}", out, sizeof(out)), 0);
	assert_string_equal(out, "be:300,p=1");
	assert_int_equal(gp_peer_word(p, &names, p->beside.word[0], out, sizeof(out)), 0);
	assert_string_equal(out, "/tmp/x");
	assert_int_equal(gp_peer_word(p, &names, "{$GP_SET}{", out, sizeof(out)), 0);
	assert_string_equal(out, "abc{");
	assert_int_equal(gp_peer_word(p, &names, "{what}", out, sizeof(out)), -ENOENT);
	assert_string_equal(out, "what");
	assert_int_equal(gp_peer_word(p, &names, "{client}{client}{client}{client}", out,
				      sizeof(out)),
			 -E2BIG);
	assert_false(p->hint);
	assert_true(gp_peer_is_absent(p, false, why, sizeof(why)));
	assert_string_equal(why, "$GP_NO_SUCH is not set");
	assert_true(gp_peer_is_absent(p, true, why, sizeof(why)));
	assert_string_equal(why, "does not run on the software GPU");
	gp_peer_destroy(p);
}

/* The largest number of words, and the longest word. */
static void limits(void **state)
{
	char text[2048], why[GP_PEER_WHY_LEN];
	struct gp_peer *p;

	snprintf(text, sizeof(text),
		 "name: x\nwhat: %0512d\nlc: [a%s]\nbe: []\nhint: true\n"
		 "needs: []\n",
		 0, ",b,c,d,e,f,g,h,i,j,k,l,m,n,o,p");
	p = parse(text, why);
	assert_non_null(p);
	assert_int_equal(p->lc.count, GP_PEER_WORDS);
	assert_string_equal(p->lc.word[GP_PEER_WORDS - 1], "p");
	assert_null(p->lc.word[GP_PEER_WORDS]);
	assert_int_equal(strlen(p->what), GP_PEER_TEXT_MAX);
	gp_peer_destroy(p);
	snprintf(text, sizeof(text), "what: %0513d\n", 0);
	assert_null(parse(text, why));
	assert_non_null(strstr(why, "...'; write 512 bytes at most"));
}

#define HEAD "name: x\nwhat: y\nlc: [a]\nbe: []\n"

static void refused(void **state)
{
	static const char *const wrong[][2] = {
		{ "", ":1: found nothing; write KEY: VALUE, " KEYS },
		{ "[]", ":1: found a list; write KEY: VALUE, " KEYS },
		{ "name: x\nnme: x\n", ":2: nme: no such key; " KEYS },
		{ "{\"schema_version\": 1}", ":1: schema_version: no such key; " KEYS },
		{ "\"a\\eb\": 1\n", ":1: found a line break or a control character in a value; "
				    "write the value in one line" },
		{ "name:\n", ":1: name: found nothing; write a value" },
		{ "name: [x]\n", ":1: name: found a list; write one value" },
		{ "name: x\nwhat: ''\n", ":2: what: found nothing; write a value" },
		{ "what: |\n  a\n  b\n", ":1: found a line break or a control character in a "
					 "value; write the value in one line" },
		{ "name: x\nwhat: y\nlc: a\n",
		  ":3: lc: found one value; write a list, a dash before each entry" },
		{ "lc:\n", ":1: lc: found nothing; write a list, a dash before each entry" },
		{ "lc:\n- a\n- [b]\n", ":3: lc: found a list; write one value" },
		{ "lc:\n- a\n- b: c\n", ":3: lc: found a mapping; write one value" },
		{ "lc: [{client}]\n",
		  ":1: lc: found a mapping; write one value, in quotes if it begins with {" },
		{ "lc:\n- {client}/x\n",
		  ":2: not YAML: did not find expected key; write KEY: VALUE, indent with blanks, "
		  "not tabs, and quote a value with { or a colon" },
		{ "be: [a, '']\n", ":1: be: found nothing; write a value" },
		{ "needs: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,\n17]\n",
		  ":2: needs: found more than 16 entries; write fewer" },
		{ HEAD "hint: 1\n", ":5: hint: found '1'; write true or false" },
		{ HEAD "hint: yes\n", ":5: hint: found 'yes'; write true or false" },
		{ HEAD "hint:\n", ":5: hint: found ''; write true or false" },
		{ HEAD "cards_only: True\n", ":5: cards_only: found 'True'; write true or false" },
		{ HEAD "lc: []\n", ":5: lc: found a second time, first in line 3; write it once" },
		{ "# of whom?\nwhat: y\nlc: []\nbe: []\nhint: true\nneeds: []\n",
		  ":2: name: required key missing; add it" },
		{ "name: x\nlc: []\nbe: []\nhint: true\nneeds: []\n",
		  ":1: what: required key missing; add it" },
		{ "name: x\nwhat: y\nbe: []\nhint: true\nneeds: []\n",
		  ":1: lc: required key missing; add it" },
		{ "name: x\nwhat: y\nlc: []\nhint: true\nneeds: []\n",
		  ":1: be: required key missing; add it" },
		{ HEAD "needs: []\n", ":1: hint: required key missing; add it" },
		{ HEAD "hint: true\n", ":1: needs: required key missing; add it" },
		{ HEAD "hint: true\nneeds: []\ntogether: [b]\n",
		  ":7: together: found beside words in lc or be; write \"lc: []\" and "
		  "\"be: []\", or no together" },
		{ "name: x\nwhat: y\nlc: []\nbe: [a]\nhint: true\nneeds: []\ntogether: [b]\n",
		  ":7: together: found beside words in lc or be; write \"lc: []\" and "
		  "\"be: []\", or no together" },
	};
	char why[GP_PEER_WHY_LEN], line[GP_PEER_WHY_LEN];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_null(parse(wrong[i][0], why));
		snprintf(line, sizeof(line), "/tmp/f%s", wrong[i][1]);
		assert_string_equal(why, line);
	}
}

/* A message has the end of a long path, and all the rest. */
static void long_path(void **state)
{
	char path[512], why[GP_PEER_WHY_LEN], line[GP_PEER_WHY_LEN];

	snprintf(path, sizeof(path), "/%0400d/mine.yaml", 0);
	assert_null(gp_peer_parse(path, "x: y\n", 5, why, sizeof(why)));
	snprintf(line, sizeof(line), "%0150d/mine.yaml:1: x: no such key; " KEYS, 0);
	assert_string_equal(why, line);
}

static void files(void **state)
{
	char path[] = "/tmp/gp-peer-XXXXXX", why[GP_PEER_WHY_LEN], line[128];
	int fd = mkstemp(path);
	struct gp_peer *p;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, HEAD "hint: true\nneeds: []\n") > 0);
	/* A user may let others write to a file with his own commands. */
	assert_int_equal(fchmod(fd, 0666), 0);
	p = gp_peer_read(path, why, sizeof(why));
	assert_non_null(p);
	assert_string_equal(p->folder, "/tmp");
	gp_peer_destroy(p);
	assert_true(dprintf(fd, "x: y\n") > 0);
	assert_null(gp_peer_read(path, why, sizeof(why)));
	snprintf(line, sizeof(line), "%s:7: x: no such key; " KEYS, path);
	assert_string_equal(why, line);
	assert_int_equal(ftruncate(fd, 65537), 0);
	assert_null(gp_peer_read(path, why, sizeof(why)));
	snprintf(line, sizeof(line), "%s: found more than 65536 bytes; write a shorter file", path);
	assert_string_equal(why, line);
	close(fd);
	unlink(path);
	assert_null(gp_peer_read("/none/such.yaml", why, sizeof(why)));
	assert_string_equal(why, "/none/such.yaml: cannot read the file: No such file or "
				 "directory; write it, or name another file");
	assert_null(gp_peer_read("/", why, sizeof(why)));
	assert_string_equal(why, "/: cannot read the file: Is a directory; name a file in it");
	assert_null(gp_peer_read("/dev/null", why, sizeof(why)));
	assert_string_equal(why, "/dev/null: not a regular file; write a text file");
}

static unsigned int read_all(const char *folder)
{
	char path[512], why[GP_PEER_WHY_LEN];
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	unsigned int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');
		struct gp_peer *p;

		if (!dot || strcmp(dot, ".yaml"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		p = gp_peer_read(path, why, sizeof(why));
		if (!p)
			fail_msg("%s", why);
		gp_peer_destroy(p);
		count++;
	}
	closedir(dir);
	return count;
}

/* Also those that no test runs, because they need a card. */
static void our_own(void **state)
{
	assert_int_equal(read_all("bench/data/peers"), 17);
	assert_int_equal(read_all("bench/data/peers/rig"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),   cmocka_unit_test(words),	cmocka_unit_test(limits),
		cmocka_unit_test(refused), cmocka_unit_test(long_path), cmocka_unit_test(files),
		cmocka_unit_test(our_own),
	};

	setenv("GP_SET", "abc", 1);
	return gp_run_tests(tests);
}
