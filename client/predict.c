// SPDX-License-Identifier: Apache-2.0
/*
 * predict.c - see predict.h.
 *
 * While the process runs beside others, the log is read every 20 ms. While it predicts, that
 * is right after a hold's end, so that no read delays the next hold. A process without records
 * is idle, or alone and has the device all the time: the log is then read ten times a second.
 * A process that gives hints itself, once, is never predicted again.
 *
 * If launches are watched for the daemon, requests are known exactly, even if preempted. They
 * are queued as they happen, and processed when the log is read.
 */
#include "client/predict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/engine.h"
#include "runtime/clocks.h"
#include "runtime/log.h"
#include "sched/arrival_predictor.h"

#define MS 1000000ull
#define READ_NS (20 * MS)
#define READ_TRIAL_NS (10 * MS) /* a period is found: sure of it soon? */
#define READ_SURE_NS (30 * MS)	/* after_timer() reads sooner .. */
#define READ_AFTER_NS (15 * MS) /* .. from here on */
#define QUIET_NS (2000 * MS)	/* idle after this time without a record */
#define IDLE_MS 100
#define BATCH 256
#define EDGES 128 /* begins and ends of work between two reads: 2,000 requests/s */

/* Work came, or ended. */
struct edge {
	uint64_t at_ns;
	bool busy;
};

struct gp_learn {
	struct gp_log *log;
	struct gp_timer *timer;
	struct gp_rhythm rhythm;
	struct gp_ectx *ctx; /* the context that holds; NULL: none yet */
	bool off;	     /* disabled for good */
	bool ticking;	     /* the timer is armed */
	bool seen;	     /* the process had the device */
	bool same_clock;
	struct gp_clocks clocks;  /* the log's, against the device's */
	uint64_t read_ns, own_ns; /* last reading; last record of ours */
	uint64_t start_ns;	  /* our present stretch's begin; 0: none */
	bool said_sure;
	bool guessed; /* a prediction is pending */
	uint64_t guessed_ns;
	struct gp_rhythm_guess guess;
	/* Under dev->lock. */
	struct edge edge[EDGES]; /* oldest first */
	size_t edges;
	bool edges_lost;
};

/* ---- beginning and ending ----------------------------------------------------- */

static uint64_t said(struct gp_edev *dev)
{
	struct gp_sched_tenant_stat st;
	uint64_t sum = 0;

	pthread_mutex_lock(&dev->lock);
	for (size_t i = 0; i < GP_EDEV_CONTEXTS; i++)
		if (atomic_load(&dev->ctx[i].context) &&
		    !gp_sched_tenant_stat(gp_runtime_core(dev->rt), dev->ctx[i].tenant, &st))
			sum += st.said;
	gp_edev_unlock(dev);
	return sum;
}

static bool is_lc(struct gp_edev *dev)
{
	return gp_edev_class(dev).cls == GP_CLASS_LC;
}

static void stop(struct gp_edev *dev, struct gp_learn *l, const char *why)
{
	const struct gp_hal_ops *ops = dev->hal->ops;

	gp_log(GP_LOG_INFO, "cannot predict: %s", why);
	gp_status_page_predicts(dev, false);
	atomic_store(&dev->learns, false);
	l->off = true;
	l->guessed = false;
	l->ticking = false;
	if (l->timer)
		ops->timer_destroy(l->timer);
	l->timer = NULL;
	if (l->log)
		ops->log_close(l->log);
	l->log = NULL;
}

static void begin(struct gp_edev *dev)
{
	const uint32_t needs = GP_CAP_SWITCH_LOG | GP_CAP_HOLD | GP_CAP_SLICE_PREEMPTS;
	const struct gp_hal_ops *ops = dev->hal->ops;
	struct gp_learn *l;
	int err;

	if (!gp_engine_learns() || !dev->preloaded || (dev->caps.caps & needs) != needs ||
	    !is_lc(dev) || !gp_edev_group_count(dev))
		return;
	l = calloc(1, sizeof(*l));
	if (!l)
		return;
	gp_rhythm_init(&l->rhythm, dev->caps.switch_ns);
	l->same_clock = dev->caps.caps & GP_CAP_VIRTUAL_TIME;
	pthread_mutex_lock(&dev->lock);
	dev->learn = l;
	atomic_store(&dev->learns, true);
	gp_edev_unlock(dev);
	err = ops->log_open(dev->hal, &l->log);
	if (!err)
		err = ops->timer_create(dev->hal, &l->timer);
	if (err)
		stop(dev, l, strerror(-err));
	else
		l->own_ns = gp_edev_now(dev);
}

/* ---- clocks ---------------------------------------------------------------------- */

static uint64_t to_log(const struct gp_learn *l, uint64_t ns)
{
	return ns + (uint64_t)l->clocks.ahead_ns;
}

static uint64_t from_log(const struct gp_learn *l, uint64_t ns)
{
	return ns - (uint64_t)l->clocks.ahead_ns;
}

/* ---- the log --------------------------------------------------------------------- */

static void take_record(struct gp_learn *l, const struct gp_switch_record *rec)
{
	if (rec->kind == GP_SWITCH_LOST) {
		l->start_ns = 0;
		gp_rhythm_forget(&l->rhythm);
		return;
	}
	if (rec->pid != getpid())
		return;
	l->own_ns = l->read_ns;
	if (rec->kind == GP_SWITCH_START) {
		l->seen = true;
		l->start_ns = rec->time_ns;
	} else if (l->start_ns) {
		gp_rhythm_stretch(&l->rhythm, l->start_ns, rec->time_ns);
		l->start_ns = 0;
	}
}

/* ---- observed work ----------------------------------------------------------- */

void gp_learn_work(struct gp_edev *dev, bool busy)
{
	struct gp_learn *l = dev->learn;

	if (l->edges == EDGES) {
		l->edges = 0;
		l->edges_lost = true;
	}
	l->edge[l->edges++] = (struct edge){ gp_edev_now(dev), busy };
}

static void take_edges(struct gp_learn *l, uint64_t until_ns)
{
	size_t n = 0;

	if (l->edges_lost)
		gp_rhythm_forget(&l->rhythm);
	l->edges_lost = false;
	for (; n < l->edges && l->edge[n].at_ns < until_ns; n++) {
		if (l->edge[n].busy)
			gp_rhythm_came(&l->rhythm, to_log(l, l->edge[n].at_ns));
		else
			gp_rhythm_over(&l->rhythm, to_log(l, l->edge[n].at_ns));
	}
	l->edges -= n;
	memmove(l->edge, l->edge + n, l->edges * sizeof(l->edge[0]));
}

/* Work since a prediction is judged after the predicted hold. */
static void see_work(struct gp_edev *dev, struct gp_learn *l)
{
	const uint64_t until_ns = l->guessed ? l->guessed_ns : gp_edev_now(dev);

	if (!l->clocks.known)
		return;
	pthread_mutex_lock(&dev->lock);
	take_edges(l, until_ns);
	gp_edev_unlock(dev);
	gp_rhythm_seen_until(&l->rhythm, to_log(l, until_ns));
}

static void read_log(struct gp_edev *dev, struct gp_learn *l)
{
	struct gp_switch_record rec[BATCH];
	ssize_t n;

	l->read_ns = gp_edev_now(dev);
	do {
		n = dev->hal->ops->log_read(l->log, rec, BATCH);
		for (ssize_t i = 0; i < n; i++)
			take_record(l, &rec[i]);
	} while (n == BATCH);
	(void)gp_clocks_of_log(&l->clocks, &dev->ops, dev->hal, l->log, l->same_clock);
	see_work(dev, l);
	gp_rhythm_update(&l->rhythm, to_log(l, gp_edev_now(dev)));
}

/* ---- predictions --------------------------------------------------------------------- */

/* Passes the predicted hold's whole time to the predictor. */
static void collect(struct gp_edev *dev, struct gp_learn *l,
		    const struct gp_sched_tenant_stat *tenant)
{
	uint64_t from = tenant->held_since_ns, until = 0;
	struct gp_hold_stat st;

	l->guessed = false;
	for (int i = 0; i < 2; i++)
		if (l->ctx->hold[i] && !dev->hal->ops->hold_stat(l->ctx->hold[i], &st) &&
		    st.until_ns > until)
			until = st.until_ns;
	if (from >= l->guessed_ns && from < until)
		gp_rhythm_held(&l->rhythm, &l->guess, to_log(l, from), to_log(l, until),
			       tenant->guess_worked);
}

/* dev->lock held. */
static void guess_next(struct gp_edev *dev, struct gp_learn *l)
{
	struct gp_event ev = { .type = GP_EV_HINT, .hint.guess = true };
	struct gp_sched_tenant_stat st;
	uint64_t now = gp_edev_now(dev);

	if (!l->ctx || l->ctx->gone ||
	    gp_sched_tenant_stat(gp_runtime_core(dev->rt), l->ctx->tenant, &st))
		return;
	if (st.guessing || st.held)
		return;
	if (l->guessed)
		collect(dev, l, &st);
	if (!gp_rhythm_next(&l->rhythm, to_log(l, now), st.lead_ns, &l->guess))
		return;
	ev.tenant = l->ctx->tenant;
	ev.hint.at_ns = from_log(l, l->guess.at_ns - l->guess.spread_ns);
	ev.hint.limit_ns = l->guess.hint_timeout_ns + l->guess.spread_ns;
	ev.hint.lead_ns = l->guess.lead_max_ns;
	l->guessed_ns = now;
	l->guessed = !gp_edev_event_locked(dev, &ev);
}

void gp_learn_after_timer(struct gp_edev *dev)
{
	struct gp_learn *l = dev->learn;

	if (!l || l->off || !l->guessed)
		return;
	guess_next(dev, l);
	if (l->ticking && gp_edev_now(dev) > l->read_ns + READ_AFTER_NS)
		dev->hal->ops->timer_arm(l->timer, gp_edev_now(dev) + 1);
}

/*
 * As early as possible, before requests come: creating a hold waits for the context (12 ms on
 * a busy H200). A program has its context, or no known one, before its first record; tried
 * again until then.
 */
static void find_context(struct gp_edev *dev, struct gp_learn *l)
{
	void *context;

	for (size_t i = 0; i < GP_EDEV_CONTEXTS && !l->ctx; i++)
		if (atomic_load(&dev->ctx[i].context) && !dev->ctx[i].gone)
			l->ctx = &dev->ctx[i];
	if (l->ctx)
		return;
	context = gp_edev_find_context(dev);
	if (context && gp_edev_context(dev, context, &l->ctx))
		stop(dev, l, "its context cannot hold");
	else if (!context && l->rhythm.state == GP_RHYTHM_SURE)
		stop(dev, l, "its context is unknown");
}

/* ---- in the thread's loop -------------------------------------------------------------- */

static bool may_go_on(struct gp_edev *dev, struct gp_learn *l)
{
	if (said(dev)) {
		stop(dev, l, "the process gives hints");
	} else if (l->ctx && l->ctx->gone) {
		stop(dev, l, "its context is gone");
	} else if (gp_edev_group_count(dev) > 1) {
		stop(dev, l, "it has several contexts");
	} else if (!l->ctx) {
		find_context(dev, l);
	}
	return !l->off;
}

static void arm(struct gp_edev *dev, struct gp_learn *l)
{
	const uint64_t now = gp_edev_now(dev);
	uint64_t in_ns = READ_NS;

	if (l->rhythm.state == GP_RHYTHM_TRIAL)
		in_ns = READ_TRIAL_NS;
	else if (l->rhythm.state == GP_RHYTHM_SURE && l->guessed)
		in_ns = READ_SURE_NS;
	l->ticking = now < l->own_ns + QUIET_NS;
	dev->hal->ops->timer_arm(l->timer, l->ticking ? now + in_ns : 0);
}

static void say(struct gp_edev *dev, struct gp_learn *l)
{
	static const char *const why[] = {
		[GP_RHYTHM_KEPT] = "a pause",
		[GP_RHYTHM_MISSED] = "no work at the predicted time",
		[GP_RHYTHM_EARLY] = "work before the predicted time",
		[GP_RHYTHM_STRAYED] = "work at other times",
	};
	const struct gp_rhythm *r = &l->rhythm;
	const bool sure = r->state == GP_RHYTHM_SURE;

	if (sure && !l->said_sure)
		gp_log(GP_LOG_DEBUG, "predicting: period %llu us, +-%llu us",
		       (unsigned long long)(r->grid.cycle_fp / 1024 / 1000),
		       (unsigned long long)r->grid.spread_ns / 1000);
	else if (!sure && l->said_sure)
		gp_log(GP_LOG_DEBUG, "predicting stopped: %s",
		       why[r->state == GP_RHYTHM_RESTING ? r->loss : GP_RHYTHM_KEPT]);
	if (sure != l->said_sure)
		gp_status_page_predicts(dev, sure);
	l->said_sure = sure;
}

static void tick(struct gp_edev *dev, struct gp_learn *l)
{
	if (!is_lc(dev)) {
		gp_rhythm_forget(&l->rhythm);
		arm(dev, l);
		return;
	}
	read_log(dev, l);
	say(dev, l);
	if (!may_go_on(dev, l))
		return;
	if (l->clocks.known) {
		pthread_mutex_lock(&dev->lock);
		guess_next(dev, l);
		gp_edev_unlock(dev);
	}
	arm(dev, l);
}

void gp_learn_serve(struct gp_edev *dev, bool due)
{
	struct gp_learn *l = dev->learn;

	if (!l) {
		begin(dev);
		l = dev->learn;
		if (l && !l->off)
			tick(dev, l);
		return;
	}
	if (l->off)
		return;
	if (l->ticking) {
		if (!due || dev->hal->ops->timer_ack(l->timer))
			return;
	} else if (gp_edev_now(dev) < l->read_ns + IDLE_MS * MS) {
		return;
	}
	tick(dev, l);
}

int gp_learn_fd(const struct gp_edev *dev)
{
	return dev->learn && dev->learn->ticking ? dev->learn->timer->fd : -1;
}

int gp_learn_wait_ms(const struct gp_edev *dev)
{
	return dev->learn && !dev->learn->off && !dev->learn->ticking ? IDLE_MS : -1;
}

bool gp_learn_saw_work(const struct gp_edev *dev)
{
	const struct gp_learn *l = dev->learn;

	return l ? l->off || l->seen : !dev->preloaded || !gp_engine_learns();
}

void gp_learn_stats(const struct gp_edev *dev, struct gp_learn_stat *stat)
{
	const struct gp_learn *l = dev->learn;

	*stat = (struct gp_learn_stat){ 0 };
	if (!l)
		return;
	stat->on = !l->off;
	stat->sure = !l->off && l->rhythm.state == GP_RHYTHM_SURE;
	stat->guesses = l->rhythm.stat.held;
	stat->hits = l->rhythm.stat.hits;
	stat->misses = l->rhythm.stat.misses;
}
