// SPDX-License-Identifier: Apache-2.0
/* device.c - the devices, and the selection that this process sees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "softgpu/cuda/face.h"

static uint32_t visible[GP_SOFT_GPUS_MAX]; /* the server's number of each device */
static CUdevice device_count;		   /* both set once, by cuInit */

/* ---- the selection ----------------------------------------------------------- */

static void uuid_text(uint32_t gpu, char text[48])
{
	const uint32_t server = atomic_load(&face_server_id);
	const uint8_t u[16] = GP_SOFT_UUID(gpu, server);
	int n = snprintf(text, 48, "GPU-");

	for (int i = 0; i < 16; i++)
		n += snprintf(text + n, 48 - (size_t)n, "%s%02x",
			      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

/* One word of CUDA_VISIBLE_DEVICES: a number, or the beginning of a UUID. */
static bool visible_one(const char *word, size_t len, uint32_t gpus, uint32_t *gpu)
{
	char text[48];

	if (len == 1 && word[0] >= '0' && word[0] <= '9') {
		*gpu = (uint32_t)(word[0] - '0');
		return *gpu < gpus;
	}
	for (*gpu = 0; len > 4 && *gpu < gpus; (*gpu)++) {
		uuid_text(*gpu, text);
		if (len < sizeof(text) && !strncasecmp(text, word, len))
			return true;
	}
	return false;
}

/*
 * Like the driver, reads CUDA_VISIBLE_DEVICES up to the first word that names no device; none
 * left: no device. With a single software GPU it is ignored, because it then names real cards.
 */
CUresult face_devices_init(uint32_t gpus)
{
	const char *words = gpus > 1 ? getenv("CUDA_VISIBLE_DEVICES") : NULL;
	uint32_t gpu;

	device_count = 0;
	for (gpu = 0; !words && gpu < gpus; gpu++)
		visible[device_count++] = gpu;
	while (words && *words && (uint32_t)device_count < gpus) {
		size_t len = strcspn(words, ",");

		if (!visible_one(words, len, gpus, &gpu))
			break;
		visible[device_count++] = gpu;
		words += len + (words[len] == ',');
	}
	return device_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult face_device_check(CUdevice dev)
{
	CUresult err = face_check();

	if (err)
		return err;
	return dev < 0 || dev >= device_count ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

uint32_t face_device_gpu(CUdevice dev)
{
	return visible[dev];
}

/* ---- properties -------------------------------------------------------------- */

static CUresult check_device(const void *out, CUdevice dev)
{
	CUresult err = face_check();

	if (err)
		return err;
	return out ? face_device_check(dev) : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuDeviceGet(CUdevice *dev, int ordinal)
{
	CUresult err = check_device(dev, ordinal);

	if (!err)
		*dev = ordinal;
	return err;
}

CUresult do_cuDeviceGetCount(int *count)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = device_count;
	return CUDA_SUCCESS;
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
	const uint32_t server = atomic_load(&face_server_id);
	CUresult err = check_device(uuid, dev);

	if (!err)
		*uuid = (CUuuid){ GP_SOFT_UUID(visible[dev], server) };
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
	snprintf(id, (size_t)len, "0000:%02X:00.0", GP_SOFT_PCI_BUS(visible[dev]));
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned int domain = 0, bus, slot, fn = 0;
	CUresult err = face_check();

	if (err)
		return err;
	if (!dev || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &fn) < 3) {
		domain = 0;
		if (sscanf(id, "%x:%x.%x", &bus, &slot, &fn) < 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (CUdevice i = 0; i < device_count && !domain && !slot && !fn; i++) {
		if (bus != GP_SOFT_PCI_BUS(visible[i]))
			continue;
		*dev = i;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

#define PCI_BUS_ID 33

/* CUdevice_attribute numbers; others are 0, "not supported". */
static const struct {
	int attribute, value;
} attributes[] = {
	{ 1, 1024 }, /* MAX_THREADS_PER_BLOCK */
	{ 2, 1024 },
	{ 3, 1024 },
	{ 4, 64 }, /* MAX_BLOCK_DIM_X, Y, Z */
	{ 5, 2147483647 },
	{ 6, 65535 },
	{ 7, 65535 },		  /* MAX_GRID_DIM_* */
	{ 8, 49152 },		  /* MAX_SHARED_MEMORY_PER_BLOCK */
	{ 9, 65536 },		  /* TOTAL_CONSTANT_MEMORY */
	{ 10, 32 },		  /* WARP_SIZE */
	{ 12, 65536 },		  /* MAX_REGISTERS_PER_BLOCK */
	{ 13, 1980000 },	  /* CLOCK_RATE, kHz */
	{ 15, 1 },		  /* GPU_OVERLAP */
	{ 16, FACE_SMS },	  /* MULTIPROCESSOR_COUNT */
	{ 19, 1 },		  /* CAN_MAP_HOST_MEMORY */
	{ 31, 1 },		  /* CONCURRENT_KERNELS */
	{ 39, 2048 },		  /* MAX_THREADS_PER_MULTIPROCESSOR */
	{ 40, FACE_COPY_GROUPS }, /* ASYNC_ENGINE_COUNT */
	{ 41, 1 },		  /* UNIFIED_ADDRESSING */
	{ 75, 9 },
	{ 76, 0 },		     /* COMPUTE_CAPABILITY_MAJOR, MINOR */
	{ 78, 1 },		     /* STREAM_PRIORITIES_SUPPORTED */
	{ 81, 233472 },		     /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
	{ 82, 65536 },		     /* MAX_REGISTERS_PER_MULTIPROCESSOR */
	{ 90, 1 },		     /* COMPUTE_PREEMPTION_SUPPORTED */
	{ 91, 1 },		     /* CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM */
	{ 95, 1 },		     /* COOPERATIVE_LAUNCH */
	{ 97, 232448 },		     /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
	{ 102, 1 },		     /* VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
	{ 103, 1 },		     /* HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED */
	{ 106, FACE_BLOCKS_PER_SM }, /* MAX_BLOCKS_PER_MULTIPROCESSOR */
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
	if (attribute == PCI_BUS_ID)
		*value = (int)GP_SOFT_PCI_BUS(visible[dev]);
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
