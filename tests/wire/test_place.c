// SPDX-License-Identifier: Apache-2.0
/*
 * The path of the daemon's socket, and the check of its owner.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/gp_test.h"
#include "wire/wire.h"

#define NOBODY 65534
#define SKIPPED 77
#define MANY 1000

struct place {
	char dir[64];
	char path[GP_WIRE_PATH_LEN];
};

static int place_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	snprintf(p->dir, sizeof(p->dir), "/tmp/gp-place-XXXXXX");
	if (!mkdtemp(p->dir) || chmod(p->dir, 0777)) {
		free(p);
		return -1;
	}
	snprintf(p->path, sizeof(p->path), "%s/sock", p->dir);
	setenv("GPREEMPT_DAEMON", p->path, 1);
	unsetenv("XDG_RUNTIME_DIR");
	*state = p;
	return 0;
}

static int place_down(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	rmdir(p->dir);
	unsetenv("GPREEMPT_DAEMON");
	free(p);
	return 0;
}

static int must_listen(const char *path)
{
	int fd = gp_wire_daemon_listen(path);

	assert_true(fd >= 0);
	return fd;
}

/* A socket at @path that is not the daemon's; @backlog < 0: it does not listen. */
static int other_socket(const char *path, int type, int backlog)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	if (backlog >= 0)
		assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

/* A client reaches the daemon at @listener. */
static void answers_at(int listener)
{
	union gp_wire_msg msg;
	int fd = gp_wire_daemon_connect(), conn;

	assert_true(fd >= 0);
	conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(conn >= 0);
	gp_wire_init(&msg, GP_WIRE_LIST);
	assert_int_equal(gp_wire_send(fd, &msg, NULL, 0), 0);
	assert_int_equal(gp_wire_recv(conn, &msg, NULL, NULL), msg.head.size);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(conn);
	close(fd);
}

static void for_everybody(void **state)
{
	const struct place *p = *state;
	const mode_t old = umask(0177);
	int fd = must_listen(p->path);
	struct stat st;

	umask(old);
	assert_int_equal(lstat(p->path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0666);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(accept(fd, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	answers_at(fd);
	close(fd);
}

static void live_stays(void **state)
{
	const struct place *p = *state;
	int fd = must_listen(p->path);

	assert_int_equal(gp_wire_daemon_listen(p->path), -EADDRINUSE);
	/* The check for a living daemon was a connection. */
	close(accept(fd, NULL, NULL));
	answers_at(fd);
	close(fd);
}

static void stale_is_replaced(void **state)
{
	const struct place *p = *state;
	int fd;

	close(must_listen(p->path));
	fd = must_listen(p->path);
	answers_at(fd);
	close(fd);
	unlink(p->path);
	/* A bound socket that never listened. */
	close(other_socket(p->path, SOCK_STREAM, -1));
	fd = must_listen(p->path);
	answers_at(fd);
	close(fd);
}

static void overrun_is_live(void **state)
{
	const struct place *p = *state;
	int fd = other_socket(p->path, SOCK_SEQPACKET, 0), conn[8], last = 0, n;

	for (n = 0; n < 8; n++) {
		last = gp_wire_daemon_connect();
		if (last < 0)
			break;
		conn[n] = last;
	}
	assert_true(n > 0);
	assert_int_equal(last, -EAGAIN);
	assert_int_equal(gp_wire_daemon_listen(p->path), -EADDRINUSE);
	while (n)
		close(conn[--n]);
	close(fd);
}

static void other_types_are_live(void **state)
{
	const struct place *p = *state;
	int fd = other_socket(p->path, SOCK_STREAM, 1);

	assert_int_equal(gp_wire_daemon_listen(p->path), -EADDRINUSE);
	assert_int_equal(gp_wire_daemon_connect(), -EPROTOTYPE);
	close(fd);
}

/* A file that is no socket stays unchanged. */
static void files_stay(void **state)
{
	const struct place *p = *state;
	struct stat st;

	close(open(p->path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(gp_wire_daemon_listen(p->path), -ENOTSOCK);
	assert_int_equal(lstat(p->path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	unlink(p->path);
	assert_int_equal(symlink("/nowhere", p->path), 0);
	assert_int_equal(gp_wire_daemon_listen(p->path), -ENOTSOCK);
	assert_int_equal(lstat(p->path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void bad_paths(void **state)
{
	char path[GP_WIRE_PATH_LEN + 2];

	assert_int_equal(gp_wire_daemon_listen(""), -ENOENT);
	assert_int_equal(gp_wire_daemon_listen("/nowhere/sock"), -ENOENT);
	assert_int_equal(gp_wire_daemon_listen("/dev/null/sock"), -ENOTDIR);
	memset(path, 'x', sizeof(path));
	path[GP_WIRE_PATH_LEN] = '\0';
	assert_int_equal(gp_wire_daemon_listen(path), -ENAMETOOLONG);
	setenv("GPREEMPT_DAEMON", path, 1);
	assert_int_equal(gp_wire_daemon_connect(), -ENAMETOOLONG);
}

/* The longest allowed path works for listening and connecting. */
static void longest_path(void **state)
{
	const struct place *p = *state;
	char path[GP_WIRE_PATH_LEN];
	int fd, n;

	n = snprintf(path, sizeof(path), "%s/", p->dir);
	memset(path + n, 'x', sizeof(path) - (size_t)n);
	path[sizeof(path) - 1] = '\0';
	fd = must_listen(path);
	setenv("GPREEMPT_DAEMON", path, 1);
	answers_at(fd);
	close(fd);
	unlink(path);
}

static void nobody_there(void **state)
{
	const struct place *p = *state;

	assert_int_equal(gp_wire_daemon_connect(), -ENOENT);
	close(must_listen(p->path));
	assert_int_equal(gp_wire_daemon_connect(), -ENOENT);
	setenv("GPREEMPT_DAEMON", "none", 1);
	assert_int_equal(gp_wire_daemon_connect(), -ENOENT);
}

/* The backlog is the kernel's maximum: 1,000 clients at once are not refused. */
static void many_clients(void **state)
{
	const struct place *p = *state;
	int fd = must_listen(p->path), last = 0, n;
	int conn[MANY];

	for (n = 0; n < MANY; n++) {
		last = gp_wire_daemon_connect();
		if (last < 0)
			break;
		conn[n] = last;
	}
	/* Only this process's own limit on files may end the loop early. */
	assert_true(n == MANY || last == -EMFILE);
	while (n)
		close(conn[--n]);
	close(fd);
}

/* Run @body in a child, which ends with 0, 1, or SKIPPED. */
static void in_child(int (*body)(const struct place *), const struct place *p)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(body(p));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED) {
		gp_note_skip();
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define NEED(cond)                                                                         \
	do {                                                                               \
		if (!(cond)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			return 1;                                                          \
		}                                                                          \
	} while (0)

/* Another user listens at the daemon's path: other users' clients refuse to connect. */
static int impostor(const struct place *p)
{
	int fd;

	if (geteuid() || seteuid(NOBODY))
		return SKIPPED;
	fd = gp_wire_daemon_listen(p->path);
	NEED(fd >= 0);
	/* The user's own clients connect .. */
	NEED(gp_wire_daemon_connect() >= 0);
	/* .. but root's do not, nor a third user's. */
	NEED(!seteuid(0));
	NEED(gp_wire_daemon_connect() == -EPERM);
	NEED(!seteuid(NOBODY - 1));
	NEED(gp_wire_daemon_connect() == -EPERM);
	return 0;
}

static void impostors(void **state)
{
	in_child(impostor, *state);
}

/* Clients of any user connect to root's daemon. */
static int of_root(const struct place *p)
{
	int fd;

	if (geteuid())
		return SKIPPED;
	fd = gp_wire_daemon_listen(p->path);
	NEED(fd >= 0);
	NEED(!seteuid(NOBODY));
	NEED(gp_wire_daemon_connect() >= 0);
	return 0;
}

static void roots(void **state)
{
	in_child(of_root, *state);
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return done;
}

/* Become root, in a user namespace if necessary. */
static bool be_root(void)
{
	char uids[32], gids[32];

	if (!geteuid())
		return true;
	snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	return !unshare(CLONE_NEWUSER) && put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", uids) && put("/proc/self/gid_map", gids);
}

static mode_t folder_mode;
static uid_t folder_user;

/* A rootless container: root of the machine is in no user's range. */
static int of_unknown_root(const struct place *p)
{
	int fd;

	if (geteuid())
		return SKIPPED;
	fd = gp_wire_daemon_listen(p->path);
	NEED(fd >= 0);
	NEED(!chown(p->dir, folder_user, 0) && !chmod(p->dir, folder_mode));
	NEED(!setresgid(1000, 1000, 1000) && !setresuid(1000, 1000, 1000));
	/* For its files in /proc. */
	NEED(!prctl(PR_SET_DUMPABLE, 1));
	NEED(gp_wire_daemon_connect() >= 0);
	if (!be_root())
		return SKIPPED;
	fd = gp_wire_daemon_connect();
	return fd >= 0 ? 0 : -fd;
}

static void rootless(void **state)
{
	folder_user = 0;
	folder_mode = 0755;
	in_child(of_unknown_root, *state);
}

/* Its own user, or each user, could have made that socket. */
static int of_unsafe_folder(const struct place *p)
{
	int result = of_unknown_root(p);

	NEED(result == SKIPPED || result == EPERM);
	return result == EPERM ? 0 : SKIPPED;
}

static void rootless_in_unsafe_folders(void **state)
{
	folder_user = 0;
	folder_mode = 0777;
	in_child(of_unsafe_folder, *state);
	unlink(((struct place *)*state)->path);
	folder_user = 1000;
	folder_mode = 0755;
	in_child(of_unsafe_folder, *state);
}

/* Mount a private /run. */
static bool own_run(void)
{
	if (!be_root() || unshare(CLONE_NEWNS))
		return false;
	return !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("run", "/run", "tmpfs", 0, NULL);
}

static bool is_from(int listener, int fd)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };

	return fd >= 0 && poll(&pfd, 1, 0) == 1 && accept(listener, NULL, NULL) >= 0;
}

static int in_order(const struct place *p)
{
	int user, machine;

	if (!own_run())
		return SKIPPED;
	unsetenv("GPREEMPT_DAEMON");
	NEED(gp_wire_daemon_connect() == -ENOENT);
	NEED(!mkdir("/run/user", 0755) && !mkdir("/run/user/gpreempt", 0700));
	setenv("XDG_RUNTIME_DIR", "/run/user", 1);
	NEED(gp_wire_daemon_connect() == -ENOENT);
	user = gp_wire_daemon_listen("/run/user/gpreempt/gpreemptd.sock");
	NEED(is_from(user, gp_wire_daemon_connect()));
	NEED(!mkdir(GP_WIRE_RUN_DIR, 0755));
	NEED(is_from(user, gp_wire_daemon_connect()));
	/* The machine's daemon comes before the user's own, as long as it lives. */
	machine = gp_wire_daemon_listen(GP_WIRE_RUN_DIR "/" GP_WIRE_SOCKET);
	NEED(gp_wire_machine_has_daemon());
	NEED(accept(machine, NULL, NULL) >= 0);
	NEED(is_from(machine, gp_wire_daemon_connect()));
	setenv("GPREEMPT_DAEMON", "", 1);
	NEED(is_from(machine, gp_wire_daemon_connect()));
	close(machine);
	NEED(!gp_wire_machine_has_daemon());
	NEED(is_from(user, gp_wire_daemon_connect()));
	/* GPREEMPT_DAEMON names the only daemon that is tried. */
	setenv("GPREEMPT_DAEMON", "/run/nobody", 1);
	NEED(gp_wire_daemon_connect() == -ENOENT);
	setenv("GPREEMPT_DAEMON", "none", 1);
	NEED(gp_wire_daemon_connect() == -ENOENT);
	return 0;
}

static void order(void **state)
{
	in_child(in_order, *state);
}

static void user_dir(void **state)
{
	/* No directory, and not absolute: the specification requires to ignore them. */
	static const char *const ignored[] = { "", "tmp", "/no/such/directory" };
	const struct place *p = *state;
	char path[GP_WIRE_PATH_LEN], own[GP_WIRE_PATH_LEN];
	size_t len;

	snprintf(own, sizeof(own), "/tmp/gpreempt-%u", (unsigned int)geteuid());
	assert_int_equal(gp_wire_user_dir(path, sizeof(path)), 0);
	assert_string_equal(path, own);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		setenv("XDG_RUNTIME_DIR", ignored[i], 1);
		assert_int_equal(gp_wire_user_dir(path, sizeof(path)), 0);
		assert_string_equal(path, own);
	}
	assert_int_equal(gp_wire_user_dir(path, strlen(own)), -ENAMETOOLONG);
	setenv("XDG_RUNTIME_DIR", p->dir, 1);
	len = (size_t)snprintf(own, sizeof(own), "%s/gpreempt", p->dir);
	assert_int_equal(gp_wire_user_dir(path, len + 1), 0);
	assert_string_equal(path, own);
	assert_int_equal(gp_wire_user_dir(path, len), -ENAMETOOLONG);
}

/* Anybody may make such a folder in /tmp. */
static void check_dir(void **state)
{
	const struct place *p = *state;

	assert_int_equal(gp_wire_check_dir(p->path, 077), -ENOENT);
	assert_int_equal(mkdir(p->path, 0755), 0);
	assert_int_equal(gp_wire_check_dir(p->path, 022), 0);
	assert_int_equal(gp_wire_check_dir(p->path, 077), -EPERM);
	assert_int_equal(chmod(p->path, 0700), 0);
	assert_int_equal(gp_wire_check_dir(p->path, 077), 0);
	if (!geteuid()) {
		assert_int_equal(chown(p->path, NOBODY, NOBODY), 0);
		assert_int_equal(gp_wire_check_dir(p->path, 077), -EPERM);
	}
	assert_int_equal(rmdir(p->path), 0);
	assert_int_equal(symlink("/", p->path), 0);
	assert_int_equal(gp_wire_check_dir(p->path, 0), -ENOTDIR);
}

static int in_own_folder(const struct place *p)
{
	int user;

	if (!own_run() || mount("tmp", "/tmp", "tmpfs", 0, NULL))
		return SKIPPED;
	unsetenv("GPREEMPT_DAEMON");
	NEED(!mkdir("/tmp/gpreempt-0", 0755));
	user = gp_wire_daemon_listen("/tmp/gpreempt-0/gpreemptd.sock");
	NEED(user >= 0);
	NEED(gp_wire_daemon_connect() == -ENOENT);
	NEED(!chmod("/tmp/gpreempt-0", 0700));
	NEED(is_from(user, gp_wire_daemon_connect()));
	NEED(!chown("/tmp/gpreempt-0", NOBODY, NOBODY));
	NEED(gp_wire_daemon_connect() == -ENOENT);
	return 0;
}

static void without_runtime_dir(void **state)
{
	in_child(in_own_folder, *state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_up, place_down)

int main(void)
{
	const struct CMUnitTest place[] = {
		TEST(for_everybody),
		TEST(live_stays),
		TEST(stale_is_replaced),
		TEST(overrun_is_live),
		TEST(other_types_are_live),
		TEST(files_stay),
		TEST(bad_paths),
		TEST(longest_path),
		TEST(nobody_there),
		TEST(many_clients),
		TEST(impostors),
		TEST(roots),
		TEST(rootless),
		TEST(rootless_in_unsafe_folders),
		TEST(order),
		TEST(user_dir),
		TEST(check_dir),
		TEST(without_runtime_dir),
	};

	return gp_run_tests(place);
}
