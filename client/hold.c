// SPDX-License-Identifier: Apache-2.0
/*
 * hold.c - holds of a context: begin, renewal, end, and their figures. If the driver has no
 * holds, others are asked to suspend.
 */
#include <errno.h>
#include <string.h>

#include "client/engine_internal.h"
#include "client/yield.h"
#include "runtime/log.h"

/* Creating a context takes 0.1 s; the death of the process ends it anyway. */
#define OTHERS_OFF_MAX_NS 500000000u
/* A renewal of a hold with the device has it within a launch, some 10 us. */
#define RENEWAL_HAS_IT_NS 60000u

static struct gp_ectx *context_of(struct gp_client_device *dev, uint32_t tenant)
{
	for (size_t i = 0; i < GP_CLIENT_DEVICE_CONTEXTS; i++)
		if (dev->ctx[i].tenant == tenant &&
		    atomic_load_explicit(&dev->ctx[i].context, memory_order_relaxed))
			return &dev->ctx[i];
	return NULL;
}

/*
 * The wait for the device, if it is known and there was one. A renewal of a hold with the
 * device has it from the first moment. If a renewal misses the device for a while, the renewed
 * hold did not have it either.
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

/* Adds up the time of an ended hold; its end may be stamped a little later. */
void gp_ectx_account(struct gp_client_device *dev, struct gp_ectx *c, int i)
{
	struct gp_hold_stat st;

	if (!c->unreported[i] || c->on[i] || c->hold[i]->dev->ops->hold_stat(c->hold[i], &st))
		return;
	if (!st.held_ns)
		return;
	/* Counted before, so it was over when its switch was last queried. */
	if (st.seq == c->counted_seq[i]) {
		c->unreported[i] = 0;
		return;
	}
	c->counted_seq[i] = st.seq;
	c->held_ns += st.held_ns;
	gp_status_page_hold(dev, st.from_ns, st.held_ns, st.switch_ns ? waited_ns(c, i, &st) : 0);
}

static void tell_switch(struct gp_client_device *dev, struct gp_ectx *c, int i)
{
	struct gp_event ev = { .type = GP_EV_SWITCH_MEASURED, .tenant = c->tenant };
	struct gp_hold_stat st;

	if (!c->unreported[i] || dev->hal->ops->hold_stat(c->hold[i], &st) ||
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
	gp_runtime_event(dev->rt, &ev);
}

/* The older one first: the newer one's wait may depend on it. */
static void tell_ended(struct gp_client_device *dev, struct gp_ectx *c)
{
	const int older = !c->newest;

	tell_switch(dev, c, older);
	tell_switch(dev, c, !older);
	gp_ectx_account(dev, c, older);
	gp_ectx_account(dev, c, !older);
}

static int release_one(struct gp_client_device *dev, struct gp_ectx *c, int i)
{
	int err = dev->hal->ops->release(c->hold[i]);

	if (err)
		return err;
	c->on[i] = 0;
	tell_ended(dev, c);
	return 0;
}

static int start_hold(struct gp_client_device *dev, struct gp_ectx *c, int i, uint64_t limit_ns,
		      bool renews)
{
	int err;

	/* Previous holds may have ended after their release. */
	tell_ended(dev, c);
	c->renews[i] = renews;
	c->lacked[i] = 0;
	c->newest = (uint8_t)i;
	c->since_ns[i] = renews ? c->since_ns[!i] : gp_runtime_stepped_ns(dev->rt);
	err = dev->hal->ops->hold(c->hold[i], limit_ns);
	if (err == -EBUSY) {
		dev->hal->ops->release(c->hold[i]);
		err = dev->hal->ops->hold(c->hold[i], limit_ns);
	}
	if (!err)
		c->on[i] = c->unreported[i] = 1;
	return err;
}

/* If the driver has no holds. */
static int ask_others(struct gp_client_device *dev, struct gp_ectx *c, uint64_t limit_ns)
{
	struct gp_event ev = { .type = GP_EV_SWITCH_MEASURED, .tenant = c->tenant };
	uint64_t start_ns = gp_client_device_now(dev);
	int err = gp_yield_ask(dev, dev->cls.value, limit_ns);

	if (err || c->asked_ns)
		return err;
	c->asked_ns = start_ns;
	c->switch_ns = gp_client_device_now(dev) - start_ns;
	ev.measured.took_ns = c->switch_ns;
	gp_runtime_event(dev->rt, &ev);
	return 0;
}

void gp_ectx_stop_asking(struct gp_client_device *dev, struct gp_ectx *c)
{
	uint64_t held_ns;

	if (!c->asked_ns)
		return;
	gp_yield_release(dev);
	held_ns = gp_client_device_now(dev) - c->asked_ns;
	gp_status_page_hold(dev, c->asked_ns, held_ns, c->switch_ns);
	c->held_ns += held_ns;
	c->asked_ns = 0;
}

void gp_client_device_others_off(struct gp_client_device *dev, struct gp_ectx *ctx)
{
	struct gp_sched_tenant_stat stat;
	uint64_t held_ns;

	gp_client_device_stat(dev, ctx, &stat, &held_ns);
	if (!stat.in_segment && !stat.held)
		return;
	/* The least urgent level: only best effort yields. */
	gp_yield_tell(dev, GP_LEVEL_MAX, OTHERS_OFF_MAX_NS);
	atomic_store(&dev->others_off, 1);
}

void gp_client_device_others_on(struct gp_client_device *dev)
{
	if (atomic_exchange(&dev->others_off, 0))
		gp_yield_release(dev);
}

/* A HOLD during a hold renews it: both are on for a moment, then the old one ends. */
static int hold_in(struct gp_client_device *dev, struct gp_ectx *c, uint64_t limit_ns)
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

void gp_say_no_hold(const char *why)
{
	static atomic_int said;

	gp_log_once(&said, GP_LOG_WARN, "cannot hold the device: %s; continuing without holds",
		    why);
}

/* The thread may be sleeping until a timer. */
static void watch_work(struct gp_client_device *dev)
{
	if (!atomic_exchange(&dev->held, 1) && dev->caps.caps & GP_CAP_BUSY)
		gp_thread_wake();
}

int gp_client_device_hold(void *host, uint32_t tenant, uint64_t limit_ns)
{
	struct gp_client_device *dev = host;
	struct gp_ectx *c = context_of(dev, tenant);
	int err;

	gp_engine_depth++;
	err = c ? hold_in(dev, c, limit_ns) : -ENODEV;
	gp_engine_depth--;
	/* Too many holds that have not ended yet. The next one may succeed. */
	if (err && err != -EBUSY)
		gp_say_no_hold(strerror(-err));
	if (!err)
		watch_work(dev);
	return err;
}

int gp_client_device_release(void *host, uint32_t tenant)
{
	struct gp_client_device *dev = host;
	struct gp_ectx *c = context_of(dev, tenant);
	int err = 0;

	if (!c || c->gone)
		return 0;
	atomic_store(&dev->held, 0);
	gp_engine_depth++;
	gp_ectx_stop_asking(dev, c);
	for (int i = 0; i < 2; i++)
		if (c->on[i] && !err)
			err = release_one(dev, c, i);
	gp_engine_depth--;
	return err;
}

void gp_client_device_stat(struct gp_client_device *dev, struct gp_ectx *ctx,
			   struct gp_sched_tenant_stat *stat, uint64_t *held_ns)
{
	*stat = (struct gp_sched_tenant_stat){ 0 };
	pthread_mutex_lock(&dev->lock);
	for (int i = 0; i < 2; i++)
		gp_ectx_account(dev, ctx, i);
	gp_sched_tenant_stat(gp_runtime_core(dev->rt), ctx->tenant, stat);
	*held_ns = ctx->held_ns;
	gp_client_device_unlock(dev);
}
