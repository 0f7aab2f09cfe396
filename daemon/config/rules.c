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

static bool is(const char *name, size_t bytes, const char *text)
{
	return bytes == strlen(text) && !memcmp(name, text, bytes);
}

static bool begins(const char *name, size_t bytes, const char *text)
{
	return bytes >= strlen(text) && !memcmp(name, text, strlen(text));
}

static bool ends(const char *name, size_t bytes, const char *text)
{
	const size_t n = strlen(text);

	return bytes >= n && !memcmp(name + bytes - n, text, n);
}

/* Of a runtime that makes its folders by itself (its "cgroupfs" driver). */
static bool is_runtimes(const char *name, size_t bytes)
{
	static const char *const names[] = { "docker",	"default",  "k8s.io",
					     "nerdctl", "kubepods", "libpod_parent" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is(name, bytes, names[i]))
			return true;
	return false;
}

/* Only systemd makes slices, and gives none to a user. */
static bool is_slice(const char *name, size_t bytes)
{
	return ends(name, bytes, ".slice") && !is(name, bytes, "user.slice") &&
	       !begins(name, bytes, "user-");
}

/* Folders of one pod, or one kind of pods. */
static bool is_pods(const char *name, size_t bytes, const char *first)
{
	if (begins(first, strcspn(first, "/"), "libpod_parent"))
		return bytes == ID_DIGITS && id_in(name, bytes);
	return begins(first, strcspn(first, "/"), "kubepods") &&
	       (begins(name, bytes, "pod") || is(name, bytes, "burstable") ||
		is(name, bytes, "besteffort") || is(name, bytes, "guaranteed"));
}

/* The runtime's own service, which some setups put the containers in. */
static bool is_service(const char *name, size_t bytes)
{
	return is(name, bytes, "containerd.service") || is(name, bytes, "docker.service") ||
	       is(name, bytes, "crio.service");
}

/* Can a runtime of the machine alone make folders in @name? @first: of the path. */
static bool is_trusted(const char *name, size_t bytes, const char *first)
{
	if (is_slice(name, bytes) || (name == first && is_runtimes(name, bytes)))
		return true;
	return is_pods(name, bytes, first) ||
	       (is_service(name, bytes) && begins(first, strcspn(first, "/"), "system.slice"));
}

void gp_container_of(const char *cgroup, char id[GP_CONTAINER_LEN])
{
	const char *first = cgroup + (*cgroup == '/');
	bool trusted = true;

	id[0] = '\0';
	for (const char *name = first; *name && trusted;) {
		size_t bytes = strcspn(name, "/");

		trusted = is_trusted(name, bytes, first);
		if (!trusted && id_in(name, bytes)) {
			memcpy(id, id_in(name, bytes), ID_DIGITS);
			id[ID_DIGITS] = '\0';
		}
		name += bytes;
		name += *name == '/';
	}
}

bool gp_container_is_named(const char *cgroup)
{
	while (*cgroup) {
		size_t bytes = strcspn(cgroup, "/");

		if (id_in(cgroup, bytes))
			return true;
		cgroup += bytes;
		cgroup += *cgroup == '/';
	}
	return false;
}

/* ---- facts on the container ------------------------------------- */

/* @pattern is "KEY=PATTERN". */
static bool is_annotated(const struct gp_container *c, const char *pattern)
{
	const char *equals = strchr(pattern, '=');
	char key[GP_CONTAINER_VALUE_MAX + 1];
	const char *value;

	if ((size_t)(equals - pattern) >= sizeof(key))
		return false;
	memcpy(key, pattern, (size_t)(equals - pattern));
	key[equals - pattern] = '\0';
	value = gp_container_annotation(c, key);
	return value && gp_glob_match(equals + 1, value);
}

static bool matches(const char *pattern, const char *value)
{
	return !pattern || (value && gp_glob_match(pattern, value));
}

static bool fits_container(const struct gp_rule *rule, const struct gp_container *c)
{
	if (!rule->namespace && !rule->pod && !rule->image && !rule->annotation)
		return true;
	return c && matches(rule->namespace, c->namespace) && matches(rule->pod, c->pod) &&
	       matches(rule->image, c->image) &&
	       (!rule->annotation || is_annotated(c, rule->annotation));
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
	if (!fits_container(rule, s->facts))
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

char *gp_rules_party(const struct gp_config *c, const struct gp_subject *s)
{
	const struct gp_rule *rule = find_rule(c, s);
	char *path = rule && rule->one ? strdup(s->cgroup) : NULL;

	if (path && !strcmp(rule->cgroup, "/"))
		path[1] = '\0';
	for (char *at = path ? strchr(path + 1, '/') : NULL; at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (gp_glob_match(rule->cgroup, path))
			break;
		*at = '/';
	}
	return path;
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

void gp_rules_text(const struct gp_config *c, const struct gp_rule *rule, char *text, size_t len)
{
	if (len)
		text[0] = '\0';
	say_rule(text, len, c, rule);
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

/* NULL: every class. */
static const struct gp_class_request *highest(const struct gp_config *c, const struct gp_verdict *v)
{
	if (!v->rule)
		return c->default_max_class.any ? NULL : &c->default_max_class.cls;
	return v->rule->has_max_class ? &v->rule->max_class : &v->given;
}

/* Puts quotes around a value with commas, for a mapping in braces. */
static const char *quote(const char *cls)
{
	return strchr(cls, ',') ? "'" : "";
}

/* @asked is refused: the key that refuses it, and its remedy. */
static void explain(const struct gp_config *c, const struct gp_subject *s,
		    const struct gp_verdict *v, const struct gp_class_request *asked, char *why,
		    size_t len)
{
	char cls[GP_CLASS_REQUEST_TEXT_LEN], most[GP_CLASS_REQUEST_TEXT_LEN];
	const struct gp_rule *rule = v->rule;

	gp_class_request_format(asked, cls, sizeof(cls));
	gp_class_request_format(highest(c, v), most, sizeof(most));
	if (len)
		why[0] = '\0';
	if (!rule) {
		say(why, len,
		    "%s is higher than default_max_class: %s (%.160s:%u), and no rule matches; "
		    "raise that, or add to rules: - {user: %u, max_class: %s%s%s}",
		    cls, most, c->file, c->default_max_class.line, (unsigned int)s->uid, quote(cls),
		    cls, quote(cls));
		return;
	}
	if (rule->has_max_class)
		say(why, len, "%s is higher than max_class: %s; raise that to %s in ", cls, most,
		    cls);
	else
		say(why, len, "%s is higher than class: %s; add max_class: %s to ", cls, most, cls);
	/* Last, as its end may be missing: the rule's texts are long. */
	say_rule(why, len, c, rule);
}

int gp_rules_may(const struct gp_config *c, const struct gp_subject *s,
		 const struct gp_class_request *asked, char *why, size_t len)
{
	const struct gp_class_request *most;
	struct gp_verdict v;

	gp_rules_find(c, s, &v);
	most = highest(c, &v);
	if (!most || gp_class_no_higher(asked, most) || gp_class_no_higher(asked, &v.given))
		return 0;
	explain(c, s, &v, asked, why, len);
	return -EPERM;
}
