// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/one_line.h"

#include <stdio.h>

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 127;
}

void gp_one_line(char *text)
{
	for (; *text; text++)
		if (is_control(*text))
			*text = '?';
}

bool gp_is_one_line(const char *text)
{
	if (!text)
		return false;
	while (*text && !is_control(*text))
		text++;
	return !*text;
}

void gp_one_line_value(const json_t *value, char *buf, size_t len)
{
	size_t n = value ? json_dumpb(value, buf, len - 1, JSON_ENCODE_ANY | JSON_COMPACT) : 0;

	if (!value)
		snprintf(buf, len, "nothing");
	else if (n && n < len)
		buf[n] = 0;
	else
		snprintf(buf, len, "%s",
			 json_is_object(value) ? "{..}" :
			 json_is_array(value)  ? "[..]" :
						 "something long");
}

void gp_one_line_say(char *why, size_t why_len, const char *name, const char *format, va_list args)
{
	const int n = snprintf(why, why_len, "%s: ", name);

	if (n >= 0 && (size_t)n < why_len)
		vsnprintf(why + n, why_len - (size_t)n, format, args);
	gp_one_line(why);
}

void gp_one_line_json(const json_error_t *error, const char *name, char *why, size_t why_len)
{
	/* Without a line number the file could not be read, and the text names it. */
	if (error->line < 0)
		snprintf(why, why_len, "%s", error->text);
	else
		snprintf(why, why_len, "%s:%d: %s", name, error->line, error->text);
	gp_one_line(why);
}
