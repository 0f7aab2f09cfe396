/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the clock in which the bench measures: CLOCK_MONOTONIC, or the software GPU's own. The
 * latter stands still while a program computes, and passes only as it declares.
 */
#ifndef GP_BENCH_CLOCK_H
#define GP_BENCH_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/** Before anything else here: @libcuda decides which clock it is. */
void gp_clock_choose(void *libcuda);
bool gp_clock_is_virtual(void);
uint64_t gp_clock_now_ns(void);

/** Wait with the CPU given up, then spin the last millisecond. */
void gp_clock_sleep_until(uint64_t at_ns);

/** Compute until then: spins, or declares the time to a virtual clock. */
void gp_clock_busy_until(uint64_t at_ns);

/**
 * Wait until @fd can be read (or is at its end). Returns false when a signal
 * came first. A virtual clock sees within some 20 ms of real time that this
 * thread computes nothing, and goes on without it.
 */
bool gp_clock_wait_readable(int fd);

#endif
