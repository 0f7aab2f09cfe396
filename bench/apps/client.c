// SPDX-License-Identifier: Apache-2.0
/*
 * client - one client of a plan, as a program of its own. It uses gpreempt only with --hint. It
 * runs a workload in an open loop, at the times of --arrivals. Latency counts from the moment a
 * request was meant to come, and none is skipped. Prints "ready", then waits for a line: "go", or
 * the time at which to begin.
 *
 * --together: all clients of a plan in this process, each a thread with a stream of its own; a line
 * of the file has the options of one. Each client prints its own output.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/gpu/ends.h"
#include "bench/gpu/turn.h"
#include "bench/gpu/clock.h"
#include "bench/gpu/cuda.h"
#include "bench/gpu/gpreempt_dl.h"
#include "bench/gpu/opts.h"
#include "bench/plan/request.h"
#include "bench/plan/samples.h"
#include "bench/plan/tokens.h"
#include "bench/gpu/kind.h"
#include "bench/plan/arrivals.h"

#define SOON_NS 1000000u
#define NEVER UINT64_MAX
#define DRAIN_NS 500000000u /* a request may begin so long after the plan's end */
#define CLIENTS_MAX 64

struct how {
	char workload[512], found[512], arrivals[32], trace[512], ends[512], out[512];
	uint64_t period_ns, prepare_us, length_ms, seed, stream, tell, after, clients;
	uint64_t hint_early_us, hint_late_us;
	bool hint, graph, lc;
};
static const struct how unless_said = {
	.arrivals = "periodic",
	.period_ns = 10000000,
	.length_ms = 10000,
	.seed = 1,
	.stream = 1,
	.clients = 1,
};
static struct how how; /* options of the client that is read now */
static char together[512];
static bool one_queue;

static const struct gp_opt opts[] = {
	{ .name = "workload",
	  .text = how.workload,
	  .text_len = sizeof(how.workload),
	  .help = "the workload: a file (.json), or a name such as train:5x110us" },
	{ .name = "found",
	  .text = how.found,
	  .text_len = sizeof(how.found),
	  .help = "file of loop counts that give kernels their length; if it is missing, measure "
		  "and write it" },
	{ .name = "arrivals",
	  .text = how.arrivals,
	  .text_len = sizeof(how.arrivals),
	  .help = GP_ARRIVALS_NAMES ", a period apart on average (periodic)" },
	{ .name = "period-ns",
	  .number = &how.period_ns,
	  .help = "mean time between requests (10000000)" },
	{ .name = "trace",
	  .text = how.trace,
	  .text_len = sizeof(how.trace),
	  .help = "file of arrival times, ns from the beginning, one a line" },
	{ .name = "ends",
	  .text = how.ends,
	  .text_len = sizeof(how.ends),
	  .help = "name of the clients' FIFOs, before a dot and a client's number" },
	{ .name = "after",
	  .number = &how.after,
	  .help = "start a request when these clients complete theirs: a bit for each client's "
		  "number" },
	{ .name = "tell",
	  .number = &how.tell,
	  .help = "notify these clients of each completed request: a bit for each client's "
		  "number" },
	{ .name = "prepare-us",
	  .number = &how.prepare_us,
	  .help = "CPU time before each request (0)" },
	{ .name = "length-ms",
	  .number = &how.length_ms,
	  .help = "time of the last request (10000)" },
	{ .name = "seed", .number = &how.seed, .help = "seed of the random numbers (1)" },
	{ .name = "stream",
	  .number = &how.stream,
	  .help = "the client's own stream of random numbers: its number plus 1 (1)" },
	{ .name = "clients",
	  .number = &how.clients,
	  .help = "number of clients; spin while waiting if there are at least two more CPUs (1)" },
	{ .name = "hint",
	  .flag = &how.hint,
	  .help = "give a hint when preparation begins; declare a segment for a request with "
		  "several waits, else the end of its launches" },
	{ .name = "hint-early-us",
	  .number = &how.hint_early_us,
	  .help = "shift the hinted time by this much to before the work (0)" },
	{ .name = "hint-late-us",
	  .number = &how.hint_late_us,
	  .help = "shift the hinted time by this much to after the work (0)" },
	{ .name = "graph",
	  .flag = &how.graph,
	  .help = "launch all kernels of a request as one CUDA graph" },
	{ .name = "out",
	  .text = how.out,
	  .text_len = sizeof(how.out),
	  .help = "file for the samples: intended_ns,start_ns,end_ns, a decoder's tokens_ns" },
	{ .name = "together",
	  .text = together,
	  .text_len = sizeof(together),
	  .help = "file of clients, one a line, each with the options above" },
	{ .name = "lc",
	  .flag = &how.lc,
	  .help = "with --together: give this client the highest stream priority, others the "
		  "lowest" },
	{ .name = "one-queue",
	  .flag = &one_queue,
	  .help = "with --together: run one request at a time, in order of arrival" },
};
#define OPTS (sizeof(opts) / sizeof(*opts))

struct client {
	struct how how;
	struct gp_bench_gpu gpu;
	struct gp_bench_client gpreempt;
	bool segments;	     /* it marks segments */
	uint64_t segment_ns; /* begin of the segment that runs */
	struct gp_arrivals arrivals;
	uint64_t *trace_ns;
	size_t traces, trace_next;
	struct gp_ends ends;   /* how.after: ends of the other clients' requests */
	int tell[CLIENTS_MAX]; /* FIFOs of the clients that wait for this one */
	size_t tells;	       /* number of them */
	struct gp_turn *turn;  /* NULL: requests do not take turns */
	struct gp_workload *workload;
	struct gp_job *job;
	void *stream;
	struct gp_request *request;
	struct gp_tokens tokens;
	size_t requests, room;
	size_t left; /* requests that arrived and did not end in time */
	uint64_t solo_ns, begin_ns, cpu_ns;
};

static void wrong(const char *why)
{
	fprintf(stderr, "client: %s\n", why);
	exit(2);
}

static void open_workload(struct client *c)
{
	char why[256];

	if (strchr(c->how.workload, ':') && !strchr(c->how.workload, '/'))
		c->workload = gp_workload_named(c->how.workload, why, sizeof(why));
	else
		c->workload = gp_workload_read(c->how.workload, why, sizeof(why));
	if (!c->workload)
		wrong(why);
}

/* ---- when requests come ---------------------------------------------------------- */

static void wrong_file(const char *option, const char *path, int err)
{
	fprintf(stderr, "client: --%s=%s: %s\n", option, path, strerror(err));
	exit(1);
}

static void wrong_time(const struct client *c)
{
	fprintf(stderr, "client: --trace=%s: line %zu: write times in ns, in ascending order\n",
		c->how.trace, c->traces + 1);
	exit(2);
}

static void take_time(struct client *c, char *line)
{
	uint64_t *more = realloc(c->trace_ns, (c->traces + 1) * sizeof(*more));
	uint64_t at_ns;

	if (!more)
		wrong("no memory for so many requests");
	c->trace_ns = more;
	line[strcspn(line, "\n")] = '\0';
	if (gp_opts_number(line, &at_ns) || (c->traces && at_ns < more[c->traces - 1]))
		wrong_time(c);
	more[c->traces++] = at_ns;
}

static void open_trace(struct client *c)
{
	FILE *file = fopen(c->how.trace, "re");
	char line[64];

	if (!file)
		wrong_file("trace", c->how.trace, errno);
	while (fgets(line, sizeof(line), file))
		take_time(c, line);
	fclose(file);
}

static void open_ends(struct client *c)
{
	char path[sizeof(c->how.ends) + 16];
	int err;

	if (c->how.stream < 1 || c->how.stream > CLIENTS_MAX)
		wrong("--stream: write a number from 1 to 64 with --after or --tell");
	for (unsigned int i = 0; i < CLIENTS_MAX; i++) {
		if (!(c->how.tell >> i & 1))
			continue;
		gp_ends_path(c->how.ends, i, path, sizeof(path));
		c->tell[c->tells] = gp_ends_teller(path);
		if (c->tell[c->tells] < 0)
			wrong_file("ends", path, -c->tell[c->tells]);
		c->tells++;
	}
	gp_ends_path(c->how.ends, (unsigned int)c->how.stream - 1, path, sizeof(path));
	err = c->how.after ? gp_ends_listen(&c->ends, path, c->how.after) : 0;
	if (err)
		wrong_file("ends", path, -err);
}

static void open_arrivals(struct client *c)
{
	if (gp_arrivals_parse(c->how.arrivals, (double)c->how.period_ns, c->how.seed, c->how.stream,
			      &c->arrivals))
		wrong("--arrivals: write " GP_ARRIVALS_NAMES "; SIGMA is above 0 and at most 3");
	if (c->how.trace[0])
		open_trace(c);
	if (c->how.after || c->how.tell)
		open_ends(c);
}

/* The request after the one that was intended for @last_ns. */
static uint64_t next_ns(struct client *c, uint64_t last_ns)
{
	if (c->how.after)
		return gp_ends_next(&c->ends);
	if (!c->how.trace[0])
		return gp_arrivals_next_ns(&c->arrivals, last_ns, gp_clock_now_ns());
	return c->trace_next < c->traces ? c->begin_ns + c->trace_ns[c->trace_next++] : NEVER;
}

static void tell(const struct client *c, uint64_t end_ns)
{
	for (size_t i = 0; i < c->tells; i++)
		if (gp_ends_tell(c->tell[i], (unsigned int)c->how.stream - 1, end_ns))
			wrong("a client that depends on this client is 65536 requests behind");
}

/* The output so far fits into a pipe. */
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
		c->tokens.ns = realloc(c->tokens.ns,
				       (c->room * c->tokens.of_each + 1) * sizeof(*c->tokens.ns));
		if (!c->request || !c->tokens.ns)
			wrong("no memory for so many requests");
	}
	return &c->request[c->requests++];
}

static void say_work_comes(struct client *c)
{
	const uint64_t in_us = c->how.prepare_us + c->how.hint_late_us;
	const uint64_t early_us = c->how.hint_early_us < in_us ? c->how.hint_early_us : in_us;

	if (c->how.hint)
		gp_bench_client_check(
			c->gpreempt.hint(c->gpreempt.handle, (in_us - early_us) * 1000), "gp_hint");
}

/*
 * A hint is for work up to the first wait for it. A request that waits several times needs the
 * device in the gaps between, too. It is a segment.
 */
static void begin_segment(struct client *c)
{
	if (!c->segments)
		return;
	gp_bench_client_check(c->gpreempt.segment_begin(c->gpreempt.handle), "gp_segment_begin");
	c->segment_ns = gp_clock_now_ns();
}

static void end_segment(struct client *c)
{
	if (c->segments)
		gp_bench_client_check(c->gpreempt.segment_end(c->gpreempt.handle),
				      "gp_segment_end");
}

/* A request that is longer than a segment gets several. */
static void renew_segment(void *of, uint64_t now_ns)
{
	struct client *c = of;

	if (!c->segments || now_ns - c->segment_ns < GP_WORKLOAD_SEGMENT_NS)
		return;
	end_segment(c);
	begin_segment(c);
}

/* Without segments, report that all is queued; a segment has an explicit end. */
static void say_all_is_queued(void *of)
{
	struct client *c = of;

	if (c->how.hint && !c->segments)
		gp_bench_client_check(c->gpreempt.queued(c->gpreempt.handle, c->stream),
				      "gp_queued");
}

static uint64_t launch_and_wait(struct client *c, uint64_t *token_ns)
{
	const struct gp_token_watch watch = {
		.ns = token_ns,
		.seen = renew_segment,
		.queued = say_all_is_queued,
		.of = c,
	};
	uint64_t end_ns;

	if (c->turn)
		gp_turn_take(c->turn);
	begin_segment(c);
	end_ns = gp_job_request(c->job, &watch);
	end_segment(c);
	if (c->turn)
		gp_turn_pass(c->turn);
	return end_ns;
}

static uint64_t do_request(struct client *c, uint64_t intended_ns)
{
	struct gp_request *r = room_for_one(c);

	r->intended_ns = intended_ns;
	gp_clock_sleep_until(intended_ns);
	r->start_ns = gp_clock_now_ns();
	say_work_comes(c);
	if (c->how.prepare_us)
		gp_clock_busy_until(r->start_ns + c->how.prepare_us * 1000);
	r->end_ns = launch_and_wait(c, c->tokens.ns + (r - c->request) * c->tokens.of_each);
	tell(c, r->end_ns);
	return r->end_ns;
}

/* A request that arrived and did not end in time is counted, not skipped. */
static void do_requests(struct client *c)
{
	const uint64_t end_ns = c->begin_ns + c->how.length_ms * 1000000u;
	const uint64_t last_ns = end_ns + DRAIN_NS;
	uint64_t at_ns;

	gp_clock_sleep_until(c->begin_ns);
	for (at_ns = next_ns(c, c->begin_ns); at_ns < end_ns; at_ns = next_ns(c, at_ns)) {
		if (gp_clock_now_ns() >= last_ns) {
			c->left++;
		} else if (do_request(c, at_ns) > last_ns) {
			c->requests--;
			c->left++;
		}
	}
	tell(c, GP_ENDS_NO_MORE);
}

/* CPU time of the process, or of this thread if all clients are in one process. */
static uint64_t cpu_ns(void)
{
	struct rusage used;

	getrusage(together[0] ? RUSAGE_THREAD : RUSAGE_SELF, &used);
	return ((uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
		(uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec)) *
	       1000;
}

static void *be_client(void *arg)
{
	struct client *c = arg;
	uint64_t was_ns;

	GP_CU(cuCtxSetCurrent(c->gpu.ctx));
	was_ns = cpu_ns();
	do_requests(c);
	c->cpu_ns = cpu_ns() - was_ns;
	return NULL;
}

/* ---- output ---------------------------------------------------------------------- */
static void write_tokens(FILE *file, const uint64_t *ns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%c%llu", i ? ' ' : ',', (unsigned long long)ns[i]);
	fputc('\n', file);
}

static void write_samples(const struct client *c)
{
	const char *out = c->how.out;
	FILE *file = *out ? fopen(out, "we") : NULL;

	if (!*out)
		return;
	if (!file)
		wrong_file("out", out, errno);
	fprintf(file, "intended_ns,start_ns,end_ns%s\n", c->tokens.of_each ? ",tokens_ns" : "");
	for (size_t i = 0; i < c->requests; i++) {
		fprintf(file, "%llu,%llu,%llu", (unsigned long long)c->request[i].intended_ns,
			(unsigned long long)c->request[i].start_ns,
			(unsigned long long)c->request[i].end_ns);
		write_tokens(file, c->tokens.ns + i * c->tokens.of_each, c->tokens.of_each);
	}
	if (fclose(file))
		wrong_file("out", out, errno);
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

static void print_figures(const struct client *c, bool right)
{
	uint64_t *ns = calloc(c->requests + 1, sizeof(*ns));

	if (!ns)
		wrong("no memory for so many requests");
	for (size_t i = 0; i < c->requests; i++)
		ns[i] = c->request[i].end_ns - c->request[i].intended_ns;
	printf("client requests=%zu left=%zu begin_ns=%" PRIu64 " cpu_ns=%" PRIu64
	       " solo_ns=%" PRIu64,
	       c->requests, c->left, c->begin_ns, c->cpu_ns, c->solo_ns);
	print_latency("", ns, c->requests);
	print_tokens(c);
	printf(" result=%s\n", right ? "right" : "WRONG");
	free(ns);
}

static bool close_client(struct client *c)
{
	const bool right = gp_job_check(c->job);

	write_samples(c);
	print_figures(c, right);
	if (c->gpreempt.handle)
		c->gpreempt.close(c->gpreempt.handle);
	gp_job_close(c->job);
	gp_workload_destroy(c->workload);
	free(c->trace_ns);
	free(c->request);
	free(c->tokens.ns);
	return right;
}

/* ---- all of it ------------------------------------------------------------------- */

/* A client that spins needs a CPU of its own. A context has one way to wait. */
static unsigned int how_to_wait(const struct client *client, size_t n)
{
	uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), want = client[0].how.clients;

	for (size_t i = 1; i < n; i++)
		want = client[i].how.clients < want ? client[i].how.clients : want;
	return cpus >= want + 2 ? GP_CU_CTX_SCHED_SPIN : GP_CU_CTX_SCHED_BLOCKING;
}

static void open_stream(struct client *c)
{
	int least, greatest;

	if (!together[0]) {
		GP_CU(cuStreamCreate(&c->stream, GP_CU_STREAM_NON_BLOCKING));
		return;
	}
	GP_CU(cuCtxGetStreamPriorityRange(&least, &greatest));
	GP_CU(cuStreamCreateWithPriority(&c->stream, GP_CU_STREAM_NON_BLOCKING,
					 c->how.lc ? greatest : least));
}

/* Check all options before the first call to the device. */
static void open_client(struct client *c)
{
	if (!how.workload[0])
		wrong("--workload is missing; name a workload");
	c->how = how;
	open_workload(c);
	open_arrivals(c);
}

/* Mark one segment now, as a process's first one costs milliseconds. */
static void open_gpreempt(struct client *c)
{
	gp_bench_client_open(&c->gpreempt);
	c->segments = gp_workload_waits_often(c->workload);
	begin_segment(c);
	end_segment(c);
}

static void open_work(struct client *c, const struct gp_bench_gpu *gpu)
{
	c->gpu = *gpu;
	open_stream(c);
	c->job = gp_job_open(&c->gpu, c->workload, c->how.graph,
			     *c->how.found ? c->how.found : NULL, c->stream);
	if (c->how.hint)
		open_gpreempt(c);
	c->solo_ns = gp_job_solo_ns(c->job);
}

static size_t open_together(struct client *client)
{
	FILE *file = fopen(together, "re");
	char line[4096];
	size_t n = 0;

	if (!file)
		wrong_file("together", together, errno);
	while (fgets(line, sizeof(line), file)) {
		if (n == CLIENTS_MAX)
			wrong("--together: more than 64 clients; remove some");
		how = unless_said;
		gp_opts_parse_line(opts, OPTS, line);
		open_client(&client[n++]);
	}
	fclose(file);
	if (!n)
		wrong("--together: no client in the file; write one a line");
	return n;
}

static void run_together(struct client *client, size_t n)
{
	static struct gp_turn turn = GP_TURN_INIT;
	pthread_t thread[CLIENTS_MAX];

	for (size_t i = 0; i < n; i++) {
		client[i].turn = one_queue ? &turn : NULL;
		if (pthread_create(&thread[i], NULL, be_client, &client[i]))
			wrong("cannot start a thread for each client");
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

static void run(struct client *client, size_t n)
{
	uint64_t begin_ns;

	printf("ready pid=%d solo_ns=%" PRIu64 "\n", (int)getpid(), client[0].solo_ns);
	fflush(stdout);
	begin_ns = await_go();
	for (size_t i = 0; i < n; i++)
		client[i].begin_ns = begin_ns;
	if (together[0])
		run_together(client, n);
	else
		be_client(client);
}

int main(int argc, char **argv)
{
	static struct client client[CLIENTS_MAX];
	struct gp_bench_gpu gpu;
	bool right = true;
	size_t n = 1;

	how = unless_said;
	gp_opts_parse(opts, OPTS, argc, argv);
	setvbuf(stdin, NULL, _IONBF, 0); /* poll() sees all there is */
	if (together[0])
		n = open_together(client);
	else
		open_client(client);
	gp_bench_gpu_open(&gpu, how_to_wait(client, n));
	for (size_t i = 0; i < n; i++)
		open_work(&client[i], &gpu);
	run(client, n);
	for (size_t i = 0; i < n; i++)
		right &= close_client(&client[i]);
	return right ? 0 : 1;
}
