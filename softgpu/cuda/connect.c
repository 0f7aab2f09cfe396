// SPDX-License-Identifier: Apache-2.0
/*
 * connect.c - connections to the server: one per thread, made at its first call. The server is
 * a program beside this library, and starts if none runs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softgpu/cuda/face.h"

#define SOCKETS_MAX 1024u
#define ATTEMPTS 20

extern char **environ;

/* Open connections, for a fork's child to close. */
static int sockets[SOCKETS_MAX];
atomic_uint face_server_id;
static pthread_mutex_t sockets_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local int thread_sock; /* fd + 1 */

static void sockets_add(int fd)
{
	pthread_mutex_lock(&sockets_lock);
	for (unsigned int i = 0; i < SOCKETS_MAX; i++) {
		if (sockets[i])
			continue;
		sockets[i] = fd + 1;
		break;
	}
	pthread_mutex_unlock(&sockets_lock);
}

void face_disconnect(int fd)
{
	pthread_mutex_lock(&sockets_lock);
	for (unsigned int i = 0; i < SOCKETS_MAX; i++)
		if (sockets[i] == fd + 1)
			sockets[i] = 0;
	pthread_mutex_unlock(&sockets_lock);
	close(fd);
}

static void thread_end(void *value)
{
	thread_sock = 0;
	face_disconnect((int)(intptr_t)value - 1);
}

/* A child closes the parent's connections. Otherwise the server would count the parent as alive. */
static void fork_child(void)
{
	pthread_mutex_init(&sockets_lock, NULL);
	for (unsigned int i = 0; i < SOCKETS_MAX; i++) {
		if (sockets[i])
			close(sockets[i] - 1);
		sockets[i] = 0;
	}
	thread_sock = 0;
	pthread_setspecific(thread_key, NULL);
}

static void setup(void)
{
	Dl_info info;

	pthread_key_create(&thread_key, thread_end);
	pthread_atfork(NULL, NULL, fork_child);
	/* The key's destructor must outlive a dlclose(). */
	if (dladdr((void *)(uintptr_t)face_connect, &info))
		dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* ---- the server's place ----------------------------------------------------- */

/* Others could put their own server into a directory that they can write to. */
static int own_dir(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	if (lstat(path, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return -EPERM;
	return 0;
}

static int socket_path(char *path, size_t len)
{
	const char *given = getenv(GP_SOFT_ENV_SOCKET);
	const char *run = getenv("XDG_RUNTIME_DIR");
	char dir[PATH_MAX];
	int err;

	/* The server leaves this process's directory, so a relative path would break. */
	if (given && *given && *given != '/')
		return -EINVAL;
	if (given && *given)
		return (size_t)snprintf(path, len, "%s", given) < len ? 0 : -ENAMETOOLONG;
	if (run && *run == '/' && !access(run, F_OK))
		snprintf(dir, sizeof(dir), "%s/gpreempt", run);
	else
		snprintf(dir, sizeof(dir), "/tmp/gpreempt-%u", (unsigned int)geteuid());
	err = own_dir(dir);
	if (err)
		return err;
	return (size_t)snprintf(path, len, "%s/soft0.sock", dir) < len ? 0 : -ENAMETOOLONG;
}

static int server_path(char *path, size_t len)
{
	char self[PATH_MAX];
	Dl_info info;
	char *slash;

	if (!dladdr((void *)(uintptr_t)face_connect, &info) || !realpath(info.dli_fname, self))
		return -ENOENT;
	slash = strrchr(self, '/');
	*slash = '\0';
	return (size_t)snprintf(path, len, "%s/../gpreempt-softgpud", self) < len ? 0 :
										    -ENAMETOOLONG;
}

/* The environment without variables for the application alone. */
static char **server_environ(void)
{
	static const char *const drop[] = { "LD_PRELOAD=", "LD_LIBRARY_PATH=",
					    "CUDA_INJECTION64_PATH=" };
	size_t n = 0, kept = 0;
	char **env;

	while (environ && environ[n])
		n++;
	env = calloc(n + 1, sizeof(*env));
	if (!env)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		bool keep = true;

		for (size_t d = 0; d < sizeof(drop) / sizeof(drop[0]); d++)
			keep &= strncmp(environ[i], drop[d], strlen(drop[d])) != 0;
		if (keep)
			env[kept++] = environ[i];
	}
	return env;
}

/*
 * A child without an exit signal: the application gets no SIGCHLD from it, and cannot wait for
 * it by mistake.
 */
static int server_start(const char *sock)
{
	char exe[PATH_MAX];
	char *const argv[] = { exe, (char *)(uintptr_t)sock, NULL };
	char **env = server_environ();
	sigset_t all, old;
	int err = server_path(exe, sizeof(exe)), status = 0;
	long pid;

	if (err || !env) {
		free(env);
		return err ? err : -ENOMEM;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pid = syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!pid) {
		sigset_t none;

		syscall(SYS_close_range, 3u, ~0u, 0u);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execve(exe, argv, env);
		_exit(127);
	}
	err = pid < 0 ? -errno : 0;
	while (!err && waitpid((pid_t)pid, &status, __WALL) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	free(env);
	if (!err && status)
		err = WIFEXITED(status) && WEXITSTATUS(status) == 127 ? -ENOENT : -EIO;
	return err;
}

static int connect_once(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	while (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		int err = -errno;

		if (err == -EINTR)
			continue;
		close(fd);
		return err;
	}
	return fd;
}

/* One starter at a time: after waiting for the lock, the others find the server. */
static int connect_or_start(const char *path)
{
	int fd = connect_once(path), lock, err;
	char lock_path[PATH_MAX];

	if (fd >= 0 || (fd != -ENOENT && fd != -ECONNREFUSED))
		return fd;
	if ((size_t)snprintf(lock_path, sizeof(lock_path), "%s.lock", path) >= sizeof(lock_path))
		return -ENAMETOOLONG;
	lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0)
		return -errno;
	while (flock(lock, LOCK_EX) && errno == EINTR)
		;
	fd = connect_once(path);
	if (fd == -ENOENT || fd == -ECONNREFUSED) {
		err = server_start(path);
		fd = err ? err : connect_once(path);
	}
	close(lock);
	return fd;
}

static int hello(int sock, uint32_t kind, int *event_fd)
{
	struct face_call call = {
		.req.op = GP_SOFT_HELLO,
		.req.u.hello.version = GP_SOFT_PROTO_VERSION,
		.req.u.hello.kind = kind,
		.req.u.hello.tid = (int32_t)syscall(SYS_gettid),
	};
	int err = face_call_on(sock, &call);

	if (!err)
		atomic_store(&face_server_id, (uint32_t)call.rep.value);
	if (!err && event_fd)
		*event_fd = call.reply_fd;
	return err;
}

/** A new connection: its socket, or -errno. */
int face_connect(uint32_t kind, int *event_fd)
{
	char path[PATH_MAX];
	int err, fd;

	pthread_once(&once, setup);
	err = socket_path(path, sizeof(path));
	if (err)
		return err;
	for (int i = 0; i < ATTEMPTS; i++) {
		fd = connect_or_start(path);
		if (fd < 0)
			return fd;
		err = hello(fd, kind, event_fd);
		if (!err) {
			sockets_add(fd);
			return fd;
		}
		/* The server was just leaving. */
		close(fd);
	}
	return err;
}

FACE_EXPORT int gp_soft_slot_open(void)
{
	char path[PATH_MAX];
	int err = socket_path(path, sizeof(path) - sizeof("slot"));

	if (err) {
		errno = -err;
		return -1;
	}
	strcpy(strrchr(path, '/'), "/slot");
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
}

/* ---- calls --------------------------------------------------------------------- */

static int send_call(int sock, struct face_call *call)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(call->fds))];
	} control = { 0 };
	struct iovec iov[3] = {
		{ &call->req, sizeof(call->req) },
		{ (void *)(uintptr_t)call->data, call->data_bytes },
		{ (void *)(uintptr_t)call->data2, call->data2_bytes },
	};
	struct msghdr hdr = { .msg_iov = iov, .msg_iovlen = 3 };
	const size_t fd_bytes = call->fd_count * sizeof(int);
	ssize_t n;

	if (call->fd_count) {
		struct cmsghdr *cm;

		hdr.msg_control = control.buf;
		hdr.msg_controllen = CMSG_SPACE(fd_bytes);
		cm = CMSG_FIRSTHDR(&hdr);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(fd_bytes);
		memcpy(CMSG_DATA(cm), call->fds, fd_bytes);
	}
	call->req.magic = GP_SOFT_PROTO_MAGIC;
	do {
		n = sendmsg(sock, &hdr, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int receive_reply(int sock, struct face_call *call)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov[2] = {
		{ &call->rep, sizeof(call->rep) },
		{ call->reply, call->reply_bytes },
	};
	struct msghdr hdr = {
		.msg_iov = iov,
		.msg_iovlen = call->reply ? 2 : 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	struct cmsghdr *cm;
	ssize_t n;

	call->reply_fd = -1;
	do {
		n = recvmsg(sock, &hdr, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(call->rep))
		return -EPIPE;
	cm = CMSG_FIRSTHDR(&hdr);
	if (cm && cm->cmsg_level == SOL_SOCKET && cm->cmsg_type == SCM_RIGHTS &&
	    cm->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&call->reply_fd, CMSG_DATA(cm), sizeof(int));
	call->reply_bytes = (size_t)n - sizeof(call->rep);
	return call->rep.status;
}

int face_call_on(int sock, struct face_call *call)
{
	int err = send_call(sock, call);

	return err ? err : receive_reply(sock, call);
}

int face_call(struct face_call *call)
{
	if (!thread_sock) {
		int fd = face_connect(GP_SOFT_THREAD, NULL);

		if (fd < 0)
			return fd;
		thread_sock = fd + 1;
		pthread_setspecific(thread_key, (void *)(intptr_t)thread_sock);
	}
	return face_call_on(thread_sock - 1, call);
}

int face_op(uint32_t op, uint64_t a, uint64_t b, struct gp_soft_rep *rep)
{
	struct face_call call = { .req = { .op = op, .a = a, .b = b } };
	int err = face_call(&call);

	if (rep)
		*rep = call.rep;
	return err;
}
