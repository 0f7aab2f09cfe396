// SPDX-License-Identifier: Apache-2.0
/*
 * A daemon that decides nothing, for tests of its keepers. It suspends the processes in
 * GP_FAKE_TENANTS (PIDs, with commas) at the short slice, after a record in the journal. It
 * undoes that when it is ended. The file GP_FAKE_MODE has its further behaviour:
 * - crash: at once
 * - fail: it cannot start
 * - mute: it does nothing and is never ready
 * - deaf: it does not end
 * - loop: a signal starts an endless loop
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/loop/log.h"
#include "daemon/supervise/notify.h"
#include "daemon/discover/proc.h"
#include "gpreempt/hal.h"

#define SHORT_US 1
#define TENANTS_MAX 8

struct fake {
	const struct gp_daemon_setup *setup;
	struct gp_loop *loop;
	struct gp_source signals;
	struct gp_device *dev;
	struct gp_group_list list[TENANTS_MAX];
	size_t tenants;
	int result;
};

static bool mode_is(const char *mode)
{
	const char *path = getenv("GP_FAKE_MODE");
	FILE *f = path ? fopen(path, "re") : NULL;
	char text[16] = "";
	bool is;

	if (!f)
		return false;
	is = fscanf(f, "%15s", text) == 1 && !strcmp(text, mode);
	fclose(f);
	return is;
}

/* A successor finds the record already. */
static bool is_written(const struct gp_journal *journal, pid_t pid)
{
	struct gp_journal_record r;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
		if (gp_journal_get(journal, i, &r) && r.pid == pid)
			return true;
	return false;
}

static void take(struct fake *f, pid_t pid)
{
	struct gp_journal_record r = { .pid = pid, .origin = GP_WIRE_BY_ATTACH };
	struct gp_group_list *list = &f->list[f->tenants];

	if (f->tenants == TENANTS_MAX || gp_proc_start(pid, &r.start_ticks) ||
	    f->dev->ops->groups(f->dev, pid, list))
		return;
	f->tenants++;
	memcpy(r.uuid, f->dev->id.uuid, sizeof(r.uuid));
	if (!is_written(f->setup->journal, pid))
		gp_journal_put(f->setup->journal, &r);
	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->kind == GP_GROUP_COMPUTE)
			f->dev->ops->set_slice(list->group[i], SHORT_US);
	f->dev->ops->suspend(list->group, list->count);
}

static void take_all(struct fake *f)
{
	const char *at = getenv("GP_FAKE_TENANTS");
	char why[256], *end;

	if (!at || !*at)
		return;
	if (gp_device_open(NULL, &f->dev, why, sizeof(why))) {
		gp_log(GP_LOG_ERR, "fake: %s", why);
		return;
	}
	for (; *at; at = *end ? end + 1 : end)
		take(f, (pid_t)strtol(at, &end, 10));
}

static void undo(struct fake *f)
{
	struct gp_hal_caps caps;

	for (size_t t = 0; t < f->tenants; t++) {
		f->dev->ops->caps(f->dev, &caps);
		for (size_t i = 0; i < f->list[t].count; i++)
			if (f->list[t].group[i]->kind == GP_GROUP_COMPUTE)
				f->dev->ops->set_slice(f->list[t].group[i], caps.default_slice_us);
		f->dev->ops->resume(f->list[t].group, f->list[t].count);
	}
	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
		gp_journal_drop(f->setup->journal, (int)i);
}

static void signalled(struct gp_source *source, uint32_t events)
{
	struct fake *f = (struct fake *)(void *)((char *)source - offsetof(struct fake, signals));
	struct signalfd_siginfo info;

	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	gp_log(GP_LOG_INFO, "fake: signal %u", info.ssi_signo);
	if (mode_is("loop"))
		for (;;)
			;
	if (info.ssi_signo == SIGHUP || mode_is("deaf"))
		return;
	f->result = info.ssi_signo == SIGUSR2;
	if (!f->result)
		undo(f);
	gp_loop_stop(f->loop);
}

static int listen_to_signals(struct fake *f)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	f->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	f->signals.ready = signalled;
	return f->signals.fd < 0 ? -errno : gp_loop_add(f->loop, &f->signals, EPOLLIN);
}

static void finish(struct fake *f)
{
	gp_supervise_unwatch(f->setup->keep);
	gp_loop_remove(&f->signals);
	close(f->signals.fd);
	for (size_t t = 0; t < f->tenants; t++)
		gp_group_list_put(&f->list[t]);
	gp_device_close(f->dev);
	gp_loop_destroy(f->loop);
	gp_config_free(f->setup->config);
}

int gp_daemon_run(const struct gp_daemon_setup *setup)
{
	struct fake f = { .setup = setup };
	int err;

	if (mode_is("fail"))
		return -ENODEV;
	err = gp_loop_create(&f.loop);
	if (!err)
		err = listen_to_signals(&f);
	if (err)
		return err;
	if (mode_is("crash"))
		kill(getpid(), SIGKILL);
	if (!mode_is("mute")) {
		take_all(&f);
		gp_journal_ready(setup->journal);
		gp_notify("READY=1");
	}
	err = gp_supervise_watch(setup->keep, f.loop);
	if (!err)
		err = gp_loop_run(f.loop);
	finish(&f);
	return err ? err : f.result;
}
