// SPDX-License-Identifier: Apache-2.0
/* ptx.c - names and parameters of the entries of PTX text. Also a fuzz target. */
#include "softgpu/cuda/ptx.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Bytes of ".u64", ".f32", ".b8": the digits count bits. */
static uint32_t type_bytes(const char *p)
{
	unsigned int bits = 0;

	if (sscanf(p, ".%*[usbf]%u", &bits) != 1 || bits < 8 || bits > 64)
		return 0;
	return bits / 8;
}

/* One ".param [.align N] .TYPE name[[COUNT]]"; NULL: not one. */
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

static CUresult add_entry(const char **at, struct face_function **functions)
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
	fn->max_threads = 1024;
	memcpy(fn->name, p, len);
	fn->next = *functions;
	*functions = fn;
	p = parse_params(p + len, fn);
	if (!p)
		return CUDA_ERROR_INVALID_PTX;
	*at = p;
	return CUDA_SUCCESS;
}

bool face_ptx_is(const char *image)
{
	const char *p = skip_space(image);

	return !strncmp(p, ".version", 8) || !strncmp(p, "//", 2);
}

CUresult face_ptx_entries(const char *text, struct face_function **functions)
{
	CUresult err = CUDA_SUCCESS;

	while (!err && (text = strstr(text, ".entry")))
		err = add_entry(&text, functions);
	return err;
}

void face_ptx_free(struct face_function *functions)
{
	while (functions) {
		struct face_function *fn = functions;

		functions = fn->next;
		fn->magic = 0;
		free(fn);
	}
}
