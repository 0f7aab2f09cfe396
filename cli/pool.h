/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - gpreempt run --pool: CMD becomes a client of its class's MPS pool (POOLS.md). */
#ifndef GP_CLI_POOL_H
#define GP_CLI_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

/**
 * struct gp_pool_args
 * @wanted: CMD goes into a pool; @percent: its part of the pool's threads; 0: all
 * @by_rule: because of a rule of gpreemptd's. Without MPS, CMD runs outside
 * @no_daemon, @memory: those options are given
 */
struct gp_pool_args {
	bool wanted, by_rule;
	uint32_t percent;
	bool no_daemon, memory;
	char refusal[GP_WIRE_TEXT_LEN]; /* of the class, by gpreemptd; "": none */
};

/** Read the value of --pool; NULL: none. 0; GP_ARGS_SAID. */
int gp_pool_parse(struct gp_pool_args *args, const char *text);
/** As gpreemptd's rules say. */
void gp_pool_follow(struct gp_pool_args *args, const struct gp_wire_ruled *ruled);
/**
 * Start the pool if need be, and set this process's environment for CMD. After
 * gp_launch_prepare(). 0, or GP_EXIT_OWN after one line.
 */
int gp_pool_enter(const struct gp_pool_args *args, const char *class_text);

#endif
