// SPDX-License-Identifier: Apache-2.0
/*
 * engine.c - stepping the core and carrying its decisions out.
 */
#include "client/engine.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "client/learn.h"
#include "client/yield.h"
#include "hal/spec.h"
#include "runtime/log.h"

/* A context's making takes 0.1 s; a process that dies in it is noticed anyway. */
#define OTHERS_OFF_MAX_NS 500000000u
/* What renews a hold that has the device has it within a launch, some 10 us. */
#define RENEWAL_HAS_IT_NS 60000u

static struct {
	pthread_mutex_t lock;
	/* Written under lock, published by count; entries never change. */
	struct gp_edev *dev[GP_HAL_MAX_DEVICES];
	atomic_size_t count;
	struct gp_engine_hooks hooks; /* set before anything else runs */
	/* Not engine.lock: whoever is inside libcuda may wait for that one. */
	pthread_mutex_t watch_lock;
	atomic_int sync_watched; /* 0 not asked, 1 seen, 2 cannot */
} engine = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.watch_lock = PTHREAD_MUTEX_INITIALIZER,
};

static atomic_int forked;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int disabled;
static _Thread_local int inside;

/*
 * In the child of a fork nothing of the parent's is ours: its threads are not
 * here, its locks may be taken, its GPU objects are the parent's. The files
 * have to be closed, though: a slot's lock lives until its last copy closes.
 */
static void child_after_fork(void)
{
	size_t n = atomic_load(&engine.count);

	atomic_store(&forked, 1);
	for (size_t i = 0; i < n; i++)
		gp_slot_forget(engine.dev[i]);
	for (size_t i = 0; i < n; i++)
		gp_edaemon_forget(engine.dev[i]);
	gp_thread_forget();
	gp_yield_forget();
}

static void init_once(void)
{
	const char *text = secure_getenv("GPREEMPT_DISABLE");
	Dl_info info;

	disabled = text && !strcmp(text, "1");
	pthread_atfork(NULL, NULL, child_after_fork);
	/* Threads run in here: stay, whoever calls dlclose. */
	if (dladdr((void *)init_once, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

int gp_engine_state(void)
{
	if (atomic_load_explicit(&forked, memory_order_relaxed))
		return -ECHILD;
	pthread_once(&once, init_once);
	return disabled ? -ENOSYS : 0;
}

bool gp_engine_inside(void)
{
	return inside > 0;
}

void gp_engine_set_hooks(const struct gp_engine_hooks *hooks)
{
	engine.hooks = *hooks;
}

bool gp_engine_learns(void)
{
	return engine.hooks.learn;
}

void *gp_edev_find_context(struct gp_edev *dev)
{
	void *context;

	if (!dev->ops.process_context(dev->hal, &context))
		return context;
	return engine.hooks.find_context ? engine.hooks.find_context(&dev->hal->id) : NULL;
}

/* A hold that is no work of the context stands in nobody's way. */
static uint64_t hold_piece_ns(const struct gp_edev *dev, bool seen)
{
	return seen || dev->caps.caps & GP_CAP_HOLD_OUTSIDE ? 0 : GP_HOLD_PIECE_NS;
}

static void set_sync_seen(struct gp_edev *dev, bool seen)
{
	pthread_mutex_lock(&dev->lock);
	dev->sync_seen = seen;
	gp_sched_set_hold_piece(dev->sched, hold_piece_ns(dev, seen));
	gp_edev_unlock(dev);
}

/* Contexts that gp_engine_ask_context() was called for. */
static void *_Atomic asked_context;
static void *_Atomic asked_in_vain;

/* To best-effort it is not worth a warning: it holds nothing. */
static void say_unseen(const char *why)
{
	bool holds = !atomic_load(&engine.count);

	for (size_t i = 0; i < atomic_load(&engine.count); i++)
		holds |= gp_edev_class(engine.dev[i]).cls != GP_CLASS_BE;
	if (holds)
		gp_log(GP_LOG_WARN,
		       "synchronisation cannot be seen (%s): holds go in pieces of %u us", why,
		       GP_HOLD_PIECE_NS / 1000);
	else
		gp_log(GP_LOG_DEBUG, "launches cannot be seen (%s): its turns end by time alone",
		       why);
}

/* Loads a library and subscribes: some milliseconds, once. */
int gp_engine_watch_sync(void)
{
	const char *why;

	if (atomic_load(&engine.sync_watched))
		return atomic_load(&engine.sync_watched) == 1;
	if (!engine.hooks.watch_sync)
		return 0;
	pthread_mutex_lock(&engine.watch_lock);
	if (!atomic_load(&engine.sync_watched)) {
		why = engine.hooks.watch_sync();
		/* First the word: a device made from here on reads it. */
		atomic_store(&engine.sync_watched, why ? 2 : 1);
		for (size_t i = 0; i < atomic_load(&engine.count); i++)
			set_sync_seen(engine.dev[i], !why);
		if (why)
			say_unseen(why);
	}
	pthread_mutex_unlock(&engine.watch_lock);
	return atomic_load(&engine.sync_watched) == 1;
}

void gp_engine_watch_launches(void)
{
	if (engine.hooks.watch_launches)
		engine.hooks.watch_launches();
}

uint64_t gp_edev_now(struct gp_edev *dev)
{
	uint64_t ns = 0;

	/* A clock that fails stands still: the core takes the latest seen. */
	dev->hal->ops->now(dev->hal, &ns);
	return ns;
}

/* ---- carrying out ------------------------------------------------------- */

static struct gp_ectx *ctx_of_tenant(struct gp_edev *dev, uint32_t tenant)
{
	for (size_t i = 0; i < GP_EDEV_CONTEXTS; i++)
		if (dev->ctx[i].tenant == tenant &&
		    atomic_load_explicit(&dev->ctx[i].context, memory_order_relaxed))
			return &dev->ctx[i];
	return NULL;
}

static void step(struct gp_edev *dev, const struct gp_event *ev, int *result)
{
	int err;

	dev->stepped_ns = gp_edev_now(dev);
	err = gp_sched_step(dev->sched, dev->stepped_ns, ev, &dev->step);
	if (result)
		*result = err;
	if (err)
		return;
	for (size_t i = 0; i < dev->step.count; i++) {
		struct gp_decision *d = &dev->step.d[i];

		if (d->type == GP_DO_ARM_TIMER) {
			/*
			 * Only the last one counts, and it comes last: on a
			 * virtual clock, arming lets the time go on.
			 */
			dev->arm_asked = true;
			dev->arm_at_ns = d->at_ns;
			continue;
		}
		if (dev->pending_count == GP_EDEV_PENDING) {
			gp_log(GP_LOG_ERR, "engine: too many decisions at once, one is lost");
			continue;
		}
		dev->pending[(dev->pending_head + dev->pending_count++) % GP_EDEV_PENDING] = *d;
	}
}

/*
 * How long the device was waited for, if that is known and there was a wait: what
 * renews a hold that had it has it from its first moment. One that did not get it
 * for so long says that what it renews did not have it either.
 */
static uint64_t waited_ns(const struct gp_ectx *c, int i, const struct gp_hold_stat *st)
{
	uint64_t own_ns = st->switch_ns ? st->switch_ns : st->missed_ns;

	if (!own_ns || !c->renews[i])
		return own_ns;
	if (!c->lacked[i] && st->missed_ns < RENEWAL_HAS_IT_NS)
		return 0;
	return own_ns + st->from_ns - c->since_ns[i];
}

/* Count what a hold that ended kept; its end may be stamped a little later. */
static void account(struct gp_edev *dev, struct gp_ectx *c, int i)
{
	struct gp_hold_stat st;

	if (!c->untold[i] || c->on[i] || c->hold[i]->dev->ops->hold_stat(c->hold[i], &st))
		return;
	if (!st.held_ns)
		return;
	/* Counted before, so it was over when its switch was asked for since. */
	if (st.seq == c->counted_seq[i]) {
		c->untold[i] = 0;
		return;
	}
	c->counted_seq[i] = st.seq;
	c->held_ns += st.held_ns;
	gp_page_hold(dev, st.from_ns, st.held_ns, st.switch_ns ? waited_ns(c, i, &st) : 0);
}

static void tell_switch(struct gp_edev *dev, struct gp_ectx *c, int i)
{
	struct gp_event ev = { .type = GP_EV_SWITCH_MEASURED, .tenant = c->tenant };
	struct gp_hold_stat st;

	if (!c->untold[i] || dev->hal->ops->hold_stat(c->hold[i], &st) ||
	    st.seq == c->switch_seq[i])
		return;
	ev.measured.took_ns = waited_ns(c, i, &st);
	if (!ev.measured.took_ns)
		return;
	c->switch_seq[i] = st.seq;
	ev.measured.missed = !st.switch_ns;
	if (!ev.measured.missed)
		c->switch_ns = ev.measured.took_ns;
	else if (c->newest != i && c->renews[!i])
		c->lacked[!i] = 1;
	step(dev, &ev, NULL);
}

/* The older one first: what it tells may be what the newer one waited for. */
static void tell_ended(struct gp_edev *dev, struct gp_ectx *c)
{
	const int older = !c->newest;

	tell_switch(dev, c, older);
	tell_switch(dev, c, !older);
	account(dev, c, older);
	account(dev, c, !older);
}

static int release_one(struct gp_edev *dev, struct gp_ectx *c, int i)
{
	int err = dev->hal->ops->release(c->hold[i]);

	if (err)
		return err;
	c->on[i] = 0;
	tell_ended(dev, c);
	return 0;
}

static int start_hold(struct gp_edev *dev, struct gp_ectx *c, int i, uint64_t limit_ns, bool renews)
{
	int err;

	/* Of the last ones, the ends may have come after their release. */
	tell_ended(dev, c);
	c->renews[i] = renews;
	c->lacked[i] = 0;
	c->newest = (uint8_t)i;
	c->since_ns[i] = renews ? c->since_ns[!i] : dev->stepped_ns;
	err = dev->hal->ops->hold(c->hold[i], limit_ns);
	if (err == -EBUSY) {
		dev->hal->ops->release(c->hold[i]);
		err = dev->hal->ops->hold(c->hold[i], limit_ns);
	}
	if (!err)
		c->on[i] = c->untold[i] = 1;
	return err;
}

/* Where the driver has no holds. */
static int ask_others(struct gp_edev *dev, struct gp_ectx *c, uint64_t limit_ns)
{
	struct gp_event ev = { .type = GP_EV_SWITCH_MEASURED, .tenant = c->tenant };
	uint64_t start_ns = gp_edev_now(dev);
	int err = gp_yield_ask(dev, dev->cls.value, limit_ns);

	if (err || c->asked_ns)
		return err;
	c->asked_ns = start_ns;
	c->switch_ns = gp_edev_now(dev) - start_ns;
	ev.measured.took_ns = c->switch_ns;
	step(dev, &ev, NULL);
	return 0;
}

static void stop_asking(struct gp_edev *dev, struct gp_ectx *c)
{
	uint64_t held_ns;

	if (!c->asked_ns)
		return;
	gp_yield_release(dev);
	held_ns = gp_edev_now(dev) - c->asked_ns;
	gp_page_hold(dev, c->asked_ns, held_ns, c->switch_ns);
	c->held_ns += held_ns;
	c->asked_ns = 0;
}

void gp_edev_others_off(struct gp_edev *dev, struct gp_ectx *ctx)
{
	struct gp_sched_tenant_stat stat;
	uint64_t held_ns;

	gp_edev_stat(dev, ctx, &stat, &held_ns);
	if (!stat.in_segment && !stat.held)
		return;
	/* The least urgent level: best effort alone yields. */
	gp_yield_tell(dev, GP_LEVEL_MAX, OTHERS_OFF_MAX_NS);
	atomic_store(&dev->others_off, 1);
}

void gp_edev_others_on(struct gp_edev *dev)
{
	if (atomic_exchange(&dev->others_off, 0))
		gp_yield_release(dev);
}

/* A HOLD while one is on renews it: both on for a moment, then the old ends. */
static int do_hold(struct gp_edev *dev, struct gp_ectx *c, uint64_t limit_ns)
{
	const bool renews = c->on[0] || c->on[1];
	const int i = c->on[0] ? 1 : 0;
	int err;

	if (c->gone)
		return -ENODEV;
	if (gp_yields(dev))
		return ask_others(dev, c, limit_ns);
	if (!c->hold[i])
		return -EOPNOTSUPP;
	if (c->on[i])
		return -EBUSY;
	err = start_hold(dev, c, i, limit_ns, renews);
	if (!err && renews)
		err = release_one(dev, c, !i);
	return err;
}

static void outcome(struct gp_edev *dev, const struct gp_decision *d, int err)
{
	struct gp_event ev = {
		.type = GP_EV_OUTCOME,
		.outcome = { d->id, err },
	};

	step(dev, &ev, NULL);
}

static void say_no_hold(const char *why)
{
	static atomic_int said;

	gp_log_once(&said, GP_LOG_WARN, "cannot hold the device: %s; going on without", why);
}

static void hold_outcome(struct gp_edev *dev, const struct gp_decision *d, int err)
{
	if (!err)
		return;
	say_no_hold(strerror(-err));
	outcome(dev, d, err);
}

static void do_release(struct gp_edev *dev, const struct gp_decision *d)
{
	struct gp_ectx *c = ctx_of_tenant(dev, d->tenant);
	int err = 0;

	if (!c || c->gone)
		return;
	atomic_store(&dev->held, 0);
	stop_asking(dev, c);
	for (int i = 0; i < 2; i++)
		if (c->on[i] && !err)
			err = release_one(dev, c, i);
	if (err)
		outcome(dev, d, err);
}

static int do_set_slice(struct gp_edev *dev, const struct gp_decision *d)
{
	uint64_t us = d->slice_us ? d->slice_us : dev->caps.default_slice_us;
	int err = -ESRCH;

	if (dev->caps.max_slice_us && us > dev->caps.max_slice_us)
		us = dev->caps.max_slice_us;
	if (us < dev->caps.min_slice_us)
		us = dev->caps.min_slice_us;
	pthread_mutex_lock(&dev->groups_lock);
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS; i++) {
		if (dev->group[i].id == d->group && dev->group[i].group) {
			err = dev->hal->ops->set_slice(dev->group[i].group, us);
			break;
		}
	}
	pthread_mutex_unlock(&dev->groups_lock);
	return err;
}

/* The thread may be asleep until a timer. */
static void watch_work(struct gp_edev *dev)
{
	if (!atomic_exchange(&dev->held, 1) && dev->caps.caps & GP_CAP_BUSY)
		gp_thread_wake();
}

static void execute(struct gp_edev *dev, const struct gp_decision *d)
{
	static atomic_int said;
	struct gp_ectx *c;
	int err;

	switch (d->type) {
	case GP_DO_SET_SLICE:
		/* The daemon sets them; here nothing is left to be done. */
		err = dev->managed ? 0 : do_set_slice(dev, d);
		if (err && err != -ESRCH)
			gp_log_once(&said, GP_LOG_WARN,
				    "cannot set the timeslice: %s; it stays the driver's",
				    strerror(-err));
		outcome(dev, d, err);
		break;
	case GP_DO_HOLD:
		c = ctx_of_tenant(dev, d->tenant);
		err = c ? do_hold(dev, c, d->limit_ns) : -ENODEV;
		hold_outcome(dev, d, err);
		if (!err)
			watch_work(dev);
		break;
	case GP_DO_RELEASE:
		do_release(dev, d);
		break;
	case GP_DO_SUSPEND:
	case GP_DO_RESUME:
		/* Asked only of who rotates; no instance in a process does. */
		outcome(dev, d, -EOPNOTSUPP);
		break;
	}
}

/*
 * A timer that is too early costs the thread a wake-up, now and then; setting it costs
 * every hold and every release a system call, which a hold may need anyway (AMD). A
 * virtual clock would stop for it.
 */
static bool comes_in_time(const struct gp_edev *dev)
{
	const uint32_t exact = GP_CAP_VIRTUAL_TIME | GP_CAP_HOLD_OUTSIDE;

	return dev->timer_ns != GP_SCHED_NO_TIMER && !(dev->caps.caps & exact) &&
	       (dev->arm_at_ns == GP_SCHED_NO_TIMER || dev->timer_ns <= dev->arm_at_ns);
}

static void arm(struct gp_edev *dev)
{
	static atomic_int said;
	int err = -ENODEV;

	if (!dev->timer && dev->arm_at_ns == GP_SCHED_NO_TIMER)
		return;
	if (comes_in_time(dev))
		return;
	if (!dev->timer) {
		err = dev->hal->ops->timer_create(dev->hal, &dev->timer);
		if (!err) {
			atomic_store(&dev->timer_fd, dev->timer->fd);
			gp_thread_start(false);
			gp_thread_wake();
		}
	}
	if (dev->timer)
		err = dev->hal->ops->timer_arm(dev->timer, dev->arm_at_ns);
	dev->timer_ns = err ? GP_SCHED_NO_TIMER : dev->arm_at_ns;
	if (err)
		gp_log_once(&said, GP_LOG_WARN, "no timer: %s; hints come to nothing",
			    strerror(-err));
}

int gp_edev_event_locked(struct gp_edev *dev, struct gp_event *ev)
{
	struct gp_decision d;
	bool did;
	int result;

	inside++;
	step(dev, ev, &result);
	/*
	 * First the page, as to carry out takes time, and steps of its own: the
	 * daemon has others to move out of the way meanwhile.
	 */
	if (!result)
		gp_page_event(dev, ev, dev->stepped_ns);
	did = dev->pending_count;
	while (dev->pending_count) {
		d = dev->pending[dev->pending_head];
		dev->pending_head = (dev->pending_head + 1) % GP_EDEV_PENDING;
		dev->pending_count--;
		execute(dev, &d);
	}
	if (did)
		gp_page_update(dev);
	if (dev->arm_asked && !dev->arm_later) {
		dev->arm_asked = false;
		arm(dev);
	}
	inside--;
	return result;
}

/* ---- the queue of those who may not wait -------------------------------- */

static bool queue_take(struct gp_edev *dev, struct gp_event *ev)
{
	bool got = false;

	pthread_mutex_lock(&dev->queue_lock);
	if (dev->queue_count) {
		*ev = dev->queue[0];
		memmove(dev->queue, dev->queue + 1, --dev->queue_count * sizeof(*ev));
		got = true;
	}
	if (!dev->queue_count)
		atomic_store(&dev->queue_waits, 0);
	pthread_mutex_unlock(&dev->queue_lock);
	return got;
}

static void group_forget(struct gp_edev *dev, uint32_t id)
{
	pthread_mutex_lock(&dev->groups_lock);
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS; i++)
		if (dev->group[i].id == id && !dev->group[i].group)
			dev->group[i].id = 0;
	pthread_mutex_unlock(&dev->groups_lock);
}

static void queue_drain(struct gp_edev *dev)
{
	struct gp_event ev;

	while (atomic_load(&dev->queue_waits) && queue_take(dev, &ev)) {
		gp_edev_event_locked(dev, &ev);
		if (ev.type == GP_EV_GROUP_GONE)
			group_forget(dev, ev.group.id);
		gp_slot_follow(dev);
	}
}

/*
 * Whoever queues first queues, then tries the lock; whoever unlocks looks at
 * the queue again afterwards. So one of the two always sees the event.
 */
void gp_edev_unlock(struct gp_edev *dev)
{
	do {
		queue_drain(dev);
		pthread_mutex_unlock(&dev->lock);
	} while (atomic_load(&dev->queue_waits) && !pthread_mutex_trylock(&dev->lock));
}

void gp_edev_work(struct gp_edev *dev, struct gp_ectx *c, bool busy)
{
	struct gp_event ev = { .type = busy ? GP_EV_BUSY : GP_EV_IDLE, .tenant = c->tenant };
	const bool learns = atomic_load_explicit(&dev->learns, memory_order_relaxed);

	pthread_mutex_lock(&dev->lock);
	if (learns)
		gp_learn_work(dev, busy);
	/* Of best-effort only the daemon wants to know. */
	if (learns || dev->cls.cls == GP_CLASS_BE)
		gp_page_work(dev, c, busy);
	else
		(void)gp_edev_event_locked(dev, &ev);
	gp_edev_unlock(dev);
}

void gp_edev_queued(struct gp_edev *dev, const struct gp_ectx *c)
{
	struct gp_event ev = { .type = GP_EV_QUEUED, .tenant = c->tenant };

	if (atomic_load_explicit(&dev->learns, memory_order_relaxed))
		return;
	pthread_mutex_lock(&dev->lock);
	if (dev->cls.cls == GP_CLASS_LC)
		(void)gp_edev_event_locked(dev, &ev);
	gp_edev_unlock(dev);
}

void gp_edev_post(struct gp_edev *dev, const struct gp_event *ev)
{
	bool full;

	pthread_mutex_lock(&dev->queue_lock);
	full = dev->queue_count == GP_EDEV_QUEUE;
	if (!full)
		dev->queue[dev->queue_count++] = *ev;
	atomic_store(&dev->queue_waits, 1);
	pthread_mutex_unlock(&dev->queue_lock);
	if (full)
		gp_log(GP_LOG_ERR, "engine: too many groups at once, one is left alone");
	if (!pthread_mutex_trylock(&dev->lock))
		gp_edev_unlock(dev);
}

int gp_edev_event(struct gp_edev *dev, struct gp_event *ev)
{
	int err;

	pthread_mutex_lock(&dev->lock);
	if (ev->type == GP_EV_HINT)
		ev->hint.at_ns += gp_edev_now(dev);
	err = gp_edev_event_locked(dev, ev);
	gp_edev_unlock(dev);
	return err;
}

static void timer_event(struct gp_edev *dev)
{
	struct gp_event ev = { .type = GP_EV_TIMER };

	dev->arm_at_ns = GP_SCHED_NO_TIMER;
	/* Arming lets a virtual clock go on: what comes next is first. */
	dev->arm_later = true;
	gp_edev_event_locked(dev, &ev);
	gp_learn_after_timer(dev);
	dev->arm_later = false;
	if (dev->arm_asked) {
		dev->arm_asked = false;
		arm(dev);
	}
}

void gp_edev_timer(struct gp_edev *dev)
{
	pthread_mutex_lock(&dev->lock);
	if (dev->timer && !dev->hal->ops->timer_ack(dev->timer)) {
		dev->timer_ns = GP_SCHED_NO_TIMER;
		if (dev->arm_at_ns > gp_edev_now(dev))
			arm(dev);
		else if (dev->arm_at_ns != GP_SCHED_NO_TIMER)
			timer_event(dev);
		/* What came meanwhile, too, is before a virtual clock goes on. */
		queue_drain(dev);
		dev->hal->ops->timer_done(dev->timer);
	}
	gp_edev_unlock(dev);
}

/* Deadlines and caps are between processes: the daemon's alone. */
static struct gp_class_request spec_of(const struct gp_class_value *cls)
{
	return (struct gp_class_request){ .cls = *cls };
}

/* ---- devices ------------------------------------------------------------ */

/* Tell a driver that schedules by class itself. */
static int tell_class(struct gp_edev *dev, const struct gp_class_value *cls)
{
	if (!(dev->caps.caps & GP_CAP_CLASS))
		return 0;
	return dev->ops.set_class(dev->hal, 0, cls);
}

/* A class that the driver refuses is not had: nothing is to go by it. */
static void first_class(struct gp_edev *dev)
{
	char text[GP_CLASS_TEXT_LEN];
	int err;

	if (dev->cls.cls == GP_CLASS_NONE)
		return;
	err = tell_class(dev, &dev->cls);
	if (!err)
		return;
	gp_class_format(&dev->cls, text, sizeof(text));
	gp_log(GP_LOG_WARN, "%s: no class %s: %s; the program runs without", dev->hal->id.name,
	       text,
	       err == -EPERM ? "it takes CAP_SYS_ADMIN, or the right to open /dev/kfd_sched" :
			       strerror(-err));
	dev->cls = (struct gp_class_value){ GP_CLASS_NONE, 0 };
}

/* The instance of the core that decides for @dev. */
static int core_create(struct gp_edev *dev)
{
	const bool seen = atomic_load(&engine.sync_watched) == 1;
	const struct gp_sched_config config = {
		.slice_preempts = !!(dev->caps.caps & GP_CAP_SLICE_PREEMPTS),
		.switch_ns = dev->caps.switch_ns,
		.hold_piece_ns = hold_piece_ns(dev, seen),
		.auto_hold_ns = engine.hooks.auto_hold ? GP_AUTO_HOLD_NS : 0,
	};
	int err;

	dev->sync_seen = seen;
	dev->sched = calloc(1, gp_sched_size());
	if (!dev->sched)
		return -ENOMEM;
	err = gp_sched_init(dev->sched, &config);
	if (err)
		free(dev->sched);
	return err;
}

/* The base tenant, with the class that the process was started with. */
static void join(struct gp_edev *dev)
{
	struct gp_event ev = { .type = GP_EV_TENANT_JOIN, .tenant = GP_BASE_TENANT };

	if (gp_engine_names(engine.hooks.device, &dev->hal->id))
		dev->asked = engine.hooks.request;
	dev->cls = dev->asked.cls;
	first_class(dev);
	ev.spec = spec_of(&dev->cls);
	gp_edev_event_locked(dev, &ev);
}

static int edev_create(const struct gp_hal_ops *ops, const struct gp_device_id *id,
		       struct gp_edev **out)
{
	struct gp_edev *dev;
	int err;

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	err = ops->open(id, &dev->hal);
	if (err)
		goto err_free;
	/* A backend's own table, which a tracker gives, may lack ops. */
	gp_hal_set_ops(&dev->ops, dev->hal->ops);
	dev->hal->ops = &dev->ops;
	err = dev->hal->ops->caps(dev->hal, &dev->caps);
	if (!err)
		err = core_create(dev);
	if (err)
		goto err_close;
	pthread_mutex_init(&dev->lock, NULL);
	pthread_mutex_init(&dev->groups_lock, NULL);
	pthread_mutex_init(&dev->queue_lock, NULL);
	dev->slot_fd = -1;
	atomic_init(&dev->timer_fd, -1);
	for (uint32_t i = 0; i < GP_EDEV_CONTEXTS; i++)
		dev->ctx[i].tenant = GP_BASE_TENANT + 1 + i;
	dev->preloaded = engine.hooks.tracks;
	dev->tells.wake_fd = -1;
	dev->tells.looked = dev->told_busy = -ENODATA;
	gp_edaemon_init(&dev->daemon);
	join(dev);
	*out = dev;
	return 0;

err_close:
	dev->hal->ops->close(dev->hal);
err_free:
	free(dev);
	return err;
}

static struct gp_edev *device_find(const struct gp_device_id *id)
{
	size_t n = atomic_load(&engine.count);

	for (size_t i = 0; i < n; i++)
		if (!memcmp(engine.dev[i]->hal->id.uuid, id->uuid, sizeof(id->uuid)))
			return engine.dev[i];
	return NULL;
}

bool gp_engine_names(const char *spec, const struct gp_device_id *id)
{
	struct gp_spec parsed;

	if (!spec || !*spec)
		return true;
	return !gp_spec_parse(spec, &parsed) && gp_spec_matches(&parsed, id);
}

int gp_engine_device(const struct gp_hal_ops *ops, const struct gp_device_id *id,
		     struct gp_edev **out)
{
	size_t n;
	int err = 0;

	*out = device_find(id);
	if (*out)
		return 0;
	pthread_mutex_lock(&engine.lock);
	*out = device_find(id);
	if (*out)
		goto out;
	n = atomic_load(&engine.count);
	err = -ENOSPC;
	if (n == GP_HAL_MAX_DEVICES)
		goto out;
	err = edev_create(ops, id, out);
	if (err)
		goto out;
	engine.dev[n] = *out;
	atomic_store(&engine.count, n + 1);
out:
	pthread_mutex_unlock(&engine.lock);
	return err;
}

size_t gp_engine_devices(struct gp_edev **dev, size_t max)
{
	size_t n = atomic_load(&engine.count);

	if (n > max)
		n = max;
	memcpy(dev, engine.dev, n * sizeof(*dev));
	return n;
}

/* ---- holds of a context --------------------------------------------------- */

static void ctx_destroy_holds(struct gp_edev *dev, struct gp_ectx *c)
{
	atomic_store(&c->marks, NULL);
	for (int i = 0; i < 2; i++) {
		if (c->hold[i])
			dev->hal->ops->hold_destroy(c->hold[i]);
		c->hold[i] = NULL;
		c->on[i] = c->untold[i] = 0;
	}
}

/* Where the process is the context, it is one without holds, too. */
static bool can_hold(const struct gp_edev *dev)
{
	return dev->caps.caps & GP_CAP_HOLD || !(dev->caps.caps & GP_CAP_HOLD_OUTSIDE);
}

static void explain_no_holds(const struct gp_edev *dev)
{
	char why[256] = "";

	dev->ops.explain(-EOPNOTSUPP, why, sizeof(why));
	say_no_hold(why);
}

/* -EOPNOTSUPP is said, and no error: the context is one without. */
static int ctx_make_holds(struct gp_edev *dev, struct gp_ectx *c, void *context)
{
	int err = 0;

	inside++;
	for (int i = 0; i < 2 && !err && can_hold(dev); i++)
		err = dev->hal->ops->hold_create(dev->hal, context, &c->hold[i]);
	if (err)
		ctx_destroy_holds(dev, c);
	else
		atomic_store(&c->marks, c->hold[0]);
	inside--;
	if (err == -EOPNOTSUPP)
		explain_no_holds(dev);
	return err == -EOPNOTSUPP ? 0 : err;
}

/* Without the lock: a write into a full stream waits. */
int gp_edev_queued_in(struct gp_edev *dev, const struct gp_ectx *c, void *stream)
{
	const struct gp_event ev = { .type = GP_EV_QUEUED,
				     .tenant = c->tenant,
				     .queued.told = true };
	struct gp_hold *hold = atomic_load(&c->marks);
	int err = 0;

	if (hold) {
		inside++;
		err = dev->ops.hold_queued(hold, stream);
		inside--;
	}
	if (err && err != -EOPNOTSUPP)
		return err;
	/* The hint's hold ends behind that: in between the front end would have nothing. */
	gp_edev_post(dev, &ev);
	return 0;
}

/* ---- class -------------------------------------------------------------- */

struct gp_class_value gp_edev_class(struct gp_edev *dev)
{
	struct gp_class_value cls;

	pthread_mutex_lock(&dev->lock);
	cls = dev->cls;
	gp_edev_unlock(dev);
	return cls;
}

/* Contexts that it met as best-effort have none. */
static void holds_for_all(struct gp_edev *dev)
{
	for (size_t i = 0; i < GP_EDEV_CONTEXTS; i++) {
		struct gp_ectx *c = &dev->ctx[i];
		void *context = atomic_load(&c->context);
		int err = context && !c->hold[0] && !c->gone ? ctx_make_holds(dev, c, context) : 0;

		if (err)
			say_no_hold(strerror(-err));
	}
}

bool gp_edev_is_be(struct gp_edev *dev)
{
	return gp_edev_class(dev).cls == GP_CLASS_BE;
}

int gp_edev_apply_class(struct gp_edev *dev, const struct gp_class_value *cls,
			const struct gp_class_request *wanted)
{
	struct gp_event ev = { .type = GP_EV_TENANT_CLASS, .spec = spec_of(cls) };
	int err;

	if (gp_class_check(cls->cls, cls->value))
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	err = tell_class(dev, cls);
	/* What this process may not, the daemon may. */
	if (err == -EPERM && dev->managed)
		err = 0;
	ev.tenant = GP_BASE_TENANT;
	if (!err)
		err = gp_edev_event_locked(dev, &ev);
	for (size_t i = 0; !err && i < GP_EDEV_CONTEXTS; i++) {
		if (!atomic_load(&dev->ctx[i].context))
			continue;
		ev.tenant = dev->ctx[i].tenant;
		err = gp_edev_event_locked(dev, &ev);
	}
	if (!err) {
		if (cls->cls == GP_CLASS_LC)
			holds_for_all(dev);
		dev->cls = *cls;
		if (wanted)
			dev->asked = *wanted;
		gp_slot_follow(dev);
		gp_page_update(dev);
	}
	gp_edev_unlock(dev);
	return err;
}

int gp_edev_set_class(struct gp_edev *dev, const struct gp_class_value *cls)
{
	const struct gp_class_request request = { .cls = *cls };

	if (gp_class_check(cls->cls, cls->value))
		return -EINVAL;
	if (gp_edaemon_manages(dev))
		return gp_edaemon_wait(dev, gp_edaemon_ask(dev, &request));
	return gp_edev_apply_class(dev, cls, &request);
}

/* ---- contexts ----------------------------------------------------------- */

static void ctx_leave(struct gp_edev *dev, struct gp_ectx *c)
{
	struct gp_event ev = { .type = GP_EV_TENANT_LEAVE, .tenant = c->tenant };

	gp_page_leave(dev, c);
	gp_edev_event_locked(dev, &ev);
	inside++;
	stop_asking(dev, c);
	ctx_destroy_holds(dev, c);
	inside--;
	dev->base_held_ns += c->held_ns;
	atomic_store(&c->context, NULL);
	gp_page_update(dev);
}

static struct gp_ectx *ctx_find(struct gp_edev *dev, void *context)
{
	for (size_t i = 0; context && i < GP_EDEV_CONTEXTS; i++)
		if (atomic_load(&dev->ctx[i].context) == context)
			return &dev->ctx[i];
	return NULL;
}

static int ctx_create(struct gp_edev *dev, void *context, struct gp_ectx **out)
{
	struct gp_event ev = { .type = GP_EV_TENANT_JOIN, .spec = spec_of(&dev->cls) };
	struct gp_ectx *c = NULL;
	int err = 0;

	for (size_t i = 0; i < GP_EDEV_CONTEXTS && !c; i++)
		if (!atomic_load(&dev->ctx[i].context))
			c = &dev->ctx[i];
	if (!c)
		return -ENOSPC;
	atomic_store(&c->busy, 0);
	memset(&c->refs, 0, sizeof(*c) - offsetof(struct gp_ectx, refs));
	/* Best-effort holds nothing: it is here for what it launches. */
	if (dev->cls.cls != GP_CLASS_BE)
		err = ctx_make_holds(dev, c, context);
	if (err)
		return err;
	ev.tenant = c->tenant;
	err = gp_edev_event_locked(dev, &ev);
	if (err) {
		ctx_destroy_holds(dev, c);
		return err;
	}
	atomic_store(&c->context, context);
	gp_page_update(dev);
	*out = c;
	return 0;
}

int gp_edev_context(struct gp_edev *dev, void *context, struct gp_ectx **out)
{
	struct gp_ectx *c;
	int err = 0;

	if (!context)
		return -ENXIO;
	pthread_mutex_lock(&dev->lock);
	c = ctx_find(dev, context);
	if (!c)
		err = ctx_create(dev, context, &c);
	if (!err) {
		c->refs++;
		*out = c;
	}
	gp_edev_unlock(dev);
	return err;
}

void gp_edev_context_put(struct gp_edev *dev, struct gp_ectx *ctx)
{
	pthread_mutex_lock(&dev->lock);
	if (!--ctx->refs)
		ctx_leave(dev, ctx);
	gp_edev_unlock(dev);
}

void gp_engine_ask_context(void *context)
{
	void *none = NULL;

	if (atomic_load_explicit(&asked_in_vain, memory_order_relaxed) == context ||
	    !atomic_compare_exchange_strong(&asked_context, &none, context))
		return;
	gp_thread_wake();
}

void gp_engine_serve_context(void)
{
	void *context = atomic_load(&asked_context);
	struct gp_edev *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);
	struct gp_ectx *c;
	int err = -ENODEV;

	if (!context)
		return;
	/* Its reference is the engine's own, until the context goes. */
	for (size_t i = 0; i < n && err; i++)
		err = gp_edev_context(dev[i], context, &c);
	if (err)
		atomic_store(&asked_in_vain, context);
	atomic_store(&asked_context, NULL);
}

struct gp_ectx *gp_engine_find(void *context, struct gp_edev **dev)
{
	size_t n = atomic_load_explicit(&engine.count, memory_order_acquire);

	for (size_t i = 0; context && i < n; i++) {
		struct gp_edev *d = engine.dev[i];

		for (size_t k = 0; k < GP_EDEV_CONTEXTS; k++) {
			if (atomic_load_explicit(&d->ctx[k].context, memory_order_acquire) ==
			    context) {
				*dev = d;
				return &d->ctx[k];
			}
		}
	}
	return NULL;
}

void gp_engine_context_gone(void *context)
{
	struct gp_edev *dev;
	struct gp_ectx *c = gp_engine_find(context, &dev);

	if (!c)
		return;
	pthread_mutex_lock(&dev->lock);
	if (ctx_find(dev, context) == c && !c->gone) {
		struct gp_event ev = { .type = GP_EV_SYNC, .tenant = c->tenant };

		/* Never undone: what it held ends, and nothing holds again. */
		gp_edev_event_locked(dev, &ev);
		inside++;
		ctx_destroy_holds(dev, c);
		inside--;
		c->gone = 1;
		gp_page_update(dev);
	}
	gp_edev_unlock(dev);
}

/* ---- groups ------------------------------------------------------------- */

/* 0, or -EEXIST: known already (its pointer is brought up to date). */
static int group_enter(struct gp_edev *dev, struct gp_group *group)
{
	struct gp_egroup *place = NULL;
	int err = 0;

	pthread_mutex_lock(&dev->groups_lock);
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS; i++) {
		if (dev->group[i].id == group->id) {
			place = &dev->group[i];
			err = place->group ? -EEXIST : -EAGAIN;
			break;
		}
		if (!dev->group[i].id && !place)
			place = &dev->group[i];
	}
	if (!place)
		err = -ENOSPC;
	else if (err != -EAGAIN)
		*place = (struct gp_egroup){ group->id, group };
	if (!err) {
		/* In this order: who greets the daemon for it does not say it again. */
		gp_edaemon_regrouped(dev);
		atomic_fetch_add(&dev->groups, 1);
	}
	/* It comes while the others are off. */
	if (!err && dev->yielded)
		(void)dev->ops.suspend(&group, 1);
	pthread_mutex_unlock(&dev->groups_lock);
	return err;
}

int gp_edev_group_add(struct gp_edev *dev, struct gp_group *group)
{
	struct gp_event ev = {
		.type = GP_EV_GROUP_APPEAR,
		.tenant = GP_BASE_TENANT,
		.group.id = group->id,
	};
	int err = group_enter(dev, group);

	if (err)
		return err;
	gp_edev_post(dev, &ev);
	gp_thread_wake();
	return 0;
}

size_t gp_edev_group_count(struct gp_edev *dev)
{
	return atomic_load(&dev->groups);
}

static void group_gone(struct gp_edev *dev, struct gp_group *group)
{
	struct gp_event ev = { .type = GP_EV_GROUP_GONE, .group.id = group->id };
	bool known = false;

	pthread_mutex_lock(&dev->groups_lock);
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS; i++) {
		if (dev->group[i].group == group) {
			dev->group[i].group = NULL;
			atomic_fetch_sub(&dev->groups, 1);
			known = true;
		}
	}
	pthread_mutex_unlock(&dev->groups_lock);
	if (!known)
		return;
	gp_edev_post(dev, &ev);
	gp_edaemon_regrouped(dev);
}

void gp_engine_group_gone(struct gp_group *group)
{
	size_t n = atomic_load(&engine.count);

	for (size_t i = 0; i < n; i++)
		group_gone(engine.dev[i], group);
}

static bool list_has(const struct gp_group_list *list, uint32_t id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->id == id)
			return true;
	return false;
}

static void scan_take(struct gp_edev *dev, struct gp_group_list *list)
{
	struct gp_group_list old = dev->scanned;

	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->kind == GP_GROUP_COMPUTE)
			gp_edev_group_add(dev, list->group[i]);
	for (size_t i = 0; i < old.count; i++)
		if (!list_has(list, old.group[i]->id))
			group_gone(dev, old.group[i]);
	dev->scanned = *list;
	gp_group_list_put(&old);
}

/* Called with no lock held, by gp_open() only, which has a lock of its own. */
int gp_edev_scan(struct gp_edev *dev)
{
	struct gp_group_list list = { 0 };
	int err;

	if (dev->preloaded)
		return 0;
	err = dev->hal->ops->groups(dev->hal, 0, &list);
	if (!err)
		scan_take(dev, &list);
	return err;
}

void gp_edev_scan_drop(struct gp_edev *dev)
{
	struct gp_group_list none = { 0 };

	if (!dev->preloaded)
		scan_take(dev, &none);
}

/* ---- with a daemon ------------------------------------------------------ */

void gp_edev_give(struct gp_edev *dev)
{
	/* First the slice, while it is ours to set. */
	gp_slot_drop(dev);
	dev->managed = true;
}

/* A slice that cannot be set is one of a group that is going: the core asks again. */
static void slices_off(struct gp_edev *dev)
{
	pthread_mutex_lock(&dev->groups_lock);
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS; i++)
		if (dev->group[i].group && dev->caps.caps & GP_CAP_SLICES)
			(void)dev->ops.set_slice(dev->group[i].group, dev->caps.default_slice_us);
	pthread_mutex_unlock(&dev->groups_lock);
}

/* Those that are off by agreement stay it, until that ends. */
static int groups_on(struct gp_edev *dev)
{
	const bool off = dev->caps.caps & (GP_CAP_SUSPEND | GP_CAP_SUSPEND_OWN);
	int err, result = 0;

	pthread_mutex_lock(&dev->groups_lock);
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS && off && !dev->yielded; i++) {
		if (!dev->group[i].group)
			continue;
		err = dev->ops.resume(&dev->group[i].group, 1);
		result = err && err != -ESRCH ? err : result;
	}
	pthread_mutex_unlock(&dev->groups_lock);
	return result;
}

/* The core believed what the daemon may have done otherwise: it meets them anew. */
static void groups_anew(struct gp_edev *dev)
{
	struct gp_event ev = { .tenant = GP_BASE_TENANT };
	uint32_t id[GP_SCHED_MAX_GROUPS] = { 0 };
	size_t n = 0;

	pthread_mutex_lock(&dev->groups_lock);
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS; i++)
		if (dev->group[i].group)
			id[n++] = dev->group[i].id;
	pthread_mutex_unlock(&dev->groups_lock);
	for (size_t i = 0; i < n; i++) {
		ev.group.id = id[i];
		ev.type = GP_EV_GROUP_GONE;
		gp_edev_event_locked(dev, &ev);
		ev.type = GP_EV_GROUP_APPEAR;
		gp_edev_event_locked(dev, &ev);
	}
}

/* A daemon that ended took back what it had told the driver. dev->lock held. */
static void class_again(struct gp_edev *dev)
{
	int err = dev->cls.cls == GP_CLASS_NONE ? 0 : tell_class(dev, &dev->cls);

	if (err)
		gp_log(GP_LOG_WARN,
		       "%s: the class that the daemon gave cannot be kept without "
		       "one: %s",
		       dev->hal->id.name, strerror(-err));
}

int gp_edev_take_back(struct gp_edev *dev)
{
	const bool managed = dev->managed;
	int err;

	/* Two at the short slice are worse than being off a little longer. */
	if (managed)
		slices_off(dev);
	err = groups_on(dev);
	if (managed) {
		dev->managed = false;
		groups_anew(dev);
		gp_slot_follow(dev);
		class_again(dev);
	}
	return err;
}

void gp_edev_slices_off(struct gp_edev *dev)
{
	pthread_mutex_lock(&dev->lock);
	slices_off(dev);
	gp_edev_unlock(dev);
}

void gp_edev_slices_again(struct gp_edev *dev)
{
	if (!dev->managed)
		groups_anew(dev);
}

void gp_edev_stat(struct gp_edev *dev, struct gp_ectx *ctx, struct gp_sched_tenant_stat *stat,
		  uint64_t *held_ns)
{
	*stat = (struct gp_sched_tenant_stat){ 0 };
	pthread_mutex_lock(&dev->lock);
	for (int i = 0; i < 2; i++)
		account(dev, ctx, i);
	gp_sched_tenant_stat(dev->sched, ctx->tenant, stat);
	*held_ns = ctx->held_ns;
	gp_edev_unlock(dev);
}
