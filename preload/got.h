/* SPDX-License-Identifier: Apache-2.0 */
/* got.h - replaces functions that a loaded object imports. */
#ifndef GP_PRELOAD_GOT_H
#define GP_PRELOAD_GOT_H

/** How definitions are found; never by a tool's dlsym(), which may hand out its own. */
extern void *(*gp_got_dlsym)(void *object, const char *symbol);

/**
 * gp_got_patch() - let @object (a dlopen handle) call @hook for @symbol.
 * @orig: out, the function it called before; stored before the first call can come.
 *	Unchanged if @hook is in place already.
 *
 * Other objects that import @symbol are not touched.
 * Return: 0, also when done before; -ENOENT: @object does not import @symbol; -ENOEXEC:
 * invalid tables; else the error of mprotect.
 */
int gp_got_patch(void *object, const char *symbol, void *hook, void *_Atomic *orig);

/**
 * The new target of the import of @symbol, which leads to @target; NULL: it stays. @target NULL:
 * any.
 */
typedef void *(*gp_got_hook_fn)(const char *symbol, const void *target);

/** The same for all imports of @object at once. Returns the number of replaced ones. */
int gp_got_patch_each(void *object, gp_got_hook_fn hook_for);

#endif
