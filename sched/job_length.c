// SPDX-License-Identifier: Apache-2.0
/*
 * job_length.c - lengths of LC tenants' jobs.
 *
 * A length is the tenant's use of the device (GP_EV_USAGE) over its jobs; late jobs weigh
 * more. deadline.c defines a job. Until the first report the length is unknown, and the job
 * comes behind all others of its level. Endless work ends up there too, because its use grows
 * without an end of the job.
 *
 * A preemption costs two switches. So the job of the most urgent tenant counts as shorter by
 * these once it has begun. Only a job that is shorter by more preempts it.
 */
#include "sched/internal.h"

#define PIECES 16u
#define BEGUN_NS (100 * GP_NS_PER_US) /* it does not have the device before (H200: 0.2 ms) */

static bool has_begun(const struct gp_sched *s, const struct gp_tenant *t)
{
	return t->has_work && s->now_ns - t->came_ns > BEGUN_NS && gp_cut_is_top(s, t);
}

void gp_length_reconcile(struct gp_sched *s)
{
	const uint64_t cut_ns = gp_add_sat(s->config.lc_switch_ns, s->config.lc_switch_ns);

	if (!s->config.lc_policy->lengths)
		return;
	for (size_t i = 0; i < s->tenants; i++) {
		struct gp_tenant *t = &s->tenant[i];

		t->lc.length_ns = !t->length_ns ?
					  GP_NEVER :
					  gp_sub_sat(t->length_ns, has_begun(s, t) ? cut_ns : 0);
	}
}

void gp_length_done(struct gp_tenant *t)
{
	t->pieces++;
}

void gp_length_usage(struct gp_tenant *t, uint64_t used_ns)
{
	t->pieces_ns = gp_add_sat(t->pieces_ns, used_ns);
	if (t->pieces)
		t->length_ns = gp_max_u64(t->pieces_ns / t->pieces, 1);
	if (t->pieces >= PIECES) {
		t->pieces /= 2;
		t->pieces_ns /= 2;
	}
}
