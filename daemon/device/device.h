/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - one device of the daemon: its runtime with an instance of the core, its
 * worker, and its tenants. All of it belongs to the loop.
 */
#ifndef GP_DAEMON_DEVICE_H
#define GP_DAEMON_DEVICE_H

#include "daemon/device/account.h"
#include "daemon/config/config.h"
#include "daemon/supervise/journal.h"
#include "daemon/loop/loop.h"
#include "daemon/loop/loop_worker.h"
#include "daemon/device/trace.h"
#include "daemon/device/usage.h"
#include "gpreempt/hal.h"
#include "runtime/clocks.h"
#include "runtime/runtime.h"
#include "sched/sched.h"
#include "wire/hist.h"

struct gp_dgangs;
struct gp_dtenant;
struct gp_log_look;

struct gp_ddev;

/* A best-effort tenant that idles has slices of this: see sched.h. */
#define GP_DDEV_IDLE_SLICE_US 500u

/* Controls carried out. */
struct gp_ddev_stat {
	uint64_t turns, suspends, resumes, slices, preempts, failed;
	uint64_t control_ns;
};

/** struct gp_ddev_ops - the part of a device that knows tenants. */
struct gp_ddev_ops {
	struct gp_host_ops host; /* its argument is the device */
	/** The timer is due. */
	void (*due)(struct gp_ddev *dev);
	/** Once a second. */
	void (*idle)(struct gp_ddev *dev);
	/** gp_ddev.notice is due. */
	void (*notice)(struct gp_ddev *dev);
	/** The settings are others now. */
	void (*changed)(struct gp_ddev *dev);
};

struct gp_ddev {
	const struct gp_ddev_ops *above;
	struct gp_device *hal;
	struct gp_hal_ops ops; /* its, with the dummies */
	struct gp_hal_caps caps;
	const struct gp_hal_ops *hal_ops; /* as they were */
	uint16_t number;		  /* as GP_WIRE_DEVICES lists them */
	struct gp_config_settings settings;
	uint64_t since_ns; /* by the core's clock */
	uint32_t idles;	   /* how often idle was due: the daemon's age in GP_OBSERVE_IDLE_NS */

	struct gp_loop *loop;
	struct gp_trace *trace;
	struct gp_journal *journal;
	struct gp_loop_worker worker;
	struct gp_runtime *rt;
	struct gp_timer *timer;
	struct gp_source timer_source;
	struct gp_tick rearm; /* after a failure to set the timer */
	bool counts;	      /* the driver's counters tell usage */
	bool acked;	      /* the timer's time stands still */
	bool arm_failed;      /* the timer is not set */
	uint64_t look_at_ns;  /* the next look at pages; 0: none */

	struct gp_dtenant *tenants; /* newest first */
	uint32_t last_tenant_id, last_party;
	uint32_t resident;		 /* tenant id, as it was traced */
	int leaving[GP_JOURNAL_RECORDS]; /* places of tenants that left and are being restored */
	size_t leaving_count;

	struct gp_log *log;	     /* NULL: may not be read */
	struct gp_log_look *looking; /* it is being read */
	struct gp_clocks clocks;     /* its clock, of the core's */
	uint64_t log_read_ns;	     /* last, in the core's clock */
	uint64_t log_whole_ns;	     /* likewise, and nothing was left in it */
	uint32_t busy_looks;	     /* in a row that saw LC work */
	bool woken;		     /* since the log was read last */
	uint32_t cut_looks;	     /* in a row that saw the most urgent tenant wait */
	struct gp_usage usage;
	struct gp_dgangs *gangs; /* NULL: none */
	struct gp_tick idle;	 /* looks where nothing goes on */
	int slot_fd;		 /* the right to the short slice; -1: not ours */
	struct gp_tick slot;	 /* then: tries again */
	struct gp_tick notice;	 /* looks for new work of idle tenants */
	uint32_t quiet_looks;	 /* of these in a row without new work */
	bool noticing;		 /* it is to come */
	uint32_t unchecked;	 /* seconds in which slices were not read: nobody used the device */
	struct gp_ddev_stat stat;
	struct gp_hist hist[GP_WIRE_HISTS];
	uint64_t used_ns[GP_CLASS_BE + 1]; /* by all tenants of a class, ever */
	struct gp_accounts accounts;
	struct {
		uint32_t coming;    /* id of the tenant for which another leaves; 0: none */
		uint64_t coming_ns; /* since when */
		uint64_t step_ns;   /* of the last step; 0: nobody waited */
	} turns;		    /* see memory_turns.h */
};

/**
 * gp_ddev_create() - take over @hal, which is closed with it. @settings: copied;
 * @above, @journal, @trace: borrowed. 0 or negative errno, and @hal is the caller's still.
 */
int gp_ddev_create(struct gp_loop *loop, const struct gp_ddev_ops *above, struct gp_device *hal,
		   uint16_t number, const struct gp_config_settings *settings,
		   struct gp_journal *journal, struct gp_trace *trace, struct gp_ddev **dev);
/** All tenants must have left and been restored. NULL is legal. */
void gp_ddev_destroy(struct gp_ddev *dev);

/** The clock of the core, ns. */
uint64_t gp_ddev_now(struct gp_ddev *dev);
/** Other settings from now on. */
void gp_ddev_settings(struct gp_ddev *dev, const struct gp_config_settings *settings);

/** The ops of its tenants: observe.c. */
extern const struct gp_ddev_ops gp_observe_ops;

/** Is anything that was done to groups of @tenant still to be undone? */
bool gp_ddev_putting_back(const struct gp_ddev *dev);

/** Where its tenants' usage comes from. */
enum gp_wire_usage gp_ddev_usage(const struct gp_ddev *dev);

/** Add a record to the trace, of now. */
void gp_ddev_trace(struct gp_ddev *dev, uint16_t kind, pid_t pid, uint64_t value);
/** The same for time @at_ns of the core's clock, not in the future. */
void gp_ddev_trace_at(struct gp_ddev *dev, uint16_t kind, pid_t pid, uint64_t value,
		      uint64_t at_ns);

#endif
