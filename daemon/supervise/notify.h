/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - messages to a service manager: sd_notify(3), which is a single datagram. */
#ifndef GP_DAEMON_NOTIFY_H
#define GP_DAEMON_NOTIFY_H

/**
 * gp_notify() - "READY=1\nSTATUS=...", to $NOTIFY_SOCKET; without it: nothing. Never blocks. 0
 * or negative errno.
 */
int gp_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
