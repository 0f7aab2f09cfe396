/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_line.h - what is quoted of a file may be anything; a line for a person it is
 * not. Pure: for any thread.
 */
#ifndef GP_BENCH_ONE_LINE_H
#define GP_BENCH_ONE_LINE_H

#include <jansson.h>
#include <stddef.h>

/** Control characters of @text become '?', in place. */
void gp_one_line(char *text);

/** In @why, why jansson took no file, or no text that is called @name: as one line. */
void gp_one_line_json(const json_error_t *error, const char *name, char *why,
		      size_t why_len);

#endif
