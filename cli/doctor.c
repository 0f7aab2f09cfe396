// SPDX-License-Identifier: Apache-2.0
/*
 * doctor.c - gpreempt doctor: what works here, what is missing, how to get it.
 *
 * One process has one libcuda (NVIDIA's or the software GPU's, whichever came
 * first), so whatever may load one is looked at in a child.
 */
#include <dlfcn.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

#define DRIVER_MIN 535
#define CAP_SYS_PTRACE_BIT 19

enum mark { OK, WARN, MISSING };

static void say(enum mark mark, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(enum mark mark, const char *what, const char *fmt, ...)
{
	static const char *const words[] = { "ok", "warn", "missing" };
	va_list ap;

	printf("%-8s%-15s", words[mark], what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* First line of @path, without its newline. */
static int read_line(const char *path, char *buf, size_t len)
{
	FILE *f = fopen(path, "re");
	char *got;

	if (!f)
		return -errno;
	got = fgets(buf, (int)len, f);
	fclose(f);
	if (!got)
		return -ENODATA;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* The text behind "@key: " in @path. */
static int read_field(const char *path, const char *key, char *buf, size_t len)
{
	FILE *f = fopen(path, "re");
	size_t n = strlen(key);
	char line[256];
	int err = -ENODATA;

	if (!f)
		return -errno;
	while (err && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, n) || line[n] != ':')
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(buf, len, "%s", line + n + 1 + strspn(line + n + 1, " \t"));
		err = 0;
	}
	fclose(f);
	return err;
}

/* ---- the driver -------------------------------------------------------------- */

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue ..." */
static int version_of_proc(char *buf, size_t len)
{
	char line[256];
	char *at = line;
	int err = read_line("/proc/driver/nvidia/version", line, sizeof(line));

	if (err)
		return err;
	while (at && !strchr("123456789", *++at))
		at = strchr(at, ' ');
	if (!at || !*at)
		return -EPROTO;
	snprintf(buf, len, "%.*s", (int)strcspn(at, " "), at);
	return 0;
}

static void check_driver(void)
{
	char version[64];

	if (read_line("/sys/module/nvidia/version", version, sizeof(version)) &&
	    version_of_proc(version, sizeof(version))) {
		say(MISSING, "driver",
		    "no NVIDIA driver is loaded; install %d or newer, or use --device soft0",
		    DRIVER_MIN);
		return;
	}
	if (atoi(version) < DRIVER_MIN)
		say(MISSING, "driver", "NVIDIA %s is too old; install %d or newer",
		    version, DRIVER_MIN);
	else
		say(OK, "driver", "NVIDIA %s", version);
}

static void check_file(const char *path)
{
	if (!access(path, R_OK | W_OK))
		return;
	if (errno == ENOENT)
		say(MISSING, "permissions",
		    "%s is not there; nvidia-modprobe makes it (in a container: --gpus all)",
		    path);
	else
		say(MISSING, "permissions",
		    "%s: %s; join the group that owns it, or chmod 666 as the driver's default",
		    path, strerror(errno));
}

static void check_permissions(const struct gp_devices *devices)
{
	char path[32];

	check_file("/dev/nvidiactl");
	for (size_t i = 0; i < devices->count; i++) {
		snprintf(path, sizeof(path), "/dev/nvidia%u", devices->dev[i]->id.minor);
		check_file(path);
	}
}

/* ---- devices ---------------------------------------------------------------------- */

static void check_caps(struct gp_device *dev)
{
	struct gp_hal_caps caps;

	if (dev->ops->caps(dev, &caps)) {
		say(WARN, "preemption", "%s does not tell what it can do", dev->id.name);
		return;
	}
	if ((caps.caps & (GP_CAP_SLICES | GP_CAP_SLICE_PREEMPTS)) !=
	    (GP_CAP_SLICES | GP_CAP_SLICE_PREEMPTS))
		say(MISSING, "preemption", "%s cannot preempt by timeslices", dev->id.name);
	else
		say(OK, "preemption", "by timeslices, a switch takes some %llu us%s",
		    (unsigned long long)(caps.switch_ns / 1000),
		    caps.caps & GP_CAP_HOLD ? "; hints and holds work" : "");
	if (!(caps.caps & GP_CAP_HOLD))
		say(WARN, "holds", "%s cannot hold: hints do nothing", dev->id.name);
}

static void check_slot(struct gp_device *dev)
{
	GP_CLOSE int fd = -1;
	int err = gp_slot_try(dev, &fd);

	if (err)
		fd = -1;
	if (!err)
		say(OK, "short slice", "free for the next best-effort process");
	else if (err == -EBUSY)
		say(OK, "short slice",
		    "a best-effort process has it; the next one waits for its end (gpreempt ls)");
	else
		say(WARN, "short slice",
		    "its lock: %s; make /run/gpreempt or $XDG_RUNTIME_DIR/gpreempt writable",
		    strerror(-err));
}

static void check_log(struct gp_device *dev)
{
	char admin_only[16] = "";
	struct gp_log *log = NULL;
	int err = dev->ops->log_open(dev, &log);

	read_field("/proc/driver/nvidia/params", "RmProfilingAdminOnly", admin_only,
		   sizeof(admin_only));
	if (!err) {
		dev->ops->log_close(log);
		say(OK, "switch log", "readable: gpreempt stat tells exact GPU time");
	} else if (!strcmp(admin_only, "1") && !gp_device_is_soft(dev)) {
		say(WARN, "switch log",
		    "not readable: RmProfilingAdminOnly is 1; options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, or sudo gpreempt stat");
	} else {
		say(WARN, "switch log", "not readable: %s; gpreempt stat shows - for GPU time",
		    strerror(-err));
	}
}

static void check_device(struct gp_device *dev)
{
	char spec[GP_DEVICE_NAME_LEN];

	gp_device_spec(dev, spec, sizeof(spec));
	say(OK, "device", "%s, %s", spec, dev->id.name);
	check_caps(dev);
	check_slot(dev);
	check_log(dev);
}

/* 0: a device is there. */
static int check_gpu(void)
{
	GP_DEVICES struct gp_devices devices = { 0 };
	char why[GP_WHY_LEN];

	if (gp_devices_open(NULL, &devices, why, sizeof(why))) {
		say(MISSING, "device", "%s", why);
		return 1;
	}
	if (!gp_device_is_soft(devices.dev[0]))
		check_permissions(&devices);
	for (size_t i = 0; i < devices.count; i++)
		check_device(devices.dev[i]);
	return 0;
}

static int check_softgpu(void)
{
	GP_DEVICES struct gp_devices devices = { 0 };
	char path[PATH_MAX], why[GP_WHY_LEN];

	if (gp_path_softgpu(path, sizeof(path))) {
		say(MISSING, "software GPU",
		    "its libcuda.so.1 is not in %s/gpreempt/softgpu; make install puts it there",
		    GP_LIBDIR);
		return 1;
	}
	if (gp_devices_open("soft0", &devices, why, sizeof(why))) {
		say(MISSING, "software GPU", "installed in %s, but does not answer: %s; "
		    "GPREEMPT_SOFTGPU_LOG=FILE makes its server say why", path, why);
		return 1;
	}
	say(OK, "software GPU", "answers; --device soft0 runs on it");
	return 0;
}

/* ---- CUDA ---------------------------------------------------------------------------- */

static int check_libcuda(void)
{
	if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
		say(OK, "libcuda", "libcuda.so.1 loads");
		return 0;
	}
	say(MISSING, "libcuda",
	    "libcuda.so.1 does not load; it comes with the driver (package libcuda1)");
	return 1;
}

/* The names that the preload tries, in the places it can know without an app. */
static int check_cupti(void)
{
	static const char *const dirs[] = {
		"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/",
		"/usr/local/cuda/extras/CUPTI/lib64/",
	};
	char path[128];

	for (size_t i = 0; i < 2 * sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%slibcupti.so.%d", dirs[i / 2],
			 i % 2 ? 12 : 13);
		if (!dlopen(path, RTLD_LAZY | RTLD_LOCAL))
			continue;
		say(OK, "libcupti", "%s loads: synchronisation of an app is seen", path);
		return 0;
	}
	say(WARN, "libcupti",
	    "no libcupti.so.13 or .12: unless the app brings it, holds are renewed in pieces of 500 us; "
	    "install the CUDA toolkit's CUPTI (cuda-cupti) for longer ones");
	return 1;
}

static void check_injection(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	char libdir[PATH_MAX];

	if (gp_path_libdir(libdir, sizeof(libdir)))
		say(MISSING, "preload",
		    "libgpreempt-preload.so is not in ../lib nor in %s; make install puts it there",
		    GP_LIBDIR);
	else
		say(OK, "preload", "%s/libgpreempt-preload.so", libdir);
	if (path && *path)
		say(WARN, "injection",
		    "CUDA_INJECTION64_PATH is %s (a profiler?); gpreempt run calls it too%s",
		    path, access(path, R_OK) ? ", but it cannot be read: unset it" :
		    "; beside it, synchronisation is not seen and holds go in pieces of 500 us");
	else
		say(OK, "injection", "CUDA_INJECTION64_PATH is free");
}

/* ---- other processes -------------------------------------------------------------------- */

static bool may_ptrace_all(void)
{
	char caps[64];

	if (read_field("/proc/self/status", "CapEff", caps, sizeof(caps)))
		return false;
	return strtoull(caps, NULL, 16) >> CAP_SYS_PTRACE_BIT & 1;
}

static void check_attach(void)
{
	char scope[16] = "0";

	read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (may_ptrace_all())
		say(OK, "attach", "to every process (CAP_SYS_PTRACE is here)");
	else if (!strcmp(scope, "0"))
		say(OK, "attach", "to your own processes; others' take CAP_SYS_PTRACE (sudo)");
	else
		say(WARN, "attach",
		    "kernel.yama.ptrace_scope is %s: use sudo gpreempt attach, start with gpreempt run, or sysctl kernel.yama.ptrace_scope=0",
		    scope);
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

static bool process_runs(const char *prefix)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	char path[300], comm[32];
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		if (!is_number(e->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		found = !read_line(path, comm, sizeof(comm)) &&
			!strncmp(comm, prefix, strlen(prefix));
	}
	if (dir)
		closedir(dir);
	return found;
}

static void check_mps(void)
{
	/* comm has 15 characters: nvidia-cuda-mps-control, -server. */
	if (process_runs("nvidia-cuda-mps"))
		say(WARN, "MPS",
		    "its daemon runs: its clients are one group and cannot preempt each other; echo quit | nvidia-cuda-mps-control ends it");
	else
		say(OK, "MPS", "not running: each process is a group of its own");
}

/* ---- the verb ------------------------------------------------------------------------------ */

/* @check's result, from a child that may load what it likes. */
static int in_child(int (*check)(void))
{
	int status, result;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		gp_note("doctor: fork: %s", strerror(errno));
		return 1;
	}
	if (!pid) {
		result = check();
		fflush(stdout);
		_exit(result);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	if (WIFSIGNALED(status))
		say(WARN, "doctor", "a check died of signal %d", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	gp_fail("doctor: %s: not expected; doctor takes no argument", arg);
	return GP_ARGS_SAID;
}

int gp_verb_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "",
		.doc = "Say what works here, what is missing, and how to get it."
		       "\vExit status: 0 when gpreempt run works here, on a GPU or on the "
		       "software GPU, else 1.",
	};
	char libdir[PATH_MAX];
	int gpu, soft;
	int err = gp_args(&argp, argc, argv, NULL);

	if (err)
		return err;
	say(OK, "gpreempt", "%s", GP_VERSION);
	check_driver();
	gpu = in_child(check_gpu);
	in_child(check_libcuda);
	in_child(check_cupti);
	check_injection();
	check_attach();
	check_mps();
	soft = in_child(check_softgpu);
	return (gpu && soft) || gp_path_libdir(libdir, sizeof(libdir)) ? 1 : 0;
}
