/* SPDX-License-Identifier: Apache-2.0 */
/*
 * together.h - this process's place in the page of wire/quota.h, where the processes of a cgroup
 * count their device memory together. All calls but gp_together_open() are under one lock of the
 * caller's.
 */
#ifndef GP_PRELOAD_TOGETHER_H
#define GP_PRELOAD_TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

struct gp_quota_page;

/** Map @file, which remains the caller's, for gp_together_use(). 0; -EPROTO; other errno. */
int gp_together_open(int file, struct gp_quota_page **page);
/**
 * Count at @place of @page from now on, where nothing is counted yet; returns the page before, for
 * gp_together_close().
 */
struct gp_quota_page *gp_together_use(struct gp_quota_page *page, uint32_t place);
/** NULL is legal. */
void gp_together_close(struct gp_quota_page *page);
/** This process has @bytes on the device @uuid. */
void gp_together_set(const uint8_t uuid[16], uint64_t bytes);
/** All have @sum bytes there, at most UINT64_MAX. False: only this process is known. */
bool gp_together_sum(const uint8_t uuid[16], uint64_t *sum);

#endif
