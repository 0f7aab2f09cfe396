// SPDX-License-Identifier: Apache-2.0
/*
 * hist.c - gpreempt hist: a tenant's histograms, as gpreemptd keeps them.
 */
#include "wire/hist.h"

#include <string.h>

#include "cli/tenant_query.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/view.h"

#define STEPS 16u /* buckets of a doubling, per line */
#define BAR 40u

static const struct {
	const char *name, *what;
} kinds[GP_WIRE_HISTS] = {
	[GP_WIRE_HIST_WAIT] = { "wait", "from having work to its turn" },
	[GP_WIRE_HIST_SWITCH] = { "switch", "from requesting the device to having it" },
	[GP_WIRE_HIST_HOLD] = { "hold", "length of holds" },
	[GP_WIRE_HIST_SUSPENDED] = { "suspended", "length of suspensions" },
	[GP_WIRE_HIST_SEGMENT] = { "segment", "length of segments" },
};

static const struct {
	const char *name;
	unsigned int per_mille;
} quantiles[] = {
	{ "p50", 500 }, { "p90", 900 }, { "p99", 990 }, { "p99.9", 999 }, { "p100", 1000 },
};
#define QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

/* ---- one histogram ----------------------------------------------------------------- */

static void print_bar(uint64_t count, uint64_t most)
{
	unsigned int len = (unsigned int)((double)count / (double)most * BAR + 0.5);

	/* Any count shows. */
	if (count && !len)
		len = 1;
	printf("  %.*s\n", (int)len, "########################################");
}

/* The count in one line's buckets: the first bucket, then STEPS each. */
static uint64_t line_count(const struct gp_hist *hist, unsigned int line)
{
	unsigned int first = line ? 1 + (line - 1) * STEPS : 0;
	uint64_t count = 0;

	for (unsigned int i = first; i < first + (line ? STEPS : 1); i++)
		count += i < GP_WIRE_BUCKETS_MAX ? hist->count[i] : 0;
	return count;
}

static void print_lines(const struct gp_hist *hist)
{
	const unsigned int lines = 1 + GP_WIRE_BUCKETS_MAX / STEPS;
	unsigned int from = lines, to = 0;
	char bound[GP_VIEW_TEXT_LEN];
	uint64_t most = 0;

	for (unsigned int i = 0; i < lines; i++) {
		if (!line_count(hist, i))
			continue;
		from = from < i ? from : i;
		to = i;
		if (line_count(hist, i) > most)
			most = line_count(hist, i);
	}
	for (unsigned int i = from; i <= to; i++) {
		gp_view_time(gp_hist_bound_ns(i * STEPS), bound);
		printf("  %s %8s %10llu", i + 1 < lines ? "up to" : " more",
		       i + 1 < lines ? bound : "", (unsigned long long)line_count(hist, i));
		print_bar(line_count(hist, i), most);
	}
}

static void print_hist(const struct gp_hist *hist, enum gp_wire_histogram kind)
{
	char text[GP_VIEW_TEXT_LEN];

	printf("\n%s, %s: %llu times, %s on average\n", kinds[kind].name, kinds[kind].what,
	       (unsigned long long)hist->total, gp_view_time(hist->sum_ns / hist->total, text));
	for (size_t i = 0; i < QUANTILES; i++)
		printf("  %s %s", quantiles[i].name,
		       gp_view_time(gp_hist_quantile_ns(hist, quantiles[i].per_mille), text));
	putchar('\n');
	print_lines(hist);
}

/* The last bucket has no bound. */
static json_t *bound_json(uint64_t ns)
{
	return gp_json_number(ns != UINT64_MAX, ns);
}

static json_t *hist_json(const struct gp_hist *hist, enum gp_wire_histogram kind)
{
	json_t *json = json_object(), *buckets = json_array(), *bucket;
	char key[16];

	json_object_set_new(json, "kind", json_string(kinds[kind].name));
	json_object_set_new(json, "count", json_integer((json_int_t)hist->total));
	json_object_set_new(json, "sum_ns", json_integer((json_int_t)hist->sum_ns));
	for (size_t i = 0; i < QUANTILES; i++) {
		snprintf(key, sizeof(key), "%s_ns", quantiles[i].name);
		json_object_set_new(json, key,
				    bound_json(gp_hist_quantile_ns(hist, quantiles[i].per_mille)));
	}
	for (unsigned int i = 0; i < GP_WIRE_BUCKETS_MAX; i++) {
		if (!hist->count[i])
			continue;
		bucket = json_object();
		json_object_set_new(bucket, "up_to_ns", bound_json(gp_hist_bound_ns(i)));
		json_object_set_new(bucket, "count", json_integer((json_int_t)hist->count[i]));
		json_array_append_new(buckets, bucket);
	}
	json_object_set_new(json, "buckets", buckets);
	return json;
}

/* ---- one tenant ---------------------------------------------------------------------- */

static int ask(const struct gp_tenant_query *a, const struct gp_wire_tenant *tenant,
	       enum gp_wire_histogram kind, struct gp_hist *hist)
{
	union gp_wire_msg msg;
	int err;

	gp_wire_init(&msg, GP_WIRE_HISTOGRAM);
	msg.take.pid = tenant->pid;
	msg.take.kind = kind;
	memcpy(msg.take.uuid, tenant->uuid, sizeof(msg.take.uuid));
	err = gp_tenant_query_ask(a, &msg, GP_WIRE_BUCKETS);
	if (err)
		return err;
	memset(hist, 0, sizeof(*hist));
	hist->sum_ns = msg.buckets.sum_ns;
	for (unsigned int i = 0; i < GP_WIRE_BUCKETS_MAX; i++) {
		hist->count[i] = msg.buckets.count[i];
		hist->total += hist->count[i];
	}
	return 0;
}

static int print_answer(struct gp_tenant_query *a, const struct gp_wire_tenant *tenant)
{
	json_t *json = gp_tenant_query_json(a, tenant->comm, tenant->device, tenant->uuid);
	json_t *hists = json_array();
	struct gp_hist hist;
	int err = 0, shown = 0;

	json_object_set_new(json, "histograms", hists);
	json_array_append_new(a->list, json);
	if (!a->json)
		gp_tenant_query_head(a, tenant->comm, tenant->device, &tenant->request);
	for (int kind = 0; kind < GP_WIRE_HISTS; kind++) {
		err = ask(a, tenant, (enum gp_wire_histogram)kind, &hist);
		if (err)
			return err;
		if (a->json) {
			json_array_append_new(hists,
					      hist_json(&hist, (enum gp_wire_histogram)kind));
		} else if (hist.total) {
			print_hist(&hist, (enum gp_wire_histogram)kind);
			shown++;
		}
	}
	if (!a->json && !shown)
		printf("  no measurements yet\n");
	a->printed++;
	return 0;
}

static int print_all(struct gp_tenant_query *a)
{
	GP_DEVICES struct gp_devices devices = { 0 };
	char why[GP_WHY_LEN];
	int err = 0;

	if (a->device && gp_devices_open(a->device, &devices, why, sizeof(why)))
		return gp_fail("hist: %s", why);
	for (size_t i = 0; !err && i < a->view.tenants; i++) {
		const struct gp_wire_tenant *tenant = &a->view.tenant[i];

		if (tenant->pid == a->pid &&
		    (!a->device ||
		     !memcmp(tenant->uuid, devices.dev[0]->id.uuid, sizeof(tenant->uuid))))
			err = print_answer(a, tenant);
	}
	if (err || a->printed)
		return err;
	return gp_fail("hist: process %d is not under gpreemptd%s%s; start it with gpreempt run, "
		       "or use gpreempt attach",
		       (int)a->pid, a->device ? " on " : "", a->device ? a->device : "");
}

int gp_verb_hist(int argc, char **argv)
{
	static const struct gp_tenant_query_verb verb = {
		.name = "hist",
		.doc = "Show histograms of a process under gpreemptd: waits for its turn, switches "
		       "to it, holds, suspensions and segments. Figures are right to one "
		       "sixteenth. Times below 1 us share a bucket.",
		.json_doc = "print JSON, with all buckets; times are integers, _ns",
		.list = "tenants",
		.print = print_all,
	};

	return gp_tenant_query_run(&verb, argc, argv);
}
