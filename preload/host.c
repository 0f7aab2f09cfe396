// SPDX-License-Identifier: Apache-2.0
#include "preload/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/host_file.h"
#include "preload/memory.h"
#include "runtime/log.h"

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
	/* Of memory that programs share. */
	bool shares; /* likewise */
	int file;    /* -1: this process's own memory */
	/* A place here has the number of the piece that is this process's. */
	uint32_t *piece;
	_Atomic(uint64_t) taken;
} pool = { .limit = UINT64_MAX, .file = -1 };

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

void gp_host_share(void)
{
	pool.shares = true;
}

uint64_t gp_host_bytes(void)
{
	return pool.file < 0 ? pool.bytes : pool.taken * GP_HOST_PIECE;
}

void *gp_host_at(uint64_t offset)
{
	if (pool.file < 0)
		return pool.base + offset;
	return pool.base + pool.piece[offset / GP_HOST_PIECE] * GP_HOST_PIECE +
	       offset % GP_HOST_PIECE;
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

/* ---- addresses ------------------------------------------------------------------------ */

static uint64_t most_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Without the others' memory it has its own. */
static void start_sharing(uint64_t most)
{
	pool.piece = calloc(most / GP_HOST_PIECE, sizeof(*pool.piece));
	pool.file = pool.piece ? gp_host_file_open() : -ENOMEM;
	if (pool.file < 0)
		gp_log(GP_LOG_INFO, "cannot share host memory with other programs: %s",
		       strerror(-pool.file));
}

int gp_host_start(uint64_t most)
{
	char *base;

	/* Others' memory may be there beside as much as this device has. */
	if (pool.shares)
		most = most_of(most, meminfo("MemTotal"));
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
	if (pool.shares)
		start_sharing(most);
	return 0;
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

/* As before it was used: no pages, and the same advice for the next. */
static void drop_pages(char *at)
{
	if (pool.file < 0) {
		(void)madvise(at, GP_HOST_PIECE, MADV_DONTNEED);
		(void)mprotect(at, GP_HOST_PIECE, PROT_NONE);
	} else {
		(void)mmap(at, GP_HOST_PIECE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	}
}

static bool map_shared(char *at)
{
	if (mmap(at, GP_HOST_PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, pool.file,
		 at - pool.base) == MAP_FAILED)
		return false;
	(void)madvise(at, GP_HOST_PIECE, MADV_DONTFORK);
	(void)madvise(at, GP_HOST_PIECE, MADV_DONTDUMP);
	return true;
}

static int add_piece(void)
{
	char *at = pool.base + pool.bytes;

	if (pool.bytes + GP_HOST_PIECE > pool.most)
		return -ENOMEM;
	if (pool.file < 0 ? mprotect(at, GP_HOST_PIECE, PROT_READ | PROT_WRITE) : !map_shared(at))
		return -ENOMEM;
	if (!populate(at, GP_HOST_PIECE) ||
	    gp_memory_cuda.host_register(at, GP_HOST_PIECE, REGISTER_PORTABLE)) {
		drop_pages(at);
		return -ENOMEM;
	}
	pool.bytes += GP_HOST_PIECE;
	return 0;
}

/* ---- this process's own memory ---------------------------------------------------------- */

static int grow_own(uint64_t bytes, uint64_t step)
{
	const uint64_t until = bytes - pool.bytes > step ? pool.bytes + step : bytes;
	int err = 0;

	if (bytes <= pool.bytes)
		return 0;
	if (!gp_host_allows(until) || !host_has(until - pool.bytes))
		return -ENOMEM;
	while (!err && pool.bytes < until)
		err = add_piece();
	return err ? err : pool.bytes < bytes;
}

void gp_host_trim(uint64_t bytes)
{
	while (pool.file < 0 && pool.bytes >= bytes + GP_HOST_PIECE) {
		char *at = pool.base + pool.bytes - GP_HOST_PIECE;

		/* Then it stays. */
		if (gp_memory_cuda.host_unregister(at))
			return;
		pool.bytes -= GP_HOST_PIECE;
		drop_pages(at);
	}
}

/* ---- memory that programs share ----------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t pieces_of(uint64_t bytes)
{
	return (bytes + GP_HOST_PIECE - 1) / GP_HOST_PIECE;
}

/* Pieces that are pinned here, and no other program has. */
static uint64_t count_free(void)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < pool.bytes / GP_HOST_PIECE; i++)
		n += !gp_host_file_is_taken(pool.file, i);
	return n;
}

/* Pin one more, which the others have already, or a new one. */
static int add_shared(void)
{
	const uint64_t n = pool.bytes / GP_HOST_PIECE;
	int err;

	if (!gp_host_allows(pool.bytes + GP_HOST_PIECE))
		return -ENOMEM;
	if (n < gp_host_file_pieces(pool.file, GP_HOST_PIECE))
		return add_piece();
	if (!host_has(GP_HOST_PIECE))
		return -ENOMEM;
	err = gp_host_file_grow(pool.file, n + 1, GP_HOST_PIECE);
	return err ? err : add_piece();
}

/* Another program may take a new piece at once. */
static int grow_shared(uint64_t bytes, uint64_t step)
{
	uint64_t have = count_free();
	int err = 0;

	for (uint64_t n = 0; !err && have < pieces_of(bytes); n++) {
		if (n >= pieces_of(step))
			return 1;
		err = add_shared();
		if (!err && !gp_host_file_is_taken(pool.file, pool.bytes / GP_HOST_PIECE - 1))
			have++;
	}
	return err;
}

/* From the piece @from on, those that nobody has. */
static void take_free(uint64_t from, uint64_t need)
{
	for (uint64_t i = from; i < pool.bytes / GP_HOST_PIECE && pool.taken < need; i++)
		if (gp_host_file_take(pool.file, i))
			pool.piece[pool.taken++] = (uint32_t)i;
}

/* Of all pieces that the limit allows, those that no other program has. */
static uint64_t count_possible(void)
{
	const uint64_t most = least(pool.most, pool.limit) / GP_HOST_PIECE;
	uint64_t n = most;

	for (uint64_t i = 0; i < least(gp_host_file_pieces(pool.file, GP_HOST_PIECE), most); i++)
		n -= gp_host_file_is_taken(pool.file, i);
	return n;
}

static int take_shared(uint64_t need)
{
	uint64_t last;
	int err = 0;

	if (pool.taken)
		return pool.taken < need ? -ENOMEM : 0;
	take_free(0, need);
	while (!err && pool.taken < need) {
		last = pool.bytes / GP_HOST_PIECE;
		err = add_shared();
		if (!err)
			take_free(last, need);
	}
	if (!err)
		return 0;
	gp_host_leave();
	return need <= pool.bytes / GP_HOST_PIECE ? -ENOSPC : err;
}

/* ---- either ------------------------------------------------------------------------------- */

int gp_host_grow(uint64_t bytes, uint64_t step)
{
	return pool.file < 0 ? grow_own(bytes, step) : grow_shared(bytes, step);
}

bool gp_host_could(uint64_t bytes)
{
	return pool.file < 0 || pool.taken || count_possible() >= pieces_of(bytes);
}

int gp_host_take(uint64_t bytes)
{
	return pool.file < 0 ? grow_own(bytes, UINT64_MAX) : take_shared(pieces_of(bytes));
}

void gp_host_leave(void)
{
	if (!pool.taken)
		return;
	pool.taken = 0;
	gp_host_file_leave(pool.file);
}
