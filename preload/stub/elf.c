// SPDX-License-Identifier: Apache-2.0
/* elf.c - the System V ABI's dynamic section, with the GNU hash table or the older one. */
#include "preload/stub/elf.h"

#define VERSION_HIDDEN 0x8000u
#define BITS_OF_WORD (8 * sizeof(ElfW(Addr)))

static bool same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static uint32_t sysv_hash(const char *name)
{
	uint32_t h = 0, high;

	for (; *name; name++) {
		h = (h << 4) + (unsigned char)*name;
		high = h & 0xf0000000u;
		h = (h ^ high >> 24) & ~high;
	}
	return h;
}

bool gp_elf_read_dynamic(uintptr_t base, const ElfW(Dyn) * dyn, struct gp_elf *elf)
{
	uintptr_t soname = 0;

	elf->base = base;
	elf->sym = NULL;
	elf->str = elf->soname = NULL;
	elf->version = NULL;
	elf->gnu_hash = elf->hash = NULL;
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		const void *at = (const void *)gp_elf_address(elf->base, dyn);

		if (dyn->d_tag == DT_SYMTAB)
			elf->sym = at;
		else if (dyn->d_tag == DT_STRTAB)
			elf->str = at;
		else if (dyn->d_tag == DT_VERSYM)
			elf->version = at;
		else if (dyn->d_tag == DT_GNU_HASH)
			elf->gnu_hash = at;
		else if (dyn->d_tag == DT_HASH)
			elf->hash = at;
		else if (dyn->d_tag == DT_SONAME)
			soname = dyn->d_un.d_val;
	}
	if (soname && elf->str)
		elf->soname = elf->str + soname;
	return elf->sym && elf->str && (elf->gnu_hash || elf->hash);
}

bool gp_elf_read(const struct dl_phdr_info *info, struct gp_elf *elf)
{
	const ElfW(Dyn) *dyn = NULL;

	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return gp_elf_read_dynamic(info->dlpi_addr, dyn, elf);
}

static void *defined(const struct gp_elf *elf, uint32_t index, const char *name)
{
	const ElfW(Sym) *sym = &elf->sym[index];

	if (!sym->st_shndx || !sym->st_value || (sym->st_info & 15) != STT_FUNC ||
	    !same(elf->str + sym->st_name, name))
		return NULL;
	if (elf->version && elf->version[index] & VERSION_HIDDEN)
		return NULL;
	return (void *)(elf->base + sym->st_value);
}

static void *by_gnu_hash(const struct gp_elf *elf, const char *name)
{
	const uint32_t *table = elf->gnu_hash, h = gnu_hash(name);
	const uint32_t buckets = table[0], first = table[1], blooms = table[2], shift = table[3];
	const ElfW(Addr) *bloom = (const void *)&table[4];
	const uint32_t *bucket = (const void *)&bloom[blooms];
	const uint32_t *chain = &bucket[buckets];
	const ElfW(Addr) word = bloom[h / BITS_OF_WORD % blooms];
	void *found;

	if (!(word >> h % BITS_OF_WORD & 1) || !(word >> (h >> shift) % BITS_OF_WORD & 1))
		return NULL;
	for (uint32_t i = bucket[h % buckets]; i >= first; i++) {
		found = (chain[i - first] | 1) == (h | 1) ? defined(elf, i, name) : NULL;
		if (found || chain[i - first] & 1)
			return found;
	}
	return NULL;
}

static void *by_hash(const struct gp_elf *elf, const char *name)
{
	const uint32_t buckets = elf->hash[0];
	const uint32_t *bucket = &elf->hash[2];
	const uint32_t *chain = &bucket[buckets];
	void *found = NULL;

	for (uint32_t i = bucket[sysv_hash(name) % buckets]; i && !found; i = chain[i])
		found = defined(elf, i, name);
	return found;
}

void *gp_elf_function(const struct gp_elf *elf, const char *name)
{
	return elf->gnu_hash ? by_gnu_hash(elf, name) : by_hash(elf, name);
}

bool gp_elf_contains(const struct dl_phdr_info *info, const void *address)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && (uintptr_t)address - start < ph->p_memsz)
			return true;
	}
	return false;
}
