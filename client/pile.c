// SPDX-License-Identifier: Apache-2.0
#include "client/pile.h"

#include "wire/page.h"

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
}

void gp_pile_work(struct gp_client_device *dev, struct gp_ectx *c, bool busy, uint64_t key)
{
	if (!busy) {
		gp_request_end(&c->requests, gp_client_device_now(dev));
		set_needs(c, 0);
	} else if (learns(dev, c)) {
		begin(dev, c, key);
	}
}

void gp_pile_wait(struct gp_client_device *dev, struct gp_ectx *c)
{
	gp_request_wait(&c->requests, gp_client_device_now(dev));
	if (!c->needs_ns)
		return;
	set_needs(c, 0);
	gp_status_page_update(dev);
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
