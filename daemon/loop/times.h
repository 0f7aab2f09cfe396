/* SPDX-License-Identifier: Apache-2.0 */
/* times.h - comparing two times. */
#ifndef GP_DAEMON_TIMES_H
#define GP_DAEMON_TIMES_H

#include <stdint.h>

/** The sooner one; 0: none. */
static inline uint64_t gp_sooner(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns && (!b_ns || a_ns < b_ns) ? a_ns : b_ns;
}

/** The later one; the longer one of two lengths. */
static inline uint64_t gp_later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

#endif
