/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - the job of Slurm that a cgroup belongs to. */
#ifndef GP_RUNTIME_JOB_H
#define GP_RUNTIME_JOB_H

#include <stdbool.h>

#define GP_JOB_LEN 16 /* an id's digits, and NUL */

/**
 * gp_job_of() - the job's id in @cgroup, an absolute path: of a folder job_ID where only Slurm
 * makes cgroups, below /slurm (version 1) or slurmstepd.scope in /system.slice (version 2).
 * @id: "" if there is none
 * Return: is there one?
 */
bool gp_job_of(const char *cgroup, char id[GP_JOB_LEN]);

#endif
