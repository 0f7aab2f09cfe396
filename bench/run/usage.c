// SPDX-License-Identifier: Apache-2.0
/*
 * usage.c - each process's own clock, which has the threads that have ended, too, and what
 * its /proc/PID/stat (proc(5)) says of the children that it has waited for.
 */
#include "bench/run/usage.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u

struct entry {
	pid_t pid, parent;
	uint64_t waited_ticks; /* of children that were waited for */
	bool below;	       /* the one that is asked about, or it itself */
};

struct table {
	struct entry *entry;
	size_t count, room;
};

/* False: it has ended, or it is no process. */
static bool read_entry(const char *name, struct entry *e)
{
	unsigned long user, system;
	char path[64], text[512], *end;
	size_t n;
	FILE *file;

	*e = (struct entry){ .pid = (pid_t)strtol(name, &end, 10) };
	if (e->pid <= 0 || *end)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)e->pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	/* The name before it may have anything in it. */
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %lu %lu",
			   &e->parent, &user, &system) != 3)
		return false;
	e->waited_ticks = user + system;
	return true;
}

static bool add(struct table *t, const struct entry *e)
{
	const size_t room = t->room ? 2 * t->room : 256;
	struct entry *more;

	if (t->count == t->room) {
		more = realloc(t->entry, room * sizeof(*more));
		if (!more)
			return false;
		t->entry = more;
		t->room = room;
	}
	t->entry[t->count++] = *e;
	return true;
}

static bool read_table(struct table *t)
{
	DIR *dir = opendir("/proc");
	struct entry e;
	bool ok = dir;

	for (struct dirent *d; ok && (d = readdir(dir));)
		if (read_entry(d->d_name, &e))
			ok = add(t, &e);
	if (dir)
		closedir(dir);
	return ok;
}

static bool is_below(const struct table *t, pid_t parent)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->entry[i].below && t->entry[i].pid == parent)
			return true;
	return false;
}

/* How many. */
static size_t mark_below(struct table *t, pid_t pid)
{
	size_t below = 0, before;

	do {
		before = below;
		for (size_t i = 0; i < t->count; i++) {
			struct entry *e = &t->entry[i];

			if (e->below || (e->pid != pid && !is_below(t, e->parent)))
				continue;
			e->below = true;
			below++;
		}
	} while (below != before);
	return below;
}

/* 0 of one that has ended meanwhile. */
static uint64_t own_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

int64_t gp_usage_ns(pid_t pid)
{
	const uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	struct table t = { 0 };
	int64_t ns = -1;

	if (read_table(&t) && mark_below(&t, pid)) {
		ns = 0;
		for (size_t i = 0; i < t.count; i++)
			if (t.entry[i].below)
				ns += (int64_t)(own_ns(t.entry[i].pid) +
						t.entry[i].waited_ticks * tick_ns);
	}
	free(t.entry);
	return ns;
}
