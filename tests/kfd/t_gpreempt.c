// SPDX-License-Identifier: Apache-2.0
/*
 * gpreempt, hsaq and libhsaq on this kernel, and programs for them to act on:
 *	t_gpreempt conformance	the suite of the HAL, over the backend "amd"
 *	t_gpreempt cli		hsaq, gpreempt attach, set, ls, doctor
 *	t_gpreempt stock	the same on a stock kernel, without the series' calls
 *	t_gpreempt hip		HIP programs side by side under gpreempt run
 *	t_gpreempt still FILE	0: the count in FILE stays for 300 ms
 *	t_gpreempt be FILE [US [N]]	keep N packets in a queue, polled every US us;
 *				count completed packets in FILE
 *	t_gpreempt lc		launch at each byte of stdin; write its ns to stdout
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"
#include "run.h"

#define BE_ITEMS 256
#define BE_VARIANT 0
#define AHEAD 16
#define NAP_NS 100000
#define FAR (1ll << 40)
#define TIMEOUT_MS 30000
#define BE_FILE "/tmp/t_gpreempt.be"
#define CONFIG "/tmp/gpreempt.yaml"
#define RUN_DIR "/tmp/gp"

static struct kfd k;

/* ---- the two kinds of program --------------------------------------------------- */

static int be(const char *path, uint64_t nap_ns, uint64_t ahead)
{
	volatile uint64_t *count = run_map_count(path);
	struct kfd_signal *sig;
	uint64_t sent = 0;
	struct kfd_queue q;
	struct kfd_work w;

	must(kfd_setup(&k), "set up");
	must(kfd_work_create(&k, 0, BE_ITEMS, 1, &w), "work");
	must(kfd_queue_create(&k, 0, 64, &q), "queue");
	sig = kfd_signal_create(&k, FAR, false);
	for (;;) {
		*count = FAR - kfd_signal_value(sig);
		while (sent < *count + ahead) {
			must(kfd_work_launch(&w, &q, BE_VARIANT, sig), "launch");
			sent++;
		}
		sleep_ns(nap_ns);
	}
}

static int still(const char *path)
{
	volatile uint64_t *count = run_map_count(path);
	uint64_t before;

	/* Packets that completed before may be counted a little later. */
	sleep_ns(20000000);
	before = *count;
	sleep_ns(300000000);
	return *count != before;
}

static int lc(void)
{
	struct kfd_signal *sig;
	struct kfd_code code;
	struct kfd_queue q;
	struct kfd_launch l = { .grid = { 64 }, .workgroup = { 64 } };
	uint64_t took;
	char byte;

	must(kfd_setup(&k), "set up");
	must(kfd_code_load(&k, 0, KFD_MEM_VRAM, &code), "code");
	must(kfd_queue_create(&k, 0, 64, &q), "queue");
	sig = kfd_signal_create(&k, FAR, false);
	l.kernel = kfd_code_find(&code, "k_nop");
	l.signal = sig;
	for (int64_t n = 1; read(0, &byte, 1) == 1; n++) {
		took = now_ns();
		must(kfd_launch(&q, &l), "launch");
		must(kfd_signal_wait(&k, sig, FAR - n + 1, TIMEOUT_MS), "wait");
		took = now_ns() - took;
		if (write(1, &took, sizeof(took)) != sizeof(took))
			break;
	}
	return 0;
}

/* ---- a best-effort process -------------------------------------------------------- */

static volatile uint64_t *be_count;
static pid_t be_pid;

static void start_be(void)
{
	be_count = run_make_count(BE_FILE);
	be_pid = fork();
	if (!be_pid)
		execl("/t/t_gpreempt", "t_gpreempt", "be", BE_FILE, NULL);
	for (int i = 0; i < TIMEOUT_MS && *be_count < 3; i++)
		sleep_ns(1000000);
	ok(*be_count >= 3, "a best-effort process runs");
}

static void stop_be(void)
{
	kill(be_pid, SIGKILL);
	waitpid(be_pid, NULL, 0);
}

static bool be_runs(void)
{
	uint64_t before = *be_count;

	sleep_ns(50000000);
	return *be_count > before;
}

static bool be_becomes(bool running)
{
	for (int i = 0; i < 100; i++)
		if (be_runs() == running)
			return true;
	return false;
}

/* ---- the tests ---------------------------------------------------------------------------- */

static void conformance(void)
{
	is_err(RUN("/t/test_conformance_kfd"), 0, "the suite");
	SAYS("conformance of kfd");
	ok(strstr(run_output, " 0 failed") != NULL, "none failed");
}

/* hsaq unload stops a process while it runs, and no longer. */
static void check_unload(void)
{
	pid_t pid = fork();

	if (!pid)
		execl("/t/hsaq", "hsaq", "unload", run_text(be_pid), NULL);
	ok(be_becomes(false), "hsaq unload takes it off");
	is_err(RUN("/t/hsaq", "ls"), 0, "hsaq ls");
	SAYS("held");
	is_err(RUN("/t/hsaq", "load", run_text(be_pid)), 0, "hsaq load");
	waitpid(pid, NULL, 0);
	ok(be_becomes(true), "it runs again");

	pid = fork();
	if (!pid)
		execl("/t/hsaq", "hsaq", "unload", run_text(be_pid), NULL);
	ok(be_becomes(false), "hsaq unload takes it off again");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(be_becomes(true), "who is killed keeps nothing off");
}

static void check_hold(void)
{
	is_err(RUN("/t/hsaq", "hold", "--", "/t/t_gpreempt", "still", BE_FILE), 0,
	       "nothing runs while hsaq holds");
	SAYS("held: ");
	ok(be_becomes(true), "it runs again");
	is_err(RUN("/t/hsaq", "hold", "--for=50ms"), 0, "hsaq hold --for=50ms");
	is_err(RUN("/t/hsaq", "hold", "--", "/bin/sh", "-c", "exit 7"), 7, "exit status is CMD's");
}

static void check_class(void)
{
	is_err(RUN("/t/gpreempt", "attach", "--class=lc:3", run_text(be_pid)), 0, "attach");
	is_err(RUN("/t/hsaq", "ls"), 0, "hsaq ls");
	SAYS("lc:3");
	is_err(RUN("/t/gpreempt", "set", "-p", run_text(be_pid), "--class=be:50"), 0, "set");
	is_err(RUN("/t/hsaq", "ls"), 0, "hsaq ls");
	SAYS("be:50");
	is_err(RUN("/t/gpreempt", "ls"), 0, "gpreempt ls");
	SAYS("t_gpreempt");
}

static void check_bad_input(void)
{
	is_err(RUN("/t/gpreempt", "attach", "--class=be", "1"), 125, "a pid without queues");
	SAYS("has no work on");
	is_err(RUN("/t/hsaq", "unload", "1"), 125, "the same of hsaq");
	SAYS("has no queues");
	is_err(RUN("/t/hsaq", "unload", "--device=0000:ff:00.0", run_text(be_pid)), 125,
	       "a device");
	SAYS("no such device");
	is_err(RUN("/bin/su", "user", "-s", "/bin/sh", "-c", "LD_LIBRARY_PATH=/t /t/hsaq mode"),
	       125, "an ordinary user, no right");
	SAYS("not permitted");
	must(chmod("/dev/kfd", 0666) ? -errno : 0, "chmod");
	is_err(RUN("/bin/su", "user", "-s", "/bin/sh", "-c",
		   "LD_LIBRARY_PATH=/t /t/hsaq hold --for=1ms"),
	       125, "a hold without a grant");
	SAYS("not permitted");
}

static void check_grant(void)
{
	is_err(RUN("/t/hsaq", "grant", "--", "/bin/su", "user", "-s", "/bin/sh", "-c",
		   "LD_LIBRARY_PATH=/t /t/hsaq hold --for=1ms"),
	       0, "a hold with a grant that was handed on");
	is_err(RUN("/t/hsaq", "grant", "--rights=read", "--", "/bin/su", "user", "-s", "/bin/sh",
		   "-c", "LD_LIBRARY_PATH=/t /t/hsaq hold --for=1ms"),
	       125, "one that may not hold");
	SAYS("not permitted");
}

static void cli(void)
{
	start_be();
	is_err(RUN("/t/hsaq", "mode"), 0, "hsaq mode");
	SAYS("patched, no HWS");
	is_err(RUN("/t/gpreempt", "doctor"), 0, "gpreempt doctor");
	SAYS("gpreempt run --class=lc|be -- CMD works here");
	check_unload();
	check_hold();
	check_class();
	check_bad_input();
	check_grant();
	stop_be();
}

/* On a stock kernel gpreemptd starts, reports its limits, and attaches no process. */
static void check_stock_daemon(void)
{
	static char *const argv[] = {
		"/t/gpreemptd",
		"--config=" CONFIG,
		"--run-dir=" RUN_DIR,
		NULL,
	};
	struct run_program p;
	FILE *f = fopen(CONFIG, "w");
	int status = -1;

	must(f ? 0 : -errno, CONFIG);
	fputs("default_class: be:50\n", f);
	fclose(f);
	p = run_beside(argv);
	ok(run_reads(&p, "not managed: its driver has neither classes nor suspend"),
	   "gpreemptd logs the device that it cannot manage");
	ok(run_reads(&p, "devices: 0"), "and runs");
	setenv("GPREEMPT_DAEMON", RUN_DIR "/gpreemptd.sock", 1);
	is_err(RUN("/t/gpreempt", "attach", "--class=be", run_text(be_pid)), 125, "attach");
	SAYS("no such device");
	/* By then it has scanned all processes. */
	sleep_ns(3000000000);
	is_err(RUN("/t/gpreempt", "ls", "--json"), 0, "gpreempt ls");
	SAYS("\"daemon\": true");
	ok(!strstr(run_output, "\"origin\""), "it has taken nobody");
	ok(be_runs(), "the process runs");
	kill(p.pid, SIGTERM);
	waitpid(p.pid, &status, 0);
	is_err(status, 0, "gpreemptd ends well");
	unsetenv("GPREEMPT_DAEMON");
}

static void stock(void)
{
	start_be();
	is_err(RUN("/t/hsaq", "mode"), 0, "hsaq mode");
	SAYS("stock");
	is_err(RUN("/t/hsaq", "ls"), 0, "hsaq ls");
	SAYS("compute");
	is_err(RUN("/t/hsaq", "hold", "--for=1ms"), 125, "hsaq hold");
	SAYS("not with this kernel");
	is_err(RUN("/t/hsaq", "unload", run_text(be_pid)), 125, "hsaq unload");
	SAYS("not with this kernel");
	is_err(RUN("/t/gpreempt", "attach", "--class=be", run_text(be_pid)), 125, "attach");
	SAYS("start it with gpreempt run");
	check_stock_daemon();
	stop_be();
}

static void check_hip_tenant(const struct run_program *p)
{
	is_err(RUN("/t/gpreempt", "ls"), 0, "gpreempt ls");
	SAYS("be:100");
	SAYS("hip_be");
	is_err(RUN("/t/gpreempt", "set", "-p", run_text(p->pid), "--class=be:50"), 0,
	       "gpreempt set, of a tenant");
	is_err(RUN("/t/hsaq", "ls"), 0, "hsaq ls");
	SAYS("be:50");
	is_err(RUN("/t/gpreempt", "hint", run_text(p->pid), "--in=1ms"), 125, "a hint to it");
	SAYS("is not lc");
}

/* The median that hip_lc printed. */
static uint64_t p50_ns(void)
{
	const char *at = strstr(run_output, "p50_ns=");

	return at ? strtoull(at + 7, NULL, 10) : 0;
}

/* Requests of some 3 ms every 30 ms, a hint 5 ms before each. */
#define HIP_REQUESTS 1000
#define HIP_LC "/t/hip_lc", run_text(scaled(HIP_REQUESTS)), "30000", "50", "5000"

/* The number of times that queues of a process were saved in mid-wave. */
static uint64_t cuts_of(pid_t pid)
{
	static struct kfd_sched_queue_state states[64];
	uint64_t cuts = 0;
	struct kfd k;
	int i, n;

	kfd_open_sched(&k);
	n = kfd_states(&k, k.gpus[0].gpu_id, states, 64, NULL);
	for (i = 0; i < n && i < 64; i++)
		cuts += states[i].pid == (uint32_t)pid ? states[i].saves_midwave : 0;
	kfd_close(&k);
	return cuts;
}

static void hip(void)
{
	uint64_t alone_ns, hinted_ns, cuts;
	struct run_program be_program;
	int status;

	is_err(RUN("/t/gpreempt", "run", "--class=lc", "--", HIP_LC), 0, "hip_lc alone");
	alone_ns = p50_ns();
	be_program = SPAWN("/t/gpreempt", "run", "--class=be", "--", "/t/hip_be");
	ok(run_reads(&be_program, "ready"), "hip_be under gpreempt run --class=be");
	check_hip_tenant(&be_program);
	is_err(RUN("/t/gpreempt", "run", "--class=lc", "--", HIP_LC), 0,
	       "hip_lc with hints beside it");
	SAYS("result=right");
	hinted_ns = p50_ns();
	figure("hip_lc p50: alone %llu us, beside best effort with hints %llu us",
	       (unsigned long long)alone_ns / 1000, (unsigned long long)hinted_ns / 1000);
	ok_time(alone_ns && hinted_ns && hinted_ns * 100 <= alone_ns * 105,
		"with hints it takes at most 1.05 times as long as alone");
	cuts = cuts_of(be_program.pid);
	figure("%u requests cut best effort %llu times in mid-wave", scaled(HIP_REQUESTS),
	       (unsigned long long)cuts);
	ok(cuts >= scaled(HIP_REQUESTS) * 9 / 10, "each request cut best effort in mid-wave");
	/* gpreempt stat's sampling shares the one core with the program: no time limit here. */
	is_err(RUN("/t/gpreempt", "stat", "--class=lc", "--", "/t/hip_lc", "10", "30000", "50",
		   "5000"),
	       0, "hip_lc under gpreempt stat --class=lc");
	SAYS("on queue slots");
	is_err(RUN("/t/gpreempt", "run", "--class=lc", "--", "/t/hint-hip"), 0, "hint-hip");
	SAYS("10 requests");
	SAYS("cfcc9961");
	is_err(RUN("/t/gpreempt", "run", "--class=lc", "--auto-hold", "--", "/t/hint-hip"), 125,
	       "--auto-hold");
	SAYS("--auto-hold: AMD");
	is_err(RUN("/t/hsaq", "ls"), 0, "hsaq ls");
	kill(be_program.pid, SIGTERM);
	ok(run_reads(&be_program, "result=right"), "best effort is exact");
	waitpid(be_program.pid, &status, 0);
	is_err(status, 0, "and ends well");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "cli";

	if (!strcmp(what, "be") && argc > 2)
		return be(argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) * 1000 : NAP_NS,
			  argc > 4 ? strtoull(argv[4], NULL, 10) : AHEAD);
	if (!strcmp(what, "still") && argc > 2)
		return still(argv[2]);
	if (!strcmp(what, "lc"))
		return lc();
	run_find_libraries();
	if (!strcmp(what, "conformance"))
		conformance();
	else if (!strcmp(what, "stock"))
		stock();
	else if (!strcmp(what, "hip"))
		hip();
	else
		cli();
	return done();
}
