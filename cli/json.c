// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include "gpreempt/gpreempt.h"
#include "wire/wire.h"

json_t *gp_json_number(bool known, uint64_t value)
{
	return known ? json_integer((json_int_t)value) : json_null();
}

json_t *gp_json_text(const char *text)
{
	json_t *json = json_string(text);

	return json ? json : json_null();
}

void gp_json_class(json_t *object, const struct gp_wire_status *st, bool known)
{
	const bool lc = known && st->cls == GP_CLASS_LC;
	const bool be = known && st->cls == GP_CLASS_BE;
	const char *name = lc ? "lc" : be ? "be" : "none";

	json_object_set_new(object, "class", known ? json_string(name) : json_null());
	json_object_set_new(object, "level", gp_json_number(lc, st->value));
	json_object_set_new(object, "weight", gp_json_number(be, st->value));
}

void gp_json_holds(json_t *object, const struct gp_wire_status *st, bool lc)
{
	const struct {
		const char *name;
		bool known;
		uint64_t value;
	} field[] = {
		{ "segments", lc, st->segments },
		{ "holds", lc, st->holds },
		{ "holds_late", lc, st->holds_late },
		{ "holds_expired", lc, st->holds_expired },
		{ "syncs_cut", lc, st->syncs_cut },
		{ "held_ns", lc, st->held_ns },
		/* No switch takes 0, so 0 means not measured. */
		{ "switch_ns", st->switch_ns, st->switch_ns },
		{ "switch_min_ns", st->switch_min_ns, st->switch_min_ns },
		{ "switch_max_ns", st->switch_max_ns, st->switch_max_ns },
	};

	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		json_object_set_new(object, field[i].name,
				    gp_json_number(field[i].known, field[i].value));
}

json_t *gp_json_memory(const struct gp_wire_memory_figures *m)
{
	json_t *json = json_object();

	json_object_set_new(json, "movable_bytes", gp_json_number(true, m->movable));
	json_object_set_new(json, "fixed_bytes", gp_json_number(true, m->fixed));
	json_object_set_new(json, "out_bytes", gp_json_number(true, m->out));
	json_object_set_new(json, "pinned_bytes", gp_json_number(true, m->pinned));
	json_object_set_new(json, "kept_bytes", gp_json_number(true, m->kept));
	json_object_set_new(json, "host_max_bytes", gp_json_number(m->host_max, m->host_max));
	json_object_set_new(json, "moves", gp_json_number(true, m->moves));
	json_object_set_new(json, "moved_bytes", gp_json_number(true, m->moved));
	json_object_set_new(json, "move_ns", gp_json_number(true, m->move_ns));
	return json;
}
