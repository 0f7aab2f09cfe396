// SPDX-License-Identifier: Apache-2.0
#include "bench/model/switch.h"

#include <errno.h>

#define NS_PER_US 1000.0

struct together {
	uint32_t done;
	uint64_t last_ns;
};

static void on_event(void *arg, const struct gp_model_event *ev)
{
	struct together *t = arg;

	if (ev->type != GP_MODEL_DONE || !ev->cookie)
		return;
	t->done++;
	t->last_ns = ev->time_ns;
}

/* A kernel and a fence. Without the fence, the group would yield during the last blocks. */
static int add_process(struct gp_model *m, int32_t pid, const struct gp_switch_run *run)
{
	const struct gp_model_method kernel = {
		.type = GP_METHOD_KERNEL,
		.blocks = 1,
		.block_ns = run->kernel_ns,
	};
	const struct gp_model_method fence = { .type = GP_METHOD_FENCE, .cookie = 1 };
	int group = gp_model_group_add(m, pid, GP_GROUP_COMPUTE), channel, err;

	if (group < 0)
		return group;
	channel = gp_model_channel_add(m, (uint32_t)group);
	if (channel < 0)
		return channel;
	err = gp_model_set_slice(m, (uint32_t)group, run->slice_us);
	if (!err)
		err = gp_model_submit(m, (uint32_t)channel, &kernel, NULL);
	return err ? err : gp_model_submit(m, (uint32_t)channel, &fence, NULL);
}

/* The time of @processes processes together. */
static int time_of(const struct gp_model_config *device, const struct gp_switch_run *run,
		   uint32_t processes, double *ns)
{
	struct together t = { 0 };
	struct gp_model *m = gp_model_create(device, on_event, &t);
	int err = m ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < processes && !err; i++)
		err = add_process(m, (int32_t)i + 1, run);
	while (!err && t.done < processes)
		gp_model_advance(m, gp_model_next(m));
	*ns = (double)t.last_ns;
	gp_model_destroy(m);
	return err;
}

int gp_switch_estimate(const struct gp_model_config *device, const struct gp_switch_run *run,
		       double *switch_us)
{
	const double n = run->processes;
	double one_ns, all_ns;
	int err;

	if (device->kind != GP_MODEL_TIMESLICE || run->processes < 2 ||
	    run->processes > GP_SWITCH_PROCESSES_MAX)
		return -EINVAL;
	err = time_of(device, run, 1, &one_ns);
	if (!err)
		err = time_of(device, run, run->processes, &all_ns);
	if (!err)
		*switch_us = (all_ns - n * one_ns) / (n * one_ns) *
			     (double)(run->slice_us * device->slice_unit_ns) / NS_PER_US;
	return err;
}

double gp_switch_of_model(const struct gp_model_config *device)
{
	return (double)(device->switch_out_ns + device->save_ns + device->switch_in_ns +
			device->begin_ns + device->restore_ns) /
	       NS_PER_US;
}
