/* SPDX-License-Identifier: Apache-2.0 */
/* requests.h - what a client has written of its requests (bench/apps/client.c). */
#ifndef GP_BENCH_DEVICE_REQUESTS_H
#define GP_BENCH_DEVICE_REQUESTS_H

#include "bench/plan/result.h"

/**
 * gp_requests_read() - the file @path, to those that @done has.
 * Return: 0; -ENOENT and what else open(2) gives; -ENOMEM; -EBADMSG: requests with more
 * tokens, or fewer, than the first had.
 */
int gp_requests_read(const char *path, struct gp_plan_done *done);

#endif
