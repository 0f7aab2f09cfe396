// SPDX-License-Identifier: Apache-2.0
/* The software GPU's log of events. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kfd.h"

#define ENGINE "/sys/kernel/debug/simgpu/%u/engine/%s"

static FILE *open_counters(unsigned int gpu)
{
	char path[128];

	snprintf(path, sizeof(path), ENGINE, gpu, "counters");
	return fopen(path, "re");
}

uint64_t simgpu_counter(unsigned int gpu, const char *name)
{
	FILE *f = open_counters(gpu);
	unsigned long long value, found = 0;
	char key[64];

	while (f && fscanf(f, "%63s %llu", key, &value) == 2)
		if (!strcmp(key, name))
			found = value;
	if (f)
		fclose(f);
	return found;
}

/* The counters include earlier tests. */
static uint64_t checks_before;

__attribute__((constructor)) static void note_checks(void)
{
	checks_before = simgpu_checks();
}

uint64_t simgpu_checks(void)
{
	unsigned long long value, sum = 0;
	unsigned int gpu;
	char key[64];
	FILE *f;

	for (gpu = 0; (f = open_counters(gpu)); gpu++) {
		while (fscanf(f, "%63s %llu", key, &value) == 2)
			if (!strncmp(key, "check_", 6))
				sum += value;
		fclose(f);
	}
	return sum - checks_before;
}

int sim_log_open(struct sim_log *log, unsigned int gpu)
{
	char path[128];

	memset(log, 0, sizeof(*log));
	snprintf(path, sizeof(path), ENGINE, gpu, "events");
	log->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (log->fd < 0)
		return -errno;
	sim_log_skip(log);
	return 0;
}

static bool refill(struct sim_log *log)
{
	ssize_t n;

	memmove(log->buf, log->buf + log->pos, log->len - log->pos);
	log->len -= log->pos;
	log->pos = 0;
	n = read(log->fd, log->buf + log->len, sizeof(log->buf) - 1 - log->len);
	if (n <= 0)
		return false;
	log->len += n;
	log->buf[log->len] = 0;
	return true;
}

bool sim_log_next(struct sim_log *log, struct sim_event *ev)
{
	unsigned long long number, ns, queue, value, lost;
	char *line, *end;

	for (;;) {
		line = log->buf + log->pos;
		end = memchr(line, '\n', log->len - log->pos);
		if (!end) {
			if (!refill(log))
				return false;
			continue;
		}
		*end = 0;
		log->pos = end + 1 - log->buf;
		if (sscanf(line, "- LOST %llu", &lost) == 1) {
			log->lost += lost;
			continue;
		}
		if (sscanf(line, "%llu %llu %15s %d %u %x %llx %llx", &number, &ns, ev->kind,
			   &ev->hqd, &ev->vmid, &ev->pasid, &queue, &value) != 8)
			continue;
		ev->number = number;
		ev->ns = ns;
		ev->queue = queue;
		ev->value = value;
		return true;
	}
}

void sim_log_skip(struct sim_log *log)
{
	struct sim_event ev;

	while (sim_log_next(log, &ev))
		;
	log->lost = 0;
}

void sim_log_close(struct sim_log *log)
{
	close(log->fd);
}
