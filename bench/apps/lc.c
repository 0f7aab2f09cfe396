// SPDX-License-Identifier: Apache-2.0
/*
 * lc - an LC program: every period a request of a few short kernels, in an open
 * loop unless --arrivals selects another law. Latency counts from the intended
 * arrival, and no request is skipped. It uses gpreempt only with --hint-us or
 * --segment.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/cuda.h"
#include "bench/gpu/die.h"
#include "bench/gpu/gpreempt_dl.h"
#include "bench/gpu/kernels.h"
#include "bench/gpu/opts.h"
#include "bench/gpu/roundtrip.h"
#include "bench/gpu/work.h"
#include "bench/plan/arrivals.h"
#include "bench/plan/samples.h"

#define LC_BLOCKS 32
#define ALLOC_BYTES (4u << 20)
#define CONTEXT_ONE_IN 8 /* only one CONTEXT of 8, as a context takes 0.1 s */
#define LINE 1024

struct lc_opts {
	char out[512];
	char inside[64];
	char arrivals[32], end[8];
	uint64_t period_us, kernels, kernel_us, gap_us, requests;
	uint64_t hint_us, prepare_us, iters, seed, warmup, max_seconds;
	uint64_t die_after_us, die_signal, copy_bytes;
	bool segment, calibrate, control;
};

static struct lc_opts opt = {
	.arrivals = "periodic",
	.end = "last",
	.period_us = 5000,
	.kernels = 5,
	.kernel_us = 110,
	.requests = 2000,
	.seed = 1,
	.warmup = 20,
	.die_signal = SIGKILL,
};

static const struct gp_opt opts[] = {
	{ .name = "out",
	  .text = opt.out,
	  .text_len = sizeof(opt.out),
	  .help = "file for the samples: intended, start, end (ns), kind and time of the call "
		  "inside (ns)" },
	{ .name = "inside",
	  .text = opt.inside,
	  .text_len = sizeof(opt.inside),
	  .help = "in the middle of each request make one of these calls, at random: "
		  "sync,free,alloc,module,attribute,fork,context" },
	{ .name = "period-us",
	  .number = &opt.period_us,
	  .help = "mean time between requests (5000)" },
	{ .name = "arrivals",
	  .text = opt.arrivals,
	  .text_len = sizeof(opt.arrivals),
	  .help = GP_ARRIVALS_NAMES ", a period apart on average (periodic)" },
	{ .name = "kernels", .number = &opt.kernels, .help = "kernels in a request (5)" },
	{ .name = "kernel-us", .number = &opt.kernel_us, .help = "length of each kernel (110)" },
	{ .name = "copy-bytes",
	  .number = &opt.copy_bytes,
	  .help = "copied in before the kernels and out after them, a multiple of 8 (0)" },
	{ .name = "end",
	  .text = opt.end,
	  .text_len = sizeof(opt.end),
	  .help = "wait for the last kernel, for each one, or by a copy out: last, each or copy "
		  "(last)" },
	{ .name = "gap-us", .number = &opt.gap_us, .help = "CPU time between two launches (0)" },
	{ .name = "requests", .number = &opt.requests, .help = "number of requests (2000)" },
	{ .name = "warmup", .number = &opt.warmup, .help = "requests not counted, first (20)" },
	{ .name = "hint-us",
	  .number = &opt.hint_us,
	  .help = "time from a hint to its work (0: no hints)" },
	{ .name = "prepare-us",
	  .number = &opt.prepare_us,
	  .help = "CPU time between a request's arrival and its work (0)" },
	{ .name = "iters",
	  .number = &opt.iters,
	  .help = "iterations of a kernel, from --calibrate" },
	{ .name = "seed", .number = &opt.seed, .help = "seed of the random numbers (1)" },
	{ .name = "max-seconds", .number = &opt.max_seconds, .help = "time limit (0: none)" },
	{ .name = "die-after-us",
	  .number = &opt.die_after_us,
	  .help = "raise --die-signal this long after the first request" },
	{ .name = "die-signal", .number = &opt.die_signal, .help = "(9)" },
	{ .name = "segment", .flag = &opt.segment, .help = "declare each request as a segment" },
	{ .name = "calibrate",
	  .flag = &opt.calibrate,
	  .help = "print the iterations that --kernel-us takes here, and end" },
	{ .name = "control",
	  .flag = &opt.control,
	  .help = "each line on stdin is the options of one run" },
};
#define OPTS (sizeof(opts) / sizeof(*opts))

enum inside {
	SYNC,
	FREE,
	ALLOC,
	MODULE,
	ATTRIBUTE,
	FORK,
	CONTEXT,
	INSIDES
};
static const char *const inside_names[INSIDES] = {
	"sync", "free", "alloc", "module", "attribute", "fork", "context",
};

struct sample {
	uint64_t intended_ns, start_ns, end_ns;
	uint64_t inside_ns; /* time of the work inside */
	const char *kind;
};

struct lc {
	struct gp_bench_gpu gpu;
	struct gp_work work;
	struct gp_roundtrip trip;
	struct gp_bench_client client;
	struct sample *sample;
	struct gp_arrivals arrivals;
	uint64_t random; /* of the work inside requests */
	uint64_t spare;	 /* memory for FREE, else 0 */
	void *module;	 /* of MODULE, unloaded between requests */
	void *context;	 /* of CONTEXT, likewise */
	int choice[INSIDES], choices;
};

static uint64_t next_random(struct lc *lc)
{
	lc->random = lc->random * 6364136223846793005u + 1442695040888963407u;
	return lc->random >> 33;
}

/*
 * The intended time of the next request. A closed loop leaves time for the hint before it.
 */
static uint64_t next_ns(struct lc *lc, uint64_t last_ns)
{
	const uint64_t lead_ns = (opt.hint_us + opt.prepare_us) * 1000;

	return gp_arrivals_next_ns(&lc->arrivals, last_ns, gp_clock_now_ns() + lead_ns);
}

static void parse_inside(struct lc *lc)
{
	char text[sizeof(opt.inside)];
	char *save = NULL;

	strcpy(text, opt.inside);
	lc->choices = 0;
	for (char *w = strtok_r(text, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		int i = 0;

		while (i < INSIDES && strcmp(w, inside_names[i]))
			i++;
		if (i == INSIDES || lc->choices == INSIDES) {
			fprintf(stderr, "lc: --inside=%s: unknown or too many\n", w);
			exit(2);
		}
		lc->choice[lc->choices++] = i;
	}
}

static enum inside choose(struct lc *lc)
{
	int pick = lc->choice[next_random(lc) % (uint64_t)lc->choices];

	if (pick == CONTEXT && lc->choices > 1 && next_random(lc) % CONTEXT_ONE_IN)
		pick = lc->choice[0];
	return (enum inside)pick;
}

static void fork_child(void)
{
	const pid_t child = fork();

	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* Load the module again and launch from it, as a lazily loading app does. */
static void load_module(struct lc *lc)
{
	uint32_t mul = GP_KERNEL_MUL, iters = 0;
	uint64_t none = 0;
	void *params[] = { &lc->work.buf, &none, &mul, &iters };
	void *fn;

	GP_CU(cuModuleLoadData(&lc->module, gp_kernels_ptx));
	GP_CU(cuModuleGetFunction(&fn, lc->module, "gp_work"));
	GP_CU(cuLaunchKernel(fn, 1, 1, 1, GP_KERNEL_THREADS, 1, 1, 0, lc->work.stream, params,
			     NULL));
}

static void do_inside(struct lc *lc, enum inside what)
{
	int value;

	switch (what) {
	case SYNC:
		GP_CU(cuCtxSynchronize());
		break;
	case FREE:
		GP_CU(cuMemFree_v2(lc->spare));
		lc->spare = 0;
		break;
	case ALLOC:
		GP_CU(cuMemAlloc_v2(&lc->spare, ALLOC_BYTES));
		break;
	case MODULE:
		load_module(lc);
		break;
	case ATTRIBUTE:
		GP_CU(cuFuncGetAttribute(&value, GP_CU_FUNCTION_THREADS_MAX, lc->work.shape.fn));
		break;
	case FORK:
		fork_child();
		break;
	case CONTEXT:
		GP_CU(cuCtxCreate_v2(&lc->context, 0, lc->gpu.dev));
		GP_CU(cuCtxPopCurrent_v2(NULL));
		break;
	case INSIDES:
		break;
	}
}

/* Between requests: undo the last one's inside call, and prepare the next one's. */
static void tidy(struct lc *lc, enum inside next)
{
	if (lc->module)
		GP_CU(cuModuleUnload(lc->module));
	if (lc->context)
		GP_CU(cuCtxDestroy_v2(lc->context));
	lc->module = lc->context = NULL;
	if (next == FREE && !lc->spare)
		GP_CU(cuMemAlloc_v2(&lc->spare, ALLOC_BYTES));
	if (next != FREE && lc->spare) {
		GP_CU(cuMemFree_v2(lc->spare));
		lc->spare = 0;
	}
}

static void hint(struct lc *lc, uint64_t work_ns)
{
	uint64_t now_ns;

	if (!opt.hint_us)
		return;
	if (opt.hint_us * 1000 < work_ns)
		gp_clock_sleep_until(work_ns - opt.hint_us * 1000);
	now_ns = gp_clock_now_ns();
	gp_bench_client_check(lc->client.hint(lc->client.handle,
					      work_ns > now_ns ? work_ns - now_ns : 0),
			      "gp_hint");
}

/* To memory that CUDA does not know: the call waits for the kernels. */
static void copy_result(const struct lc *lc)
{
	uint64_t word;

	GP_CU(cuMemcpyDtoHAsync_v2(&word, lc->work.buf, sizeof(word), lc->work.stream));
}

/* Return: ns of the call inside the request. */
static uint64_t launch_all(struct lc *lc, enum inside inside)
{
	uint64_t inside_ns = 0;

	gp_roundtrip_in(&lc->trip);
	for (uint64_t k = 0; k < opt.kernels; k++) {
		if (k && opt.gap_us)
			gp_clock_busy_until(gp_clock_now_ns() + opt.gap_us * 1000);
		if (k == opt.kernels / 2 && inside != INSIDES) {
			const uint64_t began_ns = gp_clock_now_ns();

			do_inside(lc, inside);
			inside_ns = gp_clock_now_ns() - began_ns;
		}
		gp_work_launch(&lc->work);
		if (!strcmp(opt.end, "each"))
			GP_CU(cuStreamSynchronize(lc->work.stream));
	}
	gp_roundtrip_out(&lc->trip);
	if (!strcmp(opt.end, "copy"))
		copy_result(lc);
	return inside_ns;
}

/* One request, intended for @sample->intended_ns. */
static void request(struct lc *lc, struct sample *sample, enum inside inside)
{
	const uint64_t work_ns = sample->intended_ns;

	/* Otherwise the hint comes with the request. */
	if (opt.hint_us > opt.prepare_us)
		hint(lc, work_ns);
	gp_clock_sleep_until(work_ns - opt.prepare_us * 1000);
	if (opt.hint_us <= opt.prepare_us)
		hint(lc, work_ns);
	if (opt.prepare_us)
		gp_clock_busy_until(work_ns);
	sample->start_ns = gp_clock_now_ns();
	if (opt.segment)
		gp_bench_client_check(lc->client.segment_begin(lc->client.handle),
				      "gp_segment_begin");
	sample->inside_ns = launch_all(lc, inside);
	GP_CU(cuStreamSynchronize(lc->work.stream));
	sample->end_ns = gp_clock_now_ns();
	if (opt.segment)
		gp_bench_client_check(lc->client.segment_end(lc->client.handle), "gp_segment_end");
	sample->kind = inside < INSIDES ? inside_names[inside] : "-";
}

static void write_samples(const struct sample *sample, size_t count)
{
	FILE *out;

	if (!opt.out[0])
		return;
	out = fopen(opt.out, "we");
	if (!out) {
		fprintf(stderr, "lc: %s: %s\n", opt.out, strerror(errno));
		exit(1);
	}
	fprintf(out, "# intended_ns start_ns end_ns inside inside_ns\n");
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%llu %llu %llu %s %llu\n", (unsigned long long)sample[i].intended_ns,
			(unsigned long long)sample[i].start_ns,
			(unsigned long long)sample[i].end_ns, sample[i].kind,
			(unsigned long long)sample[i].inside_ns);
	fclose(out);
}

static void print_stats(const struct lc *lc)
{
	struct gp_stats stats = { .size = sizeof(stats) };

	if (!lc->client.handle || lc->client.stats_get(lc->client.handle, &stats))
		return;
	printf(" holds=%llu holds_late=%llu holds_expired=%llu syncs_cut=%llu "
	       "switch_ns=%llu",
	       (unsigned long long)stats.holds, (unsigned long long)stats.holds_late,
	       (unsigned long long)stats.holds_expired, (unsigned long long)stats.syncs_cut,
	       (unsigned long long)stats.switch_ns);
}

static void report(const struct lc *lc, size_t count, bool right)
{
	uint64_t *value = malloc((count + 1) * sizeof(*value));

	if (!value)
		exit(1);
	for (size_t i = 0; i < count; i++)
		value[i] = lc->sample[i].end_ns - lc->sample[i].intended_ns;
	gp_samples_sort(value, count);
	printf("lc requests=%zu p50_ns=%llu p90_ns=%llu p99_ns=%llu "
	       "max_ns=%llu",
	       count, (unsigned long long)gp_samples_rank(value, count, 500),
	       (unsigned long long)gp_samples_rank(value, count, 900),
	       (unsigned long long)gp_samples_rank(value, count, 990),
	       (unsigned long long)gp_samples_rank(value, count, 1000));
	for (size_t i = 0; i < count; i++)
		value[i] = lc->sample[i].end_ns - lc->sample[i].start_ns;
	gp_samples_sort(value, count);
	printf(" service_p50_ns=%llu result=%s",
	       (unsigned long long)gp_samples_rank(value, count, 500), right ? "right" : "WRONG");
	print_stats(lc);
	putchar('\n');
	fflush(stdout);
	free(value);
}

static size_t run_requests(struct lc *lc)
{
	const uint64_t period_ns = opt.period_us * 1000;
	const uint64_t lead_ns = (opt.hint_us + opt.prepare_us) * 1000;
	const uint64_t first_ns = gp_clock_now_ns() + period_ns + lead_ns;
	const uint64_t all = opt.warmup + opt.requests;
	uint64_t last_ns = first_ns - period_ns, i;

	if (opt.die_after_us)
		gp_bench_die_at(first_ns + opt.die_after_us * 1000, (int)opt.die_signal);
	for (i = 0; i < all; i++) {
		const enum inside inside = lc->choices ? choose(lc) : INSIDES;
		struct sample *sample = &lc->sample[i];

		tidy(lc, inside);
		sample->intended_ns = next_ns(lc, last_ns);
		last_ns = sample->intended_ns;
		request(lc, sample, inside);
		if (opt.max_seconds && sample->end_ns > first_ns + opt.max_seconds * 1000000000u) {
			i++;
			break;
		}
	}
	tidy(lc, INSIDES);
	return i;
}

/* Return: the result was right. The next run starts with a fresh buffer. */
static bool run(struct lc *lc)
{
	const size_t warmup = opt.warmup;
	struct sample *all;
	size_t count;
	bool right;

	if (gp_arrivals_parse(opt.arrivals, (double)opt.period_us * 1000, opt.seed, 1,
			      &lc->arrivals)) {
		fprintf(stderr,
			"lc: --arrivals=%s: write " GP_ARRIVALS_NAMES
			"; SIGMA is above 0 and at most 3\n",
			opt.arrivals);
		exit(2);
	}
	if (strcmp(opt.end, "last") && strcmp(opt.end, "each") && strcmp(opt.end, "copy")) {
		fprintf(stderr, "lc: --end=%s: last, each or copy\n", opt.end);
		exit(2);
	}
	if ((opt.hint_us || opt.segment) && !lc->client.handle)
		gp_bench_client_open(&lc->client);
	parse_inside(lc);
	lc->random = opt.seed;
	all = calloc(warmup + opt.requests, sizeof(*all));
	if (!all) {
		fprintf(stderr, "lc: --requests: no memory for so many\n");
		exit(1);
	}
	lc->sample = all;
	count = run_requests(lc);
	count = count > warmup ? count - warmup : 0;
	lc->sample = all + warmup;
	write_samples(lc->sample, count);
	right = gp_work_check(&lc->work, NULL) && gp_roundtrip_check(&lc->trip);
	gp_work_reset(&lc->work);
	report(lc, count, right);
	free(all);
	return right;
}

/* Each line has options of one run, in addition to the command line's. */
static bool control(struct lc *lc)
{
	const struct lc_opts base = opt;
	char line[LINE];
	bool right = true;

	while (gp_clock_wait_readable(0) && fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "quit\n"))
			break;
		opt = base;
		gp_opts_parse_line(opts, OPTS, line);
		if (opt.iters)
			lc->work.iters = (uint32_t)opt.iters;
		right = run(lc) && right;
	}
	return right;
}

int main(int argc, char **argv)
{
	struct lc lc = { 0 };
	void *stream;
	bool right;

	gp_opts_parse(opts, OPTS, argc, argv);
	setvbuf(stdin, NULL, _IONBF, 0); /* poll() sees all there is */
	gp_bench_gpu_open(&lc.gpu, GP_CU_CTX_SCHED_SPIN);
	GP_CU(cuStreamCreate(&stream, GP_CU_STREAM_NON_BLOCKING));
	gp_work_open(&lc.work, &lc.gpu, GP_WORK_PLAIN, LC_BLOCKS, stream);
	gp_roundtrip_open(&lc.trip, opt.copy_bytes & ~7ull, stream);
	if (opt.iters)
		lc.work.iters = (uint32_t)opt.iters;
	else
		gp_work_calibrate(&lc.work, opt.kernel_us * 1000);
	if (opt.calibrate) {
		printf("lc iters=%u kernel_ns=%llu device=%s\n", lc.work.iters,
		       (unsigned long long)gp_work_measure(&lc.work, 40), lc.gpu.name);
		return 0;
	}
	printf("ready pid=%d iters=%u\n", (int)getpid(), lc.work.iters);
	fflush(stdout);
	right = opt.control ? control(&lc) : run(&lc);
	if (lc.client.handle)
		lc.client.close(lc.client.handle);
	return right ? 0 : 1;
}
