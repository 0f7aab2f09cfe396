// SPDX-License-Identifier: Apache-2.0
#include "runtime/size.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define UNIT_BITS 10u

static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };

#define UNITS (sizeof(units) / sizeof(units[0]))

/* The first @len characters of @text. */
static int parse(const char *text, size_t len, uint64_t *bytes)
{
	const char *unit = text, *end = text + len;
	bool range = false;
	uint64_t v = 0;

	for (; unit < end && *unit >= '0' && *unit <= '9'; unit++)
		range |= __builtin_mul_overflow(v, 10, &v) ||
			 __builtin_add_overflow(v, (uint64_t)(*unit - '0'), &v);
	for (unsigned int i = 0; i < UNITS && unit != text; i++) {
		if (strlen(units[i]) != (size_t)(end - unit) ||
		    strncmp(unit, units[i], (size_t)(end - unit)))
			continue;
		if (range || __builtin_mul_overflow(v, UINT64_C(1) << UNIT_BITS * i, &v))
			return -ERANGE;
		*bytes = v;
		return 0;
	}
	return -EINVAL;
}

int gp_parse_size(const char *text, uint64_t *bytes)
{
	return parse(text, strlen(text), bytes);
}

int gp_parse_size_range(const char *text, struct gp_size_range *range)
{
	struct gp_size_range r = { 0, UINT64_MAX };
	const char *colon = strchr(text, ':');
	int err = 0;

	if (!colon || !strcmp(text, ":"))
		return -EINVAL;
	if (colon > text)
		err = parse(text, (size_t)(colon - text), &r.min);
	if (!err && colon[1])
		err = gp_parse_size(colon + 1, &r.max);
	if (!err && (!r.max || r.min > r.max))
		err = -ERANGE;
	if (!err)
		*range = r;
	return err;
}

void gp_format_size(uint64_t bytes, char *buf, size_t len)
{
	unsigned int i = 0;

	while (bytes && i + 1 < UNITS && !(bytes & ((1u << UNIT_BITS) - 1))) {
		bytes >>= UNIT_BITS;
		i++;
	}
	snprintf(buf, len, "%" PRIu64 "%s", bytes, units[i]);
}
