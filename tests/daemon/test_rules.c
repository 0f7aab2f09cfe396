// SPDX-License-Identifier: Apache-2.0
/* The matching of rules, the order of classes, and the right to ask for them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/config/rules.h"
#include "tests/common/gp_test.h"
#include "tests/common/gp_xorshift.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba98765432100123456789abcdef0123456789abcdef0123456789abcdef"

static int uid_of(const char *name, uid_t *uid)
{
	*uid = 1000;
	return strcmp(name, "alice") ? -ENOENT : 0;
}

static int gid_of(const char *name, gid_t *gid)
{
	*gid = 2000;
	return strcmp(name, "ml") ? -ENOENT : 0;
}

static struct gp_config *config_of(const char *text)
{
	static const struct gp_config_names names = { .uid = uid_of, .gid = gid_of };
	char why[GP_CONFIG_WHY_LEN];
	struct gp_config *c;

	if (gp_config_parse("f", text, strlen(text), &names, &c, why, sizeof(why)))
		fail_msg("%s", why);
	return c;
}

static struct gp_class_request request(const char *text)
{
	struct gp_class_request r = { .cls.cls = GP_CLASS_NONE };
	const char *why;

	if (strcmp(text, "none") && gp_class_request_parse(text, &r, &why))
		fail_msg("%s: %s", text, why);
	return r;
}

/* ---- the order of classes ------------------------------------- */

static void test_no_higher(void **state)
{
	static const struct {
		const char *a, *b;
		bool ab, ba; /* is a no higher than b? b than a? */
	} c[] = {
		{ "none", "none", true, true },
		{ "be", "be:100", true, true },
		{ "lc", "lc:0", true, true },
		{ "be:100", "none", true, false },
		{ "be:101", "none", false, false },
		{ "be:101,cap=1%", "none", false, false },
		{ "none", "lc:15", true, false },
		{ "be:10000", "lc:15", true, false },
		{ "be:1", "be:2", true, false },
		{ "be:2,cap=100%", "be:2", true, true },
		{ "be:2,cap=99%", "be:2", true, false },
		{ "be:2,cap=30%", "be:2,cap=29%", false, true },
		{ "be:1,cap=30%", "be:2,cap=29%", false, false },
		{ "be:1", "be:2,cap=29%", false, false },
		{ "lc:15", "lc:0", true, false },
		{ "lc:3", "lc:4", false, true },
		{ "lc:3", "lc:3,period=20ms,runtime=2ms", true, false },
		{ "lc:2", "lc:3,period=20ms,runtime=2ms", false, false },
		{ "lc:3,period=20ms,runtime=2ms", "lc:3,period=20ms,runtime=2ms", true, true },
		{ "lc:3,period=20ms,runtime=1ms", "lc:3,period=20ms,runtime=2ms", true, false },
		{ "lc:3,period=20ms,deadline=19ms,runtime=1ms", "lc:3,period=20ms,runtime=2ms",
		  false, false },
		/* A tenth of the device each, both done in 20 ms. */
		{ "lc:3,period=40ms,deadline=20ms,runtime=4ms", "lc:3,period=20ms,runtime=2ms",
		  true, true },
		{ "lc:4,period=20ms,runtime=2ms", "lc:3,period=20ms,runtime=2ms", true, false },
		{ "lc:2,period=20ms,runtime=1ms", "lc:3,period=20ms,runtime=2ms", false, false },
		{ "be", "lc:3,period=20ms,runtime=2ms", true, false },
		{ "lc,period=10s,runtime=9999999999ns", "lc,period=10s,runtime=10s", true, false },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct gp_class_request a = request(c[i].a), b = request(c[i].b);

		if (gp_class_no_higher(&a, &b) != c[i].ab || gp_class_no_higher(&b, &a) != c[i].ba)
			fail_msg("%s and %s", c[i].a, c[i].b);
	}
}

/* Few values, so that many are equal in some field. */
static struct gp_class_request some_request(uint64_t *x)
{
	struct gp_class_request r = { .cls.cls = gp_xorshift(x) % 3 };

	if (r.cls.cls == GP_CLASS_BE) {
		r.cls.value = GP_WEIGHT_DEFAULT - 1 + gp_xorshift(x) % 3;
		r.cap_pct = gp_xorshift(x) % 4 * 33;
	} else if (r.cls.cls == GP_CLASS_LC) {
		r.cls.value = gp_xorshift(x) % 3;
		r.period_ns = gp_xorshift(x) % 2 ? 1000 * (1 + gp_xorshift(x) % 4) : 0;
		r.deadline_ns = r.period_ns ? r.period_ns - gp_xorshift(x) % 2 * 250 : 0;
		r.runtime_ns = r.period_ns ? 250 * (1 + gp_xorshift(x) % 3) : 0;
	}
	return r;
}

/* The order is reflexive and transitive. */
static void test_order(void **state)
{
	size_t chains = 0, apart = 0;
	uint64_t x = 1;

	print_message("seed 1\n");
	for (int i = 0; i < 300000; i++) {
		struct gp_class_request a = some_request(&x), b = some_request(&x),
					d = some_request(&x);
		bool ab = gp_class_no_higher(&a, &b), bd = gp_class_no_higher(&b, &d);

		assert_true(gp_class_no_higher(&a, &a));
		apart += !ab && !gp_class_no_higher(&b, &a);
		if (!ab || !bd)
			continue;
		chains++;
		assert_true(gp_class_no_higher(&a, &d));
	}
	assert_true(chains > 10000 && apart > 1000);
}

/* ---- containers ------------------------------------- */

static void test_containers(void **state)
{
	static const struct {
		const char *cgroup, *id;
	} c[] = {
		{ "/system.slice/docker-" ID ".scope", ID },
		{ "/docker/" ID, ID },
		{ "/docker/" ID "/init.scope", ID },
		{ "/docker/" ID "/system.slice/a.service", ID },
		{ "/docker/" ID "/docker/" OTHER, ID },
		{ "/docker.slice/docker-" ID ".scope", ID },
		{ "/system.slice/nerdctl-" ID ".scope", ID },
		{ "/system.slice/containerd.service/kubepods-pod3b1f.slice:cri-containerd:" ID,
		  ID },
		{ "/kubepods/burstable/pod3b1f/" ID, ID },
		{ "/kubepods/pod3b1f/" ID, ID },
		{ "/k8s.io/" ID, ID },
		{ "/libpod_parent/libpod-" ID, ID },
		{ "/libpod_parent/" OTHER "/libpod-" ID, ID },
		{ "/machine.slice/machine-libpod_pod_" OTHER ".slice/libpod-" ID ".scope", ID },
		{ "/machine.slice/libpod-" ID ".scope/container", ID },
		/* Rootless podman: in a folder of the user's. */
		{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
		  "" },
		{ "/machine.slice/libpod-conmon-" ID ".scope", "" },
		{ "/system.slice/crio-conmon-" ID ".scope", "" },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3b1f.slice/"
		  "cri-containerd-" ID ".scope",
		  ID },
		{ "/kubepods.slice/kubepods-pod3b1f.slice/crio-" ID ".scope", ID },
		{ "/kubepods/besteffort/pod3b1f/" ID, ID },
		{ "/system.slice/kubepods-pod3b1f.slice:cri-containerd:" ID, ID },
		{ "/default/" ID, ID },
		{ "", "" },
		{ "/", "" },
		{ "/user.slice/user-1000.slice/session-3.scope", "" },
		{ "/docker/" ID "0", "" },
		{ "/docker/a" ID, "" },
		{ "/docker/0123456789ab", "" },
		{ "/docker-" ID ".service", "" },
		{ "/docker-" ID ".scope.scope", "" },
		{ "/" ID ".scope", ID },
		{ "/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "" },
	};
	char id[GP_CONTAINER_LEN];

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		gp_container_of(c[i].cgroup, id);
		if (strcmp(id, c[i].id))
			fail_msg("%s: '%s'", c[i].cgroup, id);
	}
}

#define USER "/user.slice/user-1000.slice/user@1000.service"

/* Where a user, or a container's root, may make any cgroup. */
static const char *const owned[] = {
	USER,
	USER "/app.slice",
	USER "/session.slice/a.scope",
	"/user.slice/user-1000.slice/session-3.scope",
	"/user.slice/user-1000.slice",
	"/system.slice/batch.service",
	"/system.slice/slurmstepd.scope/job_7",
	"/machine.slice/machine-guest.scope/payload",
	"/lxc.payload.guest",
	"/users/eve",
	"/docker/eve",
	"/system.slice/docker-eve.scope",
	"/kubepods/eve",
	"/machine.slice/libpod-conmon-" OTHER ".scope",
};

static void test_forged_containers(void **state)
{
	static const char *const made[] = {
		"docker-" ID ".scope",
		"docker/" ID,
		"system.slice/docker-" ID ".scope",
		"machine.slice/libpod-" ID ".scope",
		"libpod_parent/libpod-" ID,
		"libpod-payload-" ID,
		"kubepods.slice/kubepods-pod3b1f.slice/cri-containerd-" ID ".scope",
		"kubepods.slice/kubepods-pod3b1f.slice/crio-" ID ".scope",
		"kubepods/besteffort/pod3b1f/" ID,
		"containerd.service/kubepods-pod3b1f.slice:cri-containerd:" ID,
		"nerdctl-" ID ".scope",
		"default/" ID,
		ID,
	};
	char path[512], id[GP_CONTAINER_LEN];

	for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
		for (size_t k = 0; k < sizeof(made) / sizeof(made[0]); k++) {
			snprintf(path, sizeof(path), "%s/%s", owned[i], made[k]);
			gp_container_of(path, id);
			if (id[0])
				fail_msg("%s: %s", path, id);
			assert_true(gp_container_is_named(path));
		}
	/* A container cannot take another's name. */
	for (size_t k = 0; k < sizeof(made) / sizeof(made[0]); k++) {
		snprintf(path, sizeof(path), "/docker/" OTHER "/%s", made[k]);
		gp_container_of(path, id);
		assert_string_equal(id, OTHER);
		snprintf(path, sizeof(path), "/machine.slice/libpod-" OTHER ".scope/%s", made[k]);
		gp_container_of(path, id);
		assert_string_equal(id, OTHER);
	}
}

/* ---- matching --------------------------------------------- */

static struct gp_device_id soft0 = { .name = "soft0" }, soft1 = { .name = "soft1" };
static gid_t groups[] = { 7, 2000, 9 };

static const struct gp_subject nobody = {
	.pid = 100,
	.uid = 65534,
	.gid = 65534,
	.comm = "nobody",
};

static const char *given(const struct gp_config *c, const struct gp_subject *s)
{
	static char text[GP_CLASS_REQUEST_TEXT_LEN];
	struct gp_verdict v;

	gp_rules_find(c, s, &v);
	gp_class_request_format(&v.given, text, sizeof(text));
	return text;
}

static struct gp_container train = {
	.pod = "train-0",
	.namespace = "research",
	.image = "registry/team/train:1",
	.annotations = 2,
	.annotation = { { "x", "y" }, { "team", "vision" } },
};
/* Of podman: without a pod. */
static struct gp_container serve = {
	.namespace = "researchers",
	.annotations = 1,
	.annotation = { { "team", "" } },
};

/* Each condition of a rule alone: one process fits, another does not. */
static void test_matching(void **state)
{
	const struct {
		const char *match;
		struct gp_subject fits, does_not;
	} c[] = {
		{ "user: alice", { .uid = 1000 }, { .uid = 1001, .gid = 1000 } },
		{ "user: 0", { .uid = 0 }, { .uid = 1 } },
		{ "group: ml", { .gid = 2000 }, { .gid = 2001, .uid = 2000 } },
		{ "group: ml",
		  { .groups = groups, .group_count = 3 },
		  { .groups = groups, .group_count = 1 } },
		{ "device: soft0", { .device = &soft0 }, { .device = &soft1 } },
		{ "device: soft0", { .device = &soft0 }, { .device = NULL } },
		{ "container: 0123456789ab", { .container = ID }, { .container = OTHER } },
		{ "container: 0123456789ab", { .container = ID }, { .container = "" } },
		{ "container: " ID, { .container = ID }, { .container = "0123456789ab" } },
		{ "namespace: research", { .facts = &train }, { .facts = &serve } },
		{ "namespace: research", { .facts = &train }, { .facts = NULL } },
		{ "pod: train-*", { .facts = &train }, { .facts = &serve } },
		{ "image: registry/**", { .facts = &train }, { .facts = &serve } },
		{ "annotation: team=vis*", { .facts = &train }, { .facts = &serve } },
		{ "annotation: team=", { .facts = &serve }, { .facts = &train } },
		{ "cgroup: /a/*.slice", { .cgroup = "/a/b.slice" }, { .cgroup = "/a/b" } },
		{ "cgroup: /a/*.slice", { .cgroup = "/a/b.slice/c/d" }, { .cgroup = "/a" } },
		{ "cgroup: /a", { .cgroup = "/a" }, { .cgroup = "/ab" } },
		{ "cgroup: /", { .cgroup = "/a/b" }, { .cgroup = NULL } },
		{ "cgroup: /a", { .cgroup = "/a" }, { .cgroup = "/../a" } },
		{ "exe: /usr/bin/python3*",
		  { .exe = "/usr/bin/python3.11" },
		  { .exe = "/usr/bin/python3/x" } },
		{ "exe: /**", { .exe = "/a/b" }, { .exe = NULL } },
		{ "exe: /a", { .exe = "/a" }, { .exe = "/a/b" } },
	};
	char text[128];

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct gp_config *config;

		snprintf(text, sizeof(text), "rules:\n- %s\n  class: lc:3\n", c[i].match);
		config = config_of(text);
		if (strcmp(given(config, &c[i].fits), "lc:3"))
			fail_msg("%s does not fit who has it", c[i].match);
		if (strcmp(given(config, &c[i].does_not), "none"))
			fail_msg("%s fits who has it not", c[i].match);
		gp_config_free(config);
	}
}

static const char several[] = "default_class: be:7\n"
			      "devices:\n- {device: soft1, default_class: none}\n"
			      "rules:\n"
			      "- user: alice\n"
			      "  exe: /usr/bin/triton\n"
			      "  class: lc:1\n"
			      "  max_class: lc:0\n"
			      "- user: alice\n"
			      "  class: be:200\n"
			      "- group: ml\n"
			      "  device: soft0\n"
			      "  max_class: lc:4\n"
			      "- user: 5\n"
			      "  class: none\n"
			      "  max_class: be\n"
			      "default_max_class: be:40\n";

/* The first match counts, and all its conditions must fit. */
static void test_order_of_rules(void **state)
{
	struct gp_config *c = config_of(several);
	struct gp_subject s = nobody;
	struct gp_verdict v;

	s.uid = 1000;
	s.groups = groups;
	s.group_count = 3;
	s.exe = "/usr/bin/triton";
	gp_rules_find(c, &s, &v);
	assert_ptr_equal(v.rule, &c->rule[0]);
	assert_string_equal(v.why, "lc:1 by the rule at f:5 (user alice, exe /usr/bin/triton)");
	s.exe = "/usr/bin/other";
	gp_rules_find(c, &s, &v);
	assert_ptr_equal(v.rule, &c->rule[1]);
	assert_string_equal(v.why, "be:200 by the rule at f:9 (user alice)");
	s.uid = 1001;
	gp_rules_find(c, &s, &v);
	assert_null(v.rule);
	assert_string_equal(v.why, "be:7 by default_class:, since no rule matches");
	s.device = &soft1;
	gp_rules_find(c, &s, &v);
	assert_null(v.rule);
	assert_string_equal(v.why, "none by default_class:, since no rule matches");
	s.device = &soft0;
	gp_rules_find(c, &s, &v);
	assert_ptr_equal(v.rule, &c->rule[2]);
	assert_string_equal(v.why, "be:7 by default_class:, since the rule at f:11 "
				   "(group ml, device soft0) gives no class");
	gp_config_free(c);
}

/* ---- processes that count as one ------------------------------------- */

static void expect_party(const struct gp_config *c, const char *cgroup, const char *party)
{
	struct gp_subject s = nobody;
	char *found;

	s.cgroup = (char *)(uintptr_t)cgroup;
	found = gp_rules_party(c, &s);
	if (party)
		assert_string_equal(found, party);
	else
		assert_null(found);
	free(found);
}

static void test_cgroup_that_is_one(void **state)
{
	struct gp_config *c = config_of("rules:\n"
					"- {cgroup: /exact, class: be, as: one}\n"
					"- {cgroup: /each, class: be, as: each}\n"
					"- {cgroup: '/pods/**/pod*', class: be, as: one}\n"
					"- {cgroup: /, class: be, as: one}\n");

	expect_party(c, "/exact", "/exact");
	expect_party(c, "/exact/below/it", "/exact");
	expect_party(c, "/each/a", NULL);
	/* The outermost one. */
	expect_party(c, "/pods/pod1/x/pod2/y", "/pods/pod1");
	expect_party(c, "/pods/burstable/pod7/main", "/pods/burstable/pod7");
	expect_party(c, "/pods/burstable/pod8/main", "/pods/burstable/pod8");
	/* All that no rule before fits. */
	expect_party(c, "/a/b", "/");
	gp_config_free(c);
	c = config_of("rules:\n- {cgroup: /a, class: be, as: one}\n");
	expect_party(c, "/b", NULL);
	expect_party(c, NULL, NULL);
	gp_config_free(c);
}

/* ---- the right to a class ------------------------------------- */

static void test_may(void **state)
{
	struct gp_subject triton = { .uid = 1000, .exe = "/usr/bin/triton" },
			  alice = { .uid = 1000 }, ml = { .gid = 2000, .uid = 9, .device = &soft0 },
			  five = { .uid = 5 }, root = { .uid = 0 },
			  on_soft1 = { .uid = 9, .device = &soft1 };
	const struct {
		const struct gp_subject *who;
		const char *asked;
		const char *why; /* NULL: allowed */
	} c[] = {
		{ &triton, "lc:1", NULL },
		{ &triton, "lc:0", NULL },
		{ &triton, "lc:15", NULL },
		{ &triton, "be:10000", NULL },
		{ &triton, "none", NULL },
		{ &triton, "lc:1,period=2ms,runtime=1ms",
		  "lc:1,period=2ms,deadline=2ms,runtime=1ms is higher than max_class: lc:0; raise "
		  "that to lc:1,period=2ms,deadline=2ms,runtime=1ms in the rule at f:5 (user "
		  "alice, "
		  "exe /usr/bin/triton)" },
		{ &alice, "be:200", NULL },
		{ &alice, "be:200,cap=5%", NULL },
		{ &alice, "be:1", NULL },
		{ &alice, "be:201",
		  "be:201 is higher than class: be:200; add max_class: be:201 to the rule at f:9 "
		  "(user alice)" },
		{ &alice, "none",
		  "none is higher than class: be:200; add max_class: none to the rule at f:9 (user "
		  "alice)" },
		{ &ml, "lc:4", NULL },
		{ &ml, "lc:9", NULL },
		{ &ml, "lc:3",
		  "lc:3 is higher than max_class: lc:4; raise that to lc:3 in the rule at f:11 "
		  "(group ml, device soft0)" },
		{ &five, "none", NULL },
		{ &five, "be:100", NULL },
		{ &five, "be:101",
		  "be:101 is higher than max_class: be:100; raise that to be:101 in the rule at "
		  "f:14 "
		  "(user 5)" },
		{ &five, "lc:15",
		  "lc:15 is higher than max_class: be:100; raise that to lc:15 in the rule at f:14 "
		  "(user 5)" },
		/* Root has no special right. No rule: default_max_class:, or default_class:. */
		{ &root, "be:7", NULL },
		{ &root, "be:40", NULL },
		{ &root, "be:41",
		  "be:41 is higher than default_max_class: be:40 (f:17), and no rule matches; "
		  "raise "
		  "that, or add to rules: - {user: 0, max_class: be:41}" },
		{ &root, "lc",
		  "lc:0 is higher than default_max_class: be:40 (f:17), and no rule matches; raise "
		  "that, or add to rules: - {user: 0, max_class: lc:0}" },
		{ &root, "lc:1,period=2ms,runtime=1ms",
		  "lc:1,period=2ms,deadline=2ms,runtime=1ms is higher than default_max_class: "
		  "be:40 "
		  "(f:17), and no rule matches; raise that, or add to rules: - {user: 0, "
		  "max_class: "
		  "'lc:1,period=2ms,deadline=2ms,runtime=1ms'}" },
		{ &on_soft1, "be:100", NULL },
		{ &on_soft1, "none", NULL },
		{ &on_soft1, "be:101",
		  "be:101 is higher than default_max_class: be:40 (f:17), and no rule matches; "
		  "raise "
		  "that, or add to rules: - {user: 9, max_class: be:101}" },
	};
	struct gp_config *config = config_of(several);

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct gp_class_request asked = request(c[i].asked);
		char why[GP_VERDICT_WHY_LEN] = "";
		int err = gp_rules_may(config, c[i].who, &asked, why, sizeof(why));

		if (err != (c[i].why ? -EPERM : 0) || strcmp(why, c[i].why ? c[i].why : ""))
			fail_msg("%zu, %s: %d, %s", i, c[i].asked, err, why);
	}
	gp_config_free(config);
}

/* Rules for some processes leave the right of all others as it is: to have any class. */
static void test_any(void **state)
{
	static const char mps[] = "rules:\n- exe: /**/nvidia-cuda-mps-server\n  class: be\n";
	struct gp_subject other = { .uid = 1000, .exe = (char *)(uintptr_t) "/bin/a" };
	struct gp_subject server = { .exe = (char *)(uintptr_t) "/bin/nvidia-cuda-mps-server" };
	struct gp_class_request lc = request("lc:0,period=2ms,runtime=1ms");
	struct gp_config *c = config_of(mps);
	char why[GP_VERDICT_WHY_LEN] = "";

	assert_int_equal(gp_rules_may(c, &other, &lc, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	assert_int_equal(gp_rules_may(c, &server, &lc, why, sizeof(why)), -EPERM);
	gp_config_free(c);
}

/*
 * A process may always lower its class. To raise it, it needs max_class: or default_max_class:,
 * under any rules.
 */
static void test_may_property(void **state)
{
	size_t allowed = 0, refused = 0;
	char why[GP_VERDICT_WHY_LEN];
	uint64_t x = 7;

	print_message("seed 7\n");
	for (int i = 0; i < 100000; i++) {
		struct gp_rule rule = { .user = "alice",
					.uid = 1000,
					.line = 3,
					.has_class = gp_xorshift(&x) % 2,
					.has_max_class = gp_xorshift(&x) % 2,
					.class_given = some_request(&x),
					.max_class = some_request(&x) };
		struct gp_config c = { .file = "f",
				       .rule_count = 1,
				       .rule = &rule,
				       .default_max_class = { .any = !(gp_xorshift(&x) % 4),
							      .cls = some_request(&x),
							      .line = 9 },
				       .settings.default_class = some_request(&x) };
		struct gp_subject s = { .uid = 1000 + gp_xorshift(&x) % 2 };
		struct gp_class_request asked = some_request(&x);
		struct gp_verdict v;
		bool should;

		gp_rules_find(&c, &s, &v);
		should = gp_class_no_higher(&asked, &v.given) ||
			 (s.uid == 1000 && rule.has_max_class &&
			  gp_class_no_higher(&asked, &rule.max_class)) ||
			 (s.uid != 1000 && (c.default_max_class.any ||
					    gp_class_no_higher(&asked, &c.default_max_class.cls)));
		why[0] = '\0';
		assert_int_equal(gp_rules_may(&c, &s, &asked, why, sizeof(why)),
				 should ? 0 : -EPERM);
		assert_true(!should == !!why[0]);
		allowed += should;
		refused += !should;
	}
	assert_true(allowed > 10000 && refused > 10000);
}

/* For any short buffer, nothing is written behind it, and it is terminated. */
static void test_short_why(void **state)
{
	struct gp_config *c = config_of(several);
	struct gp_class_request asked = request("lc");
	struct gp_subject s = { .uid = 1000 };
	char why[64];

	for (size_t len = 0; len < sizeof(why); len++) {
		memset(why, 'x', sizeof(why));
		assert_int_equal(gp_rules_may(c, &s, &asked, why, len), -EPERM);
		assert_int_equal(why[len], 'x');
		assert_true(!len || strlen(why) == len - 1);
	}
	gp_config_free(c);
}

int main(void)
{
	const struct CMUnitTest rules[] = {
		cmocka_unit_test(test_no_higher),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_forged_containers),
		cmocka_unit_test(test_matching),
		cmocka_unit_test(test_order_of_rules),
		cmocka_unit_test(test_may),
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_may_property),
		cmocka_unit_test(test_short_why),
		cmocka_unit_test(test_cgroup_that_is_one),
	};

	return gp_run_tests(rules);
}
