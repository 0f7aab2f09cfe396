/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - one line for an option that a program does not have. argp would print two. */
#ifndef GP_RUNTIME_OPTIONS_H
#define GP_RUNTIME_OPTIONS_H

#include <argp.h>

/**
 * Are all options of @argv among @options, which have long names alone, and argp's own? If not,
 * the first wrong one is on standard error. argp_parse() then refuses none for its form.
 * Return: 0; -EINVAL.
 */
int gp_options_check(const char *program, const struct argp_option *options, int argc, char **argv);

#endif
