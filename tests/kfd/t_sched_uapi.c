// SPDX-License-Identifier: Apache-2.0
/*
 * The form of the calls of kfd_sched.h: sizes, flags, padding and tails; the rights that
 * they need, with and without a grant; and the view of other processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define SECOND_NS 1000000000ull
#define NOBODY 1000

static struct kfd k;
static uint32_t gpu_id;
static struct tenant *other;

struct long_state {
	struct kfd_ioctl_sched_state_args args;
	uint64_t later;
};

#define LONGER(nr) _IOC(_IOC_READ | _IOC_WRITE, 'K', _IOC_NR(nr), sizeof(struct long_state))

static struct kfd_ioctl_sched_hold_args hold_args(void)
{
	return (struct kfd_ioctl_sched_hold_args){
		.size = sizeof(struct kfd_ioctl_sched_hold_args),
		.gpu_id = gpu_id,
		.level = KFD_SCHED_LEVEL_MAX,
		.limit_ns = SECOND_NS / 100,
		.grant_fd = -1,
	};
}

static struct kfd_ioctl_sched_set_class_args class_args(void)
{
	return (struct kfd_ioctl_sched_set_class_args){
		.size = sizeof(struct kfd_ioctl_sched_set_class_args),
		.gpu_id = gpu_id,
		.flags = KFD_SCHED_SET_PROCESS,
		.weight = 100,
		.grant_fd = -1,
	};
}

static int try_hold(struct kfd *kfd, struct kfd_ioctl_sched_hold_args args)
{
	int err = kfd_call(kfd, AMDKFD_IOC_SCHED_HOLD, &args);

	if (!err)
		kfd_release(kfd, gpu_id, args.hold_id, NULL);
	return err;
}

static int try_class(struct kfd *kfd, struct kfd_ioctl_sched_set_class_args args)
{
	return kfd_call(kfd, AMDKFD_IOC_SCHED_SET_CLASS, &args);
}

static void check_sizes(void)
{
	struct long_state longer = {
		.args = { .size = sizeof(longer), .gpu_id = gpu_id, .grant_fd = -1 },
	};
	struct kfd_ioctl_sched_state_args args = {
		.size = sizeof(args) - 1,
		.gpu_id = gpu_id,
		.grant_fd = -1,
	};

	is_err(kfd_call(&k, LONGER(AMDKFD_IOC_SCHED_STATE), &longer), 0, "a newer caller's size");
	ok(!longer.later, "its field is not written");
	longer.later = 1;
	is_err(kfd_call(&k, LONGER(AMDKFD_IOC_SCHED_STATE), &longer), -E2BIG,
	       "and not allowed to say anything");
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_STATE, &args), -EINVAL,
	       "a size that is not the call's");
	args.size = sizeof(args);
	args.flags = 1;
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_STATE, &args), -EINVAL, "an unknown flag");
	args.flags = 0;
	args.gpu_id = gpu_id + 1;
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_STATE, &args), -EINVAL, "an unknown device");
}

static void check_values(void)
{
	struct kfd_ioctl_sched_hold_args h = hold_args();
	struct kfd_ioctl_sched_set_class_args c = class_args();
	struct kfd_sched_device_state dev;

	must(kfd_states(&k, gpu_id, NULL, 0, &dev) < 0 ? -EIO : 0, "state");
	is_err(try_hold(&k, h), 0, "a hold");
	h.limit_ns = 0;
	is_err(try_hold(&k, h), -EINVAL, "a hold without a limit");
	h.limit_ns = dev.max_hold_ns + 1;
	is_err(try_hold(&k, h), -EINVAL, "a limit beyond the largest");
	h = hold_args();
	h.level = KFD_SCHED_LEVEL_MAX + 1;
	is_err(try_hold(&k, h), -EINVAL, "a level there is not");
	h = hold_args();
	h.pad = 1;
	is_err(try_hold(&k, h), -EINVAL, "padding");
	h = hold_args();
	h.pid = 1;
	is_err(try_hold(&k, h), -EINVAL, "a pid without ONLY");
	h = hold_args();
	h.grant_fd = -2;
	is_err(try_hold(&k, h), -EINVAL, "a grant that cannot be");
	h.grant_fd = k.fd;
	is_err(try_hold(&k, h), -EBADF, "a grant that is none");
	c.weight = KFD_SCHED_WEIGHT_MAX + 1;
	is_err(try_class(&k, c), -EINVAL, "a weight beyond the largest");
	c = class_args();
	c.sched_class = KFD_SCHED_CLASS_LC;
	is_err(try_class(&k, c), -EINVAL, "LC with a weight");
	c.sched_class = 2;
	is_err(try_class(&k, c), -EINVAL, "a class there is not");
	c = class_args();
	c.queue_id = 1;
	is_err(try_class(&k, c), -EINVAL, "a queue and the process");
	c.flags = 0;
	c.queue_id = 99;
	is_err(try_class(&k, c), -ENOENT, "a queue there is not");
	c = class_args();
	c.pid = 1;
	is_err(try_class(&k, c), -ESRCH, "a process without the KFD");
}

static void check_wait(void)
{
	struct kfd_ioctl_sched_wait_args args = {
		.size = sizeof(args),
		.gpu_id = gpu_id,
		.grant_fd = -1,
		.timeout_ms = 10,
	};
	uint64_t start;

	while (!kfd_call(&k, AMDKFD_IOC_SCHED_WAIT, &args))
		;
	start = now_ns();
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_WAIT, &args), -ETIME, "no event");
	ok(now_ns() - start >= 8000000, "after the timeout");
	is_err(try_hold(&k, hold_args()), 0, "a hold and a release");
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_WAIT, &args), 0, "an event");
	ok(args.kind == KFD_SCHED_EVENT_HELD && args.hold_id, "that it is held");
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_WAIT, &args), 0, "another");
	ok(args.kind == KFD_SCHED_EVENT_RELEASED && args.pid == (uint32_t)getpid(),
	   "that it is over, and whose");
}

/* A child counts its failures, and its parent prints one point for them. */
static unsigned int unexpected;

static void expect(int got, int want, const char *what)
{
	if (got != want)
		note("not so: %s (got %d, want %d)", what, got, want);
	unexpected += got != want;
}

static void expect_true(bool cond, const char *what)
{
	expect(cond, true, what);
}

/* Run @body in a child as an ordinary user, with one open grant or none. */
static void as_nobody(void (*body)(struct kfd *kfd, int grant), int grant)
{
	static struct kfd own;
	struct kfd_queue q;

	must(kfd_setup(&own), "set up as root");
	must(kfd_queue_create(&own, 0, 64, &q), "queue");
	must(setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY) ? -errno : 0, "setuid");
	body(&own, grant);
}

static void without_grant(struct kfd *own, int grant)
{
	struct kfd_ioctl_sched_set_class_args c = class_args();
	struct kfd_ioctl_sched_hold_args h = hold_args();
	struct kfd_sched_queue_state states[16];

	(void)grant;
	expect(try_hold(own, h), -EPERM, "an ordinary user cannot hold the device");
	h.flags = KFD_SCHED_HOLD_ONLY;
	h.level = 0;
	h.queue_id = KFD_SCHED_ALL_QUEUES;
	expect(try_hold(own, h), 0, "but its own queues");
	h.pid = other->pid;
	expect(try_hold(own, h), -EPERM, "not another's");
	c.weight = 50;
	expect(try_class(own, c), 0, "it can lower its own weight");
	c.weight = 100;
	expect(try_class(own, c), -EPERM, "and not raise it again");
	c.weight = 0;
	c.sched_class = KFD_SCHED_CLASS_LC;
	c.level = KFD_SCHED_LEVEL_MAX;
	expect(try_class(own, c), -EPERM, "nor become LC");
	c = class_args();
	c.pid = other->pid;
	c.weight = 1;
	expect(try_class(own, c), -EPERM, "nor lower another's");
	expect_true(kfd_states(own, gpu_id, states, 16, NULL) == 1 &&
			    states[0].pid == (uint32_t)getpid(),
		    "it sees its own queue only");
	expect_true(open("/dev/kfd_sched", O_RDWR | O_CLOEXEC) < 0 && errno == EACCES,
		    "and cannot open a grant");
}

static void with_grant(struct kfd *own, int grant)
{
	struct kfd_ioctl_sched_set_class_args c = class_args();
	struct kfd_ioctl_sched_hold_args h = hold_args();
	struct kfd_sched_grant_args g = { .size = sizeof(g), .rights = KFD_SCHED_RIGHT_ALL };

	h.grant_fd = grant;
	expect(try_hold(own, h), 0, "with a grant it holds the device");
	h.level = 2;
	expect(try_hold(own, h), -EPERM, "not below the grant's level");
	c.grant_fd = grant;
	c.sched_class = KFD_SCHED_CLASS_LC;
	c.weight = 0;
	c.level = 3;
	expect(try_class(own, c), 0, "and becomes LC");
	c.level = 2;
	expect(try_class(own, c), -EPERM, "not below the grant's level");
	c = class_args();
	c.grant_fd = grant;
	c.pid = other->pid;
	expect(try_class(own, c), -EPERM, "a right that was taken away");
	expect(ioctl(grant, KFD_SCHED_IOC_NARROW, &g) ? -errno : 0, 0, "narrow by nothing");
	expect_true(g.rights == (KFD_SCHED_RIGHT_HOLD | KFD_SCHED_RIGHT_RAISE) && g.min_level == 3,
		    "does not widen");
	g.rights = KFD_SCHED_RIGHT_RAISE;
	expect(ioctl(grant, KFD_SCHED_IOC_NARROW, &g) ? -errno : 0, 0, "narrow");
	h = hold_args();
	h.grant_fd = grant;
	expect(try_hold(own, h), -EPERM, "for good");
}

static void in_child(void (*body)(struct kfd *kfd, int grant), int grant, const char *what)
{
	int status = -1;
	pid_t pid;

	pid = fork();
	if (!pid) {
		as_nobody(body, grant);
		_exit(unexpected ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	ok(!status, "%s", what);
}

static void check_grants(void)
{
	struct kfd_sched_grant_args g = {
		.size = sizeof(g),
		.rights = KFD_SCHED_RIGHT_HOLD | KFD_SCHED_RIGHT_RAISE,
		.min_level = 3,
	};
	struct kfd_ioctl_sched_hold_args h = hold_args();
	int grant = open("/dev/kfd_sched", O_RDWR | O_CLOEXEC);
	int elsewhere = open("/dev/kfd_sched", O_RDWR | O_CLOEXEC);

	must(grant < 0 || elsewhere < 0 ? -errno : 0, "/dev/kfd_sched");
	is_err(ioctl(grant, KFD_SCHED_IOC_NARROW, &g) ? -errno : 0, 0, "narrow a grant");
	in_child(with_grant, grant, "all points with a grant");
	g = (struct kfd_sched_grant_args){
		.size = sizeof(g),
		.rights = KFD_SCHED_RIGHT_ALL,
		.gpu_id = gpu_id + 1,
	};
	is_err(ioctl(elsewhere, KFD_SCHED_IOC_NARROW, &g) ? -errno : 0, 0, "to another device");
	h.grant_fd = elsewhere;
	is_err(try_hold(&k, h), -EPERM, "a grant for another device, given by root");
	g.rights = 0x10;
	is_err(ioctl(elsewhere, KFD_SCHED_IOC_NARROW, &g) ? -errno : 0, -EINVAL, "unknown rights");
	close(grant);
	close(elsewhere);
}

int main(void)
{
	rng_seed(9);
	must(kfd_open(&k), "open");
	if (!kfd_has_sched(&k))
		bail("the kernel does not know the calls of kfd_sched.h");
	gpu_id = k.gpus[0].gpu_id;
	other = tenants_alloc(1);
	other->queues = 1;
	tenant_start(other);
	must(tenants_ready(other, 1, 60000), "tenant");
	check_sizes();
	check_values();
	check_wait();
	in_child(without_grant, -1, "all points without a grant");
	check_grants();
	tenants_stop(other, 1, 20000);
	return done();
}
