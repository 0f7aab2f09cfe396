/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_internal.h - shared by daemon.c, enroll.c, view.c. */
#ifndef GP_DAEMON_INTERNAL_H
#define GP_DAEMON_INTERNAL_H

#include "daemon/daemon.h"
#include "daemon/discover/discover.h"
#include "daemon/discover/freezer.h"
#include "daemon/receive/receivers.h"
#include "daemon/serve/metrics.h"
#include "daemon/serve/serve.h"
#include "daemon/device/tenant.h"

struct gp_daemon {
	const struct gp_daemon_setup *setup;
	struct gp_config *config;
	struct gp_journal *journal;
	struct gp_loop *loop;
	struct gp_trace *trace;
	struct gp_receivers *receivers;
	struct gp_serve *serve;
	struct gp_discovery *find;
	struct gp_freezer *freezer; /* NULL: frozen cgroups are not noticed */
	struct gp_metrics *metrics;
	struct gp_loop_worker scanner; /* looks into processes */
	struct gp_scan *scans;	       /* that are not over: see enroll.c */
	struct gp_ddev *dev[GP_HAL_MAX_DEVICES];
	size_t devs;
	struct gp_dgangs gangs;
	struct gp_quota *quotas; /* see quotas.h */
	size_t left_alone;	 /* devices that are none of them: see can_share() */
	struct gp_source signals;
	struct gp_tick check;	     /* every second: see gp_enroll_check() */
	struct gp_tick deadline;     /* of the restore */
	struct gp_tick memory_turns; /* while tenants wait for these */
	uint64_t used_ns;	     /* when it was last seen in use; with idle_ns only */
	uint64_t took_over_ns;	     /* from a dead daemon with tenants; 0: not */
	bool stopping, leaves;	     /* restore all; leave all as it is */
};

/* enroll.c: makes processes tenants, with a class. */
void gp_enroll_hello(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_hello *msg,
		     const int *file, size_t n);
void gp_enroll_files(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_files *msg,
		     const int *file, size_t n);
void gp_enroll_ask(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_ask_class *msg);
void gp_enroll_take(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_take *msg);
/** The clients of a tenant, by its user or root. */
void gp_enroll_pool(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_pool *msg);
/** Which rule is for @conn's process, should it have that class? */
void gp_enroll_rule(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_ask_class *msg);
/** Facts on @conn's process, which must be its user's own. 0; -ESRCH; -EACCES; other errno. */
int gp_enroll_read(const struct gp_conn *conn, struct gp_subject *who);
/** Are there file descriptors for @who? The last ones are for root of the machine. */
bool gp_enroll_has_files(const struct gp_daemon *d, const struct gp_subject *who);
/** Has @conn a scan under way, or its user too many? */
bool gp_enroll_busy(const struct gp_daemon *d, const struct gp_conn *conn);
/** Its connection is closed. */
void gp_enroll_left(struct gp_daemon *d, struct gp_conn *conn);
extern const struct gp_discover_ops gp_enroll_discover_ops;
/**
 * Enroll the process of the journal's record at @place again if it would not connect: it
 * was attached or banned, or its cgroup is frozen. The record stays until then, and while its
 * memory is away. False: not needed.
 */
bool gp_enroll_again(struct gp_daemon *d, const struct gp_journal_record *record, int place);
/** The rules are others now. */
void gp_enroll_rules(struct gp_daemon *d);
/** Once a second: find new groups of discovered and attached tenants. */
void gp_enroll_check(struct gp_daemon *d);

/* view.c: what there is to see. */
void gp_view_list(struct gp_daemon *d, struct gp_conn *conn);
void gp_view_devices(struct gp_daemon *d, struct gp_conn *conn);
void gp_view_why(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_take *msg);
void gp_view_histogram(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_take *msg);
extern const struct gp_view_ops gp_view_metrics_ops;

/* daemon.c */
struct gp_ddev *gp_daemon_device(struct gp_daemon *d, const uint8_t uuid[16]);
/** A tenant of process @pid, on device @uuid, or, that all 0, on its first. NULL: none. */
struct gp_dtenant *gp_daemon_tenant(struct gp_daemon *d, pid_t pid, const uint8_t uuid[16]);

#endif
