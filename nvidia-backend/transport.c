// SPDX-License-Identifier: Apache-2.0
/*
 * transport.c - the path of RM calls: to NVIDIA's driver, or to the software GPU through its
 * libcuda.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"
#include "nvidia-backend/track.h"
#include "softgpu/softgpu.h"

/* ---- NVIDIA's driver ------------------------------------------------------ */

/* nv-chardev-numbers.h: NV_MAJOR_DEVICE_NUMBER, NV_MINOR_DEVICE_NUMBER_CONTROL_DEVICE */
#define CTL_MAJOR 195
#define CTL_MINOR 255

static int real_open_ctl(void)
{
	int fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A path proves nothing, but a device's number does: no user can open a device node of a FUSE's. */
static bool real_is_ctl(const struct statx *st)
{
	return S_ISCHR(st->stx_mode) && st->stx_rdev_major == CTL_MAJOR &&
	       st->stx_rdev_minor == CTL_MINOR;
}

static int real_open_gpu(uint32_t minor)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/nvidia%u", minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * The system call itself: libc's ioctl may be the preload's, which watches
 * libcuda and must not see our calls.
 */
static int real_ioctl(int fd, unsigned long request, void *arg)
{
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

/* First "N.N" word of a file, e.g. "580.159.04". */
static int version_from(const char *path, char *buf, size_t len)
{
	char text[512];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -ENODEV;
	text[n] = '\0';
	for (char *p = text; *p; p++) {
		size_t span = strspn(p, "0123456789.");
		char *dot = memchr(p, '.', span);

		if (span >= 3 && dot && dot > p && span < len && (p == text || p[-1] == ' ')) {
			memcpy(buf, p, span);
			buf[span] = '\0';
			return 0;
		}
		if (span)
			p += span - 1;
	}
	return -EPROTO;
}

static int real_driver_version(char *buf, size_t len)
{
	if (!version_from("/sys/module/nvidia/version", buf, len))
		return 0;
	if (!version_from("/proc/driver/nvidia/version", buf, len))
		return 0;
	return -ENODEV;
}

static const struct gp_nv_transport real = {
	.name = "nvidia",
	.prefix = "/dev/nvidiactl",
	.is_ctl = real_is_ctl,
	.open_ctl = real_open_ctl,
	.open_gpu = real_open_gpu,
	.ioctl = real_ioctl,
	.driver_version = real_driver_version,
};

const struct gp_nv_transport *gp_nv_transport_real(void)
{
	return &real;
}

/* ---- the software GPU ------------------------------------------------------ */

static pthread_mutex_t soft_lock = PTHREAD_MUTEX_INITIALIZER;
static void *soft_library; /* protected by soft_lock, never closed */
static int (*soft_rm_open)(void);
static int (*soft_slot_open)(void);

static int soft_open_ctl(void)
{
	int fd = soft_rm_open();

	return fd < 0 ? -errno : fd;
}

static int soft_open_slot(void)
{
	int fd = soft_slot_open();

	return fd < 0 ? -errno : fd;
}

static int soft_driver_version(char *buf, size_t len)
{
	snprintf(buf, len, "%s", "580.0.0");
	return 0;
}

static struct gp_nv_transport soft = {
	.name = "softgpu",
	.prefix = GP_SOFT_FILE_PREFIX,
	.virtual_time = true,
	.open_ctl = soft_open_ctl,
	.open_slot = soft_open_slot,
	.driver_version = soft_driver_version,
};

static bool soft_resolve(void *library)
{
	struct {
		const char *name;
		void *to;
	} symbol[] = {
		{ "gp_soft_rm_open", &soft_rm_open },
		{ "gp_soft_slot_open", &soft_slot_open },
		{ "gp_soft_ioctl", &soft.ioctl },
		{ "gp_soft_now_ns", &soft.now_ns },
		{ "gp_soft_timer_open", &soft.timer_open },
		{ "gp_soft_timer_close", &soft.timer_close },
		{ "gp_soft_timer_arm", &soft.timer_arm },
		{ "gp_soft_timer_ack", &soft.timer_ack },
		{ "gp_soft_timer_done", &soft.timer_done },
	};

	for (size_t i = 0; i < sizeof(symbol) / sizeof(symbol[0]); i++) {
		void *found = dlsym(library, symbol[i].name);

		if (!found)
			return false;
		memcpy(symbol[i].to, &found, sizeof(found));
	}
	return true;
}

/* dlopen DIR/libcuda.so.1, where DIR is @dir followed by @below. */
static void *soft_try(const char *dir, const char *below)
{
	char path[4096];
	int n;

	if (!dir)
		return NULL;
	n = snprintf(path, sizeof(path), "%s%s/libcuda.so.1", dir, below);
	if (n < 0 || (size_t)n >= sizeof(path) || access(path, R_OK))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The directory of @path, in place; NULL: it has none. */
static char *directory(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return NULL;
	*slash = '\0';
	return path;
}

static void *soft_find(void)
{
	char path[4096];
	Dl_info info;
	ssize_t n;
	void *library;

	if (getenv("GPREEMPT_SOFTGPU_LIBDIR"))
		return soft_try(getenv("GPREEMPT_SOFTGPU_LIBDIR"), "");
	if (dladdr((void *)&soft_lock, &info) && info.dli_fname &&
	    strlen(info.dli_fname) < sizeof(path)) {
		strcpy(path, info.dli_fname);
		library = soft_try(directory(path), "/gpreempt/softgpu");
		if (library)
			return library;
	}
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n > 0) {
		path[n] = '\0';
		directory(path);
		library = soft_try(path, "/../lib/gpreempt/softgpu");
		if (!library)
			library = soft_try(path, "/" GP_LIBDIR_FROM_BIN "/gpreempt/softgpu");
		if (library)
			return library;
	}
	return soft_try(GP_PKGLIBDIR, "/softgpu");
}

const struct gp_nv_transport *gp_nv_transport_soft_files(void)
{
	return &soft;
}

const struct gp_nv_transport *gp_nv_transport_soft(bool load)
{
	const struct gp_nv_transport *t = NULL;
	void *library;

	pthread_mutex_lock(&soft_lock);
	if (soft_library) {
		t = &soft;
	} else {
		library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
		if (!library && load)
			library = soft_find();
		if (library && soft_resolve(library)) {
			soft_library = library;
			t = &soft;
		} else if (library) {
			dlclose(library);
		}
	}
	pthread_mutex_unlock(&soft_lock);
	return t;
}

const struct gp_nv_transport *gp_nv_transport_current(void)
{
	const struct gp_nv_transport *t = gp_nv_transport_soft(false);

	return t ? t : &real;
}

void *gp_nv_libcuda(const struct gp_nv_transport *t)
{
	void *library;

	if (t == &soft)
		return soft_library;
	library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		errno = ENODEV;
	return library;
}

const char *gp_nv_hook_symbol(void *libcuda)
{
	return libcuda && dlsym(libcuda, "gp_soft_ioctl") ? "gp_soft_ioctl" : "ioctl";
}
