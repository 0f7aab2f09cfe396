// SPDX-License-Identifier: Apache-2.0
/* group.c - operations on a channel group (TSG): slice, preemption mode, suspend, resume. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"

/* One bit per descriptor; higher ones count as the app's. */
#define MARKS 65536
static uint64_t marks[MARKS / 64]; /* atomic */

void gp_nv_fd_mark(int fd)
{
	if (fd >= 0 && fd < MARKS)
		__atomic_fetch_or(&marks[fd / 64], 1ull << fd % 64, __ATOMIC_RELAXED);
}

bool gp_nv_fd_marked(int fd)
{
	return fd >= 0 && fd < MARKS &&
	       (__atomic_load_n(&marks[fd / 64], __ATOMIC_RELAXED) >> fd % 64 & 1);
}

void gp_nv_fd_close(int fd)
{
	if (fd < 0)
		return;
	/* First: after the close, another file may get the number. */
	if (fd < MARKS)
		__atomic_fetch_and(&marks[fd / 64], ~(1ull << fd % 64), __ATOMIC_RELAXED);
	close(fd);
}

bool gp_nv_process_gone(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) > 0;
}

struct gp_nv_file *gp_nv_file_new(int fd, bool owned)
{
	struct gp_nv_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->fd = fd;
	file->pidfd = -1;
	file->owned = owned;
	file->refs = 1;
	if (owned)
		gp_nv_fd_mark(fd);
	return file;
}

void gp_nv_file_ref(struct gp_nv_file *file)
{
	__atomic_add_fetch(&file->refs, 1, __ATOMIC_RELAXED);
}

void gp_nv_file_unref(struct gp_nv_file *file)
{
	if (!file || __atomic_sub_fetch(&file->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (file->owned)
		gp_nv_fd_close(file->fd);
	if (file->pidfd >= 0)
		close(file->pidfd);
	free(file);
}

/*
 * Client handles are unique in a system and end in a counter, as do object handles of a
 * client. Handles outside libcuda's habit are hashed.
 */
uint32_t gp_nv_group_id(uint32_t client, uint32_t tsg)
{
	uint32_t c = client - GP_RM_HABIT_CLIENT_BASE;
	uint32_t o = tsg - GP_RM_HABIT_OBJECT_BASE;
	uint32_t id;

	if (c < 0x8000 && o <= 0xffff)
		id = c << 16 | o;
	else
		id = 0x80000000u | (client * 2654435761u ^ tsg * 40503u);
	return id ? id : 1;
}

enum gp_group_kind gp_nv_engine_kind(uint32_t engine)
{
	if (engine >= GP_RM_ENGINE_GRAPHICS0 && engine <= GP_RM_ENGINE_GRAPHICS7)
		return GP_GROUP_COMPUTE;
	if ((engine >= GP_RM_ENGINE_COPY0 && engine <= GP_RM_ENGINE_COPY9) ||
	    (engine >= GP_RM_ENGINE_COPY10 && engine <= GP_RM_ENGINE_COPY19))
		return GP_GROUP_COPY;
	return GP_GROUP_UNKNOWN;
}

static bool gone(const struct gp_nv_group *g)
{
	return gp_nv_process_gone(g->file->pidfd);
}

static int group_control(const struct gp_nv_group *g, uint32_t object, uint32_t cmd, void *params,
			 uint32_t bytes)
{
	int r;

	if (gone(g))
		return -ESRCH;
	r = gp_nv_control(g->t, g->file->fd, g->client, object, cmd, params, bytes);
	/* It may have ended meanwhile, which explains any error. */
	return r && gone(g) ? -ESRCH : r;
}

static int tsg_control(const struct gp_nv_group *g, uint32_t cmd, void *params, uint32_t bytes)
{
	return group_control(g, g->tsg, cmd, params, bytes);
}

int gp_nv_get_slice(struct gp_group *group, uint64_t *us)
{
	struct gp_rm_tsg_timeslice slice = { 0 };
	int r = tsg_control(gp_nv_of(gp_nv_group, group), GP_RM_CTRL_TSG_GET_TIMESLICE, &slice,
			    sizeof(slice));

	if (!r)
		*us = slice.us;
	return r;
}

int gp_nv_set_slice(struct gp_group *group, uint64_t us)
{
	struct gp_rm_tsg_timeslice slice = { .us = us };

	/* RM takes 0 as its shortest slice, at which two groups livelock. */
	if (us < GP_NV_MIN_SLICE_US || us > GP_NV_MAX_SLICE_US)
		return -ERANGE;
	return tsg_control(gp_nv_of(gp_nv_group, group), GP_RM_CTRL_TSG_SET_TIMESLICE, &slice,
			   sizeof(slice));
}

/*
 * Does not wait until it is off, which makes the call shorter (docs/nvidia.md). Assumption: a
 * group that does not run stays at its place in the runlist.
 */
int gp_nv_preempt(struct gp_group *group)
{
	struct gp_rm_tsg_preempt p = { .wait = 0 };

	return tsg_control(gp_nv_of(gp_nv_group, group), GP_RM_CTRL_TSG_PREEMPT, &p, sizeof(p));
}

int gp_nv_set_preempt_mode(struct gp_group *group, enum gp_preempt_mode mode)
{
	const struct gp_nv_group *g = gp_nv_of(gp_nv_group, group);
	struct gp_rm_preemption_mode p = { .flags = GP_RM_PREEMPT_SET_COMPUTE };

	switch (mode) {
	case GP_PREEMPT_WAIT_IDLE:
		p.compute_mode = GP_RM_PREEMPT_WAIT_IDLE;
		break;
	case GP_PREEMPT_BLOCK:
		p.compute_mode = GP_RM_PREEMPT_CTA;
		break;
	case GP_PREEMPT_INSTRUCTION:
		p.compute_mode = GP_RM_PREEMPT_CILP;
		break;
	default:
		return -EINVAL;
	}
	if (group->kind == GP_GROUP_COPY || !group->channels || !g->subdevice)
		return -EOPNOTSUPP;
	p.channel = g->channel[0];
	return group_control(g, g->subdevice, GP_RM_CTRL_GR_SET_CTXSW_PREEMPTION_MODE, &p,
			     sizeof(p));
}

/*
 * One call takes up to 64 channels, all of the calling client. Adjacent groups that share a
 * client share a call.
 */
struct batch {
	struct gp_rm_disable_channels params;
	const struct gp_nv_group *first;
};

static void batch_start(struct batch *b, bool disable)
{
	memset(&b->params, 0, sizeof(b->params));
	b->params.disable = disable;
	b->first = NULL;
}

static bool batch_takes(const struct batch *b, const struct gp_nv_group *g)
{
	if (!b->first)
		return true;
	return b->first->file->fd == g->file->fd && b->first->client == g->client &&
	       b->first->subdevice == g->subdevice &&
	       b->params.count + g->base.channels <= GP_RM_DISABLE_MAX;
}

static void batch_add(struct batch *b, const struct gp_nv_group *g)
{
	if (!b->first)
		b->first = g;
	for (uint32_t i = 0; i < g->base.channels; i++) {
		b->params.client[b->params.count] = g->client;
		b->params.channel[b->params.count] = g->channel[i];
		b->params.count++;
	}
}

static int batch_go(struct batch *b)
{
	const struct gp_nv_group *g = b->first;

	if (!g || !b->params.count)
		return 0;
	return group_control(g, g->subdevice, GP_RM_CTRL_FIFO_DISABLE_CHANNELS, &b->params,
			     sizeof(b->params));
}

static int set_disabled(struct gp_group *const *group, size_t n, bool disable, bool only_running,
			size_t *done)
{
	struct batch b;
	size_t batch_end = 0;
	int r;

	batch_start(&b, disable);
	*done = 0;
	for (size_t i = 0; i < n; i++) {
		const struct gp_nv_group *g = gp_nv_of(gp_nv_group, group[i]);

		if (only_running && g->suspended) {
			batch_end = i + 1;
			continue;
		}
		if (!batch_takes(&b, g)) {
			r = batch_go(&b);
			if (r)
				return r;
			*done = batch_end;
			batch_start(&b, disable);
		}
		batch_add(&b, g);
		batch_end = i + 1;
	}
	r = batch_go(&b);
	if (!r)
		*done = n;
	return r;
}

static int check_groups(struct gp_group *const *group, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct gp_nv_group *g = gp_nv_of(gp_nv_group, group[i]);

		if (group[i]->dev != group[0]->dev)
			return -EINVAL;
		if (!group[i]->channels || !g->subdevice)
			return -EOPNOTSUPP;
	}
	return 0;
}

int gp_nv_suspend(struct gp_group *const *group, size_t n)
{
	size_t done;
	int r = check_groups(group, n);

	/* Suspend none for a call that cannot succeed. */
	for (size_t i = 0; i < n && !r; i++)
		if (gone(gp_nv_of(gp_nv_group, group[i])))
			r = -ESRCH;
	if (r)
		return r;
	r = set_disabled(group, n, true, true, &done);
	if (!r) {
		for (size_t i = 0; i < n; i++)
			gp_nv_of(gp_nv_group, group[i])->suspended = true;
		return 0;
	}
	/*
	 * Resume all that ran before, one by one. The failed batch may be suspended in part,
	 * and one group that is gone must not keep the others suspended.
	 */
	for (size_t i = 0; i < n; i++) {
		size_t ignored;

		if (!gp_nv_of(gp_nv_group, group[i])->suspended)
			set_disabled(&group[i], 1, false, false, &ignored);
	}
	return r;
}

int gp_nv_resume(struct gp_group *const *group, size_t n)
{
	size_t done;
	int r = check_groups(group, n);
	int first;

	if (r)
		return r;
	r = set_disabled(group, n, false, false, &done);
	for (size_t i = 0; i < done; i++)
		gp_nv_of(gp_nv_group, group[i])->suspended = false;
	if (!r)
		return 0;
	first = r;
	for (size_t i = done; i < n; i++) {
		size_t ignored;

		if (!set_disabled(&group[i], 1, false, false, &ignored))
			gp_nv_of(gp_nv_group, group[i])->suspended = false;
	}
	return first;
}

void gp_nv_group_put(struct gp_group *group)
{
	struct gp_nv_group *g = gp_nv_of(gp_nv_group, group);

	if (!g)
		return;
	gp_nv_file_unref(g->file);
	free(g);
}

int gp_nv_usage(struct gp_group *group, uint64_t *busy_ns)
{
	struct gp_nv_device *dev = gp_nv_of(gp_nv_device, group->dev);
	int r = -ENODATA;

	pthread_mutex_lock(&dev->lock);
	if (dev->log)
		r = gp_nv_log_usage(dev->log, gp_nv_of(gp_nv_group, group), busy_ns);
	pthread_mutex_unlock(&dev->lock);
	return r;
}
