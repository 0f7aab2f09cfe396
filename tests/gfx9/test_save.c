// SPDX-License-Identifier: Apache-2.0
/*
 * A workgroup that is saved and restored elsewhere, between any two of its instructions,
 * ends with the same bits as one that runs through.
 */
#include <stdlib.h>

#include "tests/common/gp_test.h"
#include "tests/gfx9/machine.h"

#include "kfd-patch/simgpu/gfx9_save.h"
#include "tests/gfx9/kernels_co.h"

#define MEMORY_BYTES (24u << 20)

struct area {
	u8 *bytes;
	u64 size;
	s64 fails_at; /* which call fails, or -1 */
	s64 calls;
};

static int area_write(void *ctx, u64 offset, const void *from, size_t bytes)
{
	struct area *area = ctx;

	if (area->calls++ == area->fails_at)
		return -EFAULT;
	assert_true(offset + bytes <= area->size);
	memcpy(area->bytes + offset, from, bytes);
	return 0;
}

static int area_read(void *ctx, u64 offset, void *to, size_t bytes)
{
	struct area *area = ctx;

	if (area->calls++ == area->fails_at)
		return -EFAULT;
	assert_true(offset + bytes <= area->size);
	memcpy(to, area->bytes + offset, bytes);
	return 0;
}

static struct area area_create(u64 size)
{
	return (struct area){ .bytes = malloc(size), .size = size, .fails_at = -1 };
}

/* Restore into memory with other old contents. */
static struct gfx9_workgroup *restored(struct area *area)
{
	struct gfx9_workgroup *wg;
	struct gfx9_shape shape;

	assert_int_equal(gfx9_save_probe(area_read, area, area->size, &shape), 0);
	wg = malloc(gfx9_workgroup_bytes(&shape));
	memset(wg, 0xa5, gfx9_workgroup_bytes(&shape));
	assert_int_equal(gfx9_workgroup_restore(wg, &shape, area_read, area), 0);
	return wg;
}

/* Save, restore, and save the copy again: both areas have the same bytes. */
static struct gfx9_workgroup *moved(struct gfx9_workgroup *wg)
{
	struct area first = area_create(gfx9_save_bytes(&wg->shape));
	struct area second = area_create(first.size);
	struct gfx9_workgroup *copy;

	assert_int_equal(gfx9_workgroup_save(wg, area_write, &first), 0);
	copy = restored(&first);
	assert_int_equal(gfx9_workgroup_save(copy, area_write, &second), 0);
	assert_memory_equal(first.bytes, second.bytes, first.size);
	free(first.bytes);
	free(second.bytes);
	free(wg);
	return copy;
}

static struct gfx9_workgroup *start(struct machine *m, const struct launch *l)
{
	static const u32 id[3];
	struct gfx9_dispatch dispatch;
	struct gfx9_workgroup *wg;

	assert_int_equal(machine_dispatch(m, l, &dispatch), 0);
	wg = malloc(gfx9_workgroup_bytes(&dispatch.shape));
	gfx9_workgroup_init(wg, &dispatch, id, 0);
	wg->owner[0] = 77;
	wg->owner[3] = 99;
	return wg;
}

/* Run with at most @most instructions between two saves. */
static void run_in_pieces(struct machine *m, const struct launch *l, u32 most)
{
	struct gfx9_workgroup *wg = start(m, l);
	struct gfx9_result result;
	u64 executed = 0;

	do {
		gfx9_workgroup_run(m->env, wg, 1 + random32() % most, &result);
		executed += result.executed;
		wg = moved(wg);
	} while (result.stop == GFX9_STOP_BUDGET);
	assert_int_equal(result.stop, GFX9_STOP_ENDED);
	assert_true(wg->owner[0] == 77 && wg->owner[3] == 99);
	assert_true(executed > 100);
	free(wg);
}

typedef void (*prepare_fn)(struct machine *m, struct launch *l);

static u64 arguments[8];

static void prepare_reduce(struct machine *m, struct launch *l)
{
	arguments[0] = machine_alloc(m, 8);
	arguments[1] = random_words(m, 256);
	arguments[2] = 200;
	l->kernel = machine_kernel(m, "reduce");
	l->group[0] = 256;
}

static void prepare_matmul(struct machine *m, struct launch *l)
{
	float *at;

	arguments[0] = machine_alloc(m, 32 * 32 * 4);
	arguments[1] = machine_alloc(m, 32 * 32 * 4);
	arguments[2] = machine_alloc(m, 32 * 32 * 4);
	arguments[3] = 32;
	at = machine_at(m, arguments[1]);
	for (u32 i = 0; i < 32 * 32; i++)
		at[i] = (float)(random32() % 1000) / 7;
	l->kernel = machine_kernel(m, "matmul");
	l->group[0] = 16;
	l->group[1] = 16;
}

static void prepare_collatz(struct machine *m, struct launch *l)
{
	arguments[0] = machine_alloc(m, 200 * 4);
	arguments[1] = 150;
	l->kernel = machine_kernel(m, "collatz");
	l->group[0] = 192;
}

static void prepare_calls(struct machine *m, struct launch *l)
{
	arguments[0] = machine_alloc(m, 64 * 4);
	l->kernel = machine_kernel(m, "calls");
	l->group[0] = 64;
}

/* The whole memory after a run in pieces of at most @most instructions; 0: in one piece. */
static u8 *memory_after(prepare_fn prepare, u32 most)
{
	struct machine *m = machine_create(MEMORY_BYTES);
	struct launch l = { .args = arguments, .arg_bytes = sizeof(arguments) };
	struct gfx9_result result;
	u8 *memory;

	memset(arguments, 0, sizeof(arguments));
	random_seed(7);
	machine_load(m, kernels_co, sizeof(kernels_co));
	prepare(m, &l);
	if (most) {
		run_in_pieces(m, &l, most);
	} else {
		machine_run(m, &l, 1 << 30, &result);
		assert_int_equal(result.stop, GFX9_STOP_ENDED);
	}
	memory = malloc(MEMORY_BYTES);
	memcpy(memory, m->memory, MEMORY_BYTES);
	machine_destroy(m);
	return memory;
}

static void check_pieces(prepare_fn prepare)
{
	static const u32 most[] = { 1, 2, 7, 100 };
	u8 *want = memory_after(prepare, 0);

	for (u32 i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		u8 *got = memory_after(prepare, most[i]);

		assert_memory_equal(got, want, MEMORY_BYTES);
		free(got);
	}
	free(want);
}

static void check_reduce(void **state)
{
	check_pieces(prepare_reduce);
}

static void check_matmul(void **state)
{
	check_pieces(prepare_matmul);
}

static void check_collatz(void **state)
{
	check_pieces(prepare_collatz);
}

static void check_calls(void **state)
{
	check_pieces(prepare_calls);
}

static struct gfx9_workgroup *some_workgroup(struct machine *m)
{
	struct launch l = { .args = arguments, .arg_bytes = sizeof(arguments) };

	machine_load(m, kernels_co, sizeof(kernels_co));
	prepare_reduce(m, &l);
	return start(m, &l);
}

/* An error of the area ends the save or the restore, which returns it. */
static void check_errors(void **state)
{
	struct machine *m = machine_create(MEMORY_BYTES);
	struct gfx9_workgroup *wg = some_workgroup(m);
	struct area area = area_create(gfx9_save_bytes(&wg->shape));
	struct gfx9_shape shape = wg->shape;
	s64 calls;

	assert_int_equal(gfx9_workgroup_save(wg, area_write, &area), 0);
	calls = area.calls;
	for (s64 i = 0; i < calls; i++) {
		area.calls = 0;
		area.fails_at = i;
		assert_int_equal(gfx9_workgroup_save(wg, area_write, &area), -EFAULT);
		assert_int_equal(area.calls, i + 1);
		area.calls = 0;
		assert_int_equal(gfx9_workgroup_restore(wg, &shape, area_read, &area), -EFAULT);
	}
	free(area.bytes);
	free(wg);
	machine_destroy(m);
}

/* An area that is no save of such a workgroup is refused. */
static void check_refusals(void **state)
{
	struct machine *m = machine_create(MEMORY_BYTES);
	struct gfx9_workgroup *wg = some_workgroup(m);
	struct area area = area_create(gfx9_save_bytes(&wg->shape));
	struct gfx9_save_header *header = (struct gfx9_save_header *)area.bytes;
	struct gfx9_save_wave *wave = (struct gfx9_save_wave *)(header + 1);
	struct gfx9_save_header good;
	struct gfx9_shape shape;

	assert_int_equal(gfx9_workgroup_save(wg, area_write, &area), 0);
	good = *header;
#define REFUSED(field, value)                                                                    \
	do {                                                                                     \
		header->field = (value);                                                         \
		assert_int_equal(gfx9_save_probe(area_read, &area, area.size, &shape), -EINVAL); \
		*header = good;                                                                  \
	} while (0)
	REFUSED(magic, 0);
	REFUSED(version, 2);
	REFUSED(wave_count, 0);
	REFUSED(wave_count, 5);
	REFUSED(wave_count, 17);
	REFUSED(vgpr_count, 257);
	REFUSED(vgpr_count, 0);
	REFUSED(sgpr_count, 103);
	REFUSED(lds_bytes, 1 << 20);
	REFUSED(lds_bytes, 4);
	REFUSED(next_wave, 4);
#undef REFUSED
	assert_int_equal(gfx9_save_probe(area_read, &area, area.size - 1, &shape), -EINVAL);
	assert_int_equal(gfx9_save_probe(area_read, &area, 10, &shape), -EINVAL);
	assert_int_equal(gfx9_save_probe(area_read, &area, area.size, &shape), 0);
	/* The area changed after the probe. */
	header->vgpr_count -= 4;
	assert_int_equal(gfx9_workgroup_restore(wg, &shape, area_read, &area), -EINVAL);
	*header = good;
	wave->state = GFX9_WAVE_STOPPED + 1;
	assert_int_equal(gfx9_workgroup_restore(wg, &shape, area_read, &area), -EINVAL);
	free(area.bytes);
	free(wg);
	machine_destroy(m);
}

/* Full CUs of any shape fit into the size that kfd_queue.c computes for one. */
static void check_fits(void **state)
{
	const u64 cu_bytes = 0x40000 + 0x4000 + 0x10000 + 0x1000;
	u32 per_cu;

	for (u32 waves = 1; waves <= GFX9_MAX_WAVES; waves++)
		for (u32 vgprs = 4; vgprs <= GFX9_MAX_VGPRS; vgprs += 4)
			for (u32 lds = 0; lds <= GFX9_MAX_LDS_BYTES; lds += 8192) {
				const struct gfx9_shape shape = { waves, vgprs, 102, lds };

				per_cu = gfx9_workgroups_per_cu(&shape);
				assert_true(per_cu * gfx9_save_bytes(&shape) <= cu_bytes);
				assert_true(per_cu * waves <= 40);
				/* One workgroup fits if its registers do. */
				if (waves <= 4 * (256 / vgprs))
					assert_true(per_cu >= 1);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_reduce),	 cmocka_unit_test(check_matmul),
		cmocka_unit_test(check_collatz), cmocka_unit_test(check_calls),
		cmocka_unit_test(check_errors),	 cmocka_unit_test(check_refusals),
		cmocka_unit_test(check_fits),
	};

	return gp_run_tests(tests);
}
