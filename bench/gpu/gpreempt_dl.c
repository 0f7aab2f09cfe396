// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/gpreempt_dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By the loader's own search; else beside us, as the build tree has it. */
static void *load(void)
{
	char path[PATH_MAX + 32];
	void *lib = dlopen("libgpreempt.so.0", RTLD_NOW | RTLD_LOCAL);
	ssize_t len;
	char *slash;

	if (lib)
		return lib;
	len = readlink("/proc/self/exe", path, PATH_MAX);
	if (len <= 0)
		return NULL;
	path[len] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash, "/../lib/libgpreempt.so.0");
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *symbol(void *lib, const char *name)
{
	void *fn = dlsym(lib, name);

	if (!fn) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, dlerror());
		exit(1);
	}
	return fn;
}

void gp_bench_client_check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-error));
	exit(1);
}

void gp_bench_client_open(struct gp_bench_client *client)
{
	const struct gp_open_opts opts = { .size = sizeof(opts) };
	void *lib = load();

	if (!lib) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, dlerror());
		exit(1);
	}
	*(void **)&client->close = symbol(lib, "gp_close");
	*(void **)&client->hint = symbol(lib, "gp_hint");
	*(void **)&client->hold = symbol(lib, "gp_hold");
	*(void **)&client->open = symbol(lib, "gp_open");
	*(void **)&client->queued = symbol(lib, "gp_queued");
	*(void **)&client->release = symbol(lib, "gp_release");
	*(void **)&client->segment_begin = symbol(lib, "gp_segment_begin");
	*(void **)&client->segment_end = symbol(lib, "gp_segment_end");
	*(void **)&client->stats_get = symbol(lib, "gp_stats_get");
	gp_bench_client_check(client->open(&opts, &client->handle), "gp_open");
}
