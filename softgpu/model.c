// SPDX-License-Identifier: Apache-2.0
/*
 * model.c - objects of the model, and the loop over its steps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/model_priv.h"

#define CHANNEL_DEPTH 1024u
#define CHANNEL_DEPTH_FIRST 16u

uint64_t model_random(struct gp_model *m)
{
	uint64_t z = (m->rng += 0x9e3779b97f4a7c15u); /* splitmix64 */

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static bool config_ok(const struct gp_model_config *c)
{
	return c->kind <= GP_MODEL_SLOTS && c->sms && c->blocks_per_sm && c->copy_bytes_per_us &&
	       c->min_slice_us && c->slice_unit_ns && c->min_slice_us <= c->default_slice_us &&
	       c->default_slice_us <= c->max_slice_us &&
	       c->min_slice_us <= c->default_copy_slice_us &&
	       c->default_copy_slice_us <= c->max_slice_us &&
	       c->max_slice_us <= UINT64_MAX / c->slice_unit_ns / 2 &&
	       (c->kind != GP_MODEL_SLOTS || c->slots);
}

struct gp_model *gp_model_create(const struct gp_model_config *config, gp_model_event_fn fn,
				 void *arg)
{
	struct gp_model *m;

	if (!config_ok(config)) {
		errno = EINVAL;
		return NULL;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->cfg = *config;
	m->fn = fn;
	m->arg = arg;
	m->rng = config->seed;
	return m;
}

void gp_model_destroy(struct gp_model *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < MODEL_MAX_CHANNELS; i++)
		free(m->channel[i].ring);
	free(m);
}

uint64_t gp_model_now(const struct gp_model *m)
{
	return m->now_ns;
}

struct model_group *model_group_find(const struct gp_model *m, uint32_t id)
{
	const struct model_group *g = &m->group[(id - 1) % MODEL_MAX_GROUPS];

	return id && g->used && g->id == id ? (struct model_group *)g : NULL;
}

struct model_channel *model_channel_find(const struct gp_model *m, uint32_t id)
{
	const struct model_channel *c = &m->channel[(id - 1) % MODEL_MAX_CHANNELS];

	return id && c->used && c->id == id ? (struct model_channel *)c : NULL;
}

/*
 * An id has its slot and a count of slots given out. So the id of a former object is not
 * reused for a long time.
 */
static uint32_t make_id(uint32_t slot, uint32_t slots, uint32_t *gen)
{
	uint32_t gens = (INT32_MAX - slots) / slots;

	*gen = (*gen + 1) % gens;
	return *gen * slots + slot + 1;
}

/* ---- events ------------------------------------------------------------- */

void model_emit(struct gp_model *m, const struct gp_model_event *ev)
{
	/* A step makes a handful at most, and they are delivered after each step. */
	if (m->event_count < MODEL_EVENTS)
		m->event[m->event_count++] = *ev;
}

static void deliver(struct gp_model *m)
{
	struct gp_model_event ev[MODEL_EVENTS];
	uint32_t n = m->event_count;

	memcpy(ev, m->event, n * sizeof(ev[0]));
	m->event_count = 0;
	for (uint32_t i = 0; i < n; i++)
		if (m->fn)
			m->fn(m->arg, &ev[i]);
}

static void settle(struct gp_model *m)
{
	if (m->in_settle)
		return;
	m->in_settle = true;
	while (model_work_step(m) || model_sched_step(m))
		deliver(m);
	deliver(m);
	m->in_settle = false;
}

static uint64_t next_ns(struct gp_model *m)
{
	return model_min(model_work_next(m), model_sched_next(m));
}

uint64_t gp_model_next(struct gp_model *m)
{
	settle(m);
	return next_ns(m);
}

static void move_to(struct gp_model *m, uint64_t ns)
{
	model_sched_account(m, ns - m->now_ns);
	m->now_ns = ns;
}

void gp_model_advance(struct gp_model *m, uint64_t to_ns)
{
	settle(m);
	for (uint64_t t; (t = next_ns(m)) <= to_ns && t != MODEL_NEVER;) {
		move_to(m, t);
		settle(m);
	}
	if (to_ns > m->now_ns)
		move_to(m, to_ns);
	settle(m);
}

/* ---- groups ------------------------------------------------------------- */

int gp_model_group_add(struct gp_model *m, int32_t pid, enum gp_group_kind kind)
{
	struct model_group *g;
	uint32_t i, copies = 0;

	if (kind != GP_GROUP_COMPUTE && kind != GP_GROUP_COPY)
		return -EINVAL;
	for (i = 0; i < MODEL_MAX_GROUPS; i++)
		if (m->group[i].used && m->group[i].pid == pid && m->group[i].kind == GP_GROUP_COPY)
			copies++;
	for (i = 0; i < MODEL_MAX_GROUPS && m->group[i].used; i++)
		;
	if (i == MODEL_MAX_GROUPS)
		return -ENOSPC;
	g = &m->group[i];
	memset(g, 0, sizeof(*g));
	g->used = true;
	g->id = make_id(i, MODEL_MAX_GROUPS, &m->gen_group);
	g->pid = pid;
	g->kind = kind;
	g->runlist = kind == GP_GROUP_COPY ? 1 + copies % MODEL_COPY_ENGINES : 0;
	g->slice_us = kind == GP_GROUP_COPY ? m->cfg.default_copy_slice_us :
					      m->cfg.default_slice_us;
	g->mode = GP_PREEMPT_INSTRUCTION;
	model_sched_group_add(m, g);
	return (int)g->id;
}

static void channel_free(struct gp_model *m, struct model_channel *c)
{
	c->head = c->tail + 1;
	c->seen = c->tail;
	model_channel_update_busy(m, c);
	free(c->ring);
	c->ring = NULL;
	c->used = false;
}

int gp_model_group_del(struct gp_model *m, uint32_t group)
{
	struct model_group *g = model_group_find(m, group);

	if (!g)
		return -ENOENT;
	for (uint32_t i = g->channels; i;) {
		struct model_channel *c = &m->channel[i - 1];

		i = c->next_of_group;
		channel_free(m, c);
	}
	g->channels = 0;
	model_sched_group_del(m, g);
	g->used = false;
	settle(m);
	return 0;
}

int gp_model_channel_add(struct gp_model *m, uint32_t group)
{
	struct model_group *g = model_group_find(m, group);
	struct model_channel *c;
	uint32_t i, *link;

	if (!g)
		return -ENOENT;
	for (i = 0; i < MODEL_MAX_CHANNELS && m->channel[i].used; i++)
		;
	if (i == MODEL_MAX_CHANNELS)
		return -ENOSPC;
	c = &m->channel[i];
	memset(c, 0, sizeof(*c));
	c->ring = calloc(CHANNEL_DEPTH_FIRST, sizeof(c->ring[0]));
	if (!c->ring)
		return -ENOMEM;
	c->ring_size = CHANNEL_DEPTH_FIRST;
	c->used = true;
	c->id = make_id(i, MODEL_MAX_CHANNELS, &m->gen_channel);
	c->group = (uint32_t)(g - m->group);
	c->head = 1;
	for (link = &g->channels; *link; link = &m->channel[*link - 1].next_of_group)
		;
	*link = i + 1;
	return (int)c->id;
}

int gp_model_channel_del(struct gp_model *m, uint32_t channel)
{
	struct model_channel *c = model_channel_find(m, channel);
	uint32_t *link, slot;

	if (!c)
		return -ENOENT;
	slot = (uint32_t)(c - m->channel) + 1;
	for (link = &m->group[c->group].channels; *link != slot;
	     link = &m->channel[*link - 1].next_of_group)
		;
	*link = c->next_of_group;
	channel_free(m, c);
	settle(m);
	return 0;
}

/*
 * Updates the list of channels with work, in the order of their doorbells, and their group's
 * count.
 */
void model_channel_update_busy(struct gp_model *m, struct model_channel *c)
{
	uint32_t slot = (uint32_t)(c - m->channel) + 1;
	bool busy = c->seen < c->tail;

	if (busy == c->busy)
		return;
	c->busy = busy;
	if (busy) {
		c->busy_next = 0;
		c->busy_prev = m->busy_last;
		if (m->busy_last)
			m->channel[m->busy_last - 1].busy_next = slot;
		else
			m->busy = slot;
		m->busy_last = slot;
		m->group[c->group].busy++;
		return;
	}
	m->group[c->group].busy--;
	if (c->busy_prev)
		m->channel[c->busy_prev - 1].busy_next = c->busy_next;
	else
		m->busy = c->busy_next;
	if (c->busy_next)
		m->channel[c->busy_next - 1].busy_prev = c->busy_prev;
	else
		m->busy_last = c->busy_prev;
}

/* ---- methods ------------------------------------------------------------ */

static int ring_grow(struct model_channel *c)
{
	uint32_t size = c->ring_size * 2;
	struct model_method *ring;

	if (size > CHANNEL_DEPTH)
		return -ENOSPC;
	ring = calloc(size, sizeof(ring[0]));
	if (!ring)
		return -ENOMEM;
	for (uint64_t s = c->seen + 1; s <= c->tail; s++)
		ring[s & (size - 1)] = *model_method_at(c, s);
	free(c->ring);
	c->ring = ring;
	c->ring_size = size;
	return 0;
}

static bool method_ok(const struct gp_model *m, const struct model_group *g,
		      const struct gp_model_method *method)
{
	uint64_t capacity = (uint64_t)m->cfg.sms * m->cfg.blocks_per_sm;

	switch (method->type) {
	case GP_METHOD_KERNEL:
		if (method->flags & ~(GP_METHOD_FAULTS | GP_METHOD_COOPERATIVE))
			return false;
		if ((method->flags & GP_METHOD_COOPERATIVE) && method->blocks > capacity)
			return false;
		return g->kind == GP_GROUP_COMPUTE && method->blocks &&
		       method->block_ns < MODEL_NEVER / 4;
	case GP_METHOD_HOLD:
		return g->kind == GP_GROUP_COMPUTE && method->word &&
		       method->limit_ns < MODEL_NEVER / 4;
	case GP_METHOD_COPY:
		return method->bytes < MODEL_NEVER / 4000;
	case GP_METHOD_FENCE:
	case GP_METHOD_WAIT:
		return true;
	default:
		return false;
	}
}

int gp_model_submit(struct gp_model *m, uint32_t channel, const struct gp_model_method *method,
		    uint64_t *seq)
{
	struct model_channel *c = model_channel_find(m, channel);
	struct model_group *g;
	struct model_method *q;
	int err;

	if (!c)
		return -ENOENT;
	g = &m->group[c->group];
	if (!method_ok(m, g, method))
		return -EINVAL;
	if (c->tail - c->seen == c->ring_size) {
		err = ring_grow(c);
		if (err)
			return err;
	}
	if (!model_group_has_work(m, g)) {
		g->since_ns = m->now_ns + m->cfg.notice_ns;
		model_sched_work_came(m, g);
	}
	q = model_method_at(c, ++c->tail);
	memset(q, 0, sizeof(*q));
	q->m = *method;
	q->seq = c->tail;
	q->ready_ns = m->now_ns + m->cfg.start_ns;
	if (method->type == GP_METHOD_COPY || method->type == GP_METHOD_HOLD)
		q->m.blocks = 1;
	if (method->type == GP_METHOD_COPY)
		q->m.block_ns =
			m->cfg.copy_setup_ns + method->bytes * 1000 / m->cfg.copy_bytes_per_us;
	if (method->type == GP_METHOD_HOLD)
		q->m.block_ns = method->limit_ns;
	model_channel_update_busy(m, c);
	if (seq)
		*seq = c->tail;
	return 0;
}

/* ---- controls of a group ------------------------------------------------ */

int gp_model_get_slice(const struct gp_model *m, uint32_t group, uint64_t *us)
{
	const struct model_group *g = model_group_find(m, group);

	if (!g)
		return -ENOENT;
	*us = g->slice_us;
	return 0;
}

int gp_model_set_mode(struct gp_model *m, uint32_t group, enum gp_preempt_mode mode)
{
	struct model_group *g = model_group_find(m, group);

	if (!g)
		return -ENOENT;
	if (mode > GP_PREEMPT_INSTRUCTION)
		return -EINVAL;
	g->mode = mode;
	settle(m);
	return 0;
}

int gp_model_suspended(const struct gp_model *m, uint32_t group)
{
	const struct model_group *g = model_group_find(m, group);

	return g ? g->suspended : -ENOENT;
}

int gp_model_usage(const struct gp_model *m, uint32_t group, uint64_t *busy_ns)
{
	const struct model_group *g = model_group_find(m, group);

	if (!g)
		return -ENOENT;
	*busy_ns = g->usage_ns;
	return 0;
}
