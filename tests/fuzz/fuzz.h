/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - shared by the targets. A target is one function, run by libFuzzer (make fuzz) or
 * over its corpus by replay.c (make check-replay).
 */
#ifndef GP_FUZZ_H
#define GP_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An invariant, checked in every build. */
#define FUZZ_CHECK(cond)         \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

/* The input as a separate string, so that a read past its end is found. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

#endif
