/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the devices of one process.
 *
 * One engine per process, one struct gp_client_device per device it uses. Each is the host of an
 * instance of the core (runtime/runtime.h). The thread that reports an event executes the
 * decisions itself.
 *
 * A device has one base tenant with the process's class, which owns all its compute groups,
 * because RM does not report a group's context. Each context that can hold is a further
 * tenant.
 *
 * Lock order: gp_engine.lock, gp_client_device.lock, then one of the leaves gp_runtime_lock() and
 * gp_client_device.queue_lock.
 *
 * - hold() is called under gp_client_device.lock and takes locks of libcuda. A caller inside
 *   libcuda may have these (group_ready, group_gone). It therefore never waits for
 *   gp_client_device.lock: it puts its event into the queue, and the owner of the lock empties
 *   the queue before it returns.
 * - Under gp_runtime_lock() only HAL calls are made, which take no lock of libcuda's.
 */
#ifndef GP_CLIENT_ENGINE_H
#define GP_CLIENT_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client/daemon.h"
#include "client/memory.h"
#include "client/status_page.h"
#include "gpreempt/hal.h"
#include "runtime/class.h"
#include "runtime/runtime.h"
#include "sched/anticipate.h"
#include "sched/request_kind.h"
#include "sched/sched.h"
#include "wire/wire.h"

#define GP_BASE_TENANT 1u
#define GP_CLIENT_DEVICE_CONTEXTS 32
#define GP_CLIENT_DEVICE_QUEUE 64

/* Interval of renewing holds if synchronisation cannot be watched. */
#define GP_HOLD_PIECE_NS 500000u
#define GP_AUTO_HOLD_NS 5000000u /* longest automatic hold */

/* By BUSY and IDLE. */
enum gp_work {
	GP_WORK_UNKNOWN,
	GP_WORK_NONE,
	GP_WORK_THERE
};

/*
 * One context that can hold. Protected by gp_client_device.lock, except the first fields, which
 * gp_engine_find() and its callers read without the lock.
 */
struct gp_ectx {
	_Atomic(void *) context;       /* NULL: free */
	uint32_t tenant;	       /* permanent for this place */
	atomic_int busy;	       /* last reported BUSY (1) or IDLE (0) */
	struct gp_hold *_Atomic marks; /* hold[0], for gp_client_device_queued_in(); NULL: none */
	atomic_bool piling;	       /* needs_ns is not 0 */
	atomic_uint calls_left;	       /* until one of its request needs the device */

	uint32_t refs;		 /* handles; all fields from here on belong to one context */
	struct gp_hold *hold[2]; /* two: a renewal overlaps */
	uint8_t on[2];
	uint8_t renews[2];	 /* began while the other was on */
	uint8_t lacked[2];	 /* the renewed hold never had the device */
	uint8_t newest;		 /* the latest of the two */
	uint8_t unreported[2];	 /* its last hold may have unreported figures */
	uint64_t since_ns[2];	 /* begin of the first of its renewals */
	uint64_t counted_seq[2]; /* holds whose held_ns is in held_ns */
	uint64_t switch_seq[2];	 /* holds with a switch reported to the core */
	uint64_t held_ns;
	uint64_t switch_ns;
	uint64_t asked_ns;	/* held by agreement since; 0: not held */
	uint64_t segment_ns;	/* in a segment since; 0: in none */
	enum gp_work work;	/* as reported to the core, or only to the page */
	uint64_t next_ns;	/* its next work comes then; 0: unknown */
	uint64_t hint_ns;	/* the last hint's; .. */
	uint64_t hint_gap_ns;	/* .. its distance from the one before */
	uint64_t hint_every_ns; /* equal to the distance before that; 0: not equal */
	uint8_t gone;		/* context destroyed; holds given up */
	bool kept_pile;		/* pile.c: from a call on, until it waits */
	bool kept;		/* keep.c: until it says otherwise, or a limit is over */
	struct gp_anticipation pauses;
	struct gp_requests requests; /* pile.c, also the rest */
	uint64_t request_key;
	unsigned int request_calls; /* calls_left, as the request began */
	uint64_t needs_ns; /* its launches pile up until then, or until it waits; 0: do not */
};

enum gp_wait {
	GP_WAIT_BEGINS,
	GP_WAIT_SOON,	/* it begins soon: the device is needed */
	GP_WAIT_COPY,	/* it begins, and the call has yet to queue a copy */
	GP_WAIT_COPIED, /* it is over, and was for copies alone */
	GP_WAIT_ELSE,	/* it may begin, for a reason of the call's own */
};

enum gp_slot_state {
	GP_SLOT_NONE,
	GP_SLOT_WAITING,
	GP_SLOT_HAVE
};

struct gp_client_device {
	struct gp_device *hal;
	struct gp_hal_ops ops; /* its own, completed with dummies */
	struct gp_hal_caps caps;
	bool preloaded; /* groups are tracked, not scanned */

	pthread_mutex_t lock;
	struct gp_runtime *rt;
	struct gp_class_value cls;     /* of the base tenant */
	struct gp_class_request asked; /* the process's own request */
	struct gp_ectx ctx[GP_CLIENT_DEVICE_CONTEXTS];
	uint64_t timer_ns; /* the timer's time; may be earlier than the core's */
	struct gp_timer *timer;
	atomic_int timer_fd;	/* for poll(); -1: none yet */
	atomic_bool arm_failed; /* the timer is not set: the thread tries again */
	uint32_t handles;
	struct gp_group_list scanned;
	uint32_t sync_seen;

	/* Written under gp_runtime_lock(). */
	atomic_uint groups;			 /* number of groups; read without a lock */
	bool yielded;				 /* groups are suspended for others (yield.h) */
	bool stopped;				 /* and while memory is off the device (memory.h) */
	struct gp_group *keep[GP_WIRE_KEEP_MAX]; /* of memory's mover: they go on then */
	uint32_t keeps;
	int64_t yield_ns; /* time left for other users' requests, at yield_at_ns */
	uint64_t yield_at_ns;

	pthread_mutex_t queue_lock;
	struct gp_event queue[GP_CLIENT_DEVICE_QUEUE];
	size_t queue_count;
	atomic_int queue_waits;

	/* The device's short best-effort slice. Protected by lock. */
	enum gp_slot_state slot;
	bool slot_wanted;
	bool slot_thread; /* a thread waits for the slot */
	int slot_fd;
	_Atomic(uint64_t) slot_due_ns; /* its next look at the slot; 0: none */
	uint64_t base_held_ns;	       /* of contexts that are gone */

	atomic_int held;       /* 1: for a context of ours, by hold() */
	atomic_int others_off; /* 1: requested, see gp_client_device_others_off() */
	int looks, idle_looks; /* the thread's own, see queue_poll.c */
	uint64_t seen_work_ns; /* likewise, also the next */
	int reported_busy;
	atomic_bool launches_asked;	/* request to watch launches, for the daemon; likewise */
	struct gp_predictor *predictor; /* the thread's own; NULL: not begun */
	atomic_bool predicts;		/* prediction is on: work is predicted, not reported */

	struct gp_status_page status_page;
	struct gp_daemon_link link;
};

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/** Functions of the preload; each may be NULL. */
struct gp_engine_hooks {
	/** Watch synchronisation from now on. NULL, or the reason of the failure. */
	const char *(*watch_sync)(void);
	/** The same for every context with work, as for auto_hold. */
	int (*watch_launches)(void);
	/** An existing context of @dev; NULL: none known. */
	void *(*find_context)(const struct gp_device_id *dev);
	/** The class for every device from its first group on .. */
	struct gp_class_request request;
	/** .. that this names, in users' form; NULL: all. Borrowed. */
	const char *device;
	/** Groups are tracked as they come and go, not scanned for. */
	bool tracks;
	/** Predict an LC process's period, and hold for it (predict.h). */
	bool predict;
	/**
	 * What of this process's memory on the device @uuid can leave? @need: as for
	 * gp_memory_read(). Never waits. NULL: none can.
	 */
	void (*memory)(const uint8_t uuid[16], const uint64_t *need, struct gp_memory_stat *stat);
	/** A gpreemptd has welcomed this process on a device. May wait a second. NULL: nothing. */
	void (*managed)(void);
	/** Let launches of an LC process that is limited by its CPU pile up (pile.h). */
	bool pile;
	/** Hold automatically for work of an LC context, until it is idle. */
	bool auto_hold;
};

/** -ECHILD after fork, -ENOSYS when GPREEMPT_DISABLE=1, else 0. */
int gp_engine_state(void);
/** Is this thread executing a decision? Its own calls are not the app's. */
bool gp_engine_inside(void);
/** By the preload, before anything else runs. It may start a gpreemptd from now on. */
void gp_engine_set_hooks(const struct gp_engine_hooks *hooks);
int gp_engine_watch_sync(void);
void gp_engine_watch_launches(void);
bool gp_engine_predicts(void);
bool gp_engine_piles(void);

/**
 * The engine's device for @id, created if necessary; @ops opens it. Borrowed, lives as long as
 * the process. May block.
 */
int gp_engine_device(const struct gp_hal_ops *ops, const struct gp_device_id *id,
		     struct gp_client_device **dev);
/** Does @spec, as users write devices, name @id? NULL names all. */
bool gp_engine_names(const char *spec, const struct gp_device_id *id);
size_t gp_engine_devices(struct gp_client_device **dev, size_t max);

/** Apply @ev and execute all decisions. Returns the core's result. */
int gp_client_device_event(struct gp_client_device *dev, struct gp_event *ev);
/**
 * @ctx has work from now on, or has none any more, as observed from its calls. The daemon
 * always gets this. The core gets it unless work is predicted: the end of a predicted hold
 * shows when the work came. For best-effort only the daemon needs it. @key: the call that began it.
 */
void gp_client_device_work(struct gp_client_device *dev, struct gp_ectx *ctx, bool busy,
			   uint64_t key);
/** @ctx waits for all its queued work. No effect with prediction. */
void gp_client_device_queued(struct gp_client_device *dev, struct gp_ectx *ctx);
/** enum gp_wait: what a call of @ctx means for launches that pile up. */
void gp_client_device_waits(struct gp_client_device *dev, struct gp_ectx *ctx, enum gp_wait wait);
/** @ctx reports that all its work is queued, the last in @stream: gp_queued(). */
int gp_client_device_queued_in(struct gp_client_device *dev, const struct gp_ectx *ctx,
			       void *stream);
/** Is the process best-effort there? Takes the lock. */
bool gp_client_device_is_be(struct gp_client_device *dev);
/** gp_client_device_event(), later if another thread has the lock. Never waits. */
void gp_client_device_post(struct gp_client_device *dev, const struct gp_event *ev);
/**
 * A call will wait for @dev many times, and a hold would delay each wait. If @ctx is in a
 * segment or holds, best-effort tenants that can are asked to suspend until
 * gp_client_device_others_on(), for 500 ms at most. Does not wait for them.
 */
void gp_client_device_others_off(struct gp_client_device *dev, struct gp_ectx *ctx);
void gp_client_device_others_on(struct gp_client_device *dev);
/** The timer of @dev is due. */
void gp_client_device_timer(struct gp_client_device *dev);
/** When the thread sets a timer that could not be set, in ms; -1: there is none. */
int gp_client_device_rearm_wait_ms(struct gp_client_device *dev);
/** Set it, or do what is due. */
void gp_client_device_rearm(struct gp_client_device *dev);

/**
 * The process wants @cls. Asks a daemon and waits for it, so only for an app's thread. -EPERM:
 * refused by the daemon, or by a driver with classes; -ETIMEDOUT: the daemon does not answer.
 */
int gp_client_device_set_class(struct gp_client_device *dev, const struct gp_class_value *cls);
/** An existing context of @dev that can hold; NULL: none known. */
void *gp_client_device_find_context(struct gp_client_device *dev);
/** Get or make the tenant of @context (NULL: the current one). Blocks. */
int gp_client_device_context(struct gp_client_device *dev, void *context, struct gp_ectx **ctx);
void gp_client_device_context_put(struct gp_client_device *dev, struct gp_ectx *ctx);
/** The app will destroy @context now: its holds end for good. */
void gp_engine_context_gone(void *context);
/** Its tenant, without a lock; NULL: cannot hold. */
struct gp_ectx *gp_engine_find(void *context, struct gp_client_device **dev);

/**
 * Request holds in @context: the thread makes its tenant soon. Never waits. Repeated until
 * then, and without effect if it cannot be made.
 */
void gp_engine_ask_context(void *context);

int gp_client_device_group_add(struct gp_client_device *dev, struct gp_group *group);
/** A group of memory's mover: it does none of the program's work. 0; 1: no matter; -ENOSPC. */
int gp_client_device_keep(struct gp_client_device *dev, struct gp_group *group);
/** @group is being freed: forget it on every device. */
void gp_engine_group_gone(struct gp_group *group);
/** Scan for this process's groups if they are not tracked. */
int gp_client_device_scan(struct gp_client_device *dev);
void gp_client_device_scan_drop(struct gp_client_device *dev);

void gp_client_device_stat(struct gp_client_device *dev, struct gp_ectx *ctx,
			   struct gp_sched_tenant_stat *stat, uint64_t *held_ns);

#pragma GCC visibility pop

/** Number of present compute groups. */
size_t gp_client_device_group_count(struct gp_client_device *dev);
struct gp_class_value gp_client_device_class(struct gp_client_device *dev);
/**
 * @cls is in force from now on, from any source. @wanted: requested by the process, with its
 * options; NULL: from another source.
 */
int gp_client_device_apply_class(struct gp_client_device *dev, const struct gp_class_value *cls,
				 const struct gp_class_request *wanted);

/*
 * Called with dev->lock held. Give: the daemon decides slices and turns from now on. Take
 * back: this process does again, and its groups run as the driver made them. 0, or the
 * negative errno of a group that does not run yet: call again.
 */
void gp_client_device_give(struct gp_client_device *dev);
int gp_client_device_take_back(struct gp_client_device *dev);
/** Set the driver's slice for all groups, whatever was set before. */
void gp_client_device_slices_off(struct gp_client_device *dev);
/** Another process may have set slices: set the core's once more. */
void gp_client_device_slices_again(struct gp_client_device *dev);

/* slot.c. Called with dev->lock held; report the SLOT event to the core. */
void gp_slot_follow(struct gp_client_device *dev);
/* Warn once, without a daemon, that another process has the slot. */
void gp_slot_say(struct gp_client_device *dev);
/** Release it if this process has it. */
void gp_slot_drop(struct gp_client_device *dev);
/* Without dev->lock, in the thread's loop: the slot is shared with those that wait for it. */
int gp_slot_wait_ms(const struct gp_client_device *dev);
void gp_slot_serve(struct gp_client_device *dev);
void gp_slot_forget(struct gp_client_device *dev);

/* thread.c */
#pragma GCC visibility push(default)
/** Start the timer thread if there is none. @listen: with the control socket. */
int gp_thread_start(bool listen);
#pragma GCC visibility pop
/** Make it check the timers again. */
void gp_thread_wake(void);
void gp_thread_forget(void);

/** Fill a status message on this process: on all its devices .. */
struct gp_wire_status;
void gp_engine_status(struct gp_wire_status *status);
/** .. or on one, numbered from 0; -ENODEV: there are fewer. */
int gp_engine_status_of(uint32_t number, struct gp_wire_status *status);
/** Make the tenant of a requested context, if any. */
void gp_engine_serve_context(void);
/** A hint from outside: to a context of each LC device. 0 if any accepts it. */
int gp_engine_hint(uint64_t in_ns);

/** The clock of hints and holds, ns; 0: unreadable. */
uint64_t gp_client_device_now(struct gp_client_device *dev);

/* For other files here: gp_client_device_event() with dev->lock held. */
int gp_client_device_event_locked(struct gp_client_device *dev, struct gp_event *ev);
void gp_client_device_unlock(struct gp_client_device *dev);

#endif
