/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - libmicrohttpd in the loop, for peers that may be hostile. A connection carries one
 * request and ends after two seconds at most. When all places are taken, a new connection
 * replaces the oldest one of the client that has the most. A client is a user on a unix
 * socket, or an address.
 */
#ifndef GP_DAEMON_HTTP_H
#define GP_DAEMON_HTTP_H

#include <microhttpd.h>

#include "daemon/loop/loop.h"

struct gp_http;

/**
 * gp_http_create() - serve connections of @listen_fd.
 * @listen_fd: non-blocking; the server's from here on, and closed on failure
 * @answer: as in MHD_start_daemon(); each response needs "Connection: close"
 * Return: 0 or negative errno.
 */
int gp_http_create(struct gp_loop *loop, int listen_fd, MHD_AccessHandlerCallback answer, void *arg,
		   struct gp_http **http);
/** NULL is legal. */
void gp_http_destroy(struct gp_http *http);

#endif
