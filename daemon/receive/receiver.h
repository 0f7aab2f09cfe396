/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receiver.h - a process that holds files of one user's processes for the daemon.
 *
 * A file of another user may lie on that user's FUSE. Closing it may then wait for the FUSE's
 * server, without end and without a signal that ends the wait: not in the daemon.
 */
#ifndef GP_DAEMON_RECEIVER_H
#define GP_DAEMON_RECEIVER_H

/* The file number of its socket: the first that gp_spawn_self() passes. */
#define GP_RECEIVER_FD 3

/**
 * gp_receiver_run() - the receiver's main loop, until the other end of @sock is closed. It
 * gives up all rights but those to take files, and ends with the thread that started it.
 * It passes on control files and keeps the rest open until its end.
 */
int gp_receiver_run(int sock);

#endif
