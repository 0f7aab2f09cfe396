/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Included before amdkfd/kfd_doorbell.c, which maps doorbells into processes:
 * the mapping is made by doorbell.c, so that the engine can sleep until a
 * process touches them.
 */
#ifndef DOORBELL_HOOK_H
#define DOORBELL_HOOK_H

#include <linux/mm.h>

int sim_map_doorbells(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn,
		      unsigned long size, pgprot_t prot);

#define io_remap_pfn_range sim_map_doorbells

#endif
