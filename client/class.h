/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class.h - the way users write a class: "lc", "lc:N", "be", "be:W", and what
 * they may ask for besides: "lc:N,period=20ms,deadline=10ms,runtime=2ms",
 * "be:W,cap=30%".
 */
#ifndef GP_CLIENT_CLASS_H
#define GP_CLIENT_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpreempt/gpreempt.h"

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/** A class with its level (LC), its weight (BE), or 0 (NONE). */
struct gp_class_value {
	uint32_t cls; /* enum gp_class */
	uint32_t value;
};

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

/* ---- a class and what is asked for besides ----------------------------------- */

#define GP_PERIOD_MAX_NS 10000000000ull /* 10 s */
#define GP_CAP_MAX_PCT 100

/**
 * struct gp_class_request - all that a user may ask for.
 * @period_ns: LC: its work comes once in so long; 0: nothing said of deadlines
 * @deadline_ns: and is done so long after it came, <= @period_ns (which it is
 *	when not said); 0 with @period_ns
 * @runtime_ns: and takes the device so long, <= @deadline_ns; 0 with @period_ns
 * @cap_pct: BE: of the device at most, 1..100; 0: no cap
 */
struct gp_class_request {
	struct gp_class_value cls;
	uint32_t cap_pct;
	uint32_t pad;
	uint64_t period_ns;
	uint64_t deadline_ns;
	uint64_t runtime_ns;
};

/* Longest text of gp_class_request_format(), its NUL included. */
#define GP_CLASS_REQUEST_TEXT_LEN 128

/**
 * gp_class_request_parse() - read @text as gp_class_parse() does. After a comma,
 * each at most once and in any order: for lc period=, runtime= (both or none)
 * and deadline=, for be cap=.
 * @why: on failure, in words, what would be right; static
 * Return: 0; -EINVAL; -ERANGE: a number out of its range. @out is untouched on
 * failure.
 */
int gp_class_request_parse(const char *text, struct gp_class_request *out, const char **why);

/** gp_class_request_format() - as gp_class_request_parse() reads it; "none". */
void gp_class_request_format(const struct gp_class_request *request, char *buf, size_t len);

/** Is there more to it than class, level, weight? */
bool gp_class_request_extra(const struct gp_class_request *request);

struct gp_wire_request;

/** gp_class_request_to_wire() - as it goes over the wire. */
void gp_class_request_to_wire(const struct gp_class_request *request, struct gp_wire_request *out);

/**
 * gp_class_request_from_wire() - as it came; a peer's, so it may be anything.
 * Return: 0; -EINVAL: nobody could have written that, @out is untouched.
 */
int gp_class_request_from_wire(const struct gp_wire_request *wire, struct gp_class_request *out);

#pragma GCC visibility pop

#endif
