/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gdr.h - the hold's word in device memory, written by the CPU through
 * GDRCopy's mapping, where its device node and library are there.
 */
#ifndef GP_NV_GDR_H
#define GP_NV_GDR_H

#include <stdint.h>

#include "nvidia-backend/cuda.h"

struct gp_nv_gdr;

/* NULL: not here; nothing was changed. The current context's device. */
struct gp_nv_gdr *gp_nv_gdr_create(const struct gp_nv_cuda *cu, volatile uint32_t **word,
				   uint64_t *word_at);
void gp_nv_gdr_destroy(struct gp_nv_gdr *gdr);

#endif
