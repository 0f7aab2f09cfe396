// SPDX-License-Identifier: Apache-2.0
/* virtual.c - reserved addresses, and physical memory that is mapped there. */
#include <errno.h>
#include <unistd.h>

#include "softgpu/cuda/face.h"

#define GRANULARITY (2u << 20)

static CUresult change(uint32_t what, uint64_t a, uint64_t b, uint64_t handle, uint32_t access,
		       uint64_t *value)
{
	struct face_call call = {
		.req = { .op = GP_SOFT_VIRTUAL, .a = a, .b = b },
		.req.u.virt = { .what = what, .access = access, .handle = handle },
	};
	CUresult err = face_check();

	if (err)
		return err;
	err = face_error(face_call(&call));
	if (!err && value)
		*value = call.rep.value;
	return err;
}

static bool on_device(const CUmemLocation *l)
{
	return l->type == CU_MEM_LOCATION_DEVICE && !face_device_check(l->id);
}

CUresult do_cuMemAddressReserve(CUdeviceptr *ptr, size_t bytes, size_t align, CUdeviceptr at,
				uint64_t flags)
{
	if (!ptr || flags)
		return CUDA_ERROR_INVALID_VALUE;
	/* The address is a hint, which this device does not take. */
	return change(GP_SOFT_RESERVE, bytes, align, 0, 0, ptr);
}

CUresult do_cuMemAddressFree(CUdeviceptr ptr, size_t bytes)
{
	return change(GP_SOFT_UNRESERVE, ptr, bytes, 0, 0, NULL);
}

CUresult do_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
			const CUmemAllocationProp *prop, uint64_t flags)
{
	if (!handle || !prop || flags || prop->type != CU_MEM_ALLOCATION_PINNED ||
	    !on_device(&prop->location))
		return CUDA_ERROR_INVALID_VALUE;
	return change(GP_SOFT_CREATE, bytes, 0, 0, 0, handle);
}

CUresult do_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	return change(GP_SOFT_RELEASE, handle, 0, 0, 0, NULL);
}

CUresult do_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *ptr)
{
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	return change(GP_SOFT_RETAIN, (uint64_t)ptr, 0, 0, 0, handle);
}

CUresult do_cuMemMap(CUdeviceptr ptr, size_t bytes, size_t offset,
		     CUmemGenericAllocationHandle handle, uint64_t flags)
{
	if (offset || flags)
		return CUDA_ERROR_INVALID_VALUE;
	return change(GP_SOFT_MAP, ptr, bytes, handle, 0, NULL);
}

/* Waits for no work, not even work that uses the memory. */
CUresult do_cuMemUnmap(CUdeviceptr ptr, size_t bytes)
{
	return change(GP_SOFT_UNMAP, ptr, bytes, 0, 0, NULL);
}

CUresult do_cuMemSetAccess(CUdeviceptr ptr, size_t bytes, const CUmemAccessDesc *access,
			   size_t count)
{
	CUresult err = access && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; !err && i < count; i++) {
		err = on_device(&access[i].location) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
		if (!err)
			err = change(GP_SOFT_ACCESS, ptr, bytes, 0, (uint32_t)access[i].flags,
				     NULL);
	}
	return err;
}

CUresult do_cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop,
					  int option)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!bytes || !prop || option < 0 || option > 1 || !on_device(&prop->location))
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = GRANULARITY;
	return CUDA_SUCCESS;
}

/* A file that holds the memory. This device imports none. */
CUresult do_cuMemExportToShareableHandle(void *file, CUmemGenericAllocationHandle handle, int type,
					 uint64_t flags)
{
	struct face_call call = {
		.req = { .op = GP_SOFT_VIRTUAL, .a = handle },
		.req.u.virt.what = GP_SOFT_EXPORT,
	};
	CUresult err = face_check();
	int *fd = file;

	if (err)
		return err;
	if (!file || type != CU_MEM_HANDLE_FD || flags)
		return CUDA_ERROR_INVALID_VALUE;
	err = face_error(face_call(&call));
	if (!err)
		*fd = call.reply_fd;
	return err;
}

CUresult do_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr)
{
	struct gp_soft_rep rep;
	CUresult err = face_check();

	if (err)
		return err;
	err = face_error(face_op(GP_SOFT_MEM_RANGE, ptr, 0, &rep));
	if (!err && base)
		*base = rep.value;
	if (!err && bytes)
		*bytes = rep.value2;
	return err;
}
