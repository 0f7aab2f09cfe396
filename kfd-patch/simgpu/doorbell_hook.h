/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Included before amdkfd/kfd_doorbell.c, which maps doorbells into processes
 * and rings the driver's own: both go by doorbell.c, so that the engine can
 * sleep until a doorbell is rung.
 */
#ifndef DOORBELL_HOOK_H
#define DOORBELL_HOOK_H

#include <linux/io.h>
#include <linux/mm.h>

int sim_map_doorbells(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn,
		      unsigned long size, pgprot_t prot);

void sim_writeq(u64 value, volatile void __iomem *addr);

#undef writeq
#define writeq sim_writeq
#define io_remap_pfn_range sim_map_doorbells

#endif
