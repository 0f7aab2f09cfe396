// SPDX-License-Identifier: Apache-2.0
/*
 * Queues destroyed while the scheduler is stopped, between pre_reset and post_reset. The
 * stock driver left them in the list of their process. It then walked the list without
 * end, or used freed queues.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define RESET_NS 100000000ull

/* Reset in a child, because the write returns only at the end of the reset. */
static pid_t start_reset(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(simgpu_write_u64(0, "reset", 1) ? 1 : 0);
	sleep_ns(RESET_NS / 4);
	return pid;
}

static void end_reset(pid_t pid, const char *what)
{
	int status = -1;

	waitpid(pid, &status, 0);
	ok(status == 0, "the reset ends: %s", what);
}

static void check_kill(void)
{
	struct tenant *t = tenants_alloc(1);
	pid_t reset;

	t->queues = 2;
	tenant_start(t);
	must(tenants_ready(t, 1, 20000), "tenant");
	reset = start_reset();
	tenant_kill(t);
	end_reset(reset, "a process with two queues was killed in it");
}

/* Run in a child, because a process stays evicted after a reset. */
static int destroy_in_reset(void)
{
	struct kfd_queue q;
	struct kfd k;
	pid_t reset;
	int err, status = -1;

	if (kfd_setup(&k) || kfd_queue_create(&k, 0, 64, &q))
		return 1;
	reset = start_reset();
	err = kfd_queue_destroy(&q);
	waitpid(reset, &status, 0);
	return status ? 2 : err ? 3 : 0;
}

static void check_call(void)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(destroy_in_reset());
	waitpid(pid, &status, 0);
	ok(!status, "DESTROY_QUEUE in a reset, which ends (status %#x)", status);
}

/* Retry, because the KFD frees a dead process's queues later, in a work item. */
static int create_soon(struct kfd *k, struct kfd_queue *q)
{
	int err, tries = 0;

	do {
		err = kfd_queue_create(k, 0, 64, q);
		if (err == -EBUSY)
			sleep_ns(50000000);
	} while (err == -EBUSY && ++tries < 60);
	return err;
}

/* All slots and the VMID are free again. */
static void check_new(struct kfd *k)
{
	struct kfd_queue q[4];
	struct kfd_work w;
	struct kfd_signal *sig = kfd_signal_create(k, 4, false);
	unsigned int i;

	must(kfd_work_create(k, 0, 256, 1, &w), "work");
	for (i = 0; i < 4; i++) {
		if (!is_err(create_soon(k, &q[i]), 0, "queue %u of 4 afterwards", i))
			return;
		must(kfd_work_launch(&w, &q[i], i, sig), "launch");
	}
	is_err(kfd_signal_wait(k, sig, 1, 20000), 0, "they run");
	ok(!kfd_work_wrong(&w), "exactly");
	for (i = 0; i < 4; i++)
		is_err(kfd_queue_destroy(&q[i]), 0, "destroy");
}

int main(void)
{
	struct kfd k;

	must(simgpu_write_u64(0, "reset_ns", RESET_NS), "reset_ns");
	check_call();
	check_kill();
	must(kfd_setup(&k), "set up");
	check_new(&k);
	return done();
}
