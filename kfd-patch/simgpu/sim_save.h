/* SPDX-License-Identifier: MIT */
/*
 * What the software GPU leaves of a queue that it unloaded in the middle of its
 * work. Two places, as on gfx9 (kfd_mqd_manager_v9.c, allocate_mqd() and
 * get_wave_state()):
 *
 * The control stack, in the page behind the MQD, grows down from
 * CP_HQD_CNTL_STACK_SIZE; CP_HQD_CNTL_STACK_OFFSET is its lowest byte used. An
 * empty one has the offset equal to the size. Its bytes are the GPU's own
 * business; here: a struct sim_save_header, then the packets, then the groups.
 *
 * The wave state, in the user's save area, grows up from the same size to
 * CP_HQD_WG_STATE_OFFSET: one workgroup after the other, each as gfx9_save.h
 * lays it out. It is its user's to read and to damage.
 */
#ifndef SIM_SAVE_H
#define SIM_SAVE_H

#include <linux/types.h>

#define SIM_SAVE_MAGIC 0x76735353 /* "SSsv" */

/**
 * struct sim_save_header
 * @magic: SIM_SAVE_MAGIC
 * @packet_count: of struct sim_save_packet, behind this
 * @group_count: of struct sim_save_group, behind the packets
 * @bytes: of the wave state
 * @id: different for each save of a GPU
 * @rptr: oldest packet that is not done
 * @next: first packet that was not launched
 */
struct sim_save_header {
	__u32 magic;
	__u16 packet_count;
	__u16 group_count;
	__u64 bytes;
	__u64 id;
	__u64 rptr;
	__u64 next;
};

/**
 * struct sim_save_packet - a packet under way
 * @index: in the queue, not wrapped
 * @next_group: its first workgroup that was not started
 * @start_ns: when it was launched
 * @done: it only waits for an older one
 */
struct sim_save_packet {
	__u64 index;
	__u64 next_group;
	__u64 start_ns;
	__u32 done;
	__u32 pad;
};

/**
 * struct sim_save_group - a workgroup in execution
 * @index_low: of its packet, modulo 2^32
 * @bytes: of its state; they lie in the order of these records
 */
struct sim_save_group {
	__u32 index_low;
	__u32 bytes;
};

#endif
