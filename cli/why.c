// SPDX-License-Identifier: Apache-2.0
/*
 * why.c - gpreempt why: why a process runs or waits now, on each of its devices, as
 * gpreemptd decides it.
 */
#include "cli/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/view.h"

#define SCHEMA_VERSION 1

struct why {
	bool json;
	const char *device;
	pid_t pid;

	int fd;
	struct gp_view view;
	json_t *list;
	size_t told;
};

/* ---- one device ------------------------------------------------------------------ */

static const struct gp_wire_device *device_of(const struct gp_view *view,
					      const uint8_t uuid[16])
{
	for (size_t i = 0; i < view->devices; i++)
		if (!memcmp(view->device[i].uuid, uuid, 16))
			return &view->device[i];
	return NULL;
}

static bool is_banned(const struct gp_wire_tenant *t)
{
	return t && t->flags & GP_WIRE_BANNED;
}

/* All sentences, in one line; to be freed. */
static char *sentences(const struct why *w, const struct gp_wire_reason *r)
{
	const struct gp_wire_tenant *t = gp_view_tenant(&w->view, r->pid, r->uuid);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	if (is_banned(t))
		fputs("It set back what gpreemptd set too often, and is off the device "
		      "for good.", out);
	else
		gp_why_sentence(out, r);
	if (t && t->request.cls == GP_CLASS_LC && t->taken != GP_WIRE_BY_RUN) {
		fputc(' ', out);
		gp_why_late(out, t, device_of(&w->view, r->uuid));
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static void print_reason(const struct why *w, struct gp_wire_reason *r, const char *text)
{
	char cls[GP_CLASS_REQUEST_TEXT_LEN];

	gp_daemon_class(&r->request, cls, sizeof(cls));
	if (w->told)
		putchar('\n');
	printf("process %d (%s), %s, on %s\n", r->pid, gp_printable(r->comm), cls,
	       gp_printable(r->device));
	printf("  %s\n", text);
	if (*r->why)
		printf("  Its class: %s\n", gp_printable(r->why));
}

static json_t *known_pid(int32_t pid)
{
	return gp_json_number(pid, (uint64_t)pid);
}

static json_t *reason_json(const struct why *w, const struct gp_wire_reason *r,
			   const char *text)
{
	const struct gp_wire_tenant *t = gp_view_tenant(&w->view, r->pid, r->uuid);
	char cls[GP_CLASS_REQUEST_TEXT_LEN], uuid[48];
	json_t *json = json_object();

	gp_daemon_class(&r->request, cls, sizeof(cls));
	gp_uuid_format(r->uuid, uuid, sizeof(uuid));
	json_object_set_new(json, "pid", json_integer(r->pid));
	json_object_set_new(json, "command", gp_json_text(r->comm));
	json_object_set_new(json, "device", gp_json_text(r->device));
	json_object_set_new(json, "uuid", json_string(uuid));
	json_object_set_new(json, "class", gp_json_text(cls));
	json_object_set_new(json, "class_from", gp_json_text(r->why));
	json_object_set_new(json, "taken", t ? json_string(gp_view_taken(t)) : json_null());
	json_object_set_new(json, "reason",
			    json_string(is_banned(t) ? "banned" : gp_why_name(r->reason)));
	json_object_set_new(json, "text", gp_json_text(text));
	json_object_set_new(json, "other_pid", known_pid(r->other_pid));
	json_object_set_new(json, "other_command",
			    r->other_pid ? gp_json_text(r->other_comm) : json_null());
	json_object_set_new(json, "ahead", json_integer(r->ahead));
	json_object_set_new(json, "error", r->error ? json_integer(r->error) : json_null());
	json_object_set_new(json, "for_ns",
			    gp_json_number(r->for_ns != GP_WIRE_UNKNOWN, r->for_ns));
	json_object_set_new(json, "until_ns",
			    gp_json_number(r->until_ns != GP_WIRE_UNKNOWN, r->until_ns));
	return json;
}

/* @uuid all 0: the process's first device. */
static int tell(struct why *w, const uint8_t uuid[16])
{
	union gp_wire_msg msg;
	char *text;
	int err;

	gp_wire_init(&msg, GP_WIRE_WHY);
	msg.take.pid = w->pid;
	memcpy(msg.take.uuid, uuid, sizeof(msg.take.uuid));
	err = gp_daemon_ask(w->fd, &msg, GP_WIRE_REASON);
	if (err)
		return gp_fail_daemon("why", err);
	if (msg.head.type == GP_WIRE_SAID)
		return gp_fail("why: process %d: %s", (int)w->pid,
			       *msg.said.text ? msg.said.text
					      : strerror(-msg.head.result));
	text = sentences(w, &msg.reason);
	if (!text)
		return gp_fail("why: out of memory");
	if (w->json)
		json_array_append_new(w->list, reason_json(w, &msg.reason, text));
	else
		print_reason(w, &msg.reason, text);
	w->told++;
	free(text);
	return 0;
}

/* ---- the verb -------------------------------------------------------------------- */

static int tell_device(struct why *w)
{
	GP_DEVICES struct gp_devices devices = {0};
	char why[GP_WHY_LEN];

	if (gp_devices_open(w->device, &devices, why, sizeof(why)))
		return gp_fail("why: %s", why);
	return tell(w, devices.dev[0]->id.uuid);
}

static int tell_all(struct why *w)
{
	static const uint8_t first[16];
	int err = 0;

	if (w->device)
		return tell_device(w);
	for (size_t i = 0; !err && i < w->view.tenants; i++)
		if (w->view.tenant[i].pid == w->pid)
			err = tell(w, w->view.tenant[i].uuid);
	/* The daemon says best why it has no such tenant. */
	return err || w->told ? err : tell(w, first);
}

static void print_json(const struct why *w)
{
	json_t *json = json_object();

	json_object_set_new(json, "schema_version", json_integer(SCHEMA_VERSION));
	json_object_set(json, "reasons", w->list);
	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(json);
}

static int why(struct why *w)
{
	int err = gp_check_pid("why", w->pid);

	if (err)
		return err;
	w->fd = gp_wire_daemon_connect();
	err = w->fd < 0 ? w->fd : gp_view_read(w->fd, &w->view);
	if (err)
		return gp_fail_daemon("why", err);
	err = tell_all(w);
	if (!err && w->json)
		print_json(w);
	return err;
}

static const struct argp_option options[] = {
	{"json", 'j', NULL, 0, "print JSON; times are integers, _ns", 0},
	{"device", 'd', "DEVICE", 0, "only there: a UUID, a PCI address or soft0", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct why *w = state->input;

	switch (key) {
	case 'j':
		w->json = true;
		return 0;
	case 'd':
		w->device = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (w->pid) {
			gp_fail("why: one process at a time: %d and %s", (int)w->pid, arg);
			return GP_ARGS_SAID;
		}
		return gp_args_pid("why", arg, &w->pid);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int gp_verb_why(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PID",
		.doc = "Say why a process runs or waits now, and where its class comes "
		       "from, as gpreemptd decides it.",
	};
	struct why w = {.fd = -1};
	int err = gp_args(&argp, argc, argv, &w);

	if (err)
		return err;
	if (!w.pid)
		return gp_fail("why: no process; write gpreempt why PID");
	w.list = json_array();
	err = why(&w);
	gp_cleanup_close(&w.fd);
	gp_view_clear(&w.view);
	json_decref(w.list);
	return err;
}
