// SPDX-License-Identifier: Apache-2.0
/* workload.c - workloads from JSON. A reader stops at the first error. */
#include "bench/plan/workload.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plan/one_line.h"
#include "bench/plan/reader.h"

/* Version 2 adds tokens. */
#define NEWEST_VERSION 2
#define TEXT_MAX_BYTES 200
#define NS_PER_US 1000
#define TIME_MAX_US (GP_WORKLOAD_TIME_MAX_NS / NS_PER_US)
#define TIME_MIN_US 0.001 /* 1 ns; less would become 0 */

enum {
	GAP,
	LENGTH,
	BLOCKS,
	THREADS,
	REGISTERS,
	SHARED,
	COLUMNS
};

static const struct {
	const char *name;
	double min, max;
	bool whole;
} columns[COLUMNS] = {
	[GAP] = { "gap_us", 0, TIME_MAX_US, false },
	[LENGTH] = { "length_us", TIME_MIN_US, TIME_MAX_US, false },
	[BLOCKS] = { "blocks", 1, INT32_MAX, true },
	[THREADS] = { "threads", 1, 1024, true },
	[REGISTERS] = { "registers", 0, 255, true },
	[SHARED] = { "shared_bytes", 0, 262144, true },
};

/* ---- errors ----------------------------------------------------------------------- */

bool gp_workload_wrong(struct gp_workload_reader *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	gp_one_line_say(r->why, r->why_len, r->name, format, ap);
	va_end(ap);
	return false;
}

static bool wrong_value(struct gp_workload_reader *r, const char *where, const json_t *value,
			const char *right)
{
	char found[40];

	gp_one_line_value(value, found, sizeof(found));
	return gp_workload_wrong(r, "%s: found %s, %s", where, found, right);
}

bool gp_workload_no_memory(struct gp_workload_reader *r)
{
	return gp_workload_wrong(r, "out of memory");
}

bool gp_workload_make_room(struct gp_workload_reader *r, size_t kernels)
{
	r->workload->kernel = calloc(kernels, sizeof(*r->workload->kernel));
	r->workload->kernels = kernels;
	return r->workload->kernel || gp_workload_no_memory(r);
}

/* ---- a file's head ------------------------------------------------------------------ */

static json_int_t version_of(const json_t *root)
{
	return json_integer_value(json_object_get(root, "schema_version"));
}

static bool has_tokens(const json_t *root)
{
	return version_of(root) > 1;
}

static bool is_known(const char *key)
{
	static const char *const known[] = { "schema_version", "name",	  "what",    "device",
					     "driver",	       "solo_us", "columns", "kernels" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i], key))
			return true;
	return false;
}

/* Read before any other field: other versions have other fields. */
static bool read_version(struct gp_workload_reader *r, const json_t *root)
{
	const json_int_t version = version_of(root);

	return (version >= 1 && version <= NEWEST_VERSION) ||
	       wrong_value(r, "schema_version", json_object_get(root, "schema_version"),
			   "1, or 2 where there are tokens, is wanted");
}

static bool refuse_unknown(struct gp_workload_reader *r, json_t *root)
{
	const char *key;
	json_t *value;

	json_object_foreach(root, key, value) if (
		!is_known(key) &&
		!(has_tokens(root) &&
		  !strcmp(key, "tokens"))) return gp_workload_wrong(r,
								    "\"%.*s\": found a field that "
								    "is not known; "
								    "name, what, device, driver, "
								    "solo_us, columns%s "
								    "and kernels are wanted",
								    GP_WORKLOAD_NAME_MAX, key,
								    has_tokens(root) ? ", tokens" :
										       "");
	return true;
}

static bool read_text(struct gp_workload_reader *r, const json_t *root, const char *key,
		      char **text)
{
	const json_t *value = json_object_get(root, key);
	const char *found = json_string_value(value);

	if (!gp_is_one_line(found) || !*found || strlen(found) > TEXT_MAX_BYTES)
		return wrong_value(r, key, value, "a line of 1 to 200 characters is wanted");
	*text = strdup(found);
	return *text || gp_workload_no_memory(r);
}

/* Tables and other files quote the name: it must be short and without spaces. */
static bool read_name(struct gp_workload_reader *r, const json_t *root)
{
	const json_t *value = json_object_get(root, "name");
	const char *found = json_string_value(value);

	if (found && (strlen(found) > GP_WORKLOAD_NAME_MAX || strchr(found, ' ')))
		return wrong_value(r, "name", value,
				   "a text of 1 to 63 characters, none of "
				   "them a blank, is wanted");
	return read_text(r, root, "name", &r->workload->name);
}

static bool is_within(const json_t *value, double min, double max)
{
	const double number = json_number_value(value);

	return json_is_number(value) && isfinite(number) && number >= min && number <= max;
}

static uint64_t ns_of(double us)
{
	return (uint64_t)llround(us * NS_PER_US);
}

/* The upper bound is that of the sum of all kernels and gaps. */
static bool read_solo(struct gp_workload_reader *r, const json_t *root)
{
	const json_t *value = json_object_get(root, "solo_us");

	if (!is_within(value, TIME_MIN_US, 2.0 * TIME_MAX_US * GP_WORKLOAD_KERNELS_MAX))
		return wrong_value(r, "solo_us", value,
				   "a time in us from 0.001 to 2e11 is wanted");
	r->workload->solo_ns = ns_of(json_number_value(value));
	return true;
}

/* ---- a file's kernels ---------------------------------------------------------------- */

static bool read_columns(struct gp_workload_reader *r, const json_t *root)
{
	const json_t *list = json_object_get(root, "columns");
	char where[32], right[48];

	if (!json_is_array(list))
		return wrong_value(r, "columns", list, "a list of six names is wanted");
	for (size_t i = 0; i < COLUMNS; i++) {
		const json_t *name = json_array_get(list, i);

		if (json_is_string(name) && !strcmp(json_string_value(name), columns[i].name))
			continue;
		snprintf(where, sizeof(where), "columns[%zu]", i);
		snprintf(right, sizeof(right), "\"%s\" is wanted", columns[i].name);
		return wrong_value(r, where, name, right);
	}
	return json_array_size(list) == COLUMNS ||
	       wrong_value(r, "columns[6]", json_array_get(list, COLUMNS),
			   "no more than six are wanted");
}

static bool read_kernel(struct gp_workload_reader *r, const json_t *row, size_t at)
{
	double value[COLUMNS];
	char where[64], right[80];

	if (json_array_size(row) != COLUMNS) {
		snprintf(where, sizeof(where), "kernels[%zu]", at);
		return wrong_value(r, where, row, "a list of six numbers is wanted");
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		const json_t *number = json_array_get(row, i);

		value[i] = json_number_value(number);
		if (is_within(number, columns[i].min, columns[i].max) &&
		    (json_is_integer(number) || !columns[i].whole))
			continue;
		snprintf(where, sizeof(where), "kernels[%zu].%s", at, columns[i].name);
		snprintf(right, sizeof(right), "a %snumber from %.10g to %.10g is wanted",
			 columns[i].whole ? "whole " : "", columns[i].min, columns[i].max);
		return wrong_value(r, where, number, right);
	}
	r->workload->kernel[at] = (struct gp_workload_kernel){
		.gap_ns = ns_of(value[GAP]),
		.length_ns = ns_of(value[LENGTH]),
		.blocks = (uint32_t)value[BLOCKS],
		.threads = (uint32_t)value[THREADS],
		.registers = (uint32_t)value[REGISTERS],
		.shared_bytes = (uint32_t)value[SHARED],
	};
	return true;
}

static bool read_kernels(struct gp_workload_reader *r, const json_t *root)
{
	const json_t *list = json_object_get(root, "kernels");
	const size_t count = json_array_size(list);

	if (!json_is_array(list))
		return wrong_value(r, "kernels", list, "a list of kernels is wanted");
	if (!count || count > GP_WORKLOAD_KERNELS_MAX)
		return gp_workload_wrong(r, "kernels: found %zu, a list of 1 to %u is wanted",
					 count, GP_WORKLOAD_KERNELS_MAX);
	if (!gp_workload_make_room(r, count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!read_kernel(r, json_array_get(list, i), i))
			return false;
	return true;
}

/* Each entry is the number of kernels up to that token's end. */
static bool read_tokens(struct gp_workload_reader *r, const json_t *root)
{
	const json_t *list = json_object_get(root, "tokens"), *number;
	struct gp_workload *w = r->workload;
	json_int_t last = 0;
	char where[32], right[80];
	size_t i;

	if (!has_tokens(root))
		return true;
	if (!json_array_size(list))
		return wrong_value(r, "tokens", list,
				   "a list of how many kernels are done when "
				   "each token is out is wanted");
	json_array_foreach(list, i, number)
	{
		const json_int_t done = json_integer_value(number);

		if (done <= last || (size_t)done > w->kernels) {
			snprintf(where, sizeof(where), "tokens[%zu]", i);
			snprintf(right, sizeof(right), "a whole number from %lld to %zu is wanted",
				 (long long)last + 1, w->kernels);
			return wrong_value(r, where, number, right);
		}
		w->kernel[done - 1].token = true;
		last = done;
	}
	w->tokens = i;
	return true;
}

static bool read_root(struct gp_workload_reader *r, json_t *root)
{
	struct gp_workload *w = r->workload;

	return read_version(r, root) && refuse_unknown(r, root) && read_name(r, root) &&
	       read_text(r, root, "what", &w->what) && read_text(r, root, "device", &w->device) &&
	       read_text(r, root, "driver", &w->driver) && read_solo(r, root) &&
	       read_columns(r, root) && read_kernels(r, root) && read_tokens(r, root);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool begin(struct gp_workload_reader *r, const char *name, char *why, size_t why_len)
{
	*r = (struct gp_workload_reader){ .name = name, .why = why, .why_len = why_len };
	r->workload = calloc(1, sizeof(*r->workload));
	return r->workload || gp_workload_no_memory(r);
}

static struct gp_workload *end(struct gp_workload_reader *r, bool ok)
{
	if (ok)
		return r->workload;
	gp_workload_destroy(r->workload);
	return NULL;
}

/* Owns @root. */
static struct gp_workload *accept_root(json_t *root, const char *name, const json_error_t *error,
				       char *why, size_t why_len)
{
	struct gp_workload_reader r;
	bool ok;

	if (!root) {
		gp_one_line_json(error, name, why, why_len);
		return NULL;
	}
	ok = begin(&r, name, why, why_len) && read_root(&r, root);
	json_decref(root);
	return end(&r, ok);
}

struct gp_workload *gp_workload_read(const char *path, char *why, size_t why_len)
{
	json_error_t error;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	return accept_root(root, path, &error, why, why_len);
}

struct gp_workload *gp_workload_parse(const char *name, const char *text, size_t bytes, char *why,
				      size_t why_len)
{
	json_error_t error;
	json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);

	return accept_root(root, name, &error, why, why_len);
}

struct gp_workload *gp_workload_named(const char *text, char *why, size_t why_len)
{
	struct gp_workload_reader r;
	const bool ok = begin(&r, text, why, why_len) && gp_workload_make_named(&r, text);

	return end(&r, ok);
}

void gp_workload_destroy(struct gp_workload *workload)
{
	if (!workload)
		return;
	free(workload->name);
	free(workload->what);
	free(workload->device);
	free(workload->driver);
	free(workload->kernel);
	free(workload);
}

/* A decoder waits for each token and for the kernels after the last, a graph for each round. */
bool gp_workload_waits_often(const struct gp_workload *w)
{
	switch (w->kind) {
	case GP_WORKLOAD_BFS:
	case GP_WORKLOAD_SSSP:
	case GP_WORKLOAD_COMPONENTS:
		return true;
	default:
		return w->tokens > 1 || (w->tokens && !w->kernel[w->kernels - 1].token);
	}
}

struct gp_workload_sum gp_workload_sum(const struct gp_workload *workload)
{
	struct gp_workload_sum sum = { 0 };

	for (size_t i = 0; i < workload->kernels; i++) {
		sum.length_ns += workload->kernel[i].length_ns;
		sum.gap_ns += workload->kernel[i].gap_ns;
	}
	return sum;
}
