// SPDX-License-Identifier: Apache-2.0
#include "cli/tenant_query.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/json.h"
#include "cli/text.h"

#define SCHEMA_VERSION 1

int gp_tenant_query_ask(const struct gp_tenant_query *a, union gp_wire_msg *msg,
			enum gp_wire_type wanted)
{
	int err = gp_daemon_ask(a->fd, msg, wanted);

	if (err)
		return gp_fail_daemon(a->verb, err);
	if (msg->head.type == GP_WIRE_SAID)
		return gp_fail("%s: process %d: %s", a->verb, (int)a->pid,
			       *msg->said.text ? msg->said.text : strerror(-msg->head.result));
	return 0;
}

void gp_tenant_query_head(const struct gp_tenant_query *a, const char *comm, const char *device,
			  const struct gp_wire_request *request)
{
	char cls[GP_CLASS_REQUEST_TEXT_LEN], name[GP_WIRE_COMM_LEN], on[GP_WIRE_NAME_LEN];

	gp_daemon_class(request, cls, sizeof(cls));
	snprintf(name, sizeof(name), "%s", comm);
	snprintf(on, sizeof(on), "%s", device);
	printf("%sprocess %d (%s), %s, on %s\n", a->printed ? "\n" : "", (int)a->pid,
	       gp_printable(name), cls, gp_printable(on));
}

json_t *gp_tenant_query_json(const struct gp_tenant_query *a, const char *comm, const char *device,
			     const uint8_t uuid[16])
{
	json_t *json = json_object();
	char text[48];

	gp_uuid_format(uuid, text, sizeof(text));
	json_object_set_new(json, "pid", json_integer(a->pid));
	json_object_set_new(json, "command", gp_json_text(comm));
	json_object_set_new(json, "device", gp_json_text(device));
	json_object_set_new(json, "uuid", json_string(text));
	return json;
}

static void print_json(const struct gp_tenant_query *a, const char *name)
{
	json_t *json = json_object();

	json_object_set_new(json, "schema_version", json_integer(SCHEMA_VERSION));
	json_object_set(json, name, a->list);
	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(json);
}

static int show(struct gp_tenant_query *a, const struct gp_tenant_query_verb *verb)
{
	int err = gp_check_pid(a->verb, a->pid);

	if (err)
		return err;
	a->fd = gp_wire_daemon_connect();
	err = a->fd < 0 ? a->fd : gp_view_read(a->fd, &a->view);
	if (err)
		return gp_fail_daemon(a->verb, err);
	err = verb->print(a);
	if (!err && a->json)
		print_json(a, verb->list);
	return err;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct gp_tenant_query *a = state->input;

	switch (key) {
	case 'j':
		a->json = true;
		return 0;
	case GP_KEY_DEVICE:
		a->device = arg;
		return 0;
	case 'p':
	case ARGP_KEY_ARG:
		return gp_args_process(a->verb, arg, &a->pid);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int gp_tenant_query_run(const struct gp_tenant_query_verb *verb, int argc, char **argv)
{
	const struct argp_option options[] = {
		GP_OPTION_PID,
		{ "json", 'j', NULL, 0, verb->json_doc, 0 },
		{ "device", GP_KEY_DEVICE, "DEVICE", 0,
		  "report on this device only: a UUID, a PCI address or soft0", 0 },
		{ 0 },
	};
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PID",
		.doc = verb->doc,
	};
	struct gp_tenant_query a = { .verb = verb->name, .fd = -1 };
	int err = gp_args(&argp, argc, argv, &a);

	if (err)
		return err;
	if (!a.pid)
		return gp_fail("%s: PID missing; write gpreempt %s PID", a.verb, a.verb);
	a.list = json_array();
	err = show(&a, verb);
	gp_cleanup_close(&a.fd);
	gp_view_clear(&a.view);
	json_decref(a.list);
	return err;
}
