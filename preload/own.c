// SPDX-License-Identifier: Apache-2.0
#include "preload/own.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/memory.h"

#define BUCKETS 4096u
#define READ_WRITE 3
#define FLAG_RDMA 1  /* of gp_memory_prop.flags: gpuDirectRDMACapable */
#define FLAG_USAGE 2 /* .. and usage: for sparse arrays */

struct own_map {
	struct own_map *next_at; /* of its bucket */
	struct own_map *next;	 /* of its memory */
	struct gp_own *of;
	uint64_t at, bytes, offset;
	int access;
};

/** One cuMemCreate(). */
struct gp_own {
	struct gp_own *next;
	struct gp_memory_piece piece; /* listed: in gp_memory */
	struct gp_memory_prop prop;
	struct own_map *maps;
	uint64_t bytes;
	uint64_t real;	   /* the driver's handle, while refs */
	unsigned int refs; /* the program's; the driver counts them as one */
	bool listed, fixed;
};

/* gp_memory.lock */
static struct gp_own *names[BUCKETS];
static struct own_map *places[BUCKETS];

/* ---- names and places ------------------------------------------------------------- */

static size_t bucket_of(uint64_t key)
{
	return gp_memory_hash(key) & (BUCKETS - 1);
}

static struct gp_own **find(uint64_t name)
{
	struct gp_own **link = &names[bucket_of(name)];

	while (*link && (uint64_t)*link != name)
		link = &(*link)->next;
	return link;
}

/* The link to the mapping that begins at @at. */
static struct own_map **place(uint64_t at)
{
	struct own_map **link = &places[bucket_of(at)];

	while (*link && (*link)->at != at)
		link = &(*link)->next_at;
	return link;
}

static struct own_map *around(uint64_t at)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct own_map *m = places[i]; m; m = m->next_at)
			if (at >= m->at && at - m->at < m->bytes)
				return m;
	return NULL;
}

/* A mapping with all of it. */
static struct own_map *whole(const struct gp_own *own)
{
	struct own_map *m = own->maps;

	while (m && (m->offset || m->bytes != own->bytes || m->access != READ_WRITE))
		m = m->next;
	return m;
}

/* After any change. The memory is on the device. */
static void update(struct gp_own *own)
{
	const struct own_map *m = own->fixed ? NULL : whole(own);

	if (own->listed && (!m || m->at != own->piece.at)) {
		gp_memory_unlist(&own->piece);
		own->listed = false;
	}
	if (!m || own->listed)
		return;
	own->piece = (struct gp_memory_piece){
		.at = m->at,
		.bytes = own->bytes,
		.asked = own->bytes,
		.own = own,
	};
	gp_memory_cuda.ctx_get_current(&own->piece.context);
	gp_memory_list(&own->piece);
	own->listed = true;
}

static void drop_unused(struct gp_own *own)
{
	if (own->refs || own->maps)
		return;
	*find((uint64_t)own) = own->next;
	free(own);
}

/* From now on it stays. */
static void keep(struct gp_own *own)
{
	own->fixed = true;
	update(own);
}

static void keep_range(uint64_t at, uint64_t bytes)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct own_map *m = places[i]; m; m = m->next_at)
			if (at < m->at + m->bytes && m->at < at + bytes)
				keep(m->of);
}

/* ---- moves ------------------------------------------------------------------------- */

static int map_again(const struct own_map *m, uint64_t real)
{
	const struct gp_memory_cuda *cu = &gp_memory_cuda;
	const struct gp_memory_access access = { { 1, gp_memory.device }, m->access };
	int err = cu->mem_map(m->at, m->bytes, m->offset, real, 0);

	if (err || !m->access)
		return err;
	err = cu->mem_set_access(m->at, m->bytes, &access, 1);
	if (err)
		cu->mem_unmap(m->at, m->bytes);
	return err;
}

int gp_own_fill(struct gp_memory_piece *piece)
{
	const struct gp_memory_cuda *cu = &gp_memory_cuda;
	struct gp_own *own = piece->own;
	struct own_map *m;
	uint64_t real;
	int err = cu->mem_create(&real, own->bytes, &own->prop, 0);

	if (err)
		return err;
	for (m = own->maps; m && !err; m = m->next)
		err = map_again(m, real);
	if (err) {
		for (struct own_map *done = own->maps; done->next != m; done = done->next)
			cu->mem_unmap(done->at, done->bytes);
		cu->mem_release(real);
		return err;
	}
	own->real = real;
	/* Without a handle of the program's, its mappings alone keep it. */
	if (!own->refs)
		cu->mem_release(real);
	return 0;
}

void gp_own_unfill(struct gp_memory_piece *piece)
{
	const struct gp_own *own = piece->own;

	for (const struct own_map *m = own->maps; m; m = m->next)
		gp_memory_cuda.mem_unmap(m->at, m->bytes);
	if (own->refs)
		gp_memory_cuda.mem_release(own->real);
}

/* ---- the program's calls ------------------------------------------------------------ */

/* Drivers for other devices may have pinned memory that RDMA can reach. */
static bool others_may_pin(const struct gp_memory_prop *prop)
{
	static const char *const drivers[] = { "/sys/module/nvidia_peermem",
					       "/sys/module/nv_peer_mem", "/sys/module/gdrdrv" };

	for (size_t i = 0; prop->flags[FLAG_RDMA] && i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (!access(drivers[i], F_OK))
			return true;
	return false;
}

/* gp_memory.lock held. */
static bool is_ours(const struct gp_memory_prop *prop)
{
	return prop->type == 1 && prop->location.type == 1 && !prop->flags[FLAG_USAGE] &&
	       !prop->flags[FLAG_USAGE + 1] && !others_may_pin(prop) && gp_memory_on_device() &&
	       prop->location.id == gp_memory.device;
}

static int create(int (*driver)(void *, uint64_t, void *, uint64_t), void *name, uint64_t bytes,
		  void *prop, uint64_t flags)
{
	struct gp_own *own = calloc(1, sizeof(*own)), **link;
	int err = own ? driver(&own->real, bytes, prop, flags) : CU_OUT_OF_MEMORY;

	if (err) {
		free(own);
		return err;
	}
	own->bytes = bytes;
	own->prop = *(const struct gp_memory_prop *)prop;
	own->refs = 1;
	link = &names[bucket_of((uint64_t)own)];
	own->next = *link;
	*link = own;
	*(uint64_t *)name = (uint64_t)own;
	return 0;
}

int gp_own_create(int (*driver)(void *, uint64_t, void *, uint64_t), void *name, uint64_t bytes,
		  void *prop, uint64_t flags)
{
	int err;

	if (!name || !prop || !gp_memory_lock(bytes))
		return driver(name, bytes, prop, flags);
	err = is_ours(prop) ? create(driver, name, bytes, prop, flags) :
			      driver(name, bytes, prop, flags);
	gp_memory_unlock();
	return err;
}

static int release(int (*driver)(uint64_t), struct gp_own *own)
{
	int err = 0;

	if (!own->refs)
		return CU_INVALID_VALUE;
	if (own->refs == 1)
		err = driver(own->real);
	if (!err)
		own->refs--;
	drop_unused(own);
	return err;
}

int gp_own_release(int (*driver)(uint64_t), uint64_t name)
{
	struct gp_own *own;
	int err;

	if (!gp_memory_lock(0))
		return driver(name);
	own = *find(name);
	err = own ? release(driver, own) : driver(name);
	gp_memory_unlock();
	return err;
}

int gp_own_retain(int (*driver)(void *, void *), void *name, void *at)
{
	struct own_map *m;
	int err = 0;

	if (!name || !gp_memory_lock(0))
		return driver(name, at);
	/* Without the layer, memory of cuMemAlloc() has none. */
	if (gp_memory_is_piece((uint64_t)at)) {
		gp_memory_unlock();
		return CU_INVALID_VALUE;
	}
	m = around((uint64_t)at);
	if (!m || !m->of->refs)
		err = driver(m ? &m->of->real : name, at);
	if (m && !err) {
		m->of->refs++;
		*(uint64_t *)name = (uint64_t)m->of;
	}
	gp_memory_unlock();
	return err;
}

static int map(int (*driver)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t), struct gp_own *own,
	       struct own_map m, uint64_t flags)
{
	struct own_map *new = own->refs ? malloc(sizeof(*new)) : NULL, **link;
	int err = own->refs ? CU_OUT_OF_MEMORY : CU_INVALID_VALUE;

	if (new)
		err = driver(m.at, m.bytes, m.offset, own->real, flags);
	if (err) {
		free(new);
		return err;
	}
	link = &places[bucket_of(m.at)];
	*new = m;
	new->of = own;
	new->next_at = *link;
	*link = new;
	new->next = own->maps;
	own->maps = new;
	return 0;
}

int gp_own_map(int (*driver)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t), uint64_t at,
	       uint64_t bytes, uint64_t offset, uint64_t name, uint64_t flags)
{
	const struct own_map m = { .at = at, .bytes = bytes, .offset = offset };
	struct gp_own *own;
	int err;

	if (!gp_memory_lock(0))
		return driver(at, bytes, offset, name, flags);
	own = *find(name);
	err = own ? map(driver, own, m, flags) : driver(at, bytes, offset, name, flags);
	gp_memory_unlock();
	return err;
}

static void unmapped(struct own_map **link)
{
	struct own_map *m = *link, **of = &m->of->maps;
	struct gp_own *own = m->of;

	*link = m->next_at;
	while (*of != m)
		of = &(*of)->next;
	*of = m->next;
	free(m);
	update(own);
	drop_unused(own);
}

int gp_own_unmap(int (*driver)(uint64_t, uint64_t), uint64_t at, uint64_t bytes)
{
	struct own_map **link;
	uint64_t next = at;
	int err;

	if (!gp_memory_lock(0))
		return driver(at, bytes);
	err = driver(at, bytes);
	while (!err && next - at < bytes && *(link = place(next))) {
		next += (*link)->bytes;
		unmapped(link);
	}
	gp_memory_unlock();
	return err;
}

static void set_access(struct own_map *m, const struct gp_memory_access *access, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (access[i].location.type == 1 && access[i].location.id == gp_memory.device)
			m->access = access[i].flags;
		else
			m->of->fixed = true;
	update(m->of);
}

int gp_own_access(int (*driver)(uint64_t, uint64_t, void *, uint64_t), uint64_t at, uint64_t bytes,
		  void *access, uint64_t count)
{
	int err;

	if (!gp_memory_lock(0))
		return driver(at, bytes, access, count);
	err = driver(at, bytes, access, count);
	/* The call names whole mappings, one behind another. */
	for (struct own_map *m = *place(at); !err && m && m->at - at < bytes;
	     m = *place(m->at + m->bytes))
		set_access(m, access, count);
	gp_memory_unlock();
	return err;
}

/* gp_memory.lock held: the driver's handle of @name. */
static uint64_t real(uint64_t name)
{
	const struct gp_own *own = *find(name);

	return own ? own->real : name;
}

int gp_own_properties(int (*driver)(void *, uint64_t), void *prop, uint64_t name)
{
	int err;

	if (!gp_memory_lock(0))
		return driver(prop, name);
	err = driver(prop, real(name));
	gp_memory_unlock();
	return err;
}

/* The driver's handle of @name, whose memory stays from now on. */
static uint64_t keep_name(uint64_t name)
{
	struct gp_own *own;

	if (!gp_memory_lock(0))
		return name;
	own = *find(name);
	if (own)
		keep(own);
	name = real(name);
	gp_memory_unlock();
	return name;
}

static void keep_at(uint64_t at, uint64_t bytes)
{
	if (!gp_memory_lock(0))
		return;
	keep_range(at, bytes);
	gp_memory_unlock();
}

int gp_own_export(int (*driver)(void *, uint64_t, uint32_t, uint64_t), void *out, uint64_t name,
		  uint32_t type, uint64_t flags)
{
	return driver(out, keep_name(name), type, flags);
}

int gp_own_range_handle(int (*driver)(void *, uint64_t, uint64_t, uint32_t, uint64_t), void *out,
			uint64_t at, uint64_t bytes, uint32_t type, uint64_t flags)
{
	keep_at(at, bytes);
	return driver(out, at, bytes, type, flags);
}

int gp_own_bind(int (*driver)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t),
		uint64_t multicast, uint64_t to, uint64_t name, uint64_t from, uint64_t bytes,
		uint64_t flags)
{
	return driver(multicast, to, keep_name(name), from, bytes, flags);
}

int gp_own_bind_at(int (*driver)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t),
		   uint64_t multicast, uint64_t to, uint64_t at, uint64_t bytes, uint64_t flags)
{
	keep_at(at, bytes);
	return driver(multicast, to, at, bytes, flags);
}
