// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "runtime/job.h"
#include "tests/common/gp_test.h"

static void test_jobs(void **state)
{
	static const struct {
		const char *cgroup, *id;
	} c[] = {
		{ "/slurm/uid_7/job_3/step_0", "3" },
		{ "/slurm/uid_7/job_3", "3" },
		{ "/slurm_node1/uid_7/job_123456789012345/step_batch", "123456789012345" },
		{ "/system.slice/slurmstepd.scope/job_42/step_0/user/task_0", "42" },
		{ "/system.slice/node1_slurmstepd.scope/job_42", "42" },
		{ "/slurm", "" },
		{ "/slurm/uid_7", "" },
		{ "/slurm/uid_7/job_", "" },
		{ "/slurm/uid_7/job_3x", "" },
		{ "/slurm/uid_7/job_1234567890123456", "" },
		{ "/system.slice/slurmstepd.scope", "" },
		{ "/system.slice/slurmd.service/job_3", "" },
		{ "/system.slice/job_3", "" },
		/* A user may own these. */
		{ "/user.slice/user-7.slice/slurm/job_3", "" },
		{ "/user.slice/slurmstepd.scope/job_3", "" },
		{ "/a/system.slice/slurmstepd.scope/job_3", "" },
		{ "/", "" },
		{ "", "" },
	};
	char id[GP_JOB_LEN];

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		if (gp_job_of(c[i].cgroup, id) != (c[i].id[0] != '\0') || strcmp(id, c[i].id))
			fail_msg("%s: '%s'", c[i].cgroup, id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jobs),
	};

	return gp_run_tests(tests);
}
