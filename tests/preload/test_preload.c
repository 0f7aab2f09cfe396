// SPDX-License-Identifier: Apache-2.0
/*
 * The GOT patch on real objects that are loaded here anyway, and the kinds of
 * driver calls.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

/* Tests link the library, not the preload: its sources are part of this one. */
#include "preload/got.c"
#include "preload/call_kinds.c"
#include "tests/common/gp_test.h"

static void *_Atomic orig;
static int count;

/* cmocka allocates through its import of malloc. */
static void *counted(size_t n, size_t size)
{
	count++;
	return ((void *(*)(size_t, size_t))atomic_load(&orig))(n, size);
}

static void patches_one_object(void **state)
{
	void *lib = dlopen("libcmocka.so.0", RTLD_NOW | RTLD_NOLOAD);
	void *symbol_of_cmocka, *p;
	int before;

	assert_non_null(lib);
	symbol_of_cmocka = dlsym(lib, "_test_calloc");
	assert_non_null(symbol_of_cmocka);
	assert_int_equal(gp_got_patch(lib, "malloc", (void *)counted, &orig), 0);
	/* Again changes nothing: what it called before is still known. */
	p = atomic_load(&orig);
	assert_int_equal(gp_got_patch(lib, "malloc", (void *)counted, &orig), 0);
	assert_ptr_equal(atomic_load(&orig), p);
	assert_ptr_equal(p, dlsym(RTLD_DEFAULT, "malloc"));
	/* malloc takes one argument: the second is not looked at. */
	before = count;
	p = ((void *(*)(size_t, size_t, const char *, int))symbol_of_cmocka)(1, 8, "x", 1);
	assert_true(count > before);
	((void (*)(void *, const char *, int))dlsym(lib, "_test_free"))(p, "x", 1);
	/* Ours is not patched. */
	before = count;
	free(malloc(64));
	assert_int_equal(count, before);
	assert_int_equal(gp_got_patch(lib, "malloc", atomic_load(&orig), &orig), 0);
	assert_int_equal(gp_got_patch(lib, "no_such_import", (void *)counted, &orig), -ENOENT);
	dlclose(lib);
}

static void knows_calls(void **state)
{
	static const struct {
		const char *name;
		enum gp_call_kind kind;
	} want[] = {
		{ "cuLaunchKernel", GP_CALL_LAUNCH },
		{ "cuLaunchKernel_ptsz", GP_CALL_LAUNCH },
		{ "cuLaunchKernelEx", GP_CALL_LAUNCH_EX },
		{ "cuCtxSynchronize", GP_CALL_SYNC_IDLE },
		{ "cuCtxSynchronize_v2", GP_CALL_SYNC_IDLE },
		{ "cuCtxCreate_v4", GP_CALL_CONTEXT },
		{ "cuMemFree_v2", GP_CALL_SYNC },
		{ "cuMemFreeAsync_ptsz", GP_CALL_COPY },
		{ "cuMemAllocPitch_v2", GP_CALL_SYNC },
		{ "cuModuleLoadDataEx", GP_CALL_SYNC },
		{ "cuModuleUnload", GP_CALL_UNLOAD },
		{ "cuStreamSynchronize_ptsz", GP_CALL_WAIT },
		{ "cuMemcpyDtoH_v2_ptds", GP_CALL_WAIT },
		{ "cuMemcpyDtoHAsync_v2_ptsz", GP_CALL_COPY },
		{ "cuGraphLaunch", GP_CALL_SUBMIT },
		{ "cuEventQuery", GP_CALL_OTHER },
		{ "cuEventSynchronize", GP_CALL_WAIT_EVENT },
		{ "cuEventRecord_ptsz", GP_CALL_RECORD },
		{ "cuCtxDestroy_v2", GP_CALL_DESTROY },
		{ "cuCtxGetCurrent", GP_CALL_OTHER },
		{ "", GP_CALL_OTHER },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_int_equal(gp_call_kind(want[i].name), want[i].kind);
}

int main(void)
{
	const struct CMUnitTest preload[] = {
		cmocka_unit_test(patches_one_object),
		cmocka_unit_test(knows_calls),
	};

	return gp_run_tests(preload);
}
