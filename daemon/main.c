// SPDX-License-Identifier: Apache-2.0
/*
 * main.c - gpreemptd(8): the user starts the keeper; the same program with --role=NAME, which
 * is internal, is one of the others.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config/config.h"
#include "daemon/daemon.h"
#include "daemon/supervise/journal.h"
#include "daemon/supervise/supervise.h"
#include "daemon/loop/log.h"
#include "daemon/pool/keeper.h"
#include "daemon/receive/receiver.h"
#include "daemon/supervise/rundir.h"
#include "daemon/supervise/spawn.h"
#include "runtime/duration.h"
#include "runtime/options.h"
#include "wire/wire.h"

#define DELETED " (deleted)"
#define NO_ROLE (-1)
#define IDLE_MIN_NS 1000000000u
#define IDLE_MAX_NS (86400ull * 1000000000u)
#define FILES 4096u /* more are rarely open; the table takes 33 kB */

enum option_key {
	KEY_CONFIG = 256,
	KEY_CHECK,
	KEY_FOREGROUND,
	KEY_IDLE_EXIT,
	KEY_RUN_DIR,
	/* Internal options. */
	KEY_ROLE,
	KEY_JOURNAL_FD,
	KEY_LISTEN_FD,
	KEY_PROGRAM,
	KEY_ACTIVATED,
	KEY_UPGRADED,
	KEY_RESTORES,
	KEY_TAKES_JOURNAL,
	KEY_RECEIVE,
	KEY_ON_DEMAND,
	KEY_POOL,
};

static const struct argp_option options[] = {
	{ "config", KEY_CONFIG, "FILE", 0, "read FILE instead of " GP_CONFIG_PATH, 0 },
	{ "check-config", KEY_CHECK, "FILE", 0,
	  "check FILE, print its first error or all settings, and exit", 0 },
	{ "foreground", KEY_FOREGROUND, NULL, 0, "stay in the foreground, as always", 0 },
	{ "idle-exit", KEY_IDLE_EXIT, "TIME", 0,
	  "exit after TIME without tenants and connections, as 10s", 0 },
	{ "run-dir", KEY_RUN_DIR, "DIR", 0,
	  "use DIR instead of /run/gpreempt (root) or $XDG_RUNTIME_DIR/gpreempt (user)", 0 },
	{ "role", KEY_ROLE, "NAME", OPTION_HIDDEN, NULL, 0 },
	{ "journal-fd", KEY_JOURNAL_FD, "N", OPTION_HIDDEN, NULL, 0 },
	{ "listen-fd", KEY_LISTEN_FD, "N", OPTION_HIDDEN, NULL, 0 },
	{ "program", KEY_PROGRAM, "PATH", OPTION_HIDDEN, NULL, 0 },
	{ "activated", KEY_ACTIVATED, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "upgraded", KEY_UPGRADED, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "restores", KEY_RESTORES, "N", OPTION_HIDDEN, NULL, 0 },
	{ "takes-journal", KEY_TAKES_JOURNAL, "N", OPTION_HIDDEN, NULL, 0 },
	{ "receive", KEY_RECEIVE, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "on-demand", KEY_ON_DEMAND, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "pool", KEY_POOL, "CLASS", OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

struct options {
	const char *config, *check, *run_dir, *program, *pool;
	int role; /* enum gp_role, GP_SPAWN_RESTORE, NO_ROLE */
	int journal_fd, listen_fd, restores;
	uint64_t idle_ns;
	bool activated, upgraded, on_demand;
};

static uint64_t idle_of(const char *text, struct argp_state *state)
{
	uint64_t ns = 0;

	if (gp_parse_duration(text, &ns) || ns < IDLE_MIN_NS || ns > IDLE_MAX_NS)
		argp_failure(state, GP_EXIT_USAGE, 0,
			     "--idle-exit=%s: write a time from 1s to 86400s", text);
	return ns;
}

static int number_of(const char *text, struct argp_state *state)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (!*text || *end || n < 0 || n > INT_MAX)
		argp_failure(state, GP_EXIT_USAGE, 0, "'%s': not a number", text);
	return (int)n;
}

static int role_of(const char *text, struct argp_state *state)
{
	for (int role = 0; role <= GP_SPAWN_RESTORE; role++)
		if (!strcmp(text, gp_spawn_names[role]))
			return role;
	argp_failure(state, GP_EXIT_USAGE, 0, "'%s': no such role", text);
	return NO_ROLE;
}

static error_t parse_own(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_ROLE:
		o->role = role_of(arg, state);
		return 0;
	case KEY_JOURNAL_FD:
		o->journal_fd = number_of(arg, state);
		return 0;
	case KEY_LISTEN_FD:
		o->listen_fd = number_of(arg, state);
		return 0;
	case KEY_RESTORES:
		o->restores = number_of(arg, state);
		return 0;
	case KEY_PROGRAM:
		o->program = arg;
		return 0;
	case KEY_ACTIVATED:
		o->activated = true;
		return 0;
	case KEY_UPGRADED:
		o->upgraded = true;
		return 0;
	case KEY_ON_DEMAND:
		o->on_demand = true;
		return 0;
	case KEY_POOL:
		o->pool = arg;
		return 0;
	case KEY_RECEIVE:
		exit(gp_receiver_run(GP_RECEIVER_FD));
	case KEY_TAKES_JOURNAL:
		exit(number_of(arg, state) == (int)GP_JOURNAL_VERSION ? 0 : GP_EXIT_FAILED);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_CONFIG:
		o->config = arg;
		return 0;
	case KEY_CHECK:
		o->check = arg;
		return 0;
	case KEY_FOREGROUND:
		return 0;
	case KEY_IDLE_EXIT:
		o->idle_ns = idle_of(arg, state);
		return 0;
	case KEY_RUN_DIR:
		o->run_dir = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_failure(state, GP_EXIT_USAGE, 0,
			     "'%s': unexpected argument; write options only", arg);
		return 0;
	default:
		return parse_own(key, arg, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Share GPUs between latency-critical and best-effort processes.\vSIGHUP: reload the "
	       "configuration. SIGTERM: restore all processes and exit. See gpreemptd(8).",
};

/* ---- preparation ----------------------------------------------------------------- */

/* A file opened as 0 to 2 would receive output for a terminal. */
static void open_standard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	else
		gp_log_shortage(-errno, "cannot open /dev/null");
}

/* All roles read them from a signalfd. */
static void block_signals(void)
{
	static const int taken[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGCHLD, SIGWINCH };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* The started path, where an upgrade puts the next program. */
static const char *own_path(char path[PATH_MAX])
{
	const size_t cut = strlen(DELETED);
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (n < 0)
		return NULL;
	path[n] = '\0';
	if ((size_t)n > cut && !strcmp(path + (size_t)n - cut, DELETED))
		path[(size_t)n - cut] = '\0';
	return path;
}

/* ---- the configuration ---------------------------------------------------------- */

static int check_config(const char *path)
{
	char why[GP_CONFIG_WHY_LEN];
	struct gp_config *config;
	int err = gp_config_load(path, &config, why, sizeof(why));

	if (err) {
		fprintf(stderr, "%s\n", why);
		return GP_EXIT_CONFIG;
	}
	err = gp_config_print(config, stdout);
	gp_config_free(config);
	if (fflush(stdout) || err) {
		fprintf(stderr, "gpreemptd: cannot write standard output: %s\n", strerror(errno));
		return GP_EXIT_FAILED;
	}
	return GP_EXIT_DONE;
}

/* A given file must exist. */
static const char *config_path(const struct options *o)
{
	if (o->config)
		return o->config;
	return access(GP_CONFIG_PATH, F_OK) ? NULL : GP_CONFIG_PATH;
}

static int load_config(const char *path, struct gp_config **config)
{
	char why[GP_CONFIG_WHY_LEN] = "out of memory";
	int err = path ? gp_config_load(path, config, why, sizeof(why)) : gp_config_default(config);

	if (err)
		gp_log(GP_LOG_ERR, "%s", why);
	return err;
}

/* An invalid file is no reason to stop serving tenants. */
static int load_config_again(const struct gp_supervise_setup *setup, struct gp_config **config)
{
	char why[GP_CONFIG_WHY_LEN];

	if (!load_config(setup->config_path, config))
		return 0;
	if (gp_rundir_load_config(setup->run_dir, config, why, sizeof(why)))
		return -EINVAL;
	gp_log(GP_LOG_WARN, "using the last valid configuration; fix the file, then send SIGHUP");
	return 0;
}

/* The level of the configuration in use. */
static int level_in_use(const char *run_dir)
{
	char why[GP_CONFIG_WHY_LEN];
	struct gp_config *config;
	int level, err;

	err = gp_rundir_load_config(run_dir, &config, why, sizeof(why));
	/* It goes at the end of all. */
	if (err && err != -ENOENT)
		gp_log(GP_LOG_WARN, "%s; log_level: info is in use", why);
	if (err)
		return GP_LOG_INFO;
	level = config->log_level;
	gp_config_free(config);
	return level;
}

/* ---- the roles ------------------------------------------------------------------- */

static int keep(const struct gp_supervise_setup *setup, enum gp_supervise_start start)
{
	struct gp_supervision *k;
	int r = gp_supervise_create(setup, &k);

	if (!r) {
		r = gp_supervise_run(k, start);
		gp_supervise_destroy(k);
	}
	if (r < 0) {
		gp_log(GP_LOG_ERR, "startup failed: %s", strerror(-r));
		r = GP_EXIT_FAILED;
	}
	return r;
}

/*
 * Raises the limit of open files as far as it may, and the table of files with it. The kernel
 * enlarges a table that threads share only after a wait for all CPUs (Linux, fs/file.c:
 * expand_fdtable()). One accept4() of a flood of clients took 5.6 ms for that. The
 * table never shrinks, and there is only one thread yet.
 */
static void widen_files(void)
{
	struct rlimit limit;
	int fd;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		getrlimit(RLIMIT_NOFILE, &limit);
	fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC,
		   (int)(limit.rlim_cur < FILES ? limit.rlim_cur : FILES) - 1);
	if (fd >= 0)
		close(fd);
}

static int run_daemon(const struct gp_supervise_setup *setup)
{
	struct gp_daemon_setup daemon = {
		.config_path = setup->config_path,
		.journal = setup->journal,
		.listen_fd = setup->listen_fd,
		.idle_ns = setup->idle_ns,
		.on_demand = setup->on_demand,
	};
	int r;

	/* The end of all began during this start. */
	if (gp_journal_stopping(setup->journal))
		return GP_EXIT_DONE;
	widen_files();
	if (load_config_again(setup, &daemon.config))
		return GP_EXIT_NOT_STARTED;
	gp_daemon_log_level(daemon.config->log_level);
	r = gp_supervise_create(setup, &daemon.keep);
	if (r) {
		gp_log(GP_LOG_ERR, "cannot watch the other roles: %s", strerror(-r));
		gp_config_free(daemon.config);
		return GP_EXIT_NOT_STARTED;
	}
	r = gp_daemon_run(&daemon);
	/* After a signal to end, it must not be restarted. */
	if (!r)
		gp_journal_stop(setup->journal, true);
	gp_supervise_destroy(daemon.keep);
	return !r ? GP_EXIT_DONE : r > 0 ? GP_EXIT_FAILED : GP_EXIT_NOT_STARTED;
}

/* One of the other roles, by the same program. */
static int run_role(const struct options *o)
{
	static const char *const names[] = {
		[GP_ROLE_DAEMON] = "",
		[GP_ROLE_KEEPER] = "keeper: ",
		[GP_ROLE_SECOND] = "second keeper: ",
		[GP_SPAWN_RESTORE] = "restore: ",
	};
	struct gp_supervise_setup setup = {
		.role = (enum gp_role)o->role,
		.run_dir = o->run_dir,
		.config_path = o->config,
		.program = o->program,
		.activated = o->activated,
		.listen_fd = o->listen_fd,
		.restores = (uint32_t)o->restores,
		.idle_ns = o->idle_ns,
		.on_demand = o->on_demand,
	};
	int err;

	/* Started as /proc/self/exe, it would be named "exe" in every list. */
	prctl(PR_SET_NAME, "gpreemptd");
	gp_daemon_log(names[o->role], level_in_use(o->run_dir));
	if (fcntl(o->listen_fd, F_SETFD, FD_CLOEXEC))
		return GP_EXIT_USAGE;
	err = gp_journal_adopt(o->journal_fd, &setup.journal);
	if (err) {
		gp_log(GP_LOG_ERR, "cannot open the journal: %s", strerror(-err));
		return GP_EXIT_NOT_STARTED;
	}
	if (o->role == GP_SPAWN_RESTORE)
		return gp_supervise_restore(&setup);
	err = gp_journal_take(setup.journal, setup.role);
	if (err == -EBUSY)
		return GP_EXIT_BUSY;
	if (err) {
		gp_log(GP_LOG_ERR, "cannot take the role in the journal: %s", strerror(-err));
		return GP_EXIT_NOT_STARTED;
	}
	if (setup.role == GP_ROLE_DAEMON)
		return run_daemon(&setup);
	return keep(&setup, o->upgraded ? GP_KEEP_UPGRADED : GP_KEEP_ANEW);
}

/* Its folder, journal and socket. */
static int open_run_dir(const struct options *o, struct gp_supervise_setup *setup,
			char dir[PATH_MAX])
{
	char why[GP_RUNDIR_WHY_LEN];
	int err = gp_rundir_path(o->run_dir, dir, PATH_MAX, why, sizeof(why));

	setup->run_dir = dir;
	if (!err)
		err = gp_rundir_open(dir, &setup->journal, why, sizeof(why));
	if (!err) {
		setup->listen_fd = gp_rundir_listen(dir, &setup->activated, why, sizeof(why));
		err = setup->listen_fd < 0 ? setup->listen_fd : 0;
		if (err)
			gp_journal_close(setup->journal);
		else
			gp_rundir_share(dir);
	}
	if (err)
		gp_log(GP_LOG_ERR, "%s", why);
	return err;
}

/* @setup has its folder. @config is its. */
static int keep_first(const struct gp_supervise_setup *setup, struct gp_config *config)
{
	gp_daemon_log("keeper: ", config->log_level);
	gp_rundir_keep_config(setup->run_dir, config);
	gp_config_free(config);
	return keep(setup, GP_KEEP_FIRST);
}

static int run_first(const struct options *o)
{
	char program[PATH_MAX], dir[PATH_MAX];
	struct gp_supervise_setup setup = {
		.role = GP_ROLE_KEEPER,
		.config_path = config_path(o),
		.program = own_path(program),
		.idle_ns = o->idle_ns,
	};
	struct gp_config *config;

	if (load_config(setup.config_path, &config))
		return GP_EXIT_CONFIG;
	if (open_run_dir(o, &setup, dir)) {
		gp_config_free(config);
		return GP_EXIT_FAILED;
	}
	return keep_first(&setup, config);
}

/*
 * For a process that needs a daemon, in the user's own folder, root's too: root's processes need
 * no daemon that serves others. Of several at once, one takes the journal's lock, and the others
 * end. Until then there is no place for a message.
 */
static int run_on_demand(const struct options *o)
{
	char program[PATH_MAX], own[GP_WIRE_PATH_LEN], dir[PATH_MAX];
	struct options mine = *o;
	struct gp_supervise_setup setup = {
		.role = GP_ROLE_KEEPER,
		.config_path = config_path(o),
		.program = own_path(program),
		.idle_ns = o->idle_ns,
		.on_demand = true,
	};
	struct gp_config *config;
	int err;

	mine.run_dir = own;
	if (gp_wire_machine_has_daemon())
		return GP_EXIT_DONE;
	if (gp_wire_user_dir(own, sizeof(own)))
		return GP_EXIT_FAILED;
	err = open_run_dir(&mine, &setup, dir);
	if (err)
		return err == -EBUSY ? GP_EXIT_DONE : GP_EXIT_FAILED;
	gp_rundir_log(dir);
	if (load_config(setup.config_path, &config)) {
		gp_rundir_clear(dir, false);
		return GP_EXIT_CONFIG;
	}
	return keep_first(&setup, config);
}

/* The keeper of an MPS pool, which gpreempt run starts. */
static int run_pool(const char *text)
{
	static char prefix[32];
	char program[PATH_MAX];
	struct gp_class_value cls;

	if (gp_class_parse(text, &cls)) {
		fprintf(stderr, "gpreemptd: --pool=%s: no such class\n", text);
		return GP_EXIT_USAGE;
	}
	snprintf(prefix, sizeof(prefix), "pool %s: ", text);
	gp_daemon_log(prefix, GP_LOG_INFO);
	return gp_pool_keep(&cls, own_path(program)) ? GP_EXIT_FAILED : GP_EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct options o = { .role = NO_ROLE, .journal_fd = -1, .listen_fd = -1 };

	gp_daemon_log("", GP_LOG_INFO);
	open_standard();
	argp_program_version = "gpreemptd " GP_VERSION;
	argp_err_exit_status = GP_EXIT_USAGE;
	if (gp_options_check("gpreemptd", options, argc, argv))
		return GP_EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.check)
		return check_config(o.check);
	umask(022);
	block_signals();
	if (o.pool)
		return run_pool(o.pool);
	if (o.role != NO_ROLE)
		return run_role(&o);
	return o.on_demand ? run_on_demand(&o) : run_first(&o);
}
