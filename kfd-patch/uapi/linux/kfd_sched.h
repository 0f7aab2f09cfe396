/* SPDX-License-Identifier: MIT */
/*
 * Classes, holds and states of compute queues that the driver itself loads
 * and unloads (amdgpu.sched_policy=2, no firmware scheduler).
 *
 * Every structure starts with its own size. A caller sets it to the sizeof it
 * was built with; bytes that the kernel does not know must be zero (-E2BIG),
 * bytes that the caller does not have are neither read nor written. Flags and
 * padding that are not named here must be zero (-EINVAL). All times are in ns
 * of CLOCK_MONOTONIC. With the firmware scheduler every call returns
 * -EOPNOTSUPP; a kernel that does not know a call returns -ENOTTY or -EINVAL.
 *
 * Rights. A process may always read its own queues, and lower them: from LC
 * to BE, to a larger level number, to a smaller weight. To raise them and to
 * hold a device takes CAP_SYS_NICE. What concerns other processes takes
 * CAP_SYS_ADMIN. A grant can stand in for both: an open file of
 * /dev/kfd_sched, whose mode and group an administrator sets. It can be
 * narrowed (never widened) before it is handed to somebody else by SCM_RIGHTS
 * or inheritance.
 */
#ifndef _UAPI_LINUX_KFD_SCHED_H
#define _UAPI_LINUX_KFD_SCHED_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define KFD_SCHED_CLASS_BE	0	/* best effort: shares by weight */
#define KFD_SCHED_CLASS_LC	1	/* latency critical: stays loaded */

#define KFD_SCHED_LEVEL_MAX	15	/* LC levels 0 (most urgent) to 15 */
#define KFD_SCHED_WEIGHT_DEFAULT 100
#define KFD_SCHED_WEIGHT_MAX	10000	/* BE weights 1 to 10000 */

/* Of kfd_ioctl_sched_set_class_args.flags */
#define KFD_SCHED_SET_PROCESS	(1u << 0) /* all queues, also those to come */

/**
 * struct kfd_ioctl_sched_set_class_args - class of a queue or of a process
 * @size: sizeof of this structure
 * @flags: KFD_SCHED_SET_*
 * @gpu_id: device, as in the topology
 * @pid: process in the caller's pid namespace, 0: the caller. -ESRCH when it
 *	has not opened /dev/kfd
 * @queue_id: one queue of the process; 0 with KFD_SCHED_SET_PROCESS
 * @sched_class: KFD_SCHED_CLASS_*
 * @level: for LC, else 0
 * @weight: for BE, else 0; 0 for BE means KFD_SCHED_WEIGHT_DEFAULT
 * @grant_fd: open file of /dev/kfd_sched, or -1
 * @pad: 0
 */
struct kfd_ioctl_sched_set_class_args {
	__u32 size;
	__u32 flags;
	__u32 gpu_id;
	__u32 pid;
	__u32 queue_id;
	__u32 sched_class;
	__u32 level;
	__u32 weight;
	__s32 grant_fd;
	__u32 pad;
};

/* Of kfd_ioctl_sched_hold_args.flags */
#define KFD_SCHED_HOLD_NOWAIT	(1u << 0) /* ask for the saves, do not wait */
#define KFD_SCHED_HOLD_ONLY	(1u << 1) /* @pid's queues, whatever their class */
#define KFD_SCHED_ALL_QUEUES	(~0u)	/* of kfd_ioctl_sched_hold_args.queue_id */

/**
 * struct kfd_ioctl_sched_hold_args - keep a device for LC queues
 * @size: sizeof of this structure
 * @flags: KFD_SCHED_HOLD_*
 * @gpu_id: device
 * @level: all BE queues and all LC queues of a larger level number, of all
 *	processes, are unloaded and stay so; KFD_SCHED_LEVEL_MAX: BE only
 * @limit_ns: the hold ends by itself after this; 1 to
 *	kfd_sched_device_state.max_hold_ns
 * @grant_fd: open file of /dev/kfd_sched, or -1
 * @pad: 0
 * @hold_id: out: names the hold, for its release. Holds nest: the device is
 *	held at the smallest level of all that are on
 * @unloaded: out: queues that this call took off
 * @failed: out: queues that did not answer and are quarantined now
 * @pending: out: with NOWAIT, queues whose save is still running
 * @wait_ns: out: from the first request to the last answer
 * @pid: with ONLY: the process, 0: the caller; else 0. -ESRCH as in set_class
 * @queue_id: with ONLY: one queue of it, or KFD_SCHED_ALL_QUEUES (those to come
 *	too); else 0. -ENOENT: it has no such queue
 *
 * With ONLY @level is 0 and says nothing; holding one's own queues needs no
 * right, others' needs CAP_SYS_ADMIN or a grant with HOLD and OTHERS. A kernel
 * without ONLY returns -EINVAL or -E2BIG.
 *
 * Ends by release, by its limit, when the file it was made by is closed and
 * when the process that made it dies, whichever is first; its end makes all
 * that it kept off runnable again.
 */
struct kfd_ioctl_sched_hold_args {
	__u32 size;
	__u32 flags;
	__u32 gpu_id;
	__u32 level;
	__u64 limit_ns;
	__s32 grant_fd;
	__u32 pad;
	__u32 hold_id;
	__u32 unloaded;
	__u32 failed;
	__u32 pending;
	__u64 wait_ns;
	__u32 pid;
	__u32 queue_id;
};

#define KFD_SCHED_ENDED_RELEASED 0	/* by this call */
#define KFD_SCHED_ENDED_LIMIT	1	/* had ended by its limit before */
#define KFD_SCHED_ENDED_RESET	2	/* by a reset of the device */

/**
 * struct kfd_ioctl_sched_release_args - end a hold
 * @size: sizeof of this structure
 * @flags: 0
 * @gpu_id: device
 * @hold_id: of this process; -ENOENT when there is none such
 * @ended: out: KFD_SCHED_ENDED_*
 * @loaded: out: queues that this call loaded again
 * @holders: out: holds that are still on
 * @pad: 0
 * @held_ns: out: how long the hold was on
 */
struct kfd_ioctl_sched_release_args {
	__u32 size;
	__u32 flags;
	__u32 gpu_id;
	__u32 hold_id;
	__u32 ended;
	__u32 loaded;
	__u32 holders;
	__u32 pad;
	__u64 held_ns;
};

#define KFD_SCHED_STATE_INACTIVE 0	/* its owner stopped it, or not yet ready */
#define KFD_SCHED_STATE_LOADED	1	/* on a hardware queue slot */
#define KFD_SCHED_STATE_WAITING	2	/* runnable, for a slot */
#define KFD_SCHED_STATE_HELD	3	/* kept off by a hold */
#define KFD_SCHED_STATE_EVICTED	4	/* by memory eviction or suspend */
#define KFD_SCHED_STATE_SAVING	5	/* its save was asked for */
#define KFD_SCHED_STATE_QUARANTINED 6	/* did not answer; with its slot */

/**
 * struct kfd_sched_queue_state - one compute queue
 * @pid: its process, in the reader's pid namespace (0: not visible there)
 * @queue_id: as its process knows it
 * @pipe, @slot, @vmid: where it is loaded; ~0 when it is not
 * @loads, @saves: how often it was put on and taken off
 * @saves_midwave: how many of the saves found it with work under way
 * @loaded_ns: time on a slot, in all
 * @waiting_ns: time runnable and not loaded, in all
 * @last_save_ns, @max_save_ns: from request to answer
 */
struct kfd_sched_queue_state {
	__u32 pid;
	__u32 queue_id;
	__u32 state;
	__u32 sched_class;
	__u32 level;
	__u32 weight;
	__u32 pipe;
	__u32 slot;
	__u32 vmid;
	__u32 pad;
	__u64 loads;
	__u64 saves;
	__u64 saves_midwave;
	__u64 loaded_ns;
	__u64 waiting_ns;
	__u64 last_save_ns;
	__u64 max_save_ns;
};

/**
 * struct kfd_sched_device_state - a device
 * @slots: hardware queue slots for compute; @slots_quarantined of them lost
 * @vmids: address spaces that can be bound at a time
 * @holders: holds that are on; @hold_level: the smallest level, ~0: none
 * @queues: compute queues there are, of all processes
 * @loaded: how many of them are on a slot
 * @quantum_ns: a BE turn of default weight
 * @idle_quantum_ns: turn of a BE queue that had nothing to do
 * @lc_bound_ns: longest wait of an LC queue when there are more than slots,
 *	without the time that saves and loads take
 * @max_hold_ns: largest limit
 * @seq: of the newest event, see wait
 */
struct kfd_sched_device_state {
	__u32 slots;
	__u32 slots_quarantined;
	__u32 vmids;
	__u32 holders;
	__u32 hold_level;
	__u32 queues;
	__u32 loaded;
	__u32 pad;
	__u64 quantum_ns;
	__u64 idle_quantum_ns;
	__u64 lc_bound_ns;
	__u64 max_hold_ns;
	__u64 seq;
	__u64 rotations;
	__u64 holds;
	__u64 holds_expired;
	__u64 quarantines;
	__u64 recoveries;
	__u64 resets;
};

/**
 * struct kfd_ioctl_sched_state_args - read states, counts and times
 * @size: sizeof of this structure
 * @flags: 0
 * @gpu_id: device
 * @pid: only queues of this process; 0: all that the caller may see: its own,
 *	or everybody's with CAP_SYS_ADMIN or a grant that may read
 * @grant_fd: open file of /dev/kfd_sched, or -1
 * @num_queues: in: room at @queues_ptr, in entries; out: queues there are
 *	(may be more than were written)
 * @queue_size: in: sizeof(struct kfd_sched_queue_state) of the caller; out:
 *	the kernel's. As many bytes of each entry are written as both know
 * @device_size: the same for @device_ptr
 * @queues_ptr: user pointer, may be 0
 * @device_ptr: user pointer, may be 0
 */
struct kfd_ioctl_sched_state_args {
	__u32 size;
	__u32 flags;
	__u32 gpu_id;
	__u32 pid;
	__s32 grant_fd;
	__u32 num_queues;
	__u32 queue_size;
	__u32 device_size;
	__u64 queues_ptr;
	__u64 device_ptr;
};

#define KFD_SCHED_EVENT_HELD	1	/* a hold's last queue is off */
#define KFD_SCHED_EVENT_RELEASED 2	/* a hold ended; value: KFD_SCHED_ENDED_* */
#define KFD_SCHED_EVENT_QUARANTINED 3	/* a queue did not answer */
#define KFD_SCHED_EVENT_RECOVERED 4	/* it answered late, or was reset */
#define KFD_SCHED_EVENT_RESET	5	/* the device was reset */
#define KFD_SCHED_EVENT_LOST	6	/* value: events that came too fast */

/**
 * struct kfd_ioctl_sched_wait_args - wait for an outcome
 * @size: sizeof of this structure
 * @flags: 0
 * @gpu_id: device
 * @timeout_ms: 0: do not wait; -ETIME when nothing came
 * @seq: in: the last event that the caller knows (0: any still kept);
 *	out: of this event
 * @kind: out: KFD_SCHED_EVENT_*
 * @pid, @queue_id: out: whose; 0 where the caller may not know
 * @hold_id: out: which hold, of the caller's own
 * @value: out: see @kind
 * @time_ns: out: when
 * @took_ns: out: how long it took
 * @grant_fd: open file of /dev/kfd_sched, or -1: only the caller's own
 * @pad: 0
 */
struct kfd_ioctl_sched_wait_args {
	__u32 size;
	__u32 flags;
	__u32 gpu_id;
	__u32 timeout_ms;
	__u64 seq;
	__u32 kind;
	__u32 pid;
	__u32 queue_id;
	__u32 hold_id;
	__u64 value;
	__u64 time_ns;
	__u64 took_ns;
	__s32 grant_fd;
	__u32 pad;
};

/* Rights of a grant */
#define KFD_SCHED_RIGHT_HOLD	(1u << 0) /* hold and release */
#define KFD_SCHED_RIGHT_RAISE	(1u << 1) /* raise the caller's own queues */
#define KFD_SCHED_RIGHT_OTHERS	(1u << 2) /* set classes of other processes */
#define KFD_SCHED_RIGHT_READ	(1u << 3) /* read everybody's states */
#define KFD_SCHED_RIGHT_ALL	0xfu

/**
 * struct kfd_sched_grant_args - narrow the open file of /dev/kfd_sched
 * @size: sizeof of this structure
 * @rights: the rights that stay; out: those that are left
 * @min_level: smallest LC level it may give or hold at; out: as it is now
 * @gpu_id: the only device it is for; 0: all
 */
struct kfd_sched_grant_args {
	__u32 size;
	__u32 rights;
	__u32 min_level;
	__u32 gpu_id;
};

/* On /dev/kfd, number space 'K' of kfd_ioctl.h */
#define AMDKFD_IOC_SCHED_SET_CLASS \
	_IOW('K', 0x40, struct kfd_ioctl_sched_set_class_args)
#define AMDKFD_IOC_SCHED_HOLD \
	_IOWR('K', 0x41, struct kfd_ioctl_sched_hold_args)
#define AMDKFD_IOC_SCHED_RELEASE \
	_IOWR('K', 0x42, struct kfd_ioctl_sched_release_args)
#define AMDKFD_IOC_SCHED_STATE \
	_IOWR('K', 0x43, struct kfd_ioctl_sched_state_args)
#define AMDKFD_IOC_SCHED_WAIT \
	_IOWR('K', 0x44, struct kfd_ioctl_sched_wait_args)

/* On /dev/kfd_sched */
#define KFD_SCHED_IOC_NARROW \
	_IOWR('K', 0x80, struct kfd_sched_grant_args)

#endif
