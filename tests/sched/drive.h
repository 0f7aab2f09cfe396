/* SPDX-License-Identifier: Apache-2.0 */
/* drive.h - one core, stepped by hand, for tests of single decisions. */
#ifndef GP_TEST_SCHED_DRIVE_H
#define GP_TEST_SCHED_DRIVE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"

#define US 1000ull
#define MS 1000000ull

struct drive {
	struct gp_sched *sched;
	uint64_t now_ns;
	struct gp_decisions out;
};

static inline void drive_init(struct drive *d, const struct gp_sched_config *config)
{
	d->sched = calloc(1, gp_sched_size());
	assert_non_null(d->sched);
	assert_int_equal(gp_sched_init(d->sched, config), 0);
	d->now_ns = 1000 * MS;
}

static inline void drive_end(struct drive *d)
{
	free(d->sched);
}

static inline int drive_ev(struct drive *d, struct gp_event ev)
{
	return gp_sched_step(d->sched, d->now_ns, &ev, &d->out);
}

/* The first decision of @type in the last step; NULL: none. */
static inline const struct gp_decision *drive_find(const struct drive *d, uint32_t type)
{
	for (size_t i = 0; i < d->out.count; i++)
		if (d->out.d[i].type == type)
			return &d->out.d[i];
	return NULL;
}

static inline int drive_tenant_ev(struct drive *d, uint32_t type, uint32_t tenant)
{
	return drive_ev(d, (struct gp_event){ .type = type, .tenant = tenant });
}

static inline void drive_join(struct drive *d, uint32_t tenant, uint32_t cls,
			      uint32_t level_or_weight)
{
	struct gp_event ev = { .type = GP_EV_TENANT_JOIN, .tenant = tenant };

	ev.spec.cls = (struct gp_class_value){ cls, level_or_weight };
	assert_int_equal(drive_ev(d, ev), 0);
}

static inline int drive_appear(struct drive *d, uint32_t tenant, uint32_t group)
{
	return drive_ev(d, (struct gp_event){ .type = GP_EV_GROUP_APPEAR,
					      .tenant = tenant,
					      .group.id = group });
}

static inline void drive_at(struct drive *d, uint64_t now_ns, uint32_t type, uint32_t tenant)
{
	d->now_ns = now_ns;
	assert_int_equal(drive_tenant_ev(d, type, tenant), 0);
}

/* Report the last step's first decision of @type as over. */
static inline void drive_outcome(struct drive *d, uint32_t type, int32_t error)
{
	const struct gp_decision *dec = drive_find(d, type);

	assert_non_null(dec);
	assert_int_equal(drive_ev(d, (struct gp_event){ .type = GP_EV_OUTCOME,
							.outcome = { dec->id, error } }),
			 0);
}

static inline struct gp_sched_tenant_stat drive_stat(const struct drive *d, uint32_t tenant)
{
	struct gp_sched_tenant_stat st;

	assert_int_equal(gp_sched_tenant_stat(d->sched, tenant, &st), 0);
	return st;
}

#endif
