/* SPDX-License-Identifier: Apache-2.0 */
/* die.h - kill or stop this process at a chosen moment of the bench's clock, for the kill tests. */
#ifndef GP_BENCH_DIE_H
#define GP_BENCH_DIE_H

#include <stdint.h>

/**
 * From a thread of its own: at @at_ns print "dying at_ns=..." and raise @sig,
 * SIGKILL or SIGSTOP. Prints and exits 1 when the thread cannot be made.
 */
void gp_bench_die_at(uint64_t at_ns, int sig);

#endif
