// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/embedded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cmd/corun.h"

static int parse(const struct gp_embedded_plan *plan, struct gp_corun_plan *to)
{
	char why[256];

	to->name = plan->name;
	to->plan = gp_plan_parse(plan->name, plan->text, strlen(plan->text), why, sizeof(why));
	if (to->plan)
		return 0;
	fprintf(stderr, "gpreempt-bench: %s\n", why);
	return -EINVAL;
}

int gp_embedded_run(const struct gp_embedded_plan *plan, size_t plans,
		    const struct gp_suite_options *options, struct gp_results *results, FILE *out)
{
	struct gp_corun_plan *run = calloc(plans, sizeof(*run));
	int err = run ? 0 : -ENOMEM;

	for (size_t i = 0; i < plans && !err; i++)
		err = parse(&plan[i], &run[i]);
	if (!err)
		err = gp_corun_plans(run, plans, options, results, out);
	for (size_t i = 0; i < plans && run; i++)
		gp_plan_destroy((struct gp_plan *)run[i].plan);
	free(run);
	return err;
}
