/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h - the protocol between the software GPU's libcuda.so.1 and its server: one request,
 * one reply, over SOCK_SEQPACKET. Each client thread and each timer has its own connection.
 * Both ends come from one build, so the version is only checked for equality.
 *
 * A request is a gp_soft_req, a reply a gp_soft_rep; data may follow both. Descriptors travel
 * as SCM_RIGHTS: the RM file of an ioctl, then the file that its structure names
 * (u.ioctl.has_fd2); at most one in a reply.
 */
#ifndef GP_SOFT_PROTO_H
#define GP_SOFT_PROTO_H

#include <assert.h>
#include <stdint.h>

#define GP_SOFT_PROTO_MAGIC 0x53475047u /* "GPGS" */
#define GP_SOFT_PROTO_VERSION 1u
#define GP_SOFT_MSG_MAX 32768u
#define GP_SOFT_WAITS_MAX 64u
#define GP_SOFT_ARGS_MAX 4096u
#define GP_SOFT_NAME_MAX 64u
#define GP_SOFT_INLINE_MAX 8192u /* of a copy, within its message */

/* Interfaces name the devices by their number, from 0. */
#define GP_SOFT_GPUS_MAX 8u
#define GP_SOFT_DEVICE_NAME "gpreempt software GPU"
/* Two servers of one machine are two machines: their GPUs have other UUIDs. */
#define GP_SOFT_UUID(gpu, server)                                                                 \
	{                                                                                         \
		0x50, 0xf7, 0x00, (uint8_t)(gpu), 0x67, 0x70, 0x40, 0x00, 0x80, 0x00, 0x73, 0x6f, \
			(uint8_t)((server) >> 24), (uint8_t)((server) >> 16),                     \
			(uint8_t)((server) >> 8), (uint8_t)(server)                               \
	}
#define GP_SOFT_PCI_BUS(gpu) (0x51u + (gpu))
#define GP_SOFT_GPU_ID(gpu) (GP_SOFT_PCI_BUS(gpu) << 8)
#define GP_SOFT_DRIVER_VERSION "580.159.04"

enum gp_soft_op {
	GP_SOFT_HELLO = 1, /* u.hello; reply: value: the server's id; timers receive an eventfd */
	GP_SOFT_NOW,	   /* reply: value */
	GP_SOFT_SLEEP,	   /* a: absolute ns; the reply comes at that time */
	GP_SOFT_RM_OPEN,   /* reply: a file */
	GP_SOFT_RM_IOCTL,  /* u.ioctl, then the structure, then parameters */
	/*
	 * a: bytes, b: 1 host memory; reply: value, a file for host memory. Device memory: its
	 * address
	 */
	GP_SOFT_MEM_ALLOC,
	GP_SOFT_MEM_BIND,  /* a: value of MEM_ALLOC, b: the address of the client's mapping */
	GP_SOFT_MEM_FREE,  /* a: address */
	GP_SOFT_MEM_INFO,  /* reply: value free, value2 total bytes */
	GP_SOFT_KERNEL,	   /* a name follows; reply: value, its id */
	GP_SOFT_SUBMIT,	   /* u.submit, arguments or bytes follow; value seq */
	GP_SOFT_WAIT,	   /* u.wait; reply when all are complete */
	GP_SOFT_QUERY,	   /* u.wait; status -EAGAIN while one is not */
	GP_SOFT_TIMER_ARM, /* a: absolute ns, 0: disarm. Timers only */
	GP_SOFT_TIMER_ACK, /* status -EAGAIN: it was not due */
	GP_SOFT_TIMER_DONE,
	GP_SOFT_VIRTUAL,   /* u.virt, a and b: enum gp_soft_virtual */
	GP_SOFT_MEM_RANGE, /* a: address; reply: value its piece's address, value2 bytes */
};

/* Addresses and sizes are multiples of 2 MiB. */
enum gp_soft_virtual {
	GP_SOFT_RESERVE = 1, /* a: bytes, b: alignment or 0; reply: value address */
	GP_SOFT_UNRESERVE,   /* a: address, b: bytes */
	GP_SOFT_CREATE,	     /* a: bytes; reply: value handle */
	GP_SOFT_RELEASE,     /* a: handle */
	GP_SOFT_EXPORT,	     /* a: handle; reply: a file */
	GP_SOFT_MAP,	     /* a: address, b: bytes, handle */
	GP_SOFT_UNMAP,	     /* a: address, b: bytes */
	GP_SOFT_ACCESS,	     /* a: address, b: bytes, access: 0, 1 or 3 */
	GP_SOFT_RETAIN,	     /* a: address; reply: value another handle of what is mapped there */
};

enum gp_soft_conn_kind {
	GP_SOFT_THREAD = 1,
	GP_SOFT_TIMER = 2,
};

/* Work to wait for: a channel's method. */
struct gp_soft_point {
	uint32_t channel; /* handle, in the client of the request */
	uint32_t client;
	uint64_t seq;
};

enum gp_soft_work {
	GP_SOFT_WORK_KERNEL = 1,
	GP_SOFT_WORK_COPY,  /* dst, src or the following bytes */
	GP_SOFT_WORK_SET,   /* dst, value, width, bytes */
	GP_SOFT_WORK_FENCE, /* stamp */
	GP_SOFT_WORK_WRITE, /* dst, value: a fence that writes them */
};

struct gp_soft_submit {
	uint32_t client, channel; /* RM handles */
	uint32_t work;		  /* enum gp_soft_work */
	uint32_t kernel;	  /* id */
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
	uint32_t flags; /* GP_SOFT_COOPERATIVE, GP_SOFT_INLINE */
	uint32_t args_bytes;
	uint32_t waits;	       /* gp_soft_points before the arguments */
	uint32_t value, width; /* SET */
	uint64_t dst, src, bytes;
	uint64_t stamp; /* address of a gp_soft_stamp, or 0 */
	uint64_t stamp_seq;
	uint64_t cost_ns; /* cost of the call for its thread */
};
#define GP_SOFT_COOPERATIVE 1u
#define GP_SOFT_INLINE 2u

/* Parameters of RM's GP_RM_CTRL_FB_GET_INFO, with the list that they point to. */
#define GP_SOFT_FB_INFOS 4u
struct gp_soft_fb_info {
	uint32_t count, pad;
	uint64_t pointer;
	struct {
		uint32_t index, data;
	} info[GP_SOFT_FB_INFOS];
};

/* A fence writes this when it is reached: the time, then the number. */
struct gp_soft_stamp {
	uint64_t time_ns;
	uint64_t seq;
};

struct gp_soft_req {
	uint32_t magic;
	uint32_t op;
	uint64_t a, b;
	union {
		struct {
			uint32_t version;
			uint32_t kind; /* enum gp_soft_conn_kind */
			int32_t tid;
			uint32_t pad;
		} hello;
		struct {
			uint32_t request;
			uint32_t struct_bytes;
			uint32_t params_bytes;
			uint32_t has_fd2;
		} ioctl;
		struct gp_soft_submit submit;
		struct {
			uint32_t what; /* enum gp_soft_virtual */
			uint32_t access;
			uint64_t handle;
		} virt;
		struct {
			uint32_t count; /* gp_soft_points that follow */
			uint32_t pad;
			uint64_t cost_ns;
		} wait;
		struct {
			int32_t tid; /* of the caller */
			uint32_t pad;
		} timer;
	} u;
};
static_assert(sizeof(struct gp_soft_submit) == 112, "no holes");
static_assert(sizeof(struct gp_soft_req) == 136, "no holes");

struct gp_soft_rep {
	int32_t status;		/* 0 or negative errno */
	uint32_t context_error; /* nonzero: a kernel of this process faulted */
	uint64_t value, value2;
	uint64_t now_ns;
};
static_assert(sizeof(struct gp_soft_rep) == 32, "no holes");

#endif
