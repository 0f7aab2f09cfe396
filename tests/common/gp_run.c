// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>

#include "tests/common/gp_run.h"

static size_t skipped;

/* Whatever daemon this machine has, tests are not its tenants. */
__attribute__((constructor)) static void no_daemon(void)
{
	setenv("GPREEMPT_DAEMON", "none", 1);
}

void gp_note_skip(void)
{
	skipped++;
}

int gp_run_group(const char *name, int failed, size_t count)
{
	printf("%s: %zu run, %d failed, %zu skipped\n", name, count - skipped, failed, skipped);
	if (failed)
		return 1;
	return count && skipped == count ? 77 : 0;
}
