/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size.h - a size of memory as users write it, read strictly: no allocation, no locale. The
 * command line, the configuration file and the bench share it.
 */
#ifndef GP_RUNTIME_SIZE_H
#define GP_RUNTIME_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* Sizes between which memory may be. */
struct gp_size_range {
	uint64_t min, max; /* 0; UINT64_MAX: none */
};

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/**
 * gp_parse_size() - "64MiB": digits and a unit (B, KiB, MiB, GiB, TiB). 0; -EINVAL: not a size;
 * -ERANGE: beyond uint64_t bytes. @bytes as it was on failure.
 */
int gp_parse_size(const char *text, uint64_t *bytes);

/**
 * gp_parse_size_range() - "MIN:MAX", "MIN:" or ":MAX". 0; -EINVAL: no range of sizes; -ERANGE: a
 * size beyond uint64_t bytes, a MAX of 0, or a MIN over MAX. @range as it was on failure.
 */
int gp_parse_size_range(const char *text, struct gp_size_range *range);

/* Longest text of gp_format_size(), its NUL included. */
#define GP_SIZE_TEXT_LEN 24

/** In the largest unit that leaves no fraction: "20GiB"; as gp_parse_size() reads it. */
void gp_format_size(uint64_t bytes, char *buf, size_t len);

#pragma GCC visibility pop

#endif
