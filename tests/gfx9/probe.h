/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - single instructions of one wave, on registers of the test's choice. */
#ifndef GFX9_PROBE_H
#define GFX9_PROBE_H

#include "tests/gfx9/machine.h"

#define PROBE_VGPRS 12

struct registers {
	u32 v[PROBE_VGPRS][GFX9_LANES];
	u32 s[16];
	u64 exec;
	u64 vcc;
	u32 m0;
	u32 mode;
	u32 scc;
};

struct probe {
	struct machine *m;
	u32 lds_bytes;
	struct registers before;
	struct registers after;
};

/* A cmocka test's *state is its struct probe. */
int probe_setup(void **state);
int probe_teardown(void **state);

u64 random64(void);
/* A random number, often one at which results change. */
u32 odd_number(void);
/* Fill in random values, but @exec and hipcc's MODE. */
void randomise(struct registers *r, u64 exec);
/* Run @count words from p->before to p->after. Returns the reason of the stop. */
u32 run_words(struct probe *p, const u32 *words, u32 count);
/* Run one instruction of @count words, which must succeed. */
void run_one(struct probe *p, u32 first, u32 second, u32 count);

#endif
