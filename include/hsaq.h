/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hsaq.h - libhsaq: compute queues of the KFD, AMD's compute driver. List queues,
 * unload and load them, set classes, hold a device.
 *
 * The running kernel decides which calls work; hsaq_mode() names its mode:
 *  SCHED   driver of kfd-patch/, amdgpu.sched_policy=2: all calls
 *  NO_HWS  stock driver, amdgpu.sched_policy=2: unload and load own queues
 *  HWS     firmware scheduling: unload and load own queues
 * A call that the mode does not support returns -EOPNOTSUPP.
 *
 * Rules for every function, unless its comment differs:
 *  - it returns 0 or a negative errno, and never sets errno;
 *  - on failure, out-parameters are unchanged;
 *  - any thread may call it, but no signal handler;
 *  - handles and out-parameters must not be NULL. A status call returns -EINVAL
 *    for a NULL that is not allowed, and -ECHILD in the child of a fork;
 *  - times are ns of CLOCK_MONOTONIC.
 *
 * A structure that begins with its size may grow at its end. A newer library
 * accepts an older size. An older library refuses non-zero fields that it does
 * not know (-E2BIG).
 *
 * A handle belongs to the process that opened it. In the child of a fork,
 * hsaq_close() only frees memory, and hsaq_mode() and the other calls that
 * return no status still report the parent's state.
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

/**
 * enum hsaq_mode - Support by the running kernel. A larger value supports more.
 * @HSAQ_MODE_HWS: the firmware schedules. Own queues can be unloaded and loaded
 * @HSAQ_MODE_NO_HWS: stock driver without firmware scheduling. Own queues can be
 *	unloaded and loaded
 * @HSAQ_MODE_SCHED: driver of kfd-patch/ without firmware scheduling: all calls
 */
enum hsaq_mode {
	HSAQ_MODE_HWS = 1,
	HSAQ_MODE_NO_HWS = 2,
	HSAQ_MODE_SCHED = 3,
};

/**
 * struct hsaq_open_opts - Options of hsaq_open(). Zero is each field's default.
 * @size: sizeof(struct hsaq_open_opts)
 * @flags: must be 0
 * @grant_fd: an open file of /dev/kfd_sched, which the library duplicates. 0 or
 *	-1: the file that GPREEMPT_GRANT_FD names, else the node itself if this
 *	user may open it. Having none is no error
 * @why: receives one line without a newline if opening fails; may be NULL
 * @why_len: size of @why, bytes
 */
struct hsaq_open_opts {
	size_t size;
	uint32_t flags;
	int32_t grant_fd;
	char *why;
	size_t why_len;
};

/**
 * hsaq_open() - Open the KFD and find each device's mode.
 * @opts: options, borrowed for the call; NULL: all defaults
 * @h: receives the handle, which the caller owns until hsaq_close()
 *
 * Context: Any thread; not signal-safe. Does not wait for a device.
 * Return: 0, or
 * * -EINVAL: NULL @h, @opts->size too small, or non-zero flags
 * * -E2BIG: a non-zero option that this library does not know
 * * -ENOENT: this kernel has no KFD
 * * -EACCES: this user may not open /dev/kfd
 * * -EPROTO: the kernel's KFD ABI is not 1.x
 * * -ENOMEM: out of memory
 * * -EMFILE: too many open files, or another errno of open(2)
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_open(const struct hsaq_open_opts *opts, struct hsaq **h);

/**
 * hsaq_close() - End the handle's holds, load its unloaded queues, free it.
 * @h: the handle; invalid afterwards. NULL is legal
 *
 * Context: Any thread, while no other call uses @h; not signal-safe. Blocks for
 *	the driver: one ioctl for each own queue that is unloaded.
 * Since: 0.1.0
 */
HSAQ_API void hsaq_close(struct hsaq *h);

/**
 * hsaq_mode() - Get the mode of the device that supports most.
 * @h: the handle
 *
 * amdgpu.sched_policy is one setting for all devices, but the firmware of some
 * cards schedules under every setting. Ask hsaq_device_mode() for one device.
 *
 * Context: Any thread; signal-safe. Does not block.
 * Return: enum hsaq_mode.
 * Since: 0.1.0
 */
HSAQ_API enum hsaq_mode hsaq_mode(const struct hsaq *h);

/**
 * hsaq_device_mode() - Get the mode of one device.
 * @h: the handle
 * @gpu_id: the device; 0 or unknown: as hsaq_mode()
 *
 * Context: Any thread; signal-safe. Does not block.
 * Return: enum hsaq_mode.
 * Since: 0.1.0
 */
HSAQ_API enum hsaq_mode hsaq_device_mode(const struct hsaq *h, uint32_t gpu_id);

/**
 * hsaq_mode_line() - Describe hsaq_mode() in one line.
 * @h: the handle
 * @buf: receives the line, cut to fit, with a NUL
 * @len: size of @buf, bytes
 *
 * The line names the kernel's ABI, the calls that work, and the change that
 * would allow more.
 *
 * Context: Any thread; not signal-safe. Does not block.
 * Since: 0.1.0
 */
HSAQ_API void hsaq_mode_line(const struct hsaq *h, char *buf, size_t len);

/**
 * hsaq_device_mode_line() - Describe hsaq_device_mode() in one line.
 * @h: the handle
 * @gpu_id: the device; 0 or unknown: as hsaq_mode_line()
 * @buf: receives the line, cut to fit, with a NUL
 * @len: size of @buf, bytes
 *
 * Context: Any thread; not signal-safe. Does not block.
 * Since: 0.1.0
 */
HSAQ_API void hsaq_device_mode_line(const struct hsaq *h, uint32_t gpu_id, char *buf, size_t len);

/**
 * hsaq_abi() - Get the version of the kernel's KFD ABI.
 * @h: the handle
 * @major: receives the major number
 * @minor: receives the minor number
 *
 * Context: Any thread; signal-safe. Does not block.
 * Since: 0.1.0
 */
HSAQ_API void hsaq_abi(const struct hsaq *h, uint32_t *major, uint32_t *minor);

/* Rights of a grant, for hsaq_grant_narrow(). */
#define HSAQ_RIGHT_HOLD (1u << 0)   /* hold and release */
#define HSAQ_RIGHT_RAISE (1u << 1)  /* raise the own class */
#define HSAQ_RIGHT_OTHERS (1u << 2) /* set classes of other processes */
#define HSAQ_RIGHT_READ (1u << 3)   /* read the queue states of all processes */
#define HSAQ_RIGHT_ALL 0xfu

/**
 * hsaq_grant_open() - Open /dev/kfd_sched: a grant with all rights.
 *
 * Context: Any thread; not signal-safe. Does not block.
 * Return: a file descriptor, close-on-exec, which the caller closes, or
 * * -ENOENT: the kernel has no /dev/kfd_sched
 * * -EACCES: this user may not open it
 * * -EMFILE: too many open files, or another errno of open(2)
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_grant_open(void);

/**
 * hsaq_grant_narrow() - Remove rights from a grant before handing it on.
 * @grant_fd: the grant, borrowed
 * @rights: HSAQ_RIGHT_* that remain; rights that are gone stay gone
 * @min_level: most urgent LC level that the grant may set or hold at, 0 to
 *	HSAQ_LEVEL_MAX
 * @gpu_id: the only device it is for; 0: all
 *
 * Context: Any thread; not signal-safe. Does not block.
 * Return: 0, or
 * * -EINVAL: unknown right, or level out of range
 * * -EBADF: no open file
 * * -ENOTTY: not a file of /dev/kfd_sched
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_grant_narrow(int grant_fd, uint32_t rights, uint32_t min_level,
					       uint32_t gpu_id);

/**
 * hsaq_has_grant() - Ask whether the handle found a grant.
 * @h: the handle
 *
 * Context: Any thread; signal-safe. Does not block.
 * Return: 1: yes; 0: no.
 * Since: 0.1.0
 */
HSAQ_API int hsaq_has_grant(const struct hsaq *h);

/* ---- listing ------------------------------------------------------------------ */

#define HSAQ_NAME_LEN 64

/**
 * enum hsaq_scheduler - The part that puts queues onto the hardware.
 * @HSAQ_SCHEDULER_HWS: the command processor's firmware (gfx9, gfx10). To switch one
 *	queue, the driver unmaps all compute queues of the device
 * @HSAQ_SCHEDULER_MES: the MES firmware (gfx11 and later)
 * @HSAQ_SCHEDULER_NO_HWS: the driver (amdgpu.sched_policy=2)
 */
enum hsaq_scheduler {
	HSAQ_SCHEDULER_HWS = 1,
	HSAQ_SCHEDULER_MES = 2,
	HSAQ_SCHEDULER_NO_HWS = 3,
};

/**
 * struct hsaq_device_info - A device, from the topology in sysfs.
 * @size: number of valid bytes
 * @gpu_id: names the device in all calls
 * @node: number in the topology (/sys/class/kfd/kfd/topology/nodes)
 * @gfx_version: 10000 * major + 100 * minor + stepping; 90006 is gfx906
 * @vendor_id, @device_id, @pci_domain, @pci_bus, @pci_dev, @pci_fn: PCI identity
 *	and address
 * @pad: 0
 * @render_minor: N of /dev/dri/renderDN
 * @unique_id: the card's unique id; 0: none
 * @cp_queues: hardware queue slots for compute
 * @num_xcc: compute dies; 0: this kernel does not report them
 * @cwsr_bytes: save area of one queue on each compute die, bytes; 0: this kernel
 *	does not report it
 * @scheduler: enum hsaq_scheduler
 * @cwsr: 1: running waves can be saved; 0: not, by amdgpu.cwsr_enable or the card;
 *	-1: unknown
 * @name: the driver's name of the device, NUL-terminated
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
	uint32_t scheduler;
	int32_t cwsr;
	char name[HSAQ_NAME_LEN];
};

/**
 * enum hsaq_queue_type - Engine of a queue.
 * @HSAQ_QUEUE_COMPUTE: compute
 * @HSAQ_QUEUE_SDMA: copies
 * @HSAQ_QUEUE_OTHER: another engine
 */
enum hsaq_queue_type {
	HSAQ_QUEUE_COMPUTE = 0,
	HSAQ_QUEUE_SDMA = 1,
	HSAQ_QUEUE_OTHER = 2,
};

/**
 * enum hsaq_state - State of a queue.
 * @HSAQ_STATE_UNKNOWN: only mode SCHED reports states, and to permitted callers
 * @HSAQ_STATE_INACTIVE: stopped by its owner, or not ready
 * @HSAQ_STATE_LOADED: on a hardware queue slot
 * @HSAQ_STATE_WAITING: runnable, waits for a slot
 * @HSAQ_STATE_HELD: unloaded by a hold
 * @HSAQ_STATE_EVICTED: unloaded by memory eviction or system suspend
 * @HSAQ_STATE_SAVING: its save is under way
 * @HSAQ_STATE_QUARANTINED: did not answer a save; its slot is lost with it
 */
enum hsaq_state {
	HSAQ_STATE_UNKNOWN = -1,
	HSAQ_STATE_INACTIVE = 0,
	HSAQ_STATE_LOADED = 1,
	HSAQ_STATE_WAITING = 2,
	HSAQ_STATE_HELD = 3,
	HSAQ_STATE_EVICTED = 4,
	HSAQ_STATE_SAVING = 5,
	HSAQ_STATE_QUARANTINED = 6,
};

/**
 * enum hsaq_class - Class of a queue or process.
 * @HSAQ_CLASS_BE: best-effort: shares by weight
 * @HSAQ_CLASS_LC: latency-critical: stays loaded
 */
enum hsaq_class {
	HSAQ_CLASS_BE = 0,
	HSAQ_CLASS_LC = 1,
};

#define HSAQ_LEVEL_MAX 15 /* LC levels: 0 (most urgent) to 15 */
#define HSAQ_WEIGHT_DEFAULT 100
#define HSAQ_WEIGHT_MAX 10000

/**
 * struct hsaq_queue_info - A queue.
 * @size: number of valid bytes
 * @gpu_id: its device
 * @pid: its process, in the caller's pid namespace. In modes other than SCHED:
 *	in the initial pid namespace
 * @queue_id: number within its process
 * @type: enum hsaq_queue_type
 * @state: enum hsaq_state. UNKNOWN: the fields below are not valid
 * @cls: enum hsaq_class
 * @level: LC level, 0 to HSAQ_LEVEL_MAX; BE: 0
 * @weight: BE weight, 1 to HSAQ_WEIGHT_MAX; LC: 0
 * @pipe, @slot, @vmid: where it is loaded; ~0: not loaded
 * @pad: 0
 * @loads: number of times it was loaded
 * @saves: number of times it was unloaded
 * @saves_midwave: number of @saves that interrupted running work
 * @loaded_ns: total time on a slot, ns
 * @waiting_ns: total time runnable without a slot, ns
 * @last_save_ns: duration of the last save, ns
 * @max_save_ns: duration of the longest save, ns
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

/**
 * typedef hsaq_device_fn - Receiver of hsaq_devices(). Returns 0 to go on; any
 *	other value ends the listing, which returns it.
 * @info: the device; the library's, valid during the call
 * @arg: as given to hsaq_devices()
 */
typedef int (*hsaq_device_fn)(const struct hsaq_device_info *info, void *arg);

/**
 * typedef hsaq_process_fn - Receiver of hsaq_processes(). Returns 0 to go on; any
 *	other value ends the listing, which returns it.
 * @pid: the process, in the initial pid namespace
 * @queues: number of its queues
 * @arg: as given to hsaq_processes()
 */
typedef int (*hsaq_process_fn)(int32_t pid, uint32_t queues, void *arg);

/**
 * typedef hsaq_queue_fn - Receiver of hsaq_queues(). Returns 0 to go on; any other
 *	value ends the listing, which returns it.
 * @info: the queue; the library's, valid during the call
 * @arg: as given to hsaq_queues()
 */
typedef int (*hsaq_queue_fn)(const struct hsaq_queue_info *info, void *arg);

/**
 * hsaq_devices() - List the devices that this process may see.
 * @h: the handle
 * @fn: called for each device; may call the library
 * @arg: passed to @fn
 *
 * A cgroup can hide devices.
 *
 * Context: Any thread; not signal-safe. Reads sysfs.
 * Return: 0, or the value with which @fn ended the listing, or
 * * -EINVAL: NULL @fn
 * * -ENOMEM: out of memory
 * * -EACCES: sysfs is not readable
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API int hsaq_devices(struct hsaq *h, hsaq_device_fn fn, void *arg);

/**
 * hsaq_processes() - List the processes that have the KFD open.
 * @h: the handle
 * @fn: called for each process; may call the library
 * @arg: passed to @fn
 *
 * Context: Any thread; not signal-safe. Reads sysfs.
 * Return: 0, or the value with which @fn ended the listing, or
 * * -EINVAL: NULL @fn
 * * -ENOMEM: out of memory
 * * -EACCES: sysfs is not readable
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API int hsaq_processes(struct hsaq *h, hsaq_process_fn fn, void *arg);

/**
 * hsaq_queues() - List queues.
 * @h: the handle
 * @gpu_id: the device; 0: all
 * @pid: the process; 0: all
 * @fn: called for each queue; may call the library
 * @arg: passed to @fn
 *
 * The state of another process's queue is reported only in mode SCHED, to a
 * caller with CAP_SYS_ADMIN or a grant that may read. In a PID namespace, mode
 * SCHED lists only queues that the caller may read.
 *
 * Context: Any thread; not signal-safe. Reads sysfs; in mode SCHED asks the driver.
 * Return: 0, or the value with which @fn ended the listing, or
 * * -EINVAL: NULL @fn or negative @pid
 * * -EPERM: the caller may not read @pid's queues, in a PID namespace
 * * -ENODEV: no such device (SCHED)
 * * -ENOMEM: out of memory
 * * -EACCES: sysfs is not readable
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API int hsaq_queues(struct hsaq *h, uint32_t gpu_id, int32_t pid, hsaq_queue_fn fn, void *arg);

/**
 * struct hsaq_device_state - State of a device in mode SCHED.
 * @size: the caller sets it to sizeof(struct hsaq_device_state)
 * @slots: hardware queue slots for compute
 * @slots_quarantined: number of @slots that are lost to queues without answer
 * @vmids: address spaces that can be bound at a time
 * @holders: holds in force
 * @hold_level: smallest level of the holds in force; ~0: none
 * @queues: compute queues of all processes
 * @loaded: number of @queues on a slot
 * @pad: 0
 * @quantum_ns: turn of a BE queue of default weight, ns
 * @idle_quantum_ns: turn of a BE queue that had nothing to run, ns
 * @lc_bound_ns: longest wait of an LC queue when LC queues outnumber slots, ns
 * @max_hold_ns: longest limit of a hold, ns
 * @seq: number of the newest event, for hsaq_wait()
 * @rotations: BE rotations since the driver was loaded
 * @holds: holds since the driver was loaded
 * @holds_expired: holds that ended at their limit
 * @quarantines: queues that did not answer a save
 * @recoveries: quarantined queues that answered late, or were reset
 * @resets: resets of the device
 */
struct hsaq_device_state {
	size_t size;
	uint32_t slots;
	uint32_t slots_quarantined;
	uint32_t vmids;
	uint32_t holders;
	uint32_t hold_level;
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

/**
 * hsaq_device_state() - Read the state of a device. SCHED only.
 * @h: the handle
 * @gpu_id: the device
 * @state: receives the state; the caller's, with its size set
 *
 * Context: Any thread; not signal-safe. One ioctl.
 * Return: 0, or
 * * -EINVAL: NULL @state, or its size too small
 * * -EOPNOTSUPP: not in this mode
 * * -ENODEV: no such device
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_device_state(struct hsaq *h, uint32_t gpu_id,
					       struct hsaq_device_state *state);

/* ---- own queues, in the modes NO_HWS and HWS --------------------------------------- */

/**
 * struct hsaq_ring - A queue of this process, as it was created. The KFD's
 *	UPDATE_QUEUE needs all of these properties again.
 * @size: sizeof(struct hsaq_ring)
 * @gpu_id: its device
 * @queue_id: as CREATE_QUEUE returned it
 * @ring_base: address of the ring in this process
 * @ring_bytes: size of the ring, bytes
 * @percentage: 0: stopped; else 1 to 100, as CREATE_QUEUE took it
 * @priority: 0 to 15, for the firmware scheduler
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
 * hsaq_can_unload_own() - Ask whether own queues can be unloaded in mid-wave.
 * @info: the device, from hsaq_devices()
 * @why: receives, if not, the reason in one line; may be NULL
 * @len: size of @why, bytes
 *
 * Without CWSR hsaq_unload() refuses own queues, too. It does not refuse them where
 * only the firmware may fail: that is for the caller to decide.
 *
 * Context: Any thread; not signal-safe. Does not block.
 * Return: 1: yes; 0: no.
 * Since: 0.1.0
 */
HSAQ_API int hsaq_can_unload_own(const struct hsaq_device_info *info, char *why, size_t len);

/**
 * hsaq_soak_read() - Read the mark of gpreempt doctor --soak.
 * @info: the device, from hsaq_devices()
 * @text: receives the mark's line of text; may be NULL
 * @len: size of @text, bytes
 *
 * A mark holds for one card and one kernel release. Root's, in
 * /var/lib/gpreempt/soak, holds for all users. A user's own, below
 * XDG_STATE_HOME or ~/.local/state, holds for that user.
 *
 * Context: Any thread; not signal-safe. Reads a file.
 * Return: 0; -ENOENT: no mark; or another errno of open(2)
 * Since: 0.1.0
 */
HSAQ_API int hsaq_soak_read(const struct hsaq_device_info *info, char *text, size_t len);

/**
 * hsaq_soak_record() - Write that mark. hsaq_can_unload_own() then allows MES.
 * @info: the device, from hsaq_devices()
 * @text: one line on the soak
 *
 * Context: Any thread; not signal-safe. Writes a file.
 * Return: 0, or
 * * -ENOENT: neither XDG_STATE_HOME nor HOME is set
 * * -EACCES, -ENOSPC: or another errno of open(2)
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_soak_record(const struct hsaq_device_info *info,
					      const char *text);

/**
 * hsaq_queue_adopt() - Register a queue that this process created or changed.
 * @h: the handle
 * @ring: the queue; copied. A known @ring->queue_id replaces its properties
 *
 * In mode HWS the queue gets the class of the process. If the driver refuses
 * the class, the call returns its errno and the queue is registered all the same.
 *
 * Context: Any thread; not signal-safe. At most one ioctl.
 * Return: 0, or
 * * -EINVAL: NULL @ring, or a field out of range
 * * -ENOMEM: out of memory, nothing is registered
 * * -ENOENT: the driver does not know the queue
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_queue_adopt(struct hsaq *h, const struct hsaq_ring *ring);

/**
 * hsaq_queue_forget() - Remove a queue that this process destroyed.
 * @h: the handle
 * @queue_id: the queue; unknown ones are ignored
 *
 * Context: Any thread; not signal-safe. Does not block.
 * Since: 0.1.0
 */
HSAQ_API void hsaq_queue_forget(struct hsaq *h, uint32_t queue_id);

/* ---- unloading, classes, holds ------------------------------------------------------ */

#define HSAQ_ALL_QUEUES (~0u)

/**
 * hsaq_unload() - Unload queues, in the middle of their work, and keep them so.
 * @h: the handle
 * @gpu_id: the device
 * @pid: the process; 0: this process
 * @queue_id: the queue; HSAQ_ALL_QUEUES: all queues of @pid on @gpu_id
 * @limit_ns: SCHED: loaded again after this time, up to
 *	hsaq_device_state.max_hold_ns; 0: max_hold_ns. Other modes: ignored
 *
 * The queues stay unloaded until hsaq_load(), hsaq_close(), the limit, or the
 * end of this process. No work is lost. Unloading again renews the limit.
 * After a failure all queues are as before.
 *
 * Context: Any thread; not signal-safe. Blocks until the queues are saved. In
 *	other modes than SCHED one queue after the other.
 * Return: 0, or
 * * -ENOENT: no such queue
 * * -ERANGE: @limit_ns too large
 * * -EOPNOTSUPP: not in this mode, or this kernel cannot unload another
 *	process's queues
 * * -ETIME: a queue did not answer
 * * -EPERM: takes CAP_SYS_ADMIN or a grant
 * * -ESRCH: no such process, or it has not opened /dev/kfd
 * * -EINVAL: negative @pid
 * * -ENODEV: no such device
 * * -ENOMEM: out of memory
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_unload(struct hsaq *h, uint32_t gpu_id, int32_t pid,
					 uint32_t queue_id, uint64_t limit_ns);

/**
 * hsaq_load() - Load the queues that this handle unloaded.
 * @h: the handle
 * @gpu_id: the device, as given to hsaq_unload()
 * @pid: the process, as given to hsaq_unload()
 * @queue_id: the queue, as given to hsaq_unload()
 *
 * Loading queues that this handle did not unload succeeds. A queue that fails
 * does not stop the others.
 *
 * Context: Any thread; not signal-safe. One ioctl for each queue; SCHED: one.
 * Return: 0, or
 * * -ENOENT: no such own queue is registered (NO_HWS, HWS)
 * * -EOPNOTSUPP: another process's queue in these modes
 * * -EINVAL: negative @pid
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_load(struct hsaq *h, uint32_t gpu_id, int32_t pid,
				       uint32_t queue_id);

/**
 * struct hsaq_class_opts - A class, for hsaq_set_class().
 * @size: sizeof(struct hsaq_class_opts)
 * @gpu_id: the device
 * @pid: the process, SCHED only; 0: this process
 * @queue_id: the queue; HSAQ_ALL_QUEUES: all queues, and those created later
 * @cls: enum hsaq_class
 * @level: LC: 0 to HSAQ_LEVEL_MAX; BE: 0
 * @weight: BE: 1 to HSAQ_WEIGHT_MAX, or 0: HSAQ_WEIGHT_DEFAULT; LC: 0
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
 * hsaq_set_class() - Set the class of queues.
 * @h: the handle
 * @opts: the class, borrowed for the call
 *
 * The driver schedules by class. Only mode SCHED has classes.
 *
 * Context: Any thread; not signal-safe. One ioctl.
 * Return: 0, or
 * * -EINVAL: NULL @opts, or a field out of range
 * * -E2BIG: a non-zero option that this library does not know
 * * -ENOENT: no such queue
 * * -EPERM: raising takes CAP_SYS_ADMIN or a grant
 * * -ESRCH: no such process, or it has not opened /dev/kfd
 * * -ENODEV: no such device
 * * -EOPNOTSUPP: not in this mode
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_set_class(struct hsaq *h, const struct hsaq_class_opts *opts);

/**
 * hsaq_reset_class() - Undo hsaq_set_class() for this process.
 * @h: the handle
 * @gpu_id: the device
 *
 * All queues become BE of default weight, which takes a right where the weight
 * was smaller.
 *
 * Context: Any thread; not signal-safe. One ioctl.
 * Return: 0, or
 * * -EPERM: takes CAP_SYS_ADMIN or a grant
 * * -ESRCH: this process has not opened /dev/kfd
 * * -ENODEV: no such device
 * * -EOPNOTSUPP: not in this mode
 * * -EINVAL: NULL @h
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_reset_class(struct hsaq *h, uint32_t gpu_id);

#define HSAQ_HOLD_NOWAIT (1u << 0) /* request the saves, do not wait for them */

/**
 * struct hsaq_hold_result - Result of hsaq_hold().
 * @size: the caller sets it to sizeof(struct hsaq_hold_result)
 * @hold_id: names the hold for hsaq_release()
 * @unloaded: queues that are unloaded
 * @failed: queues that did not answer and are quarantined
 * @pending: with HSAQ_HOLD_NOWAIT, queues whose save is still under way
 * @wait_ns: time from the first request to the last answer, ns
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
 * hsaq_hold() - Unload less urgent queues of all processes and keep them so.
 * @h: the handle
 * @gpu_id: the device
 * @level: unload BE queues, and LC queues of larger levels than this; 0 to
 *	HSAQ_LEVEL_MAX, which unloads only BE
 * @limit_ns: the hold ends after this time; 1 to hsaq_device_state.max_hold_ns
 * @flags: 0, or HSAQ_HOLD_NOWAIT
 * @result: receives the result; the caller's, with its size set; may be NULL
 *
 * Holds nest. A hold ends by hsaq_release(), its limit, hsaq_close(), or the end
 * of this process. Queues that did not answer are no error: see @result->failed.
 * After a failure nothing is held.
 *
 * Context: Any thread; not signal-safe. Blocks until the queues are saved. With
 *	HSAQ_HOLD_NOWAIT returns once the saves are requested.
 * Return: 0, or
 * * -ERANGE: @limit_ns is 0 or too large
 * * -EINVAL: level or flags out of range, or @result->size too small
 * * -EPERM: takes CAP_SYS_ADMIN or a grant
 * * -ENODEV: no such device
 * * -EOPNOTSUPP: not in this mode
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_hold(struct hsaq *h, uint32_t gpu_id, uint32_t level,
				       uint64_t limit_ns, uint32_t flags,
				       struct hsaq_hold_result *result);

/**
 * enum hsaq_ended - Cause of a hold's end.
 * @HSAQ_ENDED_RELEASED: this release
 * @HSAQ_ENDED_LIMIT: its limit, earlier
 * @HSAQ_ENDED_RESET: a reset of the device
 */
enum hsaq_ended {
	HSAQ_ENDED_RELEASED = 0,
	HSAQ_ENDED_LIMIT = 1,
	HSAQ_ENDED_RESET = 2,
};

/**
 * struct hsaq_release_result - Result of hsaq_release().
 * @size: the caller sets it to sizeof(struct hsaq_release_result)
 * @ended: enum hsaq_ended
 * @loaded: queues that the release loaded
 * @holders: holds that are still in force
 * @pad: 0
 * @held_ns: duration of the hold, ns
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
 * hsaq_release() - End a hold.
 * @h: the handle
 * @gpu_id: the device of the hold
 * @hold_id: the hold, from hsaq_hold_result
 * @result: receives the result; the caller's, with its size set; may be NULL
 *
 * Context: Any thread; signal-safe. One ioctl.
 * Return: 0, or
 * * -ENOENT: this process has no such hold
 * * -EINVAL: @result->size too small
 * * -ENODEV: no such device
 * * -EOPNOTSUPP: not in this mode
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_release(struct hsaq *h, uint32_t gpu_id, uint32_t hold_id,
					  struct hsaq_release_result *result);

/**
 * enum hsaq_event_kind - Kind of an event.
 * @HSAQ_EVENT_HELD: the last queue of a hold is unloaded
 * @HSAQ_EVENT_RELEASED: a hold ended; value: enum hsaq_ended
 * @HSAQ_EVENT_QUARANTINED: a queue did not answer
 * @HSAQ_EVENT_RECOVERED: a quarantined queue answered late, or was reset
 * @HSAQ_EVENT_RESET: the device was reset
 * @HSAQ_EVENT_LOST: events came too fast; value: the number of lost ones
 */
enum hsaq_event_kind {
	HSAQ_EVENT_HELD = 1,
	HSAQ_EVENT_RELEASED = 2,
	HSAQ_EVENT_QUARANTINED = 3,
	HSAQ_EVENT_RECOVERED = 4,
	HSAQ_EVENT_RESET = 5,
	HSAQ_EVENT_LOST = 6,
};

/**
 * struct hsaq_event - An event, from hsaq_wait().
 * @size: the caller sets it to sizeof(struct hsaq_event)
 * @seq: number of this event: @after of the next hsaq_wait()
 * @kind: enum hsaq_event_kind
 * @pid: process of the queue; 0: none, or hidden from this caller
 * @queue_id: the queue; 0: none, or hidden from this caller
 * @hold_id: the hold, if it is the caller's own
 * @value: see enum hsaq_event_kind
 * @time_ns: time of the event, ns of CLOCK_MONOTONIC
 * @took_ns: duration of the operation that ended, ns
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
 * hsaq_wait() - Wait for an event. SCHED only.
 * @h: the handle
 * @gpu_id: the device
 * @after: number of the last known event; 0: any that the driver still keeps
 * @timeout_ms: longest wait, ms; 0: do not wait
 * @event: receives the event; the caller's, with its size set
 *
 * Without a grant that may read, the call reports only the caller's own events.
 *
 * Context: Any thread; not signal-safe. Blocks up to @timeout_ms.
 * Return: 0, or
 * * -ETIME: no event came
 * * -EINTR: a signal came
 * * -EINVAL: NULL @event, or its size too small
 * * -ENODEV: no such device
 * * -EOPNOTSUPP: not in this mode
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
HSAQ_API HSAQ_MUST_CHECK int hsaq_wait(struct hsaq *h, uint32_t gpu_id, uint64_t after,
				       uint32_t timeout_ms, struct hsaq_event *event);

/**
 * hsaq_version() - Get the version of the library.
 *
 * Context: Any thread; signal-safe. Does not block.
 * Return: "0.1.0"; static, never NULL.
 * Since: 0.1.0
 */
HSAQ_API const char *hsaq_version(void);

#ifdef __cplusplus
}
#endif
#endif
