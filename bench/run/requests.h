/* SPDX-License-Identifier: Apache-2.0 */
/* requests.h - a client's file of its requests. */
#ifndef GP_BENCH_RUN_REQUESTS_H
#define GP_BENCH_RUN_REQUESTS_H

#include "bench/plan/result.h"

/**
 * gp_requests_read() - the file @path, to those that @done has. Return: 0; -ENOENT and other errors
 * of open(2); -ENOMEM; -EBADMSG: requests with more tokens, or fewer, than the first had.
 */
int gp_requests_read(const char *path, struct gp_plan_done *done);

#endif
