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
#define LOOK_NS (200 * MS)  /* from one check to the next while another seems to stand still */
#define STALE_BEATS 5
#define LOST_NS (3 * LOOK_NS)

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

void gp_supervise_signal(const struct gp_supervision *keep, enum gp_role role, int number)
{
	const struct gp_other *other = &keep->other[role];

	if (other->pid)
		syscall(SYS_pidfd_send_signal, other->source.fd, number, NULL, 0u);
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
	other->beats = false;
	other->died_ns = gp_loop_now_ns();
}

/* Its status; GP_STATUS_UNKNOWN: it is not this process's child. */
static int reap(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WNOHANG) == pid ? status : GP_STATUS_UNKNOWN;
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
	other->had_role = other->beats = false;
	other->stale_ns = 0;
	return 0;
}

/* The role's present process. Its number may be another's before it is opened. */
static void find(struct gp_other *other)
{
	const struct gp_journal *journal = other->keep->setup.journal;
	pid_t pid = gp_journal_who(journal, other->role);
	int err;

	if (other->role == GP_ROLE_DAEMON && gp_journal_restorer(journal))
		return;
	if (pid <= 0)
		return;
	err = watch(other, pid);
	gp_log_shortage(err, "cannot watch the other roles; retrying");
	if (!err && gp_journal_who(journal, other->role) != pid)
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

/* ---- does each of them run? -------------------------------------------------------- */

/*
 * A process that the kernel ends closes its files. That can hang, as with another user's file in
 * the queue of a socket, and its pidfd then reports nothing. Its role is free all the same. A
 * process that beats has not come to that: no system call asks for its lock.
 */
static bool has_lost_role(struct gp_other *other)
{
	const struct gp_journal *journal = other->keep->setup.journal;

	other->had_role = other->had_role || gp_journal_last(journal, other->role) == other->pid;
	return other->had_role && !other->beats &&
	       gp_journal_who(journal, other->role) != other->pid;
}

/* It can do nothing any more. */
static void leave(struct gp_supervision *keep, struct gp_other *other)
{
	pid_t pid = other->pid;

	forget(other);
	if (keep->died)
		keep->died(keep, other->role, pid, GP_STATUS_HANGS);
}

/* From one beat to the next. One wake-up of a keeper, which else sleeps, costs 100 us of CPU. */
static uint64_t period_ns(enum gp_role role)
{
	return role == GP_ROLE_DAEMON ? LOOK_NS : 4 * LOOK_NS;
}

/*
 * Counts the time for which another does not run. A pause of this process itself (SIGSTOP, a
 * suspended or frozen machine) counts little: the other may have paused too. So two more checks
 * have to follow the first that finds it so.
 */
static void check(struct gp_supervision *keep, struct gp_other *other, uint64_t passed_ns,
		  uint64_t now_ns)
{
	uint64_t beat_ns = gp_journal_beat_of(keep->setup.journal, other->role, other->pid);
	uint64_t age_ns = beat_ns && now_ns > beat_ns ? now_ns - beat_ns : 0;
	bool late = age_ns > period_ns(other->role) * 3 / 2, lost;
	uint64_t limit_ns;

	other->beats = beat_ns && !late;
	lost = has_lost_role(other);
	limit_ns = lost ? LOST_NS : STALE_BEATS * period_ns(other->role);
	if (!late && !lost)
		other->stale_ns = 0;
	else if (other->stale_ns)
		other->stale_ns += passed_ns;
	else
		other->stale_ns = gp_sooner(age_ns + passed_ns, limit_ns - 2 * LOOK_NS);
	if (other->stale_ns < limit_ns)
		return;
	if (lost) {
		leave(keep, other);
		return;
	}
	other->stale_ns = 0;
	gp_log(GP_LOG_ERR, "the %s (process %d) has not run for a second; killing it",
	       gp_spawn_names[other->role], (int)other->pid);
	gp_supervise_signal(keep, other->role, SIGKILL);
}

/* Until the next check of the others. */
static uint64_t look_in_ns(const struct gp_supervision *keep)
{
	for (enum gp_role role = 0; role < GP_ROLES; role++)
		if (role != keep->setup.role && keep->other[role].pid && keep->other[role].stale_ns)
			return LOOK_NS;
	return period_ns(keep->setup.role);
}

static void check_all(struct gp_supervision *keep, uint64_t now_ns)
{
	const uint64_t most_ns = look_in_ns(keep) * 3 / 2;
	uint64_t passed_ns = keep->looked_ns ? now_ns - keep->looked_ns : 0;

	keep->looked_ns = now_ns;
	if (passed_ns > most_ns)
		passed_ns = most_ns;
	for (enum gp_role role = 0; role < GP_ROLES; role++)
		if (role != keep->setup.role && keep->other[role].pid &&
		    (role == GP_ROLE_DAEMON || !gp_journal_stopping(keep->setup.journal)))
			check(keep, &keep->other[role], passed_ns, now_ns);
}

/* Is there a process to restore if the daemon stands still, or is one about to be? */
static bool has_work(const struct gp_supervision *keep, uint64_t now_ns)
{
	const struct gp_journal *journal = keep->setup.journal;

	return (keep->begun_ns && now_ns < keep->begun_ns + 2 * period_ns(keep->setup.role)) ||
	       gp_journal_beat_of(journal, GP_ROLE_DAEMON, keep->other[GP_ROLE_DAEMON].pid) ||
	       gp_journal_has_records(journal);
}

static void set_beats(struct gp_supervision *keep, bool beats, uint64_t now_ns)
{
	if (beats || keep->beats)
		gp_journal_beat(keep->setup.journal, keep->setup.role, beats ? now_ns : 0);
	keep->beats = beats;
}

void gp_supervise_rest(struct gp_supervision *keep)
{
	set_beats(keep, false, 0);
}

/* Keepers that sleep wake up; before they know the signal, it does nothing. */
void gp_supervise_begin(struct gp_supervision *keep)
{
	if (!keep || !keep->loop)
		return;
	keep->begun_ns = gp_loop_now_ns();
	if (keep->beats)
		return;
	gp_supervise_check(keep);
	gp_supervise_signal(keep, GP_ROLE_KEEPER, SIGWINCH);
	gp_supervise_signal(keep, GP_ROLE_SECOND, SIGWINCH);
}

void gp_supervise_check(struct gp_supervision *keep)
{
	uint64_t now_ns = gp_loop_now_ns();
	uint64_t in_ns = 0;

	set_beats(keep, has_work(keep, now_ns), now_ns);
	check_all(keep, now_ns);

	for (enum gp_role role = 0; role < GP_ROLES; role++)
		if (role != keep->setup.role)
			look_for(keep, &keep->other[role]);
	for (enum gp_role role = 0; role < GP_ROLES; role++)
		if (!gp_supervise_has(keep, role))
			in_ns = ASK_NS;
	if (keep->beats)
		in_ns = gp_sooner(look_in_ns(keep), in_ns);
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

/* Whatever woke the process up: it has run, so its next wake-up only for that is later. */
static void ran(void *arg)
{
	struct gp_supervision *keep = arg;

	if (keep->beats && gp_loop_now_ns() >= keep->looked_ns + LOOK_NS / 2)
		gp_supervise_check(keep);
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
	gp_loop_after(loop, ran, keep);
	gp_supervise_check(keep);
	return 0;
}

void gp_supervise_unwatch(struct gp_supervision *keep)
{
	if (!keep || !keep->loop)
		return;
	gp_supervise_rest(keep);
	for (enum gp_role role = 0; role < GP_ROLES; role++)
		forget(&keep->other[role]);
	gp_tick_remove(&keep->tick);
	gp_loop_after(keep->loop, NULL, NULL);
	keep->loop = NULL;
}

void gp_supervise_destroy(struct gp_supervision *keep)
{
	gp_supervise_unwatch(keep);
	free(keep);
}
