/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class.h - the way users write a class: "lc", "lc:N", "be", "be:W".
 */
#ifndef GP_CLIENT_CLASS_H
#define GP_CLIENT_CLASS_H

#include <stddef.h>
#include <stdint.h>

#include "gpreempt/gpreempt.h"

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/** A class with its level (LC), its weight (BE), or 0 (NONE). */
struct gp_class_value {
	uint32_t cls;		/* enum gp_class */
	uint32_t value;
};

/* Longest text of gp_class_format(), its NUL included. */
#define GP_CLASS_TEXT_LEN 16

/**
 * gp_class_parse() - read @text, strictly: no blanks, signs or leading zeros.
 * Return: 0; -EINVAL not a class; -ERANGE level or weight out of range. @out
 * is untouched on failure.
 */
int gp_class_parse(const char *text, struct gp_class_value *out);

/** gp_class_check() - 0, or -EINVAL: no such class, level or weight. */
int gp_class_check(uint32_t cls, uint32_t value);

/** gp_class_format() - as gp_class_parse() reads it; "none" for NONE. */
void gp_class_format(const struct gp_class_value *cls, char *buf, size_t len);

#pragma GCC visibility pop

#endif
