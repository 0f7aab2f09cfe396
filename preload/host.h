/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - pinned host memory for the memory that leaves: one range of addresses, which grows and
 * shrinks at its end. It is pinned ahead, because pinning is slower than the copies.
 * Only the mover uses it, but for what has another comment.
 */
#ifndef GP_PRELOAD_HOST_H
#define GP_PRELOAD_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* A copy must not cross a border of such pieces, because each is registered by itself. */
#define GP_HOST_PIECE (64ull << 20)

/** Never pin more than @bytes; before all others. */
void gp_host_limit(uint64_t bytes);
/** That limit; UINT64_MAX: none. Any thread. */
uint64_t gp_host_most(void);
/** Does the limit allow to pin @bytes? Any thread. */
bool gp_host_allows(uint64_t bytes);
/** Reserve addresses for @most bytes. 0 or negative errno. */
int gp_host_start(uint64_t most);
/**
 * Grow by pieces until there are @bytes, but by @step bytes at most. 0; -ENOMEM: the host has too
 * little memory, or the process may not pin it.
 */
int gp_host_grow(uint64_t bytes, uint64_t step);
/** Give back all pieces beyond @bytes. */
void gp_host_trim(uint64_t bytes);
/** Bytes that are pinned. Any thread. */
uint64_t gp_host_bytes(void);
void *gp_host_at(uint64_t offset);

#endif
