/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - gpreemptd's present devices and tenants, and the form of figures: "-" without a
 * source.
 */
#ifndef GP_CLI_VIEW_H
#define GP_CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wire/wire.h"

struct gp_view {
	size_t devices;
	struct gp_wire_device device[GP_WIRE_MAX_DEVICES];
	size_t tenants, room;
	struct gp_wire_tenant *tenant; /* owned */
};

/** Replaces @view's contents. 0 or negative errno, as gp_daemon_list(). */
int gp_view_read(int fd, struct gp_view *view);
/** Frees @view's contents; it is empty then. */
void gp_view_clear(struct gp_view *view);
#define GP_VIEW __attribute__((cleanup(gp_view_clear)))

/** @pid on the device @uuid, or NULL. */
const struct gp_wire_tenant *gp_view_tenant(const struct gp_view *view, int32_t pid,
					    const uint8_t uuid[16]);

/** "held", "segment", "waits", "idle", "runs", "out", "frozen", "banned"; "-": unknown. */
const char *gp_view_state(const struct gp_wire_tenant *tenant);
/** "run", "rule", "attach", "pool", "-". */
const char *gp_view_origin(const struct gp_wire_tenant *tenant);

#define GP_VIEW_TEXT_LEN 24
#define GP_VIEW_QUOTA_LEN (2 * GP_VIEW_TEXT_LEN + 8)
/** Three digits and a unit: "12.3ms"; "-": GP_WIRE_UNKNOWN. Returns @buf. */
const char *gp_view_time(uint64_t ns, char buf[GP_VIEW_TEXT_LEN]);

/** Three digits and a unit: "12.3MiB". Returns @buf. */
const char *gp_view_bytes(uint64_t bytes, char buf[GP_VIEW_TEXT_LEN]);
/** Memory of all processes of its cgroup, as "1.5GiB of 8GiB"; "": they have no limit together. */
const char *gp_view_quota(const struct gp_wire_tenant *tenant, char buf[GP_VIEW_QUOTA_LEN]);
/** Has it ever had memory that gpreempt sees? */
bool gp_view_has_memory(const struct gp_wire_memory_figures *memory);
/** "96.0MiB on the device, 90.0MiB of it movable, 0B on the host; 2 moves of 180MiB in 41.2ms" */
void gp_view_memory(FILE *out, const struct gp_wire_memory_figures *memory);

/* ---- top.c's text ------------------------------------------------------------ */

enum gp_top_key {
	GP_TOP_USED,
	GP_TOP_TURN,
	GP_TOP_WAIT,
	GP_TOP_SWITCH,
	GP_TOP_PID,
	GP_TOP_NAME,
	GP_TOP_KEYS
};

struct gp_top_order {
	enum gp_top_key key;
	bool reverse;
};

/** 0: @text is one of "used", "turn", "wait", "switch", "pid", "name". -EINVAL. */
int gp_top_key_parse(const char *text, enum gp_top_key *key);
const char *gp_top_key_name(enum gp_top_key key);

/** Prints the changes between @before (NULL: unknown) and @now. */
void gp_top_print(FILE *out, const struct gp_view *before, const struct gp_view *now,
		  const struct gp_top_order *order);

#endif
