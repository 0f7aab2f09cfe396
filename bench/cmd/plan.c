// SPDX-License-Identifier: Apache-2.0
/* plan.c - gpreempt-bench list FILE: the content of a plan, and its ignored fields. */
#include <inttypes.h>
#include <stdio.h>

#include "bench/cmd/list.h"
#include "bench/plan/plan.h"

/* Print the load with the words of the file. */
static void print_load(const struct gp_plan *p, const struct gp_plan_client *c)
{
	printf("%s", gp_plan_load_name(c->load));
	if (c->offered > 0)
		printf(" %g %% of alone", 100 * c->offered);
	else if (gp_plan_has_rate(c))
		printf(" %g/s", c->rate);
	if (c->load == GP_PLAN_TRACE)
		printf(" of %zu, the last at %.3f s", c->traces,
		       (double)c->trace_ns[c->traces - 1] / 1e9);
	for (size_t i = 0; i < p->clients; i++)
		if (c->after >> i & 1)
			printf(" after %s", p->client[i].id);
}

static void print_client(const struct gp_plan *p, const struct gp_plan_client *c)
{
	printf("%-20s %-2s %-22s ", c->id, c->lc ? "lc" : "be", c->model ? c->model : "-");
	print_load(p, c);
	if (c->batch > 1)
		printf(", batches of %" PRIu32, c->batch);
	if (c->prepare_us)
		printf(", %" PRIu32 " us of preparation", c->prepare_us);
	if (c->level)
		printf(", level %" PRIu32, c->level);
	if (c->weight)
		printf(", weight %" PRIu32, c->weight);
	if (c->deadline_us)
		printf(", due in %" PRIu32 " us", c->deadline_us);
	if (c->runtime_us)
		printf(", for %" PRIu32 " us of the device", c->runtime_us);
	if (c->hint_off_us)
		printf(", hints off by %" PRId32 " us", c->hint_off_us);
	if (c->killed_every_s > 0)
		printf(", killed every %g s", c->killed_every_s);
	printf("%s\n", c->graph ? ", as a graph" : "");
}

int gp_list_plan(const char *path, const char *text, size_t bytes)
{
	char why[256];
	struct gp_plan *p = gp_plan_parse(path, text, bytes, why, sizeof(why));

	if (!p) {
		fprintf(stderr, "gpreempt-bench: %s\n", why);
		return 2;
	}
	printf("%s: %zu clients for %g s\n", path, p->clients, p->seconds);
	if (p->what)
		printf("%s\n", p->what);
	if (p->source)
		printf("from: %s\n", p->source);
	for (size_t i = 0; i < p->clients; i++)
		print_client(p, &p->client[i]);
	for (size_t i = 0; i < p->unknowns; i++)
		printf("%s%s%s", i ? ", " : "not taken: ", p->unknown[i],
		       i + 1 == p->unknowns ? "\n" : "");
	gp_plan_destroy(p);
	return 0;
}
