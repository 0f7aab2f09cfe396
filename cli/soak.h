/* SPDX-License-Identifier: Apache-2.0 */
/* soak.h - gpreempt doctor --soak. */
#ifndef GP_CLI_SOAK_H
#define GP_CLI_SOAK_H

#include <stdint.h>

#define GP_SOAK_CYCLES 10000u
#define GP_SOAK_CYCLES_MAX 10000000u

/** Run @argv through @cycles, on @device (NULL: the first). Returns the exit status. */
int gp_soak(const char *device, uint32_t cycles, char **argv);

#endif
