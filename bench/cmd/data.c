// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/data.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void gp_data_path(const char *name, char path[PATH_MAX])
{
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = NULL;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
	}
	if (slash) {
		*slash = '\0';
		if ((size_t)snprintf(path, PATH_MAX, "%s/../lib/gpreempt/bench/%s", self, name) <
			    PATH_MAX &&
		    !access(path, R_OK))
			return;
	}
	snprintf(path, PATH_MAX, GP_PKGLIBDIR "/bench/%s", name);
}
