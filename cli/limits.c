// SPDX-License-Identifier: Apache-2.0
#include "cli/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "runtime/duration.h"
#include "runtime/hook.h"
#include "runtime/size.h"
#include "wire/rule.h"

#define RULE_MS 1000
#define IDLE_MIN_NS 10000000ull
#define IDLE_MAX_NS (86400ull * 1000000000)

int gp_limits_parse(struct gp_limits_args *args, const char *text)
{
	struct gp_size_range range;
	int err;

	args->memory = text ? text : "1";
	err = text ? gp_parse_size_range(text, &range) : 0;
	if (!err)
		return 0;
	gp_fail("run: --mem=%s: %s; write sizes with a unit, such as 8GiB:20GiB, 8GiB: or :20GiB",
		text,
		err == -ERANGE ? "MAX is 0, or less than MIN, or a size is too large" :
				 "not MIN:MAX");
	return GP_ARGS_SAID;
}

int gp_limits_parse_host(struct gp_limits_args *args, const char *text)
{
	if (!gp_parse_size(text, &args->host) && args->host)
		return 0;
	gp_fail("run: --mem-host=%s: not a size over 0; write it with a unit, such as 64GiB", text);
	return GP_ARGS_SAID;
}

int gp_limits_parse_hook(struct gp_limits_args *args, const char *text)
{
	struct gp_hook hook;

	args->hook = text;
	if (!gp_hook_parse(text, &hook))
		return 0;
	gp_fail("run: --mem-hook=%s: not SLEEP,WAKE or SLEEP,WAKE,TIME with a TIME up to 60s; "
		"write URLs such as http://127.0.0.1:8000/sleep",
		text);
	return GP_ARGS_SAID;
}

int gp_limits_parse_idle(struct gp_limits_args *args, const char *text)
{
	uint64_t ns;

	args->idle = text;
	if (!gp_parse_duration(text, &ns) && ns >= IDLE_MIN_NS && ns <= IDLE_MAX_NS)
		return 0;
	gp_fail("run: --idle-out=%s: not a time from 10ms to 24 h; write a number and a unit, "
		"such as 30s",
		text);
	return GP_ARGS_SAID;
}

int gp_rule_ask(const char *class_text, struct gp_wire_ruled *ruled, char refusal[GP_WIRE_TEXT_LEN])
{
	struct gp_class_request request;
	const char *why;
	int err;

	if (gp_class_request_parse(class_text, &request, &why))
		request.cls.cls = GP_CLASS_NONE;
	err = gp_wire_ask_rule(&request, ruled, refusal, RULE_MS);
	/* A pool is for the class that it has. */
	if (err == -EPERM)
		ruled->pool = 0;
	return err;
}

/* MIN is no more than the rule allows, and no more than MAX. */
static void lower_min(const char *verb, struct gp_size_range *range,
		      const struct gp_wire_ruled *ruled)
{
	const uint64_t most = ruled->memory_min < ruled->memory_max ? ruled->memory_min :
								      ruled->memory_max;
	char text[GP_SIZE_TEXT_LEN], rule[GP_WIRE_TEXT_LEN];

	if (range->min <= most)
		return;
	range->min = most;
	gp_format_size(most, text, sizeof(text));
	memcpy(rule, ruled->rule, sizeof(rule));
	gp_note("%s: MIN is %s, by %s", verb, text, gp_printable(rule));
}

static int set_size(const char *name, uint64_t bytes)
{
	char text[GP_SIZE_TEXT_LEN];

	gp_format_size(bytes, text, sizeof(text));
	return setenv(name, text, 1) ? -errno : 0;
}

/* As gp_parse_size_range() reads it. */
static int set_range(const struct gp_size_range *range)
{
	char min[GP_SIZE_TEXT_LEN], max[GP_SIZE_TEXT_LEN] = "";
	char text[2 * GP_SIZE_TEXT_LEN];

	gp_format_size(range->min, min, sizeof(min));
	if (range->max != UINT64_MAX)
		gp_format_size(range->max, max, sizeof(max));
	snprintf(text, sizeof(text), "%s:%s", min, max);
	return setenv("GPREEMPT_MEMORY", text, 1) ? -errno : 0;
}

static uint64_t host_max(const struct gp_limits_args *args, const struct gp_wire_ruled *ruled)
{
	return args->host && args->host < ruled->host_memory ? args->host : ruled->host_memory;
}

void gp_limits_follow(struct gp_limits_args *args, const char *class_text,
		      const struct gp_wire_ruled *ruled)
{
	if (args->memory && !args->turns && !args->hook && *ruled->hook)
		args->hook = ruled->hook;
	if (!ruled->turns || strncmp(class_text, "be", 2))
		return;
	args->turns = true;
	if (!args->memory)
		args->memory = "1";
}

int gp_limits_set(const char *verb, struct gp_limits_args *args, const struct gp_wire_ruled *ruled)
{
	struct gp_size_range range = { 0, UINT64_MAX };
	int err = setenv("GPREEMPT_MEMORY_ASKED", "1", 1) ? -errno : 0;

	if (!err && args->memory) {
		/* Without a value it is none, and has no limits. */
		(void)gp_parse_size_range(args->memory, &range);
		lower_min(verb, &range, ruled);
		args->min = range.min;
		err = set_range(&range);
	}
	if (!err && args->turns && setenv("GPREEMPT_MEMORY_TURNS", "1", 1))
		err = -errno;
	if (!err && args->hook && setenv("GPREEMPT_MEMORY_HOOK", args->hook, 1))
		err = -errno;
	if (!err && args->idle && setenv("GPREEMPT_IDLE_OUT", args->idle, 1))
		err = -errno;
	if (!err && (args->memory || args->idle) && host_max(args, ruled) != UINT64_MAX)
		err = set_size("GPREEMPT_MEMORY_HOST", host_max(args, ruled));
	if (err || ruled->memory_max == GP_WIRE_UNKNOWN)
		return err;
	err = set_size("GPREEMPT_MEMORY_MAX", ruled->memory_max);
	if (!err && setenv("GPREEMPT_MEMORY_RULE", ruled->rule, 1))
		err = -errno;
	return !err && setenv("GPREEMPT_MEMORY_AS", ruled->one ? "one" : "each", 1) ? -errno : err;
}
