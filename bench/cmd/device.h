/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - paths and environment of the programs that run on a device. */
#ifndef GP_BENCH_CMD_DEVICE_H
#define GP_BENCH_CMD_DEVICE_H

#include <stdbool.h>

/** Is @device the software GPU, which has its own clock? */
bool gp_device_is_soft(const char *device);

/** Its driver's version; "": not known. Static. */
const char *gp_device_driver(const char *device);

/** Name of the device and of its clock; NULL: the model, in virtual time. */
const char *gp_device_about(const char *device);

/**
 * Make programs find this build's gpreempt first, and the software GPU's libcuda if that is the
 * device. 0, or negative errno, reported.
 */
int gp_device_prepare(const char *device);

/** The program of one client of a plan, built or installed. */
const char *gp_device_client(void);
/** The Python program of a client in PyTorch. */
const char *gp_device_torch_client(void);
/** The program that keeps the device's log; NULL: not found. */
const char *gp_device_ctxlog(void);

#endif
