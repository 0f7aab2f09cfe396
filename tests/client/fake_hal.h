/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_hal.h - a HAL that only records, for tests of the client library. Each test adds its
 * own ops for slices and timers.
 */
#ifndef GP_TESTS_FAKE_HAL_H
#define GP_TESTS_FAKE_HAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpreempt/hal.h"

#define FAKE_DEFAULT_US 2048u
#define FAKE_SWITCH_NS 111000u

/**
 * struct fake_hal - the recorded calls, under its lock
 * @now: its clock, which the test moves
 * @on: active holds; @on_max: most at once
 * @hold_error: of every hold from here on, or 0
 * @switch_ns, @missed_ns: a hold's report
 * @ends_late: a hold's figures are ready at the second query only
 * @limit_ns: of the last hold
 * @marked: the last stream marked during a hold
 * @mark_error: of every mark, or 0
 * @more_caps: beside slices and holds
 */
struct fake_hal {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t now;
	int holds, releases, on, on_max, sets;
	int hold_error;
	bool ends_late;
	uint64_t switch_ns, missed_ns, limit_ns;
	void *marked;
	int mark_error;
	uint32_t more_caps;
};

extern struct fake_hal fake;
/** The test's: ops of its devices. */
extern struct gp_hal_ops fake_ops;

void fake_lock(void);
/** Wakes threads that wait for a change. */
void fake_unlock(void);
/** Read under the lock. */
int fake_get(const int *what);

int fake_caps(struct gp_device *dev, struct gp_hal_caps *caps);
int fake_open(const struct gp_device_id *id, struct gp_device **dev);
void fake_close(struct gp_device *dev);
int fake_now(struct gp_device *dev, uint64_t *ns);
int fake_hold_create(struct gp_device *dev, void *ctx, struct gp_hold **out);
void fake_hold_destroy(struct gp_hold *hold);
int fake_hold(struct gp_hold *hold, uint64_t limit_ns);
int fake_release(struct gp_hold *hold);
int fake_queued(struct gp_hold *hold, void *stream);
int fake_stat(struct gp_hold *hold, struct gp_hold_stat *st);
int fake_slot(struct gp_device *dev, struct gp_slot_place *place);
/** A timer on a file that the test writes, or that is never written. */
int fake_timer_create(struct gp_device *dev, struct gp_timer **timer);
void fake_timer_destroy(struct gp_timer *timer);

#define FAKE_HAL                                                                                \
	.name = "fake", .abi = GP_HAL_ABI, .caps = fake_caps, .close = fake_close,              \
	.hold = fake_hold, .hold_create = fake_hold_create, .hold_destroy = fake_hold_destroy,  \
	.hold_queued = fake_queued, .hold_stat = fake_stat, .now = fake_now, .open = fake_open, \
	.release = fake_release, .slot = fake_slot, .timer_create = fake_timer_create,          \
	.timer_destroy = fake_timer_destroy

#endif
