// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/config_words.h"
#include "runtime/duration.h"

const char *const gp_config_log_levels[] = { "err", "warn", "info", "debug", NULL };

int gp_config_default(struct gp_config **config)
{
	struct gp_config *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->settings = (struct gp_config_settings){
		.be_policy = &gp_policy_fair,
		.lc_policy = &gp_policy_level,
		.quantum_ns = GP_CONFIG_QUANTUM_NS,
		.be_min_pct = GP_CONFIG_BE_MIN_PCT,
		.leave_limit_ns = GP_CONFIG_LEAVE_LIMIT_NS,
		.default_class.cls.cls = GP_CLASS_NONE,
	};
	c->default_max_class.any = true;
	c->log_level = GP_LOG_INFO;
	c->user_tenants = GP_CONFIG_TENANTS;
	c->host_memory = UINT64_MAX;
	c->user_connections = GP_CONFIG_CONNECTIONS;
	c->file = strdup("");
	if (!c->file) {
		free(c);
		return -ENOMEM;
	}
	*config = c;
	return 0;
}

void gp_config_free(struct gp_config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->device_count; i++)
		free(c->device[i].text);
	for (size_t i = 0; i < c->rule_count; i++) {
		free(c->rule[i].user);
		free(c->rule[i].group);
		free(c->rule[i].cgroup);
		free(c->rule[i].exe);
		free(c->rule[i].hook);
		free(c->rule[i].wake);
		free(c->rule[i].container);
		free(c->rule[i].device);
		free(c->rule[i].namespace);
		free(c->rule[i].pod);
		free(c->rule[i].image);
		free(c->rule[i].annotation);
	}
	free(c->device);
	free(c->rule);
	free(c->file);
	free(c);
}

const struct gp_config_settings *gp_config_settings_of(const struct gp_config *c,
						       const struct gp_device_id *id)
{
	for (size_t i = 0; i < c->device_count; i++)
		if (gp_spec_matches(&c->device[i].spec, id))
			return &c->device[i].settings;
	return &c->settings;
}

/* ---- are two the same? ------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_class(const struct gp_class_request *a, const struct gp_class_request *b)
{
	return a->cls.cls == b->cls.cls && a->cls.value == b->cls.value &&
	       a->cap_pct == b->cap_pct && a->period_ns == b->period_ns &&
	       a->deadline_ns == b->deadline_ns && a->runtime_ns == b->runtime_ns;
}

static bool same_right(const struct gp_config_right *a, const struct gp_config_right *b)
{
	return a->any == b->any && (a->any || same_class(&a->cls, &b->cls));
}

static bool same_settings(const struct gp_config_settings *a, const struct gp_config_settings *b)
{
	return a->be_policy == b->be_policy && a->lc_policy == b->lc_policy &&
	       a->quantum_ns == b->quantum_ns && a->be_min_pct == b->be_min_pct &&
	       a->leave_limit_ns == b->leave_limit_ns &&
	       same_class(&a->default_class, &b->default_class);
}

static bool same_facts(const struct gp_rule *a, const struct gp_rule *b)
{
	return same_text(a->namespace, b->namespace) && same_text(a->pod, b->pod) &&
	       same_text(a->image, b->image) && same_text(a->annotation, b->annotation);
}

static bool same_rule(const struct gp_rule *a, const struct gp_rule *b)
{
	return same_text(a->user, b->user) && a->uid == b->uid && same_text(a->group, b->group) &&
	       a->gid == b->gid && same_text(a->cgroup, b->cgroup) && same_text(a->exe, b->exe) &&
	       same_text(a->container, b->container) && same_text(a->device, b->device) &&
	       same_facts(a, b) && a->has_class == b->has_class &&
	       same_class(&a->class_given, &b->class_given) &&
	       a->has_max_class == b->has_max_class && same_class(&a->max_class, &b->max_class) &&
	       a->pool == b->pool && a->one == b->one && a->gang == b->gang &&
	       a->percent == b->percent && a->memory.min == b->memory.min &&
	       a->memory.max == b->memory.max && a->turns == b->turns &&
	       same_text(a->hook, b->hook) && same_text(a->wake, b->wake) &&
	       a->hook_limit_ns == b->hook_limit_ns;
}

static bool same_metrics(const struct gp_config_metrics *a, const struct gp_config_metrics *b)
{
	return a->kind == b->kind && !strcmp(a->path, b->path) && a->port == b->port &&
	       !memcmp(a->ipv4, b->ipv4, sizeof(a->ipv4));
}

bool gp_config_equal(const struct gp_config *a, const struct gp_config *b)
{
	bool same = same_settings(&a->settings, &b->settings) &&
		    same_right(&a->default_max_class, &b->default_max_class) &&
		    same_metrics(&a->metrics, &b->metrics) && a->log_level == b->log_level &&
		    a->user_tenants == b->user_tenants &&
		    a->user_connections == b->user_connections &&
		    a->host_memory == b->host_memory && a->device_count == b->device_count &&
		    a->rule_count == b->rule_count;

	for (size_t i = 0; same && i < a->device_count; i++)
		same = same_text(a->device[i].text, b->device[i].text) &&
		       same_settings(&a->device[i].settings, &b->device[i].settings);
	for (size_t i = 0; same && i < a->rule_count; i++)
		same = same_rule(&a->rule[i], &b->rule[i]);
	return same;
}

/* ---- writing ------------------------------------- */

#define PLAIN_FIRST "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/"

/* Quotes any text that YAML may not read as plain letters. */
static void put_text(FILE *to, const char *text)
{
	size_t n = strlen(text);

	if (n && strspn(text, PLAIN_FIRST) && strspn(text, PLAIN_FIRST "_.,:=%*@+-") == n &&
	    text[n - 1] != ':') {
		fputs(text, to);
		return;
	}
	fputc('"', to);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', to);
		fputc(*text, to);
	}
	fputc('"', to);
}

/*
 * @before: start of the line. NULL is not written.
 */
static void put(FILE *to, const char *before, const char *key, const char *text)
{
	if (!text)
		return;
	fprintf(to, "%s%s: ", before, key);
	put_text(to, text);
	fputc('\n', to);
}

static void put_number(FILE *to, const char *before, const char *key, uint32_t number)
{
	fprintf(to, "%s%s: %u\n", before, key, number);
}

/* UINT64_MAX: none. */
static void put_size(FILE *to, const char *before, const char *key, uint64_t bytes)
{
	char text[GP_SIZE_TEXT_LEN];

	if (bytes == UINT64_MAX)
		return;
	gp_format_size(bytes, text, sizeof(text));
	put(to, before, key, text);
}

static void put_class(FILE *to, const char *before, const char *key,
		      const struct gp_class_request *request)
{
	char text[GP_CLASS_REQUEST_TEXT_LEN];

	gp_class_request_format(request, text, sizeof(text));
	put(to, before, key, text);
}

static void put_settings(FILE *to, const char *before, const struct gp_config_settings *s)
{
	char quantum[GP_DURATION_TEXT_LEN], leave[GP_DURATION_TEXT_LEN] = "off";

	gp_format_duration(s->quantum_ns, quantum, sizeof(quantum));
	if (s->leave_limit_ns)
		gp_format_duration(s->leave_limit_ns, leave, sizeof(leave));
	put(to, before, "be_policy", s->be_policy->name);
	put(to, before, "lc_policy", s->lc_policy->name);
	put(to, before, "be_quantum", quantum);
	put_number(to, before, "be_min_pct", s->be_min_pct);
	put(to, before, "be_leave_limit", leave);
	put_class(to, before, "default_class", &s->default_class);
}

static void put_metrics(FILE *to, const struct gp_config_metrics *m)
{
	char text[32];

	switch (m->kind) {
	case GP_CONFIG_METRICS_OFF:
		snprintf(text, sizeof(text), "off");
		break;
	case GP_CONFIG_METRICS_UNIX:
		put(to, "", "metrics_listen", m->path);
		return;
	case GP_CONFIG_METRICS_IPV4:
		snprintf(text, sizeof(text), "%u.%u.%u.%u:%u", m->ipv4[0], m->ipv4[1], m->ipv4[2],
			 m->ipv4[3], m->port);
		break;
	case GP_CONFIG_METRICS_IPV6:
		snprintf(text, sizeof(text), "[::1]:%u", m->port);
		break;
	}
	put(to, "", "metrics_listen", text);
}

void gp_rule_matches(const struct gp_rule *rule, struct gp_rule_match match[GP_RULE_MATCHES])
{
	const struct gp_rule_match all[GP_RULE_MATCHES] = {
		{ "user", rule->user },
		{ "group", rule->group },
		{ "cgroup", rule->cgroup },
		{ "exe", rule->exe },
		{ "container", rule->container },
		{ "namespace", rule->namespace },
		{ "pod", rule->pod },
		{ "image", rule->image },
		{ "annotation", rule->annotation },
		{ "device", rule->device },
	};

	memcpy(match, all, sizeof(all));
}

static bool has_memory(const struct gp_rule *rule)
{
	return rule->memory.min != UINT64_MAX || rule->memory.max != UINT64_MAX || rule->turns ||
	       rule->hook;
}

static void put_hook(FILE *to, const struct gp_rule *rule)
{
	char limit[GP_DURATION_TEXT_LEN];

	gp_format_duration(rule->hook_limit_ns, limit, sizeof(limit));
	put(to, "      ", "hook", rule->hook);
	put(to, "      ", "wake", rule->wake);
	put(to, "      ", "hook_limit", limit);
}

static void put_rule(FILE *to, const struct gp_rule *rule)
{
	struct gp_rule_match match[GP_RULE_MATCHES];
	const char *before = "  - ";

	gp_rule_matches(rule, match);
	for (size_t i = 0; i < GP_RULE_MATCHES; i++) {
		put(to, before, match[i].key, match[i].text);
		if (match[i].text)
			before = "    ";
	}
	if (rule->has_class)
		put_class(to, before, "class", &rule->class_given);
	if (rule->has_max_class)
		put_class(to, before, "max_class", &rule->max_class);
	if (rule->one)
		put(to, "    ", "as", "one");
	if (rule->gang)
		put(to, "    ", "gang", "true");
	if (rule->pool)
		put(to, "    ", "pool", "true");
	if (rule->percent)
		put_number(to, "    ", "percent", rule->percent);
	if (has_memory(rule))
		fputs("    memory:\n", to);
	put_size(to, "      ", "min", rule->memory.min);
	put_size(to, "      ", "max", rule->memory.max);
	if (rule->turns)
		put(to, "      ", "turns", "true");
	if (rule->hook)
		put_hook(to, rule);
}

int gp_config_print(const struct gp_config *c, FILE *to)
{
	put_settings(to, "", &c->settings);
	if (c->default_max_class.any)
		put(to, "", "default_max_class", GP_CONFIG_ANY);
	else
		put_class(to, "", "default_max_class", &c->default_max_class.cls);
	put_metrics(to, &c->metrics);
	put(to, "", "log_level", gp_config_log_levels[c->log_level]);
	fputs("limits_per_user:\n", to);
	put_number(to, "  ", "tenants", c->user_tenants);
	put_number(to, "  ", "connections", c->user_connections);
	put_size(to, "", "host_memory", c->host_memory);
	if (c->device_count)
		fputs("devices:\n", to);
	for (size_t i = 0; i < c->device_count; i++) {
		put(to, "  - ", "device", c->device[i].text);
		put_settings(to, "    ", &c->device[i].settings);
	}
	if (c->rule_count)
		fputs("rules:\n", to);
	for (size_t i = 0; i < c->rule_count; i++)
		put_rule(to, &c->rule[i]);
	return fflush(to) || ferror(to) ? -EIO : 0;
}
