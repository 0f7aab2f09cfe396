/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.h - know this process's own queues from the calls on /dev/kfd that go by,
 * ROCr's internal ones included. The preload feeds it.
 */
#ifndef HSAQ_TRACK_H
#define HSAQ_TRACK_H

#include <stdbool.h>

#include "hal/track.h"

/* Exported by libgpreempt.so to the preload. */
#pragma GCC visibility push(default)

/** May this be a call that the tracker wants? Cheap; only the type is looked at. */
bool gp_amd_track_wants(unsigned long request);
/** -EALREADY when it was started before. */
int gp_amd_track_start(const struct gp_track_ops *ops, void *arg);
/** After the real call returned @result. Preserves errno. */
void gp_amd_track_ioctl(int fd, unsigned long request, void *arg, int result);

#pragma GCC visibility pop

#endif
