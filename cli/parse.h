/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.h - what users write on a command line, read strictly: no allocation, no
 * locale. hsaq(1) shares it.
 */
#ifndef GP_CLI_PARSE_H
#define GP_CLI_PARSE_H

#include <stdint.h>
#include <sys/types.h>

/**
 * gp_parse_duration() - "300us", "1.5ms", "0s": digits, at most nine of them
 * after a point, and a unit (ns, us, ms, s). 0; -EINVAL: not a duration, or
 * a part of a nanosecond; -ERANGE: beyond uint64_t ns. @out as it was on failure.
 */
int gp_parse_duration(const char *text, uint64_t *ns);
/** A PID: digits, > 0. 0, -EINVAL, -ERANGE. */
int gp_parse_pid(const char *text, pid_t *pid);

#endif
