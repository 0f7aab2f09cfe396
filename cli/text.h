/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - names from elsewhere, as they may be shown. hsaq(1) shares it. */
#ifndef GP_CLI_TEXT_H
#define GP_CLI_TEXT_H

#include <stddef.h>
#include <sys/types.h>

/** @text, in place, for a terminal; "-" where it is empty. */
const char *gp_printable(char *text);
/** @text, in place, in one line, whatever a file name in it contains. */
void gp_one_line(char *text);
/** The name of process @pid; "" where there is none. */
void gp_read_comm(pid_t pid, char *buf, size_t len);

#endif
