/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gp_test.h - what every cmocka test includes. gp_run_tests() exits as a test
 * should: 0, 1 on any failure, 77 when all were skipped (cmocka 1.1.5 exits
 * with the number of failures, modulo 256).
 */
#ifndef GP_TEST_H
#define GP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/common/gp_run.h"

#define gp_run_tests(tests)                                             \
	gp_run_group(#tests, cmocka_run_group_tests(tests, NULL, NULL), \
		     sizeof(tests) / sizeof((tests)[0]))

#endif
