// SPDX-License-Identifier: Apache-2.0
/* open.c - handles, grants, and the mode of the running kernel. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kfd-patch/uapi/linux/kfd_sched.h"
#include "libhsaq/hsaq_internal.h"
#include "libhsaq/kfd_abi.h"

#define GRANT_ENV "GPREEMPT_GRANT_FD"

const char *hsaq_version(void)
{
	return GP_VERSION;
}

int hsaq_copy_out(void *to, const void *from, size_t known)
{
	size_t size;

	memcpy(&size, to, sizeof(size));
	if (size < known)
		return -EINVAL;
	memset((char *)to + known, 0, size - known);
	memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size), known - sizeof(size));
	return 0;
}

/* ---- the mode ---------------------------------------------------------------- */

/*
 * A driver that knows the call succeeds, or returns -EOPNOTSUPP if the firmware schedules.
 * Others return -ENOTTY or -EINVAL.
 */
static int probe_sched(struct hsaq *h, uint32_t gpu_id)
{
	struct kfd_ioctl_sched_state_args args = {
		.size = sizeof(args),
		.gpu_id = gpu_id,
		.pid = (uint32_t)getpid(),
		.grant_fd = -1,
		.queue_size = sizeof(struct kfd_sched_queue_state),
		.device_size = sizeof(struct kfd_sched_device_state),
	};

	return hsaq_ioctl(h, AMDKFD_IOC_SCHED_STATE, &args);
}

static bool policy_is_no_hws(const struct hsaq_io *io)
{
	uint64_t policy;

	return !hsaq_sysfs_u64(io, HSAQ_SYSFS_POLICY, &policy) && policy == HSAQ_POLICY_NO_HWS;
}

static int add_known(const struct hsaq_device_info *info, void *arg)
{
	struct hsaq *h = arg;
	struct hsaq_known *known = realloc(h->known, (h->num_known + 1) * sizeof(*known));
	int r;

	if (!known)
		return -ENOMEM;
	h->known = known;
	r = probe_sched(h, info->gpu_id);
	h->patched |= !r || r == -EOPNOTSUPP;
	known[h->num_known++] = (struct hsaq_known){
		info->gpu_id,
		!r ? HSAQ_MODE_SCHED : HSAQ_MODE_HWS,
		info->cwsr != 0,
	};
	return 0;
}

/* 0 or -ENOMEM. Without the topology no device is known, and the driver's policy decides. */
static int find_modes(struct hsaq *h)
{
	int r = hsaq_sysfs_devices(h->io, add_known, h);
	bool stock_no_hws = !h->patched && policy_is_no_hws(h->io);

	h->mode = stock_no_hws ? HSAQ_MODE_NO_HWS : HSAQ_MODE_HWS;
	for (size_t i = 0; i < h->num_known; i++) {
		if (stock_no_hws)
			h->known[i].mode = HSAQ_MODE_NO_HWS;
		if (h->known[i].mode > h->mode)
			h->mode = h->known[i].mode;
	}
	return r == -ENOMEM ? r : 0;
}

enum hsaq_mode hsaq_mode(const struct hsaq *h)
{
	return h->mode;
}

enum hsaq_mode hsaq_device_mode(const struct hsaq *h, uint32_t gpu_id)
{
	for (size_t i = 0; i < h->num_known; i++)
		if (h->known[i].gpu_id == gpu_id)
			return h->known[i].mode;
	return h->mode;
}

bool hsaq_saves(const struct hsaq *h, uint32_t gpu_id)
{
	for (size_t i = 0; i < h->num_known; i++)
		if (h->known[i].gpu_id == gpu_id)
			return h->known[i].saves;
	return true;
}

void hsaq_abi(const struct hsaq *h, uint32_t *major, uint32_t *minor)
{
	*major = h->major;
	*minor = h->minor;
}

int hsaq_has_grant(const struct hsaq *h)
{
	return h->grant_fd >= 0;
}

void hsaq_mode_line(const struct hsaq *h, char *buf, size_t len)
{
	hsaq_device_mode_line(h, 0, buf, len);
}

void hsaq_device_mode_line(const struct hsaq *h, uint32_t gpu_id, char *buf, size_t len)
{
	enum hsaq_mode mode = hsaq_device_mode(h, gpu_id);
	const char *own = hsaq_saves(h, gpu_id) ? "a process unloads and loads its own queues" :
						  "without CWSR, no queue can be unloaded";
	char abi[32];

	snprintf(abi, sizeof(abi), "KFD %u.%u", h->major, h->minor);
	if (mode == HSAQ_MODE_SCHED)
		snprintf(buf, len,
			 "%s, patched, no HWS: classes, holds, unload and load "
			 "of all queues%s",
			 abi,
			 h->grant_fd >= 0 ? "" :
					    "; without CAP_SYS_NICE or a grant, a process may "
					    "only lower its class");
	else if (mode == HSAQ_MODE_NO_HWS)
		snprintf(buf, len,
			 "%s, stock, no HWS: %s; classes and holds need the patched driver", abi,
			 own);
	else if (h->mode == HSAQ_MODE_SCHED)
		snprintf(buf, len, "%s, patched, but this card's firmware always schedules: %s",
			 abi, own);
	else if (h->patched)
		snprintf(buf, len,
			 "%s, patched, but the firmware schedules: %s; boot with "
			 "amdgpu.sched_policy=2 for classes and holds",
			 abi, own);
	else
		snprintf(buf, len,
			 "%s, stock, firmware scheduling: %s; classes and holds need the patched "
			 "driver and amdgpu.sched_policy=2",
			 abi, own);
}

/* ---- grants -------------------------------------------------------------------- */

int hsaq_grant_open(void)
{
	return hsaq_io_current()->open(HSAQ_DEV_SCHED, O_RDWR);
}

int hsaq_grant_narrow(int grant_fd, uint32_t rights, uint32_t min_level, uint32_t gpu_id)
{
	struct kfd_sched_grant_args args = {
		.size = sizeof(args),
		.rights = rights,
		.min_level = min_level,
		.gpu_id = gpu_id,
	};
	int r;

	_Static_assert(HSAQ_RIGHT_ALL == KFD_SCHED_RIGHT_ALL, "one numbering");
	if (rights & ~HSAQ_RIGHT_ALL || min_level > HSAQ_LEVEL_MAX)
		return -EINVAL;
	do {
		r = hsaq_io_current()->ioctl(grant_fd, KFD_SCHED_IOC_NARROW, &args);
	} while (r == -EINTR);
	return r < 0 ? r : 0;
}

/* The fd in @text; -1: none, or not a number. */
static int parse_fd(const char *text)
{
	char *end;
	long fd;

	if (!text || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	fd = strtol(text, &end, 10);
	return *end || errno || fd > INT32_MAX ? -1 : (int)fd;
}

/* No grant is no error: calls that need one return -EPERM. */
static int find_grant(const struct hsaq_io *io, int32_t given)
{
	int fd = given > 0 ? given : parse_fd(secure_getenv(GRANT_ENV));

	if (fd >= 0) {
		fd = io->dup(fd);
		return fd < 0 ? -1 : fd;
	}
	fd = io->open(HSAQ_DEV_SCHED, O_RDWR);
	return fd < 0 ? -1 : fd;
}

/* ---- open, close ------------------------------------------------------------------ */

static void explain(const struct hsaq_open_opts *opts, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void explain(const struct hsaq_open_opts *opts, const char *fmt, ...)
{
	va_list ap;

	if (!opts->why || !opts->why_len)
		return;
	va_start(ap, fmt);
	vsnprintf(opts->why, opts->why_len, fmt, ap);
	va_end(ap);
}

static int read_opts(const struct hsaq_open_opts *in, struct hsaq_open_opts *out)
{
	const unsigned char *bytes = (const unsigned char *)in;

	*out = (struct hsaq_open_opts){ .size = sizeof(*out) };
	if (!in)
		return 0;
	if (in->size < sizeof(*out))
		return -EINVAL;
	for (size_t i = sizeof(*out); i < in->size; i++)
		if (bytes[i])
			return -E2BIG;
	memcpy(out, in, sizeof(*out));
	return out->flags ? -EINVAL : 0;
}

static int open_kfd(const struct hsaq_io *io, const struct hsaq_open_opts *opts)
{
	int fd = io->open(HSAQ_DEV_KFD, O_RDWR);

	if (fd == -ENOENT || fd == -ENXIO || fd == -ENODEV) {
		explain(opts, "no " HSAQ_DEV_KFD ": the KFD is not loaded; run modprobe amdgpu, or "
			      "start the container with --device " HSAQ_DEV_KFD);
		return -ENOENT;
	}
	if (fd == -EACCES || fd == -EPERM) {
		explain(opts, HSAQ_DEV_KFD ": not permitted; join the group that "
					   "owns it, often render (ls -l " HSAQ_DEV_KFD ")");
		return -EACCES;
	}
	if (fd < 0)
		explain(opts, HSAQ_DEV_KFD ": %s", strerror(-fd));
	return fd;
}

static int check_version(struct hsaq *h, const struct hsaq_open_opts *opts)
{
	struct hsaq_kfd_version v = { 0 };
	int r = hsaq_ioctl(h, HSAQ_KFD_GET_VERSION, &v);

	if (r) {
		explain(opts,
			HSAQ_DEV_KFD ": cannot read its version: %s; check that it is the KFD",
			strerror(-r));
		return r;
	}
	if (v.major != HSAQ_KFD_MAJOR) {
		explain(opts,
			HSAQ_DEV_KFD
			": KFD ABI %u.%u, but this library needs %u.x; install a newer %s",
			v.major, v.minor, HSAQ_KFD_MAJOR,
			v.major < HSAQ_KFD_MAJOR ? "kernel" : "libhsaq");
		return -EPROTO;
	}
	h->major = v.major;
	h->minor = v.minor;
	return 0;
}

int hsaq_open(const struct hsaq_open_opts *in, struct hsaq **out)
{
	const struct hsaq_io *io = hsaq_io_current();
	struct hsaq_open_opts opts;
	struct hsaq *h;
	int r;

	if (!out)
		return -EINVAL;
	r = read_opts(in, &opts);
	if (r) {
		explain(&opts, "unknown options; install a newer libhsaq");
		return r;
	}
	h = calloc(1, sizeof(*h));
	if (!h) {
		explain(&opts, "out of memory");
		return -ENOMEM;
	}
	h->io = io;
	h->owner = getpid();
	r = open_kfd(io, &opts);
	if (r < 0)
		goto err_free;
	h->fd = r;
	r = check_version(h, &opts);
	if (r)
		goto err_close;
	h->grant_fd = find_grant(io, opts.grant_fd);
	pthread_mutex_init(&h->lock, NULL);
	r = find_modes(h);
	if (r) {
		explain(&opts, "out of memory");
		hsaq_close(h);
		return r;
	}
	*out = h;
	return 0;

err_close:
	io->close(h->fd);
err_free:
	free(h);
	return r;
}

void hsaq_close(struct hsaq *h)
{
	if (!h)
		return;
	hsaq_own_free(h);
	/* What is off by a hold is loaded by the file's closing. */
	hsaq_off_free(h);
	if (h->grant_fd >= 0)
		h->io->close(h->grant_fd);
	h->io->close(h->fd);
	pthread_mutex_destroy(&h->lock);
	free(h->known);
	free(h);
}
