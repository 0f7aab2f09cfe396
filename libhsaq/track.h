/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.h - know this process's own queues from its calls on /dev/kfd, ROCr's internal queues
 * included. The preload passes each call.
 */
#ifndef HSAQ_TRACK_H
#define HSAQ_TRACK_H

#include <stdbool.h>

#include "hal/track.h"

/* Exported by libgpreempt.so to the preload. */
#pragma GCC visibility push(default)

/** May the tracker want this call? Cheap; checks only the type. */
bool gp_amd_track_wants(unsigned long request);
/** -EALREADY: started before. */
int gp_amd_track_start(const struct gp_track_ops *ops, void *arg);
/** After the real call returned @result. Preserves errno. */
void gp_amd_track_ioctl(int fd, unsigned long request, void *arg, int result);

#pragma GCC visibility pop

#endif
