// SPDX-License-Identifier: Apache-2.0
/*
 * way.c - reads an ELF file: its class, its interpreter (the dynamic linker), its libraries.
 * Its bytes may be anything, so each offset is checked.
 */
#include "cli/way.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/cli.h"

#define SCRIPTS_MAX 4 /* as the kernel follows interpreters */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

/* A file in memory. */
struct bytes {
	const char *start;
	size_t size;
};

/* @size bytes at @offset; NULL: the file ends before. */
static const void *at(const struct bytes *file, uint64_t offset, uint64_t size)
{
	if (offset > file->size || size > file->size - offset)
		return NULL;
	return file->start + offset;
}

/* A string that ends in the file; NULL: it does not. */
static const char *text_at(const struct bytes *file, uint64_t offset)
{
	const char *text = at(file, offset, 1);

	return text && memchr(text, '\0', file->size - offset) ? text : NULL;
}

static int map(const char *path, struct bytes *file, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	void *start;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) || !S_ISREG(st->st_mode) || !st->st_size) {
		close(fd);
		return -ENOEXEC;
	}
	start = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (start == MAP_FAILED)
		err = -errno;
	close(fd);
	*file = (struct bytes){ start, (size_t)st->st_size };
	return err;
}

static const Elf64_Phdr *header(const struct bytes *file, const Elf64_Ehdr *elf, size_t i)
{
	if (elf->e_phentsize != sizeof(Elf64_Phdr))
		return NULL;
	return at(file, elf->e_phoff + i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
}

static const Elf64_Phdr *find_header(const struct bytes *file, const Elf64_Ehdr *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->e_phnum; i++) {
		const Elf64_Phdr *ph = header(file, elf, i);

		if (ph && ph->p_type == type)
			return ph;
	}
	return NULL;
}

/* The file's offset of @address in memory; its size if there is none. */
static uint64_t offset_of(const struct bytes *file, const Elf64_Ehdr *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->e_phnum; i++) {
		const Elf64_Phdr *ph = header(file, elf, i);

		if (ph && ph->p_type == PT_LOAD && address - ph->p_vaddr < ph->p_filesz)
			return ph->p_offset + (address - ph->p_vaddr);
	}
	return file->size;
}

/* Does it need a library whose name begins with @name? */
static bool needs(const struct bytes *file, const Elf64_Ehdr *elf, const char *name)
{
	const Elf64_Phdr *ph = find_header(file, elf, PT_DYNAMIC);
	const Elf64_Dyn *dyn = ph ? at(file, ph->p_offset, ph->p_filesz) : NULL;
	size_t count = dyn ? ph->p_filesz / sizeof(*dyn) : 0;
	uint64_t strings = file->size;

	for (size_t i = 0; i < count; i++)
		if (dyn[i].d_tag == DT_STRTAB)
			strings = offset_of(file, elf, dyn[i].d_un.d_ptr);
	for (size_t i = 0; i < count && dyn[i].d_tag != DT_NULL; i++) {
		const char *library = dyn[i].d_tag == DT_NEEDED ?
					      text_at(file, strings + dyn[i].d_un.d_val) :
					      NULL;

		if (library && !strncmp(library, name, strlen(name)))
			return true;
	}
	return false;
}

/* The libraries of AddressSanitizer: gcc's, clang's. */
static const char *const asan[] = { "libasan.so", "libclang_rt.asan" };

static bool needs_asan(const struct bytes *file, const Elf64_Ehdr *elf)
{
	return needs(file, elf, asan[0]) || needs(file, elf, asan[1]);
}

bool gp_way_asan_first(void)
{
	const char *list = getenv("LD_PRELOAD"), *name = list;

	for (const char *p = list; p && *p && *p != ' ' && *p != ':'; p++)
		if (*p == '/')
			name = p + 1;
	return name && (!strncmp(name, asan[0], strlen(asan[0])) ||
			!strncmp(name, asan[1], strlen(asan[1])));
}

/* The program gets privileges, and the linker ignores its environment. */
static bool gets_privileges(const char *path, const struct stat *st)
{
	return (st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
	       (st->st_mode & S_ISGID && st->st_gid != getegid()) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

static void of_elf(const struct bytes *file, struct gp_way *way)
{
	const Elf64_Ehdr *elf = at(file, 0, sizeof(*elf));
	const Elf64_Phdr *interpreter;

	if (file->size > EI_CLASS && file->start[EI_CLASS] == ELFCLASS32) {
		*way = (struct gp_way){ .why = "a 32-bit program; gpreempt has 64-bit libraries "
					       "only" };
		return;
	}
	if (!elf || elf->e_machine != MACHINE) {
		*way = (struct gp_way){ .why = "a program for another machine" };
		return;
	}
	interpreter = find_header(file, elf, PT_INTERP);
	if (!interpreter) {
		way->preload = false;
		way->why = "statically linked, so LD_PRELOAD has no effect in it; holds come in "
			   "pieces of 500 us";
	} else if (needs_asan(file, elf) && !gp_way_asan_first()) {
		way->preload = false;
		way->why = "AddressSanitizer's library must come first: name it in LD_PRELOAD; "
			   "holds come in pieces of 500 us";
	}
}

static bool starts_with(const struct bytes *file, const char *magic)
{
	const size_t n = strlen(magic);

	return file->size >= n && !memcmp(file->start, magic, n);
}

/* The interpreter of a script, in @path. */
static bool next_script(const struct bytes *file, char path[PATH_MAX])
{
	size_t n, start = 2;

	if (!starts_with(file, "#!"))
		return false;
	while (start < file->size && (file->start[start] == ' ' || file->start[start] == '\t'))
		start++;
	for (n = 0; start + n < file->size && n + 1 < PATH_MAX; n++) {
		const char c = file->start[start + n];

		if (c == ' ' || c == '\t' || c == '\n' || !c)
			break;
		path[n] = c;
	}
	path[n] = '\0';
	return n > 0;
}

/* As execvp() searches. False: not found. */
static bool find_file(const char *cmd, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH"), *end;

	if (strchr(cmd, '/'))
		return snprintf(path, PATH_MAX, "%s", cmd) < PATH_MAX;
	for (; dirs && *dirs; dirs = *end ? end + 1 : end) {
		end = strchrnul(dirs, ':');
		if (snprintf(path, PATH_MAX, "%.*s/%s", (int)(end - dirs), dirs, cmd) < PATH_MAX &&
		    !access(path, X_OK))
			return true;
	}
	return false;
}

static void of_file(char path[PATH_MAX], struct gp_way *way)
{
	struct bytes file;
	struct stat st;
	bool again = true;

	for (int i = 0; again && i < SCRIPTS_MAX; i++) {
		if (map(path, &file, &st))
			return;
		again = next_script(&file, path);
		if (!again && gets_privileges(path, &st))
			*way = (struct gp_way){ .why = "it gets privileges, and so ignores this "
						       "environment; use gpreempt attach" };
		else if (!again && starts_with(&file, ELFMAG))
			of_elf(&file, way);
		munmap((void *)file.start, file.size);
	}
}

void gp_way_find(const char *cmd, struct gp_way *way)
{
	const char *chosen = getenv("GPREEMPT_PRELOAD");
	char path[PATH_MAX];

	*way = (struct gp_way){ .preload = true, .injection = true, .why = "dynamically linked" };
	if (cmd && find_file(cmd, path))
		of_file(path, way);
	if (way->preload && chosen && !strcmp(chosen, "0")) {
		way->preload = false;
		way->why = "GPREEMPT_PRELOAD=0; holds come in pieces of 500 us";
	}
}
