// SPDX-License-Identifier: Apache-2.0
#include "bench/report/results.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/plan/one_line.h"
#include "bench/report/compare.h"

#define SCHEMA_VERSION 1
#define DIGITS 12 /* of a value: more than any clock gives */

struct gp_results {
	json_t *root;
	json_t *figures; /* of root, borrowed */
};

static const char *const better_names[] = {
	[GP_BETTER_LOWER] = "lower",
	[GP_BETTER_HIGHER] = "higher",
};

/* ---- create ---------------------------------------------------------------------- */

static struct gp_results *wrap(json_t *root)
{
	struct gp_results *r = root ? malloc(sizeof(*r)) : NULL;

	if (!r) {
		json_decref(root);
		return NULL;
	}
	r->root = root;
	r->figures = json_object_get(root, "figures");
	return r;
}

struct gp_results *gp_results_create(const char *suite, uint64_t seed)
{
	return wrap(json_pack("{s:i, s:s, s:s, s:I, s:[]}", "schema_version", SCHEMA_VERSION,
			      "version", GP_VERSION, "suite", suite, "seed", (json_int_t)seed,
			      "figures"));
}

void gp_results_destroy(struct gp_results *r)
{
	if (!r)
		return;
	json_decref(r->root);
	free(r);
}

static const char *text_of(const json_t *figure, const char *key)
{
	return json_string_value(json_object_get(figure, key));
}

static json_t *find(const struct gp_results *r, const char *row, const char *name)
{
	json_t *figure;
	size_t i;

	json_array_foreach(r->figures, i,
			   figure) if (!strcmp(text_of(figure, "row"), row) &&
				       !strcmp(text_of(figure, "name"), name)) return figure;
	return NULL;
}

static json_t *new_figure(struct gp_results *r, const char *row, const char *name,
			  enum gp_better better)
{
	json_t *figure = json_pack("{s:s, s:s, s:s, s:[]}", "row", row, "name", name, "better",
				   better_names[better], "values");

	return figure && !json_array_append_new(r->figures, figure) ? figure : NULL;
}

int gp_results_add(struct gp_results *r, const char *row, const char *name, enum gp_better better,
		   double value)
{
	json_t *figure = find(r, row, name);

	if (!isfinite(value) || (figure && strcmp(text_of(figure, "better"), better_names[better])))
		return -EINVAL;
	if (!figure)
		figure = new_figure(r, row, name, better);
	if (!figure || json_array_append_new(json_object_get(figure, "values"), json_real(value)))
		return -ENOMEM;
	return 0;
}

/* ---- files ----------------------------------------------------------------------- */

/* Write a draft and rename it: a reader sees the whole new file or the old one. */
int gp_results_write(const struct gp_results *r, const char *path)
{
	char *draft;
	int err = 0;

	if (asprintf(&draft, "%s.new", path) < 0)
		return -ENOMEM;
	errno = EIO;
	if (json_dump_file(r->root, draft, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS)) ||
	    rename(draft, path)) {
		err = -errno;
		unlink(draft);
	}
	free(draft);
	return err;
}

/* Return: the error of one figure, or NULL. */
static const char *check_figure(const json_t *figure)
{
	const json_t *values = json_object_get(figure, "values");
	const char *better = text_of(figure, "better");
	json_t *value;
	size_t i;

	if (!gp_is_one_line(text_of(figure, "row")))
		return "row: a line of text is wanted";
	if (!gp_is_one_line(text_of(figure, "name")))
		return "name: a line of text is wanted";
	if (!better || (strcmp(better, "lower") && strcmp(better, "higher")))
		return "better: \"lower\" or \"higher\" is wanted";
	if (!json_array_size(values))
		return "values: a list of numbers, one for each run, is wanted";
	json_array_foreach(
		values, i,
		value) if (!json_is_number(value)) return "values: a list of numbers is wanted";
	return NULL;
}

/* Does an earlier figure have the same name? */
static bool is_second(const json_t *figures, size_t at)
{
	const json_t *is = json_array_get(figures, at);

	for (size_t i = 0; i < at; i++) {
		const json_t *figure = json_array_get(figures, i);

		if (!strcmp(text_of(figure, "row"), text_of(is, "row")) &&
		    !strcmp(text_of(figure, "name"), text_of(is, "name")))
			return true;
	}
	return false;
}

static bool check(const json_t *root, const char *path, char *why, size_t why_len)
{
	const json_t *version = json_object_get(root, "schema_version");
	const json_t *figures = json_object_get(root, "figures");
	const char *bad;
	json_t *figure;
	size_t i;

	if (json_integer_value(version) != SCHEMA_VERSION) {
		snprintf(why, why_len, "%s: schema_version: found %lld, %d is wanted", path,
			 (long long)json_integer_value(version), SCHEMA_VERSION);
		return false;
	}
	if (!json_is_string(json_object_get(root, "suite"))) {
		snprintf(why, why_len, "%s: suite: a text is wanted", path);
		return false;
	}
	if (!json_is_array(figures)) {
		snprintf(why, why_len, "%s: figures: a list is wanted", path);
		return false;
	}
	json_array_foreach(figures, i, figure)
	{
		bad = check_figure(figure);
		if (!bad && is_second(figures, i))
			bad = "name: this row has had it before";
		if (bad) {
			snprintf(why, why_len, "%s: figures[%zu].%s", path, i, bad);
			return false;
		}
	}
	return true;
}

/* Owns @root. */
static struct gp_results *accept_root(json_t *root, const char *name, const json_error_t *error,
				      char *why, size_t why_len)
{
	struct gp_results *r = NULL;

	if (!root)
		gp_one_line_json(error, name, why, why_len);
	else if (!check(root, name, why, why_len))
		json_decref(root);
	else if (!(r = wrap(root)))
		snprintf(why, why_len, "%s: out of memory", name);
	if (!r)
		gp_one_line(why);
	return r;
}

struct gp_results *gp_results_read(const char *path, char *why, size_t why_len)
{
	json_error_t error;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	return accept_root(root, path, &error, why, why_len);
}

struct gp_results *gp_results_parse(const char *name, const char *text, size_t bytes, char *why,
				    size_t why_len)
{
	json_error_t error;
	json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);

	return accept_root(root, name, &error, why, why_len);
}

/* ---- comparing ------------------------------------------------------------------- */

static double *numbers(const json_t *values, size_t count)
{
	double *number = malloc(count * sizeof(*number));

	for (size_t i = 0; number && i < count; i++)
		number[i] = json_number_value(json_array_get(values, i));
	return number;
}

static bool all_equal(const double *a, const double *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static double mean(const double *value, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += value[i];
	return sum / (double)count;
}

/* Return: 1: worse, or different with too few runs for a test; else 0. */
static int judge(const json_t *figure, const double *a, const double *b, size_t count, double alpha,
		 FILE *out)
{
	const bool lower = !strcmp(text_of(figure, "better"), "lower");
	struct gp_comparison c;
	bool better;

	fprintf(out, "%-28s %-10s %12.6g %12.6g  ", text_of(figure, "row"), text_of(figure, "name"),
		mean(a, count), mean(b, count));
	if (all_equal(a, b, count)) {
		fprintf(out, "same\n");
		return 0;
	}
	if (gp_compare(a, b, count, alpha, &c)) {
		fprintf(out, "differs (%s)\n",
			count < GP_COMPARE_PAIRS_MIN ? "too few runs to compare" :
						       "not all values are > 0");
		return 1;
	}
	better = (c.verdict == GP_LOWER) == lower;
	fprintf(out, "%-9s x %.4f (%.4f to %.4f), p %.2g, %zu runs\n",
		c.verdict == GP_UNDECIDED ? "undecided" :
		better			  ? "better" :
					    "worse",
		c.ratio, c.low, c.high, c.p, count);
	return c.verdict != GP_UNDECIDED && !better;
}

/* The number of runs in which both have the figure. */
static size_t pairs_of(const json_t *figure, const json_t *other)
{
	const size_t a = json_array_size(json_object_get(figure, "values"));
	const size_t b = json_array_size(json_object_get(other, "values"));

	return a < b ? a : b;
}

static int compare_figure(const json_t *figure, const json_t *other, double alpha, FILE *out)
{
	const json_t *of_a = json_object_get(figure, "values");
	const json_t *of_b = json_object_get(other, "values");
	const size_t count = pairs_of(figure, other);
	double *a, *b;
	int worse = -ENOMEM;

	a = numbers(of_a, count);
	b = numbers(of_b, count);
	if (a && b)
		worse = judge(figure, a, b, count, alpha, out);
	free(a);
	free(b);
	return worse;
}

static void name_missing(const struct gp_results *from, const struct gp_results *in,
			 const char *which, FILE *out)
{
	json_t *figure;
	size_t i;

	json_array_foreach(from->figures, i,
			   figure) if (!find(in, text_of(figure, "row"), text_of(figure, "name")))
		fprintf(out, "%-28s %-10s only in the %s\n", text_of(figure, "row"),
			text_of(figure, "name"), which);
}

static bool is_tested(const json_t *figure, const json_t *other)
{
	const json_t *a = json_object_get(figure, "values"), *b = json_object_get(other, "values");
	const size_t count = pairs_of(figure, other);

	for (size_t i = 0; count >= GP_COMPARE_PAIRS_MIN && i < count; i++)
		if (json_number_value(json_array_get(a, i)) !=
		    json_number_value(json_array_get(b, i)))
			return true;
	return false;
}

/* Of many figures some differ by chance: @alpha is for all of them together (Bonferroni). */
static double alpha_of_each(const struct gp_results *a, const struct gp_results *b, double alpha)
{
	size_t tested = 0, i;
	json_t *figure;

	json_array_foreach(a->figures, i, figure)
	{
		const json_t *other = find(b, text_of(figure, "row"), text_of(figure, "name"));

		tested += other && is_tested(figure, other);
	}
	return tested ? alpha / (double)tested : alpha;
}

int gp_results_compare(const struct gp_results *a, const struct gp_results *b, double alpha,
		       FILE *out)
{
	const double each = alpha_of_each(a, b, alpha);
	json_t *figure;
	size_t i;
	int worse = 0;

	json_array_foreach(a->figures, i, figure)
	{
		const json_t *other = find(b, text_of(figure, "row"), text_of(figure, "name"));
		int r = other ? compare_figure(figure, other, each, out) : 0;

		if (r < 0)
			return r;
		worse += r;
	}
	name_missing(a, b, "first", out);
	name_missing(b, a, "second", out);
	return worse;
}
