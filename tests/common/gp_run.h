/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_RUN_H
#define GP_RUN_H

#include <stddef.h>

/* A test that cannot run here calls this before skip(). */
void gp_note_skip(void);
/* Exit status of a group in which @failed of @count tests failed. */
int gp_run_group(const char *name, int failed, size_t count);

#endif
