// SPDX-License-Identifier: Apache-2.0
/*
 * The suite over the AMD backend and libhsaq, on a KFD in this process. Best-effort
 * processes are children that sleep; the fake counts what their queues would do.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kfd-patch/uapi/linux/kfd_sched.h"
#include "tests/common/gp_test.h"
#include "tests/conformance/conformance.h"
#include "tests/hsaq/fake_kfd.h"

#define KERNEL_NS 1000000u
#define NR_HOLD _IOC_NR(AMDKFD_IOC_SCHED_HOLD)
#define NR_RELEASE _IOC_NR(AMDKFD_IOC_SCHED_RELEASE)

struct rig_be {
	struct rig_be *next;
	pid_t pid;
	uint32_t queue;
};

struct rig_lc {
	uint32_t queue;
};

static struct gp_device *opened; /* the last that the suite opened */
static struct rig_be *bes;
static struct rig rig;

static int setup(void)
{
	const struct fake_config config = { .kernel = FAKE_PATCHED };

	fake_kfd_start(&config);
	rig.ops = gp_hal_find("amd");
	return rig.ops ? 0 : -1;
}

static int open_fake(struct gp_device **dev)
{
	struct gp_device_list list = { 0 };
	int err = rig.ops->probe(&list);

	if (!err)
		err = rig.ops->open(&list.dev[0], dev);
	if (err)
		return err;
	(*dev)->ops = rig.ops;
	opened = *dev;
	return 0;
}

static struct rig_be *be_start(void)
{
	struct rig_be *be = calloc(1, sizeof(*be));

	assert_non_null(be);
	be->pid = fork();
	assert_true(be->pid >= 0);
	if (!be->pid)
		for (;;)
			pause();
	fake_process_add(be->pid);
	be->queue = fake_queue_create(be->pid, FAKE_GPU, 0);
	be->next = bes;
	bes = be;
	return be;
}

static pid_t be_pid(struct rig_be *be)
{
	return be->pid;
}

static uint64_t be_done(struct rig_be *be)
{
	return fake_queue_ran_ns(be->pid, be->queue) / KERNEL_NS;
}

static void be_stop(struct rig_be *be)
{
	struct rig_be **link;

	for (link = &bes; *link != be; link = &(*link)->next)
		;
	*link = be->next;
	fake_process_end(be->pid);
	kill(be->pid, SIGKILL);
	waitpid(be->pid, NULL, 0);
	free(be);
}

static void reset(void)
{
	while (bes)
		be_stop(bes);
}

static struct rig_lc *lc_start(void)
{
	struct rig_lc *lc = calloc(1, sizeof(*lc));

	assert_non_null(lc);
	lc->queue = fake_queue_create(getpid(), FAKE_GPU, 0);
	return lc;
}

static void *lc_context(struct rig_lc *lc)
{
	void *context = NULL;

	assert_int_equal(opened->ops->process_context(opened, &context), 0);
	return context;
}

/* Beside a BE queue that runs, it is as slow as that one's kernel. */
static uint64_t lc_request(struct rig_lc *lc)
{
	assert_int_equal(fake_queue_state(getpid(), lc->queue), KFD_SCHED_STATE_LOADED);
	for (struct rig_be *b = bes; b; b = b->next)
		if (fake_queue_state(b->pid, b->queue) == KFD_SCHED_STATE_LOADED)
			return KERNEL_NS;
	return KERNEL_NS / 10;
}

static void lc_stop(struct rig_lc *lc)
{
	fake_queue_destroy(getpid(), lc->queue);
	free(lc);
}

static void run(uint64_t ns)
{
	const struct timespec ts = {
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};

	nanosleep(&ts, NULL);
}

static bool inject(enum rig_fault fault, size_t at, int err)
{
	fake_fail(fault == RIG_FAIL_SUSPEND ? NR_HOLD : NR_RELEASE, (unsigned int)at, err);
	return fault != RIG_FAIL_SET_SLICE;
}

static struct rig rig = {
	.name = "amd-fake",
	.setup = setup,
	.teardown = fake_kfd_stop,
	.open = open_fake,
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
	.inject = inject,
	.stranger = getppid,
};

int main(void)
{
	return gp_conformance(&rig);
}
