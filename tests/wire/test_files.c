// SPDX-License-Identifier: Apache-2.0
/*
 * Messages with files: valid ones cross, others are refused. For any peer, the receiver
 * leaks no descriptor and does not wait.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/common/gp_test.h"
#include "wire/wire.h"

#define SEED 20261121u
#define FILES_MOST 250 /* of one message; the kernel's SCM_MAX_FD is 253 */
#define ROUNDS 20000
/* A call that waits for a peer would never return: an alarm ends the test. */
#define PATIENCE_S 60

struct rig {
	int pair[2]; /* blocking, so that only the calls' own flags prevent a wait */
	int file[FILES_MOST];
};

static size_t count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int new_file(void)
{
	int fd = memfd_create("wire", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int rig_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	if (!rig || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, rig->pair))
		return -1;
	for (int i = 0; i < FILES_MOST; i++)
		rig->file[i] = new_file();
	*state = rig;
	alarm(PATIENCE_S);
	return 0;
}

static int rig_down(void **state)
{
	struct rig *rig = *state;

	alarm(0);
	for (int i = 0; i < FILES_MOST; i++)
		close(rig->file[i]);
	close(rig->pair[0]);
	close(rig->pair[1]);
	free(rig);
	return 0;
}

static bool same_file(int a, int b)
{
	struct stat one, other;

	assert_int_equal(fstat(a, &one), 0);
	assert_int_equal(fstat(b, &other), 0);
	return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static union gp_wire_msg new_msg(enum gp_wire_type type)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, type);
	return msg;
}

/* Send @len bytes with @n files, also ones that gp_wire_send() would refuse. */
static void send_raw(const struct rig *rig, const void *bytes, size_t len, size_t n)
{
	struct iovec iov = { .iov_base = (void *)bytes, .iov_len = len };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FILES_MOST)];
	} control;
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	assert_true(n <= FILES_MOST);
	memset(&control, 0, sizeof(control));
	if (n) {
		hdr.msg_control = &control;
		hdr.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		cmsg = CMSG_FIRSTHDR(&hdr);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(cmsg), rig->file, sizeof(int) * n);
	}
	assert_int_equal(sendmsg(rig->pair[0], &hdr, MSG_NOSIGNAL), len);
}

/* The next message is refused with @want and leaks nothing; the one after it is valid. */
static void refused(const struct rig *rig, int want)
{
	const size_t before = count_files();
	const union gp_wire_msg query = new_msg(GP_WIRE_QUERY);
	int file[GP_WIRE_MAX_FILES] = { 0 };
	union gp_wire_msg msg;
	size_t n = 99;

	assert_int_equal(gp_wire_recv(rig->pair[1], &msg, file, &n), want);
	assert_int_equal(n, 0);
	assert_int_equal(count_files(), before);
	assert_int_equal(gp_wire_send(rig->pair[0], &query, NULL, 0), 0);
	assert_int_equal(gp_wire_recv(rig->pair[1], &msg, file, &n), query.head.size);
	assert_memory_equal(&msg, &query, query.head.size);
}

static void files_cross(void **state)
{
	const struct rig *rig = *state;
	const size_t before = count_files();

	for (size_t n = 0; n <= GP_WIRE_MAX_FILES; n++) {
		const union gp_wire_msg hello = new_msg(GP_WIRE_HELLO);
		int file[GP_WIRE_MAX_FILES];
		union gp_wire_msg msg;
		size_t got = 99;

		assert_int_equal(gp_wire_send(rig->pair[0], &hello, rig->file, n), 0);
		assert_int_equal(gp_wire_recv(rig->pair[1], &msg, file, &got), hello.head.size);
		assert_int_equal(got, n);
		assert_memory_equal(&msg, &hello, hello.head.size);
		for (size_t i = 0; i < n; i++) {
			assert_true(same_file(file[i], rig->file[i]));
			assert_int_equal(fcntl(file[i], F_GETFD), FD_CLOEXEC);
			close(file[i]);
		}
		assert_int_equal(count_files(), before);
	}
}

static void not_sent(void **state)
{
	const struct rig *rig = *state;
	union gp_wire_msg msg = new_msg(GP_WIRE_HELLO);
	int closed = dup(rig->file[0]);

	assert_int_equal(gp_wire_send(rig->pair[0], &msg, rig->file, GP_WIRE_MAX_FILES + 1),
			 -EINVAL);
	assert_int_equal(gp_wire_send(rig->pair[0], &msg, rig->file, SIZE_MAX), -EINVAL);
	close(closed);
	assert_int_equal(gp_wire_send(rig->pair[0], &msg, &closed, 1), -EBADF);
	msg.head.size = UINT32_MAX;
	assert_int_equal(gp_wire_send(rig->pair[0], &msg, NULL, 0), -EPROTO);
	msg = new_msg(0);
	assert_int_equal(gp_wire_send(rig->pair[0], &msg, NULL, 0), -EPROTO);
	assert_int_equal(gp_wire_recv(rig->pair[1], &msg, NULL, NULL), -EAGAIN);
}

static void too_many_files(void **state)
{
	const struct rig *rig = *state;
	const union gp_wire_msg hello = new_msg(GP_WIRE_HELLO);

	for (size_t n = GP_WIRE_MAX_FILES + 1; n <= FILES_MOST; n += 1 + n / 4) {
		send_raw(rig, &hello, hello.head.size, n);
		refused(rig, -EPROTO);
	}
}

static void too_long(void **state)
{
	const struct rig *rig = *state;
	static const char bytes[sizeof(union gp_wire_msg) + 1];

	for (size_t n = 0; n <= GP_WIRE_MAX_FILES + 1; n++) {
		send_raw(rig, bytes, sizeof(bytes), n);
		refused(rig, -EPROTO);
	}
	send_raw(rig, bytes, sizeof(bytes), 3);
	assert_int_equal(gp_wire_recv(rig->pair[1], &(union gp_wire_msg){ 0 }, NULL, NULL),
			 -EPROTO);
}

static void empty_with_files(void **state)
{
	const struct rig *rig = *state;

	for (size_t n = 1; n <= GP_WIRE_MAX_FILES + 1; n++) {
		send_raw(rig, "", 0, n);
		refused(rig, -EPROTO);
	}
}

/* A receiver that wants no files gets the message; the files are closed. */
static void files_dropped(void **state)
{
	const struct rig *rig = *state;
	const union gp_wire_msg hello = new_msg(GP_WIRE_HELLO);
	const size_t before = count_files();
	union gp_wire_msg msg;

	for (size_t n = 0; n <= FILES_MOST; n += 25) {
		send_raw(rig, &hello, hello.head.size, n);
		assert_int_equal(gp_wire_recv(rig->pair[1], &msg, NULL, NULL), hello.head.size);
		assert_int_equal(count_files(), before);
	}
}

/* Files in two control messages arrive as one row. */
static void two_rows(void **state)
{
	const struct rig *rig = *state;
	const size_t before = count_files();
	union gp_wire_msg hello = new_msg(GP_WIRE_HELLO), msg;
	struct iovec iov = { .iov_base = &hello, .iov_len = hello.head.size };
	union {
		struct cmsghdr align;
		char bytes[2 * CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr hdr = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	int file[GP_WIRE_MAX_FILES];
	size_t n = 0;

	memset(&control, 0, sizeof(control));
	for (cmsg = CMSG_FIRSTHDR(&hdr); cmsg; cmsg = CMSG_NXTHDR(&hdr, cmsg)) {
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &rig->file[n++], sizeof(int));
	}
	assert_int_equal(n, 2);
	assert_int_equal(sendmsg(rig->pair[0], &hdr, MSG_NOSIGNAL), hello.head.size);
	assert_int_equal(gp_wire_recv(rig->pair[1], &msg, file, &n), hello.head.size);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		assert_true(same_file(file[i], rig->file[i]));
		close(file[i]);
	}
	assert_int_equal(count_files(), before);
}

/* Control data that is no files: with SO_PASSCRED the kernel adds the sender's ids. */
static void other_control_data(void **state)
{
	const struct rig *rig = *state;
	const union gp_wire_msg hello = new_msg(GP_WIRE_HELLO);
	const size_t before = count_files();
	int file[GP_WIRE_MAX_FILES], on = 1, off = 0;
	union gp_wire_msg msg;
	size_t n;

	for (size_t files = 0; files <= GP_WIRE_MAX_FILES; files++) {
		assert_int_equal(setsockopt(rig->pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)),
				 0);
		send_raw(rig, &hello, hello.head.size, files);
		n = 99;
		assert_int_equal(gp_wire_recv(rig->pair[1], &msg, file, &n), -EPROTO);
		assert_int_equal(n, 0);
		assert_int_equal(count_files(), before);
		assert_int_equal(
			setsockopt(rig->pair[1], SOL_SOCKET, SO_PASSCRED, &off, sizeof(off)), 0);
	}
}

/* Five files arrive at a process with room for @room more. */
static void table_full(const struct rig *rig, size_t room)
{
	const union gp_wire_msg hello = new_msg(GP_WIRE_HELLO);
	const size_t before = count_files();
	struct rlimit old, few;
	int file[GP_WIRE_MAX_FILES];
	int next = dup(rig->file[0]);
	union gp_wire_msg msg;
	ssize_t got;
	size_t n = 99;

	assert_true(next >= 0);
	close(next);
	send_raw(rig, &hello, hello.head.size, 5);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = (rlim_t)next + room;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	got = gp_wire_recv(rig->pair[1], &msg, file, &n);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(got, -EMFILE);
	assert_int_equal(n, 0);
	assert_int_equal(count_files(), before);
}

static void tables_full(void **state)
{
	for (size_t room = 0; room < 5; room++)
		table_full(*state, room);
}

static void nobody_reads(void **state)
{
	const struct rig *rig = *state;
	const union gp_wire_msg said = new_msg(GP_WIRE_SAID);
	union gp_wire_msg msg;
	int sent = 0, got = 0, err;

	while ((err = gp_wire_send(rig->pair[0], &said, rig->file, 1)) == 0)
		sent++;
	assert_int_equal(err, -EAGAIN);
	assert_true(sent > 0);
	assert_int_equal(gp_wire_send(rig->pair[0], &said, NULL, 0), -EAGAIN);
	while (gp_wire_recv(rig->pair[1], &msg, NULL, NULL) > 0)
		got++;
	assert_int_equal(got, sent);
	assert_int_equal(gp_wire_send(rig->pair[0], &said, NULL, 0), 0);
}

static void nobody_writes(void **state)
{
	const struct rig *rig = *state;
	int file[GP_WIRE_MAX_FILES];
	union gp_wire_msg msg;
	size_t n = 99;

	assert_int_equal(gp_wire_recv(rig->pair[1], &msg, file, &n), -EAGAIN);
	assert_int_equal(n, 0);
	assert_int_equal(gp_wire_recv(rig->pair[1], &msg, NULL, NULL), -EAGAIN);
	assert_int_equal(gp_wire_recv(-1, &msg, file, &n), -EBADF);
}

/* The peer closes: its last message is still read, then the end, without a signal. */
static void peer_gone(void **state)
{
	struct rig *rig = *state;
	const union gp_wire_msg hello = new_msg(GP_WIRE_HELLO);
	const size_t before = count_files();
	int file[GP_WIRE_MAX_FILES];
	union gp_wire_msg msg;
	size_t n;

	assert_int_equal(gp_wire_send(rig->pair[0], &hello, rig->file, 2), 0);
	close(rig->pair[0]);
	rig->pair[0] = -1;
	assert_int_equal(gp_wire_recv(rig->pair[1], &msg, file, &n), hello.head.size);
	assert_int_equal(n, 2);
	close(file[0]);
	close(file[1]);
	assert_int_equal(gp_wire_recv(rig->pair[1], &msg, file, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(gp_wire_recv(rig->pair[1], &msg, NULL, NULL), 0);
	assert_int_equal(gp_wire_send(rig->pair[1], &hello, rig->file, 1), -EPIPE);
	assert_int_equal(count_files(), before - 1);
}

/* A look shows whether there are files, and leaves the message with them. */
static void peek(const struct rig *rig, size_t len, size_t n)
{
	static const char bytes[sizeof(union gp_wire_msg) + 1];
	const size_t before = count_files();
	const size_t shown = len < sizeof(union gp_wire_msg) ? len : sizeof(union gp_wire_msg);
	bool any = false, files = false;
	int file[GP_WIRE_MAX_FILES];
	union gp_wire_msg msg;
	size_t got;

	send_raw(rig, bytes, len, n);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(gp_wire_peek(rig->pair[1], &msg, &any, &files), shown);
		assert_true(any);
		assert_int_equal(files, n > 0);
		assert_int_equal(count_files(), before);
	}
	if (!n)
		assert_int_equal(gp_wire_recv(rig->pair[1], &msg, NULL, NULL),
				 len > sizeof(msg) ? -EPROTO : (ssize_t)len);
	else
		gp_wire_recv(rig->pair[1], &msg, file, &got);
	assert_int_equal(gp_wire_peek(rig->pair[1], &msg, &any, &files), -EAGAIN);
	assert_false(any);
}

static void peeks(void **state)
{
	static const size_t len[] = {
		0, 1, 16, 200, sizeof(union gp_wire_msg), sizeof(union gp_wire_msg) + 1
	};
	const struct rig *rig = *state;
	bool any = true, files = true;
	union gp_wire_msg msg;

	assert_int_equal(gp_wire_can_peek(rig->pair[1]), 0);
	for (size_t i = 0; i < sizeof(len) / sizeof(len[0]); i++)
		for (size_t n = 0; n <= 40; n += n < 3 ? 1 : 12)
			peek(rig, len[i], n);
	assert_int_equal(shutdown(rig->pair[0], SHUT_WR), 0);
	assert_int_equal(gp_wire_peek(rig->pair[1], &msg, &any, &files), 0);
	assert_false(any);
	assert_false(files);
	assert_int_equal(gp_wire_peek(-1, &msg, &any, &files), -EBADF);
	assert_int_equal(gp_wire_can_peek(rig->file[0]), -ENOTSOCK);
}

static uint32_t next_random(uint32_t *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

/* Send one random message. It arrives unchanged, or not at all. */
static void one_of_garbage(const struct rig *rig, uint32_t *x)
{
	static unsigned char bytes[sizeof(union gp_wire_msg) + 64];
	const size_t len = next_random(x) % (sizeof(bytes) + 1);
	const size_t files = next_random(x) % 4 ? next_random(x) % 20 :
						  next_random(x) % (FILES_MOST + 1);
	const bool fits = len <= sizeof(union gp_wire_msg) && files <= GP_WIRE_MAX_FILES &&
			  (len || !files);
	int file[GP_WIRE_MAX_FILES];
	union gp_wire_msg msg;
	size_t n = 99;

	for (size_t i = 0; i < len; i += 61)
		bytes[i] = (unsigned char)next_random(x);
	send_raw(rig, bytes, len, files);
	assert_int_equal(gp_wire_recv(rig->pair[1], &msg, file, &n), fits ? (ssize_t)len : -EPROTO);
	assert_int_equal(n, fits ? files : 0);
	assert_true(!fits || !memcmp(&msg, bytes, len));
	for (size_t i = 0; i < n; i++) {
		assert_true(same_file(file[i], rig->file[i]));
		close(file[i]);
	}
}

static void garbage(void **state)
{
	const struct rig *rig = *state;
	const size_t before = count_files();
	uint32_t x = SEED;

	printf("seed %u\n", SEED);
	for (int i = 0; i < ROUNDS; i++)
		one_of_garbage(rig, &x);
	assert_int_equal(count_files(), before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_up, rig_down)

int main(void)
{
	const struct CMUnitTest files[] = {
		TEST(files_cross),
		TEST(not_sent),
		TEST(too_many_files),
		TEST(too_long),
		TEST(empty_with_files),
		TEST(files_dropped),
		TEST(two_rows),
		TEST(other_control_data),
		TEST(tables_full),
		TEST(nobody_reads),
		TEST(nobody_writes),
		TEST(peer_gone),
		TEST(peeks),
		TEST(garbage),
	};

	return gp_run_tests(files);
}
