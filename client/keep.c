// SPDX-License-Identifier: Apache-2.0
#include "client/keep.h"

#include "client/pile.h"

/* One switch away and one back. */
static uint64_t keep_ns(const struct gp_client_device *dev)
{
	return 2 * dev->caps.switch_ns;
}

void gp_keep_for(struct gp_client_device *dev, struct gp_ectx *c, uint64_t limit_ns)
{
	struct gp_event ev = { .type = GP_EV_KEEP, .tenant = c->tenant, .hold.limit_ns = limit_ns };

	if (!limit_ns && !c->kept)
		return;
	c->kept = limit_ns != 0;
	(void)gp_client_device_event_locked(dev, &ev);
}

void gp_keep_work(struct gp_client_device *dev, struct gp_ectx *c, bool busy)
{
	const uint64_t now_ns = gp_client_device_now(dev);
	uint64_t for_ns;

	if (busy) {
		for_ns = gp_anticipate_busy(&c->pauses, now_ns, keep_ns(dev));
		if (for_ns)
			gp_keep_for(dev, c, for_ns);
		return;
	}
	/* Launches that pile up do not need the device. */
	gp_keep_for(dev, c,
		    gp_anticipate_idle(&c->pauses, now_ns, keep_ns(dev), !gp_pile_lets(dev, c)));
}

void gp_keep_wait(struct gp_client_device *dev, struct gp_ectx *c)
{
	if (gp_anticipate_ends(&c->pauses, keep_ns(dev)))
		gp_keep_for(dev, c, 0);
}
