// SPDX-License-Identifier: Apache-2.0
/* parse.c - strict parsers for command lines. No locale, no allocation: also a fuzz target. */
#include <errno.h>
#include <stdbool.h>

#include "cli/parse.h"

int gp_parse_pid(const char *text, pid_t *pid)
{
	const int64_t max = INT32_MAX;
	bool range = false;
	int64_t v = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		if (!range)
			v = v * 10 + (*text - '0');
		range = v > max;
	}
	if (range)
		return -ERANGE;
	if (!v)
		return -EINVAL;
	*pid = (pid_t)v;
	return 0;
}
