// SPDX-License-Identifier: Apache-2.0
/*
 * A peer hands over files of its own FUSE mount, whose server does not answer a
 * close. The receiver must not wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/common/gp_test.h"
#include "wire/wire.h"

#define SKIPPED 77
#define FILES 3
#define SERVER_S 10 /* lifetime of the server; a close would wait as long */

#define NEED(cond)                                                                         \
	do {                                                                               \
		if (!(cond)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			return 1;                                                          \
		}                                                                          \
	} while (0)

static void answer(int dev, uint64_t unique, int err, const void *body, size_t bytes)
{
	struct {
		struct fuse_out_header head;
		char body[256];
	} out = { .head = { .len = (uint32_t)(sizeof(out.head) + bytes),
			    .error = err,
			    .unique = unique } };

	memcpy(out.body, body, bytes);
	if (write(dev, &out, out.head.len) != (ssize_t)out.head.len)
		_exit(1);
}

/* Every name is an empty file. The request of a close (FUSE_FLUSH) gets no answer. */
static void answer_to(int dev, const struct fuse_in_header *in)
{
	const struct fuse_attr file = { .ino = 2, .mode = S_IFREG | 0600, .nlink = 1 };
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
					    .minor = 31,
					    .max_write = 4096 };
	const struct fuse_entry_out entry = { .nodeid = 2, .attr = file };
	const struct fuse_attr_out attr = { .attr = file };
	const struct fuse_open_out handle = { .fh = 1 };

	if (in->opcode == FUSE_INIT)
		answer(dev, in->unique, 0, &init, sizeof(init));
	else if (in->opcode == FUSE_LOOKUP)
		answer(dev, in->unique, 0, &entry, sizeof(entry));
	else if (in->opcode == FUSE_GETATTR)
		answer(dev, in->unique, 0, &attr, sizeof(attr));
	else if (in->opcode == FUSE_OPEN)
		answer(dev, in->unique, 0, &handle, sizeof(handle));
	else if (in->opcode != FUSE_FLUSH)
		answer(dev, in->unique, -ENOSYS, "", 0);
}

static void serve(int dev)
{
	static _Alignas(8) char bytes[FUSE_MIN_READ_BUFFER + 4096];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(SERVER_S);
	while (read(dev, bytes, sizeof(bytes)) > 0)
		answer_to(dev, (const void *)bytes);
	_exit(0);
}

/* The peer: open files below @dir and send them to @fd. */
static void send_files(const char *dir, int fd)
{
	int file[FILES];
	union gp_wire_msg msg;
	char path[64];

	snprintf(path, sizeof(path), "%s/file", dir);
	for (int i = 0; i < FILES; i++) {
		file[i] = i ? open(path, O_RDWR | O_CLOEXEC) : memfd_create("peer", MFD_CLOEXEC);
		if (file[i] < 0)
			_exit(1);
	}
	gp_wire_init(&msg, GP_WIRE_HELLO);
	if (gp_wire_send(fd, &msg, file, FILES))
		_exit(1);
	/* Its exit would close them and wait, too. */
	for (;;)
		pause();
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Return: 0, 1, or SKIPPED: no such mounts here. The caller ends @peer and @server. */
static int hand_over(const char *dir, pid_t *server, pid_t *peer)
{
	int dev = open("/dev/fuse", O_RDWR | O_CLOEXEC), pair[2];
	int file[GP_WIRE_MAX_FILES];
	union gp_wire_msg msg;
	char options[64];
	ssize_t len;
	double start;
	size_t n;

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", dev);
	if (dev < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("ctl", "/sys/fs/fuse/connections", "fusectl", 0, NULL) ||
	    mount("test", dir, "fuse", MS_NOSUID | MS_NODEV, options))
		return SKIPPED;
	NEED(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	*server = fork();
	if (!*server)
		serve(dev);
	close(dev);
	*peer = fork();
	if (!*peer)
		send_files(dir, pair[0]);
	close(pair[0]);
	NEED(!gp_wire_guard(1000000));
	start = now_s();
	do {
		len = gp_wire_recv(pair[1], &msg, file, &n);
	} while (len == -EAGAIN && now_s() - start < SERVER_S);
	NEED(len == (ssize_t)msg.head.size && n == FILES);
	start = now_s();
	gp_wire_drop(file, n);
	NEED(now_s() - start < SERVER_S / 4);
	for (size_t i = 0; i < n; i++)
		NEED(fcntl(file[i], F_GETFD) == -1);
	return 0;
}

static int in_child(const char *dir)
{
	pid_t server = 0, peer = 0;
	int r = hand_over(dir, &server, &peer);

	if (server > 0)
		kill(server, SIGKILL);
	if (peer > 0)
		kill(peer, SIGKILL);
	return r;
}

static void mounts_are_ended(void **state)
{
	char dir[] = "/tmp/gp-drop-XXXXXX";
	pid_t child;
	int status;

	assert_non_null(mkdtemp(dir));
	child = fork();
	if (!child)
		_exit(in_child(dir));
	assert_int_equal(waitpid(child, &status, 0), child);
	rmdir(dir);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED) {
		gp_note_skip();
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* All other kinds of files are closed, under a guard and without. */
static void all_kinds(void **state)
{
	for (int guarded = 0; guarded < 2; guarded++) {
		int file[6];

		if (guarded)
			assert_int_equal(gp_wire_guard(1000000), 0);
		assert_int_equal(pipe2(file, O_CLOEXEC), 0);
		file[2] = memfd_create("drop", MFD_CLOEXEC);
		file[3] = open("/dev/null", O_RDWR | O_CLOEXEC);
		file[4] = open("/", O_PATH | O_CLOEXEC);
		file[5] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		errno = EXDEV;
		gp_wire_drop(file, 6);
		assert_int_equal(errno, EXDEV);
		for (int i = 0; i < 6; i++)
			assert_int_equal(fcntl(file[i], F_GETFD), -1);
		gp_wire_drop(NULL, 0);
	}
	gp_wire_guard_end();
}

int main(void)
{
	const struct CMUnitTest drop[] = {
		cmocka_unit_test(mounts_are_ended),
		cmocka_unit_test(all_kinds),
	};

	return gp_run_tests(drop);
}
