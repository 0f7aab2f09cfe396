// SPDX-License-Identifier: Apache-2.0
/*
 * stream.c - streams. A stream has one compute and one copy channel. Streams share channels if
 * there are more streams than channels. Work on another channel than the stream's last work
 * first waits for that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/cuda/face.h"

CUresult face_stream_get(CUstream handle, struct face_stream **stream)
{
	struct face_ctx *ctx;
	CUresult err;

	if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
		err = face_check();
		if (err)
			return err;
		if (handle->magic != FACE_STREAM)
			return CUDA_ERROR_INVALID_HANDLE;
		*stream = handle;
		return handle->ctx->error;
	}
	err = face_ctx_current(&ctx);
	if (err)
		return err;
	*stream = &ctx->legacy;
	return CUDA_SUCCESS;
}

static void add_point(struct gp_soft_point *points, uint32_t *n, const struct gp_soft_point *p)
{
	if (p->seq && *n < GP_SOFT_WAITS_MAX)
		points[(*n)++] = *p;
}

/*
 * Dependencies of the next work of @s: its own last work, events it waits for, and, between
 * the legacy stream and blocking ones, each other's work.
 */
static uint32_t gather(struct face_stream *s, struct gp_soft_point *points)
{
	struct face_ctx *ctx = s->ctx;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->wait_count; i++)
		add_point(points, &n, &s->waits[i]);
	pthread_mutex_lock(&ctx->lock);
	add_point(points, &n, &s->last);
	if (s == &ctx->legacy) {
		for (struct face_stream *o = ctx->streams; o; o = o->next)
			if (!(o->flags & CU_STREAM_NON_BLOCKING))
				add_point(points, &n, &o->last);
	} else if (!(s->flags & CU_STREAM_NON_BLOCKING)) {
		add_point(points, &n, &ctx->legacy.last);
	}
	pthread_mutex_unlock(&ctx->lock);
	return n;
}

/** s->order is held. */
CUresult face_submit_locked(struct face_stream *s, struct face_work *work,
			    struct gp_soft_point *point)
{
	struct gp_soft_point points[GP_SOFT_WAITS_MAX];
	struct face_call call = { .req.op = GP_SOFT_SUBMIT };
	struct gp_soft_submit *sub = &call.req.u.submit;
	struct gp_soft_point last;
	int err;

	*sub = work->sub;
	sub->client = s->ctx->client;
	sub->channel = work->on_copy ? s->copy : s->compute;
	sub->waits = gather(s, points);
	call.data = points;
	call.data_bytes = sub->waits * sizeof(points[0]);
	call.data2 = work->args;
	call.data2_bytes = sub->args_bytes;
	if (sub->flags & GP_SOFT_INLINE) {
		call.data2 = work->host_src;
		call.data2_bytes = sub->bytes;
	}
	err = face_call(&call);
	if (err) {
		if (err == -EFAULT)
			s->ctx->error = CUDA_ERROR_ILLEGAL_ADDRESS;
		return face_error(err);
	}
	last = (struct gp_soft_point){ sub->channel, sub->client, call.rep.value };
	pthread_mutex_lock(&s->ctx->lock);
	s->last = last;
	pthread_mutex_unlock(&s->ctx->lock);
	s->wait_count = 0;
	s->fenced = sub->work == GP_SOFT_WORK_FENCE || sub->work == GP_SOFT_WORK_WRITE;
	if (point)
		*point = last;
	return CUDA_SUCCESS;
}

CUresult face_submit(struct face_stream *s, struct face_work *work, struct gp_soft_point *point)
{
	CUresult err;

	pthread_mutex_lock(&s->order);
	if (s->capture)
		err = face_graph_append(s->capture, work);
	else
		err = face_submit_locked(s, work, point);
	pthread_mutex_unlock(&s->order);
	return err;
}

CUresult do_cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
	struct face_stream *s;
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);

	if (err)
		return err;
	if (!out || flags & ~CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	s = calloc(1, sizeof(*s));
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->magic = FACE_STREAM;
	s->ctx = ctx;
	s->flags = flags;
	s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	pthread_mutex_init(&s->order, NULL);
	pthread_mutex_lock(&ctx->lock);
	ctx->streams_made++;
	s->compute = ctx->channel[ctx->streams_made % FACE_CHANNELS];
	s->copy = ctx->copy_channel[ctx->streams_made % (FACE_COPY_GROUPS * FACE_COPY_CHANNELS)];
	s->next = ctx->streams;
	ctx->streams = s;
	pthread_mutex_unlock(&ctx->lock);
	*out = s;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamCreate(CUstream *out, unsigned int flags)
{
	return do_cuStreamCreateWithPriority(out, flags, 0);
}

CUresult do_cuStreamDestroy_v2(CUstream handle)
{
	struct face_stream *s, **link;
	CUresult err = face_stream_get(handle, &s);

	if (err)
		return err;
	if (s == &s->ctx->legacy)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&s->ctx->lock);
	for (link = &s->ctx->streams; *link && *link != s; link = &(*link)->next)
		;
	if (*link)
		*link = s->next;
	pthread_mutex_unlock(&s->ctx->lock);
	/* Work still queued in it is waited for with the legacy stream's. */
	pthread_mutex_lock(&s->ctx->legacy.order);
	if (s->last.seq && s->ctx->legacy.wait_count < GP_SOFT_WAITS_MAX)
		s->ctx->legacy.waits[s->ctx->legacy.wait_count++] = s->last;
	pthread_mutex_unlock(&s->ctx->legacy.order);
	s->magic = 0;
	free(s);
	return CUDA_SUCCESS;
}

/*
 * A synchronisation queues a release of a semaphore, as in libcuda: a method behind the last
 * kernel. Without it the group would give up the device.
 */
CUresult face_stream_fence(struct face_stream *s)
{
	struct face_work work = { .sub.work = GP_SOFT_WORK_FENCE };
	CUresult err = CUDA_SUCCESS;

	pthread_mutex_lock(&s->order);
	if (s->capture)
		err = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	else if (s->last.seq && !s->fenced)
		err = face_submit_locked(s, &work, NULL);
	pthread_mutex_unlock(&s->order);
	return err;
}

/* Seen to be over: libcuda then queues no fence, and returns at once (H200: 4 to 9 us). */
static bool is_over(struct face_stream *s)
{
	struct gp_soft_point points[GP_SOFT_WAITS_MAX];
	uint32_t n;

	pthread_mutex_lock(&s->order);
	n = gather(s, points);
	pthread_mutex_unlock(&s->order);
	return face_wait(s->ctx, points, n, 0, true) == CUDA_SUCCESS;
}

static CUresult stream_wait(CUstream handle, bool query)
{
	struct gp_soft_point points[GP_SOFT_WAITS_MAX];
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);
	uint32_t n;

	if (!err && !query && !is_over(s))
		err = face_stream_fence(s);
	if (err)
		return err;
	pthread_mutex_lock(&s->order);
	if (s->capture)
		err = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	n = gather(s, points);
	pthread_mutex_unlock(&s->order);
	if (err)
		return err;
	return face_wait(s->ctx, points, n, query ? FACE_QUERY_NS : FACE_SYNC_NS, query);
}

CUresult do_cuStreamSynchronize(CUstream handle)
{
	return stream_wait(handle, false);
}

CUresult do_cuStreamQuery(CUstream handle)
{
	return stream_wait(handle, true);
}

CUresult do_cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
	struct gp_soft_point point;
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err)
		return err;
	if (!event || event->magic != FACE_EVENT)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&event->ctx->lock);
	point = event->point;
	pthread_mutex_unlock(&event->ctx->lock);
	pthread_mutex_lock(&s->order);
	/* Work captured after a captured event belongs to the same graph. */
	if (event->capture && !s->capture)
		s->capture = event->capture;
	if (!event->capture && point.seq && s->wait_count < GP_SOFT_WAITS_MAX - 2)
		s->waits[s->wait_count++] = point;
	pthread_mutex_unlock(&s->order);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamWriteValue32_v2(CUstream handle, CUdeviceptr at, unsigned int value,
				    unsigned int flags)
{
	struct face_work work = {
		.sub.work = GP_SOFT_WORK_WRITE,
		.sub.dst = at,
		.sub.value = value,
		.sub.cost_ns = FACE_RECORD_NS,
	};
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err)
		return err;
	if (flags)
		return CUDA_ERROR_NOT_SUPPORTED;
	return face_submit(s, &work, NULL);
}

CUresult do_cuStreamGetCtx(CUstream handle, CUcontext *ctx)
{
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err)
		return err;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = s->ctx;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err)
		return err;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = s->flags;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamGetPriority(CUstream handle, int *priority)
{
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err)
		return err;
	if (!priority)
		return CUDA_ERROR_INVALID_VALUE;
	*priority = s->priority;
	return CUDA_SUCCESS;
}
