// SPDX-License-Identifier: Apache-2.0
#include "preload/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/memory.h"

#define REGISTER_PORTABLE 1u
#define THREADS_MOST 8
#define HUGE_PAGE (2u << 20)
#define RESERVE_SHARE 16 /* of the host's memory stays free */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static struct {
	char *base;
	uint64_t most; /* of the addresses */
	_Atomic(uint64_t) bytes;
	uint64_t limit; /* set before any thread */
} pool = { .limit = UINT64_MAX };

void gp_host_limit(uint64_t bytes)
{
	pool.limit = bytes;
}

uint64_t gp_host_most(void)
{
	return pool.limit;
}

/* It is pinned in whole pieces. */
bool gp_host_allows(uint64_t bytes)
{
	return bytes <= pool.limit / GP_HOST_PIECE * GP_HOST_PIECE;
}

int gp_host_start(uint64_t most)
{
	char *base;

	most = (most + GP_HOST_PIECE - 1) / GP_HOST_PIECE * GP_HOST_PIECE;
	base = mmap(NULL, most + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	base += -(uintptr_t)base % HUGE_PAGE;
	/* After a fork a write of the parent's would move it to a page unknown to the GPU. */
	(void)madvise(base, most, MADV_DONTFORK);
	(void)madvise(base, most, MADV_DONTDUMP);
	(void)madvise(base, most, MADV_HUGEPAGE);
	pool.base = base;
	pool.most = most;
	return 0;
}

uint64_t gp_host_bytes(void)
{
	return pool.bytes;
}

void *gp_host_at(uint64_t offset)
{
	return pool.base + offset;
}

/* ---- how much the host has --------------------------------------------------------- */

/* A line "NAME: N kB" of /proc/meminfo, in bytes; 0: none. */
static uint64_t meminfo(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char word[64];
	bool found = false;

	while (f && !found && fscanf(f, "%63[^:]: %llu%*[^\n]%*c", word, &kib) == 2)
		found = !strcmp(word, name);
	if (f)
		fclose(f);
	return found ? kib << 10 : 0;
}

static bool read_number(const char *path, unsigned long long *number)
{
	FILE *f = fopen(path, "re");
	const bool ok = f && fscanf(f, "%llu", number) == 1;

	if (f)
		fclose(f);
	return ok;
}

/* What this process's control group (version 2) leaves of its limit; UINT64_MAX: it has none. */
static uint64_t left_by_cgroup(void)
{
	char line[256], path[320];
	unsigned long long most, used;
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "0::/", 4);
	if (f)
		fclose(f);
	if (!found)
		return UINT64_MAX;
	line[strcspn(line, "\n")] = '\0';
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", line + 3);
	if (!read_number(path, &most))
		return UINT64_MAX;
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.current", line + 3);
	if (!read_number(path, &used))
		return UINT64_MAX;
	return most > used ? most - used : 0;
}

/* Memory that lacks later ends some process. So ask before. */
static bool host_has(uint64_t bytes)
{
	const uint64_t keep = meminfo("MemTotal") / RESERVE_SHARE;
	const uint64_t have = meminfo("MemAvailable");

	return have >= bytes + keep && left_by_cgroup() >= bytes + bytes / RESERVE_SHARE;
}

/* ---- pages ---------------------------------------------------------------------------- */

struct part {
	char *at;
	size_t bytes;
	bool ok;
};

static void *populate_part(void *arg)
{
	struct part *p = arg;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	p->ok = !madvise(p->at, p->bytes, MADV_POPULATE_WRITE);
	/* An older kernel. */
	if (!p->ok && errno == EINVAL) {
		for (size_t i = 0; i < p->bytes; i += page)
			((volatile char *)p->at)[i] = 0;
		p->ok = true;
	}
	return NULL;
}

/* The kernel clears each page: several threads are faster. */
static bool populate(char *at, size_t bytes)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const size_t n = cpus < 1 ? 1 : cpus > THREADS_MOST ? THREADS_MOST : (size_t)cpus;
	struct part part[THREADS_MOST];
	pthread_t thread[THREADS_MOST];
	bool started[THREADS_MOST], ok = true;

	for (size_t i = 0; i < n; i++) {
		part[i] = (struct part){ at + bytes / n * i, bytes / n, false };
		if (i == n - 1)
			part[i].bytes = bytes - bytes / n * i;
		started[i] = !pthread_create(&thread[i], NULL, populate_part, &part[i]);
		if (!started[i])
			populate_part(&part[i]);
	}
	for (size_t i = 0; i < n; i++) {
		if (started[i])
			pthread_join(thread[i], NULL);
		ok &= part[i].ok;
	}
	return ok;
}

static void drop_pages(char *at)
{
	(void)madvise(at, GP_HOST_PIECE, MADV_DONTNEED);
	(void)mprotect(at, GP_HOST_PIECE, PROT_NONE);
}

static int add_piece(void)
{
	char *at = pool.base + pool.bytes;

	if (pool.bytes + GP_HOST_PIECE > pool.most ||
	    mprotect(at, GP_HOST_PIECE, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	if (!populate(at, GP_HOST_PIECE) ||
	    gp_memory_cuda.host_register(at, GP_HOST_PIECE, REGISTER_PORTABLE)) {
		drop_pages(at);
		return -ENOMEM;
	}
	pool.bytes += GP_HOST_PIECE;
	return 0;
}

int gp_host_grow(uint64_t bytes, uint64_t step)
{
	const uint64_t until = bytes - pool.bytes > step ? pool.bytes + step : bytes;
	int err = 0;

	if (bytes <= pool.bytes)
		return 0;
	if (!gp_host_allows(until) || !host_has(until - pool.bytes))
		return -ENOMEM;
	while (!err && pool.bytes < until)
		err = add_piece();
	return err;
}

void gp_host_trim(uint64_t bytes)
{
	while (pool.bytes >= bytes + GP_HOST_PIECE) {
		char *at = pool.base + pool.bytes - GP_HOST_PIECE;

		/* Then it stays. */
		if (gp_memory_cuda.host_unregister(at))
			return;
		pool.bytes -= GP_HOST_PIECE;
		drop_pages(at);
	}
}
