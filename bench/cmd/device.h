/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - where the programs are that run on a device, and their environment. */
#ifndef GP_BENCH_CMD_DEVICE_H
#define GP_BENCH_CMD_DEVICE_H

#include <stdbool.h>

/** Is @device the software GPU, whose clock is its own? */
bool gp_device_is_soft(const char *device);

/** Its driver's version, "" where nothing is known of one. Static. */
const char *gp_device_driver(const char *device);

/** Name of the device and of its clock; NULL: the model, in virtual time. */
const char *gp_device_about(const char *device);

/**
 * This build's gpreempt is found first; with the software GPU, its libcuda as well. 0, or negative
 * errno, reported.
 */
int gp_device_prepare(const char *device);

/** The program that is one client of a plan: of the build, or as installed. */
const char *gp_device_client(void);
/** The one that is a client in PyTorch: Python. */
const char *gp_device_torch_client(void);
/** The one that writes the device's log down; NULL: it is not there. */
const char *gp_device_ctxlog(void);

#endif
