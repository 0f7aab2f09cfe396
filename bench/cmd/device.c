// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/device.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char client_path[PATH_MAX];

bool gp_device_is_soft(const char *device)
{
	return !strncmp(device, "soft", 4);
}

/* kfd-patch/simgpu is there, and all else in the guest keeps its time. */
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

/* The folder of this program. */
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

/* @word goes first in the list of folders that @name is. */
static int prepend(const char *name, const char *word)
{
	const char *was = getenv(name);
	char value[8192];

	if ((size_t)snprintf(value, sizeof(value), "%s%s%s", word, was ? ":" : "",
			     was ? was : "") >= sizeof(value))
		return -E2BIG;
	return setenv(name, value, 1) ? -errno : 0;
}

static int use_software_gpu(const char *folder)
{
	char path[PATH_MAX];
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/../lib/gpreempt/softgpu", folder) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	err = prepend("LD_LIBRARY_PATH", path);
	if (err)
		return err;
	/* Its clients are nobody else's tenants: of another clock. */
	return setenv("GPREEMPT_BACKEND", "softgpu", 1) ||
	       setenv("GPREEMPT_DAEMON", "none", 1) ? -errno : 0;
}

static int find_client(const char *folder)
{
	static const char *const where[] = { "/../bench/client", "/../lib/gpreempt/bench/client" };

	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++)
		if ((size_t)snprintf(client_path, sizeof(client_path), "%s%s", folder,
				     where[i]) < sizeof(client_path) &&
		    !access(client_path, X_OK))
			return 0;
	return -ENOENT;
}

int gp_device_prepare(const char *device)
{
	char folder[PATH_MAX];
	int err = own_folder(folder);

	if (!err)
		err = find_client(folder);
	if (err) {
		fprintf(stderr, "gpreempt-bench: its program \"client\" is not there\n");
		return err;
	}
	/* Of a client that has ended its exit is told, not that it was written to. */
	signal(SIGPIPE, SIG_IGN);
	err = prepend("PATH", folder);
	if (!err && gp_device_is_soft(device))
		err = use_software_gpu(folder);
	return err;
}
