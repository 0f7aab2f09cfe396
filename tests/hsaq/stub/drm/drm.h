/* SPDX-License-Identifier: Apache-2.0 */
/* The part that kfd_ioctl.h needs; libdrm-dev installs the real one elsewhere. */
#include <linux/ioctl.h>
#include <linux/types.h>
