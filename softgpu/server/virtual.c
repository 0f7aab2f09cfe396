// SPDX-License-Identifier: Apache-2.0
/*
 * virtual.c - reserved addresses, physical memory, and mappings of one into the other.
 *
 * A reservation has as many addresses in the server. A mapping of the GPU is a mapping there, so
 * work that is queued or running sees what is mapped when it runs. virtual_usable() guards each
 * access: an unmapped address is a fault of the client's context, not the server's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softgpu/server/server.h"

#define RESERVE_MAX (1ull << 40)
#define MAPPINGS_MAX 16384u /* per process */
#define ACCESS_MAX 3u

/* Physical memory. */
struct soft_physical {
	uint64_t bytes;
	uint32_t uses; /* its handle, and mappings */
	int fd;
};

struct soft_handle {
	struct soft_handle *next;
	uint64_t id;
	struct soft_physical *memory;
};

struct soft_mapping {
	struct soft_mapping *next;
	uint64_t at, bytes; /* address */
	struct soft_physical *memory;
	uint32_t access; /* 0: none yet, 1: read, 3: read and write */
};

static bool aligned(uint64_t value)
{
	return value % SOFT_PAGE_BYTES == 0;
}

static void memory_put(struct soft_server *s, struct soft_proc *p, struct soft_physical *memory)
{
	if (--memory->uses)
		return;
	p->device_bytes -= memory->bytes;
	s->device_bytes -= memory->bytes;
	close(memory->fd);
	free(memory);
}

/* ---- physical memory ------------------------------------------------------- */

static uint64_t handle_add(struct soft_server *s, struct soft_proc *p, struct soft_handle *h)
{
	p->mapping_count++;
	h->id = ++s->next_token;
	h->next = p->handles;
	p->handles = h;
	return h->id;
}

int soft_physical_create(struct soft_server *s, struct soft_proc *p, uint64_t bytes, uint64_t *id)
{
	struct soft_handle *h;
	int fd;

	if (!bytes || !aligned(bytes))
		return -EINVAL;
	if (p->mapping_count >= MAPPINGS_MAX || bytes > s->memory_bytes - s->device_bytes)
		return -ENOMEM;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->memory = calloc(1, sizeof(*h->memory));
	fd = h->memory ? memfd_create("gpreempt-soft-device", MFD_CLOEXEC) : -1;
	if (fd < 0 || ftruncate(fd, (off_t)bytes)) {
		if (fd >= 0)
			close(fd);
		free(h->memory);
		free(h);
		return -ENOMEM;
	}
	*h->memory = (struct soft_physical){ .bytes = bytes, .uses = 1, .fd = fd };
	p->device_bytes += bytes;
	s->device_bytes += bytes;
	*id = handle_add(s, p, h);
	return 0;
}

static struct soft_handle **handle_find(struct soft_proc *p, uint64_t id)
{
	struct soft_handle **link = &p->handles;

	while (*link && (*link)->id != id)
		link = &(*link)->next;
	return link;
}

static void handle_unlink(struct soft_server *s, struct soft_proc *p, struct soft_handle **link)
{
	struct soft_handle *h = *link;

	*link = h->next;
	p->mapping_count--;
	memory_put(s, p, h->memory);
	free(h);
}

int soft_physical_release(struct soft_server *s, struct soft_proc *p, uint64_t id)
{
	struct soft_handle **link = handle_find(p, id);

	if (!*link)
		return -EINVAL;
	handle_unlink(s, p, link);
	return 0;
}

int soft_physical_file(struct soft_proc *p, uint64_t id)
{
	struct soft_handle *h = *handle_find(p, id);
	int fd;

	if (!h)
		return -EINVAL;
	fd = fcntl(h->memory->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* ---- addresses --------------------------------------------------------------- */

int soft_virtual_reserve(struct soft_proc *p, uint64_t bytes, uint64_t align, uint64_t *addr)
{
	struct soft_region *r;
	void *map;

	if (!bytes || !aligned(bytes) || (align && (align & (align - 1))))
		return -EINVAL;
	if (bytes > RESERVE_MAX || align > RESERVE_MAX || p->region_count == SOFT_REGIONS_MAX)
		return -ENOMEM;
	map = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	r = map == MAP_FAILED ? NULL : calloc(1, sizeof(*r));
	if (!r) {
		if (map != MAP_FAILED)
			munmap(map, bytes);
		return -ENOMEM;
	}
	r->addr = soft_region_place(p, bytes, align);
	r->bytes = bytes;
	r->map = map;
	r->refs = 1;
	r->reserved = true;
	r->next = p->regions;
	p->regions = r;
	p->region_count++;
	*addr = r->addr;
	return 0;
}

/* The reservation with [addr, addr + bytes). */
static struct soft_region *reservation(struct soft_proc *p, uint64_t addr, uint64_t bytes)
{
	for (struct soft_region *r = p->regions; r; r = r->next)
		if (r->reserved && addr >= r->addr && bytes <= r->bytes &&
		    addr - r->addr <= r->bytes - bytes)
			return r;
	return NULL;
}

int soft_virtual_free(struct soft_server *s, struct soft_proc *p, uint64_t addr, uint64_t bytes)
{
	struct soft_region *r = reservation(p, addr, bytes);

	if (!r || r->addr != addr || r->bytes != bytes || r->mappings)
		return -EINVAL;
	return soft_region_free(s, p, addr, true);
}

/* ---- mappings ---------------------------------------------------------------- */

static bool overlap(const struct soft_mapping *m, uint64_t addr, uint64_t bytes)
{
	return addr < m->at + m->bytes && m->at < addr + bytes;
}

static unsigned char *server_address(const struct soft_region *r, uint64_t addr)
{
	return r->map + (addr - r->addr);
}

int soft_virtual_map(struct soft_proc *p, uint64_t addr, uint64_t bytes, uint64_t id)
{
	struct soft_region *r = reservation(p, addr, bytes);
	struct soft_handle *h = *handle_find(p, id);
	struct soft_mapping *m;

	if (!r || !h || !bytes || !aligned(addr) || !aligned(bytes) || bytes > h->memory->bytes)
		return -EINVAL;
	for (m = r->mappings; m; m = m->next)
		if (overlap(m, addr, bytes))
			return -EINVAL;
	if (p->mapping_count >= MAPPINGS_MAX)
		return -ENOMEM;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	if (mmap(server_address(r, addr), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 h->memory->fd, 0) == MAP_FAILED) {
		free(m);
		return -ENOMEM;
	}
	*m = (struct soft_mapping){ r->mappings, addr, bytes, h->memory, 0 };
	h->memory->uses++;
	r->mappings = m;
	p->mapping_count++;
	return 0;
}

static void mapping_unlink(struct soft_server *s, struct soft_proc *p, struct soft_region *r,
			   struct soft_mapping **link)
{
	struct soft_mapping *m = *link;

	*link = m->next;
	p->mapping_count--;
	/* Never fails: it splits no mapping. */
	mmap(server_address(r, m->at), m->bytes, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	memory_put(s, p, m->memory);
	free(m);
}

/* Bytes of whole mappings in [addr, addr + bytes); 0: one is there in part. */
static uint64_t mapped_whole(const struct soft_region *r, uint64_t addr, uint64_t bytes)
{
	uint64_t found = 0;

	for (const struct soft_mapping *m = r->mappings; m; m = m->next) {
		if (!overlap(m, addr, bytes))
			continue;
		if (m->at < addr || m->at + m->bytes > addr + bytes)
			return 0;
		found += m->bytes;
	}
	return found;
}

int soft_virtual_unmap(struct soft_server *s, struct soft_proc *p, uint64_t addr, uint64_t bytes)
{
	struct soft_region *r = reservation(p, addr, bytes);
	struct soft_mapping **link;

	if (!r || !bytes || mapped_whole(r, addr, bytes) != bytes)
		return -EINVAL;
	for (link = &r->mappings; *link;) {
		if (overlap(*link, addr, bytes))
			mapping_unlink(s, p, r, link);
		else
			link = &(*link)->next;
	}
	return 0;
}

int soft_virtual_access(struct soft_proc *p, uint64_t addr, uint64_t bytes, uint32_t access)
{
	struct soft_region *r = reservation(p, addr, bytes);

	if (!r || !bytes || access > ACCESS_MAX || access == 2 ||
	    mapped_whole(r, addr, bytes) != bytes)
		return -EINVAL;
	for (struct soft_mapping *m = r->mappings; m; m = m->next)
		if (overlap(m, addr, bytes))
			m->access = access;
	return 0;
}

static struct soft_mapping *mapping_with(struct soft_proc *p, uint64_t addr)
{
	struct soft_region *r = reservation(p, addr, 1);
	struct soft_mapping *m = r ? r->mappings : NULL;

	while (m && !overlap(m, addr, 1))
		m = m->next;
	return m;
}

int soft_physical_retain(struct soft_server *s, struct soft_proc *p, uint64_t addr, uint64_t *id)
{
	struct soft_mapping *m = mapping_with(p, addr);
	struct soft_handle *h;

	if (!m)
		return -EINVAL;
	h = p->mapping_count < MAPPINGS_MAX ? calloc(1, sizeof(*h)) : NULL;
	if (!h)
		return -ENOMEM;
	h->memory = m->memory;
	h->memory->uses++;
	*id = handle_add(s, p, h);
	return 0;
}

bool soft_virtual_usable(const struct soft_region *r, uint64_t addr, uint64_t bytes)
{
	uint64_t left = bytes;

	for (const struct soft_mapping *m = r->mappings; m; m = m->next) {
		uint64_t from, to;

		if (!overlap(m, addr, bytes) || m->access != ACCESS_MAX)
			continue;
		from = m->at > addr ? m->at : addr;
		to = m->at + m->bytes < addr + bytes ? m->at + m->bytes : addr + bytes;
		left -= to - from;
	}
	return !left;
}

bool soft_virtual_range(const struct soft_region *r, uint64_t addr, uint64_t *base, uint64_t *bytes)
{
	for (const struct soft_mapping *m = r->mappings; m; m = m->next) {
		if (!overlap(m, addr, 1))
			continue;
		*base = m->at;
		*bytes = m->bytes;
		return true;
	}
	return false;
}

void soft_virtual_drop(struct soft_server *s, struct soft_proc *p)
{
	for (struct soft_region *r = p->regions; r; r = r->next)
		while (r->mappings)
			mapping_unlink(s, p, r, &r->mappings);
	while (p->handles)
		handle_unlink(s, p, &p->handles);
}
