// SPDX-License-Identifier: Apache-2.0
#include "preload/quota.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/engine.h"
#include "client/memory.h"
#include "preload/memory.h"
#include "preload/together.h"
#include "runtime/log.h"
#include "runtime/size.h"

#define BUCKETS 4096u
#define SHOWN_BYTES (1u << 20)
#define PITCH_BYTES 512u /* a row begins at such a multiple */
#define TOGETHER_TRIES 16
#define LOCATION_DEVICE 1 /* CU_MEM_LOCATION_TYPE_DEVICE */
#define ARRAY_LAYERED 0x1u
#define ARRAY_NO_MEMORY 0xc0u /* CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING */

enum what {
	WHAT_NONE,
	WHAT_TAKE,
	WHAT_GIVE,
	WHAT_MAP,
	WHAT_UNMAP,
	WHAT_HANDLE, /* another one, of the memory at an address */
	WHAT_RETAIN, /* a primary context */
	WHAT_RELEASE
};

enum kind {
	KIND_AT,   /* an address, of a context */
	KIND_POOL, /* an address, of no context */
	KIND_ARRAY,
	KIND_MEMORY, /* of cuMemCreate(): it has no key */
	KIND_HANDLE, /* of such memory: one entry for each time that the program got it */
	KIND_MAP,    /* an address at which such memory is mapped */
	KIND_PRIMARY /* no memory: a call on a primary context */
};

struct gp_quota_entry {
	struct gp_quota_entry *next;
	enum kind kind;
	int device;
	uint64_t key, bytes;
	void *context;
	struct gp_quota_entry *of; /* KIND_HANDLE, KIND_MAP: the memory */
	unsigned int refs;	   /* KIND_MEMORY: its handles, and places where it is mapped */
};

struct limit {
	uint64_t max;
	char rule[GP_WIRE_TEXT_LEN]; /* of gpreemptd's, that set it; "": the user did */
};

atomic_bool gp_quota_on;
static struct {
	pthread_mutex_t lock; /* a leaf */
	struct gp_quota_entry *bucket[BUCKETS];
	void *primary[GP_QUOTA_DEVICES];
	_Atomic(uint64_t) had[GP_QUOTA_DEVICES];
	_Atomic(uint64_t) shown[GP_QUOTA_DEVICES]; /* of had, to gpreemptd */
	uint8_t uuid[GP_QUOTA_DEVICES][16];
	atomic_bool known[GP_QUOTA_DEVICES]; /* set behind uuid */
	struct limit own, together;
	atomic_bool joined; /* gpreemptd was asked for the page of @together */
} quota = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.own = { UINT64_MAX, "" },
	.together = { UINT64_MAX, "" },
};

static void start(struct limit *limit, uint64_t max, const char *rule)
{
	snprintf(limit->rule, sizeof(limit->rule), "%s", rule ? rule : "");
	limit->max = max;
	atomic_store_explicit(&gp_quota_on, true, memory_order_release);
}

void gp_quota_start(uint64_t max, const char *rule)
{
	start(&quota.own, max, rule);
}

void gp_quota_start_together(uint64_t max, const char *rule)
{
	start(&quota.together, max, rule);
}

uint64_t gp_quota_had(int number)
{
	return number >= 0 && number < GP_QUOTA_DEVICES ? atomic_load(&quota.had[number]) : 0;
}

/* ---- sizes of calls -------------------------------------------------------- */

static uint64_t times(uint64_t a, uint64_t b)
{
	return __builtin_mul_overflow(a, b, &a) ? UINT64_MAX : a;
}

static uint64_t first(const uint64_t *arg)
{
	return arg[0];
}

static uint64_t second(const uint64_t *arg)
{
	return arg[1];
}

static uint64_t pitched(const uint64_t *arg)
{
	const uint64_t width = arg[2] > UINT64_MAX - PITCH_BYTES ?
				       UINT64_MAX :
				       (arg[2] + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;

	return times(width, arg[3]);
}

/* CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR, of both versions. */
struct shape {
	uint64_t size[3];
	uint32_t format, channels, flags;
};

/* Of CUarray_format. Compressed and planar ones count as one byte a channel. */
static uint64_t texel_bytes(const struct shape *s)
{
	switch (s->format) {
	case 0x02:
	case 0x09:
	case 0x10:
		return 2ull * s->channels;
	case 0x03:
	case 0x0a:
	case 0x20:
		return 4ull * s->channels;
	default:
		return s->channels;
	}
}

static uint64_t shape_bytes(const struct shape *s)
{
	uint64_t bytes = texel_bytes(s);

	if (s->flags & ARRAY_NO_MEMORY)
		return 0;
	for (size_t i = 0; i < 3; i++)
		bytes = times(bytes, s->size[i] ? s->size[i] : 1);
	return bytes;
}

/* Sizes of @wide bytes, @dimensions of them, and two or three words. */
static struct shape read_shape(const void *from, size_t wide, size_t dimensions)
{
	struct shape s = { .size = { 0 } };
	const char *at = from;
	uint32_t narrow;

	for (size_t i = 0; at && i < dimensions; i++, at += wide) {
		if (wide == sizeof(narrow)) {
			memcpy(&narrow, at, wide);
			s.size[i] = narrow;
		} else {
			memcpy(&s.size[i], at, wide);
		}
	}
	if (at)
		memcpy(&s.format, at, dimensions == 3 ? 12 : 8);
	return s;
}

static uint64_t array_v1(const uint64_t *arg)
{
	const struct shape s = read_shape((const void *)arg[1], 4, 2);

	return shape_bytes(&s);
}

static uint64_t array_v2(const uint64_t *arg)
{
	const struct shape s = read_shape((const void *)arg[1], 8, 2);

	return shape_bytes(&s);
}

static uint64_t array_3d_v1(const uint64_t *arg)
{
	const struct shape s = read_shape((const void *)arg[1], 4, 3);

	return shape_bytes(&s);
}

static uint64_t array_3d_v2(const uint64_t *arg)
{
	const struct shape s = read_shape((const void *)arg[1], 8, 3);

	return shape_bytes(&s);
}

static uint64_t mipmapped(const uint64_t *arg)
{
	struct shape s = read_shape((const void *)arg[1], 8, 3);
	uint64_t bytes = 0, level;

	for (uint64_t i = 0; i < arg[2] && i < 32; i++) {
		level = shape_bytes(&s);
		bytes = level > UINT64_MAX - bytes ? UINT64_MAX : bytes + level;
		for (size_t d = 0; d < 3; d++)
			if (d < 2 || !(s.flags & ARRAY_LAYERED))
				s.size[d] = s.size[d] > 1 ? s.size[d] / 2 : s.size[d];
	}
	return bytes;
}

/* ---- calls -------------------------------------------------------- */

struct rule {
	enum what what;
	enum kind kind;
	uint64_t (*bytes)(const uint64_t *arg);
	bool narrow; /* its result has 32 bits */
};

static const struct rule rules[GP_CALL_IDS] = {
	[GP_ID_cuMemAlloc] = { WHAT_TAKE, KIND_AT, second, true },
	[GP_ID_cuMemAlloc_v2] = { WHAT_TAKE, KIND_AT, second, false },
	[GP_ID_cuMemAllocManaged] = { WHAT_TAKE, KIND_AT, second, false },
	[GP_ID_cuMemAllocPitch] = { WHAT_TAKE, KIND_AT, pitched, true },
	[GP_ID_cuMemAllocPitch_v2] = { WHAT_TAKE, KIND_AT, pitched, false },
	[GP_ID_cuMemAllocAsync] = { WHAT_TAKE, KIND_POOL, second, false },
	[GP_ID_cuMemAllocAsync_ptsz] = { WHAT_TAKE, KIND_POOL, second, false },
	[GP_ID_cuMemAllocFromPoolAsync] = { WHAT_TAKE, KIND_POOL, second, false },
	[GP_ID_cuMemAllocFromPoolAsync_ptsz] = { WHAT_TAKE, KIND_POOL, second, false },
	[GP_ID_cuMemCreate] = { WHAT_TAKE, KIND_HANDLE, second, false },
	[GP_ID_cuArrayCreate] = { WHAT_TAKE, KIND_ARRAY, array_v1, false },
	[GP_ID_cuArrayCreate_v2] = { WHAT_TAKE, KIND_ARRAY, array_v2, false },
	[GP_ID_cuArray3DCreate] = { WHAT_TAKE, KIND_ARRAY, array_3d_v1, false },
	[GP_ID_cuArray3DCreate_v2] = { WHAT_TAKE, KIND_ARRAY, array_3d_v2, false },
	[GP_ID_cuMipmappedArrayCreate] = { WHAT_TAKE, KIND_ARRAY, mipmapped, false },
	[GP_ID_cuMemFree] = { WHAT_GIVE, KIND_AT, first, false },
	[GP_ID_cuMemFree_v2] = { WHAT_GIVE, KIND_AT, first, false },
	[GP_ID_cuMemFreeAsync] = { WHAT_GIVE, KIND_AT, first, false },
	[GP_ID_cuMemFreeAsync_ptsz] = { WHAT_GIVE, KIND_AT, first, false },
	[GP_ID_cuMemRelease] = { WHAT_GIVE, KIND_HANDLE, first, false },
	[GP_ID_cuArrayDestroy] = { WHAT_GIVE, KIND_ARRAY, first, false },
	[GP_ID_cuMipmappedArrayDestroy] = { WHAT_GIVE, KIND_ARRAY, first, false },
	[GP_ID_cuMemRetainAllocationHandle] = { WHAT_HANDLE, KIND_HANDLE, NULL, false },
	[GP_ID_cuMemMap] = { WHAT_MAP, KIND_MAP, second, false },
	[GP_ID_cuMemUnmap] = { WHAT_UNMAP, KIND_MAP, second, false },
	[GP_ID_cuDevicePrimaryCtxRetain] = { WHAT_RETAIN, KIND_PRIMARY, NULL, false },
	[GP_ID_cuDevicePrimaryCtxRelease] = { WHAT_RELEASE, KIND_PRIMARY, NULL, false },
	[GP_ID_cuDevicePrimaryCtxRelease_v2] = { WHAT_RELEASE, KIND_PRIMARY, NULL, false },
	[GP_ID_cuDevicePrimaryCtxReset] = { WHAT_RELEASE, KIND_PRIMARY, NULL, false },
	[GP_ID_cuDevicePrimaryCtxReset_v2] = { WHAT_RELEASE, KIND_PRIMARY, NULL, false },
};

uint64_t gp_quota_bytes(enum gp_call_id id, const uint64_t *arg)
{
	return rules[id].what == WHAT_TAKE ? rules[id].bytes(arg) : 0;
}

/* ---- entries: quota.lock held -------------------------------------------------------- */

/* Addresses of contexts and of pools are of one space. */
static enum kind space_of(enum kind kind)
{
	return kind == KIND_POOL ? KIND_AT : kind;
}

static struct gp_quota_entry **bucket_of(enum kind kind, uint64_t key)
{
	return &quota.bucket[gp_memory_hash(key ^ (uint64_t)space_of(kind)) & (BUCKETS - 1)];
}

static void insert(struct gp_quota_entry *e)
{
	struct gp_quota_entry **link = bucket_of(e->kind, e->key);

	e->next = *link;
	*link = e;
}

static struct gp_quota_entry **find(enum kind kind, uint64_t key)
{
	struct gp_quota_entry **link = bucket_of(kind, key);

	while (*link && ((*link)->key != key || space_of((*link)->kind) != space_of(kind)))
		link = &(*link)->next;
	return link;
}

static struct gp_quota_entry *take_out(enum kind kind, uint64_t key)
{
	struct gp_quota_entry **link = find(kind, key), *e = *link;

	if (e) {
		*link = e->next;
		e->next = NULL;
	}
	return e;
}

/* ---- memory of all processes of the cgroup: quota.lock held -------------------- */

static bool is_together(void)
{
	return quota.together.max != UINT64_MAX;
}

static void publish(int device)
{
	if (is_together() && atomic_load(&quota.known[device]))
		gp_together_set(quota.uuid[device], quota.had[device]);
}

/* All that have the limit with this process have on @device. */
static uint64_t had_together(int device)
{
	uint64_t sum;

	return atomic_load(&quota.known[device]) && gp_together_sum(quota.uuid[device], &sum) ?
		       sum :
		       gp_quota_had(device);
}

static void count(int device, uint64_t bytes)
{
	quota.had[device] += bytes;
	publish(device);
}

static void uncount(int device, uint64_t bytes)
{
	quota.had[device] -= bytes;
	publish(device);
}

static bool fits(uint64_t had, uint64_t bytes, uint64_t max)
{
	return bytes <= max && had <= max - bytes;
}

/*
 * Each process counts, and looks at the sum again: so two cannot exceed the limit. Both may then
 * see too much, and try again.
 */
static bool charge_together(int device, uint64_t bytes)
{
	for (int i = 0; i < TOGETHER_TRIES; i++) {
		if (fits(had_together(device), bytes, quota.together.max)) {
			count(device, bytes);
			if (had_together(device) <= quota.together.max)
				return true;
			uncount(device, bytes);
		}
		sched_yield();
	}
	return false;
}

/* The limit that it exceeds; NULL: none, and it counts. */
static const struct limit *charge(int device, uint64_t bytes)
{
	if (!fits(quota.had[device], bytes, quota.own.max))
		return &quota.own;
	if (is_together())
		return charge_together(device, bytes) ? NULL : &quota.together;
	count(device, bytes);
	return NULL;
}

static void drop(struct gp_quota_entry *e)
{
	struct gp_quota_entry *const of = e->of;

	if (of) {
		free(e);
		if (--of->refs)
			return;
		e = of;
	}
	uncount(e->device, e->bytes);
	free(e);
}

/* ---- memory that comes -------------------------------------------------------- */

static void say_full(const struct limit *limit, uint64_t bytes, uint64_t had_bytes)
{
	const bool own = limit == &quota.own;
	static atomic_int said;
	char asked[GP_SIZE_TEXT_LEN], had[GP_SIZE_TEXT_LEN], max[GP_SIZE_TEXT_LEN];

	gp_format_size(bytes, asked, sizeof(asked));
	gp_format_size(had_bytes, had, sizeof(had));
	gp_format_size(limit->max, max, sizeof(max));
	gp_log_once(&said, GP_LOG_WARN,
		    "--mem: an allocation of %s fails as out of memory: %s %s of %s %s, by %s",
		    asked, own ? "this process has" : "the processes of its cgroup have", had,
		    own ? "its" : "their", max,
		    *limit->rule ? limit->rule : "MAX of run --mem=MIN:MAX");
}

/* -1: not on a device, or unknown. */
static int device_of(enum gp_call_id id, const uint64_t *arg)
{
	const struct gp_memory_prop *prop;
	int device = -1;

	if (!gp_memory_is_loaded())
		return -1;
	if (id == GP_ID_cuMemCreate) {
		prop = (const struct gp_memory_prop *)arg[2];
		if (prop && prop->location.type == LOCATION_DEVICE)
			device = prop->location.id;
	} else if (gp_memory_cuda.ctx_get_device(&device)) {
		device = -1;
	}
	return device < GP_QUOTA_DEVICES ? device : -1;
}

/* quota.lock held. */
static void read_uuid(int device)
{
	if (!atomic_load(&quota.known[device]) &&
	    !gp_memory_cuda.device_get_uuid(quota.uuid[device], device))
		atomic_store(&quota.known[device], true);
}

int gp_quota_device(const uint8_t uuid[16])
{
	for (int i = 0; i < GP_QUOTA_DEVICES; i++)
		if (atomic_load(&quota.known[i]) && !memcmp(quota.uuid[i], uuid, 16))
			return i;
	return -1;
}

/* gpreemptd's page, from now on. */
static int join(void)
{
	struct gp_quota_page *page;
	uint32_t place = 0;
	int file = -1, err = gp_memory_quota(&file, &place);

	if (err)
		return err;
	err = gp_together_open(file, &page);
	close(file);
	if (err)
		return err;
	pthread_mutex_lock(&quota.lock);
	page = gp_together_use(page, place);
	for (int i = 0; i < GP_QUOTA_DEVICES; i++)
		publish(i);
	pthread_mutex_unlock(&quota.lock);
	gp_together_close(page);
	return 0;
}

void gp_quota_join(void)
{
	static pthread_mutex_t joins = PTHREAD_MUTEX_INITIALIZER;
	static atomic_int said;
	int err;

	if (!is_together() || gp_engine_state())
		return;
	pthread_mutex_lock(&joins);
	err = join();
	atomic_store(&quota.joined, true);
	pthread_mutex_unlock(&joins);
	if (err)
		gp_log_once(&said, GP_LOG_WARN,
			    "--mem: cannot count memory with the other processes of this cgroup: "
			    "%s; the limit is of this process alone; run gpreempt doctor",
			    err == -ENOENT ? "no gpreemptd, or no rule" : strerror(-err));
}

/* gpreemptd sees changes of a MiB and more. */
static void show(int device)
{
	const uint64_t had = gp_quota_had(device), shown = atomic_load(&quota.shown[device]);

	if ((had > shown ? had - shown : shown - had) < SHOWN_BYTES || !quota.known[device])
		return;
	atomic_store(&quota.shown[device], had);
	gp_memory_changed(quota.uuid[device]);
}

/* A handle or a place of @of. */
static struct gp_quota_entry *new_part(enum kind kind, struct gp_quota_entry *of)
{
	struct gp_quota_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	*e = (struct gp_quota_entry){ .kind = kind, .device = of->device, .of = of };
	of->refs++;
	return e;
}

static struct gp_quota_entry *new_entry(enum kind kind, int device, uint64_t bytes)
{
	const bool handle = kind == KIND_HANDLE;
	struct gp_quota_entry *e = calloc(1, sizeof(*e)), *part;

	if (!e)
		return NULL;
	*e = (struct gp_quota_entry){
		.kind = handle ? KIND_MEMORY : kind,
		.device = device,
		.bytes = bytes,
	};
	if (kind == KIND_AT || kind == KIND_ARRAY)
		gp_memory_cuda.ctx_get_current(&e->context);
	part = handle ? new_part(kind, e) : e;
	if (!part)
		free(e);
	return part;
}

static int take(struct gp_quota_call *c, const struct rule *rule)
{
	const int device = device_of(c->id, c->arg);
	const struct limit *full;
	struct gp_quota_entry *e;
	uint64_t had, bytes;

	if (device < 0)
		return 0;
	if (is_together() && !atomic_load(&quota.joined))
		gp_quota_join();
	bytes = rule->bytes(c->arg);
	e = new_entry(rule->kind, device, bytes);
	if (!e)
		return CU_OUT_OF_MEMORY;
	pthread_mutex_lock(&quota.lock);
	read_uuid(device);
	full = charge(device, bytes);
	had = full == &quota.together ? had_together(device) : quota.had[device];
	pthread_mutex_unlock(&quota.lock);
	if (full) {
		say_full(full, bytes, had);
		free(e->of);
		free(e);
		return CU_OUT_OF_MEMORY;
	}
	c->entry = e;
	return 0;
}

static void taken(struct gp_quota_call *c, const struct rule *rule, bool ok)
{
	struct gp_quota_entry *e = c->entry;
	const void *out = (const void *)c->arg[0];

	if (ok) {
		memcpy(&e->key, out, rule->narrow ? sizeof(uint32_t) : sizeof(e->key));
		insert(e);
	} else {
		drop(e);
	}
}

/* ---- memory of handles -------------------------------------------------------- */

static const struct gp_quota_entry *mapped_around(uint64_t at)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct gp_quota_entry *e = quota.bucket[i]; e; e = e->next)
			if (e->kind == KIND_MAP && at - e->key < e->bytes)
				return e;
	return NULL;
}

/* The call adds a handle, or a place, to memory. That of another process has no entry. */
static int add(struct gp_quota_call *c, const struct rule *rule)
{
	const bool maps = rule->what == WHAT_MAP;
	const struct gp_quota_entry *by = maps ? *find(KIND_HANDLE, c->arg[3]) :
						 mapped_around(c->arg[1]);
	struct gp_quota_entry *e = by ? new_part(rule->kind, by->of) : NULL;

	if (e && maps) {
		e->key = c->arg[0];
		e->bytes = c->arg[1];
	}
	c->entry = e;
	return by && !e ? CU_OUT_OF_MEMORY : 0;
}

static void added(struct gp_quota_call *c, const struct rule *rule, bool ok)
{
	struct gp_quota_entry *e = c->entry;

	if (!ok) {
		drop(e);
		return;
	}
	if (rule->what == WHAT_HANDLE)
		memcpy(&e->key, (const void *)c->arg[0], sizeof(e->key));
	insert(e);
}

/* All that is mapped in a range, as a list. */
static struct gp_quota_entry *unmap(const uint64_t *arg)
{
	struct gp_quota_entry *list = NULL, *e;
	uint64_t at = arg[0];

	while (at - arg[0] < arg[1] && (e = take_out(KIND_MAP, at))) {
		at += e->bytes;
		e->next = list;
		list = e;
	}
	return list;
}

static void each_unmapped(struct gp_quota_entry *list, bool ok)
{
	for (struct gp_quota_entry *e = list, *next; e; e = next) {
		next = e->next;
		if (ok)
			drop(e);
		else
			insert(e);
	}
}

/* ---- contexts that go -------------------------------------------------------- */

static void context_gone(const void *context)
{
	struct gp_quota_entry *e;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct gp_quota_entry **link = &quota.bucket[i]; (e = *link);) {
			if (!e->context || e->context != context) {
				link = &e->next;
				continue;
			}
			*link = e->next;
			drop(e);
		}
}

void gp_quota_context_gone(void *context)
{
	/* A child after fork() has the page, and nothing of what is counted there. */
	if (!atomic_load(&gp_quota_on) || gp_engine_state())
		return;
	pthread_mutex_lock(&quota.lock);
	context_gone(context);
	pthread_mutex_unlock(&quota.lock);
}

/* quota.lock held. */
static void primary_released(int device)
{
	unsigned int flags;
	int active;

	if (device < 0 || device >= GP_QUOTA_DEVICES || !quota.primary[device] ||
	    !gp_memory_is_loaded() || gp_memory_cuda.primary_get_state(device, &flags, &active) ||
	    active)
		return;
	context_gone(quota.primary[device]);
}

static void primary_retained(const uint64_t *arg)
{
	const int device = (int)arg[1];

	if (device >= 0 && device < GP_QUOTA_DEVICES)
		quota.primary[device] = *(void *const *)arg[0];
}

/* ---- both sides of a call -------------------------------------------------------- */

int gp_quota_begin(struct gp_quota_call *c, enum gp_call_id id, const uint64_t *arg)
{
	static struct gp_quota_entry primary = { .kind = KIND_PRIMARY };
	const struct rule *rule = &rules[id];
	int err = 0;

	if (gp_engine_state() || gp_engine_inside())
		return 0;
	c->id = id;
	c->arg = arg;
	if (rule->what == WHAT_TAKE)
		return take(c, rule);
	if (rule->kind == KIND_PRIMARY) {
		c->entry = &primary;
		return 0;
	}
	pthread_mutex_lock(&quota.lock);
	if (rule->what == WHAT_GIVE)
		c->entry = take_out(rule->kind, arg[0]);
	else if (rule->what == WHAT_MAP || rule->what == WHAT_HANDLE)
		err = add(c, rule);
	else if (rule->what == WHAT_UNMAP)
		c->entry = unmap(arg);
	pthread_mutex_unlock(&quota.lock);
	return err;
}

static void given(struct gp_quota_entry *e, bool ok)
{
	if (ok)
		drop(e);
	else
		insert(e);
}

void gp_quota_end(struct gp_quota_call *c, int result)
{
	const struct rule *rule = &rules[c->id];
	const int device = c->entry->device;
	const bool ok = !result;

	pthread_mutex_lock(&quota.lock);
	switch (rule->what) {
	case WHAT_TAKE:
		taken(c, rule, ok);
		break;
	case WHAT_GIVE:
		given(c->entry, ok);
		break;
	case WHAT_MAP:
	case WHAT_HANDLE:
		added(c, rule, ok);
		break;
	case WHAT_UNMAP:
		each_unmapped(c->entry, ok);
		break;
	case WHAT_RETAIN:
		if (ok)
			primary_retained(c->arg);
		break;
	case WHAT_RELEASE:
		if (ok)
			primary_released((int)c->arg[0]);
		break;
	case WHAT_NONE:
		break;
	}
	pthread_mutex_unlock(&quota.lock);
	show(device);
}

static uint64_t left_of(const struct limit *limit, uint64_t had)
{
	return had < limit->max ? limit->max - had : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void gp_quota_info(uint64_t *free_bytes, uint64_t *total)
{
	uint64_t left;
	int device;

	if (!atomic_load(&gp_quota_on) || gp_engine_state() || !gp_memory_is_loaded() ||
	    gp_memory_cuda.ctx_get_device(&device) || device < 0 || device >= GP_QUOTA_DEVICES)
		return;
	if (is_together() && !atomic_load(&quota.joined))
		gp_quota_join();
	pthread_mutex_lock(&quota.lock);
	read_uuid(device);
	left = least(left_of(&quota.own, quota.had[device]),
		     left_of(&quota.together, had_together(device)));
	pthread_mutex_unlock(&quota.lock);
	*total = least(*total, least(quota.own.max, quota.together.max));
	*free_bytes = least(*free_bytes, left);
}
