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
	uint64_t idle_ns;    /* the last wait ended; 0: none has */
	uint64_t busy_ns;    /* work began */
	uint64_t work_ns;    /* mean length of work, from its launch to the end of the wait */
	uint64_t mean_ns[2]; /* likewise, without a hold and beside one; 0: not measured lately */
	uint64_t kept_ns;    /* the device is kept for so long from idle_ns on */
	uint64_t pauses; /* lengths of the latest 16, 4 bits each; the newest is in bits 0 to 3 */
	uint32_t works;	 /* measured since @beside changed */
	bool beside;	 /* a hold goes on beside long work */
	bool soon;	 /* the work under way began after a short pause .. */
	bool held;	 /* .. in which the device was kept */
};

/**
 * Work begins at @now_ns. @keep_ns: the time of the switches that a short pause costs. Return: keep
 * the device, which was kept so far, beside the work, at most for so long, ns; 0: no longer.
 */
uint64_t gp_anticipate_busy(struct gp_anticipation *a, uint64_t now_ns, uint64_t keep_ns);
/**
 * The wait for all work ends. @may: the device may be kept. Return: for so long, ns, at most
 * @keep_ns.
 */
uint64_t gp_anticipate_idle(struct gp_anticipation *a, uint64_t now_ns, uint64_t keep_ns, bool may);
/** Its work is so long that a hold has to end as the wait for it begins, and to begin after it. */
bool gp_anticipate_ends(const struct gp_anticipation *a, uint64_t keep_ns);

#endif
