/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - how memory of this process may leave, and its limits: by the environment, which
 * gpreempt run sets, and by gpreemptd's rule. A program that gpreempt run did not start, as in a
 * container, asks for the rule itself.
 */
#ifndef GP_PRELOAD_SETTINGS_H
#define GP_PRELOAD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/size.h"
#include "wire/wire.h"

/**
 * @leaves: memory of a best-effort program; @limits: its own MIN:MAX
 * @turns: with other programs, if not all fit
 * @hook: as gp_hook_parse() takes it; "": none
 * @host: the most that it may pin of the host's memory; UINT64_MAX: no limit
 * @max: by @rule of gpreemptd's, for all programs of its cgroup together if @one; UINT64_MAX: none
 */
struct gp_memory_settings {
	bool leaves, turns, one;
	struct gp_size_range limits;
	uint64_t host, max;
	char rule[GP_WIRE_TEXT_LEN], hook[GP_WIRE_TEXT_LEN];
};

/** @be: of a best-effort program. May wait for gpreemptd, three seconds at most. */
void gp_memory_settings_read(struct gp_memory_settings *settings, bool be);

#endif
