// SPDX-License-Identifier: Apache-2.0
/* restore.c - a device at a time: scan all its processes, set all slices, then resume all. */
#include "daemon/supervise/restore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/loop/log.h"
#include "daemon/discover/proc.h"
#include "daemon/receive/receivers.h"
#include "gpreempt/hal.h"

#define UUID_TEXT 48
#define WHY_LEN 256

/* A process of the journal, and its groups on the present device. */
struct process {
	struct gp_journal_record record;
	struct gp_group_list list;
	bool found;
};

struct restore {
	struct process process[GP_JOURNAL_RECORDS];
	uint32_t count;
	bool classes;
	struct gp_restore_stat stat;
	struct gp_receivers *receivers;
};

static void read_journal(struct restore *re, const struct gp_journal *journal)
{
	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++) {
		struct process *p = &re->process[re->count];

		if (!gp_journal_get(journal, i, &p->record))
			continue;
		if (!gp_journal_lives(&p->record))
			re->stat.gone++;
		else if (!p->record.banned && !p->record.away)
			re->count++;
	}
}

static bool same_device(const struct process *a, const struct process *b)
{
	return !memcmp(a->record.uuid, b->record.uuid, sizeof(a->record.uuid));
}

/* ---- one device -------------------------------------------------------------- */

/* The software GPU is opened by name; no other code asks that backend for a UUID. */
static int open_soft(const uint8_t uuid[16], struct gp_device **dev)
{
	const struct gp_hal_ops *ops = gp_hal_find("softgpu");
	struct gp_device_list list = { 0 };
	int err = ops ? ops->probe(&list) : -ENODEV;

	for (size_t i = 0; !err && i < list.count; i++)
		if (!memcmp(list.dev[i].uuid, uuid, sizeof(list.dev[i].uuid))) {
			err = ops->open(&list.dev[i], dev);
			if (!err)
				(*dev)->ops = ops;
			return err;
		}
	return err ? err : -ENODEV;
}

static int open_device(const uint8_t uuid[16], struct gp_device **dev)
{
	char text[UUID_TEXT], why[WHY_LEN];
	int err;

	gp_uuid_format(uuid, text, sizeof(text));
	err = gp_device_open(text, dev, why, sizeof(why));
	if (err == -ENODEV && !getenv("GPREEMPT_BACKEND"))
		err = open_soft(uuid, dev);
	if (err)
		gp_log(GP_LOG_ERR, "restore: %s", *why ? why : text);
	return err;
}

static void say(const struct process *p, const char *what, int err)
{
	gp_log(GP_LOG_ERR, "restore: %s of process %d: %s", what, (int)p->record.pid,
	       strerror(-err));
}

/* Without groups there is nothing to restore. */
static void look_into(struct restore *re, struct gp_device *dev, struct process *p)
{
	int err = gp_receivers_groups(re->receivers, dev, p->record.pid, &p->list);

	p->found = !err;
	if (err == -ESRCH) {
		re->stat.gone++;
	} else if (err) {
		re->stat.failed++;
		say(p, "groups", err);
	}
}

/* Tries all, even after a failure. The first error. */
static int reset_slices(struct gp_device *dev, const struct process *p,
			const struct gp_hal_caps *caps)
{
	int first = 0;

	for (size_t i = 0; i < p->list.count; i++) {
		struct gp_group *group = p->list.group[i];
		int err = 0;

		if (group->kind == GP_GROUP_COMPUTE)
			err = dev->ops->set_slice(group, caps->default_slice_us);
		else if (group->kind == GP_GROUP_COPY && caps->caps & GP_CAP_SLICE_PREEMPTS)
			err = dev->ops->set_slice(group, caps->default_copy_slice_us);
		if (!first && err != -EOPNOTSUPP)
			first = err;
	}
	return first;
}

/* One by one, so that a failure of one does not keep another suspended. */
static int resume_each(struct gp_device *dev, const struct process *p)
{
	int first = dev->ops->resume(p->list.group, p->list.count);

	if (!first || first == -EOPNOTSUPP)
		return 0;
	first = 0;
	for (size_t i = 0; i < p->list.count; i++) {
		int err = dev->ops->resume(&p->list.group[i], 1);

		first = first ? first : err;
	}
	return first;
}

static void count(struct gp_restore_stat *stat, const struct process *p, int slices, int resumed)
{
	if (slices)
		say(p, "slice", slices);
	if (resumed)
		say(p, "resume", resumed);
	if (slices == -ESRCH || resumed == -ESRCH)
		stat->gone++;
	else if (slices || resumed)
		stat->failed++;
	else
		stat->processes++;
}

static void reset_class(struct gp_device *dev, const struct process *p)
{
	const struct gp_class_value none = { .cls = GP_CLASS_NONE };
	int err;

	if (p->record.origin == GP_WIRE_BY_RUN)
		return;
	err = dev->ops->set_class(dev, p->record.pid, &none);
	if (err && err != -ESRCH)
		say(p, "class", err);
}

static void restore_on(struct restore *re, struct gp_device *dev, struct process *const *p,
		       uint32_t n)
{
	struct gp_hal_caps caps = { 0 };
	int slices[GP_JOURNAL_RECORDS];

	dev->ops->caps(dev, &caps);
	for (uint32_t i = 0; i < n; i++)
		look_into(re, dev, p[i]);
	for (uint32_t i = 0; i < n; i++)
		slices[i] = p[i]->found ? reset_slices(dev, p[i], &caps) : 0;
	for (uint32_t i = 0; i < n; i++)
		if (p[i]->found)
			count(&re->stat, p[i], slices[i], resume_each(dev, p[i]));
	for (uint32_t i = 0; i < n && re->classes && caps.caps & GP_CAP_CLASS; i++)
		reset_class(dev, p[i]);
	for (uint32_t i = 0; i < n; i++)
		gp_group_list_put(&p[i]->list);
}

/* Moves all records of the @at th one's device next to it. */
static uint32_t gather(struct restore *re, uint32_t at, struct process **p)
{
	uint32_t n = 0;

	for (uint32_t i = at; i < re->count; i++)
		if (same_device(&re->process[at], &re->process[i])) {
			struct process moved = re->process[i];

			re->process[i] = re->process[at + n];
			re->process[at + n] = moved;
			p[n] = &re->process[at + n];
			n++;
		}
	return n;
}

static uint32_t restore_device(struct restore *re, uint32_t at)
{
	struct process *p[GP_JOURNAL_RECORDS];
	uint32_t n = gather(re, at, p);
	struct gp_device *dev;

	if (open_device(re->process[at].record.uuid, &dev)) {
		re->stat.failed += n;
		return n;
	}
	restore_on(re, dev, p, n);
	gp_device_close(dev);
	return n;
}

void gp_restore_all(const struct gp_journal *journal, bool classes, struct gp_restore_stat *stat)
{
	struct restore *re = calloc(1, sizeof(*re));

	if (!re || gp_receivers_create(&re->receivers)) {
		free(re);
		*stat = (struct gp_restore_stat){ .failed = gp_journal_count(journal) };
		gp_log(GP_LOG_ERR, "restore: out of memory");
		return;
	}
	re->classes = classes;
	read_journal(re, journal);
	for (uint32_t at = 0; at < re->count;)
		at += restore_device(re, at);
	*stat = re->stat;
	gp_receivers_destroy(re->receivers);
	free(re);
}
