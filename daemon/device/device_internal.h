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
 * struct gp_group_job - work of the device's worker about @group, which stays until the job
 * ends. The first member of each job's own struct.
 * @group: NULL: about no known group
 * @hal: the same group for the worker; NULL likewise
 */
struct gp_group_job {
	struct gp_job job;
	struct gp_ddev *dev;
	struct gp_runtime_group *group;
	struct gp_group *hal;
};
/** @work: NULL: only wait for the calls and jobs before it. */
void gp_group_job_post(struct gp_group_job *j, struct gp_ddev *dev, struct gp_runtime_group *group,
		       void (*work)(struct gp_job *job), void (*done)(struct gp_job *job));
/** Resume @group with the driver's slice: two at the short one would livelock the device. */
void gp_ddev_run_alone(struct gp_ddev *dev, struct gp_runtime_group *group);
/** A call or a job is over: free its place, and let a virtual clock go on. */
void gp_ddev_over(void *host);
/** Frees the job and the places that waited for it. The last call of its done(). */
void gp_group_job_end(struct gp_group_job *j);
/** Drop the journal's record at @place when all groups are restored. */
void gp_ddev_leaving(struct gp_ddev *dev, int place);

/* call_stats.c */
/** gp_host_ops.called: count and trace the call. */
void gp_ddev_called(void *host, const struct gp_call *call);

/* driver_sched.c */
/** Report @pid's class to a driver that knows classes. */
void gp_ddev_report_class(struct gp_ddev *dev, pid_t pid, const struct gp_class_value *cls);
/** Without a log: read the tenants' usage from the driver's counters. */
void gp_ddev_read_usage(struct gp_ddev *dev);

/* enforce.c */
#define GP_BAN_AFTER 100u
/** Have all groups still the slices that were decided? */
void gp_ddev_enforce(struct gp_ddev *dev);

/* observe.c */
/**
 * Observe the tenants, and report changes and the timer to the core: at once, or after the
 * log was read.
 */
void gp_ddev_observe(struct gp_ddev *dev);
/** The same at once, by the part of the log that was read. */
void gp_ddev_observe_pages(struct gp_ddev *dev);
/** The same after LC work began or ended: other tenants may be preempted for it. */
void gp_ddev_woken(struct gp_ddev *dev);

/* tenant.c */
/** The resident tenant may be another one now: turns are counted here. */
void gp_dtenant_follow_turns(struct gp_ddev *dev);

/** A group of its was suspended, or resumed. */
void gp_dtenant_group_off(struct gp_dtenant *tenant, bool off);
/** Request wakes from tenants that must report when they need the device. */
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
