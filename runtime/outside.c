// SPDX-License-Identifier: Apache-2.0
/*
 * outside.c - a host of the runtime that lasts for one decision about each group. Another
 * process may have set the slices before, so the core takes them for unknown.
 */
#include "runtime/outside.h"

#include "runtime/runtime.h"

#define TENANT 1u

struct outside {
	struct gp_runtime *rt;
	int err, mode_err;
};

static void called(void *host, const struct gp_call *call)
{
	struct outside *o = host;

	if (call->own)
		o->mode_err = call->err;
	else if (!o->err)
		o->err = call->err;
}

static int join(struct outside *o, const struct gp_class_value *cls, bool has_slot)
{
	const struct gp_event slot = { .type = GP_EV_SLOT, .slot.have = has_slot };
	const struct gp_event ev = {
		.type = GP_EV_TENANT_JOIN,
		.tenant = TENANT,
		.spec.cls = *cls,
	};
	int err = gp_runtime_event(o->rt, &slot);

	return err ? err : gp_runtime_event(o->rt, &ev);
}

/* The first compute group that appears gets the short slice. */
static int add_groups(struct outside *o, const struct gp_group_list *list)
{
	for (size_t i = 0; i < list->count && !o->err; i++) {
		int err = 0;

		if (gp_runtime_takes(o->rt, list->group[i]))
			err = gp_runtime_group_add(o->rt, TENANT, o, list->group[i]);
		if (err)
			return err;
	}
	return o->err;
}

/* Only instruction-level preemption can preempt a long kernel. */
static void set_mode(struct outside *o, struct gp_device *dev)
{
	struct gp_runtime_group *first = gp_runtime_next_compute(o->rt, NULL, NULL);
	struct gp_hal_caps caps;

	if (!first || dev->ops->caps(dev, &caps) || !(caps.caps & GP_CAP_PREEMPT_MODE))
		return;
	gp_runtime_own(o->rt, first, GP_CALL_PREEMPT_MODE);
}

int gp_outside_set(struct gp_device *dev, const struct gp_group_list *list,
		   const struct gp_class_value *cls, bool has_slot, int *mode_err)
{
	static const struct gp_host_ops ops = { .called = called };
	struct outside o = { 0 };
	const struct gp_runtime_config config = {
		.hal = dev,
		.executor = &gp_executor_inline,
		.ops = &ops,
		.host = &o,
		.borrowed = true,
		.slices_unknown = true,
	};
	int err = gp_runtime_create(&config, &o.rt);

	if (err)
		return err;
	err = join(&o, cls, has_slot);
	if (!err)
		err = add_groups(&o, list);
	if (!err && cls->cls == GP_CLASS_BE)
		set_mode(&o, dev);
	gp_runtime_destroy(o.rt);
	if (mode_err)
		*mode_err = o.mode_err;
	return err;
}
