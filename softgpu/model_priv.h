/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_priv.h - shared by the files of the model.
 *
 * model.c has the objects and the loop. model_work.c runs a loaded group: front ends, blocks,
 * completions. model_sched.c loads groups: runlists, slots, controls.
 *
 * Everything happens in steps. A step changes one thing at the current time and queues the
 * events of that change. Events are delivered between steps, so a callback may call any
 * function except advance.
 */
#ifndef GP_SOFT_MODEL_PRIV_H
#define GP_SOFT_MODEL_PRIV_H

#include <stdbool.h>

#include "softgpu/model.h"

#define MODEL_MAX_GROUPS 512u
#define MODEL_MAX_CHANNELS 4096u
#define MODEL_MAX_CONTROLS 256u
#define MODEL_COPY_ENGINES 3u
#define MODEL_RUNLISTS (1u + MODEL_COPY_ENGINES)
#define MODEL_RUNS 16u /* batches of blocks of one kernel at a time */
#define MODEL_EVENTS 64u
#define MODEL_NEVER UINT64_MAX

/* Blocks of one kernel that started together. */
struct model_run {
	uint64_t first, count;
	uint64_t end_ns;  /* while its group runs: their end */
	uint64_t left_ns; /* while it is saved: their remaining time */
};

struct model_method {
	struct gp_model_method m;
	uint64_t seq;
	uint64_t ready_ns;   /* the doorbell has reached the front end */
	uint64_t visible_ns; /* completed: when clients see it */
	uint64_t launched;   /* order of launch, 0: not started */
	uint64_t next_block; /* first block that has not started */
	uint64_t done_blocks;
};

struct model_channel {
	uint32_t id, group;	/* group: slot index */
	uint32_t next_of_group; /* slot index + 1 */
	uint32_t busy_prev, busy_next;
	bool used, busy;
	struct model_method *ring;
	uint32_t ring_size;	   /* power of two */
	uint64_t seen, head, tail; /* sequence numbers: visible < head <= tail */
	uint32_t run_count;
	struct model_run run[MODEL_RUNS]; /* of the method at head */
};

enum model_phase {
	PHASE_EMPTY, /* nothing loaded */
	PHASE_RUN,
	PHASE_STOP,  /* waits until the group can stop */
	PHASE_OUT,   /* saving */
	PHASE_IN,    /* from one context's end to the next one's start */
	PHASE_BEGIN, /* started, but not its first block */
};

struct model_group {
	uint32_t id;
	int32_t pid;
	uint32_t kind, runlist;
	uint32_t prev, next; /* ring of its runlist, slot index + 1 */
	uint32_t channels;   /* slot index + 1 of the first */
	uint32_t busy;	     /* channels with a method at head */
	uint64_t slice_us;
	enum gp_preempt_mode mode;
	bool used, suspended;
	bool running;	   /* its blocks progress */
	bool saved;	   /* has blocks that a switch stopped */
	bool stopping;	   /* must leave: takes no methods */
	uint64_t stop_ns;  /* and not before this time */
	uint64_t since_ns; /* runnable since then, as the host sees it */
	bool renews;	   /* a slice that ends while no group waits starts again */
	uint64_t last_ns;  /* otherwise: since then no longer */
	uint64_t usage_ns;
	uint64_t op; /* last control that affects it */
	/* GP_MODEL_SLOTS only: */
	bool claim; /* has a slot, or will after a control */
	enum model_phase phase;
	uint64_t phase_ns;
};

struct model_runlist {
	uint32_t ring;	/* slot index + 1 of some group, 0: empty */
	uint32_t after; /* slot index + 1: the round robin's place */
	uint32_t cur;	/* slot index + 1 */
	uint32_t next;	/* slot index + 1: the next group, once known */
	enum model_phase phase;
	uint64_t phase_ns;   /* when OUT, IN, BEGIN end */
	uint64_t slice_ns;   /* the slice counts from here */
	uint64_t give_up_ns; /* 0: no reason to give up */
	bool end_turn;	     /* a control ends it */
};

struct model_control {
	bool used, resume, through;
	uint64_t cookie, at_ns, op;
	size_t n;
	uint32_t group[64]; /* ids */
};

struct gp_model {
	struct gp_model_config cfg;
	gp_model_event_fn fn;
	void *arg;
	uint64_t now_ns;
	uint64_t rng;
	uint64_t launches;
	uint64_t ops;
	uint32_t gen_group, gen_channel;
	uint32_t busy, busy_last; /* slot index + 1: channels with work */
	uint32_t slots_used;	  /* by contexts that are loaded, loading or saving */
	uint32_t claims;
	uint32_t controls_used;
	uint32_t event_count;
	bool in_settle;
	struct gp_model_event event[MODEL_EVENTS];
	struct model_runlist runlist[MODEL_RUNLISTS];
	struct model_group group[MODEL_MAX_GROUPS];
	struct model_channel channel[MODEL_MAX_CHANNELS];
	struct model_control control[MODEL_MAX_CONTROLS];
};

static inline struct model_method *model_method_at(struct model_channel *c, uint64_t seq)
{
	return &c->ring[seq & (c->ring_size - 1)];
}

/* The method that @c's front end works on, or will next; NULL: nothing is queued. */
static inline struct model_method *model_channel_head(struct model_channel *c)
{
	return c->head <= c->tail ? model_method_at(c, c->head) : NULL;
}

static inline uint64_t model_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t model_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* model.c */
void model_emit(struct gp_model *m, const struct gp_model_event *ev);
struct model_group *model_group_find(const struct gp_model *m, uint32_t id);
struct model_channel *model_channel_find(const struct gp_model *m, uint32_t id);
void model_channel_update_busy(struct gp_model *m, struct model_channel *c);
uint64_t model_random(struct gp_model *m);

/* model_work.c */
bool model_work_step(struct gp_model *m);
uint64_t model_work_next(struct gp_model *m);
bool model_group_has_work(struct gp_model *m, struct model_group *g);
bool model_group_kept(struct gp_model *m, struct model_group *g);
bool model_group_renews(struct gp_model *m, struct model_group *g);
bool model_group_has_blocks(struct gp_model *m, struct model_group *g);
bool model_group_can_stop(struct gp_model *m, struct model_group *g);
void model_group_ask_stop(struct gp_model *m, struct model_group *g);
void model_group_cut(struct gp_model *m, struct model_group *g);
void model_group_continue(struct gp_model *m, struct model_group *g);

/* model_sched.c */
bool model_sched_step(struct gp_model *m);
uint64_t model_sched_next(struct gp_model *m);
void model_sched_account(struct gp_model *m, uint64_t dt_ns);
void model_sched_group_add(struct gp_model *m, struct model_group *g);
void model_sched_work_came(struct gp_model *m, struct model_group *g);
void model_sched_group_del(struct gp_model *m, struct model_group *g);

#endif
