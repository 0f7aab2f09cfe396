// SPDX-License-Identifier: Apache-2.0
/*
 * ls.c - gpreempt ls: tenants, as they say themselves, and what else has
 * channel groups on the GPU, where this user may look. A figure without a
 * source is "-" in the table and null in JSON.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/text.h"
#include "wire/wire.h"

#define SCHEMA_VERSION 1
#define MAX_ROWS 1024
#define QUERY_MS 500

struct row {
	bool tenant;
	struct gp_wire_status
		st; /* others: pid, comm, device, uuid, groups, slice */
};

struct table {
	struct row *row;
	size_t count;
};

/* ---- finding ---------------------------------------------------------------------- */

static struct row *add_row(struct table *t)
{
	return t->count < MAX_ROWS ? &t->row[t->count++] : NULL;
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

static void find_tenants(struct table *t)
{
	static pid_t pid[MAX_ROWS];
	ssize_t n = gp_wire_tenants(pid, MAX_ROWS);
	struct gp_wire_status status;
	struct row *row;

	if (n > 0)
		qsort(pid, (size_t)n, sizeof(pid[0]), by_pid);
	for (ssize_t i = 0; i < n; i++) {
		if (gp_tenant_query(pid[i], &status, QUERY_MS))
			continue;
		row = add_row(t);
		if (row)
			*row = (struct row){.tenant = true, .st = status};
	}
}

static bool is_tenant(const struct table *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->row[i].tenant && t->row[i].st.pid == pid)
			return true;
	return false;
}

static void add_other(struct table *t, struct gp_device *dev, pid_t pid)
{
	struct gp_group_list list = {0};
	struct row *row;
	size_t n;

	if (dev->ops->groups(dev, pid, &list))
		return;
	n = gp_compute_groups(&list);
	row = n ? add_row(t) : NULL;
	if (row) {
		*row = (struct row){.st = {.pid = pid, .groups = (uint32_t)n}};
		gp_read_comm(pid, row->st.comm, sizeof(row->st.comm));
		snprintf(row->st.device, sizeof(row->st.device), "%s",
			 dev->id.name);
		gp_uuid_format(dev->id.uuid, row->st.uuid,
			       sizeof(row->st.uuid));
		if (dev->ops->get_slice(list.group[0], &row->st.slice_us))
			row->st.slice_us = 0;
	}
	gp_group_list_put(&list);
}

/*
 * gpreempt itself, keepers of a slot, and the software GPU's server have control
 * files open and no work of their own.
 */
static bool is_ours(pid_t pid)
{
	char path[64], exe[PATH_MAX];
	const char *name;
	size_t len;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return false;
	exe[n] = '\0';
	name = strrchr(exe, '/');
	if (!name)
		return false;
	/* " (deleted)" follows when it was installed anew meanwhile. */
	len = strcspn(name, " ");
	return (len == 9 && !strncmp(name, "/gpreempt", len)) ||
	       (len == 18 && !strncmp(name, "/gpreempt-softgpud", len));
}

static void find_others(struct table *t, const struct gp_devices *devices)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid;

	if (!proc)
		return;
	while ((entry = readdir(proc))) {
		if (gp_parse_pid(entry->d_name, &pid) || is_tenant(t, pid) ||
		    is_ours(pid))
			continue;
		for (size_t i = 0; i < devices->count; i++)
			add_other(t, devices->dev[i], pid);
	}
	closedir(proc);
}

/* ---- showing ----------------------------------------------------------------------- */

static void class_text(const struct row *row, char *buf, size_t len)
{
	struct gp_class_value cls = {row->st.cls, row->st.value};

	if (row->tenant)
		gp_class_format(&cls, buf, len);
	else
		snprintf(buf, len, "-");
}

static void number(char *buf, size_t len, bool known, uint64_t value)
{
	if (known)
		snprintf(buf, len, "%llu", (unsigned long long)value);
	else
		snprintf(buf, len, "-");
}

static void print_row(struct row *row)
{
	struct gp_wire_status *st = &row->st;
	char cls[GP_CLASS_TEXT_LEN], slice[24], hints[24], holds[24], late[24];
	char sw[24];
	bool lc = row->tenant && st->cls == GP_CLASS_LC;

	class_text(row, cls, sizeof(cls));
	number(slice, sizeof(slice), st->slice_us, st->slice_us);
	number(hints, sizeof(hints), lc, st->hints);
	number(holds, sizeof(holds), lc, st->holds);
	number(late, sizeof(late), lc, st->holds_late);
	if (st->switch_ns)
		snprintf(sw, sizeof(sw), "%.1f", (double)st->switch_ns / 1000);
	else
		snprintf(sw, sizeof(sw), "-");
	printf("%7d  %-9s %-22.22s %6u %8s %8s %8s %6s %9s  %s\n", st->pid, cls,
	       gp_printable(st->device), st->groups, slice, hints, holds, late, sw,
	       gp_printable(st->comm));
}

static void print_table(struct table *t)
{
	printf("%7s  %-9s %-22s %6s %8s %8s %8s %6s %9s  %s\n", "PID", "CLASS",
	       "DEVICE", "GROUPS", "SLICE_US", "HINTS", "HOLDS", "LATE",
	       "SWITCH_US", "COMMAND");
	for (size_t i = 0; i < t->count; i++)
		print_row(&t->row[i]);
}

static json_t *row_json(const struct row *row)
{
	const struct gp_wire_status *st = &row->st;
	bool t = row->tenant;
	bool lc = t && st->cls == GP_CLASS_LC;
	json_t *json = json_object();

	json_object_set_new(json, "pid", json_integer(st->pid));
	json_object_set_new(json, "command", gp_json_text(st->comm));
	json_object_set_new(json, "tenant", json_boolean(t));
	json_object_set_new(json, "uid", gp_json_number(t, st->uid));
	gp_json_class(json, st, t);
	json_object_set_new(json, "device", gp_json_text(st->device));
	json_object_set_new(json, "uuid", gp_json_text(st->uuid));
	json_object_set_new(json, "compute_groups", json_integer(st->groups));
	json_object_set_new(json, "slice_us",
			    gp_json_number(st->slice_us, st->slice_us));
	json_object_set_new(json, "short_slice",
			    t ? json_boolean(st->short_slice) : json_null());
	json_object_set_new(json, "sync_seen",
			    t ? json_boolean(st->sync_seen) : json_null());
	json_object_set_new(json, "preloaded",
			    json_boolean(t && st->preloaded));
	json_object_set_new(json, "hints", gp_json_number(lc, st->hints));
	gp_json_holds(json, st, lc);
	json_object_set_new(json, "margin_ns",
			    gp_json_number(st->margin_ns, st->margin_ns));
	return json;
}

static void print_json(const struct table *t)
{
	json_t *json = json_object(), *list = json_array();

	for (size_t i = 0; i < t->count; i++)
		json_array_append_new(list, row_json(&t->row[i]));
	json_object_set_new(json, "schema_version",
			    json_integer(SCHEMA_VERSION));
	json_object_set_new(json, "processes", list);
	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	json_decref(json);
	putchar('\n');
}

/* ---- the verb ------------------------------------------------------------------------ */

struct ls {
	bool json;
	const char *device;
};

static const struct argp_option options[] = {
	{"json", 'j', NULL, 0, "print JSON; times are integers, _ns and _us",
	 0},
	{"device", 'd', "DEVICE", 0,
	 "look for processes that are no tenants only there", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ls *ls = state->input;

	switch (key) {
	case 'j':
		ls->json = true;
		return 0;
	case 'd':
		ls->device = arg;
		return 0;
	case ARGP_KEY_ARG:
		gp_fail("ls: %s: not expected; see gpreempt ls --help", arg);
		return GP_ARGS_SAID;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int gp_verb_ls(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "",
		.doc = "List tenants, and other processes that use the GPU, as "
		       "far as this user "
		       "may look into them.",
	};
	GP_DEVICES struct gp_devices devices = {0};
	GP_FREE struct row *rows = calloc(MAX_ROWS, sizeof(*rows));
	struct table t = {.row = rows};
	char why[GP_WHY_LEN];
	struct ls ls = {0};
	int err = gp_args(&argp, argc, argv, &ls);

	if (err)
		return err;
	if (!rows)
		return gp_fail("ls: out of memory");
	err = gp_devices_open(ls.device, &devices, why, sizeof(why));
	/* Tenants are listed where no GPU is; what makes no sense is said. */
	if (err && (ls.device || err == -EINVAL))
		return gp_fail("ls: %s", why);
	find_tenants(&t);
	find_others(&t, &devices);
	if (ls.json)
		print_json(&t);
	else
		print_table(&t);
	return 0;
}
