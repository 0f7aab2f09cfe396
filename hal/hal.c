// SPDX-License-Identifier: Apache-2.0
/* hal.c - the registry of backends, and dummies for the ops that a backend lacks. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpreempt/hal.h"

static int no_busy(struct gp_group *group)
{
	return -EOPNOTSUPP;
}

static int no_caps(struct gp_device *dev, struct gp_hal_caps *caps)
{
	memset(caps, 0, sizeof(*caps));
	return 0;
}

static void no_close(struct gp_device *dev)
{
}

static ssize_t no_control_files(struct gp_device *dev, int *fd, uint32_t *key, size_t max)
{
	return -EOPNOTSUPP;
}

static void no_explain(int err, char *why, size_t why_len)
{
}

static int no_get_slice(struct gp_group *group, uint64_t *us)
{
	return -EOPNOTSUPP;
}

static void no_group_put(struct gp_group *group)
{
}

static int no_groups(struct gp_device *dev, pid_t pid, struct gp_group_list *list)
{
	return -EOPNOTSUPP;
}

static int no_groups_from(struct gp_device *dev, pid_t pid, const int *fd, const uint32_t *key,
			  size_t n, struct gp_group_list *list)
{
	return -EOPNOTSUPP;
}

static int no_hold(struct gp_hold *hold, uint64_t limit_ns)
{
	return -EOPNOTSUPP;
}

static int no_has_compute_client(struct gp_device *dev, pid_t pid)
{
	return -EOPNOTSUPP;
}

static int no_hold_create(struct gp_device *dev, void *context, struct gp_hold **hold)
{
	return -EOPNOTSUPP;
}

static void no_hold_destroy(struct gp_hold *hold)
{
}

static int no_hold_queued(struct gp_hold *hold, void *stream)
{
	return -EOPNOTSUPP;
}

static int no_hold_stat(struct gp_hold *hold, struct gp_hold_stat *stat)
{
	return -EOPNOTSUPP;
}

static int no_is_control_file(int fd)
{
	return -EOPNOTSUPP;
}

static void no_log_close(struct gp_log *log)
{
}

static int no_log_now(struct gp_log *log, uint64_t *ns)
{
	return -EOPNOTSUPP;
}

static int no_log_open(struct gp_device *dev, struct gp_log **log)
{
	return -EOPNOTSUPP;
}

static ssize_t no_log_read(struct gp_log *log, struct gp_switch_record *rec, size_t n)
{
	return -EOPNOTSUPP;
}

static int no_memory(struct gp_device *dev, uint64_t *total, uint64_t *room)
{
	return -EOPNOTSUPP;
}

static int no_now(struct gp_device *dev, uint64_t *ns)
{
	return -EOPNOTSUPP;
}

static int no_open(const struct gp_device_id *id, struct gp_device **dev)
{
	return -EOPNOTSUPP;
}

static int no_preempt(struct gp_group *group)
{
	return -EOPNOTSUPP;
}

static int no_probe(struct gp_device_list *list)
{
	list->count = 0;
	return 0;
}

static int no_process_context(struct gp_device *dev, void **context)
{
	return -EOPNOTSUPP;
}

static int no_release(struct gp_hold *hold)
{
	return -EOPNOTSUPP;
}

static int no_resume(struct gp_group *const *group, size_t n)
{
	return -EOPNOTSUPP;
}

static int no_set_class(struct gp_device *dev, pid_t pid, const struct gp_class_value *cls)
{
	return -EOPNOTSUPP;
}

static int no_set_preempt_mode(struct gp_group *group, enum gp_preempt_mode mode)
{
	return -EOPNOTSUPP;
}

static int no_set_slice(struct gp_group *group, uint64_t us)
{
	return -EOPNOTSUPP;
}

static int no_slot(struct gp_device *dev, struct gp_slot_place *place)
{
	return -EOPNOTSUPP;
}

static int no_suspend(struct gp_group *const *group, size_t n)
{
	return -EOPNOTSUPP;
}

static ssize_t no_take_files(pid_t pid, int pidfd, int *fd, size_t max)
{
	return -EOPNOTSUPP;
}

static int no_timer_arm(struct gp_timer *timer, uint64_t at_ns)
{
	return -EOPNOTSUPP;
}

static int no_timer_create(struct gp_device *dev, struct gp_timer **timer)
{
	return -EOPNOTSUPP;
}

static void no_timer_destroy(struct gp_timer *timer)
{
}

static int no_timer_ack(struct gp_timer *timer)
{
	return -EOPNOTSUPP;
}

static int no_timer_done(struct gp_timer *timer)
{
	return -EOPNOTSUPP;
}

static int no_has_driver_open(struct gp_device *dev, pid_t pid)
{
	return -EOPNOTSUPP;
}

static int no_usage(struct gp_group *group, uint64_t *busy_ns)
{
	return -EOPNOTSUPP;
}

void gp_hal_set_ops(struct gp_hal_ops *full, const struct gp_hal_ops *ops)
{
	struct gp_hal_ops f = *ops;

#define FILL(op)                        \
	do {                            \
		if (!f.op)              \
			f.op = no_##op; \
	} while (0)
	FILL(busy);
	FILL(caps);
	FILL(close);
	FILL(control_files);
	FILL(explain);
	FILL(get_slice);
	FILL(group_put);
	FILL(groups);
	FILL(groups_from);
	FILL(has_compute_client);
	FILL(has_driver_open);
	FILL(hold);
	FILL(hold_create);
	FILL(hold_destroy);
	FILL(hold_queued);
	FILL(hold_stat);
	FILL(is_control_file);
	FILL(log_close);
	FILL(log_now);
	FILL(log_open);
	FILL(log_read);
	FILL(memory);
	FILL(now);
	FILL(open);
	FILL(preempt);
	FILL(probe);
	FILL(process_context);
	FILL(release);
	FILL(resume);
	FILL(set_class);
	FILL(set_preempt_mode);
	FILL(set_slice);
	FILL(slot);
	FILL(suspend);
	FILL(take_files);
	FILL(timer_ack);
	FILL(timer_arm);
	FILL(timer_create);
	FILL(timer_destroy);
	FILL(timer_done);
	FILL(usage);
#undef FILL
	*full = f;
}

/* ---- the registry ----------------------------------------------------------- */

/* The linker's bounds of the GP_HAL_BACKEND section. */
extern const struct gp_hal_ops *const __start_gp_hal_backends[]
	__attribute__((weak, visibility("hidden")));
extern const struct gp_hal_ops *const __stop_gp_hal_backends[]
	__attribute__((weak, visibility("hidden")));

#define MAX_BACKENDS 8

static pthread_once_t filled_once = PTHREAD_ONCE_INIT;
static struct gp_hal_ops filled[MAX_BACKENDS]; /* constant after filled_once */
static size_t filled_count;

static void fill_all(void)
{
	for (const struct gp_hal_ops *const *b = __start_gp_hal_backends;
	     /* cppcheck-suppress comparePointers */
	     b < __stop_gp_hal_backends && filled_count < MAX_BACKENDS; b++)
		if (*b && (*b)->abi == GP_HAL_ABI)
			gp_hal_set_ops(&filled[filled_count++], *b);
}

const struct gp_hal_ops *gp_hal_find(const char *name)
{
	pthread_once(&filled_once, fill_all);
	for (size_t i = 0; name && i < filled_count; i++)
		if (!strcmp(filled[i].name, name))
			return &filled[i];
	return NULL;
}

void gp_group_list_put(struct gp_group_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++)
		list->group[i]->dev->ops->group_put(list->group[i]);
	free(list->group);
	list->group = NULL;
	list->count = 0;
}
