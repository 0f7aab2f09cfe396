// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/turn.h"

#include <sched.h>

#include "bench/gpu/clock.h"

/* On a CPU, as in ends.c; in virtual time asleep. */
void gp_turn_take(struct gp_turn *turn)
{
	const unsigned int mine = atomic_fetch_add(&turn->asked, 1);

	if (!gp_clock_is_virtual()) {
		while (atomic_load(&turn->now) != mine)
			sched_yield();
		return;
	}
	pthread_mutex_lock(&turn->lock);
	while (atomic_load(&turn->now) != mine)
		pthread_cond_wait(&turn->moved, &turn->lock);
	pthread_mutex_unlock(&turn->lock);
}

void gp_turn_pass(struct gp_turn *turn)
{
	pthread_mutex_lock(&turn->lock);
	atomic_fetch_add(&turn->now, 1);
	pthread_cond_broadcast(&turn->moved);
	pthread_mutex_unlock(&turn->lock);
}
