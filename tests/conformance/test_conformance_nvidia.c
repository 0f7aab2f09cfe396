// SPDX-License-Identifier: Apache-2.0
/*
 * The suite over the NVIDIA backend, on whatever libcuda.so.1 the loader finds:
 * NVIDIA's, or the software GPU's (LD_LIBRARY_PATH and GPREEMPT_BACKEND=softgpu;
 * tests/e2e/test_conformance_soft.py does so). Best-effort processes are
 * bench/be of the build in GP_BUILD. Skipped where there is no GPU.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hal/procfd.h"
#include "nvidia-backend/nv_internal.h"
#include "tests/common/gp_test.h"
#include "tests/conformance/conformance.h"

#define MS 1000000ull
#define STARTUP_STEPS 2000 /* of 10 ms each */
#define REQUEST_NS 100000u
#define MAPPED 2u /* CU_MEMHOSTALLOC_DEVICEMAP */

extern char **environ;

struct rig_be {
	struct rig_be *next;
	pid_t pid;
	char out[64]; /* a line for each kernel that is done */
};

struct rig_lc {
	void *context, *module, *function, *stream, *word;
	uint64_t word_at;
};

/* The little of the driver API that a request takes. */
static struct {
	void *lib;
	int (*init)(unsigned int);
	int (*ctx_create)(void **, unsigned int, int);
	int (*ctx_destroy)(void *);
	int (*host_alloc)(void **, size_t, unsigned int);
	int (*host_free)(void *);
	int (*host_pointer)(uint64_t *, void *, unsigned int);
	int (*module_load)(void **, const void *);
	int (*function)(void **, void *, const char *);
	int (*stream_create)(void **, unsigned int);
	int (*stream_sync)(void *);
	int (*launch)(void *, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
		      unsigned int, unsigned int, void *, void **, void **);
	int (*soft_sleep_until)(uint64_t); /* software GPU only */
} cu;

static struct gp_device *clock_dev;
static struct rig_be *bes;
static struct rig_lc *lc_left; /* at most one at a time */
static pid_t stranger_left;    /* likewise */

static int load_cuda(void)
{
	const struct {
		void *at;
		const char *name;
	} needed[] = {
		{ &cu.init, "cuInit" },
		{ &cu.ctx_create, "cuCtxCreate_v2" },
		{ &cu.ctx_destroy, "cuCtxDestroy_v2" },
		{ &cu.host_alloc, "cuMemHostAlloc" },
		{ &cu.host_free, "cuMemFreeHost" },
		{ &cu.host_pointer, "cuMemHostGetDevicePointer_v2" },
		{ &cu.module_load, "cuModuleLoadData" },
		{ &cu.function, "cuModuleGetFunction" },
		{ &cu.stream_create, "cuStreamCreate" },
		{ &cu.stream_sync, "cuStreamSynchronize" },
		{ &cu.launch, "cuLaunchKernel" },
	};

	cu.lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!cu.lib) {
		printf("skipped: %s\n", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		void *sym = dlsym(cu.lib, needed[i].name);

		if (!sym) {
			printf("skipped: libcuda.so.1 has no %s\n", needed[i].name);
			return -1;
		}
		memcpy(needed[i].at, &sym, sizeof(sym));
	}
	*(void **)&cu.soft_sleep_until = dlsym(cu.lib, "gp_soft_sleep_until");
	return cu.init(0);
}

static int open_nvidia(struct gp_device **dev)
{
	char why[256] = "";
	int err = gp_device_open(NULL, dev, why, sizeof(why));

	if (err)
		printf("%s\n", why);
	return err;
}

static struct rig rig;

static int setup(void)
{
	const char *build = getenv("GP_BUILD");

	if (!build) {
		printf("skipped: GP_BUILD is not set, no best-effort program\n");
		return -1;
	}
	if (load_cuda() || open_nvidia(&clock_dev))
		return -1;
	rig.ops = clock_dev->ops;
	return 0;
}

static void teardown(void)
{
	gp_device_close(clock_dev);
}

/* ---- time ------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	uint64_t ns = 0;

	assert_int_equal(clock_dev->ops->now(clock_dev, &ns), 0);
	return ns;
}

static void run(uint64_t ns)
{
	uint64_t until = now_ns() + ns;
	struct timespec ts = {
		.tv_sec = (time_t)(until / 1000000000u),
		.tv_nsec = (long)(until % 1000000000u),
	};

	if (cu.soft_sleep_until) {
		cu.soft_sleep_until(until);
		return;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* ---- a best-effort process ----------------------------------------------------- */

/* Each line is the completion time of one kernel; they may differ in length. */
static uint64_t be_done(struct rig_be *be)
{
	FILE *f = fopen(be->out, "re");
	uint64_t lines = 0;
	int c;

	if (!f)
		return 0;
	while ((c = fgetc(f)) != EOF)
		lines += c == '\n';
	fclose(f);
	return lines;
}

static void be_stop(struct rig_be *be)
{
	struct rig_be **link;

	for (link = &bes; *link != be; link = &(*link)->next)
		;
	*link = be->next;
	kill(be->pid, SIGKILL);
	waitpid(be->pid, NULL, 0);
	unlink(be->out);
	free(be);
}

static void be_spawn(struct rig_be *be)
{
	char path[512], out[96];
	char *argv[] = { path, (char *)"--kernel-us=1000", out, NULL };

	snprintf(path, sizeof(path), "%s/bench/be", getenv("GP_BUILD"));
	snprintf(out, sizeof(out), "--out=%s", be->out);
	if (posix_spawn(&be->pid, path, NULL, NULL, argv, environ))
		fail_msg("cannot start %s", path);
}

static struct rig_be *be_start(void)
{
	/* Before it knows the device, a virtual clock does not wait for it. */
	const struct timespec nap = { .tv_nsec = 5 * MS };
	struct rig_be *be = calloc(1, sizeof(*be));
	int fd;

	assert_non_null(be);
	snprintf(be->out, sizeof(be->out), "/tmp/gpreempt-be-XXXXXX");
	fd = mkostemp(be->out, O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	be_spawn(be);
	be->next = bes;
	bes = be;
	for (int i = 0; i < STARTUP_STEPS && be_done(be) < 3; i++) {
		if (waitpid(be->pid, NULL, WNOHANG))
			fail_msg("bench/be ended by itself");
		nanosleep(&nap, NULL);
		run(10 * MS);
	}
	if (be_done(be) < 3) {
		be_stop(be);
		return NULL;
	}
	return be;
}

static pid_t be_pid(struct rig_be *be)
{
	return be->pid;
}

struct taking {
	int pidfd;
	int *fd;
	size_t n, max;
};

static int take(void *arg, int fd)
{
	struct taking *t = arg;

	if (t->n == t->max)
		return 1;
	t->fd[t->n] = (int)syscall(SYS_pidfd_getfd, t->pidfd, fd, 0);
	assert_true(t->fd[t->n] >= 0);
	t->n++;
	return 0;
}

/* bench/be knows nothing of gpreempt, so it is helped. */
static size_t be_files(struct rig_be *be, int *fd, size_t max)
{
	struct taking t = { .fd = fd, .max = max };

	t.pidfd = (int)syscall(SYS_pidfd_open, be->pid, 0);
	assert_true(t.pidfd >= 0);
	assert_int_equal(gp_proc_fds(be->pid, gp_nv_transport_current()->prefix, take, &t), 0);
	close(t.pidfd);
	return t.n;
}

static pid_t stranger(void)
{
	char *argv[] = { (char *)"sleep", (char *)"1000", NULL };

	assert_int_equal(posix_spawnp(&stranger_left, "sleep", NULL, NULL, argv, environ), 0);
	return stranger_left;
}

/* ---- our own context --------------------------------------------------------------- */

static struct rig_lc *lc_start(void)
{
	struct rig_lc *lc = calloc(1, sizeof(*lc));

	assert_non_null(lc);
	assert_int_equal(cu.ctx_create(&lc->context, 0, 0), 0);
	lc_left = lc;
	assert_int_equal(cu.host_alloc(&lc->word, 4096, MAPPED), 0);
	memset(lc->word, 0, 4096);
	assert_int_equal(cu.host_pointer(&lc->word_at, lc->word, 0), 0);
	assert_int_equal(cu.module_load(&lc->module, gp_nv_hold_ptx), 0);
	assert_int_equal(cu.function(&lc->function, lc->module, GP_NV_HOLD_KERNEL), 0);
	assert_int_equal(cu.stream_create(&lc->stream, 1), 0);
	return lc;
}

static void *lc_context(struct rig_lc *lc)
{
	return lc->context;
}

/* A kernel of REQUEST_NS: a hold that nobody releases. */
static uint64_t lc_request(struct rig_lc *lc)
{
	struct gp_nv_hold_params p = {
		.word = lc->word_at,
		.stamp = lc->word_at + 64,
		.limit_ns = REQUEST_NS,
		.ticket = 1,
	};
	void *params[] = { &p.word, &p.stamp, &p.limit_ns, &p.ticket };
	uint64_t start = now_ns();

	assert_int_equal(cu.launch(lc->function, 1, 1, 1, 1, 1, 1, 0, lc->stream, params, NULL), 0);
	assert_int_equal(cu.stream_sync(lc->stream), 0);
	return now_ns() - start;
}

static void lc_stop(struct rig_lc *lc)
{
	cu.host_free(lc->word);
	assert_int_equal(cu.ctx_destroy(lc->context), 0);
	lc_left = NULL;
	free(lc);
}

static void reset(void)
{
	while (bes)
		be_stop(bes);
	if (lc_left)
		lc_stop(lc_left);
	if (stranger_left) {
		kill(stranger_left, SIGKILL);
		waitpid(stranger_left, NULL, 0);
		stranger_left = 0;
	}
}

/* No inject: nothing in a driver fails on demand. */
static struct rig rig = {
	.name = "nvidia",
	.setup = setup,
	.teardown = teardown,
	.open = open_nvidia,
	.be_start = be_start,
	.be_pid = be_pid,
	.be_done = be_done,
	.be_files = be_files,
	.be_stop = be_stop,
	.lc_start = lc_start,
	.lc_context = lc_context,
	.lc_request = lc_request,
	.lc_stop = lc_stop,
	.reset = reset,
	.run = run,
	.stranger = stranger,
};

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	return gp_conformance(&rig);
}
