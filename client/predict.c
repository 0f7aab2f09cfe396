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
#include "client/pile.h"
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

struct gp_predictor {
	struct gp_log *log;
	struct gp_timer *timer;
	struct gp_arrival_predictor arrivals;
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
	struct gp_arrival_prediction guess;
	/* Under dev->lock. */
	struct edge edge[EDGES]; /* oldest first */
	size_t edges;
	bool edges_lost;
};

/* ---- beginning and ending ----------------------------------------------------- */

static uint64_t said(struct gp_client_device *dev)
{
	struct gp_sched_tenant_stat st;
	uint64_t sum = 0;

	pthread_mutex_lock(&dev->lock);
	for (size_t i = 0; i < GP_CLIENT_DEVICE_CONTEXTS; i++)
		if (atomic_load(&dev->ctx[i].context) &&
		    !gp_sched_tenant_stat(gp_runtime_core(dev->rt), dev->ctx[i].tenant, &st))
			sum += st.said;
	gp_client_device_unlock(dev);
	return sum;
}

static bool is_lc(struct gp_client_device *dev)
{
	return gp_client_device_class(dev).cls == GP_CLASS_LC;
}

static void stop(struct gp_client_device *dev, struct gp_predictor *p, const char *why)
{
	const struct gp_hal_ops *ops = dev->hal->ops;

	gp_log(GP_LOG_INFO, "cannot predict: %s", why);
	gp_status_page_predicts(dev, false);
	atomic_store(&dev->predicts, false);
	p->off = true;
	p->guessed = false;
	p->ticking = false;
	if (p->timer)
		ops->timer_destroy(p->timer);
	p->timer = NULL;
	if (p->log)
		ops->log_close(p->log);
	p->log = NULL;
}

static void begin(struct gp_client_device *dev)
{
	const uint32_t needs = GP_CAP_SWITCH_LOG | GP_CAP_HOLD | GP_CAP_SLICE_PREEMPTS;
	const struct gp_hal_ops *ops = dev->hal->ops;
	struct gp_predictor *p;
	int err;

	if (!gp_engine_predicts() || !dev->preloaded || (dev->caps.caps & needs) != needs ||
	    !is_lc(dev) || !gp_client_device_group_count(dev))
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	gp_arrival_init(&p->arrivals, dev->caps.switch_ns);
	p->same_clock = dev->caps.caps & GP_CAP_VIRTUAL_TIME;
	pthread_mutex_lock(&dev->lock);
	dev->predictor = p;
	atomic_store(&dev->predicts, true);
	gp_client_device_unlock(dev);
	err = ops->log_open(dev->hal, &p->log);
	if (!err)
		err = ops->timer_create(dev->hal, &p->timer);
	if (err)
		stop(dev, p, strerror(-err));
	else
		p->own_ns = gp_client_device_now(dev);
}

/* ---- clocks ---------------------------------------------------------------------- */

static uint64_t to_log(const struct gp_predictor *p, uint64_t ns)
{
	return ns + (uint64_t)p->clocks.ahead_ns;
}

static uint64_t from_log(const struct gp_predictor *p, uint64_t ns)
{
	return ns - (uint64_t)p->clocks.ahead_ns;
}

/* ---- the log --------------------------------------------------------------------- */

static void take_record(struct gp_predictor *p, const struct gp_switch_record *rec)
{
	if (rec->kind == GP_SWITCH_LOST) {
		p->start_ns = 0;
		gp_arrival_forget(&p->arrivals);
		return;
	}
	if (rec->pid != getpid())
		return;
	p->own_ns = p->read_ns;
	if (rec->kind == GP_SWITCH_START) {
		p->seen = true;
		p->start_ns = rec->time_ns;
	} else if (p->start_ns) {
		gp_arrival_stretch(&p->arrivals, p->start_ns, rec->time_ns);
		p->start_ns = 0;
	}
}

/* ---- observed work ----------------------------------------------------------- */

void gp_predict_work(struct gp_client_device *dev, bool busy)
{
	const uint64_t now_ns = gp_client_device_now(dev);
	struct gp_predictor *p = dev->predictor;

	/* A short pause is one inside a request, as where gp_keep_work() keeps the device. */
	if (busy && p->edges && !p->edge[p->edges - 1].busy &&
	    now_ns - p->edge[p->edges - 1].at_ns <= 2 * dev->caps.switch_ns) {
		p->edges--;
		return;
	}
	if (p->edges == EDGES) {
		p->edges = 0;
		p->edges_lost = true;
	}
	p->edge[p->edges++] = (struct edge){ now_ns, busy };
}

static void take_edges(struct gp_predictor *p, uint64_t until_ns)
{
	size_t n = 0;

	if (p->edges_lost)
		gp_arrival_forget(&p->arrivals);
	p->edges_lost = false;
	for (; n < p->edges && p->edge[n].at_ns < until_ns; n++) {
		if (p->edge[n].busy)
			gp_arrival_came(&p->arrivals, to_log(p, p->edge[n].at_ns));
		else
			gp_arrival_over(&p->arrivals, to_log(p, p->edge[n].at_ns));
	}
	p->edges -= n;
	memmove(p->edge, p->edge + n, p->edges * sizeof(p->edge[0]));
}

/* Work since a prediction is judged after the predicted hold. */
static void see_work(struct gp_client_device *dev, struct gp_predictor *p)
{
	const uint64_t until_ns = p->guessed ? p->guessed_ns : gp_client_device_now(dev);

	if (!p->clocks.known)
		return;
	pthread_mutex_lock(&dev->lock);
	take_edges(p, until_ns);
	gp_client_device_unlock(dev);
	gp_arrival_seen_until(&p->arrivals, to_log(p, until_ns));
}

static void read_log(struct gp_client_device *dev, struct gp_predictor *p)
{
	struct gp_switch_record rec[BATCH];
	ssize_t n;

	p->read_ns = gp_client_device_now(dev);
	do {
		n = dev->hal->ops->log_read(p->log, rec, BATCH);
		for (ssize_t i = 0; i < n; i++)
			take_record(p, &rec[i]);
	} while (n == BATCH);
	(void)gp_clocks_of_log(&p->clocks, &dev->ops, dev->hal, p->log, p->same_clock);
	see_work(dev, p);
	gp_arrival_update(&p->arrivals, to_log(p, gp_client_device_now(dev)));
}

/* ---- predictions --------------------------------------------------------------------- */

/* Passes the predicted hold's whole time to the predictor. */
static void collect(struct gp_client_device *dev, struct gp_predictor *p,
		    const struct gp_sched_tenant_stat *tenant)
{
	uint64_t from = tenant->held_since_ns, until = 0;
	struct gp_hold_stat st;

	p->guessed = false;
	for (int i = 0; i < 2; i++)
		if (p->ctx->hold[i] && !dev->hal->ops->hold_stat(p->ctx->hold[i], &st) &&
		    st.until_ns > until)
			until = st.until_ns;
	if (from >= p->guessed_ns && from < until)
		gp_arrival_held(&p->arrivals, &p->guess, to_log(p, from), to_log(p, until),
				tenant->guess_worked);
}

/* dev->lock held. */
static void guess_next(struct gp_client_device *dev, struct gp_predictor *p)
{
	struct gp_event ev = { .type = GP_EV_HINT, .hint.guess = true };
	struct gp_sched_tenant_stat st;
	uint64_t now = gp_client_device_now(dev);

	if (!p->ctx || p->ctx->gone ||
	    gp_sched_tenant_stat(gp_runtime_core(dev->rt), p->ctx->tenant, &st))
		return;
	if (st.guessing || st.held || gp_pile_lets(dev, p->ctx))
		return;
	if (p->guessed)
		collect(dev, p, &st);
	if (!gp_arrival_next(&p->arrivals, to_log(p, now), st.lead_ns, &p->guess))
		return;
	ev.tenant = p->ctx->tenant;
	ev.hint.at_ns = from_log(p, p->guess.at_ns - p->guess.spread_ns);
	ev.hint.limit_ns = p->guess.hint_timeout_ns + p->guess.spread_ns;
	ev.hint.lead_ns = p->guess.lead_max_ns;
	p->guessed_ns = now;
	p->guessed = !gp_client_device_event_locked(dev, &ev);
}

void gp_predict_after_timer(struct gp_client_device *dev)
{
	struct gp_predictor *p = dev->predictor;

	if (!p || p->off || !p->guessed)
		return;
	guess_next(dev, p);
	if (p->ticking && gp_client_device_now(dev) > p->read_ns + READ_AFTER_NS)
		dev->hal->ops->timer_arm(p->timer, gp_client_device_now(dev) + 1);
}

/*
 * As early as possible, before requests come: creating a hold waits for the context (12 ms on
 * a busy H200). A program has its context, or no known one, before its first record; tried
 * again until then.
 */
static void find_context(struct gp_client_device *dev, struct gp_predictor *p)
{
	void *context;

	for (size_t i = 0; i < GP_CLIENT_DEVICE_CONTEXTS && !p->ctx; i++)
		if (atomic_load(&dev->ctx[i].context) && !dev->ctx[i].gone)
			p->ctx = &dev->ctx[i];
	if (p->ctx)
		return;
	context = gp_client_device_find_context(dev);
	if (context && gp_client_device_context(dev, context, &p->ctx))
		stop(dev, p, "its context cannot hold");
	else if (!context && p->arrivals.state == GP_ARRIVAL_SURE)
		stop(dev, p, "its context is unknown");
}

/* ---- in the thread's loop -------------------------------------------------------------- */

static bool may_go_on(struct gp_client_device *dev, struct gp_predictor *p)
{
	if (said(dev)) {
		stop(dev, p, "the process gives hints");
	} else if (p->ctx && p->ctx->gone) {
		stop(dev, p, "its context is gone");
	} else if (gp_client_device_group_count(dev) > 1) {
		stop(dev, p, "it has several contexts");
	} else if (!p->ctx) {
		find_context(dev, p);
	}
	return !p->off;
}

static void arm(struct gp_client_device *dev, struct gp_predictor *p)
{
	const uint64_t now = gp_client_device_now(dev);
	uint64_t in_ns = READ_NS;

	if (p->arrivals.state == GP_ARRIVAL_TRIAL)
		in_ns = READ_TRIAL_NS;
	else if (p->arrivals.state == GP_ARRIVAL_SURE && p->guessed)
		in_ns = READ_SURE_NS;
	p->ticking = now < p->own_ns + QUIET_NS;
	dev->hal->ops->timer_arm(p->timer, p->ticking ? now + in_ns : 0);
}

static void say(struct gp_client_device *dev, struct gp_predictor *p)
{
	static const char *const why[] = {
		[GP_ARRIVAL_KEPT] = "a pause",
		[GP_ARRIVAL_MISSED] = "no work at the predicted time",
		[GP_ARRIVAL_EARLY] = "work before the predicted time",
		[GP_ARRIVAL_STRAYED] = "work at other times",
	};
	const struct gp_arrival_predictor *r = &p->arrivals;
	const bool sure = r->state == GP_ARRIVAL_SURE;

	if (sure && !p->said_sure)
		gp_log(GP_LOG_DEBUG, "predicting: period %llu us, +-%llu us",
		       (unsigned long long)(r->grid.cycle_fp / 1024 / 1000),
		       (unsigned long long)r->grid.spread_ns / 1000);
	else if (!sure && p->said_sure)
		gp_log(GP_LOG_DEBUG, "predicting stopped: %s",
		       why[r->state == GP_ARRIVAL_RESTING ? r->loss : GP_ARRIVAL_KEPT]);
	if (sure != p->said_sure)
		gp_status_page_predicts(dev, sure);
	p->said_sure = sure;
}

/* Pauses inside requests are too short for the log. By now calls of the driver were seen. */
static void watch_waits(struct gp_client_device *dev, const struct gp_predictor *p)
{
	if (p->seen && p->ctx && !atomic_exchange(&dev->launches_asked, true))
		gp_engine_watch_launches();
}

static void tick(struct gp_client_device *dev, struct gp_predictor *p)
{
	if (!is_lc(dev)) {
		gp_arrival_forget(&p->arrivals);
		arm(dev, p);
		return;
	}
	read_log(dev, p);
	say(dev, p);
	if (!may_go_on(dev, p))
		return;
	watch_waits(dev, p);
	if (p->clocks.known) {
		pthread_mutex_lock(&dev->lock);
		guess_next(dev, p);
		gp_client_device_unlock(dev);
	}
	arm(dev, p);
}

void gp_predict_serve(struct gp_client_device *dev, bool due)
{
	struct gp_predictor *p = dev->predictor;

	if (!p) {
		begin(dev);
		p = dev->predictor;
		if (p && !p->off)
			tick(dev, p);
		return;
	}
	if (p->off)
		return;
	if (p->ticking) {
		if (!due || dev->hal->ops->timer_ack(p->timer))
			return;
	} else if (gp_client_device_now(dev) < p->read_ns + IDLE_MS * MS) {
		return;
	}
	tick(dev, p);
}

int gp_predict_fd(const struct gp_client_device *dev)
{
	return dev->predictor && dev->predictor->ticking ? dev->predictor->timer->fd : -1;
}

int gp_predict_wait_ms(const struct gp_client_device *dev)
{
	return dev->predictor && !dev->predictor->off && !dev->predictor->ticking ? IDLE_MS : -1;
}

bool gp_predict_saw_work(const struct gp_client_device *dev)
{
	const struct gp_predictor *p = dev->predictor;

	return p ? p->off || p->seen : !dev->preloaded || !gp_engine_predicts();
}

void gp_predict_stats(const struct gp_client_device *dev, struct gp_predict_stat *stat)
{
	const struct gp_predictor *p = dev->predictor;

	*stat = (struct gp_predict_stat){ 0 };
	if (!p)
		return;
	stat->on = !p->off;
	stat->sure = !p->off && p->arrivals.state == GP_ARRIVAL_SURE;
	stat->guesses = p->arrivals.stat.held;
	stat->hits = p->arrivals.stat.hits;
	stat->misses = p->arrivals.stat.misses;
}
