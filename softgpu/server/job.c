// SPDX-License-Identifier: Apache-2.0
/*
 * job.c - work in a channel of the model: its computation, copies and stamps, at the times of
 * the model's events.
 *
 * A hold's word is the client's memory. The model gets a word of ours instead, because the
 * kernel also ends by the GPU's own clock (nvidia-backend/hold_abi.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nvidia-backend/hold_abi.h"
#include "softgpu/server/server.h"

struct soft_job {
	struct soft_job *next;	    /* of its channel */
	struct soft_job *next_hold; /* of the server */
	struct soft_server *server;
	struct soft_object *channel;
	struct soft_proc *proc; /* NULL: a wait */
	struct gp_soft_submit sub;
	struct soft_launch launch;
	const struct soft_kernel *kernel;
	struct soft_region *dst, *src, *stamp;
	bool fault;
	/* hold */
	bool started, waited;
	uint32_t word; /* the model reads it: 1 ends the hold */
	uint32_t how;
	uint64_t from_ns;
	unsigned char data[]; /* arguments, or bytes to copy */
};

static struct gp_nv_hold_params hold_params(const struct soft_job *j)
{
	struct gp_nv_hold_params p;

	memcpy(&p, j->launch.args, GP_NV_HOLD_PARAMS_BYTES);
	return p;
}

static struct gp_nv_hold_stamp *hold_stamp(const struct soft_job *j)
{
	return j->launch.ptr[1];
}

static void job_free(struct soft_job *j)
{
	struct soft_job **link = &j->server->holds;

	if (j->kernel && j->kernel->hold) {
		while (*link && *link != j)
			link = &(*link)->next_hold;
		if (*link)
			*link = j->next_hold;
	}
	soft_launch_put(&j->launch);
	soft_region_put(j->dst);
	soft_region_put(j->src);
	soft_region_put(j->stamp);
	free(j);
}

static void job_unlink(struct soft_job *j)
{
	struct soft_job **link = &j->channel->jobs;

	while (*link != j)
		link = &(*link)->next;
	*link = j->next;
	job_free(j);
}

void soft_jobs_drop(struct soft_server *s, struct soft_object *channel)
{
	(void)s;
	while (channel->jobs)
		job_unlink(channel->jobs);
}

/* ---- holds --------------------------------------------------------------- */

static bool hold_released(const struct soft_job *j)
{
	const struct gp_nv_hold_params p = hold_params(j);
	const uint32_t *word = j->launch.ptr[0];

	/* Pairs with the client's plain store; read whenever time moves. */
	return (int32_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) - p.ticket) >= 0;
}

static uint64_t hold_limit_ns(const struct soft_job *j)
{
	const uint64_t limit_ns = hold_params(j).limit_ns;

	return limit_ns > SOFT_NEVER - j->from_ns ? SOFT_NEVER : j->from_ns + limit_ns;
}

uint64_t soft_holds_look(struct soft_server *s)
{
	const uint64_t now_ns = soft_now(s);
	uint64_t next_ns = SOFT_NEVER;

	for (struct soft_job *j = s->holds; j; j = j->next_hold) {
		if (!j->started || j->word)
			continue;
		if (hold_released(j)) {
			j->how |= GP_NV_HOLD_RELEASED;
		} else if (now_ns >= hold_limit_ns(j)) {
			j->how |= GP_NV_HOLD_LIMIT;
		} else {
			j->how |= GP_NV_HOLD_WAITED;
			if (hold_limit_ns(j) < next_ns)
				next_ns = hold_limit_ns(j);
			continue;
		}
		__atomic_store_n(&j->word, 1, __ATOMIC_RELAXED);
	}
	return next_ns;
}

static void hold_start(struct soft_job *j, uint64_t now_ns)
{
	struct gp_nv_hold_stamp *stamp = hold_stamp(j);

	__atomic_store_n(&stamp->start_ns, now_ns, __ATOMIC_RELAXED);
	j->from_ns = now_ns;
	j->started = true;
	soft_holds_look(j->server);
}

static void hold_end(struct soft_job *j, uint64_t now_ns)
{
	struct gp_nv_hold_stamp *stamp = hold_stamp(j);

	if (!(j->how & (GP_NV_HOLD_RELEASED | GP_NV_HOLD_LIMIT)))
		j->how |= hold_released(j) ? GP_NV_HOLD_RELEASED : GP_NV_HOLD_LIMIT;
	__atomic_store_n(&stamp->end_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&stamp->how, j->how, __ATOMIC_RELAXED);
	__atomic_store_n(&stamp->ticket, hold_params(j).ticket, __ATOMIC_RELEASE);
}

/* ---- submit -------------------------------------------------------------- */

static int prepare_kernel(struct soft_job *j, struct soft_proc *p, struct gp_model_method *m)
{
	struct soft_launch *l = &j->launch;
	const struct gp_soft_submit *sub = &j->sub;
	int err;

	j->kernel = soft_kernel(sub->kernel);
	if (!j->kernel || sub->args_bytes < j->kernel->args_bytes)
		return -EINVAL;
	for (int i = 0; i < 3; i++) {
		if (!sub->grid[i] || !sub->block[i] || sub->block[i] > 1024 ||
		    sub->grid[i] > (i ? 65535u : INT32_MAX))
			return -EINVAL;
		l->grid[i] = sub->grid[i];
		l->block[i] = sub->block[i];
	}
	l->blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	if (l->blocks > UINT32_MAX)
		return -EINVAL;
	if (j->kernel->cooperative && !(sub->flags & GP_SOFT_COOPERATIVE))
		return -EINVAL;
	l->proc = p;
	l->args = j->data;
	l->args_bytes = sub->args_bytes;
	m->type = GP_METHOD_KERNEL;
	m->blocks = l->blocks;
	err = j->kernel->prepare(l, &m->block_ns);
	if (err == -EFAULT) {
		/* As on a GPU: it starts, faults, and computes nothing. */
		j->fault = true;
		m->block_ns = 1000;
	} else if (err) {
		return err;
	}
	if (sub->flags & GP_SOFT_COOPERATIVE)
		m->flags |= GP_METHOD_COOPERATIVE;
	if (j->kernel->hold && !j->fault) {
		m->type = GP_METHOD_HOLD;
		m->word = &j->word;
		m->ticket = 1;
		m->limit_ns = hold_params(j).limit_ns;
		if (m->limit_ns > SOFT_NEVER / 8)
			m->limit_ns = SOFT_NEVER / 8;
		j->next_hold = j->server->holds;
		j->server->holds = j;
	}
	return 0;
}

static int prepare_copy(struct soft_job *j, struct soft_proc *p, struct gp_model_method *m)
{
	const struct gp_soft_submit *sub = &j->sub;
	const bool inlined = sub->flags & GP_SOFT_INLINE;

	if (!sub->bytes || (inlined && sub->bytes > GP_SOFT_INLINE_MAX))
		return -EINVAL;
	j->dst = soft_region_get(p, sub->dst, sub->bytes);
	if (!inlined)
		j->src = soft_region_get(p, sub->src, sub->bytes);
	if (!j->dst || (!inlined && !j->src))
		return -EINVAL;
	if (soft_fault_planted(j->server, SOFT_FAULT_COPY))
		return -EIO;
	m->type = GP_METHOD_COPY;
	m->bytes = sub->bytes;
	return 0;
}

/* A kernel of the driver's sets memory, on the compute engine. */
static int prepare_set(struct soft_job *j, struct soft_proc *p, struct gp_model_method *m)
{
	const struct gp_soft_submit *sub = &j->sub;

	if (!sub->bytes || (sub->width != 1 && sub->width != 4) || sub->bytes % sub->width ||
	    sub->dst % sub->width)
		return -EINVAL;
	j->dst = soft_region_get(p, sub->dst, sub->bytes);
	if (!j->dst)
		return -EINVAL;
	m->type = GP_METHOD_KERNEL;
	m->blocks = 1;
	m->block_ns = 1000 + sub->bytes / 1000; /* 1 TB/s */
	return 0;
}

static int prepare_fence(struct soft_job *j, struct soft_proc *p, struct gp_model_method *m)
{
	m->type = GP_METHOD_FENCE;
	if (!j->sub.stamp)
		return 0;
	if (j->sub.stamp % 8)
		return -EINVAL;
	j->stamp = soft_region_get(p, j->sub.stamp, sizeof(struct gp_soft_stamp));
	return j->stamp ? 0 : -EINVAL;
}

static int prepare_write(struct soft_job *j, struct soft_proc *p, struct gp_model_method *m)
{
	m->type = GP_METHOD_FENCE;
	if (j->sub.dst % sizeof(uint32_t))
		return -EINVAL;
	j->dst = soft_region_get(p, j->sub.dst, sizeof(uint32_t));
	return j->dst ? 0 : -EINVAL;
}

static int prepare(struct soft_job *j, struct soft_proc *p, struct gp_model_method *m)
{
	switch (j->sub.work) {
	case GP_SOFT_WORK_KERNEL:
		return prepare_kernel(j, p, m);
	case GP_SOFT_WORK_COPY:
		return prepare_copy(j, p, m);
	case GP_SOFT_WORK_SET:
		return prepare_set(j, p, m);
	case GP_SOFT_WORK_FENCE:
		return prepare_fence(j, p, m);
	case GP_SOFT_WORK_WRITE:
		return prepare_write(j, p, m);
	default:
		return -EINVAL;
	}
}

static int job_queue(struct soft_job *j, const struct gp_model_method *m, uint64_t *seq)
{
	int err = gp_model_submit(j->channel->gpu->model, j->channel->model, m, seq);

	if (err)
		return err;
	j->next = j->channel->jobs;
	j->channel->jobs = j;
	return 0;
}

static struct soft_job *job_create(struct soft_server *s, struct soft_object *channel, size_t bytes)
{
	struct soft_job *j = calloc(1, sizeof(*j) + bytes);

	if (j) {
		j->server = s;
		j->channel = channel;
	}
	return j;
}

static int submit_wait(struct soft_server *s, struct soft_conn *c, struct soft_object *channel,
		       const struct gp_soft_point *point)
{
	struct soft_object *other = soft_rm_channel(s, c->proc, point->client, point->channel);
	struct gp_model_method m = { .type = GP_METHOD_WAIT };
	struct soft_job *j;
	int err;

	/* A channel that is gone delays nobody. */
	if (!other || other == channel || other->done_seq >= point->seq)
		return 0;
	/* Each model knows its own channels only. */
	if (other->gpu != channel->gpu)
		return -EOPNOTSUPP;
	j = job_create(s, channel, 0);
	if (!j)
		return -ENOMEM;
	m.wait_channel = other->model;
	m.wait_seq = point->seq;
	m.cookie = (uintptr_t)j;
	err = job_queue(j, &m, NULL);
	if (err)
		job_free(j);
	return err;
}

int soft_submit(struct soft_server *s, struct soft_conn *c, uint64_t *seq)
{
	const struct gp_soft_req *req = (const void *)c->msg;
	const struct gp_soft_submit *sub = &req->u.submit;
	const struct gp_soft_point *point = (const void *)(req + 1);
	const size_t data_bytes = sub->flags & GP_SOFT_INLINE ? sub->bytes : sub->args_bytes;
	struct gp_model_method m = { 0 };
	struct soft_object *channel;
	struct soft_job *j;
	int err;

	/* Only a copy has its bytes in the message; a kernel has arguments there. */
	if (sub->flags & GP_SOFT_INLINE && sub->work != GP_SOFT_WORK_COPY)
		return -EPROTO;
	if (sub->waits > GP_SOFT_WAITS_MAX || data_bytes > GP_SOFT_MSG_MAX ||
	    c->bytes != sizeof(*req) + sub->waits * sizeof(*point) + data_bytes)
		return -EPROTO;
	channel = soft_rm_channel(s, c->proc, sub->client, sub->channel);
	if (!channel)
		return -ENODEV;
	if (c->proc->error)
		return -EFAULT;
	for (uint32_t i = 0; i < sub->waits; i++) {
		err = submit_wait(s, c, channel, &point[i]);
		if (err)
			return err;
	}
	j = job_create(s, channel, data_bytes + 1);
	if (!j)
		return -ENOMEM;
	j->sub = *sub;
	j->proc = c->proc;
	memcpy(j->data, point + sub->waits, data_bytes);
	err = prepare(j, c->proc, &m);
	if (!err) {
		m.cookie = (uintptr_t)j;
		err = job_queue(j, &m, seq);
	}
	if (err)
		job_free(j);
	return err;
}

/* ---- events of the model -------------------------------------------------- */

static void job_copy(struct soft_job *j)
{
	unsigned char *to = j->dst->map + (j->sub.dst - j->dst->addr);

	if (j->src)
		memmove(to, j->src->map + (j->sub.src - j->src->addr), j->sub.bytes);
	else
		memcpy(to, j->data, j->sub.bytes);
}

static void job_set(struct soft_job *j)
{
	unsigned char *to = j->dst->map + (j->sub.dst - j->dst->addr);

	if (j->sub.width == 1) {
		memset(to, (int)j->sub.value, j->sub.bytes);
		return;
	}
	for (uint64_t at = 0; at < j->sub.bytes; at += 4)
		memcpy(to + at, &j->sub.value, 4);
}

static void job_stamp(struct soft_job *j, uint64_t now_ns)
{
	struct gp_soft_stamp *stamp;

	if (!j->stamp)
		return;
	stamp = (void *)(j->stamp->map + (j->sub.stamp - j->stamp->addr));
	__atomic_store_n(&stamp->time_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&stamp->seq, j->sub.stamp_seq, __ATOMIC_RELEASE);
}

static void job_write(struct soft_job *j)
{
	uint32_t *to = (void *)(j->dst->map + (j->sub.dst - j->dst->addr));

	__atomic_store_n(to, j->sub.value, __ATOMIC_RELEASE);
}

static bool usable(const struct soft_region *r, uint64_t addr, uint64_t bytes)
{
	return !r || !r->reserved || soft_virtual_usable(r, addr, bytes);
}

/* Mappings may have changed since it was queued. */
static bool job_usable(const struct soft_job *j)
{
	const uint64_t bytes = j->sub.work == GP_SOFT_WORK_WRITE ? sizeof(uint32_t) : j->sub.bytes;
	const struct soft_launch *l = &j->launch;

	for (uint32_t i = 0; i < SOFT_KERNEL_REGIONS; i++)
		if (!usable(l->region[i], l->addr[i], l->bytes[i]))
			return false;
	return usable(j->dst, j->sub.dst, bytes) && usable(j->src, j->sub.src, bytes) &&
	       usable(j->stamp, j->sub.stamp, sizeof(struct gp_soft_stamp));
}

static void job_blocks(struct soft_job *j, const struct gp_model_event *ev)
{
	if (j->fault || !job_usable(j))
		j->proc->error = 1;
	else if (j->kernel && j->kernel->hold)
		hold_end(j, ev->time_ns);
	else if (j->kernel)
		j->kernel->blocks(&j->launch, ev->first, ev->count);
	else if (j->sub.work == GP_SOFT_WORK_COPY)
		job_copy(j);
	else if (j->sub.work == GP_SOFT_WORK_SET)
		job_set(j);
}

static void job_done(struct soft_job *j, const struct gp_model_event *ev)
{
	if (j->proc && !job_usable(j)) {
		j->proc->error = 1;
	} else {
		if (j->sub.work == GP_SOFT_WORK_WRITE)
			job_write(j);
		job_stamp(j, ev->time_ns);
	}
	j->channel->done_seq = ev->seq;
	job_unlink(j);
}

void soft_model_event(void *arg, const struct gp_model_event *ev)
{
	const struct soft_gpu *gpu = arg;
	struct soft_job *j = (void *)(uintptr_t)ev->cookie;

	switch (ev->type) {
	case GP_MODEL_STARTED:
		if (j && j->kernel && j->kernel->hold && !j->fault)
			hold_start(j, ev->time_ns);
		break;
	case GP_MODEL_BLOCKS:
		if (j)
			job_blocks(j, ev);
		break;
	case GP_MODEL_DONE:
		if (j)
			job_done(j, ev);
		break;
	case GP_MODEL_SWITCH:
		soft_log_record(gpu, ev);
		break;
	case GP_MODEL_CONTROL_DONE:
		for (struct soft_conn *c = gpu->server->conns; c; c = c->next)
			if (c->state == SOFT_CONTROL && c->order == ev->cookie)
				c->control_done = true;
		break;
	default:
		break;
	}
}
