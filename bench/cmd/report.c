// SPDX-License-Identifier: Apache-2.0
/*
 * report.c - gpreempt-bench report DIR: runs the Python program that makes the page.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/cmd/data.h"
#include "bench/cmd/report.h"

int gp_report(const char *dir)
{
	char program[PATH_MAX];
	/* -B: Python must not write compiled files to the install folder. */
	const char *argv[] = { "python3", "-B", program, dir, NULL };

	gp_data_path("report/report.py", program);
	if (access(program, R_OK)) {
		fprintf(stderr, "gpreempt-bench: report: cannot read %s: %s; run make install\n",
			program, strerror(errno));
		return 1;
	}
	execvp(argv[0], (char *const *)argv);
	fprintf(stderr, "gpreempt-bench: report: %s: %s\n", argv[0], strerror(errno));
	return 1;
}
