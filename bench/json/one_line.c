// SPDX-License-Identifier: Apache-2.0
#include "bench/json/one_line.h"

#include <stdio.h>

void gp_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			*text = '?';
}

void gp_one_line_json(const json_error_t *error, const char *name, char *why,
		      size_t why_len)
{
	/* Without a line it is the file that could not be read, and is named. */
	if (error->line < 0)
		snprintf(why, why_len, "%s", error->text);
	else
		snprintf(why, why_len, "%s:%d: %s", name, error->line, error->text);
	gp_one_line(why);
}
