// SPDX-License-Identifier: Apache-2.0
#include "bench/model/queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define LC_SLICE_US 5000000u
#define BE_SLICE_US 1u
#define BE_KERNEL_NS 10000000u
#define BE_QUEUED 2
#define SETTLE_NS 1000000u /* BE has the device by then */
#define SOLO_NS 200000u	   /* kernel with which a switch is measured */
#define STEP_NS 1000u

enum {
	COOKIE_LC = 1,
	COOKIE_BE
};

struct sim {
	struct gp_model *m;
	uint32_t lc, be;      /* channels */
	size_t done;	      /* requests */
	uint64_t done_ns;     /* end of the last one */
	uint64_t *arrived_ns; /* a ring of the queued requests */
	size_t room, come;
	uint64_t *time_ns; /* NULL: not kept */
	size_t skip, keep;
	uint64_t be_done;    /* kernels */
	uint64_t be_done_ns; /* end of the last one */
};

static void submit(struct sim *s, uint32_t channel, uint32_t type, uint64_t ns, uint64_t cookie)
{
	const struct gp_model_method method = {
		.type = type,
		.blocks = 1,
		.block_ns = ns,
		.cookie = cookie,
	};

	(void)gp_model_submit(s->m, channel, &method, NULL);
}

static void be_kernel(struct sim *s)
{
	submit(s, s->be, GP_METHOD_KERNEL, BE_KERNEL_NS, COOKIE_BE);
}

static void lc_done(struct sim *s, uint64_t now_ns)
{
	if (s->time_ns && s->done >= s->skip && s->done < s->skip + s->keep)
		s->time_ns[s->done - s->skip] = now_ns - s->arrived_ns[s->done % s->room];
	s->done++;
	s->done_ns = now_ns;
}

static void on_event(void *arg, const struct gp_model_event *ev)
{
	struct sim *s = arg;

	if (ev->type != GP_MODEL_DONE)
		return;
	if (ev->cookie == COOKIE_LC) {
		lc_done(s, ev->time_ns);
	} else if (ev->cookie == COOKIE_BE) {
		s->be_done++;
		s->be_done_ns = ev->time_ns;
		be_kernel(s);
	}
}

static int begin(struct sim *s, const struct gp_model_config *device)
{
	int lc, be, lc_channel, be_channel;

	if (device->kind != GP_MODEL_TIMESLICE)
		return -EINVAL;
	s->m = gp_model_create(device, on_event, s);
	if (!s->m)
		return -ENOMEM;
	lc = gp_model_group_add(s->m, 1, GP_GROUP_COMPUTE);
	be = gp_model_group_add(s->m, 2, GP_GROUP_COMPUTE);
	lc_channel = lc > 0 ? gp_model_channel_add(s->m, (uint32_t)lc) : -ENOMEM;
	be_channel = be > 0 ? gp_model_channel_add(s->m, (uint32_t)be) : -ENOMEM;
	if (lc_channel < 0 || be_channel < 0) {
		gp_model_destroy(s->m);
		s->m = NULL;
		return -ENOMEM;
	}
	s->lc = (uint32_t)lc_channel;
	s->be = (uint32_t)be_channel;
	gp_model_set_slice(s->m, (uint32_t)lc, LC_SLICE_US);
	gp_model_set_slice(s->m, (uint32_t)be, BE_SLICE_US);
	for (int i = 0; i < BE_QUEUED; i++)
		be_kernel(s);
	gp_model_advance(s->m, SETTLE_NS);
	return 0;
}

/* A kernel and a fence. Without the fence, the group would yield during the last blocks. */
static void arrive(struct sim *s, uint64_t service_ns)
{
	submit(s, s->lc, GP_METHOD_KERNEL, service_ns, 0);
	submit(s, s->lc, GP_METHOD_FENCE, 0, COOKIE_LC);
}

/* Double the ring's room; the order of arrival stays. */
static int more_room(struct sim *s)
{
	size_t room = s->room ? 2 * s->room : 1024;
	uint64_t *ring = malloc(room * sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (size_t i = s->done; i < s->come; i++)
		ring[i % room] = s->arrived_ns[i % s->room];
	free(s->arrived_ns);
	s->arrived_ns = ring;
	s->room = room;
	return 0;
}

/* Run until @to_ns, or until @until_done requests are done. */
static void advance(struct sim *s, uint64_t to_ns, size_t until_done)
{
	while (s->done < until_done) {
		uint64_t next = gp_model_next(s->m);

		if (next > to_ns)
			break;
		gp_model_advance(s->m, next);
	}
	if (s->done < until_done)
		gp_model_advance(s->m, to_ns);
}

int gp_virtual_queue_run(const struct gp_virtual_queue *q, struct gp_virtual_result *result)
{
	struct sim s = { .time_ns = result->time_ns, .skip = q->warmup, .keep = q->requests };
	const size_t all = q->warmup + q->requests;
	uint64_t at_ns, from_ns = 0, be_done = 0;
	int err = begin(&s, q->device);

	if (err)
		return err;
	at_ns = gp_model_now(s.m);
	while (s.come < all) {
		at_ns += q->gap(q->arg);
		advance(&s, at_ns, SIZE_MAX);
		if (s.come - s.done == s.room)
			err = more_room(&s);
		if (err)
			break;
		if (s.come == q->warmup) {
			from_ns = at_ns;
			be_done = s.be_done;
		}
		s.arrived_ns[s.come++ % s.room] = at_ns;
		arrive(&s, q->service(q->arg));
	}
	if (!err)
		advance(&s, UINT64_MAX, all);
	result->length_ns = s.done_ns - from_ns;
	result->be_ns = (s.be_done - be_done) * BE_KERNEL_NS;
	free(s.arrived_ns);
	gp_model_destroy(s.m);
	return err;
}

/* ---- the cost of a switch ------------------------------------------------------ */

/* Time two requests: both at once, or, with @apart, the second @idle_ns after the first's end. */
static int time_two(const struct gp_model_config *device, bool apart, uint64_t idle_ns,
		    uint64_t time_ns[2])
{
	struct sim s = { .time_ns = time_ns, .keep = 2 };
	int err = begin(&s, device);

	if (!err)
		err = more_room(&s);
	for (int i = 0; i < 2 && !err; i++) {
		s.arrived_ns[s.come++] = gp_model_now(s.m);
		arrive(&s, SOLO_NS);
		if (!apart)
			continue;
		advance(&s, UINT64_MAX, s.come);
		advance(&s, gp_model_now(s.m) + idle_ns, SIZE_MAX);
	}
	if (!err)
		advance(&s, UINT64_MAX, 2);
	free(s.arrived_ns);
	gp_model_destroy(s.m);
	return err;
}

/* When BE's second kernel ends, with @requests during its first. */
static int be_ends(const struct gp_model_config *device, int requests, uint64_t *end_ns)
{
	struct sim s = { 0 };
	int err = begin(&s, device);

	for (int i = 0; i < requests && !err; i++)
		arrive(&s, SOLO_NS);
	while (!err && s.be_done < 2)
		gp_model_advance(s.m, gp_model_next(s.m));
	*end_ns = s.be_done_ns;
	gp_model_destroy(s.m);
	return err;
}

int gp_virtual_switch_measure(const struct gp_model_config *device, struct gp_virtual_switch *cost)
{
	const size_t steps = sizeof(cost->setup_ns) / sizeof(cost->setup_ns[0]);
	uint64_t ns[2] = { 0 }, undisturbed, disturbed;
	int err = time_two(device, false, 0, ns);

	if (err)
		return err;
	cost->alone_ns = ns[1] - ns[0] - SOLO_NS;
	cost->step_ns = STEP_NS;
	for (size_t i = 0; i < steps && !err; i++) {
		err = time_two(device, true, i * STEP_NS, ns);
		cost->setup_ns[i] = ns[1] - SOLO_NS - cost->alone_ns;
	}
	if (!err)
		err = be_ends(device, 0, &undisturbed);
	if (!err)
		err = be_ends(device, 1, &disturbed);
	if (!err)
		cost->back_ns = disturbed - undisturbed - SOLO_NS - cost->alone_ns -
				cost->setup_ns[steps - 1];
	return err;
}
