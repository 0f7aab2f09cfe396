// SPDX-License-Identifier: Apache-2.0
/* sim_rig.c - the in-process software GPU under the suite, in both its kinds. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "softgpu/sim_hal.h"
#include "tests/common/gp_test.h"
#include "tests/conformance/conformance.h"

#define BE_COOKIE 7u
#define LC_COOKIE 8u
#define FIRST_PID 50000

struct rig_be {
	struct gp_sim_context *context;
	struct rig_be *next;
	pid_t pid;
	uint64_t done;
};

struct rig_lc {
	struct gp_sim_context *context;
};

static struct gp_sim *sim;
static struct rig_be *bes;
static pid_t next_pid = FIRST_PID;
static bool lc_done;

static const struct gp_model_method be_kernel = {
	.type = GP_METHOD_KERNEL,
	.blocks = 1056,
	.block_ns = 1000000,
	.cookie = BE_COOKIE,
};

/* Kernels back to back, two always queued. */
static void on_event(void *arg, const struct gp_model_event *ev)
{
	if (ev->type != GP_MODEL_DONE)
		return;
	if (ev->cookie == LC_COOKIE)
		lc_done = true;
	for (struct rig_be *b = bes; b && ev->cookie == BE_COOKIE; b = b->next) {
		if (gp_sim_context_group(b->context) != ev->group)
			continue;
		b->done++;
		assert_int_equal(gp_sim_submit(b->context, 0, &be_kernel, NULL), 0);
	}
}

static int setup_kind(uint32_t kind)
{
	const struct gp_sim_agent agent = { .event = on_event };
	struct gp_model_config config;

	gp_model_config_h200(&config);
	config.kind = kind;
	sim = gp_sim_create(&config);
	if (!sim)
		return -1;
	gp_sim_set_agent(sim, &agent);
	return gp_sim_process_add(sim, getpid());
}

static int setup_timeslice(void)
{
	return setup_kind(GP_MODEL_TIMESLICE);
}

static int setup_slots(void)
{
	return setup_kind(GP_MODEL_SLOTS);
}

static int open_sim(struct gp_device **dev)
{
	struct gp_device_id id;

	gp_sim_id(sim, &id);
	return gp_sim_timeslice_ops.open(&id, dev);
}

static struct rig_be *be_start(void)
{
	struct rig_be *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->pid = next_pid++;
	b->context = gp_sim_context_create(sim, b->pid, 2);
	assert_non_null(b->context);
	b->next = bes;
	bes = b;
	for (int i = 0; i < 2; i++)
		assert_int_equal(gp_sim_submit(b->context, 0, &be_kernel, NULL), 0);
	return b;
}

static pid_t be_pid(struct rig_be *b)
{
	return b->pid;
}

static uint64_t be_done(struct rig_be *b)
{
	return b->done;
}

static size_t be_files(struct rig_be *b, int *fd, size_t max)
{
	fd[0] = gp_sim_control_file(sim, b->pid);
	assert_true(fd[0] >= 0);
	return 1;
}

static void be_stop(struct rig_be *b)
{
	struct rig_be **link;

	for (link = &bes; *link != b; link = &(*link)->next)
		;
	*link = b->next;
	gp_sim_process_end(sim, b->pid);
	free(b);
}

static void teardown(void)
{
	gp_sim_destroy(sim);
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
	lc->context = gp_sim_context_create(sim, getpid(), 2);
	assert_non_null(lc->context);
	return lc;
}

static void *lc_context(struct rig_lc *lc)
{
	return lc->context;
}

static uint64_t lc_request(struct rig_lc *lc)
{
	const struct gp_model_method kernel = {
		.type = GP_METHOD_KERNEL,
		.blocks = 132,
		.block_ns = 100000,
	};
	const struct gp_model_method fence = {
		.type = GP_METHOD_FENCE,
		.cookie = LC_COOKIE,
	};
	uint64_t start = gp_sim_now(sim);

	lc_done = false;
	assert_int_equal(gp_sim_submit(lc->context, 0, &kernel, NULL), 0);
	assert_int_equal(gp_sim_submit(lc->context, 0, &fence, NULL), 0);
	while (!lc_done)
		gp_sim_advance(sim, gp_sim_now(sim) + 1000);
	return gp_sim_now(sim) - start;
}

static void lc_stop(struct rig_lc *lc)
{
	gp_sim_context_destroy(lc->context);
	free(lc);
}

static void run(uint64_t ns)
{
	gp_sim_advance(sim, gp_sim_now(sim) + ns);
}

static bool inject(enum rig_fault fault, size_t at, int err)
{
	static const enum gp_sim_op op[] = {
		[RIG_FAIL_SUSPEND] = GP_SIM_SUSPEND,
		[RIG_FAIL_RESUME] = GP_SIM_RESUME,
		[RIG_FAIL_SET_SLICE] = GP_SIM_SET_SLICE,
	};

	gp_sim_fail(sim, op[fault], at, err);
	return true;
}

#define RIG(name_, ops_, setup_, files_)                                                      \
	{                                                                                     \
		.name = name_, .ops = ops_, .setup = setup_, .teardown = teardown,            \
		.open = open_sim, .be_start = be_start, .be_pid = be_pid, .be_done = be_done, \
		.be_files = files_, .be_stop = be_stop, .lc_start = lc_start,                 \
		.lc_context = lc_context, .lc_request = lc_request, .lc_stop = lc_stop,       \
		.reset = reset, .run = run, .inject = inject,                                 \
	}

const struct rig gp_rig_sim_timeslice =
	RIG("sim-timeslice", &gp_sim_timeslice_ops, setup_timeslice, be_files);
const struct rig gp_rig_sim_slots = RIG("sim-slots", &gp_sim_slots_ops, setup_slots, NULL);
