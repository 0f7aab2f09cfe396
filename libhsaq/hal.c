// SPDX-License-Identifier: Apache-2.0
/*
 * hal.c - the backend "amd": the HAL over libhsaq. Groups are the queues of a process. A hold
 * is the driver's, covers the whole device, and belongs to the process. Not part of
 * libhsaq.so.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hal/procfd.h"
#include "hal/timer.h"
#include "libhsaq/amd.h"
#include "libhsaq/hsaq_internal.h"

/* enum gp_class of gpreempt.h, unknown to backends. */
#define CLASS_NONE 0u
#define CLASS_LC 1u
#define CLASS_BE 2u

/* ---- the handle ------------------------------------------------------------------ */

static struct {
	pthread_mutex_t lock;
	struct hsaq *h;
	size_t refs;
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void before_fork(void)
{
	pthread_mutex_lock(&self.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&self.lock);
}

/* For peek(). Made on first use, kept as long as the process. */
static struct {
	pthread_mutex_t lock;
	int fd[2];
} words = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = { -1, -1 } };

/*
 * A child opens its own handle, because the parent's is useless to it. It also needs its own
 * pipe: with a common one each would read the other's words.
 */
static void after_fork_child(void)
{
	self.h = NULL;
	self.refs = 0;
	pthread_mutex_unlock(&self.lock);
	for (int i = 0; i < 2; i++) {
		if (words.fd[i] >= 0)
			close(words.fd[i]);
		words.fd[i] = -1;
	}
	words.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_child);
}

int gp_amd_handle_get(struct hsaq **h)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int r = 0;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&self.lock);
	if (!self.h)
		r = hsaq_open(NULL, &self.h);
	if (!r) {
		self.refs++;
		*h = self.h;
	}
	pthread_mutex_unlock(&self.lock);
	return r;
}

void gp_amd_handle_put(struct hsaq *h)
{
	pthread_mutex_lock(&self.lock);
	if (h == self.h && !--self.refs) {
		hsaq_close(self.h);
		self.h = NULL;
	}
	pthread_mutex_unlock(&self.lock);
}

/* ---- identity ---------------------------------------------------------------------- */

/*
 * ROCr writes "GPU-" and the unique id, 16 digits (ROCR_VISIBLE_DEVICES). Ours begins with
 * these. The rest distinguishes partitions of one card, and cards without an id.
 */
static void make_uuid(const struct hsaq_device_info *info, uint8_t uuid[16])
{
	memset(uuid, 0, 16);
	for (int i = 0; i < 8; i++)
		uuid[i] = (uint8_t)(info->unique_id >> (56 - 8 * i));
	for (int i = 0; i < 4; i++)
		uuid[12 + i] = (uint8_t)(info->gpu_id >> (24 - 8 * i));
}

static void identify(const struct hsaq_device_info *info, struct gp_device_id *id)
{
	uint32_t gfx = info->gfx_version;

	memset(id, 0, sizeof(*id));
	snprintf(id->name, sizeof(id->name), "AMD %.40s%sgfx%u%x%x", info->name,
		 info->name[0] ? " " : "", gfx / 10000, gfx / 100 % 100, gfx % 100);
	make_uuid(info, id->uuid);
	id->pci_domain = info->pci_domain;
	id->pci_bus = info->pci_bus;
	id->pci_dev = info->pci_dev;
	id->pci_fn = info->pci_fn;
	id->minor = info->render_minor;
}

static int add_device(const struct hsaq_device_info *info, void *arg)
{
	struct gp_device_list *list = arg;

	if (list->count < GP_HAL_MAX_DEVICES)
		identify(info, &list->dev[list->count++]);
	return 0;
}

/* Uses only the topology and opens no file, so that any user can list devices. */
static int amd_probe(struct gp_device_list *list)
{
	struct gp_device_list found = { 0 };
	int r = hsaq_sysfs_devices(hsaq_io_current(), add_device, &found);

	if (!r)
		*list = found;
	return r;
}

struct why {
	char *text;
	size_t len;
};

/* Of the first device without a way to preempt. */
static int explain_route(const struct hsaq_device_info *info, void *arg)
{
	struct why *w = arg;

	return !hsaq_can_unload_own(info, w->text, w->len);
}

static void amd_explain(int err, char *why, size_t why_len)
{
	const struct hsaq_open_opts opts = {
		.size = sizeof(opts),
		.why = why,
		.why_len = why_len,
	};
	struct why route = { why, why_len };
	struct hsaq *h;

	if (err == -EOPNOTSUPP) {
		(void)hsaq_sysfs_devices(hsaq_io_current(), explain_route, &route);
		return;
	}
	/* An attempt to open gives the best explanation. */
	if (!hsaq_open(&opts, &h)) {
		if (err == -ENODEV)
			snprintf(why, why_len,
				 "the KFD lists no GPU; see dmesg for errors of amdgpu");
		hsaq_close(h);
	}
}

/* ---- devices ------------------------------------------------------------------------- */

struct wanted {
	const struct gp_device_id *id; /* or, if NULL, */
	uint32_t gpu_id;
	struct hsaq_device_info info;
};

static int is_wanted(const struct hsaq_device_info *info, void *arg)
{
	struct wanted *w = arg;
	uint8_t uuid[16];

	make_uuid(info, uuid);
	if (w->id ? memcmp(uuid, w->id->uuid, sizeof(uuid)) != 0 : info->gpu_id != w->gpu_id)
		return 0;
	w->info = *info;
	return 1;
}

static uint32_t find_caps(const struct gp_amd_device *d, const struct hsaq_device_info *info)
{
	const uint32_t own = hsaq_can_unload_own(info, NULL, 0) ? GP_CAP_SUSPEND_OWN : 0;

	switch (hsaq_device_mode(d->h, d->gpu_id)) {
	case HSAQ_MODE_SCHED:
		return GP_CAP_ATTACH | GP_CAP_BUSY | GP_CAP_CLASS | GP_CAP_HOLD |
		       GP_CAP_HOLD_OUTSIDE | GP_CAP_SUSPEND_OWN |
		       (hsaq_unloads_others(d->h, d->gpu_id) ? GP_CAP_SUSPEND : 0);
	case HSAQ_MODE_NO_HWS:
	case HSAQ_MODE_HWS:
		return GP_CAP_ATTACH | GP_CAP_BUSY | GP_CAP_HOLD_OUTSIDE | own;
	}
	return 0;
}

static int device_new(const struct wanted *w, struct gp_device **dev);
static const struct gp_hal_ops amd_ops;

static int open_wanted(struct wanted *w, struct gp_device **dev)
{
	int r = hsaq_sysfs_devices(hsaq_io_current(), is_wanted, w);

	if (r < 0)
		return r;
	return r ? device_new(w, dev) : -ENODEV;
}

static int amd_open(const struct gp_device_id *id, struct gp_device **dev)
{
	struct wanted w = { .id = id };

	return open_wanted(&w, dev);
}

int gp_amd_open_gpu(uint32_t gpu_id, struct gp_device **dev)
{
	struct wanted w = { .gpu_id = gpu_id };

	return open_wanted(&w, dev);
}

static int device_new(const struct wanted *w, struct gp_device **dev)
{
	struct hsaq_device_state state = { .size = sizeof(state) };
	struct gp_amd_device *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	r = gp_amd_handle_get(&d->h);
	if (r) {
		free(d);
		return r;
	}
	d->base.ops = &amd_ops;
	identify(&w->info, &d->base.id);
	d->gpu_id = w->info.gpu_id;
	d->slots = w->info.cp_queues;
	atomic_init(&d->hold_level, HSAQ_LEVEL_MAX);
	d->caps = find_caps(d, &w->info);
	if (!hsaq_device_state(d->h, d->gpu_id, &state)) {
		d->slots = state.slots;
		d->max_hold_ns = state.max_hold_ns;
	}
	*dev = &d->base;
	return 0;
}

static void amd_close(struct gp_device *dev)
{
	struct gp_amd_device *d = gp_amd_of(gp_amd_device, dev);

	if (!d)
		return;
	gp_amd_handle_put(d->h);
	free(d);
}

static int amd_caps(struct gp_device *dev, struct gp_hal_caps *caps)
{
	const struct gp_amd_device *d = gp_amd_of(gp_amd_device, dev);

	/* Costs are unknown: no card has been measured. */
	*caps = (struct gp_hal_caps){
		.caps = d->caps,
		.slots = d->slots,
		.max_hold_ns = d->max_hold_ns,
	};
	return 0;
}

/* ---- groups ----------------------------------------------------------------------------- */

struct gp_group *gp_amd_group_new(struct gp_device *dev, pid_t pid, uint32_t queue_id,
				  uint32_t type)
{
	struct gp_amd_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->base.dev = dev;
	g->base.pid = pid;
	g->base.id = (uint32_t)pid << GP_AMD_QUEUE_BITS | queue_id;
	g->base.kind = type == HSAQ_QUEUE_COMPUTE ? GP_GROUP_COMPUTE :
		       type == HSAQ_QUEUE_SDMA	  ? GP_GROUP_COPY :
						    GP_GROUP_UNKNOWN;
	g->base.channels = 1;
	g->queue_id = queue_id;
	return &g->base;
}

static void amd_group_put(struct gp_group *group)
{
	free(group);
}

struct finding {
	struct gp_device *dev;
	struct gp_group_list list;
};

static int add_group(const struct hsaq_queue_info *info, void *arg)
{
	struct finding *f = arg;
	struct gp_group **group = realloc(f->list.group, (f->list.count + 1) * sizeof(*group));

	if (!group)
		return -ENOMEM;
	f->list.group = group;
	group[f->list.count] = gp_amd_group_new(f->dev, info->pid, info->queue_id, info->type);
	if (!group[f->list.count])
		return -ENOMEM;
	f->list.count++;
	return 0;
}

static int amd_groups(struct gp_device *dev, pid_t pid, struct gp_group_list *list)
{
	struct gp_amd_device *d = gp_amd_of(gp_amd_device, dev);
	struct finding f = { .dev = dev };
	int r;

	if (pid < 0 || (pid && kill(pid, 0) && errno == ESRCH))
		return -ESRCH;
	r = hsaq_queues(d->h, d->gpu_id, pid ? pid : getpid(), add_group, &f);
	if (r) {
		gp_group_list_put(&f.list);
		return r;
	}
	*list = f.list;
	return 0;
}

static int stop_at_first(const char *name, void *arg)
{
	return 1;
}

static int stop_at_file(void *arg, int fd)
{
	return 1;
}

/* A process that opens /dev/kfd has a folder in sysfs until its last memory is gone. */
static int amd_has_driver_open(struct gp_device *dev, pid_t pid)
{
	char path[64];
	int r;

	if (pid < 0 || (pid && kill(pid, 0) && errno == ESRCH))
		return -ESRCH;
	pid = pid ? pid : getpid();
	if (!hsaq_io_current()->pids_are_ours())
		return gp_proc_fds(pid, HSAQ_DEV_KFD, stop_at_file, NULL);
	snprintf(path, sizeof(path), HSAQ_SYSFS "/proc/%d", (int)pid);
	r = hsaq_io_current()->list(path, stop_at_first, NULL);
	return r == -ENOENT ? 0 : r;
}

/* AQL: 64 bytes a packet, the completion signal last (HSA runtime 1.2, 2.9.6). */
#define PACKET_BYTES 64u
#define PACKET_SIGNAL 56u
/* Offset of the value in amd_signal_t of ROCr and the packet processor. */
#define SIGNAL_VALUE 8u

/*
 * Reads a word of our own memory that may be unmapped at any moment: the queue and its signals
 * are the application's. A write to a pipe returns -EFAULT then. process_vm_readv() cannot
 * read the mapping of a device file.
 */
static int peek(uint64_t at, uint64_t *value)
{
	int r = -ENODATA;

	pthread_mutex_lock(&words.lock);
	if ((words.fd[0] >= 0 || !pipe2(words.fd, O_CLOEXEC | O_NONBLOCK)) &&
	    syscall(SYS_write, words.fd[1], at, sizeof(*value)) == sizeof(*value) &&
	    read(words.fd[0], value, sizeof(*value)) == sizeof(*value))
		r = 0;
	pthread_mutex_unlock(&words.lock);
	return r;
}

/*
 * Packets wait while the read index is behind. It passes a packet at its launch, so the last
 * packet's signal shows whether it is done. A packet without a signal counts as done.
 */
static int amd_busy(struct gp_group *group)
{
	const struct gp_amd_group *g = gp_amd_of(gp_amd_group, group);
	uint64_t w, r, signal, value, last;

	if (!g->wptr || peek(g->wptr, &w) || peek(g->rptr, &r))
		return -ENODATA;
	if (w != r)
		return 1;
	if (!g->ring || !w)
		return 0;
	last = g->ring + (w - 1) % (g->ring_bytes / PACKET_BYTES) * PACKET_BYTES;
	if (peek(last + PACKET_SIGNAL, &signal) || !signal || peek(signal + SIGNAL_VALUE, &value))
		return 0;
	return (int64_t)value > 0;
}

static int group_load(struct gp_group *group)
{
	struct gp_amd_device *d = gp_amd_of(gp_amd_device, group->dev);
	int r = hsaq_load(d->h, d->gpu_id, group->pid, gp_amd_of(gp_amd_group, group)->queue_id);

	return r == -ENOENT ? -ESRCH : r;
}

static int group_unload(struct gp_group *group, bool *was_off)
{
	struct gp_amd_device *d = gp_amd_of(gp_amd_device, group->dev);
	uint32_t queue_id = gp_amd_of(gp_amd_group, group)->queue_id;
	int r;

	*was_off = hsaq_is_unloaded(d->h, d->gpu_id, group->pid, queue_id);
	r = hsaq_unload(d->h, d->gpu_id, group->pid, queue_id, 0);
	/* The queue is gone, and with it its group. */
	return r == -ENOENT ? -ESRCH : r;
}

/* A group on its way through amd_suspend(). */
struct suspended {
	bool busy, was_off, done;
};

/* One pass over the busy groups, or over the others. */
static int suspend_some(struct gp_group *const *group, size_t n, struct suspended *s, bool busy)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		if (s[i].busy != busy)
			continue;
		r = group_unload(group[i], &s[i].was_off);
		s[i].done = !r;
		/* Our own is gone while the tracker has not heard of it. */
		if (r == -ESRCH && group[i]->pid == getpid())
			r = 0;
	}
	return r;
}

/* Busy ones first: what they run is all that the others wait for. */
static int amd_suspend(struct gp_group *const *group, size_t n)
{
	struct suspended *s = n ? calloc(n, sizeof(*s)) : NULL;
	int r;

	if (n && !s)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		s[i].busy = amd_busy(group[i]) == 1;
	r = suspend_some(group, n, s, true);
	if (!r)
		r = suspend_some(group, n, s, false);
	for (size_t i = 0; r && i < n; i++)
		if (s[i].done && !s[i].was_off)
			(void)group_load(group[i]);
	free(s);
	return r;
}

static int amd_resume(struct gp_group *const *group, size_t n)
{
	int first = 0;

	for (size_t i = 0; i < n; i++) {
		int r = group_load(group[i]);

		if (r == -ESRCH && group[i]->pid == getpid())
			continue;
		first = first ? first : r;
	}
	return first;
}

static int found_usage(const struct hsaq_queue_info *info, void *arg)
{
	const struct hsaq_queue_info *want = arg;

	if (info->queue_id != want->queue_id)
		return 0;
	*(struct hsaq_queue_info *)arg = *info;
	return 1;
}

static int amd_usage(struct gp_group *group, uint64_t *busy_ns)
{
	struct gp_amd_device *d = gp_amd_of(gp_amd_device, group->dev);
	struct hsaq_queue_info info = {
		.queue_id = gp_amd_of(gp_amd_group, group)->queue_id,
	};
	int r = hsaq_queues(d->h, d->gpu_id, group->pid, found_usage, &info);

	if (r < 0)
		return r;
	if (!r)
		return -ESRCH;
	if (info.state == HSAQ_STATE_UNKNOWN)
		return -ENODATA;
	*busy_ns = info.loaded_ns;
	return 0;
}

/* ---- classes ------------------------------------------------------------------------------ */

static int amd_set_class(struct gp_device *dev, pid_t pid, const struct gp_class_value *cls)
{
	struct gp_amd_device *d = gp_amd_of(gp_amd_device, dev);
	bool own = !pid || pid == getpid();
	struct hsaq_class_opts opts = {
		.size = sizeof(opts),
		.gpu_id = d->gpu_id,
		.pid = own ? 0 : pid,
		.queue_id = HSAQ_ALL_QUEUES,
	};
	int r;

	switch (cls->cls) {
	case CLASS_LC:
		opts.cls = HSAQ_CLASS_LC;
		opts.level = cls->value;
		break;
	case CLASS_BE:
		opts.cls = HSAQ_CLASS_BE;
		opts.weight = cls->value;
		break;
	case CLASS_NONE:
		opts.cls = HSAQ_CLASS_BE;
		break;
	default:
		return -EINVAL;
	}
	r = own && cls->cls == CLASS_NONE ? hsaq_reset_class(d->h, d->gpu_id) :
					    hsaq_set_class(d->h, &opts);
	if (!r && own)
		atomic_store(&d->hold_level, cls->cls == CLASS_LC ? cls->value : HSAQ_LEVEL_MAX);
	return r;
}

/* ---- holds ---------------------------------------------------------------------------------- */

/*
 * struct amd_hold - a hold of the process
 * @id: the driver's, 0: none. Atomic: the releasing thread takes it, perhaps in a signal
 *	handler.
 * @stat: protected by the caller's lock for one gp_hold, see hal.h
 */
struct amd_hold {
	struct gp_hold base; /* first */
	atomic_uint id;
	uint64_t until_ns;
	uint64_t wait_ns;
	struct gp_hold_stat stat;
};

static int amd_process_context(struct gp_device *dev, void **context)
{
	*context = dev;
	return 0;
}

static int amd_hold_create(struct gp_device *dev, void *context, struct gp_hold **hold)
{
	struct gp_amd_device *d = gp_amd_of(gp_amd_device, dev);
	struct amd_hold *made;

	if (!(d->caps & GP_CAP_HOLD))
		return -EOPNOTSUPP;
	if (context != dev)
		return -ENXIO;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->base.dev = dev;
	*hold = &made->base;
	return 0;
}

static int amd_release(struct gp_hold *hold)
{
	struct gp_amd_device *d = gp_amd_of(gp_amd_device, hold->dev);
	struct amd_hold *a = gp_amd_of(amd_hold, hold);
	struct hsaq_release_result result = { .size = sizeof(result) };
	uint32_t id = atomic_exchange(&a->id, 0);
	int r;

	if (!id)
		return 0;
	r = hsaq_release(d->h, d->gpu_id, id, &result);
	if (r && r != -ENOENT) {
		/* Still on: the next attempt must find it. */
		atomic_store(&a->id, id);
		return r;
	}
	a->stat.until_ns = gp_wall_ns();
	a->stat.held_ns = result.held_ns;
	a->stat.switch_ns = a->wait_ns;
	/* A hold that the driver no longer knows had reached its limit. */
	if (r || result.ended == HSAQ_ENDED_LIMIT) {
		a->stat.expired++;
		a->stat.switch_ns = 0;
	}
	return 0;
}

static int amd_hold_start(struct gp_hold *hold, uint64_t limit_ns)
{
	struct gp_amd_device *d = gp_amd_of(gp_amd_device, hold->dev);
	struct amd_hold *a = gp_amd_of(amd_hold, hold);
	struct hsaq_hold_result result = { .size = sizeof(result) };
	uint64_t from_ns;
	int r;

	if (!limit_ns || limit_ns > d->max_hold_ns)
		return -ERANGE;
	if (atomic_load(&a->id)) {
		if (gp_wall_ns() < a->until_ns)
			return -EBUSY;
		r = amd_release(hold);
		if (r)
			return r;
	}
	from_ns = gp_wall_ns();
	r = hsaq_hold(d->h, d->gpu_id, atomic_load(&d->hold_level), limit_ns, 0, &result);
	if (r)
		return r;
	a->stat.from_ns = from_ns;
	a->stat.until_ns = 0;
	a->until_ns = gp_wall_ns() + limit_ns;
	a->wait_ns = result.wait_ns;
	a->stat.seq++;
	a->stat.switch_ns = 0;
	a->stat.held_ns = 0;
	atomic_store(&a->id, result.hold_id);
	return 0;
}

static int amd_hold_stat(struct gp_hold *hold, struct gp_hold_stat *stat)
{
	*stat = gp_amd_of(amd_hold, hold)->stat;
	return 0;
}

static void amd_hold_destroy(struct gp_hold *hold)
{
	if (!hold)
		return;
	(void)amd_release(hold);
	free(hold);
}

static const struct gp_hal_ops amd_ops = {
	.name = "amd",
	.abi = GP_HAL_ABI,
	.busy = amd_busy,
	.caps = amd_caps,
	.close = amd_close,
	.explain = amd_explain,
	.group_put = amd_group_put,
	.groups = amd_groups,
	.has_driver_open = amd_has_driver_open,
	.hold = amd_hold_start,
	.hold_create = amd_hold_create,
	.hold_destroy = amd_hold_destroy,
	.hold_stat = amd_hold_stat,
	.now = gp_wall_now,
	.open = amd_open,
	.probe = amd_probe,
	.process_context = amd_process_context,
	.release = amd_release,
	.resume = amd_resume,
	.set_class = amd_set_class,
	.suspend = amd_suspend,
	.timer_ack = gp_wall_timer_ack,
	.timer_arm = gp_wall_timer_arm,
	.timer_create = gp_wall_timer_create,
	.timer_destroy = gp_wall_timer_destroy,
	.timer_done = gp_wall_timer_done,
	.usage = amd_usage,
};
GP_HAL_BACKEND(amd_ops);
