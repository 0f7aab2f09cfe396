/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn.h - guesses for a latency-critical process that gives no hints: its
 * rhythm (sched/arrival_predictor.h), read off the device's context-switch log, becomes
 * hints of the core's. All of it runs in the library's thread; of the process's
 * own calls those that are watched anyway leave the time here.
 */
#ifndef GP_CLIENT_LEARN_H
#define GP_CLIENT_LEARN_H

#include <stdbool.h>
#include <stdint.h>

struct gp_edev;

struct gp_learn_stat {
	bool on;			/* it learns, or may */
	bool sure;			/* it has a rhythm */
	uint64_t guesses, hits, misses; /* late ones are the rest */
};

/* Begin where it is allowed, look at the log where it is time. @due: the timer. */
void gp_learn_serve(struct gp_edev *dev, bool due);
/* A timer that gp_learn_serve() waits for; -1: none. */
int gp_learn_fd(const struct gp_edev *dev);
/* For at most so long may the thread sleep without; -1: for ever. */
int gp_learn_wait_ms(const struct gp_edev *dev);
/* The core's timer came; dev->lock held. */
void gp_learn_after_timer(struct gp_edev *dev);
/* Of who learns (dev->learns): work was seen to come, or to be over; dev->lock held. */
void gp_learn_work(struct gp_edev *dev, bool busy);
/* Has the process had work? Where nothing is learned that is taken for granted. */
bool gp_learn_saw_work(const struct gp_edev *dev);
void gp_learn_stats(const struct gp_edev *dev, struct gp_learn_stat *stat);

#endif
