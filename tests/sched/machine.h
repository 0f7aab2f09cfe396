/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - a device with controls of fixed duration, and a worker that executes the core's
 * decisions in sequence. Tenants and their groups have the same ids.
 */
#ifndef GP_TEST_SCHED_MACHINE_H
#define GP_TEST_SCHED_MACHINE_H

#include <stdbool.h>

#include "tests/sched/drive.h"

#define M_TENANTS 64
#define M_QUEUE 256

struct machine {
	struct drive d;
	uint64_t off_ns, on_ns, slice_ns; /* durations of controls */
	uint64_t leave_ns[M_TENANTS + 1]; /* of its suspends; 0: off_ns */
	uint64_t armed_ns, free_ns;
	struct {
		struct gp_decision what;
		uint64_t done_ns, took_ns;
	} queue[M_QUEUE];
	size_t queued;
	bool there[M_TENANTS + 1], on[M_TENANTS + 1];
	bool idle[M_TENANTS + 1];     /* it has no work, whether it runs or not */
	bool runs[M_TENANTS + 1];     /* on, or may be */
	bool is_short[M_TENANTS + 1]; /* short, or may be */
	uint64_t slice_us[M_TENANTS + 1];
	uint32_t preempts[M_TENANTS + 1];
	uint64_t ran_ns[M_TENANTS + 1];
	uint64_t off_since_ns[M_TENANTS + 1], longest_off_ns[M_TENANTS + 1];
	uint64_t steps;
	/* After each step; may read, not step. */
	void (*look)(struct machine *m);
	void *arg;
	uint32_t errors_left; /* number of suspends that fail */
	uint32_t slice_errors_left;
};

static inline void machine_init(struct machine *m, const struct gp_sched_config *config)
{
	memset(m, 0, sizeof(*m));
	drive_init(&m->d, config);
}

static inline void machine_end(struct machine *m)
{
	drive_end(&m->d);
}

/* docs/sched.md, invariant 1: never two groups that may both run and be short. */
static inline void machine_check_short(const struct machine *m)
{
	uint32_t n = 0;

	for (size_t i = 1; i <= M_TENANTS; i++)
		n += m->runs[i] && m->is_short[i];
	assert_true(n <= 1);
}

static inline void machine_asked(struct machine *m, const struct gp_decision *d)
{
	if (d->type == GP_DO_RESUME)
		m->runs[d->group] = true;
	else if (d->type == GP_DO_SET_SLICE && d->slice_us == GP_SCHED_BE_SLICE_US)
		m->is_short[d->group] = true;
	else
		return;
	machine_check_short(m);
}

static inline void machine_take(struct machine *m)
{
	for (size_t i = 0; i < m->d.out.count; i++) {
		const struct gp_decision *d = &m->d.out.d[i];
		uint64_t from = m->free_ns > m->d.now_ns ? m->free_ns : m->d.now_ns;
		uint64_t own = d->type == GP_DO_SUSPEND ? m->leave_ns[d->group] : 0;
		uint64_t cost = own			   ? own :
				d->type == GP_DO_SUSPEND   ? m->off_ns :
				d->type == GP_DO_RESUME	   ? m->on_ns :
				d->type == GP_DO_SET_SLICE ? m->slice_ns :
							     0;

		if (d->type == GP_DO_ARM_TIMER) {
			m->armed_ns = d->at_ns;
			continue;
		}
		if (d->type == GP_DO_HOLD || d->type == GP_DO_RELEASE)
			continue;
		assert_true(m->queued < M_QUEUE);
		machine_asked(m, d);
		m->free_ns = from + cost;
		m->queue[m->queued].what = *d;
		m->queue[m->queued].took_ns = cost;
		m->queue[m->queued++].done_ns = from + cost;
	}
}

static inline int machine_ev(struct machine *m, struct gp_event ev)
{
	int rc = drive_ev(&m->d, ev);

	m->steps++;
	if (!rc)
		machine_take(m);
	if (m->look)
		m->look(m);
	return rc;
}

static inline void machine_tell(struct machine *m, uint32_t type, uint32_t tenant)
{
	if (type == GP_EV_BUSY || type == GP_EV_IDLE)
		m->idle[tenant] = type == GP_EV_IDLE;
	assert_int_equal(machine_ev(m, (struct gp_event){ .type = type, .tenant = tenant }), 0);
}

/*
 * @at_ns: everything until then is reported; 0: unknown.
 */
static inline void machine_usage_until(struct machine *m, uint32_t tenant, uint64_t used_ns,
				       uint64_t displaced_ns, uint64_t at_ns)
{
	assert_int_equal(machine_ev(m,
				    (struct gp_event){ .type = GP_EV_USAGE,
						       .tenant = tenant,
						       .usage = { used_ns, displaced_ns, at_ns } }),
			 0);
}

static inline void machine_usage(struct machine *m, uint32_t tenant, uint64_t used_ns,
				 uint64_t displaced_ns)
{
	machine_usage_until(m, tenant, used_ns, displaced_ns, 0);
}

static inline void machine_done(struct machine *m)
{
	struct gp_decision d = m->queue[0].what;
	struct gp_event ev = { .type = GP_EV_OUTCOME, .outcome = { d.id, 0, m->queue[0].took_ns } };
	uint32_t g = d.group;

	m->queued--;
	memmove(m->queue, m->queue + 1, m->queued * sizeof(m->queue[0]));
	if (d.type == GP_DO_SUSPEND && m->errors_left) {
		m->errors_left--;
		ev.outcome.error = -EIO;
	} else if (d.type == GP_DO_SUSPEND) {
		m->on[g] = m->runs[g] = false;
		m->off_since_ns[g] = m->d.now_ns;
	} else if (d.type == GP_DO_RESUME && !m->on[g]) {
		uint64_t off = m->d.now_ns - m->off_since_ns[g];

		m->on[g] = true;
		if (off > m->longest_off_ns[g])
			m->longest_off_ns[g] = off;
	} else if (d.type == GP_DO_SET_SLICE && m->slice_errors_left) {
		m->slice_errors_left--;
		ev.outcome.error = -EIO;
	} else if (d.type == GP_DO_SET_SLICE) {
		m->is_short[g] = d.slice_us == GP_SCHED_BE_SLICE_US;
		m->slice_us[g] = d.slice_us;
	} else if (d.type == GP_DO_PREEMPT) {
		m->preempts[g]++;
	}
	machine_ev(m, ev);
}

static inline void machine_pass(struct machine *m, uint64_t to_ns)
{
	for (size_t i = 1; i <= M_TENANTS; i++)
		if (m->on[i] && !m->idle[i])
			m->ran_ns[i] += to_ns - m->d.now_ns;
	m->d.now_ns = to_ns;
}

static inline void machine_run(struct machine *m, uint64_t ns)
{
	uint64_t end = m->d.now_ns + ns;

	for (;;) {
		uint64_t next = end;
		bool timer = m->armed_ns && m->armed_ns <= next, done;

		if (timer)
			next = m->armed_ns;
		done = m->queued && m->queue[0].done_ns <= next;
		if (done)
			next = m->queue[0].done_ns;
		machine_pass(m, next > m->d.now_ns ? next : m->d.now_ns);
		if (done) {
			machine_done(m);
		} else if (timer) {
			m->armed_ns = 0;
			machine_tell(m, GP_EV_TIMER, 0);
		} else {
			return;
		}
	}
}

/* Finish all decisions under way, without further time. */
static inline void machine_finish(struct machine *m)
{
	while (m->queued)
		machine_run(m, m->queue[m->queued - 1].done_ns - m->d.now_ns);
}

static inline void machine_add(struct machine *m, uint32_t id, struct gp_class_request spec)
{
	assert_int_equal(machine_ev(m, (struct gp_event){ .type = GP_EV_TENANT_JOIN,
							  .tenant = id,
							  .spec = spec }),
			 0);
	m->there[id] = true;
	m->on[id] = m->runs[id] = true;
	assert_int_equal(machine_ev(m, (struct gp_event){ .type = GP_EV_GROUP_APPEAR,
							  .tenant = id,
							  .group.id = id }),
			 0);
	machine_finish(m);
}

static inline void machine_add_be(struct machine *m, uint32_t id, uint32_t weight, uint32_t cap_pct)
{
	machine_add(m, id,
		    (struct gp_class_request){ .cls = { GP_CLASS_BE, weight },
					       .cap_pct = cap_pct });
}

static inline void machine_spec(struct machine *m, uint32_t id, struct gp_class_request spec)
{
	assert_int_equal(machine_ev(m, (struct gp_event){ .type = GP_EV_TENANT_CLASS,
							  .tenant = id,
							  .spec = spec }),
			 0);
}

/* The tenant that has the turn; 0: none. */
static inline uint32_t machine_resident(const struct machine *m)
{
	for (uint32_t i = 1; i <= M_TENANTS; i++)
		if (m->there[i] && drive_stat(&m->d, i).resident)
			return i;
	return 0;
}

#endif
