/* SPDX-License-Identifier: Apache-2.0 */
/* samples.h - percentiles by rank, of an array of all samples. */
#ifndef GP_BENCH_SAMPLES_H
#define GP_BENCH_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/** Sort @value; gp_samples_rank() needs that. */
void gp_samples_sort(uint64_t *value, size_t count);

/** The smallest value that @per_mille of all do not exceed; 0 if there are none. */
uint64_t gp_samples_rank(const uint64_t *sorted, size_t count, unsigned int per_mille);

#endif
