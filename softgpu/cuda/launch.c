// SPDX-License-Identifier: Apache-2.0
/* launch.c - kernel launches: parameters packed as PTX declares them. */
#include <string.h>

#include "softgpu/cuda/face.h"

/* cuLaunchKernel's extra: pairs of key and value, ended by 0. */
#define PARAM_END ((void *)0)
#define PARAM_BUFFER ((void *)1)
#define PARAM_BUFFER_SIZE ((void *)2)
#define ATTRIBUTE_COOPERATIVE 2

struct launch_attribute {
	int id;
	char pad[4];
	int value[16];
};

static CUresult pack_extra(struct face_work *work, void **extra)
{
	const void *buffer = NULL;
	size_t bytes = 0;

	for (; *extra != PARAM_END; extra += 2) {
		if (extra[0] == PARAM_BUFFER)
			buffer = extra[1];
		else if (extra[0] == PARAM_BUFFER_SIZE)
			bytes = *(size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!buffer || bytes > sizeof(work->args))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(work->args, buffer, bytes);
	work->sub.args_bytes = (uint32_t)bytes;
	return CUDA_SUCCESS;
}

static CUresult pack(struct face_work *work, const struct face_function *fn, void **params,
		     void **extra)
{
	if (extra && !params)
		return pack_extra(work, extra);
	if (fn->param_count && !params)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < fn->param_count; i++)
		memcpy(work->args + fn->param_at[i], params[i], fn->param_bytes[i]);
	work->sub.args_bytes = fn->args_bytes;
	return CUDA_SUCCESS;
}

static CUresult launch(const CUlaunchConfig *c, CUfunction fn, void **params, void **extra,
		       bool cooperative)
{
	struct face_work work = {
		.sub.work = GP_SOFT_WORK_KERNEL,
		.sub.grid = { c->gridDimX, c->gridDimY, c->gridDimZ },
		.sub.block = { c->blockDimX, c->blockDimY, c->blockDimZ },
		.sub.shared_bytes = c->sharedMemBytes,
		.sub.flags = cooperative ? GP_SOFT_COOPERATIVE : 0,
		.sub.cost_ns = FACE_LAUNCH_NS,
	};
	struct face_stream *s;
	CUresult err = face_stream_get(c->hStream, &s);

	if (err)
		return err;
	if (!fn || fn->magic != FACE_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	if (cooperative &&
	    (uint64_t)c->gridDimX * c->gridDimY * c->gridDimZ > FACE_SMS * FACE_BLOCKS_PER_SM)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	if (face_cold)
		work.sub.cost_ns += FACE_COLD_NS;
	face_cold = false;
	work.sub.kernel = fn->kernel;
	err = pack(&work, fn, params, extra);
	return err ? err : face_submit(s, &work, NULL);
}

CUresult do_cuLaunchKernel(CUfunction fn, unsigned int grid_x, unsigned int grid_y,
			   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
			   void **params, void **extra)
{
	const CUlaunchConfig c = { grid_x,  grid_y,	  grid_z, block_x, block_y,
				   block_z, shared_bytes, stream, NULL,	   0 };

	return launch(&c, fn, params, extra, false);
}

CUresult do_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction fn, void **params,
			     void **extra)
{
	const struct launch_attribute *attr;
	bool cooperative = false;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	attr = config->attrs;
	for (unsigned int i = 0; i < config->numAttrs; i++) {
		if (attr[i].id == ATTRIBUTE_COOPERATIVE)
			cooperative = attr[i].value[0];
		else if (attr[i].id)
			return CUDA_ERROR_NOT_SUPPORTED;
	}
	return launch(config, fn, params, extra, cooperative);
}

CUresult do_cuLaunchCooperativeKernel(CUfunction fn, unsigned int grid_x, unsigned int grid_y,
				      unsigned int grid_z, unsigned int block_x,
				      unsigned int block_y, unsigned int block_z,
				      unsigned int shared_bytes, CUstream stream, void **params)
{
	const CUlaunchConfig c = { grid_x,  grid_y,	  grid_z, block_x, block_y,
				   block_z, shared_bytes, stream, NULL,	   0 };

	return launch(&c, fn, params, NULL, true);
}
