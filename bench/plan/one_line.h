/* SPDX-License-Identifier: Apache-2.0 */
/* one_line.h - quotes any text of a file in one readable line. Pure: for any thread. */
#ifndef GP_BENCH_ONE_LINE_H
#define GP_BENCH_ONE_LINE_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/** Control characters of @text become '?', in place. */
void gp_one_line(char *text);
/** Is @text printable unchanged? NULL is not. */
bool gp_is_one_line(const char *text);

/** @value as JSON text in @buf, if that is short; NULL is "nothing". */
void gp_one_line_value(const json_t *value, char *buf, size_t len);

/** Write an error of the file, or text, @name to @why. */
void gp_one_line_say(char *why, size_t why_len, const char *name, const char *format, va_list args)
	__attribute__((format(printf, 4, 0)));

/** Write jansson's error of the file, or text, @name to @why in one line. */
void gp_one_line_json(const json_error_t *error, const char *name, char *why, size_t why_len);

#endif
