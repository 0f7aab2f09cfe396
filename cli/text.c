// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A name from another process must not drive the terminal. */
const char *gp_printable(char *text)
{
	for (char *p = text; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
	return *text ? text : "-";
}

void gp_one_line(char *text)
{
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
}

void gp_read_comm(pid_t pid, char *buf, size_t len)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	buf[0] = '\0';
	if (!f)
		return;
	if (fgets(buf, (int)len, f))
		buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
}
