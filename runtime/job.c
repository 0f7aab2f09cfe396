// SPDX-License-Identifier: Apache-2.0
#include "runtime/job.h"

#include <string.h>

#define SLICE "/system.slice/"
#define SCOPE "slurmstepd.scope"
#define JOB "job_"

/* The rest below Slurm's own folder, from a slash on; NULL: it is not in one. */
static const char *below_slurm(const char *cgroup)
{
	const char *name = cgroup + strlen("/"), *end;

	if (!strncmp(cgroup, "/slurm", strlen("/slurm")))
		return strchr(name, '/');
	if (strncmp(cgroup, SLICE, strlen(SLICE)))
		return NULL;
	name = cgroup + strlen(SLICE);
	end = strchr(name, '/');
	/* With several slurmd on a machine, the node's name comes first. */
	return end && (size_t)(end - name) >= strlen(SCOPE) &&
			       !memcmp(end - strlen(SCOPE), SCOPE, strlen(SCOPE)) ?
		       end :
		       NULL;
}

bool gp_job_of(const char *cgroup, char id[GP_JOB_LEN])
{
	const char *at = below_slurm(cgroup);

	id[0] = '\0';
	for (; at; at = strchr(at + 1, '/')) {
		const char *digits = at + strlen("/" JOB);
		size_t n;

		if (strncmp(at, "/" JOB, strlen("/" JOB)))
			continue;
		n = strspn(digits, "0123456789");
		if (!n || n >= GP_JOB_LEN || (digits[n] && digits[n] != '/'))
			return false;
		memcpy(id, digits, n);
		id[n] = '\0';
		return true;
	}
	return false;
}
