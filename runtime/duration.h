/* SPDX-License-Identifier: Apache-2.0 */
/*
 * duration.h - a time as users write it, read strictly: no allocation, no
 * locale. The command line and the configuration file share it.
 */
#ifndef GP_RUNTIME_DURATION_H
#define GP_RUNTIME_DURATION_H

#include <stddef.h>
#include <stdint.h>

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/**
 * gp_parse_duration() - "300us", "1.5ms", "0s": digits, at most nine of them
 * after a point, and a unit (ns, us, ms, s). 0; -EINVAL: not a duration, or
 * a part of a nanosecond; -ERANGE: beyond uint64_t ns. @out as it was on failure.
 */
int gp_parse_duration(const char *text, uint64_t *ns);

#pragma GCC visibility pop

/* Longest text of gp_format_duration(), its NUL included. */
#define GP_DURATION_TEXT_LEN 24

/** In the largest unit that leaves no fraction: "20ms"; as gp_parse_duration() reads it. */
void gp_format_duration(uint64_t ns, char *buf, size_t len);

#endif
