// SPDX-License-Identifier: Apache-2.0
/*
 * h200.c - the figures of one H200 (driver 580.159.04, open kernel module with GSP, CUDA
 * 13.0). They are the times of a process alone on the card, and the cost of one switch. The
 * model must predict everything else (tests/softgpu/figures.csv).
 */
#include <string.h>

#include "softgpu/model.h"

/**
 * gp_model_config_h200() - fill @config with the figures of an H200.
 *
 * The context-switch log has 83..85 µs from BE's end to LC's start, and 80 from LC's end to
 * BE's start. LC's stretch lasts 603..605 µs for 561 of kernels, so stopping and beginning
 * take some 25 each. Saved state costs 30..45 µs of the 165..175 that one switch adds to a
 * request: 25 to save it, 25 to load. The rest, up to 170, is the host noticing the doorbell.
 * Slices of 500 to 10,000 µs end 1.024 times that and 85 to 95 µs after START. Stopping and
 * saving take 50 of these (nvidia-backend/EXPERIMENTS.md, "The hardware's scheduler").
 */
void gp_model_config_h200(struct gp_model_config *config)
{
	memset(config, 0, sizeof(*config));
	config->kind = GP_MODEL_TIMESLICE;
	config->slots = 32;
	config->sms = 132;
	config->blocks_per_sm = 8;
	config->notice_ns = 16000;
	config->switch_out_ns = 25000;
	config->save_ns = 25000;
	config->switch_in_ns = 82000;
	config->idle_switch_ns = 82000;
	config->begin_ns = 25000;
	config->restore_ns = 25000;
	config->start_ns = 5000;
	config->end_ns = 5000;
	config->slice_unit_ns = 1024;
	config->slice_begin_ns = 39000;
	config->default_slice_us = 2048;
	config->default_copy_slice_us = 1024;
	config->min_slice_us = 1;
	config->max_slice_us = 10000000;
	config->copy_bytes_per_us = 25000;
	config->copy_setup_ns = 3000;
	config->set_slice_ns = 240000;
	config->preempt_ns = 260000;
	config->suspend_ns = 485000;
	config->resume_ns = 300000;
	config->fault_drain_ns = 21000000;
	config->seed = 1;
}
