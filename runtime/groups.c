// SPDX-License-Identifier: Apache-2.0
/*
 * groups.c - the table of the groups that the core decides about.
 *
 * A place is free again when the group is gone, the core knows it, and no call or job
 * about the group is under way.
 */
#include <errno.h>

#include "runtime/runtime_internal.h"

void gp_runtime_lock(struct gp_runtime *rt)
{
	pthread_mutex_lock(&rt->groups_lock);
}

void gp_runtime_unlock(struct gp_runtime *rt)
{
	pthread_mutex_unlock(&rt->groups_lock);
}

struct gp_runtime_group *gp_runtime_group(struct gp_runtime *rt, uint32_t id)
{
	for (size_t i = 0; id && i < rt->groups; i++)
		if (rt->group[i].id == id)
			return &rt->group[i];
	return NULL;
}

struct gp_runtime_group *gp_runtime_group_present(struct gp_runtime *rt, uint32_t id)
{
	struct gp_runtime_group *g;

	gp_runtime_lock(rt);
	g = gp_runtime_group(rt, id);
	if (g && g->gone)
		g = NULL;
	gp_runtime_unlock(rt);
	return g;
}

struct gp_runtime_group *gp_runtime_next(struct gp_runtime *rt, const void *owner,
					 const struct gp_runtime_group *after)
{
	for (size_t i = after ? (size_t)(after - rt->group) + 1 : 0; i < rt->groups; i++) {
		struct gp_runtime_group *g = &rt->group[i];

		if (g->id && !g->gone && (!owner || g->owner == owner))
			return g;
	}
	return NULL;
}

struct gp_runtime_group *gp_runtime_next_compute(struct gp_runtime *rt, const void *owner,
						 const struct gp_runtime_group *after)
{
	struct gp_runtime_group *g = gp_runtime_next(rt, owner, after);

	while (g && g->copies)
		g = gp_runtime_next(rt, owner, g);
	return g;
}

/* ---- coming and going --------------------------------------------------------------- */

static struct gp_runtime_group *free_place(struct gp_runtime *rt)
{
	for (size_t i = 0; i < rt->groups; i++)
		if (!rt->group[i].id)
			return &rt->group[i];
	return rt->groups < GP_SCHED_MAX_GROUPS ? &rt->group[rt->groups++] : NULL;
}

static void place_free(struct gp_runtime *rt, struct gp_runtime_group *g)
{
	if (!rt->config.borrowed)
		rt->config.hal->ops->group_put(g->hal);
	*g = (struct gp_runtime_group){ 0 };
}

bool gp_runtime_takes(const struct gp_runtime *rt, const struct gp_group *hal)
{
	return hal->kind == GP_GROUP_COMPUTE ||
	       (hal->kind == GP_GROUP_COPY && rt->caps.caps & GP_CAP_SLICE_PREEMPTS);
}

/* Only a group that left, and is not restored yet, may be entered again. */
static int enter_again(struct gp_runtime *rt, struct gp_runtime_group *g, uint32_t tenant,
		       void *owner, struct gp_group *hal)
{
	if (g->gone)
		return -EAGAIN;
	if (g->owner) {
		if (rt->config.borrowed)
			g->hal = hal;
		return -EEXIST;
	}
	g->tenant = tenant;
	g->owner = owner;
	return 0;
}

int gp_runtime_group_enter(struct gp_runtime *rt, uint32_t tenant, void *owner,
			   struct gp_group *hal)
{
	struct gp_runtime_group *g = gp_runtime_group(rt, hal->id);

	if (g)
		return enter_again(rt, g, tenant, owner, hal);
	g = free_place(rt);
	if (!g)
		return -ENOSPC;
	*g = (struct gp_runtime_group){
		.id = hal->id,
		.tenant = tenant,
		.hal = hal,
		.owner = owner,
		.copies = hal->kind == GP_GROUP_COPY,
	};
	return 0;
}

int gp_runtime_group_add(struct gp_runtime *rt, uint32_t tenant, void *owner, struct gp_group *hal)
{
	const struct gp_event ev = {
		.type = GP_EV_GROUP_APPEAR,
		.tenant = tenant,
		.group = { .id = hal->id,
			   .slice_unknown = rt->config.slices_unknown,
			   .copies = hal->kind == GP_GROUP_COPY },
	};
	struct gp_runtime_group *g;
	int err;

	gp_runtime_lock(rt);
	err = gp_runtime_group_enter(rt, tenant, owner, hal);
	g = gp_runtime_group(rt, hal->id);
	gp_runtime_unlock(rt);
	if (!err) {
		const bool again = g->hal != hal;

		err = gp_runtime_event(rt, &ev);
		if (!err && again)
			rt->config.hal->ops->group_put(hal);
		else if (err && again)
			g->owner = NULL;
		else if (err)
			*g = (struct gp_runtime_group){ 0 };
	}
	return err;
}

int gp_runtime_group_outside(struct gp_runtime *rt, uint32_t tenant, void *owner,
			     struct gp_group *hal)
{
	int err;

	gp_runtime_lock(rt);
	err = gp_runtime_group_enter(rt, tenant, owner, hal);
	if (!err && gp_runtime_group(rt, hal->id)->hal != hal)
		rt->config.hal->ops->group_put(hal);
	gp_runtime_unlock(rt);
	return err;
}

void gp_runtime_group_to_core(struct gp_runtime *rt, const struct gp_runtime_group *g)
{
	const struct gp_event ev = {
		.type = GP_EV_GROUP_APPEAR,
		.tenant = g->tenant,
		.group = { .id = g->id,
			   .slice_unknown = true,
			   .copies = g->copies,
			   .aside = g->aside },
	};

	gp_runtime_event(rt, &ev);
}

void gp_runtime_group_from_core(struct gp_runtime *rt, const struct gp_runtime_group *g)
{
	const struct gp_event ev = { .type = GP_EV_GROUP_GONE, .group.id = g->id };

	gp_runtime_event(rt, &ev);
}

bool gp_runtime_group_leave(struct gp_runtime *rt, struct gp_group *hal)
{
	struct gp_runtime_group *g = gp_runtime_group(rt, hal->id);

	if (!g || g->hal != hal)
		return false;
	g->hal = NULL;
	g->gone = true;
	return true;
}

/* Copy groups are resumed with a compute group of their tenant. There may be none left. */
static void resume_copies(struct gp_runtime *rt, uint32_t tenant)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next_compute(rt, NULL, g)))
		if (g->tenant == tenant && gp_runtime_computes(g))
			return;
	while ((g = gp_runtime_next(rt, NULL, g)))
		if (g->tenant == tenant && g->off_next)
			gp_runtime_own(rt, g, GP_DO_RESUME);
}

void gp_runtime_group_gone(struct gp_runtime *rt, struct gp_runtime_group *g)
{
	const struct gp_event ev = { .type = GP_EV_GROUP_GONE, .group.id = g->id };
	const uint32_t tenant = g->tenant;

	g->owner = NULL;
	g->gone = true;
	gp_runtime_event(rt, &ev);
	resume_copies(rt, tenant);
}

void gp_runtime_group_forget(struct gp_runtime *rt, uint32_t id)
{
	struct gp_runtime_group *g;

	gp_runtime_lock(rt);
	g = gp_runtime_group(rt, id);
	if (g && g->gone) {
		g->forgotten = true;
		if (!g->jobs)
			place_free(rt, g);
	}
	gp_runtime_unlock(rt);
}

void gp_runtime_groups_free(struct gp_runtime *rt)
{
	for (size_t i = 0; i < rt->groups; i++)
		if (rt->group[i].id)
			place_free(rt, &rt->group[i]);
}

/* ---- jobs --------------------------------------------------------------------------- */

void gp_runtime_job_begin(struct gp_runtime *rt, struct gp_runtime_group *g)
{
	rt->jobs++;
	if (g)
		g->jobs++;
}

void gp_runtime_job_end(struct gp_runtime *rt, struct gp_runtime_group *g)
{
	rt->jobs--;
	if (!g || --g->jobs || !g->forgotten)
		return;
	gp_runtime_lock(rt);
	place_free(rt, g);
	gp_runtime_unlock(rt);
}

uint32_t gp_runtime_jobs(const struct gp_runtime *rt)
{
	return rt->jobs;
}

/* ---- all of them -------------------------------------------------------------------- */

bool gp_runtime_sweep(struct gp_runtime *rt)
{
	if (!gp_sched_settled(rt->core))
		return false;
	for (size_t i = 0; i < rt->groups; i++)
		if (rt->group[i].id && !rt->group[i].owner && !rt->group[i].jobs)
			place_free(rt, &rt->group[i]);
	return true;
}

/* A slice that cannot be set is one of a group that is going. */
void gp_runtime_slices_off(struct gp_runtime *rt)
{
	struct gp_runtime_group *g = NULL;

	if (!(rt->caps.caps & GP_CAP_SLICES))
		return;
	gp_runtime_lock(rt);
	while ((g = gp_runtime_next(rt, NULL, g)))
		(void)rt->config.hal->ops->set_slice(g->hal, gp_runtime_default_us(rt, g));
	gp_runtime_unlock(rt);
}

/* Groups may enter and leave meanwhile, so the lock protects the look at each place. */
void gp_runtime_again(struct gp_runtime *rt)
{
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS; i++) {
		struct gp_event gone = { .type = GP_EV_GROUP_GONE };
		struct gp_event appear = { .type = GP_EV_GROUP_APPEAR };

		gp_runtime_lock(rt);
		if (!rt->group[i].gone)
			gone.group.id = rt->group[i].id;
		appear.tenant = rt->group[i].tenant;
		appear.group.copies = rt->group[i].copies;
		appear.group.aside = rt->group[i].aside;
		gp_runtime_unlock(rt);
		if (!gone.group.id)
			continue;
		appear.group.id = gone.group.id;
		gp_runtime_event(rt, &gone);
		gp_runtime_event(rt, &appear);
	}
}
