// SPDX-License-Identifier: Apache-2.0
#include "bench/report/jain.h"

#include <errno.h>
#include <math.h>

int gp_jain(const double *share, size_t count, double *index)
{
	double most = 0, sum = 0, squares = 0;

	if (!count)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (!(isfinite(share[i]) && share[i] >= 0))
			return -EINVAL;
		most = fmax(most, share[i]);
	}
	/* Against the largest, as squares of what is large are not finite. */
	for (size_t i = 0; i < count && most > 0; i++) {
		sum += share[i] / most;
		squares += pow(share[i] / most, 2);
	}
	*index = most > 0 ? sum * sum / ((double)count * squares) : 1;
	return 0;
}
