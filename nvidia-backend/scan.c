// SPDX-License-Identifier: Apache-2.0
/*
 * scan.c - discover the channel groups of a process from outside: duplicate its control files,
 * or receive them from it, find the clients made on them, and walk their object handles.
 *
 * RM answers about a client only on the file that made it. libcuda counts client handles up
 * from 0xc1d00000 and object handles from 0x5c000000. That is only a habit, so the scan starts
 * there and widens when it finds nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hal/procfd.h"
#include "nvidia-backend/nv_internal.h"

#define MAX_FILES 256
#define MAX_CLIENTS 64
#define ANCESTORS 4
#define CLIENT_SPAN 0x100000u /* handles that RM gives to clients */
#define NEAR 64u	      /* around a likely client */
#define RECENT 4096u	      /* recently assigned handles */
#define BLOCK 1024u
#define DEEP_NS 250000000u /* longest search for an old client */
#define GAP 512u	   /* this many unused handles in a row end the search */

/*
 * Where object handles may begin: libcuda's habit, RM's own choice
 * (resserv.h, RS_UNIQUE_HANDLE_BASE), and small numbers.
 */
static const uint32_t object_base[] = {
	GP_RM_HABIT_OBJECT_BASE,
	0xcaf00000u,
	0x00000001u,
	0x80000000u,
};

/* A relevant object. */
struct node {
	uint32_t handle;
	uint32_t cls;
	uint32_t parent;
};

struct scan {
	struct gp_nv_device *dev;
	const struct gp_nv_transport *t;
	pid_t pid;
	bool own;   /* our own process */
	bool given; /* the process passed its files, which have groups */
	int pidfd;  /* of another process; or -1 */
	struct gp_group_list found;
	struct gp_nv_scan_stat *stat;
	struct {
		struct gp_nv_file *file;
		int theirs;   /* its number in the process */
		uint32_t key; /* its client with groups, as reported; or 0 */
		bool useless; /* no client answers on it */
	} file[MAX_FILES];
	size_t files;
	struct {
		size_t file;
		uint32_t handle;
	} client[MAX_CLIENTS];
	size_t clients;
	struct node *node;
	size_t nodes, room;
};

/* ---- the control files ----------------------------------------------------- */

/* Adds @fd, ours from now on, which is @theirs in the process. */
static int add_file(struct scan *s, int fd, int theirs)
{
	struct gp_nv_file *file;

	gp_nv_fd_mark(fd);
	file = gp_nv_file_new(fd, true);
	if (!file) {
		gp_nv_fd_close(fd);
		return -ENOMEM;
	}
	s->file[s->files].file = file;
	s->file[s->files].theirs = theirs;
	s->files++;
	return 0;
}

/* Each memfd is of one device of the kernel's. */
static bool is_memfd(const struct statx *st)
{
	int fd = memfd_create("gpreempt-look", MFD_CLOEXEC);
	struct statx own;
	bool same;

	if (fd < 0)
		return false;
	same = !statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &own) && S_ISREG(st->stx_mode) &&
	       st->stx_dev_major == own.stx_dev_major && st->stx_dev_minor == own.stx_dev_minor;
	close(fd);
	return same;
}

/*
 * By its path in /proc, before it is duplicated. Any user can give a file of a FUSE the path of
 * a control file. Closing a duplicate then waits for the FUSE's server. The process can
 * still replace the file, so a server of other users' processes duplicates them in a process
 * of its own (take_files of hal.h).
 */
static bool seems_control_file(const struct gp_nv_transport *t, pid_t pid, int fd)
{
	char path[64];
	struct statx st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &st) &&
	       (t->is_ctl ? t->is_ctl(&st) : is_memfd(&st));
}

static int take_file(struct scan *s, int fd)
{
	int got;

	if (s->own)
		got = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	else if (!seems_control_file(s->t, s->pid, fd))
		return 0;
	else
		got = (int)syscall(SYS_pidfd_getfd, s->pidfd, fd, 0);
	return got < 0 ? -errno : add_file(s, got, fd);
}

/*
 * Did this backend open @fd of @pid, our own process? It is then a client of ours, or another
 * process's file: its groups must not count as ours.
 */
static bool is_ours(pid_t pid, int fd)
{
	return pid == getpid() && gp_nv_fd_marked(fd);
}

static int compare_fd(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

struct fd_list {
	pid_t owner;
	int fd[MAX_FILES];
	size_t n;
};

static int list_fd(void *arg, int fd)
{
	struct fd_list *l = arg;

	if (!is_ours(l->owner, fd) && l->n < MAX_FILES)
		l->fd[l->n++] = fd;
	return 0;
}

/* Descriptors of @pid that look like control files, ascending. */
static int control_fds(const struct gp_nv_transport *t, pid_t pid, struct fd_list *l)
{
	int r;

	l->owner = pid;
	l->n = 0;
	r = gp_proc_fds(pid, t->prefix, list_fd, l);
	qsort(l->fd, l->n, sizeof(l->fd[0]), compare_fd);
	return r;
}

/* Addresses of the program, which each execve chooses. */
struct image {
	pid_t parent;
	unsigned long long code, stack;
};

/* PID (COMM) STATE PPID ..., 26: start of the code, 28: of the stack (proc(5)). */
static int read_image(pid_t pid, struct image *i)
{
	char path[32], text[1024], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	at = strrchr(text, ')');
	if (!at || sscanf(at, ") %*c %d", &i->parent) != 1)
		return -EPROTO;
	for (int field = 2; at && field < 26; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %llu %*u %llu", &i->code, &i->stack) == 2 ? 0 : -EPROTO;
}

static bool same_image(const struct image *a, const struct image *b)
{
	return a->code == b->code && a->stack == b->stack && a->stack;
}

/* Files of the process's ancestors. */
struct ancestors {
	struct fd_list list[ANCESTORS];
	size_t n;
};

/*
 * A process may have inherited a file, and with it the ancestor's client and groups: these are
 * not its own. An ancestor counts if the process is its fork that has not called execve, or if
 * RM lists the ancestor as a creator of clients. What cannot be read has none; but if files or
 * memory run out, the scan fails.
 */
static int find_ancestors(const struct scan *s, struct ancestors *a)
{
	struct image of, parent;
	bool forked = true;
	int r = read_image(s->pid, &of);

	a->n = 0;
	for (int i = 0; !r && i < ANCESTORS && of.parent > 1; i++) {
		int seen = -ENOENT, has = 0;

		r = read_image(of.parent, &parent);
		if (r)
			break;
		forked = forked && same_image(&of, &parent);
		if (!forked && !s->own)
			has = gp_nv_has_compute_client(&s->dev->base, of.parent);
		if (forked || has == 1)
			seen = control_fds(s->t, of.parent, &a->list[a->n]);
		if (!seen)
			a->n++;
		if (gp_nv_is_shortage(has) || gp_nv_is_shortage(seen))
			r = has < 0 ? has : seen;
		of = parent;
	}
	return gp_nv_is_shortage(r) ? r : 0;
}

/* Is @fd of @pid one of @l's files? Negative: unknown. */
static int is_among(pid_t pid, int fd, const struct fd_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		long r = syscall(SYS_kcmp, pid, l->owner, KCMP_FILE, fd, l->fd[i]);

		if (!r)
			return 1;
		if (r < 0 && (errno == EPERM || errno == ENOSYS))
			return -errno;
	}
	return 0;
}

static bool is_inherited(pid_t pid, int fd, const struct ancestors *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (is_among(pid, fd, &a->list[i]) == 1)
			return true;
	return false;
}

static int watch_process(struct scan *s)
{
	if (s->own)
		return 0;
	s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	return s->pidfd < 0 ? -errno : 0;
}

static int take_files(struct scan *s)
{
	struct ancestors theirs;
	struct fd_list l;
	int r = control_fds(s->t, s->pid, &l);

	if (!r && l.n) {
		r = watch_process(s);
		if (!r)
			r = find_ancestors(s, &theirs);
	}
	for (size_t i = 0; i < l.n && !r; i++) {
		if (is_inherited(s->pid, l.fd[i], &theirs))
			continue;
		r = take_file(s, l.fd[i]);
		if (r == -EBADF)
			r = 0; /* closed meanwhile */
	}
	return r;
}

bool gp_nv_is_control_file(const struct gp_nv_transport *t, int fd)
{
	const int flags = fcntl(fd, F_GETFL);
	struct statx st;

	/* With O_PATH even a FUSE's device node can be opened. */
	if (flags < 0 || flags & O_PATH)
		return false;
	/* Only the kernel's memory has seals. */
	if (!t->is_ctl)
		return fcntl(fd, F_GET_SEALS) >= 0 && gp_fd_begins(fd, t->prefix);
	return !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) &&
	       t->is_ctl(&st);
}

ssize_t gp_nv_take_files(const struct gp_nv_transport *t, pid_t pid, int pidfd, int *fd, size_t max)
{
	struct fd_list l;
	size_t n = 0;
	int r = control_fds(t, pid, &l), got;

	for (size_t i = 0; !r && i < l.n && n < max; i++) {
		if (!seems_control_file(t, pid, l.fd[i]))
			continue;
		got = (int)syscall(SYS_pidfd_getfd, pidfd, l.fd[i], 0);
		if (got >= 0)
			fd[n++] = got;
		else if (errno != EBADF) /* closed meanwhile */
			r = -errno;
	}
	if (gp_nv_process_gone(pidfd))
		r = -ESRCH;
	/* After a failure, too: the caller closes what was taken. */
	return n ? (ssize_t)n : r;
}

/*
 * A process may pass any file. RM's calls must not go to another kind of file, and another
 * process's groups must not count as its own.
 */
static int take_given(struct scan *s, const int *fd, const uint32_t *key, size_t n)
{
	struct ancestors theirs;
	struct fd_list l;
	int r = watch_process(s), seen, copy;

	if (r)
		return r;
	seen = control_fds(s->t, s->pid, &l);
	if (seen && seen != -EPERM)
		return seen;
	r = find_ancestors(s, &theirs);
	for (size_t i = 0; i < n && !r; i++) {
		/* If a system call filter forbids to compare, trust the process. */
		if (!gp_nv_is_control_file(s->t, fd[i]) ||
		    (!seen && !is_among(getpid(), fd[i], &l)) ||
		    is_inherited(getpid(), fd[i], &theirs))
			continue;
		copy = fcntl(fd[i], F_DUPFD_CLOEXEC, 0);
		r = copy < 0 ? -errno : add_file(s, copy, -1);
		if (!r && key)
			s->file[s->files - 1].key = key[i];
	}
	return r;
}

/* ---- the clients --------------------------------------------------------------- */

static int fd_of(const struct scan *s, size_t file)
{
	return s->file[file].file->fd;
}

static int object_class(struct scan *s, size_t file, uint32_t client, uint32_t object,
			uint32_t *cls)
{
	s->stat->calls++;
	return gp_nv_handle_class(s->t, fd_of(s, file), client, object, cls);
}

static bool try_client(struct scan *s, size_t file, uint32_t handle)
{
	uint32_t cls;
	int r = object_class(s, file, handle, handle, &cls);

	/* RM refuses unknown clients in the structure: the file is no good. */
	s->file[file].useless = r == -EBADF || r == -ENODEV ||
				(r && gp_nv_last_status() == GP_RM_ERR_OPERATING_SYSTEM);
	if (r)
		return false;
	for (size_t i = 0; i < s->clients; i++)
		if (s->client[i].handle == handle)
			return false;
	if (s->clients == MAX_CLIENTS)
		return false;
	s->client[s->clients].file = file;
	s->client[s->clients].handle = handle;
	s->clients++;
	return true;
}

static size_t try_clients(struct scan *s, size_t file, uint32_t from, uint32_t count)
{
	size_t found = 0;

	for (uint32_t i = 0; i < count && !s->file[file].useless; i++)
		found += try_client(s, file, GP_RM_HABIT_CLIENT_BASE + (from + i) % CLIENT_SPAN);
	return found;
}

/*
 * RM's counter for client handles, from a client of our own. Older clients have lower handles,
 * unless it wrapped.
 */
static uint32_t client_counter(struct scan *s)
{
	struct gp_nv_client own;
	uint32_t at;

	if (gp_nv_client_open(s->t, &own))
		return 0;
	at = own.handle - GP_RM_HABIT_CLIENT_BASE;
	gp_nv_client_close(&own);
	return at < CLIENT_SPAN ? at : 0;
}

/* True: each file has the client with groups that was reported for it. */
static bool named_clients(struct scan *s)
{
	bool all = true;

	for (size_t f = 0; f < s->files; f++)
		all &= s->file[f].key && try_client(s, f, s->file[f].key);
	return all;
}

/*
 * Clients with handles just below the counter or just above the base, on any file. A process's
 * clients are neighbours, so each one that is found moves the start of the search on other
 * files.
 */
static void likely_clients(struct scan *s, uint32_t counter)
{
	for (size_t f = 0; f < s->files; f++) {
		size_t found = 0;

		for (size_t c = 0; c < s->clients && !found; c++) {
			uint32_t at = s->client[c].handle - GP_RM_HABIT_CLIENT_BASE;

			found = try_clients(s, f, at > 8 ? at - 8 : 0, 16);
		}
		if (found || s->clients)
			continue;
		found = try_clients(s, f, counter > NEAR ? counter - NEAR : 0, NEAR + 8);
		if (!found && counter > 2 * NEAR)
			try_clients(s, f, 0, NEAR);
	}
}

static bool any_file(const struct scan *s)
{
	for (size_t f = 0; f < s->files; f++)
		if (!s->file[f].useless)
			return true;
	return false;
}

/*
 * Size of the search below the counter. A process may have only clients without groups (an
 * idle NVML user), or such clients may be younger than those with groups (CUPTI makes some
 * when a tool subscribes). Files that a process passed for their groups do have some.
 */
static uint32_t span(const struct scan *s)
{
	return s->given || !s->clients ? CLIENT_SPAN : RECENT;
}

/*
 * A process that has the driver's files open is scanned often until it computes. A long search
 * each time would delay the next scan. So a client that another process made is found among
 * the likely ones only.
 */
static bool may_have_groups(const struct scan *s)
{
	return s->own || s->given || gp_nv_has_compute_client(&s->dev->base, s->pid);
}

/* The next block of handles, on every file. */
static void more_clients(struct scan *s, uint32_t counter, uint32_t done, uint64_t until_ns)
{
	for (size_t f = 0; f < s->files && gp_nv_monotonic_ns() < until_ns; f++)
		try_clients(s, f, counter + NEAR + CLIENT_SPAN - done - BLOCK, BLOCK);
}

/* ---- the objects of a client ------------------------------------------------------ */

static bool class_matters(uint32_t cls)
{
	return cls == GP_RM_CLASS_DEVICE || cls == GP_RM_CLASS_SUBDEVICE ||
	       cls == GP_RM_CLASS_CHANNEL_GROUP || gp_rm_class_is_channel(cls) ||
	       gp_rm_class_is_compute(cls) || gp_rm_class_is_copy(cls);
}

static int node_add(struct scan *s, const struct node *node)
{
	if (s->nodes == s->room) {
		size_t room = s->room ? 2 * s->room : 128;
		struct node *more = realloc(s->node, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->node = more;
		s->room = room;
	}
	s->node[s->nodes++] = *node;
	return 0;
}

static int scan_objects(struct scan *s, size_t c, uint32_t base, uint32_t gap)
{
	size_t file = s->client[c].file;
	uint32_t client = s->client[c].handle;
	uint32_t misses = 0;
	struct node node;
	int r;

	for (uint32_t handle = base; misses < gap; handle++) {
		r = object_class(s, file, client, handle, &node.cls);
		if (r == -ENODEV || r == -EBADF)
			return r;
		if (r) {
			misses++;
			continue;
		}
		misses = 0;
		s->stat->objects++;
		if (!class_matters(node.cls))
			continue;
		node.handle = handle;
		s->stat->calls++;
		if (gp_nv_handle_parent(s->t, fd_of(s, file), client, handle, &node.parent))
			continue;
		r = node_add(s, &node);
		if (r)
			return r;
	}
	return 0;
}

static const struct node *node_find(const struct scan *s, uint32_t handle)
{
	for (size_t i = 0; i < s->nodes; i++)
		if (s->node[i].handle == handle)
			return &s->node[i];
	return NULL;
}

static bool node_any(const struct scan *s, uint32_t cls)
{
	for (size_t i = 0; i < s->nodes; i++)
		if (s->node[i].cls == cls)
			return true;
	return false;
}

/*
 * A group's kind, from the engine objects of its channels. Channels of a compute group may
 * have copy objects too, so compute wins.
 */
static enum gp_group_kind kind_of(struct scan *s, const struct gp_nv_group *g)
{
	enum gp_group_kind kind = GP_GROUP_UNKNOWN;

	for (size_t i = 0; i < s->nodes; i++) {
		const struct node *n = &s->node[i];
		bool ours = false;

		if (gp_rm_class_is_channel(n->cls))
			continue;
		for (uint32_t k = 0; k < g->base.channels && !ours; k++)
			ours = g->channel[k] == n->parent;
		if (!ours)
			continue;
		if (gp_rm_class_is_compute(n->cls)) {
			s->stat->compute_class = n->cls;
			__atomic_store_n(&s->dev->compute_class, n->cls, __ATOMIC_RELAXED);
			return GP_GROUP_COMPUTE;
		}
		if (gp_rm_class_is_copy(n->cls)) {
			s->stat->copy_class = n->cls;
			kind = GP_GROUP_COPY;
		}
	}
	return kind;
}

/*
 * The last resort: libcuda gives compute groups 2048 us, copy groups the driver's default of
 * 1024 us.
 */
static enum gp_group_kind kind_by_slice(struct gp_nv_group *g)
{
	uint64_t us;

	if (gp_nv_get_slice(&g->base, &us))
		return GP_GROUP_UNKNOWN;
	return us == 2048 ? GP_GROUP_COMPUTE : us == 1024 ? GP_GROUP_COPY : GP_GROUP_UNKNOWN;
}

static void add_channels(struct scan *s, struct gp_nv_group *g)
{
	for (size_t i = 0; i < s->nodes; i++) {
		const struct node *n = &s->node[i];

		if (n->parent != g->tsg || !gp_rm_class_is_channel(n->cls) ||
		    g->base.channels == GP_NV_MAX_CHANNELS)
			continue;
		g->channel[g->base.channels++] = n->handle;
		s->stat->channel_class = n->cls;
	}
}

static uint32_t subdevice_of(const struct scan *s, uint32_t device)
{
	for (size_t i = 0; i < s->nodes; i++)
		if (s->node[i].cls == GP_RM_CLASS_SUBDEVICE && s->node[i].parent == device)
			return s->node[i].handle;
	return 0;
}

int gp_nv_subdevice_uuid(const struct gp_nv_transport *t, int fd, uint32_t client,
			 uint32_t subdevice, uint8_t uuid[16])
{
	struct gp_rm_gid_info gid = { .flags = GP_RM_GID_BINARY_SHA1 };
	int r = gp_nv_control(t, fd, client, subdevice, GP_RM_CTRL_GPU_GET_GID_INFO, &gid,
			      sizeof(gid));

	if (r)
		return r;
	if (gid.length < 16)
		return -EPROTO;
	memcpy(uuid, gid.data, 16);
	return 0;
}

int gp_nv_list_add(struct gp_group_list *list, struct gp_nv_group *group)
{
	struct gp_group **more = realloc(list->group, (list->count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	list->group = more;
	list->group[list->count++] = &group->base;
	return 0;
}

/* Is @device (a handle) the scanned GPU? */
static bool device_matches(struct scan *s, size_t c, uint32_t subdevice)
{
	uint8_t uuid[16];

	s->stat->calls++;
	if (gp_nv_subdevice_uuid(s->t, fd_of(s, s->client[c].file), s->client[c].handle, subdevice,
				 uuid))
		return false;
	return !memcmp(uuid, s->dev->base.id.uuid, sizeof(uuid));
}

/* A file with groups in use: get to know when its process ends. */
static int watch_owner(const struct scan *s, struct gp_nv_file *file)
{
	if (s->own || file->pidfd >= 0)
		return 0;
	file->pidfd = fcntl(s->pidfd, F_DUPFD_CLOEXEC, 0);
	return file->pidfd < 0 ? -errno : 0;
}

static int add_group(struct scan *s, size_t c, const struct node *tsg)
{
	const struct node *device = node_find(s, tsg->parent);
	struct gp_nv_group *g;
	uint32_t subdevice;
	int r;

	if (!device || device->cls != GP_RM_CLASS_DEVICE)
		return 0;
	subdevice = subdevice_of(s, device->handle);
	if (!subdevice || !device_matches(s, c, subdevice))
		return 0;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->t = s->t;
	g->file = s->file[s->client[c].file].file;
	gp_nv_file_ref(g->file);
	g->client = s->client[c].handle;
	g->device = device->handle;
	g->subdevice = subdevice;
	g->tsg = tsg->handle;
	g->base.dev = &s->dev->base;
	g->base.pid = s->pid;
	g->base.id = gp_nv_group_id(g->client, g->tsg);
	add_channels(s, g);
	g->base.kind = kind_of(s, g);
	if (g->base.kind == GP_GROUP_UNKNOWN)
		g->base.kind = kind_by_slice(g);
	r = watch_owner(s, g->file);
	if (!r)
		r = gp_nv_list_add(&s->found, g);
	if (r)
		gp_nv_group_put(&g->base);
	return r;
}

static int scan_client(struct scan *s, size_t c)
{
	int r;

	/* Marked since it was listed: another thread was duplicating it. */
	if (is_ours(s->pid, s->file[s->client[c].file].theirs))
		return 0;
	s->nodes = 0;
	for (size_t b = 0; b < sizeof(object_base) / sizeof(object_base[0]); b++) {
		/* A client with devices and groups needs no further base. */
		if (b && node_any(s, GP_RM_CLASS_CHANNEL_GROUP))
			break;
		r = scan_objects(s, c, object_base[b], b ? GAP / 4 : GAP);
		if (r)
			return r;
	}
	for (size_t i = 0; i < s->nodes; i++) {
		if (s->node[i].cls != GP_RM_CLASS_CHANNEL_GROUP)
			continue;
		s->stat->groups++;
		r = add_group(s, c, &s->node[i]);
		if (r)
			return r;
	}
	return 0;
}

static void scan_done(struct scan *s)
{
	for (size_t i = 0; i < s->files; i++)
		gp_nv_file_unref(s->file[i].file);
	if (s->pidfd >= 0)
		close(s->pidfd);
	free(s->node);
}

static void scan_start(struct scan *s, struct gp_nv_device *dev, pid_t pid,
		       struct gp_nv_scan_stat *stat)
{
	memset(stat, 0, sizeof(*stat));
	*s = (struct scan){
		.dev = dev,
		.t = dev->t,
		.pid = pid ? pid : getpid(),
		.own = !pid || pid == getpid(),
		.pidfd = -1,
		.stat = stat,
	};
}

static int scan_clients(struct scan *s, size_t *next)
{
	int r = 0;

	for (; !r && *next < s->clients; (*next)++)
		r = scan_client(s, *next);
	return r;
}

/*
 * Scans the process's control files. If likely clients have no groups, scans all, from the
 * counter down and then the rest, because a young client is likelier. Files without groups
 * must not cost seconds.
 */
static int scan_files(struct scan *s)
{
	uint64_t until_ns;
	uint32_t counter;
	size_t next = 0;
	int r;

	s->stat->files = (uint32_t)s->files;
	if (!s->files)
		return 0;
	if (named_clients(s)) {
		r = scan_clients(s, &next);
		if (r || s->stat->groups)
			goto out;
	}
	counter = client_counter(s);
	likely_clients(s, counter);
	r = scan_clients(s, &next);
	if (r || s->stat->groups || !may_have_groups(s))
		goto out;
	until_ns = gp_nv_monotonic_ns() + DEEP_NS;
	for (uint32_t done = 0; !r && !s->stat->groups && done < span(s) && any_file(s) &&
				gp_nv_monotonic_ns() < until_ns;
	     done += BLOCK) {
		more_clients(s, counter, done, until_ns);
		r = scan_clients(s, &next);
	}
out:
	s->stat->clients = (uint32_t)s->clients;
	return r;
}

/*
 * @r: result of getting the files.
 */
static int scan_end(struct scan *s, int r, struct gp_group_list *list)
{
	int none = 0;

	if (!r)
		r = scan_files(s);
	if (!r && !s->own && s->found.count)
		none = gp_nv_made_no_client(s->dev, s->pid);
	/* The clients are another's: it made the files, and passed them on. */
	if (none > 0)
		gp_group_list_put(&s->found);
	else if (none < 0)
		r = none;
	if (gp_nv_process_gone(s->pidfd))
		r = -ESRCH;
	scan_done(s);
	if (r) {
		gp_group_list_put(&s->found);
		return r;
	}
	*list = s->found;
	return 0;
}

int gp_nv_scan(struct gp_nv_device *dev, pid_t pid, struct gp_group_list *list,
	       struct gp_nv_scan_stat *stat)
{
	struct gp_nv_scan_stat ignored;
	struct scan s;

	scan_start(&s, dev, pid, stat ? stat : &ignored);
	return scan_end(&s, take_files(&s), list);
}

int gp_nv_groups_from(struct gp_device *dev, pid_t pid, const int *fd, const uint32_t *key,
		      size_t n, struct gp_group_list *list)
{
	struct gp_nv_scan_stat ignored;
	struct scan s;

	if (pid < 0)
		return -EINVAL;
	if (n > MAX_FILES)
		return -E2BIG;
	scan_start(&s, gp_nv_of(gp_nv_device, dev), pid, &ignored);
	s.given = key;
	return scan_end(&s, take_given(&s, fd, key, n), list);
}

/* A file that is not this backend's ends the search. */
static int not_ours(void *arg, int fd)
{
	return !is_ours(*(const pid_t *)arg, fd);
}

int gp_nv_has_driver_open(struct gp_device *dev, pid_t pid)
{
	const struct gp_nv_transport *t = gp_nv_of(gp_nv_device, dev)->t;

	if (pid < 0)
		return -EINVAL;
	pid = pid ? pid : getpid();
	return gp_proc_fds(pid, t->prefix, not_ours, &pid);
}

int gp_nv_groups(struct gp_device *dev, pid_t pid, struct gp_group_list *list)
{
	struct gp_nv_device *d = gp_nv_of(gp_nv_device, dev);
	int r;

	if (pid < 0)
		return -EINVAL;
	if (!pid || pid == getpid()) {
		r = gp_nv_track_groups(d, list);
		/* No groups: they may be older than the tracker. */
		if (r != -ENOENT && (r || list->count))
			return r;
	}
	return gp_nv_scan(d, pid, list, NULL);
}
