/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrival_predictor.h - predicts the next work of a process that gives no hints, from when it
 * had the device before.
 *
 * Pure: no clock, no call, a fixed size. Its input is the process's stretches on the device,
 * and the holds that its predictions made. The device's log has stretches only while another
 * process wants the device. All times are ns of the device's clock.
 *
 * A stretch without a hold starts one switch after its work came. A stretch that a hold began
 * ends when the work is done, as early as if the process were alone. Both follow the period,
 * each with a constant of its own, which the predictor measures. If no work comes into a hold,
 * the hold itself ends the stretch, which is then shorter than the hold.
 *
 * Where the begin and end of requests are known (gp_arrival_came), they are the marks. They are
 * exact, even if the process is preempted. Stretches then only show that others want the
 * device.
 */
#ifndef GP_ARRIVAL_PREDICTOR_H
#define GP_ARRIVAL_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#define GP_ARRIVAL_MARKS 64
#define GP_ARRIVAL_HOLDS 64
#define GP_ARRIVAL_PHASES 4 /* requests of one cycle, at most */
#define GP_ARRIVAL_LAGS 8
#define GP_ARRIVAL_TAILS 5 /* held ends, before ends become marks */

enum gp_arrival_state {
	GP_ARRIVAL_OBSERVING, /* no period yet */
	GP_ARRIVAL_TRIAL,     /* a period is known; the next work must keep it */
	GP_ARRIVAL_SURE,      /* predicts */
	GP_ARRIVAL_RESTING,   /* lost its period: pauses */
};

/* Why the period was lost. */
enum gp_arrival_loss {
	GP_ARRIVAL_KEPT,
	GP_ARRIVAL_MISSED,  /* no work came into holds */
	GP_ARRIVAL_EARLY,   /* work came before holds did */
	GP_ARRIVAL_STRAYED, /* marks left the grid */
};

/* One request: its slot in the grid, and its end. */
struct gp_arrival_mark {
	uint64_t at_ns, end_ns;
};

/** A prediction. @slot_ns is for the predictor only. */
struct gp_arrival_prediction {
	uint64_t at_ns;		  /* work comes then .. */
	uint64_t spread_ns;	  /* .. give or take this */
	uint64_t hint_timeout_ns; /* hold this long after at_ns for it .. */
	uint64_t lead_max_ns;	  /* .. and from at most this long before */
	uint64_t slot_ns;
	bool early; /* starts early on purpose: does its work end sooner? */
};

/* A hold that a prediction made. */
struct gp_arrival_hold {
	uint64_t slot_ns, from_ns, until_ns;
	bool worked, early;
};

struct gp_arrival_stretch {
	uint64_t start_ns, end_ns;
	bool held;
	struct gp_arrival_hold hold; /* with held */
};

/* slot = base_ns + phase_ns[j] + k * cycle, for any k */
struct gp_arrival_grid {
	uint64_t base_ns;
	uint64_t cycle_fp;		     /* 1/1024 ns */
	uint32_t phases;		     /* 0: there is none */
	int64_t phase_ns[GP_ARRIVAL_PHASES]; /* ascending, within a cycle */
	uint64_t spread_ns;		     /* 9 of 10 are this near to their slot */
	uint64_t busy_ns;		     /* 9 of 10 end within this time after it */
	uint64_t short_ns;		     /* 3 of 4 end later than this after it */
};

/** Counters since init. */
struct gp_arrival_stat {
	uint64_t held, hits, late, misses;
};

struct gp_arrival_predictor {
	enum gp_arrival_state state;
	uint64_t now_ns;
	uint64_t rest_until_ns, rest_ns;
	enum gp_arrival_loss loss; /* the last one */
	uint32_t kept;		   /* TRIAL: marks that kept it; SURE: hits */

	struct gp_arrival_mark mark[GP_ARRIVAL_MARKS]; /* oldest first */
	bool exact;				       /* marks are requests, as they came */
	uint64_t came_ns;			       /* arrival of the present request; 0: none */
	bool by_ends;				       /* marks are held ends, not starts; .. */
	uint64_t level_ns;			       /* .. spread of those starts */
	uint32_t marks, fresh;			       /* fresh: not fitted yet */
	uint32_t unfit;				       /* fits in a row that failed */
	struct gp_arrival_grid grid;

	struct gp_arrival_stretch open; /* may still grow; end 0: none */
	uint64_t last_end_ns;
	struct gp_arrival_hold hold[GP_ARRIVAL_HOLDS]; /* oldest first */
	uint32_t holds;

	uint64_t lag_ns;		/* from a hold to its stretch's start .. */
	uint64_t lag[GP_ARRIVAL_LAGS];	/* .. in the latest, a ring */
	uint32_t lags;			/* count of all */
	int64_t tail[GP_ARRIVAL_TAILS]; /* from the slot to a held end */
	uint32_t tails, strays;		/* strays: held ends off the tail, in a row */

	/* Mean distance of held ends from the tail: normal holds [0], early ones [1]. */
	int64_t end_off_ns[2];
	uint32_t ends[2];
	uint64_t shifted_ns;	       /* total shift by early ones */
	uint32_t miss_bits, late_bits; /* bit 0: the latest */
	int64_t credit_ns;	       /* BE time that misses may still cost */
	struct gp_arrival_stat stat;
};

/**
 * @switch_ns: initial estimate of a switch.
 */
void gp_arrival_init(struct gp_arrival_predictor *p, uint64_t switch_ns);
/** The process had the device; stretches come in order. */
void gp_arrival_stretch(struct gp_arrival_predictor *p, uint64_t start_ns, uint64_t end_ns);
/**
 * A hold that @guess made is over. Report it before any stretch that ends later. @worked: work
 * is known to have come.
 */
void gp_arrival_held(struct gp_arrival_predictor *p, const struct gp_arrival_prediction *guess,
		     uint64_t from_ns, uint64_t until_ns, bool worked);
/**
 * A request came, and ended. Report in order, each after the holds that began before it. From
 * the first call on, only these are marks.
 */
void gp_arrival_came(struct gp_arrival_predictor *p, uint64_t came_ns);
void gp_arrival_over(struct gp_arrival_predictor *p, uint64_t end_ns);
/** No other request came until then. */
void gp_arrival_seen_until(struct gp_arrival_predictor *p, uint64_t ns);
/** Everything up to @now_ns was reported: update the state. */
void gp_arrival_update(struct gp_arrival_predictor *p, uint64_t now_ns);
/** Stretches are missing: drop everything before. */
void gp_arrival_forget(struct gp_arrival_predictor *p);
/**
 * The first prediction whose hold starts neither before @after_ns nor within the previous
 * request. The hold starts @lead_ns before the work. A lead longer than observed switches may
 * be shortened (lead_max_ns).
 * Return: false: no prediction.
 */
bool gp_arrival_next(const struct gp_arrival_predictor *p, uint64_t after_ns, uint64_t lead_ns,
		     struct gp_arrival_prediction *guess);

#endif
