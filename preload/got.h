/* SPDX-License-Identifier: Apache-2.0 */
/* got.h - replaces a function that a loaded object imports. */
#ifndef GP_PRELOAD_GOT_H
#define GP_PRELOAD_GOT_H

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

#endif
