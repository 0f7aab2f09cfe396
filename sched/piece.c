// SPDX-License-Identifier: Apache-2.0
#include "sched/internal.h"

void gp_sched_set_hold_piece(struct gp_sched *sched, uint64_t piece_ns)
{
	sched->config.hold_piece_ns = piece_ns;
}
