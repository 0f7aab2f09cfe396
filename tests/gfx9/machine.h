/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - a GPU with memory over the gfx9 interpreter, for its tests. It loads a
 * code object, launches a kernel, and runs its workgroups to their end.
 */
#ifndef GFX9_MACHINE_H
#define GFX9_MACHINE_H

#include "kfd-patch/simgpu/gfx9.h"

struct machine {
	struct gfx9_env *env;
	struct gfx9_ops ops;
	u8 *memory;
	u64 bytes;
	u64 used;
	u64 code; /* GPU address of the loaded code object */
	const u8 *object;
	u64 object_bytes;
	u64 scratch;
	u64 scratch_bytes;
	u64 messages;
	u64 ticks;
	u64 forbidden; /* a page that faults, or 0 */
	u64 executed;
};

#define MACHINE_BASE 0x7f0000000000ull
#define MACHINE_SHARED_BASE 0x2000000000000000ull
#define MACHINE_PRIVATE_BASE 0x4000000000000000ull

struct machine *machine_create(u64 bytes);
void machine_destroy(struct machine *machine);
/* Zeroed memory, aligned to 256 bytes. */
u64 machine_alloc(struct machine *machine, u64 bytes);
void *machine_at(struct machine *machine, u64 va);
/* The numbers are the same in each run; a new machine begins with seed 1. */
void random_seed(u32 seed);
u32 random32(void);
/* @count random words in the machine's memory. */
u64 random_words(struct machine *machine, u32 count);
/* Returns the code object's GPU address; @object must outlive the machine. */
u64 machine_load(struct machine *machine, const void *object, u64 bytes);
/* A kernel of raw instructions. Returns the address of its descriptor. */
u64 machine_code(struct machine *machine, const u32 *words, u32 count, u32 vgprs);
/* The descriptor of kernel @name, or 0. */
u64 machine_kernel(struct machine *machine, const char *name);

struct launch {
	u64 kernel;
	u32 groups[3]; /* workgroups; 0 is 1 */
	u32 group[3];  /* work items of each; 0 is 1 */
	u32 items[3];  /* all work items; 0: groups * group */
	const void *args;
	u32 arg_bytes;
	u32 lds_bytes;	   /* beyond the kernel's own */
	u32 private_bytes; /* beyond the kernel's own */
};

int machine_dispatch(struct machine *machine, const struct launch *launch,
		     struct gfx9_dispatch *dispatch);
/* Run all workgroups, @budget instructions at a time. @result: the last one's end. */
void machine_run(struct machine *machine, const struct launch *launch, u64 budget,
		 struct gfx9_result *result);

#endif
