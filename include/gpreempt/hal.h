/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hal.h - what a gpreempt backend implements, and what its callers may rely on.
 *
 * Conventions, for every op unless its comment says otherwise:
 *  - returns 0 or a negative errno; out-parameters are untouched on failure;
 *  - may sleep, holds no lock of the caller's, may be called from any thread;
 *  - calls on different devices never wait for each other;
 *  - an op that a backend does not have returns -EOPNOTSUPP (the dummies of
 *    hal/hal.c see to it), and its capability bit is clear;
 *  - -ENODEV: the device went away; -ESRCH: the group's process is gone;
 *    -EPERM: the kernel or the driver refused; -EIO: the driver failed.
 *
 * tests/conformance/ holds every backend to this text.
 */
#ifndef GPREEMPT_HAL_H
#define GPREEMPT_HAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bumped whenever a structure or an op in this file changes. */
#define GP_HAL_ABI 5u

#define GP_HAL_MAX_DEVICES 16
#define GP_DEVICE_NAME_LEN 64

/** What a backend can do. The core asks for these bits, never for a vendor. */
enum gp_hal_cap {
	GP_CAP_SLICES = 1u << 0,	 /* set_slice works */
	GP_CAP_SLICE_PREEMPTS = 1u << 1, /* slices alone let LC cut BE */
	GP_CAP_SUSPEND = 1u << 2,	 /* suspend and resume work */
	GP_CAP_HOLD = 1u << 3,		 /* hold and release work */
	GP_CAP_PREEMPT_MODE = 1u << 4,	 /* set_preempt_mode works */
	GP_CAP_SWITCH_LOG = 1u << 5,	 /* log_* works: exact usage */
	GP_CAP_ATTACH = 1u << 6,	 /* groups() of other processes works */
	GP_CAP_VIRTUAL_TIME = 1u << 7,	 /* the clock is modelled, not the wall's */
	GP_CAP_CLASS = 1u << 8,		 /* set_class works: the driver schedules */
	GP_CAP_HOLD_OUTSIDE = 1u << 9,	 /* a hold is no work of its context, but the
					 * process's (process_context): who waits
					 * for the device waits for none */
	GP_CAP_SUSPEND_OWN = 1u << 10,	 /* suspend, resume: this process's groups */
	GP_CAP_BUSY = 1u << 11,		 /* busy works, of groups that are tracked */
	GP_CAP_PREEMPT = 1u << 12,	 /* preempt works */
};

/** Identity of a device. Filled by probe; compared by uuid. */
struct gp_device_id {
	char name[GP_DEVICE_NAME_LEN]; /* "NVIDIA H200", "soft0"; NUL-terminated */
	uint8_t uuid[16];
	uint32_t pci_domain;
	uint8_t pci_bus, pci_dev, pci_fn;
	uint8_t pad;
	uint32_t minor; /* /dev/nvidiaN, /dev/dri/renderDN, or the
					 * software GPU's number */
};

/** Result of probe; @count entries are valid. */
struct gp_device_list {
	size_t count;
	struct gp_device_id dev[GP_HAL_MAX_DEVICES];
};

/** Costs are the backend's typical figures in ns, 0 where it knows none. */
struct gp_hal_caps {
	uint32_t caps;	       /* enum gp_hal_cap */
	uint32_t slots;	       /* hardware queue slots, 0: not limited */
	uint64_t min_slice_us; /* shortest slice set_slice takes */
	uint64_t max_slice_us;
	uint64_t default_slice_us; /* what the driver gives a compute group */
	uint64_t switch_ns;	   /* one switch between two groups */
	uint64_t set_slice_ns;
	uint64_t suspend_ns;
	uint64_t resume_ns;
	uint64_t max_hold_ns; /* longest limit hold() takes */
};

enum gp_group_kind {
	GP_GROUP_UNKNOWN,
	GP_GROUP_COMPUTE,
	GP_GROUP_COPY,
};

enum gp_preempt_mode {
	GP_PREEMPT_WAIT_IDLE,	/* switch only when the running kernel ended */
	GP_PREEMPT_BLOCK,	/* at block boundaries (NVIDIA: CTA) */
	GP_PREEMPT_INSTRUCTION, /* anywhere (NVIDIA: CILP; AMD: CWSR) */
};

/**
 * struct gp_device - an open device. A backend embeds it as first member.
 * Owned by who opened it; close() needs all its groups, holds, logs and timers
 * put back first.
 */
struct gp_device {
	const struct gp_hal_ops *ops;
	struct gp_device_id id;
};

/**
 * struct gp_group - what the hardware schedules as one. A backend embeds it.
 * @dev: its device, borrowed
 * @pid: the process that owns it, as this process sees it
 * @id: stable for the life of the group, unique on its device
 */
struct gp_group {
	struct gp_device *dev;
	pid_t pid;
	enum gp_group_kind kind;
	uint32_t id;
	uint32_t channels;
};

/** Owned by the caller: release with gp_group_list_put(). */
struct gp_group_list {
	size_t count;
	struct gp_group **group;
};

/** A hold is made once per context and reused; a backend embeds this. */
struct gp_hold {
	struct gp_device *dev;
};

/**
 * struct gp_hold_stat - what is known of the last hold that was released.
 * @seq: number of holds made so far with this gp_hold
 * @switch_ns: from hold() until the device ran for the holder; 0: not known
 *	(the last hold is still on, or ended by its limit)
 * @held_ns: how long the device was kept, in the device's own time
 * @expired: how many holds ended by their limit instead of by release()
 * @from_ns, @until_ns: when the last hold was asked for and when it was
 *	released, in the clock of gp_hal_ops.now(); 0: not known, or still on
 * @missed_ns: of a hold that was released before the device ran for the holder:
 *	after so long; else 0, and where that is not known
 */
struct gp_hold_stat {
	uint64_t seq;
	uint64_t switch_ns;
	uint64_t held_ns;
	uint64_t expired;
	uint64_t from_ns, until_ns;
	uint64_t missed_ns;
};

enum gp_switch_kind {
	GP_SWITCH_START = 1, /* a context's stretch on the device starts */
	GP_SWITCH_END = 2,
	GP_SWITCH_LOST = 3, /* @count records were lost here */
};

/** One record of the device's own context-switch log. */
struct gp_switch_record {
	uint64_t time_ns; /* device clock; see gp_hal_ops.now for its base */
	uint32_t kind;	  /* enum gp_switch_kind */
	int32_t pid;	  /* 0: the driver does not tell this reader */
	uint32_t context; /* 0: likewise */
	uint32_t count;
};

struct gp_log;
struct gp_timer {
	struct gp_device *dev;
	int fd; /* poll for POLLIN: the timer is due. Borrowed. */
};

/** A class, for drivers that know classes. Numbers as in gpreempt.h. */
struct gp_hal_class {
	uint32_t cls;	/* enum gp_class: 0 none, 1 lc, 2 be */
	uint32_t value; /* level (lc), weight (be), 0 (none) */
};

/** Where the lock of a device's one short best-effort slice lives. */
struct gp_slot_place {
	int fd;		 /* open file to lock, owned by the caller */
	uint64_t offset; /* the byte to lock (open file description lock) */
};

/**
 * struct gp_hal_ops - a backend. Fields sorted; a missing op is a dummy.
 */
struct gp_hal_ops {
	const char *name; /* "nvidia", "amd", "softgpu" */
	uint32_t abi;	  /* GP_HAL_ABI */

	/**
	 * Has @group, one of this process's own that a tracker gave, work
	 * queued or running? 1 or 0. -ENODATA: it cannot be told. Never
	 * blocks.
	 */
	int (*busy)(struct gp_group *group);

	/** Report capabilities and typical costs. Never blocks. */
	int (*caps)(struct gp_device *dev, struct gp_hal_caps *caps);

	/** Close @dev and free it. NULL is legal. */
	void (*close)(struct gp_device *dev);

	/**
	 * Has @pid work on @dev that the driver counts as computing, which takes
	 * groups? 1 or 0: it has none, or not yet. Cheaper than groups() by far.
	 * -EAGAIN, -EOPNOTSUPP, ..: it cannot be told.
	 */
	int (*computes)(struct gp_device *dev, pid_t pid);

	/**
	 * The files by which another process can drive this process's groups on
	 * @dev, for its groups_from(): duplicates, O_CLOEXEC, the caller's.
	 * @key, of each: what of the file leads to groups; 0: it is to be looked
	 * for. Returns how many (at most @max). -ENOENT: no tracker saw any.
	 */
	ssize_t (*control_files)(struct gp_device *dev, int *fd, uint32_t *key, size_t max);

	/**
	 * One line on why open(), probe() or hold_create() failed with @err, or
	 * found nothing (-ENODEV), and what would be right. What the backend has no
	 * word for is left as it is.
	 */
	void (*explain)(int err, char *why, size_t why_len);

	/** Read the slice that is in force, µs. -EPERM: as groups(). */
	int (*get_slice)(struct gp_group *group, uint64_t *us);

	/** Drop a group; its hardware state stays as it is. NULL is legal. */
	void (*group_put)(struct gp_group *group);

	/**
	 * Find the groups that @pid has on @dev (0: this process). An empty
	 * list is success. -ESRCH: no such process; -EPERM: may not look into
	 * it (NVIDIA: needs what ptrace needs).
	 */
	int (*groups)(struct gp_device *dev, pid_t pid, struct gp_group_list *list);

	/**
	 * As groups(), of @pid, which handed over its control_files(). @fd stay
	 * the caller's. What is not a control file, or of another process's
	 * client, has no groups. @key: theirs, or NULL; a wrong one costs time.
	 */
	int (*groups_from)(struct gp_device *dev, pid_t pid, const int *fd, const uint32_t *key,
			   size_t n, struct gp_group_list *list);

	/**
	 * Keep the device for the hold's context, even with nothing queued,
	 * until release() or @limit_ns of device time. With GP_CAP_HOLD_OUTSIDE
	 * returns once the others are off (AMD: the slowest save, up to
	 * milliseconds); else at once, and the switch happens behind it.
	 * -EBUSY: this gp_hold is on already. -ERANGE: @limit_ns is 0 or over
	 * max_hold_ns. -EPERM: AMD: takes a grant.
	 * Async: no syscall on NVIDIA's path besides what the driver makes.
	 * On failure nothing is held.
	 */
	int (*hold)(struct gp_hold *hold, uint64_t limit_ns);

	/**
	 * Prepare holds for @context (NVIDIA: a CUcontext, NULL: the calling
	 * thread's current one; AMD: what process_context() gives). -ENXIO: no
	 * such context, none is current; -ENODEV: it is of another device;
	 * -EOPNOTSUPP: none can be had in this process, explain() says why.
	 * Blocks: NVIDIA: compiles and launches once, behind what the context
	 * has queued. The caller owns the hold; before close().
	 */
	int (*hold_create)(struct gp_device *dev, void *context, struct gp_hold **hold);

	/** Release if on, then free. NULL is legal. */
	void (*hold_destroy)(struct gp_hold *hold);

	/**
	 * Mark the end of what @stream has queued (NVIDIA: a CUstream of the hold's
	 * context, NULL: its default one), so that until that is done the device's
	 * front end stays with the group, also without a hold: work that others of the
	 * group queue meanwhile (clients of one MPS server) begins beside it and need
	 * not wait for its end. Async. -EOPNOTSUPP: there is no such thing to do;
	 * else what the driver says of @stream or of the context.
	 */
	int (*hold_queued)(struct gp_hold *hold, void *stream);

	/** Figures of the last released hold. Never blocks. */
	int (*hold_stat)(struct gp_hold *hold, struct gp_hold_stat *stat);

	/** Stop and free a log. NULL is legal. */
	void (*log_close)(struct gp_log *log);

	/** The clock of the log's records, now, to within some 10 µs. */
	int (*log_now)(struct gp_log *log, uint64_t *ns);

	/** Start reading the device's context-switch log, all processes. */
	int (*log_open)(struct gp_device *dev, struct gp_log **log);

	/**
	 * Copy up to @n records that have arrived, oldest first. Returns how
	 * many (0: none now). Never blocks.
	 */
	ssize_t (*log_read)(struct gp_log *log, struct gp_switch_record *rec, size_t n);

	/**
	 * The clock that hints, timers and holds use, ns: CLOCK_MONOTONIC, or
	 * the software GPU's virtual time. Switch records are in the device's
	 * clock: NVIDIA's is near CLOCK_REALTIME (1.1 ms off at most so far), the
	 * software GPU's is this one.
	 */
	int (*now)(struct gp_device *dev, uint64_t *ns);

	/** Open one device. -ENODEV: no such device. */
	int (*open)(const struct gp_device_id *id, struct gp_device **dev);

	/**
	 * End the turn that @group has on the device: others that have work go
	 * first. It runs on when its next turn comes. Success too when it was not
	 * on the device.
	 */
	int (*preempt)(struct gp_group *group);

	/** List the devices of this backend. None is success with count 0. */
	int (*probe)(struct gp_device_list *list);

	/**
	 * The one context of this process, where the process is what holds
	 * (AMD). Borrowed, as long as @dev.
	 */
	int (*process_context)(struct gp_device *dev, void **context);

	/**
	 * End a hold: a store, no syscall, async-signal-safe (AMD: one ioctl,
	 * which puts the others back). Releasing what is not on is success.
	 */
	int (*release)(struct gp_hold *hold);

	/**
	 * Let suspended groups run again. All groups must be of one device.
	 * Resuming what runs is success. -EBUSY: the hardware has no queue
	 * slot free for one of them (gp_hal_caps.slots); try again when one
	 * is. On failure each group is as before or resumed, never suspended
	 * that was not.
	 */
	int (*resume)(struct gp_group *const *group, size_t n);

	/**
	 * Give @pid (0: this process) a class on @dev: all groups it has, and
	 * those to come. -EPERM: takes a right that this process has not;
	 * -ESRCH: it does not use the device; -EOPNOTSUPP: not for another
	 * process. On failure the old class is in force.
	 */
	int (*set_class)(struct gp_device *dev, pid_t pid, const struct gp_hal_class *cls);

	/** Set what a switch away from @group waits for. */
	int (*set_preempt_mode)(struct gp_group *group, enum gp_preempt_mode mode);

	/**
	 * Set the slice. -ERANGE: outside min_slice_us..max_slice_us. On
	 * failure the old slice is in force.
	 */
	int (*set_slice)(struct gp_group *group, uint64_t us);

	/** Where the lock of the short best-effort slice lives. */
	int (*slot)(struct gp_device *dev, struct gp_slot_place *place);

	/**
	 * Take groups off the device in the middle of what they run; returns
	 * once they are off. All of one device. Suspending what is suspended
	 * is success. AMD: whom nobody resumes runs again after max_hold_ns,
	 * counted from the last such call. On failure all that this call
	 * suspended run again.
	 */
	int (*suspend)(struct gp_group *const *group, size_t n);

	/** Arm (absolute, ns of now()) or, with 0, disarm. */
	int (*timer_arm)(struct gp_timer *timer, uint64_t at_ns);

	/** A timer in the clock of now(). */
	int (*timer_create)(struct gp_device *dev, struct gp_timer **timer);

	/** NULL is legal. */
	void (*timer_destroy)(struct gp_timer *timer);

	/**
	 * Consume a due timer (its fd stops being readable). What is done
	 * until the next timer_arm or timer_done is, to a virtual clock, work
	 * during which time stands still.
	 */
	int (*timer_ack)(struct gp_timer *timer);
	int (*timer_done)(struct gp_timer *timer);

	/**
	 * Has @pid the driver's files open, so that it has groups on @dev, or may
	 * come to have? 1 or 0. Cheaper than groups() by far. -ESRCH, -EPERM: as
	 * there.
	 */
	int (*uses)(struct gp_device *dev, pid_t pid);

	/**
	 * Time @group was on the device since its tenant's log was opened, or,
	 * without GP_CAP_SWITCH_LOG, on a queue slot since it was made, ns.
	 * -ENODATA: there is no exact source here.
	 */
	int (*usage)(struct gp_group *group, uint64_t *busy_ns);
};

/*
 * hal/: registration and the few helpers that every caller would write again.
 * A backend registers with GP_HAL_BACKEND(ops) at file scope.
 */
#define GP_HAL_BACKEND(ops_)                                        \
	static const struct gp_hal_ops *const gp_hal_backend_##ops_ \
		__attribute__((used, section("gp_hal_backends"))) = &(ops_)

/** Backend by name, or NULL. "softgpu", "nvidia", "amd". */
const struct gp_hal_ops *gp_hal_find(const char *name);

/** Fill @full from @ops, a dummy returning -EOPNOTSUPP for each missing op. */
void gp_hal_set_ops(struct gp_hal_ops *full, const struct gp_hal_ops *ops);

/**
 * Find and open a device by what a user may write: "soft0", a UUID
 * ("GPU-xxxxxxxx-…", any unambiguous prefix of at least 8 digits), a PCI
 * address ("0000:3b:00.0", "3b:00.0"), or NULL: the first device there is
 * (GPREEMPT_BACKEND chooses the backend: "nvidia", "amd", "softgpu"; with none
 * set, NVIDIA where there is one, else AMD). A bare index is refused: CUDA_VISIBLE_DEVICES
 * makes it ambiguous. @why receives one line on failure (may be NULL).
 */
int gp_device_open(const char *spec, struct gp_device **dev, char *why, size_t why_len);
void gp_device_close(struct gp_device *dev);

void gp_group_list_put(struct gp_group_list *list);

/** "GPU-…" of @uuid into @buf (at least 41 bytes). */
void gp_uuid_format(const uint8_t uuid[16], char *buf, size_t len);

/**
 * The one short best-effort slice of a device (two groups at a short slice
 * livelock it). An open file description lock: gone with its holder.
 * gp_slot_try: 0 taken, -EBUSY another has it. gp_slot_wait blocks until it is
 * taken. Both give the open file, whose closing gives the slot back.
 */
int gp_slot_try(struct gp_device *dev, int *slot_fd);
int gp_slot_wait(struct gp_device *dev, int *slot_fd);

#ifdef __cplusplus
}
#endif
#endif
