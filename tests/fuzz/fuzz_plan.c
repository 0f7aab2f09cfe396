// SPDX-License-Identifier: Apache-2.0
/* Plans of a benchmark: refused input leaves one line, accepted input can run. */
#include "bench/plan/plan.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *text, size_t max)
{
	FUZZ_CHECK(*text && strlen(text) <= max);
	for (; *text; text++)
		FUZZ_CHECK((unsigned char)*text >= ' ' && *text != 127);
}

static void check_killed(const struct gp_plan *p, const struct gp_plan_client *c)
{
	FUZZ_CHECK(!c->killed_every_s || (c->killed_every_s >= 0.1 && c->killed_every_s <= 86400));
	FUZZ_CHECK(!c->killed_every_s || (!c->lc && !c->after && gp_plan_kills(p)));
	for (size_t i = 0; i < p->clients; i++)
		FUZZ_CHECK(!(c->after >> i & 1) || !p->client[i].killed_every_s);
}

static void check_runtime(const struct gp_plan_client *c)
{
	if (!c->runtime_us)
		return;
	FUZZ_CHECK(c->lc && c->load == GP_PLAN_PERIODIC && c->runtime_us <= c->deadline_us);
	FUZZ_CHECK(gp_plan_period_fits(c));
}

static void check_client(const struct gp_plan *p, size_t i)
{
	const struct gp_plan_client *c = &p->client[i];

	check_text(c->id, 87);
	for (size_t j = 0; j < i; j++)
		FUZZ_CHECK(strcmp(c->id, p->client[j].id));
	FUZZ_CHECK(gp_plan_load_name(c->load));
	if (c->load == GP_PLAN_PERIODIC || c->load == GP_PLAN_POISSON)
		FUZZ_CHECK(c->rate > 0 && c->rate <= 1e6);
	FUZZ_CHECK((c->load == GP_PLAN_TRACE) == (c->traces > 0));
	for (size_t j = 1; j < c->traces; j++)
		FUZZ_CHECK(c->trace_ns[j - 1] <= c->trace_ns[j]);
	FUZZ_CHECK((c->load == GP_PLAN_DEPENDENT) == (c->after != 0));
	FUZZ_CHECK(!(c->after >> i & 1) && c->batch);
	check_killed(p, c);
	check_runtime(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[256] = "";
	struct gp_plan *p = gp_plan_parse("fuzz", (const char *)data, size, why, sizeof(why));

	if (!p) {
		check_text(why, sizeof(why) - 1);
		return 0;
	}
	FUZZ_CHECK(p->seconds > 0 && p->clients && p->clients <= GP_PLAN_CLIENTS_MAX);
	for (size_t i = 0; i < p->clients; i++)
		check_client(p, i);
	for (size_t i = 0; i < p->unknowns; i++)
		check_text(p->unknown[i], 79);
	gp_plan_destroy(p);
	return 0;
}
