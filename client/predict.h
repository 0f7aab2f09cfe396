/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predict.h - prediction for a latency-critical process without hints. Its period
 * (sched/arrival_predictor.h), from the device's context-switch log, becomes hints of the
 * core's. All of it runs in the library's thread; the process's own watched calls only leave
 * their time here.
 */
#ifndef GP_CLIENT_PREDICT_H
#define GP_CLIENT_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

struct gp_client_device;

struct gp_predict_stat {
	bool on;			/* it predicts, or may */
	bool sure;			/* it has a period */
	uint64_t guesses, hits, misses; /* late ones are the rest */
};

/* Begin when allowed, read the log when due. @due: the timer. */
void gp_predict_serve(struct gp_client_device *dev, bool due);
/* A timer for gp_predict_serve(); -1: none. */
int gp_predict_fd(const struct gp_client_device *dev);
/* The thread may sleep this long without it; -1: for ever. */
int gp_predict_wait_ms(const struct gp_client_device *dev);
/* The core's timer fired; dev->lock held. */
void gp_predict_after_timer(struct gp_client_device *dev);
/* With prediction (dev->predicts): work was seen to come, or to end; dev->lock held. */
void gp_predict_work(struct gp_client_device *dev, bool busy);
/* Has the process had work? True without prediction. */
bool gp_predict_saw_work(const struct gp_client_device *dev);
void gp_predict_stats(const struct gp_client_device *dev, struct gp_predict_stat *stat);

#endif
