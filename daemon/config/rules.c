// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/config/glob.h"

#define ID_DIGITS (GP_CONTAINER_LEN - 1)
#define SCOPE ".scope"
#define CONMON "conmon-"

/* ---- containers ------------------------------------- */

/* The id at the end of the @bytes of @name; NULL: none. */
static const char *id_in(const char *name, size_t bytes)
{
	const size_t scope = strlen(SCOPE), conmon = strlen(CONMON);
	const char *id;

	if (bytes > scope && !memcmp(name + bytes - scope, SCOPE, scope))
		bytes -= scope;
	if (bytes < ID_DIGITS)
		return NULL;
	id = name + bytes - ID_DIGITS;
	if (strspn(id, "0123456789abcdef") < ID_DIGITS ||
	    (id > name && id[-1] != '-' && id[-1] != ':'))
		return NULL;
	if ((size_t)(id - name) >= conmon && !memcmp(id - conmon, CONMON, conmon))
		return NULL;
	return id;
}

void gp_container_of(const char *cgroup, char id[GP_CONTAINER_LEN])
{
	id[0] = '\0';
	while (*cgroup) {
		size_t bytes = strcspn(cgroup, "/");
		const char *found = id_in(cgroup, bytes);

		if (found) {
			memcpy(id, found, ID_DIGITS);
			id[ID_DIGITS] = '\0';
		}
		cgroup += bytes;
		cgroup += *cgroup == '/';
	}
}

/* ---- which rule ------------------------------------- */

static bool in_group(const struct gp_subject *s, gid_t gid)
{
	if (s->gid == gid)
		return true;
	for (size_t i = 0; i < s->group_count; i++)
		if (s->groups[i] == gid)
			return true;
	return false;
}

static bool fits(const struct gp_rule *rule, const struct gp_subject *s)
{
	if (rule->user && rule->uid != s->uid)
		return false;
	if (rule->group && !in_group(s, rule->gid))
		return false;
	if (rule->device && (!s->device || !gp_spec_matches(&rule->spec, s->device)))
		return false;
	if (rule->container && strncmp(s->container, rule->container, strlen(rule->container)))
		return false;
	if (rule->cgroup && (!s->cgroup || !gp_glob_match_under(rule->cgroup, s->cgroup)))
		return false;
	return !rule->exe || (s->exe && gp_glob_match(rule->exe, s->exe));
}

static const struct gp_rule *find_rule(const struct gp_config *c, const struct gp_subject *s)
{
	for (size_t i = 0; i < c->rule_count; i++)
		if (fits(&c->rule[i], s))
			return &c->rule[i];
	return NULL;
}

static const struct gp_class_request *default_class_of(const struct gp_config *c,
						       const struct gp_subject *s)
{
	return s->device ? &gp_config_settings_of(c, s->device)->default_class :
			   &c->settings.default_class;
}

static const struct gp_class_request *
given_by(const struct gp_config *c, const struct gp_subject *s, const struct gp_rule *rule)
{
	return rule && rule->has_class ? &rule->class_given : default_class_of(c, s);
}

/* ---- the order of classes ----------------------------------- */

static uint32_t cap_of(const struct gp_class_request *r)
{
	return r->cap_pct ? r->cap_pct : GP_CAP_MAX_PCT;
}

/* Times are at most GP_PERIOD_MAX_NS: their product is less than 2^67. */
static bool no_more_of_device(const struct gp_class_request *a, const struct gp_class_request *b)
{
	return (unsigned __int128)a->runtime_ns * b->period_ns <=
	       (unsigned __int128)b->runtime_ns * a->period_ns;
}

static bool be_no_higher(const struct gp_class_request *a, const struct gp_class_request *b)
{
	switch (b->cls.cls) {
	case GP_CLASS_BE:
		return a->cls.value <= b->cls.value && cap_of(a) <= cap_of(b);
	case GP_CLASS_NONE:
		return a->cls.value <= GP_WEIGHT_DEFAULT;
	}
	return true;
}

static bool lc_no_higher(const struct gp_class_request *a, const struct gp_class_request *b)
{
	if (b->cls.cls != GP_CLASS_LC || a->cls.value < b->cls.value)
		return false;
	return !a->period_ns ||
	       (b->period_ns && a->deadline_ns >= b->deadline_ns && no_more_of_device(a, b));
}

bool gp_class_no_higher(const struct gp_class_request *a, const struct gp_class_request *b)
{
	switch (a->cls.cls) {
	case GP_CLASS_BE:
		return be_no_higher(a, b);
	case GP_CLASS_LC:
		return lc_no_higher(a, b);
	}
	return b->cls.cls != GP_CLASS_BE;
}

/* ---- reasons as text -------------------------------------- */

/* Appends, and truncates at the end of the buffer. */
static void say(char *why, size_t len, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say(char *why, size_t len, const char *format, ...)
{
	size_t used = len ? strnlen(why, len) : 0;
	va_list ap;

	if (used + 1 >= len)
		return;
	va_start(ap, format);
	vsnprintf(why + used, len - used, format, ap);
	va_end(ap);
}

static void say_rule(char *why, size_t len, const struct gp_config *c, const struct gp_rule *rule)
{
	struct gp_rule_match match[GP_RULE_MATCHES];
	const char *before = " (";

	gp_rule_matches(rule, match);
	say(why, len, "the rule at %.160s:%u", c->file, rule->line);
	for (size_t i = 0; i < GP_RULE_MATCHES; i++) {
		if (!match[i].text)
			continue;
		say(why, len, "%s%s %s", before, match[i].key, match[i].text);
		before = ", ";
	}
	say(why, len, ")");
}

void gp_rules_find(const struct gp_config *c, const struct gp_subject *s, struct gp_verdict *v)
{
	char cls[GP_CLASS_REQUEST_TEXT_LEN];

	v->rule = find_rule(c, s);
	v->given = *given_by(c, s, v->rule);
	gp_class_request_format(&v->given, cls, sizeof(cls));
	v->why[0] = '\0';
	say(v->why, sizeof(v->why), "%s by ", cls);
	if (v->rule && v->rule->has_class)
		say_rule(v->why, sizeof(v->why), c, v->rule);
	else if (v->rule)
		say(v->why, sizeof(v->why), "default_class:, since ");
	else
		say(v->why, sizeof(v->why), "default_class:, since no rule matches");
	if (v->rule && !v->rule->has_class) {
		say_rule(v->why, sizeof(v->why), c, v->rule);
		say(v->why, sizeof(v->why), " gives no class");
	}
}

/* @asked is refused: explains the allowed classes, and their origin. */
static void explain(const struct gp_config *c, const struct gp_verdict *v,
		    const struct gp_class_request *asked, char *why, size_t len)
{
	char cls[GP_CLASS_REQUEST_TEXT_LEN], given[GP_CLASS_REQUEST_TEXT_LEN],
		max[GP_CLASS_REQUEST_TEXT_LEN];

	gp_class_request_format(asked, cls, sizeof(cls));
	gp_class_request_format(&v->given, given, sizeof(given));
	if (len)
		why[0] = '\0';
	if (!v->rule) {
		say(why, len,
		    "%s is higher than %s, the default_class, and no rule with max_class: %s "
		    "matches",
		    cls, given, cls);
		return;
	}
	say(why, len, "%s is higher than its class %s", cls, given);
	if (v->rule->has_max_class) {
		gp_class_request_format(&v->rule->max_class, max, sizeof(max));
		say(why, len, " and its max_class %s, by ", max);
	} else {
		say(why, len, ", and there is no max_class: in ");
	}
	say_rule(why, len, c, v->rule);
}

int gp_rules_may(const struct gp_config *c, const struct gp_subject *s,
		 const struct gp_class_request *asked, char *why, size_t len)
{
	struct gp_verdict v;

	gp_rules_find(c, s, &v);
	if (gp_class_no_higher(asked, &v.given))
		return 0;
	if (v.rule && v.rule->has_max_class && gp_class_no_higher(asked, &v.rule->max_class))
		return 0;
	explain(c, &v, asked, why, len);
	return -EPERM;
}
