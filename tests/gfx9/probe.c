// SPDX-License-Identifier: Apache-2.0
/* probe.c - single instructions on registers of the test's choice. */
#include "tests/gfx9/probe.h"

#include <stdlib.h>

#include "tests/common/gp_test.h"

u64 random64(void)
{
	return (u64)random32() << 32 | random32();
}

u32 odd_number(void)
{
	static const u32 odd[] = {
		0,	    1,		2,	    31,		32,	    0x7f,	0xff,
		0x7fff,	    0x8000,	0xffff,	    0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000,
		0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x80000001, 0x007fffff,
		0x00800000, 0x4b000000, 0x4effffff, 0x3f000000, 0x40200000, 0x3c003c00, 0x7c00fc00,
	};

	return random32() % 3 ? random32() : odd[random32() % (sizeof(odd) / sizeof(odd[0]))];
}

int probe_setup(void **state)
{
	struct probe *p = calloc(1, sizeof(*p));

	p->m = machine_create(1 << 20);
	*state = p;
	return 0;
}

int probe_teardown(void **state)
{
	struct probe *p = *state;

	machine_destroy(p->m);
	free(p);
	return 0;
}

void randomise(struct registers *r, u64 exec)
{
	for (u32 i = 0; i < PROBE_VGPRS; i++)
		for (u32 lane = 0; lane < GFX9_LANES; lane++)
			r->v[i][lane] = odd_number();
	for (u32 i = 0; i < 16; i++)
		r->s[i] = odd_number();
	r->exec = exec;
	r->vcc = random64();
	r->m0 = 0;
	r->mode = 0x3f0; /* hipcc's: subnormals, IEEE, DX10_CLAMP */
	r->scc = random32() & 1;
}

static void to_wave(struct gfx9_wave *wave, const struct registers *r)
{
	memcpy(wave->vgpr, r->v, sizeof(r->v));
	memcpy(wave->s, r->s, sizeof(r->s));
	wave->q[GFX9_EXEC / 2] = r->exec;
	wave->q[GFX9_VCC / 2] = r->vcc;
	wave->s[GFX9_M0] = r->m0;
	wave->mode = r->mode;
	wave->scc = r->scc;
}

static void from_wave(const struct gfx9_wave *wave, struct registers *r)
{
	memcpy(r->v, wave->vgpr, sizeof(r->v));
	memcpy(r->s, wave->s, sizeof(r->s));
	r->exec = wave->q[GFX9_EXEC / 2];
	r->vcc = wave->q[GFX9_VCC / 2];
	r->m0 = wave->s[GFX9_M0];
	r->mode = wave->mode;
	r->scc = wave->scc;
}

u32 run_words(struct probe *p, const u32 *words, u32 count)
{
	static const u32 id[3];
	u32 code[8] = { 0 };
	struct launch launch = { .group = { 64 }, .lds_bytes = p->lds_bytes };
	struct gfx9_dispatch dispatch;
	struct gfx9_workgroup *wg;
	struct gfx9_result result;

	memcpy(code, words, count * 4);
	code[count] = 0xbf810000; /* s_endpgm */
	p->m->used = 4096;
	launch.kernel = machine_code(p->m, code, count + 2, PROBE_VGPRS);
	assert_int_equal(machine_dispatch(p->m, &launch, &dispatch), 0);
	wg = malloc(gfx9_workgroup_bytes(&dispatch.shape));
	gfx9_workgroup_init(wg, &dispatch, id, 0);
	to_wave(&wg->waves[0], &p->before);
	gfx9_wave_run(p->m->env, wg, 0, 8, &result);
	from_wave(&wg->waves[0], &p->after);
	free(wg);
	return result.stop;
}

void run_one(struct probe *p, u32 first, u32 second, u32 count)
{
	const u32 words[2] = { first, second };

	assert_int_equal(run_words(p, words, count), GFX9_STOP_ENDED);
}
