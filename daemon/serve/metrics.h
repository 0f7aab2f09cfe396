/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - the Prometheus endpoint: GET /metrics over a unix socket or loopback.
 * Off unless configured. All of it runs in the loop.
 */
#ifndef GP_DAEMON_METRICS_H
#define GP_DAEMON_METRICS_H

#include "daemon/config/config.h"
#include "daemon/loop/loop.h"
#include "wire/hist.h"
#include "wire/wire.h"

/**
 * struct gp_view_account - sums of one container's processes on a device, former ones too.
 * @namespace, @pod, @container, @job: valid until the loop's next round; "": none
 * @used_ns: GP_WIRE_UNKNOWN: no source
 * @weight: of its best-effort processes, now
 * @movable, @fixed, @out, @pinned: bytes of its processes, now
 * @moves, @moved, @move_ns: as struct gp_wire_memory_figures
 */
struct gp_view_account {
	const char *namespace, *pod, *container, *job;
	uint64_t used_ns, waited_ns, held_ns, turns, preempted, weight;
	uint64_t movable, fixed, out, moves, moved, move_ns, pinned;
};

/* Source of the figures, shared by the daemon's views. */
struct gp_view_ops {
	/** Devices, as in GP_WIRE_DEVICES. Returns their number. */
	size_t (*devices)(void *arg, struct gp_wire_device *out, size_t max);
	/** Tenants of all devices. Returns their number. */
	size_t (*tenants)(void *arg, struct gp_wire_tenant *out, size_t max);
	/** Total of all tenants of @device, former ones too. */
	const struct gp_hist *(*histogram)(void *arg, size_t device, enum gp_wire_histogram kind);
	/**
	 * Time on @device of all tenants of @cls (enum gp_class), former ones too, by the
	 * hardware's report: never falls. GP_WIRE_UNKNOWN. May be NULL: unknown.
	 */
	uint64_t (*used_ns)(void *arg, size_t device, uint32_t cls);
	/** Up to @max accounts of @device; returns their number. May be NULL: none. */
	size_t (*accounts)(void *arg, size_t device, struct gp_view_account *out, size_t max);
};

struct gp_metrics;

/** 0 with *@metrics NULL: off. -errno, and one line in @why: it cannot listen. */
int gp_metrics_create(struct gp_loop *loop, const struct gp_config_metrics *config,
		      const struct gp_view_ops *ops, void *arg, struct gp_metrics **metrics,
		      char *why, size_t len);
/** NULL is legal. */
void gp_metrics_destroy(struct gp_metrics *metrics);

#endif
