// SPDX-License-Identifier: Apache-2.0
/*
 * set_class.c - a class for a running process. gpreemptd applies it if it runs. Else the process's
 * own gpreempt does so, if it has one. Else this program does, from outside, through the
 * channel groups. The class stays in force after this program ends, as with renice.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/daemon.h"
#include "runtime/outside.h"
#include "wire/wire.h"

int gp_check_pid(const char *verb, pid_t pid)
{
	if (!kill(pid, 0) || errno == EPERM)
		return 0;
	return gp_fail("%s: no process %d; gpreempt ls lists processes with GPU work", verb,
		       (int)pid);
}

static int read_yama(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int value = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &value) != 1)
		value = 0;
	fclose(f);
	return value;
}

int gp_fail_access(const char *verb, pid_t pid, int err)
{
	int yama = err == -EPERM || err == -EACCES ? read_yama() : 0;

	if (err == -ESRCH)
		return gp_fail("%s: process %d has ended", verb, (int)pid);
	/* -EAGAIN: too many requests wait for it already. */
	if (err == -ETIMEDOUT || err == -EAGAIN)
		return gp_fail(
			"%s: process %d does not answer; if it is stopped, run kill -CONT %d", verb,
			(int)pid, (int)pid);
	if (err == -EPROTO)
		return gp_fail("%s: process %d uses another protocol version; restart it with this "
			       "gpreempt run",
			       verb, (int)pid);
	if (err != -EPERM && err != -EACCES)
		return gp_fail("%s: process %d: %s", verb, (int)pid, strerror(-err));
	if (yama)
		return gp_fail("%s: process %d: not permitted: kernel.yama.ptrace_scope is %d; use "
			       "sudo (CAP_SYS_PTRACE), or start it with gpreempt run",
			       verb, (int)pid, yama);
	return gp_fail("%s: process %d: not permitted: it belongs to another user; use that user "
		       "or sudo (CAP_SYS_PTRACE)",
		       verb, (int)pid);
}

size_t gp_compute_groups(struct gp_group_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct gp_group *group = list->group[i];

		if (group->kind != GP_GROUP_COMPUTE)
			continue;
		list->group[i] = list->group[n];
		list->group[n++] = group;
	}
	return n;
}

/* Explains the driver's refusal of a class, and names the next step. */
static int fail_class(const char *verb, pid_t pid, int err)
{
	if (err == -EPERM || err == -EACCES)
		return gp_fail("%s: process %d: not permitted: use sudo (CAP_SYS_ADMIN), or join "
			       "the group of /dev/kfd_sched (ls -l)",
			       verb, (int)pid);
	if (err == -EOPNOTSUPP)
		return gp_fail(
			"%s: process %d: this kernel cannot set another process's class "
			"(see hsaq mode); start it with gpreempt run, or attach it as root with "
			"--pause",
			verb, (int)pid);
	return gp_fail("%s: process %d: %s", verb, (int)pid,
		       err == -ESRCH ? "it does not have the KFD open" : strerror(-err));
}

/* ---- a tenant: it applies the class itself ------------------------------------------ */

static int apply_tenant(const char *verb, pid_t pid, int fd, const struct gp_class_value *cls)
{
	union gp_wire_msg msg;
	int err;

	gp_wire_init(&msg, GP_WIRE_SET_CLASS);
	msg.set_class.cls = cls->cls;
	msg.set_class.value = cls->value;
	err = gp_wire_call(fd, &msg, GP_CALL_MS);
	if (!err)
		return 0;
	/* The tenant accepted, but its driver refused. */
	if (err == -EACCES || err == -EOPNOTSUPP)
		return fail_class(verb, pid, err);
	if (err == -EPERM)
		return gp_fail("%s: process %d: not permitted: it belongs to another user; use "
			       "that user or root (sudo)",
			       verb, (int)pid);
	return gp_fail_access(verb, pid, err);
}

/* ---- no tenant: from outside ----------------------------------------------------------- */

struct target {
	const char *verb;
	pid_t pid;
	struct gp_device *dev;
	struct gp_group_list list;
	const struct gp_class_value *cls;
	size_t compute; /* these are in front */
	uint64_t default_us;
};

static int set_slices(const struct target *t, bool has_slot)
{
	int mode_err = 0;
	int err = gp_outside_set(t->dev, &t->list, t->cls, has_slot, &mode_err);

	if (mode_err)
		gp_note("%s: process %d: cannot set the preemption mode: %s", t->verb, (int)t->pid,
			strerror(-mode_err));
	return err ? gp_fail_access(t->verb, t->pid, err) : 0;
}

static int apply_lc(const struct target *t)
{
	int err = set_slices(t, false);

	if (err)
		return err;
	err = gp_slot_holder_stop(t->pid, t->dev);
	return err ? gp_fail_access(t->verb, t->pid, err) : 0;
}

static int take_slot(const struct target *t, int slot_fd)
{
	int err = set_slices(t, true);

	if (err)
		return err;
	err = gp_slot_holder_start(t->pid, t->dev, slot_fd);
	if (err) {
		set_slices(t, false);
		return gp_fail("%s: process %d keeps the driver's slice: cannot start the holder "
			       "of its slot: %s",
			       t->verb, (int)t->pid, strerror(-err));
	}
	return 0;
}

static int wait_for_slot(const struct target *t)
{
	char spec[GP_DEVICE_NAME_LEN];
	int err = set_slices(t, false);

	if (err)
		return err;
	err = gp_slot_holder_start(t->pid, t->dev, -1);
	if (err)
		return gp_fail(
			"%s: process %d keeps the driver's slice: cannot wait for the slot: %s",
			t->verb, (int)t->pid, strerror(-err));
	gp_device_spec(t->dev, spec, sizeof(spec));
	gp_note("%s: process %d keeps the driver's slice (%llu us) for now: "
		"another best-effort process has the short slice of %s",
		t->verb, (int)t->pid, (unsigned long long)t->default_us, spec);
	return 0;
}

static int apply_be_new(const struct target *t)
{
	GP_CLOSE int slot_fd = -1;
	int err = gp_slot_try(t->dev, &slot_fd);

	if (err == -EBUSY) {
		slot_fd = -1;
		return wait_for_slot(t);
	}
	if (err) {
		slot_fd = -1;
		return gp_fail(
			"%s: cannot lock the slot of the short slice: %s; see gpreempt doctor",
			t->verb, strerror(-err));
	}
	return take_slot(t, slot_fd);
}

static int apply_be(const struct target *t)
{
	enum gp_slot_holder_state keeper;
	int err = gp_slot_holder_query(t->pid, t->dev, &keeper);

	if (err)
		return gp_fail("%s: process %d: the holder of its slot does not answer: %s",
			       t->verb, (int)t->pid, strerror(-err));
	if (keeper == GP_SLOT_HOLDER_HAS) {
		err = set_slices(t, true);
	} else {
		/* It waits: a new attach tries again and reports the result. */
		err = gp_slot_holder_stop(t->pid, t->dev);
		err = err ? gp_fail_access(t->verb, t->pid, err) : apply_be_new(t);
	}
	if (err)
		return err;
	if (t->compute > 1)
		gp_note("%s: process %d has %zu compute groups; one gets the short slice, the "
			"others the driver's",
			t->verb, (int)t->pid, t->compute);
	return 0;
}

/* The driver schedules by class itself. */
static int apply_class(const struct target *t)
{
	int err = t->dev->ops->set_class(t->dev, t->pid, t->cls);

	return err ? fail_class(t->verb, t->pid, err) : 0;
}

static int apply_device(struct target *t, size_t *found)
{
	struct gp_hal_caps caps;
	int err;

	err = t->dev->ops->caps(t->dev, &caps);
	if (!err)
		err = t->dev->ops->groups(t->dev, t->pid, &t->list);
	if (err)
		return gp_fail_access(t->verb, t->pid, err);
	t->default_us = caps.default_slice_us;
	t->compute = gp_compute_groups(&t->list);
	*found += t->compute;
	if (t->compute && !(caps.caps & GP_CAP_SLICES))
		err = apply_class(t);
	else if (t->compute)
		err = t->cls->cls == GP_CLASS_LC ? apply_lc(t) : apply_be(t);
	gp_group_list_put(&t->list);
	return err;
}

static int apply_groups(const char *verb, pid_t pid, const struct gp_class_value *cls,
			const char *device)
{
	GP_DEVICES struct gp_devices devices = { 0 };
	char why[GP_WHY_LEN];
	size_t found = 0;
	int err = gp_devices_open(device, &devices, why, sizeof(why));

	if (err)
		return gp_fail("%s: %s", verb, why);
	for (size_t i = 0; i < devices.count; i++) {
		struct target t = { .verb = verb, .pid = pid, .dev = devices.dev[i], .cls = cls };

		err = apply_device(&t, &found);
		if (err)
			return err;
	}
	if (!found)
		return gp_fail("%s: process %d has no work on %s; attach it once it "
			       "uses the GPU, or start it with gpreempt run",
			       verb, (int)pid, device ? device : "a GPU");
	return 0;
}

/* ---- gpreemptd: it decides, and enforces ----------------------------------------------- */

/* Once for each of @device (NULL: the daemon finds the process's devices). */
static int apply_daemon(const char *verb, pid_t pid, int fd, const struct gp_class_request *request,
			const char *device)
{
	GP_DEVICES struct gp_devices devices = { 0 };
	union gp_wire_msg msg;
	char why[GP_WHY_LEN];
	int err;

	gp_wire_init(&msg, GP_WIRE_TAKE);
	msg.take.pid = pid;
	gp_class_request_to_wire(request, &msg.take.request);
	if (device && gp_devices_open(device, &devices, why, sizeof(why)))
		return gp_fail("%s: %s", verb, why);
	if (device)
		memcpy(msg.take.uuid, devices.dev[0]->id.uuid, sizeof(msg.take.uuid));
	err = gp_daemon_ask(fd, &msg, GP_WIRE_SAID);
	if (err)
		return gp_fail_daemon(verb, err);
	if (msg.head.result)
		return gp_fail("%s: process %d: %s%s", verb, (int)pid,
			       msg.head.result == -EPERM ? "gpreemptd refused: " : "",
			       *msg.said.text ? msg.said.text : strerror(-msg.head.result));
	return 0;
}

static int apply_without(const char *verb, pid_t pid, const struct gp_class_request *request,
			 const char *device)
{
	GP_CLOSE int fd = -1;
	char text[GP_CLASS_REQUEST_TEXT_LEN];

	if (gp_class_request_extra(request)) {
		gp_class_request_format(request, text, sizeof(text));
		return gp_fail("%s: --class=%s: deadlines and caps need gpreemptd, which does not "
			       "run; start it, or write --class=%.*s",
			       verb, text, (int)strcspn(text, ","), text);
	}
	fd = gp_wire_connect(pid);
	if (fd == -ESRCH)
		return apply_groups(verb, pid, &request->cls, device);
	if (fd < 0)
		return gp_fail_access(verb, pid, fd);
	return apply_tenant(verb, pid, fd, &request->cls);
}

int gp_process_set_class(const char *verb, pid_t pid, const struct gp_class_request *request,
			 const char *device)
{
	GP_CLOSE int fd = -1;
	int err = gp_check_pid(verb, pid);

	if (err)
		return err;
	fd = gp_wire_daemon_connect();
	if (fd == -ENOENT)
		return apply_without(verb, pid, request, device);
	if (fd < 0)
		return gp_fail_daemon(verb, fd);
	return apply_daemon(verb, pid, fd, request, device);
}
