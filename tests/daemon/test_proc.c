// SPDX-License-Identifier: Apache-2.0
/*
 * Reads of /proc for this process and its children, and of a folder that stands for /proc. The
 * linker puts a hook into readlinkat(), so that things change during a read.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/discover/proc.h"
#include "tests/common/gp_test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba98765432100123456789abcdef0123456789abcdef0123456789abcdef"
#define PID 4711

static void (*on_readlink)(void);

ssize_t __real_readlinkat(int dir, const char *path, char *buf, size_t len);
ssize_t __wrap_readlinkat(int dir, const char *path, char *buf, size_t len);

ssize_t __wrap_readlinkat(int dir, const char *path, char *buf, size_t len)
{
	if (on_readlink && !strcmp(path, "exe"))
		on_readlink();
	return __real_readlinkat(dir, path, buf, len);
}

/* ---- a folder that stands for /proc ------------------------------------- */

static char folder[64];
static int proc = -1;

static void path_in(char *path, size_t len, const char *name)
{
	snprintf(path, len, "%s/%d/%s", folder, PID, name);
}

static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	path_in(path, sizeof(path), name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void drop(const char *name)
{
	char path[PATH_MAX];

	path_in(path, sizeof(path), name);
	unlink(path);
}

static void put_link(const char *name, const char *to)
{
	char path[PATH_MAX];

	drop(name);
	path_in(path, sizeof(path), name);
	assert_int_equal(symlink(to, path), 0);
}

#define STAT(comm, start) \
	"4711 (" comm ") S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 " start " 23 24\n"
#define STATUS(uid)                                                         \
	"Name:\tx\nTgid:\t4711\nUid:\t" uid "\t1\t3\t4\nGid:\t5\t6\t7\t8\n" \
	"Groups:\t10 20 \nVmRSS:\t1 kB\n"

static int make(void **state)
{
	char path[PATH_MAX];

	strcpy(folder, "/tmp/gp-test-proc-XXXXXX");
	assert_non_null(mkdtemp(folder));
	path_in(path, sizeof(path), "");
	assert_int_equal(mkdir(path, 0700), 0);
	put("stat", STAT("x", "99"));
	put("status", STATUS("2"));
	put("cgroup", "0::/a/b\n");
	put_link("exe", "/bin/sh");
	proc = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc >= 0);
	return 0;
}

static int clean(void **state)
{
	char path[PATH_MAX];

	on_readlink = NULL;
	drop("stat");
	drop("status");
	drop("cgroup");
	drop("exe");
	path_in(path, sizeof(path), "");
	rmdir(path);
	rmdir(folder);
	close(proc);
	return 0;
}

static void refuses(int err)
{
	struct gp_subject s, untouched;

	memset(&s, 0x5a, sizeof(s));
	untouched = s;
	assert_int_equal(gp_proc_read_at(proc, PID, &s), err);
	assert_memory_equal(&s, &untouched, sizeof(s));
}

static struct gp_subject reads(void)
{
	struct gp_subject s;

	assert_int_equal(gp_proc_read_at(proc, PID, &s), 0);
	return s;
}

/* The real ids count. The others, if they differ, show a setuid or setgid program. */
static void test_ids(void **state)
{
	static const struct {
		const char *uid, *gid;
		bool differ;
	} ids[] = {
		{ "7\t7\t7\t9", "5\t5\t5\t9", false }, { "7\t0\t7\t7", "5\t5\t5\t5", true },
		{ "7\t7\t0\t7", "5\t5\t5\t5", true },  { "7\t7\t7\t7", "5\t0\t5\t5", true },
		{ "7\t7\t7\t7", "5\t5\t0\t5", true },
	};
	char text[200];
	struct gp_subject s;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(text, sizeof(text),
			 "Name:\tx\nTgid:\t4711\nUid:\t%s\nGid:\t%s\nGroups:\t\n", ids[i].uid,
			 ids[i].gid);
		put("status", text);
		s = reads();
		assert_int_equal(s.uid, 7);
		assert_int_equal(s.gid, 5);
		assert_int_equal(s.ids_differ, ids[i].differ);
		gp_proc_clear(&s);
	}
}

static void test_fields(void **state)
{
	struct gp_subject s = reads();

	assert_int_equal(s.pid, PID);
	assert_int_equal(s.start_ticks, 99);
	assert_int_equal(s.uid, 2);
	assert_int_equal(s.gid, 5);
	assert_true(s.ids_differ);
	assert_int_equal(s.group_count, 2);
	assert_int_equal(s.groups[0], 10);
	assert_int_equal(s.groups[1], 20);
	assert_string_equal(s.cgroup, "/a/b");
	assert_string_equal(s.container, "");
	assert_string_equal(s.comm, "x");
	assert_null(s.device);
	gp_proc_clear(&s);
	gp_proc_clear(&s);
	assert_null(s.cgroup);
}

/* "(", ")", blanks and newlines in the name, which stat prints as they are. */
static void test_hostile_comm(void **state)
{
	static const char *const names[] = { "a) S 1 (b", ")", "a\nb) 1 2 3", "((", " " };
	char text[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct gp_subject s;

		snprintf(text, sizeof(text),
			 "4711 (%s) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 "
			 "16 17 18 77 23\n",
			 names[i]);
		put("stat", text);
		s = reads();
		assert_int_equal(s.start_ticks, 77);
		gp_proc_clear(&s);
	}
	put("status", "Name:\tx\\nUid:\t0\x1b[31m\nTgid:\t4711\nUid:\t1\t2\t3\t4\n"
		      "Gid:\t5\t6\t7\t8\nGroups:\t\n");
	{
		struct gp_subject s = reads();

		assert_string_equal(s.comm, "x\\nUid:?0?[31m");
		assert_int_equal(s.uid, 1);
		assert_int_equal(s.group_count, 0);
		gp_proc_clear(&s);
	}
}

static void test_cgroups(void **state)
{
	static const struct {
		const char *text, *cgroup, *container;
	} c[] = {
		/* A container's name, made by a user. */
		{ "0::/user.slice/user-7.slice/user@7.service/docker-" ID ".scope\n",
		  "/user.slice/user-7.slice/user@7.service/docker-" ID ".scope", "" },
		{ "4:memory:/users/eve/docker/" ID "\n0::/users/eve\n", "/users/eve", "" },
		{ "0::/\n", "/", "" },
		{ "0::/docker/" ID "\n", "/docker/" ID, ID },
		/* Removed, while the process ends. */
		{ "0::/docker/" ID " (deleted)\n", "/docker/" ID, ID },
		/* Outside of the reader's own cgroup namespace. */
		{ "0::/../../a\n", "/../../a", "" },
		/* A colon, and blanks. */
		{ "0::/a:b/c d\n", "/a:b/c d", "" },
		/* Version 1 alone: systemd's, else memory's. */
		{ "12:cpu,cpuacct:/x\n3:memory:/docker/" ID "\n1:name=systemd:/docker/" ID "\n",
		  "/docker/" ID, ID },
		{ "12:cpu,cpuacct:/x\n3:memory:/y\n", "/y", "" },
		{ "12:cpu,cpuacct:/x\n3:memory,cpu:/y\n", NULL, "" },
		/* Both, and the runtime made its own in version 1 only. */
		{ "4:memory:/docker/" ID "\n0::/system.slice/containerd.service\n",
		  "/system.slice/containerd.service", ID },
		/* Both, and they differ: version 2 counts. */
		{ "4:memory:/docker/" OTHER "\n0::/docker/" ID "\n", "/docker/" ID, ID },
		/* Both, and version 2 is not in use. */
		{ "4:memory:/slurm/uid_7/job_3\n1:name=systemd:/\n0::/\n", "/slurm/uid_7/job_3",
		  "" },
		{ "4:memory:/\n1:name=systemd:/\n0::/\n", "/", "" },
		/* Slurm's own folder, wherever it is. */
		{ "5:freezer:/slurm/uid_7/job_3/step_0\n1:name=systemd:/system.slice/"
		  "slurmd.service\n"
		  "0::/system.slice/slurmd.service\n",
		  "/slurm/uid_7/job_3/step_0", "" },
		{ "", NULL, "" },
		{ "0::\n", NULL, "" },
		{ "nonsense\n", NULL, "" },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct gp_subject s;

		put("cgroup", c[i].text);
		s = reads();
		if (!s.cgroup != !c[i].cgroup || (s.cgroup && strcmp(s.cgroup, c[i].cgroup)) ||
		    strcmp(s.container, c[i].container))
			fail_msg("%s: %s, %s", c[i].text, s.cgroup, s.container);
		gp_proc_clear(&s);
	}
}

static void test_nonsense(void **state)
{
	static const char *const stats[] = {
		"",
		"\n",
		"4711",
		"4711 (x)",
		"4711 (x) S 1 2",
		STAT("x", "-1"),
		STAT("x", "a"),
		STAT("x", "99999999999999999999999"),
		STAT("x", "1x"),
		STAT("x", ""),
	};
	static const char *const statuses[] = {
		"",
		"Name:\tx\n",
		"Name:\tx\nTgid:\t4711\n",
		"Name:\tx\nTgid:\t4711\nUid:\t1\nGid:\t1\t1\t1\t1\nGroups:\t\n",
		"Name:\tx\nTgid:\t4711\nUid:\t1\t4294967296\nGid:\t1\t1\t1\t1\nGroups:\t\n",
		"Name:\tx\nTgid:\t4711\nUid:\t1\t1\t1\nGid:\t1\nGroups:\t\n",
		"Name:\tx\nTgid:\t4711\nUid:\t1\t1\t1\nGid:\t1\t1\t1\n",
		"Tgid:\t4711\nUid:\t1\t1\t1\nGid:\t1\t1\t1\nGroups:\t\n",
		"Name:\tx\nTgid:\nUid:\t1\t1\t1\nGid:\t1\t1\t1\nGroups:\t\n",
	};

	for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++) {
		put("stat", stats[i]);
		refuses(-EPROTO);
	}
	put("stat", STAT("x", "99"));
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		put("status", statuses[i]);
		refuses(-EPROTO);
	}
	/* The number of a thread. */
	put("status", "Name:\tx\nTgid:\t4710\n");
	refuses(-ESRCH);
}

/* The maximum of groups fits; an endless file is not read to its end. */
static void test_long_files(void **state)
{
	struct gp_subject s;
	char path[PATH_MAX];
	FILE *f;

	path_in(path, sizeof(path), "status");
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("Name:\tx\nTgid:\t4711\nUid:\t1\t1\t1\nGid:\t1\t1\t1\nGroups:\t", f);
	for (uint32_t i = 0; i < 65536; i++)
		fprintf(f, "%u ", UINT32_MAX - i);
	fputs("\nVmRSS:\t1 kB\n", f);
	fclose(f);
	s = reads();
	assert_int_equal(s.group_count, 65536);
	assert_int_equal(s.groups[65535], UINT32_MAX - 65535);
	gp_proc_clear(&s);
	drop("cgroup");
	put_link("cgroup", "/dev/zero");
	refuses(-EFBIG);
}

static void test_exe_of_files(void **state)
{
	struct gp_subject s = reads();
	char long_path[PATH_MAX];

	assert_string_equal(s.exe, "/bin/sh");
	gp_proc_clear(&s);
	/* No such file here; no path; none at all: the first thread has ended. */
	put_link("exe", "/no/such/file");
	s = reads();
	assert_null(s.exe);
	gp_proc_clear(&s);
	put_link("exe", "sh");
	s = reads();
	assert_null(s.exe);
	gp_proc_clear(&s);
	drop("exe");
	s = reads();
	assert_null(s.exe);
	assert_string_equal(s.cgroup, "/a/b");
	gp_proc_clear(&s);
	/* Longer than any path: truncated by the kernel, so not shown. */
	memset(long_path, 'a', sizeof(long_path));
	long_path[0] = '/';
	long_path[PATH_MAX - 1] = '\0';
	put_link("exe", long_path);
	s = reads();
	assert_null(s.exe);
	gp_proc_clear(&s);
}

/* ---- things that change meanwhile ------------------------------------- */

static int calls;

static void becomes_root_once(void)
{
	if (!calls++)
		put("status", STATUS("0"));
}

static void changes_always(void)
{
	static const char *const other[] = { STATUS("3"), STATUS("4"), STATUS("5") };

	put("status", other[calls++ % 3]);
}

static void ends(void)
{
	drop("status");
	drop("stat");
}

static void is_another_by_now(void)
{
	put("stat", STAT("x", "100"));
}

static void execs_once(void)
{
	if (calls++ == 1)
		put_link("exe", "/bin/cat");
}

static void test_changes(void **state)
{
	struct gp_subject s;

	on_readlink = becomes_root_once;
	calls = 0;
	s = reads();
	assert_int_equal(s.uid, 0);
	gp_proc_clear(&s);

	on_readlink = execs_once;
	calls = 0;
	s = reads();
	assert_string_equal(s.exe, "/bin/cat");
	gp_proc_clear(&s);

	on_readlink = is_another_by_now;
	s = reads();
	assert_int_equal(s.start_ticks, 100);
	gp_proc_clear(&s);

	on_readlink = changes_always;
	calls = 0;
	refuses(-EAGAIN);

	on_readlink = ends;
	refuses(-ESRCH);
}

static void test_no_process(void **state)
{
	struct gp_subject s;

	assert_int_equal(gp_proc_read_at(proc, PID + 1, &s), -ESRCH);
	assert_int_equal(gp_proc_read_at(-1, PID, &s), -EBADF);
	drop("cgroup");
	refuses(-ESRCH);
}

/* ---- the real /proc ------------------------------------- */

static int compare(const void *a, const void *b)
{
	const gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;

	return x < y ? -1 : x > y;
}

static void test_self(void **state)
{
	gid_t *groups = calloc(65536, sizeof(*groups));
	char exe[PATH_MAX] = "";
	struct gp_subject s;
	int count;

	assert_non_null(groups);
	count = getgroups(65536, groups);
	assert_true(count >= 0 && readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(gp_proc_read(getpid(), &s), 0);
	assert_int_equal(s.uid, geteuid());
	assert_int_equal(s.gid, getegid());
	assert_int_equal(s.group_count, count);
	qsort(groups, (size_t)count, sizeof(*groups), compare);
	if (count) {
		qsort(s.groups, s.group_count, sizeof(*s.groups), compare);
		assert_memory_equal(s.groups, groups, (size_t)count * sizeof(*groups));
	}
	assert_string_equal(s.exe, exe);
	assert_string_equal(s.comm, "test_proc");
	assert_true(s.start_ticks > 0);
	gp_proc_clear(&s);
	free(groups);
}

static void test_own_comm(void **state)
{
	struct gp_subject s;

	assert_int_equal(prctl(PR_SET_NAME, "a)\nUid:\t0"), 0);
	assert_int_equal(gp_proc_read(getpid(), &s), 0);
	/* The tab is kept, the newline becomes two characters. */
	assert_string_equal(s.comm, "a)\\nUid:?0");
	assert_int_equal(s.uid, geteuid());
	gp_proc_clear(&s);
	assert_int_equal(prctl(PR_SET_NAME, "test_proc"), 0);
}

static void *thread_id(void *arg)
{
	struct gp_subject s;

	*(int *)arg = gp_proc_read((pid_t)syscall(SYS_gettid), &s);
	return NULL;
}

static void test_thread(void **state)
{
	pthread_t thread;
	int err = 0;

	assert_int_equal(pthread_create(&thread, NULL, thread_id, &err), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(err, -ESRCH);
}

/* A zombie is there, without a program; then it is gone. */
static void test_ended(void **state)
{
	pid_t pid = fork();
	struct gp_subject s;
	siginfo_t info;

	if (!pid)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(gp_proc_read(pid, &s), 0);
	assert_null(s.exe);
	assert_int_equal(s.uid, geteuid());
	gp_proc_clear(&s);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(gp_proc_read(pid, &s), -ESRCH);
}

/* A child that runs @path, and reads from its end of a pipe until that is closed. */
static pid_t start(const char *path, int *hold)
{
	int in[2], ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		execl(path, "cat", (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	close(in[0]);
	close(ready[1]);
	/* execve closes it. */
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	*hold = in[1];
	return pid;
}

static void copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	char buf[65536];
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		assert_int_equal(write(out, buf, (size_t)n), n);
	close(in);
	close(out);
}

/* A program replaced while it runs keeps its original path. */
static void test_deleted(void **state)
{
	char path[PATH_MAX], as_deleted[PATH_MAX];
	struct gp_subject s;
	int hold, again;
	pid_t pid, other;

	path_in(path, sizeof(path), "exe");
	unlink(path);
	copy("/bin/cat", path);
	pid = start(path, &hold);
	assert_int_equal(gp_proc_read(pid, &s), 0);
	assert_string_equal(s.exe, path);
	gp_proc_clear(&s);

	/* Replaced as by a package manager. */
	unlink(path);
	copy("/bin/cat", path);
	assert_int_equal(gp_proc_read(pid, &s), 0);
	assert_string_equal(s.exe, path);
	gp_proc_clear(&s);

	/* A file that really has this name. */
	snprintf(as_deleted, sizeof(as_deleted), "%.100s (deleted)", path);
	copy("/bin/cat", as_deleted);
	other = start(as_deleted, &again);
	assert_int_equal(gp_proc_read(other, &s), 0);
	assert_string_equal(s.exe, as_deleted);
	gp_proc_clear(&s);
	unlink(as_deleted);
	close(hold);
	close(again);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(waitpid(other, NULL, 0), other);
}

/* A program in memory, in no mount, that claims a path. */
static void test_memory(void **state)
{
	int fd = (int)syscall(SYS_memfd_create, "a/bin/cat", 1u /* MFD_CLOEXEC */), hold;
	char path[64];
	struct gp_subject s;
	pid_t pid;

	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	copy("/bin/cat", path);
	pid = start(path, &hold);
	assert_int_equal(gp_proc_read(pid, &s), 0);
	assert_null(s.exe);
	gp_proc_clear(&s);
	close(hold);
	close(fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/*
 * In a mount namespace of its own, @over is @program for all processes there. 0, or -1: not
 * permitted here.
 */
static int mount_over(const char *program, const char *over)
{
	char map[64];
	int fd;

	snprintf(map, sizeof(map), "0 %u 1", geteuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -1;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, map, strlen(map)) < 0)
		return -1;
	close(fd);
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
			       (program && mount(program, over, NULL, MS_BIND, NULL)) ?
		       -1 :
		       0;
}

/* A child that runs @over in such a namespace, until @hold is closed; -1: not here. */
static pid_t start_in_namespace(const char *program, const char *over, int *hold)
{
	int in[2], told[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(told, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		if (mount_over(program, over) || write(told[1], "x", 1) != 1)
			_exit(1);
		execl(over, "cat", (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	close(in[0]);
	close(told[1]);
	*hold = in[1];
	/* execve closes it. */
	if (read(told[0], &byte, 1) == 1) {
		assert_int_equal(read(told[0], &byte, 1), 0);
		close(told[0]);
		return pid;
	}
	close(told[0]);
	close(in[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	print_message("no mount namespace of one's own here\n");
	return -1;
}

static void link_says(pid_t pid, const char *path)
{
	char link[PATH_MAX] = "", name[32];

	snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
	assert_true(readlink(name, link, sizeof(link) - 1) > 0);
	assert_string_equal(link, path);
}

/* Any user may mount a program over another one, in a private namespace, and share it. */
static void test_false_path(void **state)
{
	char path[PATH_MAX], through[64];
	struct gp_subject s;
	int hold, again;
	pid_t pid, ours;

	path_in(path, sizeof(path), "exe");
	unlink(path);
	copy("/bin/cat", path);
	pid = start_in_namespace(path, "/usr/bin/env", &hold);
	if (pid < 0) {
		gp_note_skip();
		skip();
	}
	link_says(pid, "/usr/bin/env");
	assert_int_equal(gp_proc_read(pid, &s), 0);
	assert_null(s.exe);
	gp_proc_clear(&s);

	/* A process in our namespace runs it: the link is the same. */
	snprintf(through, sizeof(through), "/proc/%d/root/usr/bin/env", (int)pid);
	ours = start(through, &again);
	link_says(ours, "/usr/bin/env");
	assert_int_equal(gp_proc_read(ours, &s), 0);
	assert_null(s.exe);
	gp_proc_clear(&s);
	close(hold);
	close(again);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(waitpid(ours, NULL, 0), ours);
}

/* A service's mounts are copies of ours: the file is the proof, while it exists. */
static void test_copied_mounts(void **state)
{
	char path[PATH_MAX];
	struct gp_subject s;
	pid_t pid;
	int hold;

	path_in(path, sizeof(path), "exe");
	unlink(path);
	copy("/bin/cat", path);
	pid = start_in_namespace(NULL, path, &hold);
	if (pid < 0) {
		gp_note_skip();
		skip();
	}
	assert_int_equal(gp_proc_read(pid, &s), 0);
	assert_string_equal(s.exe, path);
	gp_proc_clear(&s);
	unlink(path);
	copy("/bin/cat", path);
	assert_int_equal(gp_proc_read(pid, &s), 0);
	assert_null(s.exe);
	gp_proc_clear(&s);
	close(hold);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Threads that start and end, programs that change: never any but these. */
static void test_many_that_end(void **state)
{
	size_t read_well = 0;

	for (int i = 0; i < 300; i++) {
		struct gp_subject s;
		pid_t pid = fork();
		int err;

		if (!pid) {
			if (i % 2)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		assert_true(pid > 0);
		err = gp_proc_read(pid, &s);
		assert_true(!err || err == -ESRCH || err == -EAGAIN);
		if (!err) {
			assert_int_equal(s.uid, geteuid());
			gp_proc_clear(&s);
			read_well++;
		}
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	assert_true(read_well > 0);
}

int main(void)
{
	const struct CMUnitTest in_folder[] = {
		cmocka_unit_test_setup_teardown(test_fields, make, clean),
		cmocka_unit_test_setup_teardown(test_ids, make, clean),
		cmocka_unit_test_setup_teardown(test_hostile_comm, make, clean),
		cmocka_unit_test_setup_teardown(test_cgroups, make, clean),
		cmocka_unit_test_setup_teardown(test_nonsense, make, clean),
		cmocka_unit_test_setup_teardown(test_long_files, make, clean),
		cmocka_unit_test_setup_teardown(test_exe_of_files, make, clean),
		cmocka_unit_test_setup_teardown(test_changes, make, clean),
		cmocka_unit_test_setup_teardown(test_no_process, make, clean),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_own_comm),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_ended),
		cmocka_unit_test_setup_teardown(test_deleted, make, clean),
		cmocka_unit_test(test_memory),
		cmocka_unit_test_setup_teardown(test_false_path, make, clean),
		cmocka_unit_test_setup_teardown(test_copied_mounts, make, clean),
		cmocka_unit_test(test_many_that_end),
	};

	return gp_run_tests(in_folder);
}
