// SPDX-License-Identifier: Apache-2.0
/* Files of results: written, read, refused, compared. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/plan/random.h"
#include "bench/report/results.h"
#include "tests/common/gp_test.h"

#define ALPHA 0.01

static struct gp_results *some(const double *p99, size_t runs)
{
	struct gp_results *r = gp_results_create("some", 1);

	assert_non_null(r);
	for (size_t i = 0; i < runs; i++)
		assert_int_equal(gp_results_add(r, "a", "p99_us", GP_BETTER_LOWER, p99[i]), 0);
	assert_int_equal(gp_results_add(r, "a", "be", GP_BETTER_HIGHER, 0.5), 0);
	return r;
}

/* The output of compare, and the number of worse figures. */
static int said(const struct gp_results *a, const struct gp_results *b, char *text, size_t len)
{
	FILE *f = fmemopen(text, len, "w");
	int worse = gp_results_compare(a, b, ALPHA, f);

	assert_int_equal(fclose(f), 0);
	return worse;
}

static void written_and_read(void **state)
{
	const double p99[] = { 1.5, 572.123456789, 3e9 };
	struct gp_results *r = some(p99, 3), *again;
	char path[] = "/tmp/gp-results-XXXXXX", why[256], text[1000];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(gp_results_add(r, "a", "p99_us", GP_BETTER_HIGHER, 1), -EINVAL);
	assert_int_equal(gp_results_add(r, "a", "p99_us", GP_BETTER_LOWER, NAN), -EINVAL);
	assert_int_equal(gp_results_write(r, path), 0);
	again = gp_results_read(path, why, sizeof(why));
	assert_non_null(again);
	assert_int_equal(said(r, again, text, sizeof(text)), 0);
	assert_string_equal(strstr(text, "same") ? "same" : text, "same");
	assert_null(strstr(text, "differs"));
	gp_results_destroy(again);
	gp_results_destroy(r);
	unlink(path);
	assert_null(gp_results_read(path, why, sizeof(why)));
	assert_non_null(strstr(why, path));
}

static void not_written(void **state)
{
	const double one = 1;
	struct gp_results *r = some(&one, 1);

	assert_int_equal(gp_results_write(r, "/tmp/gp-no-such-folder/results.json"), -ENOENT);
	gp_results_destroy(r);
	gp_results_destroy(NULL);
}

static void verdicts(void **state)
{
	static const struct {
		double b[5];
		size_t runs;
		const char *says;
		int worse;
	} cases[] = {
		{ { 100, 101, 99, 100, 102 }, 5, "same", 0 },
		{ { 103, 104, 102, 103.1, 105 }, 5, "worse", 1 },
		{ { 97, 98, 96, 97.1, 99 }, 5, "better", 0 },
		{ { 120, 90, 99, 80, 102 }, 5, "undecided", 0 },
		{ { 100, 102 }, 2, "differs (too few runs to compare)", 1 },
		{ { 100, 0, 99 }, 3, "differs (not all values are > 0)", 1 },
	};
	static const double a[] = { 100, 101, 99, 100, 102 };
	struct gp_results *first = some(a, 5);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gp_results *second = some(cases[i].b, cases[i].runs);
		char text[1000];

		assert_int_equal(said(first, second, text, sizeof(text)), cases[i].worse);
		assert_non_null(strstr(text, cases[i].says));
		gp_results_destroy(second);
	}
	gp_results_destroy(first);
}

#define MANY 30

/* Of many similar figures none is worse, except one time in a hundred. */
static void many_figures(void **state)
{
	struct gp_random r;
	int wrong = 0, found = 0;

	gp_random_seed(&r, 4, 1);
	for (int try = 0; try < 200; try++) {
		struct gp_results *a = gp_results_create("some", 1);
		struct gp_results *b = gp_results_create("some", 1);
		char text[8192], row[16];

		for (int k = 0; k < MANY * 10; k++) {
			const double slower = k / 10 == MANY - 1 && try >= 100 ? 1.03 : 1;

			snprintf(row, sizeof(row), "r%d", k / 10);
			assert_int_equal(gp_results_add(a, row, "p50", GP_BETTER_LOWER,
							570 * exp(0.005 * gp_random_normal(&r))),
					 0);
			assert_int_equal(
				gp_results_add(b, row, "p50", GP_BETTER_LOWER,
					       570 * slower * exp(0.005 * gp_random_normal(&r))),
				0);
		}
		said(a, b, text, sizeof(text));
		*(try < 100 ? &wrong : &found) += strstr(text, "worse") || strstr(text, "better");
		gp_results_destroy(a);
		gp_results_destroy(b);
	}
	print_message("different: %d of 100 that are alike, %d where one is\n", wrong, found);
	assert_in_range(wrong, 0, 5);
	assert_in_range(found, 90, 100);
}

/* ---- noise as recorded on a card ------------------------------------------------- */

/*
 * noise.json: an H200, the rows of check-gpu's latency suite, five rounds in turn of two
 * halves of 1,000 requests each. The first two values are of one round, and so on. Two halves
 * are two runs of the same, in sequence, like A B A B.
 */
#define NOISE "tests/bench/noise.json"
#define ROUNDS 5
#define TRIES 100
#define FIGURES_MAX 32

struct noise {
	json_t *root, *figures;
	size_t count;
	int worse[FIGURES_MAX]; /* number of tries in which it is worse */
	int any;		/* number of tries in which any differs */
};

static void noise_read(struct noise *n)
{
	json_error_t error;

	*n = (struct noise){ .root = json_load_file(NOISE, 0, &error) };
	assert_non_null(n->root);
	n->figures = json_object_get(n->root, "figures");
	n->count = json_array_size(n->figures);
	assert_in_range(n->count, 20, FIGURES_MAX);
}

static double noise_value(const json_t *figure, uint64_t at)
{
	const json_t *values = json_object_get(figure, "values");

	assert_int_equal(json_array_size(values), 2 * ROUNDS);
	return json_number_value(json_array_get(values, at));
}

static const char *noise_text(const json_t *figure, const char *key)
{
	return json_string_value(json_object_get(figure, key));
}

/* A pair of runs for all figures; B's times @slower. */
static void noise_pair(const struct noise *n, struct gp_random *r, double slower,
		       struct gp_results *a, struct gp_results *b)
{
	const uint64_t round = gp_random_u64(r) % ROUNDS, first = gp_random_u64(r) % 2;
	const json_t *figure;
	size_t i;

	json_array_foreach(n->figures, i, figure)
	{
		const char *row = noise_text(figure, "row"), *name = noise_text(figure, "name");

		assert_int_equal(gp_results_add(a, row, name, GP_BETTER_LOWER,
						noise_value(figure, 2 * round + first)),
				 0);
		assert_int_equal(gp_results_add(b, row, name, GP_BETTER_LOWER,
						slower * noise_value(figure, 2 * round + !first)),
				 0);
	}
}

/* The lines of compare's table have the figures' order. */
static void noise_count(struct noise *n, const char *table)
{
	bool any = false;

	for (size_t i = 0; i < n->count; i++) {
		const char *end = strchr(table, '\n');
		char line[256];

		assert_non_null(end);
		snprintf(line, sizeof(line), "%.*s", (int)(end - table), table);
		n->worse[i] += !!strstr(line, "worse");
		any |= strstr(line, "worse") || strstr(line, "better");
		table = end + 1;
	}
	n->any += any;
}

static void noise_compare(struct noise *n, size_t runs, double slower)
{
	char table[8192];
	struct gp_random r;

	gp_random_seed(&r, 17, runs);
	for (int try = 0; try < TRIES; try++) {
		struct gp_results *a = gp_results_create("noise", 1);
		struct gp_results *b = gp_results_create("noise", 1);

		assert_true(a && b);
		for (size_t i = 0; i < runs; i++)
			noise_pair(n, &r, slower, a, b);
		said(a, b, table, sizeof(table));
		noise_count(n, table);
		gp_results_destroy(a);
		gp_results_destroy(b);
	}
}

/* All 24 figures at once, so each single one must be very certain. */
static void alike_with_the_cards_noise(void **state)
{
	struct noise n;

	noise_read(&n);
	noise_compare(&n, 24, 1);
	print_message("one of %zu differs in %d of %d tries\n", n.count, n.any, TRIES);
	assert_in_range(n.any, 0, 5);
	json_decref(n.root);
}

/* A whole network in PyTorch, and random requests, vary more and need more runs. */
static bool varies_more(const json_t *figure)
{
	return !strncmp(noise_text(figure, "row"), "resnet", 6) ||
	       !strcmp(noise_text(figure, "row"), "poisson");
}

static void slower_with_the_cards_noise(void **state)
{
	static const size_t runs[] = { 24, 60 };
	const json_t *figure;
	struct noise n;
	size_t i;

	for (size_t k = 0; k < 2; k++) {
		noise_read(&n);
		noise_compare(&n, runs[k], 1.03);
		json_array_foreach(n.figures, i, figure)
		{
			print_message("%zu runs: %s %s: 3 %% are found in %d of %d tries\n",
				      runs[k], noise_text(figure, "row"),
				      noise_text(figure, "name"), n.worse[i], TRIES);
			if (k || !varies_more(figure))
				assert_in_range(n.worse[i], 90, TRIES);
		}
		json_decref(n.root);
	}
}

/* A higher BE rate is better. */
static void higher_is_better(void **state)
{
	struct gp_results *a = gp_results_create("some", 1), *b = gp_results_create("some", 1);
	char text[1000];

	for (int i = 0; i < 5; i++) {
		assert_int_equal(gp_results_add(a, "r", "be", GP_BETTER_HIGHER, 90 + i), 0);
		assert_int_equal(gp_results_add(b, "r", "be", GP_BETTER_HIGHER, 80 + i), 0);
	}
	assert_int_equal(said(a, b, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "worse"));
	assert_int_equal(said(b, a, text, sizeof(text)), 0);
	assert_non_null(strstr(text, "better"));
	assert_int_equal(gp_results_add(b, "r", "new", GP_BETTER_LOWER, 1), 0);
	assert_int_equal(said(a, b, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "only in the second"));
	gp_results_destroy(a);
	gp_results_destroy(b);
}

static void refused(void **state)
{
#define FILE_OF(figures) "{\"schema_version\": 1, \"suite\": \"s\", \"figures\": [" figures "]}"
#define FIGURE(better, values) \
	"{\"row\": \"r\", \"name\": \"n\", \"better\": \"" better "\", \"values\": " values "}"
	static const struct {
		const char *text, *says;
	} files[] = {
		{ "", "f:1: '[' or '{' expected" },
		{ "{\"schema_version\": 3}", "f: schema_version: found 3, 1 is wanted" },
		{ "{\"schema_version\": 1}", "f: suite: a text is wanted" },
		{ "{\"schema_version\": 1, \"suite\": \"s\"}", "f: figures: a list is wanted" },
		{ FILE_OF("7"), "f: figures[0].row: a line of text is wanted" },
		{ FILE_OF(FIGURE("less", "[1]")), "better: \"lower\" or \"higher\" is wanted" },
		{ FILE_OF(FIGURE("lower", "[]")), "figures[0].values: a list of numbers" },
		{ FILE_OF(FIGURE("lower", "[1, \"2\"]")), "figures[0].values: a list of numbers" },
		{ FILE_OF(FIGURE("lower", "[1]") "," FIGURE("lower", "[2]")),
		  "figures[1].name: this row has had it before" },
		{ FILE_OF("{\"row\": \"a\\nb\"}"), "figures[0].row: a line of text is wanted" },
		{ "{\"suite\": 1, \"suite\": 2}", "duplicate object key" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char why[256];

		assert_null(gp_results_parse("f", files[i].text, strlen(files[i].text), why,
					     sizeof(why)));
		if (!strstr(why, files[i].says))
			print_message("%s\n", why);
		assert_non_null(strstr(why, files[i].says));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(not_written),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(many_figures),
		cmocka_unit_test(alike_with_the_cards_noise),
		cmocka_unit_test(slower_with_the_cards_noise),
		cmocka_unit_test(higher_is_better),
		cmocka_unit_test(refused),
	};

	return gp_run_tests(tests);
}
