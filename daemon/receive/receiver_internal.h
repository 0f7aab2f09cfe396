/* SPDX-License-Identifier: Apache-2.0 */
/* receiver_internal.h - between receivers.c, in the daemon, and a receiver process. */
#ifndef GP_DAEMON_RECEIVER_INTERNAL_H
#define GP_DAEMON_RECEIVER_INTERNAL_H

#include "wire/wire.h"

#define GP_RECEIVER_BACKENDS 4
#define GP_RECEIVER_NAME_LEN 16
/* Of one process. The kernel passes up to 253 in one message (SCM_MAX_FD). */
#define GP_RECEIVER_FILES 128u

enum gp_receiver_what {
	GP_RECEIVER_MESSAGE = 1, /* receive a message from the socket -> answer */
	GP_RECEIVER_TAKE,	 /* take the control files of the process -> answer */
	GP_RECEIVER_KEEP,	 /* keep the socket until the receiver ends. No answer */
};

/**
 * struct gp_receiver_ask - comes with one file: the socket, or the pidfd.
 * @backend: names of backends, whose control files are wanted; "": no more
 */
struct gp_receiver_ask {
	uint32_t what; /* enum gp_receiver_what */
	int32_t pid;
	char backend[GP_RECEIVER_BACKENDS][GP_RECEIVER_NAME_LEN];
};

/**
 * struct gp_receiver_answer - comes with the control files.
 * @result: 0 or negative errno
 * @len, @sent: MESSAGE: its length, and the number of files that it came with
 * @places: of these, a bit for each control file
 * @kept: files and sockets that the receiver keeps
 */
struct gp_receiver_answer {
	int32_t result;
	uint32_t len, sent, places, kept;
	union gp_wire_msg msg;
};

/** Send @bytes with @n files; waits. 0 or negative errno. */
int gp_receiver_send(int sock, const void *bytes, size_t len, const int *file, size_t n, int flags);
/**
 * Receive up to @len bytes with up to @max files. Their number is @n, and they are the
 * caller's on failure too. @msg_flags: of recvmsg(2). Length, or negative errno.
 */
ssize_t gp_receiver_recv(int sock, void *bytes, size_t len, int *file, size_t max, size_t *n,
			 int flags, int *msg_flags);

#endif
