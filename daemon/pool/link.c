// SPDX-License-Identifier: Apache-2.0
#include "daemon/pool/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/log.h"

#define ANSWER_MS 5000
#define LOOKS 5 /* a client's work begins some time after the client */

extern char **environ;

/* ---- the daemon ------------------------------------------------------------------ */

/* It ends by itself, at once if there is another. Its parent is this process, which reaps it. */
static void start_daemon(const struct gp_pool_link *l)
{
	static char idle[] = "--idle-exit=10s", demand[] = "--on-demand";
	char *const argv[] = { (char *)l->program, demand, idle, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	pid_t pid;

	if (posix_spawn_file_actions_init(&files))
		return;
	if (posix_spawnattr_init(&attr)) {
		posix_spawn_file_actions_destroy(&files);
		return;
	}
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETSID);
	if (!posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1) &&
	    posix_spawn(&pid, l->program, &files, &attr, argv, environ))
		gp_log(GP_LOG_WARN, "cannot start gpreemptd: %s: %s", l->program, strerror(errno));
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
}

/* The other end is closed, or has sent something unasked. */
static bool is_over(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

static void drop(struct gp_pool_link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	l->looks = LOOKS;
}

static bool connected(struct gp_pool_link *l)
{
	const char *named = getenv("GPREEMPT_DAEMON");

	if (l->fd >= 0 && is_over(l->fd))
		drop(l);
	if (l->fd < 0)
		l->fd = gp_wire_daemon_connect();
	if (l->fd == -ENOENT && (!named || !*named))
		start_daemon(l);
	if (l->fd >= 0)
		return true;
	l->fd = -1;
	return false;
}

/* ---- the server ------------------------------------------------------------------ */

/* Each answer of @type to @request, until the last one. 0 or negative errno. */
static int list(int fd, enum gp_wire_type request, enum gp_wire_type type,
		void (*row)(void *arg, const union gp_wire_msg *msg), void *arg)
{
	union gp_wire_msg msg;
	int err;

	gp_wire_init(&msg, request);
	err = gp_wire_send(fd, &msg, NULL, 0);
	while (!err) {
		err = gp_wire_next(fd, &msg, ANSWER_MS);
		if (err || msg.head.type != type)
			break;
		row(arg, &msg);
	}
	if (!err)
		err = msg.head.type == GP_WIRE_RESULT ? msg.head.result : -EPROTO;
	return err;
}

struct devices {
	pid_t server;
	size_t count;
	uint8_t uuid[GP_WIRE_MAX_DEVICES][16];
	bool has[GP_WIRE_MAX_DEVICES]; /* the server is a tenant there */
};

static void add_device(void *arg, const union gp_wire_msg *msg)
{
	struct devices *d = arg;

	if (d->count < GP_WIRE_MAX_DEVICES)
		memcpy(d->uuid[d->count++], msg->device.uuid, 16);
}

static void add_tenant(void *arg, const union gp_wire_msg *msg)
{
	struct devices *d = arg;

	for (size_t i = 0; i < d->count; i++)
		if (msg->tenant.pid == d->server && !memcmp(msg->tenant.uuid, d->uuid[i], 16))
			d->has[i] = true;
}

static void log_refusal(struct gp_pool_link *l, const char *text)
{
	if (!strcmp(l->said, text))
		return;
	snprintf(l->said, sizeof(l->said), "%s", text);
	gp_log(GP_LOG_WARN, "gpreemptd refused the class of MPS server %d: %s", (int)l->server,
	       text);
}

/* The class on a device where it has none yet. Negative errno: of the connection. */
static int give_class(struct gp_pool_link *l, const uint8_t uuid[16], bool *has)
{
	union gp_wire_msg msg;
	int err;

	gp_wire_init(&msg, GP_WIRE_TAKE);
	msg.take.pid = (int32_t)l->server;
	memcpy(msg.take.uuid, uuid, 16);
	gp_class_request_to_wire(&l->request, &msg.take.request);
	err = gp_wire_send(l->fd, &msg, NULL, 0);
	if (!err)
		err = gp_wire_next(l->fd, &msg, ANSWER_MS);
	if (err || (msg.head.type != GP_WIRE_SAID && msg.head.type != GP_WIRE_RESULT))
		return err ? err : -EPROTO;
	*has = !msg.head.result;
	/* Without work there, or ended: the next look knows more. */
	if (msg.head.type == GP_WIRE_SAID && msg.head.result && msg.head.result != -ENXIO &&
	    msg.head.result != -ESRCH && msg.head.result != -EAGAIN)
		log_refusal(l, msg.said.text);
	return 0;
}

/* On all devices. @any: it is a tenant on one. */
static int give_classes(struct gp_pool_link *l, bool *any)
{
	struct devices d = { .server = l->server };
	int err = list(l->fd, GP_WIRE_DEVICES, GP_WIRE_DEVICE, add_device, &d);

	if (!err)
		err = list(l->fd, GP_WIRE_LIST, GP_WIRE_TENANT, add_tenant, &d);
	*any = false;
	for (size_t i = 0; !err && i < d.count; i++) {
		if (!d.has[i])
			err = give_class(l, d.uuid[i], &d.has[i]);
		*any |= d.has[i];
	}
	return err;
}

static int report_clients(struct gp_pool_link *l)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_POOL);
	msg.pool.pid = (int32_t)l->server;
	msg.pool.count = l->count;
	for (uint32_t i = 0; i < l->count; i++)
		msg.pool.client[i] = (int32_t)l->client[i];
	return gp_wire_call(l->fd, &msg, ANSWER_MS);
}

static bool is_news(const struct gp_pool_link *l, pid_t server, const pid_t *client, size_t count)
{
	return server != l->server || count != l->count ||
	       memcmp(client, l->client, count * sizeof(*client)) != 0;
}

bool gp_pool_link_report(struct gp_pool_link *l, pid_t server, const pid_t *client, size_t count)
{
	const bool news = is_news(l, server, client, count);
	bool any = false;
	int err;

	if (news) {
		l->server = server;
		l->count = (uint32_t)count;
		memcpy(l->client, client, count * sizeof(*client));
		l->looks = LOOKS;
	}
	/* The daemon remains while the pool does. */
	if (!connected(l) || !server || !l->looks)
		return news;
	err = give_classes(l, &any);
	if (!err && any) {
		l->looks--;
		err = report_clients(l);
	}
	if (err && err != -ESRCH)
		drop(l);
	return news;
}

void gp_pool_link_close(struct gp_pool_link *l)
{
	drop(l);
}
