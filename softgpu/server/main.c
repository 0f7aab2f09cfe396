// SPDX-License-Identifier: Apache-2.0
/*
 * gpreempt-softgpud - the software GPU. The first client starts it if none runs, and holds a
 * lock meanwhile. The program returns when it listens, and continues in the background until
 * the last client has been gone for two seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "softgpu/server/server.h"
#include "softgpu/softgpu.h"

#define LOG_ENV "GPREEMPT_SOFTGPU_LOG"
#define FAULTS_ENV "GPREEMPT_SOFTGPU_FAULTS"
#define LINK_ENV "GPREEMPT_SOFTGPU_LINK"     /* MB/s */
#define MEMORY_ENV "GPREEMPT_SOFTGPU_MEMORY" /* MiB */
#define NUMBER_MAX 1000000u

static int fail(const char *what, const char *object)
{
	fprintf(stderr, "gpreempt-softgpud: %s %s: %s\n", what, object, strerror(errno));
	return 1;
}

static int listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	/* Our starter holds the lock, and found no server. */
	unlink(path);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 128)) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

/* FNV-1a: servers at other paths have other ids, and a restarted one has its own again. */
static uint32_t id_of(const char *path)
{
	uint32_t id = 2166136261u;

	for (; *path; path++)
		id = (id ^ (unsigned char)*path) * 16777619u;
	return id;
}

static void detach(void)
{
	const char *log = getenv(LOG_ENV);
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		dup2(fd, 0);
		dup2(fd, 1);
		dup2(fd, 2);
	}
	if (log) {
		fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (fd >= 0)
			dup2(fd, 2);
	}
	setsid();
	if (chdir("/"))
		_exit(1);
}

/* Leaves only if no client is connecting: the lock keeps starters out. */
static bool may_leave(struct soft_server *s, const char *path)
{
	char lock[256];
	int fd;

	snprintf(lock, sizeof(lock), "%s.lock", path);
	fd = open(lock, O_RDWR | O_CLOEXEC | O_CREAT, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB)) {
		if (fd >= 0)
			close(fd);
		return fd < 0;
	}
	soft_accept(s);
	if (s->conns) {
		close(fd);
		return false;
	}
	unlink(path);
	return true;
}

/* 1, or GPREEMPT_SOFTGPU_GPUS; 0: its value is invalid. */
static uint32_t gpus_wanted(void)
{
	const char *text = getenv(GP_SOFT_ENV_GPUS);

	if (!text || !*text)
		return 1;
	return text[0] >= '1' && text[0] <= '0' + (char)GP_SOFT_GPUS_MAX && !text[1] ?
		       (uint32_t)(text[0] - '0') :
		       0;
}

/* A number from the environment, in units of @unit; 0: not set. False: its value is invalid. */
static bool number_wanted(const char *name, uint64_t unit, uint64_t *value)
{
	const char *text = getenv(name);
	char *end;
	unsigned long long n;

	*value = 0;
	if (!text || !*text)
		return true;
	errno = 0;
	n = strtoull(text, &end, 10);
	*value = n * unit;
	if (text[0] >= '1' && text[0] <= '9' && !*end && !errno && n <= NUMBER_MAX)
		return true;
	fprintf(stderr, "gpreempt-softgpud: %s=%s: not a number from 1 to %u\n", name, text,
		NUMBER_MAX);
	return false;
}

static int serve(int fd, const char *path, const struct soft_options *options)
{
	struct soft_server *s = soft_server_create(fd, options);

	if (!s)
		return 1;
	do {
		soft_loop(s);
	} while (!may_leave(s, path));
	soft_server_destroy(s);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	const char *path = argv[argc - 1];
	struct soft_options options = { .gpus = gpus_wanted(), .faults = getenv(FAULTS_ENV) };
	pid_t pid;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "usage: gpreempt-softgpud SOCKET\n");
		return 1;
	}
	if (path[0] != '/') {
		errno = EINVAL;
		return fail("cannot listen at relative path", path);
	}
	options.id = id_of(path);
	if (!options.gpus) {
		fprintf(stderr,
			"gpreempt-softgpud: " GP_SOFT_ENV_GPUS
			"=%s: wrong number of GPUs; write 1 to %u\n",
			getenv(GP_SOFT_ENV_GPUS), GP_SOFT_GPUS_MAX);
		return 1;
	}
	if (!number_wanted(MEMORY_ENV, 1u << 20, &options.memory_bytes) ||
	    !number_wanted(LINK_ENV, 1, &options.copy_bytes_per_us))
		return 1;
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	fd = listen_at(path);
	if (fd < 0)
		return fail("cannot listen at", path);
	pid = fork();
	if (pid < 0)
		return fail("cannot fork for", path);
	if (pid)
		return 0;
	detach();
	return serve(fd, path, &options);
}
