// SPDX-License-Identifier: Apache-2.0
/*
 * why.c - gpreempt why: the reason why a process runs or waits now, on each of its devices,
 * from gpreemptd's decisions.
 */
#include "cli/why.h"

#include <stdlib.h>
#include <string.h>

#include "cli/tenant_query.h"
#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/view.h"

/* ---- one device ------------------------------------------------------------------ */

static const struct gp_wire_device *device_of(const struct gp_view *view, const uint8_t uuid[16])
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
static char *sentences(const struct gp_tenant_query *a, const struct gp_wire_reason *r)
{
	const struct gp_wire_tenant *t = gp_view_tenant(&a->view, r->pid, r->uuid);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	if (is_banned(t))
		fputs("It reset its slice too often, and is suspended until it ends.", out);
	else
		gp_why_sentence(out, r);
	if (t && t->flags & GP_WIRE_PILES) {
		fputc(' ', out);
		gp_why_piles(out);
	}
	if (t && t->request.cls == GP_CLASS_LC && t->origin != GP_WIRE_BY_RUN) {
		fputc(' ', out);
		gp_why_late(out, t, device_of(&a->view, r->uuid));
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static void print_kept(const struct gp_wire_memory_figures *m)
{
	char kept[GP_VIEW_TEXT_LEN], most[GP_VIEW_TEXT_LEN];

	if (m->kept)
		printf("  %s of it cannot leave: the process may pin %s of the host's memory; "
		       "raise --mem-host of gpreempt run, or host_memory: of gpreempt.yaml\n",
		       gp_view_bytes(m->kept, kept), gp_view_bytes(m->host_max, most));
}

static void print_quota(const struct gp_wire_tenant *t)
{
	char quota[GP_VIEW_QUOTA_LEN], cgroup[GP_WIRE_CGROUP_LEN];

	snprintf(cgroup, sizeof(cgroup), "%s", t->cgroup);
	if (*gp_view_quota(t, quota))
		printf("  Memory of all processes of %s: %s\n", gp_printable(cgroup), quota);
}

static void print_reason(const struct gp_tenant_query *a, struct gp_wire_reason *r,
			 const char *text)
{
	const struct gp_wire_tenant *t = gp_view_tenant(&a->view, r->pid, r->uuid);

	gp_tenant_query_head(a, r->comm, r->device, &r->request);
	printf("  %s\n", text);
	if (t && gp_view_has_memory(&t->memory)) {
		printf("  Its memory: ");
		gp_view_memory(stdout, &t->memory);
		putchar('\n');
		print_kept(&t->memory);
	}
	if (t)
		print_quota(t);
	if (*r->why)
		printf("  Its class: %s\n", gp_printable(r->why));
}

static json_t *known_pid(int32_t pid)
{
	return gp_json_number(pid, (uint64_t)pid);
}

static json_t *known_bytes(uint64_t bytes)
{
	return gp_json_number(bytes != GP_WIRE_UNKNOWN, bytes);
}

static json_t *reason_json(const struct gp_tenant_query *a, const struct gp_wire_reason *r,
			   const char *text)
{
	const struct gp_wire_tenant *t = gp_view_tenant(&a->view, r->pid, r->uuid);
	json_t *json = gp_tenant_query_json(a, r->comm, r->device, r->uuid);
	char cls[GP_CLASS_REQUEST_TEXT_LEN];

	gp_daemon_class(&r->request, cls, sizeof(cls));
	json_object_set_new(json, "class", gp_json_text(cls));
	json_object_set_new(json, "class_from", gp_json_text(r->why));
	json_object_set_new(json, "origin", t ? json_string(gp_view_origin(t)) : json_null());
	json_object_set_new(json, "reason",
			    json_string(is_banned(t) ? "banned" : gp_why_name(r->reason)));
	json_object_set_new(json, "text", gp_json_text(text));
	json_object_set_new(json, "other_pid", known_pid(r->other_pid));
	json_object_set_new(json, "other_command",
			    r->other_pid ? gp_json_text(r->other_comm) : json_null());
	json_object_set_new(json, "ahead", json_integer(r->ahead));
	json_object_set_new(json, "memory", t ? gp_json_memory(&t->memory) : json_null());
	json_object_set_new(json, "cgroup_memory_bytes",
			    known_bytes(t ? t->quota_used : UINT64_MAX));
	json_object_set_new(json, "cgroup_memory_max_bytes",
			    known_bytes(t ? t->quota_max : UINT64_MAX));
	json_object_set_new(json, "error", r->error ? json_integer(r->error) : json_null());
	json_object_set_new(json, "for_ns",
			    gp_json_number(r->for_ns != GP_WIRE_UNKNOWN, r->for_ns));
	json_object_set_new(json, "until_ns",
			    gp_json_number(r->until_ns != GP_WIRE_UNKNOWN, r->until_ns));
	return json;
}

/* @uuid all 0: the process's first device. */
static int print_answer(struct gp_tenant_query *a, const uint8_t uuid[16])
{
	union gp_wire_msg msg;
	char *text;
	int err;

	gp_wire_init(&msg, GP_WIRE_WHY);
	msg.take.pid = a->pid;
	memcpy(msg.take.uuid, uuid, sizeof(msg.take.uuid));
	err = gp_tenant_query_ask(a, &msg, GP_WIRE_REASON);
	if (err)
		return err;
	text = sentences(a, &msg.reason);
	if (!text)
		return gp_fail("why: out of memory");
	if (a->json)
		json_array_append_new(a->list, reason_json(a, &msg.reason, text));
	else
		print_reason(a, &msg.reason, text);
	a->printed++;
	free(text);
	return 0;
}

/* ---- the verb -------------------------------------------------------------------- */

static int tell_device(struct gp_tenant_query *a)
{
	GP_DEVICES struct gp_devices devices = { 0 };
	char why[GP_WHY_LEN];

	if (gp_devices_open(a->device, &devices, why, sizeof(why)))
		return gp_fail("why: %s", why);
	return print_answer(a, devices.dev[0]->id.uuid);
}

static int print_all(struct gp_tenant_query *a)
{
	static const uint8_t first[16];
	int err = 0;

	if (a->device)
		return tell_device(a);
	for (size_t i = 0; !err && i < a->view.tenants; i++)
		if (a->view.tenant[i].pid == a->pid)
			err = print_answer(a, a->view.tenant[i].uuid);
	/* The daemon says best why it has no such tenant. */
	return err || a->printed ? err : print_answer(a, first);
}

int gp_verb_why(int argc, char **argv)
{
	static const struct gp_tenant_query_verb verb = {
		.name = "why",
		.doc = "Explain why a process runs or waits now, and the origin of its class. "
		       "Needs gpreemptd.",
		.json_doc = "print JSON; times are integers, _ns",
		.list = "reasons",
		.print = print_all,
	};

	return gp_tenant_query_run(&verb, argc, argv);
}
