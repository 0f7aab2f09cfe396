/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the devices of one process.
 *
 * One engine per process, one struct gp_edev per device it uses. Each is the host of an
 * instance of the core (runtime/runtime.h). The thread that reports an event executes the
 * decisions itself.
 *
 * A device has one base tenant, which owns all compute groups of the process
 * (RM does not tell which context a group belongs to) and has its class, and a
 * tenant for each context that can hold.
 *
 * Lock order: gp_engine.lock, gp_edev.lock, then one of the leaves
 * gp_runtime_lock() and gp_edev.queue_lock.
 *  - Under gp_edev.lock hold() is called, which takes locks of libcuda. So
 *    whoever may have such locks (group_ready, group_gone: RM calls from
 *    inside libcuda) never waits for gp_edev.lock: it leaves its event in the
 *    queue, which whoever has the lock empties before it is through.
 *  - Under gp_runtime_lock() only HAL calls are made, which take none of libcuda's.
 */
#ifndef GP_CLIENT_ENGINE_H
#define GP_CLIENT_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client/daemon.h"
#include "client/page.h"
#include "gpreempt/hal.h"
#include "runtime/class.h"
#include "runtime/runtime.h"
#include "sched/sched.h"

#define GP_BASE_TENANT 1u
#define GP_EDEV_CONTEXTS 32
#define GP_EDEV_QUEUE 64

/* Holds are renewed after this where synchronisation cannot be seen. */
#define GP_HOLD_PIECE_NS 500000u
#define GP_AUTO_HOLD_NS 5000000u /* longest hold that nobody asked for */

/* As BUSY and IDLE have it. */
enum gp_work {
	GP_WORK_UNKNOWN,
	GP_WORK_NONE,
	GP_WORK_THERE
};

/*
 * One context that can hold. Protected by gp_edev.lock but for what comes first, which
 * gp_engine_find() and whoever it finds a context for read without.
 */
struct gp_ectx {
	_Atomic(void *) context;       /* NULL: place is free */
	uint32_t tenant;	       /* the place's, for ever */
	atomic_int busy;	       /* last BUSY (1) or IDLE (0) told */
	struct gp_hold *_Atomic marks; /* hold[0], for gp_edev_queued_in(); NULL: none */

	uint32_t refs;		 /* handles; from here on all is anew with a context */
	struct gp_hold *hold[2]; /* two: a renewal overlaps */
	uint8_t on[2];
	uint8_t renews[2];	 /* made while the other was on */
	uint8_t lacked[2];	 /* what it renews never had the device */
	uint8_t newest;		 /* which of the two was made last */
	uint8_t untold[2];	 /* its last one may have something to tell yet */
	uint64_t since_ns[2];	 /* when the first of its renewals was made */
	uint64_t counted_seq[2]; /* holds whose held_ns is in held_ns */
	uint64_t switch_seq[2];	 /* holds whose switch was told the core */
	uint64_t held_ns;
	uint64_t switch_ns;
	uint64_t asked_ns;	/* held by agreement since; 0: it is not */
	uint64_t segment_ns;	/* in a segment since; 0: it is not */
	enum gp_work work;	/* as was told the core, or the page alone */
	uint64_t next_ns;	/* its next work comes then; 0: not known */
	uint64_t hint_ns;	/* the last hint's; .. */
	uint64_t hint_gap_ns;	/* .. so long after the one before */
	uint64_t hint_every_ns; /* and that one was as long; 0: it was not */
	uint8_t gone;		/* context destroyed; holds given up */
};

enum gp_slot_state {
	GP_SLOT_NONE,
	GP_SLOT_WAITING,
	GP_SLOT_HAVE
};

struct gp_edev {
	struct gp_device *hal;
	struct gp_hal_ops ops; /* its, with the dummies */
	struct gp_hal_caps caps;
	bool preloaded; /* groups are tracked, not scanned */

	pthread_mutex_t lock;
	struct gp_runtime *rt;
	struct gp_class_value cls;     /* of the base tenant */
	struct gp_class_request asked; /* of these, what the process wants itself */
	struct gp_ectx ctx[GP_EDEV_CONTEXTS];
	uint64_t timer_ns; /* the timer's time; it may be earlier than the core's */
	struct gp_timer *timer;
	atomic_int timer_fd; /* its fd, for who polls; -1: none yet */
	uint32_t handles;
	struct gp_group_list scanned;
	uint32_t sync_seen;

	/* Written under gp_runtime_lock(). */
	atomic_uint groups; /* so many exist; no lock to read */
	bool yielded;	    /* groups are off for others (yield.h) */

	pthread_mutex_t queue_lock;
	struct gp_event queue[GP_EDEV_QUEUE];
	size_t queue_count;
	atomic_int queue_waits;

	/* The device's short best-effort slice. Protected by lock. */
	enum gp_slot_state slot;
	bool slot_wanted;
	bool slot_thread; /* a thread waits for it */
	int slot_fd;
	uint64_t base_held_ns; /* of contexts that left */

	atomic_int held;       /* 1: for a context of ours, by hold() */
	atomic_int others_off; /* 1: asked for, see gp_edev_others_off() */
	int looks, idle_looks; /* the thread's own, see busy.c */
	uint64_t seen_work_ns; /* likewise, as the next */
	int told_busy;
	atomic_bool launches_asked; /* to be seen, for the daemon; likewise */
	struct gp_learn *learn;	    /* the thread's own; NULL: not begun */
	atomic_bool learns;	    /* it goes on: work is guessed, and not told */

	struct gp_tells tells;
	struct gp_edaemon daemon;
};

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/** What the preload adds; each may be NULL. */
struct gp_engine_hooks {
	/** See synchronisation from now on: NULL, or why that is not possible. */
	const char *(*watch_sync)(void);
	/** The same, and of every context that works, as for auto_hold. */
	int (*watch_launches)(void);
	/** A context of @dev that exists, NULL: none known. */
	void *(*find_context)(const struct gp_device_id *dev);
	/** What is asked for on every device from its first group on .. */
	struct gp_class_request request;
	/** .. that this names, as users write devices; NULL: all. Borrowed. */
	const char *device;
	/** Groups are tracked as they come and go: none is scanned for. */
	bool tracks;
	/** An LC process's rhythm is learned, and held for (learn.h). */
	bool learn;
	/** Work of an LC context is held for unasked, from idleness to idleness. */
	bool auto_hold;
};

/** -ECHILD after fork, -ENOSYS when GPREEMPT_DISABLE=1, else 0. */
int gp_engine_state(void);
/** Is this thread carrying a decision out? Its own calls are not the app's. */
bool gp_engine_inside(void);
void gp_engine_set_hooks(const struct gp_engine_hooks *hooks);
int gp_engine_watch_sync(void);
void gp_engine_watch_launches(void);
bool gp_engine_learns(void);

/**
 * The engine's device for @id, made if need be; @ops opens it. Borrowed, lives
 * as long as the process. May block.
 */
int gp_engine_device(const struct gp_hal_ops *ops, const struct gp_device_id *id,
		     struct gp_edev **dev);
/** Does @spec, as users write devices, name @id? NULL names all. */
bool gp_engine_names(const char *spec, const struct gp_device_id *id);
size_t gp_engine_devices(struct gp_edev **dev, size_t max);

/** Carry @ev out, with all that follows. Returns what the core said of it. */
int gp_edev_event(struct gp_edev *dev, struct gp_event *ev);
/**
 * @ctx has work from now on, or has none any more, as was seen of its calls. The
 * daemon hears of it in any case; the core does where it is not learned when work
 * comes: a guess's hold lasts as long as was learned, which is seen by its end. Of
 * best-effort it is for the daemon alone.
 */
void gp_edev_work(struct gp_edev *dev, struct gp_ectx *ctx, bool busy);
/** @ctx waits for all that it has queued. Nothing where it is learned when work comes. */
void gp_edev_queued(struct gp_edev *dev, const struct gp_ectx *ctx);
/** @ctx says that all of its work is queued, the last in @stream: gp_queued(). */
int gp_edev_queued_in(struct gp_edev *dev, const struct gp_ectx *ctx, void *stream);
/** Is the process best-effort there? Takes the lock. */
bool gp_edev_is_be(struct gp_edev *dev);
/** gp_edev_event(), later if somebody has the lock. Never waits for it. */
void gp_edev_post(struct gp_edev *dev, const struct gp_event *ev);
/**
 * A call is about to wait for @dev many times. If @ctx is in a segment or holds,
 * best-effort tenants that can are asked to stay off until gp_edev_others_on(),
 * for 500 ms at most: a hold would be in the call's way. Waits for nobody.
 */
void gp_edev_others_off(struct gp_edev *dev, struct gp_ectx *ctx);
void gp_edev_others_on(struct gp_edev *dev);
/** The timer of @dev is due. */
void gp_edev_timer(struct gp_edev *dev);

/**
 * The process wants @cls. With a daemon it is asked, and waited for: for an app's
 * thread. -EPERM: it is refused, by the daemon or by a driver that knows classes;
 * -ETIMEDOUT: the daemon does not answer.
 */
int gp_edev_set_class(struct gp_edev *dev, const struct gp_class_value *cls);
/** A context of @dev that can hold, of those that exist; NULL: none known. */
void *gp_edev_find_context(struct gp_edev *dev);
/** Get or make the tenant of @context (NULL: the current one). Blocks. */
int gp_edev_context(struct gp_edev *dev, void *context, struct gp_ectx **ctx);
void gp_edev_context_put(struct gp_edev *dev, struct gp_ectx *ctx);
/** The app is about to destroy @context: its holds end and are given up. */
void gp_engine_context_gone(void *context);
/** Its tenant, without a lock; NULL: cannot hold. */
struct gp_ectx *gp_engine_find(void *context, struct gp_edev **dev);

/**
 * Holds in @context are wanted: the thread makes its tenant, soon. Never waits.
 * Asked again until then, and in vain where it cannot be made.
 */
void gp_engine_ask_context(void *context);

int gp_edev_group_add(struct gp_edev *dev, struct gp_group *group);
/** @group is being freed: forget it, whichever device knows it. */
void gp_engine_group_gone(struct gp_group *group);
/** Look for this process's groups where nobody tracks them. */
int gp_edev_scan(struct gp_edev *dev);
void gp_edev_scan_drop(struct gp_edev *dev);

void gp_edev_stat(struct gp_edev *dev, struct gp_ectx *ctx, struct gp_sched_tenant_stat *stat,
		  uint64_t *held_ns);

#pragma GCC visibility pop

/** Compute groups that are there now. */
size_t gp_edev_group_count(struct gp_edev *dev);
struct gp_class_value gp_edev_class(struct gp_edev *dev);
/**
 * @cls is in force from now on, whoever says so. @wanted: the process does, with
 * all that goes with it; NULL: another.
 */
int gp_edev_apply_class(struct gp_edev *dev, const struct gp_class_value *cls,
			const struct gp_class_request *wanted);

/*
 * Called with dev->lock held: slices and turns are the daemon's from now on, or
 * this process's again, which puts its groups on the device, as the driver made
 * them. 0, or negative errno of one that is not on yet: to be called again.
 */
void gp_edev_give(struct gp_edev *dev);
int gp_edev_take_back(struct gp_edev *dev);
/** All groups have the driver's slice, whatever was set before. */
void gp_edev_slices_off(struct gp_edev *dev);
/** Somebody else may have set slices: as the core wants them, once more. */
void gp_edev_slices_again(struct gp_edev *dev);

/* slot.c. Called with dev->lock held; report the SLOT event to the core. */
void gp_slot_follow(struct gp_edev *dev);
/* That another process has it, once, to who has no daemon. */
void gp_slot_say(struct gp_edev *dev);
/** Give it back, if it is here. */
void gp_slot_drop(struct gp_edev *dev);
void gp_slot_forget(struct gp_edev *dev);

/* thread.c */
#pragma GCC visibility push(default)
/** Start the timer thread if there is none. @listen: and the control socket. */
int gp_thread_start(bool listen);
#pragma GCC visibility pop
/** It is to look at the timers anew. */
void gp_thread_wake(void);
void gp_thread_forget(void);

/** Fill what a status message says of this process: of all its devices .. */
struct gp_wire_status;
void gp_engine_status(struct gp_wire_status *status);
/** .. or of one, numbered from 0; -ENODEV: there are less. */
int gp_engine_status_of(uint32_t number, struct gp_wire_status *status);
/** Make the tenant of the context that was asked for, if one was. */
void gp_engine_serve_context(void);
/** A hint from outside: to a context of each LC device. 0 if any took it. */
int gp_engine_hint(uint64_t in_ns);

/** The clock of hints and holds, ns; where it cannot be read, 0. */
uint64_t gp_edev_now(struct gp_edev *dev);

/* engine.c, for others here: event with dev->lock held. */
int gp_edev_event_locked(struct gp_edev *dev, struct gp_event *ev);
void gp_edev_unlock(struct gp_edev *dev);

#endif
