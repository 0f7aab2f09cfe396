/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - common parts of the verbs with --json. A figure without a source is null, and a
 * tenant's fields have one name and one unit.
 */
#ifndef GP_CLI_JSON_H
#define GP_CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct gp_wire_memory_figures;
struct gp_wire_status;

/** A new reference: @value, or null if not @known. */
json_t *gp_json_number(bool known, uint64_t value);
/** A new reference; null: not UTF-8, because a command's name may be any bytes. */
json_t *gp_json_text(const char *text);
/** class, level, weight. @known: a tenant's; else all are null. */
void gp_json_class(json_t *object, const struct gp_wire_status *st, bool known);
/** Adds segments to switch_max_ns; null unless @lc. */
void gp_json_holds(json_t *object, const struct gp_wire_status *st, bool lc);
/** A new reference. */
json_t *gp_json_memory(const struct gp_wire_memory_figures *memory);

#endif
