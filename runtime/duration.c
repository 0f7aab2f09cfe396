// SPDX-License-Identifier: Apache-2.0
#include "runtime/duration.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DECIMALS_MAX 9

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits at *@text, moved past. -EINVAL: none; -ERANGE. */
static int read_digits(const char **text, uint64_t *value)
{
	uint64_t v = 0;
	const char *p = *text;

	if (!is_digit(*p))
		return -EINVAL;
	for (; is_digit(*p); p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -ERANGE;
	*text = p;
	*value = v;
	return 0;
}

static uint64_t unit_ns(const char *text)
{
	if (!strcmp(text, "ns"))
		return 1;
	if (!strcmp(text, "us"))
		return 1000;
	if (!strcmp(text, "ms"))
		return 1000000;
	if (!strcmp(text, "s"))
		return 1000000000;
	return 0;
}

/* The decimals after a point as billionths; -EINVAL: none or too many. */
static int read_fraction(const char **text, uint64_t *billionths)
{
	const char *start = *text;
	uint64_t v;
	int err = read_digits(text, &v);
	ptrdiff_t digits = *text - start;

	if (err || digits > DECIMALS_MAX)
		return -EINVAL;
	for (; digits < DECIMALS_MAX; digits++)
		v *= 10;
	*billionths = v;
	return 0;
}

int gp_parse_duration(const char *text, uint64_t *ns)
{
	uint64_t whole = 0, part = 0, unit;
	int err, range;

	range = read_digits(&text, &whole);
	if (range == -EINVAL)
		return range;
	while (is_digit(*text))
		text++;
	if (*text == '.') {
		text++;
		err = read_fraction(&text, &part);
		if (err)
			return err;
	}
	unit = unit_ns(text);
	/* part < 10^9 and unit <= 10^9: no overflow. */
	if (!unit || part * unit % 1000000000)
		return -EINVAL;
	if (range || __builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, part * unit / 1000000000, &whole))
		return -ERANGE;
	*ns = whole;
	return 0;
}

void gp_format_duration(uint64_t ns, char *buf, size_t len)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} unit[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
	size_t i = 0;

	while (ns % unit[i].ns)
		i++;
	snprintf(buf, len, "%" PRIu64 "%s", ns / unit[i].ns, unit[i].name);
}
