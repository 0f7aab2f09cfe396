// SPDX-License-Identifier: Apache-2.0
#include "daemon/discover/oci.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (1u << 20) /* a seccomp profile takes 30 KiB */
#define LABEL "bundle="
#define OWN "gpreempt.io/"

/* ---- config.json ---------------------------------------------------------------- */

/* A copy of @text; NULL: none, longer than a name can be, or with control characters. */
static int copy_text(const char *text, char **out)
{
	if (!text || strnlen(text, GP_CONTAINER_VALUE_MAX + 1) > GP_CONTAINER_VALUE_MAX)
		return 0;
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 127)
			return 0;
	*out = strdup(text);
	return *out ? 0 : -ENOMEM;
}

/* The first of @key, in containerd's words and in CRI-O's, that is there. */
static int copy_first(const json_t *annotations, const char *const *key, char **out)
{
	int err = 0;

	for (; *key && !*out && !err; key++)
		err = copy_text(json_string_value(json_object_get(annotations, *key)), out);
	return err;
}

static int copy_names(const json_t *annotations, struct gp_container *c)
{
	static const char *const name[] = { "io.kubernetes.cri.container-name",
					    "io.kubernetes.container.name", NULL };
	static const char *const pod[] = { "io.kubernetes.cri.sandbox-name",
					   "io.kubernetes.pod.name", NULL };
	static const char *const namespace[] = { "io.kubernetes.cri.sandbox-namespace",
						 "io.kubernetes.pod.namespace", NULL };
	static const char *const image[] = { "io.kubernetes.cri.image-name",
					     "io.kubernetes.cri-o.ImageName", NULL };
	int err = copy_first(annotations, name, &c->name);

	if (!err)
		err = copy_first(annotations, pod, &c->pod);
	if (!err)
		err = copy_first(annotations, namespace, &c->namespace);
	return err ? err : copy_first(annotations, image, &c->image);
}

static int copy_annotation(const char *key, const char *value, struct gp_container *c)
{
	struct gp_annotation a = { 0 };
	int err = copy_text(key, &a.key);

	if (!err)
		err = copy_text(value, &a.value);
	if (!a.key || !a.value) {
		free(a.key);
		free(a.value);
		return err;
	}
	c->annotation[c->annotations++] = a;
	return 0;
}

static bool is_own(const char *key)
{
	return !strncmp(key, OWN, strlen(OWN));
}

/* gpreempt's own first: others must not fill the table. */
static int copy_annotations(json_t *annotations, struct gp_container *c)
{
	json_t *value;
	const char *key;
	int err = 0;

	for (int other = 0; other < 2; other++)
		json_object_foreach(annotations, key,
				    value) if (!err &&
					       c->annotations < GP_CONTAINER_ANNOTATIONS_MAX &&
					       is_own(key) == !other)
			err = copy_annotation(key, json_string_value(value), c);
	return err;
}

int gp_oci_config(const char *text, size_t bytes, struct gp_container **out)
{
	json_t *config = json_loadb(text, bytes, 0, NULL);
	json_t *annotations = json_object_get(config, "annotations");
	struct gp_container *c;
	int err;

	if (!json_is_object(config)) {
		json_decref(config);
		return -EBADMSG;
	}
	c = calloc(1, sizeof(*c));
	err = c ? copy_names(annotations, c) : -ENOMEM;
	if (!err)
		err = copy_annotations(annotations, c);
	json_decref(config);
	if (err)
		gp_container_free(c);
	else
		*out = c;
	return err;
}

/* ---- state of runc and crun ------------------------------------------------------- */

/* runc's labels are all annotations, which others chose, and then its own. */
static const char *label_of(const json_t *state)
{
	json_t *labels = json_object_get(json_object_get(state, "config"), "labels");
	const char *found = NULL;
	json_t *label;
	size_t i;

	json_array_foreach(labels, i, label)
	{
		const char *text = json_string_value(label);

		if (text && !strncmp(text, LABEL, strlen(LABEL)))
			found = text + strlen(LABEL);
	}
	return found;
}

int gp_oci_bundle(const char *text, size_t bytes, char path[PATH_MAX])
{
	json_t *state = json_loadb(text, bytes, 0, NULL);
	const char *found = label_of(state);
	int err = -EBADMSG;

	if (!found)
		found = json_string_value(json_object_get(state, "bundle"));
	if (found && *found == '/' && strlen(found) < PATH_MAX) {
		strcpy(path, found);
		err = 0;
	}
	json_decref(state);
	return err;
}

/* ---- files ------------------------------------------------------------------------ */

static bool is_trusted(int fd, bool folder)
{
	struct stat st;

	if (fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid()))
		return false;
	/* In a sticky folder, no user can replace another's file. */
	return (folder ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)) &&
	       (!(st.st_mode & 022) || (folder && st.st_mode & S_ISVTX));
}

/* A file of that folder, which is closed. @last: not a folder itself. */
static int open_in(int folder, const char *name, bool last)
{
	const int flags = O_CLOEXEC | O_NOFOLLOW;
	int fd, err;

	if (!strcmp(name, "..")) {
		close(folder);
		return -EPERM;
	}
	fd = openat(folder, name,
		    last ? flags | O_RDONLY | O_NONBLOCK : flags | O_PATH | O_DIRECTORY);
	err = fd < 0 ? -errno : is_trusted(fd, !last) ? 0 : -EPERM;
	close(folder);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/* @path is cut into its names. */
static int open_path(char *path)
{
	char *save = NULL, *name = strtok_r(path, "/", &save), *next;
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (; name && fd >= 0; name = next) {
		next = strtok_r(NULL, "/", &save);
		fd = open_in(fd, name, !next);
	}
	return fd;
}

static int read_all(int fd, char **text, size_t *bytes)
{
	char *buf = malloc(FILE_BYTES_MAX);
	size_t used = 0;
	ssize_t n = buf ? 1 : -1;

	while (n > 0 && used < FILE_BYTES_MAX) {
		n = read(fd, buf + used, FILE_BYTES_MAX - used);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			used += (size_t)n;
	}
	if (n < 0 || used == FILE_BYTES_MAX) {
		n = !buf ? -ENOMEM : n < 0 ? -errno : -EFBIG;
		free(buf);
		return (int)n;
	}
	*text = buf;
	*bytes = used;
	return 0;
}

/* "ROOT/FOLDER/ID/FILE", or without @id "ROOT/FOLDER/FILE". */
static int read_file(const char *root, const char *folder, const char *id, const char *file,
		     char **text, size_t *bytes)
{
	char path[2 * PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s/%s/%s", root, folder, id, file), fd, err;

	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open_path(path);
	if (fd < 0)
		return fd;
	err = read_all(fd, text, bytes);
	close(fd);
	return err;
}

static int read_config(const char *root, const char *folder, const char *id,
		       struct gp_container **out)
{
	char *text;
	size_t bytes;
	int err = read_file(root, folder, id, "config.json", &text, &bytes);

	if (err)
		return err;
	err = gp_oci_config(text, bytes, out);
	free(text);
	return err;
}

/* By the state of runc or crun. */
static int read_named(const char *root, const char *folder, const char *id, const char *file,
		      struct gp_container **out)
{
	char bundle[PATH_MAX], *text;
	size_t bytes;
	int err = read_file(root, folder, id, file, &text, &bytes);

	if (err)
		return err;
	err = gp_oci_bundle(text, bytes, bundle);
	free(text);
	return err ? err : read_config(root, bundle, ".", out);
}

int gp_oci_read(const char *root, const char *id, struct gp_container **out)
{
#define TASKS "/io.containerd.runtime.v2.task/"
	static const char *const tasks[] = {
		"/run/containerd" TASKS "k8s.io",
		"/run/containerd" TASKS "moby",
		"/run/containerd" TASKS "default",
		"/run/k3s/containerd" TASKS "k8s.io",
		"/run/docker/containerd/daemon" TASKS "moby",
	};
	int err = -ENOENT;

	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]) && err == -ENOENT; i++)
		err = read_config(root, tasks[i], id, out);
	if (err == -ENOENT)
		err = read_named(root, "/run/runc", id, "state.json", out);
	if (err == -ENOENT)
		err = read_named(root, "/run/crun", id, "status", out);
	return err;
}
