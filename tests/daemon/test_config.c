// SPDX-License-Identifier: Apache-2.0
/* gpreempt.yaml: valid files, and the exact message for invalid ones. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpreempt/gpreempt.h"

#include "daemon/config/config.h"
#include "tests/common/gp_test.h"

#define MS 1000000ull
#define EXAMPLE "daemon/gpreempt.yaml"

/* Number of further calls that get memory; -1: all. The linker puts these before the real ones. */
static int allocations_left = -1;

void *__real_calloc(size_t n, size_t size);
char *__real_strdup(const char *text);
void *__wrap_calloc(size_t n, size_t size);
char *__wrap_strdup(const char *text);

static bool may_allocate(void)
{
	if (allocations_left > 0)
		allocations_left--;
	else if (!allocations_left)
		return false;
	return true;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return may_allocate() ? __real_calloc(n, size) : NULL;
}

char *__wrap_strdup(const char *text)
{
	return may_allocate() ? __real_strdup(text) : NULL;
}

static int uid_of(const char *name, uid_t *uid)
{
	*uid = strcmp(name, "root") ? 1000 : 0;
	return !*uid || !strcmp(name, "alice") ? 0 :
	       !strcmp(name, "oom")	       ? -ENOMEM :
	       !strcmp(name, "away")	       ? -EIO :
						 -ENOENT;
}

static int gid_of(const char *name, gid_t *gid)
{
	*gid = strcmp(name, "root") ? 2000 : 0;
	return !*gid || !strcmp(name, "ml") ? 0 : -ENOENT;
}

static const struct gp_config_names names = { .uid = uid_of, .gid = gid_of };

static struct gp_config *loads_bytes(const char *text, size_t bytes)
{
	char why[GP_CONFIG_WHY_LEN] = "untouched";
	struct gp_config *c = NULL;
	int err = gp_config_parse("f", text, bytes, &names, &c, why, sizeof(why));

	if (err)
		fail_msg("%.*s: %d, %s", (int)bytes, text, err, why);
	assert_string_equal(why, "untouched");
	return c;
}

static struct gp_config *loads(const char *text)
{
	return loads_bytes(text, strlen(text));
}

static char *print(const struct gp_config *c)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	assert_non_null(f);
	assert_int_equal(gp_config_print(c, f), 0);
	fclose(f);
	return text;
}

/* Its printed form loads, is equal, and prints the same. */
static void round_trip(const struct gp_config *c)
{
	char *text = print(c), *text_again;
	struct gp_config *again = loads(text);

	text_again = print(again);
	assert_true(gp_config_equal(c, again));
	assert_string_equal(text, text_again);
	free(text);
	free(text_again);
	gp_config_free(again);
}

static void refuses_bytes(const char *text, size_t bytes, const char *line)
{
	struct gp_config *const untouched = (void *)0x5a5a;
	struct gp_config *c = untouched;
	char why[GP_CONFIG_WHY_LEN] = "";
	int err = gp_config_parse("f", text, bytes, &names, &c, why, sizeof(why));

	if (err != -EINVAL || strcmp(why, line))
		fail_msg("%.*s: %d,\n%s\ninstead of\n%s", bytes < 999 ? (int)bytes : 999, text, err,
			 why, line);
	assert_ptr_equal(c, untouched);
}

/* ---- valid files ----------------------------------- */

static void test_defaults(void **state)
{
	struct gp_config *c = loads("be_policy: fair\n"), *none;

	assert_int_equal(gp_config_default(&none), 0);
	assert_true(gp_config_equal(c, none));
	assert_ptr_equal(none->settings.be_policy, &gp_policy_fair);
	assert_ptr_equal(none->settings.lc_policy, &gp_policy_level);
	assert_int_equal(none->settings.quantum_ns, 50 * MS);
	assert_int_equal(none->settings.be_min_pct, 5);
	assert_int_equal(none->settings.leave_limit_ns, 3000000);
	assert_int_equal(none->settings.default_class.cls.cls, GP_CLASS_NONE);
	assert_true(none->default_max_class.any);
	assert_int_equal(none->default_max_class.line, 0);
	assert_int_equal(none->metrics.kind, GP_CONFIG_METRICS_OFF);
	assert_int_equal(none->log_level, GP_LOG_INFO);
	assert_int_equal(none->user_tenants, 64);
	assert_int_equal(none->user_connections, 64);
	assert_true(none->host_memory == UINT64_MAX);
	assert_int_equal(none->device_count + none->rule_count, 0);
	round_trip(none);
	gp_config_free(c);
	gp_config_free(none);
	gp_config_free(NULL);
}

static void test_everything(void **state)
{
	struct gp_config *c = loads("be_policy: credit\n"
				    "lc_policy: edf\n"
				    "be_quantum: 20ms\n"
				    "be_min_pct: 10\n"
				    "be_leave_limit: 2.5ms\n"
				    "default_class: be:50,cap=20%\n"
				    "metrics_listen: /run/gpreempt/metrics.sock\n"
				    "log_level: debug\n"
				    "limits_per_user: {tenants: 10, connections: 1024}\n"
				    "devices:\n"
				    "  - device: soft0\n"
				    "    be_policy: rr\n"
				    "    default_class: none\n"
				    "  - be_quantum: 1s\n"
				    "    device: GPU-01234567\n"
				    "rules:\n"
				    "  - user: alice\n"
				    "    group: ml\n"
				    "    cgroup: /system.slice/*.service\n"
				    "    exe: \"/opt/caf\\u00e9/**\"\n"
				    "    container: 0123456789ab\n"
				    "    device: 0000:3b:00.0\n"
				    "    class: lc:1,period=20ms,runtime=2ms\n"
				    "    max_class: lc\n"
				    "\n"
				    "  - user: 4294967294\n"
				    "    class: none\n"
				    "default_max_class: lc:2\n");
	const struct gp_config_settings *s = &c->settings;
	const struct gp_rule *r = c->rule;

	assert_string_equal(c->file, "f");
	assert_ptr_equal(s->be_policy, &gp_policy_credit);
	assert_ptr_equal(s->lc_policy, &gp_policy_edf);
	assert_int_equal(s->quantum_ns, 20 * MS);
	assert_int_equal(s->be_min_pct, 10);
	assert_int_equal(s->leave_limit_ns, 2500000);
	assert_int_equal(s->default_class.cls.value, 50);
	assert_int_equal(s->default_class.cap_pct, 20);
	assert_int_equal(c->metrics.kind, GP_CONFIG_METRICS_UNIX);
	assert_string_equal(c->metrics.path, "/run/gpreempt/metrics.sock");
	assert_int_equal(c->log_level, GP_LOG_DEBUG);
	assert_int_equal(c->user_tenants, 10);
	assert_int_equal(c->user_connections, 1024);
	assert_false(c->default_max_class.any);
	assert_int_equal(c->default_max_class.cls.cls.cls, GP_CLASS_LC);
	assert_int_equal(c->default_max_class.cls.cls.value, 2);
	assert_int_equal(c->default_max_class.line, 28);

	/* A device's entry inherits missing values. */
	assert_int_equal(c->device_count, 2);
	assert_ptr_equal(c->device[0].settings.be_policy, &gp_policy_rr);
	assert_int_equal(c->device[0].settings.quantum_ns, 20 * MS);
	assert_int_equal(c->device[0].settings.default_class.cls.cls, GP_CLASS_NONE);
	assert_ptr_equal(c->device[1].settings.be_policy, &gp_policy_credit);
	assert_int_equal(c->device[1].settings.quantum_ns, 1000 * MS);
	assert_int_equal(c->device[1].settings.default_class.cls.value, 50);

	assert_int_equal(c->rule_count, 2);
	assert_int_equal(r->line, 17);
	assert_int_equal(r->uid, 1000);
	assert_int_equal(r->gid, 2000);
	assert_string_equal(r->cgroup, "/system.slice/*.service");
	assert_string_equal(r->exe, "/opt/caf\xc3\xa9/**");
	assert_string_equal(r->container, "0123456789ab");
	assert_int_equal(r->spec.kind, GP_SPEC_PCI);
	assert_int_equal(r->class_given.deadline_ns, 20 * MS);
	assert_true(r->has_max_class && r->max_class.cls.cls == GP_CLASS_LC);
	assert_int_equal(r[1].line, 26);
	assert_int_equal(r[1].uid, 4294967294u);
	assert_null(r[1].exe);
	assert_true(r[1].has_class && !r[1].has_max_class);
	round_trip(c);
	gp_config_free(c);
}

static void test_settings_of(void **state)
{
	struct gp_config *c = loads("devices:\n- {device: soft1, be_policy: rr}\n"
				    "- {device: GPU-00112233, be_policy: credit}\n");
	struct gp_device_id id = { .name = "soft0" };

	assert_ptr_equal(gp_config_settings_of(c, &id), &c->settings);
	strcpy(id.name, "soft1");
	assert_ptr_equal(gp_config_settings_of(c, &id)->be_policy, &gp_policy_rr);
	memcpy(id.uuid, "\x00\x11\x22\x33", 4);
	strcpy(id.name, "NVIDIA H200");
	assert_ptr_equal(gp_config_settings_of(c, &id)->be_policy, &gp_policy_credit);
	gp_config_free(c);
}

/* Each loads, and its printed form is equal. */
static void test_forms(void **state)
{
	static const char *const good[] = {
		"rules: []\n",
		"limits_per_user: {}\n",
		"%YAML 1.1\n---\nbe_policy: rr\n...\n",
		"be_policy: fair\r\nbe_quantum: 1ms\r\n",
		"\"be_policy\": 'rr'\n",
		"be_policy: |-\n  rr\n",
		"# a word\n\n{be_policy: rr, devices: []}",
		"be_quantum: 10s\nbe_min_pct: 0\n",
		"be_quantum: 1.5ms\nbe_min_pct: 50\n",
		"be_leave_limit: off\n",
		"be_leave_limit: 1s\n",
		"be_quantum: 1000001ns\n",
		"metrics_listen: off\n",
		"metrics_listen: 127.0.0.1:9464\n",
		"metrics_listen: 127.255.255.255:65535\n",
		"metrics_listen: \"[::1]:1\"\n",
		"metrics_listen: /a b\n",
		"metrics_listen: \"/\\\"\\\\#: - \\u00fc\"\n",
		"default_class: be\n",
		"default_max_class: any\n",
		"default_max_class: none\n",
		"default_max_class: be:3\n",
		"lc_policy: edf\ndefault_max_class: 'lc:1,period=2ms,runtime=1ms'\n",
		"rules:\n- user: 0\n  class: none\n",
		"rules:\n- group: '0'\n  max_class: be:1\n",
		"rules:\n- {cgroup: /, class: be}\n",
		"rules:\n- {cgroup: /a, class: be, as: one}\n",
		"rules:\n- {cgroup: /a, class: be, as: each}\n",
		"rules:\n- {user: 1, class: be, gang: true}\n",
		"rules:\n- {user: 1, class: be, gang: false}\n",
		"rules:\n- {user: 1, class: be, pool: true}\n",
		"rules:\n- {user: 1, class: be, pool: true, percent: 100}\n",
		"rules:\n- {user: 1, class: be, pool: false}\n",
		"rules:\n- {user: 1, memory: {max: 20GiB}}\n",
		"rules:\n- {user: 1, memory: {min: 0B}}\n",
		"rules:\n- {user: 1, class: be, memory: {min: 1536MiB, max: 1TiB}}\n",
		"rules:\n- {user: 1, memory: {turns: true}}\n",
		"rules:\n- {user: 1, memory: {hook: 'http://localhost:1/a', wake: "
		"'http://127.0.0.1:65535/b?c=1', hook_limit: 60s}}\n",
		"rules:\n- {user: 1, memory: {hook: 'http://localhost:1/a', wake: "
		"'http://localhost:1/'}}\n",
		"rules:\n- {user: 1, memory: {max: 1GiB, turns: false}}\n",
		"host_memory: 64GiB\n",
		"rules:\n- {cgroup: '/x y/*', class: be}\n",
		"rules:\n- {exe: /**/python3*, class: be}\n",
		"rules:\n- {exe: '/a\\x2d: b #c', class: be}\n",
		"rules:\n- {exe: '/\xe2\x82\xac/\xf0\x9f\x98\x80', class: be}\n",
		"rules:\n- {container: 012345678901, max_class: none}\n",
		"rules:\n- {device: GPU-00112233-4455, class: be}\n",
		"devices:\n- device: 3b:00.0\n- device: 0001:3b:00.0\n- device: soft0\n",
		"be_policy: credit\nrules:\n- {user: 1, class: 'be:3,cap=1%'}\n",
		/* One of the devices keeps it. */
		"devices: [{device: soft0, be_policy: credit}]\n"
		"default_class: be,cap=5%\n",
		"devices: [{device: soft0, lc_policy: edf}]\n"
		"rules: [{user: 1, max_class: 'lc:15,runtime=1ms,period=3ms,deadline=2ms'}]\n",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct gp_config *c = loads(good[i]);

		round_trip(c);
		gp_config_free(c);
	}
}

/* Configurations that differ in one value are not equal. */
static void test_equal(void **state)
{
	static const char *const one[] = {
		"be_policy: fair",
		"be_policy: rr",
		"lc_policy: edf",
		"be_quantum: 1ms",
		"be_min_pct: 6",
		"be_leave_limit: 2ms",
		"default_class: be",
		"default_class: be:2",
		"default_max_class: none",
		"default_max_class: be",
		"default_max_class: be:2",
		"metrics_listen: /m",
		"metrics_listen: /n",
		"metrics_listen: 127.0.0.1:1",
		"metrics_listen: 127.0.0.2:1",
		"metrics_listen: 127.0.0.1:2",
		"metrics_listen: '[::1]:1'",
		"log_level: err",
		"limits_per_user: {tenants: 1}",
		"limits_per_user: {connections: 1}",
		"devices: [{device: soft0}]",
		"devices: [{device: soft1}]",
		"devices: [{device: soft1, be_policy: rr}]",
		"rules: [{user: 1, class: be}]",
		"rules: [{user: 2, class: be}]",
		"rules: [{user: alice, class: be}]",
		"rules: [{group: 1, class: be}]",
		"rules: [{cgroup: /1, class: be}]",
		"rules: [{exe: /1, class: be}]",
		"rules: [{exe: /2, class: be}]",
		"rules: [{device: soft0, class: be}]",
		"rules: [{container: 0123456789ab, class: be}]",
		"rules: [{namespace: a, class: be}]",
		"rules: [{pod: a, class: be}]",
		"rules: [{image: a, class: be}]",
		"rules: [{annotation: a=b, class: be}]",
		"rules: [{user: 1, class: lc}]",
		"rules: [{user: 1, max_class: lc}]",
		"rules: [{user: 1, class: be, max_class: lc}]",
		"rules: [{cgroup: /a, class: be}]",
		"rules: [{cgroup: /a, class: be, as: one}]",
		"rules: [{cgroup: /a, class: be, gang: true}]",
		"rules: [{user: 1, class: be, pool: true}]",
		"rules: [{user: 1, class: be, pool: true, percent: 1}]",
		"rules: [{user: 1, class: be, pool: true, percent: 2}]",
		"rules: [{user: 1, class: be}, {user: 1, class: be}]",
		"rules: [{user: 1, class: be, memory: {max: 1GiB}}]",
		"rules: [{user: 1, class: be, memory: {min: 1GiB}}]",
		"rules: [{user: 1, class: be, memory: {min: 1GiB, max: 1GiB}}]",
		"rules: [{user: 1, class: be, memory: {max: 1GiB, turns: true}}]",
		"rules: [{user: 1, class: be, memory: {hook: 'http://localhost:1/', wake: "
		"'http://localhost:1/'}}]",
		"rules: [{user: 1, class: be, memory: {hook: 'http://localhost:2/', wake: "
		"'http://localhost:1/'}}]",
		"rules: [{user: 1, class: be, memory: {hook: 'http://localhost:1/', wake: "
		"'http://localhost:2/'}}]",
		"rules: [{user: 1, class: be, memory: {hook: 'http://localhost:1/', wake: "
		"'http://localhost:1/', hook_limit: 1s}}]",
		"host_memory: 1GiB",
	};
	const size_t count = sizeof(one) / sizeof(one[0]);
	struct gp_config *c[sizeof(one) / sizeof(one[0])];

	for (size_t i = 0; i < count; i++)
		c[i] = loads(one[i]);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			if (gp_config_equal(c[i], c[k]) != (i == k))
				fail_msg("%s and %s", one[i], one[k]);
	for (size_t i = 0; i < count; i++)
		gp_config_free(c[i]);
}

/* ---- invalid files ----------------------------------------- */

#define TOP_KEYS                                                                        \
	"be_policy, lc_policy, be_quantum, be_min_pct, be_leave_limit, default_class, " \
	"default_max_class, "                                                           \
	"metrics_listen, log_level, limits_per_user, host_memory, devices, rules"
#define RULE_KEYS                                                                                 \
	"user, group, cgroup, exe, container, namespace, pod, image, annotation, device, class, " \
	"max_class, as, gang, pool, percent, memory"
#define NOT_YAML                                                                         \
	"; write KEY: VALUE, indent with blanks, not tabs, and quote a value with { or " \
	"a colon"
#define NO_WAKE                                                                             \
	"f:3: memory: found one of hook: and wake:, or hook_limit: alone; write hook: and " \
	"wake:"
#define NOBODY                                                                                   \
	"f:2: rules: found a rule without a condition; name a user, group, cgroup, exe, "        \
	"container, namespace, pod, image, annotation or device (default_class: applies to all " \
	"other processes)"
#define NO_METRICS                                                        \
	"write off, the path of a socket, 127.0.0.1:PORT or [::1]:PORT; " \
	"other machines have no access"

struct bad {
	const char *text;
	const char *line;
};

static void refuses_all(const struct bad *bad, size_t count)
{
	for (size_t i = 0; i < count; i++)
		refuses_bytes(bad[i].text, strlen(bad[i].text), bad[i].line);
}

static void test_not_yaml(void **state)
{
	static const struct bad bad[] = {
		{ "", "f:1: found nothing; write KEY: VALUE, keys here are " TOP_KEYS },
		{ "\n\n# only this\n",
		  "f:1: found nothing; write KEY: VALUE, keys here are " TOP_KEYS },
		{ "{}", "f:1: found nothing; write KEY: VALUE, keys here are " TOP_KEYS },
		{ "---\n", "f:2: found nothing; write KEY: VALUE, keys here are " TOP_KEYS },
		{ "fair\n", "f:1: found one value; write KEY: VALUE, keys here are " TOP_KEYS },
		{ "\n- fair\n", "f:2: found a list; write KEY: VALUE, keys here are " TOP_KEYS },
		{ "be_policy: fair\n\tbe_quantum: 1s\n",
		  "f:2: not YAML: found a tab character that violates indentation" NOT_YAML },
		{ "be_policy: \"fair\n", "f:2: not YAML: found unexpected end of stream" NOT_YAML },
		{ "be_policy: fair\n  be_quantum: 1s\n",
		  "f:2: not YAML: mapping values are not allowed in this context" NOT_YAML },
		{ "be_policy: fair\n]\n", "f:2: not YAML: did not find expected key" NOT_YAML },
		{ "be_policy: fair\n---\nbe_policy: fair\n",
		  "f:2: found a second document; write one, without ---" },
		{ "be_policy: f\xe4ir\n", "f:1: found byte 0xe4; write UTF-8 text" },
		{ "\nbe_policy: \xed\xa0\x80\n", "f:2: found byte 0xed; write UTF-8 text" },
		{ "\r\nbe_policy: \xc0\x80\n", "f:2: found byte 0xc0; write UTF-8 text" },
		{ "\r\rbe_policy: \xf4\x90\x80\x80", "f:3: found byte 0xf4; write UTF-8 text" },
		{ "be_policy: \xe2\x82", "f:1: found byte 0xe2; write UTF-8 text" },
		{ "# \x1b[31m\n", "f:1: found character U+001B; leave it out" },
		{ "be_policy: fair # \xe2\x80\xa8\n", "f:1: found character U+2028; leave it out" },
		{ "\xef\xbb\xbfpolicy: fair\n", "f:1: found character U+FEFF; leave it out" },
		{ "# \xc2\x85\n", "f:1: found character U+0085; leave it out" },
		{ "# \xef\xbf\xbf\n", "f:1: found character U+FFFF; leave it out" },
		{ "\n\nbe_policy: \"fair\\n\"\n", "f:3: found a line break or a control character "
						  "in a value; write the value in one line" },
		{ "be_policy: \"fa\\0ir\"\n", "f:1: found a line break or a control character in a "
					      "value; write the value in one line" },
		{ "be_policy: |\n  fair\n", "f:1: found a line break or a control character in a "
					    "value; write the value in one line" },
		{ "be_policy: &p fair\n",
		  "f:1: found the anchor &p; write the value where it is needed" },
		{ "be_policy: fair\nrules: &r\n- user: 0\n",
		  "f:2: found the anchor &r; write the value where it is needed" },
		{ "be_policy: fair\nrules: *r\n",
		  "f:2: found the alias *r; write the value itself" },
		{ "be_policy: !!str fair\n", "f:1: found the tag tag:yaml.org,2002:str; "
					     "write the value without a tag" },
		{ "rules: !x [1]\n", "f:1: found the tag !x; write the value without a tag" },
		{ "rules:\n- [[[1]]]\n",
		  "f:2: found more than 4 nested lists and mappings; write fewer levels" },
	};

	refuses_all(bad, sizeof(bad) / sizeof(bad[0]));
	refuses_bytes("be_policy: \0", 12, "f:1: found character U+0000; leave it out");
	/* UTF-16, which libyaml would take. */
	refuses_bytes("\xff\xfep\0", 4, "f:1: found byte 0xff; write UTF-8 text");
}

static void test_keys_refused(void **state)
{
	static const struct bad bad[] = {
		{ "be_policy: fair\npolcy: rr\n",
		  "f:2: polcy: no such key; keys here are " TOP_KEYS },
		{ "Policy: rr\n", "f:1: Policy: no such key; keys here are " TOP_KEYS },
		{ "<<: {be_policy: rr}\n", "f:1: <<: no such key; keys here are " TOP_KEYS },
		{ "be_policy: fair\nbe_quantum: 1s\nbe_policy: rr\n",
		  "f:3: be_policy: found a second time, first in line 1; write it once" },
		{ "rules:\n- user: 0\n  user: 0\n",
		  "f:3: user: found a second time, first in line 2; write it once" },
		{ "rules:\n- user: 0\n  klass: be\n",
		  "f:3: klass: no such key; keys here are " RULE_KEYS },
		{ "devices:\n- device: soft0\n  metrics_listen: off\n",
		  "f:3: metrics_listen: no such key; keys here are device, be_policy, lc_policy, "
		  "be_quantum, be_min_pct, be_leave_limit, default_class" },
		{ "devices:\n- device: soft0\n  default_max_class: any\n",
		  "f:3: default_max_class: no such key; keys here are device, be_policy, "
		  "lc_policy, "
		  "be_quantum, be_min_pct, be_leave_limit, default_class" },
		{ "limits_per_user:\n  rules: 1\n",
		  "f:2: rules: no such key; keys here are tenants, connections" },
		{ "be_policy: [fair]\n", "f:1: be_policy: found a list; write one value" },
		{ "be_policy: {fair: 1}\n", "f:1: be_policy: found a mapping; write one value, "
					    "in quotes if it begins with {" },
		{ "be_policy:\n", "f:1: be_policy: found ''; write fair, credit or rr" },
		{ "? [policy]\n: fair\n",
		  "f:1: found a list where a key goes; keys here are " TOP_KEYS },
		{ "rules:\n", "f:1: rules: found nothing; write a list, a dash before each entry" },
		{ "rules:\n  user: 0\n",
		  "f:2: rules: found a mapping; write a list, a dash before each entry" },
		{ "rules:\n- alice\n",
		  "f:2: rules: found one value; write KEY: VALUE, keys here are " RULE_KEYS },
		{ "limits_per_user: 3\n", "f:1: limits_per_user: found one value; "
					  "write KEY: VALUE, keys here are tenants, connections" },
	};

	refuses_all(bad, sizeof(bad) / sizeof(bad[0]));
}

static void test_values_refused(void **state)
{
	static const char quantum[] = "write a time from 1ms to 10s, such as 50ms";
	static const char pct[] = "write a number from 0 to 50, in percent of the device's time";
	static const char leave[] = "write off, or a time from 0.1ms to 1s, such as 1ms";
	static const char no_lc[] = "write none, be or be:WEIGHT; lc needs a rule";
	static const char path[] = "write a socket path of at most 107 bytes, without / at its end";
	static const char metrics[] = NO_METRICS;
	static const struct {
		const char *key, *value, *right;
	} bad[] = {
		{ "be_policy", "Fair", "write fair, credit or rr" },
		{ "be_policy", "edf", "write fair, credit or rr" },
		{ "lc_policy", "fair", "write level, sjf or edf" },
		{ "log_level", "verbose", "write err, warn, info or debug" },
		{ "be_quantum", "50", quantum },
		{ "be_quantum", "0.9ms", quantum },
		{ "be_quantum", "11s", quantum },
		{ "be_quantum", "50 ms", quantum },
		{ "be_quantum", "1e3ms", quantum },
		{ "be_quantum", "99999999999999999999s", quantum },
		{ "be_min_pct", "", pct },
		{ "be_min_pct", "51", pct },
		{ "be_min_pct", "05", pct },
		{ "be_min_pct", "5%", pct },
		{ "be_min_pct", "-5", pct },
		{ "be_min_pct", "99999999999999999999", pct },
		{ "be_leave_limit", "0", leave },
		{ "be_leave_limit", "0.09ms", leave },
		{ "be_leave_limit", "1.1s", leave },
		{ "be_leave_limit", "never", leave },
		{ "default_class", "lc", no_lc },
		{ "default_class", "lc:3", no_lc },
		{ "default_class", "be:0", "weights are be:1 to be:10000" },
		{ "default_class", "nobody", "write lc, lc:LEVEL, be or be:WEIGHT" },
		{ "default_class", "be,cap=20%",
		  "caps need be_policy: credit; set it for a device" },
		{ "default_max_class", "all", "write any, none, or a class such as be or lc:0" },
		{ "default_max_class", "be:0", "weights are be:1 to be:10000" },
		{ "default_max_class", "be,cap=20%",
		  "caps need be_policy: credit; set it for a device" },
		{ "default_max_class", "lc,period=2ms,runtime=1ms",
		  "deadlines need lc_policy: edf; set it for a device" },
		{ "metrics_listen", "0.0.0.0:9464", metrics },
		{ "metrics_listen", "127.0.0.1", metrics },
		{ "metrics_listen", "127.0.0.1:0", metrics },
		{ "metrics_listen", "127.0.0.1:65536", metrics },
		{ "metrics_listen", "127.0.0.256:1", metrics },
		{ "metrics_listen", "127.0.0.01:1", metrics },
		{ "metrics_listen", "127.0.1:1", metrics },
		{ "metrics_listen", "128.0.0.1:1", metrics },
		{ "metrics_listen", "localhost:9464", metrics },
		{ "metrics_listen", "[::]:9464", metrics },
		{ "metrics_listen", "[::1]:", metrics },
		{ "metrics_listen", ":9464", metrics },
		{ "metrics_listen", "metrics.sock", metrics },
		{ "metrics_listen", "yes", metrics },
		{ "metrics_listen", "/run/", path },
	};
	char text[256], line[GP_CONFIG_WHY_LEN];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%s: \"%s\"\n", bad[i].key, bad[i].value);
		snprintf(line, sizeof(line), "f:1: %s: found '%s'; %s", bad[i].key, bad[i].value,
			 bad[i].right);
		refuses_bytes(text, strlen(text), line);
	}
	snprintf(text, sizeof(text), "metrics_listen: /%0107d\n", 0);
	snprintf(line, sizeof(line), "f:1: metrics_listen: found '/%063d...'; %s", 0, path);
	refuses_bytes(text, strlen(text), line);
	refuses_all(
		(const struct bad[]){
			{ "limits_per_user:\n  tenants: 0\n", "f:2: tenants: found '0'; "
							      "write a number from 1 to 1024" },
			{ "limits_per_user:\n\n  connections: 1025\n",
			  "f:3: connections: found '1025'; write a number from 1 to 1024" },
		},
		2);
}

static void test_devices_refused(void **state)
{
	static const struct bad bad[] = {
		{ "devices:\n- be_policy: fair\n",
		  "f:2: devices: found an entry without a device; write device: first" },
		{ "devices:\n- device: 0\n",
		  "f:2: device: found '0'; write a UUID (GPU- and 8 digits or more), "
		  "a PCI address (0000:3b:00.0) or soft0" },
		{ "devices:\n- device: soft0\n- device: 3b:00.0\n- device: soft0\n",
		  "f:4: device: found 'soft0'; another entry names this device; write one" },
		{ "devices:\n- device: 3b:00.0\n- device: 0000:3B:00.0\n",
		  "f:3: device: found '0000:3B:00.0'; another entry names this device; write one" },
		{ "devices:\n- device: soft0\n  be_quantum: 1m\n",
		  "f:3: be_quantum: found '1m'; write a time from 1ms to 10s, such as 50ms" },
		{ "be_policy: credit\ndevices:\n- device: soft0\n  default_class: lc\n",
		  "f:4: default_class: found 'lc'; write none, be or be:WEIGHT; lc needs a rule" },
		{ "devices:\n- device: soft0\n  default_class: be,cap=3%\n",
		  "f:3: default_class: found 'be,cap=3%'; caps need be_policy: credit; set it for "
		  "a device" },
	};

	refuses_all(bad, sizeof(bad) / sizeof(bad[0]));
}

static void test_rules_refused(void **state)
{
	static const char user[] = "write the name of a user of this machine, or a number";
	static const char group[] = "write the name of a group of this machine, or a number";
	static const char digits[] = "write 12 to 64 hexadecimal digits, as docker ps shows them";
	static const struct {
		const char *key, *value, *right;
	} bad[] = {
		{ "user", "mallory", user },
		{ "user", "", user },
		{ "user", "01", user },
		{ "user", "4294967295", user },
		{ "user", "1000x", user },
		{ "user", "away", user },
		{ "group", "alice", group },
		{ "group", "99999999999", group },
		{ "cgroup", "system.slice", "write a pattern that begins with /" },
		{ "cgroup", "", "write a pattern that begins with /" },
		{ "cgroup", "/a/", "leave out //, /./, /../ and a / at its end: no path has them" },
		{ "cgroup", "/a/../b",
		  "leave out //, /./, /../ and a / at its end: no path has them" },
		{ "exe", "python3", "write a pattern that begins with /" },
		{ "exe", "/", "write the path of a program, such as /usr/bin/python3*" },
		{ "exe", "/usr//bin",
		  "leave out //, /./, /../ and a / at its end: no path has them" },
		{ "exe", "/a/b[12]", "write * (within a name) or ** (across /), not ? [ ] { }" },
		{ "exe", "/a/b?", "write * (within a name) or ** (across /), not ? [ ] { }" },
		{ "exe", "/***", "*** is no pattern, write ** or *" },
		{ "container", "0123456789a", digits },
		{ "container", "0123456789AB", digits },
		{ "container", "web-server-1", digits },
		{ "container", "00000000000000000000000000000000000000000000000000000000000000000",
		  NULL },
		{ "device", "gpu0",
		  "write a UUID (GPU- and 8 digits or more), "
		  "a PCI address (0000:3b:00.0) or soft0" },
		{ "class", "idle", "write lc, lc:LEVEL, be or be:WEIGHT" },
		{ "class", "lc,cap=3%", "cap is for be" },
		{ "class", "be,cap=3%", "caps need be_policy: credit; set it for a device" },
		{ "as", "two", "write one or each" },
		{ "pool", "be", "write true or false" },
		{ "gang", "yes", "write true or false" },
		{ "percent", "0", "write a number from 1 to 100, the part of the pool's threads" },
		{ "percent", "101",
		  "write a number from 1 to 100, the part of the pool's threads" },
		{ "percent", "30%",
		  "write a number from 1 to 100, the part of the pool's threads" },
		{ "max_class", "lc:16", "levels are lc:0 (most urgent) to lc:15" },
		{ "max_class", "lc,period=3ms,runtime=2ms",
		  "deadlines need lc_policy: edf; set it for a device" },
	};
	char text[256], line[GP_CONFIG_WHY_LEN];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "rules:\n- device: soft0\n  %s: \"%s\"\n",
			 strcmp(bad[i].key, "device") ? bad[i].key : "max_class", bad[i].value);
		if (!strcmp(bad[i].key, "device"))
			snprintf(text, sizeof(text), "rules:\n- class: be\n  device: \"%s\"\n",
				 bad[i].value);
		snprintf(line, sizeof(line), "f:3: %s: found '%s'; %s", bad[i].key, bad[i].value,
			 bad[i].right);
		if (!bad[i].right)
			snprintf(line, sizeof(line), "f:3: %s: found '%.64s...'; %s", bad[i].key,
				 bad[i].value, digits);
		refuses_bytes(text, strlen(text), line);
	}
	refuses_all(
		(const struct bad[]){
			{ "rules:\n- class: be\n", NOBODY },
			{ "rules:\n- {}\n", NOBODY },
			{ "rules:\n- user: 0\n",
			  "f:2: rules: found a rule without a class; write class:, max_class: or "
			  "memory:" },
			{ "rules:\n- {user: 0, class: be, percent: 3}\n",
			  "f:2: percent: found without a pool; add pool: true" },
			{ "rules:\n- {user: 1, class: be, as: one}\n",
			  "f:2: as: found without a cgroup; add cgroup: its processes are one" },
			{ "rules:\n- {exe: /a, class: be, pool: true}\n",
			  "f:2: pool: found beside exe:; write user, group, cgroup or container: "
			  "gpreempt run chooses the pool before it executes CMD" },
			{ "rules:\n- user: 0\n  memory: {}\n",
			  "f:3: memory: found without a limit; write min:, max:, turns: true or "
			  "hook:" },
			{ "rules:\n- user: 0\n  memory: {hook: 'http://localhost:1/'}\n", NO_WAKE },
			{ "rules:\n- user: 0\n  memory: {wake: 'http://localhost:1/'}\n", NO_WAKE },
			{ "rules:\n- user: 0\n  memory: {max: 1GiB, hook_limit: 1s}\n", NO_WAKE },
			{ "rules:\n- user: 0\n  memory: {turns: true, hook: 'http://localhost:1/', "
			  "wake: 'http://localhost:1/'}\n",
			  "f:3: memory: found hook: beside turns:; write one of them: a turn is a "
			  "move" },
			{ "rules:\n- user: 0\n  memory: {hook: 'http://example.com/'}\n",
			  "f:3: hook: found 'http://example.com/'; write a URL such as "
			  "http://127.0.0.1:8000/sleep" },
			{ "rules:\n- user: 0\n  memory: {hook_limit: 61s}\n",
			  "f:3: hook_limit: found '61s'; write a time up to 60s, such as 10s" },
			{ "rules:\n- {user: 0, class: be, pool: true, memory: {turns: true}}\n",
			  "f:2: memory: found turns: beside pool:; write one of them: memory of a "
			  "pool's programs stays" },
			{ "rules:\n- user: 0\n  memory: {min: 2GiB, max: 1GiB}\n",
			  "f:3: memory: found a min: over max:; write a smaller one" },
			{ "rules:\n- {user: 0, exe: /a, memory: {max: 1GiB}}\n",
			  "f:2: memory: found beside exe:; write user, group, cgroup or "
			  "container: gpreempt run sets the limits before it executes CMD, for "
			  "all devices" },
			{ "rules:\n- {user: 0, device: soft0, memory: {max: 1GiB}}\n",
			  "f:2: memory: found beside device:; write user, group, cgroup or "
			  "container: gpreempt run sets the limits before it executes CMD, for "
			  "all devices" },
			{ "rules:\n- user: 0\n  memory: {max: 0B}\n",
			  "f:3: max: found '0B'; write a size with a unit, such as 20GiB or "
			  "512MiB" },
			{ "rules:\n- user: 0\n  memory: {min: 1}\n",
			  "f:3: min: found '1'; write a size with a unit, such as 20GiB or "
			  "512MiB" },
			{ "host_memory: 0B\n",
			  "f:1: host_memory: found '0B'; write a size with a unit, such as 20GiB "
			  "or 512MiB" },
			{ "host_memory: 64\n",
			  "f:1: host_memory: found '64'; write a size with a unit, such as 20GiB "
			  "or 512MiB" },
		},
		20);
}

/* Names in messages are shown whole, or truncated between characters. */
static void test_long_values(void **state)
{
	char text[1024], line[GP_CONFIG_WHY_LEN];

	snprintf(text, sizeof(text), "be_policy: %0512d\n", 0);
	snprintf(line, sizeof(line), "f:1: be_policy: found '%064d...'; write fair, credit or rr",
		 0);
	refuses_bytes(text, strlen(text), line);
	snprintf(text, sizeof(text), "be_policy: %0513d\n", 0);
	snprintf(line, sizeof(line), "f:1: be_policy: found '%064d...'; write 512 bytes at most",
		 0);
	refuses_bytes(text, strlen(text), line);
	snprintf(text, sizeof(text), "be_policy: %062d\xe2\x82\xac\n", 0);
	snprintf(line, sizeof(line), "f:1: be_policy: found '%062d...'; write fair, credit or rr",
		 0);
	refuses_bytes(text, strlen(text), line);
	snprintf(text, sizeof(text), "be_policy: %061d\xe2\x82\xac\n", 0);
	snprintf(line, sizeof(line),
		 "f:1: be_policy: found '%061d\xe2\x82\xac'; "
		 "write fair, credit or rr",
		 0);
	refuses_bytes(text, strlen(text), line);
	snprintf(text, sizeof(text), "%065d: 1\n", 0);
	snprintf(line, sizeof(line), "f:1: %064d: no such key; keys here are " TOP_KEYS, 0);
	refuses_bytes(text, strlen(text), line);
}

static void test_too_many(void **state)
{
	char *text = NULL, line[GP_CONFIG_WHY_LEN];
	struct gp_config *c;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	assert_non_null(f);
	fputs("rules:\n", f);
	for (int i = 0; i < 128; i++)
		fprintf(f, "- {user: %d, class: be}\n", i);
	fflush(f);
	c = loads_bytes(text, bytes);
	assert_int_equal(c->rule_count, 128);
	round_trip(c);
	gp_config_free(c);
	fputs("- {user: 128, class: be}\n", f);
	fflush(f);
	refuses_bytes(text, bytes, "f:130: rules: found more than 128 entries; write fewer");
	while (bytes <= 65536) {
		fputs("#\n", f);
		fflush(f);
	}
	fclose(f);
	snprintf(line, sizeof(line), "f: found %zu bytes; write at most 65536", bytes);
	refuses_bytes(text, bytes, line);
	free(text);
}

static void test_out_of_memory(void **state)
{
	struct gp_config *const untouched = (void *)0x5a5a;
	const char text[] = "rules:\n- {user: oom, class: be}\n";
	struct gp_config *c = untouched;
	char why[GP_CONFIG_WHY_LEN];

	assert_int_equal(gp_config_parse("f", text, strlen(text), &names, &c, why, sizeof(why)),
			 -ENOMEM);
	assert_string_equal(why, "f: out of memory; free some, then try again");
	assert_ptr_equal(c, untouched);
}

/* Every allocation of ours (not of the libraries) fails, one after the other. */
static void test_every_allocation(void **state)
{
	static const char text[] = "be_policy: credit\ndevices: [{device: soft0}]\n"
				   "rules:\n- {user: alice, group: ml, cgroup: /a, exe: /a,\n"
				   "   container: 0123456789ab, device: soft0, class: be}\n";
	struct gp_config *const untouched = (void *)0x5a5a;
	struct gp_config *c = untouched;
	char why[GP_CONFIG_WHY_LEN];
	int failed = 0, err = -ENOMEM;

	while (err) {
		allocations_left = failed;
		err = gp_config_parse("f", text, strlen(text), &names, &c, why, sizeof(why));
		allocations_left = -1;
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_string_equal(why, "f: out of memory; free some, then try again");
		assert_ptr_equal(c, untouched);
		failed++;
	}
	/* The object, its file's name twice, the list and name of devices, the rule .. */
	assert_int_equal(failed, 3 + 2 + 7);
	gp_config_free(c);
	allocations_left = 0;
	c = untouched;
	assert_int_equal(gp_config_default(&c), -ENOMEM);
	allocations_left = 1;
	assert_int_equal(gp_config_default(&c), -ENOMEM);
	allocations_left = -1;
	assert_ptr_equal(c, untouched);
}

/* For any short buffer, nothing is written behind it, and it is terminated. */
static void test_short_why(void **state)
{
	struct gp_config *c = NULL;
	char why[64];

	for (size_t len = 0; len < sizeof(why); len++) {
		memset(why, 'x', sizeof(why));
		assert_int_equal(gp_config_parse("f", "polcy: 1", 8, &names, &c, why, len),
				 -EINVAL);
		assert_int_equal(why[len], 'x');
		assert_true(!len || strlen(why) < len);
	}
}

/* ---- files ------------------------------------- */

static void fails_to_load(const char *path, int err, const char *line)
{
	struct gp_config *const untouched = (void *)0x5a5a;
	struct gp_config *c = untouched;
	char why[GP_CONFIG_WHY_LEN] = "";

	assert_int_equal(gp_config_load(path, &c, why, sizeof(why)), err);
	assert_string_equal(why, line);
	assert_ptr_equal(c, untouched);
}

static void test_files(void **state)
{
	char folder[] = "/tmp/gp-test-config-XXXXXX", path[64], line[256];
	char *huge = calloc(1, 65537);
	struct gp_config *c;
	int fd;

	assert_non_null(huge);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a", folder);
	snprintf(line, sizeof(line),
		 "%s: cannot read the file: No such file or directory; write it, or name another "
		 "file",
		 path);
	fails_to_load(path, -ENOENT, line);

	/* A FIFO without a writer does not block. */
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(line, sizeof(line), "%s: not a regular file; write a text file", path);
	fails_to_load(path, -ENOTSUP, line);
	unlink(path);

	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "be_quantum: 3\n", 14), 14);
	snprintf(line, sizeof(line),
		 "%s:1: be_quantum: found '3'; "
		 "write a time from 1ms to 10s, such as 50ms",
		 path);
	fails_to_load(path, -EINVAL, line);

	assert_int_equal(pwrite(fd, "be_quantum: 3s", 14, 0), 14);
	assert_int_equal(gp_config_load(path, &c, line, sizeof(line)), 0);
	assert_string_equal(c->file, path);
	gp_config_free(c);

	assert_int_equal(fchmod(fd, 0602), 0);
	snprintf(line, sizeof(line), "%s: every user may write to it; run chmod o-w", path);
	fails_to_load(path, -EPERM, line);
	assert_int_equal(fchmod(fd, 0660), 0);
	memset(huge, '#', 65537);
	assert_int_equal(pwrite(fd, huge, 65537, 0), 65537);
	snprintf(line, sizeof(line), "%s: found more than 65536 bytes; write a shorter file", path);
	fails_to_load(path, -EINVAL, line);
	close(fd);
	unlink(path);
	fails_to_load("/no\nline", -ENOENT,
		      "/no?line: cannot read the file: No such file or directory; write it, or "
		      "name another file");
	fails_to_load("/", -EISDIR, "/: cannot read the file: Is a directory; name a file in it");
	rmdir(folder);
	free(huge);
}

static void test_system_names(void **state)
{
	uint32_t id = 77;

	assert_int_equal(gp_config_system_names.uid("root", &id), 0);
	assert_int_equal(id, 0);
	id = 77;
	assert_int_equal(gp_config_system_names.gid("root", &id), 0);
	assert_int_equal(id, 0);
	id = 77;
	assert_int_equal(gp_config_system_names.uid("no such user", &id), -ENOENT);
	assert_int_equal(gp_config_system_names.gid("no such group", &id), -ENOENT);
	assert_int_equal(id, 77);
}

/* The installed example loads on any machine, and shows every key. */
static void test_example(void **state)
{
	static const char *const keys[] = {
		"be_policy",
		"lc_policy",
		"be_quantum",
		"be_min_pct",
		"default_class",
		"metrics_listen",
		"log_level",
		"limits_per_user",
		"tenants",
		"connections",
		"be_leave_limit",
		"devices",
		"device",
		"rules",
		"user",
		"group",
		"cgroup",
		"exe",
		"container",
		"class",
		"max_class",
		"gang",
		"pool",
		"percent",
		"host_memory",
		"memory",
		"min",
		"max",
		"turns",
		"hook",
		"wake",
		"hook_limit",
	};
	char why[GP_CONFIG_WHY_LEN], key[32], *text;
	struct gp_config *c;

	if (gp_config_load(EXAMPLE, &c, why, sizeof(why)))
		fail_msg("%s", why);
	round_trip(c);
	/* The default right is written there. */
	assert_true(c->default_max_class.any && c->default_max_class.line);
	text = print(c);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(key, sizeof(key), "%s:", keys[i]);
		if (!strstr(text, key))
			fail_msg(EXAMPLE " shows no %s", key);
	}
	free(text);
	gp_config_free(c);
}

int main(void)
{
	const struct CMUnitTest config[] = {
		cmocka_unit_test(test_defaults),	cmocka_unit_test(test_everything),
		cmocka_unit_test(test_settings_of),	cmocka_unit_test(test_forms),
		cmocka_unit_test(test_equal),		cmocka_unit_test(test_not_yaml),
		cmocka_unit_test(test_keys_refused),	cmocka_unit_test(test_values_refused),
		cmocka_unit_test(test_devices_refused), cmocka_unit_test(test_rules_refused),
		cmocka_unit_test(test_long_values),	cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_out_of_memory),	cmocka_unit_test(test_every_allocation),
		cmocka_unit_test(test_short_why),	cmocka_unit_test(test_files),
		cmocka_unit_test(test_system_names),	cmocka_unit_test(test_example),
	};

	return gp_run_tests(config);
}
