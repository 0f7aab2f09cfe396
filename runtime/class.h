/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class.h - the users' text for a class: "lc", "lc:N", "be", "be:W", and its options:
 * "lc:N,period=20ms,deadline=10ms,runtime=2ms", "be:W,cap=30%".
 */
#ifndef GP_RUNTIME_CLASS_H
#define GP_RUNTIME_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpreempt/class.h"

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/* Longest text of gp_class_format(), its NUL included. */
#define GP_CLASS_TEXT_LEN 16

/**
 * gp_class_parse() - read @text, strictly: no blanks, signs or leading zeros.
 * Return: 0; -EINVAL not a class; -ERANGE level or weight out of range;
 * -EOPNOTSUPP a class with more to it than @out can hold. @out is untouched on
 * failure.
 */
int gp_class_parse(const char *text, struct gp_class_value *out);

/** gp_class_check() - 0, or -EINVAL: no such class, level or weight. */
int gp_class_check(uint32_t cls, uint32_t value);

/** gp_class_format() - as gp_class_parse() reads it; "none" for NONE. */
void gp_class_format(const struct gp_class_value *cls, char *buf, size_t len);

/* ---- a class and its options -------------------------------------------------- */

/* Longest text of gp_class_request_format(), its NUL included. */
#define GP_CLASS_REQUEST_TEXT_LEN 128

/**
 * gp_class_request_parse() - read @text as gp_class_parse() does. After a comma, each at most
 * once and in any order: for lc period=, runtime= (both or none) and deadline=, for be cap=.
 * @why: on failure, a static text on valid values
 * Return: 0; -EINVAL; -ERANGE: a number out of its range. @out is untouched on failure.
 */
int gp_class_request_parse(const char *text, struct gp_class_request *out, const char **why);

/** gp_class_request_format() - as gp_class_request_parse() reads it; "none". */
void gp_class_request_format(const struct gp_class_request *request, char *buf, size_t len);

/** Does it have any options? */
bool gp_class_request_extra(const struct gp_class_request *request);

#pragma GCC visibility pop

#endif
