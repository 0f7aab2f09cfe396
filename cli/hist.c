// SPDX-License-Identifier: Apache-2.0
/*
 * hist.c - gpreempt hist: a tenant's histograms, as gpreemptd keeps them.
 */
#include "wire/hist.h"

#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/view.h"

#define SCHEMA_VERSION 1
#define STEPS 16u	/* buckets of a doubling: a line */
#define BAR 40u

static const struct {
	const char *name, *what;
} kinds[GP_WIRE_HISTS] = {
	[GP_WIRE_HIST_WAIT] = {"wait", "from having work to its turn"},
	[GP_WIRE_HIST_SWITCH] = {"switch", "from asking for the device to having it"},
	[GP_WIRE_HIST_HOLD] = {"hold", "how long the device was held at a time"},
	[GP_WIRE_HIST_SUSPENDED] = {"suspended", "off the device at a time"},
	[GP_WIRE_HIST_SEGMENT] = {"segment", "from a segment's begin to its end"},
};

static const struct {
	const char *name;
	unsigned int per_mille;
} quantiles[] = {
	{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}, {"p100", 1000},
};
#define QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

struct verb {
	bool json;
	const char *device;
	pid_t pid;

	int fd;
	struct gp_view view;
	json_t *list;
	size_t told;		/* tenants */
};

/* ---- one histogram ----------------------------------------------------------------- */

static void print_bar(uint64_t count, uint64_t most)
{
	unsigned int len = (unsigned int)((double)count / (double)most * BAR + 0.5);

	/* What is there is seen. */
	if (count && !len)
		len = 1;
	printf("  %.*s\n", (int)len, "########################################");
}

/* The count of the buckets of one line: the first bucket, then STEPS each. */
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
	       (unsigned long long)hist->total,
	       gp_view_time(hist->sum_ns / hist->total, text));
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
				    bound_json(gp_hist_quantile_ns(hist,
								   quantiles[i].per_mille)));
	}
	for (unsigned int i = 0; i < GP_WIRE_BUCKETS_MAX; i++) {
		if (!hist->count[i])
			continue;
		bucket = json_object();
		json_object_set_new(bucket, "up_to_ns", bound_json(gp_hist_bound_ns(i)));
		json_object_set_new(bucket, "count",
				    json_integer((json_int_t)hist->count[i]));
		json_array_append_new(buckets, bucket);
	}
	json_object_set_new(json, "buckets", buckets);
	return json;
}

/* ---- one tenant ---------------------------------------------------------------------- */

static int ask(struct verb *v, const struct gp_wire_tenant *tenant,
	       enum gp_wire_histogram kind, struct gp_hist *hist)
{
	union gp_wire_msg msg;
	int err;

	gp_wire_init(&msg, GP_WIRE_HISTOGRAM);
	msg.take.pid = tenant->pid;
	msg.take.kind = kind;
	memcpy(msg.take.uuid, tenant->uuid, sizeof(msg.take.uuid));
	err = gp_daemon_ask(v->fd, &msg, GP_WIRE_BUCKETS);
	if (err)
		return gp_fail_daemon("hist", err);
	if (msg.head.type == GP_WIRE_SAID)
		return gp_fail("hist: process %d: %s", (int)v->pid,
			       *msg.said.text ? msg.said.text
					      : strerror(-msg.head.result));
	memset(hist, 0, sizeof(*hist));
	hist->sum_ns = msg.buckets.sum_ns;
	for (unsigned int i = 0; i < GP_WIRE_BUCKETS_MAX; i++) {
		hist->count[i] = msg.buckets.count[i];
		hist->total += hist->count[i];
	}
	return 0;
}

static void print_tenant(const struct verb *v, const struct gp_wire_tenant *tenant)
{
	char cls[GP_CLASS_REQUEST_TEXT_LEN], comm[GP_WIRE_COMM_LEN], device[GP_WIRE_NAME_LEN];

	gp_daemon_class(&tenant->request, cls, sizeof(cls));
	memcpy(comm, tenant->comm, sizeof(comm));
	memcpy(device, tenant->device, sizeof(device));
	printf("%sprocess %d (%s), %s, on %s\n", v->told ? "\n" : "", tenant->pid,
	       gp_printable(comm), cls, gp_printable(device));
}

static json_t *tenant_json(const struct gp_wire_tenant *tenant)
{
	json_t *json = json_object();
	char uuid[48];

	gp_uuid_format(tenant->uuid, uuid, sizeof(uuid));
	json_object_set_new(json, "pid", json_integer(tenant->pid));
	json_object_set_new(json, "command", gp_json_text(tenant->comm));
	json_object_set_new(json, "device", gp_json_text(tenant->device));
	json_object_set_new(json, "uuid", json_string(uuid));
	return json;
}

static int tell(struct verb *v, const struct gp_wire_tenant *tenant)
{
	json_t *json = tenant_json(tenant), *hists = json_array();
	struct gp_hist hist;
	int err = 0, shown = 0;

	json_object_set_new(json, "histograms", hists);
	json_array_append_new(v->list, json);
	if (!v->json)
		print_tenant(v, tenant);
	for (int kind = 0; kind < GP_WIRE_HISTS; kind++) {
		err = ask(v, tenant, (enum gp_wire_histogram)kind, &hist);
		if (err)
			return err;
		if (v->json) {
			json_array_append_new(hists,
					      hist_json(&hist, (enum gp_wire_histogram)kind));
		} else if (hist.total) {
			print_hist(&hist, (enum gp_wire_histogram)kind);
			shown++;
		}
	}
	if (!v->json && !shown)
		printf("  nothing was measured yet\n");
	v->told++;
	return 0;
}

/* ---- the verb -------------------------------------------------------------------------- */

static int tell_all(struct verb *v)
{
	GP_DEVICES struct gp_devices devices = {0};
	char why[GP_WHY_LEN];
	int err = 0;

	if (v->device && gp_devices_open(v->device, &devices, why, sizeof(why)))
		return gp_fail("hist: %s", why);
	for (size_t i = 0; !err && i < v->view.tenants; i++) {
		const struct gp_wire_tenant *tenant = &v->view.tenant[i];

		if (tenant->pid == v->pid &&
		    (!v->device || !memcmp(tenant->uuid, devices.dev[0]->id.uuid,
					   sizeof(tenant->uuid))))
			err = tell(v, tenant);
	}
	if (err || v->told)
		return err;
	return gp_fail("hist: process %d is not under gpreemptd%s%s", (int)v->pid,
		       v->device ? " on " : "", v->device ? v->device : "");
}

static void print_json(const struct verb *v)
{
	json_t *json = json_object();

	json_object_set_new(json, "schema_version", json_integer(SCHEMA_VERSION));
	json_object_set(json, "tenants", v->list);
	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(json);
}

static int show(struct verb *v)
{
	int err = gp_check_pid("hist", v->pid);

	if (err)
		return err;
	v->fd = gp_wire_daemon_connect();
	err = v->fd < 0 ? v->fd : gp_view_read(v->fd, &v->view);
	if (err)
		return gp_fail_daemon("hist", err);
	err = tell_all(v);
	if (!err && v->json)
		print_json(v);
	return err;
}

static const struct argp_option options[] = {
	{"json", 'j', NULL, 0, "print JSON, with all buckets; times are integers, _ns", 0},
	{"device", 'd', "DEVICE", 0, "only there: a UUID, a PCI address or soft0", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct verb *v = state->input;

	switch (key) {
	case 'j':
		v->json = true;
		return 0;
	case 'd':
		v->device = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (v->pid) {
			gp_fail("hist: one process at a time: %d and %s", (int)v->pid, arg);
			return GP_ARGS_SAID;
		}
		return gp_args_pid("hist", arg, &v->pid);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int gp_verb_hist(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PID",
		.doc = "Show how long a process under gpreemptd waited for its turn, how "
		       "long it took until it had the device, was held, was suspended, "
		       "or was in a segment. Figures are right to a sixteenth; below "
		       "1 us they are one.",
	};
	struct verb v = {.fd = -1};
	int err = gp_args(&argp, argc, argv, &v);

	if (err)
		return err;
	if (!v.pid)
		return gp_fail("hist: no process; write gpreempt hist PID");
	v.list = json_array();
	err = show(&v);
	gp_cleanup_close(&v.fd);
	gp_view_clear(&v.view);
	json_decref(v.list);
	return err;
}
