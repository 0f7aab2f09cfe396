// SPDX-License-Identifier: Apache-2.0
/* Suspend the machine, and trace it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kfd.h"

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (*text && write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

void driver_be_patient(void)
{
	if (getenv("KFD_SLOW_KERNEL"))
		must(write_text("/sys/module/amdgpu/parameters/nohws_preempt_timeout_ms", "4000"),
		     "the driver's timeout");
}

#define TRACING "/sys/kernel/tracing/"

int trace_exits(void)
{
	int err = write_text(TRACING "trace_clock", "mono");

	if (!err)
		err = write_text(TRACING "events/signal/signal_deliver/enable", "1");
	return err ? err : write_text(TRACING "tracing_on", "1");
}

uint64_t trace_exit_ns(pid_t pid)
{
	FILE *f = fopen(TRACING "trace", "re");
	uint64_t found = 0;
	char line[512], want[32];

	snprintf(want, sizeof(want), "-%d ", pid); /* "task-pid [cpu] flags seconds: event" */
	while (f && fgets(line, sizeof(line), f)) {
		char *event = strstr(line, ": signal_deliver: sig=9 ");
		char *time = event;

		if (!event)
			continue;
		*event = 0;
		if (!strstr(line, want))
			continue;
		while (time > line && time[-1] != ' ')
			time--;
		found = (uint64_t)(strtod(time, NULL) * 1e6) * 1000;
	}
	if (f)
		fclose(f);
	write_text(TRACING "trace", "");
	return found;
}

int machine_suspend(unsigned int seconds)
{
	char when[32];
	int err;

	snprintf(when, sizeof(when), "+%u", seconds);
	write_text("/sys/class/rtc/rtc0/wakealarm", "0");
	err = write_text("/sys/class/rtc/rtc0/wakealarm", when);
	if (err)
		return err;
	write_text("/sys/power/mem_sleep", "deep");
	return write_text("/sys/power/state", "mem");
}
