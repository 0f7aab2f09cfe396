// SPDX-License-Identifier: Apache-2.0
/*
 * Abilities of a stock driver, tried on a real card by try-on-hardware.sh. It is one process, which
 * stops at the first surprise and names the fault. The steps, the safest first:
 *	off	an idle queue goes off and on by UPDATE_QUEUE, packets are rung while it is off
 *	waves	an endless wave stops and goes on
 *	cycles	a busy queue, 10,000 times, beside two other processes
 *	pause	two other processes, by CRIU's calls
 *	demo	LC beside BE: as the driver shares, and with BE off while LC works
 *
 * With two queues of another process this makes 8 queues of 5 processes. All live until the end:
 * a stock driver without a firmware scheduler keeps translations of a process that ended.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define KINDS 5 /* of kernels: the first variants of work.c */
#define ITEMS 256
#define HEAVY 3
#define FAR (1ll << 40)
#define RING_PACKETS 64
#define MS_NS 1000000ull
#define TIMEOUT_MS 20000
#define OFF_CYCLES 20
#define WAVE_CYCLES 20
#define CYCLES 10000
#define CYCLES_CHECK 250 /* results are checked so often */
#define PAUSES 1000
#define REQUESTS 400
#define REQUEST_EVERY_NS (5 * MS_NS)
#define REQUEST_KERNELS 5
#define BE_QUEUES 2
#define BE_AHEAD 12

static const char *const kind_name[KINDS] = { "hash", "LDS", "diverge", "registers", "f32" };

static struct kfd k;
static struct kfd_queue queue;
static struct kfd_work work[KINDS];
static struct kfd_signal *ended;
static struct kfd_mem words;
static int64_t launched;

/* ---- the queue, and its faults -------------------------------------------------------- */

static void launch(unsigned int kind)
{
	must(kfd_work_launch(&work[kind], &queue, kind, ended), "launch");
	launched++;
}

static void feed(void)
{
	while (kfd_queue_room(&queue) > RING_PACKETS / 2)
		launch(rng() % KINDS);
}

static bool all_ended(void)
{
	return !kfd_signal_wait(&k, ended, FAR - launched + 1, TIMEOUT_MS);
}

/* Words that are wrong; *more: of them, by whole results too many. */
static uint32_t count_wrong(const struct kfd_work *w, unsigned int v, uint32_t *more)
{
	const uint32_t *out = w->out.va;
	uint32_t i, n, wrong = 0;

	for (i = 0; i < w->items; i++) {
		uint32_t want = w->want[v][i], over = out[i] - w->launched[v] * want;

		wrong += over != 0;
		for (n = 1; over && n <= 16; n++)
			*more += over == n * want;
	}
	return wrong;
}

/* NULL: all results are exact */
static const char *results_fault(void)
{
	uint32_t wrong[KINDS], more = 0, sum = 0;
	unsigned int i, kinds = 0, last = 0;
	static char text[160];

	for (i = 0; i < KINDS; i++) {
		wrong[i] = count_wrong(&work[i], i, &more);
		sum += wrong[i];
		if (wrong[i]) {
			note("%u words of kernel %s are wrong", wrong[i], kind_name[i]);
			kinds++;
			last = i;
		}
	}
	if (!sum)
		return NULL;
	if (more == sum)
		return "work runs twice after a restore";
	snprintf(text, sizeof(text), "a restore loses the state of waves: %s",
		 kinds == 1 ? kind_name[last] : "of several kernels");
	return text;
}

static bool check_results(const char *what)
{
	const char *fault;
	bool end = all_ended();

	fault = results_fault();
	if (!end)
		return ok_or_fault(false,
				   fault ? "packets cut by a save never end" :
					   "a packet cut by a save ends without its signal",
				   "%s: all packets end", what);
	return ok_or_fault(!fault, fault ? fault : "", "%s: results are exact", what);
}

static bool update(uint32_t percentage)
{
	int err = kfd_queue_update(&queue, percentage);

	return !err || ok_or_fault(false, "a queue does not answer its dequeue request",
				   "UPDATE_QUEUE %u (%s)", percentage, strerror(-err));
}

/* ---- off, waves -------------------------------------------------------------------------- */

static bool off(void)
{
	unsigned int n;

	for (n = 0; n < OFF_CYCLES; n++) {
		launch(n % KINDS);
		if (!all_ended() || results_fault())
			return ok_or_fault(false,
					   "an idle queue that was off and on runs nothing, "
					   "or wrongly",
					   "a packet in cycle %u", n);
		if (!update(0))
			return false;
		launch(n % KINDS);
		sleep_ns(MS_NS);
		if (!update(100))
			return false;
		if (!all_ended())
			return ok_or_fault(false, "a doorbell rung while a queue is off is lost",
					   "a packet rung in cycle %u", n);
	}
	return check_results("an idle queue, off and on");
}

static bool waves(void)
{
	uint32_t *w = words.va, n, before;
	struct k_spin_args args = { w, w + 64, w + 128 };
	struct kfd_launch l = {
		.kernel = kfd_code_find(&work[0].code, "k_spin"),
		.grid = { 64 },
		.workgroup = { 64 },
		.args = &args,
		.args_bytes = sizeof(args),
		.signal = ended,
	};

	must(kfd_launch(&queue, &l), "launch");
	launched++;
	for (n = 0; n < WAVE_CYCLES; n++) {
		before = w[64];
		if (!ok_or_fault(!wait_word(&w[64], before + 1, TIMEOUT_MS),
				 "waves do not go on after a restore", "cycle %u: the wave runs",
				 n))
			return false;
		if (!update(0))
			return false;
		before = w[64];
		sleep_ns(2 * MS_NS);
		if (!ok_or_fault(w[64] == before, "waves run on while their queue is off",
				 "it stands still"))
			return false;
		if (!update(100))
			return false;
	}
	w[128] = 1;
	if (!ok_or_fault(all_ended(), "a packet cut by a save ends without its signal",
			 "the endless wave ends"))
		return false;
	return ok_or_fault(w[0] == 1, "work runs twice after a restore", "it ran once (%u)", w[0]);
}

/* ---- bystanders -------------------------------------------------------------------------- */

/* The first counts beats without an end, the second works. */
static struct tenant *others;

static void start_others(void)
{
	others = tenants_alloc(2);
	others[0].queues = 1;
	others[1].queues = 2;
	others[1].heavy = HEAVY;
	tenant_start(&others[0]);
	tenant_start(&others[1]);
	must(tenants_ready(others, 2, TIMEOUT_MS), "other processes");
	/* A queue can be loaded some time after its creation. */
	if (!ok_or_fault(!wait_word(&others[0].words[0][TENANT_BEAT], 1, TIMEOUT_MS),
			 "a doorbell rung while a queue is off is lost",
			 "another process's wave begins"))
		bail("stopped");
}

static bool others_are_exact(void)
{
	struct tenants_sum sum = tenants_end(others, 2, 3 * TIMEOUT_MS);

	return ok_or_fault(!sum.wrong && !sum.unfinished && !sum.died,
			   "a save damages another process's work",
			   "%u packets of other processes ran once, exactly", sum.sent);
}

struct watch {
	volatile bool stop;
	uint64_t longest_ns;
};

/* The longest time without a beat of the other process. */
static void *watch_beats(void *arg)
{
	struct watch *w = arg;
	volatile uint32_t *beat = &others[0].words[0][TENANT_BEAT];
	uint32_t last = *beat;
	uint64_t since = now_ns();

	while (!w->stop) {
		const uint64_t now = now_ns();

		if (*beat != last) {
			last = *beat;
			since = now;
		} else if (now - since > w->longest_ns) {
			w->longest_ns = now - since;
		}
		sleep_ns(20000);
	}
	return NULL;
}

/* ---- cycles -------------------------------------------------------------------------------- */

static bool timed_update(uint32_t percentage, uint64_t *took_ns)
{
	const uint64_t start = now_ns();
	bool good = update(percentage);

	*took_ns = now_ns() - start;
	return good;
}

static bool run_cycles(unsigned int cycles, uint64_t *off_ns, uint64_t *on_ns)
{
	unsigned int n;

	for (n = 0; n < cycles; n++) {
		feed();
		sleep_ns(rng() % (2 * MS_NS));
		if (!timed_update(0, &off_ns[n]))
			return false;
		feed();
		sleep_ns(rng() % 100000);
		if (!timed_update(100, &on_ns[n]))
			return false;
		if (n % CYCLES_CHECK == CYCLES_CHECK - 1 && !check_results("cycles"))
			return false;
	}
	return check_results("cycles");
}

static bool other_runs(void)
{
	volatile uint32_t *beat = &others[0].words[0][TENANT_BEAT];

	return ok_or_fault(!wait_word(beat, *beat + 1, TIMEOUT_MS),
			   "a save damages another process's work",
			   "the other process's wave runs on");
}

static bool cycles(void)
{
	unsigned int num = scaled(CYCLES);
	uint64_t *off_ns = calloc(num, sizeof(*off_ns)), *on_ns = calloc(num, sizeof(*on_ns));
	struct watch watch = { .stop = false };
	pthread_t thread;
	bool good;

	must(off_ns && on_ns ? 0 : -ENOMEM, "memory");
	must(-pthread_create(&thread, NULL, watch_beats, &watch), "thread");
	good = run_cycles(num, off_ns, on_ns);
	watch.stop = true;
	pthread_join(thread, NULL);
	if (good) {
		figure("%u cycles, each off and on", num);
		figure_times("off", off_ns, num);
		figure_times("on", on_ns, num);
		figure("meanwhile another process's wave stood still for at most %llu us",
		       (unsigned long long)watch.longest_ns / 1000);
	}
	free(off_ns);
	free(on_ns);
	return good && other_runs();
}

/* ---- pause ----------------------------------------------------------------------------------- */

struct pause_call {
	pid_t pid;
	int fd;
	uint32_t op;
	int err;
};

/* The KFD takes these calls from the thread that traces the process now. */
static void *call_as_tracer(void *arg)
{
	struct pause_call *c = arg;
	struct kfd_ioctl_criu_args args = { .op = c->op };
	int i;

	for (i = 0; i < 200; i++) {
		c->err = ptrace(PTRACE_SEIZE, c->pid, NULL, NULL) ? -errno : 0;
		if (c->err != -EPERM)
			break;
		sleep_ns(100000); /* an earlier tracer has not ended yet */
	}
	if (!c->err)
		c->err = ioctl(c->fd, AMDKFD_IOC_CRIU_OP, &args) ? -errno : 0;
	return NULL;
}

static int criu_call(pid_t pid, int fd, uint32_t op)
{
	struct pause_call c = { .pid = pid, .fd = fd, .op = op };
	pthread_t thread;

	must(-pthread_create(&thread, NULL, call_as_tracer, &c), "thread");
	pthread_join(thread, NULL);
	return c.err;
}

/* A copy of the process's file of /dev/kfd. */
static int kfd_file_of(pid_t pid)
{
	char path[64], link[PATH_MAX], target[32];
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0u), fd = -ENOENT;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && fd < 0 && (e = readdir(dir))) {
		ssize_t n;

		snprintf(link, sizeof(link), "%s/%s", path, e->d_name);
		n = readlink(link, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = 0;
		if (strcmp(target, "/dev/kfd"))
			continue;
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(e->d_name), 0u);
	}
	if (dir)
		closedir(dir);
	close(pidfd);
	return fd;
}

static bool pause_both(const int *fd, uint32_t op)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < 2 && !err; i++)
		err = criu_call(others[i].pid, fd[i], op);
	return !err || ok_or_fault(false, "CRIU's pause of another process fails", "%s (%s)",
				   op == KFD_CRIU_OP_UNPAUSE ? "unpause" : "pause", strerror(-err));
}

static bool run_pauses(const int *fd, unsigned int num, uint64_t *pause_ns, uint64_t *unpause_ns)
{
	volatile uint32_t *beat = &others[0].words[0][TENANT_BEAT];
	unsigned int n;

	for (n = 0; n < num; n++) {
		uint64_t start = now_ns();
		uint32_t before;

		if (!pause_both(fd, KFD_CRIU_OP_PROCESS_INFO))
			return false;
		pause_ns[n] = now_ns() - start;
		before = *beat;
		sleep_ns(rng() % MS_NS);
		if (*beat != before)
			return ok_or_fault(false, "waves of a paused process run on", "pause %u",
					   n);
		start = now_ns();
		if (!pause_both(fd, KFD_CRIU_OP_UNPAUSE))
			return false;
		unpause_ns[n] = now_ns() - start;
		if (wait_word(beat, before + 1, TIMEOUT_MS))
			return ok_or_fault(false, "waves of a paused process do not go on",
					   "pause %u", n);
		sleep_ns(rng() % MS_NS);
	}
	return true;
}

static bool pauses(void)
{
	unsigned int num = scaled(PAUSES);
	uint64_t *pause_ns = calloc(num, 8), *unpause_ns = calloc(num, 8);
	int fd[2] = { kfd_file_of(others[0].pid), kfd_file_of(others[1].pid) };
	bool good;

	must(pause_ns && unpause_ns ? 0 : -ENOMEM, "memory");
	must(fd[0] < 0 ? fd[0] : fd[1], "another process's file of /dev/kfd");
	good = run_pauses(fd, num, pause_ns, unpause_ns);
	close(fd[0]);
	close(fd[1]);
	if (good) {
		figure_times("pause of two processes", pause_ns, num);
		figure_times("unpause", unpause_ns, num);
	}
	free(pause_ns);
	free(unpause_ns);
	return good;
}

/* ---- demo ------------------------------------------------------------------------- */

/* Best effort, which takes its queues off while LC asks for it. */
struct be {
	uint32_t go, asked, answered, stop, ready, wrong;
	pid_t pid;
};

static struct be *be;

static void be_obey(struct kfd_queue *q, unsigned int num)
{
	const uint32_t asked = __atomic_load_n(&be->asked, __ATOMIC_ACQUIRE);
	unsigned int i;

	if (asked == be->answered)
		return;
	for (i = 0; i < num; i++)
		if (kfd_queue_update(&q[i], asked % 2 ? 0 : 100))
			_exit(2);
	__atomic_store_n(&be->answered, asked, __ATOMIC_RELEASE);
}

static void be_main(void)
{
	static struct kfd_work w[BE_QUEUES];
	struct kfd_queue q[BE_QUEUES];
	struct kfd_signal *sig[BE_QUEUES];
	int64_t sent[BE_QUEUES] = { 0 };
	unsigned int i;

	must(kfd_setup(&k), "best effort");
	for (i = 0; i < BE_QUEUES; i++) {
		must(kfd_work_create(&k, 0, 1024, 10 * HEAVY, &w[i]), "work");
		must(kfd_queue_create(&k, 0, RING_PACKETS, &q[i]), "queue");
		sig[i] = kfd_signal_create(&k, FAR, false);
	}
	be->ready = 1;
	while (!__atomic_load_n(&be->go, __ATOMIC_ACQUIRE))
		sleep_ns(MS_NS);
	while (!__atomic_load_n(&be->stop, __ATOMIC_ACQUIRE)) {
		for (i = 0; i < BE_QUEUES; i++)
			while (RING_PACKETS - kfd_queue_room(&q[i]) < BE_AHEAD) {
				must(kfd_work_launch(&w[i], &q[i], 0, sig[i]), "launch");
				sent[i]++;
			}
		be_obey(q, BE_QUEUES);
		be->ready = 2;
		sleep_ns(20000);
	}
	for (i = 0; i < BE_QUEUES; i++)
		be->wrong += kfd_signal_wait(&k, sig[i], FAR - sent[i] + 1, 6 * TIMEOUT_MS) ||
			     kfd_work_wrong(&w[i]);
	_exit(0);
}

static void be_start(void)
{
	be = shared_alloc(sizeof(*be));
	be->pid = fork();
	if (!be->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_main();
	}
	must(wait_word(&be->ready, 1, TIMEOUT_MS), "best effort");
}

static bool be_ask(void)
{
	const uint32_t asked = ++be->asked;

	return !wait_word(&be->answered, asked, TIMEOUT_MS);
}

/* One request: the driver's switch, some kernels, and back. */
static bool request(bool yields, uint64_t *took_ns)
{
	const uint64_t start = now_ns();
	unsigned int i;
	bool good = !yields || be_ask();

	for (i = 0; i < REQUEST_KERNELS; i++)
		launch(0);
	good &= all_ended();
	*took_ns = now_ns() - start;
	return good && (!yields || be_ask());
}

static bool requests(const char *what, bool yields)
{
	unsigned int n, num = scaled(REQUESTS) + 4;
	uint64_t *ns = calloc(num, sizeof(*ns));
	bool good = ns;

	for (n = 0; n < num && good; n++) {
		good = request(yields, &ns[n]);
		sleep_ns(REQUEST_EVERY_NS);
	}
	if (ok_or_fault(good, "a request beside best effort does not end", "%u requests %s", num,
			what))
		figure_times(what, ns, num);
	free(ns);
	return good;
}

static bool demo(void)
{
	bool good = requests("LC alone", false);
	int status = -1;

	be->go = 1;
	must(wait_word(&be->ready, 2, TIMEOUT_MS), "best effort");
	good = good && requests("LC beside best effort, as the driver shares", false) &&
	       requests("LC beside best effort that goes off", true);
	be->stop = 1;
	waitpid(be->pid, &status, 0);
	return good &&
	       ok_or_fault(!status && !be->wrong, "best effort's results are wrong",
			   "best effort is exact") &&
	       check_results("LC");
}

/* ---- all -------------------------------------------------------------------------- */

static void set_up(void)
{
	unsigned int i;

	must(kfd_setup(&k), "set up");
	for (i = 0; i < KINDS; i++)
		must(kfd_work_create(&k, 0, ITEMS, HEAVY, &work[i]), "work");
	must(kfd_mem_alloc(&k, 0, KFD_PAGE_BYTES, KFD_MEM_GTT, &words), "memory");
	must(kfd_queue_create(&k, 0, RING_PACKETS, &queue), "queue");
	ended = kfd_signal_create(&k, FAR, false);
}

static bool step(const char *name, bool (*run)(void))
{
	note("step: %s", name);
	return run();
}

int main(void)
{
	bool good;

	rng_seed(1);
	start_others();
	be_start();
	set_up();
	good = step("off", off) && step("waves", waves) && step("cycles", cycles) &&
	       step("pause", pauses);
	good = good && others_are_exact();
	if (good)
		step("demo", demo);
	return done();
}
