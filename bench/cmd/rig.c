// SPDX-License-Identifier: Apache-2.0
/*
 * rig.c - the suite "quick-rig": HIP programs over the real KFD, on the rig's modelled GPU
 * (docs/amd.md). That is thousands of times as slow as a card; times are of its clock. "make
 * bench-rig" boots the rig and runs it there.
 */
#include "bench/cmd/embedded.h"

/* The hint comes at the start of the preparation, which is longer than a switch. */
#define PLAN(workload)                                                             \
	"{\"time\": 4, \"tasks\": ["                                               \
	"{\"id\": \"lc\", \"load\": {\"type\": \"periodic\", \"frequency\": 25}, " \
	"\"client\": {\"priority\": 0, \"model_name\": \"" workload "\", "         \
	"\"preprocess_time\": 2000}}, "                                            \
	"{\"id\": \"be\", \"load\": {\"type\": \"continuous\"}, "                  \
	"\"client\": {\"priority\": 1, \"model_name\": \"spin:20ms\"}}]}"

/* Kernels are shorter than the longest hold, and small, as a wave takes 5 us an instruction. */
static const struct gp_embedded_plan plans[] = {
	{ "spin", PLAN("spin:6ms,blocks=2") },
	{ "copies", PLAN("copy:in,bytes=64KiB") },
	{ "train", PLAN("train:5x1ms,blocks=2") },
};
#define PLANS (sizeof(plans) / sizeof(plans[0]))

static int run_rig(const struct gp_suite_options *options, struct gp_results *results, FILE *out)
{
	return gp_embedded_run(plans, PLANS, options, results, out);
}

const struct gp_suite gp_suite_rig = {
	.name = "quick-rig",
	.what = "HIP programs beside each other on an AMD GPU, the rig's; make bench-rig",
	.deviceless = "needs --device=ID of an AMD GPU; \"make bench-rig\" runs it in the rig",
	.samples = true,
	.run = run_rig,
};
