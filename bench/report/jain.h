/* SPDX-License-Identifier: Apache-2.0 */
/* jain.h - are shares equal? */
#ifndef GP_BENCH_JAIN_H
#define GP_BENCH_JAIN_H

#include <stddef.h>

/**
 * Jain's index of @count shares: (sum x)^2 / (count sum x^2), from 1 / count, where one
 * has all, to 1, where all have the same, be it nothing (Jain, Chiu and Hawe, DEC-TR-301,
 * 1984). 0; -EINVAL: none, or one is less than 0 or not finite; @index is as it was then.
 */
int gp_jain(const double *share, size_t count, double *index);

#endif
