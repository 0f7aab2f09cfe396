// SPDX-License-Identifier: Apache-2.0
#include "cli/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/text.h"
#include "hal/timer.h"
#include "wire/pool.h"

#define WAIT_NS 30000000000u /* for a pool to begin; a busy machine is slow */
#define NAP_NS 20000000
#define FIRST_FD 64 /* beyond the numbers that a shell's script uses */

int gp_pool_parse(struct gp_pool_args *args, const char *text)
{
	char *end = NULL;
	unsigned long n = 0;

	args->wanted = true;
	if (!text)
		return 0;
	if (*text >= '0' && *text <= '9')
		n = strtoul(text, &end, 10);
	if (!n || *end || n > 100) {
		gp_fail("run: --pool=%s: not a percentage; write a number from 1 to 100", text);
		return GP_ARGS_SAID;
	}
	args->percent = (uint32_t)n;
	return 0;
}

void gp_pool_follow(struct gp_pool_args *args, const struct gp_wire_ruled *ruled)
{
	if (args->no_daemon || args->memory || args->wanted || !ruled->pool)
		return;
	args->wanted = args->by_rule = true;
	args->percent = ruled->percent;
}

/* ---- can there be one? -------------------------------------------------------------- */

/* The reason and the next step; NULL: it can. */
static const char *why_not(const struct gp_pool_args *args, const char *class_text,
			   struct gp_class_value *cls)
{
	const bool named = strcmp(gp_pool_control(), GP_POOL_CONTROL) != 0;
	const char *daemon = getenv("GPREEMPT_DAEMON");
	char path[PATH_MAX], why[GP_WHY_LEN];
	struct gp_device *dev;
	bool soft, amd;

	if (gp_class_parse(class_text, cls))
		return "deadlines and caps are not for a pool; write a class without them";
	if (args->memory)
		return "memory leaves the device with --mem or --idle-out, and a pool's clients "
		       "share theirs; write one of both";
	if (args->no_daemon)
		return "a pool needs gpreemptd; leave out --no-daemon";
	if (daemon && !strcmp(daemon, "none"))
		return "a pool needs gpreemptd; unset GPREEMPT_DAEMON";
	if (gp_path_daemon(path, sizeof(path)))
		return "gpreemptd, which keeps the pool, not found; run make install";
	if (gp_device_open(getenv("GPREEMPT_DEVICE"), &dev, why, sizeof(why)))
		return "no GPU";
	soft = gp_device_is_soft(dev) && !named;
	amd = !strcmp(dev->ops->name, "amd");
	gp_device_close(dev);
	if (soft)
		return "the software GPU has no MPS; write --class alone";
	if (amd)
		return "MPS is NVIDIA's, and AMD has none; write --class alone";
	if (!gp_path_is_program(gp_pool_control()))
		return named ? "the program that " GP_POOL_CONTROL_ENV
			       " names is not executable; correct it, or unset it" :
			       GP_POOL_CONTROL " not found in PATH; install NVIDIA's package that "
					       "has it, or write --class alone";
	return NULL;
}

/* ---- the keeper ------------------------------------------------------------------ */

struct pool {
	const char *cls;
	char dir[GP_POOL_DIR_LEN];
};

static const char *path_of(const struct pool *p, const char *name, char path[GP_POOL_FILE_LEN])
{
	snprintf(path, GP_POOL_FILE_LEN, "%s/%s", p->dir, name);
	return path;
}

static int make_dir(const char *path)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	return gp_wire_check_dir(path, 077);
}

static int make_dirs(struct pool *p)
{
	char user[GP_WIRE_PATH_LEN];
	int err = gp_wire_user_dir(user, sizeof(user));

	if (!err)
		err = make_dir(user);
	if (!err)
		err = gp_pool_dir(p->cls, p->dir, sizeof(p->dir));
	if (!err)
		err = make_dir(p->dir);
	return err;
}

/* MPS is no program under gpreempt, and serves programs with other settings, too. */
static char **keeper_environment(void)
{
	static const char *const left_out[] = { "CUDA_", "LD_PRELOAD=", "GPREEMPT_CLASS=",
						"GPREEMPT_CHAIN_INJECTION=", "GPREEMPT_DEVICE=" };
	size_t count = 0, n = 0;
	char **env;

	while (environ[count])
		count++;
	env = calloc(count + 1, sizeof(*env));
	for (size_t i = 0; env && i < count; i++) {
		bool out = false;

		for (size_t j = 0; j < sizeof(left_out) / sizeof(left_out[0]); j++)
			out |= !strncmp(environ[i], left_out[j], strlen(left_out[j]));
		if (!out)
			env[n++] = environ[i];
	}
	return env;
}

/* Without the file's lock, so that the keeper sees this process's alone. */
static int spawn_keeper(const struct pool *p)
{
	char program[PATH_MAX], path[GP_POOL_FILE_LEN], option[64];
	char *const argv[] = { program, option, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	GP_FREE char **env = keeper_environment();
	pid_t pid;
	int err = env ? gp_path_daemon(program, sizeof(program)) : -ENOMEM;

	if (err)
		return err;
	snprintf(option, sizeof(option), "--pool=%s", p->cls);
	path_of(p, GP_POOL_LOG, path);
	err = posix_spawn_file_actions_init(&files);
	if (err)
		return -err;
	err = posix_spawnattr_init(&attr);
	if (err) {
		posix_spawn_file_actions_destroy(&files);
		return -err;
	}
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
	for (int fd = 0; fd < STDERR_FILENO && !err; fd++)
		err = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	if (!err)
		err = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, path,
						       O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
						       0600);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	if (!err)
		err = posix_spawn_file_actions_addchdir_np(&files, "/");
	if (!err)
		err = posix_spawn(&pid, program, &files, &attr, argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	/* It ends once the keeper has begun, which is then no child of CMD's. */
	while (!err && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return -err;
}

static bool has_keeper(const struct pool *p)
{
	char path[GP_POOL_FILE_LEN];

	return gp_pool_is_kept(path_of(p, GP_POOL_KEEPER, path));
}

/* The last line of its log. */
static void read_log(const struct pool *p, char *line, size_t len)
{
	char path[GP_POOL_FILE_LEN], next[512];
	FILE *f = fopen(path_of(p, GP_POOL_LOG, path), "re");

	snprintf(line, len, "no message");
	while (f && fgets(next, sizeof(next), f)) {
		next[strcspn(next, "\n")] = '\0';
		snprintf(line, len, "%s", next);
	}
	if (f)
		fclose(f);
}

static int fail_start(const struct pool *p, int err)
{
	char line[512];

	if (err)
		return gp_fail("run: --pool: cannot start gpreemptd: %s", strerror(-err));
	read_log(p, line, sizeof(line));
	return gp_fail("run: --pool: the pool does not begin: %s; see %s/" GP_POOL_LOG
		       " and %s/" GP_POOL_LOGS,
		       gp_printable(line), p->dir, p->dir);
}

/* A keeper that cannot start ends soon. */
static int await_ready(const struct pool *p, int err)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	const uint64_t began_ns = gp_wall_ns();
	char path[GP_POOL_FILE_LEN];
	bool kept = false;

	path_of(p, GP_POOL_READY, path);
	while (!err && gp_wall_ns() < began_ns + WAIT_NS) {
		const bool has = has_keeper(p);

		if (has && !access(path, F_OK))
			return 0;
		/* It began, and has ended; or it never did. */
		if (!has && (kept || gp_wall_ns() > began_ns + WAIT_NS / 3))
			break;
		kept |= has;
		nanosleep(&nap, NULL);
	}
	return fail_start(p, err);
}

/* One line on the price, with the first process. */
static int start(const struct pool *p)
{
	char path[GP_POOL_FILE_LEN];

	if (has_keeper(p))
		return await_ready(p, 0);
	unlink(path_of(p, GP_POOL_READY, path));
	gp_note("run: pool %s: a fault of one client ends all, and one's memory is missing to all; "
		"%s",
		p->cls, p->dir);
	return await_ready(p, spawn_keeper(p));
}

/* ---- entering ---------------------------------------------------------------------- */

static int set_environment(const struct pool *p, uint32_t percent)
{
	char path[GP_POOL_FILE_LEN], number[16];

	snprintf(number, sizeof(number), "%u", percent);
	/* It has no partitions of its own. */
	unsetenv("CUDA_MPS_SM_PARTITION");
	return setenv("CUDA_MPS_PIPE_DIRECTORY", path_of(p, GP_POOL_PIPES, path), 1) ||
	       setenv("CUDA_MPS_LOG_DIRECTORY", path_of(p, GP_POOL_LOGS, path), 1) ||
	       (percent && setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", number, 1));
}

/* CMD and its children inherit the file, and with it the lock. */
static int use(const struct pool *p)
{
	char path[GP_POOL_FILE_LEN];
	int fd = gp_pool_use(path_of(p, GP_POOL_USED, path), LOCK_SH), high;

	if (fd < 0)
		return fd;
	high = fcntl(fd, F_DUPFD, FIRST_FD);
	close(fd);
	return high < 0 ? -errno : 0;
}

int gp_pool_enter(const struct gp_pool_args *args, const char *class_text)
{
	char cls[GP_CLASS_TEXT_LEN];
	struct pool p = { .cls = cls };
	struct gp_class_value value;
	const char *why = why_not(args, class_text, &value);
	int err;

	/* Outside a pool, the program gets another class. A pool's is that of all its clients. */
	if (!why && *args->refusal)
		return gp_fail("run: --pool: gpreemptd refused the class: %s", args->refusal);
	if (why && !args->by_rule)
		return gp_fail("run: --pool: %s", why);
	if (why) {
		gp_note("run: no pool, although a rule of gpreemptd's wants one: %s", why);
		return 0;
	}
	gp_class_format(&value, cls, sizeof(cls));
	err = make_dirs(&p);
	if (!err)
		err = use(&p);
	if (err)
		return gp_fail("run: --pool: %s: %s; make it a directory of this user with mode "
			       "700, or set XDG_RUNTIME_DIR",
			       p.dir, strerror(-err));
	err = start(&p);
	if (!err && set_environment(&p, args->percent))
		err = gp_fail("run: cannot set the environment: %s", strerror(errno));
	return err;
}
