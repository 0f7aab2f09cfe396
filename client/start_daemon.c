// SPDX-License-Identifier: Apache-2.0
#include "client/start_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/engine.h"
#include "hal/timer.h"
#include "runtime/log.h"
#include "wire/wire.h"

#define SOON_NS 10000000000u  /* a new daemon takes less, on a busy machine too */
#define AGAIN_NS 60000000000u /* from a start that failed to the next attempt */
#define STACK_BYTES 65536
#define NAMES_MAX 10

/* The daemon's environment. The process's own changes while threads run, and is not for it. */
static const char *const names[NAMES_MAX] = {
	"XDG_RUNTIME_DIR",
	"GPREEMPT_BACKEND",
	"GPREEMPT_SOFTGPU",
	"GPREEMPT_SOFTGPU_LIBDIR",
	"GPREEMPT_SOFTGPU_LOG",
	"GPREEMPT_SOFTGPU_GPUS",
	"GPREEMPT_SOFTGPU_LINK",
	"GPREEMPT_SOFTGPU_MEMORY",
	"LANG",
	"TZ",
};

static struct {
	char *program; /* NULL: none may be started */
	char *env[NAMES_MAX + 1];
	uint64_t started_ns; /* 0: none was, or it was found */
	bool failed;
} starter;

void gp_start_daemon_setup(void)
{
	const char *program = secure_getenv(GP_START_DAEMON_ENV), *named;
	size_t n = 0;

	named = secure_getenv("GPREEMPT_DAEMON");
	if (!program || *program != '/' || (named && *named) || starter.program)
		return;
	for (size_t i = 0; i < NAMES_MAX; i++) {
		const char *value = secure_getenv(names[i]);

		if (value && asprintf(&starter.env[n], "%s=%s", names[i], value) >= 0)
			n++;
	}
	starter.env[n] = NULL;
	starter.program = strdup(program);
}

/* ---- the start -------------------------------------------------------------------- */

struct child {
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int err;
};

/*
 * In a process between this one and the daemon. It ends at once, so that the daemon is no child of
 * the application's. It shares the memory of this process, whose thread sleeps meanwhile.
 */
static int spawn(void *arg)
{
	static char idle[] = "--idle-exit=" GP_START_DAEMON_IDLE, demand[] = "--on-demand";
	struct child *c = arg;
	char *const argv[] = { starter.program, demand, idle, NULL };
	pid_t pid;

	c->err = -posix_spawn(&pid, starter.program, &c->files, &c->attr, argv, starter.env);
	return 0;
}

static int prepare(struct child *c)
{
	sigset_t none, all;
	int err = posix_spawnattr_init(&c->attr);

	if (err)
		return -err;
	err = posix_spawn_file_actions_init(&c->files);
	if (err) {
		posix_spawnattr_destroy(&c->attr);
		return -err;
	}
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&c->attr, &none);
	posix_spawnattr_setsigdefault(&c->attr, &all);
	posix_spawnattr_setflags(&c->attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						   POSIX_SPAWN_SETSID);
	/* A reader of the application's output waits for its end, not for the daemon's. */
	for (int fd = 0; fd <= STDERR_FILENO && !err; fd++)
		err = posix_spawn_file_actions_addopen(&c->files, fd, "/dev/null", O_RDWR, 0);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&c->files, STDERR_FILENO + 1);
	if (!err)
		err = posix_spawn_file_actions_addchdir_np(&c->files, "/");
	return -err;
}

/*
 * A child without an exit signal: the application gets no SIGCHLD from it, and cannot wait for it
 * by mistake.
 */
static int start(void)
{
	struct child c = { 0 };
	char *stack = malloc(STACK_BYTES);
	int err = stack ? prepare(&c) : -ENOMEM;
	pid_t pid = -1;

	if (err) {
		free(stack);
		return err;
	}
	pid = clone(spawn, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, &c);
	err = pid < 0 ? -errno : 0;
	while (!err && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	posix_spawn_file_actions_destroy(&c.files);
	posix_spawnattr_destroy(&c.attr);
	free(stack);
	return err ? err : c.err;
}

/* Another user may have made the folder that this user's daemon needs. */
static int check_place(char dir[GP_WIRE_PATH_LEN])
{
	int err = gp_wire_user_dir(dir, GP_WIRE_PATH_LEN);

	if (!err)
		err = gp_wire_check_dir(dir, 077);
	return err == -ENOENT ? 0 : err;
}

/* ---- when --------------------------------------------------------------------------- */

static bool first(uint64_t now_ns)
{
	char dir[GP_WIRE_PATH_LEN] = "";
	int err = check_place(dir);

	if (err) {
		gp_log(GP_LOG_WARN,
		       "cannot start gpreemptd for several best-effort processes: %s: %s; make it "
		       "a "
		       "directory of this user with mode 700, or set XDG_RUNTIME_DIR",
		       dir, strerror(-err));
	} else {
		err = start();
		if (err)
			gp_log(GP_LOG_WARN,
			       "cannot start gpreemptd for several best-effort processes: %s: %s",
			       starter.program, strerror(-err));
	}
	starter.failed = err;
	starter.started_ns = now_ns;
	return !err;
}

bool gp_start_daemon(void)
{
	const uint64_t now_ns = gp_wall_ns();
	char dir[GP_WIRE_PATH_LEN] = "";

	if (!starter.program)
		return false;
	if (!starter.started_ns || now_ns >= starter.started_ns + AGAIN_NS)
		return first(now_ns);
	if (starter.failed || now_ns < starter.started_ns + SOON_NS)
		return !starter.failed;
	starter.failed = true;
	gp_wire_user_dir(dir, sizeof(dir));
	gp_log(GP_LOG_WARN, "gpreemptd was started, but does not answer; see %s/gpreemptd.log",
	       dir);
	return false;
}

void gp_start_daemon_found(void)
{
	starter.started_ns = 0;
	starter.failed = false;
}
