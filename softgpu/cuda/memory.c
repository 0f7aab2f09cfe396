// SPDX-License-Identifier: Apache-2.0
/*
 * memory.c - device memory, host memory mapped on both sides, copies. Copies of other host
 * memory use staging memory, as in libcuda.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softgpu/cuda/face.h"

#define PAGE 4096u
/* Of CUpointer_attribute and CUmemorytype (cuda.h). */
#define ATTRIBUTE_MEMORY_TYPE 2
#define MEMORYTYPE_HOST 1u
#define MEMORYTYPE_DEVICE 2u

struct host_range {
	struct host_range *next;
	uintptr_t addr;
	size_t bytes;
	unsigned int flags;
};

static struct host_range *ranges; /* face_lock */

static size_t page_round(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

/** Memory that the server maps too, at our address. */
int face_host_alloc(size_t bytes, void **ptr)
{
	struct face_call call = {
		.req = { .op = GP_SOFT_MEM_ALLOC, .a = bytes, .b = 1 },
	};
	void *map = MAP_FAILED;
	int err = face_call(&call);

	if (err)
		return err;
	if (call.reply_fd >= 0) {
		map = mmap(NULL, page_round(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
			   call.reply_fd, 0);
		close(call.reply_fd);
	}
	if (map == MAP_FAILED)
		return -ENOMEM;
	err = face_op(GP_SOFT_MEM_BIND, call.rep.value, (uintptr_t)map, NULL);
	if (err) {
		munmap(map, page_round(bytes));
		return err;
	}
	*ptr = map;
	return 0;
}

/** The server keeps the pages until the work that uses them is done. */
void face_unstage(uint64_t addr, size_t bytes)
{
	face_op(GP_SOFT_MEM_FREE, addr, 0, NULL);
	munmap((void *)(uintptr_t)addr, page_round(bytes));
}

CUresult face_stage(const void *src, size_t bytes, uint64_t *addr)
{
	void *at;
	CUresult err = face_error(face_host_alloc(bytes, &at));

	if (err)
		return err;
	if (src)
		memcpy(at, src, bytes);
	*addr = (uintptr_t)at;
	return CUDA_SUCCESS;
}

static struct host_range *range_of(uintptr_t addr, size_t bytes)
{
	for (struct host_range *r = ranges; r; r = r->next)
		if (addr >= r->addr && bytes <= r->bytes && addr - r->addr <= r->bytes - bytes)
			return r;
	return NULL;
}

bool face_host_is_mapped(const void *ptr, size_t bytes)
{
	bool found;

	pthread_mutex_lock(&face_lock);
	found = range_of((uintptr_t)ptr, bytes) != NULL;
	pthread_mutex_unlock(&face_lock);
	return found;
}

/* ---- allocation -------------------------------------------------------------- */

CUresult do_cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	struct gp_soft_rep rep;
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);

	if (err)
		return err;
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	err = face_error(face_op(GP_SOFT_MEM_ALLOC, bytes, 0, &rep));
	if (!err)
		*ptr = rep.value;
	return err;
}

/* Freeing waits for the device, as cuMemFree does. */
CUresult do_cuMemFree_v2(CUdeviceptr ptr)
{
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);
	int found;

	if (err || !ptr)
		return err;
	err = face_ctx_drain(ctx);
	found = face_op(GP_SOFT_MEM_FREE, ptr, 0, NULL);
	if (found == -ENOENT)
		return CUDA_ERROR_INVALID_VALUE;
	return err ? err : face_error(found);
}

CUresult do_cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	struct gp_soft_rep rep;
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);

	if (err)
		return err;
	err = face_error(face_op(GP_SOFT_MEM_INFO, 0, 0, &rep));
	if (err)
		return err;
	if (free_bytes)
		*free_bytes = rep.value;
	if (total_bytes)
		*total_bytes = rep.value2;
	return CUDA_SUCCESS;
}

/* For the argument @ptr of a call. */
static CUresult range_new(const void *ptr, size_t bytes, unsigned int flags,
			  struct host_range **out)
{
	struct host_range *r;

	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	r = calloc(1, sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->bytes = bytes;
	r->flags = flags;
	*out = r;
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
	struct host_range *r;
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);
	void *at;

	if (!err)
		err = range_new(ptr, page_round(bytes), flags, &r);
	if (err)
		return err;
	err = face_error(face_host_alloc(bytes, &at));
	if (err) {
		free(r);
		return err;
	}
	r->addr = (uintptr_t)at;
	pthread_mutex_lock(&face_lock);
	r->next = ranges;
	ranges = r;
	pthread_mutex_unlock(&face_lock);
	*ptr = at;
	return CUDA_SUCCESS;
}

CUresult do_cuMemAllocHost_v2(void **ptr, size_t bytes)
{
	return do_cuMemHostAlloc(ptr, bytes, 0);
}

CUresult do_cuMemFreeHost(void *ptr)
{
	struct host_range **link, *r = NULL;
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);

	if (err)
		return err;
	pthread_mutex_lock(&face_lock);
	for (link = &ranges; *link; link = &(*link)->next) {
		if ((*link)->addr != (uintptr_t)ptr)
			continue;
		r = *link;
		*link = r->next;
		break;
	}
	pthread_mutex_unlock(&face_lock);
	if (!r)
		return CUDA_ERROR_INVALID_VALUE;
	err = face_ctx_drain(ctx);
	face_unstage(r->addr, r->bytes);
	free(r);
	return err;
}

CUresult do_cuMemHostGetDevicePointer_v2(CUdeviceptr *dptr, void *ptr, unsigned int flags)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!dptr || flags || !face_host_is_mapped(ptr, 1))
		return CUDA_ERROR_INVALID_VALUE;
	*dptr = (uintptr_t)ptr;
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostGetFlags(unsigned int *flags, void *ptr)
{
	CUresult err = face_check();
	struct host_range *r;

	if (err)
		return err;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&face_lock);
	r = range_of((uintptr_t)ptr, 1);
	if (r)
		*flags = r->flags;
	pthread_mutex_unlock(&face_lock);
	return r ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- registered host memory ------------------------------------------------------ */

static struct host_range *registered; /* face_lock; copies of it are staged all the same */

static bool overlaps(const struct host_range *r, uintptr_t addr, size_t bytes)
{
	return addr < r->addr + r->bytes && r->addr < addr + bytes;
}

/* face_lock held. */
static bool is_registered(uintptr_t addr, size_t bytes)
{
	for (const struct host_range *r = registered; r; r = r->next)
		if (overlaps(r, addr, bytes))
			return true;
	return false;
}

CUresult do_cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned int flags)
{
	CUresult err = face_check();
	struct host_range *r;

	if (!err)
		err = range_new(ptr, bytes, flags, &r);
	if (err)
		return err;
	r->addr = (uintptr_t)ptr;
	pthread_mutex_lock(&face_lock);
	if (is_registered(r->addr, bytes)) {
		err = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
		free(r);
	} else {
		r->next = registered;
		registered = r;
	}
	pthread_mutex_unlock(&face_lock);
	return err;
}

CUresult do_cuPointerGetAttribute(void *data, int attribute, CUdeviceptr ptr)
{
	CUresult err = face_check();
	CUdeviceptr base;
	size_t bytes;
	bool host;

	if (err)
		return err;
	if (!data || attribute != ATTRIBUTE_MEMORY_TYPE)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&face_lock);
	host = range_of(ptr, 1) || is_registered(ptr, 1);
	pthread_mutex_unlock(&face_lock);
	if (!host && do_cuMemGetAddressRange_v2(&base, &bytes, ptr))
		return CUDA_ERROR_INVALID_VALUE;
	*(unsigned int *)data = host ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE;
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostUnregister(void *ptr)
{
	struct host_range **link, *r;
	CUresult err = face_check();

	if (err)
		return err;
	pthread_mutex_lock(&face_lock);
	for (link = &registered; (r = *link) && r->addr != (uintptr_t)ptr;)
		link = &r->next;
	if (r)
		*link = r->next;
	pthread_mutex_unlock(&face_lock);
	free(r);
	return r ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

/* ---- copies -------------------------------------------------------------------- */

static struct face_work copy_work(uint64_t dst, uint64_t src, size_t bytes)
{
	return (struct face_work){
		.sub.work = GP_SOFT_WORK_COPY,
		.sub.dst = dst,
		.sub.src = src,
		.sub.bytes = bytes,
		.sub.cost_ns = FACE_COPY_NS,
		.on_copy = true,
	};
}

static CUresult finish(struct face_stream *s, const struct gp_soft_point *point)
{
	return point->seq ? face_wait(s->ctx, point, 1, FACE_SYNC_NS, false) : CUDA_SUCCESS;
}

/*
 * On return the caller may change @src of any kind, except mapped memory of an asynchronous
 * copy.
 */
static CUresult copy_in(CUdeviceptr dst, const void *src, size_t bytes, CUstream handle, bool async)
{
	struct face_work work = copy_work(dst, (uintptr_t)src, bytes);
	struct gp_soft_point point = { 0 };
	uint64_t staged = 0;
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err || !bytes)
		return err;
	if (!src)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->capture) {
		if (!face_host_is_mapped(src, bytes))
			work.host_src = src;
		return face_submit(s, &work, NULL);
	}
	if (!face_host_is_mapped(src, bytes)) {
		if (bytes <= GP_SOFT_INLINE_MAX) {
			work.sub.flags |= GP_SOFT_INLINE;
			work.host_src = src;
		} else {
			err = face_stage(src, bytes, &staged);
			work.sub.src = staged;
		}
	}
	if (!err)
		err = face_submit(s, &work, &point);
	if (staged)
		face_unstage(staged, bytes);
	return err || async ? err : finish(s, &point);
}

static CUresult copy_out(void *dst, CUdeviceptr src, size_t bytes, CUstream handle, bool async)
{
	struct face_work work = copy_work((uintptr_t)dst, src, bytes);
	struct gp_soft_point point = { 0 };
	const bool mapped = face_host_is_mapped(dst, bytes);
	uint64_t staged = 0;
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err || !bytes)
		return err;
	if (!dst)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->capture)
		return mapped ? face_submit(s, &work, NULL) : CUDA_ERROR_NOT_SUPPORTED;
	if (!mapped) {
		err = face_stage(NULL, bytes, &staged);
		work.sub.dst = staged;
	}
	if (!err)
		err = face_submit(s, &work, &point);
	/* A copy into memory that is not mapped is never asynchronous. */
	if (!err && (!async || staged))
		err = finish(s, &point);
	if (staged && !err)
		memcpy(dst, (void *)(uintptr_t)staged, bytes);
	if (staged)
		face_unstage(staged, bytes);
	return err;
}

static CUresult copy_device(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream handle,
			    bool async)
{
	struct face_work work = copy_work(dst, src, bytes);
	struct gp_soft_point point = { 0 };
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err || !bytes)
		return err;
	err = face_submit(s, &work, &point);
	return err || async ? err : finish(s, &point);
}

CUresult do_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
	return copy_in(dst, src, bytes, NULL, false);
}

CUresult do_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
	return copy_out(dst, src, bytes, NULL, false);
}

CUresult do_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_device(dst, src, bytes, NULL, false);
}

CUresult do_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	return copy_in(dst, src, bytes, stream, true);
}

CUresult do_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_out(dst, src, bytes, stream, true);
}

CUresult do_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_device(dst, src, bytes, stream, true);
}

static CUresult set(CUdeviceptr dst, uint32_t value, uint32_t width, size_t count, CUstream handle,
		    bool async)
{
	struct face_work work = {
		.sub.work = GP_SOFT_WORK_SET,
		.sub.dst = dst,
		.sub.bytes = count * width,
		.sub.value = value,
		.sub.width = width,
		.sub.cost_ns = FACE_LAUNCH_NS,
	};
	struct gp_soft_point point = { 0 };
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err || !count)
		return err;
	err = face_submit(s, &work, &point);
	return err || async ? err : finish(s, &point);
}

CUresult do_cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count)
{
	return set(dst, value, 1, count, NULL, false);
}

CUresult do_cuMemsetD32_v2(CUdeviceptr dst, unsigned int value, size_t count)
{
	return set(dst, value, 4, count, NULL, false);
}

CUresult do_cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
	return set(dst, value, 1, count, stream, true);
}

CUresult do_cuMemsetD32Async(CUdeviceptr dst, unsigned int value, size_t count, CUstream stream)
{
	return set(dst, value, 4, count, stream, true);
}
