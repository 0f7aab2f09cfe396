/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hal.h - the operations of a gpreempt backend, and the rules for their callers.
 *
 * Rules for every op, unless its comment differs:
 *  - it returns 0 or a negative errno; on failure out-parameters are unchanged;
 *  - any thread may call it; it may sleep and takes no lock of the caller;
 *  - calls for different devices never wait for each other;
 *  - an op that a backend lacks returns -EOPNOTSUPP (hal/hal.c fills in dummies),
 *    and its capability bit is clear.
 *
 * Common errnos:
 *  -ENODEV: the device is gone
 *  -ESRCH: the group's process is gone
 *  -EPERM: the kernel or the driver refused
 *  -EIO: the driver failed
 *  -ENOMEM: out of memory
 *
 * tests/conformance/ checks every backend against this text.
 */
#ifndef GPREEMPT_HAL_H
#define GPREEMPT_HAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpreempt/class.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a structure or an op in this file changes. */
#define GP_HAL_ABI 7u

#define GP_HAL_MAX_DEVICES 16
#define GP_DEVICE_NAME_LEN 64

/**
 * enum gp_hal_cap - Capabilities of a device. The core tests these bits, never
 *	the vendor.
 * @GP_CAP_SLICES: set_slice works
 * @GP_CAP_SLICE_PREEMPTS: slices alone let LC preempt BE
 * @GP_CAP_SUSPEND: suspend and resume work
 * @GP_CAP_HOLD: hold and release work
 * @GP_CAP_PREEMPT_MODE: set_preempt_mode works
 * @GP_CAP_SWITCH_LOG: log_* work: exact usage
 * @GP_CAP_ATTACH: groups() of other processes works
 * @GP_CAP_VIRTUAL_TIME: the clock is modelled
 * @GP_CAP_CLASS: set_class works: the driver schedules by class
 * @GP_CAP_HOLD_OUTSIDE: a hold belongs to the process (process_context) and is no
 *	work of a context, so no wait for the device waits for it
 * @GP_CAP_SUSPEND_OWN: suspend and resume work for this process's groups
 * @GP_CAP_BUSY: busy works for tracked groups
 * @GP_CAP_PREEMPT: preempt works
 */
enum gp_hal_cap {
	GP_CAP_SLICES = 1u << 0,
	GP_CAP_SLICE_PREEMPTS = 1u << 1,
	GP_CAP_SUSPEND = 1u << 2,
	GP_CAP_HOLD = 1u << 3,
	GP_CAP_PREEMPT_MODE = 1u << 4,
	GP_CAP_SWITCH_LOG = 1u << 5,
	GP_CAP_ATTACH = 1u << 6,
	GP_CAP_VIRTUAL_TIME = 1u << 7,
	GP_CAP_CLASS = 1u << 8,
	GP_CAP_HOLD_OUTSIDE = 1u << 9,
	GP_CAP_SUSPEND_OWN = 1u << 10,
	GP_CAP_BUSY = 1u << 11,
	GP_CAP_PREEMPT = 1u << 12,
};

/**
 * struct gp_device_id - Identity of a device. probe() fills it in; two devices are
 *	the same if their uuid is.
 * @name: "NVIDIA H200", "soft0"; NUL-terminated
 * @uuid: unique id
 * @pci_domain, @pci_bus, @pci_dev, @pci_fn: PCI address
 * @pad: 0
 * @minor: N of /dev/nvidiaN or /dev/dri/renderDN, or the software GPU's number
 */
struct gp_device_id {
	char name[GP_DEVICE_NAME_LEN];
	uint8_t uuid[16];
	uint32_t pci_domain;
	uint8_t pci_bus, pci_dev, pci_fn;
	uint8_t pad;
	uint32_t minor;
};

/**
 * struct gp_device_list - Result of probe().
 * @count: valid entries of @dev
 * @dev: the devices
 */
struct gp_device_list {
	size_t count;
	struct gp_device_id dev[GP_HAL_MAX_DEVICES];
};

/**
 * struct gp_hal_caps - Capabilities and typical costs. A cost of 0 is unknown.
 * @caps: enum gp_hal_cap
 * @slots: hardware queue slots; 0: no limit
 * @min_slice_us: shortest slice that set_slice accepts, us
 * @max_slice_us: longest slice that set_slice accepts, us
 * @default_slice_us: the driver's slice of a compute group, us
 * @default_copy_slice_us: the driver's slice of a copy group, us
 * @switch_ns: one switch between two groups, ns
 * @set_slice_ns: one set_slice call, ns
 * @suspend_ns: one suspend call, ns
 * @resume_ns: one resume call, ns
 * @max_hold_ns: longest limit that hold accepts, ns
 */
struct gp_hal_caps {
	uint32_t caps;
	uint32_t slots;
	uint64_t min_slice_us;
	uint64_t max_slice_us;
	uint64_t default_slice_us;
	uint64_t default_copy_slice_us;
	uint64_t switch_ns;
	uint64_t set_slice_ns;
	uint64_t suspend_ns;
	uint64_t resume_ns;
	uint64_t max_hold_ns;
};

/**
 * enum gp_group_kind - Engine of a group.
 * @GP_GROUP_UNKNOWN: another engine, or not known
 * @GP_GROUP_COMPUTE: compute
 * @GP_GROUP_COPY: copies
 */
enum gp_group_kind {
	GP_GROUP_UNKNOWN,
	GP_GROUP_COMPUTE,
	GP_GROUP_COPY,
};

/**
 * enum gp_preempt_mode - The point at which a switch may stop a group.
 * @GP_PREEMPT_WAIT_IDLE: after the running kernel
 * @GP_PREEMPT_BLOCK: at block boundaries (NVIDIA: CTA)
 * @GP_PREEMPT_INSTRUCTION: at any instruction (NVIDIA: CILP; AMD: CWSR)
 */
enum gp_preempt_mode {
	GP_PREEMPT_WAIT_IDLE,
	GP_PREEMPT_BLOCK,
	GP_PREEMPT_INSTRUCTION,
};

/**
 * struct gp_device - An open device. A backend embeds it as first member.
 * @ops: its backend
 * @id: its identity
 *
 * Its opener owns it. Put all its groups and destroy its holds, logs and timers
 * before close().
 */
struct gp_device {
	const struct gp_hal_ops *ops;
	struct gp_device_id id;
};

/**
 * struct gp_group - The unit that the hardware schedules. A backend embeds it.
 * @dev: its device, borrowed
 * @pid: its process, in the caller's pid namespace
 * @kind: its engine
 * @id: stable for the life of the group, unique on its device
 * @channels: number of its channels or queues
 */
struct gp_group {
	struct gp_device *dev;
	pid_t pid;
	enum gp_group_kind kind;
	uint32_t id;
	uint32_t channels;
};

/**
 * struct gp_group_list - Groups, owned by the caller until gp_group_list_put().
 * @count: number of groups
 * @group: the groups
 */
struct gp_group_list {
	size_t count;
	struct gp_group **group;
};

/**
 * struct gp_hold - A hold of one context, made once and used again. A backend
 *	embeds it.
 * @dev: its device, borrowed
 */
struct gp_hold {
	struct gp_device *dev;
};

/**
 * struct gp_hold_stat - Figures of the last hold that was released.
 * @seq: number of holds so far with this gp_hold
 * @switch_ns: time from hold() until the device ran for the holder, ns; 0: not
 *	known: the hold is still in force, or ended at its limit
 * @held_ns: time that the device was kept, ns of the device clock
 * @expired: number of holds that ended at their limit
 * @from_ns: time of hold(), ns of gp_hal_ops.now; 0: not known
 * @until_ns: time of release(), ns of gp_hal_ops.now; 0: not known, or in force
 * @missed_ns: duration of a hold that was released before the device ran for the
 *	holder, ns; 0: the device ran for it, or not known
 */
struct gp_hold_stat {
	uint64_t seq;
	uint64_t switch_ns;
	uint64_t held_ns;
	uint64_t expired;
	uint64_t from_ns, until_ns;
	uint64_t missed_ns;
};

/**
 * enum gp_switch_kind - Kind of a record in the context-switch log.
 * @GP_SWITCH_START: a context starts to run on the device
 * @GP_SWITCH_END: it stops running
 * @GP_SWITCH_LOST: records were lost here
 */
enum gp_switch_kind {
	GP_SWITCH_START = 1,
	GP_SWITCH_END = 2,
	GP_SWITCH_LOST = 3,
};

/**
 * struct gp_switch_record - One record of the device's context-switch log.
 * @time_ns: device clock, ns; gp_hal_ops.now describes its base
 * @kind: enum gp_switch_kind
 * @pid: its process; 0: hidden from this reader
 * @context: its context; 0: hidden from this reader
 * @count: LOST: number of lost records; else 1
 */
struct gp_switch_record {
	uint64_t time_ns;
	uint32_t kind;
	int32_t pid;
	uint32_t context;
	uint32_t count;
};

struct gp_log;

/**
 * struct gp_timer - A timer in the clock of gp_hal_ops.now.
 * @dev: its device, borrowed
 * @fd: readable (POLLIN) when the timer is due; borrowed
 */
struct gp_timer {
	struct gp_device *dev;
	int fd;
};

/**
 * struct gp_slot_place - Place of the lock for a device's one short BE slice.
 * @fd: open file to lock, owned by the caller
 * @offset: the byte to lock, with an open file description lock
 */
struct gp_slot_place {
	int fd;
	uint64_t offset;
};

/**
 * struct gp_hal_ops - A backend. A dummy stands for a missing op.
 * @name: "nvidia", "amd", "softgpu"
 * @abi: GP_HAL_ABI
 */
struct gp_hal_ops {
	const char *name;
	uint32_t abi;

	/**
	 * @busy: Report whether a group has work queued or running.
	 * @group: group of this process, from a tracker
	 * Context: Any thread; not signal-safe. Never blocks.
	 * Return: 1: yes; 0: no; or
	 * * -ENODATA: not known
	 * * -EOPNOTSUPP: no GP_CAP_BUSY
	 * Since: 0.1.0
	 */
	int (*busy)(struct gp_group *group);

	/**
	 * @caps: Report capabilities and typical costs.
	 * @dev: the device
	 * @caps: receives them
	 * Context: Any thread; not signal-safe. Never blocks.
	 * Return: 0.
	 * Since: 0.1.0
	 */
	int (*caps)(struct gp_device *dev, struct gp_hal_caps *caps);

	/**
	 * @close: Close a device and free it.
	 * @dev: the device; NULL is legal
	 * Context: Any thread, while no other call uses @dev; may sleep.
	 * Since: 0.1.0
	 */
	void (*close)(struct gp_device *dev);

	/**
	 * @control_files: Get the files by which another process can control this
	 *	process's groups, for its groups_from().
	 * @dev: the device
	 * @fd: receives duplicates, close-on-exec, which the caller closes
	 * @key: receives for each file a number that leads to its groups; 0: search
	 * @max: room in @fd and in @key
	 * Context: Any thread; not signal-safe. Does not wait for the device.
	 * Return: the number of files, or
	 * * -ENOENT: no tracker saw any
	 * * -EOPNOTSUPP: the backend has none
	 * Since: 0.1.0
	 */
	ssize_t (*control_files)(struct gp_device *dev, int *fd, uint32_t *key, size_t max);

	/**
	 * @explain: Explain in one line why open(), probe() or hold_create() failed,
	 *	and the remedy.
	 * @err: the negative errno; -ENODEV also for an empty list
	 * @why: receives the line; unchanged where the backend knows no more
	 * @why_len: size of @why, bytes
	 * Context: Any thread; may sleep.
	 * Since: 0.1.0
	 */
	void (*explain)(int err, char *why, size_t why_len);

	/**
	 * @get_slice: Read the slice in force.
	 * @group: the group
	 * @us: receives the slice, us
	 * Context: Any thread; may sleep: one driver call.
	 * Return: 0, or
	 * * -EOPNOTSUPP: no GP_CAP_SLICES
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*get_slice)(struct gp_group *group, uint64_t *us);

	/**
	 * @group_put: Free a group. Its hardware state stays as it is.
	 * @group: the group; NULL is legal
	 * Context: Any thread, while no other call uses @group.
	 * Since: 0.1.0
	 */
	void (*group_put)(struct gp_group *group);

	/**
	 * @groups: Find the groups of a process.
	 * @dev: the device
	 * @pid: the process; 0: this one
	 * @list: receives the groups, the caller's; may be empty
	 * Context: Any thread; may sleep. NVIDIA: up to 250 ms for an old process.
	 * Return: 0, or
	 * * -ESRCH: no such process
	 * * -EPERM: NVIDIA: needs the rights that ptrace needs
	 * * -EOPNOTSUPP: no GP_CAP_ATTACH
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*groups)(struct gp_device *dev, pid_t pid, struct gp_group_list *list);

	/**
	 * @groups_from: Find the groups of a process that handed over its files.
	 * @dev: the device
	 * @pid: the process
	 * @fd: its control_files(); borrowed
	 * @key: their keys, a wrong one costs time; NULL: from take_files(): searches no
	 *	longer than groups()
	 * @n: number of files
	 * @list: receives the groups, the caller's; may be empty
	 * A file that is no control file, or belongs to another process's client,
	 * has no groups.
	 * Context: Any thread; may sleep: as groups().
	 * Return: 0, or
	 * * -ESRCH: no such process
	 * * -EOPNOTSUPP: the backend has no control files
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*groups_from)(struct gp_device *dev, pid_t pid, const int *fd, const uint32_t *key,
			   size_t n, struct gp_group_list *list);

	/**
	 * @has_compute_client: Report whether the driver counts a process as computing.
	 * @dev: the device
	 * @pid: the process
	 * A computing process has groups. Far cheaper than groups().
	 * Context: Any thread; may sleep.
	 * Return: 1: yes; 0: not, or not yet; or
	 * * -EAGAIN, -E2BIG, -EOPNOTSUPP: not known
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*has_compute_client)(struct gp_device *dev, pid_t pid);

	/**
	 * @has_driver_open: Report whether a process has the driver's files open.
	 * @dev: the device
	 * @pid: the process
	 * Such a process has groups on @dev or may create some. Far cheaper than
	 * groups().
	 * Context: Any thread; does not wait for the device.
	 * Return: 1: yes; 0: no; or
	 * * -ESRCH: no such process
	 * * -EPERM: this process may not look
	 * * -EOPNOTSUPP: the backend cannot know
	 * Since: 0.1.0
	 */
	int (*has_driver_open)(struct gp_device *dev, pid_t pid);

	/**
	 * @hold: Keep the device for a context, even with nothing queued.
	 * @hold: the hold
	 * @limit_ns: the hold ends after this device time, ns; 1 to max_hold_ns
	 * After a failure nothing is held.
	 * Context: Any thread; not signal-safe. With GP_CAP_HOLD_OUTSIDE blocks until
	 *	other groups are saved (AMD: up to milliseconds). Else returns after the
	 *	launch (NVIDIA: 5 us), and the switch follows.
	 * Return: 0, or
	 * * -EBUSY: @hold is in force already
	 * * -ERANGE: @limit_ns out of range
	 * * -ENXIO: the context is gone
	 * * -EPERM: AMD: takes a grant
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*hold)(struct gp_hold *hold, uint64_t limit_ns);

	/**
	 * @hold_create: Prepare holds for a context.
	 * @dev: the device
	 * @context: NVIDIA: a CUcontext, NULL: the current one of the calling thread;
	 *	AMD: from process_context()
	 * @hold: receives the hold, the caller's until hold_destroy()
	 * Context: Any thread; may sleep. NVIDIA: compiles and launches a kernel, which
	 *	waits for earlier work of the context.
	 * Return: 0, or
	 * * -ENXIO: no such context, or none current
	 * * -ENODEV: the context is on another device
	 * * -EOPNOTSUPP: this process cannot hold; explain() gives the reason
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*hold_create)(struct gp_device *dev, void *context, struct gp_hold **hold);

	/**
	 * @hold_destroy: Release a hold and free it.
	 * @hold: the hold; NULL is legal
	 * Context: Any thread, while no other call uses @hold; may sleep.
	 * Since: 0.1.0
	 */
	void (*hold_destroy)(struct gp_hold *hold);

	/**
	 * @hold_queued: Mark the end of the work that a stream has queued.
	 * @hold: hold of the stream's context; need not be in force
	 * @stream: NVIDIA: a CUstream, NULL: the default one; borrowed
	 * Until that work is done, the device's front end stays with the group. Work
	 * that other processes of the group queue meanwhile then starts beside it.
	 * Context: Any thread; not signal-safe. Does not wait for the work.
	 * Return: 0, or
	 * * -EOPNOTSUPP: the backend has nothing to do
	 * * -ENXIO: the driver refuses the context or @stream
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*hold_queued)(struct gp_hold *hold, void *stream);

	/**
	 * @hold_stat: Read the figures of the last released hold.
	 * @hold: the hold
	 * @stat: receives them
	 * Context: Any thread; not signal-safe. Never waits for the device.
	 * Return: 0, or
	 * * -EOPNOTSUPP: no GP_CAP_HOLD
	 * Since: 0.1.0
	 */
	int (*hold_stat)(struct gp_hold *hold, struct gp_hold_stat *stat);

	/**
	 * @is_control_file: Report whether a file from any process is a control file.
	 * @fd: the file; may be any
	 * A control file can be closed without a wait for its opener.
	 * Context: Any thread; needs no device and asks no file system.
	 * Return: 1: it is; 0: it is not; or
	 * * -EOPNOTSUPP: the backend has none
	 * Since: 0.1.0
	 */
	int (*is_control_file)(int fd);

	/**
	 * @log_close: Stop a log and free it.
	 * @log: the log; NULL is legal
	 * Context: Any thread, while no other call uses @log; may sleep.
	 * Since: 0.1.0
	 */
	void (*log_close)(struct gp_log *log);

	/**
	 * @log_now: Read the clock of the log's records.
	 * @log: the log
	 * @ns: receives the time, ns, to within 10 us
	 * Context: Any thread; may sleep.
	 * Return: 0, or
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*log_now)(struct gp_log *log, uint64_t *ns);

	/**
	 * @log_open: Start to read the device's context-switch log, all processes.
	 * @dev: the device
	 * @log: receives the log, the caller's until log_close()
	 * Context: Any thread; may sleep.
	 * Return: 0, or
	 * * -EOPNOTSUPP: no GP_CAP_SWITCH_LOG
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*log_open)(struct gp_device *dev, struct gp_log **log);

	/**
	 * @log_read: Copy records that have arrived, oldest first.
	 * @log: the log
	 * @rec: receives the records
	 * @n: room in @rec, records
	 * Context: Any thread; not signal-safe. Never waits for records.
	 * Return: the number of records, 0 to @n, or
	 * * a common errno
	 * Since: 0.1.0
	 */
	ssize_t (*log_read)(struct gp_log *log, struct gp_switch_record *rec, size_t n);

	/**
	 * @memory: Report the device's memory.
	 * @dev: the device
	 * @total: receives the bytes that programs can have
	 * @room: receives those that are free now
	 * Context: Any thread; not signal-safe. Does not wait for the device.
	 * Return: 0, or
	 * * -EOPNOTSUPP: not known
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*memory)(struct gp_device *dev, uint64_t *total, uint64_t *room);

	/**
	 * @now: Read the clock of hints, timers and holds.
	 * @dev: the device
	 * @ns: receives the time, ns of CLOCK_MONOTONIC, or the software GPU's
	 *	virtual time
	 * Switch records have the device's clock. NVIDIA: within 1.1 ms of
	 * CLOCK_REALTIME on an H200. Software GPU: this clock.
	 * Context: Any thread; does not wait for the device.
	 * Return: 0.
	 * Since: 0.1.0
	 */
	int (*now)(struct gp_device *dev, uint64_t *ns);

	/**
	 * @open: Open a device.
	 * @id: the device, by its uuid
	 * @dev: receives the device, the caller's until close()
	 * Context: Any thread; may sleep.
	 * Return: 0, or
	 * * -ENODEV: no such device
	 * * -EACCES: this user may not open the driver's files
	 * * -EOPNOTSUPP: the driver is too old
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*open)(const struct gp_device_id *id, struct gp_device **dev);

	/**
	 * @preempt: Preempt a group so that other groups with work run first.
	 * @group: the group
	 * Does not suspend: the hardware runs @group again in its next turn.
	 * Context: Any thread; may sleep: one driver call, 0.26 ms on an H200.
	 * Return: 0, also if @group was not running, or
	 * * -EOPNOTSUPP: no GP_CAP_PREEMPT
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*preempt)(struct gp_group *group);

	/**
	 * @probe: List the devices of this backend.
	 * @list: receives them; may be empty
	 * Context: Any thread; may sleep.
	 * Return: 0, or
	 * * -EACCES: this user may not open the driver's files
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*probe)(struct gp_device_list *list);

	/**
	 * @process_context: Get the context that stands for this process (AMD).
	 * @dev: the device
	 * @context: receives it; borrowed, valid as long as @dev
	 * Context: Any thread; does not block.
	 * Return: 0, or
	 * * -EOPNOTSUPP: no GP_CAP_HOLD_OUTSIDE
	 * Since: 0.1.0
	 */
	int (*process_context)(struct gp_device *dev, void **context);

	/**
	 * @release: End a hold.
	 * @hold: the hold; success if it is not in force
	 * Context: Any thread. Signal-safe, but on the software GPU. NVIDIA: a store.
	 *	AMD: one ioctl, which loads the other queues again.
	 * Return: 0, or
	 * * -EOPNOTSUPP: no GP_CAP_HOLD
	 * * a common errno: still held
	 * Since: 0.1.0
	 */
	int (*release)(struct gp_hold *hold);

	/**
	 * @resume: Let suspended groups run again.
	 * @group: the groups, all of one device; those that run are left running
	 * @n: number of groups
	 * After a failure each group is resumed or as before.
	 * Context: Any thread; may sleep. NVIDIA: 0.3 ms for up to 64 channels.
	 * Return: 0, or
	 * * -EBUSY: no hardware queue slot is free (gp_hal_caps.slots); retry later
	 * * -EINVAL: groups of several devices
	 * * -EOPNOTSUPP: no GP_CAP_SUSPEND, or GP_CAP_SUSPEND_OWN and another's group
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*resume)(struct gp_group *const *group, size_t n);

	/**
	 * @set_class: Give a process a class: all groups, and those created later.
	 * @dev: the device
	 * @pid: the process; 0: this one
	 * @cls: the class
	 * After a failure the old class is in force.
	 * Context: Any thread; may sleep: one driver call.
	 * Return: 0, or
	 * * -EPERM: this process may not set it
	 * * -ESRCH: the process does not use the device
	 * * -EOPNOTSUPP: no GP_CAP_CLASS, or not for another process
	 * * -EINVAL: no such class
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*set_class)(struct gp_device *dev, pid_t pid, const struct gp_class_value *cls);

	/**
	 * @set_preempt_mode: Set the point at which a switch may stop a group.
	 * @group: the group
	 * @mode: the mode
	 * Context: Any thread; may sleep: one driver call.
	 * Return: 0, or
	 * * -EINVAL: no such mode
	 * * -EOPNOTSUPP: no GP_CAP_PREEMPT_MODE, or a copy group
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*set_preempt_mode)(struct gp_group *group, enum gp_preempt_mode mode);

	/**
	 * @set_slice: Set a group's slice.
	 * @group: the group
	 * @us: the slice, min_slice_us to max_slice_us, us
	 * After a failure the old slice is in force.
	 * Context: Any thread; may sleep: one driver call, 0.25 ms on an H200.
	 * Return: 0, or
	 * * -ERANGE: @us out of range
	 * * -EOPNOTSUPP: no GP_CAP_SLICES
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*set_slice)(struct gp_group *group, uint64_t us);

	/**
	 * @slot: Get the place of the lock for the short BE slice.
	 * @dev: the device
	 * @place: receives it, with a file that the caller closes
	 * Context: Any thread; does not wait for the lock.
	 * Return: 0, or
	 * * -EOPNOTSUPP: the device has no short slice
	 * * -EACCES, -EROFS: no file can be opened for the lock
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*slot)(struct gp_device *dev, struct gp_slot_place *place);

	/**
	 * @suspend: Stop groups in the middle of their work and keep them stopped.
	 * @group: the groups, all of one device; suspended ones stay suspended
	 * @n: number of groups
	 * AMD: a group runs again after max_hold_ns, counted from the last suspend.
	 * After a failure all groups that this call suspended run again.
	 * Context: Any thread; may sleep until they are saved. NVIDIA: 0.5 ms for up to
	 *	64 channels; 20 ms with page faults outstanding.
	 * Return: 0, or
	 * * -EINVAL: groups of several devices
	 * * -EOPNOTSUPP: no GP_CAP_SUSPEND, or GP_CAP_SUSPEND_OWN and another's group
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*suspend)(struct gp_group *const *group, size_t n);

	/**
	 * @take_files: Duplicate the control files of another process, for its groups_from().
	 * @pid: the process
	 * @pidfd: of the process; borrowed
	 * @fd: receives duplicates, close-on-exec, which the caller closes. A file may be
	 *	of any kind: is_control_file() identifies it
	 * @max: room in @fd
	 * Context: Any thread; needs no device. To close a file may wait without end.
	 * Return: the number of files, or
	 * * -ESRCH: no such process
	 * * -EPERM: needs the rights that ptrace needs
	 * * -EOPNOTSUPP: the backend has none
	 * * a common errno
	 * Since: 0.1.0
	 */
	ssize_t (*take_files)(pid_t pid, int pidfd, int *fd, size_t max);

	/**
	 * @timer_arm: Arm or disarm a timer.
	 * @timer: the timer
	 * @at_ns: absolute time, ns of now(); 0: disarm
	 * Context: Any thread; does not block.
	 * Return: 0, or
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*timer_arm)(struct gp_timer *timer, uint64_t at_ns);

	/**
	 * @timer_create: Create a timer in the clock of now().
	 * @dev: the device
	 * @timer: receives the timer, the caller's until timer_destroy()
	 * Context: Any thread; does not wait for the device.
	 * Return: 0, or
	 * * -EMFILE: too many open files
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*timer_create)(struct gp_device *dev, struct gp_timer **timer);

	/**
	 * @timer_destroy: Free a timer.
	 * @timer: the timer; NULL is legal
	 * Context: Any thread, while no other call uses @timer.
	 * Since: 0.1.0
	 */
	void (*timer_destroy)(struct gp_timer *timer);

	/**
	 * @timer_ack: Consume a due timer: its fd stops being readable.
	 * @timer: the timer
	 * A virtual clock stands still until the next timer_arm() or timer_done().
	 * Context: Any thread; does not block.
	 * Return: 0, or
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*timer_ack)(struct gp_timer *timer);

	/**
	 * @timer_done: Report that the work of a due timer is done.
	 * @timer: the timer
	 * Lets a virtual clock go on, see timer_ack().
	 * Context: Any thread; does not block.
	 * Return: 0, or
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*timer_done)(struct gp_timer *timer);

	/**
	 * @usage: Read the time that a group was on the device.
	 * @group: the group
	 * @busy_ns: receives the time, ns. With GP_CAP_SWITCH_LOG: on the device since
	 *	log_open(). Else: on a queue slot since the group was created
	 * Context: Any thread; may sleep.
	 * Return: 0, or
	 * * -ENODATA: no exact source
	 * * -EOPNOTSUPP: the backend has none
	 * * a common errno
	 * Since: 0.1.0
	 */
	int (*usage)(struct gp_group *group, uint64_t *busy_ns);
};

/* A backend registers itself with GP_HAL_BACKEND(ops) at file scope. */
#define GP_HAL_BACKEND(ops_)                                        \
	static const struct gp_hal_ops *const gp_hal_backend_##ops_ \
		__attribute__((used, section("gp_hal_backends"))) = &(ops_)

/**
 * gp_hal_find() - Find a backend.
 * @name: "nvidia", "amd" or "softgpu"; NULL finds none
 *
 * Context: Any thread; not signal-safe. Does not block.
 * Return: the backend, all its ops filled in; NULL: none has this name. Static.
 * Since: 0.1.0
 */
const struct gp_hal_ops *gp_hal_find(const char *name);

/**
 * gp_hal_set_ops() - Fill in dummies that return -EOPNOTSUPP for missing ops.
 * @full: receives the table
 * @ops: the backend's table; borrowed for the call
 *
 * Context: Any thread. Does not block.
 * Since: 0.1.0
 */
void gp_hal_set_ops(struct gp_hal_ops *full, const struct gp_hal_ops *ops);

/**
 * gp_device_open() - Find and open a device by a user's text.
 * @spec: "soft0", a UUID ("GPU-" and at least 8 digits, unambiguous), a PCI address
 *	("0000:3b:00.0", "3b:00.0"); NULL: the first device. A bare index is refused,
 *	since CUDA_VISIBLE_DEVICES makes it ambiguous
 * @dev: receives the device, the caller's until gp_device_close()
 * @why: receives one line on failure; may be NULL
 * @why_len: size of @why, bytes
 *
 * GPREEMPT_BACKEND selects the backend. Unset: NVIDIA where a GPU is, else AMD.
 *
 * Context: Any thread; not signal-safe. May sleep.
 * Return: 0, or
 * * -EINVAL: malformed text, several devices match, or no such backend
 * * -ENODEV: no such device
 * * -EACCES: this user may not open the driver's files
 * * -EOPNOTSUPP: the driver is too old
 * * a common errno
 * Since: 0.1.0
 */
int gp_device_open(const char *spec, struct gp_device **dev, char *why, size_t why_len);

/**
 * gp_device_close() - Close a device and free it.
 * @dev: the device; NULL is legal
 *
 * Context: Any thread, while no other call uses @dev; may sleep.
 * Since: 0.1.0
 */
void gp_device_close(struct gp_device *dev);

/**
 * gp_group_list_put() - Free all groups of a list.
 * @list: the list; empty afterwards. NULL is legal
 *
 * Context: Any thread, while no other call uses the groups.
 * Since: 0.1.0
 */
void gp_group_list_put(struct gp_group_list *list);

/**
 * gp_uuid_format() - Write a UUID as "GPU-...".
 * @uuid: the UUID
 * @buf: receives the text, cut to fit, with a NUL
 * @len: size of @buf, bytes; 41 hold all of it
 *
 * Context: Any thread. Does not block.
 * Since: 0.1.0
 */
void gp_uuid_format(const uint8_t uuid[16], char *buf, size_t len);

/**
 * gp_slot_try() - Take the right to a device's one short BE slice, if it is free.
 * @dev: the device
 * @slot_fd: receives an open file; closing it gives the right back
 *
 * Two groups at a short slice livelock the device. The right is an open file
 * description lock, which ends with its holder.
 *
 * Context: Any thread; not signal-safe. Does not wait for the lock.
 * Return: 0, or
 * * -EBUSY: another process has it
 * * an errno of gp_hal_ops.slot
 * Since: 0.1.0
 */
int gp_slot_try(struct gp_device *dev, int *slot_fd);

/**
 * gp_slot_wait() - Wait for the right to a device's one short BE slice.
 * @dev: the device
 * @slot_fd: receives an open file; closing it gives the right back
 *
 * Context: Any thread; not signal-safe. Blocks without limit.
 * Return: 0, or
 * * an errno of gp_hal_ops.slot
 * Since: 0.1.0
 */
int gp_slot_wait(struct gp_device *dev, int *slot_fd);

#ifdef __cplusplus
}
#endif
#endif
