/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - the folder of an MPS pool, which gpreempt run, the pool's keeper and gpreempt doctor
 * share. A user has one pool for each class, in the user's own folder (gp_wire_user_dir()).
 */
#ifndef GP_WIRE_POOL_H
#define GP_WIRE_POOL_H

#include <stdbool.h>
#include <stddef.h>

#define GP_POOL_PREFIX "pool-"	 /* of the folder's name; the class follows */
#define GP_POOL_PIPES "pipe"	 /* CUDA_MPS_PIPE_DIRECTORY */
#define GP_POOL_LOGS "log"	 /* CUDA_MPS_LOG_DIRECTORY */
#define GP_POOL_USED "used"	 /* file: the pool's processes have a shared lock on it */
#define GP_POOL_KEEPER "keeper"	 /* file: the keeper has a lock on it, and its PID in it */
#define GP_POOL_READY "ready"	 /* file: MPS answers */
#define GP_POOL_LOG "keeper.log" /* messages of the keeper and of MPS's programs */
#define GP_POOL_DIR_LEN 128	 /* of the folder's path */
#define GP_POOL_FILE_LEN 176	 /* of a file's in it */
#define GP_POOL_CONTROL "nvidia-cuda-mps-control"
#define GP_POOL_CONTROL_ENV "GPREEMPT_MPS_CONTROL" /* another program in its place */

/** The folder of the pool for class @cls, as gp_class_format() writes it. 0 or -ENAMETOOLONG. */
int gp_pool_dir(const char *cls, char *path, size_t len);
/**
 * Open or create @path, GP_POOL_USED of a pool, and lock it as flock() does. fd or negative errno.
 */
int gp_pool_use(const char *path, int operation);
/**
 * Open or create @path, GP_POOL_KEEPER, for the one keeper: children share the lock. fd; -EAGAIN:
 * there is one; other negative errno.
 */
int gp_pool_keep_lock(const char *path);
/** Has a keeper that lock? The question disturbs nobody who takes it. */
bool gp_pool_is_kept(const char *path);
/** The program to control MPS. */
const char *gp_pool_control(void);

#endif
