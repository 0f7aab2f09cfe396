// SPDX-License-Identifier: Apache-2.0
/* Files of what was found: written, read, refused, compared. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/load/random.h"
#include "bench/results/results.h"
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

/* What compare says of it, and how many are worse. */
static int said(const struct gp_results *a, const struct gp_results *b, char *text,
		size_t len)
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
		{ { 100, 102 }, 2, "differs (too few runs to say more)", 1 },
		{ { 100, 0, 99 }, 3, "differs (not all are > 0)", 1 },
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

/* Of many figures that are alike none is worse, but for one time in a hundred. */
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
			assert_int_equal(gp_results_add(a, row, "p50", GP_BETTER_LOWER, 570 *
							exp(0.005 * gp_random_normal(&r))), 0);
			assert_int_equal(gp_results_add(b, row, "p50", GP_BETTER_LOWER, 570 *
							slower *
							exp(0.005 * gp_random_normal(&r))), 0);
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

/* More of BE is better. */
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
		cmocka_unit_test(higher_is_better),
		cmocka_unit_test(refused),
	};

	return gp_run_tests(tests);
}
