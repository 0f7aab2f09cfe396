// SPDX-License-Identifier: Apache-2.0
/*
 * got.c - the System V ABI's dynamic section: DT_JMPREL and DT_RELA name, for
 * each imported function, the slot (GOT entry) through which it is called.
 */
#include "preload/got.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/stub/elf.h"

#if defined(__x86_64__)
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#error "no slot relocations known for this machine"
#endif

void *(*gp_got_dlsym)(void *object, const char *symbol) = dlsym;

struct tables {
	void *object;
	uintptr_t base;
	const ElfW(Sym) * sym;
	const char *str;
	const ElfW(Rela) * rela[2]; /* DT_JMPREL, DT_RELA */
	size_t rela_bytes[2];
	uintptr_t relro, relro_end; /* read-only after relocation */
};

static int find_relro(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct tables *t = arg;

	if (info->dlpi_addr != t->base)
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_GNU_RELRO) {
			t->relro = t->base + ph->p_vaddr;
			t->relro_end = t->relro + ph->p_memsz;
		}
	}
	return 1;
}

static int tables_read(void *object, struct tables *t)
{
	struct link_map *map;

	*t = (struct tables){ .object = object };
	if (dlinfo(object, RTLD_DI_LINKMAP, &map))
		return -ENOEXEC;
	t->base = map->l_addr;
	for (const ElfW(Dyn) *dyn = map->l_ld; dyn->d_tag != DT_NULL; dyn++) {
		switch (dyn->d_tag) {
		case DT_SYMTAB:
			t->sym = (const void *)gp_elf_address(t->base, dyn);
			break;
		case DT_STRTAB:
			t->str = (const void *)gp_elf_address(t->base, dyn);
			break;
		case DT_JMPREL:
			t->rela[0] = (const void *)gp_elf_address(t->base, dyn);
			break;
		case DT_PLTRELSZ:
			t->rela_bytes[0] = dyn->d_un.d_val;
			break;
		case DT_RELA:
			t->rela[1] = (const void *)gp_elf_address(t->base, dyn);
			break;
		case DT_RELASZ:
			t->rela_bytes[1] = dyn->d_un.d_val;
			break;
		case DT_PLTREL:
			if (dyn->d_un.d_val != DT_RELA)
				return -ENOEXEC;
			break;
		}
	}
	if (!t->sym || !t->str)
		return -ENOEXEC;
	dl_iterate_phdr(find_relro, t);
	return 0;
}

/*
 * The function that the slot's call reaches. A slot not bound yet points to the object's own
 * PLT. A call through that would let the linker bind it, over our hook.
 */
static void *slot_target(const struct tables *t, const char *symbol, void *value)
{
	void *defined = gp_got_dlsym(t->object, symbol);
	Dl_info in;

	if (value == defined || !defined)
		return value;
	if (dladdr(value, &in) && (uintptr_t)in.dli_fbase == t->base)
		return defined;
	return value;
}

static int slot_write(const struct tables *t, void *_Atomic *slot, void *hook)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)slot & ~(page - 1);
	bool sealed = (uintptr_t)slot >= t->relro && (uintptr_t)slot < t->relro_end;

	if (sealed && mprotect((void *)start, page, PROT_READ | PROT_WRITE))
		return -errno;
	atomic_store(slot, hook);
	/* It does no harm if the page remains writable. */
	if (sealed)
		(void)mprotect((void *)start, page, PROT_READ);
	return 0;
}

int gp_got_patch_each(void *object, gp_got_hook_fn hook_for)
{
	struct tables t;
	int err, patched = 0;

	err = tables_read(object, &t);
	if (err)
		return err;
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; t.rela[k] && i < t.rela_bytes[k] / sizeof(ElfW(Rela)); i++) {
			const ElfW(Rela) *r = &t.rela[k][i];
			void *_Atomic *slot = (void *)(t.base + r->r_offset);
			const char *symbol;
			void *hook;

			if (!IS_SLOT(ELF64_R_TYPE(r->r_info)))
				continue;
			symbol = t.str + t.sym[ELF64_R_SYM(r->r_info)].st_name;
			hook = hook_for(symbol, NULL) ?
				       hook_for(symbol,
						slot_target(&t, symbol, atomic_load(slot))) :
				       NULL;
			err = hook ? slot_write(&t, slot, hook) : 0;
			if (err)
				return err;
			patched += hook != NULL;
		}
	}
	return patched;
}

int gp_got_patch(void *object, const char *symbol, void *hook, void *_Atomic *orig)
{
	struct tables t;
	int err, result = -ENOENT;

	err = tables_read(object, &t);
	if (err)
		return err;
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; t.rela[k] && i < t.rela_bytes[k] / sizeof(ElfW(Rela)); i++) {
			const ElfW(Rela) *r = &t.rela[k][i];
			const ElfW(Sym) *sym = &t.sym[ELF64_R_SYM(r->r_info)];
			void *_Atomic *slot = (void *)(t.base + r->r_offset);
			void *value;

			if (!IS_SLOT(ELF64_R_TYPE(r->r_info)) ||
			    strcmp(t.str + sym->st_name, symbol))
				continue;
			value = atomic_load(slot);
			if (value != hook) {
				atomic_store(orig, slot_target(&t, symbol, value));
				err = slot_write(&t, slot, hook);
				if (err)
					return err;
			}
			result = 0;
		}
	}
	return result;
}
