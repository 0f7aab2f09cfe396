// SPDX-License-Identifier: Apache-2.0
/* scale.c - the same plan at other rates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plan/plan.h"

static bool copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

static bool copy_trace(struct gp_plan_client *to, const struct gp_plan_client *from, double factor)
{
	to->trace_ns = from->traces ? calloc(from->traces, sizeof(*to->trace_ns)) : NULL;
	for (size_t i = 0; i < from->traces && to->trace_ns; i++)
		to->trace_ns[i] = (uint64_t)llround((double)from->trace_ns[i] / factor);
	return to->trace_ns || !from->traces;
}

static bool copy_client(struct gp_plan_client *to, const struct gp_plan_client *from,
			double alone_per_s, double factor)
{
	bool ok;

	*to = *from;
	to->rate = from->offered > 0 ? from->offered * alone_per_s : from->rate * factor;
	/* Copy each text even after an error: destroying the copy must free no text of @from. */
	ok = copy_text(&to->id, from->id);
	ok = copy_text(&to->model, from->model) && ok;
	return copy_trace(to, from, factor) && ok;
}

struct gp_plan *gp_plan_scaled(const struct gp_plan *plan, const double *alone_per_s, double factor)
{
	struct gp_plan *scaled = calloc(1, sizeof(*scaled));
	bool ok = scaled;

	if (!scaled)
		return NULL;
	scaled->seconds = plan->seconds;
	ok = copy_text(&scaled->what, plan->what);
	ok = copy_text(&scaled->source, plan->source) && ok;
	for (size_t i = 0; i < plan->clients; i++)
		ok = copy_client(&scaled->client[scaled->clients++], &plan->client[i],
				 alone_per_s[i], factor) &&
		     ok;
	if (ok)
		return scaled;
	gp_plan_destroy(scaled);
	return NULL;
}
