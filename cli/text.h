/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - text from other programs, made safe to print. hsaq(1) shares it. */
#ifndef GP_CLI_TEXT_H
#define GP_CLI_TEXT_H

#include <stddef.h>
#include <sys/types.h>

/** @text, changed in place, for a terminal; "-" if it is empty. */
const char *gp_printable(char *text);
/** Makes one line of @text in place, whichever file name it contains. */
void gp_one_line(char *text);
/** The name of process @pid; "" if it does not exist. */
void gp_read_comm(pid_t pid, char *buf, size_t len);

#endif
