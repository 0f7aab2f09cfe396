/* SPDX-License-Identifier: Apache-2.0 */
/* engine_internal.h - shared by engine.c, device.c, context.c and hold.c. */
#ifndef GP_CLIENT_ENGINE_INTERNAL_H
#define GP_CLIENT_ENGINE_INTERNAL_H

#include "client/engine.h"

/* engine.c */
/** More than 0: this thread carries a decision out. */
extern _Thread_local int gp_engine_depth;
const struct gp_engine_hooks *gp_engine_hooks(void);
/** Is device-wide synchronisation seen? */
bool gp_engine_sync_seen(void);
/* Step alone: the event that called for it carries the decisions out. */
void gp_edev_step(struct gp_edev *dev, const struct gp_event *ev, int *result);
void gp_edev_outcome(struct gp_edev *dev, const struct gp_decision *d, int err);

/* device.c */
int gp_edev_create(const struct gp_hal_ops *ops, const struct gp_device_id *id,
		   struct gp_edev **dev);
struct gp_class_request gp_edev_spec(const struct gp_class_value *cls);
uint64_t gp_edev_hold_piece_ns(const struct gp_edev *dev, bool seen);
void gp_edev_group_gone(struct gp_edev *dev, struct gp_group *group);

/* context.c */
int gp_ectx_make_holds(struct gp_edev *dev, struct gp_ectx *c, void *context);
void gp_ectx_destroy_holds(struct gp_edev *dev, struct gp_ectx *c);
void gp_ectx_holds_for_all(struct gp_edev *dev);

/* hold.c */
struct gp_ectx *gp_ectx_of_tenant(struct gp_edev *dev, uint32_t tenant);
void gp_ectx_account(struct gp_edev *dev, struct gp_ectx *c, int i);
int gp_ectx_hold(struct gp_edev *dev, struct gp_ectx *c, uint64_t limit_ns);
void gp_ectx_release(struct gp_edev *dev, const struct gp_decision *d);
void gp_ectx_stop_asking(struct gp_edev *dev, struct gp_ectx *c);
void gp_edev_hold_outcome(struct gp_edev *dev, const struct gp_decision *d, int err);
void gp_edev_watch_work(struct gp_edev *dev);
void gp_say_no_hold(const char *why);

#endif
