/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - messages of the library: to the callback of gp_set_log(), else to
 * stderr from the level that GPREEMPT_LOG names ("err", "warn", "info",
 * "debug"; "none"), else nowhere. Never on the path of a hold.
 */
#ifndef GP_RUNTIME_LOG_H
#define GP_RUNTIME_LOG_H

#include <stdatomic.h>

#include "gpreempt/gpreempt.h"

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/** One line, no newline. errno is preserved. */
void gp_log(enum gp_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * For the preload, where nobody sets a callback but failures must show. From now on warnings
 * go to stderr unless GPREEMPT_LOG sets another level.
 */
void gp_log_to_stderr(void);

/** Like gp_log(), but only the first time for this @said. */
#define gp_log_once(said, level, ...)               \
	do {                                        \
		if (!atomic_exchange(said, 1))      \
			gp_log(level, __VA_ARGS__); \
	} while (0)

#pragma GCC visibility pop

#endif
