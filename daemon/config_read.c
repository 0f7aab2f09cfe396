// SPDX-License-Identifier: Apache-2.0
/*
 * config_read.c - from what the file's keys say to what they mean.
 */
#include "daemon/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config_words.h"
#include "daemon/config_yaml.h"
#include "daemon/glob.h"
#include "runtime/duration.h"

#define NS_PER_MS 1000000ull
#define QUANTUM_MIN_NS NS_PER_MS
#define QUANTUM_MAX_NS (10000 * NS_PER_MS)
#define BE_MIN_PCT_MAX 50 /* as the core has it */
#define USER_MAX 1024	  /* tenants, connections */
#define CONTAINER_MIN 12  /* digits: as many as the runtimes show */
#define CONTAINER_MAX 64
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/**
 * struct reader - one file on its way.
 * @right: after a value was refused, what would be; static
 */
struct reader {
	struct gp_yaml yaml;
	const struct gp_config_names *names;
	const char *right;
	struct gp_config *config;
};

/* A key, where its text is in the structure of texts, and what takes it to @to. */
struct field {
	const char *key;
	size_t offset;
	int (*take)(struct reader *r, const char *text, void *to);
};

static const char *text_at(const void *texts, const struct field *f)
{
	return *(char *const *)((const char *)texts + f->offset);
}

/* @texts of @mapping, each to @to. */
static int take_fields(struct reader *r, yaml_node_t *mapping, const void *texts,
		       const struct field *f, size_t count, void *to)
{
	for (size_t i = 0; i < count; i++) {
		const char *text = text_at(texts, &f[i]);
		int err = text ? f[i].take(r, text, to) : 0;

		if (err == -EINVAL)
			gp_yaml_refuse(&r->yaml,
				       gp_yaml_line(gp_yaml_value(&r->yaml, mapping, f[i].key)),
				       f[i].key, text, "%s", r->right);
		if (err)
			return err;
	}
	return 0;
}

/* Digits only, no leading zero, at most @max. */
static int take_number(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;

	if (!*text || (text[0] == '0' && text[1]))
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		n = n * 10 + (uint64_t)(*text - '0');
		if (n > max)
			return -EINVAL;
	}
	*out = n;
	return 0;
}

/* Which of @word, which ends with NULL, is @text? */
static int take_word(const char *text, const char *const *word, unsigned int *out)
{
	for (size_t i = 0; word[i]; i++)
		if (!strcmp(text, word[i])) {
			*out = (unsigned int)i;
			return 0;
		}
	return -EINVAL;
}

static int take_copy(char **to, const char *text)
{
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

/* ---- how a device is shared ------------------------------------- */

static int take_policy(struct reader *r, const char *text, void *to)
{
	struct gp_config_settings *s = to;

	r->right = "write fair, credit or rr";
	return take_word(text, gp_config_be_policies, &s->be_policy);
}

static int take_lc_policy(struct reader *r, const char *text, void *to)
{
	struct gp_config_settings *s = to;

	r->right = "write level, sjf or edf";
	return take_word(text, gp_config_lc_policies, &s->lc_policy);
}

static int take_quantum(struct reader *r, const char *text, void *to)
{
	struct gp_config_settings *s = to;
	uint64_t ns;

	r->right = "write a time from 1ms to 10s, such as 50ms";
	if (gp_parse_duration(text, &ns) || ns < QUANTUM_MIN_NS || ns > QUANTUM_MAX_NS)
		return -EINVAL;
	s->quantum_ns = ns;
	return 0;
}

static int take_be_min_pct(struct reader *r, const char *text, void *to)
{
	struct gp_config_settings *s = to;
	uint64_t pct;

	r->right = "write a number from 0 to 50, in percent of the device's time";
	if (take_number(text, BE_MIN_PCT_MAX, &pct))
		return -EINVAL;
	s->be_min_pct = (uint32_t)pct;
	return 0;
}

/* A class, or none. */
static int take_class(struct reader *r, const char *text, struct gp_class_request *out)
{
	if (!strcmp(text, "none")) {
		*out = (struct gp_class_request){ .cls.cls = GP_CLASS_NONE };
		return 0;
	}
	return gp_class_request_parse(text, out, &r->right) ? -EINVAL : 0;
}

static int take_strangers(struct reader *r, const char *text, void *to)
{
	struct gp_config_settings *s = to;
	struct gp_class_request request;
	int err = take_class(r, text, &request);

	if (!err && request.cls.cls == GP_CLASS_LC) {
		r->right = "write none, be or be:WEIGHT; who is to be lc needs a rule";
		err = -EINVAL;
	}
	if (!err)
		s->strangers = request;
	return err;
}

/* ---- the rest of the file's own keys ------------------------------------- */

static int take_port(const char *text, uint16_t *port)
{
	uint64_t n;

	if (take_number(text, UINT16_MAX, &n) || !n)
		return -EINVAL;
	*port = (uint16_t)n;
	return 0;
}

/* "127.x.y.z:PORT". */
static int take_ipv4(const char *text, struct gp_config_metrics *m)
{
	char part[4];
	uint64_t n;

	for (size_t i = 0; i < 4; i++) {
		size_t digits = strspn(text, "0123456789");

		if (digits >= sizeof(part) || text[digits] != (i < 3 ? '.' : ':'))
			return -EINVAL;
		memcpy(part, text, digits);
		part[digits] = '\0';
		if (take_number(part, 255, &n) || (!i && n != 127))
			return -EINVAL;
		m->ipv4[i] = (uint8_t)n;
		text += digits + 1;
	}
	return take_port(text, &m->port);
}

static int take_metrics(struct reader *r, const char *text, void *to)
{
	struct gp_config_metrics m = { 0 };
	struct gp_config *c = to;
	int err = 0;

	r->right = "write off, the path of a socket, 127.0.0.1:PORT or [::1]:PORT; "
		   "no other machine may read it";
	if (text[0] == '/') {
		m.kind = GP_CONFIG_METRICS_UNIX;
		r->right = "the path of a socket has 107 bytes at most, and no / at its end";
		if (strlen(text) >= sizeof(m.path) || text[strlen(text) - 1] == '/')
			return -EINVAL;
		strcpy(m.path, text);
	} else if (!strncmp(text, "[::1]:", 6)) {
		m.kind = GP_CONFIG_METRICS_IPV6;
		err = take_port(text + 6, &m.port);
	} else if (strcmp(text, "off")) {
		m.kind = GP_CONFIG_METRICS_IPV4;
		err = take_ipv4(text, &m);
	}
	if (!err)
		c->metrics = m;
	return err;
}

static int take_log_level(struct reader *r, const char *text, void *to)
{
	struct gp_config *c = to;
	unsigned int level;

	r->right = "write err, warn, info or debug";
	if (take_word(text, gp_config_log_levels, &level))
		return -EINVAL;
	c->log_level = (int)level;
	return 0;
}

static int take_limit(struct reader *r, const char *text, uint32_t *out)
{
	uint64_t n;

	r->right = "write a number from 1 to 1024";
	if (take_number(text, USER_MAX, &n) || !n)
		return -EINVAL;
	*out = (uint32_t)n;
	return 0;
}

static int take_tenants(struct reader *r, const char *text, void *to)
{
	return take_limit(r, text, &((struct gp_config *)to)->user_tenants);
}

static int take_connections(struct reader *r, const char *text, void *to)
{
	return take_limit(r, text, &((struct gp_config *)to)->user_connections);
}

/* ---- rules ------------------------------------- */

static int take_id(struct reader *r, const char *text, int (*find)(const char *, uint32_t *),
		   uint32_t *id)
{
	uint64_t n;
	int err;

	/* (uid_t)-1 is nobody's: it means "leave as it is" to the kernel. */
	if (text[0] >= '0' && text[0] <= '9') {
		err = take_number(text, UINT32_MAX - 1, &n);
		if (!err)
			*id = (uint32_t)n;
		return err;
	}
	err = *text ? find(text, id) : -ENOENT;
	return err == -ENOMEM ? err : err ? -EINVAL : 0;
}

static int take_user(struct reader *r, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err;

	r->right = "write the name of a user of this machine, or a number";
	err = take_id(r, text, r->names->uid, &rule->uid);
	return err ? err : take_copy(&rule->user, text);
}

static int take_group(struct reader *r, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err;

	r->right = "write the name of a group of this machine, or a number";
	err = take_id(r, text, r->names->gid, &rule->gid);
	return err ? err : take_copy(&rule->group, text);
}

static int take_cgroup(struct reader *r, const char *text, void *to)
{
	int err = gp_glob_check(text, &r->right);

	return err ? err : take_copy(&((struct gp_rule *)to)->cgroup, text);
}

static int take_exe(struct reader *r, const char *text, void *to)
{
	int err = gp_glob_check(text, &r->right);

	if (!err && !text[1]) {
		r->right = "write the path of a program, such as /usr/bin/python3*";
		err = -EINVAL;
	}
	return err ? err : take_copy(&((struct gp_rule *)to)->exe, text);
}

static int take_container(struct reader *r, const char *text, void *to)
{
	size_t digits = strspn(text, "0123456789abcdef");

	r->right = "write 12 to 64 hexadecimal digits, as docker ps shows them";
	if (text[digits] || digits < CONTAINER_MIN || digits > CONTAINER_MAX)
		return -EINVAL;
	return take_copy(&((struct gp_rule *)to)->container, text);
}

static int take_spec(struct reader *r, const char *text, struct gp_spec *spec)
{
	r->right = "write a UUID (GPU- and 8 digits or more), a PCI address (0000:3b:00.0) "
		   "or soft0";
	return gp_spec_parse(text, spec);
}

static int take_rule_device(struct reader *r, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err = take_spec(r, text, &rule->spec);

	return err ? err : take_copy(&rule->device, text);
}

/* Does any device have the policy that keeps what @request asks for besides? */
static int check_kept(struct reader *r, const struct gp_class_request *request)
{
	const struct gp_config *c = r->config;
	bool credit = c->settings.be_policy == GP_CONFIG_CREDIT;
	bool edf = c->settings.lc_policy == GP_CONFIG_EDF;

	for (size_t i = 0; i < c->device_count; i++) {
		credit |= c->device[i].settings.be_policy == GP_CONFIG_CREDIT;
		edf |= c->device[i].settings.lc_policy == GP_CONFIG_EDF;
	}
	r->right = "caps are kept by policy: credit only, which no device here has";
	if (request->cap_pct && !credit)
		return -EINVAL;
	r->right = "deadlines are kept by lc_policy: edf only, which no device here has";
	return request->period_ns && !edf ? -EINVAL : 0;
}

static int take_rule_class(struct reader *r, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err = take_class(r, text, &rule->class_given);

	rule->has_class = true;
	return err ? err : check_kept(r, &rule->class_given);
}

static int take_may(struct reader *r, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err = take_class(r, text, &rule->may);

	rule->has_may = true;
	return err ? err : check_kept(r, &rule->may);
}

static bool matches_nothing(const struct gp_rule *rule)
{
	return !rule->user && !rule->group && !rule->cgroup && !rule->exe && !rule->container &&
	       !rule->device;
}

static int read_rule(struct reader *r, yaml_node_t *node, const struct gp_config_yaml_rule *texts,
		     struct gp_rule *rule)
{
#define RULE(key, member, take)                                         \
	{                                                               \
		key, offsetof(struct gp_config_yaml_rule, member), take \
	}
	static const struct field fields[] = {
		RULE("user", user, take_user),
		RULE("group", group, take_group),
		RULE("cgroup", cgroup, take_cgroup),
		RULE("exe", exe, take_exe),
		RULE("container", container, take_container),
		RULE("device", device, take_rule_device),
		RULE("class", class_given, take_rule_class),
		RULE("may", may, take_may),
	};
	int err;

	rule->line = gp_yaml_line(node);
	err = take_fields(r, node, texts, fields, COUNT_OF(fields), rule);
	if (err)
		return err;
	if (matches_nothing(rule))
		return gp_yaml_refuse(&r->yaml, rule->line, "rules", NULL,
				      "found a rule for nobody; name a user, group, cgroup, exe, "
				      "container or device (strangers: is for all others)");
	if (!rule->has_class && !rule->has_may)
		return gp_yaml_refuse(&r->yaml, rule->line, "rules", NULL,
				      "found a rule that gives nothing; write class: or may:");
	return 0;
}

static int read_rules(struct reader *r)
{
	yaml_node_t *list = gp_yaml_value(&r->yaml, gp_yaml_root(&r->yaml), "rules");
	const struct gp_config_yaml *file = r->yaml.data;
	struct gp_config *c = r->config;
	int err = 0;

	if (!file->rules_count)
		return 0;
	c->rule = calloc(file->rules_count, sizeof(*c->rule));
	if (!c->rule)
		return -ENOMEM;
	c->rule_count = file->rules_count;
	for (size_t i = 0; !err && i < c->rule_count; i++)
		err = read_rule(r, gp_yaml_entry(&r->yaml, list, i), &file->rules[i], &c->rule[i]);
	return err;
}

/* ---- devices ------------------------------------- */

static int take_device(struct reader *r, const char *text, void *to)
{
	struct gp_config_device *d = to;
	int err = take_spec(r, text, &d->spec);

	return err ? err : take_copy(&d->text, text);
}

#define SETTINGS(type)                                                                \
	{ "policy", offsetof(struct type, policy), take_policy },                     \
		{ "lc_policy", offsetof(struct type, lc_policy), take_lc_policy },    \
		{ "quantum", offsetof(struct type, quantum), take_quantum },          \
		{ "be_min_pct", offsetof(struct type, be_min_pct), take_be_min_pct }, \
	{                                                                             \
		"strangers", offsetof(struct type, strangers), take_strangers         \
	}

static bool same_spec(const struct gp_spec *a, const struct gp_spec *b)
{
	return a->kind == b->kind && a->soft == b->soft && a->uuid_digits == b->uuid_digits &&
	       !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) && a->pci_domain == b->pci_domain &&
	       a->pci_bus == b->pci_bus && a->pci_dev == b->pci_dev && a->pci_fn == b->pci_fn;
}

static int check_device(struct reader *r, uint32_t line, const struct gp_config_device *d)
{
	const struct gp_config *c = r->config;

	if (!d->text)
		return gp_yaml_refuse(&r->yaml, line, "devices", NULL,
				      "found an entry for no device; write device: first");
	for (const struct gp_config_device *other = c->device; other < d; other++)
		if (same_spec(&other->spec, &d->spec))
			return gp_yaml_refuse(&r->yaml, line, "device", d->text,
					      "it has an entry already; write one");
	return 0;
}

static int read_device(struct reader *r, yaml_node_t *node,
		       const struct gp_config_yaml_device *texts, struct gp_config_device *d)
{
	static const struct field name = { "device", offsetof(struct gp_config_yaml_device, device),
					   take_device };
	static const struct field settings[] = { SETTINGS(gp_config_yaml_device) };
	int err = take_fields(r, node, texts, &name, 1, d);

	if (!err)
		err = check_device(r, gp_yaml_line(node), d);
	d->settings = r->config->settings;
	if (!err)
		err = take_fields(r, node, texts, settings, COUNT_OF(settings), &d->settings);
	return err;
}

static int read_devices(struct reader *r)
{
	yaml_node_t *list = gp_yaml_value(&r->yaml, gp_yaml_root(&r->yaml), "devices");
	const struct gp_config_yaml *file = r->yaml.data;
	struct gp_config *c = r->config;
	int err = 0;

	if (!file->devices_count)
		return 0;
	c->device = calloc(file->devices_count, sizeof(*c->device));
	if (!c->device)
		return -ENOMEM;
	c->device_count = file->devices_count;
	for (size_t i = 0; !err && i < c->device_count; i++)
		err = read_device(r, gp_yaml_entry(&r->yaml, list, i), &file->devices[i],
				  &c->device[i]);
	return err;
}

/* ---- the whole ------------------------------------- */

static int read_top(struct reader *r)
{
	static const struct field settings[] = { SETTINGS(gp_config_yaml) };
	static const struct field own[] = {
		{ "metrics", offsetof(struct gp_config_yaml, metrics), take_metrics },
		{ "log_level", offsetof(struct gp_config_yaml, log_level), take_log_level },
	};
	static const struct field limits[] = {
		{ "tenants", offsetof(struct gp_config_yaml_limits, tenants), take_tenants },
		{ "connections", offsetof(struct gp_config_yaml_limits, connections),
		  take_connections },
	};
	const struct gp_config_yaml *file = r->yaml.data;
	yaml_node_t *root = gp_yaml_root(&r->yaml);
	struct gp_config *c = r->config;
	int err = take_fields(r, root, file, settings, COUNT_OF(settings), &c->settings);

	if (!err)
		err = take_fields(r, root, file, own, COUNT_OF(own), c);
	if (!err && file->limits_per_user)
		err = take_fields(r, gp_yaml_value(&r->yaml, root, "limits_per_user"),
				  file->limits_per_user, limits, COUNT_OF(limits), c);
	return err;
}

/* Once all policies are known. @mapping: where it was written. */
static int check_strangers(struct reader *r, yaml_node_t *mapping,
			   const struct gp_config_settings *s, const char *text)
{
	if (!text || !check_kept(r, &s->strangers))
		return 0;
	return gp_yaml_refuse(&r->yaml, gp_yaml_line(gp_yaml_value(&r->yaml, mapping, "strangers")),
			      "strangers", text, "%s", r->right);
}

static int check_all_strangers(struct reader *r)
{
	yaml_node_t *root = gp_yaml_root(&r->yaml);
	yaml_node_t *list = gp_yaml_value(&r->yaml, root, "devices");
	const struct gp_config_yaml *file = r->yaml.data;
	int err = check_strangers(r, root, &r->config->settings, file->strangers);

	for (size_t i = 0; !err && i < r->config->device_count; i++)
		err = check_strangers(r, gp_yaml_entry(&r->yaml, list, i),
				      &r->config->device[i].settings, file->devices[i].strangers);
	return err;
}

static int read_file(struct reader *r)
{
	int err = read_top(r);

	if (!err)
		err = read_devices(r);
	if (!err)
		err = check_all_strangers(r);
	return err ? err : read_rules(r);
}

static int rename_file(struct gp_config *c, const char *file)
{
	char *copy = strdup(file);

	if (!copy)
		return -ENOMEM;
	free(c->file);
	c->file = copy;
	return 0;
}

int gp_config_parse(const char *file, const char *text, size_t bytes,
		    const struct gp_config_names *names, struct gp_config **config, char *why,
		    size_t len)
{
	struct reader r = { .names = names, .right = "" };
	int err = gp_yaml_open(&r.yaml, &gp_config_schema, file, text, bytes, why, len);

	if (err)
		return err;
	err = gp_config_default(&r.config);
	if (!err)
		err = rename_file(r.config, file);
	if (!err)
		err = read_file(&r);
	if (err == -ENOMEM)
		gp_yaml_refuse(&r.yaml, 0, NULL, NULL, "out of memory");
	gp_yaml_close(&r.yaml);
	if (err)
		gp_config_free(r.config);
	else
		*config = r.config;
	return err;
}
