/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small library over /dev/kfd and the render node, for tests. It makes the calls of
 * ROCr in the simplest form. Functions return 0 or -errno unless documented otherwise.
 */
#ifndef TESTS_KFD_H
#define TESTS_KFD_H

#include <linux/kfd_ioctl.h>
#include <linux/kfd_sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KFD_MAX_GPUS 8
#define KFD_PAGE_BYTES 4096u

/* ---- devices --------------------------------------------------------------- */

/**
 * struct kfd_gpu - a device of the topology
 * @gpu_id: the KFD's number for it
 * @node: its node in the topology
 * @index: of the software GPU, for its debugfs folder
 * @render_fd: its render node, open from kfd_acquire() on, else -1
 * @xccs: XCCs; a queue has a save area for each
 * @cus: compute units of each XCC
 * @cwsr_bytes, @ctl_stack_bytes, @debug_bytes: sizes of the save area of each
 * @doorbells: this process's doorbells, mapped with the first queue
 */
struct kfd_gpu {
	uint32_t gpu_id;
	uint32_t node;
	uint32_t index;
	uint32_t render_minor;
	uint32_t simd_count;
	uint32_t xccs;
	uint32_t cus;
	uint32_t cwsr_bytes;
	uint32_t ctl_stack_bytes;
	uint32_t debug_bytes;
	uint32_t gfx_version;
	int render_fd;
	uint8_t *doorbells;
};

struct kfd_mem {
	void *va; /* the same for the CPU and the GPU */
	uint64_t bytes;
	uint64_t handle;
	uint32_t gpu_id;
	bool mapped;
};

/** struct kfd - this process's use of the KFD, by one thread at a time */
struct kfd {
	int fd;
	struct kfd_ioctl_get_version_args version;
	struct kfd_gpu gpus[KFD_MAX_GPUS];
	unsigned int num_gpus;
	struct kfd_mem event_page;
	/* kfd_signal_create() takes signals from here. */
	struct kfd_mem signal_pool;
	unsigned int signals_used;
};

/** kfd_open - open /dev/kfd and read the topology; no VM is acquired */
int kfd_open(struct kfd *k);
/** kfd_acquire - give the process a VM on a device; once per device */
int kfd_acquire(struct kfd *k, unsigned int gpu);
/** kfd_setup - open, and acquire the first device */
int kfd_setup(struct kfd *k);
/** kfd_close - close the files; memory and queues go with the process */
void kfd_close(struct kfd *k);
/** kfd_call - ioctl on /dev/kfd: 0 or -errno; EINTR is not retried */
int kfd_call(const struct kfd *k, unsigned long request, void *args);

/* ---- memory ---------------------------------------------------------------- */

#define KFD_MEM_RW (KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE)
/* System memory that the CPU and the GPU see at once: rings, signals, flags */
#define KFD_MEM_GTT                                                                    \
	(KFD_MEM_RW | KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | \
	 KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE)
/* Video memory that the CPU can reach */
#define KFD_MEM_VRAM                                                                  \
	(KFD_MEM_RW | KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | \
	 KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE)
/* Memory of the process itself, pinned by the driver */
#define KFD_MEM_USERPTR                                                                    \
	(KFD_MEM_RW | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | \
	 KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE)

/** kfd_mem_alloc - allocate zeroed memory and map it for CPU and GPU; bytes is rounded up */
int kfd_mem_alloc(struct kfd *k, unsigned int gpu, uint64_t bytes, uint32_t flags,
		  struct kfd_mem *mem);
/** kfd_mem_import - map memory of the process, which may be shared, for the GPU */
int kfd_mem_import(struct kfd *k, unsigned int gpu, void *va, uint64_t bytes, struct kfd_mem *mem);
/** kfd_mem_free - unmap and free; no effect on memory that was never allocated */
int kfd_mem_free(struct kfd *k, struct kfd_mem *mem);

/* ---- code ------------------------------------------------------------------ */

/** struct kfd_code - the kernels of kernels.cl, loaded on a device */
struct kfd_code {
	struct kfd_mem mem;
};

/** kfd_code_load - load it into memory of the kind that flags name */
int kfd_code_load(struct kfd *k, unsigned int gpu, uint32_t flags, struct kfd_code *code);
/** kfd_code_find - GPU address of a kernel's descriptor; 0: no such kernel */
uint64_t kfd_code_find(const struct kfd_code *code, const char *name);

/* ---- signals --------------------------------------------------------------- */

/**
 * struct kfd_signal - amd_signal_t of the HSA runtime's ABI
 *
 * Times are in ticks of the GPU's clock, 100 MHz.
 */
struct kfd_signal {
	int64_t kind;
	int64_t value;
	uint64_t event_mailbox_ptr;
	uint32_t event_id;
	uint32_t reserved1;
	uint64_t start_ts;
	uint64_t end_ts;
	uint64_t queue_ptr;
	uint32_t reserved3[2];
};

/** kfd_signal_create - take a signal from the pool; by_event: waits use an interrupt.
 *  NULL: the pool is empty */
struct kfd_signal *kfd_signal_create(struct kfd *k, int64_t value, bool by_event);
int64_t kfd_signal_value(const struct kfd_signal *sig);
void kfd_signal_set(struct kfd_signal *sig, int64_t value);
/** kfd_signal_wait - wait until the value is below limit. 0 or -ETIME */
int kfd_signal_wait(struct kfd *k, struct kfd_signal *sig, int64_t limit, int timeout_ms);

/* ---- queues ---------------------------------------------------------------- */

/** struct kfd_packet - an AQL packet, HSA Runtime Specification 2.9 */
struct kfd_packet {
	uint16_t header;
	uint16_t setup;
	union {
		struct {
			uint16_t workgroup[3];
			uint16_t reserved0;
			uint32_t grid[3];
			uint32_t private_bytes;
			uint32_t group_bytes;
			uint64_t kernel_object;
			uint64_t kernarg;
			uint64_t reserved2;
		} __attribute__((packed)) dispatch;
		struct {
			uint32_t reserved0;
			uint64_t dep[5];
			uint64_t reserved2;
		} __attribute__((packed)) barrier;
	} __attribute__((packed));
	uint64_t completion;
} __attribute__((packed, aligned(64)));

#define KFD_KERNARG_BYTES 128 /* room for a packet's arguments */

/** struct kfd_queue - an AQL queue with its buffers */
struct kfd_queue {
	struct kfd *k;
	uint32_t gpu;
	uint32_t id;
	uint32_t packets;
	uint64_t *wptr;
	uint64_t *rptr;
	volatile uint64_t *doorbell;
	uint64_t next;
	struct kfd_mem ring, pointers, eop, cwsr, kernarg;
};

/** kfd_queue_create - packets: size of the ring, a power of 2, at least 64 */
int kfd_queue_create(struct kfd *k, unsigned int gpu, uint32_t packets, struct kfd_queue *q);
/** kfd_queue_update - AMDKFD_IOC_UPDATE_QUEUE */
int kfd_queue_update(struct kfd_queue *q, uint32_t percentage);
/** kfd_queue_destroy - destroy it and free its buffers */
int kfd_queue_destroy(struct kfd_queue *q);
/** kfd_queue_room - number of packets that fit into the ring now */
uint32_t kfd_queue_room(const struct kfd_queue *q);

#define KFD_BARRIER_BIT (1u << 8)

struct kfd_launch {
	uint64_t kernel;
	uint32_t grid[3];
	uint16_t workgroup[3];
	const void *args;
	size_t args_bytes;
	struct kfd_signal *signal;
	uint32_t group_bytes; /* 0: the kernel's own */
	bool barrier;
	bool quiet; /* the caller rings the doorbell */
};

/** kfd_launch - queue a kernel dispatch. -EAGAIN: the ring is full */
int kfd_launch(struct kfd_queue *q, const struct kfd_launch *l);
/** kfd_barrier - queue a barrier-AND, or with any, a barrier-OR */
int kfd_barrier(struct kfd_queue *q, struct kfd_signal *const *deps, unsigned int num, bool any,
		struct kfd_signal *signal);
/** kfd_ring - ring the doorbell for all packets so far */
void kfd_ring(struct kfd_queue *q);

/* ---- the kernels and their reference results --------------------------------- */

struct k_hash_args {
	uint32_t *out;
	uint32_t iters, seed;
};
struct k_beat_args {
	uint32_t *out, *beat;
	uint32_t iters, seed;
};
struct k_f32_args {
	uint32_t *out;
	uint32_t iters;
	float a, b;
};
struct k_grid_args {
	uint32_t *out;
	uint32_t width, height;
};
struct k_spin_args {
	uint32_t *out, *beat, *stop;
};
struct k_fault_args {
	uint32_t *nowhere;
};

uint32_t kfd_ref_hash(uint32_t i, uint32_t iters, uint32_t seed);
uint32_t kfd_ref_diverge(uint32_t i, uint32_t iters, uint32_t seed);
uint32_t kfd_ref_regs(uint32_t i, uint32_t iters, uint32_t seed);
uint32_t kfd_ref_f32(uint32_t i, uint32_t iters, float a, float b);
/** kfd_ref_lds - fill in the 256 results of one workgroup */
void kfd_ref_lds(uint32_t group, uint32_t iters, uint32_t seed, uint32_t out[256]);

/* ---- work with a known result -------------------------------------------------- */

#define WORK_VARIANTS 8

/**
 * struct kfd_work - launches of kernels of all kinds into one output
 * @items: work-items of each launch, a multiple of 256
 * @launched: launches of each variant; the output must be exactly their sum
 */
struct kfd_work {
	struct kfd *k;
	struct kfd_code code;
	struct kfd_mem out;
	uint32_t items;
	uint32_t heavy;
	uint32_t launched[WORK_VARIANTS];
	uint32_t *want[WORK_VARIANTS];
};

/** kfd_work_create - heavy: length of a launch, in units of some 20 turns of a loop */
int kfd_work_create(struct kfd *k, unsigned int gpu, uint32_t items, uint32_t heavy,
		    struct kfd_work *w);
/** kfd_work_launch - launch kernel variant % WORK_VARIANTS */
int kfd_work_launch(struct kfd_work *w, struct kfd_queue *q, uint32_t variant,
		    struct kfd_signal *signal);
/** kfd_lose_queue - make a queue with an endless wave that will not answer its next dequeue;
 *  returns the wave's words (TENANT_BEAT) */
volatile uint32_t *kfd_lose_queue(struct kfd *k, struct kfd_queue *q);
/** kfd_work_wrong - number of words that differ from the reference */
uint32_t kfd_work_wrong(const struct kfd_work *w);

/* ---- classes and holds ------------------------------------------------------- */

/** kfd_has_sched - does the kernel know the calls of kfd_sched.h? */
bool kfd_has_sched(struct kfd *k);
/** kfd_open_sched - open /dev/kfd; bail if the kernel lacks the calls */
void kfd_open_sched(struct kfd *k);
/** kfd_set_class - queue_id UINT32_MAX: the whole process */
int kfd_set_class(struct kfd *k, uint32_t gpu_id, uint32_t pid, uint32_t queue_id,
		  uint32_t sched_class, uint32_t level, uint32_t weight);
/** kfd_hold - hold for limit_ns; args: the kernel's answer */
int kfd_hold(struct kfd *k, uint32_t gpu_id, uint32_t level, uint64_t limit_ns, uint32_t flags,
	     struct kfd_ioctl_sched_hold_args *args);
int kfd_release(struct kfd *k, uint32_t gpu_id, uint32_t hold_id,
		struct kfd_ioctl_sched_release_args *args);
/** kfd_states - read up to num states of queues; returns the number of queues */
int kfd_states(struct kfd *k, uint32_t gpu_id, struct kfd_sched_queue_state *states,
	       unsigned int num, struct kfd_sched_device_state *dev);

/* ---- the software GPU's debugfs ------------------------------------------------ */

/** simgpu_write - write text into /sys/kernel/debug/simgpu/<gpu>/<file> */
int simgpu_write(unsigned int gpu, const char *file, const char *text);
int simgpu_write_u64(unsigned int gpu, const char *file, uint64_t value);
int simgpu_read_u64(unsigned int gpu, const char *file, uint64_t *value);
/** simgpu_param - set a time of GPU 0's engine/params, or bail. Returns the old value: the
 *  test must restore it, as the next one may get the same module */
uint64_t simgpu_param(const char *name, uint64_t value);

/** simgpu_counter - a value of engine/counters; 0: no such name */
uint64_t simgpu_counter(unsigned int gpu, const char *name);
/** simgpu_checks - number of driver errors that the GPUs saw since this test began */
uint64_t simgpu_checks(void);

/** struct sim_event - a line of engine/events; see events.c of the software GPU */
struct sim_event {
	uint64_t number;
	uint64_t ns; /* CLOCK_MONOTONIC */
	char kind[16];
	int hqd;
	unsigned int vmid;
	unsigned int pasid;
	uint64_t queue; /* address of its ring */
	uint64_t value;
};

/** struct sim_log - a reader of the events of one GPU */
struct sim_log {
	int fd;
	uint64_t lost;
	char buf[8192];
	size_t len, pos;
};

/** sim_log_open - read events from now on */
int sim_log_open(struct sim_log *log, unsigned int gpu);
/** sim_log_next - false: no more events yet */
bool sim_log_next(struct sim_log *log, struct sim_event *ev);
/** sim_log_skip - drop all events so far */
void sim_log_skip(struct sim_log *log);
void sim_log_close(struct sim_log *log);

/* ---- tenants: processes that keep queues busy ---------------------------------- */

#define TENANT_QUEUES 16

/**
 * struct tenant - one process, in memory that it shares with its parent
 * @queues: number of its queues; the parent sets all fields before @pid
 * @heavy: of its work, see kfd_work_create(); 0: each queue has one endless wave
 *	instead, which counts its beats
 * @gap_us: pause after each launch
 * @ahead: packets that it keeps in each ring
 * @stop: set by the parent: finish, check, exit
 * @ready: its queues exist and have work
 * @sent, @wrong: packets, and words that differ from the reference
 * @unfinished: packets that did not end in time
 * @words: of each endless wave: seen by the GPU, the tenant and its parent
 */
struct tenant {
	uint32_t queues, heavy, gap_us, ahead;
	uint32_t by_class; /* set the class below for the process */
	uint32_t sched_class, level, weight;
	pid_t pid;
	uint32_t stop, ready, failed;
	uint32_t sent, wrong, unfinished;
	uint32_t queue_id[TENANT_QUEUES];
	uint64_t ring[TENANT_QUEUES];
	volatile uint32_t *words[TENANT_QUEUES];
};

/* Offsets of an endless wave's arguments in a tenant's words, 64 of each */
#define TENANT_OUT 0
#define TENANT_BEAT 64
#define TENANT_STOP 128

/** tenants_alloc - allocate them in memory that parent and children share */
struct tenant *tenants_alloc(unsigned int num);
/** tenant_start - fork it; tenants_ready() waits until all have work */
void tenant_start(struct tenant *t);
int tenants_ready(struct tenant *t, unsigned int num, int timeout_ms);
struct tenants_sum {
	uint32_t sent, wrong, unfinished, died;
};
/** tenants_end - ask all to end, and wait; those that do not end are killed, and count as died */
struct tenants_sum tenants_end(struct tenant *t, unsigned int num, int timeout_ms);
/** tenants_stop - ask all to end, wait, and print one point for their results */
void tenants_stop(struct tenant *t, unsigned int num, int timeout_ms);
/** tenant_kill - SIGKILL, and reap */
void tenant_kill(struct tenant *t);

/** tenants_simple - start num tenants with queues of work each, as heavy as given, and
 *  wait until all are ready */
void tenants_simple(struct tenant *t, unsigned int num, unsigned int queues, unsigned int heavy);

/* ---- TAP ----------------------------------------------------------------------- */

/** ok - one point; returns cond */
bool ok(bool cond, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** ok_time - a point on a time limit. It is skipped with KFD_SLOW_KERNEL, because such a
 *  kernel (KASAN) slows everything down, the software GPU's waves included */
bool ok_time(bool cond, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** ok_or_fault - one point; if it fails, it names the fault of the hardware that explains it */
bool ok_or_fault(bool cond, const char *fault, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** is_err - one point: got equals want; each is 0 or -errno */
bool is_err(int got, int want, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void skip(const char *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** figure - print a measured value, which the rig shows */
void figure(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** figure_times - print median, 99th percentile and maximum of @num times; sorts them */
void figure_times(const char *what, uint64_t *ns, unsigned int num);
/** expect_dmesg - matching lines of the kernel's log are no failure */
void expect_dmesg(const char *regex);
/** bail - fail and end at once */
void bail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/** done - print the plan; returns the exit status for main() */
int done(void);
/** must - bail unless err is 0 */
void must(int err, const char *what);

/* ---- the machine ------------------------------------------------------------- */

/** machine_suspend - suspend to RAM (S3); the clock wakes it after seconds */
int machine_suspend(unsigned int seconds);
/**
 * driver_be_patient - raise the driver's limit for a save on a slow kernel
 *
 * With KFD_SLOW_KERNEL a save can take more than the driver's 100 ms, and the queue is
 * not stuck.
 */
void driver_be_patient(void);
/** trace_exits - have the kernel trace when processes are killed */
int trace_exits(void);
/**
 * trace_exit_ns - when the exit of pid by SIGKILL began, CLOCK_MONOTONIC; 0: not yet
 *
 * From the event signal_deliver: sched_process_exit is after exit_mm(), which ends holds.
 */
uint64_t trace_exit_ns(pid_t pid);

/* ---- helpers --------------------------------------------------------------------- */

/** scaled - count times KFD_SCALE, at least 1 */
unsigned int scaled(unsigned int count);
uint64_t now_ns(void);
void sleep_ns(uint64_t ns);
/** rng - the next number by xorshift */
uint32_t rng(void);
/** rng_seed - seed rng() and print the seed */
void rng_seed(uint64_t seed);
/** rng_start - seed rng() in a child, without printing */
void rng_start(uint64_t seed);
/** shared_alloc - zeroed memory that children share */
void *shared_alloc(size_t bytes);
/** wait_word - poll a word until it is at least value; 0 or -ETIME */
int wait_word(volatile uint32_t *word, uint32_t value, int timeout_ms);

#endif
