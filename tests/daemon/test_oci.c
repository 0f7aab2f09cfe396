// SPDX-License-Identifier: Apache-2.0
/* From a container's id to the facts on it, in a folder that stands for the machine's root. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/discover/oci.h"
#include "tests/common/gp_test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TASKS "/run/containerd/io.containerd.runtime.v2.task/"

/* ---- contents ----------------------------------------------------------------- */

static struct gp_container *facts_of(const char *text)
{
	struct gp_container *c = NULL;

	assert_int_equal(gp_oci_config(text, strlen(text), &c), 0);
	return c;
}

static void test_names_of_containerd(void **state)
{
	struct gp_container *c =
		facts_of("{\"ociVersion\": \"1.0.2\", \"annotations\": {"
			 "\"io.kubernetes.cri.container-name\": \"main\","
			 "\"io.kubernetes.cri.sandbox-name\": \"train-0\","
			 "\"io.kubernetes.cri.sandbox-namespace\": \"research\","
			 "\"io.kubernetes.cri.image-name\": \"docker.io/team/train:1\","
			 "\"gpreempt.io/class\": \"be-50\"}}");

	assert_string_equal(c->name, "main");
	assert_string_equal(c->pod, "train-0");
	assert_string_equal(c->namespace, "research");
	assert_string_equal(c->image, "docker.io/team/train:1");
	assert_string_equal(gp_container_annotation(c, "gpreempt.io/class"), "be-50");
	assert_null(gp_container_annotation(c, "gpreempt.io"));
	gp_container_free(c);
}

static void test_names_of_crio(void **state)
{
	struct gp_container *c = facts_of("{\"annotations\": {"
					  "\"io.kubernetes.container.name\": \"main\","
					  "\"io.kubernetes.pod.name\": \"train-0\","
					  "\"io.kubernetes.pod.namespace\": \"research\","
					  "\"io.kubernetes.cri-o.ImageName\": \"team/train:1\"}}");

	assert_string_equal(c->name, "main");
	assert_string_equal(c->pod, "train-0");
	assert_string_equal(c->namespace, "research");
	assert_string_equal(c->image, "team/train:1");
	gp_container_free(c);
}

/* Values that would spoil a line of the log, or of the metrics, count as missing. */
static void test_values_that_are_none(void **state)
{
	char text[2048], longest[GP_CONTAINER_VALUE_MAX + 2];
	struct gp_container *c = facts_of("{\"annotations\": {"
					  "\"io.kubernetes.cri.sandbox-name\": 7,"
					  "\"io.kubernetes.cri.sandbox-namespace\": \"a\\nb\","
					  "\"io.kubernetes.cri.image-name\": \"a\\u001bb\","
					  "\"gpreempt.io/class\": [\"lc\"], \"x\": \"y\"}}");

	assert_null(c->pod);
	assert_null(c->namespace);
	assert_null(c->image);
	assert_int_equal(c->annotations, 1);
	gp_container_free(c);
	for (size_t n = GP_CONTAINER_VALUE_MAX; n <= GP_CONTAINER_VALUE_MAX + 1; n++) {
		memset(longest, 'x', n);
		longest[n] = '\0';
		snprintf(text, sizeof(text),
			 "{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": \"%s\"}}",
			 longest);
		c = facts_of(text);
		assert_int_equal(c->pod != NULL, n == GP_CONTAINER_VALUE_MAX);
		gp_container_free(c);
	}
	c = facts_of("{}");
	assert_int_equal(c->annotations, 0);
	gp_container_free(c);
}

/* However many others come before it. */
static void test_own_annotation_has_a_place(void **state)
{
	struct gp_container *c;
	char *text;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	fputs("{\"annotations\": {", f);
	for (int i = 0; i < 1000; i++)
		fprintf(f, "\"a%d\": \"%d\",", i, i);
	fputs("\"gpreempt.io/class\": \"be\"}}", f);
	fclose(f);
	c = facts_of(text);
	assert_int_equal(c->annotations, GP_CONTAINER_ANNOTATIONS_MAX);
	assert_string_equal(gp_container_annotation(c, GP_CONTAINER_CLASS), "be");
	gp_container_free(c);
	free(text);
}

static void test_no_config(void **state)
{
	static const char *const text[] = { "", "[]", "7", "{", "{\"annotations\": ", "\xff" };
	struct gp_container *c = NULL;

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		assert_int_equal(gp_oci_config(text[i], strlen(text[i]), &c), -EBADMSG);
	assert_null(c);
}

static void test_bundles(void **state)
{
	static const struct {
		const char *text, *path;
	} c[] = {
		{ "{\"bundle\": \"/a/b\"}", "/a/b" },
		{ "{\"config\": {\"labels\": [\"x=y\", \"bundle=/a/b\"]}}", "/a/b" },
		/* An annotation of that name comes before runc's own label. */
		{ "{\"config\": {\"labels\": [\"bundle=/eve\", \"bundle=/a/b\"]}}", "/a/b" },
		{ "{\"bundle\": \"a/b\"}", NULL },
		{ "{\"bundle\": 7}", NULL },
		{ "{\"config\": {\"labels\": [7, \"bundle\"]}}", NULL },
		{ "{\"config\": {\"labels\": {}}}", NULL },
		{ "[]", NULL },
		{ "", NULL },
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		int err = gp_oci_bundle(c[i].text, strlen(c[i].text), path);

		if (err != (c[i].path ? 0 : -EBADMSG) || (c[i].path && strcmp(path, c[i].path)))
			fail_msg("%s: %d", c[i].text, err);
	}
}

/* ---- files -------------------------------------------------------------------- */

static char root[64];

/* Makes the folders of @path and the file, below root. */
static void put(const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(full, 0755))
			assert_int_equal(errno, EEXIST);
		*at = '/';
	}
	f = fopen(full, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(full, 0644);
}

static void put_pod(const char *path, const char *pod)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": \"%s\"}}", pod);
	put(path, text);
}

static int make(void **state)
{
	strcpy(root, "/tmp/gp-test-oci-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int clean(void **state)
{
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void expect(int err, const char *pod)
{
	struct gp_container *c = NULL;

	assert_int_equal(gp_oci_read(root, ID, &c), err);
	assert_int_equal(c != NULL, !err);
	if (c)
		assert_string_equal(c->pod, pod);
	gp_container_free(c);
}

static void test_containerd(void **state)
{
	expect(-ENOENT, NULL);
	put_pod(TASKS "moby/" ID "/config.json", "docker");
	expect(0, "docker");
	put_pod(TASKS "k8s.io/" ID "/config.json", "k8s");
	expect(0, "k8s");
	put(TASKS "k8s.io/" ID "/config.json", "{");
	expect(-EBADMSG, NULL);
}

/* The state names the bundle by its whole path, so it has root's own path below root. */
static void expect_bundle(const char *path, const char *before, const char *after)
{
	struct gp_container *c = NULL;
	char text[PATH_MAX];

	snprintf(text, sizeof(text), "%s%s/store%s", before, root, after);
	put(path, text);
	snprintf(text, sizeof(text), "%s/store/config.json", root);
	put_pod(text, "podman");
	assert_int_equal(gp_oci_read(root, ID, &c), 0);
	assert_string_equal(c->pod, "podman");
	gp_container_free(c);
}

static void test_runc(void **state)
{
	expect_bundle("/run/runc/" ID "/state.json",
		      "{\"config\": {\"labels\": [\"bundle=", "\"]}}");
}

static void test_crun(void **state)
{
	expect_bundle("/run/crun/" ID "/status", "{\"bundle\": \"", "\"}");
}

/* A folder that another user could change, or a link, leads nowhere. */
static void test_trust(void **state)
{
	char folder[PATH_MAX], file[PATH_MAX];

	put_pod(TASKS "k8s.io/" ID "/config.json", "k8s");
	snprintf(folder, sizeof(folder), "%s/run/containerd", root);
	snprintf(file, sizeof(file), "%s" TASKS "k8s.io/" ID "/config.json", root);
	expect(0, "k8s");
	chmod(folder, 0777);
	expect(-EPERM, NULL);
	chmod(folder, 0775);
	expect(-EPERM, NULL);
	chmod(folder, 01777);
	expect(0, "k8s");
	chmod(folder, 0755);
	chmod(file, 0666);
	expect(-EPERM, NULL);
	chmod(file, 0644);
	if (!geteuid()) {
		assert_int_equal(chown(folder, 1000, 0), 0);
		expect(-EPERM, NULL);
		assert_int_equal(chown(folder, 0, 0), 0);
		assert_int_equal(chown(file, 1000, 0), 0);
		expect(-EPERM, NULL);
	}
	unlink(file);
	assert_int_equal(symlink("/etc/passwd", file), 0);
	expect(-ELOOP, NULL);
	unlink(file);
	assert_int_equal(mkfifo(file, 0644), 0);
	expect(-EPERM, NULL);
}

static void test_paths_with_links(void **state)
{
	char link[PATH_MAX];

	put_pod("/store/config.json", "never");
	put("/run/crun/" ID "/status", "{\"bundle\": \"/link\"}");
	snprintf(link, sizeof(link), "%s/link", root);
	assert_int_equal(symlink("store", link), 0);
	expect(-ENOTDIR, NULL);
	put("/run/crun/" ID "/status", "{\"bundle\": \"/run/../store\"}");
	expect(-EPERM, NULL);
	put("/run/crun/" ID "/status", "{\"bundle\": \"/store\"}");
	expect(0, "never");
}

static void test_too_long(void **state)
{
	char text[PATH_MAX + 64] = "{\"bundle\": \"/";

	memset(text + strlen(text), 'x', PATH_MAX - 8);
	strcpy(text + strlen(text), "\"}");
	put("/run/crun/" ID "/status", text);
	expect(-ENAMETOOLONG, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_containerd),
		cmocka_unit_test(test_names_of_crio),
		cmocka_unit_test(test_values_that_are_none),
		cmocka_unit_test(test_own_annotation_has_a_place),
		cmocka_unit_test(test_no_config),
		cmocka_unit_test(test_bundles),
		cmocka_unit_test_setup_teardown(test_containerd, make, clean),
		cmocka_unit_test_setup_teardown(test_runc, make, clean),
		cmocka_unit_test_setup_teardown(test_crun, make, clean),
		cmocka_unit_test_setup_teardown(test_trust, make, clean),
		cmocka_unit_test_setup_teardown(test_paths_with_links, make, clean),
		cmocka_unit_test_setup_teardown(test_too_long, make, clean),
	};

	return gp_run_tests(tests);
}
