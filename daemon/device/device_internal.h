/* SPDX-License-Identifier: Apache-2.0 */
/* device_internal.h - shared by the files about one device, and tenant.c. */
#ifndef GP_DAEMON_DEVICE_INTERNAL_H
#define GP_DAEMON_DEVICE_INTERNAL_H

#include "daemon/device/device.h"

/* Where nothing goes on, tenants are looked at so often, by the wall's clock. */
#define GP_OBSERVE_IDLE_NS 1000000000u

/* device.c */
void gp_ddev_arm(struct gp_ddev *dev);
/** Let a virtual clock go on, if nothing is under way. */
void gp_ddev_let_go(struct gp_ddev *dev);
void gp_ddev_sweep(struct gp_ddev *dev);
/**
 * struct gp_group_job - work of the device's worker, about @group, which stays until
 * it is done; the first member of what is to be done.
 * @group: NULL: about none, or about one that nobody knows
 * @hal: it, for the worker; NULL likewise
 */
struct gp_group_job {
	struct gp_job job;
	struct gp_ddev *dev;
	struct gp_runtime_group *group;
	struct gp_group *hal;
};
void gp_group_job_post(struct gp_group_job *j, struct gp_ddev *dev, struct gp_runtime_group *group,
		       void (*work)(struct gp_job *job), void (*done)(struct gp_job *job));
/** A call or a job is over: free its place, and let a virtual clock go on. */
void gp_ddev_over(void *host);
/** The last that its done() does: frees it, and what waited for it. */
void gp_group_job_end(struct gp_group_job *j);
/** The journal's record at @place is dropped when all is put back. */
void gp_ddev_leaving(struct gp_ddev *dev, int place);

/* call_stats.c */
/** gp_host_ops.called: count and trace the call. */
void gp_ddev_called(void *host, const struct gp_call *call);

/* driver_sched.c */
/** Tell a driver that knows classes of @pid's. */
void gp_ddev_report_class(struct gp_ddev *dev, pid_t pid, const struct gp_class_value *cls);
/** Ask the driver's counters, where there is no log, what tenants used. */
void gp_ddev_read_usage(struct gp_ddev *dev);

/* enforce.c */
#define GP_BAN_AFTER 100u
/** Have all groups still the slices that were decided? */
void gp_ddev_enforce(struct gp_ddev *dev);

/* observe.c */
/**
 * See what tenants are doing, tell the core what is news, and that its time has
 * come. At once, or when the log was read.
 */
void gp_ddev_observe(struct gp_ddev *dev);
/** At once, and by what is known of the log. */
void gp_ddev_observe_pages(struct gp_ddev *dev);
/** The same, for latency-critical work that has come or is done: others may be cut for it. */
void gp_ddev_woken(struct gp_ddev *dev);

/* tenant.c */
/** The resident tenant may be another one now: turns are counted here. */
void gp_dtenant_follow_turns(struct gp_ddev *dev);

/** A group of its was suspended, or resumed. */
void gp_dtenant_group_off(struct gp_dtenant *tenant, bool off);
/** Tell who has to say when it needs the device. */
void gp_dtenant_request_wakes(struct gp_ddev *dev);

/* be_activity.c, of best-effort */
/** Has it work? Tell the core, if that is news. */
void gp_dtenant_observe_be(struct gp_dtenant *tenant, uint64_t now_ns);
/** When that may be seen next; 0: it is not known. */
uint64_t gp_dtenant_be_look_ns(const struct gp_dtenant *tenant, uint64_t now_ns);
/** Is it the log that would tell now? */
bool gp_dtenant_be_needs_log(const struct gp_dtenant *tenant, uint64_t now_ns);
/** It has no work, and will say when it has. */
bool gp_dtenant_will_report(const struct gp_dtenant *tenant, uint64_t now_ns);
/** Wakes that its page is to request: bits of enum gp_page_wake_on. */
uint32_t gp_dtenant_be_wakes(const struct gp_dtenant *tenant);
/** Its turn is over. */
void gp_dtenant_had_turn(struct gp_dtenant *tenant);

#endif
