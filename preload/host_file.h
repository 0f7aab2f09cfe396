/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_file.h - host memory that the programs of a user share: a memfd, of which each of them has
 * the pieces that it locked. The kernel frees the locks of a program that ends, at whatever
 * instruction that is, and the memory after the last program.
 *
 * The file "host" in the user's folder names the programs that have it open. Others open it through
 * /proc, so nobody has to serve it. Programs of another PID namespace have a memfd of their own.
 *
 * Any thread.
 */
#ifndef GP_PRELOAD_HOST_FILE_H
#define GP_PRELOAD_HOST_FILE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * The shared memory, or a new one, which others can find from now on. A descriptor, or negative
 * errno: the user's folder is missing or not the user's, or the lock on the file was not free for a
 * second.
 */
int gp_host_file_open(void);
/** Pieces of @bytes each that it has; it never shrinks. */
uint64_t gp_host_file_pieces(int fd, uint64_t bytes);
/** It has @pieces of @bytes each, or more. 0 or negative errno. */
int gp_host_file_grow(int fd, uint64_t pieces, uint64_t bytes);
/** Lock @piece. False: another program has it. A process has its own locks twice. */
bool gp_host_file_take(int fd, uint64_t piece);
/** Has another program that piece? */
bool gp_host_file_is_taken(int fd, uint64_t piece);
/** Unlock all pieces. */
void gp_host_file_leave(int fd);

#endif
