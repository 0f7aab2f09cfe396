// SPDX-License-Identifier: Apache-2.0
#include "runtime/clocks.h"

/* Crystals are off by at most 50 ppm; a clock that is being set, by 500. */
#define DRIFT_PPM 100u
/* A longer reading was interrupted and proves nothing. */
#define TOOK_MAX_NS 200000u
#define TRIES 5 /* for the first reading: one may be interrupted */

uint64_t gp_clocks_doubt(const struct gp_clocks *c, uint64_t now_ns)
{
	if (!c->known)
		return UINT64_MAX;
	return c->doubt_ns + (now_ns - c->at_ns) / (1000000u / DRIFT_PPM);
}

bool gp_clocks_read(struct gp_clocks *c, uint64_t before_ns, uint64_t there_ns, uint64_t after_ns)
{
	const uint64_t took_ns = after_ns - before_ns;

	if (after_ns < before_ns || took_ns > TOOK_MAX_NS ||
	    took_ns / 2 > gp_clocks_doubt(c, after_ns))
		return false;
	*c = (struct gp_clocks){
		.ahead_ns = (int64_t)(there_ns - before_ns - took_ns / 2),
		.known = true,
		.doubt_ns = took_ns / 2,
		.at_ns = after_ns,
	};
	return true;
}

int gp_clocks_of_log(struct gp_clocks *c, const struct gp_hal_ops *ops, struct gp_device *dev,
		     struct gp_log *log, bool same)
{
	uint64_t before_ns, there_ns, after_ns;
	int err = 0;

	if (same)
		c->known = true;
	for (int tries = same ? 0 : c->known ? 1 : TRIES; tries && !err; tries--) {
		err = ops->now(dev, &before_ns);
		if (!err)
			err = ops->log_now(log, &there_ns);
		if (!err)
			err = ops->now(dev, &after_ns);
		if (!err)
			gp_clocks_read(c, before_ns, there_ns, after_ns);
	}
	return err;
}
