/* SPDX-License-Identifier: Apache-2.0 */
/* class.h - the class of a process on a device, with a deadline or a cap. */
#ifndef GPREEMPT_CLASS_H
#define GPREEMPT_CLASS_H

#include <stdint.h>

/**
 * enum gp_class - Scheduling class of a process on a device.
 * @GP_CLASS_NONE: no class; the driver's own timeslices
 * @GP_CLASS_LC: latency-critical
 * @GP_CLASS_BE: best-effort
 */
enum gp_class {
	GP_CLASS_NONE = 0,
	GP_CLASS_LC = 1,
	GP_CLASS_BE = 2,
};

#define GP_LEVEL_MAX 15 /* LC levels: 0 (most urgent) to 15 */
#define GP_WEIGHT_MIN 1 /* BE weights: 1 to 10000 */
#define GP_WEIGHT_MAX 10000
#define GP_WEIGHT_DEFAULT 100
#define GP_PERIOD_MAX_NS 10000000000ull /* longest period: 10 s */
#define GP_CAP_MAX_PCT 100

/**
 * struct gp_class_value - A class with its level or weight.
 * @cls: enum gp_class
 * @value: LC: level, 0 to GP_LEVEL_MAX; BE: weight, GP_WEIGHT_MIN to
 *	GP_WEIGHT_MAX; NONE: 0
 */
struct gp_class_value {
	uint32_t cls;
	uint32_t value;
};

/**
 * struct gp_class_request - A class with a deadline or a cap.
 * @cls: the class
 * @cap_pct: BE: largest share of the device, 1 to 100 percent; 0: no cap
 * @pad: 0
 * @period_ns: LC: shortest time between two arrivals of work, ns, up to
 *	GP_PERIOD_MAX_NS; 0: no deadline
 * @deadline_ns: LC: longest time from an arrival until its work is done, ns, up to
 *	@period_ns; 0 without @period_ns
 * @runtime_ns: LC: device time of the work of one arrival, ns, up to @deadline_ns;
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
