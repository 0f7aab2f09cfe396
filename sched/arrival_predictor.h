/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrival_predictor.h - when the next work of a process comes that says nothing, from
 * when it had the device before.
 *
 * Pure: no clock, no call, a fixed size. Fed with the process's own stretches
 * on the device, as the device's log has them (so there are none while nobody
 * else wants the device), and with the holds that were made of its guesses. All
 * times are ns of the device's clock.
 *
 * A stretch that no hold had a part in starts one switch after its work came;
 * one that a hold began ends when the work is done, as early as if the process
 * were alone. Both follow the rhythm, each with a constant of its own, which is
 * learned. A hold in which no work came ends the stretch itself, shorter than
 * the hold was.
 *
 * Where requests are seen to come and to be over (gp_rhythm_came), they are the
 * marks, exact, whoever cuts them; stretches then only tell that others want the
 * device.
 */
#ifndef GP_RHYTHM_H
#define GP_RHYTHM_H

#include <stdbool.h>
#include <stdint.h>

#define GP_RHYTHM_MARKS 64
#define GP_RHYTHM_HOLDS 64
#define GP_RHYTHM_PHASES 4 /* requests of one cycle, at most */
#define GP_RHYTHM_LAGS 8
#define GP_RHYTHM_TAILS 5 /* held ends, before they are marks */

enum gp_rhythm_state {
	GP_RHYTHM_LEARNING, /* no rhythm, or not yet */
	GP_RHYTHM_TRIAL,    /* one is seen; the next work must keep it */
	GP_RHYTHM_SURE,	    /* guesses are given */
	GP_RHYTHM_RESTING,  /* it was lost: none for a while */
};

/* Why a rhythm was lost. */
enum gp_rhythm_loss {
	GP_RHYTHM_KEPT,
	GP_RHYTHM_MISSED,  /* no work came into holds */
	GP_RHYTHM_EARLY,   /* work came before holds did */
	GP_RHYTHM_STRAYED, /* marks left the grid */
};

/* One request: the slot of the grid that it was in, and its end. */
struct gp_rhythm_mark {
	uint64_t at_ns, end_ns;
};

/** A guess. @slot_ns is the estimator's own. */
struct gp_rhythm_guess {
	uint64_t at_ns;		  /* work comes then .. */
	uint64_t spread_ns;	  /* .. give or take so much */
	uint64_t hint_timeout_ns; /* hold so long after at_ns for it .. */
	uint64_t lead_max_ns;	  /* .. and from so long before, at most */
	uint64_t slot_ns;
	bool early; /* sooner than thought right: is it better? */
};

/* A hold that was made of a guess. */
struct gp_rhythm_hold {
	uint64_t slot_ns, from_ns, until_ns;
	bool worked, early;
};

struct gp_rhythm_stretch {
	uint64_t start_ns, end_ns;
	bool held;
	struct gp_rhythm_hold hold; /* with held */
};

/* slot = base_ns + phase_ns[j] + k * cycle, for any k */
struct gp_rhythm_grid {
	uint64_t base_ns;
	uint64_t cycle_fp;		    /* 1/1024 ns */
	uint32_t phases;		    /* 0: there is none */
	int64_t phase_ns[GP_RHYTHM_PHASES]; /* ascending, within a cycle */
	uint64_t spread_ns;		    /* 9 of 10 are so near to their slot */
	uint64_t busy_ns;		    /* 9 of 10 end so long after it */
	uint64_t short_ns;		    /* 3 of 4 end later than this after it */
};

/** Counters since init. */
struct gp_rhythm_stat {
	uint64_t held, hits, late, misses;
};

struct gp_rhythm {
	enum gp_rhythm_state state;
	uint64_t now_ns;
	uint64_t rest_until_ns, rest_ns;
	enum gp_rhythm_loss loss; /* the last one */
	uint32_t kept;		  /* TRIAL: so many kept it; SURE: hits */

	struct gp_rhythm_mark mark[GP_RHYTHM_MARKS]; /* oldest first */
	bool exact;				     /* marks are requests, as they came */
	uint64_t came_ns;      /* the one under way did then; 0: there is none */
	bool by_ends;	       /* marks are of held ends, not of starts; */
	uint64_t level_ns;     /* these were apart by so much */
	uint32_t marks, fresh; /* fresh: not fitted yet */
	uint32_t unfit;	       /* fits in a row that failed */
	struct gp_rhythm_grid grid;

	struct gp_rhythm_stretch open; /* may be added to yet; end 0: none */
	uint64_t last_end_ns;
	struct gp_rhythm_hold hold[GP_RHYTHM_HOLDS]; /* oldest first */
	uint32_t holds;

	uint64_t lag_ns;	       /* from a hold to its stretch's start .. */
	uint64_t lag[GP_RHYTHM_LAGS];  /* .. by the latest, a ring */
	uint32_t lags;		       /* so many there were */
	int64_t tail[GP_RHYTHM_TAILS]; /* from the slot to a held end */
	uint32_t tails, strays;	       /* strays: held ends off it, in a row */

	/* Where ends are, of holds in time [0] and early [1], off the tail. */
	int64_t end_off_ns[2];
	uint32_t ends[2];
	uint64_t shifted_ns;	       /* what early ones gained so far */
	uint32_t miss_bits, late_bits; /* latest verdict: bit 0 */
	int64_t credit_ns;	       /* of best-effort's time, for misses */
	struct gp_rhythm_stat stat;
};

/** @switch_ns: what a switch takes, at a guess. */
void gp_rhythm_init(struct gp_rhythm *r, uint64_t switch_ns);
/** The process had the device; stretches come in order. */
void gp_rhythm_stretch(struct gp_rhythm *r, uint64_t start_ns, uint64_t end_ns);
/**
 * A hold was made of @guess, and is over. Told before any stretch that ends
 * later. @worked: work is known to have come.
 */
void gp_rhythm_held(struct gp_rhythm *r, const struct gp_rhythm_guess *guess, uint64_t from_ns,
		    uint64_t until_ns, bool worked);
/**
 * A request came, and was over; in order, each after the holds that began before it.
 * From the first on these are what counts.
 */
void gp_rhythm_came(struct gp_rhythm *r, uint64_t came_ns);
void gp_rhythm_over(struct gp_rhythm *r, uint64_t end_ns);
/** No other request came until then. */
void gp_rhythm_seen_until(struct gp_rhythm *r, uint64_t ns);
/** All that happened up to @now_ns was told: judge it. */
void gp_rhythm_update(struct gp_rhythm *r, uint64_t now_ns);
/** Stretches are missing: nothing before counts. */
void gp_rhythm_forget(struct gp_rhythm *r);
/**
 * The first guess whose hold, @lead_ns long until its work, need not start
 * before @after_ns nor in the request before. A lead that is longer than
 * switches are seen to take may be cut (lead_max_ns). false: there is none.
 */
bool gp_rhythm_next(const struct gp_rhythm *r, uint64_t after_ns, uint64_t lead_ns,
		    struct gp_rhythm_guess *guess);

#endif
