// SPDX-License-Identifier: Apache-2.0
/*
 * cdi.c - gpreempt cdi: the classes as devices for container engines, by the Container Device
 * Interface. A container with such a device has the preload, the daemon's socket and the class in
 * its environment, and needs nothing else. The format is 0.3.0, which podman 4 reads.
 *
 * A container gets the folder that has only the socket: its root could lock the journal
 * (daemon/supervise/rundir.c). It is the folder, because a new daemon makes a new socket.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "wire/wire.h"

#define CDI_VERSION "0.3.0"
#define CDI_KIND "gpreempt.io/class"
#define CONTAINER_DIR "/opt/gpreempt/lib"
#define PRELOAD "libgpreempt-preload.so"
#define NAME_MAX_LEN (GP_CLASS_TEXT_LEN + 1)

struct cdi {
	bool no_preload;
	json_t *devices;
};

static const struct argp_option options[] = {
	{ "no-preload", 'L', NULL, 0,
	  "do not set LD_PRELOAD, for images that need their own; holds come in pieces of 500 us, "
	  "and AMD needs it",
	  0 },
	{ 0 },
};

static json_t *list_of(const char *text)
{
	json_t *list = json_array();

	json_array_append_new(list, gp_json_text(text));
	return list;
}

/* An engine takes no colon in --device, so "be:50" is the device be-50. */
static void add_class(json_t *devices, const char *cls)
{
	json_t *device = json_object(), *edits = json_object();
	char name[NAME_MAX_LEN], env[sizeof("GPREEMPT_CLASS=") + GP_CLASS_TEXT_LEN];
	char *colon;

	snprintf(name, sizeof(name), "%s", cls);
	colon = strchr(name, ':');
	if (colon)
		*colon = '-';
	snprintf(env, sizeof(env), "GPREEMPT_CLASS=%s", cls);
	json_object_set_new(edits, "env", list_of(env));
	json_object_set_new(device, "name", json_string(name));
	json_object_set_new(device, "containerEdits", edits);
	json_array_append_new(devices, device);
}

static void add_number(json_t *devices, const char *kind, unsigned int number)
{
	char cls[GP_CLASS_TEXT_LEN];

	snprintf(cls, sizeof(cls), "%s:%u", kind, number);
	add_class(devices, cls);
}

static void add_common(json_t *devices)
{
	static const unsigned int step[] = { 1, 2, 5 };

	add_class(devices, "lc");
	for (unsigned int level = 0; level <= GP_LEVEL_MAX; level++)
		add_number(devices, "lc", level);
	add_class(devices, "be");
	for (unsigned int ten = 1; ten <= GP_WEIGHT_MAX; ten *= 10)
		for (size_t i = 0; i < 3 && step[i] * ten <= GP_WEIGHT_MAX; i++)
			add_number(devices, "be", step[i] * ten);
}

static bool has_class(json_t *devices, const char *cls)
{
	const size_t n = json_array_size(devices);
	char env[sizeof("GPREEMPT_CLASS=") + GP_CLASS_TEXT_LEN];

	snprintf(env, sizeof(env), "GPREEMPT_CLASS=%s", cls);
	for (size_t i = 0; i < n; i++) {
		json_t *edits = json_object_get(json_array_get(devices, i), "containerEdits");

		if (!strcmp(json_string_value(json_array_get(json_object_get(edits, "env"), 0)),
			    env))
			return true;
	}
	return false;
}

static error_t parse_class(struct cdi *c, const char *arg)
{
	struct gp_class_value value;
	int err = gp_class_parse(arg, &value);

	if (err == -EOPNOTSUPP)
		gp_fail("cdi: %s: a device has no deadline or cap; give it by class: of a rule in "
			"gpreempt.yaml",
			arg);
	else if (err)
		gp_fail("cdi: %s: not a class; write lc, lc:LEVEL (0 to %d), be or be:WEIGHT (%d "
			"to %d)",
			arg, GP_LEVEL_MAX, GP_WEIGHT_MIN, GP_WEIGHT_MAX);
	else if (has_class(c->devices, arg))
		gp_fail("cdi: %s: written twice; write each class once", arg);
	else {
		add_class(c->devices, arg);
		return 0;
	}
	return GP_ARGS_SAID;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cdi *c = state->input;

	switch (key) {
	case 'L':
		c->no_preload = true;
		return 0;
	case ARGP_KEY_ARG:
		return parse_class(c, arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void add_mount(json_t *mounts, const char *from, const char *to)
{
	static const char *const how[] = { "ro", "nosuid", "nodev", "bind" };
	json_t *mount = json_object(), *list = json_array();

	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++)
		json_array_append_new(list, json_string(how[i]));
	json_object_set_new(mount, "hostPath", gp_json_text(from));
	json_object_set_new(mount, "containerPath", json_string(to));
	json_object_set_new(mount, "options", list);
	json_array_append_new(mounts, mount);
}

/* 0, or GP_EXIT_OWN after a message. */
static int add_libraries(json_t *mounts)
{
	static const char *const file[] = { PRELOAD, "libgpreempt-layer.so", "libgpreempt.so.0" };
	char dir[PATH_MAX], from[2 * PATH_MAX], to[sizeof(CONTAINER_DIR) + 64];

	if (gp_path_libdir(dir, sizeof(dir)))
		return gp_fail("cdi: " PRELOAD
			       " not found beside this program (../lib) or in %s; run make install",
			       GP_LIBDIR);
	for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
		snprintf(from, sizeof(from), "%s/%s", dir, file[i]);
		snprintf(to, sizeof(to), CONTAINER_DIR "/%s", file[i]);
		if (access(from, R_OK))
			return gp_fail("cdi: cannot read %s: %s; run make install", from,
				       strerror(errno));
		add_mount(mounts, from, to);
	}
	return 0;
}

/* 0, or GP_EXIT_OWN after a message. */
static int add_socket(json_t *mounts)
{
	const char *named = getenv("GPREEMPT_DAEMON");
	const char *path = named && *named ? named : GP_WIRE_RUN_DIR "/" GP_WIRE_SOCKET;
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	if (*path != '/')
		return gp_fail("cdi: GPREEMPT_DAEMON=%s: containers need gpreemptd; write the path "
			       "of its socket, or unset it",
			       path);
	if ((size_t)snprintf(dir, sizeof(dir), "%.*s/" GP_WIRE_SHARED, (int)(slash - path), path) >=
	    sizeof(dir))
		return gp_fail("cdi: GPREEMPT_DAEMON=%.64s...: path too long", path);
	if (access(dir, F_OK))
		gp_note("cdi: %s: %s; these containers start only while gpreemptd runs", dir,
			strerror(errno));
	add_mount(mounts, dir, GP_WIRE_RUN_DIR);
	return 0;
}

static json_t *make_env(const struct cdi *c)
{
	json_t *env = list_of("CUDA_INJECTION64_PATH=" CONTAINER_DIR "/" PRELOAD);

	if (!c->no_preload)
		json_array_append_new(env, json_string("LD_PRELOAD=" CONTAINER_DIR "/" PRELOAD));
	json_array_append_new(env,
			      json_string("GPREEMPT_DAEMON=" GP_WIRE_RUN_DIR "/" GP_WIRE_SOCKET));
	return env;
}

static int print(const struct cdi *c)
{
	json_t *spec = json_object(), *edits = json_object(), *mounts = json_array();
	int err;

	json_object_set_new(edits, "env", make_env(c));
	json_object_set_new(edits, "mounts", mounts);
	json_object_set_new(spec, "cdiVersion", json_string(CDI_VERSION));
	json_object_set_new(spec, "kind", json_string(CDI_KIND));
	json_object_set(spec, "devices", c->devices);
	json_object_set_new(spec, "containerEdits", edits);
	err = add_libraries(mounts);
	if (!err)
		err = add_socket(mounts);
	if (!err && json_dumpf(spec, stdout, JSON_INDENT(2)))
		err = gp_fail("cdi: cannot print: %s", strerror(errno ? errno : ENOMEM));
	if (!err)
		putchar('\n');
	json_decref(spec);
	return err;
}

/* ---- for gpreempt doctor -------------------------------------------------------- */

static int check_mounts(json_t *mounts, const char **missing)
{
	json_t *mount;
	size_t i;

	json_array_foreach(mounts, i, mount)
	{
		*missing = json_string_value(json_object_get(mount, "hostPath"));
		if (!*missing)
			return -EBADMSG;
		if (access(*missing, F_OK))
			return -errno;
	}
	return i ? 0 : -EBADMSG;
}

int gp_cdi_check(const char *path, char missing[PATH_MAX])
{
	const char *name = NULL;
	json_t *spec, *edits;
	int err;

	if (access(path, F_OK))
		return -ENODATA;
	spec = json_load_file(path, 0, NULL);
	edits = json_object_get(spec, "containerEdits");
	err = check_mounts(json_object_get(edits, "mounts"), &name);
	snprintf(missing, PATH_MAX, "%s", name ? name : "");
	json_decref(spec);
	return err;
}

int gp_verb_cdi(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[CLASS...]",
		.doc = "Print the classes as devices for containers: gpreempt cdi "
		       ">/etc/cdi/gpreempt.json, then podman run --device " CDI_KIND "=be.",
	};
	struct cdi c = { .devices = json_array() };
	int err = gp_args(&argp, argc, argv, &c);

	if (!err && !json_array_size(c.devices))
		add_common(c.devices);
	if (!err)
		err = print(&c);
	json_decref(c.devices);
	return err;
}
