// SPDX-License-Identifier: Apache-2.0
#include "preload/hook.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preload/memory.h"
#include "preload/quota.h"
#include "runtime/hook.h"
#include "runtime/log.h"

#define AGAIN_NS 1000000000u /* between calls for its wake that fail */
#define ANSWER_LEN 64

static struct gp_hook hook; /* set before any thread */
static bool is_set;

/* The mover's own. */
static bool sleeps;
static uint64_t freed, tried_ns;

void gp_memory_hook_start(const char *text)
{
	is_set = !gp_hook_parse(text, &hook);
	if (!is_set)
		gp_log(GP_LOG_WARN,
		       "GPREEMPT_MEMORY_HOOK=%s: not SLEEP,WAKE or SLEEP,WAKE,LIMIT; memory moves",
		       text);
}

bool gp_memory_hook_is_awake(void)
{
	return is_set && !sleeps;
}

bool gp_memory_hook_sleeps(void)
{
	return sleeps;
}

/* ---- HTTP ----------------------------------------------------------------------------- */

static int wait_until(int fd, short events, uint64_t until_ns)
{
	struct pollfd p = { .fd = fd, .events = events };
	const uint64_t now_ns = gp_memory_now_ns();
	int n;

	if (now_ns >= until_ns)
		return -ETIMEDOUT;
	n = poll(&p, 1, (int)((until_ns - now_ns) / 1000000 + 1));
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n ? 0 : -ETIMEDOUT;
}

static int connect_to(int fd, uint16_t port, uint64_t until_ns)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(int);
	int err = 0;

	if (!connect(fd, (const struct sockaddr *)&to, sizeof(to)))
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	err = wait_until(fd, POLLOUT, until_ns);
	if (err)
		return err;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? -errno : -err;
}

/* The request is small: a new connection takes it as a whole. */
static int ask(int fd, const struct gp_hook_url *url)
{
	char text[GP_HOOK_URL_LEN + 100];
	const int len = snprintf(text, sizeof(text),
				 "POST %s HTTP/1.0\r\nHost: 127.0.0.1:%u\r\n"
				 "Content-Length: 0\r\n\r\n",
				 url->path, url->port);

	return send(fd, text, (size_t)len, MSG_NOSIGNAL) == len ? 0 : -EIO;
}

/* As much of the answer as has its status. */
static int hear(int fd, uint64_t until_ns)
{
	char text[ANSWER_LEN];
	size_t len = 0;
	int err = -EPROTO;

	while (err == -EPROTO && len < sizeof(text)) {
		ssize_t n;

		err = wait_until(fd, POLLIN, until_ns);
		if (err)
			return err;
		n = recv(fd, text + len, sizeof(text) - len, 0);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!n)
			return -EPROTO;
		len += n > 0 ? (size_t)n : 0;
		err = gp_hook_answer(text, len);
	}
	return err;
}

/* @asked: it has the request, whatever it does with it. */
static int call(const struct gp_hook_url *url, bool *asked)
{
	const uint64_t until_ns = gp_memory_now_ns() + hook.limit_ns;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	*asked = false;
	if (fd < 0)
		return -errno;
	err = connect_to(fd, url->port, until_ns);
	if (!err)
		err = ask(fd, url);
	*asked = !err;
	if (!err)
		err = hear(fd, until_ns);
	close(fd);
	return err;
}

/* ---- sleep and wake ------------------------------------------------------------------------ */

bool gp_memory_hook_sleep(void)
{
	static atomic_int said;
	const uint64_t had = gp_quota_had(gp_memory.device), since_ns = gp_memory_now_ns();
	bool asked;
	const int err = call(&hook.sleep, &asked);
	const uint64_t has = gp_quota_had(gp_memory.device);

	/* If it did not answer, it may have slept. */
	sleeps = asked && err != -EREMOTEIO;
	freed = had > has ? had - has : 0;
	if (err)
		gp_log_once(&said, GP_LOG_WARN, "%s on port %u frees no memory: %s; it moves",
			    hook.sleep.path, hook.sleep.port, strerror(-err));
	else
		gp_log(GP_LOG_INFO, "%s on port %u freed %llu MiB in %.1f ms", hook.sleep.path,
		       hook.sleep.port, (unsigned long long)(freed >> 20),
		       (double)(gp_memory_now_ns() - since_ns) / 1e6);
	tried_ns = 0;
	return !err;
}

static bool has_room(void)
{
	size_t room, total;

	return !gp_memory_cuda.mem_get_info(&room, &total) && room >= freed;
}

void gp_memory_hook_wake(void)
{
	static atomic_int said;
	bool asked;
	int err;

	if (!has_room() || (tried_ns && gp_memory_now_ns() - tried_ns < AGAIN_NS))
		return;
	err = call(&hook.wake, &asked);
	tried_ns = gp_memory_now_ns();
	sleeps = err;
	if (err)
		gp_log_once(&said, GP_LOG_WARN,
			    "%s on port %u does not wake the program: %s; trying again",
			    hook.wake.path, hook.wake.port, strerror(-err));
}
