// SPDX-License-Identifier: Apache-2.0
#include "preload/host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "wire/wire.h"

#define MEMBERS 256 /* others still find it through these */
#define TRIES 100   /* for the lock .. */
#define TRY_NS 10000000

/* A program that has the memfd @ino of the file system @dev open as @fd. */
struct member {
	uint64_t dev, ino;
	int32_t pid, fd;
};

/* ---- the list of programs ------------------------------------------------------------ */

/* A stopped program may have the lock, so this does not wait for ever. */
static int lock_list(int list)
{
	struct flock lock;

	for (int i = 0; i < TRIES; i++) {
		lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
		if (!fcntl(list, F_OFD_SETLK, &lock))
			return 0;
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
		nanosleep(&(struct timespec){ .tv_nsec = TRY_NS }, NULL);
	}
	return -EAGAIN;
}

static int open_list(void)
{
	char dir[GP_WIRE_PATH_LEN], path[GP_WIRE_PATH_LEN + 8];
	int err = gp_wire_user_dir(dir, sizeof(dir)), fd;

	if (!err && mkdir(dir, 0700) && errno != EEXIST)
		err = -errno;
	if (!err)
		err = gp_wire_check_dir(dir, 077);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/host", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = lock_list(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static bool is_of(const struct member *m, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_dev == m->dev && st->st_ino == m->ino;
}

/* Its PID may be another program's by now: look before it is opened, and afterwards. */
static int open_of(const struct member *m)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", m->pid, m->fd);
	if (m->pid <= 0 || m->pid == getpid() || stat(path, &st) || !is_of(m, &st))
		return -ENOENT;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* A file that could shrink could kill this process. */
	if (!fstat(fd, &st) && is_of(m, &st) && fcntl(fd, F_GET_SEALS) == F_SEAL_SHRINK)
		return fd;
	close(fd);
	return -ENOENT;
}

static bool read_member(int list, int place, struct member *m)
{
	return pread(list, m, sizeof(*m), (off_t)sizeof(*m) * place) == sizeof(*m);
}

/* @place: the first without a living program. */
static int find(int list, int *place)
{
	struct member m;
	int fd = -ENOENT;

	*place = -1;
	for (int i = 0; i < MEMBERS && (fd < 0 || *place < 0); i++) {
		const bool known = read_member(list, i, &m);
		int found = known ? open_of(&m) : -ENOENT;

		if (found < 0 && *place < 0)
			*place = i;
		if (found >= 0 && fd < 0)
			fd = found;
		else if (found >= 0)
			close(found);
		if (!known)
			break;
	}
	return fd;
}

static void note(int list, int place, int fd)
{
	struct member m = { .pid = getpid(), .fd = fd };
	struct stat st;

	if (place < 0 || fstat(fd, &st))
		return;
	m.dev = st.st_dev;
	m.ino = st.st_ino;
	/* Else others find it through another program, or not. */
	(void)!pwrite(list, &m, sizeof(m), (off_t)sizeof(m) * place);
}

static int make(void)
{
	int fd = memfd_create("gpreempt-host", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return fd;
	if (fd < 0)
		return -errno;
	close(fd);
	return -EINVAL;
}

int gp_host_file_open(void)
{
	int list = open_list(), place, fd;

	if (list < 0)
		return list;
	fd = find(list, &place);
	if (fd < 0)
		fd = make();
	if (fd >= 0)
		note(list, place, fd);
	close(list);
	return fd;
}

/* ---- its pieces ----------------------------------------------------------------------- */

uint64_t gp_host_file_pieces(int fd, uint64_t bytes)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_size / bytes;
}

int gp_host_file_grow(int fd, uint64_t pieces, uint64_t bytes)
{
	if (!ftruncate(fd, (off_t)(pieces * bytes)))
		return 0;
	/* It may not shrink: another program was faster. */
	return errno == EPERM && gp_host_file_pieces(fd, bytes) >= pieces ? 0 : -errno;
}

/*
 * Each piece is one byte of the lock's range. The locks are the process's: a child of fork() has
 * none of them, and cannot keep them.
 */
static struct flock lock_of(uint64_t piece)
{
	return (struct flock){
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)piece, .l_len = 1
	};
}

bool gp_host_file_take(int fd, uint64_t piece)
{
	struct flock lock = lock_of(piece);

	return !fcntl(fd, F_SETLK, &lock);
}

bool gp_host_file_is_taken(int fd, uint64_t piece)
{
	struct flock lock = lock_of(piece);

	return fcntl(fd, F_GETLK, &lock) || lock.l_type != F_UNLCK;
}

void gp_host_file_leave(int fd)
{
	struct flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	(void)fcntl(fd, F_SETLK, &lock);
}
