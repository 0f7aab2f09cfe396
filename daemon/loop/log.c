// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_LEN 1024

static atomic_int limit = GP_LOG_INFO;
static const char *prefix = ""; /* constant once threads run */
static bool levels;		/* likewise */

/* The numbers are syslog's. */
static int priority(enum gp_log_level level)
{
	static const int of[] = {
		[GP_LOG_ERR] = 3,
		[GP_LOG_WARN] = 4,
		[GP_LOG_INFO] = 6,
		[GP_LOG_DEBUG] = 7,
	};

	return of[level];
}

/* One write, so that lines of several processes do not mix. */
static void write_line(enum gp_log_level level, const char *message, void *arg)
{
	char line[LINE_LEN], before[8] = "";
	ssize_t done;
	int n;

	if ((int)level > atomic_load(&limit))
		return;
	if (levels)
		snprintf(before, sizeof(before), "<%d>", priority(level));
	n = snprintf(line, sizeof(line), "%sgpreemptd: %s%s\n", before, prefix, message);
	if (n >= (int)sizeof(line)) {
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	do {
		done = write(STDERR_FILENO, line, (size_t)n);
	} while (done < 0 && errno == EINTR);
}

void gp_daemon_log(const char *role, int level)
{
	prefix = role;
	/* Set by systemd if stderr goes to its journal. */
	levels = getenv("JOURNAL_STREAM") || !isatty(STDERR_FILENO);
	gp_daemon_log_level(level);
	gp_set_log(write_line, NULL);
}

void gp_daemon_log_level(int level)
{
	atomic_store(&limit, level);
}
