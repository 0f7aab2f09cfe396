// SPDX-License-Identifier: Apache-2.0
/* The daemon's socket under a thousand clients, garbage, and clients that never read. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/receive/receiver.h"
#include "daemon/receive/receivers.h"
#include "daemon/serve/serve.h"
#include "tests/common/gp_test.h"

#define USER_MAX 8u
#define CLIENTS 1000

static struct gp_loop *loop;
static struct gp_receivers *receivers;
static struct gp_serve *serve;
static char path[64];
static int listen_fd;
static uint32_t messages, closes, files;
static struct gp_conn *last;

/* Number of tenants in each answer to LIST .. */
static uint32_t rows;

/* In place of the thread's CPU time: so much more at each call; 0: it is that time, or stands. */
static uint64_t cpu_step_ns, fake_cpu_ns;
static bool clock_stands;

uint64_t __real_gp_loop_cpu_ns(void);
uint64_t __wrap_gp_loop_cpu_ns(void);

uint64_t __wrap_gp_loop_cpu_ns(void)
{
	fake_cpu_ns += cpu_step_ns;
	return cpu_step_ns || clock_stands ? fake_cpu_ns : __real_gp_loop_cpu_ns();
}

static bool keep_files;
static int kept[GP_WIRE_MAX_FILES];

static void message(void *arg, struct gp_conn *conn, const union gp_wire_msg *msg, const int *file,
		    size_t n)
{
	messages++;
	files += (uint32_t)n;
	if (keep_files)
		memcpy(kept, file, n * sizeof(*file));
	else
		gp_files_close(file, n);
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

static bool is_busy;

static bool busy(void *arg, const struct gp_conn *conn)
{
	return is_busy;
}

static bool is_root(void *arg, pid_t pid)
{
	return true;
}

static const struct gp_serve_ops ops = {
	.message = message, .busy = busy, .is_root = is_root, .closed = closed
};

static int start(void **state)
{
	snprintf(path, sizeof(path), "/tmp/gpreempt-test-serve.%d", (int)getpid());
	messages = closes = files = rows = 0;
	is_busy = false;
	cpu_step_ns = 0;
	clock_stands = false;
	listen_fd = gp_wire_daemon_listen(path);
	assert_true(listen_fd >= 0);
	assert_int_equal(gp_loop_create(&loop), 0);
	assert_int_equal(gp_receivers_create(&receivers), 0);
	gp_receivers_backend(receivers, "softgpu");
	assert_int_equal(gp_receivers_attach(receivers, loop), 0);
	assert_int_equal(gp_serve_create(loop, listen_fd, USER_MAX, receivers, &ops, NULL, &serve),
			 0);
	return 0;
}

static int end(void **state)
{
	gp_serve_destroy(serve);
	gp_receivers_destroy(receivers);
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

/* The answer; receivers take their time. */
static int answer(int fd, union gp_wire_msg *msg)
{
	int type;

	for (int i = 0; (type = next(fd, msg)) == -EAGAIN && i < 1000; i++)
		assert_int_equal(gp_loop_once(loop, 10), 0);
	return type;
}

static void ask(int fd, const int *file, size_t n)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_LIST);
	assert_int_equal(gp_wire_send(fd, &msg, file, n), 0);
}

/* Root of the machine has a reserve besides. */
static uint32_t places(void)
{
	return geteuid() ? USER_MAX : 2 * USER_MAX;
}

static void test_a_user_has_so_many(void **state)
{
	const uint32_t n = places();
	union gp_wire_msg msg;
	int fd[2 * USER_MAX + 3];

	for (uint32_t i = 0; i < n + 3; i++)
		fd[i] = client();
	rounds(16);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(next(fd[i], &msg), -EAGAIN);
	for (uint32_t i = n; i < n + 3; i++) {
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
	for (uint32_t i = 0; i < n + 3; i++)
		close(fd[i]);
}

#define USERS 64u
#define USERS_FILES 256u

/* A client in a process of user @uid. With @lives the process lives on, and it has asked. */
static int client_of(uid_t uid, pid_t *lives)
{
	struct pollfd p = { .events = POLLIN };
	int pair[2], fd = -1;
	union gp_wire_msg msg;
	size_t n;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	pid = fork();
	if (!pid) {
		if (!setresuid(uid, uid, uid))
			fd = client();
		gp_wire_init(&msg, GP_WIRE_LIST);
		if (fd >= 0 && !gp_wire_send(pair[1], &msg, &fd, 1) && lives)
			pause();
		_exit(0);
	}
	close(pair[1]);
	p.fd = pair[0];
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_true(gp_wire_recv(pair[0], &msg, &fd, &n) > 0);
	assert_int_equal(n, 1);
	close(pair[0]);
	pair[0] = fcntl(fd, F_DUPFD_CLOEXEC, 2 * USERS_FILES);
	close(fd);
	if (lives) {
		*lives = pid;
		ask(pair[0], NULL, 0);
	} else {
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	return pair[0];
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/*
 * As many users as want more connections than there are files: one that comes later has a
 * place all the same, and so has root.
 */
static void test_users_share_the_files(void **state)
{
	struct rlimit limit = { USERS_FILES, 4096 };
	static int fd[USERS * USER_MAX];
	union gp_wire_msg msg;
	pid_t later_pid, root_pid;
	int later, root;

	if (geteuid() || setrlimit(RLIMIT_NOFILE, &limit)) {
		gp_note_skip();
		skip();
	}
	gp_serve_destroy(serve);
	assert_int_equal(gp_serve_create(loop, listen_fd, USER_MAX, receivers, &ops, NULL, &serve),
			 0);
	/* The clients' files are this process's too, so they have other numbers. */
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (uint32_t i = 0; i < USERS * USER_MAX; i++) {
		fd[i] = client_of(1000 + i % USERS, NULL);
		rounds(1);
	}
	later = client_of(5000, &later_pid);
	root = client_of(0, &root_pid);
	rounds(8);
	assert_int_equal(next(later, &msg), GP_WIRE_RESULT);
	assert_int_equal(next(root, &msg), GP_WIRE_RESULT);
	end_process(later_pid);
	end_process(root_pid);
	for (uint32_t i = 0; i < USERS * USER_MAX; i++)
		close(fd[i]);
	close(later);
	close(root);
	rounds(200);
}

#define FLOOD 64u
#define SLOW_NS 50000000u /* what each measured work seems to take: 1.25 s until the next */

/*
 * After a burst, connections that come without end wait for the next window. One that was there
 * before is served meanwhile, and in the end they have their answers.
 */
static void test_accepts_take_bounded_time(void **state)
{
	int before = client(), fd[FLOOD];
	union gp_wire_msg msg;

	rounds(2);
	cpu_step_ns = SLOW_NS;
	for (uint32_t i = 0; i < FLOOD; i++)
		fd[i] = client();
	rounds(FLOOD / 4);
	ask(fd[0], NULL, 0);
	ask(before, NULL, 0);
	rounds(2);
	assert_int_equal(next(fd[0], &msg), GP_WIRE_RESULT);
	assert_int_equal(next(before, &msg), GP_WIRE_RESULT);
	assert_int_equal(next(fd[FLOOD - 1], &msg), -EAGAIN);
	cpu_step_ns = 0;
	while (next(fd[FLOOD - 1], &msg) == -EAGAIN)
		assert_int_equal(gp_loop_once(loop, 10), 0);
	close(before);
	for (uint32_t i = 0; i < FLOOD; i++)
		close(fd[i]);
}

/* @n times @file, with @len bytes that are no message. */
static void send_odd(int fd, int file, size_t n, size_t len)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * (GP_WIRE_MAX_FILES + 1))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (char[16]){ 0 }, .iov_len = len };
	struct msghdr hdr = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = CMSG_SPACE(sizeof(int) * n) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&hdr);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n);
	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &file, sizeof(int));
	assert_int_equal(sendmsg(fd, &hdr, 0), len);
}

/* Random bytes, or 0 to 16 files of which none is a control file. */
static void send_garbage(int fd, int file, uint64_t *r, bool with_files)
{
	unsigned char bytes[8192];
	size_t len = 1 + (size_t)(*r >> 40) % sizeof(bytes);

	if (with_files) {
		send_odd(fd, file, (size_t)(*r >> 40) % (GP_WIRE_MAX_FILES + 1), 16);
		*r = *r * 6364136223846793005ull + 1442695040888963407ull;
		return;
	}
	for (size_t k = 0; k < len; k++) {
		*r = *r * 6364136223846793005ull + 1442695040888963407ull;
		bytes[k] = (unsigned char)(*r >> 56);
	}
	assert_int_equal(send(fd, bytes, len, 0), (ssize_t)len);
}

/* GP_GARBAGE: so many messages (20,000). The daemon does not count their time here. */
static void test_garbage(void **state)
{
	const char *text = getenv("GP_GARBAGE");
	const long n = text ? atol(text) : 20000;
	int fd = client(), file = open("/dev/null", O_RDWR | O_CLOEXEC);
	union gp_wire_msg msg;
	uint64_t r = 5;

	rounds(2);
	clock_stands = true;
	for (long i = 0; i < n; i++) {
		send_garbage(fd, file, &r, i % 64 == 63);
		assert_int_equal(answer(fd, &msg), GP_WIRE_RESULT);
		assert_int_equal(msg.head.result, -EPROTO);
	}
	assert_int_equal(messages, 0);
	/* It is still a connection like any other. */
	ask(fd, NULL, 0);
	assert_int_equal(answer(fd, &msg), GP_WIRE_RESULT);
	assert_int_equal(msg.head.result, 0);
	assert_int_equal(messages, 1);
	close(fd);
	close(file);
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
	uint32_t before = 0;

	for (int i = 0; i < 3; i++)
		file[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	rounds(2);
	for (int i = 0; i < 100; i++) {
		union gp_wire_msg msg;

		ask(fd, file, 3);
		assert_int_equal(answer(fd, &msg), GP_WIRE_RESULT);
		/* The receiver's socket is there from the first on. */
		before = i ? before : open_files();
	}
	assert_int_equal(files, 300);
	assert_int_equal(open_files(), before);
	for (int i = 0; i < 3; i++)
		close(file[i]);
	close(fd);
}

/* The daemon gets control files only, each in its place. */
static void test_only_control_files_arrive(void **state)
{
	int fd = client(), file[4], control = memfd_create("gpreempt-soft-rm", MFD_CLOEXEC);
	struct stat st, got;
	union gp_wire_msg msg;

	assert_int_equal(pipe2(file, O_CLOEXEC), 0);
	file[2] = control;
	file[3] = open("/dev/null", O_PATH | O_CLOEXEC);
	rounds(2);
	keep_files = true;
	ask(fd, file, 4);
	assert_int_equal(answer(fd, &msg), GP_WIRE_RESULT);
	keep_files = false;
	assert_int_equal(files, 4);
	assert_true(kept[0] < 0 && kept[1] < 0 && kept[3] < 0);
	assert_int_equal(fstat(control, &st), 0);
	assert_int_equal(fstat(kept[2], &got), 0);
	assert_int_equal(got.st_ino, st.st_ino);
	close(kept[2]);
	/* Too many files, no message, an empty one: an answer, and it remains. */
	for (int i = 0; i < 3; i++) {
		send_odd(fd, control, i == 0 ? GP_WIRE_MAX_FILES + 1 : 1, i == 2 ? 0 : 16);
		assert_int_equal(answer(fd, &msg), GP_WIRE_RESULT);
		assert_int_equal(msg.head.result, -EPROTO);
	}
	ask(fd, NULL, 0);
	assert_int_equal(answer(fd, &msg), GP_WIRE_RESULT);
	assert_int_equal(msg.head.result, 0);
	for (int i = 0; i < 4; i++)
		close(file[i]);
	close(fd);
}

/* Is the other end of the pipe @fd open in any process? */
static bool is_open(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

/*
 * The daemon closes connections with files in their queues: one too many, and one that never
 * reads. The last reference to the files is not the daemon's: they stay open until the
 * receiver ends.
 */
static void test_queued_files_go_to_a_receiver(void **state)
{
	const uint32_t n = places();
	int fd[2 * USER_MAX + 1], ends[2], before;
	union gp_wire_msg msg;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	for (uint32_t i = 0; i < n; i++)
		fd[i] = client();
	rounds(16);
	fd[n] = client();
	ask(fd[n], ends + 1, 1);
	close(ends[1]);
	for (int i = 0; i < 100; i++)
		assert_int_equal(gp_loop_once(loop, 10), 0);
	assert_int_equal(next(fd[n], &msg), GP_WIRE_SAID);
	close(fd[n]);
	assert_true(is_open(ends[0]));
	/* And no connection is left over. */
	before = (int)open_files();
	ask(fd[0], NULL, 0);
	assert_int_equal(answer(fd[0], &msg), GP_WIRE_RESULT);
	assert_int_equal(open_files(), before);
	for (uint32_t i = 0; i < n; i++)
		close(fd[i]);
	gp_receivers_stop(receivers);
	gp_serve_destroy(serve);
	gp_receivers_destroy(receivers);
	serve = NULL;
	receivers = NULL;
	for (int i = 0; i < 1000 && is_open(ends[0]); i++)
		poll(NULL, 0, 10);
	assert_false(is_open(ends[0]));
	close(ends[0]);
}

/* A connection that the daemon closes while a receiver works on it. */
static void test_closed_meanwhile(void **state)
{
	int file = open("/dev/null", O_RDWR | O_CLOEXEC), fd[2] = { client(), client() };
	union gp_wire_msg msg;

	rounds(2);
	for (int i = 0; i < 2; i++)
		ask(fd[i], &file, 1);
	rounds(1);
	/* The receiver has one now, and the other waits. */
	gp_conn_close(gp_serve_find(serve, 1));
	assert_int_equal(closes, 1);
	assert_null(gp_serve_find(serve, 1));
	assert_int_equal(answer(fd[0], &msg), 0);
	assert_int_equal(answer(fd[1], &msg), GP_WIRE_RESULT);
	assert_int_equal(messages, 1);
	close(file);
	close(fd[0]);
	close(fd[1]);
}

/* A receiver has a message when the daemon ends: nobody gets it. */
static void test_no_message_at_the_end(void **state)
{
	int file = open("/dev/null", O_RDWR | O_CLOEXEC), fd = client();

	rounds(2);
	ask(fd, &file, 1);
	rounds(1);
	poll(NULL, 0, 200);
	gp_serve_destroy(serve);
	serve = NULL;
	assert_int_equal(messages, 0);
	assert_int_equal(closes, 1);
	close(file);
	close(fd);
}

/* Its process has ended, and the connection lives on in a child: it does nothing more. */
static void test_process_of_a_connection_ended(void **state)
{
	union gp_wire_msg msg;
	int pair[2], fd;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	pid = fork();
	if (!pid) {
		fd = client();
		gp_wire_init(&msg, GP_WIRE_LIST);
		_exit(gp_wire_send(pair[1], &msg, &fd, 1) != 0);
	}
	/* Not reaped: its PID is not free yet, but it has ended. */
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	size_t n = 0;
	assert_true(gp_wire_recv(pair[0], &msg, &fd, &n) > 0);
	assert_int_equal(n, 1);
	ask(fd, NULL, 0);
	assert_int_equal(answer(fd, &msg), 0);
	assert_int_equal(messages, 0);
	assert_int_equal(closes, 1);
	waitpid(pid, NULL, 0);
	close(fd);
	close(pair[0]);
	close(pair[1]);
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

/* Not even its next request is read; its memory is limited, and that of its user. */
static void test_who_never_reads(void **state)
{
	int fd[USER_MAX - 1], other = client();
	union gp_wire_msg msg;

	rows = 400;
	for (uint32_t i = 0; i < USER_MAX - 1; i++)
		fd[i] = client();
	rounds(4);
	for (int i = 0; i < 4; i++) {
		ask(fd[0], NULL, 0);
		rounds(2);
	}
	assert_int_equal(messages, 1);
	assert_int_equal(closes, 0);
	for (uint32_t i = 1; i < USER_MAX - 1; i++) {
		ask(fd[i], NULL, 0);
		rounds(2);
	}
	assert_in_range(closes, 2, USER_MAX - 2);
	rows = 0;
	ask(other, NULL, 0);
	rounds(2);
	assert_int_equal(next(other, &msg), GP_WIRE_RESULT);
	for (uint32_t i = 0; i < USER_MAX - 1; i++)
		close(fd[i]);
	close(other);
}

/* A message waits, and the peer's end is seen all the same. */
static void test_a_busy_one_waits(void **state)
{
	int fd = client(), other = client();
	union gp_wire_msg msg;

	rounds(2);
	is_busy = true;
	ask(fd, NULL, 0);
	ask(other, NULL, 0);
	rounds(4);
	assert_int_equal(messages, 0);
	close(other);
	rounds(4);
	assert_int_equal(closes, 1);
	is_busy = false;
	gp_serve_resume(serve, geteuid());
	rounds(4);
	assert_int_equal(messages, 1);
	assert_int_equal(next(fd, &msg), GP_WIRE_RESULT);
	close(fd);
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
	cpu_ns = gp_loop_cpu_ns();
	for (; took < 500; took++) {
		uint64_t start_ns = gp_loop_now_ns(), ns;

		rounds(1);
		ns = gp_loop_now_ns() - start_ns;
		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	/* Of a core: a busy machine does not count. */
	cpu_ns = gp_loop_cpu_ns() - cpu_ns;
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_user_has_so_many),	      TEST(test_garbage),
		TEST(test_only_control_files_arrive), TEST(test_queued_files_go_to_a_receiver),
		TEST(test_closed_meanwhile),	      TEST(test_process_of_a_connection_ended),
		TEST(test_files_are_not_kept),	      TEST(test_a_list_longer_than_a_socket),
		TEST(test_who_never_reads),	      TEST(test_a_busy_one_waits),
		TEST(test_users_share_the_files),     TEST(test_accepts_take_bounded_time),
		TEST(test_no_message_at_the_end),     TEST(test_a_thousand_at_once),
	};

	/* A receiver is this program again. */
	if (argc > 1 && !strcmp(argv[1], "--receive"))
		return gp_receiver_run(GP_RECEIVER_FD);
	return gp_run_tests(tests);
}
