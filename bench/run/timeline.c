// SPDX-License-Identifier: Apache-2.0
#include "bench/run/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEGIN_MS 10000u
#define END_MS 30000u

struct reader {
	const struct gp_timeline_who *who;
	size_t count, room;
	uint64_t *since_ns; /* of each: on since; 0: off, or not known */
	struct gp_plan_result *result;
};

int gp_timeline_start(struct gp_timeline *t, const char *program, const char *device,
		      const char *folder)
{
	char name[512], to[sizeof(t->path) + 8], for_device[256], line[128];
	char clock[] = "--common-clock";
	char *const argv[] = { name, to, for_device, clock, NULL };
	int err;

	snprintf(t->path, sizeof(t->path), "%s/log", folder);
	snprintf(name, sizeof(name), "%s", program);
	snprintf(to, sizeof(to), "--out=%s", t->path);
	snprintf(for_device, sizeof(for_device), "--device=%s", device);
	err = gp_process_start(&t->process, argv);
	if (!err)
		err = gp_process_expect(&t->process, "ready", BEGIN_MS, line, sizeof(line));
	if (err)
		gp_process_kill(&t->process);
	return err;
}

/* Only as long as the plan: a group that is left alone keeps the device, idle or not. */
static bool add(struct reader *r, size_t i, uint64_t until_ns)
{
	struct gp_plan_result *result = r->result;
	const uint64_t since_ns = r->since_ns[i];
	const uint64_t start_ns = since_ns > result->begin_ns ? since_ns : result->begin_ns;
	const uint64_t end_ns = until_ns < result->end_ns ? until_ns : result->end_ns;
	struct gp_stretch *more;

	if (end_ns <= start_ns)
		return true;
	if (result->stretches == r->room) {
		r->room = r->room ? 2 * r->room : 1024;
		more = realloc(result->stretch, r->room * sizeof(*more));
		if (!more)
			return false;
		result->stretch = more;
	}
	result->stretch[result->stretches++] = (struct gp_stretch){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.client = r->who[i].client,
	};
	return true;
}

/* What is not known for certain is no stretch. */
static bool take(struct reader *r, uint64_t at_ns, const char *kind, long pid)
{
	size_t i = 0;

	if (!strcmp(kind, "lost"))
		memset(r->since_ns, 0, r->count * sizeof(*r->since_ns));
	while (i < r->count && (!r->who[i].pid || r->who[i].pid != pid))
		i++;
	if (i == r->count)
		return true;
	if (!strcmp(kind, "end") && r->since_ns[i] && !add(r, i, at_ns))
		return false;
	r->since_ns[i] = strcmp(kind, "start") ? 0 : at_ns;
	return true;
}

int gp_timeline_read(FILE *file, const struct gp_timeline_who *who, size_t count,
		     struct gp_plan_result *result)
{
	struct reader r = { .who = who, .count = count, .result = result };
	char kind[8], *line = NULL;
	size_t len = 0;
	uint64_t at_ns;
	long pid;
	int err;

	r.since_ns = calloc(count + 1, sizeof(*r.since_ns));
	err = r.since_ns ? 0 : -ENOMEM;
	while (!err && getline(&line, &len, file) > 0) {
		if (sscanf(line, "%" SCNu64 " %7s %ld", &at_ns, kind, &pid) != 3)
			err = -EBADMSG;
		else if (!take(&r, at_ns, kind, pid))
			err = -ENOMEM;
	}
	free(r.since_ns);
	free(line);
	return err;
}

int gp_timeline_end(struct gp_timeline *t, const struct gp_timeline_who *who, size_t count,
		    struct gp_plan_result *result)
{
	FILE *file;
	int err;

	gp_process_say_no_more(&t->process);
	if (gp_process_end(&t->process, END_MS))
		return -EBADMSG;
	file = fopen(t->path, "re");
	if (!file)
		return -errno;
	err = gp_timeline_read(file, who, count, result);
	fclose(file);
	return err;
}
