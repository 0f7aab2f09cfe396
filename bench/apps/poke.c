// SPDX-License-Identifier: Apache-2.0
/*
 * poke - ask for one control of another process's compute groups again and again, as gpreemptd
 * does, and print the time of a call. The device's log (ctxlog) has the effect on the running
 * group.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/opts.h"
#include "bench/plan/samples.h"
#include "gpreempt/hal.h"

#define MAX_TIMES 10000u

static uint64_t pid, times = 50, every_us = 20000;
static char what[16], device[64];

static const struct gp_opt opts[] = {
	{ .name = "device",
	  .text = device,
	  .text_len = sizeof(device),
	  .help = "soft0, UUID or PCI address (default: the first)" },
	{ .name = "pid", .number = &pid, .help = "process with the groups" },
	{ .name = "what",
	  .text = what,
	  .text_len = sizeof(what),
	  .help = "preempt, suspend (and resume), or slice (set the present one again)" },
	{ .name = "times", .number = &times, .help = "number of calls, at most 10000 (50)" },
	{ .name = "every-us", .number = &every_us, .help = "time between calls (20000)" },
};

static int fail(const char *doing, int error, const char *why)
{
	fprintf(stderr, "poke: %s: %s %s\n", doing, strerror(-error), why);
	return 1;
}

/* ---- the controls ------------------------------------------------------------- */

static int preempt(struct gp_group *group)
{
	return group->dev->ops->preempt(group);
}

static int suspend(struct gp_group *group)
{
	int error = group->dev->ops->suspend(&group, 1);

	return error ? error : group->dev->ops->resume(&group, 1);
}

static int set_slice(struct gp_group *group)
{
	uint64_t us;
	int error = group->dev->ops->get_slice(group, &us);

	return error ? error : group->dev->ops->set_slice(group, us);
}

static const struct control {
	const char *name;
	int (*ask)(struct gp_group *group);
} controls[] = {
	{ "preempt", preempt },
	{ "suspend", suspend },
	{ "slice", set_slice },
};

static const struct control *control_of(const char *name)
{
	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		if (!strcmp(controls[i].name, name))
			return &controls[i];
	return NULL;
}

/* ---- the loop ------------------------------------------------------------------- */

static struct gp_group *compute_group(const struct gp_group_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->kind == GP_GROUP_COMPUTE)
			return list->group[i];
	return NULL;
}

/* Wait by the device's own clock, because a virtual one only advances for waiters. */
static int wait_until(struct gp_timer *timer, uint64_t at_ns)
{
	const struct gp_hal_ops *ops = timer->dev->ops;
	struct pollfd due = { .fd = timer->fd, .events = POLLIN };
	uint64_t now_ns = 0;
	int error = ops->timer_arm(timer, at_ns);

	while (!error && now_ns < at_ns) {
		if (poll(&due, 1, -1) < 0)
			return -errno;
		error = ops->timer_ack(timer);
		if (error == -EAGAIN)
			error = 0;
		if (!error)
			error = ops->now(timer->dev, &now_ns);
	}
	return error;
}

static int ask(const struct control *control, struct gp_group *group, uint64_t *took_ns)
{
	struct gp_device *dev = group->dev;
	uint64_t start_ns, end_ns;
	int error = dev->ops->now(dev, &start_ns);

	if (!error)
		error = control->ask(group);
	if (!error)
		error = dev->ops->now(dev, &end_ns);
	if (!error)
		*took_ns = end_ns - start_ns;
	return error;
}

static int poke(const struct control *control, struct gp_group *group, uint64_t *took_ns)
{
	const struct gp_hal_ops *ops = group->dev->ops;
	struct gp_timer *timer;
	uint64_t at_ns;
	int error = ops->timer_create(group->dev, &timer);

	if (error)
		return error;
	error = ops->now(group->dev, &at_ns);
	for (uint64_t i = 0; !error && i < times; i++) {
		at_ns += every_us * 1000;
		error = wait_until(timer, at_ns);
		if (!error)
			error = ask(control, group, &took_ns[i]);
	}
	ops->timer_destroy(timer);
	return error;
}

int main(int argc, char **argv)
{
	const struct control *control;
	static uint64_t took_ns[MAX_TIMES];
	struct gp_group_list list;
	struct gp_group *group;
	struct gp_device *dev;
	char why[256] = "";
	int error;

	gp_opts_parse(opts, sizeof(opts) / sizeof(*opts), argc, argv);
	control = control_of(what);
	if (!control || !times || times > MAX_TIMES)
		return fail("--what, --times", -EINVAL, what);
	error = gp_device_open(device[0] ? device : NULL, &dev, why, sizeof(why));
	if (error)
		return fail("device", error, why);
	error = dev->ops->groups(dev, (pid_t)pid, &list);
	if (error)
		return fail("groups", error, "");
	group = compute_group(&list);
	error = group ? poke(control, group, took_ns) : -ENOENT;
	if (error)
		return fail(what, error, "");
	gp_samples_sort(took_ns, times);
	printf("poke what=%s times=%llu p50_ns=%llu max_ns=%llu\n", what, (unsigned long long)times,
	       (unsigned long long)gp_samples_rank(took_ns, times, 500),
	       (unsigned long long)took_ns[times - 1]);
	gp_group_list_put(&list);
	gp_device_close(dev);
	return 0;
}
