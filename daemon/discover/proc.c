// SPDX-License-Identifier: Apache-2.0
/*
 * proc.c - all reads go through one descriptor of /proc/PID. It belongs to the process that it
 * was opened for, and returns errors once that has ended, even if another has the number. The
 * users and the program are read before and after the rest, to detect an execve or setuid in
 * between.
 */
#include "daemon/discover/proc.h"
#include "daemon/loop/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATUS_BYTES_MAX (1u << 20) /* 65536 groups of ten digits and a blank */
#define CGROUP_BYTES_MAX (1u << 17) /* v1 has a path of 4 KiB in each of its lines */
#define MOUNTS_BYTES_MAX (1u << 22) /* some 20,000 mounts */
#define STAT_BYTES_MAX (1u << 13)
#define READ_BYTES 4096u
#define TRIES 3
#define DELETED " (deleted)"

/* ---- files ------------------------------------- */

static ssize_t read_some(int fd, char *buf, size_t bytes)
{
	ssize_t n;

	do {
		n = read(fd, buf, bytes);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* All of @fd, with a NUL after it; -EFBIG: @max bytes or more. */
static int read_fd(int fd, size_t max, char **text)
{
	size_t used = 0, size = READ_BYTES;
	char *buf = malloc(size), *more;
	ssize_t n = buf ? 1 : -ENOMEM;

	while (n > 0) {
		n = read_some(fd, buf + used, size - used);
		if (n > 0)
			used += (size_t)n;
		if (n < 0 || used < size)
			continue;
		size *= 2;
		more = size <= max ? realloc(buf, size) : NULL;
		if (more)
			buf = more;
		else
			n = size <= max ? -ENOMEM : -EFBIG;
	}
	if (n < 0) {
		free(buf);
		return (int)n;
	}
	buf[used] = '\0';
	*text = buf;
	return 0;
}

/* A process that has ended has no files, or they give ESRCH. */
static int gone(int err)
{
	return err == -ENOENT ? -ESRCH : err;
}

static int noted(int err)
{
	gp_log_shortage(err, "cannot read a process's files in /proc");
	return err;
}

static int read_file(int dir, const char *name, size_t max, char **text)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return noted(gone(-errno));
	err = read_fd(fd, max, text);
	close(fd);
	return noted(err);
}

/* ---- stat, status ------------------------------------- */

/* PID (COMM) STATE ...: COMM may contain any bytes, ")" too. The 22nd field is the start. */
static int parse_start(const char *text, uint64_t *ticks)
{
	const char *at = strrchr(text, ')');
	char *end;

	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || at[1] < '0' || at[1] > '9')
		return -EPROTO;
	errno = 0;
	*ticks = strtoull(at + 1, &end, 10);
	return errno || (*end != ' ' && *end != '\n') ? -EPROTO : 0;
}

static int read_start(int dir, uint64_t *ticks)
{
	char *text;
	int err = read_file(dir, "stat", STAT_BYTES_MAX, &text);

	if (err)
		return err;
	err = parse_start(text, ticks);
	free(text);
	return err;
}

/* The rest after "KEY:" at the beginning of a line; NULL: no such line. */
static const char *line_of(const char *text, const char *key)
{
	size_t n = strlen(key);

	while (text && (strncmp(text, key, n) || text[n] != ':')) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + n + 1 : NULL;
}

/* The next number of a line at *@at, which moves past it; false: none. */
static bool next_id(const char **at, uint32_t *id)
{
	unsigned long long v;
	char *end;

	while (**at == ' ' || **at == '\t')
		(*at)++;
	if (**at < '0' || **at > '9')
		return false;
	v = strtoull(*at, &end, 10);
	if (v > UINT32_MAX)
		return false;
	*at = end;
	*id = (uint32_t)v;
	return true;
}

/* Of four: real, effective, saved, of the file system. @id: the real one. */
static int parse_ids(const char *text, const char *key, uint32_t *id, bool *differ)
{
	const char *at = line_of(text, key);
	uint32_t effective, saved;

	if (!at || !next_id(&at, id) || !next_id(&at, &effective) || !next_id(&at, &saved))
		return -EPROTO;
	*differ |= effective != *id || saved != *id;
	return 0;
}

static int parse_groups(const char *text, struct gp_subject *s)
{
	const char *at = line_of(text, "Groups"), *count = at;
	size_t n = 0;
	uint32_t id;

	if (!at)
		return -EPROTO;
	while (next_id(&count, &id))
		n++;
	if (!n)
		return 0;
	s->groups = calloc(n, sizeof(*s->groups));
	if (!s->groups)
		return -ENOMEM;
	for (s->group_count = 0; s->group_count < n; s->group_count++)
		next_id(&at, &s->groups[s->group_count]);
	return 0;
}

/* The kernel writes a newline in it as two characters, "\" and "n". */
static int parse_comm(const char *text, char comm[GP_COMM_LEN])
{
	const char *at = line_of(text, "Name");
	size_t n = 0;

	if (!at || *at++ != '\t')
		return -EPROTO;
	for (; at[n] && at[n] != '\n' && n + 1 < GP_COMM_LEN; n++)
		comm[n] = (unsigned char)at[n] < ' ' || at[n] == 127 ? '?' : at[n];
	comm[n] = '\0';
	return 0;
}

static int parse_status(const char *text, struct gp_subject *s)
{
	const char *tgid = line_of(text, "Tgid");
	uint32_t id;
	int err;

	if (!tgid || !next_id(&tgid, &id))
		return -EPROTO;
	/* The number of a thread opens a folder, too. */
	if (id != (uint32_t)s->pid)
		return -ESRCH;
	s->ids_differ = false;
	err = parse_ids(text, "Uid", &s->uid, &s->ids_differ);
	if (!err)
		err = parse_ids(text, "Gid", &s->gid, &s->ids_differ);
	if (!err)
		err = parse_comm(text, s->comm);
	return err ? err : parse_groups(text, s);
}

static int read_status(int dir, struct gp_subject *s)
{
	char *text;
	int err = read_file(dir, "status", STATUS_BYTES_MAX, &text);

	if (err)
		return err;
	err = parse_status(text, s);
	free(text);
	return err;
}

/* ---- cgroup ------------------------------------- */

/* "12:memory,cpu:/path": the path if the middle is @controller. */
static const char *path_of(const char *line, const char *controller)
{
	const char *at = strchr(line, ':');
	size_t n = strlen(controller);

	if (!at || strncmp(at + 1, controller, n) || at[1 + n] != ':')
		return NULL;
	return at[2 + n] == '/' ? at + 2 + n : NULL;
}

/* Removes the suffix that the kernel adds to deleted names. */
static void cut_deleted(char *path)
{
	size_t n = strlen(path), m = strlen(DELETED);

	if (n > m && !strcmp(path + n - m, DELETED))
		path[n - m] = '\0';
}

/*
 * Version 2 first: "0::/path". If it is not mounted or the process is at its root, systemd's
 * hierarchy, or any: container runtimes make the same path in all. With both versions, some make
 * theirs in version 1 only, so all lines are searched for the id. Slurm makes its own in some of
 * version 1's hierarchies, and then that path counts.
 */
static int parse_cgroup(char *text, struct gp_subject *s)
{
	static const char *const order[] = { "", "name=systemd", "memory", "devices", "pids" };
	const char *found[sizeof(order) / sizeof(order[0])] = { 0 }, *path = NULL;
	char *save = NULL, *line, id[GP_CONTAINER_LEN] = "";
	const char *of_job = NULL;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		cut_deleted(line);
		for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
			if (!found[i])
				found[i] = path_of(line, order[i]);
		s->contained = s->contained || gp_container_is_named(line);
		if (!id[0] && strchr(line, '/'))
			gp_container_of(strchr(line, '/'), id);
		if (!of_job && strchr(line, '/') && gp_job_of(strchr(line, '/'), s->job))
			of_job = strchr(line, '/');
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (found[i] && (!path || !path[1]))
			path = found[i];
	if (of_job)
		path = of_job;
	if (path) {
		gp_container_of(path, s->container);
		s->cgroup = strdup(path);
	}
	if (!s->container[0])
		memcpy(s->container, id, sizeof(id));
	return path && !s->cgroup ? -ENOMEM : 0;
}

const char *gp_proc_parse_cgroup2(char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *path = path_of(line, "");

		if (path) {
			cut_deleted(line);
			return path;
		}
	}
	return NULL;
}

int gp_proc_cgroup2(const char *proc, pid_t pid, char **path)
{
	char name[PATH_MAX], *text;
	const char *found;
	int err;

	snprintf(name, sizeof(name), "%s/%d/cgroup", proc, (int)pid);
	err = read_file(AT_FDCWD, name, CGROUP_BYTES_MAX, &text);
	if (err)
		return err;
	found = gp_proc_parse_cgroup2(text);
	*path = found ? strdup(found) : NULL;
	free(text);
	return found && !*path ? -ENOMEM : 0;
}

static int read_cgroup(int dir, struct gp_subject *s)
{
	char *text;
	int err = read_file(dir, "cgroup", CGROUP_BYTES_MAX, &text);

	if (err)
		return err;
	err = parse_cgroup(text, s);
	free(text);
	return err;
}

/* ---- PID namespace ------------------------------------- */

#define NAMESPACE_LEN 32

/* False: not readable. */
static bool read_namespace(int dir, const char *name, char text[NAMESPACE_LEN])
{
	ssize_t n = readlinkat(dir, name, text, NAMESPACE_LEN - 1);

	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Some containers have cgroups with other names; nearly all have PIDs of their own. */
static void read_contained(int proc, int dir, struct gp_subject *s)
{
	char theirs[NAMESPACE_LEN], ours[NAMESPACE_LEN];

	if (!read_namespace(dir, "ns/pid", theirs) || !read_namespace(proc, "self/ns/pid", ours) ||
	    strcmp(theirs, ours))
		s->contained = true;
}

/* ---- exe ------------------------------------- */

/* 1: not readable, or none. */
static int read_link(int dir, char path[PATH_MAX])
{
	ssize_t n = readlinkat(dir, "exe", path, PATH_MAX);

	if (n == PATH_MAX)
		return 1;
	if (n < 0)
		return errno == EACCES || errno == EPERM || errno == ENOENT ||
				       errno == ENAMETOOLONG ?
			       1 :
			       -errno;
	path[n] = '\0';
	return 0;
}

/*
 * Another user's path may lie in a file system with a server, his own, that never answers. The
 * kernel's cache has the names of a running program, so openat2 uses only that. Old kernels,
 * and filters of containers, lack it: then only a mount proves a path.
 */
static int open_cached(const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_CACHED,
	};
	int fd = -1;

	/* It also fails after a rename nearby. */
	for (int i = 0; fd < 0 && i < TRIES; i++) {
		fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
		if (fd < 0 && errno != EAGAIN)
			break;
	}
	return fd;
}

static bool identify(int fd, struct statx *st)
{
	return fd >= 0 && !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
				 STATX_INO | STATX_NLINK | STATX_MNT_ID, st);
}

/* Does process @who ("self", "1") see mount @id? A line begins with its number. */
static bool sees_mount(int proc, const char *who, uint64_t id)
{
	char name[32], *text, *line;
	bool sees = false;

	snprintf(name, sizeof(name), "%s/mountinfo", who);
	if (read_file(proc, name, MOUNTS_BYTES_MAX, &text))
		return false;
	for (line = text; line && !sees; line = strchr(line, '\n')) {
		line += *line == '\n';
		sees = *line >= '0' && *line <= '9' && strtoull(line, NULL, 10) == id;
	}
	free(text);
	return sees;
}

/*
 * On a mount of the machine's first process, or of ours, the kernel's path is the one there.
 * @theirs is open, so no other mount has its number.
 */
static bool is_our_mount(int proc, const struct statx *theirs)
{
	return theirs->stx_mask & STATX_MNT_ID && (sees_mount(proc, "self", theirs->stx_mnt_id) ||
						   sees_mount(proc, "1", theirs->stx_mnt_id));
}

/* Is it our file at @path? */
static bool is_at(const struct statx *theirs, const char *path)
{
	int fd = open_cached(path);
	struct statx ours;
	bool same = identify(fd, &ours) && theirs->stx_ino == ours.stx_ino &&
		    theirs->stx_dev_major == ours.stx_dev_major &&
		    theirs->stx_dev_minor == ours.stx_dev_minor;

	if (fd >= 0)
		close(fd);
	return same;
}

/*
 * The path is from the process's mount namespace, which a user may have made, or from a
 * received descriptor. The mount proves it, or the file itself. A deleted or upgraded program
 * has no path any more.
 */
static bool is_proven(int proc, int dir, char *path)
{
	int fd = openat(dir, "exe", O_PATH | O_CLOEXEC);
	struct statx theirs;
	bool proven = false;

	if (fd < 0)
		noted(-errno);
	if (identify(fd, &theirs)) {
		proven = is_our_mount(proc, &theirs);
		if (proven && !theirs.stx_nlink)
			cut_deleted(path);
		if (!proven)
			proven = is_at(&theirs, path);
	}
	if (fd >= 0)
		close(fd);
	return proven;
}

static int read_exe(int proc, int dir, struct gp_subject *s)
{
	char path[PATH_MAX];
	int err = read_link(dir, path);

	if (err || path[0] != '/' || !is_proven(proc, dir, path))
		return err < 0 ? err : 0;
	s->exe = strdup(path);
	return s->exe ? 0 : -ENOMEM;
}

/* ---- all together ------------------------------------ */

static int open_process(int proc, pid_t pid)
{
	char name[16];
	int dir;

	snprintf(name, sizeof(name), "%d", (int)pid);
	dir = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? noted(gone(-errno)) : dir;
}

bool gp_proc_is_root(pid_t pid)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int dir = proc < 0 ? -1 : open_process(proc, pid);
	struct gp_subject s = { .pid = pid };
	bool is = dir >= 0 && !read_status(dir, &s) && s.uid == 0 && !s.ids_differ &&
		  !read_cgroup(dir, &s);

	if (is)
		read_contained(proc, dir, &s);
	is = is && !s.contained;
	gp_proc_clear(&s);
	if (dir >= 0)
		close(dir);
	if (proc >= 0)
		close(proc);
	return is;
}

void gp_proc_clear(struct gp_subject *s)
{
	free(s->groups);
	free(s->exe);
	free(s->cgroup);
	gp_container_free(s->facts);
	s->facts = NULL;
	s->groups = NULL;
	s->group_count = 0;
	s->exe = NULL;
	s->cgroup = NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_groups(const struct gp_subject *a, const struct gp_subject *b)
{
	return a->group_count == b->group_count &&
	       (!a->group_count ||
		!memcmp(a->groups, b->groups, a->group_count * sizeof(*a->groups)));
}

/* Does it still run the same program with the same users? */
static int check_again(int proc, int dir, const struct gp_subject *s)
{
	struct gp_subject now = { .pid = s->pid };
	int err = read_exe(proc, dir, &now);

	if (!err)
		err = read_status(dir, &now);
	if (!err)
		err = read_start(dir, &now.start_ticks);
	if (!err && (now.uid != s->uid || now.gid != s->gid || now.ids_differ != s->ids_differ ||
		     !same_groups(&now, s) || !same_text(now.exe, s->exe) ||
		     now.start_ticks != s->start_ticks))
		err = -EAGAIN;
	gp_proc_clear(&now);
	return err;
}

static int read_once(int proc, int dir, struct gp_subject *s)
{
	int err = read_start(dir, &s->start_ticks);

	if (!err)
		err = read_status(dir, s);
	if (!err)
		err = read_cgroup(dir, s);
	if (!err)
		read_contained(proc, dir, s);
	if (!err)
		err = read_exe(proc, dir, s);
	return err ? err : check_again(proc, dir, s);
}

int gp_proc_read_at(int proc, pid_t pid, struct gp_subject *subject)
{
	struct gp_subject s;
	int dir = open_process(proc, pid), err = -EAGAIN;

	if (dir < 0)
		return dir;
	for (int i = 0; err == -EAGAIN && i < TRIES; i++) {
		s = (struct gp_subject){ .pid = pid };
		err = read_once(proc, dir, &s);
		if (err)
			gp_proc_clear(&s);
	}
	close(dir);
	if (!err)
		*subject = s;
	return err;
}

int gp_proc_start(pid_t pid, uint64_t *ticks)
{
	char name[32], *text;
	int err;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	err = read_file(AT_FDCWD, name, STAT_BYTES_MAX, &text);
	if (err)
		return err;
	err = parse_start(text, ticks);
	free(text);
	return err;
}

int gp_proc_user(pid_t pid, uid_t *uid)
{
	char name[32], *text;
	const char *at;
	uint32_t id;
	int err;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
	err = read_file(AT_FDCWD, name, STATUS_BYTES_MAX, &text);
	if (err)
		return err;
	at = line_of(text, "Uid");
	if (at && next_id(&at, &id))
		*uid = id;
	else
		err = -EPROTO;
	free(text);
	return err;
}

int gp_proc_read(pid_t pid, struct gp_subject *subject)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), err;

	if (proc < 0)
		return noted(-errno);
	err = gp_proc_read_at(proc, pid, subject);
	close(proc);
	return err;
}
