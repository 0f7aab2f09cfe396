// SPDX-License-Identifier: Apache-2.0
/*
 * supervise.c - mutual supervision; all three processes run this. A pidfd reports a death. A
 * process that is restarted is unknown to the third one, which asks the journal every few
 * milliseconds until it knows. Two that are started for one role by mistake do no harm: the
 * role is a lock, and one ends at once.
 */
#include "daemon/supervise/supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/supervise/supervise_internal.h"
#include "daemon/loop/log.h"
#include "daemon/supervise/spawn.h"
#include "daemon/loop/times.h"

#define MS 1000000ull
#define ASK_NS (10 * MS)
#define SLACK_NS (500 * MS) /* the first starter gets this much time */

/* By role: its starter, and the starter's substitute. */
static const enum gp_role starters[GP_ROLES][2] = {
	[GP_ROLE_DAEMON] = { GP_ROLE_KEEPER, GP_ROLE_SECOND },
	[GP_ROLE_KEEPER] = { GP_ROLE_DAEMON, GP_ROLE_SECOND },
	[GP_ROLE_SECOND] = { GP_ROLE_DAEMON, GP_ROLE_KEEPER },
};

int gp_supervise_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0u);

	return fd < 0 ? -errno : fd;
}

bool gp_supervise_has(const struct gp_supervision *keep, enum gp_role role)
{
	return role == keep->setup.role || keep->other[role].pid;
}

/* ---- watching a process ---------------------------------------------------------- */

static void forget(struct gp_other *other)
{
	if (!other->pid)
		return;
	gp_loop_remove(&other->source);
	close(other->source.fd);
	other->source.fd = -1;
	other->pid = 0;
	other->died_ns = gp_loop_now_ns();
}

/* Of its status; -1: it is not this process's child. */
static int reap(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WNOHANG) == pid ? status : -1;
}

static void other_died(struct gp_source *source, uint32_t events)
{
	struct gp_other *other = (struct gp_other *)(void *)source;
	struct gp_supervision *keep = other->keep;
	pid_t pid = other->pid;

	forget(other);
	if (keep->died)
		keep->died(keep, other->role, pid, reap(pid));
	else
		reap(pid);
	gp_supervise_check(keep);
}

static int watch(struct gp_other *other, pid_t pid)
{
	int err;

	other->source.fd = gp_supervise_pidfd(pid);
	if (other->source.fd < 0)
		return other->source.fd;
	err = gp_loop_add(other->keep->loop, &other->source, EPOLLIN);
	if (err) {
		close(other->source.fd);
		other->source.fd = -1;
		return err;
	}
	other->pid = pid;
	return 0;
}

/* The role's present process. Its number may be another's before it is opened. */
static void find(struct gp_other *other)
{
	const struct gp_journal *journal = other->keep->setup.journal;
	pid_t pid = gp_journal_who(journal, other->role);

	if (other->role == GP_ROLE_DAEMON && gp_journal_restorer(journal))
		return;
	if (pid > 0 && !watch(other, pid) && gp_journal_who(journal, other->role) != pid)
		forget(other);
}

/* ---- starting a process ---------------------------------------------------------- */

/* When this process must start it after its death. */
static uint64_t turn_at(const struct gp_supervision *keep, const struct gp_other *other)
{
	const enum gp_role first = starters[other->role][0];
	uint64_t at = gp_journal_start_at(keep->setup.journal, other->role);

	if (at < other->died_ns)
		at = other->died_ns;
	if (keep->setup.role != first && gp_supervise_has(keep, first))
		at += SLACK_NS;
	return at;
}

static void start(struct gp_supervision *keep, struct gp_other *other, uint64_t now)
{
	const char *name = gp_spawn_names[other->role];
	pid_t pid;
	int err;

	gp_journal_started(keep->setup.journal, other->role, now);
	err = gp_spawn(&keep->setup, other->role, &pid);
	if (err) {
		gp_log(GP_LOG_ERR, "cannot start the %s: %s", name, strerror(-err));
		return;
	}
	gp_log(GP_LOG_DEBUG, "%s started: process %d", name, (int)pid);
	/* A process that has ended is a zombie until it is reaped: it can be watched. */
	err = watch(other, pid);
	if (err)
		gp_log(GP_LOG_ERR, "cannot watch the %s: %s", name, strerror(-err));
}

static bool may_start(const struct gp_supervision *keep, enum gp_role role)
{
	const struct gp_journal *journal = keep->setup.journal;

	return !gp_journal_stopping(journal) &&
	       !(role == GP_ROLE_DAEMON && (keep->hold_daemon || gp_journal_restorer(journal)));
}

static void look_for(struct gp_supervision *keep, struct gp_other *other)
{
	uint64_t now;

	if (!other->pid)
		find(other);
	if (other->pid || !may_start(keep, other->role))
		return;
	now = gp_loop_now_ns();
	if (now >= turn_at(keep, other))
		start(keep, other, now);
}

void gp_supervise_check(struct gp_supervision *keep)
{
	uint64_t in_ns = 0;

	for (enum gp_role role = 0; role < GP_ROLES; role++)
		if (role != keep->setup.role)
			look_for(keep, &keep->other[role]);
	for (enum gp_role role = 0; role < GP_ROLES; role++)
		if (!gp_supervise_has(keep, role))
			in_ns = ASK_NS;
	if (keep->looked)
		in_ns = gp_sooner(keep->looked(keep), in_ns);
	if (!keep->loop)
		return;
	if (in_ns)
		gp_tick_in(&keep->tick, in_ns);
	else
		gp_tick_at(&keep->tick, 0);
}

static void tick_due(struct gp_tick *tick)
{
	gp_supervise_check(gp_holder(tick, struct gp_supervision, tick));
}

/* ---- all together ---------------------------------------------------------------- */

int gp_supervise_create(const struct gp_supervise_setup *setup, struct gp_supervision **keep)
{
	struct gp_supervision *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->setup = *setup;
	for (enum gp_role role = 0; role < GP_ROLES; role++)
		k->other[role] = (struct gp_other){
			.source = { .fd = -1, .ready = other_died },
			.keep = k,
			.role = role,
		};
	*keep = k;
	return 0;
}

int gp_supervise_watch(struct gp_supervision *keep, struct gp_loop *loop)
{
	int err;

	keep->tick = (struct gp_tick){ .due = tick_due };
	err = gp_tick_add(loop, &keep->tick);
	if (err)
		return err;
	keep->loop = loop;
	gp_supervise_check(keep);
	return 0;
}

void gp_supervise_unwatch(struct gp_supervision *keep)
{
	if (!keep || !keep->loop)
		return;
	for (enum gp_role role = 0; role < GP_ROLES; role++)
		forget(&keep->other[role]);
	gp_tick_remove(&keep->tick);
	keep->loop = NULL;
}

void gp_supervise_destroy(struct gp_supervision *keep)
{
	gp_supervise_unwatch(keep);
	free(keep);
}
