/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - a workload on a real device, or the software GPU by its CUDA driver API. Each of its
 * kernels is replaced by one of ours, of the same length, with a fixed amount of work and a checked
 * result. Recorded ones have the recorded shape, too: blocks, threads, registers and shared memory,
 * as far as the device has them (shape.h). Not for several threads.
 */
#ifndef GP_BENCH_REPLAY_H
#define GP_BENCH_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/gpu/work.h"
#include "bench/plan/workload.h"

struct gp_replay;

/* Callbacks at each token seen, and when all of a request is launched. */
struct gp_token_watch {
	uint64_t *ns;				 /* written there */
	void (*seen)(void *of, uint64_t now_ns); /* NULL: no callback */
	void (*queued)(void *of);		 /* likewise */
	void *of;
};

/**
 * Measures each kernel here, and fits a request to its recorded time alone, if there is one.
 * Nothing else may run on the device meanwhile.
 * @graph: all kernels, of a decoder those of one token, are one CUDA graph; else they are launched
 * as late after each other as they were. @found: a file of earlier measurements on this device for
 * this workload and @graph, which are then reused; it is written if missing. NULL: no such file is
 * wanted. NULL: out of memory; an error of CUDA's ends the program.
 */
struct gp_replay *gp_replay_open(const struct gp_bench_gpu *gpu, const struct gp_workload *workload,
				 bool graph, const char *found, void *stream);
void gp_replay_close(struct gp_replay *r);

/**
 * One request; when its end was seen, ns. A decoder's tokens are waited for one after another, as
 * by its user. @watch: NULL: nobody.
 */
uint64_t gp_replay_request(struct gp_replay *r, const struct gp_token_watch *watch);
/** Start over with a fresh result. */
void gp_replay_reset(struct gp_replay *r);
/** Waits; was every block of every kernel done, and once? */
bool gp_replay_check(struct gp_replay *r);

#endif
