/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gdr.h - the hold's word in device memory, written by the CPU through GDRCopy's mapping, if
 * its device node and library are available.
 */
#ifndef GP_NV_GDR_H
#define GP_NV_GDR_H

#include <stdint.h>

#include "nvidia-backend/cuda.h"

struct gp_nv_gdr;

/* For the current context's device. NULL: not available; nothing was changed. */
struct gp_nv_gdr *gp_nv_gdr_create(const struct gp_nv_cuda *cu, volatile uint32_t **word,
				   uint64_t *word_at);
void gp_nv_gdr_destroy(struct gp_nv_gdr *gdr);

#endif
