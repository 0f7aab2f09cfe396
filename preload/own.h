/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own.h - memory of the program's own cuMemCreate(), such as PyTorch's expandable segments.
 *
 * It leaves as other memory does (memory.h): unmapped everywhere and released, and later made
 * again and mapped at the same addresses. So the driver's handle changes. The program gets
 * another name for it, the address of a struct gp_own, and each call that takes a handle finds
 * the driver's here. Names of other memory are the driver's handles.
 *
 * Memory leaves if one mapping has all of it, readable and writable. It stays from the first
 * call on that gives it to others: an export, another device, a multicast object.
 */
#ifndef GP_PRELOAD_OWN_H
#define GP_PRELOAD_OWN_H

#include <stddef.h>
#include <stdint.h>

struct gp_memory_piece;
struct gp_own;

/* move.c, with gp_memory.lock held. */

/** Make and map the memory of @piece. 0 or CUDA's error, and nothing was made. */
int gp_own_fill(struct gp_memory_piece *piece);
void gp_own_unfill(struct gp_memory_piece *piece);

/* In place of the driver's calls of these names, which @driver is. */

int gp_own_create(int (*driver)(void *, uint64_t, void *, uint64_t), void *name, uint64_t bytes,
		  void *prop, uint64_t flags);
int gp_own_release(int (*driver)(uint64_t), uint64_t name);
int gp_own_retain(int (*driver)(void *, void *), void *name, void *at);
int gp_own_map(int (*driver)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t), uint64_t at,
	       uint64_t bytes, uint64_t offset, uint64_t name, uint64_t flags);
int gp_own_unmap(int (*driver)(uint64_t, uint64_t), uint64_t at, uint64_t bytes);
int gp_own_access(int (*driver)(uint64_t, uint64_t, void *, uint64_t), uint64_t at, uint64_t bytes,
		  void *access, uint64_t count);
int gp_own_properties(int (*driver)(void *, uint64_t), void *prop, uint64_t name);
int gp_own_export(int (*driver)(void *, uint64_t, uint32_t, uint64_t), void *out, uint64_t name,
		  uint32_t type, uint64_t flags);
int gp_own_range_handle(int (*driver)(void *, uint64_t, uint64_t, uint32_t, uint64_t), void *out,
			uint64_t at, uint64_t bytes, uint32_t type, uint64_t flags);
int gp_own_bind(int (*driver)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t),
		uint64_t multicast, uint64_t to, uint64_t name, uint64_t from, uint64_t bytes,
		uint64_t flags);
int gp_own_bind_at(int (*driver)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t),
		   uint64_t multicast, uint64_t to, uint64_t at, uint64_t bytes, uint64_t flags);

#endif
