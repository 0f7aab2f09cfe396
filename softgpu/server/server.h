/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - the software GPU's server: one thread, one loop.
 *
 * clock.c: the lockstep clock and the states of connections. conn.c: sockets and processes.
 * handle.c: one message. memory.c: addresses. virtual.c: mappings. job.c: work in the model's
 * channels. rm.c, rm_log.c: objects and controls, as in the resource manager. kernels.c:
 * computations of kernels.
 */
#ifndef GP_SOFT_SERVER_H
#define GP_SOFT_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nvidia-backend/rm_abi.h"
#include "softgpu/model.h"
#include "softgpu/proto.h"
#include "softgpu/server/thread_state.h"

#define SOFT_CONNS_MAX 1024u
#define SOFT_OBJECTS_MAX 4096u	      /* per client of RM */
#define SOFT_REGIONS_MAX 16384u	      /* per process */
#define SOFT_CLIENTS_MAX 64u	      /* per process */
#define SOFT_FILES_MAX 256u	      /* per process */
#define SOFT_VRAM_BYTES (16ull << 30) /* default */
#define SOFT_PAGE_BYTES (2ull << 20)
#define SOFT_HOST_MAX (16ull << 30) /* one piece of host memory */
#define SOFT_NEVER UINT64_MAX

struct soft_server;
struct soft_conn;
struct soft_job;

/* One of the server's GPUs. They share the clock, memory and files. */
struct soft_gpu {
	struct soft_server *server;
	struct gp_model *model;
	uint32_t index;
};

/* ---- memory.c ---------------------------------------------------------- */

struct soft_handle;
struct soft_mapping;

/* A piece of memory; freed with its last reference. */
struct soft_region {
	struct soft_region *next;
	uint64_t addr; /* 0: host memory that is not bound yet */
	uint64_t bytes;
	uint64_t token; /* MEM_ALLOC's answer, for MEM_BIND */
	unsigned char *map;
	uint32_t refs;
	bool host;
	bool reserved; /* addresses only: see virtual.c */
	struct soft_mapping *mappings;
};

/* ---- conn.c ------------------------------------------------------------ */

struct soft_proc {
	struct soft_proc *next;
	pid_t pid;
	uid_t uid;
	int pidfd;
	uint32_t conns;
	uint32_t region_count, file_count, client_count;
	uint32_t mapping_count; /* and handles */
	struct soft_region *regions;
	struct soft_handle *handles;
	uint64_t next_addr;
	uint64_t device_bytes;
	uint32_t error; /* a kernel of it used an invalid address */
	bool gone;
};

enum soft_state {
	SOFT_RUN,  /* on a CPU: time stands still */
	SOFT_AWAY, /* asleep elsewhere, until its next call */
	/* a timer's thread between two of its expiries: its next call matters, on a CPU or not */
	SOFT_PARKED,
	SOFT_DELAY,   /* pays for its call, which runs after that */
	SOFT_SLEEP,   /* reply is due at wake_ns */
	SOFT_WAIT,    /* for points */
	SOFT_SPACE,   /* for room in a channel */
	SOFT_CONTROL, /* for a control of the model, and wake_ns */
	SOFT_OFF,     /* timer: disarmed */
	SOFT_ARMED,
	SOFT_FIRED, /* its thread has not noticed it */
	SOFT_ACKED, /* its thread serves it */
};

struct soft_conn {
	struct soft_conn *next;
	struct soft_proc *proc; /* NULL before HELLO */
	int fd, event_fd;
	struct soft_thread_files thread;
	uint32_t kind;
	pid_t tid;
	enum soft_state state;
	uint64_t order; /* the first to block goes first */
	uint64_t wake_ns;
	bool control_done;
	bool ignored; /* timer: not served, time continues */
	int ack_tid;
	/* last observation of its thread; start of a stall */
	uint64_t switches;
	uint64_t stall_since_ns;
	uint64_t others_ns;	/* CPU time of threads that never called, during the stall */
	uint64_t clock_debt_ns; /* of reading the clock */
	bool closing;
	/* the present request */
	uint32_t bytes;
	dev_t file_dev;
	ino_t file_ino;
	bool has_file;
	int file2; /* its second, until the answer; or -1 */
	_Alignas(8) unsigned char msg[GP_SOFT_MSG_MAX];
};

/* ---- rm.c -------------------------------------------------------------- */

struct soft_file {
	struct soft_file *next;
	struct soft_proc *proc;
	dev_t dev;
	ino_t ino;
	bool mapped; /* a memory object uses its pages */
	bool seen;   /* in the search for closed files */
};

struct soft_log;

struct soft_object {
	struct soft_object *next;
	struct soft_client *client;
	uint32_t handle, parent, cls;
	struct soft_gpu *gpu;  /* of its device; NULL above one */
	uint32_t model;	       /* group's or channel's id there */
	uint32_t engine;       /* group */
	bool scheduled;	       /* group */
	bool off;	       /* group: suspended in the model */
	bool disabled;	       /* channel */
	uint64_t done_seq;     /* channel */
	struct soft_job *jobs; /* channel: not complete */
	void *map;	       /* memory: the server's mapping */
	uint64_t map_bytes;
	struct soft_file *map_file;
	struct soft_log *log; /* event buffer */
};

struct soft_client {
	struct soft_client *next;
	struct soft_file *file;
	uint32_t handle;
	uint32_t object_count;
	struct soft_object *objects;
};

/* Calls that can be made to fail. */
enum soft_fault {
	SOFT_FAULT_COPY,
	SOFT_FAULT_CREATE,
	SOFT_FAULT_MAP,
	SOFT_FAULTS
};

struct soft_server {
	struct soft_gpu gpu[GP_SOFT_GPUS_MAX];
	uint32_t gpus;
	uint32_t id; /* in the UUIDs of its GPUs */
	struct gp_model_config cfg;
	int epoll_fd, listen_fd;
	struct soft_conn *conns;
	struct soft_proc *procs;
	struct soft_file *files;
	struct soft_client *clients;
	struct soft_job *holds; /* hold kernels that are not complete */
	uint32_t conn_count;
	uint64_t order;
	uint64_t next_token;
	uint32_t next_client;
	uint64_t device_bytes, memory_bytes; /* in use; in all */
	const char *faults;		     /* path of the file of planted faults; NULL: none */
	uint64_t fault_calls[SOFT_FAULTS];   /* since the file counts them */
	uint64_t cookies;
	uint64_t look_ns; /* wait for a call before asking the kernel */
	bool fuzzing;	  /* no /proc, no sockets behind fds */
};

/* clock.c */
uint64_t soft_now(struct soft_server *s);
/** Run until the last client has left. */
int soft_loop(struct soft_server *s);
void soft_conn_block(struct soft_server *s, struct soft_conn *c, enum soft_state state);
void soft_park_thread(struct soft_server *s, struct soft_proc *p, pid_t tid);
/** Move time by one event; false: no event will ever come. */
bool soft_advance(struct soft_server *s);
struct soft_conn *soft_ready(struct soft_server *s);

struct soft_options {
	uint32_t gpus;		    /* 1 to GP_SOFT_GPUS_MAX */
	uint32_t id;		    /* in the UUIDs of its GPUs */
	uint64_t memory_bytes;	    /* 0: SOFT_VRAM_BYTES */
	uint64_t copy_bytes_per_us; /* 0: the card's */
	const char *faults;	    /* path of the file of planted faults, or NULL */
};

/* conn.c */
struct soft_server *soft_server_create(int listen_fd, const struct soft_options *options);
void soft_server_destroy(struct soft_server *s);
void soft_accept(struct soft_server *s);
struct soft_conn *soft_conn_create(struct soft_server *s, int fd, pid_t pid, uid_t uid);
void soft_conn_receive(struct soft_server *s, struct soft_conn *c);
void soft_conn_destroy(struct soft_server *s, struct soft_conn *c);
void soft_proc_end(struct soft_server *s, struct soft_proc *p);
void soft_reap(struct soft_server *s);
void soft_reply(struct soft_server *s, struct soft_conn *c, int status, uint64_t value,
		uint64_t value2, const void *data, size_t bytes, int fd);

/* handle.c */
/** One message from any peer. False: invalid, close the connection. */
bool soft_handle(struct soft_server *s, struct soft_conn *c, size_t bytes);
/** Execute (or continue) the due request of @c. */
void soft_go_on(struct soft_server *s, struct soft_conn *c);
bool soft_points_done(struct soft_server *s, struct soft_conn *c);

/* memory.c */
int soft_memory_file(const char *name, uint64_t bytes, void **map);
int soft_region_create(struct soft_server *s, struct soft_proc *p, uint64_t bytes, bool host,
		       struct soft_region **region, int *fd);
int soft_region_bind(struct soft_proc *p, uint64_t token, uint64_t addr);
/** @reserved: a reservation without mappings; else a piece of memory. */
int soft_region_free(struct soft_server *s, struct soft_proc *p, uint64_t addr, bool reserved);
void soft_region_put(struct soft_region *r);
void soft_regions_drop(struct soft_server *s, struct soft_proc *p);
/** New addresses of @p. */
uint64_t soft_region_place(struct soft_proc *p, uint64_t bytes, uint64_t align);
/** Does the file of planted faults make this call fail? */
bool soft_fault_planted(struct soft_server *s, enum soft_fault fault);
/** The region that contains [addr, addr + bytes), referenced; or NULL. */
struct soft_region *soft_region_get(struct soft_proc *p, uint64_t addr, uint64_t bytes);

/* virtual.c: each returns 0 or -errno */
int soft_physical_create(struct soft_server *s, struct soft_proc *p, uint64_t bytes, uint64_t *id);
int soft_physical_release(struct soft_server *s, struct soft_proc *p, uint64_t id);
/** Another handle of the memory that is mapped at @addr. */
int soft_physical_retain(struct soft_server *s, struct soft_proc *p, uint64_t addr, uint64_t *id);
/** A file of it, the caller's; or -errno. */
int soft_physical_file(struct soft_proc *p, uint64_t id);
int soft_virtual_reserve(struct soft_proc *p, uint64_t bytes, uint64_t align, uint64_t *addr);
int soft_virtual_free(struct soft_server *s, struct soft_proc *p, uint64_t addr, uint64_t bytes);
int soft_virtual_map(struct soft_proc *p, uint64_t addr, uint64_t bytes, uint64_t id);
int soft_virtual_unmap(struct soft_server *s, struct soft_proc *p, uint64_t addr, uint64_t bytes);
int soft_virtual_access(struct soft_proc *p, uint64_t addr, uint64_t bytes, uint32_t access);
/** May work read and write all of it? */
bool soft_virtual_usable(const struct soft_region *r, uint64_t addr, uint64_t bytes);
/** The mapping with @addr; false: none. */
bool soft_virtual_range(const struct soft_region *r, uint64_t addr, uint64_t *base,
			uint64_t *bytes);
void soft_virtual_drop(struct soft_server *s, struct soft_proc *p);

/* job.c */
int soft_submit(struct soft_server *s, struct soft_conn *c, uint64_t *seq);
void soft_jobs_drop(struct soft_server *s, struct soft_object *channel);
/** Of a soft_gpu's model: @arg. */
void soft_model_event(void *arg, const struct gp_model_event *ev);
/** Check the words of holds. Returns when one ends by its limit, or SOFT_NEVER. */
uint64_t soft_holds_look(struct soft_server *s);

/* rm.c */
int soft_rm_open(struct soft_server *s, struct soft_proc *p, int *fd);
/** 0: @c was answered or waits; -errno: the call itself failed. */
int soft_rm_ioctl(struct soft_server *s, struct soft_conn *c);
void soft_rm_cost(struct soft_server *s, struct soft_conn *c, uint64_t *ns);
struct soft_object *soft_rm_channel(struct soft_server *s, struct soft_proc *p, uint32_t client,
				    uint32_t handle);
struct soft_object *soft_rm_object(struct soft_client *client, uint32_t handle);
void soft_rm_proc_end(struct soft_server *s, struct soft_proc *p);

/* rm_log.c */
uint32_t soft_log_create(struct soft_object *buffer,
			 const struct gp_rm_event_buffer_params *params);
void soft_log_destroy(struct soft_object *buffer);
uint32_t soft_log_control(struct soft_object *buffer, uint32_t cmd, const void *params,
			  size_t bytes);
uint32_t soft_log_bind(struct soft_client *client, const struct soft_gpu *gpu,
		       struct gp_rm_fecs_bind *bind);
void soft_log_record(const struct soft_gpu *gpu, const struct gp_model_event *ev);

/* kernels.c */
#define SOFT_KERNEL_REGIONS 4u

struct soft_launch {
	struct soft_proc *proc;
	uint32_t grid[3], block[3];
	uint64_t blocks;
	const unsigned char *args;
	uint32_t args_bytes;
	struct soft_region *region[SOFT_KERNEL_REGIONS];
	void *ptr[SOFT_KERNEL_REGIONS];
	uint64_t addr[SOFT_KERNEL_REGIONS], bytes[SOFT_KERNEL_REGIONS];
	uint64_t first_done; /* blocks done, for kernels that compute at the end */
};

struct soft_kernel {
	const char *name;
	uint32_t args_bytes;
	bool hold;
	bool cooperative; /* only by a cooperative launch */
	/* Sets the time of a block; finds the memory. -EFAULT: invalid. */
	int (*prepare)(struct soft_launch *l, uint64_t *block_ns);
	void (*blocks)(struct soft_launch *l, uint64_t first, uint64_t count);
};
const struct soft_kernel *soft_kernel(uint32_t id);
uint32_t soft_kernel_find(const char *name); /* 0: not known */
void soft_launch_put(struct soft_launch *l);

#endif
