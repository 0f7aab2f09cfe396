/* SPDX-License-Identifier: MIT */
/*
 * kfd_abi.h - the calls of /dev/kfd that we use and every kernel has: KFD ioctl ABI 1.0 and
 * later, which only extended the structures at their ends. Own definitions, so that building
 * needs no kernel header. tests/hsaq/test_abi.c compares them with the installed ones.
 * kfd_sched.h has the additions of the scheduling series.
 */
#ifndef HSAQ_KFD_ABI_H
#define HSAQ_KFD_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define HSAQ_KFD_MAJOR 1u /* the ABI version here */
#define HSAQ_KFD_MAGIC 'K'
#define HSAQ_KFD_NR_GET_VERSION 0x01
#define HSAQ_KFD_NR_CREATE_QUEUE 0x02
#define HSAQ_KFD_NR_DESTROY_QUEUE 0x03
#define HSAQ_KFD_NR_UPDATE_QUEUE 0x07
#define HSAQ_KFD_NR_CRIU_OP 0x22 /* since ABI 1.8 */

/* Of CRIU_OP */
#define HSAQ_KFD_CRIU_PROCESS_INFO 0u /* which pauses the process */
#define HSAQ_KFD_CRIU_UNPAUSE 2u

/* Of CREATE_QUEUE; the driver has further numbers for kinds of SDMA. */
#define HSAQ_KFD_QUEUE_COMPUTE 0u
#define HSAQ_KFD_QUEUE_SDMA 1u
#define HSAQ_KFD_QUEUE_COMPUTE_AQL 2u

#define HSAQ_KFD_PERCENTAGE_MASK 0xffu /* bits 8-15: target XCC */
#define HSAQ_KFD_PRIORITY_MAX 15u
#define HSAQ_KFD_QUEUES_MAX 1024u /* of one process */

struct hsaq_kfd_version {
	uint32_t major;
	uint32_t minor;
};

/* The beginning of CREATE_QUEUE; the rest differs between versions. */
struct hsaq_kfd_create {
	uint64_t ring_base;
	uint64_t write_pointer;
	uint64_t read_pointer;
	uint64_t doorbell_offset;
	uint32_t ring_bytes;
	uint32_t gpu_id;
	uint32_t type;
	uint32_t percentage;
	uint32_t priority;
	uint32_t queue_id;
};

struct hsaq_kfd_destroy {
	uint32_t queue_id;
	uint32_t pad;
};

struct hsaq_kfd_update {
	uint64_t ring_base;
	uint32_t queue_id;
	uint32_t ring_bytes;
	uint32_t percentage;
	uint32_t priority;
};

struct hsaq_kfd_criu {
	uint64_t devices, bos, priv_data, priv_data_bytes;
	uint32_t num_devices, num_bos, num_objects;
	uint32_t pid;
	uint32_t op;
	uint32_t pad;
};

_Static_assert(sizeof(struct hsaq_kfd_version) == 8, "KFD ABI 1");
_Static_assert(sizeof(struct hsaq_kfd_create) == 56, "KFD ABI 1");
_Static_assert(offsetof(struct hsaq_kfd_create, gpu_id) == 36, "KFD ABI 1");
_Static_assert(offsetof(struct hsaq_kfd_create, queue_id) == 52, "KFD ABI 1");
_Static_assert(sizeof(struct hsaq_kfd_destroy) == 8, "KFD ABI 1");
_Static_assert(sizeof(struct hsaq_kfd_update) == 24, "KFD ABI 1");
_Static_assert(sizeof(struct hsaq_kfd_criu) == 56, "KFD ABI 1.8");

#define HSAQ_KFD_GET_VERSION _IOR(HSAQ_KFD_MAGIC, HSAQ_KFD_NR_GET_VERSION, struct hsaq_kfd_version)
#define HSAQ_KFD_CRIU_OP _IOWR(HSAQ_KFD_MAGIC, HSAQ_KFD_NR_CRIU_OP, struct hsaq_kfd_criu)
#define HSAQ_KFD_UPDATE_QUEUE _IOW(HSAQ_KFD_MAGIC, HSAQ_KFD_NR_UPDATE_QUEUE, struct hsaq_kfd_update)

#endif
