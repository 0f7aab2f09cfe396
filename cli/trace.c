// SPDX-License-Identifier: Apache-2.0
/*
 * trace.c - gpreempt trace: writes the hardware's activity and gpreemptd's decisions to a
 * file, until Ctrl-C, for some time, or while CMD runs.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/trace_json.h"

#define WAKE_MS 50
/* Records of events before the end arrive after it: NVIDIA's log by 33 ms. */
#define LINGER_NS 150000000ull

struct trace {
	const char *path;
	uint64_t for_ns; /* 0: no limit */
	struct gp_cmd_args cmd;

	FILE *out;
	int fd; /* the daemon's */
	struct gp_view view;
	struct gp_trace_json *json;
	struct gp_child child;
	int err; /* of the daemon; 0: connected */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- the daemon --------------------------------------------------------------------- */

/* 0, or the negative errno of a message that is no record. */
static int take(struct trace *t, const union gp_wire_msg *msg)
{
	const struct gp_wire_traced *traced = &msg->traced;

	if (msg->head.type == GP_WIRE_SAID || msg->head.type == GP_WIRE_RESULT)
		return msg->head.result ? msg->head.result : -EPROTO;
	if (msg->head.type != GP_WIRE_TRACED || traced->count > GP_WIRE_TRACE_RECORDS)
		return -EPROTO;
	gp_trace_json_lost(t->json, traced->lost);
	for (uint32_t i = 0; i < traced->count; i++)
		gp_trace_json_add(t->json, &traced->record[i], now_ns());
	return 0;
}

static void receive(struct trace *t)
{
	union gp_wire_msg msg;
	ssize_t n;

	while (!t->err && (n = gp_wire_recv(t->fd, &msg, NULL, NULL)) != -EAGAIN) {
		if (n <= 0)
			t->err = n ? (int)n : -ECONNRESET;
		else if (gp_wire_check(&msg, (size_t)n))
			t->err = -EPROTO;
		else
			t->err = take(t, &msg);
	}
}

/* Requests the stream first, so that nothing is lost during the other requests. */
static int ask(struct trace *t)
{
	GP_CLOSE int fd = -1;
	union gp_wire_msg msg;
	int err;

	t->fd = gp_wire_daemon_connect();
	if (t->fd < 0)
		return t->fd;
	gp_wire_init(&msg, GP_WIRE_TRACE);
	err = gp_wire_send(t->fd, &msg, NULL, 0);
	/* After a refusal, the next request returns the reason. */
	if (err && err != -EPIPE)
		return err;
	fd = gp_wire_daemon_connect();
	return fd < 0 ? fd : gp_view_read(fd, &t->view);
}

/* ---- while it runs --------------------------------------------------------------------- */

static int wake_ms(uint64_t until_ns)
{
	uint64_t now = now_ns();

	if (now >= until_ns)
		return 0;
	return until_ns - now < WAKE_MS * 1000000ull ? (int)((until_ns - now) / 1000000) + 1 :
						       WAKE_MS;
}

/* Until @until_ns; with @ends also until a signal, or the end of CMD or the daemon. */
static void watch_until(struct trace *t, uint64_t until_ns, bool ends)
{
	struct pollfd pfd[] = {
		{ .fd = t->err ? -1 : t->fd, .events = POLLIN },
		{ .fd = ends ? t->child.signal_fd : -1, .events = POLLIN },
		{ .fd = ends ? t->child.pidfd : -1, .events = POLLIN },
	};

	while (now_ns() < until_ns) {
		poll(pfd, 3, wake_ms(until_ns));
		receive(t);
		gp_trace_json_write(t->json, now_ns());
		if (t->err)
			pfd[0].fd = -1;
		if (pfd[1].revents && gp_child_forward(&t->child) && !t->cmd.argv)
			return;
		/* Wait for CMD even without the daemon. */
		if (pfd[2].revents || (t->err && (!ends || !t->cmd.argv)))
			return;
	}
}

/* CMD may outlive the requested time. */
static int wait_cmd(struct trace *t)
{
	struct pollfd pfd[] = {
		{ .fd = t->child.signal_fd, .events = POLLIN },
		{ .fd = t->child.pidfd, .events = POLLIN },
	};

	while (!pfd[1].revents) {
		poll(pfd, 2, -1);
		if (pfd[0].revents)
			gp_child_forward(&t->child);
	}
	return gp_child_exit_status(gp_child_wait(&t->child));
}

static int finish(struct trace *t)
{
	struct gp_trace_json_stat stat;
	int status = 0;

	gp_trace_json_close(t->json, &stat);
	t->json = NULL;
	if (t->err) {
		status = gp_fail_daemon("trace", t->err);
		gp_note("trace: %s is complete up to that time", t->path);
	}
	if (stat.lost || stat.late || stat.crowded)
		gp_note("trace: %llu records lost, %llu too late, %llu left out for lack of room "
			"for tenants",
			(unsigned long long)stat.lost, (unsigned long long)stat.late,
			(unsigned long long)stat.crowded);
	if (fflush(t->out) || ferror(t->out))
		status = gp_fail("trace: cannot write %s", t->path);
	return status;
}

static int record(struct trace *t)
{
	int status, err = gp_trace_json_open(t->out, &t->view, &t->json);

	if (err)
		return gp_fail("trace: out of memory");
	if (t->cmd.argv) {
		err = gp_child_start(&t->child, "trace", t->cmd.argv);
		if (err) {
			finish(t);
			return err;
		}
	}
	watch_until(t, t->for_ns ? now_ns() + t->for_ns : UINT64_MAX, true);
	if (!t->err)
		watch_until(t, now_ns() + LINGER_NS, false);
	status = finish(t);
	return t->cmd.argv ? wait_cmd(t) : status;
}

static int run(struct trace *t)
{
	int err = ask(t);

	if (err)
		return gp_fail_daemon("trace", err);
	t->out = fopen(t->path, "we");
	if (!t->out)
		return gp_fail("trace: cannot create %s: %s; write another -o FILE", t->path,
			       strerror(errno));
	err = gp_child_block_signals(&t->child);
	if (err)
		return gp_fail("trace: cannot catch signals: %s", strerror(-err));
	return record(t);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write to FILE", 0 },
	{ "duration", 'd', "SECONDS", 0, "stop after this time: 2, 0.5, 500ms", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct trace *t = state->input;

	switch (key) {
	case 'o':
		t->path = arg;
		return 0;
	case 'd':
		return gp_args_seconds("trace", "--duration", arg, &t->for_ns);
	case ARGP_KEY_ARG:
		return gp_args_cmd("trace", &t->cmd, key, arg, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int gp_verb_trace(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[-- CMD [ARG...]]",
		.doc = "Write a trace of the hardware's work and gpreemptd's decisions, for each "
		       "device and tenant, until Ctrl-C, for SECONDS, or while CMD runs. "
		       "ui.perfetto.dev and chrome://tracing open it.\vWith CMD, the exit status "
		       "is that of gpreempt stat.",
	};
	static struct trace t = { .fd = -1, .child = GP_CHILD_NONE };
	int err = gp_args(&argp, argc, argv, &t);

	if (err)
		return err;
	if (!t.path)
		return gp_fail("trace: file missing; write gpreempt trace -o FILE");
	err = run(&t);
	if (t.out && fclose(t.out) && !err)
		err = gp_fail("trace: cannot write %s", t.path);
	gp_cleanup_close(&t.fd);
	gp_view_clear(&t.view);
	gp_child_done(&t.child);
	return err;
}
