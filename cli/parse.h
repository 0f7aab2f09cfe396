/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - strict parsers for command lines: no allocation, no locale. hsaq(1) shares it. */
#ifndef GP_CLI_PARSE_H
#define GP_CLI_PARSE_H

#include <sys/types.h>

#include "runtime/duration.h"

/** A PID: digits, > 0. 0, -EINVAL, -ERANGE. */
int gp_parse_pid(const char *text, pid_t *pid);

#endif
