/* SPDX-License-Identifier: Apache-2.0 */
/* policies.h - the scheduling core's policies, for gpreempt-bench list. */
#ifndef GP_BENCH_POLICIES_H
#define GP_BENCH_POLICIES_H

#include <stdio.h>

/** One a line, "  be NAME" and "  lc NAME". */
void gp_policies_list(FILE *to);

#endif
