/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hsaq_internal.h - shared by the files of libhsaq.
 *
 * Lock order: struct hsaq.lock alone. Under it no kernel call waits for the device, except
 * calls for own queues, in sequence.
 */
#ifndef HSAQ_INTERNAL_H
#define HSAQ_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "hsaq.h"

#define HSAQ_DEV_KFD "/dev/kfd"
#define HSAQ_DEV_SCHED "/dev/kfd_sched"
#define HSAQ_SYSFS "/sys/class/kfd/kfd"
#define HSAQ_SYSFS_PARAM "/sys/module/amdgpu/parameters/"
#define HSAQ_SYSFS_POLICY HSAQ_SYSFS_PARAM "sched_policy"
#define HSAQ_POLICY_NO_HWS 2

/**
 * struct hsaq_io - access to the kernel; tests replace it.
 * @open: of a device node; fd or negative errno
 * @ioctl: 0 or more, or negative errno; EINTR is the caller's to retry
 * @is_kfd: is @fd, from any source, an open file of /dev/kfd?
 * @read: the text of a file in sysfs, truncated at @len - 1 bytes, with a NUL; 0 or
 *	negative errno
 * @list: call @fn for each name in a directory of sysfs, until it returns nonzero, which
 *	is returned; else 0 or negative errno
 * @pids_are_ours: sysfs has PIDs of the initial namespace; is it this process's? In another
 *	one they would match wrong processes.
 */
typedef int (*hsaq_name_fn)(const char *name, void *arg);
struct hsaq_io {
	int (*open)(const char *path, int flags);
	int (*dup)(int fd);
	void (*close)(int fd);
	int (*ioctl)(int fd, unsigned long request, void *arg);
	bool (*is_kfd)(int fd);
	int (*read)(const char *path, char *buf, size_t len);
	int (*list)(const char *path, hsaq_name_fn fn, void *arg);
	bool (*pids_are_ours)(void);
};
const struct hsaq_io *hsaq_io_current(void);
/** Tests: from the next hsaq_open() on; NULL: the kernel again. */
void hsaq_io_set(const struct hsaq_io *io);

/* A queue of this process. */
struct hsaq_own_queue {
	struct hsaq_own_queue *next;
	struct hsaq_ring ring; /* as the application last set it */
	uint32_t percentage;   /* as it is in force */
	bool off;	       /* unloaded by us */
};

/* One hold of hsaq_unload(). */
struct hsaq_off {
	struct hsaq_off *next;
	uint32_t gpu_id;
	int32_t pid;
	uint32_t queue_id;
	uint32_t hold_id;
};

/* A device's abilities. */
struct hsaq_known {
	uint32_t gpu_id;
	enum hsaq_mode mode;
	bool saves; /* own queues can be unloaded in mid-wave: it has CWSR */
};

struct hsaq {
	const struct hsaq_io *io;
	int fd;	      /* of /dev/kfd */
	int grant_fd; /* -1: none */
	pid_t owner;
	enum hsaq_mode mode;	  /* the most that a device offers */
	struct hsaq_known *known; /* num_known entries, from open */
	size_t num_known;
	bool patched; /* knows the calls, but may refuse them */
	uint32_t major, minor;

	pthread_mutex_t lock; /* protects the fields below */
	struct hsaq_own_queue *own_queues;
	struct hsaq_off *off;
	bool asked_only, has_only; /* the kernel can hold single processes */
};

/* io.c */
int hsaq_ioctl(const struct hsaq *h, unsigned long request, void *arg);
/** -ECHILD: @h is another process's. */
int hsaq_usable(const struct hsaq *h);

/* sysfs.c */
/** The number that is a file's whole text. 0 or negative errno. */
int hsaq_sysfs_u64(const struct hsaq_io *io, const char *path, uint64_t *value);
int hsaq_sysfs_devices(const struct hsaq_io *io, hsaq_device_fn fn, void *arg);
int hsaq_sysfs_processes(const struct hsaq_io *io, hsaq_process_fn fn, void *arg);
int hsaq_sysfs_queues(const struct hsaq_io *io, uint32_t gpu_id, int32_t pid, hsaq_queue_fn fn,
		      void *arg);

/* route.c */
/** Fills in @info->scheduler and @info->cwsr, by @info->gfx_version and the module's options. */
void hsaq_route_read(const struct hsaq_io *io, struct hsaq_device_info *info);

/* own_queues.c */
/** Loads all unloaded queues, and forgets all queues. */
void hsaq_own_free(struct hsaq *h);
int hsaq_own_unload(struct hsaq *h, uint32_t gpu_id, uint32_t queue_id);
bool hsaq_own_is_unloaded(struct hsaq *h, uint32_t gpu_id, uint32_t queue_id);
int hsaq_own_load(struct hsaq *h, uint32_t gpu_id, uint32_t queue_id);
struct hsaq_kfd_update;
/**
 * The application's own UPDATE_QUEUE of @args, by @call, with no unload or load in between. If
 * we keep the queue unloaded, @args gets a percentage of 0, and its own is in force after the
 * load. Return: that of @call, negative for a failure.
 */
int hsaq_own_update(struct hsaq *h, struct hsaq_kfd_update *args, int (*call)(void *arg),
		    void *arg);

/* sched.c */
void hsaq_off_free(struct hsaq *h);
/* For the backend: */
/** Can queues of other processes be unloaded here? */
/** Has the device CWSR, as far as known? Else its queues cannot be unloaded by their owner. */
bool hsaq_saves(const struct hsaq *h, uint32_t gpu_id);
bool hsaq_unloads_others(struct hsaq *h, uint32_t gpu_id);
/** Did @h unload exactly this queue (or this process)? */
bool hsaq_is_unloaded(struct hsaq *h, uint32_t gpu_id, int32_t pid, uint32_t queue_id);

/*
 * Copy a structure that starts with its size to the caller's, which is at least as large as in
 * the first release.
 */
int hsaq_copy_out(void *to, const void *from, size_t known);

#endif
