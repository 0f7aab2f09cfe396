/* SPDX-License-Identifier: Apache-2.0 */
/* hip.h - the library's one own call of a loaded HIP runtime. */
#ifndef GP_CLIENT_HIP_H
#define GP_CLIENT_HIP_H

#include <stddef.h>

/**
 * gp_hip_current() - PCI address of the device that is current in this thread,
 * as HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES let the program see it.
 * 0; -ENOSYS: no HIP runtime is loaded; -ENXIO: it has no device.
 */
int gp_hip_current(char *address, size_t len);

#endif
