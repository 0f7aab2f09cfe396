// SPDX-License-Identifier: Apache-2.0
/* usage.c - sums of stretches. If records were dropped, a stretch counts from its known part on. */
#include "daemon/device/usage.h"

#include <errno.h>

#include "daemon/loop/times.h"

struct gp_usage_process *gp_usage_of(struct gp_usage *usage, pid_t pid)
{
	for (size_t i = 0; pid && i < usage->processes; i++)
		if (usage->process[i].pid == pid)
			return &usage->process[i];
	return NULL;
}

static struct gp_usage_process *place_new(struct gp_usage *usage, pid_t pid)
{
	size_t i = 0;

	while (i < usage->processes && usage->process[i].pid)
		i++;
	if (i == GP_USAGE_PROCESSES)
		return NULL;
	if (i == usage->processes)
		usage->processes++;
	usage->process[i] = (struct gp_usage_process){ .pid = pid };
	return &usage->process[i];
}

int gp_usage_join(struct gp_usage *usage, pid_t pid, bool lc)
{
	struct gp_usage_process *p = gp_usage_of(usage, pid);

	if (!p)
		p = place_new(usage, pid);
	if (!p)
		return -ENOSPC;
	p->lc = lc;
	return 0;
}

void gp_usage_from(struct gp_usage *usage, pid_t pid, uint64_t from_ns)
{
	struct gp_usage_process *p = gp_usage_of(usage, pid);

	if (p)
		p->from_ns = from_ns;
}

void gp_usage_leave(struct gp_usage *usage, pid_t pid)
{
	struct gp_usage_process *p = gp_usage_of(usage, pid);

	if (p)
		*p = (struct gp_usage_process){ 0 };
}

void gp_usage_turn(struct gp_usage *usage, uint64_t at_ns, pid_t pid)
{
	usage->turn[usage->turns++ % GP_USAGE_TURNS] = (struct gp_usage_turn){ at_ns, pid };
}

static uint64_t overlap(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t from = a > c ? a : c, to = b < d ? b : d;

	return to > from ? to - from : 0;
}

/* LC had the device from @from_ns to @to_ns: charge it to the turns of that time. */
static void take_from_turns(struct gp_usage *usage, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t end_ns = UINT64_MAX;

	for (uint64_t i = usage->turns;
	     i > 0 && usage->turns - i < GP_USAGE_TURNS && end_ns > from_ns; i--) {
		const struct gp_usage_turn *t = &usage->turn[(i - 1) % GP_USAGE_TURNS];
		struct gp_usage_process *p = gp_usage_of(usage, t->pid);

		if (p)
			p->displaced_ns += overlap(from_ns, to_ns, t->at_ns, end_ns);
		end_ns = t->at_ns;
	}
}

static void count(struct gp_usage *usage, struct gp_usage_process *p, uint64_t until_ns)
{
	if (!p->on || until_ns <= p->since_ns)
		return;
	p->used_ns += until_ns - p->since_ns;
	if (p->lc)
		take_from_turns(usage, p->since_ns, until_ns);
	p->since_ns = until_ns;
}

static void lost(struct gp_usage *usage, uint32_t records)
{
	usage->lost += records;
	for (size_t i = 0; i < usage->processes; i++)
		usage->process[i].on = false;
}

void gp_usage_record(struct gp_usage *usage, const struct gp_switch_record *rec)
{
	struct gp_usage_process *p;

	if (rec->kind == GP_SWITCH_LOST) {
		lost(usage, rec->count);
		return;
	}
	p = gp_usage_of(usage, rec->pid);
	if (!p)
		return;
	count(usage, p, rec->time_ns);
	if (rec->kind == GP_SWITCH_START) {
		p->on = true;
		p->context = rec->context;
		p->since_ns = gp_later(rec->time_ns, gp_later(usage->until_ns, p->from_ns));
		p->starts++;
	} else if (p->context == rec->context) {
		p->on = false;
		p->ended_ns = rec->time_ns;
	}
}

void gp_usage_until(struct gp_usage *usage, uint64_t now_ns)
{
	for (size_t i = 0; i < usage->processes; i++)
		if (usage->process[i].pid)
			count(usage, &usage->process[i], now_ns);
	if (now_ns > usage->until_ns)
		usage->until_ns = now_ns;
}

void gp_usage_take(struct gp_usage_process *p, uint64_t *used_ns, uint64_t *displaced_ns)
{
	*used_ns = p->used_ns;
	*displaced_ns = p->displaced_ns;
	p->used_ns = 0;
	p->displaced_ns = 0;
}
