// SPDX-License-Identifier: Apache-2.0
/* ls.c - hsaq mode, hsaq ls: the kernel's abilities, devices, queues. */
#include <stdio.h>

#include "cli/text.h"
#include "libhsaq/cmd/cmd.h"

static const char *const state_name[] = {
	[HSAQ_STATE_INACTIVE] = "inactive",	  [HSAQ_STATE_LOADED] = "loaded",
	[HSAQ_STATE_WAITING] = "waiting",	  [HSAQ_STATE_HELD] = "held",
	[HSAQ_STATE_EVICTED] = "evicted",	  [HSAQ_STATE_SAVING] = "saving",
	[HSAQ_STATE_QUARANTINED] = "quarantined",
};

struct listing {
	struct hsaq *h;
	const char *device;
	size_t devices;
};

static int count_device(const struct hsaq_device_info *info, void *arg)
{
	struct listing *l = arg;

	l->devices += hsaq_names(l->device, info);
	return 0;
}

static int print_mode(const struct hsaq_device_info *info, void *arg)
{
	struct listing *l = arg;
	char line[HSAQ_WHY_LEN];

	if (!hsaq_names(l->device, info))
		return 0;
	hsaq_device_mode_line(l->h, info->gpu_id, line, sizeof(line));
	printf("device %u: %s\n", info->gpu_id, line);
	return 0;
}

/* Without a device it prints what the kernel would offer. */
int hsaq_verb_mode(const struct hsaq_args *args, struct hsaq *h)
{
	struct listing l = { .h = h, .device = args->device };
	char line[HSAQ_WHY_LEN];
	int err = hsaq_devices(h, count_device, &l);

	if (!err && l.devices)
		err = hsaq_devices(h, print_mode, &l);
	if (err)
		return hsaq_fail_call(args, h, 0, "devices", err);
	if (l.devices)
		return 0;
	if (args->device)
		return hsaq_fail_device(args);
	hsaq_mode_line(h, line, sizeof(line));
	printf("no device: %s\n", line);
	return 0;
}

static int print_device(const struct hsaq_device_info *info, void *arg)
{
	struct hsaq_device_state state = { .size = sizeof(state) };
	struct listing *l = arg;
	char name[HSAQ_NAME_LEN], slots[32], hold[16] = "-";

	if (!hsaq_names(l->device, info))
		return 0;
	if (!hsaq_drm_name(info->render_minor, name, sizeof(name)))
		snprintf(name, sizeof(name), "%s", info->name);
	snprintf(slots, sizeof(slots), "-/%u", info->cp_queues);
	if (!hsaq_device_state(l->h, info->gpu_id, &state)) {
		snprintf(slots, sizeof(slots), "%u/%u", state.loaded,
			 state.slots - state.slots_quarantined);
		/* The hold of a single process has no level. */
		if (state.holders && state.hold_level <= HSAQ_LEVEL_MAX)
			snprintf(hold, sizeof(hold), "lc:%u", state.hold_level);
	}
	printf("%8u  %04x:%02x:%02x.%x  GPU-%016llx  gfx%u%x%x  %7s  %5s  %s\n", info->gpu_id,
	       info->pci_domain, info->pci_bus, info->pci_dev, info->pci_fn,
	       (unsigned long long)info->unique_id, info->gfx_version / 10000,
	       info->gfx_version / 100 % 100, info->gfx_version % 100, slots, hold,
	       gp_printable(name));
	return 0;
}

static void print_known(const struct hsaq_queue_info *q)
{
	char cls[16], slot[16] = "-";

	snprintf(cls, sizeof(cls), q->cls == HSAQ_CLASS_LC ? "lc:%u" : "be:%u",
		 q->cls == HSAQ_CLASS_LC ? q->level : q->weight);
	if (q->slot != ~0u)
		snprintf(slot, sizeof(slot), "%u.%u", q->pipe, q->slot);
	printf("%-11s  %-8s  %5s  %8llu  %8llu  %8llu  %10.1f  %10.1f",
	       q->state <= HSAQ_STATE_QUARANTINED ? state_name[q->state] : "?", cls, slot,
	       (unsigned long long)q->loads, (unsigned long long)q->saves,
	       (unsigned long long)q->saves_midwave, (double)q->loaded_ns / 1e6,
	       (double)q->waiting_ns / 1e6);
}

static int print_queue(const struct hsaq_queue_info *q, void *arg)
{
	static const char *const type[] = { "compute", "sdma", "other" };
	char comm[32];

	gp_read_comm(q->pid, comm, sizeof(comm));
	printf("%7d  %5u  %8u  %-7s  ", q->pid, q->queue_id, q->gpu_id, type[q->type]);
	if (q->state >= 0)
		print_known(q);
	else
		printf("%-11s  %-8s  %5s  %8s  %8s  %8s  %10s  %10s", "-", "-", "-", "-", "-", "-",
		       "-", "-");
	printf("  %s\n", gp_printable(comm));
	return 0;
}

static int print_queues_of(const struct hsaq_device_info *info, void *arg)
{
	struct listing *l = arg;

	if (!hsaq_names(l->device, info))
		return 0;
	return hsaq_queues(l->h, info->gpu_id, 0, print_queue, NULL);
}

int hsaq_verb_ls(const struct hsaq_args *args, struct hsaq *h)
{
	struct listing l = { .h = h, .device = args->device };
	int err = hsaq_devices(h, count_device, &l);

	if (!err && !l.devices)
		return hsaq_fail_device(args);
	if (!err)
		err = hsaq_devices(h, print_mode, &l);
	printf("\n%8s  %-12s  %-20s  %-6s  %7s  %5s  %s\n", "GPU_ID", "PCI", "UUID", "ISA",
	       "LOADED", "HELD", "NAME");
	if (!err)
		err = hsaq_devices(h, print_device, &l);
	if (err)
		return hsaq_fail_call(args, h, 0, "devices", err);
	printf("\n%7s  %5s  %8s  %-7s  %-11s  %-8s  %5s  %8s  %8s  %8s  %10s  "
	       "%10s  %s\n",
	       "PID", "QUEUE", "GPU_ID", "TYPE", "STATE", "CLASS", "SLOT", "LOADS", "SAVES",
	       "MIDWAVE", "LOADED_MS", "WAITED_MS", "COMMAND");
	err = hsaq_devices(h, print_queues_of, &l);
	return err ? hsaq_fail_call(args, h, 0, "queues", err) : 0;
}
