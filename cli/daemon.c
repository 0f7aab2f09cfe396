// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int wait_for(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int n;

	do {
		n = poll(&pfd, 1, GP_CALL_MS);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

static int send_request(int fd, const union gp_wire_msg *msg)
{
	int err = gp_wire_send(fd, msg, NULL, 0);

	if (err == -EAGAIN) {
		err = wait_for(fd, POLLOUT);
		if (!err)
			err = gp_wire_send(fd, msg, NULL, 0);
	}
	/* It may have sent a reason before it hung up. */
	return err == -EPIPE ? 0 : err;
}

#define END(text) ((text)[sizeof(text) - 1] = '\0')

static void end_texts(union gp_wire_msg *msg)
{
	switch (msg->head.type) {
	case GP_WIRE_SAID:
		END(msg->said.text);
		break;
	case GP_WIRE_TENANT:
		END(msg->tenant.comm);
		END(msg->tenant.device);
		END(msg->tenant.why);
		break;
	case GP_WIRE_DEVICE:
		END(msg->device.name);
		END(msg->device.be_policy);
		END(msg->device.lc_policy);
		break;
	case GP_WIRE_REASON:
		END(msg->reason.comm);
		END(msg->reason.other_comm);
		END(msg->reason.device);
		END(msg->reason.why);
		break;
	}
}

static int receive(int fd, union gp_wire_msg *msg)
{
	ssize_t n;
	int err;

	while ((n = gp_wire_recv(fd, msg, NULL, NULL)) == -EAGAIN) {
		err = wait_for(fd, POLLIN);
		if (err)
			return err;
	}
	/* The kernel reports an error once, before messages sent earlier. */
	if (n == -ECONNRESET)
		n = gp_wire_recv(fd, msg, NULL, NULL);
	if (n < 0)
		return n == -EAGAIN ? -ECONNRESET : (int)n;
	if (!n)
		return -ECONNRESET;
	if (gp_wire_check(msg, (size_t)n) || msg->head.result > 0)
		return -EPROTO;
	end_texts(msg);
	return 0;
}

int gp_daemon_ask(int fd, union gp_wire_msg *msg, enum gp_wire_type type)
{
	int err = send_request(fd, msg);

	if (!err)
		err = receive(fd, msg);
	if (err)
		return err;
	/* Unknown requests, and some refusals, have no text. */
	if (msg->head.type == GP_WIRE_RESULT)
		return msg->head.result ? msg->head.result : -EPROTO;
	return msg->head.type == type || msg->head.type == GP_WIRE_SAID ? 0 : -EPROTO;
}

int gp_daemon_list(int fd, enum gp_wire_type request, enum gp_wire_type type,
		   int (*row)(void *arg, const union gp_wire_msg *msg), void *arg)
{
	union gp_wire_msg msg;
	int err;

	gp_wire_init(&msg, request);
	err = send_request(fd, &msg);
	while (!err) {
		err = receive(fd, &msg);
		if (err)
			break;
		if (msg.head.type == GP_WIRE_RESULT)
			return msg.head.result;
		if (msg.head.type == GP_WIRE_SAID && msg.head.result)
			return msg.head.result;
		err = msg.head.type == type ? row(arg, &msg) : -EPROTO;
	}
	return err;
}

/* None listens where this user looks. */
static const char *none_runs(void)
{
	static char line[256];
	const char *named = getenv("GPREEMPT_DAEMON");

	if (!named || !*named)
		return "no gpreemptd runs; start it for the machine (systemctl start gpreemptd), "
		       "or for your own processes (gpreemptd --foreground)";
	if (!strcmp(named, "none"))
		return "no gpreemptd is used, as GPREEMPT_DAEMON=none; unset it";
	snprintf(line, sizeof(line),
		 "no gpreemptd runs at GPREEMPT_DAEMON=%.128s; correct the path, or unset it",
		 named);
	return line;
}

const char *gp_daemon_reason(int err)
{
	static char other[128];

	switch (-err) {
	case ENOENT:
		return none_runs();
	case EPERM:
		return "refused to use gpreemptd's socket: its listener is neither root nor this "
		       "user; correct GPREEMPT_DAEMON, or set it to none";
	case EACCES:
		return "this user may not open gpreemptd's socket; let its owner set mode 755 on "
		       "the folder, or set GPREEMPT_DAEMON=none";
	case ETIMEDOUT:
	case EAGAIN:
		return "gpreemptd does not answer; see its log";
	case ECONNRESET:
		return "gpreemptd closed the connection; retry, and see its log";
	case EUSERS:
		return "this user has too many connections to gpreemptd; raise limits_per_user: "
		       "connections: in gpreempt.yaml";
	case EPROTO:
		return "gpreemptd uses another protocol version; install the same version of both";
	default:
		snprintf(other, sizeof(other), "cannot query gpreemptd: %s", strerror(-err));
		return other;
	}
}

int gp_fail_daemon(const char *verb, int err)
{
	return gp_fail("%s: %s", verb, gp_daemon_reason(err));
}

void gp_daemon_class(const struct gp_wire_request *request, char *buf, size_t len)
{
	struct gp_class_request r;

	if (gp_class_request_from_wire(request, &r))
		snprintf(buf, len, "?");
	else
		gp_class_request_format(&r, buf, len);
}
