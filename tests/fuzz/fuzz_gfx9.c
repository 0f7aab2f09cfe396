// SPDX-License-Identifier: Apache-2.0
/*
 * Any words as gfx9 code, over any registers: the interpreter stays within the
 * workgroup's memory, keeps its budget, and says why it stopped. A save of it
 * restores; a save that was tampered with is refused or restores, and runs.
 * The input: how many VGPRs, LDS, lanes, what to tamper with, then the code.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/gfx9/machine.h"

#define MEMORY_BYTES (256u << 10)
#define BUDGET 400u
#define HEAD_BYTES 8u
#define MAX_WORDS 1024u

struct area {
	u8 *bytes;
	u64 size;
};

static int area_write(void *ctx, u64 offset, const void *from, size_t bytes)
{
	struct area *area = ctx;

	FUZZ_CHECK(offset + bytes <= area->size);
	memcpy(area->bytes + offset, from, bytes);
	return 0;
}

static int area_read(void *ctx, u64 offset, void *to, size_t bytes)
{
	struct area *area = ctx;

	FUZZ_CHECK(offset + bytes <= area->size);
	memcpy(to, area->bytes + offset, bytes);
	return 0;
}

static u32 mixed(u32 seed)
{
	seed = (seed ^ seed >> 15) * 0x2c1b3c6d;
	seed = (seed ^ seed >> 12) * 0x297a2d39;
	return seed ^ seed >> 15;
}

/* Small numbers, any numbers, and in pairs addresses of the machine's memory. */
static u32 register_value(u32 number, u32 lane, u32 seed)
{
	const u32 any = mixed(seed + number * 977 + lane);
	const u64 address = MACHINE_BASE + mixed(seed + number / 2) % MEMORY_BYTES + lane * 4;

	switch (mixed(number / 2 + seed) % 4) {
	case 0:
		return any % 64;
	case 1:
		return any;
	case 2:
		return number & 1 ? (u32)(MACHINE_SHARED_BASE >> 32) : any % 4096;
	default:
		return number & 1 ? (u32)(address >> 32) : (u32)address & ~3u;
	}
}

static void fill_registers(struct gfx9_workgroup *wg, u32 seed)
{
	for (u32 w = 0; w < wg->shape.wave_count; w++) {
		struct gfx9_wave *wave = &wg->waves[w];

		for (u32 i = 4; i < GFX9_MAX_SGPRS; i++)
			wave->s[i] = register_value(i, w, seed);
		for (u32 i = 0; i < wave->vgpr_count; i++)
			for (u32 lane = 0; lane < GFX9_LANES; lane++)
				wave->vgpr[i][lane] = register_value(i, lane, seed + 1);
	}
}

static void run(struct machine *m, struct gfx9_workgroup *wg)
{
	struct gfx9_result result;
	u64 executed = 0;

	do {
		gfx9_workgroup_run(m->env, wg, BUDGET / 4, &result);
		FUZZ_CHECK(result.executed <= BUDGET / 4);
		FUZZ_CHECK(result.stop <= GFX9_STOP_TRAP);
		FUZZ_CHECK(result.stop != GFX9_STOP_BARRIER);
		executed += result.executed;
	} while (executed < BUDGET &&
		 (result.stop == GFX9_STOP_BUDGET || result.stop == GFX9_STOP_SLEEP) &&
		 result.executed);
	if (result.stop == GFX9_STOP_FAULT || result.stop == GFX9_STOP_UNKNOWN)
		FUZZ_CHECK(wg->waves[result.wave].state == GFX9_WAVE_STOPPED &&
			   wg->waves[result.wave].pc == result.pc);
}

static void restore_and_run(struct machine *m, struct area *area, bool must_work)
{
	struct gfx9_workgroup *wg;
	struct gfx9_shape shape;
	int ret = gfx9_save_probe(area_read, area, area->size, &shape);

	FUZZ_CHECK(!ret || !must_work);
	if (ret)
		return;
	wg = malloc(gfx9_workgroup_bytes(&shape));
	FUZZ_CHECK(wg);
	ret = gfx9_workgroup_restore(wg, &shape, area_read, area);
	FUZZ_CHECK(!ret || !must_work);
	if (!ret)
		run(m, wg);
	free(wg);
}

static void save_and_tamper(struct machine *m, struct gfx9_workgroup *wg, const uint8_t *head)
{
	struct area area = { .size = gfx9_save_bytes(&wg->shape) };

	area.bytes = malloc(area.size);
	FUZZ_CHECK(area.bytes);
	FUZZ_CHECK(!gfx9_workgroup_save(wg, area_write, &area));
	restore_and_run(m, &area, true);
	area.bytes[(head[4] | head[5] << 8) % 600 % area.size] ^= head[6];
	area.bytes[head[7] % 80] ^= head[5];
	restore_and_run(m, &area, false);
	free(area.bytes);
}

static void run_code(struct machine *m, const uint8_t *head, const u32 *words, u32 count)
{
	const struct launch launch = {
		.kernel = machine_code(m, words, count, (head[0] % 16 + 1) * 4),
		.group = { head[1] % 150 + 1 },
		.lds_bytes = head[2] * 4,
	};
	static const u32 id[3];
	struct gfx9_dispatch dispatch;
	struct gfx9_workgroup *wg;

	FUZZ_CHECK(!machine_dispatch(m, &launch, &dispatch));
	wg = malloc(gfx9_workgroup_bytes(&dispatch.shape));
	FUZZ_CHECK(wg);
	gfx9_workgroup_init(wg, &dispatch, id, 0);
	fill_registers(wg, head[3]);
	run(m, wg);
	save_and_tamper(m, wg, head);
	free(wg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u32 words[MAX_WORDS];
	struct machine *m;
	u32 count;

	if (size < HEAD_BYTES + 4)
		return 0;
	count = (size - HEAD_BYTES) / 4;
	if (count > MAX_WORDS)
		count = MAX_WORDS;
	memcpy(words, data + HEAD_BYTES, count * 4);
	m = machine_create(MEMORY_BYTES);
	run_code(m, data, words, count);
	machine_destroy(m);
	return 0;
}
