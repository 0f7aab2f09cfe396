// SPDX-License-Identifier: Apache-2.0
#include "tests/common/gp_child.h"
#include "tests/common/gp_test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/nvidia/fake_rm.h"

static struct gp_nv_group *at(const struct gp_group_list *list, size_t i)
{
	return gp_nv_of(gp_nv_group, list->group[i]);
}

static size_t count_kind(const struct gp_group_list *list, enum gp_group_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++)
		n += list->group[i]->kind == kind;
	return n;
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 512; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_finds_the_groups_of_a_context(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_scan_stat stat;
	struct gp_nv_device *dev;
	uint32_t client;
	int fd, before;

	fake_reset();
	fd = fake_open_ctl();
	client = fake_client(fd);
	fake_context(fd, client, 0, GP_RM_HABIT_OBJECT_BASE);
	dev = fake_device(0);
	assert_non_null(dev);
	before = open_fds();
	assert_int_equal(gp_nv_scan(dev, 0, &list, &stat), 0);
	assert_int_equal(list.count, 4);
	assert_int_equal(count_kind(&list, GP_GROUP_COMPUTE), 1);
	assert_int_equal(count_kind(&list, GP_GROUP_COPY), 3);
	assert_int_equal(list.group[0]->kind, GP_GROUP_COMPUTE);
	assert_int_equal(list.group[0]->channels, 8);
	assert_int_equal(list.group[1]->channels, 4);
	assert_int_equal(at(&list, 0)->client, client);
	assert_int_equal(at(&list, 0)->subdevice, GP_RM_HABIT_OBJECT_BASE + 1);
	assert_int_equal(list.group[0]->pid, getpid());
	assert_int_not_equal(list.group[0]->id, list.group[1]->id);
	assert_int_equal(stat.clients, 1);
	assert_int_equal(stat.compute_class, GP_RM_CLASS_HOPPER_COMPUTE);
	gp_group_list_put(&list);
	assert_int_equal(open_fds(), before); /* no file is kept */
	dev->base.ops->close(&dev->base);
	close(fd);
}

static void test_other_devices_are_left_out(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_scan_stat stat;
	struct gp_nv_device *dev;
	uint32_t client, next;
	int fd;

	fake_reset();
	fd = fake_open_ctl();
	client = fake_client(fd);
	next = fake_context(fd, client, 0, GP_RM_HABIT_OBJECT_BASE);
	fake_context(fd, client, 1, next + 3);
	dev = fake_device(1);
	assert_int_equal(gp_nv_scan(dev, getpid(), &list, &stat), 0);
	assert_int_equal(stat.groups, 8);
	assert_int_equal(list.count, 4);
	assert_int_equal(at(&list, 0)->device, next + 3);
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
	close(fd);
}

static void test_unusual_handles_are_found_too(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	uint32_t client;
	int fd;

	fake_reset();
	/* A client far below the counter, with objects at RM's own base. */
	fake.next_client = GP_RM_HABIT_CLIENT_BASE + 3000;
	fd = fake_open_ctl();
	client = fake_client(fd);
	fake_context(fd, client, 0, 0xcaf00000u);
	fake.next_client = GP_RM_HABIT_CLIENT_BASE + 9000;
	dev = fake_device(0);
	assert_int_equal(gp_nv_scan(dev, 0, &list, NULL), 0);
	assert_int_equal(list.count, 4);
	assert_int_equal(at(&list, 0)->client, client);
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
	close(fd);
}

/* CUPTI's client is younger than the one with the groups, on the same file. */
static void test_a_younger_client_hides_no_groups(void **state)
{
	const uint32_t no_key = 0;
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	uint32_t client;
	int fd;

	fake_reset();
	fd = fake_open_ctl();
	client = fake_client(fd);
	fake_context(fd, client, 0, GP_RM_HABIT_OBJECT_BASE);
	fake.next_client = client + 500;
	fake_client(fd);
	dev = fake_device(0);
	assert_int_equal(gp_nv_scan(dev, 0, &list, NULL), 0);
	assert_int_equal(list.count, 4);
	assert_int_equal(at(&list, 0)->client, client);
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
	/* In a file that was handed over, a client of any age is searched. */
	fake.next_client = client + 20000;
	fake_client(fd);
	dev = fake_device(0);
	assert_int_equal(gp_nv_groups_from(&dev->base, 0, &fd, &no_key, 1, &list), 0);
	assert_int_equal(list.count, 4);
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
	close(fd);
}

static void test_several_files_and_clients(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	uint32_t one, two;
	int fd[5];

	fake_reset();
	for (int i = 0; i < 5; i++)
		fd[i] = fake_open_ctl();
	one = fake_client(fd[1]);
	fake.next_client += 3;
	two = fake_client(fd[4]);
	fake_context(fd[1], one, 0, GP_RM_HABIT_OBJECT_BASE);
	fake_context(fd[4], two, 0, GP_RM_HABIT_OBJECT_BASE);
	dev = fake_device(0);
	assert_int_equal(gp_nv_scan(dev, 0, &list, NULL), 0);
	assert_int_equal(list.count, 8);
	assert_int_equal(count_kind(&list, GP_GROUP_COMPUTE), 2);
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
	for (int i = 0; i < 5; i++)
		close(fd[i]);
}

static void test_nothing_there_is_success(void **state)
{
	struct gp_group_list list = { .count = 7 };
	struct gp_nv_device *dev;

	fake_reset();
	dev = fake_device(0);
	assert_int_equal(gp_nv_scan(dev, 0, &list, NULL), 0);
	assert_int_equal(list.count, 0);
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
}

static void test_gone_process(void **state)
{
	struct gp_group_list list = { .count = 7 };
	struct gp_nv_device *dev;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	fake_reset();
	dev = fake_device(0);
	assert_int_equal(gp_nv_groups(&dev->base, pid, &list), -ESRCH);
	assert_int_equal(gp_nv_groups(&dev->base, -5, &list), -EINVAL);
	assert_int_equal(list.count, 7);
	dev->base.ops->close(&dev->base);
}

/* Another process with a context; no other process has its file open. */
struct other {
	pid_t pid;
	int fd; /* its file's number */
	ino_t ino;
};

static struct other other_start(void)
{
	struct other o;
	int runs[2];
	char byte;

	assert_int_equal(pipe2(runs, O_CLOEXEC), 0);
	o.fd = fake_open_ctl();
	o.ino = fake_ino(o.fd);
	fake_context(o.fd, fake_client(o.fd), 0, GP_RM_HABIT_OBJECT_BASE);
	o.pid = fork();
	if (!o.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fcntl(o.fd, F_SETFD, 0);
		execlp("sleep", "sleep", "1000", NULL);
		_exit(127);
	}
	close(o.fd);
	close(runs[1]);
	assert_int_equal(read(runs[0], &byte, 1), 0);
	close(runs[0]);
	fake.also = fake.compute_pid;
	fake.compute_pid = (uint32_t)o.pid;
	return o;
}

static void other_end(const struct other *o)
{
	gp_child_end(o->pid);
}

/* A copy of its file, as a socket would hand it over. */
static int other_file(const struct other *o)
{
	int pidfd = (int)syscall(SYS_pidfd_open, o->pid, 0);
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, o->fd, 0);

	close(pidfd);
	if (fd < 0) {
		gp_note_skip();
		skip();
	}
	return fd;
}

/* Its groups. Skips the test if this process may not inspect it (Yama, old kernels). */
static void other_groups(struct gp_nv_device *dev, const struct other *o,
			 struct gp_group_list *list)
{
	int r = gp_nv_groups(&dev->base, o->pid, list);

	if (r == -EPERM) {
		other_end(o);
		gp_note_skip();
		skip();
	}
	assert_int_equal(r, 0);
	assert_int_equal(list->count, 4);
	assert_int_equal(list->group[0]->pid, o->pid);
}

static void test_takes_files_of_another_process(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	struct other o;

	fake_reset();
	o = other_start();
	dev = fake_device(0);
	other_groups(dev, &o, &list);
	assert_int_equal(gp_nv_set_slice(list.group[0], 77), 0);
	other_end(&o);
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
}

/* The two steps of a server: a process of its own duplicates the files, another scans them. */
static void test_files_are_taken_apart_from_the_scan(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	struct other o;
	int fd[4], pidfd;
	ssize_t n;

	fake_reset();
	o = other_start();
	dev = fake_device(0);
	pidfd = (int)syscall(SYS_pidfd_open, o.pid, 0);
	n = gp_nv_take_files(&fake_transport, o.pid, pidfd, fd, 4);
	if (n == -EPERM) {
		other_end(&o);
		gp_note_skip();
		skip();
	}
	assert_int_equal(n, 1);
	assert_int_equal(fake_ino(fd[0]), o.ino);
	assert_true(gp_nv_is_control_file(&fake_transport, fd[0]));
	assert_int_equal(gp_nv_groups_from(&dev->base, o.pid, fd, NULL, 1, &list), 0);
	assert_int_equal(list.count, 4);
	gp_group_list_put(&list);
	other_end(&o);
	assert_int_equal(gp_nv_take_files(&fake_transport, o.pid, pidfd, fd + 1, 3), -ESRCH);
	close(fd[0]);
	close(pidfd);
	dev->base.ops->close(&dev->base);
}

/* What only looks like a control file: a path opened without its device, a file by its name. */
static void test_files_that_look_like_control_files(void **state)
{
	const struct gp_nv_transport *real = gp_nv_transport_real();
	int path = open("/dev/null", O_PATH | O_CLOEXEC), null = open("/dev/null", O_RDWR);
	struct statx st = { .stx_mode = S_IFCHR, .stx_rdev_major = 195, .stx_rdev_minor = 255 };

	assert_true(real->is_ctl(&st));
	st.stx_mode = S_IFREG;
	assert_false(real->is_ctl(&st));
	st = (struct statx){ .stx_mode = S_IFCHR, .stx_rdev_major = 195 };
	assert_false(real->is_ctl(&st));
	assert_false(gp_nv_is_control_file(real, null));
	assert_false(gp_nv_is_control_file(real, path));
	assert_false(gp_nv_is_control_file(&fake_transport, path));
	close(path);
	close(null);
}

static void test_taken_files_are_not_our_own(void **state)
{
	struct gp_group_list list = { 0 }, own = { 0 }, again = { 0 };
	struct gp_nv_scan_stat stat;
	struct gp_nv_device *dev;
	struct gp_nv_client c;
	struct other o;
	int before = open_fds();

	fake_reset();
	o = other_start();
	dev = fake_device(0);
	assert_int_equal(gp_nv_client_open(&fake_transport, &c), 0);
	other_groups(dev, &o, &list);
	assert_int_equal(gp_nv_scan(dev, 0, &own, &stat), 0);
	assert_int_equal(own.count, 0);
	assert_int_equal(stat.files, 0);
	/* A mark on a file number here does not concern that number in the other process. */
	gp_nv_fd_mark(o.fd);
	other_groups(dev, &o, &again);
	other_end(&o);
	gp_group_list_put(&own);
	gp_group_list_put(&again);
	gp_group_list_put(&list);
	gp_nv_client_close(&c);
	gp_nv_fd_close(o.fd);
	assert_int_equal(open_fds(), before);
	dev->base.ops->close(&dev->base);
}

/* A copied file keeps the client alive: RM itself would still answer. */
static void test_groups_of_the_dead_are_gone(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	struct other o;
	uint64_t us = 5;
	uint32_t calls;

	fake_reset();
	o = other_start();
	dev = fake_device(0);
	other_groups(dev, &o, &list);
	other_end(&o);
	calls = fake.calls;
	assert_int_equal(gp_nv_set_slice(list.group[0], 77), -ESRCH);
	assert_int_equal(gp_nv_get_slice(list.group[0], &us), -ESRCH);
	assert_int_equal(us, 5);
	assert_int_equal(gp_nv_set_preempt_mode(list.group[0], GP_PREEMPT_BLOCK), -ESRCH);
	assert_int_equal(gp_nv_preempt(list.group[0]), -ESRCH);
	assert_int_equal(gp_nv_suspend(list.group, list.count), -ESRCH);
	assert_int_equal(gp_nv_resume(list.group, list.count), -ESRCH);
	assert_int_equal(fake.calls, calls);
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
}

/* Two files are handed over; the other process's groups are not returned. */
static void test_handed_over(void **state)
{
	struct gp_group_list list = { 0 }, none = { .count = 9 };
	struct gp_nv_device *dev;
	struct other o, p;
	int fd[2], before;
	uint64_t us = 0;

	fake_reset();
	o = other_start();
	p = other_start();
	dev = fake_device(0);
	fd[0] = other_file(&o);
	fd[1] = other_file(&p);
	/* The backend's own client, made at the first query. */
	gp_nv_has_compute_client(&dev->base, o.pid);
	before = open_fds();
	assert_int_equal(gp_nv_groups_from(&dev->base, o.pid, fd, NULL, 2, &list), 0);
	assert_int_equal(list.count, 4);
	for (size_t i = 0; i < list.count; i++) {
		assert_int_equal(list.group[i]->pid, o.pid);
		assert_int_equal(fake_ino(at(&list, i)->file->fd), o.ino);
	}
	assert_int_equal(gp_nv_set_slice(list.group[0], 78), 0);
	assert_int_equal(gp_nv_get_slice(list.group[0], &us), 0);
	assert_int_equal(us, 78);
	other_end(&o);
	assert_int_equal(gp_nv_get_slice(list.group[0], &us), -ESRCH);
	assert_int_equal(gp_nv_groups_from(&dev->base, o.pid, fd, NULL, 2, &none), -ESRCH);
	assert_int_equal(none.count, 9);
	gp_group_list_put(&list);
	assert_int_equal(open_fds(), before);
	close(fd[0]);
	close(fd[1]);
	other_end(&p);
	dev->base.ops->close(&dev->base);
}

/* A given client needs no search; if it is wrong, the search runs. */
static void by_keys(struct gp_nv_device *dev, int fd, uint32_t client)
{
	const uint32_t wrong[] = { client + 1, 1, UINT32_MAX };
	struct gp_group_list list = { 0 };
	uint32_t idle = fake_client(fd);
	unsigned int calls;

	fake.next_client = client + 20000;
	fake_client(fd);
	fake.calls = 0;
	assert_int_equal(gp_nv_groups_from(&dev->base, 0, &fd, &client, 1, &list), 0);
	assert_int_equal(list.count, 4);
	gp_group_list_put(&list);
	calls = fake.calls;
	assert_true(calls < 1000);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(gp_nv_groups_from(&dev->base, 0, &fd, &wrong[i], 1, &list), 0);
		assert_int_equal(list.count, 4);
		gp_group_list_put(&list);
	}
	/* A client without groups. */
	assert_int_equal(gp_nv_groups_from(&dev->base, 0, &fd, &idle, 1, &list), 0);
	assert_int_equal(list.count, 4);
	gp_group_list_put(&list);
	assert_true(fake.calls > 4 * calls);
}

static void test_handed_over_by_ourselves(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	int fd[2], odd[2];
	uint32_t client;

	fake_reset();
	assert_int_equal(pipe(odd), 0);
	fd[0] = fake_open_ctl();
	fd[1] = dup(fd[0]);
	client = fake_client(fd[0]);
	fake_context(fd[0], client, 0, GP_RM_HABIT_OBJECT_BASE);
	dev = fake_device(0);
	/* The same file twice gives its groups once. */
	assert_int_equal(gp_nv_groups_from(&dev->base, 0, fd, NULL, 2, &list), 0);
	assert_int_equal(list.count, 4);
	gp_group_list_put(&list);
	/* Files that are no control files get no call. */
	fake.calls = 0;
	assert_int_equal(gp_nv_groups_from(&dev->base, 0, odd, NULL, 2, &list), 0);
	assert_int_equal(list.count, 0);
	assert_int_equal(fake.calls, 0);
	by_keys(dev, fd[0], client);
	list.count = 9;
	assert_int_equal(gp_nv_groups_from(&dev->base, 0, fd, NULL, 257, &list), -E2BIG);
	assert_int_equal(gp_nv_groups_from(&dev->base, -3, fd, NULL, 1, &list), -EINVAL);
	assert_int_equal(list.count, 9);
	for (int i = 0; i < 2; i++) {
		close(odd[i]);
		close(fd[i]);
	}
	dev->base.ops->close(&dev->base);
}

/* A forked child, such as a data loader, has its parent's files, but no groups. */
static void test_a_fork_has_no_groups(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	struct other o = { 0 };
	int fd;

	fake_reset();
	fd = fake_open_ctl();
	fake_context(fd, fake_client(fd), 0, GP_RM_HABIT_OBJECT_BASE);
	dev = fake_device(0);
	o.pid = gp_child_start();
	assert_int_equal(gp_nv_groups(&dev->base, o.pid, &list), 0);
	assert_int_equal(list.count, 0);
	gp_group_list_put(&list);
	assert_int_equal(gp_nv_groups_from(&dev->base, o.pid, &fd, NULL, 1, &list), 0);
	assert_int_equal(list.count, 0);
	gp_group_list_put(&list);
	assert_int_equal(gp_nv_scan(dev, 0, &list, NULL), 0);
	assert_int_equal(list.count, 4);
	gp_group_list_put(&list);
	gp_child_end(o.pid);
	close(fd);
	dev->base.ops->close(&dev->base);
}

static size_t groups_by(struct gp_nv_device *dev, pid_t pid, const int *fd)
{
	struct gp_group_list list = { 0 };
	size_t count;

	if (fd)
		assert_int_equal(gp_nv_groups_from(&dev->base, pid, fd, NULL, 1, &list), 0);
	else
		assert_int_equal(gp_nv_groups(&dev->base, pid, &list), 0);
	count = list.count;
	gp_group_list_put(&list);
	return count;
}

/* A program that inherited a file has no right over the groups of the file's creator. */
static void test_inherited_files_give_no_groups(void **state)
{
	struct gp_nv_device *dev;
	int fd, keep;
	struct other o;

	fake_reset();
	fake.lists = true;
	dev = fake_device(0);
	o = other_start();
	fd = other_file(&o);
	/* RM does not list it, but another. */
	fake.compute_pid = (uint32_t)getpid();
	assert_int_equal(groups_by(dev, o.pid, NULL), 0);
	assert_int_equal(groups_by(dev, o.pid, &fd), 0);
	/* It has a client of its own, and its parent, this process, has the file, too. */
	fake.also = (uint32_t)o.pid;
	poll(NULL, 0, 25); /* the backend caches RM's answer for a while */
	keep = dup(fd);
	assert_int_equal(groups_by(dev, o.pid, NULL), 0);
	close(keep);
	close(fd);
	/* The file is its alone, or RM lists nobody: that is unknown. */
	assert_int_equal(groups_by(dev, o.pid, NULL), 4);
	fake.lists_nobody = true;
	fake.compute_pid = fake.also = 0;
	poll(NULL, 0, 25);
	assert_int_equal(groups_by(dev, o.pid, NULL), 4);
	other_end(&o);
	dev->base.ops->close(&dev->base);
}

/* Neither the backend's own client nor copied files count as use. */
static void test_has_driver_open(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	struct gp_nv_client c;
	struct other o;
	int fd;

	fake_reset();
	o = other_start();
	dev = fake_device(0);
	assert_int_equal(gp_nv_client_open(&fake_transport, &c), 0);
	other_groups(dev, &o, &list);
	assert_int_equal(gp_nv_has_driver_open(&dev->base, 0), 0);
	assert_int_equal(gp_nv_has_driver_open(&dev->base, o.pid), 1);
	fd = fake_open_ctl();
	assert_int_equal(gp_nv_has_driver_open(&dev->base, getpid()), 1);
	close(fd);
	assert_int_equal(gp_nv_has_driver_open(&dev->base, getpid()), 0);
	other_end(&o);
	assert_int_equal(gp_nv_has_driver_open(&dev->base, o.pid), -ESRCH);
	assert_int_equal(gp_nv_has_driver_open(&dev->base, -2), -EINVAL);
	gp_group_list_put(&list);
	gp_nv_client_close(&c);
	dev->base.ops->close(&dev->base);
}

static void test_a_dead_file_costs_one_call(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	int bad, good;

	fake_reset();
	bad = fake_open_ctl();
	good = fake_open_ctl();
	fake.dead_file = fake_ino(bad);
	fake_context(good, fake_client(good), 0, GP_RM_HABIT_OBJECT_BASE);
	dev = fake_device(0);
	assert_int_equal(gp_nv_scan(dev, 0, &list, NULL), 0);
	assert_int_equal(list.count, 4);
	assert_int_equal(fake.dead_calls, 1);
	gp_group_list_put(&list);
	/* A dead file alone does not start the search for an old client either. */
	close(good);
	fake.dead_calls = 0;
	assert_int_equal(gp_nv_scan(dev, 0, &list, NULL), 0);
	assert_int_equal(list.count, 0);
	assert_int_equal(fake.dead_calls, 1);
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
	close(bad);
}

/* Count @o's groups that a scan finds, and the scan's calls. */
static size_t found(struct gp_nv_device *dev, const struct other *o, uint32_t *calls)
{
	struct gp_group_list list = { 0 };
	size_t count;

	fake.calls = 0;
	assert_int_equal(gp_nv_groups(&dev->base, o->pid, &list), 0);
	*calls = fake.calls;
	count = list.count;
	gp_group_list_put(&list);
	return count;
}

/* For an old client, the scan first asks RM whether the process computes. */
static void test_only_who_computes_is_looked_for_long(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	uint32_t calls, fds;
	struct other o;

	fake_reset();
	fake.next_client += 500;
	fds = (uint32_t)open_fds();
	o = other_start();
	dev = fake_device(0);
	other_groups(dev, &o, &list);
	gp_group_list_put(&list);
	fake.compute_pid = 0;
	poll(NULL, 0, 25); /* the backend caches RM's answer for a while */
	fake.next_client += 3000;
	assert_int_equal(found(dev, &o, &calls), 0);
	assert_true(calls < 500);
	fake.compute_pid = (uint32_t)o.pid;
	poll(NULL, 0, 25);
	assert_int_equal(found(dev, &o, &calls), 4);
	assert_true(calls > 2000);
	/* A driver without this call. */
	poll(NULL, 0, 25);
	fake.fail_cmd = GP_RM_CTRL_GPU_GET_PIDS;
	fake.fail_status = GP_RM_ERR_NOT_SUPPORTED;
	assert_int_equal(found(dev, &o, &calls), 4);
	other_end(&o);
	dev->base.ops->close(&dev->base);
	assert_int_equal(open_fds(), fds);
}

/* The class of compute objects is from RM's list, or else from a scan's groups. */
static void test_who_computes_is_known(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_device *dev;
	uint32_t calls;
	struct other o;

	for (int lists = 0; lists < 2; lists++) {
		fake_reset();
		fake.lists = lists;
		o = other_start();
		dev = fake_device(0);
		fake.compute_pid = (uint32_t)o.pid;
		assert_int_equal(dev->base.ops->has_compute_client(&dev->base, o.pid),
				 lists ? 1 : -EAGAIN);
		other_groups(dev, &o, &list);
		gp_group_list_put(&list);
		assert_int_equal(found(dev, &o, &calls), 4);
		assert_int_equal(dev->base.ops->has_compute_client(&dev->base, o.pid), 1);
		assert_int_equal(dev->base.ops->has_compute_client(&dev->base, getpid()), 0);
		other_end(&o);
		dev->base.ops->close(&dev->base);
	}
}

static void test_scan_stays_cheap(void **state)
{
	struct gp_group_list list = { 0 };
	struct gp_nv_scan_stat stat;
	struct gp_nv_device *dev;
	int fd[8];

	fake_reset();
	fake.next_client = GP_RM_HABIT_CLIENT_BASE + 700;
	for (int i = 0; i < 8; i++)
		fd[i] = fake_open_ctl();
	fake_context(fd[0], fake_client(fd[0]), 0, GP_RM_HABIT_OBJECT_BASE);
	dev = fake_device(0);
	assert_int_equal(gp_nv_scan(dev, 0, &list, &stat), 0);
	assert_int_equal(list.count, 4);
	/* At 2 us a call this is 4 ms, of the 15 ms that attach has. */
	assert_true(stat.calls < 2000);
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
	for (int i = 0; i < 8; i++)
		close(fd[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_the_groups_of_a_context),
		cmocka_unit_test(test_other_devices_are_left_out),
		cmocka_unit_test(test_unusual_handles_are_found_too),
		cmocka_unit_test(test_a_younger_client_hides_no_groups),
		cmocka_unit_test(test_several_files_and_clients),
		cmocka_unit_test(test_nothing_there_is_success),
		cmocka_unit_test(test_gone_process),
		cmocka_unit_test(test_takes_files_of_another_process),
		cmocka_unit_test(test_files_are_taken_apart_from_the_scan),
		cmocka_unit_test(test_inherited_files_give_no_groups),
		cmocka_unit_test(test_files_that_look_like_control_files),
		cmocka_unit_test(test_taken_files_are_not_our_own),
		cmocka_unit_test(test_groups_of_the_dead_are_gone),
		cmocka_unit_test(test_handed_over),
		cmocka_unit_test(test_handed_over_by_ourselves),
		cmocka_unit_test(test_a_fork_has_no_groups),
		cmocka_unit_test(test_has_driver_open),
		cmocka_unit_test(test_a_dead_file_costs_one_call),
		cmocka_unit_test(test_only_who_computes_is_looked_for_long),
		cmocka_unit_test(test_who_computes_is_known),
		cmocka_unit_test(test_scan_stays_cheap),
	};

	return gp_run_tests(tests);
}
