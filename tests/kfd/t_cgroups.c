// SPDX-License-Identifier: Apache-2.0
/*
 * Cgroups of a machine with version 2 alone, as tenants of gpreemptd, on two software GPUs in the
 * guest. Eight processes of a cgroup count as one. They have the share of one, leave the device
 * together when the cgroup is frozen, and are killed as one. Processes of a cgroup on both devices
 * are a gang.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"
#include "run.h"
#include "wire/wire.h"

#define ROOT "/sys/fs/cgroup"
#define CONFIG "/tmp/gpreempt.yaml"
#define LOG "/tmp/gpreemptd.log"
#define RUN_DIR "/tmp/gp"
#define GPREEMPT "/g/bin/gpreempt"
#define MEMBERS 8
#define GANG 4
#define DEVICES 2
#define TENANTS 32
#define MS_NS 1000000ull
#define SECOND_NS 1000000000ull
#define PATIENCE_NS (60 * SECOND_NS)
#define OFF_NS (20 * MS_NS)
#define LOOK_NS (10 * MS_NS)
#define FREEZES 2
#define THAW_NS (1100 * MS_NS) /* a thaw counts once a second */
#define TURNS 16
#define USED_NS (100 * MS_NS)
#define LOOKS 60
#define LOOK_AGAIN_NS (100 * MS_NS)

static const char config[] = "be_quantum: 2ms\n"
			     "rules:\n"
			     "  - {cgroup: /batch, class: be, as: one}\n"
			     "  - {cgroup: /gang, class: be, as: one, gang: true}\n";

static pid_t member[MEMBERS], gang[GANG], lone[DEVICES], keeper;
static int to_daemon = -1, input[2];

/* ---- what gpreemptd shows ---------------------------------------- */

static struct gp_wire_tenant tenant[TENANTS];
static struct gp_wire_device device[DEVICES];
static unsigned int tenants, devices;

static int connect_daemon(void)
{
	struct sockaddr_un to = { AF_UNIX, RUN_DIR "/gpreemptd.sock" };

	if (to_daemon >= 0)
		close(to_daemon);
	to_daemon = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return connect(to_daemon, (struct sockaddr *)&to, sizeof(to)) ? -errno : 0;
}

static void take(const union gp_wire_msg *msg)
{
	if (msg->head.type == GP_WIRE_TENANT && tenants < TENANTS)
		tenant[tenants++] = msg->tenant;
	else if (msg->head.type == GP_WIRE_DEVICE && devices < DEVICES)
		device[devices++] = msg->device;
}

static void ask(enum gp_wire_type type)
{
	const struct gp_wire_head head = { GP_WIRE_MAGIC, GP_WIRE_VERSION, (uint16_t)type,
					   sizeof(head), 0 };
	union gp_wire_msg msg;

	must(send(to_daemon, &head, sizeof(head), 0) < 0 ? -errno : 0, "gpreemptd");
	do {
		must(recv(to_daemon, &msg, sizeof(msg), 0) <= 0 ? -EIO : 0, "gpreemptd");
		take(&msg);
	} while (msg.head.type != GP_WIRE_RESULT);
}

static void look(void)
{
	tenants = 0;
	ask(GP_WIRE_LIST);
}

/* The process with the turn on each device, at one time. */
static void look_at_devices(void)
{
	devices = 0;
	ask(GP_WIRE_DEVICES);
}

static const struct gp_wire_tenant *tenant_of(pid_t pid)
{
	for (unsigned int i = 0; i < tenants; i++)
		if (tenant[i].pid == pid)
			return &tenant[i];
	return NULL;
}

static bool is_one_of(pid_t pid, const pid_t *of, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (of[i] == pid)
			return true;
	return false;
}

/* ---- waiting ---------------------------------------- */

/* ns until so() holds; 0: it does not. */
static uint64_t becomes(bool (*so)(void), uint64_t nap_ns)
{
	const uint64_t from = now_ns();

	while (!so()) {
		if (now_ns() - from > PATIENCE_NS)
			return 0;
		sleep_ns(nap_ns);
	}
	return now_ns() - from + 1;
}

static bool answers(void)
{
	return !connect_daemon();
}

static bool is_there(pid_t pid)
{
	const struct gp_wire_tenant *t = tenant_of(pid);

	/* A rule may find it first. It then joins again. */
	return t && t->groups && t->origin == GP_WIRE_BY_RUN;
}

static bool members_are_there(void)
{
	look();
	for (unsigned int i = 0; i < MEMBERS; i++)
		if (!is_there(member[i]))
			return false;
	return is_there(lone[0]);
}

static bool gang_is_there(void)
{
	look();
	for (unsigned int i = 0; i < GANG; i++)
		if (!is_there(gang[i]))
			return false;
	return is_there(lone[0]) && is_there(lone[1]);
}

static bool only_lone_is_there(void)
{
	look();
	return tenants == 1 && is_there(lone[0]);
}

static bool lone_has_turns(void)
{
	static uint64_t turns;

	look();
	if (!turns)
		turns = tenant_of(lone[0])->turns;
	if (tenant_of(lone[0])->turns < turns + TURNS)
		return false;
	turns = 0;
	return true;
}

static bool lone_runs(void)
{
	static uint64_t used_ns;

	look();
	if (!used_ns)
		used_ns = tenant_of(lone[0])->used_ns + 1;
	if (tenant_of(lone[0])->used_ns < used_ns + USED_NS)
		return false;
	used_ns = 0;
	return true;
}

/* ---- processes ---------------------------------------- */

static void write_to(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0, path);
	close(fd);
}

/* @cgroup NULL: at the root. */
static pid_t start(const char *cgroup, unsigned int number, char *const argv[])
{
	const int log = open(LOG, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	const pid_t pid = fork();
	char path[64];

	if (pid) {
		close(log);
		return pid;
	}
	snprintf(path, sizeof(path), ROOT "%s/cgroup.procs", cgroup ? cgroup : "");
	if (cgroup)
		write_to(path, "0");
	dup2(input[0], 0);
	dup2(log, 1);
	dup2(log, 2);
	setenv("CUDA_VISIBLE_DEVICES", run_text(number), 1);
	execv(argv[0], argv);
	_exit(127);
}

static pid_t start_be(const char *cgroup, unsigned int number)
{
	char *const argv[] = {
		GPREEMPT,
		"run",
		"--class=be",
		number ? "--device=soft1" : "--device=soft0",
		"--",
		"/g/bench/be",
		"--iters=1000000",
		"--blocks=2",
		NULL,
	};

	return start(cgroup, number, argv);
}

static void start_daemon(void)
{
	char *const argv[] = { "/g/bin/gpreemptd", "--config=" CONFIG, "--run-dir=" RUN_DIR, NULL };
	const int fd = open(CONFIG, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd < 0 || write(fd, config, sizeof(config) - 1) < 0 ? -errno : 0, CONFIG);
	close(fd);
	setenv("GPREEMPT_BACKEND", "softgpu", 1);
	setenv("GPREEMPT_SOFTGPU", "/tmp/soft.sock", 1);
	setenv("GPREEMPT_SOFTGPU_GPUS", "2", 1);
	setenv("GPREEMPT_DAEMON", RUN_DIR "/gpreemptd.sock", 1);
	must(pipe2(input, O_CLOEXEC) ? -errno : 0, "pipe");
	keeper = start(NULL, 0, argv);
	ok(becomes(answers, 20 * MS_NS), "gpreemptd runs");
}

static void show_log(void)
{
	FILE *f = fopen(LOG, "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		note("%s", line);
	}
	if (f)
		fclose(f);
}

/* ---- one tenant ---------------------------------------- */

/* Of all turns' time, so many turns of the other one later. */
static double share_of_members(void)
{
	uint64_t before[MEMBERS], other_ns, ns = 0;

	look();
	other_ns = tenant_of(lone[0])->resident_ns;
	for (unsigned int i = 0; i < MEMBERS; i++)
		before[i] = tenant_of(member[i])->resident_ns;
	must(becomes(lone_has_turns, LOOK_AGAIN_NS) ? 0 : -ETIME, "turns");
	for (unsigned int i = 0; i < MEMBERS; i++)
		ns += tenant_of(member[i])->resident_ns - before[i];
	return (double)ns / (ns + tenant_of(lone[0])->resident_ns - other_ns);
}

static void check_share(void)
{
	double share;

	must(becomes(lone_has_turns, LOOK_AGAIN_NS) ? 0 : -ETIME, "turns");
	share = share_of_members();
	figure("eight of a cgroup: %.3f of the time beside one process", share);
	ok(share > 0.45 && share < 0.55, "they have the share of one");
	is_err(run_quietly((char *[]){ GPREEMPT, "ls", NULL }), 0, "gpreempt ls");
	SAYS("8 processes of /batch");
}

/* ---- frozen ---------------------------------------- */

static bool has_line(const char *path, const char *line)
{
	char text[128] = "";
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 && strstr(text, line);
}

static bool batch_stopped(void)
{
	return has_line(ROOT "/batch/cgroup.events", "frozen 1");
}

static bool gang_stopped(void)
{
	return has_line(ROOT "/gang/cgroup.events", "frozen 1");
}

static bool all_frozen(const pid_t *pid, unsigned int n, bool frozen)
{
	look();
	for (unsigned int i = 0; i < n; i++) {
		const uint32_t flags = tenant_of(pid[i])->flags;

		if (!(flags & GP_WIRE_FROZEN) == frozen || (frozen && flags & GP_WIRE_RESIDENT))
			return false;
	}
	return true;
}

static bool batch_is_off(void)
{
	return all_frozen(member, MEMBERS, true);
}

static bool batch_is_back(void)
{
	return all_frozen(member, MEMBERS, false);
}

static bool gang_is_off(void)
{
	return all_frozen(gang, GANG, true);
}

static bool gang_is_back(void)
{
	return all_frozen(gang, GANG, false);
}

/*
 * ns from the kernel's word that all have stopped until an answer in which no device is theirs.
 * The daemon gives a user who asks all the time few answers, so the first look counts.
 */
static uint64_t freeze(const char *file, bool (*stopped)(void), bool (*off)(void))
{
	uint64_t from;

	write_to(file, "1");
	must(becomes(stopped, 100000) ? 0 : -ETIME, file);
	from = now_ns();
	sleep_ns(LOOK_NS);
	must(becomes(off, 20 * MS_NS) ? 0 : -ETIME, "frozen");
	return now_ns() - from;
}

/* None of the processes uses a device while another does. */
static bool stay_off(const pid_t *pid, unsigned int n)
{
	uint64_t used = 0;

	look();
	for (unsigned int i = 0; i < n; i++)
		used -= tenant_of(pid[i])->used_ns;
	must(becomes(lone_runs, LOOK_AGAIN_NS) ? 0 : -ETIME, "the other one's use");
	for (unsigned int i = 0; i < n; i++)
		used += tenant_of(pid[i])->used_ns;
	return !used;
}

static void check_frozen(const char *file, bool (*stopped)(void), bool (*off)(void),
			 bool (*back)(void))
{
	uint64_t longest = 0;

	for (unsigned int i = 0; i < FREEZES; i++) {
		const uint64_t took = freeze(file, stopped, off);

		longest = took > longest ? took : longest;
		write_to(file, "0");
		must(becomes(back, LOOK_AGAIN_NS) ? 0 : -ETIME, "thawed");
		sleep_ns(THAW_NS);
	}
	figure("%s: off after %llu us at most, of %u", file, (unsigned long long)longest / 1000,
	       FREEZES);
	ok_time(longest <= OFF_NS, "frozen, they are off within 20 ms");
}

static void check_batch_frozen(void)
{
	check_frozen(ROOT "/batch/cgroup.freeze", batch_stopped, batch_is_off, batch_is_back);
	freeze(ROOT "/batch/cgroup.freeze", batch_stopped, batch_is_off);
	sleep_ns(SECOND_NS); /* the log is read now and then */
	ok(stay_off(member, MEMBERS), "and use nothing");
}

/* While they are frozen. */
static void check_batch_killed(void)
{
	write_to(ROOT "/batch/cgroup.kill", "1");
	ok(becomes(only_lone_is_there, LOOK_AGAIN_NS), "killed, all have left");
	for (unsigned int i = 0; i < MEMBERS; i++)
		waitpid(member[i], NULL, 0);
	is_err(rmdir(ROOT "/batch") ? -errno : 0, 0, "rmdir");
}

/* ---- a gang ---------------------------------------- */

static void check_together(void)
{
	unsigned int both = 0, none = 0, apart = 0;

	for (unsigned int i = 0; i < LOOKS; i++) {
		look_at_devices();
		const bool one = is_one_of(device[0].resident_pid, gang, GANG);
		const bool other = is_one_of(device[1].resident_pid, gang, GANG);

		both += one && other;
		none += !one && !other;
		apart += one != other;
		sleep_ns(17 * MS_NS);
	}
	figure("a gang of %u: on both devices %u, on none %u, on one %u of %u looks", GANG, both,
	       none, apart, LOOKS);
	ok(both > LOOKS / 5 && none > LOOKS / 5, "it has turns, and others have");
	ok(!apart, "its turns are on both devices at once");
}

static void check_gang(void)
{
	must(mkdir(ROOT "/gang", 0755) ? -errno : 0, "/gang");
	lone[1] = start_be(NULL, 1);
	for (unsigned int i = 0; i < GANG; i++)
		gang[i] = start_be("/gang", i % DEVICES);
	ok(becomes(gang_is_there, LOOK_AGAIN_NS), "four processes of a cgroup on two devices");
	must(becomes(lone_has_turns, LOOK_AGAIN_NS) ? 0 : -ETIME, "turns");
	check_together();
	check_frozen(ROOT "/gang/cgroup.freeze", gang_stopped, gang_is_off, gang_is_back);
}

/* ---- all ---------------------------------------- */

static void end_all(void)
{
	int status = -1;

	kill(keeper, SIGTERM);
	waitpid(keeper, &status, 0);
	is_err(status, 0, "gpreemptd ends well");
	for (unsigned int i = 0; i < GANG; i++)
		kill(gang[i], SIGKILL);
	for (unsigned int i = 0; i < DEVICES; i++)
		kill(lone[i], SIGKILL);
}

int main(void)
{
	must(mount("cgroup", ROOT, "cgroup2", 0, NULL) ? -errno : 0, ROOT);
	must(mkdir(ROOT "/batch", 0755) ? -errno : 0, "/batch");
	start_daemon();
	lone[0] = start_be(NULL, 0);
	for (unsigned int i = 0; i < MEMBERS; i++)
		member[i] = start_be("/batch", 0);
	ok(becomes(members_are_there, LOOK_AGAIN_NS),
	   "eight processes of a cgroup, and one beside");
	check_share();
	check_batch_frozen();
	check_batch_killed();
	check_gang();
	end_all();
	show_log();
	umount2(ROOT, MNT_DETACH);
	return done();
}
