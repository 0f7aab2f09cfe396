// SPDX-License-Identifier: Apache-2.0
/* The daemon's socket under a thousand clients, garbage, and clients that never read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/serve/serve.h"
#include "tests/common/gp_test.h"

#define USER_MAX 8u
#define CLIENTS 1000

static struct gp_loop *loop;
static struct gp_serve *serve;
static char path[64];
static int listen_fd;
static uint32_t messages, closes, files;
static struct gp_conn *last;

/* Number of tenants in each answer to LIST .. */
static uint32_t rows;

static void message(void *arg, struct gp_conn *conn, const union gp_wire_msg *msg, const int *file,
		    size_t n)
{
	messages++;
	files += (uint32_t)n;
	gp_wire_drop(file, n);
	last = conn;
	for (uint32_t i = 0; i < rows; i++) {
		union gp_wire_msg row;

		gp_wire_init(&row, GP_WIRE_TENANT);
		row.tenant.pid = (int32_t)i + 1;
		if (!gp_conn_send(conn, &row, NULL, 0))
			return;
	}
	gp_conn_result(conn, 0);
}

static void closed(void *arg, struct gp_conn *conn)
{
	closes++;
}

static const struct gp_serve_ops ops = { .message = message, .closed = closed };

static int start(void **state)
{
	snprintf(path, sizeof(path), "/tmp/gpreempt-test-serve.%d", (int)getpid());
	messages = closes = files = rows = 0;
	listen_fd = gp_wire_daemon_listen(path);
	assert_true(listen_fd >= 0);
	assert_int_equal(gp_loop_create(&loop), 0);
	assert_int_equal(gp_serve_create(loop, listen_fd, USER_MAX, &ops, NULL, &serve), 0);
	return 0;
}

static int end(void **state)
{
	gp_serve_destroy(serve);
	gp_loop_destroy(loop);
	close(listen_fd);
	unlink(path);
	return 0;
}

static int client(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void rounds(int n)
{
	while (n--)
		assert_int_equal(gp_loop_once(loop, 0), 0);
}

static int next(int fd, union gp_wire_msg *msg)
{
	ssize_t n = gp_wire_recv(fd, msg, NULL, NULL);

	return n > 0 ? msg->head.type : (int)n;
}

static void ask(int fd, const int *file, size_t n)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_LIST);
	assert_int_equal(gp_wire_send(fd, &msg, file, n), 0);
}

static void test_a_user_has_so_many(void **state)
{
	union gp_wire_msg msg;
	int fd[USER_MAX + 3];

	for (uint32_t i = 0; i < USER_MAX + 3; i++)
		fd[i] = client();
	rounds(8);
	for (uint32_t i = 0; i < USER_MAX; i++)
		assert_int_equal(next(fd[i], &msg), -EAGAIN);
	for (uint32_t i = USER_MAX; i < USER_MAX + 3; i++) {
		assert_int_equal(next(fd[i], &msg), GP_WIRE_SAID);
		assert_int_equal(msg.head.result, -EUSERS);
		assert_non_null(strstr(msg.said.text, "connections"));
		assert_int_equal(next(fd[i], &msg), 0);
	}
	/* One leaves, so there is room for one. */
	close(fd[0]);
	rounds(4);
	assert_int_equal(closes, 1);
	fd[0] = client();
	rounds(4);
	ask(fd[0], NULL, 0);
	rounds(4);
	assert_int_equal(next(fd[0], &msg), GP_WIRE_RESULT);
	for (uint32_t i = 0; i < USER_MAX + 3; i++)
		close(fd[i]);
}

static void test_garbage(void **state)
{
	unsigned char bytes[8192];
	union gp_wire_msg msg;
	uint64_t r = 5;
	int fd = client();

	rounds(2);
	for (int i = 0; i < 20000; i++) {
		size_t len = 1 + (size_t)(r >> 40) % sizeof(bytes);

		for (size_t k = 0; k < len; k++) {
			r = r * 6364136223846793005ull + 1442695040888963407ull;
			bytes[k] = (unsigned char)(r >> 56);
		}
		assert_int_equal(send(fd, bytes, len, 0), (ssize_t)len);
		rounds(1);
		assert_int_equal(next(fd, &msg), GP_WIRE_RESULT);
		assert_int_equal(msg.head.result, -EPROTO);
	}
	assert_int_equal(messages, 0);
	/* It is still a connection like any other. */
	ask(fd, NULL, 0);
	rounds(2);
	assert_int_equal(next(fd, &msg), GP_WIRE_RESULT);
	assert_int_equal(msg.head.result, 0);
	assert_int_equal(messages, 1);
	close(fd);
}

static uint32_t open_files(void)
{
	struct stat st;
	uint32_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += !fstat(fd, &st);
	return n;
}

static void test_files_are_not_kept(void **state)
{
	int fd = client(), file[3];
	uint32_t before;

	for (int i = 0; i < 3; i++)
		file[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	rounds(2);
	before = open_files();
	for (int i = 0; i < 100; i++) {
		union gp_wire_msg msg;

		ask(fd, file, 3);
		rounds(1);
		assert_int_equal(next(fd, &msg), GP_WIRE_RESULT);
	}
	assert_int_equal(files, 300);
	assert_int_equal(open_files(), before);
	for (int i = 0; i < 3; i++)
		close(file[i]);
	close(fd);
}

/* All of a long list arrives, though no socket takes it at once. */
static void test_a_list_longer_than_a_socket(void **state)
{
	union gp_wire_msg msg;
	int fd = client(), got = 0, type;

	rows = 400;
	rounds(2);
	ask(fd, NULL, 0);
	rounds(1);
	assert_true(last->lates > 0);
	while ((type = next(fd, &msg)) != GP_WIRE_RESULT) {
		if (type == -EAGAIN) {
			rounds(1);
			continue;
		}
		assert_int_equal(type, GP_WIRE_TENANT);
		assert_int_equal(msg.tenant.pid, ++got);
	}
	assert_int_equal(got, 400);
	assert_int_equal(last->lates, 0);
	close(fd);
}

static void test_who_never_reads_is_dropped(void **state)
{
	int fd = client(), other = client();
	union gp_wire_msg msg;

	rows = 400;
	rounds(2);
	for (int i = 0; i < 4 && !closes; i++) {
		ask(fd, NULL, 0);
		rounds(1);
	}
	assert_int_equal(closes, 1);
	rows = 0;
	ask(other, NULL, 0);
	rounds(2);
	assert_int_equal(next(other, &msg), GP_WIRE_RESULT);
	close(fd);
	close(other);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * A round of the loop may delay a decision. Here a thousand clients come at once, as many as
 * one user may have stay, and they send garbage.
 */
static void test_a_thousand_at_once(void **state)
{
	struct rlimit limit = { CLIENTS + 200, CLIENTS + 200 };
	static int fd[CLIENTS];
	uint64_t longest_ns = 0, cpu_ns;
	int n = 0, took = 0;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		skip();
	for (int i = 0; i < CLIENTS; i++) {
		/* Until the backlog is full; then the daemon works on it. */
		fd[n] = client();
		if (fd[n] < 0) {
			rounds(1);
			fd[n] = client();
		}
		if (fd[n] >= 0 && send(fd[n], "garbage", 7, MSG_NOSIGNAL) >= 0)
			n++;
	}
	cpu_ns = thread_cpu_ns();
	for (; took < 500; took++) {
		uint64_t start_ns = gp_loop_now_ns(), ns;

		rounds(1);
		ns = gp_loop_now_ns() - start_ns;
		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	/* Of a core: a busy machine does not count. */
	cpu_ns = thread_cpu_ns() - cpu_ns;
	printf("%d clients: a round took %.1f us of a core on average; the longest %.1f us\n", n,
	       (double)cpu_ns / took / 1000, (double)longest_ns / 1000);
	assert_true(n > CLIENTS / 2);
	/* Only the allowed number remains. */
	ask(fd[0], NULL, 0);
	rounds(4);
	assert_int_equal(messages, 1);
	assert_true(cpu_ns / (uint64_t)took < 1000000);
	for (int i = 0; i < n; i++)
		close(fd[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_user_has_so_many),	       TEST(test_garbage),
		TEST(test_files_are_not_kept),	       TEST(test_a_list_longer_than_a_socket),
		TEST(test_who_never_reads_is_dropped), TEST(test_a_thousand_at_once),
	};

	return gp_run_tests(tests);
}
