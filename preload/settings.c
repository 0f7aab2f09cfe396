// SPDX-License-Identifier: Apache-2.0
#include "preload/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/class.h"
#include "runtime/log.h"
#include "wire/rule.h"

#define RULE_MS 3000 /* a killed daemon has a successor by then */

/* ---- the environment ---------------------------------------------------------------- */

static bool is_set(const char *name)
{
	const char *text = secure_getenv(name);

	return text && strcmp(text, "0");
}

static void copy_text(char to[GP_WIRE_TEXT_LEN], const char *name)
{
	const char *text = secure_getenv(name);

	snprintf(to, GP_WIRE_TEXT_LEN, "%s", text ? text : "");
}

static uint64_t read_size(const char *name)
{
	const char *text = secure_getenv(name);
	uint64_t bytes;

	if (!text)
		return UINT64_MAX;
	if (!gp_parse_size(text, &bytes))
		return bytes;
	gp_log(GP_LOG_WARN, "%s=%s: not a size; it is no limit", name, text);
	return UINT64_MAX;
}

static void read_limits(struct gp_memory_settings *s)
{
	const char *text = secure_getenv("GPREEMPT_MEMORY");

	s->leaves = is_set("GPREEMPT_MEMORY");
	if (!s->leaves || !strcmp(text, "1") || !gp_parse_size_range(text, &s->limits))
		return;
	gp_log(GP_LOG_WARN, "GPREEMPT_MEMORY=%s: not 1 or MIN:MAX; memory of this process stays",
	       text);
	s->leaves = false;
}

static void read_environment(struct gp_memory_settings *s)
{
	const char *as = secure_getenv("GPREEMPT_MEMORY_AS");

	*s = (struct gp_memory_settings){
		.limits = { 0, UINT64_MAX },
		.host = read_size("GPREEMPT_MEMORY_HOST"),
		.max = read_size("GPREEMPT_MEMORY_MAX"),
		.one = as && !strcmp(as, "one"),
	};
	copy_text(s->rule, "GPREEMPT_MEMORY_RULE");
	read_limits(s);
	if (!s->leaves)
		return;
	s->turns = is_set("GPREEMPT_MEMORY_TURNS");
	copy_text(s->hook, "GPREEMPT_MEMORY_HOOK");
}

/* ---- gpreemptd's rule ---------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void lower_min(struct gp_memory_settings *s, const struct gp_wire_ruled *ruled)
{
	const uint64_t most = least(ruled->memory_min, ruled->memory_max);
	char text[GP_SIZE_TEXT_LEN];

	if (s->limits.min <= most)
		return;
	s->limits.min = most;
	gp_format_size(most, text, sizeof(text));
	gp_log(GP_LOG_WARN, "--mem: MIN is %s, by %s", text, ruled->rule);
}

/* As gpreempt run does it. */
static void follow(struct gp_memory_settings *s, bool be, const struct gp_wire_ruled *ruled)
{
	if (be && ruled->turns)
		s->leaves = s->turns = true;
	if (s->leaves && !s->turns && !*s->hook)
		snprintf(s->hook, sizeof(s->hook), "%s", ruled->hook);
	if (s->leaves)
		lower_min(s, ruled);
	s->host = least(s->host, ruled->host_memory);
	if (ruled->memory_max == GP_WIRE_UNKNOWN)
		return;
	s->max = ruled->memory_max;
	s->one = ruled->one;
	snprintf(s->rule, sizeof(s->rule), "%s", ruled->rule);
}

void gp_memory_settings_read(struct gp_memory_settings *s, bool be)
{
	/* The limits are those of the process, whatever class it gets. */
	const struct gp_class_request none = { .cls.cls = GP_CLASS_NONE };
	struct gp_wire_ruled ruled;

	read_environment(s);
	if (is_set("GPREEMPT_MEMORY_ASKED"))
		return;
	if (!gp_wire_ask_rule(&none, &ruled, NULL, RULE_MS))
		follow(s, be, &ruled);
}
