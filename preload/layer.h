/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.h - between the stub that comes into a process, libgpreempt-preload.so, and the library
 * that the stub opens, libgpreempt-layer.so. Freestanding: the stub includes it.
 */
#ifndef GP_PRELOAD_LAYER_H
#define GP_PRELOAD_LAYER_H

#include <stdint.h>

#include "preload/driver_calls.h"

#define GP_LAYER_ABI 2u
#define GP_LAYER_FILE "libgpreempt-layer.so"
#define GP_LAYER_SYMBOL "gp_layer_open"

/** ioctl(). Not variadic: the ABIs pass three arguments the same way. */
typedef int (*gp_ioctl_fn)(int fd, unsigned long request, void *arg);

/** Functions of the stub. */
struct gp_stub {
	uint32_t abi;
	uint32_t calls; /* GP_CALL_IDS */
	/** The C library's own, NULL: it has none. The first is never NULL where the layer is. */
	void *(*libc_dlsym)(void *handle, const char *symbol);
	void *libc_dlvsym;
	/** The stub's, for imports of objects that its names do not reach. */
	void *lookup, *lookup_version;
	/** The stub's exported symbols, in order of enum gp_call_id. */
	void *const *exported;
};

/** Functions of the library. None of them ever fails the app. */
struct gp_layer {
	/** What the app gets for the call @id, for which the driver answered @found. */
	void *(*answer)(unsigned int id, void *found);
	/** After ioctl() of type 'F' returned @result. May change errno. */
	void (*after_ioctl)(int fd, unsigned long request, void *arg, int result);
	/** ioctl() of type 'K', by the real one. errno is that one's. */
	int (*kfd_ioctl)(int fd, unsigned long request, void *arg, gp_ioctl_fn real);
	/** InitializeInjection(). */
	int (*inject)(void);
};

/** NULL: @stub is of another release. May be called again. */
const struct gp_layer *gp_layer_open(const struct gp_stub *stub);

#endif
