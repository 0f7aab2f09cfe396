/* SPDX-License-Identifier: Apache-2.0 */
/* turn.h - one after the other, in the order in which they asked. */
#ifndef GP_BENCH_GPU_TURN_H
#define GP_BENCH_GPU_TURN_H

#include <pthread.h>
#include <stdatomic.h>

struct gp_turn {
	atomic_uint asked, now;
	pthread_mutex_t lock; /* of virtual time only */
	pthread_cond_t moved;
};
#define GP_TURN_INIT                                                                 \
	{                                                                            \
		.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER \
	}

void gp_turn_take(struct gp_turn *turn);
void gp_turn_pass(struct gp_turn *turn);

#endif
