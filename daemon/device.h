/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - one device of the daemon's: an instance of the core, the groups it
 * decides about, and who carries its decisions out. All of it is the loop's; only
 * struct gp_control's hal, slice_us, err and took_ns are the worker's while one is
 * under way.
 */
#ifndef GP_DAEMON_DEVICE_H
#define GP_DAEMON_DEVICE_H

#include "daemon/config.h"
#include "daemon/journal.h"
#include "daemon/loop.h"
#include "daemon/trace.h"
#include "daemon/usage.h"
#include "daemon/worker.h"
#include "gpreempt/hal.h"
#include "runtime/clocks.h"
#include "sched/sched.h"
#include "wire/hist.h"

struct gp_dtenant;
struct gp_log_look;

/* A best-effort tenant that idles has slices of this: see sched.h. */
#define GP_DDEV_IDLE_SLICE_US 500u

struct gp_dgroup {
	uint32_t id; /* of the HAL and the core; 0: place is free */
	struct gp_group *group;
	struct gp_dtenant *tenant; /* NULL: it left, and is put back */
	uint32_t jobs;		   /* controls under way */
	bool gone;		   /* freed when they are done */
	bool off;		   /* suspended, as far as is known */
	uint64_t slice_us;	   /* as it was set last; 0: as it was found */
	uint64_t used_ns;	   /* by the driver's counters, as of the last look */
};

/* Controls carried out. */
struct gp_ddev_stat {
	uint64_t turns, suspends, resumes, slices, preempts, failed;
	uint64_t control_ns;
};

struct gp_ddev {
	struct gp_device *hal;
	struct gp_hal_ops ops; /* its, with the dummies */
	struct gp_hal_caps caps;
	const struct gp_hal_ops *hal_ops; /* as they were */
	uint16_t number;		  /* as GP_WIRE_DEVICES lists them */
	struct gp_config_settings settings;
	uint64_t since_ns; /* by the core's clock */

	struct gp_loop *loop;
	struct gp_trace *trace;
	struct gp_journal *journal;
	struct gp_worker *worker;
	struct gp_sched *sched;
	struct gp_decisions out; /* scratch of one step */
	struct gp_timer *timer;
	struct gp_source timer_source;
	bool counts;	     /* the driver's counters tell usage */
	bool acked;	     /* the timer's time stands still */
	uint32_t jobs;	     /* controls under way */
	uint64_t core_at_ns; /* the core's timer; 0: none */
	bool in_step;	     /* pages are looked at for one */
	uint64_t look_at_ns; /* ours: pages are looked at; 0: not */

	struct gp_dgroup group[GP_SCHED_MAX_GROUPS];
	struct gp_dtenant *tenants; /* newest first */
	uint32_t last_tenant_id;
	uint32_t resident;		 /* tenant id, as it was traced */
	int leaving[GP_JOURNAL_RECORDS]; /* places of who left, and is put back */
	size_t leaving_count;

	struct gp_log *log;	     /* NULL: may not be read */
	struct gp_log_look *looking; /* it is being read */
	struct gp_clocks clocks;     /* its clock, of the core's */
	uint64_t log_read_ns;	     /* last, in the core's clock */
	uint64_t log_whole_ns;	     /* likewise, and nothing was left in it */
	uint32_t busy_looks;	     /* in a row that saw LC work */
	bool woken;		     /* since the log was read last */
	uint32_t cut_looks;	     /* in a row that saw one wait for who is less urgent */
	struct gp_usage usage;
	struct gp_tick idle;   /* looks where nothing goes on */
	int slot_fd;	       /* the right to the short slice; -1: not ours */
	struct gp_tick slot;   /* then: tries again */
	struct gp_tick notice; /* looks for work of who had none */
	uint32_t quiet_looks;  /* such ones in a row that saw nobody's */
	bool noticing;	       /* it is to come */
	struct gp_ddev_stat stat;
	struct gp_hist hist[GP_WIRE_HISTS];
	uint64_t used_ns[GP_CLASS_BE + 1]; /* by all tenants of a class, ever */
};

/**
 * gp_ddev_create() - take over @hal, which is closed with it. @settings: copied;
 * @journal, @trace: borrowed. 0 or negative errno, and @hal is the caller's still.
 */
int gp_ddev_create(struct gp_loop *loop, struct gp_device *hal, uint16_t number,
		   const struct gp_config_settings *settings, struct gp_journal *journal,
		   struct gp_trace *trace, struct gp_ddev **dev);
/** All tenants must have left and been put back. NULL is legal. */
void gp_ddev_destroy(struct gp_ddev *dev);

/** The clock of the core, ns. */
uint64_t gp_ddev_now(struct gp_ddev *dev);
/** Step the core, and have carried out what it decides. What it said. */
int gp_ddev_event(struct gp_ddev *dev, const struct gp_event *ev);
/** Other settings from now on. */
void gp_ddev_settings(struct gp_ddev *dev, const struct gp_config_settings *settings);

/** @group, the device's from now on, is @tenant's. 0; -EEXIST: known; -ENOSPC. */
int gp_ddev_group_add(struct gp_ddev *dev, struct gp_dtenant *tenant, struct gp_group *group);
/** It exists no longer: nothing is put back. */
void gp_ddev_group_gone(struct gp_ddev *dev, struct gp_dgroup *group);
struct gp_dgroup *gp_ddev_group(struct gp_ddev *dev, uint32_t id);

/** Is anything that was done to groups of @tenant still to be undone? */
bool gp_ddev_putting_back(const struct gp_ddev *dev);

/** Where its tenants' usage comes from. */
enum gp_wire_usage gp_ddev_usage(const struct gp_ddev *dev);

/** Add a record to the trace, of now. */
void gp_ddev_trace(struct gp_ddev *dev, uint16_t kind, pid_t pid, uint64_t value);
/** The same of what was at @at_ns, by the core's clock; not in the future. */
void gp_ddev_trace_at(struct gp_ddev *dev, uint16_t kind, pid_t pid, uint64_t value,
		      uint64_t at_ns);

#endif
