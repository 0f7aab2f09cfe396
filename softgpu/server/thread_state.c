// SPDX-License-Identifier: Apache-2.0
/* thread_state.c - see thread_state.h and proc(5). */
#include "softgpu/server/thread_state.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 4096 /* of `status`, the longest */

static bool read_text(int fd, char text[TEXT_BYTES])
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, TEXT_BYTES - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

static int open_file(int dir_fd, const char *folder, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "%.64s/%s", folder, name);
	return openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* `stat` is "PID (NAME) LETTER ..", and the name may have any character. */
static char letter_of(int stat_fd)
{
	char text[TEXT_BYTES];
	const char *end = read_text(stat_fd, text) ? strrchr(text, ')') : NULL;

	return end && end[1] == ' ' ? end[2] : 'X';
}

/* `schedstat` is "CPU_NS WAIT_NS TIMES": how often it had a CPU. */
static bool times_of(const char *text, uint64_t *times)
{
	char *at = NULL;

	for (int i = 0; i < 3; i++)
		*times = strtoull(i ? at : text, &at, 10);
	return *at == '\n';
}

static bool count_of(int fd, uint64_t *count)
{
	char text[TEXT_BYTES];
	const char *own, *forced;

	if (!read_text(fd, text))
		return false;
	if (isdigit((unsigned char)*text))
		return times_of(text, count);
	own = strstr(text, "\nvoluntary_ctxt_switches:");
	forced = strstr(text, "\nnonvoluntary_ctxt_switches:");
	if (!own || !forced)
		return false;
	*count = strtoull(strchr(own, ':') + 1, NULL, 10) +
		 strtoull(strchr(forced, ':') + 1, NULL, 10);
	return true;
}

void soft_thread_open(struct soft_thread_files *files, pid_t pid, pid_t tid)
{
	char folder[64];
	uint64_t times;

	snprintf(folder, sizeof(folder), "/proc/%d/task/%d", pid, tid);
	files->stat = open_file(AT_FDCWD, folder, "stat");
	files->count = open_file(AT_FDCWD, folder, "schedstat");
	/* A thread that called had a CPU at least once: this kernel does not count. */
	if (!count_of(files->count, &times) || !times) {
		close_file(files->count);
		files->count = open_file(AT_FDCWD, folder, "status");
	}
}

void soft_thread_close(struct soft_thread_files *files)
{
	close_file(files->stat);
	close_file(files->count);
	*files = SOFT_NO_THREAD;
}

bool soft_thread_read(const struct soft_thread_files *files, char *letter, uint64_t *switches)
{
	*letter = letter_of(files->stat);
	return *letter != 'X' && count_of(files->count, switches);
}

char soft_thread_letter(int tasks_fd, const char *tid)
{
	const int fd = open_file(tasks_fd, tid, "stat");
	const char letter = letter_of(fd);

	close_file(fd);
	return letter;
}

bool soft_thread_cpu(int tasks_fd, const char *tid, uint64_t *ns)
{
	const int fd = open_file(tasks_fd, tid, "schedstat");
	char text[TEXT_BYTES];
	const bool is_known = read_text(fd, text);

	close_file(fd);
	if (is_known)
		*ns = strtoull(text, NULL, 10);
	return is_known;
}
