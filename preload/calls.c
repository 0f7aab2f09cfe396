// SPDX-License-Identifier: Apache-2.0
/*
 * calls.c - a function of ours for each driver call that the layer sees: it calls the driver's,
 * and watch.c before and after. The app gets it where it looks for the driver's.
 */
#include "preload/calls.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "preload/got.h"
#include "preload/memory.h"
#include "preload/own.h"
#include "preload/quota.h"
#include "preload/watch.h"

#define CU_GET_PROC_ADDRESS_PER_THREAD 2u
/* The newest version that driver_calls.def knows. Later ones may have other arguments. */
#define VERSION_KNOWN 13000

typedef void (*function)(void);

static _Atomic(function) driver[GP_CALL_IDS]; /* the driver's own; set before ours is given */
static const struct gp_stub *_Atomic the_stub;

/* The argument that a kind names. */
#define FIRST(first, ...) first
#define SECOND(first, second, ...) second
#define THIRD(first, second, third, ...) third
#define WORD_LAUNCH(...) FIRST(__VA_ARGS__, )
#define WORD_LAUNCH_EX(...) SECOND(__VA_ARGS__, )
#define WORD_SUBMIT(...) NULL
#define WORD_COPY(...) NULL
#define WORD_COPY_OUT(...) FIRST(__VA_ARGS__, )
#define WORD_RECORD(...) NULL
#define WORD_WAIT(...) NULL
#define WORD_WAIT_EVENT(...) NULL
#define WORD_QUERY(...) NULL
#define WORD_SYNC(...) NULL
#define WORD_SYNC_IDLE(...) NULL
#define WORD_CONTEXT(...) NULL
#define WORD_LOAD(...) FIRST(__VA_ARGS__, )
#define WORD_LOAD_2(...) SECOND(__VA_ARGS__, )
#define WORD_LOAD_3(...) THIRD(__VA_ARGS__, )
#define WORD_UNLOAD(...) NULL
#define WORD_DESTROY(...) FIRST(__VA_ARGS__, )
#define WORD_COPY_SYNC(...) NULL
#define WORD_ROOM(...) NULL
#define WORD_HAVE(...) NULL
#define WORD_POOL(...) NULL
#define WORD_USE(...) NULL

#define DRIVER(symbol, count, ...)                                                             \
	((int (*)(GP_TYPES_##count(__VA_ARGS__)))atomic_load_explicit(&driver[GP_ID_##symbol], \
								      memory_order_acquire))

/* The kind that watch.c sees. */
static inline enum gp_call_kind seen_as(enum gp_call_kind kind)
{
	switch (kind) {
	case GP_CALL_ROOM:
	case GP_CALL_HAVE:
		return GP_CALL_SYNC;
	case GP_CALL_POOL:
		return GP_CALL_COPY;
	case GP_CALL_LOAD_2:
	case GP_CALL_LOAD_3:
		return GP_CALL_LOAD;
	default:
		return kind;
	}
}

static inline bool is_counted(enum gp_call_kind kind)
{
	return kind == GP_CALL_ROOM || kind == GP_CALL_HAVE || kind == GP_CALL_POOL;
}

/* How a call of that kind uses memory. A wait may end while memory is out. */
static inline enum gp_memory_use use_of(enum gp_call_kind kind)
{
	switch (kind) {
	case GP_CALL_COPY:
	case GP_CALL_COPY_OUT:
	case GP_CALL_COPY_SYNC:
	case GP_CALL_POOL:
	case GP_CALL_USE:
		return GP_MEMORY_USE_NAMES;
	case GP_CALL_RECORD:
	case GP_CALL_WAIT_EVENT:
	case GP_CALL_QUERY:
	case GP_CALL_SYNC_IDLE:
		return GP_MEMORY_USE_NOT;
	default:
		return GP_MEMORY_USE_WORK;
	}
}

/* Of an allocation that failed. */
#define GP_BYTES(result, symbol, words) \
	((result) == CU_OUT_OF_MEMORY ? gp_quota_bytes(GP_ID_##symbol, words) : 0)

#define WATCHED(kind, symbol, count, ...)                                                          \
	static int our_##symbol(GP_PARAMS_##count(__VA_ARGS__))                                    \
	{                                                                                          \
		const uint64_t words[] = { GP_WORDS_##count(__VA_ARGS__) };                        \
		const bool names = gp_memory_enter(use_of(GP_CALL_##kind));                        \
		struct gp_quota_call q = { 0 };                                                    \
		struct gp_memory_try t = { 0 };                                                    \
		struct gp_watched w;                                                               \
		int result = 0;                                                                    \
		bool seen;                                                                         \
                                                                                                   \
		if (is_counted(GP_CALL_##kind))                                                    \
			result = gp_quota_enter(&q, GP_ID_##symbol, words);                        \
		if (result)                                                                        \
			goto out;                                                                  \
		seen = gp_watch_enter(&w, seen_as(GP_CALL_##kind), WORD_##kind(GP_NAMES_##count)); \
		do {                                                                               \
			result = DRIVER(symbol, count, __VA_ARGS__)(GP_NAMES_##count);             \
		} while (GP_CALL_##kind == GP_CALL_ROOM &&                                         \
			 gp_memory_again(&t, result, GP_BYTES(result, symbol, words)));            \
		if (seen)                                                                          \
			gp_watch_end(&w, result);                                                  \
		gp_quota_leave(&q, result);                                                        \
	out:                                                                                       \
		if (names)                                                                         \
			gp_memory_leave();                                                         \
		return result;                                                                     \
	}

#define GP_LOOKUP(...)
#define GP_CALL(kind, name, symbol, since, count, ...) \
	GP_SEEN_##kind(WATCHED(kind, symbol, count, __VA_ARGS__))
#include "preload/driver_calls.def"

static int our_cuMemAlloc_v2(void *at, uint64_t bytes)
{
	const uint64_t words[] = { (uint64_t)at, bytes };
	struct gp_quota_call q;
	struct gp_memory_try t = { 0 };
	struct gp_watched w;
	int result = gp_quota_enter(&q, GP_ID_cuMemAlloc_v2, words);
	bool seen;

	if (result)
		return result;
	seen = gp_watch_enter(&w, GP_CALL_SYNC, NULL);
	do {
		result = gp_memory_alloc(DRIVER(cuMemAlloc_v2, 2, P, L), at, bytes);
	} while (gp_memory_again(&t, result, bytes));
	if (seen)
		gp_watch_end(&w, result);
	gp_quota_leave(&q, result);
	return result;
}

static int our_cuMemFree_v2(uint64_t at)
{
	struct gp_quota_call q;
	struct gp_watched w;
	const bool seen = gp_watch_enter(&w, GP_CALL_SYNC, NULL);
	int result;

	(void)gp_quota_enter(&q, GP_ID_cuMemFree_v2, &at);
	result = gp_memory_free(DRIVER(cuMemFree_v2, 1, L), at);
	if (seen)
		gp_watch_end(&w, result);
	gp_quota_leave(&q, result);
	return result;
}

/* @repeat: while others give room. */
#define OWN(symbol, function, repeat, count, ...)                                                \
	static int our_##symbol(GP_PARAMS_##count(__VA_ARGS__))                                  \
	{                                                                                        \
		const uint64_t words[] = { GP_WORDS_##count(__VA_ARGS__) };                      \
		struct gp_quota_call q;                                                          \
		struct gp_memory_try t = { 0 };                                                  \
		struct gp_watched w;                                                             \
		int result = gp_quota_enter(&q, GP_ID_##symbol, words);                          \
		bool seen;                                                                       \
                                                                                                 \
		if (result)                                                                      \
			return result;                                                           \
		seen = gp_watch_enter(&w, GP_CALL_SYNC, NULL);                                   \
		do {                                                                             \
			result = function(DRIVER(symbol, count, __VA_ARGS__), GP_NAMES_##count); \
		} while ((repeat) &&                                                             \
			 gp_memory_again(&t, result, GP_BYTES(result, symbol, words)));          \
		if (seen)                                                                        \
			gp_watch_end(&w, result);                                                \
		gp_quota_leave(&q, result);                                                      \
		return result;                                                                   \
	}

OWN(cuMemCreate, gp_own_create, true, 4, P, L, P, L)
OWN(cuMemRelease, gp_own_release, false, 1, L)
OWN(cuMemRetainAllocationHandle, gp_own_retain, false, 2, P, P)
OWN(cuMemMap, gp_own_map, false, 5, L, L, L, L, L)
OWN(cuMemUnmap, gp_own_unmap, false, 2, L, L)
OWN(cuMemSetAccess, gp_own_access, false, 4, L, L, P, L)
OWN(cuMemGetAllocationPropertiesFromHandle, gp_own_properties, false, 2, P, L)
OWN(cuMemExportToShareableHandle, gp_own_export, false, 4, P, L, U, L)
OWN(cuMemGetHandleForAddressRange, gp_own_range_handle, false, 5, P, L, L, U, L)
OWN(cuMulticastBindMem, gp_own_bind, false, 6, L, L, L, L, L, L)
OWN(cuMulticastBindAddr, gp_own_bind_at, false, 5, L, L, L, L, L)

static int our_cuMemGetInfo_v2(void *free, void *total)
{
	const int result = DRIVER(cuMemGetInfo_v2, 2, P, P)(free, total);
	uint64_t other = UINT64_MAX;

	if (!result)
		gp_quota_info(free ? free : &other, total ? total : &other);
	return result;
}

static int our_cuMemGetInfo(void *free, void *total)
{
	const int result = DRIVER(cuMemGetInfo, 2, P, P)(free, total);
	uint32_t *const narrow[] = { free, total };
	uint64_t wide[] = { free ? *narrow[0] : 0, total ? *narrow[1] : 0 };

	if (result)
		return result;
	gp_quota_info(&wide[0], &wide[1]);
	for (size_t i = 0; i < 2; i++)
		if (narrow[i])
			*narrow[i] = (uint32_t)wide[i];
	return 0;
}

static int our_cuMemGetAddressRange_v2(void *base, void *bytes, uint64_t at)
{
	return gp_memory_range(DRIVER(cuMemGetAddressRange_v2, 3, P, P, L), base, bytes, at);
}

static int our_cuCtxDestroy_v2(void *context)
{
	const bool counted = gp_memory_enter(GP_MEMORY_USE_WORK);
	struct gp_watched w;
	int result;

	(void)gp_watch_enter(&w, GP_CALL_DESTROY, context);
	result = DRIVER(cuCtxDestroy_v2, 1, P)(context);
	if (counted)
		gp_memory_leave();
	if (!result) {
		gp_memory_context_gone(context);
		gp_quota_context_gone(context);
	}
	return result;
}

static void *answer_name(const char *name, int version, uint64_t flags, void *found);

static int our_cuGetProcAddress(void *name, void *found, uint32_t version, uint64_t flags)
{
	const int result = DRIVER(cuGetProcAddress, 4, P, P, U, L)(name, found, version, flags);
	void **fn = found;

	if (!result && fn && *fn)
		*fn = answer_name(name, (int)version, flags, *fn);
	return result;
}

static int our_cuGetProcAddress_v2(void *name, void *found, uint32_t version, uint64_t flags,
				   void *status)
{
	const int result =
		DRIVER(cuGetProcAddress_v2, 5, P, P, U, L, P)(name, found, version, flags, status);
	void **fn = found;

	if (!result && fn && *fn)
		*fn = answer_name(name, (int)version, flags, *fn);
	return result;
}

static const function ours[] = {
#define GP_CALL(kind, name, symbol, ...) GP_SEEN_##kind((function)our_##symbol, )
#include "preload/driver_calls.def"
};

/* ---- answers to lookups ---------------------------------------------------------- */

bool gp_calls_intercepted(void)
{
	const char *text = secure_getenv("GPREEMPT_INTERCEPT");

	return !text || strcmp(text, "0");
}

void gp_calls_start(const struct gp_stub *stub)
{
	atomic_store(&the_stub, stub);
	gp_got_dlsym = stub->libc_dlsym;
}

static _Atomic(void *) kept_libcuda;

/* Functions of the driver outlive any dlclose(). */
static void keep_libcuda(void)
{
	if (!atomic_load(&kept_libcuda))
		atomic_store(&kept_libcuda,
			     dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD));
}

void *gp_calls_driver(const char *symbol)
{
	const struct gp_stub *stub = atomic_load(&the_stub);
	void *libcuda;

	keep_libcuda();
	libcuda = atomic_load(&kept_libcuda);
	return libcuda ? stub->libc_dlsym(libcuda, symbol) : NULL;
}

static bool of_one_object(function a, function b)
{
	Dl_info in_a, in_b;

	return dladdr((void *)a, &in_a) && dladdr((void *)b, &in_b) &&
	       in_a.dli_fbase == in_b.dli_fbase;
}

/*
 * The first answer counts: a chain of tools has one order in a process. A pointer into another
 * object, such as a second libcuda, goes to the app as it is.
 */
void *gp_calls_answer(unsigned int id, void *found)
{
	const struct gp_stub *stub = atomic_load(&the_stub);
	function fn = (function)found, before = NULL;

	if (id >= GP_CALL_IDS || fn == ours[id] || !gp_calls_intercepted())
		return found;
	/* The stub's name leads here, too, as soon as it is called. */
	if (found == stub->exported[id])
		return atomic_load(&driver[id]) ? (void *)ours[id] : found;
	keep_libcuda();
	if (!atomic_compare_exchange_strong(&driver[id], &before, fn) && before != fn &&
	    !of_one_object(before, fn))
		return found;
	return (void *)ours[id];
}

/* A row of driver_calls.def, for cuGetProcAddress. */
struct row {
	const char *name, *symbol;
	int since;
	bool per_thread;
	unsigned int id; /* GP_CALL_IDS: not seen */
};

static const struct row rows[] = {
#define ROW(name, symbol, since, per_thread) { #name, #symbol, since, per_thread, GP_ID_##symbol },
#define GP_CALL(kind, name, symbol, since, ...) GP_SEEN_##kind(ROW(name, symbol, since, false))
#define GP_CALL_PT(kind, name, symbol, since, ...) GP_SEEN_##kind(ROW(name, symbol, since, true))
#define GP_UNKNOWN(name, since) { #name, "", since, false, GP_CALL_IDS },
#include "preload/driver_calls.def"
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static bool exports(const char *symbol, const void *found)
{
	const struct gp_stub *stub = atomic_load(&the_stub);
	void *libcuda = atomic_load(&kept_libcuda);

	return libcuda && *symbol && stub->libc_dlsym(libcuda, symbol) == found;
}

/* The row that the version and the flags name. */
static const struct row *by_version(const char *name, int version, bool per_thread)
{
	const struct row *best = NULL;

	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name) && rows[i].since <= version &&
		    (!rows[i].per_thread || per_thread) && (!best || rows[i].since >= best->since))
			best = &rows[i];
	return best;
}

/*
 * Most drivers answer with an exported symbol, which tells the arguments. Else the version
 * does.
 */
static void *answer_name(const char *name, int version, uint64_t flags, void *found)
{
	const struct gp_stub *stub = atomic_load(&the_stub);
	const struct row *row = NULL;

	keep_libcuda();
	for (size_t i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].name, name) && strcmp(rows[i].symbol, name))
			continue;
		row = &rows[i];
		if (row->id < GP_CALL_IDS &&
		    (found == stub->exported[row->id] || found == (void *)ours[row->id] ||
		     exports(row->symbol, found)))
			return gp_calls_answer(row->id, found);
	}
	if (!row || version > VERSION_KNOWN)
		return found;
	row = by_version(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD);
	return row && row->id < GP_CALL_IDS ? gp_calls_answer(row->id, found) : found;
}

/* ---- imports of loaded objects --------------------------------------------------- */

static bool in_libcuda(const void *address)
{
	Dl_info in, cuda;
	void *libcuda = atomic_load(&kept_libcuda);
	void *known = libcuda ? dlsym(libcuda, "cuInit") : NULL;

	return known && dladdr(known, &cuda) && dladdr(address, &in) &&
	       in.dli_fbase == cuda.dli_fbase;
}

static void *import(const char *symbol, const void *target)
{
	const struct gp_stub *stub = atomic_load(&the_stub);

	if (!strcmp(symbol, "dlsym"))
		return !target || target == (void *)stub->libc_dlsym ? stub->lookup : NULL;
	if (!strcmp(symbol, "dlvsym"))
		return !target || target == stub->libc_dlvsym ? stub->lookup_version : NULL;
	if (strncmp(symbol, "cu", 2))
		return NULL;
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].id < GP_CALL_IDS && !strcmp(rows[i].symbol, symbol))
			return !target || in_libcuda(target) ? stub->exported[rows[i].id] : NULL;
	return NULL;
}

/* Paths of loaded objects, one after another with their final zeros. */
struct paths {
	char *text;
	size_t size;
};

static int add_path(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char *const skipped[] = { "linux-vdso.", "ld-linux",    "libc.so.",
					       "libdl.so.",   "libcuda.so.", "libgpreempt" };
	const char *path = info->dlpi_name ? info->dlpi_name : "";
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	struct paths *paths = arg;
	char *text;

	for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
		if (!strncmp(file, skipped[i], strlen(skipped[i])))
			return 0;
	text = realloc(paths->text, paths->size + strlen(path) + 1);
	if (!text)
		return 1;
	strcpy(&text[paths->size], path);
	*paths = (struct paths){ text, paths->size + strlen(path) + 1 };
	return 0;
}

/* The program has no path. */
static void patch_object(const char *path)
{
	void *object = dlopen(*path ? path : NULL, RTLD_LAZY | RTLD_NOLOAD);

	if (!object)
		return;
	gp_got_patch_each(object, import);
	dlclose(object);
}

void gp_calls_patch_imports(void)
{
	struct paths paths = { 0 };

	keep_libcuda();
	if (!gp_calls_intercepted())
		return;
	/* No dlopen() under dl_iterate_phdr(): it takes the locks of the linker the other way. */
	dl_iterate_phdr(add_path, &paths);
	for (size_t at = 0; at < paths.size; at += strlen(&paths.text[at]) + 1)
		patch_object(&paths.text[at]);
	free(paths.text);
}
