// SPDX-License-Identifier: Apache-2.0
/* Readers of a trace: fast, too slow, and mute ones. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/device/trace.h"
#include "tests/common/gp_test.h"

#define ROUND_MS 1000

struct rig {
	struct gp_loop *loop;
	struct gp_trace *trace;
};

static int setup(void **state)
{
	static struct rig rig;

	*state = &rig;
	return gp_loop_create(&rig.loop) || gp_trace_create(rig.loop, &rig.trace);
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	gp_trace_destroy(rig->trace);
	gp_loop_destroy(rig->loop);
	return 0;
}

/* The reader's end of a connection that receives the trace. */
static int connect_reader(struct rig *rig)
{
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(gp_trace_reader(rig->trace, fd[1], 0), 0);
	return fd[0];
}

static void add(struct rig *rig, uint64_t number)
{
	const struct gp_wire_trace_record record = {
		.time_ns = number,
		.kind = GP_WIRE_TRACE_RESIDENT,
		.pid = 7,
	};

	gp_trace_add(rig->trace, &record);
}

/* One message; its length, or negative errno. */
static ssize_t receive(int fd, union gp_wire_msg *msg)
{
	ssize_t n = gp_wire_recv(fd, msg, NULL, NULL);

	if (n > 0) {
		assert_int_equal(gp_wire_check(msg, (size_t)n), 0);
		assert_int_equal(msg->head.type, GP_WIRE_TRACED);
	}
	return n;
}

static void few_come_soon(void **state)
{
	struct rig *rig = *state;
	union gp_wire_msg msg;
	int fd = connect_reader(rig);

	add(rig, 1);
	add(rig, 2);
	assert_int_equal(receive(fd, &msg), -EAGAIN);
	assert_int_equal(gp_loop_once(rig->loop, ROUND_MS), 0);
	assert_true(receive(fd, &msg) > 0);
	assert_int_equal(msg.traced.count, 2);
	assert_int_equal(msg.traced.lost, 0);
	assert_int_equal(msg.traced.record[1].time_ns, 2);
	assert_int_equal(msg.traced.record[1].pid, 7);
	/* And again: the tick is armed a second time. */
	add(rig, 3);
	assert_int_equal(gp_loop_once(rig->loop, ROUND_MS), 0);
	assert_true(receive(fd, &msg) > 0);
	assert_int_equal(msg.traced.record[0].time_ns, 3);
	close(fd);
}

static void many_come_at_once(void **state)
{
	struct rig *rig = *state;
	union gp_wire_msg msg;
	int a = connect_reader(rig), b = connect_reader(rig);

	for (uint64_t i = 0; i < GP_WIRE_TRACE_RECORDS; i++)
		add(rig, i);
	assert_true(receive(a, &msg) > 0);
	assert_int_equal(msg.traced.count, GP_WIRE_TRACE_RECORDS);
	assert_true(receive(b, &msg) > 0);
	assert_int_equal(msg.traced.count, GP_WIRE_TRACE_RECORDS);
	close(a);
	close(b);
}

static void nothing_from_before(void **state)
{
	struct rig *rig = *state;
	union gp_wire_msg msg;
	int a, b;

	add(rig, 1);
	a = connect_reader(rig);
	add(rig, 2);
	b = connect_reader(rig);
	add(rig, 3);
	assert_int_equal(gp_loop_once(rig->loop, ROUND_MS), 0);
	assert_true(receive(a, &msg) > 0);
	assert_int_equal(msg.traced.record[0].time_ns, 2);
	assert_true(receive(b, &msg) > 0);
	assert_int_equal(msg.traced.record[0].time_ns, 3);
	assert_int_equal(msg.traced.count, 1);
	close(a);
	close(b);
}

static void wanted_as_long_as_read(void **state)
{
	struct rig *rig = *state;
	int a, b;

	assert_false(gp_trace_wanted(rig->trace));
	a = connect_reader(rig);
	b = connect_reader(rig);
	close(a);
	assert_int_equal(gp_loop_once(rig->loop, ROUND_MS), 0);
	assert_true(gp_trace_wanted(rig->trace));
	/* A reader cannot send. */
	assert_int_equal(send(b, "?", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(gp_loop_once(rig->loop, ROUND_MS), 0);
	assert_true(gp_trace_wanted(rig->trace));
	close(b);
	assert_int_equal(gp_loop_once(rig->loop, ROUND_MS), 0);
	assert_false(gp_trace_wanted(rig->trace));
}

/*
 * Others do not wait for a slow reader and lose nothing, and each record is either read or
 * counted.
 */
static void a_slow_reader_is_told(void **state)
{
	const uint64_t records = 400 * GP_WIRE_TRACE_RECORDS;
	struct rig *rig = *state;
	union gp_wire_msg msg;
	int slow = connect_reader(rig), quick = connect_reader(rig);
	uint64_t of_slow = 0, of_quick = 0, lost = 0;

	for (uint64_t i = 0; i < records; i++) {
		add(rig, i);
		while (receive(quick, &msg) > 0) {
			of_quick += msg.traced.count;
			assert_int_equal(msg.traced.lost, 0);
		}
	}
	assert_int_equal(of_quick, records);
	for (ssize_t n = 1; n > 0;) {
		while ((n = receive(slow, &msg)) > 0) {
			of_slow += msg.traced.count;
			lost += msg.traced.lost;
		}
		/* No record comes any more: the loop sees that there is room. */
		assert_int_equal(gp_loop_once(rig->loop, 100), 0);
		n = receive(slow, &msg);
		if (n > 0) {
			of_slow += msg.traced.count;
			lost += msg.traced.lost;
		}
	}
	assert_true(lost > 0);
	assert_int_equal(of_slow + lost, records);
	/* It gets one message, and the loop has nothing more to do. */
	assert_int_equal(gp_loop_once(rig->loop, 0), 0);
	assert_int_equal(receive(slow, &msg), -EAGAIN);
	/* It may go on. */
	for (uint64_t i = 0; i < GP_WIRE_TRACE_RECORDS; i++)
		add(rig, i);
	assert_true(receive(slow, &msg) > 0);
	assert_int_equal(msg.traced.lost, 0);
	close(slow);
	close(quick);
}

static void no_more_than_there_is_room(void **state)
{
	struct rig *rig = *state;
	int fd[64], pair[2], n = 0, err = 0;

	while (!err && n < 64) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		err = gp_trace_reader(rig->trace, pair[1], 1);
		fd[n++] = pair[0];
	}
	assert_int_equal(err, -EUSERS);
	/* Still the caller's. */
	assert_int_equal(close(pair[1]), 0);
	while (n--)
		close(fd[n]);
}

static bool has_ended(int fd)
{
	union gp_wire_msg msg;

	return receive(fd, &msg) == 0;
}

/* The peer's end; -1: refused. */
static int reader_of(struct rig *rig, uid_t uid)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	if (gp_trace_full(rig->trace, uid)) {
		assert_int_equal(gp_trace_reader(rig->trace, pair[1], uid), -EUSERS);
		close(pair[0]);
		close(pair[1]);
		return -1;
	}
	assert_int_equal(gp_trace_reader(rig->trace, pair[1], uid), 0);
	return pair[0];
}

/* One user cannot keep others out; and root always finds a place. */
static void users_share_the_places(void **state)
{
	struct rig *rig = *state;
	int fd[16], n = 0, other, root;

	while ((fd[n] = reader_of(rig, 7)) >= 0)
		n++;
	assert_true(n > 4);
	other = reader_of(rig, 8);
	assert_true(other >= 0);
	assert_true(has_ended(fd[0]));
	assert_false(has_ended(fd[1]));
	/* Each of the others takes one, until all users have one. */
	for (uid_t uid = 9; uid < 7 + (uid_t)n; uid++)
		close(reader_of(rig, uid));
	assert_false(has_ended(other));
	assert_false(has_ended(fd[n - 1]));
	for (int i = 0; i < n - 1; i++)
		assert_true(has_ended(fd[i]));
	assert_int_equal(reader_of(rig, 100), -1);
	root = reader_of(rig, 0);
	assert_true(root >= 0);
	for (int i = 0; i < n; i++)
		close(fd[i]);
	close(other);
	close(root);
}

static void what_is_left_is_sent(void **state)
{
	struct rig rig;
	union gp_wire_msg msg;
	int fd;

	assert_int_equal(gp_loop_create(&rig.loop), 0);
	assert_int_equal(gp_trace_create(rig.loop, &rig.trace), 0);
	fd = connect_reader(&rig);
	add(&rig, 1);
	gp_trace_destroy(rig.trace);
	assert_true(receive(fd, &msg) > 0);
	assert_int_equal(receive(fd, &msg), 0);
	close(fd);
	gp_loop_destroy(rig.loop);
	gp_trace_destroy(NULL);
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIGGED(few_come_soon),		RIGGED(many_come_at_once),
		RIGGED(nothing_from_before),	RIGGED(wanted_as_long_as_read),
		RIGGED(a_slow_reader_is_told),	RIGGED(no_more_than_there_is_room),
		RIGGED(users_share_the_places), cmocka_unit_test(what_is_left_is_sent),
	};

	return gp_run_tests(tests);
}
