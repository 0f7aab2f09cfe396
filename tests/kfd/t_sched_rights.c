// SPDX-License-Identifier: Apache-2.0
/*
 * The rights that each call of kfd_sched.h needs, the rights that grants give, and the
 * errors for bad arguments.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define MS 1000000ull
#define ALL UINT32_MAX

static struct kfd k;
static uint32_t gpu;

static int hold_with(struct kfd *kfd, int grant_fd, uint32_t level, uint32_t *id)
{
	struct kfd_ioctl_sched_hold_args args = {
		.size = sizeof(args),
		.gpu_id = gpu,
		.level = level,
		.limit_ns = 100 * MS,
		.grant_fd = grant_fd,
	};
	int err = kfd_call(kfd, AMDKFD_IOC_SCHED_HOLD, &args);

	if (!err)
		*id = args.hold_id;
	return err;
}

static int class_with(struct kfd *kfd, int grant_fd, uint32_t pid, uint32_t sched_class,
		      uint32_t level, uint32_t weight)
{
	struct kfd_ioctl_sched_set_class_args args = {
		.size = sizeof(args),
		.flags = KFD_SCHED_SET_PROCESS,
		.gpu_id = gpu,
		.pid = pid,
		.sched_class = sched_class,
		.level = level,
		.weight = weight,
		.grant_fd = grant_fd,
	};

	return kfd_call(kfd, AMDKFD_IOC_SCHED_SET_CLASS, &args);
}

static void check_arguments(void)
{
	struct {
		struct kfd_ioctl_sched_hold_args args;
		uint64_t more;
	} hold = { 0 };
	struct kfd_ioctl_sched_hold_args good = {
		.size = sizeof(good),
		.gpu_id = gpu,
		.level = KFD_SCHED_LEVEL_MAX,
		.limit_ns = MS,
		.grant_fd = -1,
	};
	struct kfd_ioctl_sched_release_args rel = { .size = sizeof(rel),
						    .gpu_id = gpu,
						    .hold_id = 12345 };

#define HOLD_ERR(want, what, ...)                                                            \
	do {                                                                                 \
		hold.args = good;                                                            \
		__VA_ARGS__;                                                                 \
		is_err(kfd_call(&k, AMDKFD_IOC_SCHED_HOLD, &hold), want, "hold with " what); \
	} while (0)
	HOLD_ERR(-EINVAL, "size 0", hold.args.size = 0);
	HOLD_ERR(-EINVAL, "an unknown flag", hold.args.flags = 1u << 31);
	HOLD_ERR(-EINVAL, "padding that is not 0", hold.args.pad = 1);
	HOLD_ERR(-EINVAL, "an unknown level", hold.args.level = KFD_SCHED_LEVEL_MAX + 1);
	HOLD_ERR(-EINVAL, "no limit", hold.args.limit_ns = 0);
	HOLD_ERR(-EINVAL, "an endless limit", hold.args.limit_ns = UINT64_MAX);
	HOLD_ERR(-EINVAL, "a device that is none", hold.args.gpu_id = gpu + 1);
	HOLD_ERR(-EBADF, "a grant that is no file", hold.args.grant_fd = 999);
	HOLD_ERR(-EBADF, "a grant that is another file", hold.args.grant_fd = k.fd);
#undef HOLD_ERR
	is_err(kfd_call(&k, AMDKFD_IOC_SCHED_RELEASE, &rel), -ENOENT, "release of no hold");
	is_err(class_with(&k, -1, 0, 7, 0, 0), -EINVAL, "a class that is none");
	is_err(class_with(&k, -1, 0, KFD_SCHED_CLASS_LC, 99, 0), -EINVAL, "a level that is none");
	is_err(class_with(&k, -1, 0, KFD_SCHED_CLASS_BE, 0, 99999), -EINVAL, "too much weight");
	is_err(class_with(&k, -1, 0, KFD_SCHED_CLASS_BE, 1, 0), -EINVAL, "BE with a level");
	is_err(class_with(&k, -1, 1, KFD_SCHED_CLASS_BE, 0, 0), -ESRCH,
	       "a process without the KFD");
	is_err(kfd_set_class(&k, gpu, 0, 777, KFD_SCHED_CLASS_BE, 0, 0), -ENOENT,
	       "a queue that is none");
}

/* Two holds nest: the smallest level counts, and the last release ends them. */
static void check_nesting(void)
{
	struct kfd_ioctl_sched_release_args rel;
	struct kfd_sched_device_state dev;
	uint32_t a, b;

	must(hold_with(&k, -1, KFD_SCHED_LEVEL_MAX, &a), "hold");
	must(hold_with(&k, -1, 3, &b), "hold");
	must(kfd_states(&k, gpu, NULL, 0, &dev), "state");
	ok(dev.holders == 2 && dev.hold_level == 3, "two holds, at level 3 (%u, %u)", dev.holders,
	   dev.hold_level);
	is_err(kfd_release(&k, gpu, b, &rel), 0, "release one");
	ok(rel.holders == 1, "one is left (%u)", rel.holders);
	must(kfd_states(&k, gpu, NULL, 0, &dev), "state");
	ok(dev.hold_level == KFD_SCHED_LEVEL_MAX, "at its level (%u)", dev.hold_level);
	is_err(kfd_release(&k, gpu, a, &rel), 0, "release the other");
	is_err(kfd_release(&k, gpu, a, &rel), -ENOENT, "once only");
}

/* Run as an ordinary user. Exit status: the first check that failed. */
static int as_user(int grant_fd, pid_t other)
{
	uint32_t id;
	struct kfd own;

	if (setgroups(0, NULL) || setgid(1000) || setuid(1000))
		return 1;
	if (kfd_open(&own))
		return 2;
	if (hold_with(&own, -1, KFD_SCHED_LEVEL_MAX, &id) != -EPERM)
		return 3;
	if (class_with(&own, -1, 0, KFD_SCHED_CLASS_LC, 0, 0) != -EPERM)
		return 4;
	if (class_with(&own, -1, 0, KFD_SCHED_CLASS_BE, 0, 200) != -EPERM)
		return 5;
	if (class_with(&own, -1, other, KFD_SCHED_CLASS_BE, 0, 1) != -EPERM)
		return 6;
	if (class_with(&own, -1, 0, KFD_SCHED_CLASS_BE, 0, 50))
		return 7;
	if (open("/dev/kfd_sched", O_RDWR) >= 0 || errno != EACCES)
		return 8;
	/* The grant allows holds at level 4 and larger only. */
	if (hold_with(&own, grant_fd, 3, &id) != -EPERM)
		return 9;
	if (hold_with(&own, grant_fd, 4, &id))
		return 10;
	if (kfd_release(&own, gpu, id, NULL))
		return 11;
	if (class_with(&own, grant_fd, 0, KFD_SCHED_CLASS_LC, 0, 0) != -EPERM)
		return 12;
	if (class_with(&own, grant_fd, other, KFD_SCHED_CLASS_BE, 0, 1) != -EPERM)
		return 13;
	return 0;
}

/* Becomes an ordinary user with a capability of root's. */
static bool keep_capability(unsigned int cap)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	data[cap / 32].effective = data[cap / 32].permitted = 1u << (cap % 32);
	return !prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) && !setgroups(0, NULL) && !setgid(1000) &&
	       !setuid(1000) && !syscall(SYS_capset, &head, data);
}

/* Exit status: the first check that failed. */
static int as_nice_user(pid_t other)
{
	struct kfd own;
	uint32_t id;

	if (!keep_capability(CAP_SYS_NICE) || kfd_open(&own))
		return 1;
	if (class_with(&own, -1, 0, KFD_SCHED_CLASS_LC, 0, 0))
		return 2;
	if (hold_with(&own, -1, 0, &id) || kfd_release(&own, gpu, id, NULL))
		return 3;
	if (class_with(&own, -1, other, KFD_SCHED_CLASS_BE, 0, 1) != -EPERM)
		return 4;
	return 0;
}

static void check_nice(void)
{
	int status = -1;
	pid_t pid, self = getpid();

	pid = fork();
	if (!pid)
		_exit(as_nice_user(self));
	waitpid(pid, &status, 0);
	ok(status == 0, "CAP_SYS_NICE raises and holds, but does not change others (%d)",
	   WEXITSTATUS(status));
}

static void check_user(void)
{
	struct kfd_sched_grant_args narrow = {
		.size = sizeof(narrow),
		.rights = KFD_SCHED_RIGHT_HOLD,
		.min_level = 4,
		.gpu_id = gpu,
	};
	int status = -1, fd = open("/dev/kfd_sched", O_RDWR);
	pid_t pid, self = getpid();

	if (!ok(fd >= 0, "root opens /dev/kfd_sched"))
		return;
	chmod("/dev/kfd", 0666);
	is_err(ioctl(fd, KFD_SCHED_IOC_NARROW, &narrow) ? -errno : 0, 0, "narrow it");
	ok(narrow.rights == KFD_SCHED_RIGHT_HOLD && narrow.min_level == 4,
	   "it says what is left (%#x, %u)", narrow.rights, narrow.min_level);
	narrow.rights = KFD_SCHED_RIGHT_ALL;
	narrow.min_level = 0;
	ioctl(fd, KFD_SCHED_IOC_NARROW, &narrow);
	ok(narrow.rights == KFD_SCHED_RIGHT_HOLD && narrow.min_level == 4,
	   "it cannot be widened (%#x, %u)", narrow.rights, narrow.min_level);
	pid = fork();
	if (!pid)
		_exit(as_user(fd, self));
	waitpid(pid, &status, 0);
	ok(status == 0, "an ordinary user may lower itself, and what the grant allows (%d)",
	   WEXITSTATUS(status));
	close(fd);
}

/* An ordinary user sees the states of its own process only. */
static int sees_only_own(void)
{
	struct kfd_sched_queue_state states[8];
	struct kfd own;

	if (setgroups(0, NULL) || setgid(1000) || setuid(1000) || kfd_open(&own))
		return 1;
	return kfd_states(&own, gpu, states, 8, NULL) == 0 ? 0 : 2;
}

static void check_states(void)
{
	struct kfd_sched_queue_state states[4];
	struct kfd_queue q;
	int status = -1, n;
	pid_t pid;

	must(kfd_queue_create(&k, 0, 64, &q), "queue");
	n = kfd_states(&k, gpu, states, 4, NULL);
	ok(n == 1 && states[0].pid == (uint32_t)getpid() && states[0].queue_id == q.id,
	   "the state of one queue (%d, pid %u, id %u)", n, states[0].pid, states[0].queue_id);
	must(kfd_set_class(&k, gpu, 0, q.id, KFD_SCHED_CLASS_LC, 2, 0), "LC, level 2");
	kfd_states(&k, gpu, states, 4, NULL);
	ok(states[0].sched_class == KFD_SCHED_CLASS_LC && states[0].level == 2,
	   "its class is shown (%u, %u)", states[0].sched_class, states[0].level);
	must(kfd_set_class(&k, gpu, 0, q.id, KFD_SCHED_CLASS_BE, 0, 30), "BE");
	kfd_states(&k, gpu, states, 4, NULL);
	ok(states[0].sched_class == KFD_SCHED_CLASS_BE && states[0].weight == 30,
	   "its weight is shown (%u, %u)", states[0].sched_class, states[0].weight);
	pid = fork();
	if (!pid)
		_exit(sees_only_own());
	waitpid(pid, &status, 0);
	ok(status == 0, "an ordinary user does not see it (%d)", WEXITSTATUS(status));
	is_err(kfd_queue_update(&q, 0), 0, "stop it");
	kfd_states(&k, gpu, states, 4, NULL);
	ok(states[0].state == KFD_SCHED_STATE_INACTIVE, "it is inactive (%u)", states[0].state);
	is_err(kfd_queue_destroy(&q), 0, "destroy");
}

int main(void)
{
	kfd_open_sched(&k);
	must(kfd_acquire(&k, 0), "VM");
	gpu = k.gpus[0].gpu_id;
	check_arguments();
	check_nesting();
	check_user();
	check_nice();
	check_states();
	return done();
}
