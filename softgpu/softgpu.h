/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softgpu.h - exports of the software GPU's libcuda.so.1 besides the CUDA driver API. Found by
 * dlsym: no program links it.
 *
 * An "RM file" stands for an open /dev/nvidiactl. Having the descriptor (inherited, sent, or
 * duplicated with pidfd_getfd) proves the right to control the objects made on it. readlink of
 * /proc/PID/fd/N begins with GP_SOFT_FILE_PREFIX.
 */
#ifndef GP_SOFTGPU_H
#define GP_SOFTGPU_H

#include <stdint.h>

#define GP_SOFT_FILE_PREFIX "/memfd:gpreempt-soft-rm"
#define GP_SOFT_ENV_SOCKET "GPREEMPT_SOFTGPU"	 /* path of the server's socket */
#define GP_SOFT_ENV_GPUS "GPREEMPT_SOFTGPU_GPUS" /* of a server that it starts: default 1 */

/* Open a new RM file (like open("/dev/nvidiactl")). fd or -1 and errno. */
int gp_soft_rm_open(void);
/* ioctl() on an RM file: escape codes and structures of nvidia-backend/rm_abi.h.
 * libcuda.so.1 itself calls this through its PLT, as NVIDIA's calls ioctl(). */
int gp_soft_ioctl(int fd, unsigned long request, void *arg);
/*
 * Open the file beside the server's socket with the lock of the device's one short slice:
 * processes that share the GPU share the lock. fd or -1 and errno.
 */
int gp_soft_slot_open(void);

/* The lockstep clock, ns. Needs no cuInit. */
uint64_t gp_soft_now_ns(void);
/* Declare that this thread computes until then; GPU time moves on meanwhile. */
int gp_soft_sleep_until(uint64_t at_ns);

/* A timer in that clock: an fd that is readable when due, closed with
 * gp_soft_timer_close() (0 or a negative errno). The others: -1 and errno. */
int gp_soft_timer_open(void);
int gp_soft_timer_close(int fd);
int gp_soft_timer_arm(int fd, uint64_t at_ns); /* 0: disarm */
int gp_soft_timer_ack(int fd);		       /* consume; time stands still .. */
int gp_soft_timer_done(int fd);		       /* .. until this, or the next arm */

#endif
