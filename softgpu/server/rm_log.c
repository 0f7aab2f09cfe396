// SPDX-License-Identifier: Apache-2.0
/*
 * rm_log.c - the context-switch log: event buffers in memory that clients map. Records are
 * written at once, not by a timer of 33 ms.
 */
#include <stdlib.h>
#include <string.h>

#include "softgpu/server/server.h"

struct soft_log {
	struct gp_rm_event_header *header;
	struct gp_rm_event_record *record;
	uint32_t records;
	uint32_t header_memory, records_memory;
	uint32_t put, get; /* ours, safe from clients */
	uint64_t count, drops;
	uint16_t seqno;
	const struct soft_gpu *bound; /* source of its switches; NULL: none */
	bool enabled, keep_newest;
};

static struct soft_object *memory(struct soft_client *cl, uint32_t handle, uint64_t bytes)
{
	struct soft_object *o = soft_rm_object(cl, handle);

	return o && o->cls == GP_RM_CLASS_MEMORY_SYSTEM && o->map_bytes >= bytes ? o : NULL;
}

/* A buffer's memory must outlive it. */
static bool find_memory(struct soft_client *cl, struct soft_log *log)
{
	struct soft_object *header = memory(cl, log->header_memory, sizeof(*log->header));
	struct soft_object *records =
		memory(cl, log->records_memory, (uint64_t)log->records * sizeof(*log->record));

	if (!header || !records)
		return false;
	log->header = header->map;
	log->record = records->map;
	return true;
}

uint32_t soft_log_create(struct soft_object *buffer, const struct gp_rm_event_buffer_params *params)
{
	struct soft_log *log;

	if (params->record_bytes != sizeof(struct gp_rm_event_record) || params->record_count < 2)
		return GP_RM_ERR_INVALID_ARGUMENT;
	log = calloc(1, sizeof(*log));
	if (!log)
		return GP_RM_ERR_NO_MEMORY;
	log->records = params->record_count;
	log->header_memory = params->header_memory;
	log->records_memory = params->records_memory;
	if (!find_memory(buffer->client, log)) {
		free(log);
		return GP_RM_ERR_INVALID_OBJECT_HANDLE;
	}
	buffer->log = log;
	return GP_RM_OK;
}

void soft_log_destroy(struct soft_object *buffer)
{
	free(buffer->log);
	buffer->log = NULL;
}

uint32_t soft_log_control(struct soft_object *buffer, uint32_t cmd, const void *params,
			  size_t bytes)
{
	const struct gp_rm_event_enable *enable = params;
	const struct gp_rm_event_update_get *get = params;
	struct soft_log *log = buffer->log;

	switch (cmd) {
	case GP_RM_CTRL_EVENT_BUFFER_ENABLE:
		if (bytes != sizeof(*enable))
			return GP_RM_ERR_INVALID_PARAM_STRUCT;
		log->enabled = enable->enable;
		log->keep_newest = enable->flags == GP_RM_EVENT_KEEP_NEWEST;
		return GP_RM_OK;
	case GP_RM_CTRL_EVENT_BUFFER_UPDATE_GET:
		if (bytes != sizeof(*get))
			return GP_RM_ERR_INVALID_PARAM_STRUCT;
		if (get->record_get >= log->records)
			return GP_RM_ERR_INVALID_ARGUMENT;
		log->get = get->record_get;
		if (find_memory(buffer->client, log))
			log->header->get = log->get;
		return GP_RM_OK;
	case GP_RM_CTRL_EVENT_BUFFER_FLUSH:
		return GP_RM_OK;
	default:
		return GP_RM_ERR_NOT_SUPPORTED;
	}
}

uint32_t soft_log_bind(struct soft_client *client, const struct soft_gpu *gpu,
		       struct gp_rm_fecs_bind *bind)
{
	struct soft_object *o = soft_rm_object(client, bind->buffer);

	bind->reason = 0;
	if (!o || o->cls != GP_RM_CLASS_EVENT_BUFFER)
		return GP_RM_ERR_INVALID_OBJECT_HANDLE;
	if (bind->record_bytes != sizeof(struct gp_rm_event_record))
		return GP_RM_ERR_INVALID_ARGUMENT;
	o->log->bound = gpu;
	return GP_RM_OK;
}

/* Only root and the same user may see the process of a stretch. */
static bool may_see(struct soft_server *s, const struct soft_client *cl, int pid)
{
	const struct soft_proc *reader = cl->file->proc;

	if (!reader->uid)
		return true;
	for (const struct soft_proc *p = s->procs; p; p = p->next)
		if (p->pid == pid)
			return p->uid == reader->uid;
	return false;
}

static void write_record(struct soft_server *s, struct soft_object *buffer,
			 const struct gp_model_event *ev)
{
	struct soft_log *log = buffer->log;
	const uint32_t next = (log->put + 1) % log->records;
	const bool seen = may_see(s, buffer->client, ev->pid);
	struct gp_rm_event_record rec = {
		.type = GP_RM_EVENT_TYPE_FECS_V2,
		.tag = ev->switch_kind == GP_SWITCH_START ? GP_RM_FECS_TAG_SIMPLE_START :
							    GP_RM_FECS_TAG_SIMPLE_END,
		.seqno = log->seqno++,
		.context = seen ? ev->group : 0,
		.pid = seen ? (uint32_t)ev->pid : 0,
		.time_ns = ev->time_ns,
	};

	if (!find_memory(buffer->client, log)) {
		log->enabled = false;
		return;
	}
	if (next == log->get) {
		log->header->drops = ++log->drops;
		if (!log->keep_newest)
			return;
		log->get = (log->get + 1) % log->records;
		log->header->get = log->get;
	}
	log->record[log->put] = rec;
	log->put = next;
	log->header->count = ++log->count;
	/* The record must be complete before the index covers it. */
	__atomic_store_n(&log->header->put, next, __ATOMIC_RELEASE);
}

void soft_log_record(const struct soft_gpu *gpu, const struct gp_model_event *ev)
{
	struct soft_server *s = gpu->server;

	for (struct soft_client *cl = s->clients; cl; cl = cl->next)
		for (struct soft_object *o = cl->objects; o; o = o->next)
			if (o->log && o->log->bound == gpu && o->log->enabled)
				write_record(s, o, ev);
}
