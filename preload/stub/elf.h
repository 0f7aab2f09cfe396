/* SPDX-License-Identifier: Apache-2.0 */
/* elf.h - symbols of loaded objects, read from their own tables: no dlsym. Freestanding. */
#ifndef GP_PRELOAD_ELF_H
#define GP_PRELOAD_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of an object's dynamic section that lookups need. */
struct gp_elf {
	uintptr_t base;
	const ElfW(Sym) * sym;
	const char *str;
	const ElfW(Half) * version; /* of each symbol; NULL: none */
	const uint32_t *gnu_hash;
	const uint32_t *hash;
	const char *soname; /* NULL: none */
};

/** The value of an address entry: glibc relocates these, musl and the vDSO do not. */
static inline uintptr_t gp_elf_address(uintptr_t base, const ElfW(Dyn) * dyn)
{
	return dyn->d_un.d_ptr < base ? base + dyn->d_un.d_ptr : dyn->d_un.d_ptr;
}

/** The object at @base with the dynamic section @dyn, or NULL. False: it has no symbols. */
bool gp_elf_read_dynamic(uintptr_t base, const ElfW(Dyn) * dyn, struct gp_elf *elf);
/** False: @info has no symbols. */
bool gp_elf_read(const struct dl_phdr_info *info, struct gp_elf *elf);
/** The address of the function @name that @elf defines, in its default version; NULL: none. */
void *gp_elf_function(const struct gp_elf *elf, const char *name);
/** Does @info contain @address? */
bool gp_elf_contains(const struct dl_phdr_info *info, const void *address);

#endif
