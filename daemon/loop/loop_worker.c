// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/loop_worker.h"

#include <stddef.h>

static void ready(struct gp_source *source, uint32_t events)
{
	gp_worker_ready(gp_holder(source, struct gp_loop_worker, source)->worker);
}

int gp_loop_worker_create(struct gp_loop *loop, bool is_urgent, struct gp_loop_worker *w)
{
	int err = gp_worker_create(&w->worker);

	if (err)
		return err;
	w->source = (struct gp_source){
		.fd = gp_worker_fd(w->worker),
		.ready = ready,
		.is_urgent = is_urgent,
	};
	err = gp_loop_add(loop, &w->source, EPOLLIN);
	if (err)
		gp_loop_worker_destroy(w);
	return err;
}

void gp_loop_worker_destroy(struct gp_loop_worker *w)
{
	gp_loop_remove(&w->source);
	gp_worker_destroy(w->worker);
	w->worker = NULL;
}
