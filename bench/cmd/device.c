// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/device.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/cmd/data.h"

static char client_path[PATH_MAX], ctxlog_path[PATH_MAX];

bool gp_device_is_soft(const char *device)
{
	return !strncmp(device, "soft", 4);
}

/* kfd-patch/simgpu is loaded: this is the rig's guest, in the modelled GPU's time. */
static bool is_rig(void)
{
	return !access("/sys/kernel/debug/simgpu", F_OK);
}

const char *gp_device_about(const char *device)
{
	if (!device)
		return "the model of an H200, in virtual time";
	if (is_rig())
		return "the AMD rig: the real KFD over a modelled Vega 10, in the rig's time";
	if (gp_device_is_soft(device))
		return "the software GPU, in its own time";
	return device;
}

const char *gp_device_client(void)
{
	return client_path;
}

const char *gp_device_torch_client(void)
{
	static char path[PATH_MAX];

	gp_data_path("apps/client.py", path);
	return path;
}

const char *gp_device_ctxlog(void)
{
	return ctxlog_path[0] ? ctxlog_path : NULL;
}

/* The program's own folder. */
static int own_folder(char folder[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return -errno;
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

/* Put @word first in the variable @name, a list of folders. */
static int prepend(const char *name, const char *word)
{
	const char *was = getenv(name);
	char value[8192];

	if ((size_t)snprintf(value, sizeof(value), "%s%s%s", word, was ? ":" : "",
			     was ? was : "") >= sizeof(value))
		return -E2BIG;
	return setenv(name, value, 1) ? -errno : 0;
}

static int use_software_gpu(void)
{
	char path[PATH_MAX];
	int err;

	gp_pkglib_path("softgpu", path);
	err = prepend("LD_LIBRARY_PATH", path);
	if (err)
		return err;
	/* A software GPU's clients are no tenants of the machine's daemon: it has another clock. */
	return setenv("GPREEMPT_BACKEND", "softgpu", 1) || setenv("GPREEMPT_DAEMON", "none", 1) ?
		       -errno :
		       0;
}

/* In the build tree, or as a part of the installation. */
static int find_program(const char *folder, const char *name, char path[PATH_MAX])
{
	if (snprintf(path, PATH_MAX, "%s/../bench/%s", folder, name) < PATH_MAX &&
	    !access(path, X_OK))
		return 0;
	gp_data_path(name, path);
	if (!access(path, X_OK))
		return 0;
	path[0] = '\0';
	return -ENOENT;
}

const char *gp_device_driver(const char *device)
{
	static const char *const files[] = { "/sys/module/nvidia/version",
					     "/sys/module/amdgpu/version" };
	static char version[64];

	for (size_t i = 0; device && !gp_device_is_soft(device) && i < 2; i++) {
		FILE *file = fopen(files[i], "re");
		const bool got = file && fgets(version, sizeof(version), file);

		if (file)
			fclose(file);
		if (got) {
			version[strcspn(version, "\n")] = '\0';
			return version;
		}
	}
	return "";
}

/* A software GPU's server has as many GPUs as its first client requests: 1 to 8, 1 by default. */
static int check_soft(const char *device)
{
	const char *text = getenv("GPREEMPT_SOFTGPU_GPUS");
	const unsigned long count = text && *text ? strtoul(text, NULL, 10) : 1;
	char *end;
	const unsigned long number = strtoul(device + 4, &end, 10);

	if (end != device + 4 && !*end && number < count)
		return 0;
	fprintf(stderr,
		"gpreempt-bench: --device=%s: no such device; the last is soft%lu "
		"(GPREEMPT_SOFTGPU_GPUS)\n",
		device, count ? count - 1 : 0);
	return -EINVAL;
}

int gp_device_prepare(const char *device)
{
	char folder[PATH_MAX];
	int err = gp_device_is_soft(device) ? check_soft(device) : 0;

	if (err)
		return err;
	err = own_folder(folder);

	if (!err)
		err = find_program(folder, "client", client_path);
	if (err) {
		fprintf(stderr, "gpreempt-bench: program \"client\" not found; run make, or make "
				"install\n");
		return err;
	}
	/* Without ctxlog, the device's log is not kept. */
	(void)find_program(folder, "ctxlog", ctxlog_path);
	/* If a client has ended, the caller reports its exit, not the failed write. */
	signal(SIGPIPE, SIG_IGN);
	err = prepend("PATH", folder);
	if (!err && gp_device_is_soft(device))
		err = use_software_gpu();
	return err;
}
