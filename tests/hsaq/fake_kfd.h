/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_kfd.h - a KFD in this process, behind libhsaq's way to the kernel. The calls of
 * kfd_sched.h act on queues that only count their time on a slot, in real time.
 */
#ifndef FAKE_KFD_H
#define FAKE_KFD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FAKE_GPU 4711u /* gpu_id of the first device */
#define FAKE_GPU2 4712u
#define FAKE_UNIQUE_ID 0x0123456789abcdefull
#define FAKE_MAX_HOLD_NS 1000000000ull

enum fake_kernel {
	FAKE_PATCHED, /* with sched_policy=2 */
	FAKE_PATCHED_HWS,
	FAKE_STOCK,
	FAKE_STOCK_HWS,
};

/**
 * struct fake_config - the default of each field is zero
 * @major, @minor: KFD ABI; 0.0: 1.17
 * @slots: 0: 8
 * @no_kfd: an errno of opening /dev/kfd
 * @unprivileged: no CAP_SYS_ADMIN
 * @sched_node: errno of opening /dev/kfd_sched; 0: it opens
 * @no_only: without KFD_SCHED_HOLD_ONLY
 * @gpu2_hws: the second device's firmware schedules, for each @kernel
 * @gfx: gfx_target_version of both devices; 0: 90006
 * @cwsr_off: amdgpu.cwsr_enable=0
 * @mes: amdgpu.mes=1
 * @pid_namespace: the PIDs in sysfs are of another PID namespace
 * @unique_id: 0: FAKE_UNIQUE_ID. Processes with one device talk to each other, so a test of that
 *	needs a device that no other test has at that time
 */
struct fake_config {
	enum fake_kernel kernel;
	uint32_t major, minor;
	uint32_t slots;
	int no_kfd;
	bool unprivileged;
	int sched_node;
	bool no_only;
	bool gpu2_hws;
	uint32_t gfx;
	bool cwsr_off;
	bool mes;
	bool pid_namespace;
	uint64_t unique_id;
};

void fake_kfd_start(const struct fake_config *config);
void fake_kfd_stop(void);
/** Give this process the right, or take it away, at any time. */
void fake_kfd_privilege(bool has);

/** @pid opens /dev/kfd; this process's own opens add it, too. */
void fake_process_add(pid_t pid);
/** @pid dies, and its queues and holds end. */
void fake_process_end(pid_t pid);
/** Return: the queue's number. @type: 0 compute, 1 SDMA. */
uint32_t fake_queue_create(pid_t pid, uint32_t gpu_id, uint32_t type);
void fake_queue_destroy(pid_t pid, uint32_t queue_id);
/** Time on a slot, ns. */
uint64_t fake_queue_ran_ns(pid_t pid, uint32_t queue_id);
/** Number of saves. */
uint64_t fake_queue_saves(pid_t pid, uint32_t queue_id);
/** KFD_SCHED_STATE_*; ~0: no such queue. */
uint32_t fake_queue_state(pid_t pid, uint32_t queue_id);
void fake_queue_class(pid_t pid, uint32_t queue_id, uint32_t *cls, uint32_t *level,
		      uint32_t *weight);
/** As last set by UPDATE_QUEUE. */
void fake_queue_properties(pid_t pid, uint32_t queue_id, uint32_t *percentage, uint32_t *priority);
/** The number of its last UPDATE_QUEUE among all of them, from 1; 0: none. */
unsigned int fake_queue_updated(pid_t pid, uint32_t queue_id);

/** One coming call with number @nr fails with @err, after @skip others. */
void fake_fail(unsigned int nr, unsigned int skip, int err);
/** Each UPDATE_QUEUE takes so long. */
void fake_slow_update(uint64_t ns);
/** Number of calls with number @nr so far. */
unsigned int fake_calls(unsigned int nr);
/** Number of open files. */
unsigned int fake_files(void);

/** A file of the fake's /dev/kfd, for a test that acts as an application. */
int fake_open_kfd(void);
/** Accepts CREATE_QUEUE also with the size of ABI 1.11, as libhsakmt 5.2.3 sends it. */
int fake_ioctl(int fd, unsigned long request, void *arg);

#endif
