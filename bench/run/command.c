// SPDX-License-Identifier: Apache-2.0
#include "bench/run/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/plan/arrivals.h"

#define TORCH "torch:"

void gp_command_add(struct gp_command *c, const char *word)
{
	char *to = c->word[c->words];

	snprintf(to, GP_COMMAND_WORD_LEN, "%s", word);
	c->argv[c->words++] = to;
	c->argv[c->words] = NULL;
}

static void add(struct gp_command *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void add(struct gp_command *c, const char *format, ...)
{
	char word[GP_COMMAND_WORD_LEN];
	va_list ap;

	va_start(ap, format);
	vsnprintf(word, sizeof(word), format, ap);
	va_end(ap);
	gp_command_add(c, word);
}

/* As gpreempt run --class takes it. */
static void say_class(const struct gp_plan_client *c, char *text, size_t len)
{
	const uint32_t value = c->lc ? c->level : c->weight;

	if (value)
		snprintf(text, len, "%s:%" PRIu32, c->lc ? "lc" : "be", value);
	else
		snprintf(text, len, "%s", c->lc ? "lc" : "be");
}

/* Suffix of a class with deadlines: ",period=20ms,.." */
static void say_class_times(const struct gp_plan_client *c, char *text, size_t len)
{
	*text = '\0';
	if (c->runtime_us)
		snprintf(text, len,
			 ",period=%" PRIu64 "ns,deadline=%" PRIu32 "us,runtime=%" PRIu32 "us",
			 gp_plan_period_ns(c), c->deadline_us, c->runtime_us);
}

int gp_command_peer(struct gp_command *command, const struct gp_device_run *run, char *const *words,
		    size_t client, const char *folder)
{
	char class_name[24], class_times[96], word[GP_COMMAND_WORD_LEN];
	const struct gp_peer_names names = {
		.device = run->device,
		.class_name = class_name,
		.client = run->client,
		.folder = folder,
		.class_times = class_times,
	};

	say_class(&run->plan->client[client], class_name, sizeof(class_name));
	say_class_times(&run->plan->client[client], class_times, sizeof(class_times));
	for (; *words; words++) {
		int err = gp_peer_word(run->peer, &names, *words, word, sizeof(word));

		if (err)
			return err;
		gp_command_add(command, word);
	}
	return 0;
}

void gp_command_samples(const char *folder, size_t client, char *path, size_t len)
{
	snprintf(path, len, "%s/%zu.csv", folder, client);
}

static void trace_path(const char *folder, size_t client, char *path, size_t len)
{
	snprintf(path, len, "%s/%zu.trace", folder, client);
}

bool gp_command_is_torch(const struct gp_device_run *run, size_t client)
{
	return !strncmp(run->workload[client], TORCH, strlen(TORCH));
}

/* PyTorch's client knows of no law. */
static bool is_told_times(const struct gp_device_run *run, size_t client)
{
	const struct gp_plan_client *one = &run->plan->client[client];

	return one->load == GP_PLAN_TRACE ||
	       (gp_command_is_torch(run, client) && gp_plan_has_rate(one));
}

static void add_load(struct gp_command *c, const struct gp_device_run *run, size_t client,
		     const char *folder)
{
	const struct gp_plan_client *one = &run->plan->client[client];
	const bool told = is_told_times(run, client);
	const uint64_t tell = gp_plan_waiters(run->plan, client);
	char path[GP_COMMAND_WORD_LEN / 2], law[32];

	trace_path(folder, client, path, sizeof(path));
	gp_plan_law(one, law, sizeof(law));
	if (told)
		add(c, "--trace=%s", path);
	else if (one->load != GP_PLAN_DEPENDENT)
		add(c, "--arrivals=%s", law);
	if (gp_plan_has_rate(one) && !told)
		add(c, "--period-ns=%.0f", 1e9 / one->rate);
	if (tell || one->after)
		add(c, "--ends=%s/ends", folder);
	if (one->after)
		add(c, "--after=%" PRIu64, one->after);
	if (tell)
		add(c, "--tell=%" PRIu64, tell);
}

static void add_hint(struct gp_command *c, const struct gp_device_run *run,
		     const struct gp_plan_client *one)
{
	if (!run->peer->hint || !one->lc || !one->prepare_us)
		return;
	add(c, "--hint");
	if (one->hint_off_us)
		add(c, "--hint-%s-us=%d", one->hint_off_us < 0 ? "early" : "late",
		    abs(one->hint_off_us));
}

void gp_command_client(struct gp_command *c, const struct gp_device_run *run, size_t client,
		       const char *folder)
{
	const struct gp_plan_client *one = &run->plan->client[client];
	char samples[GP_COMMAND_WORD_LEN / 2];

	gp_command_samples(folder, client, samples, sizeof(samples));
	add(c, "--workload=%s", run->workload[client]);
	add(c, "--out=%s", samples);
	if (!gp_command_is_torch(run, client)) {
		add(c, "--found=%s", run->found[client]);
		/* A latency-critical client does not wait for an interrupt. */
		if (!one->lc)
			add(c, "--clients=%zu", run->plan->clients);
	}
	add_load(c, run, client, folder);
	add(c, "--prepare-us=%" PRIu32, one->prepare_us);
	add(c, "--length-ms=%.0f", run->plan->seconds * 1000);
	add(c, "--seed=%" PRIu64, run->seed);
	add(c, "--stream=%zu", client + 1);
	if (one->graph)
		add(c, "--graph");
	add_hint(c, run, one);
	if (run->peer->together.count && one->lc)
		add(c, "--lc");
}

static void write_arrivals(const struct gp_device_run *run, size_t client, FILE *file)
{
	const struct gp_plan_client *one = &run->plan->client[client];
	const uint64_t end_ns = (uint64_t)(run->plan->seconds * 1e9);
	struct gp_arrivals arrivals;
	char law[32];

	gp_plan_law(one, law, sizeof(law));
	if (gp_arrivals_parse(law, 1e9 / one->rate, run->seed, client + 1, &arrivals))
		return; /* the plan was read: it is one */
	for (uint64_t at_ns = gp_arrivals_next_ns(&arrivals, 0, 0); at_ns < end_ns;
	     at_ns = gp_arrivals_next_ns(&arrivals, at_ns, 0))
		fprintf(file, "%" PRIu64 "\n", at_ns);
}

static int write_times(const struct gp_device_run *run, size_t client, const char *path)
{
	const struct gp_plan_client *one = &run->plan->client[client];
	FILE *file = fopen(path, "we");

	if (!file)
		return -errno;
	if (one->load != GP_PLAN_TRACE)
		write_arrivals(run, client, file);
	for (size_t i = 0; i < one->traces; i++)
		fprintf(file, "%" PRIu64 "\n", one->trace_ns[i]);
	return fclose(file) ? -errno : 0;
}

int gp_command_files(const struct gp_device_run *run, size_t client, const char *folder)
{
	char path[GP_COMMAND_WORD_LEN];

	if (is_told_times(run, client)) {
		trace_path(folder, client, path, sizeof(path));
		return write_times(run, client, path);
	}
	if (run->plan->client[client].load != GP_PLAN_DEPENDENT)
		return 0;
	/* As gp_ends_path() in bench/gpu/ends.c names it. */
	snprintf(path, sizeof(path), "%s/ends.%zu", folder, client);
	return mkfifo(path, 0600) ? -errno : 0;
}
