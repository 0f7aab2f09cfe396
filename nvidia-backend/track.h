/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.h - know this process's own channel groups from libcuda's RM calls. The preload passes
 * each call; there is no scan and no extra call.
 */
#ifndef GP_NV_TRACK_H
#define GP_NV_TRACK_H

#include "hal/track.h"

/* Exported by libgpreempt.so to the preload. */
#pragma GCC visibility push(default)

int gp_nv_track_start(const struct gp_track_ops *ops, void *arg);
/** After the real call returned @result. Preserves errno. */
void gp_nv_track_ioctl(int fd, unsigned long request, void *arg, int result);
/** In the child of a fork: forget everything, touch nothing. */
void gp_nv_track_forget(void);

/*
 * The transport of the loaded libcuda's RM calls. gp_nv_hook_symbol: the name that libcuda
 * imports for them ("ioctl", or the software GPU's), for hooks.
 */
const char *gp_nv_hook_symbol(void *libcuda);

#pragma GCC visibility pop

#endif
