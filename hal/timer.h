/* SPDX-License-Identifier: Apache-2.0 */
/* timer.h - the clock and the timer ops of backends in real time: CLOCK_MONOTONIC and timerfd. */
#ifndef GP_HAL_TIMER_H
#define GP_HAL_TIMER_H

#include "gpreempt/hal.h"

/** CLOCK_MONOTONIC, ns. */
uint64_t gp_wall_ns(void);

int gp_wall_now(struct gp_device *dev, uint64_t *ns);
int gp_wall_timer_create(struct gp_device *dev, struct gp_timer **timer);
int gp_wall_timer_arm(struct gp_timer *timer, uint64_t at_ns);
int gp_wall_timer_ack(struct gp_timer *timer);
int gp_wall_timer_done(struct gp_timer *timer);
void gp_wall_timer_destroy(struct gp_timer *timer);

#endif
