// SPDX-License-Identifier: Apache-2.0
/* Memory that is counted by driver calls, and its limit. */
#include <stdlib.h>
#include <sys/wait.h>

/* Tests link the library, not the preload: its sources are part of this one. */
#define gp_memory_changed changed /* the library's needs a device, .. */
#define gp_memory_quota give_page /* .. and a gpreemptd */
#include "preload/quota.c"
#include "preload/together.c"
#include "tests/common/gp_test.h"

#define MAX (1ull << 20)
#define KIB 1024ull

struct gp_memory_cuda gp_memory_cuda;
static int device, active;
static void *context = (void *)0x77;

static unsigned int shown;

void changed(const uint8_t uuid[16])
{
	shown++;
}

static int file = -1; /* gpreemptd's; -1: there is none */
static uint32_t my_place;

int give_page(int *out, uint32_t *place)
{
	if (file < 0)
		return -ENOENT;
	*out = dup(file);
	*place = my_place;
	return 0;
}

bool gp_memory_is_loaded(void)
{
	return true;
}

static int get_device(int *out)
{
	*out = device;
	return 0;
}

static int get_uuid(uint8_t uuid[16], int of)
{
	memset(uuid, of + 1, 16);
	return 0;
}

static int get_context(void **out)
{
	*out = context;
	return 0;
}

static int get_state(int of, unsigned int *flags, int *out)
{
	*out = active;
	return 0;
}

static int setup(void **state)
{
	gp_memory_cuda = (struct gp_memory_cuda){
		.ctx_get_device = get_device,
		.device_get_uuid = get_uuid,
		.ctx_get_current = get_context,
		.primary_get_state = get_state,
	};
	device = active = 0;
	gp_quota_start(MAX, NULL);
	quota.together.max = UINT64_MAX;
	return 0;
}

/* As gpreemptd makes it, for the first two devices. */
static struct gp_quota_page *new_page(unsigned int seals, size_t bytes)
{
	struct gp_quota_page *page;

	if (file >= 0)
		close(file);
	file = memfd_create("test-quota", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	assert_int_equal(ftruncate(file, (off_t)bytes), 0);
	assert_int_equal(fcntl(file, F_ADD_SEALS, seals), 0);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(page != MAP_FAILED);
	page->magic = GP_QUOTA_MAGIC;
	for (int i = 0; i < 2; i++)
		get_uuid(page->uuid[i], 1 - i);
	return page;
}

static struct gp_quota_page *others; /* as they see it */

static int setup_together(void **state)
{
	setup(state);
	gp_quota_start(UINT64_MAX, NULL);
	gp_quota_start_together(MAX, "a rule");
	my_place = 3;
	others = new_page(F_SEAL_SHRINK, sizeof(*others));
	gp_quota_join();
	return 0;
}

static int teardown(void **state);

static int teardown_together(void **state)
{
	gp_together_close(mine.page);
	mine.page = NULL;
	gp_together_close(others);
	close(file);
	file = -1;
	atomic_store(&quota.joined, false);
	return teardown(state);
}

/* Each test gives all back. */
static int teardown(void **state)
{
	for (int i = 0; i < GP_QUOTA_DEVICES; i++)
		assert_int_equal(gp_quota_had(i), 0);
	for (size_t i = 0; i < BUCKETS; i++)
		assert_null(quota.bucket[i]);
	return 0;
}

#define WORD(x) ((uint64_t)(uintptr_t)(x))
/* One call; the driver answers @result. */
#define CALL(name, result, ...) call(GP_ID_##name, result, (const uint64_t[]){ __VA_ARGS__ })

static int call(enum gp_call_id id, int result, const uint64_t *arg)
{
	struct gp_quota_call c;
	const int err = gp_quota_enter(&c, id, arg);

	if (!err)
		gp_quota_leave(&c, result);
	return err ? err : result;
}

static void counts_addresses(void **state)
{
	uint64_t at = 0x1000, other = 0x2000;
	uint32_t narrow = 0x3000;

	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), 512 * KIB), 0);
	assert_int_equal(CALL(cuMemAllocManaged, 0, WORD(&other), 256 * KIB, 1), 0);
	assert_int_equal(CALL(cuMemAlloc, 0, WORD(&narrow), 128 * KIB), 0);
	assert_int_equal(gp_quota_had(0), 896 * KIB);
	/* What the driver refuses does not count. */
	assert_int_equal(CALL(cuMemAlloc_v2, 2, WORD(&at), 1 * KIB), 2);
	assert_int_equal(CALL(cuMemFree_v2, 1, at), 1);
	assert_int_equal(gp_quota_had(0), 896 * KIB);
	assert_int_equal(CALL(cuMemFree_v2, 0, 0x999), 0);
	assert_int_equal(gp_quota_had(0), 896 * KIB);
	assert_int_equal(CALL(cuMemFree_v2, 0, at), 0);
	assert_int_equal(CALL(cuMemFree_v2, 0, other), 0);
	assert_int_equal(CALL(cuMemFree, 0, narrow), 0);
}

static void refuses_past_the_limit(void **state)
{
	uint64_t at = 0x1000, other = 0x2000;

	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), MAX + 1), CU_OUT_OF_MEMORY);
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), UINT64_MAX), CU_OUT_OF_MEMORY);
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), MAX), 0);
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&other), 1), CU_OUT_OF_MEMORY);
	assert_int_equal(CALL(cuMemCreate, 0, WORD(&other), 1, 0), 0);
	/* Each device has its own. */
	device = 1;
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&other), KIB), 0);
	assert_int_equal(gp_quota_had(1), KIB);
	assert_int_equal(CALL(cuMemFree_v2, 0, other), 0);
	assert_int_equal(CALL(cuMemFree_v2, 0, at), 0);
}

/* gpreemptd's page has new figures at each MiB, not with each call. */
static void shows_changes(void **state)
{
	const uint8_t second[16] = { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 };
	const uint8_t none[16] = { 0 };
	uint64_t at[] = { 0x1000, 0x2000 };

	device = 1;
	shown = 0;
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at[0]), MAX - KIB), 0);
	assert_int_equal(shown, 0);
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at[1]), KIB), 0);
	assert_int_equal(shown, 1);
	assert_int_equal(gp_quota_device(second), 1);
	assert_int_equal(gp_quota_device(none), -1);
	assert_int_equal(gp_quota_had(-1), 0);
	assert_int_equal(CALL(cuMemFree_v2, 0, at[1]), 0);
	assert_int_equal(shown, 1);
	assert_int_equal(CALL(cuMemFree_v2, 0, at[0]), 0);
	assert_int_equal(shown, 2);
}

static void counts_pools(void **state)
{
	uint64_t at = 0x1000, other = 0x2000;

	assert_int_equal(CALL(cuMemAllocAsync, 0, WORD(&at), KIB, 0), 0);
	assert_int_equal(CALL(cuMemAllocFromPoolAsync_ptsz, 0, WORD(&other), KIB, 0, 0), 0);
	/* It is none of the context's. */
	gp_quota_context_gone(context);
	assert_int_equal(gp_quota_had(0), 2 * KIB);
	assert_int_equal(CALL(cuMemFreeAsync_ptsz, 0, at, 0), 0);
	assert_int_equal(CALL(cuMemFree_v2, 0, other), 0);
}

static void counts_pitch_and_arrays(void **state)
{
	const struct {
		size_t size[2];
		uint32_t format, channels;
	} flat = { { 16, 8 }, 0x20, 4 };
	const struct {
		uint32_t size[2], format, channels;
	} old = { { 16, 0 }, 0x02, 2 };
	struct {
		size_t size[3];
		uint32_t format, channels, flags;
	} deep = { { 8, 4, 2 }, 0x01, 1, 0 };
	uint64_t at[6] = { 1, 2, 3, 4, 5, 6 };
	size_t pitch;

	assert_int_equal(CALL(cuMemAllocPitch_v2, 0, WORD(&at[0]), WORD(&pitch), 513, 3, 4), 0);
	assert_int_equal(gp_quota_had(0), 3 * KIB);
	assert_int_equal(CALL(cuMemAllocPitch_v2, 0, WORD(&at[0]), WORD(&pitch), SIZE_MAX, 3, 4),
			 CU_OUT_OF_MEMORY);
	assert_int_equal(CALL(cuArrayCreate_v2, 0, WORD(&at[1]), WORD(&flat)), 0);
	assert_int_equal(gp_quota_had(0), 3 * KIB + 16 * 8 * 16);
	assert_int_equal(CALL(cuArrayCreate, 0, WORD(&at[2]), WORD(&old)), 0);
	assert_int_equal(gp_quota_had(0), 5 * KIB + 64);
	assert_int_equal(CALL(cuArray3DCreate_v2, 0, WORD(&at[3]), WORD(&deep)), 0);
	assert_int_equal(gp_quota_had(0), 5 * KIB + 128);
	/* 64 + 4*2*1 + 2*1*1 + 1; with layers, all levels have both. */
	assert_int_equal(CALL(cuMipmappedArrayCreate, 0, WORD(&at[4]), WORD(&deep), 4), 0);
	assert_int_equal(gp_quota_had(0), 5 * KIB + 128 + 75);
	assert_int_equal(CALL(cuMipmappedArrayDestroy, 0, at[4]), 0);
	deep.flags = ARRAY_LAYERED;
	assert_int_equal(CALL(cuMipmappedArrayCreate, 0, WORD(&at[4]), WORD(&deep), 4), 0);
	assert_int_equal(gp_quota_had(0), 5 * KIB + 128 + 64 + 16 + 4 + 2);
	/* Sparse: it has no memory yet. */
	deep.flags = 0x40;
	assert_int_equal(CALL(cuArray3DCreate_v2, 0, WORD(&at[5]), WORD(&deep)), 0);
	assert_int_equal(gp_quota_had(0), 5 * KIB + 128 + 64 + 16 + 4 + 2);
	assert_int_equal(CALL(cuArrayCreate_v2, 1, WORD(&at[5]), 0), 1);
	for (size_t i = 1; i < 6; i++)
		if (i == 4)
			assert_int_equal(CALL(cuMipmappedArrayDestroy, 0, at[i]), 0);
		else
			assert_int_equal(CALL(cuArrayDestroy, 0, at[i]), 0);
	assert_int_equal(CALL(cuMemFree_v2, 0, at[0]), 0);
}

/* Memory of a handle lasts until the handle is released, and mapped nowhere. */
static void counts_handles(void **state)
{
	struct gp_memory_prop prop = { .type = 1, .location = { 1, 3 } };
	uint64_t handle = 9, host = 10;

	assert_int_equal(CALL(cuMemCreate, 0, WORD(&handle), KIB, WORD(&prop), 0), 0);
	prop.location.type = 2;
	assert_int_equal(CALL(cuMemCreate, 0, WORD(&host), KIB, WORD(&prop), 0), 0);
	assert_int_equal(gp_quota_had(3), KIB);
	assert_int_equal(CALL(cuMemMap, 0, 0x10000, KIB, 0, handle, 0), 0);
	assert_int_equal(CALL(cuMemMap, 0, 0x10000 + KIB, KIB, 0, handle, 0), 0);
	assert_int_equal(CALL(cuMemMap, 1, 0x50000, KIB, 0, handle, 0), 1);
	assert_int_equal(CALL(cuMemMap, 0, 0x50000, KIB, 0, host, 0), 0);
	assert_int_equal(CALL(cuMemRelease, 0, handle), 0);
	assert_int_equal(gp_quota_had(3), KIB);
	/* The driver may give the same handle again. */
	prop.location.type = 1;
	assert_int_equal(CALL(cuMemCreate, 0, WORD(&handle), 2 * KIB, WORD(&prop), 0), 0);
	assert_int_equal(CALL(cuMemUnmap, 1, 0x10000, 2 * KIB), 1);
	assert_int_equal(gp_quota_had(3), 3 * KIB);
	assert_int_equal(CALL(cuMemUnmap, 0, 0x10000, KIB), 0);
	assert_int_equal(gp_quota_had(3), 3 * KIB);
	assert_int_equal(CALL(cuMemUnmap, 0, 0x10000 + KIB, KIB), 0);
	assert_int_equal(gp_quota_had(3), 2 * KIB);
	assert_int_equal(CALL(cuMemUnmap, 0, 0x50000, KIB), 0);
	assert_int_equal(CALL(cuMemRelease, 0, handle), 0);
}

/* Each handle that the program gets by an address has to be released, too. */
static void counts_each_handle(void **state)
{
	struct gp_memory_prop prop = { .type = 1, .location = { 1, 0 } };
	const uint64_t at = 0x10000, elsewhere = 0x50000;
	uint64_t handle = 9, again = 9, other = 11;

	assert_int_equal(CALL(cuMemCreate, 0, WORD(&handle), KIB, WORD(&prop), 0), 0);
	assert_int_equal(CALL(cuMemRetainAllocationHandle, 0, WORD(&again), at), 0);
	assert_int_equal(CALL(cuMemMap, 0, at, KIB, 0, handle, 0), 0);
	assert_int_equal(CALL(cuMemRetainAllocationHandle, 0, WORD(&again), at + KIB - 1), 0);
	assert_int_equal(CALL(cuMemRetainAllocationHandle, 1, WORD(&again), at), 1);
	assert_int_equal(CALL(cuMemRetainAllocationHandle, 0, WORD(&again), at + KIB), 0);
	assert_int_equal(CALL(cuMemRetainAllocationHandle, 0, WORD(&again), at - 1), 0);
	assert_int_equal(CALL(cuMemRelease, 0, handle), 0);
	assert_int_equal(CALL(cuMemUnmap, 0, at, KIB), 0);
	assert_int_equal(gp_quota_had(0), KIB);
	assert_int_equal(CALL(cuMemRelease, 1, again), 1);
	/* It is mapped by that handle, released, and retained by another value. */
	assert_int_equal(CALL(cuMemMap, 0, at, KIB, 0, again, 0), 0);
	assert_int_equal(CALL(cuMemRelease, 0, again), 0);
	assert_int_equal(CALL(cuMemRetainAllocationHandle, 0, WORD(&other), at), 0);
	assert_int_equal(CALL(cuMemUnmap, 0, at, KIB), 0);
	assert_int_equal(CALL(cuMemMap, 0, elsewhere, KIB, 0, other, 0), 0);
	assert_int_equal(CALL(cuMemRelease, 0, other), 0);
	assert_int_equal(gp_quota_had(0), KIB);
	assert_int_equal(CALL(cuMemUnmap, 0, elsewhere, KIB), 0);
	assert_int_equal(gp_quota_had(0), 0);
	assert_int_equal(CALL(cuMemRelease, 0, other), 0);
}

/* Memory without handles, and the driver answers one all the same. */
static void has_handles_of_handles_only(void **state)
{
	uint64_t at = 0x10000, handle = 9;

	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), KIB), 0);
	assert_int_equal(CALL(cuMemRetainAllocationHandle, 0, WORD(&handle), at), 0);
	assert_int_equal(CALL(cuMemFree_v2, 0, at), 0);
	assert_int_equal(gp_quota_had(0), 0);
	assert_int_equal(CALL(cuMemRelease, 0, handle), 0);
}

/* A handle past the limit has no memory that counts. */
static void refuses_handles(void **state)
{
	struct gp_memory_prop prop = { .type = 1, .location = { 1, 0 } };
	uint64_t handle = 9;

	assert_int_equal(CALL(cuMemCreate, 0, WORD(&handle), MAX + 1, WORD(&prop), 0),
			 CU_OUT_OF_MEMORY);
	assert_int_equal(CALL(cuMemCreate, 2, WORD(&handle), MAX, WORD(&prop), 0), 2);
	assert_int_equal(gp_quota_had(0), 0);
}

static void contexts_take_theirs_along(void **state)
{
	void *primary = (void *)0x88, *own = context;
	uint64_t at = 0x1000, other = 0x2000;

	assert_int_equal(CALL(cuDevicePrimaryCtxRetain, 0, WORD(&primary), 0), 0);
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), KIB), 0);
	context = primary;
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&other), 2 * KIB), 0);
	active = 1;
	assert_int_equal(CALL(cuDevicePrimaryCtxRelease_v2, 0, 0), 0);
	assert_int_equal(gp_quota_had(0), 3 * KIB);
	active = 0;
	assert_int_equal(CALL(cuDevicePrimaryCtxReset_v2, 3, 0), 3);
	assert_int_equal(CALL(cuDevicePrimaryCtxReset_v2, 0, 1), 0);
	assert_int_equal(gp_quota_had(0), 3 * KIB);
	assert_int_equal(CALL(cuDevicePrimaryCtxReset_v2, 0, 0), 0);
	assert_int_equal(gp_quota_had(0), KIB);
	context = own;
	gp_quota_context_gone(own);
}

static void limits_what_is_reported(void **state)
{
	uint64_t free_bytes = 8 * MAX, total = 9 * MAX, at = 0x1000;

	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), KIB), 0);
	gp_quota_info(&free_bytes, &total);
	assert_int_equal(free_bytes, MAX - KIB);
	assert_int_equal(total, MAX);
	free_bytes = KIB;
	total = 2 * KIB;
	gp_quota_info(&free_bytes, &total);
	assert_int_equal(free_bytes, KIB);
	assert_int_equal(total, 2 * KIB);
	assert_int_equal(CALL(cuMemFree_v2, 0, at), 0);
}

#define THREADS 4
#define ROUNDS 20000

static atomic_int together;

/* Together they never have more than the limit. */
static void *takes_and_gives(void *arg)
{
	const uint64_t me = WORD(arg);

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t at = me << 32 | i << 4;

		if (CALL(cuMemAlloc_v2, 0, WORD(&at), MAX / 2))
			continue;
		assert_true(atomic_fetch_add(&together, 1) < 2);
		assert_true(gp_quota_had(0) <= MAX);
		atomic_fetch_sub(&together, 1);
		assert_int_equal(CALL(cuMemFree_v2, 0, at), 0);
	}
	return NULL;
}

static void threads_share_one_limit(void **state)
{
	pthread_t thread[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, takes_and_gives, (void *)(i + 1)),
				 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* Device 0 is column 1 of the page. */
static void counts_with_others(void **state)
{
	uint64_t at = 0x1000, other = 0x2000, free_bytes = 8 * MAX, total = 9 * MAX;

	atomic_store(&others->bytes[1][0], MAX / 2);
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), MAX / 4), 0);
	assert_int_equal(others->bytes[1][my_place], MAX / 4);
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&other), MAX / 4 + 1), CU_OUT_OF_MEMORY);
	assert_int_equal(others->bytes[1][my_place], MAX / 4);
	gp_quota_info(&free_bytes, &total);
	assert_int_equal(free_bytes, MAX / 4);
	assert_int_equal(total, MAX);
	/* The other ends. */
	atomic_store(&others->bytes[1][0], 0);
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&other), MAX / 4 + 1), 0);
	/* The other device has its own limit. */
	atomic_store(&others->bytes[0][0], MAX);
	assert_int_equal(CALL(cuMemFree_v2, 0, other), 0);
	device = 1;
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&other), 1), CU_OUT_OF_MEMORY);
	/* No device of gpreemptd's: this process counts alone. */
	device = 2;
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&other), MAX), 0);
	assert_int_equal(CALL(cuMemFree_v2, 0, other), 0);
	assert_int_equal(CALL(cuMemFree_v2, 0, at), 0);
	assert_int_equal(others->bytes[1][my_place], 0);
}

/* The next daemon's page has all that this process has. */
static void counts_again(void **state)
{
	struct gp_quota_page *before = others;
	uint64_t at = 0x1000;

	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), KIB), 0);
	others = new_page(F_SEAL_SHRINK, sizeof(*others));
	my_place = 5;
	atomic_store(&others->bytes[0][5], 7 * KIB); /* of the program before execve() */
	gp_quota_join();
	assert_int_equal(others->bytes[1][5], KIB);
	assert_int_equal(others->bytes[0][5], 0);
	/* None answers: it counts in the page that it has. */
	close(file);
	file = -1;
	gp_quota_join();
	assert_int_equal(CALL(cuMemFree_v2, 0, at), 0);
	assert_int_equal(others->bytes[1][5], 0);
	gp_together_close(before);
}

/* Others may write anything there: too much is no room, and too many is none either. */
static void survives_lies(void **state)
{
	uint64_t at = 0x1000, free_bytes = MAX, total = MAX;

	for (size_t i = 0; i < GP_QUOTA_PLACES; i++)
		atomic_store(&others->bytes[1][i], UINT64_MAX - i);
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), KIB), CU_OUT_OF_MEMORY);
	gp_quota_info(&free_bytes, &total);
	assert_int_equal(free_bytes, 0);
	memset(others, 0xff, sizeof(*others));
	assert_int_equal(CALL(cuMemAlloc_v2, 0, WORD(&at), KIB), 0);
	assert_int_equal(CALL(cuMemFree_v2, 0, at), 0);
}

/* A file that could shrink, or is none of gpreemptd's, is not used. */
static void takes_only_pages(void **state)
{
	struct gp_quota_page *page;

	gp_together_close(new_page(F_SEAL_GROW, sizeof(*page)));
	assert_int_equal(gp_together_open(file, &page), -EPROTO);
	gp_together_close(new_page(F_SEAL_SHRINK, 4 * sizeof(*page)));
	assert_int_equal(gp_together_open(file, &page), -EPROTO);
	page = new_page(F_SEAL_SHRINK, sizeof(*page));
	page->magic++;
	gp_together_close(page);
	assert_int_equal(gp_together_open(file, &page), -EPROTO);
	assert_int_equal(gp_together_open(-1, &page), -EBADF);
}

#define PROCESSES 3
#define PIECE (MAX / 4)

/* Pieces that all processes had at once, in a column without a device. */
static _Atomic uint64_t *pieces(void)
{
	return &mine.page->bytes[7][0];
}

/* In a process of its own. Return: how often it had three pieces; negative: they had too much. */
static int takes_beside_others(const char *page, const char *place)
{
	int had = 0;

	file = atoi(page);
	my_place = (uint32_t)atoi(place);
	setup(NULL);
	gp_quota_start(UINT64_MAX, NULL);
	gp_quota_start_together(MAX, "a rule");
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t at = (i + 1) << 4;

		if (CALL(cuMemAlloc_v2, 0, WORD(&at), 3 * PIECE))
			continue;
		if (atomic_fetch_add(pieces(), 3))
			return -1;
		atomic_fetch_sub(pieces(), 3);
		CALL(cuMemFree_v2, 0, at);
		had++;
	}
	return had;
}

static pid_t start_other(int place)
{
	char page_text[16], place_text[16];
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	snprintf(page_text, sizeof(page_text), "%d", dup(file));
	snprintf(place_text, sizeof(place_text), "%d", place);
	execl("/proc/self/exe", "test_quota", page_text, place_text, NULL);
	_exit(9);
}

/* Together they never have more than the limit, and each has some of it. */
static void processes_share_one_limit(void **state)
{
	pid_t pid[PROCESSES];
	int status;

	for (int i = 0; i < PROCESSES; i++)
		pid[i] = start_other(i);
	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(gp_quota_column_sum(others->bytes[1]), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_past_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(shows_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(counts_pools, setup, teardown),
		cmocka_unit_test_setup_teardown(counts_pitch_and_arrays, setup, teardown),
		cmocka_unit_test_setup_teardown(counts_handles, setup, teardown),
		cmocka_unit_test_setup_teardown(counts_each_handle, setup, teardown),
		cmocka_unit_test_setup_teardown(has_handles_of_handles_only, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_handles, setup, teardown),
		cmocka_unit_test_setup_teardown(contexts_take_theirs_along, setup, teardown),
		cmocka_unit_test_setup_teardown(limits_what_is_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_share_one_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(counts_with_others, setup_together,
						teardown_together),
		cmocka_unit_test_setup_teardown(counts_again, setup_together, teardown_together),
		cmocka_unit_test_setup_teardown(survives_lies, setup_together, teardown_together),
		cmocka_unit_test_setup_teardown(takes_only_pages, setup_together,
						teardown_together),
		cmocka_unit_test_setup_teardown(processes_share_one_limit, setup_together,
						teardown_together),
	};

	if (argc == 3)
		return takes_beside_others(argv[1], argv[2]) <= 0;
	return gp_run_tests(tests);
}
