// SPDX-License-Identifier: Apache-2.0
/* device.c - the one device there is. */
#include <stdio.h>
#include <string.h>

#include "softgpu/cuda/face.h"

static CUresult check_device(const void *out, CUdevice dev)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return dev ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult do_cuDeviceGet(CUdevice *dev, int ordinal)
{
	CUresult err = check_device(dev, ordinal);

	if (!err)
		*dev = 0;
	return err;
}

CUresult do_cuDeviceGetCount(int *count)
{
	CUresult err = check_device(count, 0);

	if (!err)
		*count = 1;
	return err;
}

CUresult do_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	CUresult err = check_device(name, dev);

	if (err)
		return err;
	if (len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)len, "%s", GP_SOFT_DEVICE_NAME);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	static const CUuuid soft = { GP_SOFT_UUID };
	CUresult err = check_device(uuid, dev);

	if (!err)
		*uuid = soft;
	return err;
}

CUresult do_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	return do_cuDeviceGetUuid(uuid, dev);
}

CUresult do_cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	CUresult err = check_device(id, dev);

	if (err)
		return err;
	if (len < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(id, (size_t)len, "0000:%02X:00.0", GP_SOFT_PCI_BUS);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned int domain = 0, bus, slot, fn = 0;
	CUresult err = check_device(dev, 0);

	if (err)
		return err;
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &fn) < 3) {
		domain = 0;
		if (sscanf(id, "%x:%x.%x", &bus, &slot, &fn) < 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (domain || bus != GP_SOFT_PCI_BUS || slot || fn)
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = 0;
	return CUDA_SUCCESS;
}

/* CUdevice_attribute numbers; what is not here is 0, "does not have it". */
static const struct {
	int attribute, value;
} attributes[] = {
	{ 1, 1024 },		/* MAX_THREADS_PER_BLOCK */
	{ 2, 1024 }, { 3, 1024 }, { 4, 64 },	/* MAX_BLOCK_DIM_X, Y, Z */
	{ 5, 2147483647 }, { 6, 65535 }, { 7, 65535 },	/* MAX_GRID_DIM_* */
	{ 8, 49152 },		/* MAX_SHARED_MEMORY_PER_BLOCK */
	{ 9, 65536 },		/* TOTAL_CONSTANT_MEMORY */
	{ 10, 32 },		/* WARP_SIZE */
	{ 12, 65536 },		/* MAX_REGISTERS_PER_BLOCK */
	{ 13, 1980000 },	/* CLOCK_RATE, kHz */
	{ 15, 1 },		/* GPU_OVERLAP */
	{ 16, FACE_SMS },	/* MULTIPROCESSOR_COUNT */
	{ 19, 1 },		/* CAN_MAP_HOST_MEMORY */
	{ 31, 1 },		/* CONCURRENT_KERNELS */
	{ 33, GP_SOFT_PCI_BUS },/* PCI_BUS_ID */
	{ 39, 2048 },		/* MAX_THREADS_PER_MULTIPROCESSOR */
	{ 40, FACE_COPY_GROUPS },/* ASYNC_ENGINE_COUNT */
	{ 41, 1 },		/* UNIFIED_ADDRESSING */
	{ 75, 9 }, { 76, 0 },	/* COMPUTE_CAPABILITY_MAJOR, MINOR */
	{ 78, 1 },		/* STREAM_PRIORITIES_SUPPORTED */
	{ 81, 233472 },		/* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
	{ 82, 65536 },		/* MAX_REGISTERS_PER_MULTIPROCESSOR */
	{ 90, 1 },		/* COMPUTE_PREEMPTION_SUPPORTED */
	{ 91, 1 },		/* CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM */
	{ 95, 1 },		/* COOPERATIVE_LAUNCH */
	{ 97, 232448 },		/* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
	{ 106, FACE_BLOCKS_PER_SM },	/* MAX_BLOCKS_PER_MULTIPROCESSOR */
};

CUresult do_cuDeviceGetAttribute(int *value, int attribute, CUdevice dev)
{
	CUresult err = check_device(value, dev);

	if (err)
		return err;
	if (attribute < 1)
		return CUDA_ERROR_INVALID_VALUE;
	*value = 0;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].attribute == attribute)
			*value = attributes[i].value;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	CUresult err = check_device(bytes, dev);
	struct gp_soft_rep rep;

	if (err)
		return err;
	err = face_error(face_op(GP_SOFT_MEM_INFO, 0, 0, &rep));
	if (!err)
		*bytes = rep.value2;
	return err;
}

CUresult do_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	CUresult err = check_device(major, dev);

	if (err)
		return err;
	if (!minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = 9;
	*minor = 0;
	return CUDA_SUCCESS;
}
