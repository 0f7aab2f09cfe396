/* SPDX-License-Identifier: Apache-2.0 */
/* solo.h - what a request takes where nothing else runs. */
#ifndef GP_BENCH_SOLO_H
#define GP_BENCH_SOLO_H

#include <stdint.h>

/** Of some, the middle of how long they took, ns. @request does one of @of's, and waits. */
uint64_t gp_solo_ns(void (*request)(void *of), void *of);

#endif
