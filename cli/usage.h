/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - what a process and its descendants had of a GPU, from the GPU's own
 * context-switch log, or from its driver's account of queues.
 */
#ifndef GP_CLI_USAGE_H
#define GP_CLI_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpreempt/hal.h"

#define GP_USAGE_PIDS 256
#define GP_USAGE_GROUPS 256

/**
 * struct gp_usage - of one device.
 * @dev: borrowed
 * @log: NULL: not readable, @err says why
 * @by_group: the driver counts, as long as a group lives: @busy_ns is what its
 *	groups had of queue slots in all, as last read; no other figure is known
 * @stretches: how often they had the device, one after the other
 * @gaps: how often another process had it between two of them, @gap_ns in all
 * @lost: records that the log lost: the other figures are too small
 */
struct gp_usage {
	struct gp_device *dev;
	struct gp_log *log;
	int err;
	bool by_group;
	uint64_t busy_ns;
	uint64_t stretches;
	uint64_t gaps;
	uint64_t gap_ns;
	uint64_t gap_max_ns;
	uint64_t lost;

	uint64_t since_ns; /* ours is on since; 0: it is off */
	uint64_t left_ns;  /* ours was last on until; 0: not known */
	bool others;	   /* somebody else was on since then */
	struct {
		pid_t pid;
		bool ours;
	} known[GP_USAGE_PIDS]; /* who ended can no longer be looked up */
	size_t pids;
	struct {
		uint32_t id;
		uint64_t busy_ns;
	} group[GP_USAGE_GROUPS]; /* of those that are gone, too */
	size_t groups;
};

/** Start counting. One that is not readable is no error: figures stay 0. */
void gp_usage_open(struct gp_usage *usage, struct gp_device *dev);
/** Count what has arrived, for @root and its descendants. */
void gp_usage_read(struct gp_usage *usage, pid_t root);
void gp_usage_close(struct gp_usage *usage);
/** One record; @ours: it is of @root or a descendant. Pure. */
void gp_usage_count(struct gp_usage *usage, const struct gp_switch_record *rec, bool ours);

/** Is @pid @root, or its child's child's ... child, as long as all live? */
bool gp_is_descendant(pid_t pid, pid_t root);

#endif
