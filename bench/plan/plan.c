// SPDX-License-Identifier: Apache-2.0
/*
 * plan.c - plans from JSON. A reader stops at the first error. Struct reader then has its place
 * and a right value, and every function returns false.
 */
#include "bench/plan/plan.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpreempt/gpreempt.h>

#include "bench/plan/one_line.h"

#define SECONDS_MAX 86400
#define RATE_MAX 1000000
#define TRACE_MAX_MS (SECONDS_MAX * 1000ll)
#define TEXT_MAX 63
#define LINE_MAX 400
#define SIGMA_MAX 3.0 /* as GP_ARRIVALS_SIGMA_MAX */
#define KILLED_MIN_S 0.1
#define PERIOD_MAX_NS 10000000000u /* as GP_PERIOD_MAX_NS */
#define NS_PER_US 1000u
#define NS_PER_MS 1000000u

struct reader {
	struct gp_plan *plan;
	const char *name;
	char *why;
	size_t why_len;
	size_t task; /* index of the task that is read */
};

static const char *const load_names[] = {
	[GP_PLAN_PERIODIC] = "periodic",     [GP_PLAN_POISSON] = "poisson",
	[GP_PLAN_CONTINUOUS] = "continuous", [GP_PLAN_TRACE] = "trace",
	[GP_PLAN_DEPENDENT] = "dependent",   [GP_PLAN_BURSTY] = "bursty",
};
#define LOADS (sizeof(load_names) / sizeof(load_names[0]))

const char *gp_plan_load_name(enum gp_plan_load load)
{
	return load_names[load];
}

bool gp_plan_has_rate(const struct gp_plan_client *c)
{
	return c->load == GP_PLAN_PERIODIC || c->load == GP_PLAN_POISSON ||
	       c->load == GP_PLAN_BURSTY;
}

void gp_plan_law(const struct gp_plan_client *c, char *text, size_t len)
{
	if (c->load == GP_PLAN_BURSTY)
		snprintf(text, len, "%s:%.6f", load_names[c->load], c->sigma);
	else
		snprintf(text, len, "%s", load_names[c->load]);
}

uint64_t gp_plan_period_ns(const struct gp_plan_client *c)
{
	return (uint64_t)llround(1e9 / c->rate);
}

bool gp_plan_period_fits(const struct gp_plan_client *c)
{
	return 1e9 / c->rate <= PERIOD_MAX_NS &&
	       (uint64_t)c->deadline_us * NS_PER_US <= gp_plan_period_ns(c);
}

uint64_t gp_plan_waiters(const struct gp_plan *plan, size_t client)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < plan->clients; i++)
		if (plan->client[i].after >> client & 1)
			bits |= 1ull << i;
	return bits;
}

bool gp_plan_kills(const struct gp_plan *plan)
{
	for (size_t i = 0; i < plan->clients; i++)
		if (plan->client[i].killed_every_s > 0)
			return true;
	return false;
}

/* ---- errors -------------------------------------------------------------------- */

static bool wrong(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(struct reader *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	gp_one_line_say(r->why, r->why_len, r->name, format, ap);
	va_end(ap);
	return false;
}

static bool wrong_value(struct reader *r, const char *part, const char *key, const json_t *value,
			const char *right)
{
	char found[40];

	gp_one_line_value(value, found, sizeof(found));
	return wrong(r, "tasks[%zu].%s%s%s: found %s, %s", r->task, part, *part ? "." : "", key,
		     found, right);
}

static bool no_memory(struct reader *r)
{
	return wrong(r, "out of memory");
}

/* ---- values ---------------------------------------------------------------------- */

static bool is_text(const json_t *value)
{
	const char *text = json_string_value(value);

	if (!text || !*text || json_string_length(value) > TEXT_MAX)
		return false;
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 127)
			return false;
	return true;
}

/* @text stays if the key is missing. */
static bool take_text(struct reader *r, const json_t *of, const char *part, const char *key,
		      char **text)
{
	const json_t *value = json_object_get(of, key);

	if (!value)
		return true;
	if (!is_text(value))
		return wrong_value(r, part, key, value,
				   "a text of 1 to 63 characters, none of "
				   "them a blank, is wanted");
	free(*text);
	*text = strdup(json_string_value(value));
	return *text || no_memory(r);
}

static bool take_number(struct reader *r, const json_t *of, const char *part, const char *key,
			uint32_t min, uint32_t max, uint32_t *number)
{
	const json_t *value = json_object_get(of, key);
	char right[64];

	if (!value)
		return true;
	snprintf(right, sizeof(right), "a whole number from %u to %u is wanted", min, max);
	if (!json_is_integer(value) || json_integer_value(value) < min ||
	    json_integer_value(value) > max)
		return wrong_value(r, part, key, value, right);
	*number = (uint32_t)json_integer_value(value);
	return true;
}

static bool take_signed(struct reader *r, const json_t *of, const char *part, const char *key,
			int32_t most, int32_t *number)
{
	const json_t *value = json_object_get(of, key);
	char right[64];

	if (!value)
		return true;
	snprintf(right, sizeof(right), "a whole number from %d to %d is wanted", -most, most);
	if (!json_is_integer(value) || json_integer_value(value) < -most ||
	    json_integer_value(value) > most)
		return wrong_value(r, part, key, value, right);
	*number = (int32_t)json_integer_value(value);
	return true;
}

static bool take_bool(struct reader *r, const json_t *of, const char *part, const char *key,
		      bool *is)
{
	const json_t *value = json_object_get(of, key);

	if (value && !json_is_boolean(value))
		return wrong_value(r, part, key, value, "true or false is wanted");
	*is = json_is_true(value);
	return true;
}

static bool is_positive(const json_t *value, double max)
{
	const double number = json_number_value(value);

	return json_is_number(value) && isfinite(number) && number > 0 && number <= max;
}

/* ---- ignored fields --------------------------------------------------------------- */

static bool add_unknown(struct reader *r, const char *part, const char *key)
{
	struct gp_plan *p = r->plan;
	char field[80], **more;

	snprintf(field, sizeof(field), "%s%s%.*s", part, *part ? "." : "", TEXT_MAX,
		 *key ? key : "\"\"");
	gp_one_line(field);
	for (size_t i = 0; i < p->unknowns; i++)
		if (!strcmp(p->unknown[i], field))
			return true;
	more = realloc(p->unknown, (p->unknowns + 1) * sizeof(*more));
	if (!more)
		return no_memory(r);
	p->unknown = more;
	more[p->unknowns] = strdup(field);
	return more[p->unknowns++] || no_memory(r);
}

static bool name_unknown(struct reader *r, json_t *of, const char *part, const char *const *known,
			 size_t count)
{
	const char *key;
	json_t *value;

	json_object_foreach(of, key, value)
	{
		size_t i = 0;

		while (i < count && strcmp(known[i], key))
			i++;
		if (i == count && !add_unknown(r, part, key))
			return false;
	}
	return true;
}
#define NAME_UNKNOWN(r, of, part, ...)                                  \
	name_unknown(r, of, part, (const char *const[]){ __VA_ARGS__ }, \
		     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* ---- a load -------------------------------------------------------------------------- */

static bool read_offered(struct reader *r, const json_t *load, const json_t *value,
			 struct gp_plan_client *c)
{
	if (!is_positive(value, 1))
		return wrong_value(r, "load", "offered", value,
				   "a number above 0, up to 1, is wanted");
	if (json_object_get(load, "frequency"))
		return wrong_value(r, "load", "offered", value,
				   "\"frequency\" or \"offered\" is wanted, not both");
	c->offered = json_number_value(value);
	return true;
}

static bool read_sigma(struct reader *r, const json_t *load, struct gp_plan_client *c)
{
	const json_t *value = json_object_get(load, "sigma");

	c->sigma = 1;
	if (!value)
		return true;
	if (!is_positive(value, SIGMA_MAX) || json_number_value(value) < 1e-3)
		return wrong_value(r, "load", "sigma", value, "a number from 0.001 to 3 is wanted");
	c->sigma = json_number_value(value);
	return true;
}

static bool read_rate(struct reader *r, const json_t *load, struct gp_plan_client *c)
{
	const json_t *value = json_object_get(load, "frequency");
	const json_t *offered = json_object_get(load, "offered");

	if (c->load == GP_PLAN_BURSTY && !read_sigma(r, load, c))
		return false;
	if (offered)
		return read_offered(r, load, offered, c);
	if (!is_positive(value, RATE_MAX))
		return wrong_value(r, "load", "frequency", value,
				   "a number above 0, up to 1000000, is wanted");
	c->rate = json_number_value(value);
	return true;
}

static bool read_trace(struct reader *r, const json_t *load, struct gp_plan_client *c)
{
	const json_t *trace = json_object_get(load, "trace");
	const size_t count = json_array_size(trace);

	if (!count || count > GP_PLAN_TRACE_MAX)
		return wrong_value(r, "load", "trace", trace,
				   "a list of 1 to 1000000 times in ms is wanted");
	c->trace_ns = calloc(count, sizeof(*c->trace_ns));
	if (!c->trace_ns)
		return no_memory(r);
	for (; c->traces < count; c->traces++) {
		const json_t *ms = json_array_get(trace, c->traces);
		char key[32];

		snprintf(key, sizeof(key), "trace[%zu]", c->traces);
		if (!json_is_number(ms) || !(json_number_value(ms) >= 0) ||
		    json_number_value(ms) > (double)TRACE_MAX_MS)
			return wrong_value(r, "load", key, ms,
					   "a time in ms, of one day at most, is wanted");
		c->trace_ns[c->traces] = (uint64_t)llround(json_number_value(ms) * NS_PER_MS);
		if (c->traces && c->trace_ns[c->traces] < c->trace_ns[c->traces - 1])
			return wrong_value(r, "load", key, ms,
					   "times in ascending order are wanted");
	}
	return true;
}

static bool read_load(struct reader *r, json_t *load, struct gp_plan_client *c)
{
	const json_t *type = json_object_get(load, "type");
	size_t i = 0;

	if (!json_is_object(load))
		return wrong_value(r, "", "load", load, "{\"type\": ..} is wanted");
	while (i < LOADS &&
	       !(json_is_string(type) && !strcmp(json_string_value(type), load_names[i])))
		i++;
	if (i == LOADS)
		return wrong_value(r, "load", "type", type,
				   "periodic, poisson, bursty, continuous, trace or dependent is "
				   "wanted");
	c->load = (enum gp_plan_load)i;
	if (gp_plan_has_rate(c))
		return read_rate(r, load, c);
	return c->load != GP_PLAN_TRACE || read_trace(r, load, c);
}

/* ---- a client ------------------------------------------------------------------------- */

/* The task's id; else its client's or model's name with its index. */
static bool read_id(struct reader *r, const json_t *task, const json_t *client,
		    struct gp_plan_client *c)
{
	char *name = NULL, made[TEXT_MAX + 24];
	bool ok = take_text(r, task, "", "id", &c->id);

	if (!ok || c->id)
		return ok;
	if (!take_text(r, client, "client", "name", &name))
		return false;
	snprintf(made, sizeof(made), "%s-%zu", name ? name : c->model ? c->model : "task", r->task);
	free(name);
	c->id = strdup(made);
	return c->id || no_memory(r);
}

static bool ends_in(const char *text, const char *end)
{
	const size_t length = strlen(text), of = strlen(end);

	return length >= of && !strcmp(text + length - of, end);
}

/* Read after the id. */
static bool read_class(struct reader *r, const json_t *load, const json_t *client,
		       struct gp_plan_client *c)
{
	uint32_t priority = 1;

	if (!take_number(r, load, "load", "priority", 0, 1, &priority))
		return false;
	if (ends_in(c->id, "_rt"))
		priority = 0;
	else if (ends_in(c->id, "_be"))
		priority = 1;
	if (!take_number(r, client, "client", "priority", 0, 1, &priority))
		return false;
	c->lc = !priority;
	return true;
}

/* Read after class, load and deadline, which a runtime needs. */
static bool read_runtime(struct reader *r, const json_t *client, struct gp_plan_client *c)
{
	static const char key[] = "runtime_us";
	const json_t *value = json_object_get(client, key);

	if (!value)
		return true;
	if (!c->lc)
		return wrong_value(r, "client", key, value,
				   "\"runtime_us\" is a latency-critical client's");
	if (c->load != GP_PLAN_PERIODIC || !(c->rate > 0))
		return wrong_value(r, "client", key, value,
				   "a load that is periodic, with \"frequency\", is wanted");
	if (!c->deadline_us)
		return wrong_value(r, "client", key, value, "\"deadline_us\" is wanted with it");
	if (!gp_plan_period_fits(c))
		return wrong_value(r, "client", "deadline_us",
				   json_object_get(client, "deadline_us"),
				   "with \"runtime_us\" no more than the period is wanted, and "
				   "that of 10 s at most");
	return take_number(r, client, "client", key, 1, c->deadline_us, &c->runtime_us);
}

/* Read after class and load. A dependent client cannot be killed: each end is sent to it once. */
static bool read_killed(struct reader *r, const json_t *client, struct gp_plan_client *c)
{
	static const char key[] = "killed_every_s";
	const json_t *value = json_object_get(client, key);

	if (!value)
		return true;
	if (!is_positive(value, SECONDS_MAX) || json_number_value(value) < KILLED_MIN_S)
		return wrong_value(r, "client", key, value,
				   "a number of seconds from 0.1 to 86400 is wanted");
	if (c->lc)
		return wrong_value(r, "client", key, value,
				   "\"killed_every_s\" is a best-effort client's");
	if (c->load == GP_PLAN_DEPENDENT)
		return wrong_value(r, "client", key, value, "a dependent client cannot have it");
	c->killed_every_s = json_number_value(value);
	return true;
}

/* Read after the class. */
static bool read_asked(struct reader *r, const json_t *client, struct gp_plan_client *c)
{
	const char *other = c->lc ? "weight" : "level";
	const json_t *value = json_object_get(client, other);

	if (value)
		return wrong_value(r, "client", other, value,
				   c->lc ? "\"weight\" is a best-effort client's" :
					   "\"level\" is a latency-critical client's");
	return take_number(r, client, "client", "level", 0, GP_LEVEL_MAX, &c->level) &&
	       take_number(r, client, "client", "weight", GP_WEIGHT_MIN, GP_WEIGHT_MAX,
			   &c->weight) &&
	       take_number(r, client, "client", "deadline_us", 1, 100000000, &c->deadline_us) &&
	       take_signed(r, client, "client", "hint_off_us", 1000000, &c->hint_off_us);
}

static bool is_known_id(const struct gp_plan *p, const char *id, size_t *place)
{
	for (*place = 0; *place < p->clients; (*place)++)
		if (!strcmp(p->client[*place].id, id))
			return true;
	return false;
}

static bool read_task(struct reader *r, json_t *task)
{
	struct gp_plan_client c = { .batch = 1 };
	json_t *load = json_object_get(task, "load"), *client = json_object_get(task, "client");
	size_t other;
	bool ok;

	if (!json_is_object(task))
		return wrong(r,
			     "tasks[%zu]: {\"id\": .., \"load\": .., \"client\": ..} is "
			     "wanted",
			     r->task);
	if (!json_is_object(client))
		return wrong_value(r, "", "client", client, "{\"model_name\": ..} is wanted");
	ok = read_load(r, load, &c) && take_text(r, client, "client", "model_name", &c.model) &&
	     take_number(r, client, "client", "batch_size", 1, 65536, &c.batch) &&
	     take_number(r, client, "client", "preprocess_time", 0, 1000000, &c.prepare_us) &&
	     take_bool(r, client, "client", "use_cuda_graph", &c.graph) &&
	     read_id(r, task, client, &c) && read_class(r, load, client, &c) &&
	     read_asked(r, client, &c) && read_runtime(r, client, &c) &&
	     read_killed(r, client, &c) && NAME_UNKNOWN(r, task, "", "id", "load", "client") &&
	     NAME_UNKNOWN(r, load, "load", "type", "priority", "frequency", "trace",
			  "prev_task_ids", "offered", "sigma") &&
	     NAME_UNKNOWN(r, client, "client", "name", "model_name", "priority", "batch_size",
			  "use_cuda_graph", "preprocess_time", "level", "weight", "deadline_us",
			  "hint_off_us", "runtime_us", "killed_every_s");
	if (ok && is_known_id(r->plan, c.id, &other))
		ok = wrong(r,
			   "tasks[%zu].id: found \"%s\", the id of tasks[%zu]; another is wanted",
			   r->task, c.id, other);
	/* Also after an error, so that the plan frees it. */
	r->plan->client[r->plan->clients++] = c;
	return ok;
}

/* ---- dependencies ------------------------------------------------------------------------ */

static bool read_after(struct reader *r, const json_t *task)
{
	const json_t *ids = json_object_get(json_object_get(task, "load"), "prev_task_ids");
	struct gp_plan_client *c = &r->plan->client[r->task];
	size_t place;

	if (c->load != GP_PLAN_DEPENDENT)
		return true;
	if (!json_array_size(ids))
		return wrong_value(r, "load", "prev_task_ids", ids, "a list of ids is wanted");
	for (size_t i = 0; i < json_array_size(ids); i++) {
		const json_t *id = json_array_get(ids, i);

		if (!json_is_string(id) || !is_known_id(r->plan, json_string_value(id), &place))
			return wrong_value(r, "load", "prev_task_ids", id,
					   "the id of another task is wanted");
		if (r->plan->client[place].killed_every_s > 0)
			return wrong_value(r, "load", "prev_task_ids", id,
					   "the id of a task that is not killed is wanted");
		c->after |= 1ull << place;
	}
	return true;
}

/* A client without dependencies begins; so does one that depends only on clients that begin. */
static bool all_begin(struct reader *r)
{
	struct gp_plan *p = r->plan;
	uint64_t begin = 0, before;

	do {
		before = begin;
		for (size_t i = 0; i < p->clients; i++)
			if (!(p->client[i].after & ~begin))
				begin |= 1ull << i;
	} while (begin != before);
	for (r->task = 0; r->task < p->clients; r->task++)
		if (!(begin >> r->task & 1))
			return wrong(r,
				     "tasks[%zu].load.prev_task_ids: \"%s\" waits for itself; "
				     "remove the circle",
				     r->task, p->client[r->task].id);
	return true;
}

/* The clients that are not killed end the plan, so there must be one. */
static bool one_stays(struct reader *r)
{
	for (size_t i = 0; i < r->plan->clients; i++)
		if (!(r->plan->client[i].killed_every_s > 0))
			return true;
	return wrong(
		r,
		"tasks: found \"killed_every_s\" in all clients; one client without it is wanted");
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool take_line(struct reader *r, const json_t *root, const char *key, char **line)
{
	const json_t *value = json_object_get(root, key);
	const char *text = json_string_value(value);
	char found[40];

	if (!value)
		return true;
	gp_one_line_value(value, found, sizeof(found));
	if (!gp_is_one_line(text) || !*text || strlen(text) > LINE_MAX)
		return wrong(r, "%s: found %s, a line of 1 to 400 characters is wanted", key,
			     found);
	*line = strdup(text);
	return *line || no_memory(r);
}

static bool is_known_version(struct reader *r, const json_t *root)
{
	const json_t *version = json_object_get(root, "schema_version");
	char found[40];

	if (!version || json_integer_value(version) == 1)
		return true;
	gp_one_line_value(version, found, sizeof(found));
	return wrong(r, "schema_version: found %s, 1 is wanted", found);
}

static bool read_root(struct reader *r, json_t *root)
{
	const json_t *time = json_object_get(root, "time");
	const json_t *tasks = json_object_get(root, "tasks");
	const size_t count = json_array_size(tasks);
	char found[40];

	if (!is_known_version(r, root) || !take_line(r, root, "what", &r->plan->what) ||
	    !take_line(r, root, "source", &r->plan->source))
		return false;
	gp_one_line_value(time, found, sizeof(found));
	if (!is_positive(time, SECONDS_MAX))
		return wrong(r,
			     "time: found %s, seconds above 0, of one day at most, are "
			     "wanted",
			     found);
	if (!count || count > GP_PLAN_CLIENTS_MAX)
		return wrong(r, "tasks: found %zu, a list of 1 to %d is wanted", count,
			     GP_PLAN_CLIENTS_MAX);
	r->plan->seconds = json_number_value(time);
	for (r->task = 0; r->task < count; r->task++)
		if (!read_task(r, json_array_get(tasks, r->task)))
			return false;
	for (r->task = 0; r->task < count; r->task++)
		if (!read_after(r, json_array_get(tasks, r->task)))
			return false;
	return all_begin(r) && one_stays(r) &&
	       NAME_UNKNOWN(r, root, "", "schema_version", "what", "source", "time", "tasks");
}

/* Owns @root. */
static struct gp_plan *accept_root(json_t *root, const char *name, const json_error_t *error,
				   char *why, size_t why_len)
{
	struct reader r = { .name = name, .why = why, .why_len = why_len };

	if (!root) {
		gp_one_line_json(error, name, why, why_len);
		return NULL;
	}
	r.plan = calloc(1, sizeof(*r.plan));
	if (!r.plan)
		no_memory(&r);
	else if (!read_root(&r, root)) {
		gp_plan_destroy(r.plan);
		r.plan = NULL;
	}
	json_decref(root);
	return r.plan;
}

struct gp_plan *gp_plan_read(const char *path, char *why, size_t why_len)
{
	json_error_t error;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	return accept_root(root, path, &error, why, why_len);
}

struct gp_plan *gp_plan_parse(const char *name, const char *text, size_t bytes, char *why,
			      size_t why_len)
{
	json_error_t error;
	json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);

	return accept_root(root, name, &error, why, why_len);
}

void gp_plan_destroy(struct gp_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->clients; i++) {
		free(plan->client[i].id);
		free(plan->client[i].model);
		free(plan->client[i].trace_ns);
	}
	for (size_t i = 0; i < plan->unknowns; i++)
		free(plan->unknown[i]);
	free(plan->unknown);
	free(plan->what);
	free(plan->source);
	free(plan);
}
