// SPDX-License-Identifier: Apache-2.0
/*
 * module.c - modules: PTX text, of which the names and parameters of its
 * entries are read. What a kernel computes the server knows by its name.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/cuda/face.h"

#define IMAGE_MAX (16u << 20)

struct face_module {
	uint32_t magic;
	struct face_function *functions;
};

static const char *skip_space(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

static size_t name_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '$')
		n++;
	return n;
}

/* Bytes of ".u64", ".f32", ".b8": the digits are bits. */
static uint32_t type_bytes(const char *p)
{
	unsigned int bits = 0;

	if (sscanf(p, ".%*[usbf]%u", &bits) != 1 || bits < 8 || bits > 64)
		return 0;
	return bits / 8;
}

/* One ".param [.align N] .TYPE name[[COUNT]]"; NULL when it is not one. */
static const char *parse_param(const char *p, struct face_function *fn)
{
	uint32_t align = 0, bytes, count = 1, i = fn->param_count;

	p = skip_space(p + strlen(".param"));
	if (!strncmp(p, ".align", 6)) {
		align = (uint32_t)strtoul(p + 6, (char **)&p, 10);
		p = skip_space(p);
	}
	bytes = type_bytes(p);
	if (!bytes || i == FACE_PARAMS_MAX)
		return NULL;
	if (!align)
		align = bytes;
	while (*p && *p != ',' && *p != ')' && *p != '[')
		p++;
	if (*p == '[')
		count = (uint32_t)strtoul(p + 1, (char **)&p, 10);
	if (!count || count > GP_SOFT_ARGS_MAX || align > 256)
		return NULL;
	fn->param_at[i] = (fn->args_bytes + align - 1) / align * align;
	fn->param_bytes[i] = bytes * count;
	fn->args_bytes = fn->param_at[i] + fn->param_bytes[i];
	fn->param_count++;
	return fn->args_bytes <= GP_SOFT_ARGS_MAX ? p : NULL;
}

static const char *parse_params(const char *p, struct face_function *fn)
{
	p = skip_space(p);
	if (*p != '(')
		return p;
	while (p && *p && *p != ')') {
		if (!strncmp(p, ".param", 6))
			p = parse_param(p, fn);
		else
			p++;
	}
	return p && *p ? p : NULL;
}

static CUresult add_entry(struct face_module *m, const char **at)
{
	const char *p = skip_space(*at + strlen(".entry"));
	size_t len = name_length(p);
	struct face_function *fn;

	if (!len || len >= GP_SOFT_NAME_MAX)
		return CUDA_ERROR_INVALID_PTX;
	fn = calloc(1, sizeof(*fn));
	if (!fn)
		return CUDA_ERROR_OUT_OF_MEMORY;
	fn->magic = FACE_FUNCTION;
	fn->module = m;
	fn->max_threads = 1024;
	memcpy(fn->name, p, len);
	fn->next = m->functions;
	m->functions = fn;
	p = parse_params(p + len, fn);
	if (!p)
		return CUDA_ERROR_INVALID_PTX;
	*at = p;
	return CUDA_SUCCESS;
}

static void module_free(struct face_module *m)
{
	while (m->functions) {
		struct face_function *fn = m->functions;

		m->functions = fn->next;
		fn->magic = 0;
		free(fn);
	}
	m->magic = 0;
	free(m);
}

FACE_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	const char *p = image;
	struct face_module *m;
	struct face_ctx *ctx;
	CUresult err = face_ctx_current(&ctx);

	if (err)
		return err;
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	/* A cubin or a fat binary is code for a GPU that this is not. */
	if (strncmp(skip_space(p), ".version", 8) && strncmp(skip_space(p), "//", 2))
		return CUDA_ERROR_INVALID_IMAGE;
	if (strnlen(p, IMAGE_MAX) == IMAGE_MAX)
		return CUDA_ERROR_INVALID_IMAGE;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->magic = FACE_MODULE;
	while (!err && (p = strstr(p, ".entry")))
		err = add_entry(m, &p);
	if (err)
		module_free(m);
	else
		*module = m;
	return err;
}

FACE_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
					unsigned int count, int *options,
					void **values)
{
	return cuModuleLoadData(module, image);
}

FACE_EXPORT CUresult cuModuleUnload(CUmodule module)
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

FACE_EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule module,
					 const char *name)
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

FACE_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes,
					  CUmodule module, const char *name)
{
	face_log("cuModuleGetGlobal: not supported: %s", name ? name : "");
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult check_function(CUfunction fn)
{
	CUresult err = face_check();

	if (err)
		return err;
	return fn && fn->magic == FACE_FUNCTION ? CUDA_SUCCESS :
						  CUDA_ERROR_INVALID_HANDLE;
}

/* Attributes: 0 threads a block, 1 static shared, 8 most dynamic shared. */
FACE_EXPORT CUresult cuFuncSetAttribute(CUfunction fn, int attribute, int value)
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

FACE_EXPORT CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction fn)
{
	CUresult err = check_function(fn);

	if (err)
		return err;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	*value = attribute == 0 ? (int)fn->max_threads :
		 attribute == 8 ? (int)fn->shared_bytes : 0;
	return CUDA_SUCCESS;
}

FACE_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(
	int *blocks, CUfunction fn, int threads, size_t shared_bytes)
{
	CUresult err = check_function(fn);

	if (err)
		return err;
	if (!blocks || threads < 1 || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = FACE_BLOCKS_PER_SM;
	return CUDA_SUCCESS;
}
