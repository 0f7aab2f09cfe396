/* SPDX-License-Identifier: Apache-2.0 */
/* TAP for the HIP programs, and a HIP call that must succeed. */
#ifndef TESTS_KFD_HIP_TAP_H
#define TESTS_KFD_HIP_TAP_H

#include <hip/hip_runtime.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

static unsigned int tap_points, tap_failures;

static inline bool ok(bool good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %u - ", good ? "" : "not ", ++tap_points);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
	tap_failures += !good;
	return good;
}

static inline int tap_done(void)
{
	printf("1..%u\n", tap_points);
	return tap_failures != 0;
}

/* A call that is not under test, but without which no point means anything. */
#define MUST(call)                                                                  \
	do {                                                                        \
		hipError_t e_ = (call);                                             \
		if (e_ != hipSuccess) {                                             \
			printf("Bail out! %s: %s\n", #call, hipGetErrorString(e_)); \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

#endif
