/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kills.h - when clients are killed: at random moments, gaps exponential, drawn from the
 * run's seed before it is known what a scheduler makes of them: the same under each. Pure.
 */
#ifndef GP_BENCH_RUN_KILLS_H
#define GP_BENCH_RUN_KILLS_H

#include <stddef.h>
#include <stdint.h>

#include "bench/plan/random.h"
#include "bench/plan/plan.h"

struct gp_kills {
	struct gp_kills_client {
		struct gp_random random;
		double mean_ns;
		uint64_t next_ns; /* UINT64_MAX: never */
	} client[GP_PLAN_CLIENTS_MAX];
	size_t clients;
	uint64_t end_ns;
};

/** From @begin_ns on, none later than @end_ns. */
void gp_kills_begin(struct gp_kills *kills, const struct gp_plan *plan, uint64_t seed,
		    uint64_t begin_ns, uint64_t end_ns);
/** When the next client is to be killed; UINT64_MAX: none is. */
uint64_t gp_kills_next_ns(const struct gp_kills *kills);
/** A client whose moment has come, by its place; it is taken. -1: of none it has. */
int gp_kills_take(struct gp_kills *kills, uint64_t now_ns);

#endif
