// SPDX-License-Identifier: Apache-2.0
/*
 * freezer.c - the kernel notifies of changes of cgroup.events. Its line "frozen 1" means that all
 * processes of the cgroup have stopped, also if a cgroup above it was frozen. The file is watched
 * before it is read, so no change is missed.
 *
 * EPOLLPRI comes at once. It needs an open file for each cgroup. inotify needs none, but a worker
 * of the kernel's tells it, which waits for a core on a busy machine. So it is the second way.
 */
#include "daemon/discover/freezer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "daemon/discover/proc.h"
#include "daemon/loop/log.h"

#define EVENTS_BYTES_MAX 512
#define CHECK_SHARE 100u

/* A cgroup with watched processes. */
struct cgroup {
	struct cgroup *next;
	struct gp_freezer *freezer;
	struct gp_source events; /* its open file; -1: none */
	int wd;			 /* of inotify; -1: it could not be watched, or its file has gone */
	bool frozen;
	unsigned int users;
	char path[];
};

struct gp_freezer_watch {
	struct gp_freezer_watch *next;
	struct gp_freezer *freezer;
	struct cgroup *cgroup; /* NULL: none that can be watched */
	pid_t pid;
	bool frozen; /* as reported */
	void (*changed)(void *arg, bool frozen);
	void *arg;
};

struct gp_freezer {
	struct gp_loop *loop;
	struct gp_source events;
	char *root; /* NULL: there is none */
	char *proc;
	struct cgroup *cgroups;
	struct gp_freezer_watch *watches;
	uint64_t check_ns; /* no check before */
};

/* ---- cgroup.events ------------------------------------------------------------ */

bool gp_freezer_parse(const char *text)
{
	static const char line[] = "frozen 1";

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, line, sizeof(line) - 1) &&
		    (at[sizeof(line) - 1] == '\n' || !at[sizeof(line) - 1]))
			return true;
	}
	return false;
}

/* False: too long, or "..": outside of this process's cgroup namespace. */
static bool events_path(const struct gp_freezer *f, const char *cgroup, char path[PATH_MAX])
{
	const int n = snprintf(path, PATH_MAX, "%s%s/cgroup.events", f->root, cgroup);

	return n > 0 && n < PATH_MAX && !strstr(cgroup, "/..");
}

/* -1: none, as of a cgroup that was removed, and of the root. */
static int open_events(const struct gp_freezer *f, const char *cgroup)
{
	char path[PATH_MAX];
	int fd;

	if (!events_path(f, cgroup, path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		gp_log_shortage(-errno, "cannot read whether a cgroup is frozen");
	return fd;
}

/* From its beginning. A cgroup without such a file is not frozen. */
static bool read_events(int fd)
{
	char text[EVENTS_BYTES_MAX];
	const ssize_t n = fd < 0 ? 0 : pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return gp_freezer_parse(text);
}

static bool read_frozen(const struct gp_freezer *f, const char *cgroup)
{
	const int fd = open_events(f, cgroup);
	const bool frozen = read_events(fd);

	if (fd >= 0)
		close(fd);
	return frozen;
}

/* ---- cgroups ------------------------------------------------------------------- */

static void report(struct gp_freezer *f);

static void polled(struct gp_source *source, uint32_t events)
{
	struct cgroup *c = gp_holder(source, struct cgroup, events);

	c->frozen = read_events(source->fd);
	report(c->freezer);
}

static void unpoll(struct cgroup *c)
{
	gp_loop_remove(&c->events);
	if (c->events.fd >= 0)
		close(c->events.fd);
	c->events.fd = -1;
}

/* A removed cgroup's file is always ready, so edges count. Files in tests cannot be polled. */
static void poll_events(struct gp_freezer *f, struct cgroup *c)
{
	unpoll(c);
	c->events = (struct gp_source){
		.fd = open_events(f, c->path),
		.ready = polled,
		.is_urgent = true,
	};
	if (c->events.fd >= 0 && gp_loop_add(f->loop, &c->events, EPOLLPRI | EPOLLET))
		unpoll(c);
}

/* The file may be another one than before: the watch of a removed one does not end by itself. */
static void watch_events(struct gp_freezer *f, struct cgroup *c)
{
	const int before = c->wd;
	char path[PATH_MAX];

	c->wd = -1;
	if (events_path(f, c->path, path)) {
		c->wd = inotify_add_watch(f->events.fd, path, IN_MODIFY | IN_DONT_FOLLOW);
		if (c->wd < 0)
			gp_log_shortage(-errno, "cannot watch a cgroup");
	}
	if (before >= 0 && before != c->wd)
		inotify_rm_watch(f->events.fd, before);
	poll_events(f, c);
	c->frozen = read_frozen(f, c->path);
}

static struct cgroup *cgroup_get(struct gp_freezer *f, const char *path)
{
	const size_t bytes = strlen(path) + 1;
	struct cgroup *c;

	for (c = f->cgroups; c; c = c->next)
		if (!strcmp(c->path, path))
			break;
	if (!c) {
		c = calloc(1, sizeof(*c) + bytes);
		if (!c)
			return NULL;
		memcpy(c->path, path, bytes);
		c->wd = c->events.fd = -1;
		c->freezer = f;
		watch_events(f, c);
		c->next = f->cgroups;
		f->cgroups = c;
	}
	c->users++;
	return c;
}

/* NULL is legal. */
static void cgroup_put(struct gp_freezer *f, struct cgroup *c)
{
	struct cgroup **at = &f->cgroups;

	if (!c || --c->users)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (c->wd >= 0)
		inotify_rm_watch(f->events.fd, c->wd);
	unpoll(c);
	free(c);
}

/* ---- processes ----------------------------------------------------------------- */

static bool is_frozen(const struct gp_freezer_watch *w)
{
	return w->cgroup && w->cgroup->frozen;
}

/* Each callee may end its own watch only. */
static void report(struct gp_freezer *f)
{
	struct gp_freezer_watch *next;

	for (struct gp_freezer_watch *w = f->watches; w; w = next) {
		next = w->next;
		if (w->frozen == is_frozen(w))
			continue;
		w->frozen = !w->frozen;
		w->changed(w->arg, w->frozen);
	}
}

/* The path in version 2's hierarchy; NULL: unknown, or the root. To be freed. */
static char *cgroup_of(const struct gp_freezer *f, pid_t pid)
{
	char *path = NULL;

	if (!f->root || gp_proc_cgroup2(f->proc, pid, &path) || !path)
		return NULL;
	if (path[1])
		return path;
	free(path);
	return NULL;
}

static void place(struct gp_freezer_watch *w)
{
	struct cgroup *before = w->cgroup;
	char *path = cgroup_of(w->freezer, w->pid);

	w->cgroup = path ? cgroup_get(w->freezer, path) : NULL;
	cgroup_put(w->freezer, before);
	free(path);
}

int gp_freezer_watch(struct gp_freezer *f, pid_t pid, void (*changed)(void *arg, bool frozen),
		     void *arg, struct gp_freezer_watch **watch)
{
	struct gp_freezer_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	*w = (struct gp_freezer_watch){
		.next = f->watches,
		.freezer = f,
		.pid = pid,
		.changed = changed,
		.arg = arg,
	};
	f->watches = w;
	place(w);
	*watch = w;
	report(f);
	return 0;
}

void gp_freezer_unwatch(struct gp_freezer_watch *w)
{
	struct gp_freezer_watch **at;

	if (!w)
		return;
	at = &w->freezer->watches;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	cgroup_put(w->freezer, w->cgroup);
	free(w);
}

void gp_freezer_check(struct gp_freezer *f)
{
	const uint64_t now_ns = gp_loop_now_ns();

	if (now_ns < f->check_ns)
		return;
	for (struct gp_freezer_watch *w = f->watches; w; w = w->next)
		place(w);
	for (struct cgroup *c = f->cgroups; c; c = c->next)
		watch_events(f, c);
	report(f);
	f->check_ns = now_ns + CHECK_SHARE * (gp_loop_now_ns() - now_ns);
}

bool gp_freezer_is_frozen(struct gp_freezer *f, pid_t pid)
{
	char *path = cgroup_of(f, pid);
	const bool frozen = path && read_frozen(f, path);

	free(path);
	return frozen;
}

/* ---- notifications ---------------------------------------------------------------- */

static void look_at(struct gp_freezer *f, const struct inotify_event *ev)
{
	for (struct cgroup *c = f->cgroups; c; c = c->next) {
		if (c->wd != ev->wd && !(ev->mask & IN_Q_OVERFLOW))
			continue;
		if (ev->mask & IN_IGNORED)
			c->wd = -1;
		c->frozen = read_frozen(f, c->path);
	}
}

static void events_ready(struct gp_source *source, uint32_t events)
{
	struct gp_freezer *f = gp_holder(source, struct gp_freezer, events);
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	while ((n = read(source->fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *ev = (void *)(buf + at);

			look_at(f, ev);
			at += (ssize_t)(sizeof(*ev) + ev->len);
		}
	}
	report(f);
}

/* ---- coming and going --------------------------------------------------------------- */

static const char *machine_root(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs st;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (!statfs(roots[i], &st) && st.f_type == CGROUP2_SUPER_MAGIC)
			return roots[i];
	return NULL;
}

static char *copy(const char *text, int *err)
{
	char *made = text ? strdup(text) : NULL;

	if (text && !made)
		*err = -ENOMEM;
	return made;
}

int gp_freezer_create(struct gp_loop *loop, const char *root, const char *proc,
		      struct gp_freezer **freezer)
{
	struct gp_freezer *f = calloc(1, sizeof(*f));
	int err = 0;

	if (!f)
		return -ENOMEM;
	f->loop = loop;
	f->root = copy(root ? root : machine_root(), &err);
	f->proc = copy(proc ? proc : "/proc", &err);
	f->events.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	f->events.ready = events_ready;
	f->events.is_urgent = true;
	if (!err && f->events.fd < 0)
		err = -errno;
	if (!err)
		err = gp_loop_add(loop, &f->events, EPOLLIN);
	if (err)
		gp_freezer_destroy(f);
	else
		*freezer = f;
	return err;
}

void gp_freezer_destroy(struct gp_freezer *f)
{
	if (!f)
		return;
	gp_loop_remove(&f->events);
	if (f->events.fd >= 0)
		close(f->events.fd);
	free(f->root);
	free(f->proc);
	free(f);
}
