/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.h - know this process's own queues from its calls on /dev/kfd, ROCr's internal queues
 * included, and keep suspended queues suspended whatever the runtime sets. The preload passes
 * each call.
 */
#ifndef HSAQ_TRACK_H
#define HSAQ_TRACK_H

#include <stdbool.h>

#include "hal/track.h"

typedef int (*gp_amd_ioctl_fn)(int fd, unsigned long request, void *arg);

/* Exported by libgpreempt.so to the preload. */
#pragma GCC visibility push(default)

/** May the tracker want this call? Cheap; checks only the type. */
bool gp_amd_track_wants(unsigned long request);
/** -EALREADY: started before. */
int gp_amd_track_start(const struct gp_track_ops *ops, void *arg);
/**
 * Make the call by @real, which returns a negative value for a failure. Return: its result; errno
 * is as @real left it. An UPDATE_QUEUE of a suspended queue passes a percentage of 0.
 */
int gp_amd_track_ioctl(int fd, unsigned long request, void *arg, gp_amd_ioctl_fn real);

#pragma GCC visibility pop

#endif
