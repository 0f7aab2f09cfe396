// SPDX-License-Identifier: Apache-2.0
/* glob.c - all places of the pattern that a path's beginning may match, advanced byte by byte. */
#include "daemon/config/glob.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* The reached places: number of used bytes of the pattern. */
struct places {
	uint8_t at[GP_GLOB_MAX + 1];
	size_t low, high; /* none outside of these; low > high: none */
};

static void clear(struct places *p)
{
	p->low = 1;
	p->high = 0;
}

static void mark(struct places *p, size_t at)
{
	if (p->low > p->high) {
		p->low = p->high = at;
		p->at[at] = 0;
	}
	while (p->low > at)
		p->at[--p->low] = 0;
	while (p->high < at)
		p->at[++p->high] = 0;
	p->at[at] = 1;
}

/* Length of the wildcard at @pattern; 0: a plain byte, or the end. */
static size_t wildcard(const char *pattern)
{
	return pattern[0] != '*' ? 0 : pattern[1] != '*' ? 1 : 2;
}

/* Marks the places after wildcards that match nothing: always further on. */
static void close_over(struct places *p, const char *pattern)
{
	for (size_t at = p->low; at <= p->high; at++)
		if (p->at[at])
			mark(p, at + wildcard(pattern + at));
}

/* After a byte of the pattern; after a slash, "**" and a slash may be that slash. */
static void pass(struct places *to, const char *pattern, size_t at)
{
	mark(to, at + 1);
	if (pattern[at] != '/')
		return;
	for (at++; !strncmp(pattern + at, "**/", 3); at += 3)
		mark(to, at + 3);
}

static void step(const struct places *from, struct places *to, const char *pattern, char c)
{
	clear(to);
	for (size_t at = from->low; at <= from->high; at++) {
		size_t n = wildcard(pattern + at);

		if (!from->at[at])
			continue;
		if (n && (n == 2 || c != '/'))
			mark(to, at);
		else if (!n && pattern[at] && pattern[at] == c)
			pass(to, pattern, at);
	}
	close_over(to, pattern);
}

static bool has(const struct places *p, size_t at)
{
	return p->low <= at && at <= p->high && p->at[at];
}

static bool match(const char *pattern, const char *path, bool under)
{
	const size_t end = strlen(pattern);
	struct places set[2], *now = &set[0], *next = &set[1], *swap;

	if (end > GP_GLOB_MAX)
		return false;
	clear(now);
	mark(now, 0);
	close_over(now, pattern);
	for (; *path && now->low <= now->high; path++) {
		if (under && *path == '/' && has(now, end))
			return true;
		step(now, next, pattern, *path);
		swap = now;
		now = next;
		next = swap;
	}
	return !*path && has(now, end);
}

bool gp_glob_match(const char *pattern, const char *path)
{
	return match(pattern, path, false);
}

bool gp_glob_match_under(const char *pattern, const char *path)
{
	/* The root, which contains everything, is the only folder that ends with "/". */
	return !strcmp(pattern, "/") ? *path == '/' : match(pattern, path, true);
}

static bool is_name(const char *name, size_t bytes, const char *what)
{
	return bytes == strlen(what) && !memcmp(name, what, bytes);
}

int gp_glob_check(const char *pattern, const char **why)
{
	*why = "write a pattern that begins with /";
	if (*pattern != '/')
		return -EINVAL;
	*why = "write 512 bytes at most";
	if (strlen(pattern) > GP_GLOB_MAX)
		return -EINVAL;
	*why = "write * (within a name) or ** (across /), not ? [ ] { }";
	if (strpbrk(pattern, "?[]{}"))
		return -EINVAL;
	*why = "*** is no pattern, write ** or *";
	if (strstr(pattern, "***"))
		return -EINVAL;
	*why = "leave out //, /./, /../ and a / at its end: no path has them";
	for (const char *name = pattern + 1; pattern[1]; name++) {
		size_t n = strcspn(name, "/");

		if (!n || is_name(name, n, ".") || is_name(name, n, ".."))
			return -EINVAL;
		name += n;
		if (!*name)
			break;
	}
	return 0;
}
