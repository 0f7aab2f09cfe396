/* SPDX-License-Identifier: Apache-2.0 */
/* jain.h - how equal are shares? */
#ifndef GP_BENCH_JAIN_H
#define GP_BENCH_JAIN_H

#include <stddef.h>

/**
 * Jain's index of @count shares (Jain, Chiu and Hawe, DEC-TR-301, 1984):
 * (sum x)^2 / (count sum x^2). It is 1 / count if one has all, and 1 if all are equal, also
 * if all are 0. 0; -EINVAL: no shares, or one is negative or not finite; @index stays.
 */
int gp_jain(const double *share, size_t count, double *index);

#endif
