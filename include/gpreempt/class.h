/* SPDX-License-Identifier: Apache-2.0 */
/* class.h - the class of a process on a device, and what it may ask for besides. */
#ifndef GPREEMPT_CLASS_H
#define GPREEMPT_CLASS_H

#include <stdint.h>

enum gp_class {
	GP_CLASS_NONE = 0, /* as the driver does it */
	GP_CLASS_LC = 1,   /* latency-critical */
	GP_CLASS_BE = 2,   /* best-effort */
};

#define GP_LEVEL_MAX 15 /* LC levels 0 (most urgent) .. 15 */
#define GP_WEIGHT_MIN 1 /* BE weights */
#define GP_WEIGHT_MAX 10000
#define GP_WEIGHT_DEFAULT 100
#define GP_PERIOD_MAX_NS 10000000000ull /* 10 s */
#define GP_CAP_MAX_PCT 100

/** A class with its level (LC) or weight (BE); 0 for NONE. */
struct gp_class_value {
	uint32_t cls; /* enum gp_class */
	uint32_t value;
};

/**
 * struct gp_class_request - all that a user may ask for.
 * @cls: the class
 * @cap_pct: BE: the most of the device that it gets, 1..100; 0: no cap
 * @pad: 0
 * @period_ns: LC: its work comes at most once in this time; 0: no deadline
 * @deadline_ns: LC: each work is to be done so long after it came, at most
 *	@period_ns; 0 without @period_ns
 * @runtime_ns: LC: each work takes so much of the device, at most @deadline_ns;
 *	0 without @period_ns
 */
struct gp_class_request {
	struct gp_class_value cls;
	uint32_t cap_pct;
	uint32_t pad;
	uint64_t period_ns;
	uint64_t deadline_ns;
	uint64_t runtime_ns;
};

#endif
