// SPDX-License-Identifier: Apache-2.0
/*
 * supervisor.c - the two processes besides the daemon. They see that there is a daemon, have
 * everything restored if there is none for too long, and end all in order. Only a child
 * touches a device, so no driver can hang or end a keeper.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/config/config.h"
#include "daemon/supervise/supervise_internal.h"
#include "daemon/loop/log.h"
#include "daemon/supervise/notify.h"
#include "daemon/supervise/restore.h"
#include "daemon/supervise/rundir.h"
#include "daemon/supervise/spawn.h"
#include "daemon/loop/times.h"

#define MS 1000000ull
#define UNREADY_NS (1200 * MS)	   /* longest time without a daemon */
#define SECOND_LATER_NS (600 * MS) /* the second keeper leaves the first this much time */
#define AGAIN_NS (500 * MS)	   /* before the next attempt after a failed start */
#define RESTORE_NS (5000 * MS)	   /* limit of a restore process, .. */
#define PROCESS_NS (250 * MS)	   /* .. and for each record: an old process's scan on NVIDIA */
#define STOP_NS (10000 * MS)	   /* limit of a daemon's end, */
#define SECOND_STOP_NS (1000 * MS) /* of the second keeper's end, */
#define REPLACE_NS (5000 * MS)	   /* of a daemon's end for its replacement */
#define ASK_NS (20 * MS)
#define TAKE_TRIES 100 /* attempts to get the role of a daemon just killed */
#define TAKE_PAUSE_NS (10 * MS)

/**
 * struct gp_supervisor
 * @unready_ns: since when there is no ready daemon; 0: there is one
 * @put_back: the last daemon's tenants are restored; the next daemon has time
 * @restores: the journal's count at @unready_ns
 * @restorer: on the restore process's pidfd; fd -1: none runs
 * @kill_daemon_ns: when an ending daemon is killed; 0: none is ending
 * @stop_ns, @second_ns: start of the end of all, of the second's end; 0: none
 * @watchdog_ns: longest time between two reports to a service manager; 0: none asks
 * @alive_ns: when the next of these reports is due
 * @replace: @epoch was an older program's: the second follows the next one
 */
struct gp_supervisor {
	struct gp_supervision *keep;
	enum gp_supervise_start start;
	struct gp_source signals;
	struct gp_source restorer;
	pid_t restorer_pid;
	uint64_t restorer_ns;
	uint64_t unready_ns;
	bool put_back, was_ready;
	uint32_t restores;
	uint64_t kill_daemon_ns;
	uint64_t stop_ns, second_ns;
	uint64_t watchdog_ns, alive_ns;
	bool replace;
	uint32_t epoch;
	int status;
};

static bool is_first(const struct gp_supervision *keep)
{
	return keep->setup.role == GP_ROLE_KEEPER;
}

/* ---- restore ------------------------------------------------------------------ */

static void restorer_ended(struct gp_source *source, uint32_t events)
{
	struct gp_supervisor *k = gp_holder(source, struct gp_supervisor, restorer);
	int status = 0;

	gp_loop_remove(source);
	close(source->fd);
	source->fd = -1;
	/*
	 * If this one could not try, and no other process did meanwhile, the wait for a daemon
	 * starts again.
	 */
	k->put_back = (waitpid(k->restorer_pid, &status, WNOHANG) == k->restorer_pid &&
		       WIFEXITED(status) && WEXITSTATUS(status) == GP_EXIT_DONE) ||
		      k->restores != gp_journal_restores(k->keep->setup.journal);
	k->unready_ns = 0;
	k->keep->hold_daemon = false;
	gp_supervise_check(k->keep);
}

/* False: it cannot start. */
static bool start_restorer(struct gp_supervisor *k, uint64_t now)
{
	int err;

	k->keep->setup.restores = k->restores;
	err = gp_spawn(&k->keep->setup, GP_SPAWN_RESTORE, &k->restorer_pid);
	if (!err) {
		k->restorer.fd = gp_supervise_pidfd(k->restorer_pid);
		err = k->restorer.fd < 0 ? k->restorer.fd :
					   gp_loop_add(k->keep->loop, &k->restorer, EPOLLIN);
	}
	if (err) {
		gp_log(GP_LOG_ERR, "cannot start a restore process: %s", strerror(-err));
		return false;
	}
	k->restorer_ns = now;
	k->keep->hold_daemon = true;
	return true;
}

static uint64_t wait_for_restorer(struct gp_supervisor *k, uint64_t now)
{
	if (now >=
	    k->restorer_ns + RESTORE_NS + gp_journal_count(k->keep->setup.journal) * PROCESS_NS) {
		gp_log(GP_LOG_ERR, "restore process %d timed out; killing it",
		       (int)k->restorer_pid);
		kill(k->restorer_pid, SIGKILL);
	}
	return ASK_NS;
}

static int take_daemon(struct gp_journal *journal)
{
	const struct timespec pause = { .tv_nsec = TAKE_PAUSE_NS };
	int err = -EBUSY;

	for (int i = 0; i < TAKE_TRIES && err == -EBUSY; i++) {
		err = gp_journal_take_to_restore(journal);
		if (err == -EBUSY)
			nanosleep(&pause, NULL);
	}
	return err;
}

int gp_supervise_restore(const struct gp_supervise_setup *setup)
{
	struct gp_journal *journal = setup->journal;
	struct gp_restore_stat stat;
	int err = take_daemon(journal);

	if (err) {
		gp_log(GP_LOG_WARN, "restore skipped: %s",
		       err == -EBUSY ? "a daemon runs" : strerror(-err));
		return GP_EXIT_BUSY;
	}
	/* The other keeper's restore came first. */
	if (gp_journal_restores(journal) != setup->restores)
		return GP_EXIT_DONE;
	gp_restore_all(journal, true, &stat);
	gp_journal_restored(journal);
	gp_log(stat.failed ? GP_LOG_ERR : GP_LOG_WARN,
	       "no daemon: restored %u processes, %u gone, %u failed", stat.processes, stat.gone,
	       stat.failed);
	return GP_EXIT_DONE;
}

/* ---- is there a daemon? --------------------------------------------------------- */

static void begin_unready(struct gp_supervisor *k, uint64_t now)
{
	k->unready_ns = now;
	k->restores = gp_journal_restores(k->keep->setup.journal);
}

/* A daemon that was ready, and beats, still is: most checks need no system call. */
static bool is_ready(const struct gp_supervisor *k)
{
	const struct gp_supervision *keep = k->keep;

	return (k->was_ready && !k->unready_ns && keep->other[GP_ROLE_DAEMON].beats) ||
	       gp_journal_is_ready(keep->setup.journal);
}

static uint64_t ready(struct gp_supervisor *k)
{
	struct gp_supervision *keep = k->keep;

	if (k->replace && gp_journal_epoch(keep->setup.journal) == k->epoch)
		return ASK_NS;
	if (k->replace) {
		k->replace = false;
		gp_supervise_signal(keep, GP_ROLE_SECOND, SIGUSR2);
	}
	k->was_ready = true;
	k->unready_ns = 0;
	k->put_back = false;
	return 0;
}

/* Its starter may be dead. */
static uint64_t wait_for_anothers(pid_t restorer, uint64_t limit, uint64_t now)
{
	if (now >= limit + RESTORE_NS)
		kill(restorer, SIGKILL);
	return ASK_NS;
}

/* Without a daemon nobody sees that none is needed. */
static bool is_unused(const struct gp_supervisor *k, uint64_t now)
{
	const struct gp_supervise_setup *setup = &k->keep->setup;

	return setup->idle_ns && k->unready_ns && now >= k->unready_ns + setup->idle_ns &&
	       !gp_journal_count(setup->journal);
}

static uint64_t unready(struct gp_supervisor *k, uint64_t now)
{
	struct gp_supervision *keep = k->keep;
	uint64_t limit;
	pid_t restorer;

	if (is_unused(k, now)) {
		gp_log(GP_LOG_ERR, "no daemon can start; stopping");
		gp_journal_stop(keep->setup.journal, true);
	}
	if (k->put_back)
		return ASK_NS;
	if (!k->unready_ns)
		begin_unready(k, now);
	limit = k->unready_ns + UNREADY_NS;
	if (!is_first(keep) && gp_supervise_has(keep, GP_ROLE_KEEPER))
		limit += SECOND_LATER_NS;
	/* A daemon inspects all records, too, before it is ready. */
	if (gp_supervise_has(keep, GP_ROLE_DAEMON))
		limit += gp_journal_count(keep->setup.journal) * PROCESS_NS;
	if (now < limit)
		return limit - now < ASK_NS ? limit - now : ASK_NS;
	restorer = gp_journal_restorer(keep->setup.journal);
	if (restorer)
		return wait_for_anothers(
			restorer, limit + gp_journal_count(keep->setup.journal) * PROCESS_NS, now);
	if (k->restores != gp_journal_restores(keep->setup.journal) ||
	    !gp_journal_count(keep->setup.journal)) {
		k->put_back = true;
		return ASK_NS;
	}
	/* A daemon that hangs must not wake up in the middle of the restore. */
	gp_supervise_signal(keep, GP_ROLE_DAEMON, SIGKILL);
	if (!start_restorer(k, now))
		k->unready_ns = now - UNREADY_NS + AGAIN_NS;
	return ASK_NS;
}

static uint64_t kill_late_daemon(struct gp_supervisor *k, uint64_t now)
{
	if (k->kill_daemon_ns && now >= k->kill_daemon_ns) {
		gp_log(GP_LOG_ERR, "the daemon did not stop in time; killing it");
		gp_supervise_signal(k->keep, GP_ROLE_DAEMON, SIGKILL);
		k->kill_daemon_ns = now + STOP_NS;
	}
	return k->kill_daemon_ns ? ASK_NS : 0;
}

/* ---- the end --------------------------------------------------------------------- */

static uint64_t end_second(struct gp_supervisor *k, uint64_t now)
{
	if (!k->second_ns) {
		k->second_ns = now;
		gp_supervise_signal(k->keep, GP_ROLE_SECOND, SIGUSR2);
	} else if (now >= k->second_ns + SECOND_STOP_NS) {
		gp_supervise_signal(k->keep, GP_ROLE_SECOND, SIGKILL);
	}
	return ASK_NS;
}

static uint64_t stopping(struct gp_supervisor *k, uint64_t now)
{
	struct gp_supervision *keep = k->keep;

	if (!k->stop_ns) {
		k->stop_ns = now;
		k->put_back = false;
		gp_notify("STOPPING=1");
	}
	if (gp_supervise_has(keep, GP_ROLE_DAEMON)) {
		if (!k->kill_daemon_ns) {
			k->kill_daemon_ns = now + STOP_NS;
			gp_supervise_signal(keep, GP_ROLE_DAEMON, SIGTERM);
		}
		return kill_late_daemon(k, now);
	}
	if (!is_first(keep) && gp_supervise_has(keep, GP_ROLE_KEEPER))
		return ASK_NS;
	if (!k->put_back && gp_journal_count(keep->setup.journal)) {
		k->put_back = !start_restorer(k, now);
		return ASK_NS;
	}
	if (is_first(keep) && gp_supervise_has(keep, GP_ROLE_SECOND))
		return end_second(k, now);
	gp_rundir_clear(keep->setup.run_dir, keep->setup.activated);
	gp_loop_stop(keep->loop);
	return 0;
}

/* The service manager restarts the service if all three stand still. 0: it does not ask. */
static uint64_t report_alive(struct gp_supervisor *k, uint64_t now)
{
	if (!k->watchdog_ns || !is_first(k->keep))
		return 0;
	if (now >= k->alive_ns) {
		gp_notify("WATCHDOG=1");
		k->alive_ns = now + k->watchdog_ns / 2;
	}
	return k->alive_ns - now;
}

static uint64_t look_after(struct gp_supervision *keep, uint64_t now)
{
	struct gp_supervisor *k = keep->keeper;
	uint64_t late;

	if (k->restorer.fd >= 0)
		return wait_for_restorer(k, now);
	if (gp_journal_stopping(keep->setup.journal))
		return stopping(k, now);
	late = kill_late_daemon(k, now);
	if (is_ready(k)) {
		uint64_t in_ns = ready(k);

		return in_ns ? in_ns : late;
	}
	return unready(k, now);
}

static uint64_t looked(struct gp_supervision *keep)
{
	uint64_t now = gp_loop_now_ns();

	return gp_sooner(report_alive(keep->keeper, now), look_after(keep, now));
}

/* ---- deaths ----------------------------------------------------------------------- */

static void say_death(enum gp_role role, pid_t pid, int status)
{
	const char *name = gp_spawn_names[role];

	if (status == GP_STATUS_UNKNOWN)
		gp_log(GP_LOG_WARN, "the %s (process %d) has ended", name, (int)pid);
	else if (status == GP_STATUS_HANGS)
		gp_log(GP_LOG_ERR,
		       "the %s (process %d) hangs while it ends, and is left to the kernel", name,
		       (int)pid);
	else if (WIFSIGNALED(status))
		gp_log(GP_LOG_WARN, "the %s (process %d) was killed by signal %d", name, (int)pid,
		       WTERMSIG(status));
	else if (WEXITSTATUS(status) == GP_EXIT_BUSY || WEXITSTATUS(status) == GP_EXIT_DONE ||
		 (role == GP_ROLE_DAEMON && (WEXITSTATUS(status) == GP_EXIT_FAILED ||
					     WEXITSTATUS(status) == GP_EXIT_NOT_STARTED)))
		gp_log(GP_LOG_DEBUG, "the %s (process %d) has ended", name, (int)pid);
	else
		gp_log(GP_LOG_WARN, "the %s (process %d) ended with status %d", name, (int)pid,
		       WEXITSTATUS(status));
}

/* If the first daemon ever cannot start, no other can. */
static bool is_hopeless(const struct gp_supervisor *k, enum gp_role role, int status)
{
	return role == GP_ROLE_DAEMON && k->start == GP_KEEP_FIRST && !k->was_ready &&
	       status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == GP_EXIT_NOT_STARTED &&
	       !gp_journal_count(k->keep->setup.journal);
}

static void died(struct gp_supervision *keep, enum gp_role role, pid_t pid, int status)
{
	struct gp_supervisor *k = keep->keeper;

	if (role == GP_ROLE_DAEMON) {
		k->put_back = false;
		k->kill_daemon_ns = 0;
	}
	if (gp_journal_stopping(keep->setup.journal))
		return;
	say_death(role, pid, status);
	if (is_hopeless(k, role, status)) {
		k->status = GP_EXIT_FAILED;
		gp_journal_stop(keep->setup.journal, true);
	}
}

/* ---- requests ----------------------------------------------------------------------- */

/* For a request to any process: the first keeper acts, or the second if there is none. */
static void stop(struct gp_supervisor *k, int number)
{
	struct gp_supervision *keep = k->keep;

	gp_log(GP_LOG_INFO, "signal %d: restoring all processes, then stopping", number);
	gp_journal_stop(keep->setup.journal, true);
	if (!is_first(keep))
		gp_supervise_signal(keep, GP_ROLE_KEEPER, number);
	gp_supervise_check(keep);
}

static void reload(struct gp_supervisor *k)
{
	const struct gp_supervise_setup *setup = &k->keep->setup;
	struct gp_config *config;
	char why[GP_CONFIG_WHY_LEN];

	/* The daemon reports an invalid file and keeps its configuration. */
	if (setup->config_path && !gp_config_load(setup->config_path, &config, why, sizeof(why))) {
		gp_daemon_log_level(config->log_level);
		gp_rundir_keep_config(setup->run_dir, config);
		gp_config_free(config);
	}
	gp_supervise_signal(k->keep, GP_ROLE_DAEMON, SIGHUP);
}

static void upgrade(struct gp_supervisor *k)
{
	const struct gp_supervise_setup *setup = &k->keep->setup;
	int err;

	if (!is_first(k->keep)) {
		gp_loop_stop(k->keep->loop);
		return;
	}
	if (gp_journal_stopping(setup->journal) || k->restorer.fd >= 0) {
		gp_log(GP_LOG_WARN, "upgrade refused: a stop or a restore is under way; retry");
		return;
	}
	gp_log(GP_LOG_INFO, "upgrade to %s", setup->program);
	/* The new program may take seconds to answer. */
	gp_supervise_rest(k->keep);
	err = gp_spawn_successor(setup);
	gp_log(GP_LOG_ERR, "upgrade refused: %s: %s", setup->program,
	       err == -EBADMSG ? "it cannot read this journal: stop gpreemptd, then start it" :
				 strerror(-err));
	gp_supervise_check(k->keep);
}

/* Process 1 of a container becomes the parent of orphans. */
static void reap_orphans(const struct gp_supervisor *k)
{
	siginfo_t info = { 0 };

	while (getpid() == 1 && !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid) {
		for (enum gp_role role = 0; role < GP_ROLES; role++)
			if (k->keep->other[role].pid == info.si_pid)
				return;
		if (info.si_pid == k->restorer_pid && k->restorer.fd >= 0)
			return;
		waitpid(info.si_pid, NULL, WNOHANG);
		info.si_pid = 0;
	}
}

static void signal_ready(struct gp_source *source, uint32_t events)
{
	struct gp_supervisor *k = gp_holder(source, struct gp_supervisor, signals);
	struct signalfd_siginfo info;

	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGTERM:
	case SIGINT:
		stop(k, (int)info.ssi_signo);
		break;
	case SIGHUP:
		reload(k);
		break;
	case SIGUSR2:
		upgrade(k);
		break;
	case SIGCHLD:
		reap_orphans(k);
		break;
	case SIGWINCH:
		gp_supervise_check(k->keep);
		break;
	}
}

static int listen_to_signals(struct gp_supervisor *k, struct gp_loop *loop)
{
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGWINCH);
	k->signals.ready = signal_ready;
	k->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (k->signals.fd < 0)
		return -errno;
	err = gp_loop_add(loop, &k->signals, EPOLLIN);
	if (err)
		close(k->signals.fd);
	return err;
}

/* ---- its main loop ---------------------------------------------------------------- */

/* The daemon first; the second is replaced once another daemon watches. */
static void begin(struct gp_supervisor *k)
{
	struct gp_supervision *keep = k->keep;

	if (k->start == GP_KEEP_ANEW && is_first(keep))
		gp_notify("MAINPID=%d", (int)getpid());
	if (k->start != GP_KEEP_UPGRADED)
		return;
	k->replace = true;
	k->epoch = gp_journal_epoch(keep->setup.journal);
	k->kill_daemon_ns = gp_loop_now_ns() + REPLACE_NS;
	gp_supervise_signal(keep, GP_ROLE_DAEMON, SIGUSR2);
	gp_supervise_check(keep);
}

/* The service manager's limit; 0: none. */
static uint64_t watchdog_ns(void)
{
	const char *text = getenv("WATCHDOG_USEC");

	return text ? strtoull(text, NULL, 10) * 1000u : 0;
}

int gp_supervise_run(struct gp_supervision *keep, enum gp_supervise_start start)
{
	struct gp_supervisor k = { .keep = keep, .start = start, .watchdog_ns = watchdog_ns() };
	struct gp_loop *loop;
	int err = gp_loop_create(&loop);

	if (err)
		return err;
	k.restorer = (struct gp_source){ .fd = -1, .ready = restorer_ended };
	keep->keeper = &k;
	keep->died = died;
	keep->looked = looked;
	err = listen_to_signals(&k, loop);
	if (err)
		goto out;
	err = gp_supervise_watch(keep, loop);
	if (!err) {
		begin(&k);
		err = gp_loop_run(loop);
		gp_supervise_unwatch(keep);
	}
	if (k.restorer.fd >= 0) {
		gp_loop_remove(&k.restorer);
		close(k.restorer.fd);
	}
	gp_loop_remove(&k.signals);
	close(k.signals.fd);
out:
	keep->keeper = NULL;
	gp_loop_destroy(loop);
	return err ? err : k.status;
}
