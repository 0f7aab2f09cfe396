// SPDX-License-Identifier: Apache-2.0
/* module.c - modules: PTX text; ptx.c parses its entries. The server knows kernels by name. */
#include <stdlib.h>
#include <string.h>

#include "softgpu/cuda/face.h"
#include "softgpu/cuda/ptx.h"

#define IMAGE_MAX (16u << 20)

struct face_module {
	uint32_t magic;
	struct face_function *functions;
};

static void module_free(struct face_module *m)
{
	face_ptx_free(m->functions);
	m->magic = 0;
	free(m);
}

CUresult do_cuModuleLoadData(CUmodule *module, const void *image)
{
	const char *p = image;
	struct face_module *m;
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);

	if (err)
		return err;
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	/* A cubin or a fat binary is code for another GPU. */
	if (!face_ptx_is(p))
		return CUDA_ERROR_INVALID_IMAGE;
	if (strnlen(p, IMAGE_MAX) == IMAGE_MAX)
		return CUDA_ERROR_INVALID_IMAGE;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->magic = FACE_MODULE;
	err = face_ptx_entries(p, &m->functions);
	for (struct face_function *fn = m->functions; fn; fn = fn->next)
		fn->module = m;
	if (err)
		module_free(m);
	else
		*module = m;
	return err;
}

CUresult do_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
			       int *options, void **values)
{
	return do_cuModuleLoadData(module, image);
}

CUresult do_cuModuleUnload(CUmodule module)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!module || module->magic != FACE_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	module_free(module);
	return CUDA_SUCCESS;
}

static CUresult find_kernel(struct face_function *fn)
{
	struct face_call call = {
		.req.op = GP_SOFT_KERNEL,
		.data = fn->name,
		.data_bytes = strlen(fn->name),
	};
	int err = face_call(&call);

	if (err) {
		face_log("no kernel %s here", fn->name);
		return face_error(err);
	}
	if (fn->args_bytes < call.rep.value2)
		return CUDA_ERROR_INVALID_PTX;
	fn->kernel = (uint32_t)call.rep.value;
	return CUDA_SUCCESS;
}

CUresult do_cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!module || module->magic != FACE_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	for (struct face_function *fn = module->functions; fn; fn = fn->next) {
		if (strcmp(fn->name, name))
			continue;
		err = fn->kernel ? CUDA_SUCCESS : find_kernel(fn);
		if (!err)
			*out = fn;
		return err;
	}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult do_cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module, const char *name)
{
	face_log("cuModuleGetGlobal: not supported: %s", name ? name : "");
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult check_function(CUfunction fn)
{
	CUresult err = face_check();

	if (err)
		return err;
	return fn && fn->magic == FACE_FUNCTION ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Attributes: 0 threads per block, 1 static shared, 8 maximum dynamic shared. */
CUresult do_cuFuncSetAttribute(CUfunction fn, int attribute, int value)
{
	CUresult err = check_function(fn);

	if (err)
		return err;
	if (attribute != 8 && attribute != 9)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute == 8)
		fn->shared_bytes = (uint32_t)value;
	return CUDA_SUCCESS;
}

CUresult do_cuFuncGetAttribute(int *value, int attribute, CUfunction fn)
{
	CUresult err = check_function(fn);

	if (err)
		return err;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	*value = attribute == 0 ? (int)fn->max_threads : attribute == 8 ? (int)fn->shared_bytes : 0;
	return CUDA_SUCCESS;
}

CUresult do_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction fn, int threads,
							size_t shared_bytes)
{
	CUresult err = check_function(fn);

	if (err)
		return err;
	if (!blocks || threads < 1 || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = FACE_BLOCKS_PER_SM;
	return CUDA_SUCCESS;
}
