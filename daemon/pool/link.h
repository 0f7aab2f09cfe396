/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - a pool's keeper and gpreemptd: the pool's server gets its class, and gpreemptd knows
 * the server's clients.
 */
#ifndef GP_DAEMON_POOL_LINK_H
#define GP_DAEMON_POOL_LINK_H

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/class.h"
#include "wire/wire.h"

struct gp_pool_link {
	const char *program; /* gpreemptd, which is started if none runs */
	struct gp_class_request request;
	int fd;
	pid_t server;
	uint32_t count;
	pid_t client[GP_WIRE_POOL_MAX];
	unsigned int looks;	     /* for new work of the server's that are still to come */
	char said[GP_WIRE_TEXT_LEN]; /* the last refusal, which is logged once */
};

/** Report @server (0: none) and its clients, again and again. True: they have changed. */
bool gp_pool_link_report(struct gp_pool_link *link, pid_t server, const pid_t *client,
			 size_t count);
void gp_pool_link_close(struct gp_pool_link *link);

#endif
