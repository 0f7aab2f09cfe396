// SPDX-License-Identifier: Apache-2.0
/*
 * The GOT patch on real objects that are loaded here anyway, and the table of driver calls.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Tests link the library, not the preload: its sources are part of this one. */
#include "preload/driver_calls.h"
#include "preload/got.c"
#include "tests/common/gp_test.h"

static void *_Atomic orig;
static int count;

/* cmocka allocates through its import of malloc. */
static void *counted(size_t n, size_t size)
{
	count++;
	return ((void *(*)(size_t, size_t))atomic_load(&orig))(n, size);
}

static void *none_for(const char *symbol, const void *target)
{
	return NULL;
}

static void *zeroed(size_t n, size_t size)
{
	return calloc(n, size);
}

static void *calloc_for(const char *symbol, const void *target)
{
	return !strcmp(symbol, "calloc") && target != (void *)zeroed ? (void *)zeroed : NULL;
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

static void patches_by_predicate(void **state)
{
	void *lib = dlopen("libcmocka.so.0", RTLD_NOW | RTLD_NOLOAD);

	assert_int_equal(gp_got_patch_each(lib, none_for), 0);
	assert_true(gp_got_patch_each(lib, calloc_for) > 0);
	assert_int_equal(gp_got_patch_each(lib, calloc_for), 0);
	dlclose(lib);
}

/* Rows of a name are in order, and each symbol is there once. */
static void table_is_in_order(void **state)
{
	static const struct {
		const char *name, *symbol;
		int since;
	} rows[] = {
#define GP_CALL(kind, name, symbol, since, ...) { #name, #symbol, since },
#include "preload/driver_calls.def"
	};
	const size_t rows_count = sizeof(rows) / sizeof(rows[0]);

	assert_true(rows_count > 120 && GP_CALL_IDS > 100 && GP_CALL_IDS < rows_count);
	for (size_t i = 0; i < rows_count; i++) {
		assert_memory_equal(rows[i].symbol, rows[i].name, strlen(rows[i].name));
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(rows[i].symbol, rows[k].symbol);
			if (!strcmp(rows[i].name, rows[k].name))
				assert_true(rows[i].since >= rows[k].since);
		}
	}
}

int main(void)
{
	const struct CMUnitTest preload[] = {
		cmocka_unit_test(patches_one_object),
		cmocka_unit_test(patches_by_predicate),
		cmocka_unit_test(table_is_in_order),
	};

	return gp_run_tests(preload);
}
