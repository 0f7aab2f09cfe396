// SPDX-License-Identifier: Apache-2.0
#include "daemon/device/clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/discover/proc.h"
#include "daemon/loop/log.h"

struct gp_clients {
	uint64_t conn;
	size_t count;
	struct {
		pid_t pid;
		char comm[GP_WIRE_COMM_LEN];
	} client[GP_WIRE_POOL_MAX];
};

/* A report names any process; that of another user must not be shown as this user's work. */
static void add(struct gp_dtenant *t, pid_t pid)
{
	struct gp_clients *c = t->clients;
	struct gp_subject who = { 0 };

	if (!gp_proc_read(pid, &who) && who.uid == t->who.uid) {
		c->client[c->count].pid = pid;
		snprintf(c->client[c->count].comm, GP_WIRE_COMM_LEN, "%.*s", GP_WIRE_COMM_LEN - 1,
			 who.comm);
		c->count++;
	}
	gp_proc_clear(&who);
}

int gp_clients_set(struct gp_dtenant *t, uint64_t conn, const struct gp_wire_pool *msg)
{
	gp_clients_free(t);
	t->clients = calloc(1, sizeof(*t->clients));
	if (!t->clients) {
		gp_log_shortage(-ENOMEM, "cannot list the clients of a pool");
		return -ENOMEM;
	}
	t->clients->conn = conn;
	for (uint32_t i = 0; i < msg->count; i++)
		add(t, msg->client[i]);
	return 0;
}

void gp_clients_forget(struct gp_dtenant *t, uint64_t conn)
{
	if (t->clients && t->clients->conn == conn)
		gp_clients_free(t);
}

void gp_clients_free(struct gp_dtenant *t)
{
	free(t->clients);
	t->clients = NULL;
}

size_t gp_clients_count(const struct gp_dtenant *t)
{
	return t->clients ? t->clients->count : 0;
}

bool gp_clients_have(const struct gp_dtenant *t, pid_t pid)
{
	for (size_t i = 0; i < gp_clients_count(t); i++)
		if (t->clients->client[i].pid == pid)
			return true;
	return false;
}

bool gp_clients_show(const struct gp_dtenant *t, size_t i, const struct gp_wire_tenant *row,
		     struct gp_wire_tenant *out)
{
	if (gp_dtenant_of_pid(t->dev, t->clients->client[i].pid))
		return false;
	*out = *row;
	out->pid = t->clients->client[i].pid;
	out->origin = GP_WIRE_BY_POOL;
	out->groups = 0;
	/* Only the server's use is known. */
	out->usage = GP_WIRE_USAGE_NONE;
	out->used_ns = out->resident_ns = out->turns = out->preempted = GP_WIRE_UNKNOWN;
	out->wait_p50_ns = out->wait_p99_ns = GP_WIRE_UNKNOWN;
	out->switch_p50_ns = out->switch_p99_ns = GP_WIRE_UNKNOWN;
	out->corrected = 0;
	memset(out->comm, 0, sizeof(out->comm));
	memcpy(out->comm, t->clients->client[i].comm, sizeof(out->comm));
	snprintf(out->why, sizeof(out->why), "client of the MPS server %d", (int)t->who.pid);
	return true;
}
