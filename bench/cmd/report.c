// SPDX-License-Identifier: Apache-2.0
/*
 * report.c - gpreempt-bench report DIR: finds the Python program that makes the page,
 * beside this one as it was built or installed, else where the build was told to
 * install it, and runs it.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/cmd/report.h"

#define BELOW "/bench/report/report.py"

/* Into @path; false if it is not there. */
static bool beside(char *path, size_t len)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	int wrote;

	if (n <= 0)
		return false;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	wrote = snprintf(path, len, "%s/../lib/gpreempt" BELOW, self);
	return wrote > 0 && (size_t)wrote < len && !access(path, R_OK);
}

int gp_report(const char *dir)
{
	static const char installed[] = GP_PKGLIBDIR BELOW;
	char path[PATH_MAX];
	const char *program = beside(path, sizeof(path)) ? path : installed;
	/* -B: where it is installed is no place for what Python compiles it to. */
	const char *argv[] = { "python3", "-B", program, dir, NULL };

	if (access(program, R_OK)) {
		fprintf(stderr, "gpreempt-bench: report: %s: %s (make install puts it there)\n",
			program, strerror(errno));
		return 1;
	}
	execvp(argv[0], (char *const *)argv);
	fprintf(stderr, "gpreempt-bench: report: %s: %s\n", argv[0], strerror(errno));
	return 1;
}
