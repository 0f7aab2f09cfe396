/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quotas.h - limits of device memory that the processes of a cgroup have together, by rules with
 * as: one and memory. Their layers count in a page (wire/quota.h). The daemon gives each process a
 * place in it, and clears that when the process ends.
 */
#ifndef GP_DAEMON_QUOTAS_H
#define GP_DAEMON_QUOTAS_H

#include "daemon/daemon_internal.h"
#include "wire/quota.h"

struct gp_quota;

/** @conn's process asks for its place. It keeps that place until it ends. */
void gp_quotas_ask(struct gp_daemon *d, struct gp_conn *conn);
/** Fill in the memory of @tenant's cgroup on its device, and its limit, if it has one. */
void gp_quotas_show(const struct gp_daemon *d, const struct gp_dtenant *tenant,
		    struct gp_wire_tenant *out);
/** Of a daemon that ends. */
void gp_quotas_destroy(struct gp_daemon *d);

#endif
