// SPDX-License-Identifier: Apache-2.0
/*
 * memory.c - device memory, and host memory that both sides map. The server makes and seals
 * the files, so that no client can remove pages that the server uses.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softgpu/server/server.h"

#define DEVICE_BASE 0x0a0000000000ull /* no process uses addresses there */
#define ALIGN_BYTES 0x200000ull

int soft_memory_file(const char *name, uint64_t bytes, void **map)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *at;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		int err = -errno;

		close(fd);
		return err;
	}
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	*map = at;
	return fd;
}

/* "", or "=N" or "=N+M": after N calls that succeed, all fail, or M do. */
static bool fails(const char *count, uint64_t *calls)
{
	unsigned long long first, fail = ULLONG_MAX;

	if (sscanf(count, "=%llu+%llu", &first, &fail) < 1)
		return true;
	++*calls;
	return *calls > first && *calls - first <= fail;
}

/* Words of a small file. Read each time, so that a test can change it. */
bool soft_fault_planted(struct soft_server *s, enum soft_fault fault)
{
	static const char *const words[SOFT_FAULTS] = { "copy", "create", "map" };
	int fd = s->faults ? open(s->faults, O_RDONLY | O_CLOEXEC) : -1;
	char text[128] = { 0 };
	const char *word;

	if (fd >= 0) {
		(void)!read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	word = strstr(text, words[fault]);
	if (!word)
		s->fault_calls[fault] = 0;
	return word && fails(word + strlen(words[fault]), &s->fault_calls[fault]);
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

uint64_t soft_region_place(struct soft_proc *p, uint64_t bytes, uint64_t align)
{
	uint64_t addr;

	p->next_addr = round_up(p->next_addr, align > ALIGN_BYTES ? align : ALIGN_BYTES);
	addr = DEVICE_BASE + p->next_addr;
	p->next_addr += round_up(bytes, ALIGN_BYTES) + ALIGN_BYTES;
	return addr;
}

int soft_region_create(struct soft_server *s, struct soft_proc *p, uint64_t bytes, bool host,
		       struct soft_region **region, int *fd)
{
	struct soft_region *r;
	void *map;
	int err;

	if (!bytes || bytes > (host ? SOFT_HOST_MAX : s->memory_bytes))
		return -ENOMEM;
	if (p->region_count == SOFT_REGIONS_MAX)
		return -ENOMEM;
	if (!host && s->device_bytes + bytes > s->memory_bytes)
		return -ENOMEM;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->bytes = round_up(bytes, 4096);
	r->host = host;
	r->refs = 1;
	r->token = ++s->next_token;
	err = -ENOMEM;
	if (host) {
		*fd = soft_memory_file("gpreempt-soft-host", r->bytes, &map);
		if (*fd < 0)
			goto err_free;
	} else {
		map = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (map == MAP_FAILED)
			goto err_free;
		r->addr = soft_region_place(p, r->bytes, 0);
		p->device_bytes += r->bytes;
		s->device_bytes += r->bytes;
	}
	r->map = map;
	r->next = p->regions;
	p->regions = r;
	p->region_count++;
	*region = r;
	return 0;
err_free:
	free(r);
	return err;
}

int soft_region_bind(struct soft_proc *p, uint64_t token, uint64_t addr)
{
	struct soft_region *found = NULL;

	for (struct soft_region *r = p->regions; r; r = r->next) {
		if (r->token == token && r->host && !r->addr)
			found = r;
		else if (r->addr && addr < r->addr + r->bytes && addr >= r->addr)
			return -EEXIST;
	}
	if (!found || !addr || addr % 4096 || addr >= DEVICE_BASE * 64 ||
	    addr + found->bytes < addr)
		return -EINVAL;
	found->addr = addr;
	return 0;
}

void soft_region_put(struct soft_region *r)
{
	if (!r || --r->refs)
		return;
	munmap(r->map, r->bytes);
	free(r);
}

static void region_unlink(struct soft_server *s, struct soft_proc *p, struct soft_region **link)
{
	struct soft_region *r = *link;

	*link = r->next;
	p->region_count--;
	if (!r->host && !r->reserved) {
		p->device_bytes -= r->bytes;
		s->device_bytes -= r->bytes;
	}
	soft_region_put(r);
}

int soft_region_free(struct soft_server *s, struct soft_proc *p, uint64_t addr, bool reserved)
{
	struct soft_region **link;

	for (link = &p->regions; *link; link = &(*link)->next) {
		if ((*link)->addr != addr || (*link)->reserved != reserved)
			continue;
		region_unlink(s, p, link);
		return 0;
	}
	return -ENOENT;
}

void soft_regions_drop(struct soft_server *s, struct soft_proc *p)
{
	soft_virtual_drop(s, p);
	while (p->regions)
		region_unlink(s, p, &p->regions);
}

struct soft_region *soft_region_get(struct soft_proc *p, uint64_t addr, uint64_t bytes)
{
	for (struct soft_region *r = p->regions; r; r = r->next) {
		if (!r->addr || addr < r->addr || bytes > r->bytes ||
		    addr - r->addr > r->bytes - bytes)
			continue;
		r->refs++;
		return r;
	}
	return NULL;
}
