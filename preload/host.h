/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - pinned host memory for the memory that leaves: one range of addresses, which grows and
 * shrinks at its end. It is pinned ahead, because pinning is slower than the copies.
 *
 * Programs of which only some are out at a time share it (host_file.h): each pins all of it, and
 * has pieces of it while its memory is out. Then it does not shrink. Memory of one's own has huge
 * pages, and is pinned sooner.
 *
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
/** Share it with the user's other programs that do, if that is possible; before all others. */
void gp_host_share(void);
/** Reserve addresses for @most bytes. 0 or negative errno. */
int gp_host_start(uint64_t most);
/**
 * Grow by pieces until there are @bytes that no other program has, but by @step bytes at most. 0;
 * 1: there are not as many yet; -ENOMEM: the host has too little memory, or the process may not pin
 * it.
 */
int gp_host_grow(uint64_t bytes, uint64_t step);
/** Give back all pieces beyond @bytes, if nobody shares them. */
void gp_host_trim(uint64_t bytes);
/** Would other programs leave so many bytes of shared memory? */
bool gp_host_could(uint64_t bytes);
/**
 * The first @bytes of gp_host_at() are this process's. 0; -ENOMEM as above; -ENOSPC: other programs
 * have too much of the memory that they share.
 */
int gp_host_take(uint64_t bytes);
/** And no longer. */
void gp_host_leave(void);
/** Bytes that are pinned; of shared memory, those that it has taken. Any thread. */
uint64_t gp_host_bytes(void);
/** A place in the memory that was taken. */
void *gp_host_at(uint64_t offset);

#endif
