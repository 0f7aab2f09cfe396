// SPDX-License-Identifier: Apache-2.0
/*
 * gpreemptd on a device whose driver rotates queues itself, with 4 slots, one LC
 * process and six BE ones. Of these, a rule discovers two, the test attaches two,
 * and two run under gpreempt run. The driver knows the class of each, BE shares by
 * weight, LC stays on its slot, and the daemon shows the driver's counts. A daemon
 * that dies is restarted with all tenants; one that stops leaves no class behind.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"
#include "run.h"

#define RUN_DIR "/tmp/gp"
#define CONFIG "/tmp/gpreempt.yaml"
#define LOG "/tmp/gpreemptd.log"
#define SELF "/t/t_gpreempt"
#define LC_EXE "/tmp/lc"
#define LC_LEVEL 1
#define BES 6
/* BE processes wake seldom, so that LC does not wait for the guest's one CPU. */
#define BE_NAP_US "2000"
#define BE_AHEAD "4"
#define TENANTS (BES + 1)
#define MAX_STATES 64
#define MS_NS 1000000ull
#define SECOND_NS 1000000000ull
#define PATIENCE_NS (20 * SECOND_NS)
/* Turns of each process: some to settle, then as many as t_sched_classes measures. */
#define SETTLE_QUANTA 30
#define SHARE_QUANTA 200
#define SAMPLES 100
#define SAVE_NS (2 * MS_NS)
#define LOAD_NS MS_NS
#define USAGE_S 5
#define MAX_SAMPLES 4096

static const char config[] = "rules:\n"
			     "  - exe: " LC_EXE "\n"
			     "    class: lc:1\n"
			     "  - exe: /tmp/be50\n"
			     "    class: be:50\n"
			     "  - exe: /tmp/be100\n"
			     "    class: be:100\n"
			     "  - exe: " SELF "\n"
			     "    max_class: be:200\n";

enum way {
	BY_RULE,
	BY_ATTACH,
	BY_RUN
};

static const char *const origin_name[] = {
	[BY_RULE] = "rule",
	[BY_ATTACH] = "attach",
	[BY_RUN] = "run",
};

/* A BE process, and how it becomes a tenant. */
struct be {
	enum way way;
	const char *exe;
	uint32_t weight;
	const char *file;
	volatile uint64_t *count;
	pid_t pid;
};

static struct be be[BES] = {
	{ .way = BY_RULE, .exe = "/tmp/be50", .weight = 50, .file = "/tmp/be.0" },
	{ .way = BY_RULE, .exe = "/tmp/be100", .weight = 100, .file = "/tmp/be.1" },
	{ .way = BY_ATTACH, .exe = SELF, .weight = 100, .file = "/tmp/be.2" },
	{ .way = BY_ATTACH, .exe = SELF, .weight = 150, .file = "/tmp/be.3" },
	{ .way = BY_RUN, .exe = SELF, .weight = 150, .file = "/tmp/be.4" },
	{ .way = BY_RUN, .exe = SELF, .weight = 200, .file = "/tmp/be.5" },
};

static struct kfd k;
static uint32_t gpu_id;
static pid_t keeper_pid, lc_pid;
static int lc_to, lc_from;
static uint64_t lc_before_ns; /* loaded before the daemon started */

/* ---- the driver's view ------------------------------------------------------------ */

static struct kfd_sched_device_state device_state(struct kfd_sched_queue_state *q)
{
	struct kfd_sched_device_state dev;

	must(kfd_states(&k, gpu_id, q, MAX_STATES, &dev) < 0 ? -EIO : 0, "states");
	return dev;
}

/* The only queue of a process; zeroes: none. */
static struct kfd_sched_queue_state queue_of(pid_t pid)
{
	static struct kfd_sched_queue_state q[MAX_STATES];
	unsigned int i, n = device_state(q).queues;

	for (i = 0; i < n && i < MAX_STATES; i++)
		if (q[i].pid == (uint32_t)pid)
			return q[i];
	return (struct kfd_sched_queue_state){ 0 };
}

static bool has_class(pid_t pid, uint32_t sched_class, uint32_t value)
{
	struct kfd_sched_queue_state q = queue_of(pid);

	if (!q.pid || q.sched_class != sched_class)
		return false;
	return sched_class == KFD_SCHED_CLASS_LC ? q.level == value : q.weight == value;
}

static bool all_have_class(void)
{
	unsigned int i;

	for (i = 0; i < BES; i++)
		if (!has_class(be[i].pid, KFD_SCHED_CLASS_BE, be[i].weight))
			return false;
	return has_class(lc_pid, KFD_SCHED_CLASS_LC, LC_LEVEL);
}

/* ---- the daemon's view ------------------------------------------------------------- */

static bool look(void)
{
	static char *const ls[] = { "/t/gpreempt", "ls", "--json", NULL };

	return !run_quietly(ls) && strstr(run_output, "\"daemon\": true");
}

/* The entry of a process in run_output, up to the next one's at @end; NULL: none. */
static const char *said_of(pid_t pid, const char **end)
{
	char key[32];
	const char *at;

	snprintf(key, sizeof(key), "\"pid\": %d,", (int)pid);
	at = strstr(run_output, key);
	*end = at ? strstr(at + 1, "\"pid\": ") : NULL;
	if (at && !*end)
		*end = at + strlen(at);
	return at;
}

static const char *value_of(pid_t pid, const char *name)
{
	const char *end, *at = said_of(pid, &end);
	char key[32];

	snprintf(key, sizeof(key), "\"%s\": ", name);
	at = at ? strstr(at, key) : NULL;
	return at && at < end ? at + strlen(key) : "";
}

static bool says_word(pid_t pid, const char *name, const char *word)
{
	const char *value = value_of(pid, name);

	return value[0] == '"' && !strncmp(value + 1, word, strlen(word)) &&
	       value[1 + strlen(word)] == '"';
}

static uint64_t says_number(pid_t pid, const char *name)
{
	return strtoull(value_of(pid, name), NULL, 10);
}

static bool daemon_has(pid_t pid, enum way way, const char *cls, const char *name, uint64_t value)
{
	return says_word(pid, "origin", origin_name[way]) && says_word(pid, "class", cls) &&
	       says_number(pid, name) == value;
}

static bool daemon_has_all(void)
{
	unsigned int i;

	if (!look())
		return false;
	for (i = 0; i < BES; i++)
		if (!daemon_has(be[i].pid, be[i].way, "be", "weight", be[i].weight))
			return false;
	return daemon_has(lc_pid, BY_RULE, "lc", "level", LC_LEVEL);
}

/* ms until so() holds; -1: it did not. */
static int becomes(bool (*so)(void))
{
	uint64_t from = now_ns();

	while (!so()) {
		if (now_ns() - from > PATIENCE_NS)
			return -1;
		sleep_ns(20 * MS_NS);
	}
	return (int)((now_ns() - from) / MS_NS);
}

/* ---- the daemon ---------------------------------------------------------------------- */

static void show_log(void)
{
	FILE *f = fopen(LOG, "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		note("gpreemptd: %s", line);
	}
	if (f)
		fclose(f);
}

static bool has_word(const char *path, const char *word)
{
	char text[512] = "";
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	for (char *at = text; n > 0 && at < text + n; at += strlen(at) + 1)
		if (!strcmp(at, word))
			return true;
	return false;
}

/* 0: no daemon runs. */
static pid_t daemon_pid(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char path[300];
	pid_t pid = 0;

	while (dir && !pid && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
		if (has_word(path, "--role=daemon"))
			pid = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return pid;
}

static void start_daemon(void)
{
	static char *const argv[] = {
		"/t/gpreemptd",
		"--config=" CONFIG,
		"--run-dir=" RUN_DIR,
		NULL,
	};
	int fd = open(CONFIG, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd < 0 || write(fd, config, sizeof(config) - 1) < 0 ? -errno : 0, CONFIG);
	close(fd);
	setenv("GPREEMPT_DAEMON", RUN_DIR "/gpreemptd.sock", 1);
	keeper_pid = run_to_file(LOG, argv);
	if (!ok(becomes(look) >= 0, "gpreemptd runs")) {
		show_log();
		bail("no daemon");
	}
}

/* ---- the processes ------------------------------------------------------------------- */

static void copy_program(const char *to)
{
	static char cmd[128];

	snprintf(cmd, sizeof(cmd), "cp " SELF " %s", to);
	must(RUN("/bin/sh", "-c", cmd) ? -EIO : 0, to);
}

static void start_lc(void)
{
	int to[2], from[2];

	must(pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC) ? -errno : 0, "pipe");
	lc_pid = fork();
	if (!lc_pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl(LC_EXE, LC_EXE, "lc", NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	lc_to = to[1];
	lc_from = from[0];
}

/* Have LC launch once. Return: ns from the launch to its end. */
static uint64_t run_lc(void)
{
	uint64_t took;

	must(write(lc_to, "", 1) != 1 ? -EIO : 0, "LC");
	must(read(lc_from, &took, sizeof(took)) != sizeof(took) ? -EIO : 0, "LC");
	return took;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The longest of @num launches, one every 8 to 12 ms. @hold: after a hold, from its call. */
static uint64_t measure_lc(const char *how, unsigned int num, bool hold)
{
	struct kfd_ioctl_sched_hold_args args;
	static uint64_t samples[MAX_SAMPLES];
	unsigned int n;

	if (num > MAX_SAMPLES)
		num = MAX_SAMPLES;
	for (n = 0; n < num; n++) {
		sleep_ns(8 * MS_NS + rng() % (4 * MS_NS));
		if (!hold) {
			samples[n] = run_lc();
			continue;
		}
		samples[n] = now_ns();
		must(kfd_hold(&k, gpu_id, KFD_SCHED_LEVEL_MAX, SECOND_NS, 0, &args), "hold");
		run_lc();
		samples[n] = now_ns() - samples[n];
		must(kfd_release(&k, gpu_id, args.hold_id, NULL), "release");
	}
	qsort(samples, num, sizeof(samples[0]), by_value);
	figure("LC %s: p50 %llu us, p99 %llu us, max %llu us of %u", how,
	       (unsigned long long)samples[num / 2] / 1000,
	       (unsigned long long)samples[num * 99 / 100] / 1000,
	       (unsigned long long)samples[num - 1] / 1000, num);
	return samples[num - 1];
}

static void start_be(struct be *b)
{
	char cls[32];

	snprintf(cls, sizeof(cls), "--class=be:%u", b->weight);
	b->count = run_make_count(b->file);
	if (b->way == BY_RUN) {
		char *const argv[] = {
			"/t/gpreempt", "run",		cls,	   "--",     (char *)b->exe,
			"be",	       (char *)b->file, BE_NAP_US, BE_AHEAD, NULL
		};

		b->pid = run_to_file(LOG, argv);
	} else {
		char *const argv[] = { (char *)b->exe, "be",	 (char *)b->file,
				       BE_NAP_US,      BE_AHEAD, NULL };

		b->pid = run_to_file(LOG, argv);
	}
}

static bool be_all_run(void)
{
	unsigned int i;

	for (i = 0; i < BES; i++)
		if (*be[i].count < 3)
			return false;
	return true;
}

static void start_bes(void)
{
	unsigned int i;
	char cls[32];

	for (i = 0; i < BES; i++)
		start_be(&be[i]);
	ok(becomes(be_all_run) >= 0, "%u best-effort processes run", BES);
	for (i = 0; i < BES; i++) {
		if (be[i].way != BY_ATTACH)
			continue;
		snprintf(cls, sizeof(cls), "--class=be:%u", be[i].weight);
		is_err(RUN("/t/gpreempt", "attach", cls, run_text(be[i].pid)), 0, "attach");
	}
}

/* Number of BE processes without progress since @before. */
static unsigned int still_since(const uint64_t *before)
{
	unsigned int i, still = 0;

	for (i = 0; i < BES; i++)
		still += *be[i].count == before[i];
	return still;
}

static void read_counts(uint64_t *counts)
{
	for (unsigned int i = 0; i < BES; i++)
		counts[i] = *be[i].count;
}

/* ---- the tests --------------------------------------------------------------------------- */

static bool lc_has_class(void)
{
	return has_class(lc_pid, KFD_SCHED_CLASS_LC, LC_LEVEL);
}

static uint64_t quantum_ns(void)
{
	return device_state(NULL).quantum_ns;
}

/* The BE processes share by weight while LC launches. */
static void check_shares(void)
{
	struct kfd_sched_queue_state before[BES], after, lc = queue_of(lc_pid);
	const uint64_t turn_ns = quantum_ns() * BES / 3;
	uint64_t counts[BES], sum_ns = 0, sum_weight = 0;
	unsigned int i;
	double worst = 0;

	sleep_ns(SETTLE_QUANTA * turn_ns);
	read_counts(counts);
	for (i = 0; i < BES; i++)
		before[i] = queue_of(be[i].pid);
	measure_lc("on units that six share with it", SHARE_QUANTA * turn_ns / (10 * MS_NS), false);
	for (i = 0; i < BES; i++) {
		after = queue_of(be[i].pid);
		before[i].loaded_ns = after.loaded_ns - before[i].loaded_ns;
		sum_ns += before[i].loaded_ns;
		sum_weight += be[i].weight;
	}
	for (i = 0; i < BES; i++) {
		double share = (double)before[i].loaded_ns / sum_ns;
		double off = share * sum_weight / be[i].weight - 1;

		figure("weight %u (%s): %.4f of the time, %.2f %% off", be[i].weight,
		       origin_name[be[i].way], share, off * 100);
		off = off < 0 ? -off : off;
		worst = off > worst ? off : worst;
	}
	ok(!still_since(counts), "all six make progress");
	ok_time(worst <= 0.03, "shares by weight within 3 %% (%.2f %% off)", worst * 100);
	after = queue_of(lc_pid);
	ok(after.state == KFD_SCHED_STATE_LOADED && after.loads == lc.loads &&
		   after.saves == lc.saves,
	   "LC stays on its slot");
}

/* Times of a save and a load, regardless of the size of the state. */
static const struct {
	const char *name;
	uint64_t ns;
} switch_param[] = {
	{ "engine/params/save_ns", SAVE_NS },
	{ "engine/params/save_kib_ns", 0 },
	{ "engine/params/load_ns", LOAD_NS },
	{ "engine/params/load_kib_ns", 0 },
};

#define SWITCH_PARAMS (sizeof(switch_param) / sizeof(switch_param[0]))

/* From the call of a hold to the end of LC's work, within the bound of t_sched_latency. */
static void check_latency(uint64_t alone_ns)
{
	struct kfd_sched_queue_state before = queue_of(lc_pid), after;
	uint64_t bound_ns = alone_ns + SAVE_NS + LOAD_NS + LOAD_NS / 10, max_ns;
	uint64_t modelled[SWITCH_PARAMS];
	unsigned int i;

	for (i = 0; i < SWITCH_PARAMS; i++) {
		must(simgpu_read_u64(0, switch_param[i].name, &modelled[i]), "read");
		must(simgpu_write_u64(0, switch_param[i].name, switch_param[i].ns), "write");
	}
	max_ns = measure_lc("with a hold, a save of 2 ms", scaled(SAMPLES), true);
	for (i = 0; i < SWITCH_PARAMS; i++)
		must(simgpu_write_u64(0, switch_param[i].name, modelled[i]), "write");
	ok_time(max_ns <= bound_ns, "LC beside six that take turns: %llu us at most, bound %llu us",
		(unsigned long long)max_ns / 1000, (unsigned long long)bound_ns / 1000);
	after = queue_of(lc_pid);
	ok(after.loads == before.loads && after.saves == before.saves, "holds do not take it off");
}

static pid_t pid_of(unsigned int i)
{
	return i < BES ? be[i].pid : lc_pid;
}

/* gpreemptd reports the driver's usage, from when it discovered the tenant. */
static void check_usage(void)
{
	uint64_t used[TENANTS], loaded[TENANTS], sum_ns = 0, counted_ns = 0;
	unsigned int i, grew = 0, driver = 0;

	must(look() ? 0 : -EIO, "gpreempt ls");
	for (i = 0; i < TENANTS; i++) {
		used[i] = says_number(pid_of(i), "used_ns");
		loaded[i] = queue_of(pid_of(i)).loaded_ns;
	}
	sleep_ns(USAGE_S * SECOND_NS);
	must(look() ? 0 : -EIO, "gpreempt ls");
	for (i = 0; i < TENANTS; i++) {
		uint64_t ns = says_number(pid_of(i), "used_ns");

		driver += says_word(pid_of(i), "usage_source", "driver");
		grew += ns > used[i];
		counted_ns += ns - used[i];
		sum_ns += queue_of(pid_of(i)).loaded_ns - loaded[i];
	}
	ok(says_number(lc_pid, "used_ns") <= queue_of(lc_pid).loaded_ns - lc_before_ns,
	   "what was before the daemon does not count");
	ok(driver == TENANTS, "usage is the driver's (%u of %u)", driver, TENANTS);
	ok(!strncmp(value_of(be[0].pid, "turns"), "null", 4), "turns are not the daemon's");
	ok(grew == TENANTS, "all have used some (%u of %u)", grew, TENANTS);
	figure("%u s: %llu ms counted by the daemon, %llu by the driver", USAGE_S,
	       (unsigned long long)(counted_ns / MS_NS), (unsigned long long)(sum_ns / MS_NS));
	/* The daemon counts once a second: each end may be wrong by one second. */
	ok_time(counted_ns * USAGE_S >= sum_ns * (USAGE_S - 2) &&
			counted_ns * USAGE_S <= sum_ns * (USAGE_S + 2),
		"as much as the driver says");
}

static void check_killed(void)
{
	struct kfd_sched_queue_state before = queue_of(lc_pid), after;
	pid_t old = daemon_pid(), now;
	uint64_t counts[BES];
	int ms;

	read_counts(counts);
	must(old ? kill(old, SIGKILL) : -ESRCH, "the daemon");
	ms = becomes(daemon_has_all);
	now = daemon_pid();
	ok(ms >= 0 && now && now != old, "another daemon has every tenant again");
	figure("killed: all seven are back after %d ms", ms);
	ok(all_have_class(), "and each its class");
	sleep_ns(SECOND_NS);
	after = queue_of(lc_pid);
	ok(after.loads == before.loads && after.saves == before.saves,
	   "LC was on its slot all the time");
	ok(!still_since(counts), "all six go on");
}

static bool have_no_class(void)
{
	unsigned int i;

	for (i = 0; i < BES; i++)
		if (be[i].way != BY_RUN &&
		    !has_class(be[i].pid, KFD_SCHED_CLASS_BE, KFD_SCHED_WEIGHT_DEFAULT))
			return false;
	return has_class(lc_pid, KFD_SCHED_CLASS_BE, KFD_SCHED_WEIGHT_DEFAULT);
}

/* Processes under gpreempt run set their own class, which outlives the daemon. */
static bool run_have_class(void)
{
	unsigned int i;

	for (i = 0; i < BES; i++)
		if (be[i].way == BY_RUN && !has_class(be[i].pid, KFD_SCHED_CLASS_BE, be[i].weight))
			return false;
	return true;
}

static void check_stop(void)
{
	uint64_t counts[BES];
	int status = -1;

	kill(keeper_pid, SIGTERM);
	waitpid(keeper_pid, &status, 0);
	is_err(status, 0, "gpreemptd ends well");
	ok(have_no_class(), "it leaves no class behind");
	ok(becomes(run_have_class) >= 0, "who was started with a class has it still");
	read_counts(counts);
	sleep_ns(SECOND_NS);
	ok(!still_since(counts), "all six go on");
	run_lc();
	ok(true, "and so does the other");
}

static void stop_all(void)
{
	for (unsigned int i = 0; i < TENANTS; i++) {
		kill(pid_of(i), SIGKILL);
		waitpid(pid_of(i), NULL, 0);
	}
}

/* LC alone. No other process has a queue, so the hold and the pipe add their calls only. */
static uint64_t measure_alone(void)
{
	uint64_t longest_ns;

	measure_lc("alone", scaled(SAMPLES), false);
	must(kfd_set_class(&k, gpu_id, lc_pid, UINT32_MAX, KFD_SCHED_CLASS_LC, 0, 0), "class");
	longest_ns = measure_lc("alone, with a hold", scaled(SAMPLES), true);
	must(kfd_set_class(&k, gpu_id, lc_pid, UINT32_MAX, KFD_SCHED_CLASS_BE, 0, 0), "class");
	return longest_ns;
}

int main(void)
{
	uint64_t alone_ns;

	rng_seed(21);
	run_find_libraries();
	kfd_open_sched(&k);
	gpu_id = k.gpus[0].gpu_id;
	copy_program(LC_EXE);
	copy_program("/tmp/be50");
	copy_program("/tmp/be100");
	start_lc();
	run_lc();
	alone_ns = measure_alone();
	lc_before_ns = queue_of(lc_pid).loaded_ns;
	start_daemon();
	ok(becomes(lc_has_class) >= 0, "a rule's class of LC");
	start_bes();
	ok(becomes(daemon_has_all) >= 0, "the daemon has all seven, each by its way");
	ok(becomes(all_have_class) >= 0, "and the driver each one's class");
	is_err(RUN("/t/gpreempt", "ls"), 0, "gpreempt ls");
	is_err(RUN("/t/hsaq", "ls"), 0, "hsaq ls");
	check_shares();
	check_latency(alone_ns);
	check_usage();
	check_killed();
	check_stop();
	stop_all();
	show_log();
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
