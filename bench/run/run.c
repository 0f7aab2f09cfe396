// SPDX-License-Identifier: Apache-2.0
#include "bench/run/run.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/run/command.h"
#include "bench/run/energy.h"
#include "bench/run/kills.h"
#include "bench/run/process.h"
#include "bench/run/requests.h"
#include "bench/run/timeline.h"
#include "bench/run/usage.h"

#define READY_MS 300000u   /* to measure each of hundreds of kernels */
#define END_MS 60000u	   /* more than the plan's length */
#define BESIDE_MS 30000u   /* for a command beside them to begin, and to end */
#define SOON_NS 300000000u /* from telling all to begin until they do */
#define NS_PER_S 1000000000u
#define NVML "libnvidia-ml.so.1"
#define SOFT_SLOWER 20 /* than real time, with many clients */
#define NS_PER_MS 1000000u
#define AT_ONCE "go\n" /* to a client that is ready, or once it is */

struct run {
	const struct gp_device_run *how;
	struct gp_plan_result *result;
	char folder[32];
	/* Of each client; of all, the first one, where one process is all. */
	struct gp_process process[GP_PLAN_CLIENTS_MAX], beside;
	size_t processes;
	/* PIDs of the programs themselves, behind any wrapper; of each life of one. */
	struct gp_timeline_who *who;
	size_t whos;
	struct gp_kills kills;
	struct gp_timeline timeline;
	char *why;
	size_t why_len;
};

static int failed(struct run *r, size_t i, int err, const char *what)
{
	snprintf(r->why, r->why_len, "%s, %s: %s", r->how->peer->name,
		 r->processes == 1 && r->how->plan->clients > 1 ? "all clients" :
								  r->how->plan->client[i].id,
		 what);
	return err;
}

static bool is_together(const struct run *r)
{
	return r->how->peer->together.count;
}

static bool is_killed(const struct run *r, size_t i)
{
	return r->how->plan->client[i].killed_every_s > 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* ---- starting -------------------------------------------------------------------- */

static uint64_t number_in(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* @pid: as it reports. */
static int await_ready(struct gp_process *p, uint64_t ms, pid_t *pid)
{
	char line[256];
	int err = gp_process_expect(p, "ready", ms, line, sizeof(line));

	if (!err)
		*pid = (pid_t)number_in(line, " pid=");
	return err;
}

static int add_who(struct run *r, size_t client, pid_t pid)
{
	struct gp_timeline_who *more = realloc(r->who, (r->whos + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	r->who = more;
	more[r->whos++] = (struct gp_timeline_who){ pid, (uint32_t)client };
	return 0;
}

static int await_client_ready(struct run *r, size_t i, uint64_t ms)
{
	pid_t pid;
	int err = await_ready(&r->process[i], ms, &pid);

	return err ? err : add_who(r, i, pid);
}

static int start_beside(struct run *r)
{
	struct gp_command c = { 0 };
	pid_t nobody;
	int err;

	if (!r->how->peer->beside.count)
		return 0;
	err = gp_command_peer(&c, r->how, r->how->peer->beside.word, 0, r->folder);
	if (!err)
		err = gp_process_start_tree(&r->beside, c.argv);
	if (!err)
		err = await_ready(&r->beside, BESIDE_MS, &nobody);
	if (err)
		snprintf(r->why, r->why_len, "%s: the program beside the clients did not start",
			 r->how->peer->name);
	return err;
}

static int start_process(struct run *r, size_t i)
{
	const struct gp_device_run *how = r->how;
	struct gp_command c = { 0 };
	const struct gp_peer_words *words = how->plan->client[i].lc ? &how->peer->lc :
								      &how->peer->be;
	int err = gp_command_peer(&c, how, words->word, i, r->folder);

	if (err)
		return err;
	gp_command_add(&c, gp_command_is_torch(how, i) ? how->torch_client : how->client);
	gp_command_client(&c, how, i, r->folder);
	return gp_process_start(&r->process[i], c.argv);
}

static int start_one(struct run *r, size_t i)
{
	int err = start_process(r, i);

	return err ? err : await_client_ready(r, i, READY_MS);
}

/* A line with the options of each client; -EINVAL: a word would be two. */
static int write_together(struct run *r, const char *path)
{
	FILE *file = fopen(path, "we");
	int err = 0;

	if (!file)
		return -errno;
	for (size_t i = 0; i < r->how->plan->clients; i++) {
		struct gp_command c = { 0 };

		gp_command_client(&c, r->how, i, r->folder);
		for (int w = 0; w < c.words; w++) {
			if (strpbrk(c.argv[w], " \n"))
				err = -EINVAL;
			fprintf(file, "%s%c", c.argv[w], w + 1 < c.words ? ' ' : '\n');
		}
	}
	if (fclose(file) && !err)
		err = -errno;
	return err;
}

static int start_together(struct run *r)
{
	char path[sizeof(r->folder) + 16], word[sizeof(path) + 16];
	struct gp_command c = { 0 };
	int err;

	snprintf(path, sizeof(path), "%s/clients", r->folder);
	snprintf(word, sizeof(word), "--together=%s", path);
	err = write_together(r, path);
	if (!err)
		err = gp_command_peer(&c, r->how, r->how->peer->together.word, 0, r->folder);
	if (err)
		return err;
	gp_command_add(&c, word);
	err = gp_process_start(&r->process[0], c.argv);
	return err ? err : await_client_ready(r, 0, READY_MS * r->how->plan->clients);
}

/* One after the other: each measures its kernels alone. */
static int start_all(struct run *r)
{
	char what[128];
	int err = 0;

	for (size_t i = 0; i < r->how->plan->clients && !err; i++)
		err = gp_command_files(r->how, i, r->folder);
	if (err)
		return failed(r, 0, err, "cannot write its input files");
	for (size_t i = 0; i < r->processes; i++) {
		err = is_together(r) ? start_together(r) : start_one(r, i);
		if (!err)
			continue;
		snprintf(what, sizeof(what), "did not start on %s", r->how->device);
		return failed(r, i, err, what);
	}
	return 0;
}

/* A software GPU's seconds are its own: there clients are killed until the plan is over. */
static void begin_kills(struct run *r, uint64_t begin_ns)
{
	const uint64_t length_ns = (uint64_t)(r->how->plan->seconds * NS_PER_S);

	gp_kills_begin(&r->kills, r->how->plan, r->how->seed, begin_ns,
		       r->how->soft ? UINT64_MAX : begin_ns + length_ns);
}

static int go(struct run *r)
{
	const uint64_t begin_ns = now_ns() + SOON_NS;
	char line[32];

	if (r->how->soft)
		snprintf(line, sizeof(line), "%s", AT_ONCE);
	else
		snprintf(line, sizeof(line), "%" PRIu64 "\n", begin_ns);
	begin_kills(r, begin_ns);
	for (size_t i = 0; i < r->processes; i++)
		if (gp_process_send(&r->process[i], line))
			return failed(r, i, -EPIPE, "its process ended before the plan began");
	return 0;
}

/* ---- killing --------------------------------------------------------------------- */

/* Of a life that is over: where it came to work, its process is known. */
static int end_life(struct run *r, size_t i)
{
	struct gp_process *p = &r->process[i];
	int status, err = 0;

	if (gp_process_has_ended(p, &status) && status)
		return failed(r, i, -EPROTO, "its process ended before the planned kill");
	if (await_client_ready(r, i, 0) == -ENOMEM)
		err = -ENOMEM;
	gp_process_kill(p);
	return err;
}

/* It begins once it is ready, as a restarted job does: nobody waits for it. */
static int kill_one(struct run *r, size_t i)
{
	int err = end_life(r, i);

	if (err)
		return err;
	r->result->client[i].kills++;
	err = start_process(r, i);
	if (!err)
		err = gp_process_send(&r->process[i], AT_ONCE);
	return err ? failed(r, i, err, "did not restart after a kill") : 0;
}

static int kill_due(struct run *r)
{
	int i, err = 0;

	while (!err && (i = gp_kills_take(&r->kills, now_ns())) >= 0)
		err = kill_one(r, (size_t)i);
	return err;
}

/* ---- ending ---------------------------------------------------------------------- */

static uint64_t ms_until(uint64_t at_ns)
{
	const uint64_t now = now_ns();

	return at_ns > now ? (at_ns - now + NS_PER_MS - 1) / NS_PER_MS : 0;
}

/* Reads its output at its end; until then kills others when it is time. */
static int await_line(struct run *r, size_t i, char *line, size_t len)
{
	const uint64_t ms = (uint64_t)(r->how->plan->seconds * 1000) + END_MS;
	const uint64_t until_ns = now_ns() + ms * NS_PER_MS * (r->how->soft ? SOFT_SLOWER : 1);
	struct gp_process *p = &r->process[is_together(r) ? 0 : i];

	for (;;) {
		const uint64_t kill_ns = gp_kills_next_ns(&r->kills);
		int err = gp_process_expect(
			p, "client ", ms_until(kill_ns < until_ns ? kill_ns : until_ns), line, len);

		if (!err)
			return 0;
		if (err != -ETIMEDOUT || now_ns() >= until_ns)
			return failed(r, i, err, "did not finish");
		err = kill_due(r);
		if (err)
			return err;
	}
}

/* The plan begins when the first client does. */
static int await_client(struct run *r, size_t i)
{
	struct gp_plan_result *result = r->result;
	uint64_t begin_ns;
	char line[512];
	int err = await_line(r, i, line, sizeof(line));

	if (err)
		return err;
	if (!strstr(line, "result=right"))
		return failed(r, i, -EBADMSG, "its result is WRONG");
	begin_ns = number_in(line, " begin_ns=");
	if (!result->begin_ns || begin_ns < result->begin_ns)
		result->begin_ns = begin_ns;
	result->client[i].left = number_in(line, " left=");
	/* Of real time: of a software GPU's seconds it is no part. */
	if (!r->how->soft)
		result->client[i].cpu_ns = number_in(line, " cpu_ns=");
	return 0;
}

static int end_process(struct run *r, size_t i)
{
	if (is_killed(r, i))
		return end_life(r, i);
	return gp_process_end(&r->process[i], END_MS) ?
		       failed(r, i, -EPROTO, "its process failed at exit") :
		       0;
}

static int await_all(struct run *r)
{
	int err = 0;

	for (size_t i = 0; i < r->how->plan->clients && !err; i++)
		err = is_killed(r, i) ? 0 : await_client(r, i);
	r->result->end_ns = r->result->begin_ns + (uint64_t)(r->how->plan->seconds * NS_PER_S);
	for (size_t i = 0; i < r->processes && !err; i++)
		err = end_process(r, i);
	return err;
}

/* ---- their results ----------------------------------------------------------------- */

static int read_samples(struct run *r, size_t i)
{
	char path[sizeof(r->folder) + 32];
	int err;

	gp_command_samples(r->folder, i, path, sizeof(path));
	err = gp_requests_read(path, &r->result->client[i]);
	if (err == -ENOENT)
		return failed(r, i, err, "wrote no samples");
	return err ? failed(r, i, err, "wrote invalid samples") : 0;
}

/* Of clients in one process nobody can tell which of them it was. */
static void begin_timeline(struct run *r)
{
	if (r->how->ctxlog && !is_together(r))
		(void)gp_timeline_start(&r->timeline, r->how->ctxlog, r->how->device, r->folder);
}

static int end_timeline(struct run *r)
{
	int err = 0;

	if (r->timeline.process.pid)
		err = gp_timeline_end(&r->timeline, r->who, r->whos, r->result);
	return err ? failed(r, 0, err, "cannot record the device's context switches") : 0;
}

struct spent {
	double energy_j;
	int64_t beside_cpu_ns;
};

/* So far; below 0: not known. */
static struct spent spent(const struct run *r, const struct gp_energy *energy)
{
	return (struct spent){ gp_energy_joules(energy),
			       r->beside.pid ? gp_usage_ns(r->beside.pid) : -1 };
}

/* From the common beginning until the last has ended. */
static int run_clients(struct run *r)
{
	struct gp_energy *energy = r->how->soft ? NULL : gp_energy_open(r->how->device, NVML);
	const struct spent before = spent(r, energy);
	struct spent after;
	int err = go(r);

	if (!err)
		err = await_all(r);
	after = spent(r, energy);
	if (before.energy_j >= 0 && after.energy_j > before.energy_j)
		r->result->energy_j = after.energy_j - before.energy_j;
	if (before.beside_cpu_ns >= 0 && after.beside_cpu_ns > before.beside_cpu_ns)
		r->result->beside_cpu_ns = (uint64_t)(after.beside_cpu_ns - before.beside_cpu_ns);
	gp_energy_close(energy);
	return err;
}

static int run_all(struct run *r)
{
	int err = start_beside(r);

	if (!err)
		err = start_all(r);
	if (!err) {
		begin_timeline(r);
		err = run_clients(r);
	}
	if (!err)
		err = end_timeline(r);
	for (size_t i = 0; i < r->how->plan->clients && !err; i++)
		err = is_killed(r, i) ? 0 : read_samples(r, i);
	return err;
}

/* It ends when its input does. An error @before was reported, and is the result. */
static int end_beside(struct run *r, int before)
{
	int err;

	if (!r->beside.pid)
		return before;
	gp_process_say_no_more(&r->beside);
	err = gp_process_end(&r->beside, BESIDE_MS);
	if (err && !before)
		snprintf(r->why, r->why_len, "%s: the program beside the clients failed at exit",
			 r->how->peer->name);
	return before || !err ? before : -EPROTO;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	remove(path);
	return 0;
}

int gp_device_run(const struct gp_device_run *how, struct gp_plan_result *result, char *why,
		  size_t why_len)
{
	struct run *r = calloc(1, sizeof(*r));
	int err;

	*result = (struct gp_plan_result){ 0 };
	snprintf(why, why_len, "no memory");
	if (!r)
		return -ENOMEM;
	r->how = how;
	r->result = result;
	r->why = why;
	r->why_len = why_len;
	strcpy(r->folder, "/tmp/gpreempt-bench-XXXXXX");
	if (!mkdtemp(r->folder)) {
		err = -errno;
		snprintf(why, why_len, "%s: %s", r->folder, strerror(-err));
		free(r);
		return err;
	}
	r->processes = is_together(r) ? 1 : how->plan->clients;
	err = run_all(r);
	for (size_t i = 0; i < r->processes; i++)
		gp_process_kill(&r->process[i]);
	gp_process_kill(&r->timeline.process);
	err = end_beside(r, err);
	nftw(r->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(r->who);
	free(r);
	if (err)
		gp_plan_result_free(result);
	return err;
}
