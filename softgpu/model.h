/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - a GPU in virtual time. Pure: time is an argument, no I/O, no threads; it allocates
 * at create, and for the queue of a channel.
 *
 * A model has runlists (compute, copy), channel groups with timeslices on them, channels in
 * groups, methods in channels. The host schedules groups round robin by timeslice. A group
 * whose channels have no pending method gives up at once, even in the middle of its last
 * kernel. A switch costs switch_ns and saves the remaining blocks.
 */
#ifndef GP_SOFT_MODEL_H
#define GP_SOFT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "gpreempt/hal.h"

struct gp_model;

enum gp_model_kind {
	GP_MODEL_TIMESLICE, /* NVIDIA kind: runlist of groups, timeslices */
	/* AMD kind: a fixed number of queue slots, loaded and unloaded by the driver */
	GP_MODEL_SLOTS,
};

/* Fitted from solo and switch-cost figures only; softgpu/h200.c has them. */
struct gp_model_config {
	uint32_t kind;	/* enum gp_model_kind */
	uint32_t slots; /* GP_MODEL_SLOTS: their number */
	uint32_t sms;	/* blocks that run at once: sms * per_sm */
	uint32_t blocks_per_sm;
	/*
	 * doorbell until the host acts on it; also the time that a group runs on after it
	 * gives up
	 */
	uint64_t notice_ns;
	uint64_t switch_out_ns;	 /* a context's stop to its END record */
	uint64_t save_ns;	 /* extra, if it has blocks to save */
	uint64_t switch_in_ns;	 /* END to START of the next */
	uint64_t idle_switch_ns; /* to START when no context was loaded */
	uint64_t begin_ns;	 /* START to its first instruction */
	uint64_t restore_ns;	 /* extra, if it was saved */
	uint64_t start_ns;	 /* doorbell to first instruction */
	uint64_t end_ns;	 /* last instruction to visible completion */
	uint64_t slice_unit_ns;	 /* real length of a slice of 1 us */
	uint64_t slice_begin_ns; /* START or new work, until the slice counts */
	uint64_t default_slice_us;
	uint64_t default_copy_slice_us; /* of a copy group */
	uint64_t min_slice_us;
	uint64_t max_slice_us;
	uint64_t copy_bytes_per_us;
	uint64_t copy_setup_ns;
	uint64_t set_slice_ns; /* cost of control calls for the caller */
	uint64_t preempt_ns;
	uint64_t suspend_ns;
	uint64_t resume_ns;
	uint64_t fault_drain_ns; /* longest wait for outstanding faults */
	uint64_t seed;
};
void gp_model_config_h200(struct gp_model_config *config);

enum gp_model_method_type {
	GP_METHOD_KERNEL,
	GP_METHOD_COPY,
	/* one block that spins until *word >= ticket, or for limit_ns of its own running time */
	GP_METHOD_HOLD,
	GP_METHOD_FENCE, /* completes when all earlier methods did */
	GP_METHOD_WAIT,	 /* waits for the fence of another channel */
};

struct gp_model_method {
	uint32_t type;
	/* GP_METHOD_FAULTS: raises page faults while it runs; GP_METHOD_COOPERATIVE */
	uint32_t flags;
	uint64_t blocks;	       /* grid */
	uint64_t block_ns;	       /* length of one block */
	uint64_t bytes;		       /* COPY */
	const volatile uint32_t *word; /* HOLD; read whenever time moves */
	uint32_t ticket;
	uint32_t wait_channel; /* WAIT: for this channel .. */
	uint64_t wait_seq;     /* .. to complete this method */
	uint64_t limit_ns;
	uint64_t cookie; /* returned with events */
};
#define GP_METHOD_FAULTS 1u
#define GP_METHOD_COOPERATIVE 2u

enum gp_model_event_type {
	GP_MODEL_STARTED, /* method's first block runs */
	/* blocks [first, first + count) are done: compute their real results here */
	GP_MODEL_BLOCKS,
	GP_MODEL_DONE,	       /* method complete and visible */
	GP_MODEL_SWITCH,       /* context-switch record: rec */
	GP_MODEL_CONTROL_DONE, /* an asynchronous control is done: cookie */
};
struct gp_model_event {
	uint32_t type;
	uint32_t group, channel;
	uint32_t pad;
	uint64_t time_ns;
	uint64_t cookie;
	uint64_t first, count;
	uint64_t seq;
	uint32_t switch_kind; /* enum gp_switch_kind */
	int32_t pid;
};
/* May call anything of the model except advance, next and destroy. */
typedef void (*gp_model_event_fn)(void *arg, const struct gp_model_event *ev);

/** NULL and errno on failure. */
struct gp_model *gp_model_create(const struct gp_model_config *config, gp_model_event_fn fn,
				 void *arg);
void gp_model_destroy(struct gp_model *m);

uint64_t gp_model_now(const struct gp_model *m);

/** Ids are > 0; negative errno on failure. */
int gp_model_group_add(struct gp_model *m, int32_t pid, enum gp_group_kind kind);
int gp_model_group_del(struct gp_model *m, uint32_t group); /* drops its work */
int gp_model_channel_add(struct gp_model *m, uint32_t group);
int gp_model_channel_del(struct gp_model *m, uint32_t channel);

/** Queue a method now. Stores its sequence number in @seq. -ENOSPC: full. */
int gp_model_submit(struct gp_model *m, uint32_t channel, const struct gp_model_method *method,
		    uint64_t *seq);

/**
 * Controls. They take effect at once where the hardware's do. A suspend is done
 * (GP_MODEL_CONTROL_DONE with @cookie) when the group has left the device. Faults or
 * wait-for-idle may delay it.
 */
int gp_model_set_slice(struct gp_model *m, uint32_t group, uint64_t us);
int gp_model_get_slice(const struct gp_model *m, uint32_t group, uint64_t *us);
/**
 * End the group's turn on the device if it has one and others have work: they run first.
 * GP_MODEL_SLOTS has no turns: -ENOTSUP.
 */
int gp_model_preempt(struct gp_model *m, uint32_t group);
int gp_model_set_mode(struct gp_model *m, uint32_t group, enum gp_preempt_mode);
int gp_model_suspend(struct gp_model *m, const uint32_t *group, size_t n, uint64_t cookie);
int gp_model_resume(struct gp_model *m, const uint32_t *group, size_t n, uint64_t cookie);

/** 1 if suspended (or its queue has no slot), 0 if not, negative errno. */
int gp_model_suspended(const struct gp_model *m, uint32_t group);

/**
 * Time of the next event if nothing is submitted meanwhile; UINT64_MAX: never. Reads the words
 * of holds: a hold whose word was written ends now.
 */
uint64_t gp_model_next(struct gp_model *m);
/** Advance to @to_ns, and deliver all events up to then in order. */
void gp_model_advance(struct gp_model *m, uint64_t to_ns);

/** Time on the device so far, ns. */
int gp_model_usage(const struct gp_model *m, uint32_t group, uint64_t *busy_ns);

#endif
