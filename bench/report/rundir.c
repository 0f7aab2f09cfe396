// SPDX-License-Identifier: Apache-2.0
#include "bench/report/rundir.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "bench/report/percentile.h"

#define NAME_LEN 192

struct gp_rundir {
	char path[PATH_MAX - NAME_LEN];
	json_t *root, *runs;
	uint64_t seed;
};

static void path_of(const struct gp_rundir *dir, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", dir->path, name);
}

/* ---- tables ---------------------------------------------------------------------- */

/* Keep only characters that every file system allows in a name. */
static void add_word(char name[NAME_LEN], const char *word)
{
	size_t at = strlen(name);

	for (; *word && at + 1 < NAME_LEN; word++)
		name[at++] = isalnum((unsigned char)*word) || strchr("-_@", *word) ? *word : '-';
	name[at] = '\0';
}

static void name_of(const struct gp_rundir_run *run, const char *what, char name[NAME_LEN])
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, run->number);
	name[0] = '\0';
	add_word(name, run->plan);
	add_word(name, ".");
	add_word(name, run->scheduler);
	add_word(name, ".");
	add_word(name, number);
	add_word(name, ".");
	add_word(name, what);
	if (strlen(name) + sizeof(".csv.gz") <= NAME_LEN)
		strcat(name, ".csv.gz");
}

static gzFile begin_table(const struct gp_rundir *dir, const char *name, const char *head)
{
	char path[PATH_MAX];
	gzFile file;

	path_of(dir, name, path);
	file = gzopen(path, "wb");
	if (file)
		gzprintf(file, "%s\n", head);
	return file;
}

static int end_table(gzFile file)
{
	int error;

	gzerror(file, &error);
	if (error == Z_OK || error == Z_STREAM_END)
		return gzclose(file) == Z_OK ? 0 : -EIO;
	gzclose(file);
	return -EIO;
}

static int write_requests(const struct gp_rundir *dir, const char *name,
			  const struct gp_rundir_client *c)
{
	const size_t tokens = c->tokens.of_each;
	gzFile file = begin_table(dir, name,
				  tokens ? "intended_ns,start_ns,end_ns,tokens_ns" :
					   "intended_ns,start_ns,end_ns");

	if (!file)
		return -errno;
	for (size_t i = 0; i < c->requests; i++) {
		gzprintf(file, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, c->request[i].intended_ns,
			 c->request[i].start_ns, c->request[i].end_ns);
		for (size_t k = 0; k < tokens; k++)
			gzprintf(file, "%c%" PRIu64, k ? ' ' : ',', c->tokens.ns[i * tokens + k]);
		gzputc(file, '\n');
	}
	return end_table(file);
}

static int write_stretches(const struct gp_rundir *dir, const char *name,
			   const struct gp_rundir_run *run)
{
	gzFile file = begin_table(dir, name, "start_ns,end_ns,client");

	if (!file)
		return -errno;
	for (size_t i = 0; i < run->stretches; i++)
		gzprintf(file, "%" PRIu64 ",%" PRIu64 ",%s\n", run->stretch[i].start_ns,
			 run->stretch[i].end_ns, run->client[run->stretch[i].client].id);
	return end_table(file);
}

/* ---- run.json -------------------------------------------------------------------- */

static json_t *number_or_null(double value, bool known)
{
	return known ? json_real(value) : json_null();
}

static int add_tokens(json_t *client, const struct gp_rundir_client *c)
{
	if (!c->tokens.of_each)
		return 0;
	return json_object_set_new(client, "tokens", json_integer((json_int_t)c->tokens.of_each)) ||
			       json_object_set_new(client, "alone_first_us",
						   json_real(c->alone_first_us)) ||
			       json_object_set_new(client, "alone_next_us",
						   number_or_null(c->alone_next_us,
								  c->alone_next_us > 0)) ?
		       -ENOMEM :
		       0;
}

static json_t *json_of_client(const struct gp_rundir_client *c, const char *samples)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:f, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, "
			 "s:s}",
			 "id", c->id, "class", c->lc ? "lc" : "be", "workload", c->workload, "load",
			 c->load, "offered", number_or_null(c->offered, c->offered >= 0),
			 "alone_us", c->alone_us, "alone_per_s",
			 number_or_null(c->alone_per_s, c->alone_per_s > 0), "requests",
			 c->killed ? json_null() : json_integer((json_int_t)c->requests), "left",
			 (json_int_t)c->left, "done_per_s",
			 number_or_null(c->done_per_s, !c->killed), "missed",
			 c->missed < 0 ? json_null() : json_integer(c->missed), "late_p50_us",
			 number_or_null(c->late_p50_us, c->late_p50_us >= 0), "late_p99_us",
			 number_or_null(c->late_p99_us, c->late_p99_us >= 0), "cpu_s",
			 number_or_null(c->cpu_s, c->cpu_s > 0), "samples", samples);
}

static int add_killed(json_t *client, const struct gp_rundir_client *c)
{
	if (!c->killed)
		return 0;
	return json_object_set_new(client, "killed", json_integer((json_int_t)c->kills)) ? -ENOMEM :
											   0;
}

static int add_interval(json_t *intervals, const char *name, const struct gp_percentile *p)
{
	if (!p->given)
		return 0;
	return json_object_set_new(intervals, name,
				   json_pack("[f,o]", (double)p->low_ns / 1000,
					     number_or_null((double)p->high_ns / 1000,
							    p->high_ns != GP_PERCENTILE_OPEN))) ?
		       -ENOMEM :
		       0;
}

/* The 95 % interval of each percentile of this run alone. */
static int add_intervals(json_t *client, const struct gp_rundir_client *c, uint64_t seed)
{
	uint64_t *ns = calloc(c->requests + 1, sizeof(*ns));
	json_t *intervals = json_object();
	struct gp_percentiles of;
	int err = ns && intervals ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < c->requests; i++)
		ns[i] = c->request[i].end_ns - c->request[i].intended_ns;
	if (!err && c->requests)
		err = gp_percentiles(ns, c->requests, seed, &of);
	for (int p = 0; !err && c->requests && p < GP_PERCENTILES; p++)
		err = add_interval(intervals, gp_percentile_name(p), &of.of[p]);
	free(ns);
	if (!err)
		return json_object_set_new(client, "intervals_us", intervals) ? -ENOMEM : 0;
	json_decref(intervals);
	return err;
}

static int add_client(struct gp_rundir *dir, const struct gp_rundir_run *run,
		      const struct gp_rundir_client *c, json_t *clients)
{
	char name[NAME_LEN];
	json_t *one;
	int err;

	name_of(run, c->id, name);
	err = write_requests(dir, name, c);
	if (err)
		return err;
	one = json_of_client(c, name);
	if (!one || json_array_append_new(clients, one))
		return -ENOMEM;
	err = c->lc ? add_intervals(one, c, dir->seed) : add_killed(one, c);
	return err ? err : add_tokens(one, c);
}

static json_t *timeline_of(const struct gp_rundir *dir, const struct gp_rundir_run *run, int *err)
{
	char name[NAME_LEN];

	if (!run->stretch)
		return json_null();
	name_of(run, "timeline", name);
	*err = write_stretches(dir, name, run);
	return json_string(name);
}

/* Written in one step: if the command is killed, the file still has all complete runs. */
static int write_runs(const struct gp_rundir *dir)
{
	char path[PATH_MAX], whole[PATH_MAX];

	path_of(dir, "run.json.part", path);
	path_of(dir, "run.json", whole);
	errno = 0;
	if (json_dump_file(dir->root, path, JSON_INDENT(1)) || rename(path, whole))
		return -(errno ? errno : EIO);
	return 0;
}

/* Owns @one. */
static int add(struct gp_rundir *dir, json_t *one)
{
	return json_array_append_new(dir->runs, one) ? -ENOMEM : write_runs(dir);
}

int gp_rundir_add(struct gp_rundir *dir, const struct gp_rundir_run *run)
{
	json_t *clients = json_array(), *timeline;
	int err = clients ? 0 : -ENOMEM;

	for (size_t i = 0; i < run->clients && !err; i++)
		err = add_client(dir, run, &run->client[i], clients);
	if (err) {
		json_decref(clients);
		return err;
	}
	timeline = timeline_of(dir, run, &err);
	if (err) {
		json_decref(timeline);
		json_decref(clients);
		return err;
	}
	return add(dir,
		   json_pack("{s:s, s:s, s:I, s:f, s:f, s:o, s:o, s:o, s:o}", "plan", run->plan,
			     "scheduler", run->scheduler, "run", (json_int_t)run->number, "seconds",
			     run->seconds, "rates_times", run->rates_times, "energy_j",
			     number_or_null(run->energy_j, run->energy_j > 0), "beside_cpu_s",
			     number_or_null(run->beside_cpu_s, run->beside_cpu_s > 0), "timeline",
			     timeline, "clients", clients));
}

int gp_rundir_absent(struct gp_rundir *dir, const char *plan, const char *scheduler,
		     const char *why)
{
	return add(dir, json_pack("{s:s, s:s, s:s}", "plan", plan, "scheduler", scheduler, "absent",
				  why));
}

static void say_machine(char machine[512])
{
	struct utsname u;

	if (uname(&u))
		snprintf(machine, 512, "-");
	else
		snprintf(machine, 512, "%s %s %s, %ld CPUs", u.sysname, u.release, u.machine,
			 sysconf(_SC_NPROCESSORS_ONLN));
}

static json_t *json_about(const struct gp_rundir_about *about)
{
	char machine[512], date[16];
	const time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	say_machine(machine);
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:s}", "schema_version", 1,
			 "suite", about->suite, "command", about->command, "version", GP_VERSION,
			 "device", about->device, "machine", machine, "driver", about->driver,
			 "seed", (json_int_t)about->seed, "date", date);
}

int gp_rundir_create(const char *path, const struct gp_rundir_about *about, struct gp_rundir **out)
{
	struct gp_rundir *dir;
	char run[PATH_MAX];

	if (strlen(path) >= sizeof(dir->path))
		return -ENAMETOOLONG;
	if (mkdir(path, 0777) && errno != EEXIST)
		return -errno;
	dir = calloc(1, sizeof(*dir));
	if (!dir)
		return -ENOMEM;
	strcpy(dir->path, path);
	dir->seed = about->seed;
	path_of(dir, "run.json", run);
	if (!access(run, F_OK)) {
		free(dir);
		return -EEXIST;
	}
	dir->root = json_about(about);
	dir->runs = json_array();
	if (!dir->root || json_object_set_new(dir->root, "runs", dir->runs)) {
		json_decref(dir->root);
		free(dir);
		return -ENOMEM;
	}
	*out = dir;
	return 0;
}

int gp_rundir_close(struct gp_rundir *dir)
{
	int err = 0;

	if (!dir)
		return 0;
	if (!json_array_size(dir->runs) && rmdir(dir->path) && errno != ENOTEMPTY)
		err = -errno;
	json_decref(dir->root);
	free(dir);
	return err;
}
