/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends.h - a client whose requests begin when those of others end. They are threads or processes of
 * their own: each of the others writes to it through an existing FIFO. The order is kept.
 */
#ifndef GP_BENCH_GPU_ENDS_H
#define GP_BENCH_GPU_ENDS_H

#include <stddef.h>
#include <stdint.h>

#define GP_ENDS_NO_MORE UINT64_MAX

struct gp_ends {
	int fd;
	uint64_t after;	  /* bits of those that are waited for */
	uint64_t seen;	  /* that ended since the last time .. */
	uint64_t last_ns; /* .. and the last of these ends */
	uint64_t over;	  /* that will not tell any more */
};

/** The name of the FIFO of client @who, as bits name it. */
void gp_ends_path(const char *prefix, unsigned int who, char *path, size_t len);

/** 0, or negative errno. */
int gp_ends_listen(struct gp_ends *ends, const char *path, uint64_t after);
/**
 * Waits until each of those has ended one more at least since the last time: when the last
 * of them did; GP_ENDS_NO_MORE: that will not happen.
 */
uint64_t gp_ends_next(struct gp_ends *ends);

/** A descriptor to tell by, or negative errno. */
int gp_ends_teller(const char *path);
/**
 * @end_ns: GP_ENDS_NO_MORE: this was the last. 0; -EAGAIN: the reader is behind by more than a FIFO
 * holds; or another negative errno.
 */
int gp_ends_tell(int fd, unsigned int who, uint64_t end_ns);

#endif
