// SPDX-License-Identifier: Apache-2.0
/* context.c - contexts, and each thread's stack of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/cuda/face.h"

#define STACK_MAX 64u

static struct face_ctx *contexts; /* face_lock */
static struct primary {
	struct face_ctx *ctx;
	unsigned int refs, flags;
} primaries[GP_SOFT_GPUS_MAX]; /* per device; primary_lock */
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local struct {
	struct face_ctx *ctx[STACK_MAX];
	unsigned int depth;
} stack;

bool face_ctx_valid(const struct face_ctx *ctx)
{
	bool found = false;

	pthread_mutex_lock(&face_lock);
	for (const struct face_ctx *c = contexts; c && !found; c = c->next)
		found = c == ctx;
	pthread_mutex_unlock(&face_lock);
	return found;
}

struct face_ctx *face_ctx_top(void)
{
	return stack.depth ? stack.ctx[stack.depth - 1] : NULL;
}

CUresult face_ctx_current(struct face_ctx **ctx)
{
	CUresult err = face_check();
	struct face_ctx *top = face_ctx_top();

	if (err)
		return err;
	if (!top)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!face_ctx_valid(top))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ctx = top;
	return top->error;
}

static CUresult ctx_create(struct face_ctx **out, unsigned int flags, CUdevice dev)
{
	struct face_ctx *ctx = calloc(1, sizeof(*ctx));
	int err;

	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx->device = dev;
	err = face_rm_context(ctx);
	if (err) {
		free(ctx);
		return face_error(err);
	}
	ctx->magic = FACE_CTX;
	ctx->flags = flags;
	pthread_mutex_init(&ctx->lock, NULL);
	ctx->legacy.magic = FACE_STREAM;
	ctx->legacy.ctx = ctx;
	ctx->legacy.compute = ctx->channel[0];
	ctx->legacy.copy = ctx->copy_channel[0];
	pthread_mutex_init(&ctx->legacy.order, NULL);
	pthread_mutex_lock(&face_lock);
	ctx->next = contexts;
	contexts = ctx;
	pthread_mutex_unlock(&face_lock);
	*out = ctx;
	return CUDA_SUCCESS;
}

/* Stays allocated: it may be current in other threads, which may use it. */
static void ctx_destroy(struct face_ctx *ctx)
{
	struct face_ctx **link;

	face_ctx_drain(ctx);
	pthread_mutex_lock(&face_lock);
	for (link = &contexts; *link && *link != ctx; link = &(*link)->next)
		;
	if (*link)
		*link = ctx->next;
	pthread_mutex_unlock(&face_lock);
	face_rm_context_free(ctx);
	ctx->magic = 0;
}

/* ---- waiting ------------------------------------------------------------------- */

CUresult face_wait(struct face_ctx *ctx, const struct gp_soft_point *point, size_t count,
		   uint64_t cost_ns, bool query)
{
	struct face_call call = {
		.req.op = query ? GP_SOFT_QUERY : GP_SOFT_WAIT,
		.req.u.wait.count = (uint32_t)count,
		.req.u.wait.cost_ns = cost_ns,
		.data = point,
		.data_bytes = count * sizeof(*point),
	};
	int err = face_call(&call);

	if (!err && call.rep.context_error) {
		ctx->error = CUDA_ERROR_ILLEGAL_ADDRESS;
		err = -EFAULT;
	}
	return face_error(err);
}

#define DRAIN_MAX 256u

/** Wait for everything queued in @ctx so far. */
CUresult face_ctx_drain(struct face_ctx *ctx)
{
	struct face_stream *streams[DRAIN_MAX];
	struct gp_soft_point point[DRAIN_MAX];
	CUresult err = CUDA_SUCCESS;
	uint32_t n = 0;

	pthread_mutex_lock(&ctx->lock);
	streams[n++] = &ctx->legacy;
	for (struct face_stream *s = ctx->streams; s && n < DRAIN_MAX; s = s->next)
		streams[n++] = s;
	pthread_mutex_unlock(&ctx->lock);
	for (uint32_t i = 0; !err && i < n; i++)
		err = face_stream_fence(streams[i]);
	if (err)
		return err;
	pthread_mutex_lock(&ctx->lock);
	for (uint32_t i = 0; i < n; i++)
		point[i] = streams[i]->last;
	pthread_mutex_unlock(&ctx->lock);
	return face_wait(ctx, point, n, FACE_SYNC_NS, false);
}

CUresult do_cuCtxSynchronize(void)
{
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);

	return err ? err : face_ctx_drain(ctx);
}

/* ---- the primary context ---------------------------------------------------------- */

CUresult do_cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	CUresult err = face_device_check(dev);
	struct primary *p;

	if (err)
		return err;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	p = &primaries[dev];
	pthread_mutex_lock(&primary_lock);
	if (!p->ctx) {
		err = ctx_create(&p->ctx, p->flags, dev);
		if (!err)
			p->ctx->primary = true;
	}
	if (!err) {
		p->refs++;
		*ctx = p->ctx;
	}
	pthread_mutex_unlock(&primary_lock);
	return err;
}

CUresult do_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	CUresult err = face_device_check(dev);
	struct face_ctx *gone = NULL;
	struct primary *p;

	if (err)
		return err;
	p = &primaries[dev];
	pthread_mutex_lock(&primary_lock);
	if (!p->refs)
		err = CUDA_ERROR_INVALID_CONTEXT;
	else if (!--p->refs) {
		gone = p->ctx;
		p->ctx = NULL;
	}
	pthread_mutex_unlock(&primary_lock);
	if (gone)
		ctx_destroy(gone);
	return err;
}

CUresult do_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	CUresult err = face_device_check(dev);
	struct face_ctx *gone;
	struct primary *p;

	if (err)
		return err;
	p = &primaries[dev];
	pthread_mutex_lock(&primary_lock);
	gone = p->ctx;
	p->ctx = NULL;
	p->refs = 0;
	pthread_mutex_unlock(&primary_lock);
	if (gone)
		ctx_destroy(gone);
	return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	CUresult err = face_device_check(dev);

	if (err)
		return err;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&primary_lock);
	*flags = primaries[dev].flags;
	*active = primaries[dev].ctx != NULL;
	pthread_mutex_unlock(&primary_lock);
	return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	CUresult err = face_device_check(dev);

	if (err)
		return err;
	pthread_mutex_lock(&primary_lock);
	primaries[dev].flags = flags;
	if (primaries[dev].ctx)
		primaries[dev].ctx->flags = flags;
	pthread_mutex_unlock(&primary_lock);
	return CUDA_SUCCESS;
}

/* ---- created contexts, and the stack ------------------------------------------ */

CUresult do_cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (stack.depth == STACK_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (ctx && !face_ctx_valid(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	stack.ctx[stack.depth++] = ctx;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxPopCurrent_v2(CUcontext *ctx)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!stack.depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack.depth--;
	if (ctx)
		*ctx = stack.ctx[stack.depth];
	return CUDA_SUCCESS;
}

CUresult do_cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	struct face_ctx *made;
	CUresult err = face_device_check(dev);

	if (err)
		return err;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	err = ctx_create(&made, flags, dev);
	if (err)
		return err;
	err = do_cuCtxPushCurrent_v2(made);
	if (err) {
		ctx_destroy(made);
		return err;
	}
	*ctx = made;
	return CUDA_SUCCESS;
}

/* Parameters request SMs for this context alone, which this device does not offer. */
CUresult do_cuCtxCreate_v4(CUcontext *ctx, void *params, unsigned int flags, CUdevice dev)
{
	return params ? CUDA_ERROR_NOT_SUPPORTED : do_cuCtxCreate_v2(ctx, flags, dev);
}

CUresult do_cuCtxDestroy_v2(CUcontext ctx)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!ctx || !face_ctx_valid(ctx) || ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	ctx_destroy(ctx);
	if (face_ctx_top() == ctx)
		stack.depth--;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetCurrent(CUcontext *ctx)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = face_ctx_top();
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSetCurrent(CUcontext ctx)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (ctx && !face_ctx_valid(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!stack.depth)
		stack.depth = 1;
	stack.ctx[stack.depth - 1] = ctx;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetDevice(CUdevice *dev)
{
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);

	if (err)
		return err;
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	*dev = ctx->device;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);

	if (err)
		return err;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!version || (ctx && !face_ctx_valid(ctx)))
		return CUDA_ERROR_INVALID_VALUE;
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetFlags(unsigned int *flags)
{
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);

	if (err)
		return err;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = ctx->flags;
	return CUDA_SUCCESS;
}
