// SPDX-License-Identifier: Apache-2.0
#include "runtime/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_LEN 640

/*
 * Two words that change together: a reader that sees the new function with the old argument
 * would call it wrongly. Hence the pair behind one pointer. An old pair is never freed,
 * because a reader may be about to call it.
 */
struct sink {
	gp_log_fn fn;
	void *arg;
};

static _Atomic(struct sink *) current;
static atomic_int to_stderr;
static pthread_once_t level_once = PTHREAD_ONCE_INIT;
static int env_level; /* -1: none; INT8_MAX: not set */

#define LEVEL_UNSET 127

static void read_level(void)
{
	static const char *const names[] = { "err", "warn", "info", "debug" };
	const char *text = secure_getenv("GPREEMPT_LOG");

	env_level = LEVEL_UNSET;
	if (!text || !*text)
		return;
	env_level = -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i]))
			env_level = (int)i;
}

void gp_log_to_stderr(void)
{
	atomic_store(&to_stderr, 1);
}

void gp_set_log(gp_log_fn fn, void *arg)
{
	/* The first one takes no memory: a program that has none left still reports it. */
	static struct sink first;
	static atomic_int first_used;
	int saved = errno;
	struct sink *sink = NULL;

	if (fn) {
		sink = atomic_exchange(&first_used, 1) ? malloc(sizeof(*sink)) : &first;
		if (sink)
			*sink = (struct sink){ fn, arg };
	}
	atomic_store(&current, sink);
	errno = saved;
}

static void write_line(const char *line)
{
	char text[LINE_LEN + 16];
	int n = snprintf(text, sizeof(text), "gpreempt: %s\n", line);
	ssize_t done;

	/* One write: lines of several processes do not mix. */
	do {
		done = write(STDERR_FILENO, text, (size_t)n);
	} while (done < 0 && errno == EINTR);
}

void gp_log(enum gp_log_level level, const char *fmt, ...)
{
	int saved = errno;
	struct sink *sink = atomic_load(&current);
	char line[LINE_LEN];
	int limit;
	va_list ap;

	pthread_once(&level_once, read_level);
	limit = env_level;
	if (limit == LEVEL_UNSET)
		limit = atomic_load(&to_stderr) ? GP_LOG_WARN : -1;
	if (sink || (int)level <= limit) {
		va_start(ap, fmt);
		vsnprintf(line, sizeof(line), fmt, ap);
		va_end(ap);
		if (sink)
			sink->fn(level, line, sink->arg);
		else
			write_line(line);
	}
	errno = saved;
}
