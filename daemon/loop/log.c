// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/loop/loop.h"

#define LINE_LEN 1024
#define SHORTAGE_NS 60000000000u

static atomic_int limit = GP_LOG_INFO;
static const char *prefix = ""; /* constant once threads run */
static bool levels;		/* likewise */
static bool is_set;		/* gp_set_log() takes memory each time */

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
	if (!is_set)
		gp_set_log(write_line, NULL);
	is_set = true;
}

void gp_daemon_log_level(int level)
{
	atomic_store(&limit, level);
}

static bool is_shortage(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOSPC || err == -EIO;
}

void gp_log_shortage_at(_Atomic uint64_t *last_ns, int err, const char *text)
{
	uint64_t now_ns, before_ns = atomic_load(last_ns);

	if (!is_shortage(err))
		return;
	now_ns = gp_loop_now_ns();
	if (before_ns && now_ns < before_ns + SHORTAGE_NS)
		return;
	if (atomic_compare_exchange_strong(last_ns, &before_ns, now_ns))
		gp_log(GP_LOG_WARN, "%s: %s", text, strerror(-err));
}
