// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <stdlib.h>

#include "tests/gfx9/machine.h"

#define PAGE 4096u

static void *translate(void *ctx, u64 va, u32 access, u64 *span_bytes)
{
	struct machine *m = ctx;
	const u64 offset = va - MACHINE_BASE;

	if (va < MACHINE_BASE || offset >= m->bytes || (m->forbidden && va == m->forbidden))
		return NULL;
	*span_bytes = PAGE;
	return m->memory + offset;
}

static u64 clock_ticks(void *ctx, bool shader)
{
	struct machine *m = ctx;

	return m->ticks++;
}

static void message(void *ctx, u32 message_bits, u32 m0)
{
	struct machine *m = ctx;

	m->messages++;
}

static u32 random_state;

void random_seed(u32 seed)
{
	random_state = seed;
}

u32 random32(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state ^ random_state >> 15;
}

struct machine *machine_create(u64 bytes)
{
	struct machine *m = calloc(1, sizeof(*m));

	m->bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	m->memory = aligned_alloc(PAGE, m->bytes);
	memset(m->memory, 0, m->bytes);
	m->ops = (struct gfx9_ops){
		.translate = translate,
		.clock = clock_ticks,
		.message = message,
	};
	m->env = aligned_alloc(64, (gfx9_env_bytes() + 63) / 64 * 64);
	gfx9_env_init(m->env, &(struct gfx9_env_config){
				      .ops = &m->ops,
				      .ctx = m,
				      .shared_base = MACHINE_SHARED_BASE,
				      .private_base = MACHINE_PRIVATE_BASE,
			      });
	random_seed(1);
	return m;
}

void machine_destroy(struct machine *m)
{
	free(m->env);
	free(m->memory);
	free(m);
}

static u64 alloc_aligned(struct machine *m, u64 bytes, u64 alignment)
{
	const u64 at = (m->used + alignment - 1) / alignment * alignment;

	if (at + bytes > m->bytes)
		abort();
	m->used = at + bytes;
	return MACHINE_BASE + at;
}

u64 machine_alloc(struct machine *m, u64 bytes)
{
	return alloc_aligned(m, bytes, 256);
}

void *machine_at(struct machine *m, u64 va)
{
	return m->memory + (va - MACHINE_BASE);
}

u64 random_words(struct machine *m, u32 count)
{
	const u64 va = machine_alloc(m, count * 4);
	u32 *word = machine_at(m, va);

	for (u32 i = 0; i < count; i++)
		word[i] = random32();
	return va;
}

/* ---- code objects ----------------------------------------------------------------- */

u64 machine_load(struct machine *m, const void *object, u64 bytes)
{
	const Elf64_Ehdr *elf = object;
	const Elf64_Phdr *part = (const Elf64_Phdr *)((const u8 *)object + elf->e_phoff);
	u64 end = 0;
	u32 i;

	for (i = 0; i < elf->e_phnum; i++)
		if (part[i].p_type == PT_LOAD && part[i].p_vaddr + part[i].p_memsz > end)
			end = part[i].p_vaddr + part[i].p_memsz;
	m->code = alloc_aligned(m, end, PAGE);
	m->object = object;
	m->object_bytes = bytes;
	for (i = 0; i < elf->e_phnum; i++)
		if (part[i].p_type == PT_LOAD)
			memcpy(machine_at(m, m->code + part[i].p_vaddr),
			       (const u8 *)object + part[i].p_offset, part[i].p_filesz);
	return m->code;
}

static u64 find_symbol(const u8 *object, const Elf64_Shdr *symbols, const Elf64_Shdr *strings,
		       const char *name)
{
	const Elf64_Sym *symbol = (const Elf64_Sym *)(object + symbols->sh_offset);
	const char *text = (const char *)object + strings->sh_offset;

	for (u64 i = 0; i < symbols->sh_size / sizeof(*symbol); i++)
		if (!strcmp(text + symbol[i].st_name, name))
			return symbol[i].st_value;
	return 0;
}

u64 machine_kernel(struct machine *m, const char *name)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)m->object;
	const Elf64_Shdr *section = (const Elf64_Shdr *)(m->object + elf->e_shoff);
	char descriptor[128];
	u64 value;

	strcpy(descriptor, name);
	strcat(descriptor, ".kd");
	for (u32 i = 0; i < elf->e_shnum; i++) {
		if (section[i].sh_type != SHT_DYNSYM)
			continue;
		value = find_symbol(m->object, &section[i], &section[section[i].sh_link],
				    descriptor);
		if (value)
			return m->code + value;
	}
	return 0;
}

static void put32(void *at, u32 offset, u32 value)
{
	memcpy((u8 *)at + offset, &value, sizeof(value));
}

static void put64(void *at, u32 offset, u64 value)
{
	memcpy((u8 *)at + offset, &value, sizeof(value));
}

static u32 get32(const void *at, u32 offset)
{
	u32 value;

	memcpy(&value, (const u8 *)at + offset, sizeof(value));
	return value;
}

#define DESCRIPTOR_LDS 0
#define DESCRIPTOR_PRIVATE 4
#define DESCRIPTOR_ENTRY 16
#define DESCRIPTOR_RSRC1 48
#define DESCRIPTOR_RSRC2 52
#define DESCRIPTOR_PROPERTIES 56

u64 machine_code(struct machine *m, const u32 *words, u32 count, u32 vgprs)
{
	const u64 descriptor = alloc_aligned(m, 64, 64);
	const u64 code = alloc_aligned(m, count * 4, 256);
	u8 *at = machine_at(m, descriptor);

	memcpy(machine_at(m, code), words, count * 4);
	put64(at, DESCRIPTOR_ENTRY, code - descriptor);
	/* Keep subnormals; DX10_CLAMP, IEEE, all SGPRs. */
	put32(at, DESCRIPTOR_RSRC1, (vgprs / 4 - 1) | 12 << 6 | 0xf0 << 12 | 1 << 21 | 1 << 23);
	/* s[0:1] are the arguments, s2 is the workgroup, v0 to v2 are the work item. */
	put32(at, DESCRIPTOR_RSRC2, 2 << 1 | 1 << 7 | 2 << 11);
	put32(at, DESCRIPTOR_PROPERTIES, 1 << 3);
	return descriptor;
}

/* ---- launching ---------------------------------------------------------------------- */

static u32 or_one(u32 value)
{
	return value ? value : 1;
}

static void write_packet(struct machine *m, const struct launch *launch, u64 packet)
{
	const u8 *descriptor = machine_at(m, launch->kernel);
	const u64 args = machine_alloc(m, launch->arg_bytes + 256);
	u8 *at = machine_at(m, packet);

	if (launch->arg_bytes)
		memcpy(machine_at(m, args), launch->args, launch->arg_bytes);
	put32(at, 0, 3 << 16); /* three dimensions */
	for (u32 i = 0; i < 3; i++) {
		const u32 group = or_one(launch->group[i]);

		at[4 + 2 * i] = group;
		at[5 + 2 * i] = group >> 8;
		put32(at, 12 + 4 * i,
		      launch->items[i] ? launch->items[i] : or_one(launch->groups[i]) * group);
	}
	put32(at, 24, get32(descriptor, DESCRIPTOR_PRIVATE) + launch->private_bytes);
	put32(at, 28, get32(descriptor, DESCRIPTOR_LDS) + launch->lds_bytes);
	put64(at, 32, launch->kernel);
	put64(at, 40, args);
}

/* ROCr's layout of scratch: interleaved by dword over 64 lanes. */
static void give_scratch(struct machine *m, struct gfx9_queue *queue, u32 wave_bytes)
{
	const u64 bytes = (u64)wave_bytes * GFX9_MAX_WAVES;

	if (!bytes)
		return;
	if (m->scratch_bytes < bytes) {
		m->scratch = machine_alloc(m, bytes);
		m->scratch_bytes = bytes;
	}
	queue->scratch_base = m->scratch;
	queue->scratch_wave_bytes = wave_bytes;
	queue->scratch_resource[0] = m->scratch;
	queue->scratch_resource[1] = (u32)(m->scratch >> 32) | 1u << 31;
	queue->scratch_resource[2] = bytes;
	queue->scratch_resource[3] = 3 << 21 | 1 << 23 | 4 << 15;
}

int machine_dispatch(struct machine *m, const struct launch *launch, struct gfx9_dispatch *dispatch)
{
	const u64 packet = machine_alloc(m, GFX9_PACKET_BYTES);
	struct gfx9_queue queue = { .packet_va = packet };
	int ret;

	write_packet(m, launch, packet);
	ret = gfx9_dispatch_init(dispatch, machine_at(m, packet), machine_at(m, launch->kernel),
				 &queue);
	if (ret)
		return ret;
	give_scratch(m, &queue, dispatch->wave_scratch_bytes);
	return gfx9_dispatch_init(dispatch, machine_at(m, packet), machine_at(m, launch->kernel),
				  &queue);
}

static bool run_group(struct machine *m, const struct gfx9_dispatch *dispatch,
		      struct gfx9_workgroup *wg, const u32 id[3], u64 budget,
		      struct gfx9_result *result)
{
	gfx9_workgroup_init(wg, dispatch, id, 0);
	do {
		gfx9_workgroup_run(m->env, wg, budget, result);
		m->executed += result->executed;
	} while (result->stop == GFX9_STOP_BUDGET || result->stop == GFX9_STOP_SLEEP);
	return result->stop == GFX9_STOP_ENDED;
}

void machine_run(struct machine *m, const struct launch *launch, u64 budget,
		 struct gfx9_result *result)
{
	struct gfx9_dispatch dispatch;
	struct gfx9_workgroup *wg;
	u32 id[3];

	memset(result, 0xff, sizeof(*result));
	if (machine_dispatch(m, launch, &dispatch))
		return;
	wg = malloc(gfx9_workgroup_bytes(&dispatch.shape));
	for (id[2] = 0; id[2] < dispatch.groups[2]; id[2]++)
		for (id[1] = 0; id[1] < dispatch.groups[1]; id[1]++)
			for (id[0] = 0; id[0] < dispatch.groups[0]; id[0]++)
				if (!run_group(m, &dispatch, wg, id, budget, result))
					goto stopped;
stopped:
	free(wg);
}
