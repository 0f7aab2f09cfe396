// SPDX-License-Identifier: Apache-2.0
/*
 * How holds begin, nest and end: queues created under a hold, two holders, levels, limits,
 * and holds of one process. A holder also dies while its child has the file.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define MAX_STATES 64

static struct kfd k;
static uint32_t gpu_id;
static struct kfd_sched_queue_state states[MAX_STATES];

static struct kfd_sched_device_state device_state(void)
{
	struct kfd_sched_device_state dev;

	must(kfd_states(&k, gpu_id, states, MAX_STATES, &dev) < 0 ? -EIO : 0, "states");
	return dev;
}

/* How many queues of a process (0: of all) are in that state? */
static unsigned int count(pid_t pid, uint32_t state)
{
	unsigned int i, num = 0, queues = device_state().queues;

	for (i = 0; i < queues && i < MAX_STATES; i++)
		num += states[i].state == state && (!pid || states[i].pid == (uint32_t)pid);
	return num;
}

static uint64_t loads_of(pid_t pid)
{
	unsigned int i, queues = device_state().queues;
	uint64_t loads = 0;

	for (i = 0; i < queues && i < MAX_STATES; i++)
		if (states[i].pid == (uint32_t)pid)
			loads += states[i].loads;
	return loads;
}

static uint32_t hold(uint32_t level, uint64_t limit_ns)
{
	struct kfd_ioctl_sched_hold_args args;

	must(kfd_hold(&k, gpu_id, level, limit_ns, 0, &args), "hold");
	return args.hold_id;
}

static struct kfd_ioctl_sched_release_args release(uint32_t id)
{
	struct kfd_ioctl_sched_release_args args;

	is_err(kfd_release(&k, gpu_id, id, &args), 0, "release");
	return args;
}

static struct tenant *start(unsigned int queues, bool lc, uint32_t level)
{
	struct tenant *t = tenants_alloc(1);

	t->queues = queues;
	t->by_class = lc;
	t->sched_class = KFD_SCHED_CLASS_LC;
	t->level = level;
	tenant_start(t);
	must(tenants_ready(t, 1, 60000), "tenant");
	return t;
}

static bool beats(const struct tenant *t)
{
	uint32_t before = t->words[0][TENANT_BEAT];

	sleep_ns(50 * MS_NS);
	return t->words[0][TENANT_BEAT] != before;
}

static void check_create(void)
{
	uint32_t id = hold(KFD_SCHED_LEVEL_MAX, 5 * SECOND_NS);
	struct tenant *t = start(2, false, 0);

	sleep_ns(20 * MS_NS);
	ok(count(t->pid, KFD_SCHED_STATE_HELD) == 2, "queues made under a hold are held");
	ok(!beats(t) && !loads_of(t->pid), "and do not run, nor ever did");
	release(id);
	ok(beats(t), "they run after it");
	tenants_stop(t, 1, 20000);
}

static void check_nest(void)
{
	struct kfd_ioctl_sched_release_args args;
	struct tenant *t = start(2, false, 0);
	uint32_t one, two;

	one = hold(KFD_SCHED_LEVEL_MAX, 5 * SECOND_NS);
	two = hold(KFD_SCHED_LEVEL_MAX, 5 * SECOND_NS);
	ok(one != two, "two holds have two names");
	args = release(two);
	ok(args.holders == 1 && !args.loaded, "one of two holds is left");
	ok(count(t->pid, KFD_SCHED_STATE_HELD) == 2, "which keeps the queues off");
	args = release(one);
	ok(!args.holders && args.loaded == 2, "the last release loads both queues (%u)",
	   args.loaded);
	ok(args.ended == KFD_SCHED_ENDED_RELEASED, "by this call");
	ok(beats(t), "they run");
	is_err(kfd_release(&k, gpu_id, one, NULL), -ENOENT, "a second release");
	tenants_stop(t, 1, 20000);
}

static void check_limit(void)
{
	struct kfd_ioctl_sched_release_args args;
	struct tenant *t = start(1, false, 0);
	uint64_t expired = device_state().holds_expired;
	uint32_t id = hold(KFD_SCHED_LEVEL_MAX, 30 * MS_NS);

	sleep_ns(20 * MS_NS);
	ok(count(t->pid, KFD_SCHED_STATE_HELD) == 1, "held before the limit");
	sleep_ns(20 * MS_NS);
	ok(count(t->pid, KFD_SCHED_STATE_LOADED) == 1, "loaded after it");
	ok(device_state().holds_expired == expired + 1, "counted");
	args = release(id);
	ok(args.ended == KFD_SCHED_ENDED_LIMIT, "the release says so");
	ok_time(args.held_ns >= 30 * MS_NS && args.held_ns < 35 * MS_NS, "held for 30 ms (%llu us)",
		(unsigned long long)args.held_ns / 1000);
	tenants_stop(t, 1, 20000);
}

static void check_levels(void)
{
	struct tenant *be = start(1, false, 0), *low = start(1, true, 5), *high = start(1, true, 1);
	uint32_t all = hold(KFD_SCHED_LEVEL_MAX, 5 * SECOND_NS), some;

	ok(count(be->pid, KFD_SCHED_STATE_HELD) == 1, "BE is held at the largest level");
	ok(count(low->pid, KFD_SCHED_STATE_LOADED) == 1, "LC is not");
	some = hold(4, 5 * SECOND_NS);
	ok(device_state().hold_level == 4, "the smallest level counts");
	ok(count(low->pid, KFD_SCHED_STATE_HELD) == 1, "a less urgent LC queue is held");
	ok(count(high->pid, KFD_SCHED_STATE_LOADED) == 1, "a more urgent one is not");
	release(some);
	ok(count(low->pid, KFD_SCHED_STATE_LOADED) == 1, "it is loaded again");
	ok(count(be->pid, KFD_SCHED_STATE_HELD) == 1, "and BE still held");
	release(all);
	ok(count(be->pid, KFD_SCHED_STATE_LOADED) == 1, "until the last release");
	tenants_stop(be, 1, 20000);
	tenants_stop(low, 1, 20000);
	tenants_stop(high, 1, 20000);
}

static void check_only(void)
{
	struct kfd_ioctl_sched_hold_args args = {
		.size = sizeof(args),
		.flags = KFD_SCHED_HOLD_ONLY,
		.gpu_id = gpu_id,
		.limit_ns = 5 * SECOND_NS,
		.grant_fd = -1,
		.queue_id = KFD_SCHED_ALL_QUEUES,
	};
	struct tenant *a = start(2, false, 0), *b = start(1, true, 0);

	args.pid = a->pid;
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_HOLD, &args), 0, "hold of one process");
	ok(args.unloaded == 2 && count(a->pid, KFD_SCHED_STATE_HELD) == 2, "its queues are off");
	ok(count(b->pid, KFD_SCHED_STATE_LOADED) == 1, "another's are not");
	release(args.hold_id);
	ok(beats(a), "they go on");
	args.pid = b->pid;
	args.queue_id = b->queue_id[0];
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_HOLD, &args), 0, "hold of one queue");
	ok(count(b->pid, KFD_SCHED_STATE_HELD) == 1, "LC too");
	release(args.hold_id);
	args.queue_id = 77;
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_HOLD, &args), -ENOENT, "of a queue there is not");
	args.pid = 1;
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_HOLD, &args), -ESRCH, "of a process without queues");
	tenants_stop(a, 1, 20000);
	tenants_stop(b, 1, 20000);
}

static void holder_main(bool with_child, int pipe_fd)
{
	struct kfd own;
	struct kfd_ioctl_sched_hold_args args;
	pid_t child = 0;

	must(kfd_open(&own), "open");
	must(kfd_hold(&own, gpu_id, KFD_SCHED_LEVEL_MAX, 9 * SECOND_NS, 0, &args), "hold");
	if (with_child)
		child = fork();
	if (with_child && !child) {
		for (;;)
			pause();
	}
	if (write(pipe_fd, &child, sizeof(child)) != sizeof(child))
		_exit(1);
	for (;;)
		pause();
}

/* The holder is killed; with_child: a child of it keeps the file open. */
static void check_death(bool with_child)
{
	struct tenant *t = start(2, false, 0);
	pid_t holder, child = 0;
	uint64_t killed;
	int fds[2];

	must(pipe(fds), "pipe");
	holder = fork();
	if (!holder)
		holder_main(with_child, fds[1]);
	must(read(fds[0], &child, sizeof(child)) == sizeof(child) ? 0 : -EIO, "holder");
	ok(count(t->pid, KFD_SCHED_STATE_HELD) == 2, "another process holds");
	killed = now_ns();
	kill(holder, SIGKILL);
	while (count(t->pid, KFD_SCHED_STATE_HELD) && now_ns() - killed < SECOND_NS)
		sleep_ns(MS_NS / 10);
	ok_time(now_ns() - killed < 20 * MS_NS, "killed%s, all is loaded within 20 ms (%llu us)",
		with_child ? ", its child with the file alive" : "",
		(unsigned long long)(now_ns() - killed) / 1000);
	ok(!device_state().holders, "nothing is held");
	ok(beats(t), "the queues run");
	waitpid(holder, NULL, 0);
	if (child > 0)
		kill(child, SIGKILL);
	close(fds[0]);
	close(fds[1]);
	tenants_stop(t, 1, 20000);
}

static void check_close(void)
{
	struct kfd_ioctl_sched_hold_args args;
	struct tenant *t = start(1, false, 0);
	struct kfd second;

	must(kfd_open(&second), "open again");
	must(kfd_hold(&second, gpu_id, KFD_SCHED_LEVEL_MAX, 9 * SECOND_NS, 0, &args), "hold");
	ok(count(t->pid, KFD_SCHED_STATE_HELD) == 1, "held by a second file");
	kfd_close(&second);
	ok(count(t->pid, KFD_SCHED_STATE_LOADED) == 1, "its close ends the hold");
	is_err(kfd_release(&k, gpu_id, args.hold_id, NULL), -ENOENT, "for good");
	tenants_stop(t, 1, 20000);
}

int main(void)
{
	rng_seed(7);
	must(kfd_open(&k), "open");
	if (!kfd_has_sched(&k))
		bail("the kernel does not know the calls of kfd_sched.h");
	gpu_id = k.gpus[0].gpu_id;
	check_create();
	check_nest();
	check_limit();
	check_levels();
	check_only();
	check_close();
	check_death(false);
	check_death(true);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
