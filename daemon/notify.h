/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.h - what a service manager is told: sd_notify(3), of which a datagram is
 * all there is.
 */
#ifndef GP_DAEMON_NOTIFY_H
#define GP_DAEMON_NOTIFY_H

/**
 * gp_notify() - "READY=1\nSTATUS=...", to $NOTIFY_SOCKET; no manager asked: nothing.
 * Never blocks. 0 or negative errno.
 */
int gp_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
