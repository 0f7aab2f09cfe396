// SPDX-License-Identifier: Apache-2.0
/*
 * top_text.c - the text of gpreempt top: two views of one daemon, and the changes between
 * them. A figure that one of them lacks is "-".
 */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "cli/daemon.h"
#include "cli/text.h"
#include "cli/view.h"
#include "gpreempt/hal.h"

#define USERS 64

/* A tenant, and its rates between the views. */
struct line {
	const struct gp_wire_tenant *now;
	double used_pct, turn_pct, preempted_hz; /* < 0: unknown */
};

/* ---- figures ------------------------------------------------------------------ */

/* (@now - @before) / @over; < 0: a value is unknown, or it fell. */
static double rate(uint64_t now, uint64_t before, uint64_t over)
{
	if (now == GP_WIRE_UNKNOWN || before == GP_WIRE_UNKNOWN || now < before || !over)
		return -1;
	return (double)(now - before) / (double)over;
}

static const char *figure(double value, double times, char buf[GP_VIEW_TEXT_LEN])
{
	if (value < 0)
		snprintf(buf, GP_VIEW_TEXT_LEN, "-");
	else
		snprintf(buf, GP_VIEW_TEXT_LEN, "%.1f", value * times);
	return buf;
}

static const char *memory_on_device(const struct gp_wire_tenant *t, char buf[GP_VIEW_TEXT_LEN])
{
	if (gp_view_has_memory(&t->memory))
		return gp_view_bytes(t->memory.movable + t->memory.fixed, buf);
	snprintf(buf, GP_VIEW_TEXT_LEN, "-");
	return buf;
}

static const char *memory_out(const struct gp_wire_tenant *t, char buf[GP_VIEW_TEXT_LEN])
{
	if (gp_view_has_memory(&t->memory))
		return gp_view_bytes(t->memory.out, buf);
	snprintf(buf, GP_VIEW_TEXT_LEN, "-");
	return buf;
}

static const char *count(uint64_t value, char buf[GP_VIEW_TEXT_LEN])
{
	if (value == GP_WIRE_UNKNOWN)
		snprintf(buf, GP_VIEW_TEXT_LEN, "-");
	else
		snprintf(buf, GP_VIEW_TEXT_LEN, "%llu", (unsigned long long)value);
	return buf;
}

/* A user's name, cached, because the lookup may use the network. */
static const char *user_name(uint32_t uid)
{
	static struct {
		uint32_t uid;
		char name[32];
	} known[USERS];
	static size_t users;
	struct passwd *pw;
	size_t i = 0;

	while (i < users && known[i].uid != uid)
		i++;
	if (i < users)
		return known[i].name;
	if (users < USERS)
		users++;
	else
		i = USERS - 1;
	known[i].uid = uid;
	pw = getpwuid(uid);
	if (pw)
		snprintf(known[i].name, sizeof(known[i].name), "%s", pw->pw_name);
	else
		snprintf(known[i].name, sizeof(known[i].name), "%u", uid);
	return known[i].name;
}

static struct line line_of(const struct gp_wire_tenant *now, const struct gp_view *before)
{
	const struct gp_wire_tenant *was = before ? gp_view_tenant(before, now->pid, now->uuid) :
						    NULL;
	struct line line = { .now = now, .used_pct = -1, .turn_pct = -1, .preempted_hz = -1 };
	uint64_t over;

	/* Younger than before: another process, or another daemon. */
	if (!was || now->age_ns <= was->age_ns)
		return line;
	over = now->age_ns - was->age_ns;
	line.used_pct = 100 * rate(now->used_ns, was->used_ns, over);
	if (now->request.cls != GP_CLASS_BE)
		return line;
	line.turn_pct = 100 * rate(now->resident_ns, was->resident_ns, over);
	line.preempted_hz = 1e9 * rate(now->preempted, was->preempted, over);
	return line;
}

/* ---- order --------------------------------------------------------------------- */

static const char *const key_name[GP_TOP_KEYS] = {
	[GP_TOP_USED] = "used",	    [GP_TOP_TURN] = "turn", [GP_TOP_WAIT] = "wait",
	[GP_TOP_SWITCH] = "switch", [GP_TOP_PID] = "pid",   [GP_TOP_NAME] = "name",
};

int gp_top_key_parse(const char *text, enum gp_top_key *key)
{
	for (int i = 0; i < GP_TOP_KEYS; i++)
		if (!strcmp(text, key_name[i])) {
			*key = (enum gp_top_key)i;
			return 0;
		}
	return -EINVAL;
}

const char *gp_top_key_name(enum gp_top_key key)
{
	return key_name[key];
}

static int compare_figures(double a, double b)
{
	return a > b ? -1 : a < b;
}

/* Unknown values come last. */
static int compare_times(uint64_t a, uint64_t b)
{
	a = a == GP_WIRE_UNKNOWN ? 0 : a + 1;
	b = b == GP_WIRE_UNKNOWN ? 0 : b + 1;
	return a > b ? -1 : a < b;
}

/* The greatest first, but names and PIDs ascending. */
static int compare_by(const struct line *a, const struct line *b, enum gp_top_key key)
{
	switch (key) {
	case GP_TOP_USED:
		return compare_figures(a->used_pct, b->used_pct);
	case GP_TOP_TURN:
		return compare_figures(a->turn_pct, b->turn_pct);
	case GP_TOP_WAIT:
		return compare_times(a->now->wait_p99_ns, b->now->wait_p99_ns);
	case GP_TOP_SWITCH:
		return compare_times(a->now->switch_p99_ns, b->now->switch_p99_ns);
	case GP_TOP_NAME:
		return strcmp(a->now->comm, b->now->comm);
	default:
		return 0;
	}
}

static int compare_lines(const void *a, const void *b, void *arg)
{
	const struct line *x = a, *y = b;
	const struct gp_top_order *order = arg;
	int by = compare_by(x, y, order->key);

	if (!by)
		by = x->now->pid < y->now->pid ? -1 : x->now->pid > y->now->pid;
	return order->reverse ? -by : by;
}

/* ---- text ---------------------------------------------------------------------- */

static const struct gp_wire_device *device_before(const struct gp_view *before,
						  const struct gp_wire_device *now)
{
	for (size_t i = 0; before && i < before->devices; i++)
		if (!memcmp(before->device[i].uuid, now->uuid, sizeof(now->uuid)))
			return &before->device[i];
	return NULL;
}

static const char *usage_source(uint32_t usage)
{
	switch (usage) {
	case GP_WIRE_USAGE_LOG:
		return "by the device's log";
	case GP_WIRE_USAGE_DRIVER:
		return "by the driver's counters";
	default:
		return "unknown here";
	}
}

static void print_resident(FILE *out, const struct gp_view *view, const struct gp_wire_device *d)
{
	const struct gp_wire_tenant *tenant = gp_view_tenant(view, d->resident_pid, d->uuid);
	char comm[GP_WIRE_COMM_LEN] = "";

	if (tenant)
		memcpy(comm, tenant->comm, sizeof(comm));
	if (d->resident_pid)
		fprintf(out, "  resident %d (%s)", d->resident_pid, gp_printable(comm));
	else
		fprintf(out, "  resident -");
}

static void print_device(FILE *out, const struct gp_view *before, const struct gp_view *view,
			 const struct gp_wire_device *d)
{
	const struct gp_wire_device *was = device_before(before, d);
	char name[GP_WIRE_NAME_LEN], text[5][GP_VIEW_TEXT_LEN], uuid[48];
	char be[sizeof(d->be_policy)], lc[sizeof(d->lc_policy)];
	uint64_t over = was && d->up_ns > was->up_ns ? d->up_ns - was->up_ns : 0;

	if (!was)
		was = d; /* with @over 0 all rates are unknown */
	memcpy(name, d->name, sizeof(name));
	memcpy(be, d->be_policy, sizeof(be));
	memcpy(lc, d->lc_policy, sizeof(lc));
	gp_uuid_format(d->uuid, uuid, sizeof(uuid));
	fprintf(out, "%s  %s\n", gp_printable(name), uuid);
	fprintf(out, "  be %s, lc %s, quantum %s, be_min %u%%, %u tenants, up %s\n",
		gp_printable(be), gp_printable(lc), gp_view_time(d->quantum_ns, text[0]),
		d->be_min_pct, d->tenants, gp_view_time(d->up_ns, text[1]));
	print_resident(out, view, d);
	fprintf(out, ", turns/s %s, preempts/s %s, control %s%%, failed %s, log lost %s\n",
		figure(rate(d->turns, was->turns, over), 1e9, text[0]),
		figure(rate(d->preempts, was->preempts, over), 1e9, text[1]),
		figure(rate(d->control_ns, was->control_ns, over), 100, text[2]),
		count(d->failed, text[3]), count(d->log_lost, text[4]));
	fprintf(out, "  USED%% is %s\n", usage_source(d->usage));
}

static void print_line(FILE *out, const struct line *line)
{
	const struct gp_wire_tenant *t = line->now;
	char cls[GP_CLASS_REQUEST_TEXT_LEN], comm[GP_WIRE_COMM_LEN];
	char text[9][GP_VIEW_TEXT_LEN];

	gp_daemon_class(&t->request, cls, sizeof(cls));
	memcpy(comm, t->comm, sizeof(comm));
	fprintf(out, "%8d %-8.8s %-12.12s %-7s %6s %6s %8s %8s %8s %8s %8s %7s %7s  %s\n", t->pid,
		user_name(t->uid), cls, gp_view_state(t), figure(line->used_pct, 1, text[0]),
		figure(line->turn_pct, 1, text[1]), gp_view_time(t->wait_p50_ns, text[2]),
		gp_view_time(t->wait_p99_ns, text[3]), gp_view_time(t->switch_p50_ns, text[4]),
		gp_view_time(t->switch_p99_ns, text[5]), figure(line->preempted_hz, 1, text[6]),
		memory_on_device(t, text[7]), memory_out(t, text[8]), gp_printable(comm));
}

static void print_tenants(FILE *out, const struct gp_view *before, const struct gp_view *now,
			  const struct gp_wire_device *d, struct gp_top_order order)
{
	struct line *line = calloc(now->tenants + 1, sizeof(*line));
	size_t n = 0;

	for (size_t i = 0; line && i < now->tenants; i++)
		if (!memcmp(now->tenant[i].uuid, d->uuid, sizeof(d->uuid)))
			line[n++] = line_of(&now->tenant[i], before);
	if (n)
		qsort_r(line, n, sizeof(*line), compare_lines, &order);
	fprintf(out, "%8s %-8s %-12s %-7s %6s %6s %8s %8s %8s %8s %8s %7s %7s  %s\n", "PID", "USER",
		"CLASS", "STATE", "USED%", "TURN%", "WAIT50", "WAIT99", "SWITCH50", "SWITCH99",
		"CUT/s", "MEM", "OUT", "COMMAND");
	for (size_t i = 0; i < n; i++)
		print_line(out, &line[i]);
	free(line);
}

void gp_top_print(FILE *out, const struct gp_view *before, const struct gp_view *now,
		  const struct gp_top_order *order)
{
	for (size_t i = 0; i < now->devices; i++) {
		if (i)
			fputc('\n', out);
		print_device(out, before, now, &now->device[i]);
		print_tenants(out, before, now, &now->device[i], *order);
	}
	if (!now->devices)
		fprintf(out, "gpreemptd manages no device\n");
}
