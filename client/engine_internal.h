/* SPDX-License-Identifier: Apache-2.0 */
/* engine_internal.h - shared by engine.c, device.c, context.c and hold.c. */
#ifndef GP_CLIENT_ENGINE_INTERNAL_H
#define GP_CLIENT_ENGINE_INTERNAL_H

#include "client/engine.h"

/* engine.c */
/** More than 0: this thread is executing a decision. */
extern _Thread_local int gp_engine_depth;
const struct gp_engine_hooks *gp_engine_hooks(void);
/** Is device-wide synchronisation watched? */
bool gp_engine_sync_seen(void);
/** The host of the core; its first argument is the device. */
extern const struct gp_host_ops gp_client_device_ops;

/* device.c */
int gp_client_device_create(const struct gp_hal_ops *ops, const struct gp_device_id *id,
			    struct gp_client_device **dev);
struct gp_class_request gp_client_device_spec(const struct gp_class_value *cls);
uint64_t gp_client_device_hold_piece_ns(const struct gp_client_device *dev, bool seen);
void gp_client_device_group_gone(struct gp_client_device *dev, struct gp_group *group);

/* context.c */
int gp_ectx_make_holds(struct gp_client_device *dev, struct gp_ectx *c, void *context);
void gp_ectx_destroy_holds(struct gp_client_device *dev, struct gp_ectx *c);
void gp_ectx_holds_for_all(struct gp_client_device *dev);

/* hold.c */
void gp_ectx_account(struct gp_client_device *dev, struct gp_ectx *c, int i);
void gp_ectx_stop_asking(struct gp_client_device *dev, struct gp_ectx *c);
/** gp_host_ops of holds. */
int gp_client_device_hold(void *host, uint32_t tenant, uint64_t limit_ns);
int gp_client_device_release(void *host, uint32_t tenant);
void gp_say_no_hold(const char *why);

#endif
