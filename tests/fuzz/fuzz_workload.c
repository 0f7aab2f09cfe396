// SPDX-License-Identifier: Apache-2.0
/*
 * Workloads of a benchmark, as a file and as a name: refused input leaves one line, accepted
 * input can run.
 */
#include "bench/plan/workload.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *text, size_t max)
{
	FUZZ_CHECK(text && *text && strlen(text) <= max);
	for (; *text; text++)
		FUZZ_CHECK((unsigned char)*text >= ' ' && *text != 127);
}

static void check_kernel(const struct gp_workload_kernel *k, uint32_t least)
{
	FUZZ_CHECK(k->length_ns && k->length_ns <= GP_WORKLOAD_TIME_MAX_NS);
	FUZZ_CHECK(k->gap_ns <= GP_WORKLOAD_TIME_MAX_NS);
	FUZZ_CHECK(k->blocks >= least && k->blocks <= INT32_MAX);
	FUZZ_CHECK(!k->blocks == !k->threads && k->threads >= least && k->threads <= 1024);
	FUZZ_CHECK(k->registers <= 255 && k->shared_bytes <= 262144);
}

/* Takes ownership of @w. @least: minimum of blocks and threads. */
static void check(struct gp_workload *w, const char *why, uint32_t least)
{
	size_t tokens = 0;

	if (!w) {
		check_text(why, 255);
		return;
	}
	FUZZ_CHECK(w->kernels || (!least && gp_workload_needs_device(w)));
	FUZZ_CHECK(w->kernels <= GP_WORKLOAD_KERNELS_MAX);
	for (size_t i = 0; i < w->kernels; i++) {
		check_kernel(&w->kernel[i], least);
		tokens += w->kernel[i].token;
	}
	FUZZ_CHECK(tokens == w->tokens);
	FUZZ_CHECK(gp_workload_sum(w).length_ns >= w->kernels);
	check_text(w->name, 63);
	if (least) {
		check_text(w->what, 200);
		check_text(w->device, 200);
		check_text(w->driver, 200);
		FUZZ_CHECK(w->solo_ns);
	}
	gp_workload_destroy(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), why[256] = "", no[256] = "";

	check(gp_workload_parse("fuzz", (const char *)data, size, why, sizeof(why)), why, 1);
	check(gp_workload_named(text, no, sizeof(no)), no, 0);
	free(text);
	return 0;
}
