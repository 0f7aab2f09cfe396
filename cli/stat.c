// SPDX-License-Identifier: Apache-2.0
/*
 * stat.c - gpreempt stat: run CMD, then print its requests to gpreempt and its time on the
 * GPU. The output names two sources: CMD's own counters, queried while it runs, and the GPU's
 * context-switch log. A figure without a source is "-", in JSON null.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/usage.h"
#include "cli/limits.h"
#include "cli/view.h"
#include "sched/sched.h"
#include "wire/wire.h"

#define SCHEMA_VERSION 1
#define SAMPLE_MS 50
#define FIRST_SAMPLE_MS 5 /* so that a short CMD has a sample */
#define QUERY_MS 50
#define LOG_LATE_MS 50 /* NVIDIA's records come up to 33 ms late */

struct stat_run {
	struct gp_cmd_args cmd;
	const char *out_path;
	bool json;

	FILE *out;
	struct gp_devices devices;
	struct gp_usage *usage;
	struct gp_child child;
	int status; /* in waitpid()'s form */
	uint64_t elapsed_ns;
	struct gp_wire_status tenant[GP_SCHED_MAX_TENANTS];
	struct gp_wire_memory_figures memory[GP_SCHED_MAX_TENANTS]; /* of tenant[] */
	size_t tenants;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- while it runs ----------------------------------------------------------------- */

static struct gp_wire_status *tenant_place(struct stat_run *r, pid_t pid)
{
	for (size_t i = 0; i < r->tenants; i++)
		if (r->tenant[i].pid == pid)
			return &r->tenant[i];
	return r->tenants < GP_SCHED_MAX_TENANTS ? &r->tenant[r->tenants] : NULL;
}

static void add_memory(struct gp_wire_memory_figures *sum, const struct gp_wire_memory_figures *m)
{
	sum->movable += m->movable;
	sum->fixed += m->fixed;
	sum->out += m->out;
	sum->moves += m->moves;
	sum->moved += m->moved;
	sum->move_ns += m->move_ns;
}

/* Of all its devices. */
static void sample_memory(pid_t pid, struct gp_wire_memory_figures *memory)
{
	struct gp_wire_status status[GP_WIRE_MAX_DEVICES];
	ssize_t n = gp_tenant_devices(pid, status, GP_WIRE_MAX_DEVICES, QUERY_MS);
	struct gp_wire_memory_figures one, sum = { 0 };

	for (ssize_t i = 0; i < n; i++)
		if (!gp_tenant_memory(pid, status[i].uuid, &one, QUERY_MS))
			add_memory(&sum, &one);
	if (n > 0)
		*memory = sum;
}

static void sample_tenants(struct stat_run *r)
{
	pid_t pid[GP_SCHED_MAX_TENANTS];
	ssize_t n = gp_wire_tenants(pid, GP_SCHED_MAX_TENANTS);
	struct gp_wire_status status, *place;

	for (ssize_t i = 0; i < n; i++) {
		place = tenant_place(r, pid[i]);
		if (!place || !gp_is_descendant(pid[i], r->child.pid) ||
		    gp_tenant_status(pid[i], &status, QUERY_MS))
			continue;
		r->tenants += place == &r->tenant[r->tenants];
		*place = status;
		sample_memory(pid[i], &r->memory[place - r->tenant]);
	}
}

static void read_logs(struct stat_run *r)
{
	for (size_t i = 0; i < r->devices.count; i++)
		gp_usage_read(&r->usage[i], r->child.pid);
}

static void watch(struct stat_run *r)
{
	struct pollfd pfd[] = {
		{ .fd = r->child.pidfd, .events = POLLIN },
		{ .fd = r->child.signal_fd, .events = POLLIN },
	};
	uint64_t start_ns = now_ns();
	int wait_ms = FIRST_SAMPLE_MS;

	while (!pfd[0].revents) {
		poll(pfd, 2, wait_ms);
		if (pfd[1].revents)
			gp_child_forward(&r->child);
		sample_tenants(r);
		read_logs(r);
		wait_ms = wait_ms * 2 < SAMPLE_MS ? wait_ms * 2 : SAMPLE_MS;
	}
	r->elapsed_ns = now_ns() - start_ns;
	r->status = gp_child_wait(&r->child);
	poll(NULL, 0, LOG_LATE_MS);
	read_logs(r);
}

/* ---- text ---------------------------------------------------------------------------- */

static void row(FILE *out, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void row(FILE *out, const char *name, const char *fmt, ...)
{
	va_list ap;

	fprintf(out, "  %-22s", name);
	va_start(ap, fmt);
	vfprintf(out, fmt, ap);
	va_end(ap);
	fputc('\n', out);
}

static void row_us(FILE *out, const char *name, bool known, uint64_t ns)
{
	if (known)
		row(out, name, "%.1f us", (double)ns / 1000);
	else
		row(out, name, "-");
}

static void print_usage(FILE *out, const struct gp_usage *u)
{
	char spec[GP_DEVICE_NAME_LEN];

	gp_device_spec(u->dev, spec, sizeof(spec));
	if (u->by_group) {
		fprintf(out, "\n%s, driver's counters, sampled:\n", spec);
		if (u->groups)
			row(out, "on queue slots", "%.3f ms", (double)u->busy_ns / 1e6);
		else
			row(out, "on queue slots", "-");
		return;
	}
	if (!u->log) {
		fprintf(out, "\n%s, cannot read the context-switch log: %s\n", spec,
			strerror(-u->err));
		row(out, "GPU time", "-");
		row(out, "stretches", "-");
		row(out, "lost to others", "-");
		return;
	}
	fprintf(out, "\n%s, context-switch log:\n", spec);
	row(out, "GPU time", "%.3f ms", (double)u->busy_ns / 1e6);
	row(out, "stretches", "%llu", (unsigned long long)u->stretches);
	row(out, "lost to others", "%llu times, %.3f ms in all, longest %.1f us",
	    (unsigned long long)u->gaps, (double)u->gap_ns / 1e6, (double)u->gap_max_ns / 1000);
	if (u->lost)
		row(out, "records lost", "%llu, so the figures are too small",
		    (unsigned long long)u->lost);
}

static void print_lc(FILE *out, const struct gp_wire_status *st)
{
	row(out, "hints", "%llu", (unsigned long long)st->hints);
	if (st->learns || st->guesses)
		row(out, "predictions", "%llu, %llu right, %llu wrong; %s",
		    (unsigned long long)st->guesses, (unsigned long long)st->guess_hits,
		    (unsigned long long)st->guess_misses,
		    st->rhythm ? "period known" : "no period known");
	else
		row(out, "predictions", "-");
	row(out, "segments", "%llu", (unsigned long long)st->segments);
	row(out, "holds", "%llu, %llu late, %llu ended by their limit",
	    (unsigned long long)st->holds, (unsigned long long)st->holds_late,
	    (unsigned long long)st->holds_expired);
	row(out, "held", "%.3f ms", (double)st->held_ns / 1e6);
	row_us(out, "switch, last", st->switch_ns, st->switch_ns);
	row_us(out, "switch, shortest", st->switch_min_ns, st->switch_min_ns);
	row_us(out, "switch, longest", st->switch_max_ns, st->switch_max_ns);
}

static void print_tenant(FILE *out, const struct gp_wire_status *st,
			 const struct gp_wire_memory_figures *memory)
{
	struct gp_class_value cls = { st->cls, st->value };
	char text[GP_CLASS_TEXT_LEN], comm[sizeof(st->comm)];

	gp_class_format(&cls, text, sizeof(text));
	memcpy(comm, st->comm, sizeof(comm));
	fprintf(out, "\nprocess %d (%s), own counters, sampled:\n", st->pid, gp_printable(comm));
	row(out, "class", "%s", text);
	if (st->slice_us)
		row(out, "slice", "%llu us", (unsigned long long)st->slice_us);
	else
		row(out, "slice", "-");
	if (st->cls == GP_CLASS_LC)
		print_lc(out, st);
	if (!gp_view_has_memory(memory))
		return;
	fprintf(out, "  %-22s", "memory");
	gp_view_memory(out, memory);
	fputc('\n', out);
}

static void print_text(const struct stat_run *r)
{
	FILE *out = r->out;

	fprintf(out, "\ngpreempt stat: %s: %.3f s", r->cmd.argv[0], (double)r->elapsed_ns / 1e9);
	if (WIFSIGNALED(r->status))
		fprintf(out, ", ended by signal %d\n", WTERMSIG(r->status));
	else
		fprintf(out, ", exit status %d\n", WEXITSTATUS(r->status));
	for (size_t i = 0; i < r->devices.count; i++)
		print_usage(out, &r->usage[i]);
	for (size_t i = 0; i < r->tenants; i++)
		print_tenant(out, &r->tenant[i], &r->memory[i]);
	if (!r->tenants)
		fprintf(out, "\ncounters: - (gpreempt did not run in it: %s)\n",
			r->cmd.class_text ? "it used no GPU, or cannot load the preload" :
					    "add --class=CLASS");
}

/* ---- JSON ----------------------------------------------------------------------------- */

static json_t *usage_json(const struct gp_usage *u)
{
	char spec[GP_DEVICE_NAME_LEN];
	json_t *json = json_object();
	bool known = u->log;

	gp_device_spec(u->dev, spec, sizeof(spec));
	json_object_set_new(json, "device", gp_json_text(spec));
	json_object_set_new(json, "busy_ns", gp_json_number(known || u->groups, u->busy_ns));
	json_object_set_new(json, "stretches", gp_json_number(known, u->stretches));
	json_object_set_new(json, "gaps", gp_json_number(known, u->gaps));
	json_object_set_new(json, "gap_ns", gp_json_number(known, u->gap_ns));
	json_object_set_new(json, "gap_max_ns", gp_json_number(known, u->gap_max_ns));
	json_object_set_new(json, "records_lost", gp_json_number(known, u->lost));
	return json;
}

static json_t *tenant_json(const struct gp_wire_status *st,
			   const struct gp_wire_memory_figures *memory)
{
	bool lc = st->cls == GP_CLASS_LC;
	bool guessed = lc && (st->learns || st->guesses);
	json_t *json = json_object();

	json_object_set_new(json, "pid", json_integer(st->pid));
	json_object_set_new(json, "command", gp_json_text(st->comm));
	gp_json_class(json, st, true);
	json_object_set_new(json, "slice_us", gp_json_number(st->slice_us, st->slice_us));
	json_object_set_new(json, "hints", gp_json_number(lc, st->hints));
	json_object_set_new(json, "predictions", gp_json_number(guessed, st->guesses));
	json_object_set_new(json, "prediction_hits", gp_json_number(guessed, st->guess_hits));
	json_object_set_new(json, "prediction_misses", gp_json_number(guessed, st->guess_misses));
	gp_json_holds(json, st, lc);
	json_object_set_new(json, "memory", gp_json_memory(memory));
	return json;
}

static void print_json(const struct stat_run *r)
{
	json_t *json = json_object(), *usage = json_array();
	json_t *tenants = json_array(), *cmd = json_array();
	bool signaled = WIFSIGNALED(r->status);

	for (char **arg = r->cmd.argv; *arg; arg++)
		json_array_append_new(cmd, gp_json_text(*arg));
	for (size_t i = 0; i < r->devices.count; i++)
		json_array_append_new(usage, usage_json(&r->usage[i]));
	for (size_t i = 0; i < r->tenants; i++)
		json_array_append_new(tenants, tenant_json(&r->tenant[i], &r->memory[i]));
	json_object_set_new(json, "schema_version", json_integer(SCHEMA_VERSION));
	json_object_set_new(json, "command", cmd);
	json_object_set_new(json, "elapsed_ns", json_integer((json_int_t)r->elapsed_ns));
	json_object_set_new(json, "exit_status",
			    gp_json_number(!signaled, (uint64_t)WEXITSTATUS(r->status)));
	json_object_set_new(json, "signal",
			    gp_json_number(signaled, (uint64_t)WTERMSIG(r->status)));
	json_object_set_new(json, "switch_log", usage);
	json_object_set_new(json, "sampled", tenants);
	json_dumpf(json, r->out, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	fputc('\n', r->out);
	json_decref(json);
}

/* ---- the verb --------------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "class", 'c', "CLASS", 0, "run with this class: lc, lc:LEVEL, be or be:WEIGHT", 0 },
	{ "device", GP_KEY_DEVICE, "DEVICE", 0,
	  "act on this device only: a UUID, a PCI address or soft0", 0 },
	{ "json", 'j', NULL, 0, "write JSON; times are integers, _ns and _us", 0 },
	{ "output", 'o', "FILE", 0, "write to FILE instead of standard error", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stat_run *r = state->input;

	switch (key) {
	case 'j':
		r->json = true;
		return 0;
	case 'o':
		r->out_path = arg;
		return 0;
	default:
		return gp_args_cmd("stat", &r->cmd, key, arg, state);
	}
}

static int open_devices(struct stat_run *r)
{
	const char *device = r->cmd.device ? r->cmd.device : getenv("GPREEMPT_DEVICE");
	char why[GP_WHY_LEN];

	if (gp_devices_open(device && *device ? device : NULL, &r->devices, why, sizeof(why)))
		return gp_fail("stat: %s", why);
	r->usage = calloc(r->devices.count, sizeof(*r->usage));
	if (!r->usage)
		return gp_fail("stat: out of memory");
	for (size_t i = 0; i < r->devices.count; i++)
		gp_usage_open(&r->usage[i], r->devices.dev[i]);
	return 0;
}

static void stat_done(struct stat_run *r)
{
	for (size_t i = 0; r->usage && i < r->devices.count; i++)
		gp_usage_close(&r->usage[i]);
	free(r->usage);
	gp_devices_close(&r->devices);
	if (r->out && r->out != stderr)
		fclose(r->out);
	gp_child_done(&r->child);
}

/* As gpreempt run does. */
static int follow_rule(const struct stat_run *r)
{
	struct gp_limits_args limits = { 0 };
	char refusal[GP_WIRE_TEXT_LEN];
	struct gp_wire_ruled ruled;
	int err;

	if (!r->cmd.class_text)
		return 0;
	(void)gp_rule_ask(r->cmd.class_text, &ruled, refusal);
	gp_limits_follow(&limits, r->cmd.class_text, &ruled);
	err = gp_limits_set("stat", &limits, &ruled);
	return err ? gp_fail("stat: cannot set the environment: %s", strerror(-err)) : 0;
}

/* Every step that can fail before CMD runs. */
static int prepare(struct stat_run *r)
{
	int err = follow_rule(r);

	if (!err && (r->cmd.class_text || r->cmd.device))
		err = gp_launch_prepare("stat", r->cmd.class_text, r->cmd.device, r->cmd.argv[0]);
	if (!err)
		err = open_devices(r);
	if (err)
		return err;
	r->out = r->out_path ? fopen(r->out_path, "we") : stderr;
	if (!r->out)
		return gp_fail("stat: cannot create %s: %s; write another -o FILE", r->out_path,
			       strerror(errno));
	err = gp_child_block_signals(&r->child);
	return err ? gp_fail("stat: cannot catch signals: %s", strerror(-err)) : 0;
}

static int run_and_tell(struct stat_run *r)
{
	int err = prepare(r);

	if (!err)
		err = gp_child_start(&r->child, "stat", r->cmd.argv);
	if (err)
		return err;
	watch(r);
	if (r->json)
		print_json(r);
	else
		print_text(r);
	if (fflush(r->out) || ferror(r->out))
		gp_note("stat: cannot write %s", r->out_path ? r->out_path : "standard error");
	return gp_child_exit_status(r->status);
}

int gp_verb_stat(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-- CMD [ARG...]",
		.doc = "Run CMD, then print its requests to gpreempt and its GPU time.\vExit "
		       "status: CMD's own, 128+N if signal N ended it; 125 gpreempt failed and CMD "
		       "did not run, 126 CMD cannot be executed, 127 CMD was not found.",
	};
	static struct stat_run r = { .child = GP_CHILD_NONE };
	int err = gp_args(&argp, argc, argv, &r);

	if (err)
		return err;
	if (!r.cmd.argv)
		return gp_fail("stat: command missing; write gpreempt stat -- CMD");
	err = run_and_tell(&r);
	stat_done(&r);
	return err;
}
