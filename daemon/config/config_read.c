// SPDX-License-Identifier: Apache-2.0
/*
 * config_read.c - parses the values of the file's keys.
 */
#include "daemon/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/config_words.h"
#include "daemon/config/container.h"
#include "daemon/config/glob.h"
#include "runtime/duration.h"
#include "runtime/hook.h"
#include "runtime/size.h"

#define NS_PER_MS 1000000ull
#define QUANTUM_MIN_NS NS_PER_MS
#define QUANTUM_MAX_NS (10000 * NS_PER_MS)
#define LEAVE_LIMIT_MIN_NS 100000u
#define LEAVE_LIMIT_MAX_NS 1000000000u
#define BE_MIN_PCT_MAX 50 /* the core's limit */
#define USER_MAX 1024	  /* tenants, connections */
#define CONTAINER_MIN 12  /* digits, as many as runtimes show */
#define CONTAINER_MAX 64
#define CHOICES_MAX 128

/* State of reading one file. */
struct reader {
	struct gp_yaml yaml; /* first: its callbacks get the reader by it */
	const struct gp_config_names *names;
	struct gp_config *config;
	char choices[CHOICES_MAX];
};

static const struct reader *reader_of(const struct gp_yaml *y)
{
	return (const struct reader *)y;
}

static const struct gp_yaml_type text_type = { .kind = GP_YAML_TEXT, .max = GP_CONFIG_TEXT_MAX };

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

/* Index of @text in @word, which ends with NULL. */
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

/* Set @y->right to a list of the names that @name returns for 0, 1 ... until NULL. */
static void list_choices(struct gp_yaml *y, const char *(*name)(size_t i))
{
	struct reader *r = (struct reader *)y;
	FILE *to = fmemopen(r->choices, sizeof(r->choices), "w");

	y->right = "write one that gpreempt.yaml(5) names";
	if (!to)
		return;
	fprintf(to, "write %s", name(0));
	for (size_t i = 1; name(i); i++)
		fprintf(to, "%s%s", name(i + 1) ? ", " : " or ", name(i));
	if (!fclose(to))
		y->right = r->choices;
}

static const char *be_policy_name(size_t i)
{
	return gp_be_policies[i] ? gp_be_policies[i]->name : NULL;
}

static const char *lc_policy_name(size_t i)
{
	return gp_lc_policies[i] ? gp_lc_policies[i]->name : NULL;
}

static int take_be_policy(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_config_settings *s = to;

	for (size_t i = 0; gp_be_policies[i]; i++)
		if (!strcmp(text, gp_be_policies[i]->name)) {
			s->be_policy = gp_be_policies[i];
			return 0;
		}
	list_choices(y, be_policy_name);
	return -EINVAL;
}

static int take_lc_policy(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_config_settings *s = to;

	for (size_t i = 0; gp_lc_policies[i]; i++)
		if (!strcmp(text, gp_lc_policies[i]->name)) {
			s->lc_policy = gp_lc_policies[i];
			return 0;
		}
	list_choices(y, lc_policy_name);
	return -EINVAL;
}

static int take_be_quantum(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_config_settings *s = to;
	uint64_t ns;

	y->right = "write a time from 1ms to 10s, such as 50ms";
	if (gp_parse_duration(text, &ns) || ns < QUANTUM_MIN_NS || ns > QUANTUM_MAX_NS)
		return -EINVAL;
	s->quantum_ns = ns;
	return 0;
}

static int take_be_min_pct(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_config_settings *s = to;
	uint64_t pct;

	y->right = "write a number from 0 to 50, in percent of the device's time";
	if (take_number(text, BE_MIN_PCT_MAX, &pct))
		return -EINVAL;
	s->be_min_pct = (uint32_t)pct;
	return 0;
}

static int take_be_leave_limit(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_config_settings *s = to;
	uint64_t ns;

	y->right = "write off, or a time from 0.1ms to 1s, such as 1ms";
	if (!strcmp(text, "off")) {
		s->leave_limit_ns = 0;
		return 0;
	}
	if (gp_parse_duration(text, &ns) || ns < LEAVE_LIMIT_MIN_NS || ns > LEAVE_LIMIT_MAX_NS)
		return -EINVAL;
	s->leave_limit_ns = ns;
	return 0;
}

/* A class, or none. */
static int take_class(struct gp_yaml *y, const char *text, struct gp_class_request *out)
{
	if (!strcmp(text, "none")) {
		*out = (struct gp_class_request){ .cls.cls = GP_CLASS_NONE };
		return 0;
	}
	return gp_class_request_parse(text, out, &y->right) ? -EINVAL : 0;
}

static int take_default_class(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_config_settings *s = to;
	struct gp_class_request request;
	int err = take_class(y, text, &request);

	if (!err && request.cls.cls == GP_CLASS_LC) {
		y->right = "write none, be or be:WEIGHT; lc needs a rule";
		err = -EINVAL;
	}
	if (!err)
		s->default_class = request;
	return err;
}

/* Its line is known later. */
static int take_default_max_class(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_config_right right = { .any = !strcmp(text, GP_CONFIG_ANY) };
	int err = right.any ? 0 : take_class(y, text, &right.cls);

	/* Else the class has its own. */
	if (err && strncmp(text, "be", 2) && strncmp(text, "lc", 2))
		y->right = "write any, none, or a class such as be or lc:0";
	if (!err)
		((struct gp_config *)to)->default_max_class = right;
	return err;
}

/* ---- the file's other keys ------------------------------------------------ */

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

static int take_metrics(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_config_metrics m = { 0 };
	struct gp_config *c = to;
	int err = 0;

	y->right = "write off, the path of a socket, 127.0.0.1:PORT or [::1]:PORT; other machines "
		   "have no access";
	if (text[0] == '/') {
		m.kind = GP_CONFIG_METRICS_UNIX;
		y->right = "write a socket path of at most 107 bytes, without / at its end";
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

static int take_log_level(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_config *c = to;
	unsigned int level;

	y->right = "write err, warn, info or debug";
	if (take_word(text, gp_config_log_levels, &level))
		return -EINVAL;
	c->log_level = (int)level;
	return 0;
}

static int take_limit(struct gp_yaml *y, const char *text, uint32_t *out)
{
	uint64_t n;

	y->right = "write a number from 1 to 1024";
	if (take_number(text, USER_MAX, &n) || !n)
		return -EINVAL;
	*out = (uint32_t)n;
	return 0;
}

static int take_tenants(struct gp_yaml *y, const char *text, void *to)
{
	return take_limit(y, text, &((struct gp_config *)to)->user_tenants);
}

static int take_connections(struct gp_yaml *y, const char *text, void *to)
{
	return take_limit(y, text, &((struct gp_config *)to)->user_connections);
}

static int take_size(struct gp_yaml *y, const char *text, uint64_t *bytes)
{
	uint64_t n;

	y->right = "write a size with a unit, such as 20GiB or 512MiB";
	if (gp_parse_size(text, &n) || n == UINT64_MAX)
		return -EINVAL;
	*bytes = n;
	return 0;
}

static int take_host_memory(struct gp_yaml *y, const char *text, void *to)
{
	uint64_t *bytes = &((struct gp_config *)to)->host_memory;
	int err = take_size(y, text, bytes);

	return err || *bytes ? err : -EINVAL;
}

/* ---- rules ------------------------------------- */

static int take_id(struct gp_yaml *y, const char *text, int (*find)(const char *, uint32_t *),
		   uint32_t *id)
{
	uint64_t n;
	int err;

	/* (uid_t)-1 is no user: it means "unchanged" to the kernel. */
	if (text[0] >= '0' && text[0] <= '9') {
		err = take_number(text, UINT32_MAX - 1, &n);
		if (!err)
			*id = (uint32_t)n;
		return err;
	}
	err = *text ? find(text, id) : -ENOENT;
	return err == -ENOMEM ? err : err ? -EINVAL : 0;
}

static int take_user(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err;

	y->right = "write the name of a user of this machine, or a number";
	err = take_id(y, text, reader_of(y)->names->uid, &rule->uid);
	return err ? err : take_copy(&rule->user, text);
}

static int take_group(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err;

	y->right = "write the name of a group of this machine, or a number";
	err = take_id(y, text, reader_of(y)->names->gid, &rule->gid);
	return err ? err : take_copy(&rule->group, text);
}

static int take_cgroup(struct gp_yaml *y, const char *text, void *to)
{
	int err = gp_glob_check(text, &y->right);

	return err ? err : take_copy(&((struct gp_rule *)to)->cgroup, text);
}

static int take_exe(struct gp_yaml *y, const char *text, void *to)
{
	int err = gp_glob_check(text, &y->right);

	if (!err && !text[1]) {
		y->right = "write the path of a program, such as /usr/bin/python3*";
		err = -EINVAL;
	}
	return err ? err : take_copy(&((struct gp_rule *)to)->exe, text);
}

static int take_container(struct gp_yaml *y, const char *text, void *to)
{
	size_t digits = strspn(text, "0123456789abcdef");

	y->right = "write 12 to 64 hexadecimal digits, as docker ps shows them";
	if (text[digits] || digits < CONTAINER_MIN || digits > CONTAINER_MAX)
		return -EINVAL;
	return take_copy(&((struct gp_rule *)to)->container, text);
}

/* Names, which take the patterns of glob.h. */
static int take_pattern(struct gp_yaml *y, const char *text, char **to)
{
	if (strpbrk(text, "?[]{}") || strstr(text, "***"))
		y->right = "write * (within a name) or ** (across /), not ? [ ] { }";
	else if (*text && strlen(text) <= GP_GLOB_MAX)
		return take_copy(to, text);
	else
		y->right = "write a name or a pattern of 1 to 512 bytes";
	return -EINVAL;
}

static int take_namespace(struct gp_yaml *y, const char *text, void *to)
{
	return take_pattern(y, text, &((struct gp_rule *)to)->namespace);
}

static int take_pod(struct gp_yaml *y, const char *text, void *to)
{
	return take_pattern(y, text, &((struct gp_rule *)to)->pod);
}

static int take_image(struct gp_yaml *y, const char *text, void *to)
{
	return take_pattern(y, text, &((struct gp_rule *)to)->image);
}

static int take_annotation(struct gp_yaml *y, const char *text, void *to)
{
	const char *equals = strchr(text, '=');

	y->right = "write KEY=VALUE, such as example.com/team=vision; VALUE may be a pattern";
	if (!equals || equals == text || equals - text > GP_CONTAINER_VALUE_MAX)
		return -EINVAL;
	return take_pattern(y, text, &((struct gp_rule *)to)->annotation);
}

static int take_spec(struct gp_yaml *y, const char *text, struct gp_spec *spec)
{
	y->right = "write a UUID (GPU- and 8 digits or more), a PCI address (0000:3b:00.0) "
		   "or soft0";
	return gp_spec_parse(text, spec);
}

static int take_rule_device(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err = take_spec(y, text, &rule->spec);

	return err ? err : take_copy(&rule->device, text);
}

/* Does any device have a policy that keeps @request's options? */
static int check_kept(struct gp_yaml *y, const struct gp_class_request *request)
{
	const struct gp_config *c = reader_of(y)->config;
	bool caps = c->settings.be_policy->caps;
	bool deadlines = c->settings.lc_policy->deadlines;

	for (size_t i = 0; i < c->device_count; i++) {
		caps |= c->device[i].settings.be_policy->caps;
		deadlines |= c->device[i].settings.lc_policy->deadlines;
	}
	y->right = "caps need be_policy: credit; set it for a device";
	if (request->cap_pct && !caps)
		return -EINVAL;
	y->right = "deadlines need lc_policy: edf; set it for a device";
	return request->period_ns && !deadlines ? -EINVAL : 0;
}

static int take_rule_class(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err = take_class(y, text, &rule->class_given);

	rule->has_class = true;
	return err ? err : check_kept(y, &rule->class_given);
}

static int take_max_class(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err = take_class(y, text, &rule->max_class);

	rule->has_max_class = true;
	return err ? err : check_kept(y, &rule->max_class);
}

static int take_bool(struct gp_yaml *y, const char *text, bool *to)
{
	y->right = "write true or false";
	if (strcmp(text, "true") && strcmp(text, "false"))
		return -EINVAL;
	*to = text[0] == 't';
	return 0;
}

static int take_pool(struct gp_yaml *y, const char *text, void *to)
{
	return take_bool(y, text, &((struct gp_rule *)to)->pool);
}

static int take_gang(struct gp_yaml *y, const char *text, void *to)
{
	return take_bool(y, text, &((struct gp_rule *)to)->gang);
}

static int take_as(struct gp_yaml *y, const char *text, void *to)
{
	y->right = "write one or each";
	((struct gp_rule *)to)->one = !strcmp(text, "one");
	return strcmp(text, "one") && strcmp(text, "each") ? -EINVAL : 0;
}

static int take_percent(struct gp_yaml *y, const char *text, void *to)
{
	uint64_t n;

	y->right = "write a number from 1 to 100, the part of the pool's threads";
	if (take_number(text, 100, &n) || !n)
		return -EINVAL;
	((struct gp_rule *)to)->percent = (uint32_t)n;
	return 0;
}

static int take_memory_min(struct gp_yaml *y, const char *text, void *to)
{
	return take_size(y, text, &((struct gp_rule *)to)->memory.min);
}

static int take_memory_max(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_rule *rule = to;
	int err = take_size(y, text, &rule->memory.max);

	return err || rule->memory.max ? err : -EINVAL;
}

static int take_memory_turns(struct gp_yaml *y, const char *text, void *to)
{
	return take_bool(y, text, &((struct gp_rule *)to)->turns);
}

static int take_url(struct gp_yaml *y, const char *text, char **to)
{
	struct gp_hook_url url;

	y->right = "write a URL such as http://127.0.0.1:8000/sleep";
	return gp_hook_parse_url(text, &url) ? -EINVAL : take_copy(to, text);
}

static int take_memory_hook(struct gp_yaml *y, const char *text, void *to)
{
	return take_url(y, text, &((struct gp_rule *)to)->hook);
}

static int take_memory_wake(struct gp_yaml *y, const char *text, void *to)
{
	return take_url(y, text, &((struct gp_rule *)to)->wake);
}

static int take_hook_limit(struct gp_yaml *y, const char *text, void *to)
{
	uint64_t ns;

	y->right = "write a time up to 60s, such as 10s";
	if (gp_parse_duration(text, &ns) || !ns || ns > GP_HOOK_LIMIT_MAX_NS)
		return -EINVAL;
	((struct gp_rule *)to)->hook_limit_ns = ns;
	return 0;
}

static bool matches_nothing(const struct gp_rule *rule)
{
	return !rule->user && !rule->group && !rule->cgroup && !rule->exe && !rule->container &&
	       !rule->namespace && !rule->pod && !rule->image && !rule->annotation && !rule->device;
}

#define KEY(name, fn)                                       \
	{                                                   \
		.key = name, .type = &text_type, .take = fn \
	}

static const struct gp_yaml_key memory_keys[] = {
	KEY("min", take_memory_min),
	KEY("max", take_memory_max),
	KEY("turns", take_memory_turns),
	KEY("hook", take_memory_hook),
	KEY("wake", take_memory_wake),
	KEY("hook_limit", take_hook_limit),
	{ NULL },
};

static const struct gp_yaml_type memory_type = { .kind = GP_YAML_MAPPING, .keys = memory_keys };

static const struct gp_yaml_key rule_keys[] = {
	KEY("user", take_user),
	KEY("group", take_group),
	KEY("cgroup", take_cgroup),
	KEY("exe", take_exe),
	KEY("container", take_container),
	KEY("namespace", take_namespace),
	KEY("pod", take_pod),
	KEY("image", take_image),
	KEY("annotation", take_annotation),
	KEY("device", take_rule_device),
	KEY("class", take_rule_class),
	KEY("max_class", take_max_class),
	KEY("as", take_as),
	KEY("gang", take_gang),
	KEY("pool", take_pool),
	KEY("percent", take_percent),
	{ .key = "memory", .type = &memory_type },
	{ NULL },
};

/* It has both URLs or none. */
static int check_hook(struct gp_yaml *y, uint32_t line, struct gp_rule *rule)
{
	if (!rule->hook != !rule->wake || (rule->hook_limit_ns && !rule->hook))
		return gp_yaml_refuse(y, line, "memory", NULL,
				      "found one of hook: and wake:, or hook_limit: alone; write "
				      "hook: and wake:");
	if (rule->hook && rule->turns)
		return gp_yaml_refuse(y, line, "memory", NULL,
				      "found hook: beside turns:; write one of them: a turn is a "
				      "move");
	if (rule->hook && !rule->hook_limit_ns)
		rule->hook_limit_ns = GP_HOOK_LIMIT_NS;
	return 0;
}

/* A program has its limits before it is executed, and for all devices. */
static int check_memory(struct gp_yaml *y, yaml_node_t *node, struct gp_rule *rule)
{
	yaml_node_t *memory = gp_yaml_value(y, node, "memory");
	const uint32_t line = memory ? gp_yaml_line(memory) : 0;

	if (!memory)
		return 0;
	if (rule->memory.min == UINT64_MAX && rule->memory.max == UINT64_MAX && !rule->turns &&
	    !rule->hook && !rule->wake && !rule->hook_limit_ns)
		return gp_yaml_refuse(y, line, "memory", NULL,
				      "found without a limit; write min:, max:, turns: true or "
				      "hook:");
	if (rule->turns && rule->pool)
		return gp_yaml_refuse(y, line, "memory", NULL,
				      "found turns: beside pool:; write one of them: memory of a "
				      "pool's programs stays");
	if (rule->memory.min > rule->memory.max && rule->memory.min != UINT64_MAX)
		return gp_yaml_refuse(y, line, "memory", NULL,
				      "found a min: over max:; write a smaller one");
	if (rule->exe || rule->device)
		return gp_yaml_refuse(
			y, line, "memory", NULL,
			"found beside %s:; write user, group, cgroup or container: gpreempt run "
			"sets the limits before it executes CMD, for all devices",
			rule->exe ? "exe" : "device");
	return check_hook(y, line, rule);
}

static int read_rule(struct gp_yaml *y, yaml_node_t *node, struct gp_rule *rule)
{
	int err;

	rule->line = gp_yaml_line(node);
	rule->memory = (struct gp_size_range){ UINT64_MAX, UINT64_MAX };
	err = gp_yaml_take(y, node, rule_keys, rule);
	if (err)
		return err;
	if (matches_nothing(rule))
		return gp_yaml_refuse(
			y, rule->line, "rules", NULL,
			"found a rule without a condition; name a user, group, cgroup, exe, "
			"container, namespace, pod, image, annotation or device (default_class: "
			"applies to all other processes)");
	err = check_memory(y, node, rule);
	if (err)
		return err;
	if (!rule->has_class && !rule->has_max_class && !gp_yaml_value(y, node, "memory"))
		return gp_yaml_refuse(y, rule->line, "rules", NULL,
				      "found a rule without a class; write class:, max_class: or "
				      "memory:");
	if (rule->one && !rule->cgroup)
		return gp_yaml_refuse(y, rule->line, "as", NULL,
				      "found without a cgroup; add cgroup: its processes are one");
	if (rule->percent && !rule->pool)
		return gp_yaml_refuse(y, rule->line, "percent", NULL,
				      "found without a pool; add pool: true");
	if (rule->pool && rule->exe)
		return gp_yaml_refuse(y, rule->line, "pool", NULL,
				      "found beside exe:; write user, group, cgroup or container: "
				      "gpreempt run chooses the pool before it executes CMD");
	return 0;
}

static int read_rules(struct gp_yaml *y, struct gp_config *c)
{
	yaml_node_t *list = gp_yaml_value(y, gp_yaml_root(y), "rules");
	const size_t count = gp_yaml_entries(list);
	int err = 0;

	if (!count)
		return 0;
	c->rule = calloc(count, sizeof(*c->rule));
	if (!c->rule)
		return -ENOMEM;
	c->rule_count = count;
	for (size_t i = 0; !err && i < count; i++)
		err = read_rule(y, gp_yaml_entry(y, list, i), &c->rule[i]);
	return err;
}

/* ---- devices ------------------------------------- */

static int take_device(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_config_device *d = to;
	int err = take_spec(y, text, &d->spec);

	return err ? err : take_copy(&d->text, text);
}

#define SETTING(name, of, fn)                                              \
	{                                                                  \
		name, &text_type, false, offsetof(struct of, settings), fn \
	}
#define SETTINGS(of)                                                                        \
	SETTING("be_policy", of, take_be_policy), SETTING("lc_policy", of, take_lc_policy), \
		SETTING("be_quantum", of, take_be_quantum),                                 \
		SETTING("be_min_pct", of, take_be_min_pct),                                 \
		SETTING("be_leave_limit", of, take_be_leave_limit),                         \
		SETTING("default_class", of, take_default_class)

static const struct gp_yaml_key device_keys[] = {
	KEY("device", take_device),
	SETTINGS(gp_config_device),
	{ NULL },
};

static bool same_spec(const struct gp_spec *a, const struct gp_spec *b)
{
	return a->kind == b->kind && a->soft == b->soft && a->uuid_digits == b->uuid_digits &&
	       !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) && a->pci_domain == b->pci_domain &&
	       a->pci_bus == b->pci_bus && a->pci_dev == b->pci_dev && a->pci_fn == b->pci_fn;
}

static int check_device(struct gp_yaml *y, uint32_t line, const struct gp_config_device *d)
{
	const struct gp_config *c = reader_of(y)->config;

	if (!d->text)
		return gp_yaml_refuse(y, line, "devices", NULL,
				      "found an entry without a device; write device: first");
	for (const struct gp_config_device *other = c->device; other < d; other++)
		if (same_spec(&other->spec, &d->spec))
			return gp_yaml_refuse(y, line, "device", d->text,
					      "another entry names this device; write one");
	return 0;
}

static int read_device(struct gp_yaml *y, yaml_node_t *node, struct gp_config_device *d)
{
	int err;

	d->settings = reader_of(y)->config->settings;
	err = gp_yaml_take(y, node, device_keys, d);
	return err ? err : check_device(y, gp_yaml_line(node), d);
}

static int read_devices(struct gp_yaml *y, struct gp_config *c)
{
	yaml_node_t *list = gp_yaml_value(y, gp_yaml_root(y), "devices");
	const size_t count = gp_yaml_entries(list);
	int err = 0;

	if (!count)
		return 0;
	c->device = calloc(count, sizeof(*c->device));
	if (!c->device)
		return -ENOMEM;
	c->device_count = count;
	for (size_t i = 0; !err && i < count; i++)
		err = read_device(y, gp_yaml_entry(y, list, i), &c->device[i]);
	return err;
}

/* ---- all together ----------------------------------- */

static const struct gp_yaml_type device_type = { .kind = GP_YAML_MAPPING, .keys = device_keys };
static const struct gp_yaml_type rule_type = { .kind = GP_YAML_MAPPING, .keys = rule_keys };
static const struct gp_yaml_type devices_type = { GP_YAML_LIST, 0, GP_CONFIG_DEVICES_MAX,
						  &device_type, NULL };
static const struct gp_yaml_type rules_type = { GP_YAML_LIST, 0, GP_CONFIG_RULES_MAX, &rule_type,
						NULL };

static const struct gp_yaml_key limits_keys[] = {
	KEY("tenants", take_tenants),
	KEY("connections", take_connections),
	{ NULL },
};

static const struct gp_yaml_type limits_type = { .kind = GP_YAML_MAPPING, .keys = limits_keys };

static const struct gp_yaml_key file_keys[] = {
	SETTINGS(gp_config),
	KEY("default_max_class", take_default_max_class),
	KEY("metrics_listen", take_metrics),
	KEY("log_level", take_log_level),
	{ .key = "limits_per_user", .type = &limits_type },
	KEY("host_memory", take_host_memory),
	{ .key = "devices", .type = &devices_type },
	{ .key = "rules", .type = &rules_type },
	{ NULL },
};

/* After all policies are known. @mapping: its place in the file. */
static int check_default_class(struct gp_yaml *y, yaml_node_t *mapping,
			       const struct gp_config_settings *s)
{
	yaml_node_t *node = gp_yaml_value(y, mapping, "default_class");

	return node && check_kept(y, &s->default_class) ?
		       gp_yaml_refuse_value(y, node, "default_class") :
		       0;
}

static int check_default_right(struct gp_yaml *y, struct gp_config_right *right)
{
	yaml_node_t *node = gp_yaml_value(y, gp_yaml_root(y), "default_max_class");

	if (!node)
		return 0;
	right->line = gp_yaml_line(node);
	return !right->any && check_kept(y, &right->cls) ?
		       gp_yaml_refuse_value(y, node, "default_max_class") :
		       0;
}

static int check_default_classes(struct gp_yaml *y, struct gp_config *c)
{
	yaml_node_t *root = gp_yaml_root(y), *list = gp_yaml_value(y, root, "devices");
	int err = check_default_class(y, root, &c->settings);

	if (!err)
		err = check_default_right(y, &c->default_max_class);

	for (size_t i = 0; !err && i < c->device_count; i++)
		err = check_default_class(y, gp_yaml_entry(y, list, i), &c->device[i].settings);
	return err;
}

static int read_file(struct gp_yaml *y, struct gp_config *c)
{
	int err = gp_yaml_take(y, gp_yaml_root(y), file_keys, c);

	if (!err)
		err = read_devices(y, c);
	if (!err)
		err = check_default_classes(y, c);
	return err ? err : read_rules(y, c);
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
	struct reader r = { .names = names };
	int err = gp_yaml_open(&r.yaml, file_keys, file, text, bytes, why, len);

	if (err)
		return err;
	err = gp_config_default(&r.config);
	if (!err)
		err = rename_file(r.config, file);
	if (!err)
		err = read_file(&r.yaml, r.config);
	if (err == -ENOMEM)
		gp_yaml_refuse(&r.yaml, 0, NULL, NULL, "out of memory; free some, then try again");
	gp_yaml_close(&r.yaml);
	if (err)
		gp_config_free(r.config);
	else
		*config = r.config;
	return err;
}
