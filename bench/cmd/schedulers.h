/* SPDX-License-Identifier: Apache-2.0 */
/* schedulers.h - schedulers of plans: peers on a device, or the model's in virtual time. */
#ifndef GP_BENCH_CMD_SCHEDULERS_H
#define GP_BENCH_CMD_SCHEDULERS_H

#include <stddef.h>

#include "bench/run/peer.h"
#include "bench/model/corun.h"

struct gp_scheduler {
	const char *name;
	enum gp_corun_scheduler of_model;
	struct gp_peer *peer; /* NULL: of_model */
};

struct gp_schedulers {
	struct gp_scheduler *list;
	size_t count;
};

/**
 * @peers: a folder of their files; NULL: the model's schedulers. @only: words, the files to take,
 * without .yaml; NULL or "": all. 0; -ENOENT, -EINVAL: reported;
 * -ENOMEM. Call gp_schedulers_close() in any case.
 */
int gp_schedulers_open(struct gp_schedulers *schedulers, const char *peers, const char *only);
void gp_schedulers_close(struct gp_schedulers *schedulers);

#endif
