// SPDX-License-Identifier: Apache-2.0
/*
 * view.c - answers queries of connections and of metrics.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon_internal.h"
#include "daemon/device/clients.h"
#include "daemon/quotas.h"

static void show_device(struct gp_ddev *dev, struct gp_wire_device *out)
{
	const struct gp_dtenant *resident = gp_dtenant_of(dev, dev->resident);
	const struct gp_runtime_group *g = NULL;

	memcpy(out->uuid, dev->hal->id.uuid, sizeof(out->uuid));
	snprintf(out->name, sizeof(out->name), "%s", dev->hal->id.name);
	snprintf(out->be_policy, sizeof(out->be_policy), "%s", dev->settings.be_policy->name);
	snprintf(out->lc_policy, sizeof(out->lc_policy), "%s", dev->settings.lc_policy->name);
	out->be_min_pct = dev->settings.be_min_pct;
	for (const struct gp_dtenant *t = dev->tenants; t; t = t->next)
		out->tenants++;
	while ((g = gp_runtime_next_compute(dev->rt, NULL, g)))
		out->groups += g->owner != NULL;
	out->resident_pid = resident ? (int32_t)resident->who.pid : 0;
	out->usage = gp_ddev_usage(dev);
	out->daemon_pid = (int32_t)getpid();
	out->quantum_ns = dev->settings.quantum_ns;
	out->up_ns = gp_ddev_now(dev) - dev->since_ns;
	out->turns = dev->stat.turns;
	out->suspends = dev->stat.suspends;
	out->resumes = dev->stat.resumes;
	out->slices = dev->stat.slices;
	out->preempts = dev->stat.preempts;
	out->failed = dev->stat.failed;
	out->control_ns = dev->stat.control_ns;
	out->log_lost = dev->log ? dev->usage.lost : GP_WIRE_UNKNOWN;
}

void gp_view_devices(struct gp_daemon *d, struct gp_conn *conn)
{
	for (size_t i = 0; i < d->devs; i++) {
		union gp_wire_msg msg;

		gp_wire_init(&msg, GP_WIRE_DEVICE);
		show_device(d->dev[i], &msg.device);
		if (!gp_conn_send(conn, &msg, NULL, 0))
			return;
	}
	gp_conn_result(conn, 0);
}

/* @t, and its clients. False: @conn is gone. */
static bool list_tenant(struct gp_daemon *d, struct gp_dtenant *t, struct gp_conn *conn)
{
	union gp_wire_msg msg, client;
	bool sent;

	gp_wire_init(&msg, GP_WIRE_TENANT);
	gp_dtenant_show(t, &msg.tenant);
	gp_quotas_show(d, t, &msg.tenant);
	sent = gp_conn_send(conn, &msg, NULL, 0);
	for (size_t i = 0; sent && i < gp_clients_count(t); i++) {
		gp_wire_init(&client, GP_WIRE_TENANT);
		if (gp_clients_show(t, i, &msg.tenant, &client.tenant))
			sent = gp_conn_send(conn, &client, NULL, 0);
	}
	return sent;
}

void gp_view_list(struct gp_daemon *d, struct gp_conn *conn)
{
	for (size_t i = 0; i < d->devs; i++)
		for (struct gp_dtenant *t = d->dev[i]->tenants; t; t = t->next)
			if (!list_tenant(d, t, conn))
				return;
	gp_conn_result(conn, 0);
}

/* The tenant through which @pid uses the device @uuid, or, that all 0, any. NULL: none. */
static struct gp_dtenant *server_of(struct gp_daemon *d, pid_t pid, const uint8_t uuid[16])
{
	static const uint8_t any[16];

	for (size_t i = 0; i < d->devs; i++) {
		if (memcmp(uuid, any, sizeof(any)) &&
		    memcmp(uuid, d->dev[i]->hal->id.uuid, sizeof(any)))
			continue;
		for (struct gp_dtenant *t = d->dev[i]->tenants; t; t = t->next)
			if (gp_clients_have(t, pid))
				return t;
	}
	return NULL;
}

static struct gp_dtenant *asked_for(struct gp_daemon *d, struct gp_conn *conn,
				    const struct gp_wire_take *msg)
{
	struct gp_dtenant *t = gp_daemon_tenant(d, msg->pid, msg->uuid);

	if (!t)
		t = server_of(d, msg->pid, msg->uuid);
	if (!t)
		gp_conn_say(
			conn, -ESRCH,
			"it is not under gpreemptd; start it with gpreempt run, or use gpreempt "
			"attach");
	return t;
}

static uint64_t until(uint64_t at_ns, uint64_t now_ns)
{
	return !at_ns ? GP_WIRE_UNKNOWN : at_ns > now_ns ? at_ns - now_ns : 0;
}

/* In place of the core's reason: it has none of its groups. */
static void show_own(uint32_t reason, uint64_t for_ns, struct gp_wire_reason *out)
{
	out->reason = reason;
	out->other_pid = 0;
	memset(out->other_comm, 0, sizeof(out->other_comm));
	out->ahead = 0;
	out->error = 0;
	out->for_ns = for_ns;
	out->until_ns = GP_WIRE_UNKNOWN;
}

static void show_away(const struct gp_dtenant *t, uint64_t now_ns, struct gp_wire_reason *out)
{
	show_own(GP_WIRE_WHY_OUT, now_ns - t->away.since_ns, out);
	out->other_pid = (int32_t)t->away.room_pid;
	memcpy(out->other_comm, t->away.room_comm, sizeof(out->other_comm));
}

void gp_view_why(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_take *msg)
{
	struct gp_dtenant *t = asked_for(d, conn, msg), *other;
	struct gp_sched_why why;
	union gp_wire_msg out;
	uint64_t now_ns;

	if (!t)
		return;
	gp_wire_init(&out, GP_WIRE_REASON);
	now_ns = gp_ddev_now(t->dev);
	gp_sched_why(gp_runtime_core(t->dev->rt), t->id, &why);
	other = t->away.away ? NULL : gp_dtenant_of(t->dev, why.other);
	out.reason.pid = (int32_t)t->who.pid;
	out.reason.reason = why.reason;
	out.reason.other_pid = other ? (int32_t)other->who.pid : 0;
	out.reason.ahead = why.ahead;
	out.reason.error = why.error;
	memcpy(out.reason.uuid, t->dev->hal->id.uuid, sizeof(out.reason.uuid));
	out.reason.for_ns = why.since_ns ? now_ns - why.since_ns : GP_WIRE_UNKNOWN;
	out.reason.until_ns = until(why.until_ns, now_ns);
	gp_class_request_to_wire(&t->request, &out.reason.request);
	snprintf(out.reason.comm, sizeof(out.reason.comm), "%.*s", GP_WIRE_COMM_LEN - 1,
		 t->who.comm);
	if (other)
		snprintf(out.reason.other_comm, sizeof(out.reason.other_comm), "%.*s",
			 GP_WIRE_COMM_LEN - 1, other->who.comm);
	snprintf(out.reason.device, sizeof(out.reason.device), "%s", t->dev->hal->id.name);
	if (t->away.away)
		show_away(t, now_ns, &out.reason);
	if (t->frozen.frozen)
		show_own(GP_WIRE_WHY_FROZEN, now_ns - t->frozen.since_ns, &out.reason);
	if (t->who.pid == msg->pid)
		snprintf(out.reason.why, sizeof(out.reason.why), "%s", t->why);
	else
		snprintf(out.reason.why, sizeof(out.reason.why),
			 "that of its MPS server %d, of which %d is a client", (int)t->who.pid,
			 (int)msg->pid);
	gp_conn_send(conn, &out, NULL, 0);
}

void gp_view_histogram(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_take *msg)
{
	struct gp_dtenant *t = asked_for(d, conn, msg);
	union gp_wire_msg out;

	if (!t)
		return;
	gp_dtenant_samples(t);
	gp_wire_init(&out, GP_WIRE_BUCKETS);
	out.buckets.sum_ns = t->hist[msg->kind].sum_ns;
	memcpy(out.buckets.count, t->hist[msg->kind].count, sizeof(out.buckets.count));
	gp_conn_send(conn, &out, NULL, 0);
}

/* ---- metrics ---------------------------------------------------------------------- */

static size_t metrics_devices(void *arg, struct gp_wire_device *out, size_t max)
{
	struct gp_daemon *d = arg;
	size_t n = d->devs < max ? d->devs : max;

	for (size_t i = 0; i < n; i++) {
		out[i] = (struct gp_wire_device){ 0 };
		show_device(d->dev[i], &out[i]);
	}
	return n;
}

static size_t metrics_tenants(void *arg, struct gp_wire_tenant *out, size_t max)
{
	struct gp_daemon *d = arg;
	size_t n = 0;

	for (size_t i = 0; i < d->devs; i++) {
		for (struct gp_dtenant *t = d->dev[i]->tenants; t && n < max; t = t->next) {
			const size_t row = n;

			out[n] = (struct gp_wire_tenant){ 0 };
			gp_dtenant_show(t, &out[n++]);
			for (size_t c = 0; c < gp_clients_count(t) && n < max; c++)
				n += gp_clients_show(t, c, &out[row], &out[n]);
		}
	}
	return n;
}

static const struct gp_hist *metrics_histogram(void *arg, size_t device,
					       enum gp_wire_histogram kind)
{
	struct gp_daemon *d = arg;

	return device < d->devs && kind < GP_WIRE_HISTS ? &d->dev[device]->hist[kind] : NULL;
}

static uint64_t metrics_used_ns(void *arg, size_t device, uint32_t cls)
{
	struct gp_daemon *d = arg;
	const struct gp_ddev *dev = d->dev[device];

	return gp_ddev_usage(dev) == GP_WIRE_USAGE_NONE ? GP_WIRE_UNKNOWN : dev->used_ns[cls];
}

static uint64_t weight_of(const struct gp_ddev *dev, const struct gp_account *a)
{
	uint64_t weight = 0;

	for (const struct gp_dtenant *t = dev->tenants; t && a->tenants; t = t->next)
		if (t->account == a && gp_dtenant_is_be(t))
			weight += t->request.cls.value;
	return weight;
}

static void add_memory(struct gp_ddev *dev, const struct gp_account *a, struct gp_view_account *out)
{
	for (struct gp_dtenant *t = dev->tenants; t && a->tenants; t = t->next) {
		if (t->account != a)
			continue;
		out->movable += t->memory.movable;
		out->fixed += t->memory.fixed;
		out->out += t->memory.out;
		out->pinned += t->memory.pinned;
	}
}

static size_t metrics_accounts(void *arg, size_t device, struct gp_view_account *out, size_t max)
{
	struct gp_daemon *d = arg;
	struct gp_ddev *dev = d->dev[device];
	const bool known = gp_ddev_usage(dev) != GP_WIRE_USAGE_NONE;
	size_t n = 0;

	for (struct gp_dtenant *t = dev->tenants; t; t = t->next)
		gp_dtenant_memory(t);
	for (const struct gp_account *a = dev->accounts.first; a && n < max; a = a->next) {
		out[n] = (struct gp_view_account){
			.namespace = a->names.namespace,
			.pod = a->names.pod,
			.container = a->names.container,
			.job = a->names.job,
			.used_ns = known ? a->used_ns : GP_WIRE_UNKNOWN,
			.waited_ns = a->waited_ns,
			.held_ns = a->held_ns,
			.turns = a->turns,
			.preempted = a->preempted,
			.weight = weight_of(dev, a),
			.moves = a->moves,
			.moved = a->moved,
			.move_ns = a->move_ns,
		};
		add_memory(dev, a, &out[n++]);
	}
	return n;
}

const struct gp_view_ops gp_view_metrics_ops = {
	.devices = metrics_devices,
	.tenants = metrics_tenants,
	.histogram = metrics_histogram,
	.used_ns = metrics_used_ns,
	.accounts = metrics_accounts,
};
