// SPDX-License-Identifier: Apache-2.0
/* event.c - events: a fence that writes its time into memory. */
#include <stdlib.h>

#include "softgpu/cuda/face.h"

static CUresult event_get(CUevent event)
{
	CUresult err = face_check();

	if (err)
		return err;
	return event && event->magic == FACE_EVENT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult do_cuEventCreate(CUevent *out, unsigned int flags)
{
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);
	struct face_event *e;
	void *slot;

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	err = face_error(face_host_alloc(sizeof(struct gp_soft_stamp), &slot));
	if (err) {
		free(e);
		return err;
	}
	e->magic = FACE_EVENT;
	e->ctx = ctx;
	e->flags = flags;
	e->slot = (uintptr_t)slot;
	*out = e;
	return CUDA_SUCCESS;
}

CUresult do_cuEventDestroy_v2(CUevent event)
{
	CUresult err = event_get(event);

	if (err)
		return err;
	face_unstage(event->slot, sizeof(struct gp_soft_stamp));
	event->magic = 0;
	free(event);
	return CUDA_SUCCESS;
}

CUresult do_cuEventRecord(CUevent event, CUstream handle)
{
	struct face_work work = {
		.sub.work = GP_SOFT_WORK_FENCE,
		.sub.cost_ns = FACE_RECORD_NS,
	};
	struct gp_soft_point point = { 0 };
	struct face_stream *s;
	CUresult err = event_get(event);

	if (!err)
		err = face_stream_get(handle, &s);
	if (err)
		return err;
	work.sub.stamp = event->slot;
	work.sub.stamp_seq = ++event->seq;
	pthread_mutex_lock(&s->order);
	event->capture = s->capture;
	if (!s->capture)
		err = face_submit_locked(s, &work, &point);
	pthread_mutex_unlock(&s->order);
	if (err || event->capture)
		return err;
	pthread_mutex_lock(&event->ctx->lock);
	event->point = point;
	pthread_mutex_unlock(&event->ctx->lock);
	return CUDA_SUCCESS;
}

static CUresult event_wait(CUevent event, bool query)
{
	struct gp_soft_point point;
	CUresult err = event_get(event);

	if (err)
		return err;
	if (event->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&event->ctx->lock);
	point = event->point;
	pthread_mutex_unlock(&event->ctx->lock);
	if (!point.seq)
		return CUDA_SUCCESS; /* never recorded */
	return face_wait(event->ctx, &point, 1, query ? FACE_QUERY_NS : FACE_SYNC_NS, query);
}

CUresult do_cuEventSynchronize(CUevent event)
{
	return event_wait(event, false);
}

CUresult do_cuEventQuery(CUevent event)
{
	return event_wait(event, true);
}

static const struct gp_soft_stamp *stamp_of(const struct face_event *e)
{
	return (const void *)(uintptr_t)e->slot;
}

CUresult do_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	CUresult err = event_get(start);

	if (!err)
		err = event_get(end);
	if (err)
		return err;
	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING || !start->seq || !end->seq)
		return CUDA_ERROR_INVALID_HANDLE;
	if (__atomic_load_n(&stamp_of(start)->seq, __ATOMIC_ACQUIRE) != start->seq ||
	    __atomic_load_n(&stamp_of(end)->seq, __ATOMIC_ACQUIRE) != end->seq)
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(int64_t)(stamp_of(end)->time_ns - stamp_of(start)->time_ns) / 1e6);
	return CUDA_SUCCESS;
}

CUresult do_cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	return do_cuEventElapsedTime(ms, start, end);
}
