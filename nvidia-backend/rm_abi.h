/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rm_abi.h - the part of the resource manager's (RM) ioctl interface that gpreempt uses:
 * escape codes, classes, controls and their structures.
 *
 * Written from the published interface (open-gpu-kernel-modules); each item names its source
 * file. "stable" means the same layout in every release from 535 to 595. RM checks sizes, and
 * an allocation with params_size 0 takes the release's own size. So structures that have grown
 * have zeroed room behind them.
 *
 * libc only: the software GPU speaks the same interface and shares this file.
 */
#ifndef GP_NV_RM_ABI_H
#define GP_NV_RM_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define GP_RM_ASSERT_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type " size")
#define GP_RM_ASSERT_AT(type, field, at) \
	_Static_assert(offsetof(struct type, field) == (at), #type "." #field)

/* ---- escapes: nv_escape.h, nv-ioctl-numbers.h; stable ------------------ */

#define GP_RM_IOCTL_MAGIC 'F'
#define GP_RM_ESC_ALLOC_MEMORY 0x27
#define GP_RM_ESC_ALLOC_OBJECT 0x28
#define GP_RM_ESC_FREE 0x29
#define GP_RM_ESC_CONTROL 0x2a
#define GP_RM_ESC_ALLOC 0x2b
#define GP_RM_ESC_MAP_MEMORY 0x4e
#define GP_RM_ESC_UNMAP_MEMORY 0x4f
#define GP_RM_ESC_CARD_INFO 200
#define GP_RM_ESC_REGISTER_FD 201
#define GP_RM_ESC_ALLOC_OS_EVENT 206
#define GP_RM_ESC_FREE_OS_EVENT 207
#define GP_RM_ESC_CHECK_VERSION 210

/* The ioctl request of escape @nr with a structure (or @bytes of arrays). */
#define GP_RM_REQUEST_BYTES(nr, bytes) \
	((unsigned long)_IOC(_IOC_READ | _IOC_WRITE, GP_RM_IOCTL_MAGIC, nr, bytes))
#define GP_RM_REQUEST(nr, type) GP_RM_REQUEST_BYTES(nr, sizeof(struct type))

/* nvos.h, NVOS00_PARAMETERS: free an object and all below it; stable */
struct gp_rm_free {
	uint32_t client;
	uint32_t parent;
	uint32_t object;
	uint32_t status;
};
GP_RM_ASSERT_SIZE(gp_rm_free, 16);
GP_RM_ASSERT_AT(gp_rm_free, object, 8);
GP_RM_ASSERT_AT(gp_rm_free, status, 12);

/* nvos.h, NVOS21_PARAMETERS: the short form of an allocation; stable */
struct gp_rm_alloc21 {
	uint32_t client; /* 0 with a root class: make a client */
	uint32_t parent;
	uint32_t object; /* in/out: 0 lets RM choose the handle */
	uint32_t cls;
	uint64_t params;
	uint32_t params_size; /* 0: this release's own */
	uint32_t status;
};
GP_RM_ASSERT_SIZE(gp_rm_alloc21, 32);
GP_RM_ASSERT_AT(gp_rm_alloc21, params, 16);
GP_RM_ASSERT_AT(gp_rm_alloc21, status, 28);

/* nvos.h, NVOS64_PARAMETERS: the long form, told by its size; stable */
struct gp_rm_alloc64 {
	uint32_t client;
	uint32_t parent;
	uint32_t object;
	uint32_t cls;
	uint64_t params;
	uint64_t rights;
	uint32_t params_size;
	uint32_t flags;
	uint32_t status;
	uint32_t pad;
};
GP_RM_ASSERT_SIZE(gp_rm_alloc64, 48);
GP_RM_ASSERT_AT(gp_rm_alloc64, params, 16);
GP_RM_ASSERT_AT(gp_rm_alloc64, params_size, 32);
GP_RM_ASSERT_AT(gp_rm_alloc64, status, 40);

/* nvos.h, NVOS54_PARAMETERS: control; stable. Request 0xc020462a. */
struct gp_rm_control {
	uint32_t client;
	uint32_t object;
	uint32_t cmd;
	uint32_t flags;
	uint64_t params;
	uint32_t params_size;
	uint32_t status;
};
GP_RM_ASSERT_SIZE(gp_rm_control, 32);
GP_RM_ASSERT_AT(gp_rm_control, params, 16);
GP_RM_ASSERT_AT(gp_rm_control, params_size, 24);
GP_RM_ASSERT_AT(gp_rm_control, status, 28);

/*
 * nvos.h, NVOS33_PARAMETERS inside nv_ioctl_nvos33_parameters_with_fd of
 * nv-unix-nvos-params-wrappers.h; stable. @fd is a fresh open of the control
 * device; once RM has agreed, mmap(length, fd, 0) maps it.
 */
struct gp_rm_map_memory {
	uint32_t client;
	uint32_t device; /* device or subdevice */
	uint32_t memory;
	uint32_t pad0;
	uint64_t offset;
	uint64_t length;
	uint64_t address;
	uint32_t status;
	uint32_t flags; /* GP_RM_MAP_* */
	int32_t fd;
	uint32_t pad1;
};
#define GP_RM_MAP_READ_ONLY 1u
GP_RM_ASSERT_SIZE(gp_rm_map_memory, 56);
GP_RM_ASSERT_AT(gp_rm_map_memory, offset, 16);
GP_RM_ASSERT_AT(gp_rm_map_memory, address, 32);
GP_RM_ASSERT_AT(gp_rm_map_memory, status, 40);
GP_RM_ASSERT_AT(gp_rm_map_memory, fd, 48);

/* nvos.h, NVOS34_PARAMETERS; stable */
struct gp_rm_unmap_memory {
	uint32_t client;
	uint32_t device;
	uint32_t memory;
	uint32_t pad;
	uint64_t address;
	uint32_t status;
	uint32_t flags;
};
GP_RM_ASSERT_SIZE(gp_rm_unmap_memory, 32);
GP_RM_ASSERT_AT(gp_rm_unmap_memory, address, 16);
GP_RM_ASSERT_AT(gp_rm_unmap_memory, status, 24);

/* nv-ioctl.h, nv_ioctl_card_info_t; an array of GP_RM_MAX_CARDS; stable */
#define GP_RM_MAX_CARDS 32
struct gp_rm_card_info {
	uint8_t valid;
	uint8_t pad0[3];
	uint32_t pci_domain;
	uint8_t pci_bus, pci_slot, pci_function, pad1;
	uint16_t pci_vendor;
	uint16_t pci_device;
	uint32_t gpu_id;
	uint16_t interrupt;
	uint16_t pad2;
	uint64_t reg_address, reg_bytes;
	uint64_t fb_address, fb_bytes;
	uint32_t minor;
	uint8_t dev_name[10];
	uint8_t pad3[2];
};
GP_RM_ASSERT_SIZE(gp_rm_card_info, 72);
GP_RM_ASSERT_AT(gp_rm_card_info, pci_domain, 4);
GP_RM_ASSERT_AT(gp_rm_card_info, pci_bus, 8);
GP_RM_ASSERT_AT(gp_rm_card_info, gpu_id, 16);
GP_RM_ASSERT_AT(gp_rm_card_info, reg_address, 24);
GP_RM_ASSERT_AT(gp_rm_card_info, minor, 56);

/* nv-ioctl.h, nv_ioctl_register_fd_t: ties a GPU's file to the control file */
struct gp_rm_register_fd {
	int32_t ctl_fd;
};
GP_RM_ASSERT_SIZE(gp_rm_register_fd, 4);

/* nv-ioctl.h, nv_ioctl_alloc_os_event_t and _free_; stable */
struct gp_rm_os_event {
	uint32_t client;
	uint32_t device;
	uint32_t fd;
	uint32_t status;
};
GP_RM_ASSERT_SIZE(gp_rm_os_event, 16);
GP_RM_ASSERT_AT(gp_rm_os_event, status, 12);

/* nv-ioctl.h, nv_ioctl_rm_api_version_t; stable */
struct gp_rm_version {
	uint32_t cmd; /* GP_RM_VERSION_QUERY */
	uint32_t reply;
	char string[64];
};
#define GP_RM_VERSION_QUERY ((uint32_t)'2')
GP_RM_ASSERT_SIZE(gp_rm_version, 72);

/* ---- classes ------------------------------------------------------------ */

#define GP_RM_CLASS_ROOT 0x0000u	  /* cl0000.h: NV01_ROOT */
#define GP_RM_CLASS_ROOT_CLIENT 0x0041u	  /* cl0041.h: NV01_ROOT_CLIENT */
#define GP_RM_CLASS_MEMORY_SYSTEM 0x003eu /* cl003e.h */
#define GP_RM_CLASS_DEVICE 0x0080u	  /* cl0080.h: NV01_DEVICE_0 */
#define GP_RM_CLASS_SUBDEVICE 0x2080u	  /* cl2080.h: NV20_SUBDEVICE_0 */
#define GP_RM_CLASS_EVENT_BUFFER 0x90cdu  /* cl90cd.h */
#define GP_RM_CLASS_CHANNEL_GROUP 0xa06cu /* cla06c.h: KEPLER_CHANNEL_GROUP_A */

/*
 * GPFIFO channel classes of every architecture end in 6F: cla06f.h Kepler to clc36f.h Volta,
 * clc46f.h Turing, clc56f.h Ampere, clc86f.h Hopper, clc96f.h, clca6f.h Blackwell.
 *
 * Those of compute engines end in C0: clc3c0.h Volta, clc5c0.h, clc6c0.h, clc7c0.h, clc9c0.h,
 * clcbc0.h Hopper, clcdc0.h, clcec0.h.
 *
 * Those of copy engines end in B5: clc3b5.h to clc8b5.h Hopper, clc9b5.h, clcab5.h.
 */
static inline int gp_rm_class_is_channel(uint32_t cls)
{
	return cls >= 0xa000 && cls <= 0xffff && (cls & 0xff) == 0x6f;
}

static inline int gp_rm_class_is_compute(uint32_t cls)
{
	return cls >= 0xa000 && cls <= 0xffff && (cls & 0xff) == 0xc0;
}

static inline int gp_rm_class_is_copy(uint32_t cls)
{
	return cls >= 0xa000 && cls <= 0xffff && (cls & 0xff) == 0xb5;
}

#define GP_RM_CLASS_HOPPER_CHANNEL 0xc86fu
#define GP_RM_CLASS_HOPPER_COMPUTE 0xcbc0u
#define GP_RM_CLASS_HOPPER_COPY 0xc8b5u

/* cl2080_notification.h: NV2080_ENGINE_TYPE_*. */
#define GP_RM_ENGINE_NULL 0u
#define GP_RM_ENGINE_GRAPHICS0 1u /* .. 8: GR1 to GR7 (MIG) */
#define GP_RM_ENGINE_GRAPHICS7 8u
#define GP_RM_ENGINE_COPY0 9u /* .. 18 */
#define GP_RM_ENGINE_COPY9 18u
#define GP_RM_ENGINE_COPY10 0x34u /* .. 0x3d; since 545, see docs */
#define GP_RM_ENGINE_COPY19 0x3du

/* cl0080.h, NV0080_ALLOC_PARAMETERS; stable */
struct gp_rm_device_params {
	uint32_t device_id; /* the device instance of its GPU */
	uint32_t client_share;
	uint32_t target_client;
	uint32_t target_device;
	uint32_t flags;
	uint32_t pad0;
	uint64_t va_bytes;
	uint64_t va_start, va_limit;
	uint32_t va_mode;
	uint32_t pad1;
};
GP_RM_ASSERT_SIZE(gp_rm_device_params, 56);
GP_RM_ASSERT_AT(gp_rm_device_params, va_bytes, 24);
GP_RM_ASSERT_AT(gp_rm_device_params, va_mode, 48);

/* cl2080.h, NV2080_ALLOC_PARAMETERS; stable */
struct gp_rm_subdevice_params {
	uint32_t subdevice_id;
};
GP_RM_ASSERT_SIZE(gp_rm_subdevice_params, 4);

/* nvos.h, NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS; stable */
struct gp_rm_channel_group_params {
	uint32_t error;
	uint32_t ecc_error;
	uint32_t va_space;
	uint32_t engine; /* GP_RM_ENGINE_* */
	uint8_t vgpu_plugin;
	uint8_t pad[3];
};
GP_RM_ASSERT_SIZE(gp_rm_channel_group_params, 20);
GP_RM_ASSERT_AT(gp_rm_channel_group_params, engine, 12);

/*
 * alloc_channel.h, NV_CHANNEL_ALLOC_PARAMS: its first 144 bytes, which are stable; the rest
 * grows from release to release.
 */
struct gp_rm_channel_params_head {
	uint32_t error;
	uint32_t buffer;
	uint64_t gpfifo_offset;
	uint32_t gpfifo_entries;
	uint32_t flags;
	uint32_t context_share;
	uint32_t va_space;
	uint32_t userd_memory[8];
	uint64_t userd_offset[8];
	uint32_t engine;
	uint32_t cid;
	uint32_t subdevice_id;
	uint32_t ecc_error;
};
GP_RM_ASSERT_SIZE(gp_rm_channel_params_head, 144);
GP_RM_ASSERT_AT(gp_rm_channel_params_head, userd_memory, 32);
GP_RM_ASSERT_AT(gp_rm_channel_params_head, engine, 128);

/*
 * nvos.h, NV_MEMORY_ALLOCATION_PARAMS of class 0x3E. 535 ends behind @tag;
 * numa_node came later: allocate with params_size 0.
 */
struct gp_rm_memory_params {
	uint32_t owner;
	uint32_t type; /* 0: image */
	uint32_t flags;
	uint32_t width, height;
	int32_t pitch;
	uint32_t attr; /* GP_RM_ATTR_* */
	uint32_t attr2;
	uint32_t format;
	uint32_t compr_coverage, zcull_coverage;
	uint32_t pad0;
	uint64_t range_lo, range_hi;
	uint64_t size;
	uint64_t alignment;
	uint64_t offset;
	uint64_t limit;
	uint64_t address;
	uint32_t ctag_offset;
	uint32_t va_space;
	uint32_t internal_flags;
	uint32_t tag;
	int32_t numa_node;
	uint32_t pad1;
};
#define GP_RM_ATTR_LOCATION_PCI (1u << 25)
#define GP_RM_ATTR_NONCONTIGUOUS (1u << 27)
#define GP_RM_ATTR_WRITE_BACK (5u << 29)
#define GP_RM_ATTR2_USER_READ_ONLY (1u << 22)
GP_RM_ASSERT_SIZE(gp_rm_memory_params, 128);
GP_RM_ASSERT_AT(gp_rm_memory_params, attr, 24);
GP_RM_ASSERT_AT(gp_rm_memory_params, range_lo, 48);
GP_RM_ASSERT_AT(gp_rm_memory_params, size, 64);
GP_RM_ASSERT_AT(gp_rm_memory_params, address, 96);
GP_RM_ASSERT_AT(gp_rm_memory_params, numa_node, 120);

/* cl90cd.h, NV_EVENT_BUFFER_ALLOC_PARAMETERS; stable */
struct gp_rm_event_buffer_params {
	uint64_t header_va;  /* out */
	uint64_t records_va; /* out */
	uint32_t record_bytes;
	uint32_t record_count;
	uint64_t vardata_va; /* out */
	uint32_t vardata_bytes;
	uint32_t records_free_threshold;
	uint64_t notification; /* the OS event's fd */
	uint32_t vardata_free_threshold;
	uint32_t subdevice;
	uint32_t flags;
	uint32_t header_memory;
	uint32_t records_memory;
	uint32_t vardata_memory;
};
GP_RM_ASSERT_SIZE(gp_rm_event_buffer_params, 72);
GP_RM_ASSERT_AT(gp_rm_event_buffer_params, record_bytes, 16);
GP_RM_ASSERT_AT(gp_rm_event_buffer_params, notification, 40);
GP_RM_ASSERT_AT(gp_rm_event_buffer_params, header_memory, 60);

/* ---- controls of the client (class 0x41) -------------------------------- */

/* ctrl0000client.h; stable. Any handle of the client; 2 us. */
#define GP_RM_CTRL_GET_HANDLE_INFO 0x0d02u
struct gp_rm_handle_info {
	uint32_t object;
	uint32_t index;	 /* GP_RM_HANDLE_* */
	uint64_t result; /* a handle fills the low half only */
};
#define GP_RM_HANDLE_PARENT 1u
#define GP_RM_HANDLE_CLASS 2u
GP_RM_ASSERT_SIZE(gp_rm_handle_info, 16);
GP_RM_ASSERT_AT(gp_rm_handle_info, result, 8);

/* ctrl0000gpu.h; stable. Unused entries are GP_RM_GPU_INVALID_ID. */
#define GP_RM_GPU_INVALID_ID 0xffffffffu
#define GP_RM_CTRL_GET_ATTACHED_IDS 0x0201u
struct gp_rm_attached_ids {
	uint32_t gpu_id[32];
};
GP_RM_ASSERT_SIZE(gp_rm_attached_ids, 128);

#define GP_RM_CTRL_GET_ID_INFO_V2 0x0205u
struct gp_rm_id_info_v2 {
	uint32_t gpu_id; /* in */
	uint32_t gpu_flags;
	uint32_t device_instance; /* for gp_rm_device_params.device_id */
	uint32_t subdevice_instance;
	uint32_t sli_status;
	uint32_t board_id;
	uint32_t gpu_instance;
	int32_t numa_id;
};
GP_RM_ASSERT_SIZE(gp_rm_id_info_v2, 32);

#define GP_RM_CTRL_GET_PROBED_IDS 0x0214u
struct gp_rm_probed_ids {
	uint32_t gpu_id[32];
	uint32_t excluded_gpu_id[32];
	uint32_t gpu_flags[32];
};
GP_RM_ASSERT_SIZE(gp_rm_probed_ids, 384);

#define GP_RM_CTRL_ATTACH_IDS 0x0215u
#define GP_RM_ATTACH_ALL 0x0000ffffu
struct gp_rm_attach_ids {
	uint32_t gpu_id[32];
	uint32_t failed_id;
};
GP_RM_ASSERT_SIZE(gp_rm_attach_ids, 132);

#define GP_RM_CTRL_GET_PCI_INFO 0x021bu
struct gp_rm_pci_info {
	uint32_t gpu_id; /* in */
	uint32_t domain;
	uint16_t bus;
	uint16_t slot;
};
GP_RM_ASSERT_SIZE(gp_rm_pci_info, 12);

#define GP_RM_CTRL_GET_UUID_FROM_GPU_ID 0x0275u
struct gp_rm_uuid_from_gpu_id {
	uint32_t gpu_id; /* in */
	uint32_t flags;	 /* in: GP_RM_GID_BINARY_SHA1 */
	uint8_t uuid[256];
	uint32_t length;
};
GP_RM_ASSERT_SIZE(gp_rm_uuid_from_gpu_id, 268);

/* ---- controls of a subdevice (class 0x2080) ------------------------------ */

/*
 * ctrl2080gpu.h. 595 takes 68 bytes; releases whose structure has a UTF-16 form
 * beside the ASCII one take 132. RM wants its own size: try one, then the other.
 */
#define GP_RM_CTRL_GPU_GET_NAME_STRING 0x20800110u
struct gp_rm_gpu_name {
	uint32_t flags; /* 0: ASCII */
	uint8_t name[64];
	uint8_t utf16_room[64];
};
#define GP_RM_GPU_NAME_BYTES_SHORT 68u
GP_RM_ASSERT_SIZE(gp_rm_gpu_name, 132);

#define GP_RM_CTRL_GPU_GET_GID_INFO 0x2080014au
struct gp_rm_gid_info {
	uint32_t index;
	uint32_t flags;	 /* GP_RM_GID_BINARY_SHA1 */
	uint32_t length; /* out: 16 */
	uint8_t data[256];
};
#define GP_RM_GID_BINARY_SHA1 2u
GP_RM_ASSERT_SIZE(gp_rm_gid_info, 268);

/* ctrl2080bus.h; stable */
#define GP_RM_CTRL_BUS_GET_PCI_INFO 0x20801801u
struct gp_rm_bus_pci_info {
	uint32_t device_id, subsystem_id, revision_id, ext_device_id;
};
GP_RM_ASSERT_SIZE(gp_rm_bus_pci_info, 16);

/* ctrl2080fb.h; stable. Below a partition of MIG it has the partition's figures. */
#define GP_RM_CTRL_FB_GET_INFO 0x20801301u
struct gp_rm_fb_info {
	uint32_t index; /* GP_RM_FB_* */
	uint32_t data;	/* out: KiB */
};
struct gp_rm_fb_info_list {
	uint32_t count;
	uint32_t pad;
	uint64_t info; /* struct gp_rm_fb_info *, the caller's */
};
#define GP_RM_FB_HEAP_SIZE 0x9u
#define GP_RM_FB_HEAP_FREE 0x16u
GP_RM_ASSERT_SIZE(gp_rm_fb_info, 8);
GP_RM_ASSERT_SIZE(gp_rm_fb_info_list, 16);
GP_RM_ASSERT_AT(gp_rm_fb_info_list, info, 8);

/* ctrl2080fifo.h; stable. Clients must be the caller's own. */
#define GP_RM_CTRL_FIFO_DISABLE_CHANNELS 0x2080110bu
#define GP_RM_DISABLE_MAX 64
struct gp_rm_disable_channels {
	uint8_t disable;
	uint8_t pad0[3];
	uint32_t count;
	uint8_t only_scheduling;
	uint8_t rewind_gp_put;
	uint8_t pad1[6];
	uint64_t preempt_event;
	uint32_t client[GP_RM_DISABLE_MAX];
	uint32_t channel[GP_RM_DISABLE_MAX];
};
GP_RM_ASSERT_SIZE(gp_rm_disable_channels, 536);
GP_RM_ASSERT_AT(gp_rm_disable_channels, count, 4);
GP_RM_ASSERT_AT(gp_rm_disable_channels, only_scheduling, 8);
GP_RM_ASSERT_AT(gp_rm_disable_channels, preempt_event, 16);
GP_RM_ASSERT_AT(gp_rm_disable_channels, client, 24);
GP_RM_ASSERT_AT(gp_rm_disable_channels, channel, 280);

/*
 * ctrl2080gpu.h; stable. Lists processes with an object of class @id below a channel of any
 * engine, as NVML does. Channels and groups themselves do not count.
 */
#define GP_RM_CTRL_GPU_GET_PIDS 0x2080018du
#define GP_RM_GET_PIDS_MAX 950u
struct gp_rm_get_pids {
	uint32_t id_type; /* GP_RM_GET_PIDS_* */
	uint32_t id;
	uint32_t count; /* of pid[], in the caller's PID namespace */
	uint32_t pid[GP_RM_GET_PIDS_MAX];
};
#define GP_RM_GET_PIDS_CLASS 0u
GP_RM_ASSERT_SIZE(gp_rm_get_pids, 3812);
GP_RM_ASSERT_AT(gp_rm_get_pids, pid, 12);

/*
 * ctrl0080gpu.h; stable. Without @cls it returns the number of the device's classes; with it,
 * their list. @count is then the room in @cls.
 */
#define GP_RM_CTRL_GPU_GET_CLASSLIST 0x800201u
struct gp_rm_class_list {
	uint32_t count;
	uint32_t pad;
	uint64_t cls; /* uint32_t *, the caller's */
};
GP_RM_ASSERT_SIZE(gp_rm_class_list, 16);
GP_RM_ASSERT_AT(gp_rm_class_list, cls, 8);

/* ctrl2080gr.h; stable */
#define GP_RM_CTRL_GR_SET_CTXSW_PREEMPTION_MODE 0x20801210u
struct gp_rm_preemption_mode {
	uint32_t flags; /* 1: set the compute mode */
	uint32_t channel;
	uint32_t gfx_mode;
	uint32_t compute_mode; /* GP_RM_PREEMPT_* */
	uint32_t route_flags;
	uint32_t pad;
	uint64_t route;
};
#define GP_RM_PREEMPT_SET_COMPUTE 1u
#define GP_RM_PREEMPT_WAIT_IDLE 0u
#define GP_RM_PREEMPT_CTA 1u
#define GP_RM_PREEMPT_CILP 2u
GP_RM_ASSERT_SIZE(gp_rm_preemption_mode, 32);
GP_RM_ASSERT_AT(gp_rm_preemption_mode, compute_mode, 12);
GP_RM_ASSERT_AT(gp_rm_preemption_mode, route, 24);

/* ctrl2080tmr.h: NV2080_CTRL_CMD_TIMER_GET_TIME: the GPU's own clock */
#define GP_RM_CTRL_TIMER_GET_TIME 0x20800403u
struct gp_rm_timer_time {
	uint64_t time_ns;
};
GP_RM_ASSERT_SIZE(gp_rm_timer_time, 8);

/* ctrl2080gr.h: NV2080_CTRL_CMD_GR_FECS_BIND_EVTBUF_FOR_UID_V2; since 515 */
#define GP_RM_CTRL_GR_FECS_BIND_EVENT_BUFFER 0x20801238u
struct gp_rm_fecs_bind {
	uint32_t buffer;
	uint32_t record_bytes;
	uint32_t level_of_detail; /* GP_RM_FECS_LOD_* */
	uint32_t filter;	  /* bit per tag, with CUSTOM */
	uint8_t all_users;
	uint8_t pad[3];
	uint32_t reason; /* out: why not */
};
#define GP_RM_FECS_LOD_FULL 0u
#define GP_RM_FECS_LOD_SIMPLE 1u
#define GP_RM_FECS_LOD_COMPAT 2u
#define GP_RM_FECS_LOD_CUSTOM 3u
GP_RM_ASSERT_SIZE(gp_rm_fecs_bind, 24);
GP_RM_ASSERT_AT(gp_rm_fecs_bind, all_users, 16);
GP_RM_ASSERT_AT(gp_rm_fecs_bind, reason, 20);

/* ---- controls of a channel group (class 0xA06C): ctrla06c.h; stable ------ */

#define GP_RM_CTRL_TSG_SCHEDULE 0xa06c0101u
struct gp_rm_tsg_schedule {
	uint8_t enable;
	uint8_t skip_submit;
	uint8_t skip_enable;
};
GP_RM_ASSERT_SIZE(gp_rm_tsg_schedule, 3);

#define GP_RM_CTRL_TSG_SET_TIMESLICE 0xa06c0103u
#define GP_RM_CTRL_TSG_GET_TIMESLICE 0xa06c0104u
struct gp_rm_tsg_timeslice {
	uint64_t us;
};
GP_RM_ASSERT_SIZE(gp_rm_tsg_timeslice, 8);

/* @wait: until it is off. @timeout_us: of that wait, with @manual_timeout. */
#define GP_RM_CTRL_TSG_PREEMPT 0xa06c0105u
struct gp_rm_tsg_preempt {
	uint8_t wait;
	uint8_t manual_timeout;
	uint8_t pad[2];
	uint32_t timeout_us;
};
GP_RM_ASSERT_SIZE(gp_rm_tsg_preempt, 8);
GP_RM_ASSERT_AT(gp_rm_tsg_preempt, manual_timeout, 1);
GP_RM_ASSERT_AT(gp_rm_tsg_preempt, timeout_us, 4);

#define GP_RM_CTRL_TSG_GET_INFO 0xa06c0106u
struct gp_rm_tsg_info {
	uint32_t tsg_id; /* the hardware's number */
};
GP_RM_ASSERT_SIZE(gp_rm_tsg_info, 4);

/* ---- controls of an event buffer (class 0x90CD): ctrl90cd.h; stable ------ */

#define GP_RM_CTRL_EVENT_BUFFER_ENABLE 0x90cd0101u
struct gp_rm_event_enable {
	uint8_t enable;
	uint8_t pad[3];
	uint32_t flags; /* GP_RM_EVENT_KEEP_* */
};
#define GP_RM_EVENT_KEEP_OLDEST 1u
#define GP_RM_EVENT_KEEP_NEWEST 2u
GP_RM_ASSERT_SIZE(gp_rm_event_enable, 8);

#define GP_RM_CTRL_EVENT_BUFFER_UPDATE_GET 0x90cd0102u
struct gp_rm_event_update_get {
	uint32_t record_get;
	uint32_t vardata_get;
};
GP_RM_ASSERT_SIZE(gp_rm_event_update_get, 8);

#define GP_RM_CTRL_EVENT_BUFFER_FLUSH 0x90cd0104u /* no parameters */

/*
 * Contents of the event buffer's memory, which RM writes. The header (cl90cd.h,
 * NV_EVENT_BUFFER_HEADER): @put is the next index to write.
 */
struct gp_rm_event_header {
	uint32_t get;
	uint32_t put;
	uint64_t count;
	uint64_t drops;
	uint64_t vardata_drops;
};
GP_RM_ASSERT_SIZE(gp_rm_event_header, 32);

/* A record: 8 bytes of cl90cd.h's record header, then cl90cdfecs.h's
 * NV_EVENT_BUFFER_FECS_RECORD_V2. */
struct gp_rm_event_record {
	uint16_t type; /* GP_RM_EVENT_TYPE_FECS* */
	uint16_t subtype;
	uint32_t vardata;
	uint8_t tag; /* GP_RM_FECS_TAG_* */
	uint8_t vmid;
	uint16_t seqno;
	uint32_t context; /* 0: hidden; 0xffffffff: none, kernel's */
	uint32_t pid;	  /* likewise */
	uint16_t reserved;
	uint8_t mig_gpu_instance;
	uint8_t mig_compute_instance;
	uint64_t time_ns;
};
#define GP_RM_EVENT_TYPE_FECS_V2 2u
#define GP_RM_EVENT_TYPE_FECS 134u
#define GP_RM_FECS_TAG_SIMPLE_START 6u
#define GP_RM_FECS_TAG_SIMPLE_END 7u
#define GP_RM_FECS_TAG_INVALID_TIMESTAMP 0xffu
GP_RM_ASSERT_SIZE(gp_rm_event_record, 32);
GP_RM_ASSERT_AT(gp_rm_event_record, tag, 8);
GP_RM_ASSERT_AT(gp_rm_event_record, seqno, 10);
GP_RM_ASSERT_AT(gp_rm_event_record, pid, 16);
GP_RM_ASSERT_AT(gp_rm_event_record, time_ns, 24);

/* ---- status codes: nvstatuscodes.h; stable ------------------------------- */

#define GP_RM_OK 0x00u
#define GP_RM_ERR_BUSY_RETRY 0x03u
#define GP_RM_ERR_CARD_NOT_PRESENT 0x05u
#define GP_RM_ERR_GPU_IS_LOST 0x0fu
#define GP_RM_ERR_GPU_IN_FULLCHIP_RESET 0x10u
#define GP_RM_ERR_GPU_UUID_NOT_FOUND 0x12u
#define GP_RM_ERR_IN_USE 0x17u
#define GP_RM_ERR_INSERT_DUPLICATE_NAME 0x19u
#define GP_RM_ERR_INSUFFICIENT_RESOURCES 0x1au
#define GP_RM_ERR_INSUFFICIENT_PERMISSIONS 0x1bu
#define GP_RM_ERR_INVALID_ACCESS_TYPE 0x1du
#define GP_RM_ERR_INVALID_ADDRESS 0x1eu
#define GP_RM_ERR_INVALID_ARGUMENT 0x1fu
#define GP_RM_ERR_INVALID_CHANNEL 0x21u
#define GP_RM_ERR_INVALID_CLASS 0x22u
#define GP_RM_ERR_INVALID_CLIENT 0x23u
#define GP_RM_ERR_INVALID_COMMAND 0x24u
#define GP_RM_ERR_INVALID_DEVICE 0x26u
#define GP_RM_ERR_INVALID_OBJECT 0x31u
#define GP_RM_ERR_INVALID_OBJECT_HANDLE 0x33u
#define GP_RM_ERR_INVALID_OBJECT_PARENT 0x36u
#define GP_RM_ERR_INVALID_PARAM_STRUCT 0x3au
#define GP_RM_ERR_INVALID_PARAMETER 0x3bu
#define GP_RM_ERR_INVALID_STATE 0x40u
#define GP_RM_ERR_NO_MEMORY 0x51u
#define GP_RM_ERR_NOT_READY 0x55u
#define GP_RM_ERR_NOT_SUPPORTED 0x56u
#define GP_RM_ERR_OBJECT_NOT_FOUND 0x57u
#define GP_RM_ERR_OPERATING_SYSTEM 0x59u
#define GP_RM_ERR_OUT_OF_RANGE 0x5bu
#define GP_RM_ERR_RESET_REQUIRED 0x62u
#define GP_RM_ERR_STATE_IN_USE 0x63u
#define GP_RM_ERR_TIMEOUT 0x65u
#define GP_RM_ERR_TIMEOUT_RETRY 0x66u
#define GP_RM_ERR_GENERIC 0xffffu

/* libcuda's habits, where scans begin; nothing relies on them. */
#define GP_RM_HABIT_CLIENT_BASE 0xc1d00000u
#define GP_RM_HABIT_OBJECT_BASE 0x5c000000u

#endif
