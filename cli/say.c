// SPDX-License-Identifier: Apache-2.0
/*
 * say.c - one line for what went wrong.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static void say(const char *fmt, va_list ap)
{
	char line[1024];

	vsnprintf(line, sizeof(line), fmt, ap);
	/* One line, whatever a file name in it contains. */
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
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
	return gp_fail("standard output: not all could be written");
}

/* A name from another process must not drive the terminal. */
const char *gp_printable(char *text)
{
	for (char *p = text; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
	return *text ? text : "-";
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
