// SPDX-License-Identifier: Apache-2.0
/* What a test does to the machine it runs in. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kfd.h"

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
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
