/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hsaq.h - compute queues of the KFD, AMD's compute driver: list them, take
 * them off the device and put them on again, give them classes, hold a device.
 *
 * What works depends on the kernel that runs; hsaq_mode() names it:
 *  SCHED   the driver of kfd-patch/ with amdgpu.sched_policy=2: everything
 *  NO_HWS  a stock driver with sched_policy=2: own queues off and on
 *  HWS     the firmware schedules: the same, and their classes as priorities
 * A call that the mode does not have returns -EOPNOTSUPP.
 *
 * Where not said otherwise, a function returns 0 or a negative errno (none sets
 * errno), leaves out-parameters alone on failure, is thread-safe, and does not
 * wait for the device. -EINVAL: a NULL where none may be, a number out of its
 * range, an unknown flag, or a size below the structure's of 0.1; -ENODEV: no
 * such device; -EPERM: takes CAP_SYS_ADMIN or a grant (hsaq_grant_open());
 * -ESRCH: no such process, or it never opened /dev/kfd; -EIO: the driver
 * failed. Times are in ns of CLOCK_MONOTONIC. Structures that start with their
 * size grow at their end: a later library takes an older size, an older one
 * refuses fields that it does not know unless they are zero (-E2BIG).
 *
 * A handle belongs to the process that opened it: in the child of a fork calls
 * that ask the driver return -ECHILD, hsaq_close() only frees, and hsaq_mode()
 * and its like say what the parent found.
 */
#ifndef HSAQ_H
#define HSAQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HSAQ_API
#define HSAQ_API __attribute__((visibility("default")))
#endif
#define HSAQ_MUST_CHECK __attribute__((warn_unused_result))

struct hsaq;

/* As above. A larger one offers more. */
enum hsaq_mode {
	HSAQ_MODE_HWS = 1,
	HSAQ_MODE_NO_HWS = 2,
	HSAQ_MODE_SCHED = 3,
};

/**
 * struct hsaq_open_opts - how to open. Zero is the default of each field.
 * @size: sizeof(struct hsaq_open_opts)
 * @flags: 0
 * @grant_fd: an open file of /dev/kfd_sched; it is duplicated. 0 or -1: none,
 *	then GPREEMPT_GRANT_FD names one, else the node itself is opened where
 *	this user may. None at all is no error
 * @why: receives one line, without a newline, when opening fails; may be NULL
 * @why_len: bytes there
 */
struct hsaq_open_opts {
	size_t size;
	uint32_t flags;
	int32_t grant_fd;
	char *why;
	size_t why_len;
};

/**
 * hsaq_open() - open the KFD.
 * @opts: NULL for the defaults
 * @h: out; owned by the caller, hsaq_close() it
 *
 * Return: 0; -ENOENT no KFD in this kernel; -EACCES may not open it; -EPROTO an
 * ABI that this library does not know; -E2BIG options that it does not know;
 * -EINVAL; -ENOMEM; what else open(2) fails with.
 * Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_open(const struct hsaq_open_opts *opts, struct hsaq **h);

/**
 * hsaq_close() - end what @h holds, put on what it took off, and free it. NULL
 * is legal. No other call on @h may be running. Since: 0.1
 */
HSAQ_API void hsaq_close(struct hsaq *h);

/**
 * hsaq_mode() - what the running kernel offers, on the device where it offers
 * most: amdgpu.sched_policy is one for all, but some cards schedule by firmware
 * whatever it says. Since: 0.1
 */
HSAQ_API enum hsaq_mode hsaq_mode(const struct hsaq *h);

/** hsaq_device_mode() - on @gpu_id; 0 and those unknown: hsaq_mode(). Since: 0.1 */
HSAQ_API enum hsaq_mode hsaq_device_mode(const struct hsaq *h, uint32_t gpu_id);

/**
 * hsaq_mode_line() - the mode in one line, cut at @len bytes: what was found,
 * what works, and what would give more. Since: 0.1
 */
HSAQ_API void hsaq_mode_line(const struct hsaq *h, char *buf, size_t len);

/** hsaq_device_mode_line() - the same of hsaq_device_mode(). Since: 0.1 */
HSAQ_API void hsaq_device_mode_line(const struct hsaq *h, uint32_t gpu_id, char *buf, size_t len);

/** hsaq_abi() - KFD ioctl ABI of the kernel. Since: 0.1 */
HSAQ_API void hsaq_abi(const struct hsaq *h, uint32_t *major, uint32_t *minor);

/* Of hsaq_grant_narrow(): what a grant lets its holder do. */
#define HSAQ_RIGHT_HOLD (1u << 0)   /* hold and release */
#define HSAQ_RIGHT_RAISE (1u << 1)  /* raise the own class */
#define HSAQ_RIGHT_OTHERS (1u << 2) /* classes of other processes */
#define HSAQ_RIGHT_READ (1u << 3)   /* read everybody's states */
#define HSAQ_RIGHT_ALL 0xfu

/**
 * hsaq_grant_open() - open /dev/kfd_sched: all rights.
 * Return: an fd (close-on-exec, the caller's); -ENOENT the kernel has none;
 * -EACCES the node's group does not have this user. Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_grant_open(void);

/**
 * hsaq_grant_narrow() - take rights from a grant, before it is handed on.
 * @rights: those that stay
 * @min_level: most urgent LC level that it may give or hold at
 * @gpu_id: the only device it is for; 0: all
 * Return: 0; -EINVAL; -EBADF, -ENOTTY not a grant. Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_grant_narrow(int grant_fd, uint32_t rights, uint32_t min_level,
					       uint32_t gpu_id);

/** hsaq_has_grant() - 1 when @h found a grant. Since: 0.1 */
HSAQ_API int hsaq_has_grant(const struct hsaq *h);

/* ---- what there is ----------------------------------------------------------- */

#define HSAQ_NAME_LEN 64

/**
 * struct hsaq_device_info - a device, from the topology in sysfs
 * @size: bytes that are valid
 * @gpu_id: names it in all calls
 * @node: number in the topology (/sys/class/kfd/kfd/topology/nodes)
 * @gfx_version: 90006 for gfx906: 10000 major, 100 minor, stepping
 * @vendor_id, @device_id, @pci_domain, @pci_bus, @pci_dev, @pci_fn: of PCI
 * @render_minor: /dev/dri/renderD of it
 * @unique_id: the card's; 0: it has none
 * @cp_queues: hardware queue slots for compute
 * @num_xcc: compute dies; 0: this kernel does not say
 * @cwsr_bytes: one queue's area for saved waves, on each compute die; 0: this
 *	kernel does not say
 * @name: as the driver calls it
 */
struct hsaq_device_info {
	size_t size;
	uint32_t gpu_id;
	uint32_t node;
	uint32_t gfx_version;
	uint32_t vendor_id;
	uint32_t device_id;
	uint32_t pci_domain;
	uint8_t pci_bus, pci_dev, pci_fn;
	uint8_t pad;
	uint32_t render_minor;
	uint64_t unique_id;
	uint32_t cp_queues;
	uint32_t num_xcc;
	uint64_t cwsr_bytes;
	char name[HSAQ_NAME_LEN];
};

enum hsaq_queue_type {
	HSAQ_QUEUE_COMPUTE = 0,
	HSAQ_QUEUE_SDMA = 1,
	HSAQ_QUEUE_OTHER = 2,
};

enum hsaq_state {
	HSAQ_STATE_UNKNOWN = -1, /* only SCHED tells, and to whom may see */
	HSAQ_STATE_INACTIVE = 0, /* stopped by its owner, or not ready */
	HSAQ_STATE_LOADED = 1,	 /* on a hardware queue slot */
	HSAQ_STATE_WAITING = 2,	 /* for a slot */
	HSAQ_STATE_HELD = 3,	 /* kept off by a hold */
	HSAQ_STATE_EVICTED = 4,	 /* by memory eviction or suspend */
	HSAQ_STATE_SAVING = 5,
	HSAQ_STATE_QUARANTINED = 6, /* did not answer; with its slot */
};

enum hsaq_class {
	HSAQ_CLASS_BE = 0, /* best effort: shares by weight */
	HSAQ_CLASS_LC = 1, /* latency critical: stays loaded */
};

#define HSAQ_LEVEL_MAX 15 /* LC levels 0 (most urgent) to 15 */
#define HSAQ_WEIGHT_DEFAULT 100
#define HSAQ_WEIGHT_MAX 10000

/**
 * struct hsaq_queue_info - a queue
 * @size: bytes that are valid
 * @pid: its process; where the initial pid namespace is not the caller's and
 *	the mode is not SCHED, as the initial one has it
 * @state: enum hsaq_state; all that follows is valid only if it is not UNKNOWN
 * @pipe, @slot, @vmid: where it is loaded; ~0 when it is not
 * @loads, @saves, @saves_midwave: how often put on, taken off, and of these
 *	with work under way
 * @loaded_ns, @waiting_ns: time on a slot, and runnable without one, in all
 */
struct hsaq_queue_info {
	size_t size;
	uint32_t gpu_id;
	int32_t pid;
	uint32_t queue_id;
	uint32_t type;
	int32_t state;
	uint32_t cls;
	uint32_t level;
	uint32_t weight;
	uint32_t pipe;
	uint32_t slot;
	uint32_t vmid;
	uint32_t pad;
	uint64_t loads;
	uint64_t saves;
	uint64_t saves_midwave;
	uint64_t loaded_ns;
	uint64_t waiting_ns;
	uint64_t last_save_ns;
	uint64_t max_save_ns;
};

/*
 * What is not 0 ends the listing, which returns it. @info is the library's, for
 * this call; other calls of the library are allowed inside.
 */
typedef int (*hsaq_device_fn)(const struct hsaq_device_info *info, void *arg);
typedef int (*hsaq_process_fn)(int32_t pid, uint32_t queues, void *arg);
typedef int (*hsaq_queue_fn)(const struct hsaq_queue_info *info, void *arg);

/**
 * hsaq_devices() - call @fn for each device that this process may see (a cgroup
 * can hide some). Return: 0; what @fn returned; -EINVAL; -ENOMEM. Since: 0.1
 */
HSAQ_API int hsaq_devices(struct hsaq *h, hsaq_device_fn fn, void *arg);

/**
 * hsaq_processes() - call @fn for each process that has the KFD open, with how
 * many queues it has; its pid as the initial namespace has it. Return: as
 * hsaq_devices(). Since: 0.1
 */
HSAQ_API int hsaq_processes(struct hsaq *h, hsaq_process_fn fn, void *arg);

/**
 * hsaq_queues() - call @fn for each queue, of @gpu_id (0: of all devices) and
 * @pid (0: of all processes). Return: 0; what @fn returned; -EINVAL; -ENOMEM;
 * -ENODEV (SCHED). Since: 0.1
 */
HSAQ_API int hsaq_queues(struct hsaq *h, uint32_t gpu_id, int32_t pid, hsaq_queue_fn fn, void *arg);

/**
 * struct hsaq_device_state - SCHED only
 * @size: set by the caller to its sizeof
 * @slots: hardware queue slots for compute; @slots_quarantined of them lost
 * @vmids: address spaces that can be bound at a time
 * @holders: holds that are on; @hold_level: the smallest level of them
 * @queues: compute queues there are, of all processes; @loaded: on a slot
 * @quantum_ns: a BE turn of default weight
 * @idle_quantum_ns: turn of a BE queue that had nothing to do
 * @lc_bound_ns: longest wait of an LC queue when there are more than slots
 * @max_hold_ns: largest limit of a hold
 * @seq: of the newest event, for hsaq_wait()
 * @rotations, @holds, @holds_expired, @quarantines, @recoveries, @resets: how
 *	many there were since the driver was loaded
 */
struct hsaq_device_state {
	size_t size;
	uint32_t slots;
	uint32_t slots_quarantined;
	uint32_t vmids;
	uint32_t holders;
	uint32_t hold_level; /* ~0: none holds */
	uint32_t queues;
	uint32_t loaded;
	uint32_t pad;
	uint64_t quantum_ns;
	uint64_t idle_quantum_ns;
	uint64_t lc_bound_ns;
	uint64_t max_hold_ns;
	uint64_t seq;
	uint64_t rotations;
	uint64_t holds;
	uint64_t holds_expired;
	uint64_t quarantines;
	uint64_t recoveries;
	uint64_t resets;
};

/** hsaq_device_state() - Return: 0; -EINVAL size; -EOPNOTSUPP. Since: 0.1 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_device_state(struct hsaq *h, uint32_t gpu_id,
					       struct hsaq_device_state *state);

/* ---- own queues, where the driver knows nothing of classes --------------------- */

/**
 * struct hsaq_ring - a queue of this process as it was created; UPDATE_QUEUE
 * wants it all again
 * @size: sizeof(struct hsaq_ring)
 * @queue_id: as CREATE_QUEUE returned it
 * @ring_base: address in this process
 * @percentage: 0: it is off
 * @priority: 0 to 15, as the firmware scheduler takes it
 * @type: enum hsaq_queue_type
 */
struct hsaq_ring {
	size_t size;
	uint32_t gpu_id;
	uint32_t queue_id;
	uint64_t ring_base;
	uint32_t ring_bytes;
	uint32_t percentage;
	uint32_t priority;
	uint32_t type;
};

/**
 * hsaq_queue_adopt() - tell of a queue that this process created (or, with the
 * same @queue_id, changed). The class that was set for the whole process is
 * given to it. @ring is copied. Return: 0; -EINVAL; -ENOMEM; what giving the
 * class met, and then the queue is known all the same. Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_queue_adopt(struct hsaq *h, const struct hsaq_ring *ring);

/** hsaq_queue_forget() - it was destroyed. Since: 0.1 */
HSAQ_API void hsaq_queue_forget(struct hsaq *h, uint32_t queue_id);

/* ---- doing ---------------------------------------------------------------------- */

#define HSAQ_ALL_QUEUES (~0u)

/**
 * hsaq_unload() - take a queue off the device, in the middle of its waves, and
 * keep it off until hsaq_load(), hsaq_close() or the end of this process.
 * @pid: 0: this process
 * @queue_id: HSAQ_ALL_QUEUES: all that it has on @gpu_id
 * @limit_ns: SCHED: it is loaded again after that, at most
 *	hsaq_device_state.max_hold_ns, 0: that long; other modes: ignored
 *
 * Returns once it is off: waits for the save, in other modes than SCHED for one
 * queue after the other. Unloading what is unloaded renews the limit. Return: 0;
 * -ENOENT no such queue; -ERANGE limit; -EOPNOTSUPP not in this mode, or, for
 * another process, not in this kernel; -ETIME it did not answer; -EPERM; -ESRCH;
 * -EINVAL; -ENODEV; -ENOMEM. On failure it is as before. Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_unload(struct hsaq *h, uint32_t gpu_id, int32_t pid,
					 uint32_t queue_id, uint64_t limit_ns);

/**
 * hsaq_load() - let what this handle unloaded run again; @pid and @queue_id as
 * hsaq_unload() was given them. Loading what it did not unload is success, and
 * one queue that fails keeps no other off. Return: 0; -ENOENT own queues, none of
 * which is known (NO_HWS, HWS); -EOPNOTSUPP another process's, in these modes;
 * -EINVAL; the first failure. Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_load(struct hsaq *h, uint32_t gpu_id, int32_t pid,
				       uint32_t queue_id);

/**
 * struct hsaq_class_opts - a class
 * @size: sizeof(struct hsaq_class_opts)
 * @pid: 0: this process; others: SCHED only
 * @queue_id: HSAQ_ALL_QUEUES: all it has, and those to come
 * @cls: enum hsaq_class
 * @level: LC's; else 0
 * @weight: BE's, 0: HSAQ_WEIGHT_DEFAULT; else 0
 */
struct hsaq_class_opts {
	size_t size;
	uint32_t gpu_id;
	int32_t pid;
	uint32_t queue_id;
	uint32_t cls;
	uint32_t level;
	uint32_t weight;
};

/**
 * hsaq_set_class() - SCHED: in the driver; HWS: as priority (LC 15, BE 0) of the
 * adopted queues. Return: 0; -EINVAL; -E2BIG options that this library does not
 * know; -ENOENT no such queue; -EPERM; -ESRCH; -ENODEV; -ENOMEM; -EOPNOTSUPP.
 * Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_set_class(struct hsaq *h, const struct hsaq_class_opts *opts);

/**
 * hsaq_reset_class() - as the driver has it without a class: SCHED: BE of
 * default weight (from a smaller weight that takes a right, as any raise does);
 * HWS: the priority that each queue was made with. Return: as hsaq_set_class().
 * Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_reset_class(struct hsaq *h, uint32_t gpu_id);

#define HSAQ_HOLD_NOWAIT (1u << 0) /* ask for the saves, do not wait */

/**
 * struct hsaq_hold_result - what a hold did
 * @size: set by the caller to its sizeof
 * @hold_id: for its release
 * @unloaded, @failed, @pending: queues that are off, that did not answer, and,
 *	with NOWAIT, whose save is still running
 * @wait_ns: from the first request to the last answer
 */
struct hsaq_hold_result {
	size_t size;
	uint32_t hold_id;
	uint32_t unloaded;
	uint32_t failed;
	uint32_t pending;
	uint64_t wait_ns;
};

/**
 * hsaq_hold() - take all BE queues, and LC queues of a larger level number than
 * @level, of all processes, off a device and keep them off.
 * @level: 0..HSAQ_LEVEL_MAX, where only BE goes
 * @limit_ns: it ends by itself after that; 1..hsaq_device_state.max_hold_ns
 * @flags: 0, or HSAQ_HOLD_NOWAIT
 * @result: may be NULL
 *
 * Returns once they are off, or, with NOWAIT, are about to be. Holds nest. It
 * ends by hsaq_release(), its limit, hsaq_close(), or the end of this process.
 * Return: 0, also where some queues did not answer (@result->failed); -ERANGE
 * limit; -EINVAL; -EPERM; -ENODEV; -EOPNOTSUPP. On failure nothing is held.
 * Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_hold(struct hsaq *h, uint32_t gpu_id, uint32_t level,
				       uint64_t limit_ns, uint32_t flags,
				       struct hsaq_hold_result *result);

enum hsaq_ended {
	HSAQ_ENDED_RELEASED = 0, /* by this call */
	HSAQ_ENDED_LIMIT = 1,	 /* had ended by its limit before */
	HSAQ_ENDED_RESET = 2,	 /* by a reset of the device */
};

/**
 * struct hsaq_release_result - what a release did
 * @size: set by the caller to its sizeof
 * @ended: enum hsaq_ended
 * @loaded: queues that it loaded again
 * @holders: holds that are still on
 * @held_ns: how long the hold was on
 */
struct hsaq_release_result {
	size_t size;
	uint32_t ended;
	uint32_t loaded;
	uint32_t holders;
	uint32_t pad;
	uint64_t held_ns;
};

/**
 * hsaq_release() - end a hold. @result may be NULL. May be called from a signal
 * handler. Return: 0; -ENOENT: this process has no such hold; -EINVAL; -ENODEV;
 * -EOPNOTSUPP. Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_release(struct hsaq *h, uint32_t gpu_id, uint32_t hold_id,
					  struct hsaq_release_result *result);

enum hsaq_event_kind {
	HSAQ_EVENT_HELD = 1,	    /* a hold's last queue is off */
	HSAQ_EVENT_RELEASED = 2,    /* a hold ended; value: enum hsaq_ended */
	HSAQ_EVENT_QUARANTINED = 3, /* a queue did not answer */
	HSAQ_EVENT_RECOVERED = 4,   /* it answered late, or was reset */
	HSAQ_EVENT_RESET = 5,	    /* the device was reset */
	HSAQ_EVENT_LOST = 6,	    /* value: events that came too fast */
};

/**
 * struct hsaq_event - what hsaq_wait() tells
 * @size: set by the caller to its sizeof
 * @seq: of this event: what the next call's @after is
 * @kind: enum hsaq_event_kind
 * @pid, @queue_id: whose; 0 where the caller may not know
 * @hold_id: which hold, of the caller's own
 * @value: see @kind
 * @time_ns: when
 * @took_ns: how long it took
 */
struct hsaq_event {
	size_t size;
	uint64_t seq;
	uint32_t kind;
	int32_t pid;
	uint32_t queue_id;
	uint32_t hold_id;
	uint64_t value;
	uint64_t time_ns;
	uint64_t took_ns;
};

/**
 * hsaq_wait() - wait for an event after number @after (0: any still kept), at
 * most @timeout_ms (0: do not wait). Without a grant that may read: only
 * the caller's own. Return: 0; -ETIME none came; -EINTR; -EINVAL; -ENODEV;
 * -EOPNOTSUPP. Since: 0.1
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_wait(struct hsaq *h, uint32_t gpu_id, uint64_t after,
				       uint32_t timeout_ms, struct hsaq_event *event);

/** hsaq_version() - "0.1.0". Since: 0.1 */
HSAQ_API const char *hsaq_version(void);

#ifdef __cplusplus
}
#endif
#endif
