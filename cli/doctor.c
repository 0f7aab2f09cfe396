// SPDX-License-Identifier: Apache-2.0
/*
 * doctor.c - gpreempt doctor: one line for each thing that gpreempt needs or can use, with the
 * next step if it is missing. Changes nothing.
 */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/soak.h"
#include "cli/text.h"
#include "cli/way.h"
#include "hsaq.h"
#include "wire/wire.h"

enum verdict {
	OK,
	WARN,
	MISSING
};

static void report(enum verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void report(enum verdict verdict, const char *fmt, ...)
{
	static const char *const word[] = { "ok", "warn", "missing" };
	va_list ap;

	printf("%-8s ", word[verdict]);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* The first line of @path, without its newline. */
static bool read_line(const char *path, char *buf, size_t len)
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(buf, (int)len, f);

	if (f)
		fclose(f);
	if (got)
		buf[strcspn(buf, "\n")] = '\0';
	return got;
}

/* ---- the driver and its devices ----------------------------------------------- */

static void check_driver(void)
{
	char version[128] = "", why[GP_WHY_LEN] = "";

	if (read_line("/sys/module/nvidia/version", version, sizeof(version)))
		report(atoi(version) < 535 ? MISSING : OK, "NVIDIA driver %s%s", version,
		       atoi(version) < 535 ? ": too old; install 535 or later" : "");
	else
		gp_hal_find("nvidia")->explain(-ENODEV, why, sizeof(why));
	if (*why)
		report(MISSING, "%s", why);
	else if (!*version)
		report(WARN, "NVIDIA driver: not loaded; use --device=soft0, the software GPU");
}

static void check_node(const char *path)
{
	if (!access(path, R_OK | W_OK))
		report(OK, "%s: this user may open it", path);
	else if (errno == ENOENT)
		report(MISSING,
		       "%s: missing; start a container with the GPU (--gpus all), else run "
		       "nvidia-modprobe -u -c=0",
		       path);
	else
		report(MISSING, "%s: %s; join the group that owns it (ls -l %s)", path,
		       strerror(errno), path);
}

/* false: nothing else can work. */
static bool check_backend(void)
{
	const char *chosen = getenv("GPREEMPT_BACKEND");

	if (!chosen || !*chosen || gp_hal_find(chosen))
		return true;
	report(MISSING,
	       "GPREEMPT_BACKEND='%.32s': unknown backend; unset it, or write nvidia, "
	       "amd or softgpu",
	       chosen);
	return false;
}

/* true: a GPU works here. */
static bool check_devices(const char *backend, struct gp_devices *devices)
{
	const struct gp_hal_ops *ops = gp_hal_find(backend);
	struct gp_device_list list = { 0 };
	char spec[GP_DEVICE_NAME_LEN], why[GP_WHY_LEN];
	int err = ops ? ops->probe(&list) : -ENODEV;

	if (err || !list.count) {
		if (err && err != -ENODEV && err != -ENOENT)
			report(MISSING, "%s: cannot list devices: %s", backend, strerror(-err));
		return false;
	}
	for (size_t i = 0; i < list.count; i++) {
		struct gp_device **dev = &devices->dev[devices->count];

		err = ops->open(&list.dev[i], dev);
		if (err) {
			snprintf(why, sizeof(why), "%s", strerror(-err));
			ops->explain(err, why, sizeof(why));
			report(MISSING, "%s: %s", list.dev[i].name, why);
			continue;
		}
		(*dev)->ops = ops;
		devices->count++;
		gp_device_spec(*dev, spec, sizeof(spec));
		report(OK, "device %s (%s, PCI %04x:%02x:%02x.%x)", spec, list.dev[i].name,
		       list.dev[i].pci_domain, list.dev[i].pci_bus, list.dev[i].pci_dev,
		       list.dev[i].pci_fn);
	}
	return devices->count;
}

/* ---- AMD's driver ------------------------------------------------------------- */

static void check_grant(const struct hsaq *h)
{
	if (!geteuid() || hsaq_has_grant(h))
		report(OK, "lc and holds: permitted");
	else
		report(WARN, "lc and holds: this user may not open /dev/kfd_sched; let an "
			     "administrator give it a group (chgrp, chmod 660, or a udev rule)");
}

/* The processes that one switch of a BE process disturbs (docs/amd.md). */
static const char *disturbed(const struct hsaq_device_info *info)
{
	switch (info->scheduler) {
	case HSAQ_SCHEDULER_HWS:
		return "all processes on this card, because the driver unmaps all their queues for "
		       "each queue of it";
	case HSAQ_SCHEDULER_MES:
	case HSAQ_SCHEDULER_NO_HWS:
		return "no other process";
	}
	return "unknown";
}

static void report_card(const struct hsaq_device_info *info)
{
	static const char *const scheduler[] = {
		[HSAQ_SCHEDULER_HWS] = "HWS (firmware)",
		[HSAQ_SCHEDULER_MES] = "MES (firmware)",
		[HSAQ_SCHEDULER_NO_HWS] = "NO_HWS (the driver)",
	};
	const uint32_t gfx = info->gfx_version;
	struct utsname kernel;

	uname(&kernel);
	report(info->cwsr ? OK : WARN, "device %u: %s gfx%u%x%x, Linux %s, scheduler %s, CWSR %s",
	       info->gpu_id, info->name, gfx / 10000, gfx / 100 % 100, gfx % 100, kernel.release,
	       scheduler[info->scheduler],
	       info->cwsr > 0 ? "on" :
	       info->cwsr     ? "unknown" :
				"off");
}

/* The ways to preempt. Return: there is one. */
static bool report_routes(const struct hsaq_device_info *info, enum hsaq_mode mode)
{
	char why[GP_WHY_LEN];

	if (mode == HSAQ_MODE_SCHED) {
		report(OK,
		       "device %u: routes: classes and holds of the driver; for run, attach, "
		       "set and gpreemptd",
		       info->gpu_id);
		return true;
	}
	if (!hsaq_can_unload_own(info, why, sizeof(why))) {
		report(MISSING, "device %u: routes: none: %s", info->gpu_id, why);
		return false;
	}
	report(OK, "device %u: routes: own queues, for run alone; a switch disturbs %s",
	       info->gpu_id, disturbed(info));
	if (!hsaq_soak_read(info, why, sizeof(why)))
		report(OK, "device %u: soak passed: %s", info->gpu_id, gp_printable(why));
	return true;
}

struct amd {
	struct hsaq *h;
	bool works; /* a device has a way to preempt */
};

static int check_card(const struct hsaq_device_info *info, void *arg)
{
	struct amd *amd = arg;
	const enum hsaq_mode mode = hsaq_device_mode(amd->h, info->gpu_id);
	char line[GP_WHY_LEN] = "";

	report_card(info);
	hsaq_device_mode_line(amd->h, info->gpu_id, line, sizeof(line));
	report(mode == HSAQ_MODE_SCHED ? OK : WARN, "device %u: %s", info->gpu_id, line);
	amd->works |= report_routes(info, mode);
	return 0;
}

/* true: an AMD GPU works here. */
static bool check_amd(struct gp_devices *devices)
{
	char line[GP_WHY_LEN] = "";
	const struct hsaq_open_opts opts = { .size = sizeof(opts),
					     .why = line,
					     .why_len = sizeof(line) };
	struct amd amd = { 0 };
	int err = hsaq_open(&opts, &amd.h);

	if (err == -ENOENT && access("/sys/class/kfd", F_OK)) {
		report(WARN, "AMD's KFD: not loaded");
		return false;
	}
	if (err) {
		report(MISSING, "%s", line);
		return false;
	}
	hsaq_devices(amd.h, check_card, &amd);
	if (hsaq_mode(amd.h) == HSAQ_MODE_SCHED)
		check_grant(amd.h);
	hsaq_close(amd.h);
	return check_devices("amd", devices) && amd.works;
}

static void check_slot(struct gp_device *dev)
{
	char spec[GP_DEVICE_NAME_LEN];
	GP_CLOSE int fd = -1;
	int err = gp_slot_try(dev, &fd);

	gp_device_spec(dev, spec, sizeof(spec));
	if (!err)
		report(OK, "%s: the short slice is free", spec);
	else if (err == -EBUSY)
		report(OK,
		       "%s: a best-effort process has the short slice "
		       "(gpreempt ls)",
		       spec);
	else
		report(WARN,
		       "%s: cannot lock the slot of the short slice: %s; best-effort processes "
		       "keep the driver's slice; create /run/gpreempt or set XDG_RUNTIME_DIR",
		       spec, strerror(-err));
}

static void check_log(struct gp_device *dev)
{
	struct gp_log *log = NULL;
	char spec[GP_DEVICE_NAME_LEN];
	int err = dev->ops->log_open(dev, &log);

	gp_device_spec(dev, spec, sizeof(spec));
	if (!err)
		report(OK,
		       "%s: context-switch log: readable; gpreempt stat is exact, and arrivals can "
		       "be predicted",
		       spec);
	else if (err == -EPERM || err == -EACCES)
		report(WARN,
		       "%s: context-switch log: only administrators may read it; set the nvidia.ko "
		       "option NVreg_RestrictProfilingToAdminUsers=0",
		       spec);
	else
		report(WARN,
		       "%s: context-switch log: unavailable (%s); gpreempt stat shows \"-\" for "
		       "GPU time",
		       spec, strerror(-err));
	if (!err)
		dev->ops->log_close(log);
}

static void check_profiling_param(void)
{
	char line[128];
	FILE *f = fopen("/proc/driver/nvidia/params", "re");
	int value;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RmProfilingAdminOnly: %d", &value) == 1)
			report(value ? WARN : OK, "RmProfilingAdminOnly is %d%s", value,
			       value ? ": ordinary users may not read the "
				       "context-switch log" :
				       "");
	if (f)
		fclose(f);
}

/* ---- access to other processes --------------------------------------------------- */

static bool has_ptrace_capability(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (f)
		fclose(f);
	return caps >> CAP_SYS_PTRACE & 1;
}

static void check_attach(void)
{
	char text[16] = "0";
	int scope;

	read_line("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text));
	scope = atoi(text);
	if (scope >= 3)
		report(WARN,
		       "attach: not possible until the next boot: kernel.yama.ptrace_scope is %d; "
		       "use gpreempt run",
		       scope);
	else if (has_ptrace_capability())
		report(OK, "attach: any process (CAP_SYS_PTRACE)");
	else if (scope)
		report(WARN,
		       "attach: needs CAP_SYS_PTRACE, because kernel.yama.ptrace_scope is %d; use "
		       "sudo gpreempt attach, or sysctl kernel.yama.ptrace_scope=0",
		       scope);
	else
		report(OK, "attach: this user's processes; use sudo (CAP_SYS_PTRACE) for others");
}

/* Of several processes the last of these is reported. */
enum mps {
	NO_MPS,
	MPS,
	MPS_PARTITIONED
};

static bool is_partitioning(const char *word)
{
	if (!strncmp(word, "--", 2))
		return !strcmp(word, "--static-partitioning");
	return word[0] == '-' && strchr(word, 'S');
}

/* Does a control daemon give each client multiprocessors of its own? Only its command shows it. */
static bool has_partitions(const char *pid)
{
	GP_FREE char *path = NULL;
	GP_FREE char *word = NULL;
	size_t size = 0;
	bool found = false;
	FILE *f;

	if (asprintf(&path, "/proc/%s/cmdline", pid) < 0)
		return false;
	f = fopen(path, "re");
	while (f && !found && getdelim(&word, &size, '\0', f) > 0)
		found = is_partitioning(word);
	if (f)
		fclose(f);
	return found;
}

/* comm has 15 characters, fewer than "nvidia-cuda-mps-control". */
static enum mps mps_of(const char *pid)
{
	char path[300], comm[64];

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	if (!read_line(path, comm, sizeof(comm)) || strcmp(comm, "nvidia-cuda-mps"))
		return NO_MPS;
	return has_partitions(pid) ? MPS_PARTITIONED : MPS;
}

static enum mps find_mps(void)
{
	DIR *proc = opendir("/proc");
	enum mps found = NO_MPS, here;
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		here = isdigit((unsigned char)entry->d_name[0]) ? mps_of(entry->d_name) : NO_MPS;
		found = here > found ? here : found;
	}
	if (proc)
		closedir(proc);
	return found;
}

static void check_mps(void)
{
	static const char *const how[] = {
		[MPS] = "",
		[MPS_PARTITIONED] = " with static partitioning (a client needs "
				    "CUDA_MPS_SM_PARTITION)",
	};
	enum mps mps = find_mps();

	if (mps == NO_MPS)
		report(OK, "MPS does not run");
	else
		report(WARN,
		       "MPS runs%s, and all its clients are one group; run latency-critical "
		       "processes outside it (unset CUDA_MPS_PIPE_DIRECTORY, or echo quit | "
		       "nvidia-cuda-mps-control)",
		       how[mps]);
}

/* ---- libraries in an application --------------------------------------------------- */

/* The stub opens it in programs that use a GPU. */
static bool check_layer(const char *dir)
{
	GP_FREE char *path = NULL;
	bool works;

	if (asprintf(&path, "%s/libgpreempt-layer.so", dir) < 0)
		return false;
	works = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!works)
		report(MISSING, "cannot load %s: %s; run make install again", path, dlerror());
	return works;
}

static void check_preload(void)
{
	char dir[PATH_MAX];
	GP_FREE char *path = NULL;
	void *lib;

	if (gp_path_libdir(dir, sizeof(dir))) {
		report(MISSING,
		       "libgpreempt-preload.so not found beside gpreempt (../lib) or in %s; run "
		       "make install",
		       GP_LIBDIR);
		return;
	}
	if (asprintf(&path, "%s/libgpreempt-preload.so", dir) < 0)
		return;
	lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!lib || !dlsym(lib, "InitializeInjection"))
		report(MISSING, "cannot load %s: %s; run make install again", path,
		       lib ? "it has no InitializeInjection" : dlerror());
	else if (check_layer(dir))
		report(OK, "%s", path);
}

/* The ways into the program @cmd. */
static void check_way(const char *cmd)
{
	struct gp_way way;

	gp_way_find(cmd, &way);
	report(way.preload ? OK : WARN, "%s: LD_PRELOAD %s (%s)", cmd,
	       way.preload ? "works: gpreempt sees all driver calls" : "is not used", way.why);
	report(way.injection ? OK : WARN, "%s: CUDA_INJECTION64_PATH %s", cmd,
	       way.injection ? "works" : "does not work");
}

static void check_injection(void)
{
	const char *value = getenv("CUDA_INJECTION64_PATH");

	if (!value || !*value)
		report(OK, "CUDA_INJECTION64_PATH is free");
	else if (strstr(value, "libgpreempt-preload.so"))
		report(OK, "CUDA_INJECTION64_PATH is gpreempt's: this is "
			   "inside gpreempt run");
	else
		report(OK, "CUDA_INJECTION64_PATH=%s: a profiler is set; gpreempt run loads it too",
		       value);
}

static void check_connections(void)
{
	static const char name[] = "CUDA_DEVICE_MAX_CONNECTIONS";
	const char *value = getenv(name);

	if (value && strtol(value, NULL, 10) == 1)
		report(WARN,
		       "%s=%s disables holds: a hold would block its own work; unset it, or set 2 "
		       "or more",
		       name, value);
}

/* What it loads stays out of this process. */
static void in_child(void (*check)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		check();
		fflush(stdout);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- the software GPU, containers ---------------------------------------------------- */

static bool check_softgpu(struct gp_devices *devices)
{
	char dir[PATH_MAX];

	if (gp_path_softgpu(dir, sizeof(dir))) {
		report(WARN,
		       "software GPU: %s/gpreempt/softgpu/libcuda.so.1 not found; run make install",
		       GP_LIBDIR);
		return false;
	}
	if (check_devices("softgpu", devices))
		return true;
	report(WARN, "software GPU: its server does not answer; set GPREEMPT_SOFTGPU to a socket "
		     "in a directory of this user");
	return false;
}

static void check_namespaces(void)
{
	char self[64] = "", first[64] = "";
	ssize_t n = readlink("/proc/self/ns/net", self, sizeof(self) - 1);
	ssize_t m = readlink("/proc/1/ns/net", first, sizeof(first) - 1);

	if (!access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK) ||
	    (n > 0 && m > 0 && strcmp(self, first)))
		report(WARN, "container: gpreempt hint, set and ls reach only this network "
			     "namespace; run them in the container");
	else
		report(OK, "hint, set and ls: reach this network namespace");
}

/* Engines look in both folders. */
static void check_cdi(void)
{
	static const char *const path[] = { "/etc/cdi/gpreempt.json", "/run/cdi/gpreempt.json" };
	char missing[PATH_MAX];

	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		int err = gp_cdi_check(path[i], missing);

		if (!err)
			report(OK,
			       "%s: containers get classes; programs of images with musl or an "
			       "old C library run without gpreempt",
			       path[i]);
		else if (err == -EBADMSG)
			report(WARN,
			       "%s: not readable, or not by gpreempt cdi; run gpreempt cdi "
			       ">%s",
			       path[i], path[i]);
		else if (err != -ENODATA)
			report(WARN, "%s: names %s: %s; run gpreempt cdi >%s while gpreemptd runs",
			       path[i], missing, strerror(-err), path[i]);
	}
}

/* ---- gpreemptd ------------------------------------------------------------------- */

/* Where a daemon on demand would have its socket. */
static void check_daemon_start(void)
{
	char program[PATH_MAX], dir[GP_WIRE_PATH_LEN];
	int err = gp_wire_user_dir(dir, sizeof(dir));

	if (!err)
		err = gp_wire_check_dir(dir, 077);
	if (gp_path_daemon(program, sizeof(program)))
		report(WARN, "gpreemptd: none runs or is installed; a second best-effort process "
			     "keeps the driver's slice; run make install");
	else if (err && err != -ENOENT)
		report(WARN,
		       "gpreemptd: none runs, and gpreempt run cannot start one: %s: %s; make it a "
		       "directory of this user with mode 700, or set XDG_RUNTIME_DIR",
		       dir, strerror(-err));
	else
		report(OK, "gpreemptd: none runs; a second best-effort process starts one");
}

static void check_daemon(void)
{
	GP_CLOSE int fd = gp_wire_daemon_connect();
	const char *named = getenv("GPREEMPT_DAEMON");
	pid_t pid;
	uid_t uid;

	if (fd >= 0 && !gp_wire_peer(fd, &pid, &uid))
		report(OK, "gpreemptd: runs, as %s", uid ? "this user" : "root");
	else if (fd == -ENOENT && named && *named)
		report(WARN,
		       "gpreemptd: GPREEMPT_DAEMON=%.128s names none, so none is started; "
		       "unset it",
		       named);
	else if (fd == -ENOENT)
		check_daemon_start();
	else
		report(WARN, "gpreemptd: %s", gp_daemon_reason(fd));
}

struct doctor {
	struct gp_cmd_args cmd;
	bool soak;
	uint32_t cycles;
};

static const struct argp_option options[] = {
	{ "soak", 'S', NULL, 0,
	  "AMD, stock driver: take the queues of CMD off and on, and record that the card stood it",
	  0 },
	{ "cycles", 'n', "N", 0, "of --soak: 1 to 10000000; default 10000", 0 },
	{ "device", GP_KEY_DEVICE, "DEVICE", 0, "of --soak: a UUID or PCI address", 0 },
	{ 0 },
};

static error_t parse_cycles(struct doctor *d, const char *arg)
{
	char *end;
	unsigned long n = *arg >= '0' && *arg <= '9' ? strtoul(arg, &end, 10) : 0;

	if (n && !*end && n <= GP_SOAK_CYCLES_MAX) {
		d->cycles = (uint32_t)n;
		return 0;
	}
	gp_fail("doctor: --cycles=%s: write a number from 1 to %u", arg, GP_SOAK_CYCLES_MAX);
	return GP_ARGS_SAID;
}

static error_t check_words(const struct doctor *d)
{
	const char *next = d->cmd.argv && !d->soak ? d->cmd.argv[1] : NULL;

	if (next)
		gp_fail("doctor: %s: unexpected argument; write one PROGRAM at most", next);
	else if (d->soak && !d->cmd.argv)
		gp_fail("doctor: command missing; write gpreempt doctor --soak -- CMD");
	else if (!d->soak && (d->cycles || d->cmd.device))
		gp_fail("doctor: --%s: only with --soak", d->cycles ? "cycles" : "device");
	else
		return 0;
	return GP_ARGS_SAID;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct doctor *d = state->input;

	switch (key) {
	case 'S':
		d->soak = true;
		return 0;
	case 'n':
		return parse_cycles(d, arg);
	case ARGP_KEY_END:
		return check_words(d);
	default:
		return gp_args_cmd("doctor", &d->cmd, key, arg, state);
	}
}

int gp_verb_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[PROGRAM]\n--soak -- CMD [ARG...]",
		.doc = "Check this machine: what works, what is missing, and how to get it. With "
		       "PROGRAM: how gpreempt comes into it.\vExit "
		       "status: 0 if gpreempt run works here, on a GPU or on the software GPU; "
		       "else 1.",
	};
	GP_DEVICES struct gp_devices real = { 0 }, soft = { 0 }, amd = { 0 };
	struct doctor d = { 0 };
	char dir[PATH_MAX];
	bool works, amd_works;
	int err = gp_args(&argp, argc, argv, &d);

	if (err)
		return err;
	if (d.cmd.argv && !d.soak && !gp_path_is_program(d.cmd.argv[0]))
		return gp_launch_failed("doctor", d.cmd.argv[0],
					access(d.cmd.argv[0], F_OK) ? ENOENT : EACCES);
	if (d.soak)
		return gp_soak(d.cmd.device, d.cycles ? d.cycles : GP_SOAK_CYCLES, d.cmd.argv);
	check_driver();
	works = check_devices("nvidia", &real);
	if (works || !access("/sys/module/nvidia", F_OK)) {
		check_node("/dev/nvidiactl");
		check_profiling_param();
		check_mps();
	}
	amd_works = check_amd(&amd);
	works |= amd_works;
	works |= check_softgpu(&soft);
	for (size_t i = 0; i < real.count; i++) {
		check_slot(real.dev[i]);
		check_log(real.dev[i]);
	}
	for (size_t i = 0; i < soft.count; i++) {
		check_slot(soft.dev[i]);
		check_log(soft.dev[i]);
	}
	check_daemon();
	check_attach();
	in_child(check_preload);
	check_injection();
	if (d.cmd.argv)
		check_way(d.cmd.argv[0]);
	check_connections();
	check_namespaces();
	check_cdi();
	if (!check_backend() || gp_path_libdir(dir, sizeof(dir)))
		works = false;
	printf("\n%s\n", !works ? "gpreempt run does not work here yet: see \"missing\" "
				  "above" :
			 real.count || amd_works ? "gpreempt run --class=lc|be -- CMD works here" :
						   "gpreempt run --class=lc|be --device soft0 -- "
						   "CMD works here, on the software GPU");
	return works ? 0 : 1;
}
