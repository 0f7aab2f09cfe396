// SPDX-License-Identifier: Apache-2.0
#include "cli/admit.h"

#include <unistd.h>

#include "cli/cli.h"
#include "runtime/size.h"

#define AGAIN_S 1

struct memory {
	const struct gp_device *dev; /* NULL: none has told */
	uint64_t total, room;
};

static bool is_better(const struct memory *a, const struct memory *b, uint64_t min)
{
	if (!b->dev || (a->total >= min) != (b->total >= min))
		return !b->dev || a->total >= min;
	return a->room > b->room;
}

/* The device that is most likely to have @min. */
static struct memory look(const struct gp_devices *devices, uint64_t min)
{
	struct memory best = { 0 };

	for (size_t i = 0; i < devices->count; i++) {
		struct gp_device *dev = devices->dev[i];
		struct memory m = { .dev = dev };

		if (!dev->ops->memory(dev, &m.total, &m.room) && is_better(&m, &best, min))
			best = m;
	}
	return best;
}

struct texts {
	char min[GP_SIZE_TEXT_LEN], room[GP_SIZE_TEXT_LEN], total[GP_SIZE_TEXT_LEN];
	char device[GP_DEVICE_NAME_LEN];
};

static struct texts write_out(const struct memory *m, uint64_t min)
{
	struct texts t = { 0 };

	gp_format_size(min, t.min, sizeof(t.min));
	gp_format_size(m->room, t.room, sizeof(t.room));
	gp_format_size(m->total, t.total, sizeof(t.total));
	gp_device_spec(m->dev, t.device, sizeof(t.device));
	return t;
}

static int admit(const char *verb, const struct gp_admit_args *args,
		 const struct gp_devices *devices)
{
	for (bool said = false;; said = true) {
		const struct memory m = look(devices, args->min);
		const struct texts t = m.dev ? write_out(&m, args->min) : (struct texts){ 0 };

		if (!m.dev)
			return 0;
		if (m.total < args->min)
			return gp_fail("%s: MIN is %s, but %s has %s of memory; write a smaller "
				       "MIN",
				       verb, t.min, t.device, t.total);
		if (args->turns || m.room >= args->min)
			return 0;
		if (!args->wait)
			return gp_fail("%s: MIN is %s, but %s of %s are free on %s; add --wait, "
				       "or end other programs",
				       verb, t.min, t.room, t.total, t.device);
		if (!said)
			gp_note("%s: waiting for %s on %s: %s of %s are free", verb, t.min,
				t.device, t.room, t.total);
		sleep(AGAIN_S);
	}
}

int gp_admit(const char *verb, const struct gp_admit_args *args)
{
	struct gp_devices devices;
	char why[256];
	int err;

	/* CMD itself reports that it finds no device. */
	if (!args->min || gp_devices_open(args->device, &devices, why, sizeof(why)))
		return 0;
	err = admit(verb, args, &devices);
	gp_devices_close(&devices);
	return err;
}
