// SPDX-License-Identifier: Apache-2.0
#include "bench/model/policies.h"

#include "sched/sched.h"

void gp_policies_list(FILE *to)
{
	for (size_t i = 0; gp_be_policies[i]; i++)
		fprintf(to, "  be %s\n", gp_be_policies[i]->name);
	for (size_t i = 0; gp_lc_policies[i]; i++)
		fprintf(to, "  lc %s\n", gp_lc_policies[i]->name);
}
