// SPDX-License-Identifier: Apache-2.0
/*
 * The suite over the AMD backend, on the running kernel's KFD. Processes that use the GPU are
 * the program in GP_KFD_HELPER (tests/kfd/t_gpreempt.c), which knows packets and code objects.
 * "be FILE" keeps a queue full and counts finished work in FILE. "lc" has a queue, launches on
 * request, and answers with the time. Skipped without a KFD.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/common/gp_test.h"
#include "tests/conformance/conformance.h"

#define MS 1000000ull
#define STARTUP_STEPS 1000 /* of 10 ms each */
#define CLASS_LC 1u	   /* enum gp_class */

struct rig_be {
	struct rig_be *next;
	pid_t pid;
	volatile uint64_t *done;
	char file[64];
};

struct rig_lc {
	pid_t pid;
	int to, from;
};

static const char *helper;
static struct gp_device *opened; /* the suite's last */
static struct rig_be *bes;
static struct rig_lc *lc_left; /* at most one at a time */
static struct rig rig;

static int open_amd(struct gp_device **dev)
{
	struct gp_device_list list = { 0 };
	int err = rig.ops->probe(&list);

	if (!err && !list.count)
		err = -ENODEV;
	if (!err)
		err = rig.ops->open(&list.dev[0], dev);
	if (err)
		return err;
	(*dev)->ops = rig.ops;
	opened = *dev;
	return 0;
}

static int setup(void)
{
	struct gp_device *dev;
	char why[256] = "no KFD here";

	helper = getenv("GP_KFD_HELPER");
	rig.ops = gp_hal_find("amd");
	if (helper && !open_amd(&dev)) {
		dev->ops->close(dev);
		return 0;
	}
	if (helper)
		rig.ops->explain(-ENODEV, why, sizeof(why));
	printf("skipped: %s\n", helper ? why : "GP_KFD_HELPER is not set");
	return -1;
}

static void teardown(void)
{
}

static void run(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void become(const char *mode, const char *file)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(helper, helper, mode, file, NULL);
	_exit(127);
}

/* ---- best effort ---------------------------------------------------------------- */

static void be_map(struct rig_be *be)
{
	int fd;

	snprintf(be->file, sizeof(be->file), "/tmp/gpreempt-be-XXXXXX");
	fd = mkostemp(be->file, O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	be->done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(be->done, MAP_FAILED);
	close(fd);
}

static uint64_t be_done(struct rig_be *be)
{
	return *be->done;
}

static pid_t be_pid(struct rig_be *be)
{
	return be->pid;
}

static void be_stop(struct rig_be *be)
{
	struct rig_be **link;

	for (link = &bes; *link != be; link = &(*link)->next)
		;
	*link = be->next;
	kill(be->pid, SIGKILL);
	waitpid(be->pid, NULL, 0);
	unlink(be->file);
	munmap((void *)be->done, 4096);
	free(be);
}

static struct rig_be *be_start(void)
{
	struct rig_be *be = calloc(1, sizeof(*be));

	assert_non_null(be);
	be_map(be);
	be->pid = fork();
	assert_true(be->pid >= 0);
	if (!be->pid)
		become("be", be->file);
	be->next = bes;
	bes = be;
	for (int i = 0; i < STARTUP_STEPS && be_done(be) < 3; i++) {
		if (waitpid(be->pid, NULL, WNOHANG))
			fail_msg("the best-effort helper ended by itself");
		run(10 * MS);
	}
	if (be_done(be) < 3)
		fail_msg("the best-effort helper does not come on");
	return be;
}

/* ---- latency critical ---------------------------------------------------------------- */

/* Another process, which gets the holder's class. */
static struct rig_lc *lc_start(void)
{
	const struct gp_class_value cls = { .cls = CLASS_LC };
	struct rig_lc *lc = calloc(1, sizeof(*lc));
	int down[2], up[2];

	assert_non_null(lc);
	assert_int_equal(pipe2(down, O_CLOEXEC), 0);
	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	lc->pid = fork();
	assert_true(lc->pid >= 0);
	if (!lc->pid) {
		dup2(down[0], 0);
		dup2(up[1], 1);
		become("lc", NULL);
	}
	close(down[0]);
	close(up[1]);
	lc->to = down[1];
	lc->from = up[0];
	lc_left = lc;
	/* One request creates its queue. */
	assert_true(rig.lc_request(lc) > 0);
	assert_int_equal(rig.ops->set_class(opened, lc->pid, &cls), 0);
	return lc;
}

static void *lc_context(struct rig_lc *lc)
{
	void *context = NULL;

	assert_int_equal(opened->ops->process_context(opened, &context), 0);
	return context;
}

static uint64_t lc_request(struct rig_lc *lc)
{
	uint64_t took = 0;

	assert_int_equal(write(lc->to, "r", 1), 1);
	assert_int_equal(read(lc->from, &took, sizeof(took)), sizeof(took));
	return took;
}

static void lc_stop(struct rig_lc *lc)
{
	close(lc->to);
	close(lc->from);
	kill(lc->pid, SIGKILL);
	waitpid(lc->pid, NULL, 0);
	lc_left = NULL;
	free(lc);
}

static void reset(void)
{
	while (bes)
		be_stop(bes);
	if (lc_left)
		lc_stop(lc_left);
}

/* No inject: a driver does not fail on demand. */
static struct rig rig = {
	.name = "kfd",
	.setup = setup,
	.teardown = teardown,
	.open = open_amd,
	.be_start = be_start,
	.be_pid = be_pid,
	.be_done = be_done,
	.be_stop = be_stop,
	.lc_start = lc_start,
	.lc_context = lc_context,
	.lc_request = lc_request,
	.lc_stop = lc_stop,
	.reset = reset,
	.run = run,
};

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getenv("KFD_SLOW_KERNEL"))
		rig.slow = 20;
	return gp_conformance(&rig);
}
