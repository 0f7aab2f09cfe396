// SPDX-License-Identifier: Apache-2.0
#include "client/pile.h"

#include "client/keep.h"
#include "wire/page.h"

#define MANY_CALLS (1u << 30)

/* A program that gives hints, segments or holds knows better when it needs the device. */
static bool says_itself(const struct gp_client_device *dev, const struct gp_ectx *c)
{
	struct gp_sched_tenant_stat st;

	return gp_sched_tenant_stat(gp_runtime_core(dev->rt), c->tenant, &st) || st.said;
}

static bool learns(const struct gp_client_device *dev, const struct gp_ectx *c)
{
	return dev->cls.cls == GP_CLASS_LC && gp_engine_piles() && !says_itself(dev, c);
}

static bool is_let(const struct gp_client_device *dev)
{
	const struct gp_page *page = dev->status_page.page;

	return page && atomic_load(&page->wake_on) & GP_PAGE_TAKES_PILES;
}

static void set_needs(struct gp_ectx *c, uint64_t needs_ns)
{
	c->needs_ns = needs_ns;
	atomic_store_explicit(&c->piling, needs_ns != 0, memory_order_relaxed);
}

static void begin(struct gp_client_device *dev, struct gp_ectx *c, uint64_t key)
{
	c->request_key = key;
	set_needs(c, gp_request_begin(&c->requests, key, gp_client_device_now(dev), is_let(dev)));
	c->request_calls = c->requests.needs_call ? c->requests.needs_call : MANY_CALLS;
	atomic_store_explicit(&c->calls_left, c->request_calls, memory_order_relaxed);
}

static uint32_t calls_of(const struct gp_ectx *c)
{
	return c->request_calls - atomic_load_explicit(&c->calls_left, memory_order_relaxed);
}

static void release(struct gp_client_device *dev, struct gp_ectx *c)
{
	if (c->kept_pile)
		gp_keep_for(dev, c, 0);
	c->kept_pile = false;
}

void gp_pile_work(struct gp_client_device *dev, struct gp_ectx *c, bool busy, uint64_t key)
{
	if (!busy) {
		gp_request_end(&c->requests, gp_client_device_now(dev), calls_of(c));
		set_needs(c, 0);
		release(dev, c);
	} else if (learns(dev, c)) {
		begin(dev, c, key);
	}
}

static void end(struct gp_client_device *dev, struct gp_ectx *c)
{
	if (!c->needs_ns)
		return;
	set_needs(c, 0);
	gp_status_page_update(dev);
}

/*
 * From here to the wait the kernels may be faster than their launches. In each gap best-effort
 * would have the device again, and for a long slice: the device is kept. The daemon goes first, as
 * its preemption takes longer.
 */
void gp_pile_needs(struct gp_client_device *dev, struct gp_ectx *c)
{
	if (!c->needs_ns)
		return;
	gp_request_needs(&c->requests, gp_client_device_now(dev));
	end(dev, c);
	c->kept_pile = true;
	/* If the CPU is slow at times, the wait comes later than usual. */
	gp_keep_for(dev, c, 2 * c->requests.now->launch_ns);
}

void gp_pile_wait(struct gp_client_device *dev, struct gp_ectx *c)
{
	gp_request_wait(&c->requests, gp_client_device_now(dev), calls_of(c));
	end(dev, c);
	release(dev, c);
}

/* Kept until the copy is done: between the last kernel and the copy there may be no work. */
void gp_pile_copy(struct gp_client_device *dev, struct gp_ectx *c)
{
	gp_pile_needs(dev, c);
	gp_request_wait(&c->requests, gp_client_device_now(dev), calls_of(c));
}

void gp_pile_again(struct gp_client_device *dev, struct gp_ectx *c)
{
	if (!c->requests.now)
		return;
	gp_request_void(&c->requests);
	/* After such a wait the request is of another kind than one that begins with the call. */
	begin(dev, c, c->request_key + 1);
	gp_status_page_update(dev);
}

void gp_pile_void(struct gp_client_device *dev, struct gp_ectx *c)
{
	gp_pile_wait(dev, c);
	gp_request_void(&c->requests);
}

bool gp_pile_lets(struct gp_client_device *dev, const struct gp_ectx *c)
{
	return is_let(dev) && gp_requests_sparse(&c->requests, gp_client_device_now(dev));
}

bool gp_pile_could(struct gp_client_device *dev)
{
	const uint64_t now_ns = gp_client_device_now(dev);

	for (size_t i = 0; i < GP_CLIENT_DEVICE_CONTEXTS; i++)
		if (atomic_load(&dev->ctx[i].context) && !dev->ctx[i].gone &&
		    gp_requests_sparse(&dev->ctx[i].requests, now_ns))
			return true;
	return false;
}
