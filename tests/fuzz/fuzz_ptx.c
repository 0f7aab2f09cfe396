// SPDX-License-Identifier: Apache-2.0
/* Entries and parameters of PTX text, as the software GPU reads them. */
#include "softgpu/cuda/ptx.h"
#include "tests/fuzz/fuzz.h"

static void check_function(const struct face_function *fn)
{
	FUZZ_CHECK(strlen(fn->name) && strlen(fn->name) < GP_SOFT_NAME_MAX);
	FUZZ_CHECK(fn->param_count <= FACE_PARAMS_MAX);
	FUZZ_CHECK(fn->args_bytes <= GP_SOFT_ARGS_MAX);
	for (uint32_t i = 0; i < fn->param_count; i++)
		FUZZ_CHECK(fn->param_bytes[i] <= fn->args_bytes &&
			   fn->param_at[i] <= fn->args_bytes - fn->param_bytes[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct face_function *functions = NULL;
	char *text = fuzz_text(data, size);

	if (!face_ptx_entries(text, &functions))
		for (struct face_function *fn = functions; fn; fn = fn->next)
			check_function(fn);
	face_ptx_free(functions);
	free(text);
	return 0;
}
