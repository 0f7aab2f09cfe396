/* SPDX-License-Identifier: Apache-2.0 */
/* stub.h - between stub.c and trampolines.c. */
#ifndef GP_PRELOAD_STUB_H
#define GP_PRELOAD_STUB_H

#include <stddef.h>

#include "preload/layer.h"

#if defined(__x86_64__)
#define GP_STUB_SYS_IOCTL 16
#elif defined(__aarch64__)
#define GP_STUB_SYS_IOCTL 29
#else
#error "no entries for this machine in trampolines.c"
#endif

/** Both in registers: the result of a lookup, or the function that continues it. */
struct gp_stub_answer {
	void *found;
	void *jump; /* NULL: return found */
};

struct gp_stub_answer gp_stub_dlsym(void *handle, const char *name);
struct gp_stub_answer gp_stub_dlvsym(void *handle, const char *name, const char *version);
/** Called by an exported name's first call: its target from now on. */
void *gp_stub_bind(unsigned int id);

/* trampolines.c: the exported names, in order of enum gp_call_id, and their targets. */
extern void *const gp_stub_exported[];
extern void *gp_stub_slot[];
__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name);
__attribute__((visibility("default"))) void *dlvsym(void *handle, const char *name,
						    const char *version);

#endif
