// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/data.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void gp_pkglib_path(const char *name, char path[PATH_MAX])
{
	static const char *const beside[] = { "../lib", GP_LIBDIR_FROM_BIN };
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = NULL;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
	}
	if (slash)
		*slash = '\0';
	for (size_t i = 0; slash && i < sizeof(beside) / sizeof(beside[0]); i++)
		if ((size_t)snprintf(path, PATH_MAX, "%s/%s/gpreempt/%s", self, beside[i], name) <
			    PATH_MAX &&
		    !access(path, R_OK))
			return;
	snprintf(path, PATH_MAX, GP_PKGLIBDIR "/%s", name);
}

void gp_data_path(const char *name, char path[PATH_MAX])
{
	char below[PATH_MAX];

	snprintf(below, sizeof(below), "bench/%s", name);
	gp_pkglib_path(below, path);
}
