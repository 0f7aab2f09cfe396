// SPDX-License-Identifier: Apache-2.0
#include "preload/memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/engine.h"
#include "preload/calls.h"
#include "preload/hook.h"
#include "preload/host.h"
#include "preload/own.h"
#include "preload/quota.h"
#include "preload/settings.h"
#include "runtime/duration.h"
#include "runtime/log.h"
#include "runtime/size.h"

#define LEAST_BYTES (1u << 20) /* smaller ones stay the driver's */
#define SLACK_BYTES (4u << 20)
#define RETRY_NS 2000000u
#define RETRY_MOST_NS 64000000u
#define TRY_MAX_NS 120000000000u
#define TURN_MAX_NS 1800000000000u /* of many that take turns */
#define GRANULARITY_RECOMMENDED 1
#define PARTS 256u /* in the memory of a device */

_Atomic(int) gp_memory_state;
struct gp_memory_cuda gp_memory_cuda;
struct gp_memory gp_memory = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.device = -1,
};
static atomic_uint inside;
static bool asks;	   /* set by gp_memory_start() */
static size_t granularity; /* gp_memory.lock */

static bool load(void)
{
	static const struct {
		const char *symbol;
		size_t at;
	} names[] = {
#define NAME(field, symbol) { symbol, offsetof(struct gp_memory_cuda, field) }
		NAME(capture_mode, "cuThreadExchangeStreamCaptureMode"),
		NAME(ctx_create, "cuCtxCreate_v2"),
		NAME(ctx_get_current, "cuCtxGetCurrent"),
		NAME(ctx_get_device, "cuCtxGetDevice"),
		NAME(ctx_pop, "cuCtxPopCurrent_v2"),
		NAME(ctx_push, "cuCtxPushCurrent_v2"),
		NAME(ctx_synchronize, "cuCtxSynchronize"),
		NAME(device_get_uuid, "cuDeviceGetUuid"),
		NAME(event_create, "cuEventCreate"),
		NAME(event_record, "cuEventRecord"),
		NAME(event_synchronize, "cuEventSynchronize"),
		NAME(host_register, "cuMemHostRegister_v2"),
		NAME(host_unregister, "cuMemHostUnregister"),
		NAME(mem_address_free, "cuMemAddressFree"),
		NAME(mem_address_reserve, "cuMemAddressReserve"),
		NAME(mem_create, "cuMemCreate"),
		NAME(mem_get_granularity, "cuMemGetAllocationGranularity"),
		NAME(mem_get_info, "cuMemGetInfo_v2"),
		NAME(mem_map, "cuMemMap"),
		NAME(mem_release, "cuMemRelease"),
		NAME(mem_set_access, "cuMemSetAccess"),
		NAME(mem_unmap, "cuMemUnmap"),
		NAME(memcpy_dtoh, "cuMemcpyDtoHAsync_v2"),
		NAME(memcpy_htod, "cuMemcpyHtoDAsync_v2"),
		NAME(primary_get_state, "cuDevicePrimaryCtxGetState"),
		NAME(stream_create, "cuStreamCreate"),
		NAME(stream_synchronize, "cuStreamSynchronize"),
#undef NAME
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *fn = gp_calls_driver(names[i].symbol);

		if (!fn)
			return false;
		*(void **)((char *)&gp_memory_cuda + names[i].at) = fn;
	}
	return true;
}

bool gp_memory_is_loaded(void)
{
	static atomic_int loaded; /* 1: yes, 2: the driver lacks something */

	if (!atomic_load(&loaded))
		atomic_store(&loaded, load() ? 1 : 2);
	return atomic_load(&loaded) == 1;
}

/* Memory of an LC program leaves only so. */
static void start_idle(void)
{
	const char *text = secure_getenv("GPREEMPT_IDLE_OUT");

	if (!text)
		return;
	if (gp_parse_duration(text, &gp_memory.idle_ns) || !gp_memory.idle_ns) {
		gp_log(GP_LOG_WARN,
		       "GPREEMPT_IDLE_OUT=%s: not a time; memory of this process stays", text);
		gp_memory.idle_ns = 0;
		return;
	}
	if (!atomic_load(&gp_quota_on))
		gp_quota_start(UINT64_MAX, NULL);
	gp_host_share();
	atomic_store(&gp_memory_state, GP_MEMORY_OPEN);
}

void gp_memory_start(bool lc, bool be)
{
	struct gp_memory_settings s;

	gp_memory_settings_read(&s, be);
	asks = lc || s.turns;
	gp_host_limit(s.host);
	if (s.max != UINT64_MAX && s.one)
		gp_quota_start_together(s.max, s.rule);
	else if (s.max != UINT64_MAX)
		gp_quota_start(s.max, s.rule);
	if (lc)
		start_idle();
	if (!s.leaves)
		return;
	gp_memory.min = s.limits.min;
	gp_memory.takes_turns = s.turns;
	if (s.turns)
		gp_host_share();
	/* Programs that take turns come back at theirs, by a move. */
	if (!s.turns && *s.hook)
		gp_memory_hook_start(s.hook);
	if (s.limits.max < s.max || s.max == UINT64_MAX)
		gp_quota_start(s.limits.max, NULL);
	atomic_store(&gp_memory_state, GP_MEMORY_OPEN);
}

uint64_t gp_memory_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- calls that wait while memory is out --------------------------------------- */

static bool is_shut(void)
{
	return atomic_load(&gp_memory_state) == GP_MEMORY_SHUT;
}

/* gp_memory.lock held. */
static void wait_until_open(void)
{
	while (is_shut()) {
		gp_memory_mover_need();
		pthread_cond_wait(&gp_memory.changed, &gp_memory.lock);
	}
}

static void wait_outside(void)
{
	pthread_mutex_lock(&gp_memory.lock);
	wait_until_open();
	pthread_mutex_unlock(&gp_memory.lock);
}

unsigned int gp_memory_inside(void)
{
	return atomic_load(&inside);
}

void gp_memory_leave(void)
{
	if (atomic_fetch_sub(&inside, 1) > 1 || !is_shut())
		return;
	pthread_mutex_lock(&gp_memory.lock);
	pthread_cond_broadcast(&gp_memory.changed);
	pthread_mutex_unlock(&gp_memory.lock);
}

static _Atomic(uint64_t) calls, last_call_ns;

uint64_t gp_memory_calls(void)
{
	return atomic_load(&calls);
}

uint64_t gp_memory_last_call_ns(void)
{
	return atomic_load(&last_call_ns);
}

/* Before it is counted as inside: the mover looks at both, the other way round. */
static void note_call(void)
{
	if (!gp_memory.idle_ns)
		return;
	atomic_store(&last_call_ns, gp_memory_now_ns());
	atomic_fetch_add(&calls, 1);
}

bool gp_memory_begin(enum gp_memory_use use)
{
	/* A fork's child has none of its parent's memory. Our own calls never wait. */
	if (gp_engine_state() || gp_engine_inside())
		return false;
	note_call();
	if (use == GP_MEMORY_USE_WORK && !gp_memory.idle_ns) {
		if (is_shut())
			wait_outside();
		return false;
	}
	for (;;) {
		atomic_fetch_add(&inside, 1);
		if (!is_shut())
			return true;
		/* Without the lock, which the mover has: an idle program's move ends for a call. */
		gp_memory_mover_need();
		gp_memory_leave();
		wait_outside();
	}
}

/* ---- pieces -------------------------------------------------------------------- */

static struct gp_memory_piece **bucket_of(uint64_t at)
{
	return &gp_memory.bucket[(at >> 21) % GP_MEMORY_BUCKETS];
}

struct gp_memory_piece *gp_memory_next(const struct gp_memory_piece *p)
{
	struct gp_memory_piece **link = p ? bucket_of(p->at) : NULL;
	struct gp_memory_piece *next = p ? p->next : NULL;

	while (!next) {
		link = link ? link + 1 : gp_memory.bucket;
		if (link == gp_memory.bucket + GP_MEMORY_BUCKETS)
			return NULL;
		next = *link;
	}
	return next;
}

/* The link to the piece of cuMemAlloc() that begins at @at; gp_memory.lock held. */
static struct gp_memory_piece **find(uint64_t at)
{
	struct gp_memory_piece **link = bucket_of(at);

	while (*link && ((*link)->at != at || (*link)->own))
		link = &(*link)->next;
	return link;
}

static struct gp_memory_piece *around(uint64_t at)
{
	struct gp_memory_piece *p = NULL;

	while ((p = gp_memory_next(p)))
		if (!p->own && at >= p->at && at - p->at < p->asked)
			break;
	return p;
}

bool gp_memory_is_piece(uint64_t at)
{
	return around(at);
}

static struct gp_memory_prop prop(void)
{
	return (struct gp_memory_prop){ .type = 1, .location = { 1, gp_memory.device } };
}

uint64_t gp_memory_part_end(const struct gp_memory_piece *p, uint64_t from)
{
	return p->own || p->bytes - from < gp_memory.part ? p->bytes : from + gp_memory.part;
}

static int fill_part(struct gp_memory_piece *p, uint64_t from, uint64_t bytes)
{
	const struct gp_memory_cuda *cu = &gp_memory_cuda;
	const struct gp_memory_prop want = prop();
	uint64_t *handle = &p->handles[from / gp_memory.part];
	int err = cu->mem_create(handle, bytes, &want, 0);

	if (err)
		return err;
	err = cu->mem_map(p->at + from, bytes, 0, *handle, 0);
	if (err)
		cu->mem_release(*handle);
	return err;
}

static void unfill_parts(struct gp_memory_piece *p, uint64_t from, uint64_t to)
{
	for (uint64_t end; from < to; from = end) {
		end = gp_memory_part_end(p, from);
		gp_memory_cuda.mem_unmap(p->at + from, end - from);
		gp_memory_cuda.mem_release(p->handles[from / gp_memory.part]);
	}
}

static int fill_parts(struct gp_memory_piece *p, uint64_t from, uint64_t to)
{
	const struct gp_memory_access access = { { 1, gp_memory.device }, 3 };
	uint64_t done = from, end;
	int err = 0;

	while (!err && done < to) {
		end = gp_memory_part_end(p, done);
		err = fill_part(p, done, end - done);
		if (!err)
			done = end;
	}
	if (!err)
		err = gp_memory_cuda.mem_set_access(p->at + from, to - from, &access, 1);
	if (err)
		unfill_parts(p, from, done);
	return err;
}

int gp_memory_fill(struct gp_memory_piece *p, uint64_t from, uint64_t to)
{
	return p->own ? gp_own_fill(p) : fill_parts(p, from, to);
}

void gp_memory_unfill(struct gp_memory_piece *p, uint64_t from, uint64_t to)
{
	if (p->own)
		gp_own_unfill(p);
	else
		unfill_parts(p, from, to);
}

static int make(struct gp_memory_piece *p)
{
	int err = gp_memory_cuda.mem_address_reserve(&p->at, p->bytes, 0, 0, 0);

	if (err)
		return err;
	err = gp_memory_fill(p, 0, p->bytes);
	if (err)
		gp_memory_cuda.mem_address_free(p->at, p->bytes);
	return err;
}

/* gp_memory.lock held. */
static bool resized;

static void count_more(const struct gp_memory_piece *p)
{
	gp_memory.resident += p->bytes;
	gp_memory.asked += p->asked;
	gp_memory_mover_resized();
	resized = true;
}

static void count_less(const struct gp_memory_piece *p)
{
	gp_memory.resident -= p->bytes;
	gp_memory.asked -= p->asked;
	gp_memory_mover_resized();
	resized = true;
}

void gp_memory_list(struct gp_memory_piece *p)
{
	struct gp_memory_piece **link = bucket_of(p->at);

	p->next = *link;
	*link = p;
	count_more(p);
}

void gp_memory_unlist(struct gp_memory_piece *p)
{
	struct gp_memory_piece **link = bucket_of(p->at);

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	count_less(p);
}

/* The piece is on the device, and in no bucket any more. */
static void unmake(struct gp_memory_piece *p)
{
	gp_memory_unfill(p, 0, p->bytes);
	gp_memory_cuda.mem_address_free(p->at, p->bytes);
	count_less(p);
	free(p);
}

/* Parts are so large that calls for each take little of the time of its copy. */
static int choose_part(void)
{
	size_t room, total;
	int err = gp_memory_cuda.mem_get_info(&room, &total);

	if (!err)
		gp_memory.part = (total / PARTS / granularity + 1) * granularity;
	return err;
}

/*
 * Pieces are on the device of the first allocation. False: this one is on another, or nothing
 * can move here.
 */
bool gp_memory_on_device(void)
{
	static atomic_int said;
	const struct gp_memory_prop want = prop();
	int device, err;

	if (!gp_memory_is_loaded() || gp_memory_cuda.ctx_get_device(&device))
		return false;
	if (gp_memory.device >= 0)
		return device == gp_memory.device && granularity;
	gp_memory.device = device;
	err = gp_memory_cuda.device_get_uuid(gp_memory.uuid, device);
	if (!err)
		err = gp_memory_cuda.mem_get_granularity(
			&granularity,
			&(struct gp_memory_prop){ .type = want.type, .location = { 1, device } },
			GRANULARITY_RECOMMENDED);
	if (!err)
		err = choose_part();
	if (!err)
		err = gp_memory_mover_start();
	if (err) {
		granularity = 0;
		gp_log_once(&said, GP_LOG_WARN,
			    "--mem: no memory of this process can leave: CUDA error %d", err);
	}
	return !err;
}

static bool is_on(void)
{
	return atomic_load(&gp_memory_state) && !gp_engine_state() && !gp_memory_is_mover();
}

bool gp_memory_lock(uint64_t bytes)
{
	if (!is_on())
		return false;
	note_call();
	pthread_mutex_lock(&gp_memory.lock);
	if (is_shut() && bytes > gp_memory.wanted)
		gp_memory.wanted = bytes;
	wait_until_open();
	return true;
}

void gp_memory_unlock(void)
{
	const bool changed = resized;

	resized = false;
	pthread_mutex_unlock(&gp_memory.lock);
	if (changed)
		gp_memory_changed(gp_memory.uuid);
}

/* For @bytes of cuMemAlloc(). */
static struct gp_memory_piece *new_piece(uint64_t bytes)
{
	struct gp_memory_piece *p;

	bytes = (bytes + granularity - 1) / granularity * granularity;
	p = calloc(1, sizeof(*p) + (bytes / gp_memory.part + 1) * sizeof(*p->handles));
	if (!p)
		return NULL;
	p->bytes = bytes;
	p->handles = (uint64_t *)(p + 1);
	return p;
}

/* gp_memory.lock held. */
static int alloc_piece(uint64_t *at, uint64_t bytes)
{
	struct gp_memory_piece *p = new_piece(bytes);
	int err = CU_OUT_OF_MEMORY;

	if (p) {
		p->asked = bytes;
		gp_memory_cuda.ctx_get_current(&p->context);
		err = make(p);
	}
	if (err) {
		free(p);
		return err;
	}
	gp_memory_list(p);
	*at = p->at;
	return 0;
}

int gp_memory_alloc(int (*driver)(void *at, uint64_t bytes), void *at, uint64_t bytes)
{
	bool ours;
	int err = 0;

	if (!at || bytes < LEAST_BYTES || !gp_memory_lock(bytes))
		return driver(at, bytes);
	ours = gp_memory_on_device() && bytes <= UINT64_MAX - granularity;
	if (ours)
		err = alloc_piece(at, bytes);
	gp_memory_unlock();
	return ours ? err : driver(at, bytes);
}

/* As the driver's own free: all work that may use it ends first. */
static int synchronize(void *context)
{
	void *popped;
	int err = gp_memory_cuda.ctx_push(context);

	if (err)
		return err;
	err = gp_memory_cuda.ctx_synchronize();
	gp_memory_cuda.ctx_pop(&popped);
	return err;
}

int gp_memory_free(int (*driver)(uint64_t at), uint64_t at)
{
	struct gp_memory_piece **link, *p;
	int err;

	if (!at || !gp_memory_lock(0))
		return driver(at);
	p = *find(at);
	if (p && !p->freeing)
		p->freeing = true;
	else
		p = NULL;
	pthread_mutex_unlock(&gp_memory.lock);
	if (!p)
		return driver(at);
	err = synchronize(p->context);
	pthread_mutex_lock(&gp_memory.lock);
	wait_until_open();
	link = find(at);
	*link = p->next;
	unmake(p);
	gp_memory_unlock();
	return err;
}

int gp_memory_range(int (*driver)(void *base, void *bytes, uint64_t at), void *base, void *bytes,
		    uint64_t at)
{
	struct gp_memory_piece *p;
	uint64_t *base_out = base;
	size_t *bytes_out = bytes;

	if (!is_on())
		return driver(base, bytes, at);
	pthread_mutex_lock(&gp_memory.lock);
	p = around(at);
	/* Other memory may be out. */
	if (!p)
		wait_until_open();
	if (p && base_out)
		*base_out = p->at;
	if (p && bytes_out)
		*bytes_out = p->asked;
	pthread_mutex_unlock(&gp_memory.lock);
	return p ? 0 : driver(base, bytes, at);
}

void gp_memory_context_gone(void *context)
{
	if (!is_on())
		return;
	pthread_mutex_lock(&gp_memory.lock);
	wait_until_open();
	for (size_t i = 0; i < GP_MEMORY_BUCKETS; i++)
		for (struct gp_memory_piece **link = &gp_memory.bucket[i], *p; (p = *link);) {
			if (p->own && p->context == context)
				p->context = NULL;
			if (p->own || p->context != context || p->freeing) {
				link = &p->next;
				continue;
			}
			*link = p->next;
			unmake(p);
		}
	gp_memory_unlock();
}

/* ---- room from others ------------------------------------------------------------ */

static void say_waited(const struct gp_memory_try *t)
{
	const uint64_t now_ns = gp_memory_now_ns();

	gp_log(GP_LOG_INFO, "an allocation waited %.1f ms for room, and had it in %.1f ms",
	       (double)(t->tried_ns - t->since_ns) / 1e6, (double)(now_ns - t->tried_ns) / 1e6);
}

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * The bytes that are missing for @bytes. The driver may need more for itself, and another process
 * may take them: each further request is for twice as much.
 */
static uint64_t missing(struct gp_memory_try *t, uint64_t bytes)
{
	size_t room, total;
	const bool known = !gp_memory_cuda.mem_get_info(&room, &total) && room < bytes;
	const uint64_t need = more(known ? bytes - room : bytes, SLACK_BYTES);
	const uint64_t twice = more(t->need, t->need);

	t->need = need > twice ? need : twice;
	return t->need;
}

bool gp_memory_again(struct gp_memory_try *t, int result, uint64_t bytes)
{
	uint8_t uuid[16];
	int device;

	if (!result && t->tried_ns)
		say_waited(t);
	if (result != CU_OUT_OF_MEMORY || !asks || t->last || gp_engine_state())
		return false;
	if (!gp_memory_is_loaded() || gp_memory_cuda.ctx_get_device(&device) ||
	    gp_memory_cuda.device_get_uuid(uuid, device))
		return false;
	if (!t->since_ns) {
		t->since_ns = gp_memory_now_ns();
		t->nap_ns = RETRY_NS;
	}
	/* Room may have come between the call and this answer. */
	t->last = !gp_memory_ask(uuid, missing(t, bytes), gp_memory.takes_turns) ||
		  gp_memory_now_ns() - t->since_ns >
			  (gp_memory.takes_turns ? TURN_MAX_NS : TRY_MAX_NS);
	if (!t->last)
		nanosleep(&(struct timespec){ .tv_nsec = (long)t->nap_ns }, NULL);
	/* Idle programs leave when it is time, however often others ask. */
	if (t->nap_ns < RETRY_MOST_NS)
		t->nap_ns *= 2;
	t->tried_ns = gp_memory_now_ns();
	return true;
}
