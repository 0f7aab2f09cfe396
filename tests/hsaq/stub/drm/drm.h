/* SPDX-License-Identifier: Apache-2.0 */
/* The little that kfd_ioctl.h needs of it; libdrm-dev has it elsewhere. */
#include <linux/ioctl.h>
#include <linux/types.h>
