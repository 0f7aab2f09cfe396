// SPDX-License-Identifier: Apache-2.0
/*
 * Best effort gives way on a stock KFD: under gpreempt run it suspends its own queues while LC is
 * in a segment.
 *	t_yield			LC beside three BE processes, of which one resumes its queues all
 *				the time as ROCr does, one is stopped, and one is killed
 *	t_yield hws [QUEUES]	LC beside four BE processes under the firmware's scheduler
 *	t_yield mes		the same under MES: refused, a soak that fails, one that passes, LC
 *	t_yield pause		the same of processes without gpreempt, by gpreempt attach --pause
 *	t_yield refused		without CWSR, gpreempt run refuses
 *	t_yield be FILE QUEUES AHEAD EVERY PAUSE
 *				keep QUEUES queues busy with AHEAD packets each. Each EVERY-th
 *				round resumes one of them. PAUSE us at most between two rounds.
 *				SIGTERM: check all results
 *	t_yield lc FILE		obey the words of FILE
 *
 * Without HWS the stock driver does not flush the TLB when a VMID gets a new owner. So no
 * process starts after another one's end there.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"
#include "run.h"

#define SELF "/t/t_yield"
#define LC_FILE "/tmp/t_yield.lc"
#define CYCLES 1000
#define KILLED_AFTER 50
#define STOPPED_CYCLES 5
#define QUEUES_MAX 4
#define RING_PACKETS 64
#define AHEAD 12
#define ITEMS 256
#define HEAVY 3
#define FAR (1ll << 40)
#define MS_NS 1000000ull
#define TIMEOUT_MS 60000
#define LOOK_NS 300000
#define LOOKS_US "600" /* two of these */
#define FORK_EVERY 64
#define BEGINS 1000
#define HWS_BE 4
#define HWS_PAUSE_NS (40 * MS_NS) /* all queues are on again */
/* What LC waits for a tenant that does not answer, and its own time until then. */
#define ANSWER_NS (20 * MS_NS)
#define SLACK_NS (10 * MS_NS)
/* A segment so close to its hold's limit shows nothing. */
#define NEAR_NS (4 * MS_NS)

static struct kfd k;

/* ---- best effort ------------------------------------------------------------------ */

/* Words of a BE process's file */
enum {
	BE_LAUNCHED,
	BE_UPDATES,
	BE_PID
};

struct lane {
	struct kfd_queue q;
	struct kfd_work w;
	struct kfd_signal *sig;
	uint32_t sent;
};

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	stop = 1;
}

static void open_lane(struct lane *l)
{
	must(kfd_queue_create(&k, 0, RING_PACKETS, &l->q), "queue");
	must(kfd_work_create(&k, 0, ITEMS, HEAVY, &l->w), "work");
	l->sig = kfd_signal_create(&k, FAR, false);
}

static void feed(struct lane *l, unsigned int ahead)
{
	while (RING_PACKETS - kfd_queue_room(&l->q) < ahead) {
		must(kfd_work_launch(&l->w, &l->q, rng() % WORK_VARIANTS, l->sig), "launch");
		l->sent++;
	}
}

/* A child has no part in its parent's holds. */
static void fork_once(void)
{
	pid_t pid = fork();

	if (!pid)
		exit(0);
	waitpid(pid, NULL, 0);
}

static int be(const char *path, unsigned int queues, unsigned int ahead, unsigned int every,
	      uint64_t pause_ns)
{
	static struct lane lane[QUEUES_MAX];
	volatile uint64_t *word = run_map_count(path);
	uint32_t sent = 0, wrong = 0, unfinished = 0;

	word[BE_PID] = (uint64_t)getpid();
	signal(SIGTERM, on_term);
	rng_start((uint64_t)getpid());
	must(kfd_setup(&k), "set up");
	for (unsigned int i = 0; i < queues; i++)
		open_lane(&lane[i]);
	for (unsigned int n = 0; !stop; n++) {
		for (unsigned int i = 0; i < queues; i++)
			feed(&lane[i], ahead);
		word[BE_LAUNCHED] = lane[0].sent;
		/* As ROCr's AqlQueue::Resume() and SetPriority(). */
		if (n % every == 0) {
			must(kfd_queue_update(&lane[rng() % queues].q, 100), "update");
			word[BE_UPDATES]++;
		}
		if (n % FORK_EVERY == FORK_EVERY - 1)
			fork_once();
		sleep_ns(rng() % pause_ns);
	}
	for (unsigned int i = 0; i < queues; i++) {
		struct lane *l = &lane[i];

		unfinished += kfd_signal_wait(&k, l->sig, FAR - (int64_t)l->sent + 1, TIMEOUT_MS) !=
			      0;
		wrong += kfd_work_wrong(&l->w);
		sent += l->sent;
	}
	printf("be: packets=%u updates=%llu unfinished=%u wrong=%u\n", sent,
	       (unsigned long long)word[BE_UPDATES], unfinished, wrong);
	return unfinished || wrong;
}

struct be {
	const char *file;
	char *queues, *ahead, *every, *pause;
	volatile uint64_t *word;
	struct run_program program;
};

static struct be resuming = {
	.file = "/tmp/t_yield.1",
	.queues = "4",
	.ahead = "12",
	.every = "1",
	.pause = LOOKS_US,
};
static struct be stopped = {
	.file = "/tmp/t_yield.2",
	.queues = "1",
	.ahead = "12",
	.every = "1",
	.pause = LOOKS_US,
};
static struct be killed = {
	.file = "/tmp/t_yield.3",
	.queues = "2",
	.ahead = "12",
	.every = "1",
	.pause = LOOKS_US,
};

static void start_be(struct be *b)
{
	b->word = run_make_count(b->file);
	b->program = SPAWN("/t/gpreempt", "run", "--class=be", "--", SELF, "be", (char *)b->file,
			   b->queues, b->ahead, b->every, b->pause);
	for (int i = 0; i < TIMEOUT_MS && !b->word[BE_UPDATES]; i++)
		sleep_ns(MS_NS);
	ok(b->word[BE_UPDATES] > 0, "best effort with %s queues runs", b->queues);
}

/* It launches only if its packets complete. That takes some tenths of a second; the bound is
 * generous, as the processes of the test share one CPU.
 */
static bool goes_on(const struct be *b)
{
	uint64_t before = b->word[BE_LAUNCHED];

	for (int i = 0; i < 10000; i++) {
		if (b->word[BE_LAUNCHED] > before + AHEAD)
			return true;
		sleep_ns(MS_NS);
	}
	return false;
}

/* ---- LC ---------------------------------------------------------------------------- */

/* Words of LC's file: the first two count. */
enum {
	LC_ASKED,
	LC_DONE,
	LC_CYCLES,   /* of the request */
	LC_STAY,     /* of the request: stay in the last segment */
	LC_PAUSE_NS, /* of the request: at least so long between two segments */
	LC_AT,	     /* cycles so far */
	LC_MOVED,    /* segments in which the GPU executed instructions */
	LC_LATE,     /* not counted there: the hold may have ended by then */
	LC_ERRORS,
	LC_LONGEST_NS, /* the longest begin */
	LC_MEDIAN_NS,  /* the median */
	LC_UNMAPS,     /* of all queues by HWS, during the median begin */
	LC_WORDS
};

/* The calls of gpreempt.h that a segment needs. */
static struct {
	void *handle;
	int (*begin)(void *handle);
	int (*end)(void *handle);
} gp;

static void gp_start(void)
{
	void *lib = dlopen("libgpreempt.so.0", RTLD_NOW);
	int (*open)(const void *opts, void **handle);

	if (!lib)
		bail("%s", dlerror());
	*(void **)&open = dlsym(lib, "gp_open");
	*(void **)&gp.begin = dlsym(lib, "gp_segment_begin");
	*(void **)&gp.end = dlsym(lib, "gp_segment_end");
	must(open(NULL, &gp.handle), "gp_open");
}

struct lc {
	struct kfd_queue q;
	struct kfd_signal *sig;
	struct kfd_launch nop;
	int64_t launched;
	uint64_t begin_ns[BEGINS], unmaps[BEGINS];
	unsigned int begins;
};

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t median(uint64_t *ns, unsigned int num)
{
	qsort(ns, num, sizeof(*ns), by_size);
	return num ? ns[num / 2] : 0;
}

static void cycle(struct lc *lc, volatile uint64_t *word, bool stay)
{
	const uint64_t unmaps = simgpu_counter(0, "hws_unmaps"), start_ns = now_ns();
	uint64_t before, took;
	bool moved;

	word[LC_ERRORS] += gp.begin(gp.handle) != 0;
	took = now_ns() - start_ns;
	if (lc->begins < BEGINS) {
		lc->begin_ns[lc->begins] = took;
		lc->unmaps[lc->begins++] = simgpu_counter(0, "hws_unmaps") - unmaps;
	}
	if (took > word[LC_LONGEST_NS])
		word[LC_LONGEST_NS] = took;
	before = simgpu_counter(0, "instructions");
	sleep_ns(LOOK_NS);
	moved = simgpu_counter(0, "instructions") != before;
	/* The tenant that yielded first resumes after 20 ms, the limit of a segment's hold. */
	if (now_ns() - start_ns >= ANSWER_NS - NEAR_NS)
		word[LC_LATE]++;
	else
		word[LC_MOVED] += moved;
	lc->launched++;
	word[LC_ERRORS] += kfd_launch(&lc->q, &lc->nop) != 0;
	word[LC_ERRORS] += kfd_signal_wait(&k, lc->sig, FAR - lc->launched + 1, TIMEOUT_MS) != 0;
	if (!stay)
		word[LC_ERRORS] += gp.end(gp.handle) != 0;
	word[LC_AT]++;
	sleep_ns(word[LC_PAUSE_NS] + rng() % (4 * LOOK_NS));
}

static int lc(const char *path)
{
	volatile uint64_t *word = run_map_count(path);
	static struct lc lc = { .nop = { .grid = { 64 }, .workgroup = { 64 } } };
	struct kfd_code code;

	rng_start(1);
	must(kfd_setup(&k), "set up");
	must(kfd_code_load(&k, 0, KFD_MEM_VRAM, &code), "code");
	must(kfd_queue_create(&k, 0, 64, &lc.q), "queue");
	lc.sig = kfd_signal_create(&k, FAR, false);
	lc.nop.kernel = kfd_code_find(&code, "k_nop");
	lc.nop.signal = lc.sig;
	gp_start();
	for (;;) {
		while (word[LC_ASKED] == word[LC_DONE])
			sleep_ns(MS_NS);
		lc.begins = 0;
		for (uint64_t i = 0; i < word[LC_CYCLES]; i++)
			cycle(&lc, word, word[LC_STAY] && i + 1 == word[LC_CYCLES]);
		word[LC_MEDIAN_NS] = median(lc.begin_ns, lc.begins);
		word[LC_UNMAPS] = median(lc.unmaps, lc.begins);
		word[LC_DONE]++;
	}
}

static volatile uint64_t *lc_word;
static struct run_program lc_program;

static void ask(uint64_t cycles, bool stay)
{
	lc_word[LC_CYCLES] = cycles;
	lc_word[LC_STAY] = stay;
	for (int i = LC_AT; i < LC_WORDS; i++)
		lc_word[i] = 0;
	lc_word[LC_ASKED]++;
}

static bool answered(void)
{
	for (int i = 0; i < 4 * TIMEOUT_MS && lc_word[LC_ASKED] != lc_word[LC_DONE]; i++)
		sleep_ns(MS_NS);
	return lc_word[LC_ASKED] == lc_word[LC_DONE];
}

/* ---- the tests ------------------------------------------------------------------------ */

/*
 * @dies: of a process that dies waves run on until the driver has removed its queues. On a busy
 * machine that takes longer than a segment, and each segment counts once.
 */
static void check_segments(const char *what, bool dies)
{
	ok(answered() && !lc_word[LC_ERRORS], "%llu segments %s",
	   (unsigned long long)lc_word[LC_AT], what);
	ok(lc_word[LC_MOVED] <= (dies ? 3 : 0), "no wave ran in any of them beside LC (%llu)",
	   (unsigned long long)lc_word[LC_MOVED]);
	ok_time(lc_word[LC_LATE] * 10 <= lc_word[LC_AT],
		"of which %llu came near the limit of 20 ms", (unsigned long long)lc_word[LC_LATE]);
}

static void check_cycles(void)
{
	const uint64_t midwave = simgpu_counter(0, "saves_midwave");
	const uint64_t saves = simgpu_counter(0, "saves"), updates = resuming.word[BE_UPDATES];

	ask(scaled(CYCLES), false);
	check_segments("beside seven queues of best effort", false);
	figure("%llu segments, %llu near the limit: %llu saves, %llu in mid-wave; a begin "
	       "took %llu us at most; best effort resumed its queues %llu times meanwhile",
	       (unsigned long long)lc_word[LC_AT], (unsigned long long)lc_word[LC_LATE],
	       (unsigned long long)(simgpu_counter(0, "saves") - saves),
	       (unsigned long long)(simgpu_counter(0, "saves_midwave") - midwave),
	       (unsigned long long)lc_word[LC_LONGEST_NS] / 1000,
	       (unsigned long long)(resuming.word[BE_UPDATES] - updates));
	ok(simgpu_counter(0, "saves_midwave") - midwave >= lc_word[LC_AT],
	   "they cut best effort in mid-wave");
	ok(resuming.word[BE_UPDATES] > updates, "which resumed its queues meanwhile");
}

/* Does the GPU execute nothing for a moment, within 0.1 s? Best effort has work all the time. */
static bool stands_still(void)
{
	const uint64_t end_ns = now_ns() + 100 * MS_NS;
	uint64_t before;

	while (now_ns() < end_ns) {
		before = simgpu_counter(0, "instructions");
		sleep_ns(LOOK_NS);
		if (simgpu_counter(0, "instructions") == before)
			return true;
	}
	return false;
}

static void check_commands(void)
{
	bool still = false;
	int err = 0;

	is_err(RUN("/t/gpreempt", "ls"), 0, "gpreempt ls");
	SAYS("be:100");
	SAYS("t_yield");
	is_err(RUN("/t/gpreempt", "set", "-p", run_text(stopped.program.pid), "--class=be:50"), 0,
	       "gpreempt set");
	is_err(RUN("/t/gpreempt", "ls"), 0, "gpreempt ls");
	SAYS("be:50");
	is_err(RUN("/t/gpreempt", "why", run_text(stopped.program.pid)), 125, "gpreempt why");
	SAYS("gpreemptd");
	/* Its hold may end before a busy machine has all of best effort off. */
	for (int i = 0; i < 30 && !still; i++) {
		err = RUN("/t/gpreempt", "hint", run_text(lc_program.pid), "--in=30ms");
		still = !err && stands_still();
	}
	is_err(err, 0, "gpreempt hint");
	ok(still, "a hint takes best effort off");
	ok(goes_on(&resuming) && goes_on(&stopped), "for a while");
}

/* Its queues run on, and LC does not wait longer for that. */
static void check_stopped(void)
{
	kill(stopped.program.pid, SIGSTOP);
	ask(STOPPED_CYCLES, false);
	ok(answered() && !lc_word[LC_ERRORS], "segments beside a stopped process");
	figure("a begin beside it took %llu us at most",
	       (unsigned long long)lc_word[LC_LONGEST_NS] / 1000);
	ok_time(lc_word[LC_LONGEST_NS] <= ANSWER_NS + SLACK_NS, "a begin waits 20 ms at most");
	kill(stopped.program.pid, SIGCONT);
	ok(goes_on(&stopped), "it goes on");
}

static void check_killed(void)
{
	int status;

	ask(scaled(CYCLES) / 4 + 2 * KILLED_AFTER, false);
	while (lc_word[LC_AT] < KILLED_AFTER)
		sleep_ns(MS_NS);
	kill(killed.program.pid, SIGKILL);
	waitpid(killed.program.pid, &status, 0);
	check_segments("while a process is killed", true);
	ok(goes_on(&resuming), "the others go on");
}

static void check_holder_killed(void)
{
	ask(1, true);
	ok(answered() && !lc_word[LC_ERRORS], "LC is in a segment");
	kill(lc_program.pid, SIGKILL);
	waitpid(lc_program.pid, NULL, 0);
	ok(goes_on(&resuming) && goes_on(&stopped), "its death resumes best effort");
}

static void check_result(const struct be *b)
{
	struct run_program p = b->program;
	int status;

	kill(p.pid, SIGTERM);
	ok(run_reads(&p, "unfinished=0 wrong=0"), "%s queues: each packet ran once, exactly",
	   b->queues);
	waitpid(p.pid, &status, 0);
	is_err(status, 0, "and it ended well");
}

static void all(void)
{
	start_be(&resuming);
	start_be(&stopped);
	start_be(&killed);
	lc_word = run_make_count(LC_FILE);
	lc_program = SPAWN("/t/gpreempt", "run", "--class=lc", "--", SELF, "lc", LC_FILE);
	check_cycles();
	check_commands();
	check_stopped();
	check_killed();
	check_holder_killed();
	check_result(&resuming);
	check_result(&stopped);
}

/* ---- processes without gpreempt ------------------------------------------------------- */

static void start_alone(struct be *b)
{
	b->word = run_make_count(b->file);
	b->program = SPAWN(SELF, "be", (char *)b->file, b->queues, b->ahead, b->every, b->pause);
	for (int i = 0; i < TIMEOUT_MS && !b->word[BE_UPDATES]; i++)
		sleep_ns(MS_NS);
	ok(b->word[BE_UPDATES] > 0, "a process with %s queues runs", b->queues);
}

static struct run_program attach(const struct be *b)
{
	struct run_program p =
		SPAWN("/t/gpreempt", "attach", "--class=be", "--pause", run_text(b->program.pid));

	ok(run_reads(&p, "pauses of at most 20 ms"), "gpreempt attach --pause");
	return p;
}

static void check_attached(const struct be *b)
{
	is_err(RUN("/t/gpreempt", "ls"), 0, "gpreempt ls");
	SAYS("be:100");
	is_err(RUN("/t/gpreempt", "attach", "--class=be", "--pause", run_text(b->program.pid)), 125,
	       "a second one");
	SAYS("paused by another attach");
	is_err(RUN("/t/gpreempt", "attach", "--class=be", "--pause=2s", "1"), 125, "a long pause");
	SAYS("from 1ms to 1s");
	is_err(RUN("/bin/su", "user", "-s", "/bin/sh", "-c",
		   "/t/gpreempt attach --class=be --pause 1"),
	       125, "an ordinary user");
}

/* gpreempt attach dies in the middle of a pause: its keeper ends it. */
static void check_pauser_killed(struct run_program *p)
{
	ask(1, true);
	ok(answered() && !lc_word[LC_ERRORS], "LC is in a segment");
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	ok(goes_on(&resuming), "the death of attach resumes the process");
}

static void pauses(void)
{
	struct run_program first, second;
	int status;

	start_alone(&resuming);
	start_alone(&killed);
	lc_word = run_make_count(LC_FILE);
	lc_program = SPAWN("/t/gpreempt", "run", "--class=lc", "--", SELF, "lc", LC_FILE);
	first = attach(&resuming);
	second = attach(&killed);
	check_attached(&resuming);
	check_cycles();
	check_killed();
	waitpid(second.pid, &status, 0);
	is_err(status, 0, "the end of its process ends attach");
	check_pauser_killed(&first);
	kill(lc_program.pid, SIGKILL);
	waitpid(lc_program.pid, NULL, 0);
	first = attach(&resuming);
	kill(first.pid, SIGTERM);
	waitpid(first.pid, &status, 0);
	is_err(status, 0, "a signal ends attach");
	ok(goes_on(&resuming), "and the process goes on");
	check_result(&resuming);
}

/* ---- under HWS -------------------------------------------------------------------------- */

/*
 * Each update of a queue unmaps all queues that are left. LC waits for one unmap for each of
 * best effort's queues. So the time grows with the square of their number.
 */
static void check_wait(unsigned int queues)
{
	lc_word[LC_PAUSE_NS] = HWS_PAUSE_NS;
	ask(scaled(CYCLES), false);
	ok(answered() && !lc_word[LC_ERRORS] && !lc_word[LC_MOVED],
	   "%llu segments, no wave ran in any of them beside LC (%llu)",
	   (unsigned long long)lc_word[LC_AT], (unsigned long long)lc_word[LC_MOVED]);
	figure("%u queues of best effort: %llu unmaps and %llu us until LC may run (median); %llu "
	       "of %llu segments came near the limit of 20 ms",
	       queues, (unsigned long long)lc_word[LC_UNMAPS],
	       (unsigned long long)lc_word[LC_MEDIAN_NS] / 1000,
	       (unsigned long long)lc_word[LC_LATE], (unsigned long long)lc_word[LC_AT]);
	ok_time(lc_word[LC_LATE] * 2 <= lc_word[LC_AT], "most segments are early enough to judge");
	ok(lc_word[LC_UNMAPS] > 0 && lc_word[LC_UNMAPS] <= queues,
	   "LC waits for one unmap a queue at most");
}

static void beside(struct be *b, char *queues)
{
	for (unsigned int i = 0; i < HWS_BE; i++) {
		b[i].queues = queues;
		start_be(&b[i]);
	}
	check_wait(HWS_BE * (unsigned int)strtoul(queues, NULL, 10));
	for (unsigned int i = 0; i < HWS_BE; i++)
		check_result(&b[i]);
}

static void hws(char *queues)
{
	struct be b[HWS_BE] = {
		{ .file = "/tmp/t_yield.1", .ahead = "1", .every = "1000", .pause = "20000" },
		{ .file = "/tmp/t_yield.2", .ahead = "1", .every = "1000", .pause = "20000" },
		{ .file = "/tmp/t_yield.3", .ahead = "1", .every = "1000", .pause = "20000" },
		{ .file = "/tmp/t_yield.4", .ahead = "1", .every = "1000", .pause = "20000" },
	};

	lc_word = run_make_count(LC_FILE);
	lc_program = SPAWN("/t/gpreempt", "run", "--class=lc", "--", SELF, "lc", LC_FILE);
	beside(b, "1");
	beside(b, queues);
}

/* ---- under MES -------------------------------------------------------------------------- */

#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define GFX11 "gfx_target_version 110000"
#define MES_COPY "/tmp/t_yield.properties"
#define SOAK_CYCLES "100"
#define SOAK_QUEUES 2
#define MES_BE 3

static char properties[64];

/*
 * MES is on cards of gfx11 and later. The software GPU's waves are those of gfx9, so the card's
 * description alone says gfx11.
 */
static void pretend_gfx11(void)
{
	static char text[8192];
	const char *gfx;
	size_t len = 0;
	FILE *f;

	for (int node = 0; node < 4 && !strstr(text, "gfx_target_version 9"); node++) {
		snprintf(properties, sizeof(properties), NODES "/%d/properties", node);
		f = fopen(properties, "re");
		len = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
		text[len] = 0;
		if (f)
			fclose(f);
	}
	gfx = strstr(text, "gfx_target_version 9");
	f = fopen(MES_COPY, "we");
	must(gfx && f ? 0 : -ENOENT, properties);
	fprintf(f, "%.*s" GFX11 "%s", (int)(gfx - text), text, strchr(gfx, '\n'));
	fclose(f);
	must(mount(MES_COPY, properties, NULL, MS_BIND, NULL) ? -errno : 0, "bind");
}

static bool doctor_says(const char *word)
{
	(void)RUN("/t/gpreempt", "doctor");
	return strstr(run_output, word) != NULL;
}

static void check_not_soaked(const char *when)
{
	is_err(RUN("/t/gpreempt", "run", "--class=be", "--", "/bin/sh", "-c", "exit 7"), 125,
	       "gpreempt run %s", when);
	SAYS("gpreempt doctor --soak");
	ok(doctor_says("scheduler MES (firmware)"), "doctor names the scheduler");
	SAYS("routes: none: the MES firmware may reset the GPU");
}

static uint64_t removes(void)
{
	return simgpu_counter(0, "mes_removes");
}

static struct run_program soak(struct be *b)
{
	b->word = run_make_count(b->file);
	return SPAWN("/t/gpreempt", "doctor", "--soak", "--cycles=" SOAK_CYCLES, "--", SELF, "be",
		     (char *)b->file, b->queues, b->ahead, b->every, b->pause);
}

/* The firmware does not answer in mid-soak: the driver resets the GPU, and there is no mark. */
static void check_soak_fails(struct be *b)
{
	struct run_program p = soak(b);
	int status;

	/* Its own update first: the soak's is to fail. */
	for (int i = 0; i < TIMEOUT_MS && !b->word[BE_UPDATES]; i++)
		sleep_ns(MS_NS);
	must(simgpu_write_u64(0, "engine/faults/ignore", 1), "ignore");
	ok(run_reads(&p, "failed: cycle"), "a soak in which MES does not answer fails");
	/* It would wait for its lost packets. */
	kill((pid_t)b->word[BE_PID], SIGKILL);
	waitpid(p.pid, &status, 0);
	is_err(WEXITSTATUS(status), 125, "its exit status");
	check_not_soaked("after it");
}

static void check_soak_passes(struct be *b)
{
	const uint64_t end = removes() + SOAK_QUEUES * strtoull(SOAK_CYCLES, NULL, 10);
	struct run_program p = soak(b);
	int status;

	for (int i = 0; i < TIMEOUT_MS && removes() < end; i++)
		sleep_ns(MS_NS);
	kill(p.pid, SIGTERM);
	ok(run_reads(&p, "passed   "), "a soak without a fault passes");
	waitpid(p.pid, &status, 0);
	is_err(status, 0, "its exit status");
	ok(doctor_says("soak passed: " SOAK_CYCLES " cycles"), "doctor has its mark");
	SAYS("routes: own queues, for run alone; a switch disturbs no other process");
}

/* LC, a bystander of each switch, is never saved. */
static void check_segments_mes(unsigned int queues)
{
	uint64_t saves = simgpu_counter(0, "saves"), asked = removes();

	lc_word[LC_PAUSE_NS] = HWS_PAUSE_NS;
	ask(scaled(CYCLES), false);
	check_segments("beside best effort", false);
	saves = simgpu_counter(0, "saves") - saves;
	asked = removes() - asked;
	figure("%u queues of best effort: %llu us until LC may run (median); %llu saves of %llu "
	       "removals in %llu segments",
	       queues, (unsigned long long)lc_word[LC_MEDIAN_NS] / 1000, (unsigned long long)saves,
	       (unsigned long long)asked, (unsigned long long)lc_word[LC_AT]);
	ok(saves >= lc_word[LC_AT] && saves <= asked, "each removal saves that queue alone");
}

static void mes(void)
{
	struct be one = {
		.file = "/tmp/t_yield.soak",
		.queues = "2",
		.ahead = "12",
		.every = "1000000",
		.pause = LOOKS_US,
	};
	struct be b[MES_BE] = {
		{ .file = "/tmp/t_yield.1", .ahead = "1", .every = "1000", .pause = "20000" },
		{ .file = "/tmp/t_yield.2", .ahead = "1", .every = "1000", .pause = "20000" },
		{ .file = "/tmp/t_yield.3", .ahead = "1", .every = "1000", .pause = "20000" },
	};

	expect_dmesg(
		"MES does not answer|failed to remove hardware queue|unrecoverable state|"
		"HWS: HQD .* does not answer|Failed to (evict|suspend)|unmap queue failed|reset");
	setenv("XDG_STATE_HOME", "/tmp", 1);
	pretend_gfx11();
	check_not_soaked("before a soak");
	check_soak_fails(&one);
	check_soak_passes(&one);
	lc_word = run_make_count(LC_FILE);
	lc_program = SPAWN("/t/gpreempt", "run", "--class=lc", "--", SELF, "lc", LC_FILE);
	for (unsigned int i = 0; i < MES_BE; i++) {
		b[i].queues = "2";
		start_be(&b[i]);
	}
	check_segments_mes(2 * MES_BE);
	for (unsigned int i = 0; i < MES_BE; i++)
		check_result(&b[i]);
	umount2(properties, MNT_DETACH);
}

static void refused(void)
{
	is_err(RUN("/t/gpreempt", "run", "--class=be", "--", "/bin/sh", "-c", "exit 7"), 125,
	       "gpreempt run without CWSR");
	SAYS("no class has an effect here: amdgpu.cwsr_enable=0");
	is_err(RUN("/t/gpreempt", "doctor"), 1, "gpreempt doctor");
	SAYS("scheduler NO_HWS (the driver), CWSR off");
	SAYS("routes: none: amdgpu.cwsr_enable=0");
}

static unsigned int number(const char *text)
{
	return (unsigned int)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "be") && argc > 6)
		return be(argv[2], number(argv[3]), number(argv[4]), number(argv[5]),
			  number(argv[6]) * 1000ull);
	if (!strcmp(what, "lc") && argc > 2)
		return lc(argv[2]);
	run_find_libraries();
	if (!strcmp(what, "refused"))
		refused();
	else if (!strcmp(what, "pause"))
		pauses();
	else if (!strcmp(what, "hws"))
		hws(argc > 2 ? argv[2] : "4");
	else if (!strcmp(what, "mes"))
		mes();
	else
		all();
	return done();
}
