// SPDX-License-Identifier: Apache-2.0
/*
 * device.c - the devices that a verb acts on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* Adds all other devices of the backend of @devices' first one. */
static void open_others(struct gp_devices *devices)
{
	const struct gp_device *first = devices->dev[0];
	struct gp_device_list list = { 0 };

	if (first->ops->probe(&list))
		return;
	for (size_t i = 0; i < list.count; i++) {
		if (!memcmp(list.dev[i].uuid, first->id.uuid, sizeof(first->id.uuid)))
			continue;
		if (!first->ops->open(&list.dev[i], &devices->dev[devices->count]))
			devices->count++;
	}
}

int gp_devices_open(const char *spec, struct gp_devices *devices, char *why, size_t why_len)
{
	int err;

	devices->count = 0;
	why[0] = '\0';
	err = gp_device_open(spec, &devices->dev[0], why, why_len);
	if (err) {
		if (!why[0])
			snprintf(why, why_len, "%s: %s", spec ? spec : "no GPU", strerror(-err));
		return err;
	}
	devices->count = 1;
	if (!spec)
		open_others(devices);
	return 0;
}

void gp_devices_close(struct gp_devices *devices)
{
	for (size_t i = 0; i < devices->count; i++)
		gp_device_close(devices->dev[i]);
	devices->count = 0;
}

bool gp_device_is_soft(const struct gp_device *dev)
{
	return !strcmp(dev->ops->name, "softgpu");
}

void gp_device_spec(const struct gp_device *dev, char *buf, size_t len)
{
	if (gp_device_is_soft(dev))
		snprintf(buf, len, "soft%u", dev->id.minor);
	else
		gp_uuid_format(dev->id.uuid, buf, len);
}
