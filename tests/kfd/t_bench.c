// SPDX-License-Identifier: Apache-2.0
/*
 * gpreempt-bench in the guest: the suite quick-rig, HIP programs under each peer, and
 * checks of its figures. The results are printed as "archive:" lines for rig.py --keep.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfd.h"
#include "run.h"

/* A PCI device of the guest stands for the GPU's, as in simgpu's module.c. */
#define DEVICE "0000:00:00.0"
#define DIR "/tmp/quick-rig"

/* p50 over alone, from the LC client's row of the table. */
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
