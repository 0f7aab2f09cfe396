// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Fetching, running waves and workgroups, barriers. */
#include "gfx9_internal.h"

/* Instructions in one FPU section: the kernel cannot preempt within. */
#define SECTION_INSTRUCTIONS 256u
/* Instructions of one wave before the next has its turn. */
#define TURN_INSTRUCTIONS 1024u

size_t gfx9_env_bytes(void)
{
	return sizeof(struct gfx9_env);
}

void gfx9_env_init(struct gfx9_env *env, const struct gfx9_env_config *config)
{
	memset(env, 0, sizeof(*env));
	env->ops = config->ops;
	env->ctx = config->ctx;
	env->shared_base = config->shared_base;
	env->private_base = config->private_base;
	env->keeps_code = config->keeps_code;
	gfx9_tlb_drop(env);
}

void gfx9_env_drop_code(struct gfx9_env *env)
{
	memset(env->icache_tag, 0, sizeof(env->icache_tag));
}

u64 gfx9_env_stale_code(struct gfx9_env *env)
{
	u64 pc = env->stale_pc;

	env->stale_pc = 0;
	return pc;
}

void gfx9_env_set_ctx(struct gfx9_env *env, void *ctx)
{
	env->ctx = ctx;
}

/* ---- fetching -------------------------------------------------------------------------- */

static bool enter_code_page(struct gfx9_env *env, u64 pc)
{
	const u64 page = pc / GFX9_PAGE_BYTES;
	u64 span = 0;
	const u8 *host;

	host = env->ops->translate(env->ctx, page * GFX9_PAGE_BYTES, GFX9_EXECUTE, &span);
	if (!host || span < GFX9_PAGE_BYTES) {
		env->fault_address = pc;
		env->fault_access = GFX9_EXECUTE;
		return false;
	}
	env->code_page = page;
	env->code_host = host;
	return true;
}

static bool code_word(struct gfx9_env *env, u64 pc, u32 *word)
{
	if (pc / GFX9_PAGE_BYTES != env->code_page && !enter_code_page(env, pc))
		return false;
	*word = *(const volatile u32 *)(env->code_host + pc % GFX9_PAGE_BYTES);
	return true;
}

static const struct gfx9_inst *decode_anew(struct gfx9_env *env, u64 pc, struct gfx9_inst *inst)
{
	u32 first, second = 0;

	if (!code_word(env, pc, &first))
		return NULL;
	if (gfx9_needs_second_dword(first) && !code_word(env, pc + 4, &second))
		return NULL;
	gfx9_decode(inst, first, second);
	return inst;
}

static bool differs(struct gfx9_env *env, u64 pc, const struct gfx9_inst *inst)
{
	u32 word;

	return !code_word(env, pc, &word) || word != inst->raw[0] ||
	       (inst->size == 8 && (!code_word(env, pc + 4, &word) || word != inst->raw[1]));
}

static const struct gfx9_inst *fetch_kept(struct gfx9_env *env, u64 pc)
{
	const u32 i = pc / 4 % GFX9_ICACHE_ENTRIES;
	struct gfx9_inst *inst = &env->icache[i];

	if (env->icache_tag[i] == pc + 1) {
		if (differs(env, pc, inst))
			env->stale_pc = pc;
		return inst;
	}
	env->icache_tag[i] = 0;
	if (!decode_anew(env, pc, inst))
		return NULL;
	env->icache_tag[i] = pc + 1;
	return inst;
}

/* The decoded instruction at @pc, kept as long as memory holds the same words. */
static const struct gfx9_inst *fetch(struct gfx9_env *env, u64 pc)
{
	struct gfx9_inst *inst = &env->icache[pc / 4 % GFX9_ICACHE_ENTRIES];
	const u32 within = pc % GFX9_PAGE_BYTES;
	const volatile u32 *words;

	if (env->keeps_code)
		return fetch_kept(env, pc);
	if (pc / GFX9_PAGE_BYTES != env->code_page || within + inst->size > GFX9_PAGE_BYTES)
		return decode_anew(env, pc, inst);
	words = (const volatile u32 *)(env->code_host + within);
	if (words[0] != inst->raw[0] || (inst->size == 8 && words[1] != inst->raw[1]) ||
	    !inst->size)
		return decode_anew(env, pc, inst);
	return inst;
}

/* ---- one wave --------------------------------------------------------------------------- */

static bool is_vector(u32 format)
{
	return format >= GFX9_FORMAT_VALU && format <= GFX9_FORMAT_MUBUF;
}

static int execute(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		   const struct gfx9_inst *inst)
{
	if (wave->mode & GFX9_MODE_VSKIP && is_vector(inst->format))
		return GFX9_X_OK;
	switch (inst->format) {
	case GFX9_FORMAT_VALU:
		return gfx9_exec_valu(env, wave, inst);
	case GFX9_FORMAT_SOP2:
	case GFX9_FORMAT_SOPK:
	case GFX9_FORMAT_SOP1:
	case GFX9_FORMAT_SOPC:
	case GFX9_FORMAT_SOPP:
		return gfx9_exec_salu(env, wg, wave, inst);
	case GFX9_FORMAT_SMEM:
		return gfx9_exec_smem(env, wave, inst);
	case GFX9_FORMAT_FLAT:
		return gfx9_exec_flat(env, wg, wave, inst);
	case GFX9_FORMAT_DS:
		return gfx9_exec_ds(env, wg, wave, inst);
	case GFX9_FORMAT_MUBUF:
		return gfx9_exec_mubuf(env, wave, inst);
	case GFX9_FORMAT_VOP3P:
		return gfx9_exec_vop3p(env, wave, inst);
	default:
		return GFX9_X_UNKNOWN;
	}
}

/* When every wave that has not ended waits: none does any more. */
static void release_barrier(struct gfx9_workgroup *wg)
{
	u32 i;

	for (i = 0; i < wg->shape.wave_count; i++)
		if (wg->waves[i].state != GFX9_WAVE_ENDED &&
		    wg->waves[i].state != GFX9_WAVE_AT_BARRIER)
			return;
	for (i = 0; i < wg->shape.wave_count; i++)
		if (wg->waves[i].state == GFX9_WAVE_AT_BARRIER)
			wg->waves[i].state = GFX9_WAVE_READY;
}

static void report_unknown(const struct gfx9_inst *inst, struct gfx9_result *result)
{
	result->encoding[0] = inst->raw[0];
	result->encoding[1] = inst->raw[1];
	result->mnemonic = gfx9_inst_name(inst);
}

/* A fault, an unknown instruction, a trap: the wave stays where it is. */
static void stop_at(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		    const struct gfx9_inst *inst, int outcome, u64 pc, struct gfx9_result *result)
{
	wave->pc = pc;
	wave->state = GFX9_WAVE_STOPPED;
	result->wave = wave - wg->waves;
	result->pc = pc;
	switch (outcome) {
	case GFX9_X_FAULT:
		result->stop = GFX9_STOP_FAULT;
		result->address = env->fault_address;
		result->access = env->fault_access;
		break;
	case GFX9_X_TRAP:
		result->stop = GFX9_STOP_TRAP;
		result->trap_id = env->trap_id;
		break;
	default:
		result->stop = GFX9_STOP_UNKNOWN;
		report_unknown(inst, result);
		break;
	}
}

/* True: the wave goes on. */
static bool settle(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		   const struct gfx9_inst *inst, int outcome, u64 pc, struct gfx9_result *result)
{
	switch (outcome) {
	case GFX9_X_OK:
		return true;
	case GFX9_X_BARRIER:
		wave->state = GFX9_WAVE_AT_BARRIER;
		release_barrier(wg);
		result->stop = GFX9_STOP_BARRIER;
		return wave->state == GFX9_WAVE_READY;
	case GFX9_X_END:
		wave->state = GFX9_WAVE_ENDED;
		release_barrier(wg);
		result->stop = GFX9_STOP_ENDED;
		return false;
	case GFX9_X_SLEEP:
		result->stop = GFX9_STOP_SLEEP;
		result->sleep_cycles = env->sleep_cycles;
		return false;
	case GFX9_X_HALT:
		wave->state = GFX9_WAVE_HALTED;
		result->stop = GFX9_STOP_HALT;
		return false;
	default:
		stop_at(env, wg, wave, inst, outcome, pc, result);
		return false;
	}
}

/* True: there is more to do. */
static bool run_section(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
			u32 count, struct gfx9_result *result)
{
	while (count--) {
		const u64 pc = wave->pc;
		const struct gfx9_inst *inst = fetch(env, pc);
		int outcome;

		if (!inst) {
			stop_at(env, wg, wave, NULL, GFX9_X_FAULT, pc, result);
			return false;
		}
		wave->pc += inst->size;
		outcome = execute(env, wg, wave, inst);
		wave->instructions++;
		result->executed++;
		if (outcome != GFX9_X_OK && !settle(env, wg, wave, inst, outcome, pc, result))
			return false;
	}
	return true;
}

static void run_wave(struct gfx9_env *env, struct gfx9_workgroup *wg, u32 index,
		     u64 max_instructions, struct gfx9_result *result)
{
	struct gfx9_wave *wave = &wg->waves[index];
	const u64 end = result->executed + max_instructions;
	bool more = true;

	while (more && result->executed < end) {
		const u64 left = end - result->executed;

		gfx9_fpu_begin();
		more = run_section(env, wg, wave,
				   left < SECTION_INSTRUCTIONS ? left : SECTION_INSTRUCTIONS,
				   result);
		gfx9_fpu_end();
	}
	if (more)
		result->stop = GFX9_STOP_BUDGET;
}

static u32 why_not_ready(u32 state)
{
	switch (state) {
	case GFX9_WAVE_AT_BARRIER:
		return GFX9_STOP_BARRIER;
	case GFX9_WAVE_ENDED:
		return GFX9_STOP_ENDED;
	default:
		return GFX9_STOP_HALT;
	}
}

void gfx9_wave_run(struct gfx9_env *env, struct gfx9_workgroup *wg, u32 wave, u64 max_instructions,
		   struct gfx9_result *result)
{
	memset(result, 0, sizeof(*result));
	result->wave = wave;
	if (wg->waves[wave].state != GFX9_WAVE_READY) {
		result->stop = why_not_ready(wg->waves[wave].state);
		return;
	}
	gfx9_tlb_drop(env);
	run_wave(env, wg, wave, max_instructions, result);
}

/* ---- a workgroup -------------------------------------------------------------------- */

static u32 count_in(const struct gfx9_workgroup *wg, u32 state)
{
	u32 count = 0;

	for (u32 i = 0; i < wg->shape.wave_count; i++)
		count += wg->waves[i].state == state;
	return count;
}

/* Of a workgroup none of whose waves can run. */
static u32 how_it_ended(const struct gfx9_workgroup *wg)
{
	return count_in(wg, GFX9_WAVE_ENDED) == wg->shape.wave_count ? GFX9_STOP_ENDED :
								       GFX9_STOP_HALT;
}

/* The next wave that can run, from next_wave on; false: none can. */
static bool choose_wave(struct gfx9_workgroup *wg, u32 *wave)
{
	for (u32 i = 0; i < wg->shape.wave_count; i++) {
		*wave = (wg->next_wave + i) % wg->shape.wave_count;
		if (wg->waves[*wave].state == GFX9_WAVE_READY)
			return true;
	}
	return false;
}

static bool is_fatal(u32 stop)
{
	return stop == GFX9_STOP_FAULT || stop == GFX9_STOP_UNKNOWN || stop == GFX9_STOP_TRAP;
}

void gfx9_workgroup_run(struct gfx9_env *env, struct gfx9_workgroup *wg, u64 max_instructions,
			struct gfx9_result *result)
{
	u32 wave, asleep = 0, cycles = ~0u;

	memset(result, 0, sizeof(*result));
	gfx9_tlb_drop(env);
	while (result->executed < max_instructions) {
		const u64 left = max_instructions - result->executed;

		if (!choose_wave(wg, &wave)) {
			result->stop = how_it_ended(wg);
			return;
		}
		run_wave(env, wg, wave, left < TURN_INSTRUCTIONS ? left : TURN_INSTRUCTIONS,
			 result);
		if (is_fatal(result->stop))
			return;
		wg->next_wave = (wave + 1) % wg->shape.wave_count;
		asleep = result->stop == GFX9_STOP_SLEEP ? asleep + 1 : 0;
		if (!asleep)
			cycles = ~0u;
		else if (result->sleep_cycles < cycles)
			cycles = result->sleep_cycles;
		if (asleep && asleep >= count_in(wg, GFX9_WAVE_READY)) {
			result->sleep_cycles = cycles;
			return;
		}
	}
	result->stop = choose_wave(wg, &wave) ? GFX9_STOP_BUDGET : how_it_ended(wg);
}
