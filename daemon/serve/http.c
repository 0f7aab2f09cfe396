// SPDX-License-Identifier: Apache-2.0
/*
 * http.c - libmicrohttpd without threads and without its listener: its epoll file is a source
 * of our loop, and our own listener hands it connections. Its own limits are too weak. Its
 * timeout restarts with each byte, and at its limit of connections it stops to listen until
 * its next call, which nothing causes.
 */
#include "daemon/serve/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/loop/times.h"

#define PLACES 32u
#define SPARE_PLACES 8u /* connections that were shut down, and are not closed yet */
#define CONNECTION_BYTES 8192u
#define CONNECTION_NS 2000000000u
/* A flood of connections gets this part of the loop: some 5 % of a core. */
#define WINDOW_NS 20000000u
#define WINDOW_CONNECTIONS 16u

/*
 * A user (unix socket), or an address.
 */
struct client {
	sa_family_t family;
	uint8_t id[16];
};

/**
 * struct place - one connection.
 * @fd: libmicrohttpd's; -1: the place is free
 * @until_ns: when it is shut down; 0: it was
 */
struct place {
	int fd;
	uint64_t until_ns;
	struct client client;
};

/**
 * struct gp_http
 * @adding: the place of the connection that libmicrohttpd is about to get
 * @window_ns, @window_count: start of the present window, and its connections
 * @paused: the listener is not watched until the window ends
 */
struct gp_http {
	struct gp_source source; /* first: see http_ready() */
	struct gp_source listener;
	struct gp_tick tick;
	struct MHD_Daemon *mhd;
	struct place place[PLACES + SPARE_PLACES];
	struct place *adding;
	uint64_t window_ns;
	uint32_t window_count;
	bool paused;
};

/* ---- connections -------------------------------------------------------------------- */

static void shut_down(struct place *p)
{
	shutdown(p->fd, SHUT_RDWR);
	p->until_ns = 0;
}

static bool is_open(const struct place *p)
{
	return p->fd >= 0 && p->until_ns;
}

static bool same_client(const struct client *a, const struct client *b)
{
	return a->family == b->family && !memcmp(a->id, b->id, sizeof(a->id));
}

static uint32_t places_of(const struct gp_http *h, const struct client *client)
{
	uint32_t n = 0;

	for (size_t i = 0; i < PLACES + SPARE_PLACES; i++)
		n += is_open(&h->place[i]) && same_client(&h->place[i].client, client);
	return n;
}

/* The oldest connection of the client that has the most; NULL: there is none. */
static struct place *to_replace(struct gp_http *h)
{
	struct place *found = NULL;
	uint32_t most = 0;

	for (size_t i = 0; i < PLACES + SPARE_PLACES; i++) {
		struct place *p = &h->place[i];
		uint32_t n = is_open(p) ? places_of(h, &p->client) : 0;

		if (n > most || (n && n == most && p->until_ns < found->until_ns)) {
			most = n;
			found = p;
		}
	}
	return found;
}

static uint32_t open_places(const struct gp_http *h)
{
	uint32_t n = 0;

	for (size_t i = 0; i < PLACES + SPARE_PLACES; i++)
		n += is_open(&h->place[i]);
	return n;
}

static struct place *free_place(struct gp_http *h)
{
	for (size_t i = 0; i < PLACES + SPARE_PLACES; i++)
		if (h->place[i].fd < 0)
			return &h->place[i];
	return NULL;
}

static void identify(int fd, const struct sockaddr_storage *addr, struct client *client)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	*client = (struct client){ .family = addr->ss_family };
	if (addr->ss_family == AF_INET)
		memcpy(client->id, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, 4);
	else if (addr->ss_family == AF_INET6)
		memcpy(client->id, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr,
		       16);
	else if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		memcpy(client->id, &peer.uid, sizeof(peer.uid));
}

/* From libmicrohttpd: a connection begins, or has ended and is about to be closed. */
static void changed(void *arg, struct MHD_Connection *connection, void **context,
		    enum MHD_ConnectionNotificationCode code)
{
	struct gp_http *h = arg;
	struct place *p = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*context = h->adding;
	else if (p)
		p->fd = -1;
}

/* Libmicrohttpd owns @fd from here on, or it is closed. */
static void take_connection(struct gp_http *h, int fd, const struct sockaddr_storage *addr,
			    socklen_t len)
{
	struct place *p = free_place(h);

	if (!p) {
		close(fd);
		return;
	}
	p->fd = fd;
	p->until_ns = gp_loop_now_ns() + CONNECTION_NS;
	identify(fd, addr, &p->client);
	h->adding = p;
	if (MHD_add_connection(h->mhd, fd, (const struct sockaddr *)addr, len) != MHD_YES)
		p->fd = -1;
	h->adding = NULL;
}

/* ---- when next --------------------------------------------------------------------- */

static void pause_listener(struct gp_http *h, bool pause)
{
	if (pause != h->paused && !gp_loop_change(&h->listener, pause ? 0u : (uint32_t)EPOLLIN))
		h->paused = pause;
}

static void plan(struct gp_http *h, uint64_t now_ns)
{
	uint64_t at_ns = h->paused ? h->window_ns + WINDOW_NS : 0;
	MHD_UNSIGNED_LONG_LONG ms;

	for (size_t i = 0; i < PLACES + SPARE_PLACES; i++)
		if (is_open(&h->place[i]))
			at_ns = gp_sooner(at_ns, h->place[i].until_ns);
	if (MHD_get_timeout(h->mhd, &ms) == MHD_YES)
		at_ns = gp_sooner(at_ns, now_ns + (uint64_t)ms * 1000000u + 1u);
	gp_tick_at(&h->tick, at_ns);
}

/* All that is due. */
static void serve(struct gp_http *h)
{
	uint64_t now_ns = gp_loop_now_ns();

	for (size_t i = 0; i < PLACES + SPARE_PLACES; i++)
		if (is_open(&h->place[i]) && h->place[i].until_ns <= now_ns)
			shut_down(&h->place[i]);
	MHD_run(h->mhd);
	if (now_ns >= h->window_ns + WINDOW_NS) {
		h->window_count = 0;
		pause_listener(h, false);
	}
	plan(h, now_ns);
}

static void http_ready(struct gp_source *source, uint32_t events)
{
	_Static_assert(offsetof(struct gp_http, source) == 0, "cast");
	serve((struct gp_http *)(void *)source);
}

static void http_due(struct gp_tick *tick)
{
	serve(gp_holder(tick, struct gp_http, tick));
}

/* Out of files or memory: the listener stays ready, so it rests until the window ends. */
static void accept_failed(struct gp_http *h, int err)
{
	struct place *p = to_replace(h);

	if (err == EAGAIN || err == EINTR || err == ECONNABORTED)
		return;
	if (p)
		shut_down(p);
	pause_listener(h, true);
}

static void accept_ready(struct gp_source *source, uint32_t events)
{
	struct gp_http *h = gp_holder(source, struct gp_http, listener);
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);
	uint64_t now_ns = gp_loop_now_ns();
	struct place *oldest;
	int fd;

	if (!h->window_count)
		h->window_ns = now_ns;
	fd = accept4(source->fd, (struct sockaddr *)&addr, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		accept_failed(h, errno);
	} else {
		oldest = open_places(h) >= PLACES ? to_replace(h) : NULL;
		if (oldest)
			shut_down(oldest);
		take_connection(h, fd, &addr, len);
	}
	if (++h->window_count >= WINDOW_CONNECTIONS)
		pause_listener(h, true);
	serve(h);
}

/* ---- start and end ----------------------------------------------------------------- */

static int watch(struct gp_http *h, struct gp_loop *loop)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	int err;

	h->source = (struct gp_source){ .fd = info ? info->epoll_fd : -1, .ready = http_ready };
	h->tick.due = http_due;
	err = gp_loop_add(loop, &h->source, EPOLLIN);
	if (!err)
		err = gp_tick_add(loop, &h->tick);
	if (!err)
		err = gp_loop_add(loop, &h->listener, EPOLLIN);
	return err;
}

int gp_http_create(struct gp_loop *loop, int listen_fd, MHD_AccessHandlerCallback answer, void *arg,
		   struct gp_http **http)
{
	struct gp_http *h = calloc(1, sizeof(*h));
	int err;

	if (!h) {
		close(listen_fd);
		return -ENOMEM;
	}
	h->listener = (struct gp_source){ .fd = listen_fd, .ready = accept_ready };
	for (size_t i = 0; i < PLACES + SPARE_PLACES; i++)
		h->place[i].fd = -1;
	h->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, answer,
				  arg, MHD_OPTION_CONNECTION_LIMIT, PLACES + SPARE_PLACES,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
				  MHD_OPTION_NOTIFY_CONNECTION, changed, h, MHD_OPTION_END);
	err = h->mhd ? watch(h, loop) : -EIO;
	if (err) {
		gp_http_destroy(h);
		return err;
	}
	*http = h;
	return 0;
}

void gp_http_destroy(struct gp_http *http)
{
	if (!http)
		return;
	gp_loop_remove(&http->listener);
	gp_tick_remove(&http->tick);
	gp_loop_remove(&http->source);
	if (http->mhd)
		MHD_stop_daemon(http->mhd);
	close(http->listener.fd);
	free(http);
}
