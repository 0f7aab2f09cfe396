// SPDX-License-Identifier: Apache-2.0
/* gdr.c - GDRCopy by dlopen; prototypes after gdrapi.h 2.x. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvidia-backend/gdr.h"

#define PAGE 65536u /* of the GPU: the unit of pins */

struct gp_nv_gdr {
	struct gp_nv_cuda cu;
	void *library;
	void *gdr;
	uint64_t memory;
	unsigned long handle;
	void *va;
	void *(*open)(void);
	int (*close)(void *gdr);
	int (*pin)(void *gdr, unsigned long at, size_t bytes, uint64_t token, uint32_t va_space,
		   unsigned long *handle);
	int (*unpin)(void *gdr, unsigned long handle);
	int (*map)(void *gdr, unsigned long handle, void **va, size_t bytes);
	int (*unmap)(void *gdr, unsigned long handle, void *va, size_t bytes);
};

static bool resolve(struct gp_nv_gdr *g)
{
	struct {
		void *to;
		const char *name;
	} symbol[] = {
		{ &g->open, "gdr_open" },      { &g->close, "gdr_close" },
		{ &g->pin, "gdr_pin_buffer" }, { &g->unpin, "gdr_unpin_buffer" },
		{ &g->map, "gdr_map" },	       { &g->unmap, "gdr_unmap" },
	};

	for (size_t i = 0; i < sizeof(symbol) / sizeof(symbol[0]); i++) {
		void *found = dlsym(g->library, symbol[i].name);

		if (!found)
			return false;
		memcpy(symbol[i].to, &found, sizeof(found));
	}
	return true;
}

struct gp_nv_gdr *gp_nv_gdr_create(const struct gp_nv_cuda *cu, volatile uint32_t **word,
				   uint64_t *word_at)
{
	struct gp_nv_gdr *g;
	uint64_t at;

	if (access("/dev/gdrdrv", R_OK | W_OK) || !cu->mem_alloc || !cu->mem_free ||
	    !cu->memset_u32)
		return NULL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->cu = *cu;
	g->library = dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_LOCAL);
	if (!g->library || !resolve(g))
		goto err_free;
	g->gdr = g->open();
	if (!g->gdr)
		goto err_free;
	/* Twice the page, so that a whole aligned page lies inside. */
	if (cu->mem_alloc(&g->memory, 2 * PAGE))
		goto err_close;
	at = (g->memory + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	if (cu->memset_u32(at, 0, 1))
		goto err_memory;
	if (g->pin(g->gdr, at, PAGE, 0, 0, &g->handle))
		goto err_memory;
	if (g->map(g->gdr, g->handle, &g->va, PAGE))
		goto err_unpin;
	*word = g->va;
	*word_at = at;
	return g;

err_unpin:
	g->unpin(g->gdr, g->handle);
err_memory:
	cu->mem_free(g->memory);
err_close:
	g->close(g->gdr);
err_free:
	if (g->library)
		dlclose(g->library);
	free(g);
	return NULL;
}

void gp_nv_gdr_destroy(struct gp_nv_gdr *g)
{
	if (!g)
		return;
	g->unmap(g->gdr, g->handle, g->va, PAGE);
	g->unpin(g->gdr, g->handle);
	g->cu.mem_free(g->memory);
	g->close(g->gdr);
	dlclose(g->library);
	free(g);
}
