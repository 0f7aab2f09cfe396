// SPDX-License-Identifier: Apache-2.0
#include "cli/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/daemon.h"

/* Far more than a daemon accepts, so that a faulty one cannot fill memory. */
#define TENANTS_MAX 65536u

static int add_device(void *arg, const union gp_wire_msg *msg)
{
	struct gp_view *view = arg;

	if (view->devices == GP_WIRE_MAX_DEVICES)
		return -EPROTO;
	view->device[view->devices++] = msg->device;
	return 0;
}

static int add_tenant(void *arg, const union gp_wire_msg *msg)
{
	struct gp_view *view = arg;
	size_t room = view->room ? view->room * 2 : 64;
	struct gp_wire_tenant *more;

	if (view->tenants == view->room) {
		if (room > TENANTS_MAX)
			return -EPROTO;
		more = realloc(view->tenant, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		view->tenant = more;
		view->room = room;
	}
	view->tenant[view->tenants++] = msg->tenant;
	return 0;
}

int gp_view_read(int fd, struct gp_view *view)
{
	int err;

	view->devices = 0;
	view->tenants = 0;
	err = gp_daemon_list(fd, GP_WIRE_DEVICES, GP_WIRE_DEVICE, add_device, view);
	if (!err)
		err = gp_daemon_list(fd, GP_WIRE_LIST, GP_WIRE_TENANT, add_tenant, view);
	return err;
}

void gp_view_clear(struct gp_view *view)
{
	free(view->tenant);
	memset(view, 0, sizeof(*view));
}

const struct gp_wire_tenant *gp_view_tenant(const struct gp_view *view, int32_t pid,
					    const uint8_t uuid[16])
{
	for (size_t i = 0; i < view->tenants; i++)
		if (view->tenant[i].pid == pid && !memcmp(view->tenant[i].uuid, uuid, 16))
			return &view->tenant[i];
	return NULL;
}

const char *gp_view_state(const struct gp_wire_tenant *tenant)
{
	const uint32_t flags = tenant->flags;

	if (flags & GP_WIRE_BANNED)
		return "banned";
	if (flags & GP_WIRE_FROZEN)
		return "frozen";
	if (flags & GP_WIRE_OUT)
		return "out";
	if (flags & GP_WIRE_HELD)
		return "held";
	if (flags & GP_WIRE_SEGMENT)
		return "segment";
	if (flags & GP_WIRE_IDLE)
		return "idle";
	if (flags & GP_WIRE_SUSPENDED)
		return "waits";
	return flags & (GP_WIRE_RESIDENT | GP_WIRE_BUSY) ? "runs" : "-";
}

const char *gp_view_origin(const struct gp_wire_tenant *tenant)
{
	switch (tenant->origin) {
	case GP_WIRE_BY_RUN:
		return "run";
	case GP_WIRE_BY_RULE:
		return "rule";
	case GP_WIRE_BY_ATTACH:
		return "attach";
	case GP_WIRE_BY_POOL:
		return "pool";
	default:
		return "-";
	}
}

struct unit {
	const char *name;
	double size;
};

static const char *with_unit(uint64_t value, const struct unit *unit, size_t units,
			     char buf[GP_VIEW_TEXT_LEN])
{
	double scaled;
	size_t i = 0;

	/* 999.5 would print as 1000. */
	while (i + 1 < units && (double)value >= 999.5 * unit[i].size)
		i++;
	scaled = (double)value / unit[i].size;
	snprintf(buf, GP_VIEW_TEXT_LEN, "%.*f%s",
		 !i || scaled >= 99.95 ? 0 :
		 scaled >= 9.995       ? 1 :
					 2,
		 scaled, unit[i].name);
	return buf;
}

const char *gp_view_time(uint64_t ns, char buf[GP_VIEW_TEXT_LEN])
{
	static const struct unit unit[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }
	};

	if (ns == GP_WIRE_UNKNOWN) {
		snprintf(buf, GP_VIEW_TEXT_LEN, "-");
		return buf;
	}
	return with_unit(ns, unit, sizeof(unit) / sizeof(unit[0]), buf);
}

const char *gp_view_bytes(uint64_t bytes, char buf[GP_VIEW_TEXT_LEN])
{
	static const struct unit unit[] = {
		{ "B", 1 },
		{ "KiB", 1 << 10 },
		{ "MiB", 1 << 20 },
		{ "GiB", 1ull << 30 },
		{ "TiB", 1ull << 40 },
	};

	return with_unit(bytes, unit, sizeof(unit) / sizeof(unit[0]), buf);
}

const char *gp_view_quota(const struct gp_wire_tenant *t, char buf[GP_VIEW_QUOTA_LEN])
{
	char used[GP_VIEW_TEXT_LEN], max[GP_VIEW_TEXT_LEN];

	buf[0] = '\0';
	if (t->quota_max && t->quota_max != GP_WIRE_UNKNOWN)
		snprintf(buf, GP_VIEW_QUOTA_LEN, "%s of %s", gp_view_bytes(t->quota_used, used),
			 gp_view_bytes(t->quota_max, max));
	return buf;
}

bool gp_view_has_memory(const struct gp_wire_memory_figures *m)
{
	return m->movable || m->fixed || m->out || m->moves;
}

void gp_view_memory(FILE *out, const struct gp_wire_memory_figures *m)
{
	char text[5][GP_VIEW_TEXT_LEN];

	fprintf(out, "%s on the device, %s of it movable, %s on the host; %llu moves of %s in %s",
		gp_view_bytes(m->movable + m->fixed, text[0]), gp_view_bytes(m->movable, text[1]),
		gp_view_bytes(m->out, text[2]), (unsigned long long)m->moves,
		gp_view_bytes(m->moved, text[3]), gp_view_time(m->move_ns, text[4]));
}
