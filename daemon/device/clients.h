/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients.h - processes that use a device through a tenant's groups: the clients of an MPS
 * server. They have the tenant's class and state, and are for people to see.
 */
#ifndef GP_DAEMON_CLIENTS_H
#define GP_DAEMON_CLIENTS_H

#include "daemon/device/tenant.h"

/**
 * gp_clients_set() - @tenant's clients are those of @msg, as far as they are its user's.
 * @conn: of the process that reports them
 * Return: 0 or -ENOMEM, which leaves none.
 */
int gp_clients_set(struct gp_dtenant *tenant, uint64_t conn, const struct gp_wire_pool *msg);
/** Connection @conn is closed: its reports no longer count. */
void gp_clients_forget(struct gp_dtenant *tenant, uint64_t conn);
void gp_clients_free(struct gp_dtenant *tenant);

size_t gp_clients_count(const struct gp_dtenant *tenant);
bool gp_clients_have(const struct gp_dtenant *tenant, pid_t pid);
/** The row of client @i; @row: the tenant's. False: it has its own, as it is a tenant, too. */
bool gp_clients_show(const struct gp_dtenant *tenant, size_t i, const struct gp_wire_tenant *row,
		     struct gp_wire_tenant *out);

#endif
