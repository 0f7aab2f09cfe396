// SPDX-License-Identifier: Apache-2.0
/*
 * gangs.c - which tenants are one gang, and its turns in the cores of its devices.
 */
#include "daemon/device/gangs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/device_internal.h"
#include "daemon/device/tenant.h"
#include "runtime/log.h"

/* A core that takes no turn would be asked for ever. */
#define TURNS_MAX (16 * GP_GANG_DEVICES)

_Static_assert(GP_GANG_DEVICES >= GP_HAL_MAX_DEVICES, "a gang has a tenant on each device");

struct gp_dgang {
	struct gp_gang gang;
	struct gp_dgangs *gangs;
	char *cgroup; /* NULL: it is process @pid */
	pid_t pid;
	uint32_t tenants;
};

static struct gp_dgang *of_core(struct gp_gang *gang)
{
	return gp_holder(gang, struct gp_dgang, gang);
}

void gp_dgangs_add(struct gp_dgangs *gs, struct gp_ddev *dev)
{
	dev->gangs = gs;
	gs->dev[dev->number] = dev;
	gs->core.core[dev->number] = gp_runtime_core(dev->rt);
	gs->core.devices = dev->number + 1u;
}

/* ---- which tenants ------------------------------------------------------------------- */

static bool is_its(const struct gp_dgang *g, const struct gp_dtenant *t)
{
	if (!g->cgroup || !t->cgroup)
		return !g->cgroup && !t->cgroup && g->pid == t->who.pid;
	return !strcmp(g->cgroup, t->cgroup);
}

static struct gp_dgang *find(struct gp_dgangs *gs, const struct gp_dtenant *t)
{
	for (struct gp_gang *g = gs->core.first; g; g = g->next)
		if (is_its(of_core(g), t))
			return of_core(g);
	return NULL;
}

static struct gp_dgang *create(struct gp_dgangs *gs, const struct gp_dtenant *t)
{
	struct gp_dgang *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->cgroup = t->cgroup ? strdup(t->cgroup) : NULL;
	if (t->cgroup && !g->cgroup) {
		free(g);
		return NULL;
	}
	g->gangs = gs;
	g->pid = t->who.pid;
	gp_gang_add(&gs->core, &g->gang);
	return g;
}

static uint32_t tenant_on(const struct gp_dgang *g, const struct gp_ddev *dev)
{
	for (const struct gp_dtenant *t = dev->tenants; t; t = t->next)
		if (t->gang == g && gp_dtenant_is_be(t))
			return t->id;
	return 0;
}

void gp_dgang_refresh(struct gp_dgang *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->gangs->core.devices; i++)
		g->gang.tenant[i] = tenant_on(g, g->gangs->dev[i]);
}

static void leave(struct gp_dtenant *t)
{
	struct gp_dgang *g = t->gang;

	t->gang = NULL;
	if (!g)
		return;
	gp_dgang_refresh(g);
	if (--g->tenants)
		return;
	gp_gang_remove(&g->gangs->core, &g->gang);
	free(g->cgroup);
	free(g);
}

int gp_dgang_set(struct gp_dtenant *t, bool is_one)
{
	struct gp_dgangs *gs = t->dev->gangs;
	struct gp_dgang *g;

	if (is_one && t->gang && is_its(t->gang, t))
		return 0;
	leave(t);
	/* On one device its turns are as any other's. */
	if (!is_one || !gs || gs->core.devices < 2)
		return 0;
	g = find(gs, t);
	if (!g)
		g = create(gs, t);
	if (!g)
		return -ENOMEM;
	g->tenants++;
	t->gang = g;
	gp_dgang_refresh(g);
	return 0;
}

/* ---- its turns ----------------------------------------------------------------------- */

void gp_dgangs_follow(struct gp_dgangs *gs)
{
	struct gp_gang_turn turn;

	if (!gs || !gs->core.first || gs->busy)
		return;
	/* The steps of these events are looked at here, too. */
	gs->busy = true;
	for (size_t n = 0; n < TURNS_MAX && gp_gang_next(&gs->core, &turn); n++) {
		const struct gp_event ev = { .type = GP_EV_TURN,
					     .tenant = turn.tenant,
					     .turn.ends = turn.ends };

		gp_runtime_event(gs->dev[turn.device]->rt, &ev);
	}
	gs->busy = false;
}

bool gp_dgangs_work(const struct gp_dgangs *gs)
{
	if (!gs || !gs->core.first)
		return false;
	for (size_t i = 0; i < gs->core.devices; i++)
		if (gp_runtime_jobs(gs->dev[i]->rt) || gs->dev[i]->looking)
			return true;
	return false;
}

void gp_dgangs_let_go(struct gp_dgangs *gs)
{
	for (size_t i = 0; gs && i < gs->core.devices; i++)
		gp_ddev_let_go(gs->dev[i]);
}
