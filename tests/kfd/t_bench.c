// SPDX-License-Identifier: Apache-2.0
/*
 * gpreempt-bench in the guest: the suite quick-rig, HIP programs under each peer, and what
 * it must show. All that it found goes out as "archive:" lines, which rig.py --keep takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfd.h"
#include "run.h"

/* Any PCI device of the guest stands for the GPU's: simgpu's module.c. */
#define DEVICE "0000:00:00.0"
#define DIR "/tmp/quick-rig"

/* The table's row of the latency-critical client: p50 over alone. */
static double over_alone(const char *plan, const char *scheduler)
{
	const char *at = strstr(run_output, plan);
	double over = 0;

	at = at ? strstr(at, scheduler) : NULL;
	if (at)
		sscanf(at + strlen(scheduler), " %*s lc %*f %*f %*s %lf", &over);
	return over;
}

static void check_plan(const char *plan)
{
	const double hinted = over_alone(plan, "\ngpreempt, hinted");
	const double plain = over_alone(plan, "\nplain KFD");

	figure("%s: p50 over alone: plain KFD %.3f, gpreempt %.3f, hinted %.3f", plan, plain,
	       over_alone(plan, "\ngpreempt  "), hinted);
	ok_time(hinted > 0 && hinted <= 1.1, "%s, hinted: at most 1.1 times as long as alone",
		plan);
	ok_time(plain >= 1.5, "%s, plain KFD: half as long again at least", plan);
}

static void put_archive(void)
{
	fflush(stdout);
	is_err(system("tar -C " DIR " -cf - . | gzip | base64 | sed 's/^/archive: /'"), 0,
	       "what it found");
}

int main(void)
{
	run_find_libraries();
	is_err(RUN("/t/gpreempt-bench", "run", "quick-rig", "--device=" DEVICE, "--peers=/peers",
		   "--dir=" DIR),
	       0, "gpreempt-bench run quick-rig");
	ok(!strstr(run_output, "absent"), "no peer is absent");
	check_plan("spin");
	check_plan("copies");
	check_plan("train");
	put_archive();
	return done();
}
