/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - GPU time of a process and its descendants, from the GPU's own context-switch log,
 * or from its driver's account of queues.
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
 * @log: NULL: not readable, @err has the reason
 * @by_group: the driver counts while a group lives: @busy_ns is the total time of its
 *	groups in queue slots, as last read; other figures are unknown
 * @stretches: number of separate stretches on the device
 * @gaps: number of stretches of other processes between two of them, @gap_ns in all
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

	uint64_t since_ns; /* start of our present stretch; 0: none */
	uint64_t left_ns;  /* end of our last stretch; 0: unknown */
	bool others;	   /* another process ran since then */
	struct {
		pid_t pid;
		bool ours;
	} known[GP_USAGE_PIDS]; /* a process that ended can no longer be looked up */
	size_t pids;
	struct {
		uint32_t id;
		uint64_t busy_ns;
	} group[GP_USAGE_GROUPS]; /* including groups that are gone */
	size_t groups;
};

/** Start counting. An unreadable log is no error: figures stay 0. */
void gp_usage_open(struct gp_usage *usage, struct gp_device *dev);
/** Count the new records of @root and its descendants. */
void gp_usage_read(struct gp_usage *usage, pid_t root);
void gp_usage_close(struct gp_usage *usage);
/** One record; @ours: of @root or a descendant. Pure. */
void gp_usage_count(struct gp_usage *usage, const struct gp_switch_record *rec, bool ours);

/** Is @pid @root, or a descendant by processes that all live? */
bool gp_is_descendant(pid_t pid, pid_t root);

#endif
