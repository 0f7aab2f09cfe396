// SPDX-License-Identifier: Apache-2.0
/*
 * Results of a benchmark: refused input leaves one line. Accepted input equals itself, and can
 * be printed.
 */
#include <stdio.h>

#include "bench/report/results.h"
#include "tests/fuzz/fuzz.h"

static void check_why(const char *why)
{
	FUZZ_CHECK(*why && strlen(why) < 255);
	for (; *why; why++)
		FUZZ_CHECK((unsigned char)*why >= ' ' && *why != 127);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[256] = "", *text = NULL;
	size_t bytes;
	struct gp_results *r = gp_results_parse("fuzz", (const char *)data, size, why, sizeof(why));
	FILE *f;

	if (!r) {
		check_why(why);
		return 0;
	}
	f = open_memstream(&text, &bytes);
	FUZZ_CHECK(f && !gp_results_compare(r, r, 0.01, f) && !fclose(f));
	for (const char *c = text; *c; c++)
		FUZZ_CHECK(*c == '\n' || ((unsigned char)*c >= ' ' && *c != 127));
	free(text);
	gp_results_destroy(r);
	return 0;
}
