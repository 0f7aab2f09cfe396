/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.h - inputs and decisions of the core, as text. A recording shows that a change of
 * the core's types or inner parts changes no decision. One line is one call; an instance is
 * named by a small number:
 *
 *	C i CONFIG...			gp_sched_init()
 *	P i BE LC			gp_sched_set_policy(); "-": unchanged
 *	S i QUANTUM MIN			gp_sched_set_share()
 *	H i PIECE			gp_sched_set_hold_piece()
 *	E i NOW TYPE [kVALUE]... = RC COUNT HASH	gp_sched_step()
 *
 * Of an event only the nonzero fields of its type are written, each with a letter. COUNT and
 * HASH are of its decisions.
 */
#ifndef GP_TEST_SCHED_RECORDING_H
#define GP_TEST_SCHED_RECORDING_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"

#define REC_INSTANCES 64
#define REC_LINE 512

static inline const char *rec_be_name(const struct gp_be_policy *be)
{
	return be ? be->name : "-";
}

static inline const char *rec_lc_name(const struct gp_lc_policy *lc)
{
	return lc ? lc->name : "-";
}

static inline uint64_t rec_mix(uint64_t hash, uint64_t value)
{
	/* FNV-1a, eight bytes at a time. */
	for (int i = 0; i < 8; i++)
		hash = (hash ^ (value >> 8 * i & 0xff)) * 0x100000001b3ull;
	return hash;
}

// clang-format off
#define REC_CONFIG_FIELDS(X)                                                                      \
	X(rotate)                                                                                 \
	X(slice_preempts)                                                                         \
	X(slots)                                                                                  \
	X(be_min_pct)                                                                             \
	X(lc_preempt)                                                                             \
	X(lc_slice_us)                                                                            \
	X(be_slice_us)                                                                            \
	X(quantum_ns)                                                                             \
	X(switch_ns)                                                                              \
	X(hold_limit_ns)                                                                          \
	X(hold_piece_ns)                                                                          \
	X(hint_timeout_ns)                                                                        \
	X(auto_hold_ns)                                                                           \
	X(rotation_defer_max_ns)                                                                  \
	X(lc_switch_ns) X(cut_ns) X(control_ns) X(be_period_ns) X(idle_slice_us)
// clang-format on

/* ---- an event --------------------------------------------------------------- */

/* All fields of events; fields of other types are 0. */
struct rec_event {
	uint64_t type;
	uint64_t t, g;		   /* tenant, group */
	uint64_t c, v, p, P, D, R; /* class, level or weight, cap, period, deadline, runtime */
	uint64_t a, l, k, x;	   /* at, limit, took, taken */
	uint64_t d, e, o;	   /* decision, error (positive), flags */
};

#define REC_EVENT_FIELDS(X) \
	X(t) X(g) X(c) X(v) X(p) X(P) X(D) X(R) X(a) X(l) X(k) X(x) X(d) X(e) X(o)

static inline void rec_from_spec(struct rec_event *r, const struct gp_class_request *spec)
{
	r->c = spec->cls.cls;
	r->v = spec->cls.value;
	r->p = spec->cap_pct;
	r->P = spec->period_ns;
	r->D = spec->deadline_ns;
	r->R = spec->runtime_ns;
}

static inline struct rec_event rec_from_event(const struct gp_event *ev)
{
	struct rec_event r = { .type = ev->type };

	if (ev->type != GP_EV_OUTCOME)
		r.t = ev->tenant;
	switch (ev->type) {
	case GP_EV_TENANT_JOIN:
	case GP_EV_TENANT_CLASS:
		rec_from_spec(&r, &ev->spec);
		r.k = ev->party;
		r.o = ev->gang;
		break;
	case GP_EV_GROUP_APPEAR:
		r.o = ev->group.slice_unknown;
		r.k = ev->group.copies;
		/* fallthrough */
	case GP_EV_GROUP_GONE:
		r.g = ev->group.id;
		break;
	case GP_EV_HINT:
		r.a = ev->hint.at_ns;
		r.o = ev->hint.guess;
		r.l = ev->hint.guess ? ev->hint.limit_ns : 0;
		r.k = ev->hint.guess ? ev->hint.lead_ns : 0;
		break;
	case GP_EV_HOLD:
	case GP_EV_KEEP:
		r.l = ev->hold.limit_ns;
		break;
	case GP_EV_BUSY:
		r.a = ev->busy.at_ns;
		r.o = ev->busy.how;
		break;
	case GP_EV_IDLE:
		r.o = ev->idle.how;
		break;
	case GP_EV_QUEUED:
		r.o = ev->queued.reported;
		break;
	case GP_EV_SLOT:
		r.o = ev->slot.have;
		break;
	case GP_EV_TURN:
		r.o = ev->turn.ends;
		break;
	case GP_EV_OUTCOME:
		r.d = ev->outcome.decision;
		r.e = (uint64_t)-ev->outcome.error;
		break;
	case GP_EV_SWITCH_MEASURED:
		r.k = ev->measured.took_ns;
		r.o = ev->measured.missed;
		break;
	case GP_EV_USAGE:
		r.a = ev->usage.at_ns;
		r.k = ev->usage.used_ns;
		r.x = ev->usage.displaced_ns;
		break;
	}
	return r;
}

static inline struct gp_event rec_to_event(const struct rec_event *r)
{
	struct gp_event ev = { .type = (uint32_t)r->type, .tenant = (uint32_t)r->t };

	switch (ev.type) {
	case GP_EV_TENANT_JOIN:
	case GP_EV_TENANT_CLASS:
		ev.party = (uint32_t)r->k;
		ev.gang = r->o;
		ev.spec = (struct gp_class_request){
			.cls = { (uint32_t)r->c, (uint32_t)r->v },
			.cap_pct = (uint32_t)r->p,
			.period_ns = r->P,
			.deadline_ns = r->D,
			.runtime_ns = r->R,
		};
		break;
	case GP_EV_GROUP_APPEAR:
		ev.group.slice_unknown = r->o;
		ev.group.copies = r->k;
		/* fallthrough */
	case GP_EV_GROUP_GONE:
		ev.group.id = (uint32_t)r->g;
		break;
	case GP_EV_HINT:
		ev.hint.at_ns = r->a;
		ev.hint.limit_ns = r->l;
		ev.hint.lead_ns = r->k;
		ev.hint.guess = r->o;
		break;
	case GP_EV_HOLD:
	case GP_EV_KEEP:
		ev.hold.limit_ns = r->l;
		break;
	case GP_EV_BUSY:
		ev.busy.how = (uint32_t)r->o;
		ev.busy.at_ns = r->a;
		break;
	case GP_EV_IDLE:
		ev.idle.how = (uint32_t)r->o;
		break;
	case GP_EV_QUEUED:
		ev.queued.reported = r->o;
		break;
	case GP_EV_SLOT:
		ev.slot.have = r->o;
		break;
	case GP_EV_TURN:
		ev.turn.ends = r->o;
		break;
	case GP_EV_OUTCOME:
		ev.outcome.decision = (uint32_t)r->d;
		ev.outcome.error = -(int32_t)r->e;
		break;
	case GP_EV_SWITCH_MEASURED:
		ev.measured.took_ns = r->k;
		ev.measured.missed = r->o;
		break;
	case GP_EV_USAGE:
		ev.usage.used_ns = r->k;
		ev.usage.displaced_ns = r->x;
		ev.usage.at_ns = r->a;
		break;
	}
	return ev;
}

static inline void rec_write_event(FILE *f, const struct gp_event *ev)
{
	const struct rec_event r = rec_from_event(ev);

	fprintf(f, "%" PRIu64, r.type);
#define REC_WRITE(field) \
	if (r.field)     \
		fprintf(f, " " #field "%" PRIu64, r.field);
	REC_EVENT_FIELDS(REC_WRITE)
#undef REC_WRITE
}

/* The event at @text; the rest begins with "=". */
static inline struct gp_event rec_read_event(char *text, char **rest)
{
	struct rec_event r = { .type = strtoull(text, &text, 10) };

	for (text += strspn(text, " "); *text && *text != '='; text += strspn(text, " ")) {
		const char key = *text;
		const uint64_t value = strtoull(text + 1, &text, 10);

#define REC_READ(field)       \
	if (key == #field[0]) \
		r.field = value;
		REC_EVENT_FIELDS(REC_READ)
#undef REC_READ
	}
	*rest = text;
	return rec_to_event(&r);
}

/* ---- decisions ---------------------------------------------------------------- */

static inline uint64_t rec_hash(const struct gp_decisions *out)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < out->count; i++) {
		const struct gp_decision *d = &out->d[i];

		h = rec_mix(rec_mix(h, d->type), d->id);
		switch (d->type) {
		case GP_DO_SET_SLICE:
			h = rec_mix(rec_mix(h, d->group), d->slice_us);
			break;
		case GP_DO_HOLD:
			h = rec_mix(rec_mix(h, d->tenant), d->limit_ns);
			break;
		case GP_DO_RELEASE:
			h = rec_mix(h, d->tenant);
			break;
		case GP_DO_ARM_TIMER:
			h = rec_mix(h, d->at_ns);
			break;
		default:
			h = rec_mix(h, d->group);
		}
	}
	return h;
}

#endif
