/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anticipate.h - whether to keep the device from the end of a wait to the next launch. A request
 * that waits after each of its kernels would otherwise lose the device at each wait, and each
 * launch would cost a switch. Not thread-safe.
 */
#ifndef GP_SCHED_ANTICIPATE_H
#define GP_SCHED_ANTICIPATE_H

#include <stdbool.h>
#include <stdint.h>

/* Of one LC context; zeroed: nothing is known. */
struct gp_anticipation {
	uint64_t idle_ns; /* the last wait ended; 0: none has */
	uint64_t busy_ns; /* work began */
	uint64_t work_ns; /* mean length of work, from its launch to the end of the wait */
	uint64_t pauses;  /* lengths of the latest 16, 4 bits each; the newest is in bits 0 to 3 */
};

/** Work begins at @now_ns. @keep_ns: the time of the switches that a short pause costs. */
void gp_anticipate_busy(struct gp_anticipation *a, uint64_t now_ns, uint64_t keep_ns);
/** The wait for all work ends. Return: keep the device for so long, ns, at most @keep_ns. */
uint64_t gp_anticipate_idle(struct gp_anticipation *a, uint64_t now_ns, uint64_t keep_ns);
/** Is its work so long that a hold beside it costs more than to hold again after it? */
bool gp_anticipate_long(const struct gp_anticipation *a, uint64_t keep_ns);

#endif
