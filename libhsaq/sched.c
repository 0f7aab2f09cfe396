// SPDX-License-Identifier: Apache-2.0
/* sched.c - the calls of kfd_sched.h, and their replacement on kernels without them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kfd-patch/uapi/linux/kfd_sched.h"
#include "libhsaq/hsaq_internal.h"

static int need_sched(const struct hsaq *h, uint32_t gpu_id)
{
	int r = hsaq_usable(h);

	if (r)
		return r;
	return hsaq_device_mode(h, gpu_id) == HSAQ_MODE_SCHED ? 0 : -EOPNOTSUPP;
}

static bool is_self(const struct hsaq *h, int32_t pid)
{
	return !pid || pid == h->owner;
}

/* ---- states ---------------------------------------------------------------------- */

int hsaq_device_state(struct hsaq *h, uint32_t gpu_id, struct hsaq_device_state *state)
{
	struct kfd_sched_device_state d = { 0 };
	struct kfd_ioctl_sched_state_args args = {
		.size = sizeof(args),
		.gpu_id = gpu_id,
		.grant_fd = -1,
		.device_size = sizeof(d),
		.device_ptr = (uintptr_t)&d,
	};
	struct hsaq_device_state s = { 0 };
	int r = need_sched(h, gpu_id);

	if (r)
		return r;
	if (!state || state->size < sizeof(*state))
		return -EINVAL;
	args.pid = (uint32_t)h->owner;
	args.queue_size = sizeof(struct kfd_sched_queue_state);
	r = hsaq_ioctl(h, AMDKFD_IOC_SCHED_STATE, &args);
	if (r)
		return r;
	s.slots = d.slots;
	s.slots_quarantined = d.slots_quarantined;
	s.vmids = d.vmids;
	s.holders = d.holders;
	s.hold_level = d.hold_level;
	s.queues = d.queues;
	s.loaded = d.loaded;
	s.quantum_ns = d.quantum_ns;
	s.idle_quantum_ns = d.idle_quantum_ns;
	s.lc_bound_ns = d.lc_bound_ns;
	s.max_hold_ns = d.max_hold_ns;
	s.seq = d.seq;
	s.rotations = d.rotations;
	s.holds = d.holds;
	s.holds_expired = d.holds_expired;
	s.quarantines = d.quarantines;
	s.recoveries = d.recoveries;
	s.resets = d.resets;
	return hsaq_copy_out(state, &s, sizeof(s));
}

/* ---- classes ----------------------------------------------------------------------- */

static int check_class(const struct hsaq_class_opts *o)
{
	const unsigned char *bytes = (const unsigned char *)o;

	if (!o || o->size < sizeof(*o))
		return -EINVAL;
	for (size_t i = sizeof(*o); i < o->size; i++)
		if (bytes[i])
			return -E2BIG;
	if (o->pid < 0)
		return -EINVAL;
	if (o->cls == HSAQ_CLASS_LC)
		return o->level > HSAQ_LEVEL_MAX || o->weight ? -EINVAL : 0;
	if (o->cls == HSAQ_CLASS_BE)
		return o->weight > HSAQ_WEIGHT_MAX || o->level ? -EINVAL : 0;
	return -EINVAL;
}

static int set_class_sched(struct hsaq *h, const struct hsaq_class_opts *o)
{
	bool all = o->queue_id == HSAQ_ALL_QUEUES;
	struct kfd_ioctl_sched_set_class_args args = {
		.size = sizeof(args),
		.flags = all ? KFD_SCHED_SET_PROCESS : 0,
		.gpu_id = o->gpu_id,
		.pid = (uint32_t)o->pid,
		.queue_id = all ? 0 : o->queue_id,
		.sched_class = o->cls,
		.level = o->level,
		.weight = o->weight,
		.grant_fd = h->grant_fd,
	};

	_Static_assert(HSAQ_CLASS_LC == KFD_SCHED_CLASS_LC && HSAQ_CLASS_BE == KFD_SCHED_CLASS_BE,
		       "one numbering");
	return hsaq_ioctl(h, AMDKFD_IOC_SCHED_SET_CLASS, &args);
}

int hsaq_set_class(struct hsaq *h, const struct hsaq_class_opts *opts)
{
	int r = hsaq_usable(h);

	if (!r)
		r = check_class(opts);
	if (!r)
		r = need_sched(h, opts->gpu_id);
	return r ? r : set_class_sched(h, opts);
}

int hsaq_reset_class(struct hsaq *h, uint32_t gpu_id)
{
	const struct hsaq_class_opts be = {
		.size = sizeof(be),
		.gpu_id = gpu_id,
		.queue_id = HSAQ_ALL_QUEUES,
		.cls = HSAQ_CLASS_BE,
	};
	int r = need_sched(h, gpu_id);

	return r ? r : set_class_sched(h, &be);
}

/* ---- holds ------------------------------------------------------------------------- */

static int do_hold(struct hsaq *h, struct kfd_ioctl_sched_hold_args *args,
		   struct hsaq_hold_result *result)
{
	struct hsaq_hold_result res = { 0 };
	int r;

	args->size = sizeof(*args);
	args->grant_fd = h->grant_fd;
	r = hsaq_ioctl(h, AMDKFD_IOC_SCHED_HOLD, args);
	if (r || !result)
		return r;
	res.hold_id = args->hold_id;
	res.unloaded = args->unloaded;
	res.failed = args->failed;
	res.pending = args->pending;
	res.wait_ns = args->wait_ns;
	return hsaq_copy_out(result, &res, sizeof(res));
}

static int check_limit(struct hsaq *h, uint32_t gpu_id, uint64_t limit_ns, uint64_t *max_ns)
{
	struct hsaq_device_state state = { .size = sizeof(state) };
	int r = hsaq_device_state(h, gpu_id, &state);

	if (r)
		return r;
	*max_ns = state.max_hold_ns;
	return limit_ns > state.max_hold_ns ? -ERANGE : 0;
}

int hsaq_hold(struct hsaq *h, uint32_t gpu_id, uint32_t level, uint64_t limit_ns, uint32_t flags,
	      struct hsaq_hold_result *result)
{
	struct kfd_ioctl_sched_hold_args args = {
		.flags = flags,
		.gpu_id = gpu_id,
		.level = level,
		.limit_ns = limit_ns,
	};
	uint64_t max_ns;
	int r = need_sched(h, gpu_id);

	_Static_assert(HSAQ_HOLD_NOWAIT == KFD_SCHED_HOLD_NOWAIT, "one numbering");
	if (r)
		return r;
	if (!limit_ns)
		return -ERANGE;
	if (level > HSAQ_LEVEL_MAX || flags & ~HSAQ_HOLD_NOWAIT ||
	    (result && result->size < sizeof(*result)))
		return -EINVAL;
	r = do_hold(h, &args, result);
	/* The only value that the driver may refuse if all else is valid. */
	if (r == -EINVAL)
		r = check_limit(h, gpu_id, limit_ns, &max_ns) == -ERANGE ? -ERANGE : -EINVAL;
	return r;
}

int hsaq_release(struct hsaq *h, uint32_t gpu_id, uint32_t hold_id,
		 struct hsaq_release_result *result)
{
	struct kfd_ioctl_sched_release_args args = {
		.size = sizeof(args),
		.gpu_id = gpu_id,
		.hold_id = hold_id,
	};
	struct hsaq_release_result res = { 0 };
	int r = need_sched(h, gpu_id);

	_Static_assert(HSAQ_ENDED_LIMIT == KFD_SCHED_ENDED_LIMIT &&
			       HSAQ_ENDED_RESET == KFD_SCHED_ENDED_RESET,
		       "one numbering");
	if (r)
		return r;
	if (result && result->size < sizeof(*result))
		return -EINVAL;
	r = hsaq_ioctl(h, AMDKFD_IOC_SCHED_RELEASE, &args);
	if (r || !result)
		return r;
	res.ended = args.ended;
	res.loaded = args.loaded;
	res.holders = args.holders;
	res.held_ns = args.held_ns;
	return hsaq_copy_out(result, &res, sizeof(res));
}

/* ---- unload and load ------------------------------------------------------------------- */

/* @h's hold of this queue, or 0. */
static uint32_t find_off(struct hsaq *h, uint32_t gpu_id, int32_t pid, uint32_t queue_id)
{
	uint32_t hold_id = 0;

	pthread_mutex_lock(&h->lock);
	for (const struct hsaq_off *o = h->off; o && !hold_id; o = o->next)
		if (o->gpu_id == gpu_id && o->pid == pid && o->queue_id == queue_id)
			hold_id = o->hold_id;
	pthread_mutex_unlock(&h->lock);
	return hold_id;
}

/* Stores @off; returns the queue's former hold, or 0. */
static uint32_t remember_off(struct hsaq *h, struct hsaq_off *off)
{
	uint32_t before = 0;

	pthread_mutex_lock(&h->lock);
	for (struct hsaq_off **at = &h->off; *at; at = &(*at)->next) {
		struct hsaq_off *o = *at;

		if (o->gpu_id != off->gpu_id || o->pid != off->pid || o->queue_id != off->queue_id)
			continue;
		before = o->hold_id;
		*at = o->next;
		free(o);
		break;
	}
	off->next = h->off;
	h->off = off;
	pthread_mutex_unlock(&h->lock);
	return before;
}

static void forget_off(struct hsaq *h, uint32_t gpu_id, uint32_t hold_id)
{
	pthread_mutex_lock(&h->lock);
	for (struct hsaq_off **at = &h->off; *at; at = &(*at)->next) {
		struct hsaq_off *o = *at;

		if (o->gpu_id != gpu_id || o->hold_id != hold_id)
			continue;
		*at = o->next;
		free(o);
		break;
	}
	pthread_mutex_unlock(&h->lock);
}

void hsaq_off_free(struct hsaq *h)
{
	while (h->off) {
		struct hsaq_off *o = h->off;

		h->off = o->next;
		free(o);
	}
}

static int end_off(struct hsaq *h, uint32_t gpu_id, uint32_t hold_id)
{
	int r = hsaq_release(h, gpu_id, hold_id, NULL);

	return r == -ENOENT ? 0 : r;
}

/* @pid 0: this process. */
static int unload_by_hold(struct hsaq *h, uint32_t gpu_id, int32_t pid, uint32_t queue_id,
			  uint64_t limit_ns)
{
	struct hsaq_hold_result result = { .size = sizeof(result) };
	struct kfd_ioctl_sched_hold_args args = {
		.flags = KFD_SCHED_HOLD_ONLY,
		.gpu_id = gpu_id,
		.pid = (uint32_t)pid,
		.queue_id = queue_id,
	};
	struct hsaq_off *off;
	uint32_t before;
	uint64_t max_ns;
	int r;

	_Static_assert(HSAQ_ALL_QUEUES == KFD_SCHED_ALL_QUEUES, "one numbering");
	r = check_limit(h, gpu_id, limit_ns, &max_ns);
	if (r)
		return r;
	args.limit_ns = limit_ns ? limit_ns : max_ns;
	off = malloc(sizeof(*off));
	if (!off)
		return -ENOMEM;
	r = do_hold(h, &args, &result);
	/* Neither the flag nor the fields are known: a series without this kind of hold. */
	if (r == -EINVAL || r == -E2BIG)
		r = -EOPNOTSUPP;
	if (!r && result.failed) {
		(void)end_off(h, gpu_id, result.hold_id);
		r = -ETIME;
	}
	if (r) {
		free(off);
		return r;
	}
	*off = (struct hsaq_off){ NULL, gpu_id, pid, queue_id, result.hold_id };
	before = remember_off(h, off);
	return before ? end_off(h, gpu_id, before) : 0;
}

/*
 * If the driver can, by a hold of that queue alone, which has a limit and ends with the file.
 * Own queues also use UPDATE_QUEUE, in every mode.
 */
int hsaq_unload(struct hsaq *h, uint32_t gpu_id, int32_t pid, uint32_t queue_id, uint64_t limit_ns)
{
	int r = hsaq_usable(h);

	if (r)
		return r;
	if (pid < 0)
		return -EINVAL;
	r = -EOPNOTSUPP;
	if (hsaq_device_mode(h, gpu_id) == HSAQ_MODE_SCHED)
		r = unload_by_hold(h, gpu_id, is_self(h, pid) ? 0 : pid, queue_id, limit_ns);
	if (r == -EOPNOTSUPP && is_self(h, pid) && hsaq_saves(h, gpu_id))
		r = hsaq_own_unload(h, gpu_id, queue_id);
	return r;
}

int hsaq_load(struct hsaq *h, uint32_t gpu_id, int32_t pid, uint32_t queue_id)
{
	uint32_t hold_id;
	bool sched;
	int32_t key;
	int r = hsaq_usable(h);

	if (r)
		return r;
	if (pid < 0)
		return -EINVAL;
	sched = hsaq_device_mode(h, gpu_id) == HSAQ_MODE_SCHED;
	key = is_self(h, pid) ? 0 : pid;
	hold_id = find_off(h, gpu_id, key, queue_id);
	if (hold_id) {
		r = end_off(h, gpu_id, hold_id);
		if (!r)
			forget_off(h, gpu_id, hold_id);
		return r;
	}
	if (is_self(h, pid)) {
		r = hsaq_own_load(h, gpu_id, queue_id);
		return r == -ENOENT && sched ? 0 : r;
	}
	return sched ? 0 : -EOPNOTSUPP;
}

bool hsaq_is_unloaded(struct hsaq *h, uint32_t gpu_id, int32_t pid, uint32_t queue_id)
{
	int32_t key = is_self(h, pid) ? 0 : pid;

	return find_off(h, gpu_id, key, queue_id) ||
	       (!key && hsaq_own_is_unloaded(h, gpu_id, queue_id));
}

/*
 * Asks about a queue number that no process can have. A driver with such holds returns
 * -ENOENT. Should the queue exist after all, it is off for 1 ns.
 */
bool hsaq_unloads_others(struct hsaq *h, uint32_t gpu_id)
{
	struct kfd_ioctl_sched_hold_args args = {
		.flags = KFD_SCHED_HOLD_ONLY,
		.gpu_id = gpu_id,
		.limit_ns = 1,
		.queue_id = KFD_SCHED_ALL_QUEUES - 1,
	};
	int r;

	if (need_sched(h, gpu_id))
		return false;
	pthread_mutex_lock(&h->lock);
	if (!h->asked_only) {
		r = do_hold(h, &args, NULL);
		h->has_only = !r || r == -ENOENT;
		h->asked_only = true;
	}
	pthread_mutex_unlock(&h->lock);
	return h->has_only;
}

/* ---- events ------------------------------------------------------------------------------ */

int hsaq_wait(struct hsaq *h, uint32_t gpu_id, uint64_t after, uint32_t timeout_ms,
	      struct hsaq_event *event)
{
	struct kfd_ioctl_sched_wait_args args = {
		.size = sizeof(args),
		.gpu_id = gpu_id,
		.timeout_ms = timeout_ms,
		.seq = after,
	};
	struct hsaq_event ev = { 0 };
	int r = need_sched(h, gpu_id);

	if (r)
		return r;
	if (!event || event->size < sizeof(*event))
		return -EINVAL;
	args.grant_fd = h->grant_fd;
	/* Not retried: a signal must end the wait. */
	r = h->io->ioctl(h->fd, AMDKFD_IOC_SCHED_WAIT, &args);
	if (r < 0)
		return r;
	ev.seq = args.seq;
	ev.kind = args.kind;
	ev.pid = (int32_t)args.pid;
	ev.queue_id = args.queue_id;
	ev.hold_id = args.hold_id;
	ev.value = args.value;
	ev.time_ns = args.time_ns;
	ev.took_ns = args.took_ns;
	return hsaq_copy_out(event, &ev, sizeof(ev));
}
