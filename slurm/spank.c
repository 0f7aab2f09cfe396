// SPDX-License-Identifier: Apache-2.0
/*
 * spank.c - Slurm's option --gpu-class for srun, sbatch and salloc: the tasks get the environment
 * of gpreempt run. It only sets the environment. gpreemptd decides by its rules.
 *
 * In plugstack.conf: "optional /usr/lib/gpreempt/slurm/gpreempt.so [libdir=FOLDER]".
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <slurm/spank.h>

#include "runtime/class.h"

#define PRELOAD "libgpreempt-preload.so"
#define LIBDIR "libdir="

/* Slurm looks these up by name. */
#pragma GCC visibility push(default)
SPANK_PLUGIN(gpreempt, 1)
int slurm_spank_init(spank_t job, int argc, char **argv);
int slurm_spank_user_init(spank_t job, int argc, char **argv);
#pragma GCC visibility pop

static char class_text[GP_CLASS_REQUEST_TEXT_LEN];
static char libdir[PATH_MAX] = GP_LIBDIR;

/* In srun, sbatch and salloc, where a refusal reaches the user, and in slurmstepd. */
static int take_class(int value, const char *text, int remote)
{
	struct gp_class_request request;
	const char *why = "write lc, lc:LEVEL, be or be:WEIGHT";

	if (!text || strlen(text) >= sizeof(class_text) ||
	    gp_class_request_parse(text, &request, &why)) {
		slurm_error("gpreempt: --gpu-class=%s: %s", text ? text : "", why);
		return -1;
	}
	strcpy(class_text, text);
	return 0;
}

int slurm_spank_init(spank_t job, int argc, char **argv)
{
	static struct spank_option option = {
		.name = "gpu-class",
		.arginfo = "CLASS",
		.usage = "share GPUs: lc[:LEVEL] latency-critical, be[:WEIGHT] best-effort",
		.has_arg = 1,
		.cb = take_class,
	};

	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], LIBDIR, strlen(LIBDIR)))
			snprintf(libdir, sizeof(libdir), "%s", argv[i] + strlen(LIBDIR));
	return spank_option_register(job, &option) == ESPANK_SUCCESS ? 0 : -1;
}

/* In slurmstepd, once for all tasks of a step. The loader ends names at colons. */
int slurm_spank_user_init(spank_t job, int argc, char **argv)
{
	char before[PATH_MAX] = "", path[PATH_MAX + 64], all[2 * PATH_MAX + 64];
	int err;

	if (!class_text[0])
		return 0;
	snprintf(path, sizeof(path), "%s/" PRELOAD, libdir);
	(void)spank_getenv(job, "LD_PRELOAD", before, sizeof(before));
	snprintf(all, sizeof(all), "%s%s%s", path, before[0] ? ":" : "", before);
	err = spank_setenv(job, "GPREEMPT_CLASS", class_text, 1);
	if (!err)
		err = spank_setenv(job, "CUDA_INJECTION64_PATH", path, 1);
	if (!err && !strstr(before, "/" PRELOAD))
		err = spank_setenv(job, "LD_PRELOAD", all, 1);
	if (err)
		slurm_error("gpreempt: cannot set the environment: %s", spank_strerror(err));
	return err ? -1 : 0;
}
