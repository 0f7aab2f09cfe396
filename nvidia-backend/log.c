// SPDX-License-Identifier: Apache-2.0
/*
 * log.c - the log of the context-switch firmware (FECS): which process had the GPU, and when.
 * It uses a client of our own, and an event buffer in memory that RM writes and we map
 * read-only.
 *
 * The GPU stamps records. They arrive when the driver's timer fires (33 ms), or at once by a
 * flush (580.159.04 on H200). So only decisions that can wait use them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"

#define RECORDS 16384u /* 512 KiB: seconds of the busiest switching */
#define PAGE 4096u
#define CONTEXTS 256u /* contexts whose time is counted */

/* ---- the ring ------------------------------------------------------------------ */

void gp_nv_ring_init(struct gp_nv_ring *ring, const void *header, const void *records,
		     uint32_t size)
{
	memset(ring, 0, sizeof(*ring));
	ring->header = header;
	ring->record = records;
	ring->size = size;
	ring->get = ring->header->put % size;
	ring->count = ring->header->count;
}

/*
 * Number of unread records. With the newest kept, count is the total ever written. If it ran
 * ahead by a ring or more, the oldest remaining record is just after put, and the sequence
 * numbers show the gap.
 */
static uint32_t ring_pending(struct gp_nv_ring *ring)
{
	uint32_t put = __atomic_load_n(&ring->header->put, __ATOMIC_ACQUIRE);
	uint64_t count = __atomic_load_n(&ring->header->count, __ATOMIC_ACQUIRE);
	uint32_t pending;

	put %= ring->size;
	/* Signed: a count behind ours is not a ring ahead. */
	if ((int64_t)(count - ring->count) >= (int64_t)ring->size)
		ring->get = (put + 1) % ring->size;
	pending = (put + ring->size - ring->get) % ring->size;
	/* In either case the unread records end at the present count. */
	ring->count = count - pending;
	return pending;
}

static struct gp_rm_event_record ring_copy(const struct gp_nv_ring *ring)
{
	const volatile struct gp_rm_event_record *from = &ring->record[ring->get];
	struct gp_rm_event_record r = {
		.type = from->type,
		.tag = from->tag,
		.seqno = from->seqno,
		.context = from->context,
		.pid = from->pid,
		.time_ns = from->time_ns,
	};

	return r;
}

static uint32_t known_or_zero(uint32_t value)
{
	return value == 0xffffffffu ? 0 : value;
}

/* A record for the caller; false: not about a switch. */
static bool translate(const struct gp_rm_event_record *raw, struct gp_switch_record *rec)
{
	if (raw->type != GP_RM_EVENT_TYPE_FECS && raw->type != GP_RM_EVENT_TYPE_FECS_V2)
		return false;
	memset(rec, 0, sizeof(*rec));
	rec->time_ns = raw->time_ns;
	rec->pid = (int32_t)known_or_zero(raw->pid);
	rec->context = known_or_zero(raw->context);
	rec->count = 1;
	if (raw->tag == GP_RM_FECS_TAG_SIMPLE_START)
		rec->kind = GP_SWITCH_START;
	else if (raw->tag == GP_RM_FECS_TAG_SIMPLE_END)
		rec->kind = GP_SWITCH_END;
	else
		return false;
	return true;
}

/* Records missing before @raw, by its sequence number. */
static uint32_t gap_before(const struct gp_nv_ring *ring, const struct gp_rm_event_record *raw)
{
	if (!ring->seq_known)
		return 0;
	return (uint16_t)(raw->seqno - ring->seq - 1);
}

size_t gp_nv_ring_read(struct gp_nv_ring *ring, struct gp_switch_record *rec, size_t n)
{
	uint32_t pending = ring_pending(ring);
	size_t out = 0;

	while (pending && out < n) {
		struct gp_rm_event_record raw = ring_copy(ring);
		uint32_t gap = gap_before(ring, &raw);

		if (gap) {
			memset(&rec[out], 0, sizeof(rec[out]));
			rec[out].time_ns = raw.time_ns;
			rec[out].kind = GP_SWITCH_LOST;
			rec[out].count = gap;
			out++;
			ring->seq = (uint16_t)(raw.seqno - 1);
			continue;
		}
		out += translate(&raw, &rec[out]);
		ring->seq = raw.seqno;
		ring->seq_known = true;
		ring->get = (ring->get + 1) % ring->size;
		ring->count++;
		pending--;
	}
	return out;
}

/* ---- time per context ------------------------------------------------------------ */

struct context_time {
	int32_t pid;
	uint32_t context;
	uint64_t busy_ns;
	uint64_t since_ns; /* 0: not on the device */
};

struct gp_nv_log {
	struct gp_nv_device *dev;
	struct gp_nv_client client;
	int gpu_fd;
	int header_fd, records_fd;
	int event_fd;
	uint32_t device, subdevice;
	uint32_t buffer;
	void *header;
	void *records;
	pthread_mutex_t lock; /* protects ring, time, times */
	struct gp_nv_ring ring;
	struct context_time time[CONTEXTS];
	size_t times;
};

static struct context_time *time_of(struct gp_nv_log *log, int32_t pid, uint32_t context)
{
	struct context_time *t;

	for (size_t i = 0; i < log->times; i++)
		if (log->time[i].pid == pid && log->time[i].context == context)
			return &log->time[i];
	if (log->times == CONTEXTS)
		return NULL;
	t = &log->time[log->times++];
	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->context = context;
	return t;
}

static void count_time(struct gp_nv_log *log, const struct gp_switch_record *rec)
{
	struct context_time *t;

	if (rec->kind == GP_SWITCH_LOST) {
		/* It is unknown which context ran in between. */
		for (size_t i = 0; i < log->times; i++)
			log->time[i].since_ns = 0;
		return;
	}
	t = time_of(log, rec->pid, rec->context);
	if (!t)
		return;
	if (rec->kind == GP_SWITCH_START) {
		t->since_ns = rec->time_ns;
	} else if (t->since_ns && rec->time_ns > t->since_ns) {
		t->busy_ns += rec->time_ns - t->since_ns;
		t->since_ns = 0;
	}
}

/* A record's context is the handle of the group or of one of its channels. */
static bool context_is(const struct gp_nv_group *g, uint32_t context)
{
	if (context == g->tsg)
		return true;
	for (uint32_t i = 0; i < g->base.channels; i++)
		if (g->channel[i] == context)
			return true;
	return false;
}

int gp_nv_log_usage(struct gp_nv_log *log, const struct gp_nv_group *group, uint64_t *busy_ns)
{
	uint64_t sum = 0;
	int r = -ENODATA;

	pthread_mutex_lock(&log->lock);
	for (size_t i = 0; i < log->times; i++) {
		const struct context_time *t = &log->time[i];

		if (t->pid != group->base.pid || !t->context || !context_is(group, t->context))
			continue;
		sum += t->busy_ns;
		r = 0;
	}
	pthread_mutex_unlock(&log->lock);
	if (!r)
		*busy_ns = sum;
	return r;
}

/* ---- the event buffer -------------------------------------------------------------- */

/* Memory that RM writes and we map read-only. */
static int shared_memory(struct gp_nv_log *log, size_t bytes, uint32_t *handle, int *map_fd,
			 void **at)
{
	const struct gp_nv_transport *t = log->client.t;
	size_t length = (bytes + PAGE - 1) / PAGE * PAGE;
	struct gp_rm_memory_params mp = {
		.owner = log->client.handle, /* RM refuses 0 */
		.attr = GP_RM_ATTR_LOCATION_PCI | GP_RM_ATTR_NONCONTIGUOUS | GP_RM_ATTR_WRITE_BACK,
		/* The driver requires this. */
		.attr2 = GP_RM_ATTR2_USER_READ_ONLY,
		.size = length,
	};
	struct gp_rm_map_memory mm = { .length = length, .flags = GP_RM_MAP_READ_ONLY };
	uint32_t memory = 0;
	void *map;
	int fd;
	int r = gp_nv_alloc(&log->client, log->device, GP_RM_CLASS_MEMORY_SYSTEM, &mp, &memory);

	if (r)
		return r;
	fd = t->open_ctl();
	if (fd < 0)
		return fd;
	gp_nv_fd_mark(fd);
	mm.client = log->client.handle;
	mm.device = log->device;
	mm.memory = memory;
	mm.fd = fd;
	r = gp_nv_map(&log->client, &mm);
	if (r)
		goto err_close;
	map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		r = -errno;
		goto err_close;
	}
	*handle = memory;
	*map_fd = fd;
	*at = map;
	return 0;

err_close:
	gp_nv_fd_close(fd);
	return r;
}

/* The driver signals new records there; a log without it works too. */
static void os_event(struct gp_nv_log *log)
{
	const struct gp_nv_transport *t = log->client.t;
	struct gp_rm_os_event e = { .client = log->client.handle, .device = log->device };
	int fd = t->open_ctl();

	if (fd < 0)
		return;
	e.fd = (uint32_t)fd;
	if (t->ioctl(fd, GP_RM_REQUEST(GP_RM_ESC_ALLOC_OS_EVENT, gp_rm_os_event), &e) || e.status) {
		close(fd);
		return;
	}
	gp_nv_fd_mark(fd);
	log->event_fd = fd;
}

static int event_buffer(struct gp_nv_log *log, uint32_t header, uint32_t records)
{
	struct gp_rm_event_buffer_params p = {
		.record_bytes = sizeof(struct gp_rm_event_record),
		.record_count = RECORDS,
		.records_free_threshold = RECORDS / 2,
		.notification = log->event_fd >= 0 ? (uint64_t)log->event_fd : 0,
		.subdevice = log->subdevice,
		.header_memory = header,
		.records_memory = records,
	};

	return gp_nv_alloc(&log->client, log->client.handle, GP_RM_CLASS_EVENT_BUFFER, &p,
			   &log->buffer);
}

static int control(struct gp_nv_log *log, uint32_t object, uint32_t cmd, void *params,
		   uint32_t bytes)
{
	return gp_nv_control(log->client.t, log->client.fd, log->client.handle, object, cmd, params,
			     bytes);
}

static int start(struct gp_nv_log *log)
{
	struct gp_rm_fecs_bind bind = {
		.buffer = log->buffer,
		.record_bytes = sizeof(struct gp_rm_event_record),
		.level_of_detail = GP_RM_FECS_LOD_SIMPLE,
		.all_users = 1,
	};
	struct gp_rm_event_enable enable = { .enable = 1, .flags = GP_RM_EVENT_KEEP_NEWEST };
	int r = control(log, log->subdevice, GP_RM_CTRL_GR_FECS_BIND_EVENT_BUFFER, &bind,
			sizeof(bind));

	if (r)
		return r;
	return control(log, log->buffer, GP_RM_CTRL_EVENT_BUFFER_ENABLE, &enable, sizeof(enable));
}

static int build(struct gp_nv_log *log)
{
	uint32_t header, records;
	int r = gp_nv_client_device(&log->client, log->dev->gpu_id, log->dev->base.id.minor,
				    &log->gpu_fd, &log->device, &log->subdevice);

	if (!r)
		r = shared_memory(log, sizeof(struct gp_rm_event_header), &header, &log->header_fd,
				  &log->header);
	if (!r)
		r = shared_memory(log, RECORDS * sizeof(struct gp_rm_event_record), &records,
				  &log->records_fd, &log->records);
	if (r)
		return r;
	os_event(log);
	r = event_buffer(log, header, records);
	if (r)
		return r;
	gp_nv_ring_init(&log->ring, log->header, log->records, RECORDS);
	return start(log);
}

static void unbuild(struct gp_nv_log *log)
{
	/* The client's file first: RM must stop writing before the unmap. */
	gp_nv_client_close(&log->client);
	if (log->header)
		munmap(log->header, PAGE);
	if (log->records)
		munmap(log->records, RECORDS * sizeof(struct gp_rm_event_record));
	gp_nv_fd_close(log->header_fd);
	gp_nv_fd_close(log->records_fd);
	gp_nv_fd_close(log->event_fd);
	gp_nv_fd_close(log->gpu_fd);
	pthread_mutex_destroy(&log->lock);
	free(log);
}

int gp_nv_log_open(struct gp_device *dev, struct gp_log **out)
{
	struct gp_nv_device *d = gp_nv_of(gp_nv_device, dev);
	struct gp_nv_log *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return -ENOMEM;
	log->dev = d;
	log->client.fd = log->gpu_fd = -1;
	log->header_fd = log->records_fd = log->event_fd = -1;
	pthread_mutex_init(&log->lock, NULL);
	r = gp_nv_client_open(d->t, &log->client);
	if (!r)
		r = build(log);
	if (r) {
		unbuild(log);
		return r;
	}
	pthread_mutex_lock(&d->lock);
	d->log = log;
	pthread_mutex_unlock(&d->lock);
	*out = (struct gp_log *)log;
	return 0;
}

ssize_t gp_nv_log_read(struct gp_log *handle, struct gp_switch_record *rec, size_t n)
{
	struct gp_nv_log *log = (struct gp_nv_log *)handle;
	size_t got;

	pthread_mutex_lock(&log->lock);
	got = gp_nv_ring_read(&log->ring, rec, n);
	if (!got) {
		/* If RM refuses it, the timer's records must do. */
		control(log, log->buffer, GP_RM_CTRL_EVENT_BUFFER_FLUSH, NULL, 0);
		got = gp_nv_ring_read(&log->ring, rec, n);
	}
	for (size_t i = 0; i < got; i++)
		count_time(log, &rec[i]);
	pthread_mutex_unlock(&log->lock);
	return (ssize_t)got;
}

int gp_nv_log_now(struct gp_log *handle, uint64_t *ns)
{
	struct gp_nv_log *log = (struct gp_nv_log *)handle;
	struct gp_rm_timer_time time = { 0 };
	int r;

	if (log->client.t->virtual_time)
		return gp_nv_now(&log->dev->base, ns);
	r = control(log, log->subdevice, GP_RM_CTRL_TIMER_GET_TIME, &time, sizeof(time));
	if (!r)
		*ns = time.time_ns;
	return r;
}

void gp_nv_log_close(struct gp_log *handle)
{
	struct gp_nv_log *log = (struct gp_nv_log *)handle;
	struct gp_nv_device *d;

	if (!log)
		return;
	d = log->dev;
	pthread_mutex_lock(&d->lock);
	if (d->log == log)
		d->log = NULL;
	pthread_mutex_unlock(&d->lock);
	unbuild(log);
}
