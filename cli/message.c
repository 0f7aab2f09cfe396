// SPDX-License-Identifier: Apache-2.0
/* message.c - one line for an error. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/text.h"

static void say(const char *fmt, va_list ap)
{
	char line[1024];

	vsnprintf(line, sizeof(line), fmt, ap);
	gp_one_line(line);
	fprintf(stderr, "gpreempt: %s\n", line);
}

int gp_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return GP_EXIT_OWN;
}

void gp_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

int gp_flush_output(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return gp_fail("cannot write standard output");
}

void gp_cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void gp_cleanup_free(void *ptr)
{
	free(*(void **)ptr);
}
