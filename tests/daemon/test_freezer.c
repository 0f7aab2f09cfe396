// SPDX-License-Identifier: Apache-2.0
/* Frozen cgroups, in folders that stand for the hierarchy and for /proc. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/discover/freezer.h"
#include "daemon/discover/proc.h"
#include "tests/common/gp_child.h"
#include "tests/common/gp_test.h"

#define THAWED "populated 1\nfrozen 0\n"
#define FROZEN "populated 1\nfrozen 1\n"

static struct gp_loop *loop;
static struct gp_freezer *freezer;
static char top[] = "/tmp/gpreempt-test-freezer.XXXXXX";

struct process {
	pid_t pid;
	struct gp_freezer_watch *watch;
	bool frozen;
	unsigned int calls;
};

/* ---- the world ----------------------------------------------------------------- */

/* Like the kernel's, a file keeps its length and its inode. */
static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	for (char *at = path + strlen(top) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0700);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(ftruncate(fd, (off_t)strlen(text)), 0);
	close(fd);
}

static void drop(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	assert_int_equal(unlink(path), 0);
}

static void is_in(const struct process *p, const char *cgroup)
{
	char name[64], text[PATH_MAX];

	snprintf(name, sizeof(name), "proc/%d/cgroup", (int)p->pid);
	snprintf(text, sizeof(text), "2:memory:/other\n0::%s\n1:name=systemd:/a\n", cgroup);
	put(name, text);
}

static void changed(void *arg, bool frozen)
{
	struct process *p = arg;

	p->frozen = frozen;
	p->calls++;
}

static void watch(struct process *p, const char *cgroup)
{
	is_in(p, cgroup);
	assert_int_equal(gp_freezer_watch(freezer, p->pid, changed, p, &p->watch), 0);
}

/* All notifications so far. */
static void settle(void)
{
	for (int i = 0; i < 3; i++)
		assert_int_equal(gp_loop_once(loop, 0), 0);
}

/* The daemon's clock, so that a busy machine decides nothing; each look at it takes so long. */
static uint64_t clock_ns = 1, look_ns;
uint64_t __wrap_gp_loop_now_ns(void);

uint64_t __wrap_gp_loop_now_ns(void)
{
	return clock_ns += look_ns;
}

static void check(void)
{
	gp_freezer_check(freezer);
}

static int start(void **state)
{
	char root[PATH_MAX], proc[PATH_MAX];

	strcpy(strrchr(top, '.'), ".XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(root, sizeof(root), "%s/cg", top);
	snprintf(proc, sizeof(proc), "%s/proc", top);
	assert_int_equal(gp_loop_create(&loop), 0);
	assert_int_equal(gp_freezer_create(loop, root, proc, &freezer), 0);
	put("cg/a/cgroup.events", THAWED);
	put("cg/b/cgroup.events", THAWED);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static int end(void **state)
{
	gp_freezer_destroy(freezer);
	gp_loop_destroy(loop);
	assert_int_equal(nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	return 0;
}

/* ---- tests --------------------------------------------------------------------- */

static void test_parse(void **state)
{
	assert_true(gp_freezer_parse(FROZEN));
	assert_true(gp_freezer_parse("frozen 1"));
	assert_true(gp_freezer_parse("x 1\nfrozen 1\ny 2\n"));
	assert_false(gp_freezer_parse(THAWED));
	assert_false(gp_freezer_parse(""));
	assert_false(gp_freezer_parse("frozen 10\n"));
	assert_false(gp_freezer_parse("unfrozen 1\n"));
}

static void test_path_of_version_2(void **state)
{
	char both[] = "12:pids:/x\n0::/a b/c:d (deleted)\n1:name=systemd:/y\n";
	char one[] = "12:pids:/x\n1:name=:/z\n";
	char none[] = "";

	assert_string_equal(gp_proc_parse_cgroup2(both), "/a b/c:d");
	assert_null(gp_proc_parse_cgroup2(one));
	assert_null(gp_proc_parse_cgroup2(none));
}

static void test_all_of_a_cgroup(void **state)
{
	struct process p[] = { { .pid = 11 }, { .pid = 12 }, { .pid = 13 } };

	watch(&p[0], "/a");
	watch(&p[1], "/a");
	watch(&p[2], "/b");
	settle();
	assert_int_equal(p[0].calls + p[1].calls + p[2].calls, 0);
	put("cg/a/cgroup.events", FROZEN);
	settle();
	assert_true(p[0].frozen && p[1].frozen && !p[2].frozen);
	assert_true(gp_freezer_is_frozen(freezer, 11));
	assert_false(gp_freezer_is_frozen(freezer, 13));
	gp_freezer_unwatch(p[0].watch);
	put("cg/a/cgroup.events", THAWED);
	settle();
	assert_false(p[1].frozen);
	/* Each change is reported once, and none after the end. */
	assert_int_equal(p[0].calls, 1);
	assert_int_equal(p[1].calls, 2);
	gp_freezer_unwatch(p[1].watch);
	gp_freezer_unwatch(p[2].watch);
	gp_freezer_unwatch(NULL);
}

static void test_frozen_at_first(void **state)
{
	struct process p = { .pid = 11 };

	put("cg/a/cgroup.events", FROZEN);
	watch(&p, "/a");
	assert_true(p.frozen);
	gp_freezer_unwatch(p.watch);
}

static void test_moves(void **state)
{
	struct process p = { .pid = 11 };

	put("cg/b/cgroup.events", FROZEN);
	watch(&p, "/a");
	is_in(&p, "/b");
	check();
	assert_true(p.frozen);
	put("cg/a/cgroup.events", FROZEN);
	is_in(&p, "/a");
	check();
	assert_int_equal(p.calls, 1);
	put("cg/a/cgroup.events", THAWED);
	settle();
	assert_false(p.frozen);
	/* To the root, which cannot be frozen. */
	put("cg/a/cgroup.events", FROZEN);
	settle();
	is_in(&p, "/");
	check();
	assert_false(p.frozen);
	gp_freezer_unwatch(p.watch);
}

/* Checks take a 100th of the time at most. */
static void test_checks_are_rare(void **state)
{
	struct process p = { .pid = 11 };

	watch(&p, "/a");
	look_ns = 1000000;
	check();
	look_ns = 0;
	put("cg/b/cgroup.events", FROZEN);
	is_in(&p, "/b");
	clock_ns += 99 * 1000000 - 1; /* and the check itself */
	check();
	assert_false(p.frozen);
	clock_ns++;
	check();
	assert_true(p.frozen);
	gp_freezer_unwatch(p.watch);
}

/* Another cgroup with the same name is there afterwards. */
static void test_removed(void **state)
{
	struct process p = { .pid = 11 };

	put("cg/a/cgroup.events", FROZEN);
	watch(&p, "/a");
	drop("cg/a/cgroup.events");
	check();
	assert_false(p.frozen);
	put("cg/a/cgroup.events", THAWED);
	check();
	put("cg/a/cgroup.events", FROZEN);
	settle();
	assert_true(p.frozen);
	gp_freezer_unwatch(p.watch);
}

/* What a process may have in place of a cgroup, or none: it is never frozen. */
static void test_others(void **state)
{
	static const char *const cgroup[] = { "/../a", "/x/../a", "/none", "/" };
	struct process p = { .pid = 11 };
	char longest[PATH_MAX];

	put("cg/a/cgroup.events", FROZEN);
	put("cg/x/cgroup.events", FROZEN);
	for (size_t i = 0; i < sizeof(cgroup) / sizeof(cgroup[0]); i++) {
		watch(&p, cgroup[i]);
		check();
		gp_freezer_unwatch(p.watch);
	}
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 64] = '\0';
	watch(&p, longest);
	gp_freezer_unwatch(p.watch);
	/* It has ended. */
	p.pid = 12;
	assert_int_equal(gp_freezer_watch(freezer, p.pid, changed, &p, &p.watch), 0);
	check();
	assert_false(gp_freezer_is_frozen(freezer, p.pid));
	gp_freezer_unwatch(p.watch);
	assert_int_equal(p.calls, 0);
}

/* ---- a real one ------------------------------------------------------------------ */

static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
static char real[PATH_MAX];

static void write_real(const char *file, const char *text)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", real, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Below this process's own. False: this machine or this user has none. */
static bool make_real(void)
{
	char *own, all[PATH_MAX];
	bool made = false;

	if (gp_proc_cgroup2("/proc", getpid(), &own) || !own)
		return false;
	for (size_t i = 0; i < 2 && !made; i++) {
		snprintf(all, sizeof(all), "%s/cgroup.controllers", roots[i]);
		snprintf(real, sizeof(real), "%s%s/gp-test-freezer-%d", roots[i], own,
			 (int)getpid());
		made = !access(all, F_OK) && !mkdir(real, 0755);
	}
	free(own);
	return made;
}

static pid_t start_real(void)
{
	const pid_t pid = gp_child_start();
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	write_real("cgroup.procs", text);
	return pid;
}

/* From then on inotify tells nothing. */
static void end_inotify(void)
{
	char path[64], to[64];

	for (int fd = 3; fd < 64; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		if (strstr(to, "inotify"))
			assert_int_equal(close(fd), 0);
	}
}

static void test_polled(void **state)
{
	struct process p = { .pid = 0 };

	if (!make_real())
		skip();
	gp_freezer_destroy(freezer);
	assert_int_equal(gp_freezer_create(loop, NULL, NULL, &freezer), 0);
	p.pid = start_real();
	assert_int_equal(gp_freezer_watch(freezer, p.pid, changed, &p, &p.watch), 0);
	end_inotify();
	for (unsigned int i = 1; i <= 4; i++) {
		write_real("cgroup.freeze", i % 2 ? "1" : "0");
		while (p.frozen != i % 2)
			assert_int_equal(gp_loop_once(loop, 60000), 0);
		assert_int_equal(p.calls, i);
	}
	gp_freezer_unwatch(p.watch);
	gp_child_end(p.pid);
	while (rmdir(real))
		assert_int_equal(errno, EBUSY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_parse),	    TEST(test_path_of_version_2),
		TEST(test_all_of_a_cgroup), TEST(test_frozen_at_first),
		TEST(test_moves),	    TEST(test_checks_are_rare),
		TEST(test_removed),	    TEST(test_others),
		TEST(test_polled),
	};

	return gp_run_tests(tests);
}
