// SPDX-License-Identifier: Apache-2.0
#include "daemon/device/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/loop/log.h"

static bool same(const struct gp_account_names *a, const struct gp_account_names *b)
{
	return !strcmp(a->namespace, b->namespace) && !strcmp(a->pod, b->pod) &&
	       !strcmp(a->container, b->container) && !strcmp(a->job, b->job);
}

static struct gp_account *find(const struct gp_accounts *all, const struct gp_account_names *names)
{
	struct gp_account *a = all->first;

	while (a && !same(&a->names, names))
		a = a->next;
	return a;
}

static struct gp_account *add(struct gp_accounts *all, const struct gp_account_names *names)
{
	struct gp_account *a = calloc(1, sizeof(*a));

	if (!a) {
		gp_log_shortage(-ENOMEM, "cannot count the usage of a pod, container or job");
		return NULL;
	}
	a->names = *names;
	a->next = all->first;
	all->first = a;
	all->count++;
	return a;
}

/* The one without names gets the sums of the one that ended first. */
static void make_room(struct gp_accounts *all)
{
	static const struct gp_account_names none;
	struct gp_account *to = find(all, &none), **oldest = NULL, *from;

	if (!to)
		to = add(all, &none);
	for (struct gp_account **at = &all->first; to && *at; at = &(*at)->next)
		if (*at != to && !(*at)->tenants && (!oldest || (*at)->ended < (*oldest)->ended))
			oldest = at;
	if (!oldest)
		return;
	from = *oldest;
	*oldest = from->next;
	all->count--;
	to->used_ns += from->used_ns;
	to->waited_ns += from->waited_ns;
	to->held_ns += from->held_ns;
	to->turns += from->turns;
	to->preempted += from->preempted;
	free(from);
}

struct gp_account *gp_account_get(struct gp_accounts *all, const struct gp_account_names *names)
{
	struct gp_account *a = find(all, names);

	if (!a && all->count >= GP_ACCOUNTS_MAX)
		make_room(all);
	if (!a)
		a = find(all, names);
	if (!a)
		a = add(all, names);
	if (a)
		a->tenants++;
	return a;
}

void gp_account_put(struct gp_accounts *all, struct gp_account *a)
{
	if (a && !--a->tenants)
		a->ended = ++all->ends;
}

void gp_accounts_clear(struct gp_accounts *all)
{
	while (all->first) {
		struct gp_account *a = all->first;

		all->first = a->next;
		free(a);
	}
	all->count = 0;
}
