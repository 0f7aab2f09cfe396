// SPDX-License-Identifier: Apache-2.0
/*
 * daemon.c - the process that decides: from the first to the last.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/daemon_internal.h"
#include "daemon/memory_turns.h"
#include "daemon/quotas.h"
#include "daemon/room.h"
#include "daemon/discover/proc.h"
#include "daemon/loop/log.h"
#include "daemon/loop/log_user.h"
#include "daemon/loop/times.h"
#include "daemon/supervise/notify.h"
#include "daemon/supervise/restore.h"
#include "runtime/log.h"

#define CHECK_NS 1000000000u
#define CALL_NS 5000000000u /* a driver call takes less than a second */
/* A tenant is restored in some milliseconds; one that hangs is not waited for. */
#define PUT_BACK_NS 5000000000u

struct gp_ddev *gp_daemon_device(struct gp_daemon *d, const uint8_t uuid[16])
{
	for (size_t i = 0; i < d->devs; i++)
		if (!memcmp(d->dev[i]->hal->id.uuid, uuid, 16))
			return d->dev[i];
	return NULL;
}

struct gp_dtenant *gp_daemon_tenant(struct gp_daemon *d, pid_t pid, const uint8_t uuid[16])
{
	static const uint8_t any[16];
	struct gp_dtenant *t = NULL;

	for (size_t i = 0; i < d->devs && !t; i++)
		if (!memcmp(uuid, any, 16) || !memcmp(uuid, d->dev[i]->hal->id.uuid, 16))
			t = gp_dtenant_of_pid(d->dev[i], pid);
	return t;
}

/* ---- messages ------------------------------------------------------------------------ */

static void trace_to(struct gp_daemon *d, struct gp_conn *conn)
{
	const uid_t uid = conn->uid;
	int fd, err;

	if (conn->tenant) {
		gp_conn_say(conn, -EINVAL, "this connection belongs to a tenant; open another");
		return;
	}
	if (gp_trace_full(d->trace, conn->uid)) {
		gp_conn_say(conn, -EUSERS, "too many trace readers; retry when one has ended");
		return;
	}
	fd = gp_conn_detach(conn);
	if (fd < 0) {
		gp_conn_say(conn, fd, "a trace reader sends nothing more; open another connection");
		return;
	}
	err = gp_trace_reader(d->trace, fd, uid);
	if (err) {
		gp_log(GP_LOG_WARN, "cannot start a trace: %s", strerror(-err));
		close(fd);
	}
}

static bool takes_files(uint16_t type)
{
	return type == GP_WIRE_HELLO || type == GP_WIRE_FILES;
}

static void message(void *arg, struct gp_conn *conn, const union gp_wire_msg *msg, const int *file,
		    size_t n)
{
	struct gp_daemon *d = arg;

	if (!takes_files(msg->head.type))
		gp_files_close(file, n);
	switch (msg->head.type) {
	case GP_WIRE_HELLO:
		gp_enroll_hello(d, conn, &msg->hello, file, n);
		break;
	case GP_WIRE_FILES:
		gp_enroll_files(d, conn, &msg->files, file, n);
		break;
	case GP_WIRE_ASK_CLASS:
		gp_enroll_ask(d, conn, &msg->ask_class);
		break;
	case GP_WIRE_TAKE:
		gp_enroll_take(d, conn, &msg->take);
		break;
	case GP_WIRE_POOL:
		gp_enroll_pool(d, conn, &msg->pool);
		break;
	case GP_WIRE_RULE:
		gp_enroll_rule(d, conn, &msg->ask_class);
		break;
	case GP_WIRE_AWAY:
		gp_room_away(conn, &msg->away);
		break;
	case GP_WIRE_ROOM:
		gp_room_ask(d, conn, &msg->room);
		break;
	case GP_WIRE_QUOTA:
		gp_quotas_ask(d, conn);
		break;
	case GP_WIRE_LIST:
		gp_view_list(d, conn);
		break;
	case GP_WIRE_DEVICES:
		gp_view_devices(d, conn);
		break;
	case GP_WIRE_WHY:
		gp_view_why(d, conn, &msg->take);
		break;
	case GP_WIRE_HISTOGRAM:
		gp_view_histogram(d, conn, &msg->take);
		break;
	case GP_WIRE_TRACE:
		trace_to(d, conn);
		break;
	default:
		gp_conn_result(conn, -EPROTO);
	}
}

static void closed(void *arg, struct gp_conn *conn)
{
	gp_enroll_left(arg, conn);
}

static bool busy(void *arg, const struct gp_conn *conn)
{
	return gp_enroll_busy(arg, conn);
}

static bool is_root(void *arg, pid_t pid)
{
	return gp_proc_is_root(pid);
}

static const struct gp_serve_ops serve_ops = {
	.message = message,
	.busy = busy,
	.is_root = is_root,
	.closed = closed,
};

/* ---- devices ---------------------------------------------------------------------------- */

/* With neither, as with AMD's stock driver, a process can change only its own work. */
static bool can_share(struct gp_device *hal)
{
	struct gp_hal_caps caps;

	if (hal->ops->caps(hal, &caps))
		return true; /* gp_ddev_create() reports the error */
	return caps.caps & (GP_CAP_SUSPEND | GP_CAP_CLASS);
}

static void device_open(struct gp_daemon *d, const struct gp_hal_ops *ops,
			const struct gp_device_id *id)
{
	struct gp_device *hal;
	int err = ops->open(id, &hal);

	if (!err && !can_share(hal)) {
		gp_log(GP_LOG_WARN, "%s: not managed: its driver has neither classes nor suspend",
		       id->name);
		hal->ops->close(hal);
		d->left_alone++;
		return;
	}
	if (!err) {
		err = gp_ddev_create(d->loop, &gp_observe_ops, hal, (uint16_t)d->devs,
				     gp_config_settings_of(d->config, id), d->journal, d->trace,
				     &d->dev[d->devs]);
		if (err)
			hal->ops->close(hal);
		else
			gp_receivers_backend(d->receivers, ops->name);
	}
	if (err) {
		gp_log(GP_LOG_WARN, "%s: not managed: %s", id->name, strerror(-err));
		return;
	}
	gp_dgangs_add(&d->gangs, d->dev[d->devs]);
	d->devs++;
}

static void say_none(const char *only)
{
	if (only)
		gp_log(GP_LOG_ERR,
		       "no GPU found: GPREEMPT_BACKEND=%s has none here; backends are nvidia, amd "
		       "and softgpu",
		       only);
	else
		gp_log(GP_LOG_ERR, "no GPU found: neither NVIDIA's driver nor AMD's KFD lists one; "
				   "set GPREEMPT_BACKEND=softgpu for the software GPU");
}

/* Those of $GPREEMPT_BACKEND, else all that the machine has. */
static int devices_open(struct gp_daemon *d)
{
	static const char *const hardware[] = { "nvidia", "amd" };
	const char *only = getenv("GPREEMPT_BACKEND");
	const char *const *name = only && *only ? &only : hardware;
	size_t names = only && *only ? 1 : 2;
	struct gp_device_list list;

	for (size_t i = 0; i < names; i++) {
		const struct gp_hal_ops *ops = gp_hal_find(name[i]);

		if (!ops || ops->probe(&list))
			continue;
		for (size_t k = 0; k < list.count && d->devs < GP_HAL_MAX_DEVICES; k++)
			device_open(d, ops, &list.dev[k]);
	}
	if (d->devs || d->left_alone)
		return 0;
	say_none(only && *only ? only : NULL);
	return -ENODEV;
}

/* ---- signals --------------------------------------------------------------------------------- */

static void metrics_open(struct gp_daemon *d)
{
	char why[GP_WIRE_TEXT_LEN];

	gp_metrics_destroy(d->metrics);
	d->metrics = NULL;
	if (gp_metrics_create(d->loop, &d->config->metrics, &gp_view_metrics_ops, d, &d->metrics,
			      why, sizeof(why)))
		gp_log(GP_LOG_WARN, "metrics not served: %s", why);
}

static void reload(struct gp_daemon *d)
{
	struct gp_config *config;
	char why[GP_CONFIG_WHY_LEN] = "out of memory";
	int err = d->setup->config_path ?
			  gp_config_load(d->setup->config_path, &config, why, sizeof(why)) :
			  gp_config_default(&config);

	if (err) {
		gp_log(GP_LOG_ERR, "%s; keeping the old configuration", why);
		return;
	}
	gp_config_free(d->config);
	d->config = config;
	gp_daemon_log_level(config->log_level);
	gp_notify("RELOADING=1");
	gp_serve_limit(d->serve, config->user_connections);
	for (size_t i = 0; i < d->devs; i++)
		gp_ddev_settings(d->dev[i], gp_config_settings_of(config, &d->dev[i]->hal->id));
	metrics_open(d);
	gp_enroll_rules(d);
	gp_notify("READY=1");
	gp_log(GP_LOG_INFO, "configuration reloaded");
}

static bool putting_back(const struct gp_daemon *d)
{
	for (size_t i = 0; i < d->devs; i++)
		if (gp_ddev_putting_back(d->dev[i]))
			return true;
	return false;
}

static void stop_due(struct gp_tick *tick)
{
	struct gp_daemon *d = gp_holder(tick, struct gp_daemon, deadline);

	if (putting_back(d))
		gp_log(GP_LOG_ERR, "cannot restore all processes within %u s",
		       (unsigned int)(PUT_BACK_NS / 1000000000u));
	gp_loop_stop(d->loop);
}

static void stop(struct gp_daemon *d)
{
	const struct gp_event ev = { .type = GP_EV_CLOSE };

	if (d->stopping)
		return;
	d->stopping = true;
	gp_notify("STOPPING=1");
	gp_discover_stop(d->find);
	for (size_t i = 0; i < d->devs; i++) {
		while (d->dev[i]->tenants)
			gp_dtenant_leave(d->dev[i]->tenants, false);
		gp_runtime_event(d->dev[i]->rt, &ev);
	}
	gp_tick_in(&d->deadline, PUT_BACK_NS);
}

static void signals_ready(struct gp_source *source, uint32_t events)
{
	struct gp_daemon *d = gp_holder(source, struct gp_daemon, signals);
	struct signalfd_siginfo info;

	while (read(source->fd, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGHUP:
			reload(d);
			break;
		case SIGUSR2:
			d->leaves = true;
			gp_loop_stop(d->loop);
			break;
		default:
			stop(d);
		}
	}
}

static int signals_open(struct gp_daemon *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR2);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	d->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (d->signals.fd < 0)
		return -errno;
	d->signals.ready = signals_ready;
	return gp_loop_add(d->loop, &d->signals, EPOLLIN);
}

/* ---- from the first to the last ------------------------------------------- */

/* A driver that hangs stops one thread, and the turns of its device. */
static void report_late_calls(struct gp_daemon *d)
{
	for (size_t i = 0; i < d->devs; i++)
		if (gp_worker_is_late(d->dev[i]->worker.worker, CALL_NS))
			gp_log(GP_LOG_ERR,
			       "%s: a driver call has not returned for %u s; no process is "
			       "suspended "
			       "or resumed until it does",
			       d->dev[i]->hal->id.name, (unsigned int)(CALL_NS / 1000000000u));
	if (gp_worker_is_late(d->scanner.worker, CALL_NS))
		gp_log(GP_LOG_ERR,
		       "a scan of a process has not returned for %u s; no process can join until "
		       "it does",
		       (unsigned int)(CALL_NS / 1000000000u));
}

static bool is_used(const struct gp_daemon *d)
{
	bool used = gp_serve_is_used(d->serve) || gp_trace_wanted(d->trace);

	for (size_t i = 0; i < d->devs && !used; i++)
		used = d->dev[i]->tenants;
	return used;
}

/* Until the next check: sooner if it is idle long enough by then. */
static uint64_t check_use(struct gp_daemon *d, uint64_t now_ns)
{
	const uint64_t idle_ns = d->setup->idle_ns;

	if (d->stopping || !idle_ns)
		return CHECK_NS;
	if (d->setup->on_demand && gp_wire_machine_has_daemon()) {
		gp_log(GP_LOG_INFO, "the machine has a gpreemptd now; stopping");
		stop(d);
		return CHECK_NS;
	}
	if (!d->used_ns || is_used(d))
		d->used_ns = now_ns;
	if (now_ns < d->used_ns + idle_ns)
		return gp_sooner(CHECK_NS, d->used_ns + idle_ns - now_ns);
	gp_log(GP_LOG_INFO, "no process has used it for %u s; stopping",
	       (unsigned int)(idle_ns / 1000000000u));
	stop(d);
	return CHECK_NS;
}

static void check_due(struct gp_tick *tick)
{
	struct gp_daemon *d = gp_holder(tick, struct gp_daemon, check);
	const uint64_t now_ns = gp_loop_now_ns();

	gp_enroll_check(d);
	gp_memory_turns_check(d);
	report_late_calls(d);
	gp_log_user_flush(now_ns);
	gp_tick_in(tick, check_use(d, now_ns));
}

static int ticks_open(struct gp_daemon *d)
{
	int err;

	d->check.due = check_due;
	d->deadline.due = stop_due;
	err = gp_tick_add(d->loop, &d->check);
	if (!err)
		err = gp_tick_add(d->loop, &d->deadline);
	if (!err)
		err = gp_memory_turns_open(d);
	if (!err)
		gp_tick_in(&d->check, CHECK_NS);
	return err;
}

/*
 * Restores the changes of the daemon before this one, and takes its tenants from outside again.
 * Connected tenants reconnect by themselves.
 */
static void take_over(struct gp_daemon *d)
{
	struct gp_journal_record record;
	struct gp_restore_stat stat;

	if (gp_journal_has_records(d->journal))
		d->took_over_ns = gp_loop_now_ns();
	gp_restore_all(d->journal, false, &stat);
	if (stat.processes + stat.failed)
		gp_log(GP_LOG_WARN, "an earlier daemon left %u tenants; %u could not be restored",
		       stat.processes + stat.failed, stat.failed);
	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++) {
		if (gp_journal_get(d->journal, i, &record) && !gp_enroll_again(d, &record, (int)i))
			gp_journal_drop(d->journal, (int)i);
	}
}

static void freezer_open(struct gp_daemon *d)
{
	const int err = gp_freezer_create(d->loop, NULL, NULL, &d->freezer);

	if (err)
		gp_log(GP_LOG_WARN, "frozen cgroups are not noticed: %s", strerror(-err));
}

static int start(struct gp_daemon *d)
{
	struct gp_device *hal[GP_HAL_MAX_DEVICES];
	int err = gp_loop_create(&d->loop);

	if (!err)
		err = signals_open(d);
	if (!err)
		err = gp_trace_create(d->loop, &d->trace);
	if (!err)
		err = gp_receivers_create(&d->receivers);
	if (!err)
		err = devices_open(d);
	if (!err)
		err = gp_loop_worker_create(d->loop, false, &d->scanner);
	if (!err)
		err = gp_receivers_attach(d->receivers, d->loop);
	if (!err)
		err = gp_serve_create(d->loop, d->setup->listen_fd, d->config->user_connections,
				      d->receivers, &serve_ops, d, &d->serve);
	if (!err)
		err = ticks_open(d);
	if (err)
		return err;
	freezer_open(d);
	take_over(d);
	for (size_t i = 0; i < d->devs; i++)
		hal[i] = d->dev[i]->hal;
	err = gp_discover_create(d->loop, hal, d->devs, &gp_enroll_discover_ops, d, 1, &d->find);
	if (!err && d->setup->keep)
		err = gp_supervise_watch(d->setup->keep, d->loop);
	if (!err)
		metrics_open(d);
	return err;
}

static void drop_journal(struct gp_daemon *d)
{
	struct gp_journal_record record;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
		if (gp_journal_get(d->journal, i, &record))
			gp_journal_drop(d->journal, (int)i);
}

static void end(struct gp_daemon *d)
{
	if (!d->loop)
		return;
	gp_supervise_unwatch(d->setup->keep);
	gp_metrics_destroy(d->metrics);
	gp_discover_destroy(d->find);
	gp_loop_worker_destroy(&d->scanner);
	gp_serve_destroy(d->serve);
	gp_receivers_destroy(d->receivers);
	for (size_t i = 0; i < d->devs; i++)
		gp_ddev_destroy(d->dev[i]);
	gp_quotas_destroy(d);
	gp_freezer_destroy(d->freezer);
	gp_trace_destroy(d->trace);
	gp_tick_remove(&d->check);
	gp_tick_remove(&d->deadline);
	gp_memory_turns_close(d);
	gp_loop_remove(&d->signals);
	if (d->signals.fd >= 0)
		close(d->signals.fd);
	gp_loop_destroy(d->loop);
}

static int run(struct gp_daemon *d)
{
	int err = 0;

	gp_journal_ready(d->journal);
	gp_notify("READY=1");
	gp_log(GP_LOG_INFO, "devices: %zu; discovery by %s", d->devs, gp_discover_how(d->find));
	if (d->config->default_max_class.any && !d->config->rule_count)
		gp_log(GP_LOG_INFO, "no rules: every process gets the class it asks for");
	while (!err && !gp_loop_stopped(d->loop)) {
		err = gp_loop_once(d->loop, -1);
		if (d->stopping && !putting_back(d))
			gp_loop_stop(d->loop);
	}
	return err;
}

int gp_daemon_run(const struct gp_daemon_setup *setup)
{
	struct gp_daemon *d = calloc(1, sizeof(*d));
	int err;

	if (!d) {
		gp_log(GP_LOG_ERR, "startup failed: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	d->setup = setup;
	d->config = setup->config;
	d->journal = setup->journal;
	d->signals.fd = -1;
	/* The default of 50 us would be on top of every turn. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	err = start(d);
	if (err && err != -ENODEV)
		gp_log(GP_LOG_ERR, "startup failed: %s", strerror(-err));
	if (!err)
		err = run(d);
	if (!err && d->leaves)
		_exit(1); /* nothing is undone on the way out */
	if (!err)
		drop_journal(d);
	end(d);
	gp_config_free(d->config);
	free(d);
	return err;
}
