/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - one device and its instance of the core: events go in, calls of the HAL
 * come out.
 *
 * A host (the client library, the daemon, the CLI, the virtual bench) reports events. The
 * runtime steps the core and gives each decision about a group to an executor, as a call.
 * The outcome of a call becomes an event. Holds and the timer belong to the host, which
 * executes them in its ops.
 *
 * Threads: events come from one thread at a time; the host has a lock or a loop for that.
 * The table of groups has a lock of its own. Under it only HAL calls are made.
 */
#ifndef GP_RUNTIME_RUNTIME_H
#define GP_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "gpreempt/hal.h"
#include "runtime/worker.h"
#include "sched/sched.h"

struct gp_runtime;

/**
 * struct gp_runtime_group - a group that the core decides about
 * @id: of the HAL and the core; 0: the place is free
 * @tenant: the core's id of its tenant
 * @hal: the group; NULL: gone, and GROUP_GONE is still to come
 * @owner: the host's, from gp_runtime_group_enter(); NULL: the tenant left, and the group
 *	is restored
 * @jobs: calls and jobs of the host under way; the last one frees a group that is gone
 * @gone: it does not exist any more
 * @forgotten: and the core knows that
 * @off: suspended, as far as is known
 * @off_next: likewise, once all calls under way have succeeded
 * @copies: of a copy engine. It is suspended with the last compute group of its tenant that
 *	runs, and resumed with the first
 * @aside: it moves memory, and has no kernels: struct gp_event
 * @slice_us: the slice that was set last; 0: as it was found
 * @used_ns: the host's own
 */
struct gp_runtime_group {
	uint32_t id;
	uint32_t tenant;
	struct gp_group *hal;
	void *owner;
	uint32_t jobs;
	bool gone, forgotten, off, off_next, copies, aside;
	uint64_t slice_us;
	uint64_t used_ns;
};

/** It has kernels, as far as is known. */
static inline bool gp_runtime_computes(const struct gp_runtime_group *g)
{
	return !g->copies && !g->aside;
}

/* A call besides enum gp_decision_type: make the group preemptible at any instruction. */
#define GP_CALL_PREEMPT_MODE 100u

/* A tenant's other copy groups go on. libcuda makes three for a context. */
#define GP_CALL_COPIES 12u

/**
 * struct gp_call - a call of the HAL about one group, and the copy groups that follow it
 * @job: for a worker
 * @rt: the runtime
 * @group: stays valid until the call is done
 * @copy: copy groups that are suspended or resumed with it, in the same call of the HAL; they
 *	stay valid likewise
 * @copies: their number
 * @what: the decision
 * @slice_us: the slice of SET_SLICE in the range of the device
 * @took_ns: duration of the HAL's op
 * @copies_stay: the HAL could not suspend @copy
 * @own: the host asked for it, so the core gets no outcome
 * @turned: it changed @group->off
 * @err: 0 or negative errno; -ECANCELED: not run
 */
struct gp_call {
	struct gp_job job;
	struct gp_runtime *rt;
	struct gp_runtime_group *group;
	struct gp_runtime_group *copy[GP_CALL_COPIES];
	size_t copies;
	struct gp_decision what;
	uint64_t slice_us, took_ns;
	bool own, turned, copies_stay;
	int err;
};

/** struct gp_executor - runs calls; a worker embeds it */
struct gp_executor {
	/** gp_call_run(), then gp_call_done(): now or later, in the order of the calls. */
	void (*start)(struct gp_executor *ex, struct gp_call *call);
	/** Wait for the call under way, and end the others; NULL: none can be under way. */
	void (*stop)(struct gp_executor *ex);
};

/** Run @call. Any thread; may sleep. */
void gp_call_run(struct gp_call *call);
/** Report @call's outcome and free it. A thread that may report events. */
void gp_call_done(struct gp_call *call);

/** Runs each call at once, in the thread that reports the event. */
extern struct gp_executor gp_executor_inline;

/**
 * struct gp_host_ops - a host's part; each may be NULL. Only the ops that allow it
 *	may report events.
 */
struct gp_host_ops {
	/** Before a step at or after the armed time. May report events. */
	void (*before)(void *host);
	/** The core took @ev at @now_ns; nothing was executed yet. */
	void (*stepped)(void *host, const struct gp_event *ev, uint64_t now_ns);
	/** Start a hold. 0 or negative errno. May report events. */
	int (*hold)(void *host, uint32_t tenant, uint64_t limit_ns);
	/** End it. 0 or negative errno. May report events. */
	int (*release)(void *host, uint32_t tenant);
	/** @call was run; its group has followed. */
	void (*called)(void *host, const struct gp_call *call);
	/** A call is over, and the core has its outcome. May report events. */
	void (*over)(void *host);
	/** All decisions of an event were started; @any: there were some. */
	void (*settled)(void *host, bool any);
	/** The timer's event is through, and the timer not armed yet. May report events. */
	void (*timed)(void *host);
	/**
	 * The core wants the timer at @at_ns, or none (GP_SCHED_NO_TIMER). Comes last. 0, or
	 * negative errno: the core asks again with the next event, and the host tries again
	 * by itself.
	 */
	int (*arm)(void *host, uint64_t at_ns);
};

/**
 * struct gp_runtime_config - how a runtime is made
 * @hal: the device, all its ops filled in; borrowed
 * @executor: borrowed
 * @ops: borrowed
 * @host: first argument of @ops
 * @borrowed: a group may be freed as soon as it has left, and other threads enter and
 *	leave groups. So calls are made under the table's lock. Else the runtime owns its
 *	groups, and only the thread that reports events uses the table
 * @slices_unknown: a group that enters may have any slice; else it has the driver's
 * @core: of the core. slice_preempts, with rotate slots, and switch_ns if it is 0, are
 *	filled in from the device's capabilities
 */
struct gp_runtime_config {
	struct gp_device *hal;
	struct gp_executor *executor;
	const struct gp_host_ops *ops;
	void *host;
	bool borrowed, slices_unknown;
	struct gp_sched_config core;
};

/** 0 or negative errno. */
int gp_runtime_create(const struct gp_runtime_config *config, struct gp_runtime **rt);
/** Stops the executor. NULL is legal. */
void gp_runtime_destroy(struct gp_runtime *rt);

/** Report @ev, and start all that follows from it. Return: the core's answer. */
int gp_runtime_event(struct gp_runtime *rt, const struct gp_event *ev);
/** Report that the armed time has come. The timer is armed after all that follows. */
void gp_runtime_timer(struct gp_runtime *rt);
/**
 * gp_runtime_own() - make a call that the core did not decide
 * @type: GP_DO_SUSPEND, GP_DO_RESUME, GP_DO_SET_SLICE (the driver's slice), or
 *	GP_CALL_PREEMPT_MODE
 */
void gp_runtime_own(struct gp_runtime *rt, struct gp_runtime_group *group, uint32_t type);
/** The same, and the copy groups of its tenant stay as they are. */
void gp_runtime_own_alone(struct gp_runtime *rt, struct gp_runtime_group *group, uint32_t type);

/** For its queries, and to change its policies. */
struct gp_sched *gp_runtime_core(struct gp_runtime *rt);
/** The core's clock, ns. A clock that fails stands still: the core takes the latest time. */
uint64_t gp_runtime_clock_ns(const struct gp_runtime *rt);
/** The time of the last step. */
uint64_t gp_runtime_stepped_ns(const struct gp_runtime *rt);
/** The time that the core wants the timer at; GP_SCHED_NO_TIMER: none. */
uint64_t gp_runtime_due_ns(const struct gp_runtime *rt);

/**
 * gp_runtime_managed() - does somebody else set slices from now on? If so, the core's
 * decisions about slices succeed and change nothing. Afterwards it meets all groups again.
 */
void gp_runtime_managed(struct gp_runtime *rt, bool managed);
bool gp_runtime_is_managed(const struct gp_runtime *rt);

/* ---- groups.c: the table of groups ---------------------------------------------- */

void gp_runtime_lock(struct gp_runtime *rt);
void gp_runtime_unlock(struct gp_runtime *rt);

/** Is @hal a group for the core: a compute group, or where slices preempt a copy group? */
bool gp_runtime_takes(const struct gp_runtime *rt, const struct gp_group *hal);
/**
 * gp_runtime_group_enter() - @hal is @owner's. Called under the lock. The caller reports
 * GROUP_APPEAR.
 * Return: 0; -EEXIST: known, and @hal replaces a borrowed one; -EAGAIN: gone, and the core
 * does not know yet; -ENOSPC.
 */
int gp_runtime_group_enter(struct gp_runtime *rt, uint32_t tenant, void *owner,
			   struct gp_group *hal);
/**
 * gp_runtime_group_leave() - a borrowed group is about to be freed. Called under the lock.
 * Return: was it known? GROUP_GONE is then the caller's to report.
 */
bool gp_runtime_group_leave(struct gp_runtime *rt, struct gp_group *hal);

/**
 * Enter an owned group, and report it. One that left, and is not restored yet, keeps the
 * HAL's group that it has. 0; or negative errno, and @hal is the caller's still.
 */
int gp_runtime_group_add(struct gp_runtime *rt, uint32_t tenant, void *owner, struct gp_group *hal);
/**
 * Enter an owned group that the core does not decide about. gp_runtime_group_to_core() gives it to
 * the core, and gp_runtime_group_from_core() takes it away: nothing is restored. As
 * gp_runtime_group_add().
 */
int gp_runtime_group_outside(struct gp_runtime *rt, uint32_t tenant, void *owner,
			     struct gp_group *hal);
/** It runs, with any slice. Nothing if the core has it. */
void gp_runtime_group_to_core(struct gp_runtime *rt, const struct gp_runtime_group *group);
void gp_runtime_group_from_core(struct gp_runtime *rt, const struct gp_runtime_group *group);
/** An owned group does not exist any more: report that, and free its place. */
void gp_runtime_group_gone(struct gp_runtime *rt, struct gp_runtime_group *group);

/** NULL: not known. */
struct gp_runtime_group *gp_runtime_group(struct gp_runtime *rt, uint32_t id);
/**
 * The groups of @owner (NULL: all) that exist, one after another; NULL: no more. Borrowed
 * ones under the lock. @after, which may be gone by now: the last one; NULL at first.
 */
struct gp_runtime_group *gp_runtime_next(struct gp_runtime *rt, const void *owner,
					 const struct gp_runtime_group *after);

/** The same without copy groups. */
struct gp_runtime_group *gp_runtime_next_compute(struct gp_runtime *rt, const void *owner,
						 const struct gp_runtime_group *after);

/**
 * A job of the host about @group (NULL: about none) begins: the group stays until the job
 * ends.
 */
void gp_runtime_job_begin(struct gp_runtime *rt, struct gp_runtime_group *group);
void gp_runtime_job_end(struct gp_runtime *rt, struct gp_runtime_group *group);
/** Calls and jobs under way. */
uint32_t gp_runtime_jobs(const struct gp_runtime *rt);

/** The core has restored all groups that left: free their places. False: not yet. */
bool gp_runtime_sweep(struct gp_runtime *rt);
/** All groups get the driver's slice, without a decision. */
void gp_runtime_slices_off(struct gp_runtime *rt);
/** Somebody else may have set slices: the core meets all groups again. */
void gp_runtime_again(struct gp_runtime *rt);

#endif
