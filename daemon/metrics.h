/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - the Prometheus endpoint: GET /metrics over a unix socket or loopback.
 * Off unless configured. All of it runs in the loop.
 */
#ifndef GP_DAEMON_METRICS_H
#define GP_DAEMON_METRICS_H

#include "daemon/config.h"
#include "daemon/loop.h"
#include "wire/hist.h"
#include "wire/wire.h"

/* What there is to show, as the daemon's other views see it. */
struct gp_view_ops {
	/** Devices, as GP_WIRE_DEVICES lists them. How many. */
	size_t (*devices)(void *arg, struct gp_wire_device *out, size_t max);
	/** Tenants of all devices. How many. */
	size_t (*tenants)(void *arg, struct gp_wire_tenant *out, size_t max);
	/** All tenants' of device @device together, those that left too. */
	const struct gp_hist *(*histogram)(void *arg, size_t device, enum gp_wire_histogram kind);
	/**
	 * So long had @cls's (enum gp_class) tenants device @device, says its hardware,
	 * those that left too: never falls. GP_WIRE_UNKNOWN. May be NULL: nobody knows.
	 */
	uint64_t (*used_ns)(void *arg, size_t device, uint32_t cls);
};

struct gp_metrics;

/** 0 with *@metrics NULL: off. -errno, and one line in @why: it cannot be served. */
int gp_metrics_create(struct gp_loop *loop, const struct gp_config_metrics *config,
		      const struct gp_view_ops *ops, void *arg, struct gp_metrics **metrics,
		      char *why, size_t len);
/** NULL is legal. */
void gp_metrics_destroy(struct gp_metrics *metrics);

#endif
