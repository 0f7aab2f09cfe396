// SPDX-License-Identifier: Apache-2.0
/*
 * Best effort gives way on a stock KFD: under gpreempt run it suspends its own queues while LC is
 * in a segment.
 *	t_yield			LC beside three BE processes, of which one resumes its queues all
 *				the time as ROCr does, one is stopped, and one is killed
 *	t_yield refused		without CWSR, gpreempt run refuses
 *	t_yield be FILE QUEUES	keep QUEUES queues busy until SIGTERM, then check all results
 *	t_yield lc FILE		obey the words of FILE
 *
 * The stock driver does not flush the TLB when a VMID gets a new owner. So no process here
 * starts after another one's end.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#define FORK_EVERY 64
/* What LC waits for a tenant that does not answer, and its own time until then. */
#define ANSWER_NS (20 * MS_NS)
#define SLACK_NS (10 * MS_NS)

static struct kfd k;

/* ---- best effort ------------------------------------------------------------------ */

/* Words of a BE process's file */
enum {
	BE_LAUNCHED,
	BE_UPDATES
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

static void feed(struct lane *l)
{
	while (RING_PACKETS - kfd_queue_room(&l->q) < AHEAD) {
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

static int be(const char *path, unsigned int queues)
{
	static struct lane lane[QUEUES_MAX];
	volatile uint64_t *word = run_map_count(path);
	uint32_t sent = 0, wrong = 0, unfinished = 0;

	signal(SIGTERM, on_term);
	rng_start((uint64_t)getpid());
	must(kfd_setup(&k), "set up");
	for (unsigned int i = 0; i < queues; i++)
		open_lane(&lane[i]);
	for (unsigned int n = 0; !stop; n++) {
		for (unsigned int i = 0; i < queues; i++)
			feed(&lane[i]);
		word[BE_LAUNCHED] = lane[0].sent;
		/* As ROCr's AqlQueue::Resume() and SetPriority(). */
		must(kfd_queue_update(&lane[rng() % queues].q, 100), "update");
		word[BE_UPDATES]++;
		if (n % FORK_EVERY == FORK_EVERY - 1)
			fork_once();
		sleep_ns(rng() % (2 * LOOK_NS));
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
	char *queues;
	volatile uint64_t *word;
	struct run_program program;
};

static struct be resuming = { .file = "/tmp/t_yield.1", .queues = "4" };
static struct be stopped = { .file = "/tmp/t_yield.2", .queues = "1" };
static struct be killed = { .file = "/tmp/t_yield.3", .queues = "2" };

static void start_be(struct be *b)
{
	b->word = run_make_count(b->file);
	b->program = SPAWN("/t/gpreempt", "run", "--class=be", "--", SELF, "be", (char *)b->file,
			   b->queues);
	for (int i = 0; i < TIMEOUT_MS && !b->word[BE_UPDATES]; i++)
		sleep_ns(MS_NS);
	ok(b->word[BE_UPDATES] > 0, "best effort with %s queues runs", b->queues);
}

/* It launches only if its packets complete. */
static bool goes_on(const struct be *b)
{
	uint64_t before = b->word[BE_LAUNCHED];

	for (int i = 0; i < 1000; i++) {
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
	LC_CYCLES, /* of the request */
	LC_STAY,   /* of the request: stay in the last segment */
	LC_AT,	   /* cycles so far */
	LC_MOVED,  /* segments in which the GPU executed instructions */
	LC_LATE,   /* not counted there: best effort did not answer in time */
	LC_ERRORS,
	LC_LONGEST_NS /* the longest begin */
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
};

static void cycle(struct lc *lc, volatile uint64_t *word, bool stay)
{
	uint64_t before, took = now_ns();

	word[LC_ERRORS] += gp.begin(gp.handle) != 0;
	took = now_ns() - took;
	if (took > word[LC_LONGEST_NS])
		word[LC_LONGEST_NS] = took;
	before = simgpu_counter(0, "instructions");
	sleep_ns(LOOK_NS);
	if (took >= ANSWER_NS)
		word[LC_LATE]++;
	else
		word[LC_MOVED] += simgpu_counter(0, "instructions") != before;
	lc->launched++;
	word[LC_ERRORS] += kfd_launch(&lc->q, &lc->nop) != 0;
	word[LC_ERRORS] += kfd_signal_wait(&k, lc->sig, FAR - lc->launched + 1, TIMEOUT_MS) != 0;
	if (!stay)
		word[LC_ERRORS] += gp.end(gp.handle) != 0;
	word[LC_AT]++;
	sleep_ns(rng() % (4 * LOOK_NS));
}

static int lc(const char *path)
{
	volatile uint64_t *word = run_map_count(path);
	struct lc lc = { .nop = { .grid = { 64 }, .workgroup = { 64 } } };
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
		for (uint64_t i = 0; i < word[LC_CYCLES]; i++)
			cycle(&lc, word, word[LC_STAY] && i + 1 == word[LC_CYCLES]);
		word[LC_DONE]++;
	}
}

static volatile uint64_t *lc_word;
static struct run_program lc_program;

static void ask(uint64_t cycles, bool stay)
{
	lc_word[LC_CYCLES] = cycles;
	lc_word[LC_STAY] = stay;
	for (int i = LC_AT; i <= LC_LONGEST_NS; i++)
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

static void check_segments(const char *what)
{
	ok(answered() && !lc_word[LC_ERRORS], "%llu segments %s",
	   (unsigned long long)lc_word[LC_AT], what);
	ok(!lc_word[LC_MOVED], "no wave ran in any of them beside LC (%llu)",
	   (unsigned long long)lc_word[LC_MOVED]);
	ok_time(lc_word[LC_LATE] * 20 <= lc_word[LC_AT], "and %llu waited for 20 ms in vain",
		(unsigned long long)lc_word[LC_LATE]);
}

static void check_cycles(void)
{
	const uint64_t midwave = simgpu_counter(0, "saves_midwave");
	const uint64_t saves = simgpu_counter(0, "saves"), updates = resuming.word[BE_UPDATES];

	ask(scaled(CYCLES), false);
	check_segments("beside seven queues of best effort");
	figure("%llu segments: %llu saves, %llu in mid-wave; a begin took %llu us at most; best "
	       "effort resumed its queues %llu times meanwhile",
	       (unsigned long long)lc_word[LC_AT],
	       (unsigned long long)(simgpu_counter(0, "saves") - saves),
	       (unsigned long long)(simgpu_counter(0, "saves_midwave") - midwave),
	       (unsigned long long)lc_word[LC_LONGEST_NS] / 1000,
	       (unsigned long long)(resuming.word[BE_UPDATES] - updates));
	ok(simgpu_counter(0, "saves_midwave") - midwave >= lc_word[LC_AT],
	   "they cut best effort in mid-wave");
	ok(resuming.word[BE_UPDATES] > updates, "which resumed its queues meanwhile");
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
	check_segments("while a process is killed");
	ok(goes_on(&resuming) && goes_on(&stopped), "the others go on");
}

static void check_holder_killed(void)
{
	ask(1, true);
	ok(answered() && !lc_word[LC_ERRORS], "LC is in a segment");
	kill(lc_program.pid, SIGKILL);
	waitpid(lc_program.pid, NULL, 0);
	ok(goes_on(&resuming) && goes_on(&stopped), "its death resumes best effort within 1 s");
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
	check_stopped();
	check_killed();
	check_holder_killed();
	check_result(&resuming);
	check_result(&stopped);
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

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "be") && argc > 3)
		return be(argv[2], (unsigned int)strtoul(argv[3], NULL, 10));
	if (!strcmp(what, "lc") && argc > 2)
		return lc(argv[2]);
	run_find_libraries();
	if (!strcmp(what, "refused"))
		refused();
	else
		all();
	return done();
}
