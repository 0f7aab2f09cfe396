// SPDX-License-Identifier: Apache-2.0
#include "daemon/pool/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/loop/loop.h"
#include "daemon/pool/link.h"
#include "daemon/pool/mps.h"
#include "runtime/log.h"
#include "wire/pool.h"

#define LOOK_NS 1000000000u  /* between looks at MPS */
#define SOON_NS 100000000u   /* the same, after a change of its clients: their work begins soon */
#define IDLE_NS 5000000000u  /* without a process that uses it, it ends */
#define FAULT_NS 1000000000u /* until clients of a server with a fault are ended */
#define END_NS 5000000000u   /* from the command to end to an end by force */
#define STARTS_MAX 3	     /* failed starts in a row */
#define LOST_GUARD 1

struct keeper {
	char dir[GP_POOL_DIR_LEN];
	struct gp_pool_link link;
	int lock; /* the keeper's file, which has the guard's PID */
	pid_t guard;
	pid_t control, server;
	uint64_t fault_ns, used_ns; /* first seen, last seen; 0: not */
	uint64_t look_ns;	    /* until the next look */
	bool ended;		    /* by a signal */
};

static void path_of(const struct keeper *k, const char *name, char path[GP_POOL_FILE_LEN])
{
	snprintf(path, GP_POOL_FILE_LEN, "%s/%s", k->dir, name);
}

static void remove_file(const struct keeper *k, const char *name)
{
	char path[GP_POOL_FILE_LEN];

	path_of(k, name, path);
	unlink(path);
}

static void nap(uint64_t ns)
{
	const struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000),
				     .tv_nsec = (long)(ns % 1000000000) };

	nanosleep(&ts, NULL);
}

/* ---- the control daemon ----------------------------------------------------------- */

/* The number that it leaves beside its pipes; 0: none. */
static pid_t control_pid(const struct keeper *k)
{
	char path[GP_POOL_FILE_LEN];
	FILE *f;
	int pid = 0;

	path_of(k, GP_POOL_PIPES "/" GP_POOL_CONTROL ".pid", path);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return gp_mps_is(pid) ? pid : 0;
}

/* MPS's daemons become this process's children, and so does a gpreemptd. */
static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Wait for its end, then end it by force. */
static void await_end(pid_t pid)
{
	const uint64_t until_ns = gp_loop_now_ns() + END_NS;

	while (gp_mps_is(pid) && gp_loop_now_ns() < until_ns) {
		reap();
		nap(20000000);
	}
	gp_mps_kill(pid);
}

/* What is left of a control daemon that does not answer. */
static void clear_mps(struct keeper *k)
{
	k->control = k->control ? k->control : control_pid(k);
	gp_mps_kill(k->control);
	gp_mps_kill(k->server);
	k->control = k->server = 0;
	remove_file(k, GP_POOL_PIPES "/" GP_POOL_CONTROL ".pid");
	remove_file(k, GP_POOL_PIPES "/control");
}

static bool answers(struct keeper *k)
{
	char answer[GP_MPS_TEXT];

	return !gp_mps_ask("get_server_list", answer);
}

static bool runs(struct keeper *k)
{
	k->control = control_pid(k);
	return k->control && answers(k);
}

/* It answers some time after it has started. */
static bool begins(struct keeper *k)
{
	const uint64_t until_ns = gp_loop_now_ns() + END_NS;
	bool is;

	while (!(is = runs(k)) && gp_loop_now_ns() < until_ns)
		nap(50000000);
	return is;
}

/* One that runs already, of an earlier keeper, goes on. */
static int start_mps(struct keeper *k)
{
	int err = 0;

	if (runs(k))
		return 0;
	for (int i = 0; i < STARTS_MAX && !k->ended; i++) {
		clear_mps(k);
		err = gp_mps_start();
		if (!err && begins(k))
			return 0;
		gp_log(GP_LOG_WARN, "%s -d: %s", gp_pool_control(),
		       err == -EIO ? "failed" :
		       err	   ? strerror(-err) :
				     "it does not answer");
	}
	return err ? err : -EIO;
}

static void stop_mps(struct keeper *k)
{
	char answer[GP_MPS_TEXT];

	gp_mps_ask("quit -t 1", answer);
	await_end(k->control);
	await_end(k->server);
}

/* ---- the server ------------------------------------------------------------------ */

/*
 * After a fault MPS ends the work of all clients, and takes no new ones until these have ended. A
 * client may ignore the error, and so they are ended here.
 */
static void watch_fault(struct keeper *k)
{
	char command[64], answer[GP_MPS_TEXT];
	const uint64_t now_ns = gp_loop_now_ns();

	snprintf(command, sizeof(command), "get_server_status %d", (int)k->server);
	if (gp_mps_ask(command, answer) || !strstr(answer, "FAULT")) {
		k->fault_ns = 0;
		return;
	}
	if (!k->fault_ns) {
		k->fault_ns = now_ns;
		gp_log(GP_LOG_WARN, "a client of MPS server %d had a fault; its clients end",
		       (int)k->server);
		return;
	}
	if (now_ns < k->fault_ns + FAULT_NS)
		return;
	snprintf(command, sizeof(command), "shutdown_server %d -f", (int)k->server);
	if (gp_mps_ask(command, answer) || now_ns > k->fault_ns + 2 * (uint64_t)FAULT_NS)
		gp_mps_kill(k->server);
}

/* Return: the number of its clients; negative errno: MPS does not answer. */
static ssize_t watch_server(struct keeper *k)
{
	pid_t client[GP_WIRE_POOL_MAX], before = k->server, now = 0;
	char command[64];
	ssize_t n = gp_mps_pids("get_server_list", &now, 1);

	if (n < 0)
		return n;
	k->server = now;
	if (before && k->server != before)
		gp_log(GP_LOG_INFO, "MPS server %d has ended", (int)before);
	if (k->server && k->server != before)
		gp_log(GP_LOG_INFO, "MPS server %d", (int)k->server);
	n = 0;
	if (k->server) {
		watch_fault(k);
		snprintf(command, sizeof(command), "get_client_list %d", (int)k->server);
		n = gp_mps_pids(command, client, GP_WIRE_POOL_MAX);
	}
	/* Not known this time. */
	if (n < 0)
		return 1;
	k->look_ns = gp_pool_link_report(&k->link, k->server, client, (size_t)n) ? SOON_NS :
		     k->look_ns < LOOK_NS / 2					 ? k->look_ns * 2 :
										   LOOK_NS;
	return n;
}

/* ---- the keeper ------------------------------------------------------------------ */

/* Does a process use it? If not, none can begin to until the returned file is closed; else -1. */
static int lock_unused(struct keeper *k)
{
	char path[GP_POOL_FILE_LEN];

	path_of(k, GP_POOL_USED, path);
	return gp_pool_use(path, LOCK_EX | LOCK_NB);
}

static void set_ready(const struct keeper *k)
{
	char path[GP_POOL_FILE_LEN];
	FILE *f;

	path_of(k, GP_POOL_READY, path);
	f = access(path, F_OK) ? fopen(path, "we") : NULL;
	if (f)
		fclose(f);
}

/* A signal that ends the keeper ends the pool. */
static void sleep_until_look(struct keeper *k)
{
	const struct timespec ts = { .tv_sec = (time_t)(k->look_ns / 1000000000),
				     .tv_nsec = (long)(k->look_ns % 1000000000) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	k->ended |= sigtimedwait(&set, NULL, &ts) > 0;
	reap();
}

static bool is_idle(struct keeper *k, bool clients)
{
	const uint64_t now_ns = gp_loop_now_ns();
	int fd = clients ? -1 : lock_unused(k);

	if (fd >= 0)
		close(fd);
	if (fd < 0 || !k->used_ns)
		k->used_ns = now_ns;
	return now_ns >= k->used_ns + IDLE_NS;
}

/* False: it has begun to be used again. */
static bool end_unused(struct keeper *k)
{
	int fd = lock_unused(k);

	if (fd < 0)
		return false;
	remove_file(k, GP_POOL_READY);
	gp_log(GP_LOG_INFO, "no process has used this pool for 5 s; stopping");
	stop_mps(k);
	/* Its successor has no other's folder to clear. */
	close(fd);
	return true;
}

/* 0: it has ended; LOST_GUARD; negative errno. */
static int keep(struct keeper *k)
{
	int err;

	remove_file(k, GP_POOL_READY);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	err = start_mps(k);
	while (!err && !k->ended) {
		ssize_t clients;

		if (getppid() != k->guard)
			return LOST_GUARD;
		set_ready(k);
		clients = watch_server(k);
		if (clients < 0) {
			gp_log(GP_LOG_WARN, "MPS does not answer; restarting it");
			remove_file(k, GP_POOL_READY);
			err = start_mps(k);
		} else if (is_idle(k, clients) && end_unused(k)) {
			return 0;
		} else {
			sleep_until_look(k);
		}
	}
	remove_file(k, GP_POOL_READY);
	if (err)
		gp_log(GP_LOG_ERR, "cannot start MPS: %s", strerror(-err));
	else
		stop_mps(k);
	return err;
}

static int make_dirs(const struct keeper *k)
{
	static const char *const names[] = { GP_POOL_PIPES, GP_POOL_LOGS };
	static const char *const variables[] = { "CUDA_MPS_PIPE_DIRECTORY",
						 "CUDA_MPS_LOG_DIRECTORY" };
	char path[GP_POOL_FILE_LEN];

	for (size_t i = 0; i < 2; i++) {
		path_of(k, names[i], path);
		if ((mkdir(path, 0700) && errno != EEXIST) || setenv(variables[i], path, 1))
			return -errno;
	}
	return 0;
}

/* A signal to the guard is one to the keeper. Return: its exit status; -1: it was killed. */
static int await_keeper(pid_t keeper)
{
	const struct timespec second = { .tv_sec = 1 };
	sigset_t set;
	int status;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	while (!waitpid(keeper, &status, WNOHANG)) {
		const int number = sigtimedwait(&set, NULL, &second);

		if (number == SIGTERM || number == SIGINT)
			kill(keeper, number);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * Two processes: the guard starts a keeper again that was killed, and a keeper whose guard was
 * killed becomes the guard of another one. Both have the lock.
 */
static int guard(struct keeper *k)
{
	for (;;) {
		const pid_t self = getpid();
		pid_t pid;
		int r;

		if (ftruncate(k->lock, 0) || dprintf(k->lock, "%d\n", (int)self) < 0 ||
		    lseek(k->lock, 0, SEEK_SET))
			return -errno;
		pid = fork();
		if (pid < 0)
			return -errno;
		if (!pid) {
			k->guard = self;
			r = keep(k);
			gp_pool_link_close(&k->link);
			if (r != LOST_GUARD)
				_exit(r ? 1 : 0);
			gp_log(GP_LOG_WARN, "the keeper's guard was killed; replacing it");
			continue;
		}
		r = await_keeper(pid);
		if (r >= 0)
			return r ? -EIO : 0;
		gp_log(GP_LOG_WARN, "the keeper was killed; restarting it");
	}
}

/* 0: in a child that is no child of the program that this one becomes; 1: in this one. */
static int detach(void)
{
	const pid_t pid = fork();

	return pid < 0 ? -errno : pid > 0;
}

int gp_pool_keep(const struct gp_class_value *cls, const char *program)
{
	struct keeper k = { .link = { .program = program, .request.cls = *cls, .fd = -1 } };
	char path[GP_POOL_FILE_LEN], text[GP_CLASS_TEXT_LEN];
	int err;

	gp_class_format(cls, text, sizeof(text));
	err = gp_pool_dir(text, k.dir, sizeof(k.dir));
	if (!err)
		err = gp_wire_check_dir(k.dir, 077);
	if (err) {
		gp_log(GP_LOG_ERR, "%s: %s", k.dir, strerror(-err));
		return err;
	}
	path_of(&k, GP_POOL_KEEPER, path);
	k.lock = gp_pool_keep_lock(path);
	if (k.lock == -EAGAIN)
		return 0;
	err = k.lock < 0 ? k.lock : make_dirs(&k);
	if (!err)
		err = detach();
	if (err < 0)
		gp_log(GP_LOG_ERR, "%s: %s", k.dir, strerror(-err));
	return err < 0 ? err : err ? 0 : guard(&k);
}
