// SPDX-License-Identifier: Apache-2.0
#include "bench/device/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/device/process.h"

#define READY_MS 300000u	/* to find out what each of hundreds of kernels takes */
#define END_MS 60000u		/* more than the plan's length */
#define SOON_NS 300000000u	/* from telling all to begin until they do */
#define NS_PER_S 1000000000u
#define WORDS (GP_PEER_WORDS + 16)
#define WORD_LEN 512

struct client {
	struct gp_process process;
	char samples[64];	/* its file's name */
	char word[WORDS][WORD_LEN];
	char *argv[WORDS + 1];
	int words;
};

struct run {
	const struct gp_device_run *how;
	struct gp_plan_result *result;
	char folder[32];
	struct client client[GP_PLAN_CLIENTS_MAX];
	char *why;
	size_t why_len;
};

static int failed(struct run *r, size_t i, int err, const char *what)
{
	snprintf(r->why, r->why_len, "%s, %s: %s", r->how->peer->name,
		 r->how->plan->client[i].id, what);
	return err;
}

/* ---- a client's command line ------------------------------------------------------ */

/* @word with {device} as what it stands for. */
static void add_word(struct run *r, struct client *c, const char *word)
{
	static const char device[] = "{device}";
	const char *at = strstr(word, device);
	char *to = c->word[c->words];

	if (at)
		snprintf(to, WORD_LEN, "%.*s%s%s", (int)(at - word), word, r->how->device,
			 at + strlen(device));
	else
		snprintf(to, WORD_LEN, "%s", word);
	c->argv[c->words++] = to;
}

static void add_option(struct run *r, struct client *c, const char *name, const char *value)
{
	char word[WORD_LEN];

	snprintf(word, sizeof(word), "--%s=%s", name, value);
	add_word(r, c, word);
}

static void add_number(struct run *r, struct client *c, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	add_option(r, c, name, text);
}

static void add_load(struct run *r, struct client *c, const struct gp_plan_client *plan)
{
	add_option(r, c, "arrivals", gp_plan_load_name(plan->load));
	if (plan->rate > 0)
		add_number(r, c, "period-us", (uint64_t)(1e6 / plan->rate + 0.5));
}

static void make_words(struct run *r, size_t i)
{
	const struct gp_plan_client *plan = &r->how->plan->client[i];
	char *const *prefix = plan->lc ? r->how->peer->lc : r->how->peer->be;
	struct client *c = &r->client[i];

	for (; *prefix; prefix++)
		add_word(r, c, *prefix);
	add_word(r, c, r->how->client);
	add_option(r, c, "workload", r->how->workload[i]);
	add_option(r, c, "out", c->samples);
	add_load(r, c, plan);
	add_number(r, c, "prepare-us", plan->prepare_us);
	add_number(r, c, "seconds", (uint64_t)(r->how->plan->seconds + 0.5));
	add_number(r, c, "seed", r->how->seed);
	add_number(r, c, "stream", i + 1);
	if (plan->graph)
		add_word(r, c, "--graph");
	if (r->how->peer->hint && plan->lc && plan->prepare_us)
		add_word(r, c, "--hint");
}

/* ---- running --------------------------------------------------------------------- */

/* One after the other: each finds out by itself what its kernels take. */
static int start_all(struct run *r)
{
	char line[256];

	for (size_t i = 0; i < r->how->plan->clients; i++) {
		struct client *c = &r->client[i];
		int err;

		snprintf(c->samples, sizeof(c->samples), "%s/%zu.csv", r->folder, i);
		make_words(r, i);
		err = gp_process_start(&c->process, c->argv);
		if (!err)
			err = gp_process_expect(&c->process, "ready ", READY_MS, line,
						sizeof(line));
		if (err)
			return failed(r, i, err, "did not start");
	}
	return 0;
}

static int go(struct run *r)
{
	struct timespec ts;
	char line[32];

	clock_gettime(CLOCK_MONOTONIC, &ts);
	if (r->how->soft)
		snprintf(line, sizeof(line), "go\n");
	else
		snprintf(line, sizeof(line), "%" PRIu64 "\n",
			 (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec + SOON_NS);
	for (size_t i = 0; i < r->how->plan->clients; i++)
		if (gp_process_send(&r->client[i].process, line))
			return failed(r, i, -EPIPE, "ended before it began");
	return 0;
}

static int await_all(struct run *r)
{
	const uint64_t ms = (uint64_t)(r->how->plan->seconds * 1000) + END_MS;
	char line[256];

	for (size_t i = 0; i < r->how->plan->clients; i++) {
		struct gp_process *p = &r->client[i].process;
		int err = gp_process_expect(p, "client ", ms * (r->how->soft ? 20 : 1), line,
					    sizeof(line));

		if (err)
			return failed(r, i, err, "did not come to its end");
		if (!strstr(line, "result=right"))
			return failed(r, i, -EBADMSG, "its result is WRONG");
		if (gp_process_end(p, END_MS))
			return failed(r, i, -EPROTO, "did not end well");
	}
	return 0;
}

/* ---- what they found -------------------------------------------------------------- */

static bool make_room(struct gp_plan_done *c, size_t *room)
{
	const size_t more = *room ? 2 * *room : 1024;
	struct gp_request *request;
	uint64_t *token_ns;

	if (c->requests < *room)
		return true;
	request = realloc(c->request, more * sizeof(*request));
	if (!request)
		return false;
	c->request = request;
	token_ns = realloc(c->tokens.ns, (more * c->tokens.of_each + 1) * sizeof(*token_ns));
	if (!token_ns)
		return false;
	c->tokens.ns = token_ns;
	*room = more;
	return true;
}

static size_t count_tokens(const char *text)
{
	size_t count = *text == ',';

	for (; *text; text++)
		count += *text == ' ';
	return count;
}

/* As many as the first request had. */
static bool read_tokens(const struct gp_plan_done *c, const char *text)
{
	uint64_t *ns = c->tokens.ns + c->requests * c->tokens.of_each;
	char *end;

	if (count_tokens(text) != c->tokens.of_each)
		return false;
	for (size_t i = 0; i < c->tokens.of_each; i++, text = end) {
		ns[i] = strtoull(text + 1, &end, 10);
		if (end == text + 1)
			return false;
	}
	return true;
}

/* A line of the client's file; its head is none. */
static int read_sample(struct gp_plan_done *c, size_t *room, const char *line)
{
	struct gp_request one;
	int n = 0;

	if (sscanf(line, "%" SCNu64 ",%" SCNu64 ",%" SCNu64 "%n", &one.intended_ns,
		   &one.start_ns, &one.end_ns, &n) != 3)
		return 0;
	if (!c->requests)
		c->tokens.of_each = count_tokens(line + n);
	if (!make_room(c, room))
		return -ENOMEM;
	if (!read_tokens(c, line + n))
		return -EBADMSG;
	c->request[c->requests++] = one;
	return 0;
}

static int read_samples(struct run *r, size_t i)
{
	struct gp_plan_done *c = &r->result->client[i];
	FILE *file = fopen(r->client[i].samples, "re");
	size_t room = 0, len = 0;
	char *line = NULL;
	int err = 0;

	while (file && !err && getline(&line, &len, file) > 0)
		err = read_sample(c, &room, line);
	free(line);
	if (file)
		fclose(file);
	if (err)
		return failed(r, i, err, "left samples that are none, or do not fit");
	return c->requests ? 0 : failed(r, i, -ENODATA, "made no request");
}

/* The plan begins when the first client does. */
static void time_plan(struct run *r)
{
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < r->how->plan->clients; i++)
		if (r->result->client[i].request[0].intended_ns < first_ns)
			first_ns = r->result->client[i].request[0].intended_ns;
	r->result->begin_ns = first_ns;
	r->result->end_ns = first_ns + (uint64_t)(r->how->plan->seconds * NS_PER_S);
}

static int run_all(struct run *r)
{
	int err = start_all(r);

	if (!err)
		err = go(r);
	if (!err)
		err = await_all(r);
	for (size_t i = 0; i < r->how->plan->clients && !err; i++)
		err = read_samples(r, i);
	if (!err)
		time_plan(r);
	return err;
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
	err = run_all(r);
	for (size_t i = 0; i < how->plan->clients; i++) {
		gp_process_kill(&r->client[i].process);
		unlink(r->client[i].samples);
	}
	rmdir(r->folder);
	free(r);
	if (err)
		gp_plan_result_free(result);
	return err;
}
