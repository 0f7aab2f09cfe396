// SPDX-License-Identifier: Apache-2.0
/* Patterns of paths, also against a slow and simple way to match them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/config/glob.h"
#include "tests/common/gp_test.h"
#include "tests/common/gp_xorshift.h"

static void test_matches(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool whole, under;
	} c[] = {
		{ "/", "/", true, true },
		{ "/", "/a", false, true },
		{ "/", "/a/b", false, true },
		{ "/a", "/a", true, true },
		{ "/a", "/a/b", false, true },
		{ "/a", "/ab", false, false },
		{ "/a", "/", false, false },
		{ "/a/b", "/a", false, false },
		{ "/a*", "/a", true, true },
		{ "/a*", "/abc", true, true },
		{ "/a*", "/abc/d", false, true },
		{ "/a*c", "/abc", true, true },
		{ "/a*c", "/a/c", false, false },
		{ "/a*c", "/abcbc", true, true },
		{ "/a*c", "/abcb", false, false },
		{ "/*", "/a", true, true },
		{ "/*", "/a/b", false, true },
		{ "/*/b", "/a/b", true, true },
		{ "/*/b", "/a/c/b", false, false },
		{ "/**", "/", true, true },
		{ "/**", "/a/b", true, true },
		{ "/**/b", "/b", true, true },
		{ "/**/b", "/a/b", true, true },
		{ "/**/b", "/a/c/b", true, true },
		{ "/**/b", "/a/c/b/d", false, true },
		{ "/**/b", "/ab", false, false },
		{ "/a/**/b", "/a/b", true, true },
		{ "/a/**/b", "/a/x/y/b", true, true },
		{ "/a/**/**/b", "/a/b", true, true },
		{ "/a/**", "/a", false, false },
		{ "/a/**", "/a/b/c", true, true },
		{ "/a**", "/abc/d", true, true },
		{ "/a**d", "/abc/d", true, true },
		{ "/a**d", "/abc/e", false, false },
		{ "/usr/bin/python3*", "/usr/bin/python3.11", true, true },
		{ "/usr/bin/python3*", "/usr/bin/python2", false, false },
		{ "/system.slice/docker-*.scope", "/system.slice/docker-12.scope", true, true },
		{ "/system.slice/docker-*.scope", "/system.slice/docker-12.scope/a", false, true },
		{ "/a\\x2db", "/a\\x2db", true, true },
		{ "/a", "", false, false },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		if (gp_glob_match(c[i].pattern, c[i].path) != c[i].whole ||
		    gp_glob_match_under(c[i].pattern, c[i].path) != c[i].under)
			fail_msg("'%s' and '%s'", c[i].pattern, c[i].path);
}

/* As the header says it, by trying everything. */
static bool simple(const char *pattern, const char *path)
{
	if (pattern[0] == '/' && !strncmp(pattern + 1, "**/", 3) && simple(pattern + 3, path))
		return true;
	if (pattern[0] != '*')
		return *pattern == *path && (!*path || simple(pattern + 1, path + 1));
	if (pattern[1] == '*')
		return simple(pattern + 2, path) || (*path && simple(pattern, path + 1));
	return simple(pattern + 1, path) || (*path && *path != '/' && simple(pattern, path + 1));
}

static bool simple_under(const char *pattern, const char *path)
{
	char part[32];

	if (simple(pattern, path) || !strcmp(pattern, "/"))
		return true;
	for (size_t n = 1; path[n]; n++) {
		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		if (path[n] == '/' && simple(pattern, part))
			return true;
	}
	return false;
}

static void some(char *text, size_t max, const char *of, uint64_t *x)
{
	size_t n = gp_xorshift(x) % max;

	*text++ = '/';
	while (n--)
		*text++ = of[gp_xorshift(x) % strlen(of)];
	*text = '\0';
}

static void test_against_the_simple_way(void **state)
{
	size_t matched = 0, refused = 0;
	char pattern[16], path[16];
	uint64_t x = 1;
	const char *why;

	print_message("seed 1\n");
	for (int i = 0; i < 400000; i++) {
		some(pattern, 9, "ab**/", &x);
		some(path, 10, "aab/", &x);
		if (gp_glob_check(pattern, &why)) {
			refused++;
			continue;
		}
		if (gp_glob_match(pattern, path) != simple(pattern, path) ||
		    gp_glob_match_under(pattern, path) != simple_under(pattern, path))
			fail_msg("'%s' and '%s'", pattern, path);
		matched += simple(pattern, path);
	}
	assert_true(matched > 10000 && refused > 10000);
}

static void test_refused(void **state)
{
	static const struct {
		const char *pattern, *why;
	} bad[] = {
		{ "", "write a pattern that begins with /" },
		{ "a", "write a pattern that begins with /" },
		{ "*", "write a pattern that begins with /" },
		{ "**/a", "write a pattern that begins with /" },
		{ "//", "leave out //, /./, /../ and a / at its end: no path has them" },
		{ "/a/", "leave out //, /./, /../ and a / at its end: no path has them" },
		{ "/a//b", "leave out //, /./, /../ and a / at its end: no path has them" },
		{ "/.", "leave out //, /./, /../ and a / at its end: no path has them" },
		{ "/./a", "leave out //, /./, /../ and a / at its end: no path has them" },
		{ "/a/..", "leave out //, /./, /../ and a / at its end: no path has them" },
		{ "/a?", "write * (within a name) or ** (across /), not ? [ ] { }" },
		{ "/{a,b}", "write * (within a name) or ** (across /), not ? [ ] { }" },
		{ "/a***", "*** is no pattern, write ** or *" },
	};
	static const char *const good[] = { "/", "/a", "/...", "/.a", "/a..", "/**", "/*/**/*a" };
	char longest[GP_GLOB_MAX + 2];
	const char *why;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(gp_glob_check(bad[i].pattern, &why), -EINVAL);
		assert_string_equal(why, bad[i].why);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(gp_glob_check(good[i], &why), 0);
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[GP_GLOB_MAX + 1] = '\0';
	assert_int_equal(gp_glob_check(longest, &why), -EINVAL);
	assert_string_equal(why, "write 512 bytes at most");
	assert_false(gp_glob_match(longest, longest));
	longest[GP_GLOB_MAX] = '\0';
	assert_int_equal(gp_glob_check(longest, &why), 0);
	assert_true(gp_glob_match(longest, longest));
}

/* Names that make others backtrack for ever: bounded by length times length. */
static void test_hostile_names(void **state)
{
	char pattern[GP_GLOB_MAX + 1] = "/", path[4096] = "/";
	const clock_t start = clock();

	for (size_t i = 1; i + 3 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "*a", 3);
	strcat(pattern, "b");
	memset(path + 1, 'a', sizeof(path) - 2);
	assert_false(gp_glob_match(pattern, path));
	assert_false(gp_glob_match_under(pattern, path));
	/* Some 30 ms, also with sanitizers; backtracking takes longer than there is. */
	assert_true(clock() - start < 20 * CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest glob[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_against_the_simple_way),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hostile_names),
	};

	return gp_run_tests(glob);
}
