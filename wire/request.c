// SPDX-License-Identifier: Apache-2.0
/* request.c - converts a class request to and from its message form. */
#include <errno.h>

#include "gpreempt/class.h"
#include "wire/wire.h"

_Static_assert(GP_WIRE_PERIOD_MAX_NS == GP_PERIOD_MAX_NS, "one bound");
_Static_assert(GP_WIRE_CAP_MAX_PCT == GP_CAP_MAX_PCT, "one bound");

void gp_class_request_to_wire(const struct gp_class_request *r, struct gp_wire_request *out)
{
	*out = (struct gp_wire_request){
		.cls = r->cls.cls,
		/* Meaningless there, so any value is dropped. */
		.value = r->cls.cls == GP_CLASS_NONE ? 0 : r->cls.value,
		.cap_pct = r->cap_pct,
		.period_ns = r->period_ns,
		.deadline_ns = r->deadline_ns,
		.runtime_ns = r->runtime_ns,
	};
}

int gp_class_request_from_wire(const struct gp_wire_request *wire, struct gp_class_request *out)
{
	if (gp_wire_request_check(wire))
		return -EINVAL;
	*out = (struct gp_class_request){
		.cls = { wire->cls, wire->value },
		.cap_pct = wire->cap_pct,
		.period_ns = wire->period_ns,
		.deadline_ns = wire->deadline_ns,
		.runtime_ns = wire->runtime_ns,
	};
	return 0;
}
