// SPDX-License-Identifier: Apache-2.0
/*
 * client - one client of a plan, as a program of its own that knows of gpreempt only
 * where --hint asks for it: a workload, asked for when --arrivals says, in an open loop.
 * Latency counts from the moment a request was meant to come, and none is skipped.
 * Prints "ready", then waits for a line: "go", or the time at which to begin.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/clock.h"
#include "bench/common/cuda.h"
#include "bench/common/gpreempt_dl.h"
#include "bench/common/opts.h"
#include "bench/common/request.h"
#include "bench/common/samples.h"
#include "bench/common/tokens.h"
#include "bench/kinds/kind.h"
#include "bench/load/arrivals.h"

#define SOON_NS 1000000u

static char workload_name[512], arrivals_name[32] = "periodic", out[512];
static uint64_t period_us = 10000, prepare_us, seconds = 10, seed = 1, stream_number = 1;
static bool hint, graph;

static const struct gp_opt opts[] = {
	{.name = "workload",
	 .text = workload_name,
	 .text_len = sizeof(workload_name),
	 .help = "its file (.json), or a name such as train:5x110us"},
	{.name = "arrivals",
	 .text = arrivals_name,
	 .text_len = sizeof(arrivals_name),
	 .help = GP_ARRIVALS_NAMES ", a period apart on average (periodic)"},
	{.name = "period-us", .number = &period_us, .help = "(10000)"},
	{.name = "prepare-us", .number = &prepare_us, .help = "of CPU before each request (0)"},
	{.name = "seconds", .number = &seconds, .help = "no request comes later (10)"},
	{.name = "seed", .number = &seed, .help = "of what is random (1)"},
	{.name = "stream", .number = &stream_number, .help = "of the seed: each client's own (1)"},
	{.name = "hint", .flag = &hint, .help = "say that work comes when its preparation begins"},
	{.name = "graph", .flag = &graph, .help = "all kernels of a request are one CUDA graph"},
	{.name = "out",
	 .text = out,
	 .text_len = sizeof(out),
	 .help = "file for the samples: intended_ns,start_ns,end_ns, a decoder's tokens_ns"},
};

struct client {
	struct gp_bench_gpu gpu;
	struct gp_bench_client gpreempt;
	struct gp_arrivals arrivals;
	struct gp_workload *workload;
	struct gp_job *job;
	void *stream;
	struct gp_request *request;
	struct gp_tokens tokens;
	size_t requests, room;
};

static void wrong(const char *why)
{
	fprintf(stderr, "client: %s\n", why);
	exit(2);
}

static void open_workload(struct client *c)
{
	char why[256];

	if (strchr(workload_name, ':') && !strchr(workload_name, '/'))
		c->workload = gp_workload_named(workload_name, why, sizeof(why));
	else
		c->workload = gp_workload_read(workload_name, why, sizeof(why));
	if (!c->workload)
		wrong(why);
}

static void open_arrivals(struct client *c)
{
	if (gp_arrivals_parse(arrivals_name, (double)period_us * 1000, seed, stream_number,
			      &c->arrivals))
		wrong("--arrivals: write " GP_ARRIVALS_NAMES "; SIGMA is above 0 and at most 3");
}

/* What has been said so far fits into a pipe. */
static uint64_t await_go(void)
{
	char line[64];
	uint64_t at_ns;

	if (!gp_clock_wait_readable(0) || !fgets(line, sizeof(line), stdin))
		return gp_clock_now_ns() + SOON_NS;
	line[strcspn(line, "\n")] = '\0';
	return gp_opts_number(line, &at_ns) ? gp_clock_now_ns() + SOON_NS : at_ns;
}

static struct gp_request *room_for_one(struct client *c)
{
	if (c->requests == c->room) {
		c->room = c->room ? 2 * c->room : 1024;
		c->request = realloc(c->request, c->room * sizeof(*c->request));
		c->tokens.of_each = c->workload->tokens;
		c->tokens.ns = realloc(c->tokens.ns, (c->room * c->tokens.of_each + 1) *
							     sizeof(*c->tokens.ns));
		if (!c->request || !c->tokens.ns)
			wrong("no memory for so many requests");
	}
	return &c->request[c->requests++];
}

static void say_work_comes(struct client *c, uint64_t in_ns)
{
	if (hint)
		gp_bench_client_check(c->gpreempt.hint(c->gpreempt.handle, in_ns), "gp_hint");
}

static void do_request(struct client *c, uint64_t intended_ns)
{
	struct gp_request *r = room_for_one(c);

	r->intended_ns = intended_ns;
	gp_clock_sleep_until(intended_ns);
	r->start_ns = gp_clock_now_ns();
	say_work_comes(c, prepare_us * 1000);
	if (prepare_us)
		gp_clock_busy_until(r->start_ns + prepare_us * 1000);
	r->end_ns = gp_job_request(c->job, c->tokens.ns + (r - c->request) *
								     c->tokens.of_each);
}

static void do_requests(struct client *c, uint64_t begin_ns)
{
	const uint64_t end_ns = begin_ns + seconds * 1000000000u;
	uint64_t at_ns = begin_ns;

	gp_clock_sleep_until(begin_ns);
	for (;;) {
		at_ns = gp_arrivals_next_ns(&c->arrivals, at_ns, gp_clock_now_ns());
		if (at_ns >= end_ns)
			return;
		do_request(c, at_ns);
	}
}

static void wrong_out(void)
{
	fprintf(stderr, "client: --out=%s: %s\n", out, strerror(errno));
	exit(1);
}

static void write_tokens(FILE *file, const uint64_t *ns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%c%llu", i ? ' ' : ',', (unsigned long long)ns[i]);
	fputc('\n', file);
}

static void write_samples(const struct client *c)
{
	FILE *file = out[0] ? fopen(out, "we") : NULL;

	if (!out[0])
		return;
	if (!file)
		wrong_out();
	fprintf(file, "intended_ns,start_ns,end_ns%s\n", c->tokens.of_each ? ",tokens_ns" : "");
	for (size_t i = 0; i < c->requests; i++) {
		fprintf(file, "%llu,%llu,%llu", (unsigned long long)c->request[i].intended_ns,
			(unsigned long long)c->request[i].start_ns,
			(unsigned long long)c->request[i].end_ns);
		write_tokens(file, c->tokens.ns + i * c->tokens.of_each, c->tokens.of_each);
	}
	if (fclose(file))
		wrong_out();
}

static void print_latency(const char *name, uint64_t *ns, size_t count)
{
	gp_samples_sort(ns, count);
	printf(" %sp50_ns=%llu %sp99_ns=%llu", name,
	       (unsigned long long)gp_samples_rank(ns, count, 500), name,
	       (unsigned long long)gp_samples_rank(ns, count, 990));
}

static void print_tokens(const struct client *c)
{
	struct gp_token_latencies l;

	if (gp_token_latencies(&c->tokens, c->request, c->requests, &l))
		wrong("no memory for so many tokens");
	if (l.firsts)
		print_latency("ttft_", l.first_ns, l.firsts);
	if (l.nexts)
		print_latency("itl_", l.next_ns, l.nexts);
	gp_token_latencies_free(&l);
}

static void print_figures(const struct client *c, uint64_t solo_ns, bool right)
{
	uint64_t *ns = calloc(c->requests + 1, sizeof(*ns));

	if (!ns)
		wrong("no memory for so many requests");
	for (size_t i = 0; i < c->requests; i++)
		ns[i] = c->request[i].end_ns - c->request[i].intended_ns;
	printf("client requests=%zu solo_ns=%llu", c->requests, (unsigned long long)solo_ns);
	print_latency("", ns, c->requests);
	print_tokens(c);
	printf(" result=%s\n", right ? "right" : "WRONG");
	free(ns);
}

/* Who waits by spinning needs a CPU that nobody else wants. */
static unsigned int how_to_wait(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) > 2 ? GP_CU_CTX_SCHED_SPIN :
						   GP_CU_CTX_SCHED_BLOCKING;
}

static void open_all(struct client *c)
{
	gp_bench_gpu_open(&c->gpu, how_to_wait());
	GP_CU(cuStreamCreate(&c->stream, GP_CU_STREAM_NON_BLOCKING));
	c->job = gp_job_open(&c->gpu, c->workload, graph, c->stream);
	if (hint)
		gp_bench_client_open(&c->gpreempt);
}

int main(int argc, char **argv)
{
	struct client c = { 0 };
	uint64_t solo_ns;
	bool right;

	gp_opts_parse(opts, sizeof(opts) / sizeof(*opts), argc, argv);
	setvbuf(stdin, NULL, _IONBF, 0); /* poll() sees all there is */
	if (!workload_name[0])
		wrong("--workload is wanted");
	open_workload(&c);
	open_arrivals(&c);
	open_all(&c);
	solo_ns = gp_job_solo_ns(c.job);
	printf("ready pid=%d solo_ns=%llu\n", (int)getpid(), (unsigned long long)solo_ns);
	fflush(stdout);
	do_requests(&c, await_go());
	right = gp_job_check(c.job);
	write_samples(&c);
	print_figures(&c, solo_ns, right);
	if (c.gpreempt.handle)
		c.gpreempt.close(c.gpreempt.handle);
	gp_job_close(c.job);
	gp_workload_destroy(c.workload);
	free(c.request);
	free(c.tokens.ns);
	return right ? 0 : 1;
}
