// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define BATCH 256
#define MAX_DEPTH 64

/* ---- processes ----------------------------------------------------------------- */

/* The parent of @pid, or 0. */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *at;
	size_t n;
	int parent;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* PID (COMM) STATE PPID: COMM may contain any bytes, ")" too. */
	at = strrchr(text, ')');
	return at && sscanf(at + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

bool gp_is_descendant(pid_t pid, pid_t root)
{
	for (int i = 0; i < MAX_DEPTH && pid > 1; i++) {
		if (pid == root)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

static bool is_ours(struct gp_usage *u, pid_t pid, pid_t root)
{
	bool ours;

	/* 0: a process of another user, hidden from this reader. */
	if (pid <= 0)
		return false;
	for (size_t i = 0; i < u->pids; i++)
		if (u->known[i].pid == pid)
			return u->known[i].ours;
	ours = gp_is_descendant(pid, root);
	if (u->pids < GP_USAGE_PIDS) {
		u->known[u->pids].pid = pid;
		u->known[u->pids++].ours = ours;
	}
	return ours;
}

/* ---- counting ------------------------------------------------------------------ */

static void ours_on(struct gp_usage *u, uint64_t time_ns)
{
	uint64_t gap;

	if (u->since_ns)
		return;
	u->since_ns = time_ns;
	u->stretches++;
	if (!u->left_ns || !u->others || time_ns < u->left_ns)
		return;
	gap = time_ns - u->left_ns;
	u->gaps++;
	u->gap_ns += gap;
	if (gap > u->gap_max_ns)
		u->gap_max_ns = gap;
}

static void ours_off(struct gp_usage *u, uint64_t time_ns)
{
	if (u->since_ns && time_ns > u->since_ns)
		u->busy_ns += time_ns - u->since_ns;
	u->since_ns = 0;
	u->left_ns = time_ns;
	u->others = false;
}

void gp_usage_count(struct gp_usage *u, const struct gp_switch_record *rec, bool ours)
{
	if (rec->kind == GP_SWITCH_LOST) {
		/* It is unknown which context ran in between. */
		u->lost += rec->count;
		u->since_ns = 0;
		u->left_ns = 0;
	} else if (ours && rec->kind == GP_SWITCH_START) {
		ours_on(u, rec->time_ns);
	} else if (ours && rec->kind == GP_SWITCH_END) {
		ours_off(u, rec->time_ns);
	} else if (!ours) {
		u->others = true;
	}
}

void gp_usage_open(struct gp_usage *u, struct gp_device *dev)
{
	struct gp_hal_caps caps;

	memset(u, 0, sizeof(*u));
	u->dev = dev;
	u->err = dev->ops->log_open(dev, &u->log);
	if (u->err && !dev->ops->caps(dev, &caps))
		u->by_group = caps.caps & GP_CAP_CLASS;
}

/* ---- groups, where the driver counts -------------------------------------------- */

static void count_group(struct gp_usage *u, struct gp_group *group)
{
	uint64_t busy_ns;
	size_t i = 0;
	bool known;

	if (group->dev->ops->usage(group, &busy_ns))
		return;
	while (i < u->groups && u->group[i].id != group->id)
		i++;
	if (i == GP_USAGE_GROUPS)
		return;
	/* Its number may belong to a new group, which counts from 0. */
	known = i < u->groups && busy_ns >= u->group[i].busy_ns;
	u->busy_ns += busy_ns - (known ? u->group[i].busy_ns : 0);
	u->groups += i == u->groups;
	u->group[i].id = group->id;
	u->group[i].busy_ns = busy_ns;
}

static void count_process(struct gp_usage *u, pid_t pid)
{
	struct gp_group_list list = { 0 };

	if (u->dev->ops->groups(u->dev, pid, &list))
		return;
	for (size_t i = 0; i < list.count; i++)
		if (list.group[i]->kind == GP_GROUP_COMPUTE)
			count_group(u, list.group[i]);
	gp_group_list_put(&list);
}

static void count_groups(struct gp_usage *u, pid_t root)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid;

	while (proc && (entry = readdir(proc)))
		if (!gp_parse_pid(entry->d_name, &pid) && gp_is_descendant(pid, root))
			count_process(u, pid);
	if (proc)
		closedir(proc);
}

void gp_usage_read(struct gp_usage *u, pid_t root)
{
	struct gp_switch_record rec[BATCH];
	ssize_t n;

	if (u->by_group)
		count_groups(u, root);
	if (!u->log)
		return;
	while ((n = u->dev->ops->log_read(u->log, rec, BATCH)) > 0)
		for (ssize_t i = 0; i < n; i++)
			gp_usage_count(u, &rec[i], is_ours(u, rec[i].pid, root));
}

void gp_usage_close(struct gp_usage *u)
{
	if (u->log)
		u->dev->ops->log_close(u->log);
	u->log = NULL;
}
