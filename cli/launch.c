// SPDX-License-Identifier: Apache-2.0
/*
 * launch.c - the environment in which CMD runs under gpreempt. LD_PRELOAD brings the stub, by
 * which gpreempt sees driver calls, into CMD and the processes it starts. On NVIDIA the driver's
 * own injection loads the stub as well, at cuInit, if LD_PRELOAD cannot. AMD: LD_PRELOAD alone,
 * because a tool that ROCr loads does not see ROCr's internal queues.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/way.h"

#define PRELOAD "libgpreempt-preload.so"
#define INJECTION "CUDA_INJECTION64_PATH"
#define CHAIN "GPREEMPT_CHAIN_INJECTION"
#define START_DAEMON "GPREEMPT_START_DAEMON"

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* The preload loads a former injection (a profiler), but never itself. */
static int set_injection(const char *libdir)
{
	const char *before = getenv(INJECTION);
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/" PRELOAD, libdir);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	if (before && *before && !ends_with(before, "/" PRELOAD) && setenv(CHAIN, before, 1))
		return -errno;
	return setenv(INJECTION, path, 1) ? -errno : 0;
}

/* The loader ends names at blanks and colons. @needed: there is no other way. */
static int set_preload(const char *verb, const char *libdir, bool needed)
{
	const char *before = getenv("LD_PRELOAD");
	const bool behind = gp_way_asan_first();
	GP_FREE char *value = NULL;
	int n;

	if (strpbrk(libdir, " :") && !needed)
		return 0;
	if (strpbrk(libdir, " :"))
		return gp_fail("%s: %s: LD_PRELOAD accepts no path with a blank or a colon; "
			       "install gpreempt elsewhere",
			       verb, libdir);
	if (before && strstr(before, "/" PRELOAD))
		return 0;
	if (!before || !*before)
		n = asprintf(&value, "%s/" PRELOAD, libdir);
	else if (behind)
		n = asprintf(&value, "%s:%s/" PRELOAD, before, libdir);
	else
		n = asprintf(&value, "%s/" PRELOAD ":%s", libdir, before);
	if (n < 0 || setenv("LD_PRELOAD", value, 1))
		return gp_fail("%s: cannot set the environment: %s", verb, strerror(ENOMEM));
	return 0;
}

static int prepend(const char *name, const char *dir)
{
	const char *before = getenv(name);
	GP_FREE char *joined = NULL;

	if (!before || !*before)
		return setenv(name, dir, 1) ? -errno : 0;
	if (asprintf(&joined, "%s:%s", dir, before) < 0)
		return -ENOMEM;
	return setenv(name, joined, 1) ? -errno : 0;
}

static int set_softgpu(const char *verb)
{
	char dir[PATH_MAX];
	int err = gp_path_softgpu(dir, sizeof(dir));

	if (err)
		return gp_fail("%s: %s/gpreempt/softgpu/libcuda.so.1 (software GPU) not found; run "
			       "make install",
			       verb, GP_LIBDIR);
	err = prepend("LD_LIBRARY_PATH", dir);
	if (!err && setenv("GPREEMPT_BACKEND", "softgpu", 1))
		err = -errno;
	return err ? gp_fail("%s: cannot set the environment: %s", verb, strerror(-err)) : 0;
}

static int set_device(const char *verb, const struct gp_device *dev)
{
	char spec[GP_DEVICE_NAME_LEN];

	gp_device_spec(dev, spec, sizeof(spec));
	if (setenv("GPREEMPT_DEVICE", spec, 1))
		return gp_fail("%s: cannot set the environment: %s", verb, strerror(errno));
	return 0;
}

/* The program that CMD starts if it needs a daemon; "0": it must not. */
static int set_daemon(void)
{
	const char *before = getenv(START_DAEMON);
	char path[PATH_MAX];

	if (before && !strcmp(before, "0"))
		return 0;
	if (gp_path_daemon(path, sizeof(path)))
		return unsetenv(START_DAEMON) ? -errno : 0;
	return setenv(START_DAEMON, path, 1) ? -errno : 0;
}

static bool is_amd(const struct gp_device *dev)
{
	return !strcmp(dev->ops->name, "amd");
}

/* Unless a device is named, CMD may use another than the first one found. */
static bool may_use_amd(const struct gp_device *dev, const char *device)
{
	const struct gp_hal_ops *amd = gp_hal_find("amd");
	struct gp_device_list list = { 0 };

	if (is_amd(dev))
		return true;
	return !device && !gp_device_is_soft(dev) && amd && !amd->probe(&list) && list.count;
}

/* An automatic hold begins at a launch, which the preload must see. */
static int check_hold(const char *verb, struct gp_device *dev)
{
	const char *hold = getenv("GPREEMPT_AUTO_HOLD");

	if (!hold || strcmp(hold, "1") || !is_amd(dev))
		return 0;
	return gp_fail("%s: --auto-hold: %s does not show launches; call gp_hint() instead", verb,
		       dev->id.name);
}

/* Without a way to preempt, a class would have no effect. */
static int check_route(const char *verb, struct gp_device *dev)
{
	struct gp_hal_caps caps;
	char why[GP_WHY_LEN] = "";

	if (!is_amd(dev) || dev->ops->caps(dev, &caps) ||
	    caps.caps & (GP_CAP_HOLD | GP_CAP_SUSPEND_OWN))
		return 0;
	dev->ops->explain(-EOPNOTSUPP, why, sizeof(why));
	return gp_fail("%s: %s: no class has an effect here: %s", verb, dev->id.name, why);
}

/* Does a process on @dev give way by suspending its own queues, one call each? */
static bool suspends_own(struct gp_device *dev)
{
	struct gp_hal_caps caps;

	return is_amd(dev) && !dev->ops->caps(dev, &caps) && caps.caps & GP_CAP_SUSPEND_OWN &&
	       !(caps.caps & GP_CAP_HOLD);
}

/* HIP's streams share so many queues. Two, as a kernel of one may wait for the other's. */
static int set_queues(const char *class_text, struct gp_device *dev)
{
	if (strncmp(class_text, "be", 2) || !suspends_own(dev))
		return 0;
	return setenv("GPU_MAX_HW_QUEUES", "2", 0) ? -errno : 0;
}

static int set_environment(const char *verb, const char *class_text, const char *device,
			   struct gp_device *dev, const char *cmd)
{
	const bool amd = may_use_amd(dev, device);
	char libdir[PATH_MAX];
	struct gp_way way;
	int err;

	if (class_text && gp_path_libdir(libdir, sizeof(libdir)))
		return gp_fail("%s: " PRELOAD
			       " not found beside this program (../lib) or in %s; run make install",
			       verb, GP_LIBDIR);
	err = gp_device_is_soft(dev) ? set_softgpu(verb) : 0;
	if (!err && device)
		err = set_device(verb, dev);
	if (err || !class_text)
		return err;
	gp_way_find(cmd, &way);
	if (way.preload || amd)
		err = set_preload(verb, libdir, amd);
	if (err)
		return err;
	if (!is_amd(dev))
		err = set_injection(libdir);
	if (!err)
		err = set_daemon();
	if (!err)
		err = set_queues(class_text, dev);
	if (!err && setenv("GPREEMPT_CLASS", class_text, 1))
		err = -errno;
	return err ? gp_fail("%s: cannot set the environment: %s", verb, strerror(-err)) : 0;
}

int gp_launch_prepare(const char *verb, const char *class_text, const char *device, const char *cmd)
{
	struct gp_device *dev;
	char why[GP_WHY_LEN] = "";
	int err;

	/* The environment may already name a device. */
	if (!device) {
		device = getenv("GPREEMPT_DEVICE");
		device = device && *device ? device : NULL;
	}
	err = gp_device_open(device, &dev, why, sizeof(why));
	if (err)
		return gp_fail("%s: %s", verb, why[0] ? why : strerror(-err));
	err = check_hold(verb, dev);
	if (!err && class_text)
		err = check_route(verb, dev);
	if (!err)
		err = set_environment(verb, class_text, device, dev, cmd);
	gp_device_close(dev);
	return err;
}

int gp_launch_failed(const char *verb, const char *file, int err)
{
	struct stat st;
	const bool folder = err == EACCES && !stat(file, &st) && S_ISDIR(st.st_mode);

	gp_fail("%s: %s: %s", verb, file,
		err == ENOENT && strchr(file, ' ') ?
			"not found; write CMD and its arguments without quotes around them" :
		err == ENOENT ? "not found; write its path, or correct PATH" :
		folder	      ? "a directory; write a program and its arguments" :
		err == EACCES ? "not executable; run chmod +x, or write its interpreter before it" :
				strerror(err));
	return err == ENOENT ? GP_EXIT_NOT_FOUND : GP_EXIT_NOT_EXECUTABLE;
}
