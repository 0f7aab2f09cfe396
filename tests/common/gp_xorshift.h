/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_XORSHIFT_H
#define GP_XORSHIFT_H

#include <stdint.h>

/** The next of a fixed sequence of numbers. *@x: its seed, not 0. */
static inline uint64_t gp_xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

#endif
