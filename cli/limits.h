/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - gpreempt run --mem: limits of CMD's device memory, also by gpreemptd's rules. */
#ifndef GP_CLI_LIMITS_H
#define GP_CLI_LIMITS_H

#include "wire/wire.h"

/**
 * struct gp_limits_args
 * @memory: value of --mem; "1": it has none; NULL: not given
 * @host: value of --mem-host in bytes; 0: not given
 * @idle: value of --idle-out; NULL: not given
 * @turns: --mem-turns
 * @hook: value of --mem-hook; NULL: not given
 * @min: MIN as it counts; 0: none; set by gp_limits_set()
 */
struct gp_limits_args {
	const char *memory;
	uint64_t host;
	const char *idle;
	bool turns;
	const char *hook;
	uint64_t min;
};

/** Read the value of --mem; NULL: none. 0; GP_ARGS_SAID. */
int gp_limits_parse(struct gp_limits_args *args, const char *text);
/** Likewise of --mem-host. */
int gp_limits_parse_host(struct gp_limits_args *args, const char *text);
/** Likewise of --mem-hook. */
int gp_limits_parse_hook(struct gp_limits_args *args, const char *text);
/** Likewise of --idle-out. */
int gp_limits_parse_idle(struct gp_limits_args *args, const char *text);
/**
 * What do gpreemptd's rules say on this process with class @class_text? 0; -EPERM: @refusal has
 * the reason, and @ruled the limits all the same; another errno. Without an answer @ruled has no
 * limits.
 */
int gp_rule_ask(const char *class_text, struct gp_wire_ruled *ruled,
		char refusal[GP_WIRE_TEXT_LEN]);
/**
 * As gpreemptd's rules say, for class @class_text: its memory may have to take turns, or have a
 * hook. @ruled is used until gp_limits_set().
 */
void gp_limits_follow(struct gp_limits_args *args, const char *class_text,
		      const struct gp_wire_ruled *ruled);
/** Set this process's environment for CMD: the stricter of both. 0 or negative errno. */
int gp_limits_set(const char *verb, struct gp_limits_args *args, const struct gp_wire_ruled *ruled);

#endif
