// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/tenant_socket.h"
#include "tests/common/gp_test.h"
#include "wire/wire.h"

#define SEED 20240611u
#define PASSRIGHTS 83 /* SO_PASSRIGHTS, since Linux 6.16 */

static void check_sizes(void **state)
{
	static const enum gp_wire_type types[] = {
		GP_WIRE_QUERY,	      GP_WIRE_SET_CLASS, GP_WIRE_HINT,	 GP_WIRE_YIELD,
		GP_WIRE_QUERY_DEVICE, GP_WIRE_HELLO,	 GP_WIRE_FILES,	 GP_WIRE_ASK_CLASS,
		GP_WIRE_LIST,	      GP_WIRE_DEVICES,	 GP_WIRE_WHY,	 GP_WIRE_TAKE,
		GP_WIRE_HISTOGRAM,    GP_WIRE_TRACE,	 GP_WIRE_STATUS, GP_WIRE_RESULT,
		GP_WIRE_WELCOME,      GP_WIRE_CLASS,	 GP_WIRE_TENANT, GP_WIRE_DEVICE,
		GP_WIRE_MEMORY,	      GP_WIRE_REASON,	 GP_WIRE_SAID,	 GP_WIRE_BUCKETS,
		GP_WIRE_TRACED,	      GP_WIRE_POOL,	 GP_WIRE_RULE,	 GP_WIRE_RULED,
	};
	union gp_wire_msg msg;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		gp_wire_init(&msg, types[i]);
		assert_int_equal(gp_wire_check(&msg, msg.head.size), 0);
		for (size_t len = 0; len <= sizeof(msg) + 8; len++)
			if (len != msg.head.size)
				assert_int_equal(gp_wire_check(&msg, len), -EPROTO);
	}
}

static void check_fields(void **state)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_QUERY);
	msg.head.magic ^= 1;
	assert_int_equal(gp_wire_check(&msg, sizeof(msg.head)), -EPROTO);
	gp_wire_init(&msg, GP_WIRE_QUERY);
	msg.head.version++;
	assert_int_equal(gp_wire_check(&msg, sizeof(msg.head)), -EPROTO);
	gp_wire_init(&msg, GP_WIRE_QUERY);
	msg.head.type = 99;
	assert_int_equal(gp_wire_check(&msg, sizeof(msg.head)), -EPROTO);
	gp_wire_init(&msg, GP_WIRE_QUERY);
	msg.head.size++;
	assert_int_equal(gp_wire_check(&msg, sizeof(msg.head)), -EPROTO);
}

static int listen_here(void)
{
	int fd = gp_wire_listen(getpid());

	assert_true(fd >= 0);
	return fd;
}

static void one_tenant(void **state)
{
	int fd = listen_here(), conn;
	pid_t found[256], pid;
	ssize_t n;
	int hits = 0;
	uid_t uid;

	assert_int_equal(gp_wire_listen(getpid()), -EADDRINUSE);
	conn = gp_wire_connect(getpid());
	assert_true(conn >= 0);
	assert_int_equal(gp_wire_peer(conn, &pid, &uid), 0);
	assert_int_equal(pid, getpid());
	assert_int_equal(uid, geteuid());
	n = gp_wire_tenants(found, 256);
	for (ssize_t i = 0; i < n; i++)
		hits += found[i] == getpid();
	assert_int_equal(hits, 1);
	assert_int_equal(gp_wire_tenants(found, 0), 0);
	close(conn);
	close(fd);
	assert_int_equal(gp_wire_connect(getpid()), -ESRCH);
	assert_int_equal(gp_wire_connect(0), -ESRCH);
	assert_int_equal(gp_wire_connect(-1), -ESRCH);
}

/* A tenant's socket refuses files if the kernel has SO_PASSRIGHTS. */
static void no_files_to_tenants(void **state)
{
	int fd = listen_here(), conn = gp_wire_connect(getpid()), no;
	socklen_t len = sizeof(no);
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_QUERY);
	if (getsockopt(fd, SOL_SOCKET, PASSRIGHTS, &no, &len)) {
		assert_int_equal(errno, ENOPROTOOPT);
		assert_int_equal(gp_wire_send(conn, &msg, &fd, 1), 0);
	} else {
		assert_int_equal(gp_wire_send(conn, &msg, &fd, 1), -EPERM);
	}
	assert_int_equal(gp_wire_send(conn, &msg, NULL, 0), 0);
	close(conn);
	close(fd);
}

/* A socket of another process under the tenant's name is not the tenant. */
static void wrong_owner(void **state)
{
	int fd = gp_wire_listen(1 << 30);

	assert_true(fd >= 0);
	assert_int_equal(gp_wire_connect(1 << 30), -ESRCH);
	close(fd);
}

static int serve_one(int listener, const void *reply, size_t len)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	char bytes[1024];
	int conn;

	if (poll(&pfd, 1, 10000) != 1)
		return 1;
	conn = accept(listener, NULL, NULL);
	if (conn < 0 || recv(conn, bytes, sizeof(bytes), 0) <= 0)
		return 2;
	if (len && send(conn, reply, len, MSG_NOSIGNAL) != (ssize_t)len)
		return 3;
	if (!len)
		(void)recv(conn, bytes, sizeof(bytes), 0);
	return 0;
}

static int call_with_reply(enum gp_wire_type request, const void *reply, size_t len, int timeout_ms)
{
	union gp_wire_msg msg;
	int fd = listen_here(), conn, result, status;
	pid_t child;

	conn = gp_wire_connect(getpid());
	assert_true(conn >= 0);
	child = fork();
	if (!child) {
		close(conn);
		_exit(serve_one(fd, reply, len));
	}
	gp_wire_init(&msg, request);
	result = gp_wire_call(conn, &msg, timeout_ms);
	close(conn);
	close(fd);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	return result;
}

static void call_replies(void **state)
{
	union gp_wire_msg reply;

	gp_wire_init(&reply, GP_WIRE_STATUS);
	assert_int_equal(call_with_reply(GP_WIRE_QUERY, &reply, reply.head.size, 10000), 0);
	gp_wire_init(&reply, GP_WIRE_RESULT);
	reply.head.result = -EPERM;
	assert_int_equal(call_with_reply(GP_WIRE_HINT, &reply, reply.head.size, 10000), -EPERM);
	assert_int_equal(call_with_reply(GP_WIRE_QUERY, &reply, reply.head.size, 10000), -EPERM);
	/* Success without the requested status is an invalid answer. */
	reply.head.result = 0;
	assert_int_equal(call_with_reply(GP_WIRE_QUERY, &reply, reply.head.size, 10000), -EPROTO);
	reply.head.result = 5;
	assert_int_equal(call_with_reply(GP_WIRE_HINT, &reply, reply.head.size, 10000), -EPROTO);
	gp_wire_init(&reply, GP_WIRE_HINT);
	assert_int_equal(call_with_reply(GP_WIRE_HINT, &reply, reply.head.size, 10000), -EPROTO);
	assert_int_equal(call_with_reply(GP_WIRE_HINT, "x", 1, 10000), -EPROTO);
	assert_int_equal(call_with_reply(GP_WIRE_HINT, NULL, 0, 20), -ETIMEDOUT);
}

static int daemon_answer(enum gp_wire_type request, enum gp_wire_type type, int32_t result)
{
	union gp_wire_msg reply;

	gp_wire_init(&reply, type);
	reply.head.result = result;
	if (type == GP_WIRE_REASON)
		reply.reason.pid = 1;
	if (type == GP_WIRE_RULED)
		reply.ruled.memory_max = reply.ruled.host_memory = 1;
	return call_with_reply(request, &reply, reply.head.size, 10000);
}

static void daemon_replies(void **state)
{
	static const struct {
		enum gp_wire_type request, answer;
	} pairs[] = {
		{ GP_WIRE_QUOTA, GP_WIRE_QUOTA }, { GP_WIRE_ASK_CLASS, GP_WIRE_SAID },
		{ GP_WIRE_TAKE, GP_WIRE_SAID },	  { GP_WIRE_POOL, GP_WIRE_SAID },
		{ GP_WIRE_RULE, GP_WIRE_RULED },  { GP_WIRE_HISTOGRAM, GP_WIRE_BUCKETS },
		{ GP_WIRE_WHY, GP_WIRE_REASON },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		enum gp_wire_type request = pairs[i].request;

		assert_int_equal(daemon_answer(request, pairs[i].answer, 0), 0);
		assert_int_equal(daemon_answer(request, GP_WIRE_SAID, -EPERM), -EPERM);
		assert_int_equal(daemon_answer(request, GP_WIRE_RESULT, -EPROTO), -EPROTO);
		assert_int_equal(daemon_answer(request, GP_WIRE_RESULT, 0), -EPROTO);
		assert_int_equal(daemon_answer(request, GP_WIRE_TENANT, 0), -EPROTO);
	}
	/* A text is no valid answer to these calls; the daemon sends texts itself. */
	assert_int_equal(daemon_answer(GP_WIRE_WHY, GP_WIRE_SAID, 0), -EPROTO);
	assert_int_equal(daemon_answer(GP_WIRE_HINT, GP_WIRE_SAID, -EPERM), -EPROTO);
}

/* An answer with @n files. The caller has one, or none is open. */
static int call_for_file(size_t n, int32_t result, int *file)
{
	const int files[2] = { STDIN_FILENO, STDIN_FILENO };
	union gp_wire_msg msg;
	int pair[2], err;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	gp_wire_init(&msg, GP_WIRE_QUOTA);
	msg.head.result = result;
	assert_int_equal(gp_wire_send(pair[1], &msg, files, n), 0);
	msg.head.result = 0;
	err = gp_wire_call_file(pair[0], &msg, file, 10000);
	close(pair[0]);
	close(pair[1]);
	return err;
}

static void answers_with_a_file(void **state)
{
	const int lowest = dup(STDIN_FILENO);
	int file, last;

	close(lowest);
	assert_int_equal(call_for_file(1, 0, &file), 0);
	assert_true(file >= 0);
	close(file);
	assert_int_equal(call_for_file(0, 0, &file), -EPROTO);
	assert_int_equal(file, -1);
	assert_int_equal(call_for_file(2, 0, &file), -EPROTO);
	assert_int_equal(call_for_file(1, -EPERM, &file), -EPERM);
	assert_int_equal(file, -1);
	last = dup(STDIN_FILENO);
	assert_int_equal(last, lowest);
	close(last);
}

/* Requests with several answers, or none, are no calls. */
static void not_calls(void **state)
{
	static const enum gp_wire_type types[] = {
		GP_WIRE_HELLO, GP_WIRE_FILES,  GP_WIRE_LIST, GP_WIRE_DEVICES,
		GP_WIRE_TRACE, GP_WIRE_STATUS, GP_WIRE_SAID,
	};
	union gp_wire_msg msg;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		gp_wire_init(&msg, types[i]);
		assert_int_equal(gp_wire_call(pair[0], &msg, 10000), -EPROTO);
	}
	assert_int_equal(gp_wire_next(pair[1], &msg, 0), -ETIMEDOUT);
	close(pair[0]);
	close(pair[1]);
}

static void next_messages(void **state)
{
	union gp_wire_msg msg;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	gp_wire_init(&msg, GP_WIRE_SAID);
	msg.head.result = -EPERM;
	assert_int_equal(gp_wire_send(pair[0], &msg, NULL, 0), 0);
	memset(msg.said.text, 'x', sizeof(msg.said.text));
	assert_int_equal(gp_wire_send(pair[0], &msg, NULL, 0), 0);
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	memset(&msg, 0, sizeof(msg));
	assert_int_equal(gp_wire_next(pair[1], &msg, 10000), 0);
	assert_int_equal(msg.head.type, GP_WIRE_SAID);
	assert_int_equal(msg.head.result, -EPERM);
	/* A text without a NUL, a message of unknown size, then a timeout and the end. */
	assert_int_equal(gp_wire_next(pair[1], &msg, 10000), -EPROTO);
	assert_int_equal(gp_wire_next(pair[1], &msg, 10000), -EPROTO);
	assert_int_equal(gp_wire_next(pair[1], &msg, 10), -ETIMEDOUT);
	close(pair[0]);
	assert_int_equal(gp_wire_next(pair[1], &msg, 10000), -ECONNRESET);
	close(pair[1]);
}

static uint32_t next_random(uint32_t *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

/* Without a daemon the answer is immediate. */
static void handle(const void *bytes, size_t len, bool may_change, union gp_wire_msg *reply)
{
	struct gp_tenant_socket_wait wait = { 0 };

	gp_tenant_socket_handle(bytes, len, may_change, reply, &wait);
	assert_int_equal(wait.count, 0);
}

/* The answer to any input is well-formed, and refuses it. */
static void garbage(void **state)
{
	unsigned char bytes[sizeof(union gp_wire_msg) + 16];
	uint32_t x = SEED;

	printf("seed %u\n", SEED);
	for (int i = 0; i < 20000; i++) {
		size_t len = next_random(&x) % (sizeof(bytes) + 1);
		union gp_wire_msg msg, reply;

		gp_wire_init(&msg, next_random(&x) % 70);
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (unsigned char)next_random(&x);
		if (i % 2)
			memcpy(bytes, &msg.head, sizeof(msg.head));
		if (i % 4 == 1)
			len = msg.head.size;
		memset(&reply, 0xa5, sizeof(reply));
		handle(bytes, len, next_random(&x) % 2, &reply);
		assert_int_equal(gp_wire_check(&reply, reply.head.size), 0);
		if (reply.head.type == GP_WIRE_STATUS)
			assert_int_equal(reply.status.pid, getpid());
		else
			assert_true(reply.head.result < 0);
	}
}

static void control_rights(void **state)
{
	union gp_wire_msg msg, reply;

	gp_wire_init(&msg, GP_WIRE_SET_CLASS);
	msg.set_class.cls = 1;
	handle(&msg, msg.head.size, false, &reply);
	assert_int_equal(reply.head.result, -EPERM);
	/* The right is there, but this process has no device. */
	handle(&msg, msg.head.size, true, &reply);
	assert_int_equal(reply.head.result, -ENODEV);
	msg.set_class.cls = 9;
	handle(&msg, msg.head.size, true, &reply);
	assert_int_equal(reply.head.result, -EINVAL);
	gp_wire_init(&msg, GP_WIRE_HINT);
	msg.hint.in_ns = 10000000001u;
	handle(&msg, msg.head.size, true, &reply);
	assert_int_equal(reply.head.result, -EINVAL);
	gp_wire_init(&msg, GP_WIRE_QUERY);
	handle(&msg, msg.head.size, false, &reply);
	assert_int_equal(reply.head.type, GP_WIRE_STATUS);
	assert_int_equal(reply.status.pid, getpid());
}

int main(void)
{
	const struct CMUnitTest wire[] = {
		cmocka_unit_test(check_sizes),
		cmocka_unit_test(check_fields),
		cmocka_unit_test(one_tenant),
		cmocka_unit_test(wrong_owner),
		cmocka_unit_test(no_files_to_tenants),
		cmocka_unit_test(call_replies),
		cmocka_unit_test(daemon_replies),
		cmocka_unit_test(answers_with_a_file),
		cmocka_unit_test(not_calls),
		cmocka_unit_test(next_messages),
		cmocka_unit_test(garbage),
		cmocka_unit_test(control_rights),
	};

	return gp_run_tests(wire);
}
