// SPDX-License-Identifier: Apache-2.0
/*
 * ls.c - gpreempt ls: tenants by their own report, other processes with channel groups on the
 * GPU that this user may inspect, and gpreemptd's view if it runs. A figure without a source
 * is "-" in the table and null in JSON.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/view.h"
#include "runtime/job.h"
#include "wire/wire.h"

#define SCHEMA_VERSION 1
#define MAX_ROWS 1024
#define QUERY_MS 500
#define SILENT_MS 20 /* after a process that answered once, and no more */

struct row {
	bool tenant;
	bool silent;			      /* one that did not answer in time */
	struct gp_wire_status st;	      /* others: pid, comm, device, uuid, groups, slice */
	const struct gp_wire_tenant *managed; /* by gpreemptd; NULL: not its tenant */
	char job[GP_JOB_LEN];		      /* of Slurm; "": none */
	struct gp_wire_memory_figures memory; /* of a tenant of this user */
	bool has_memory;
};

struct table {
	struct row *row;
	size_t count;
	bool daemon; /* gpreemptd runs, and its view is complete */
	int query_ms;
	struct gp_view view;
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

static void add_silent(struct table *t, pid_t pid)
{
	struct row *row = add_row(t);

	if (!row)
		return;
	*row = (struct row){ .silent = true, .st.pid = pid };
	gp_read_comm(pid, row->st.comm, sizeof(row->st.comm));
}

/* The row of silent @pid that has no device yet, or another one for a further device. */
static struct row *row_for_device(struct table *t, pid_t pid)
{
	bool silent = false;
	struct row *row;

	for (row = t->row; row < t->row + t->count; row++) {
		if (row->st.pid != pid || !row->silent)
			continue;
		if (!*row->st.uuid)
			return row;
		silent = true;
	}
	row = add_row(t);
	if (row)
		*row = (struct row){ .silent = silent, .st.pid = pid };
	return row;
}

/* A row for each of its devices. */
static void add_tenant(struct table *t, pid_t pid, int fd)
{
	struct gp_wire_status status[GP_WIRE_MAX_DEVICES];
	ssize_t n = gp_tenant_answer(fd, status, GP_WIRE_MAX_DEVICES, t->query_ms);

	if (n == -ETIMEDOUT)
		add_silent(t, pid);
	for (ssize_t i = 0; i < n; i++) {
		struct row *row = add_row(t);
		int err;

		if (!row)
			return;
		*row = (struct row){ .tenant = true, .st = status[i] };
		err = gp_tenant_memory(pid, status[i].uuid, &row->memory, t->query_ms);
		row->has_memory = !err;
		if (err == -ETIMEDOUT)
			t->query_ms = SILENT_MS;
	}
}

/* It cannot answer, and gpreemptd knows its groups. */
static bool is_frozen(const struct table *t, pid_t pid)
{
	for (size_t i = 0; i < t->view.tenants; i++)
		if (t->view.tenant[i].pid == pid && t->view.tenant[i].flags & GP_WIRE_FROZEN)
			return true;
	return false;
}

/* At once: stopped ones take the time of one, and slow ones have all of it. */
static void add_tenants(struct table *t, const pid_t *pid, size_t n)
{
	int fd[GP_TENANT_ASK_MAX];

	gp_tenant_ask(pid, fd, n, QUERY_MS);
	for (size_t i = 0; i < n; i++) {
		if (fd[i] == -ETIMEDOUT)
			add_silent(t, pid[i]);
		if (fd[i] < 0)
			continue;
		add_tenant(t, pid[i], fd[i]);
		close(fd[i]);
	}
}

static void find_tenants(struct table *t)
{
	static pid_t pid[MAX_ROWS];
	ssize_t found = gp_wire_tenants(pid, MAX_ROWS);
	size_t n = 0;

	for (ssize_t i = 0; i < found; i++)
		if (!is_frozen(t, pid[i]))
			pid[n++] = pid[i];
	qsort(pid, n, sizeof(pid[0]), by_pid);
	for (size_t i = 0; i < n; i += GP_TENANT_ASK_MAX)
		add_tenants(t, pid + i, n - i < GP_TENANT_ASK_MAX ? n - i : GP_TENANT_ASK_MAX);
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
	struct gp_group_list list = { 0 };
	struct row *row;
	size_t n;

	if (dev->ops->groups(dev, pid, &list))
		return;
	n = gp_compute_groups(&list);
	row = n ? row_for_device(t, pid) : NULL;
	if (row) {
		row->st.groups = (uint32_t)n;
		gp_read_comm(pid, row->st.comm, sizeof(row->st.comm));
		snprintf(row->st.device, sizeof(row->st.device), "%s", dev->id.name);
		gp_uuid_format(dev->id.uuid, row->st.uuid, sizeof(row->st.uuid));
		if (dev->ops->get_slice(list.group[0], &row->st.slice_us))
			row->st.slice_us = 0;
	}
	gp_group_list_put(&list);
}

/*
 * gpreempt itself, keepers of a slot, gpreemptd, and the software GPU's server have control
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
	/* " (deleted)" follows if the file was replaced meanwhile. */
	len = strcspn(name, " ");
	return (len == 9 && !strncmp(name, "/gpreempt", len)) ||
	       (len == 10 && !strncmp(name, "/gpreemptd", len)) ||
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
		if (gp_parse_pid(entry->d_name, &pid) || is_tenant(t, pid) || is_ours(pid) ||
		    is_frozen(t, pid))
			continue;
		for (size_t i = 0; i < devices->count; i++)
			add_other(t, devices->dev[i], pid);
	}
	closedir(proc);
}

/* ---- Slurm's jobs ------------------------------------------------------------------ */

/* Of each process. Its cgroup in another hierarchy may be another one. */
static void find_jobs(struct table *t)
{
	char path[64], line[PATH_MAX + 64];

	for (size_t i = 0; i < t->count; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)t->row[i].st.pid);
		f = fopen(path, "re");
		while (f && !t->row[i].job[0] && fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = '\0';
			if (strchr(line, '/'))
				gp_job_of(strchr(line, '/'), t->row[i].job);
		}
		if (f)
			fclose(f);
	}
}

/* ---- gpreemptd's ------------------------------------------------------------------- */

static struct row *row_of(struct table *t, const struct gp_wire_tenant *managed, const char *uuid)
{
	for (size_t i = 0; i < t->count; i++) {
		struct row *row = &t->row[i];

		/* A tenant without a device yet: this is its first. */
		if (row->st.pid == managed->pid && !row->managed &&
		    (!*row->st.uuid || !strcmp(row->st.uuid, uuid)))
			return row;
	}
	return NULL;
}

static void join(struct table *t, const struct gp_wire_tenant *managed)
{
	struct gp_wire_status *st;
	char uuid[sizeof(st->uuid)];
	struct row *row;

	gp_uuid_format(managed->uuid, uuid, sizeof(uuid));
	row = row_of(t, managed, uuid);
	if (!row)
		row = row_for_device(t, managed->pid);
	if (!row)
		return;
	st = &row->st;
	if (!*st->uuid) {
		st->groups = managed->groups;
		memcpy(st->comm, managed->comm, sizeof(st->comm));
		memcpy(st->device, managed->device, sizeof(st->device));
		memcpy(st->uuid, uuid, sizeof(st->uuid));
	}
	row->managed = managed;
}

/* The daemon has its tenants' files open, but uses no device itself. */
static void drop_daemon(struct table *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		if (!t->view.devices || t->row[i].st.pid != t->view.device[0].daemon_pid)
			t->row[n++] = t->row[i];
	t->count = n;
}

static void read_view(struct table *t)
{
	GP_CLOSE int fd = gp_wire_daemon_connect();
	int err = fd < 0 ? fd : gp_view_read(fd, &t->view);

	if (err && err != -ENOENT)
		gp_fail_daemon("ls", err);
	t->daemon = !err;
	if (err)
		t->view.devices = t->view.tenants = 0;
}

static void join_view(struct table *t)
{
	if (t->daemon)
		drop_daemon(t);
	for (size_t i = 0; i < t->view.tenants; i++)
		join(t, &t->view.tenant[i]);
}

/* ---- showing ----------------------------------------------------------------------- */

/* The daemon's class is the one in force. */
static void class_text(const struct row *row, char *buf, size_t len)
{
	struct gp_class_value cls = { row->st.cls, row->st.value };

	if (row->managed)
		gp_daemon_class(&row->managed->request, buf, len);
	else if (row->tenant)
		gp_class_format(&cls, buf, len);
	else
		snprintf(buf, len, "-");
}

/* "", ", does not answer" or ", N MiB on the host". */
static const char *state_text(const struct row *row, char *buf, size_t len)
{
	snprintf(buf, len, "%s", row->silent ? ", does not answer" : "");
	if (row->memory.out)
		snprintf(buf, len, ", %llu MiB on the host",
			 (unsigned long long)(row->memory.out >> 20));
	return buf;
}

static void number(char *buf, size_t len, bool known, uint64_t value)
{
	if (known)
		snprintf(buf, len, "%llu", (unsigned long long)value);
	else
		snprintf(buf, len, "-");
}

static bool groups_known(const struct row *row)
{
	return !row->silent || row->st.groups;
}

static const char *device_text(struct row *row)
{
	return *row->st.device ? gp_printable(row->st.device) : "-";
}

static void print_row(struct row *row)
{
	struct gp_wire_status *st = &row->st;
	char cls[GP_CLASS_TEXT_LEN], slice[24], hints[24], holds[24], late[24];
	char sw[24], groups[24], state[48];
	bool lc = row->tenant && st->cls == GP_CLASS_LC;

	class_text(row, cls, sizeof(cls));
	number(groups, sizeof(groups), groups_known(row), st->groups);
	number(slice, sizeof(slice), st->slice_us, st->slice_us);
	number(hints, sizeof(hints), lc, st->hints);
	number(holds, sizeof(holds), lc, st->holds);
	number(late, sizeof(late), lc, st->holds_late);
	if (st->switch_ns)
		snprintf(sw, sizeof(sw), "%.1f", (double)st->switch_ns / 1000);
	else
		snprintf(sw, sizeof(sw), "-");
	printf("%7d  %-9s %-22.22s %6s %8s %8s %8s %6s %9s  %s%s%s%s\n", st->pid, cls,
	       device_text(row), groups, slice, hints, holds, late, sw, gp_printable(st->comm),
	       state_text(row, state, sizeof(state)), row->job[0] ? ", job " : "", row->job);
}

/* With a daemon: more columns, and rows for processes without gpreempt. @what: NULL: its command */
static void print_managed_row(struct row *row, const char *what)
{
	static const struct gp_wire_tenant nobody = {
		.flags = 0,
		.used_ns = GP_WIRE_UNKNOWN,
		.hints = GP_WIRE_UNKNOWN,
		.holds = GP_WIRE_UNKNOWN,
		.holds_late = GP_WIRE_UNKNOWN,
		.wait_p50_ns = GP_WIRE_UNKNOWN,
		.wait_p99_ns = GP_WIRE_UNKNOWN,
		.switch_p50_ns = GP_WIRE_UNKNOWN,
		.switch_p99_ns = GP_WIRE_UNKNOWN,
		.quota_max = GP_WIRE_UNKNOWN,
	};
	const struct gp_wire_tenant *d = row->managed ? row->managed : &nobody;
	struct gp_wire_status *st = &row->st;
	char cls[GP_CLASS_REQUEST_TEXT_LEN], slice[24], hints[24], holds[24], late[24];
	char groups[24], used[24], time[4][GP_VIEW_TEXT_LEN], quota[GP_VIEW_QUOTA_LEN];
	bool lc = row->managed ? d->request.cls == GP_CLASS_LC :
				 row->tenant && st->cls == GP_CLASS_LC;

	class_text(row, cls, sizeof(cls));
	number(groups, sizeof(groups), groups_known(row), st->groups);
	number(slice, sizeof(slice), st->slice_us, st->slice_us);
	number(hints, sizeof(hints), lc && (row->tenant || d->hints != GP_WIRE_UNKNOWN),
	       row->tenant ? st->hints : d->hints);
	number(holds, sizeof(holds), lc && (row->tenant || d->holds != GP_WIRE_UNKNOWN),
	       row->tenant ? st->holds : d->holds);
	number(late, sizeof(late), lc && (row->tenant || d->holds_late != GP_WIRE_UNKNOWN),
	       row->tenant ? st->holds_late : d->holds_late);
	if (d->used_ns != GP_WIRE_UNKNOWN && d->age_ns)
		snprintf(used, sizeof(used), "%.1f",
			 100.0 * (double)d->used_ns / (double)d->age_ns);
	else
		snprintf(used, sizeof(used), "-");
	gp_view_quota(d, quota);
	printf("%7d  %-12.12s %-22.22s %-7s %6s %6s %8s %8s %8s %6s %8s %8s %8s %8s  "
	       "%s%s%s%s%s%s%s\n",
	       st->pid, cls, device_text(row), gp_view_state(d), used, groups, slice, hints, holds,
	       late, gp_view_time(d->switch_p50_ns, time[0]),
	       gp_view_time(d->switch_p99_ns, time[1]), gp_view_time(d->wait_p50_ns, time[2]),
	       gp_view_time(d->wait_p99_ns, time[3]), what ? what : gp_printable(st->comm),
	       row->silent && !what ? ", does not answer" : "", *quota ? ", memory " : "", quota,
	       *quota ? " together" : "", row->job[0] ? ", job " : "", row->job);
}

/* BE: others have their own turns and their own row. */
static bool is_one(const struct row *a, const struct row *b)
{
	return a->managed && b->managed && a->managed->cgroup[0] &&
	       !strcmp(a->managed->cgroup, b->managed->cgroup) &&
	       a->managed->request.cls == GP_CLASS_BE && b->managed->request.cls == GP_CLASS_BE &&
	       !memcmp(a->managed->uuid, b->managed->uuid, sizeof(a->managed->uuid));
}

/* @to counts as one with @one. It is frozen if all are, and has work if one has. */
static void add_one(struct gp_wire_tenant *to, const struct gp_wire_tenant *one)
{
	const uint32_t all = GP_WIRE_FROZEN | GP_WIRE_IDLE | GP_WIRE_SUSPENDED | GP_WIRE_OUT;

	to->flags = ((to->flags | one->flags) & ~all) | (to->flags & one->flags & all);
	to->age_ns = one->age_ns > to->age_ns ? one->age_ns : to->age_ns;
	if (to->used_ns != GP_WIRE_UNKNOWN && one->used_ns != GP_WIRE_UNKNOWN)
		to->used_ns += one->used_ns;
	to->wait_p50_ns = to->wait_p99_ns = GP_WIRE_UNKNOWN;
}

/* The row of all processes of a cgroup that count as one, at the place of the first. */
static void print_one(const struct table *t, size_t first)
{
	struct gp_wire_tenant sum = *t->row[first].managed;
	struct row row = t->row[first];
	char what[GP_WIRE_CGROUP_LEN + 64];
	size_t n = 1;

	for (size_t i = first + 1; i < t->count; i++) {
		if (!is_one(&row, &t->row[i]))
			continue;
		add_one(&sum, t->row[i].managed);
		row.st.groups += t->row[i].st.groups;
		n++;
	}
	row.managed = &sum;
	snprintf(what, sizeof(what), "%zu processes of %s", n, gp_printable(sum.cgroup));
	print_managed_row(&row, n > 1 ? what : NULL);
}

static bool is_first(const struct table *t, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_one(&t->row[i], &t->row[at]))
			return false;
	return true;
}

static void print_managed_table(struct table *t)
{
	printf("%7s  %-12s %-22s %-7s %6s %6s %8s %8s %8s %6s %8s %8s %8s %8s  %s\n", "PID",
	       "CLASS", "DEVICE", "STATE", "USED_%", "GROUPS", "SLICE_US", "HINTS", "HOLDS", "LATE",
	       "SWITCH50", "SWITCH99", "WAIT50", "WAIT99", "COMMAND");
	for (size_t i = 0; i < t->count; i++)
		if (t->row[i].managed && t->row[i].managed->cgroup[0] && is_first(t, i))
			print_one(t, i);
		else if (is_first(t, i))
			print_managed_row(&t->row[i], NULL);
}

static void print_table(struct table *t)
{
	if (t->daemon) {
		print_managed_table(t);
		return;
	}
	printf("%7s  %-9s %-22s %6s %8s %8s %8s %6s %9s  %s\n", "PID", "CLASS", "DEVICE", "GROUPS",
	       "SLICE_US", "HINTS", "HOLDS", "LATE", "SWITCH_US", "COMMAND");
	for (size_t i = 0; i < t->count; i++)
		print_row(&t->row[i]);
}

static json_t *managed_json(const struct gp_wire_tenant *d)
{
	static const char *const usage[] = { NULL, "log", "driver" };
	const struct {
		const char *name;
		uint64_t value;
	} field[] = {
		{ "age_ns", d->age_ns },
		{ "resident_ns", d->resident_ns },
		{ "used_ns", d->used_ns },
		{ "suspended_ns", d->suspended_ns },
		{ "turns", d->turns },
		{ "preempted", d->preempted },
		{ "wait_p50_ns", d->wait_p50_ns },
		{ "wait_p99_ns", d->wait_p99_ns },
		{ "switch_p50_ns", d->switch_p50_ns },
		{ "switch_p99_ns", d->switch_p99_ns },
		{ "hints", d->hints },
		{ "segments", d->segments },
		{ "holds", d->holds },
		{ "holds_late", d->holds_late },
		{ "holds_expired", d->holds_expired },
		{ "held_ns", d->held_ns },
		{ "corrected", d->corrected },
		{ "cgroup_memory_bytes", d->quota_used },
		{ "cgroup_memory_max_bytes", d->quota_max },
	};
	const struct gp_wire_request *r = &d->request;
	const char *state = gp_view_state(d);
	json_t *json = json_object();

	json_object_set_new(json, "origin", json_string(gp_view_origin(d)));
	json_object_set_new(json, "state", *state == '-' ? json_null() : json_string(state));
	json_object_set_new(json, "resident", json_boolean(d->flags & GP_WIRE_RESIDENT));
	json_object_set_new(json, "suspended", json_boolean(d->flags & GP_WIRE_SUSPENDED));
	json_object_set_new(json, "banned", json_boolean(d->flags & GP_WIRE_BANNED));
	json_object_set_new(json, "cap_pct", gp_json_number(r->cap_pct, r->cap_pct));
	json_object_set_new(json, "period_ns", gp_json_number(r->period_ns, r->period_ns));
	json_object_set_new(json, "deadline_ns", gp_json_number(r->deadline_ns, r->deadline_ns));
	json_object_set_new(json, "runtime_ns", gp_json_number(r->runtime_ns, r->runtime_ns));
	json_object_set_new(json, "class_from", gp_json_text(d->why));
	json_object_set_new(json, "cgroup", d->cgroup[0] ? gp_json_text(d->cgroup) : json_null());
	json_object_set_new(json, "usage_source",
			    d->usage && d->usage <= GP_WIRE_USAGE_DRIVER ?
				    json_string(usage[d->usage]) :
				    json_null());
	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		json_object_set_new(json, field[i].name,
				    gp_json_number(field[i].value != GP_WIRE_UNKNOWN,
						   field[i].value));
	return json;
}

static json_t *device_json(const struct gp_wire_device *d)
{
	const struct {
		const char *name;
		uint64_t value;
	} field[] = {
		{ "be_min_pct", d->be_min_pct },
		{ "be_quantum_ns", d->quantum_ns },
		{ "up_ns", d->up_ns },
		{ "tenants", d->tenants },
		{ "compute_groups", d->groups },
		{ "turns", d->turns },
		{ "suspends", d->suspends },
		{ "resumes", d->resumes },
		{ "timeslice_sets", d->slices },
		{ "preempts", d->preempts },
		{ "hal_op_failures", d->failed },
		{ "hal_op_ns", d->control_ns },
		{ "log_lost", d->log_lost },
	};
	json_t *json = json_object();
	char uuid[48];

	gp_uuid_format(d->uuid, uuid, sizeof(uuid));
	json_object_set_new(json, "device", gp_json_text(d->name));
	json_object_set_new(json, "uuid", json_string(uuid));
	json_object_set_new(json, "be_policy", gp_json_text(d->be_policy));
	json_object_set_new(json, "lc_policy", gp_json_text(d->lc_policy));
	json_object_set_new(json, "resident_pid",
			    gp_json_number(d->resident_pid, (uint64_t)d->resident_pid));
	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		json_object_set_new(json, field[i].name,
				    gp_json_number(field[i].value != GP_WIRE_UNKNOWN,
						   field[i].value));
	return json;
}

static json_t *devices_json(const struct table *t)
{
	json_t *list;

	if (!t->daemon)
		return json_null();
	list = json_array();
	for (size_t i = 0; i < t->view.devices; i++)
		json_array_append_new(list, device_json(&t->view.device[i]));
	return list;
}

/* The daemon's class, if it knows one. */
static void row_class_json(json_t *json, const struct row *row)
{
	struct gp_wire_status st = row->st;

	if (row->managed) {
		st.cls = row->managed->request.cls;
		st.value = row->managed->request.value;
	}
	gp_json_class(json, &st, row->tenant || row->managed);
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
	json_object_set_new(json, "answers", t || row->silent ? json_boolean(t) : json_null());
	json_object_set_new(json, "uid",
			    gp_json_number(t || row->managed,
					   row->managed ? row->managed->uid : st->uid));
	row_class_json(json, row);
	json_object_set_new(json, "device", gp_json_text(st->device));
	json_object_set_new(json, "uuid", gp_json_text(st->uuid));
	json_object_set_new(json, "compute_groups", gp_json_number(groups_known(row), st->groups));
	json_object_set_new(json, "slice_us", gp_json_number(st->slice_us, st->slice_us));
	json_object_set_new(json, "memory",
			    row->has_memory ? gp_json_memory(&row->memory) : json_null());
	json_object_set_new(json, "short_slice", t ? json_boolean(st->short_slice) : json_null());
	json_object_set_new(json, "sync_seen", t ? json_boolean(st->sync_seen) : json_null());
	json_object_set_new(json, "preloaded", json_boolean(t && st->preloaded));
	json_object_set_new(json, "hints", gp_json_number(lc, st->hints));
	gp_json_holds(json, st, lc);
	json_object_set_new(json, "margin_ns", gp_json_number(st->margin_ns, st->margin_ns));
	json_object_set_new(json, "job", row->job[0] ? json_string(row->job) : json_null());
	json_object_set_new(json, "daemon",
			    row->managed ? managed_json(row->managed) : json_null());
	return json;
}

static void print_json(const struct table *t)
{
	json_t *json = json_object(), *list = json_array();

	for (size_t i = 0; i < t->count; i++)
		json_array_append_new(list, row_json(&t->row[i]));
	json_object_set_new(json, "schema_version", json_integer(SCHEMA_VERSION));
	json_object_set_new(json, "processes", list);
	json_object_set_new(json, "daemon", json_boolean(t->daemon));
	json_object_set_new(json, "devices", devices_json(t));
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
	{ "json", 'j', NULL, 0, "print JSON; times are integers, _ns and _us", 0 },
	{ "device", GP_KEY_DEVICE, "DEVICE", 0, "look only there for processes without gpreempt",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ls *ls = state->input;

	switch (key) {
	case 'j':
		ls->json = true;
		return 0;
	case GP_KEY_DEVICE:
		ls->device = arg;
		return 0;
	case ARGP_KEY_ARG:
		gp_fail("ls: %s: unexpected argument; see gpreempt ls --help", arg);
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
		.doc = "List processes under gpreempt, and other processes with GPU work as far as "
		       "this user may see them. With gpreemptd, USED_% is each process's share of "
		       "the device since gpreemptd knows it.",
	};
	GP_DEVICES struct gp_devices devices = { 0 };
	GP_FREE struct row *rows = calloc(MAX_ROWS, sizeof(*rows));
	struct table t = { .row = rows, .query_ms = QUERY_MS };
	char why[GP_WHY_LEN];
	struct ls ls = { 0 };
	int err = gp_args(&argp, argc, argv, &ls);

	if (err)
		return err;
	if (!rows)
		return gp_fail("ls: out of memory");
	err = gp_devices_open(ls.device, &devices, why, sizeof(why));
	/* Tenants are listed without a GPU too, but an invalid option is an error. */
	if (err && (ls.device || err == -EINVAL))
		return gp_fail("ls: %s", why);
	read_view(&t);
	find_tenants(&t);
	find_others(&t, &devices);
	join_view(&t);
	find_jobs(&t);
	if (ls.json)
		print_json(&t);
	else
		print_table(&t);
	gp_view_clear(&t.view);
	return 0;
}
