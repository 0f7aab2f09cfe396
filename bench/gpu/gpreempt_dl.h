/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpreempt_dl.h - libgpreempt.so.0 by dlopen, and only when asked for: what
 * does not ask knows nothing of gpreempt.
 */
#ifndef GP_BENCH_GPREEMPT_DL_H
#define GP_BENCH_GPREEMPT_DL_H

#include <gpreempt/gpreempt.h>

struct gp_bench_client {
	struct gp_handle *handle;
	void (*close)(struct gp_handle *handle);
	int (*hint)(struct gp_handle *handle, uint64_t in_ns);
	int (*hold)(struct gp_handle *handle, uint64_t limit_ns);
	int (*open)(const struct gp_open_opts *opts, struct gp_handle **handle);
	int (*queued)(struct gp_handle *handle, void *stream);
	int (*release)(struct gp_handle *handle);
	int (*segment_begin)(struct gp_handle *handle);
	int (*segment_end)(struct gp_handle *handle);
	int (*stats_get)(struct gp_handle *handle, struct gp_stats *stats);
};

/** Load, and open the current context as LC. Prints and exits 1 on failure. */
void gp_bench_client_open(struct gp_bench_client *client);

/** Print and exit 1 unless @error is 0. */
void gp_bench_client_check(int error, const char *what);

#endif
