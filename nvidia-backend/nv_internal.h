/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nv_internal.h - shared by the files of nvidia-backend, and by its tests.
 *
 * Lock order: tracker -> file references; nothing else nests. Only a log holds its lock over
 * an RM call.
 */
#ifndef GP_NV_INTERNAL_H
#define GP_NV_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "gpreempt/hal.h"
#include "nvidia-backend/hold_abi.h"
#include "nvidia-backend/rm_abi.h"

#define GP_NV_MAX_CHANNELS 64 /* of one group */

/* ---- transport: the path of RM calls; transport.c ------------------------ */

struct gp_nv_cuda;
struct statx;

/**
 * struct gp_nv_transport - NVIDIA's driver, the software GPU, or a test.
 * @prefix: start of the readlink of /proc/PID/fd/N of a control file
 * @is_ctl: by its statx (type and device), is it a control file? NULL: a memfd with @prefix is
 * @open_ctl: a new control file, O_CLOEXEC; fd or negative errno
 * @open_gpu: a file that keeps GPU @minor awake; fd or negative errno; may be NULL
 * @open_slot: the file with the short slice's lock at byte @minor; NULL: a control file
 * @ioctl: as ioctl(2)
 * @cuda: its driver API; NULL: its libcuda's, by dlsym
 *
 * Hints and holds use its clock and timers. If now is NULL they use CLOCK_MONOTONIC and
 * timerfd.
 */
struct gp_nv_transport {
	const char *name;
	const char *prefix;
	bool virtual_time;
	bool (*is_ctl)(const struct statx *st);
	int (*open_ctl)(void);
	int (*open_gpu)(uint32_t minor);
	int (*open_slot)(void);
	int (*ioctl)(int fd, unsigned long request, void *arg);
	int (*driver_version)(char *buf, size_t len);
	int (*cuda)(struct gp_nv_cuda *cu);
	uint64_t (*now_ns)(void);
	int (*timer_open)(void);
	int (*timer_close)(int fd);
	int (*timer_arm)(int fd, uint64_t at_ns);
	int (*timer_ack)(int fd);
	int (*timer_done)(int fd);
};

const struct gp_nv_transport *gp_nv_transport_real(void);
/* The software GPU's, loading its libcuda if @load; NULL: not available. */
const struct gp_nv_transport *gp_nv_transport_soft(bool load);
/* The same, only to identify its files: without its libcuda, nothing can be called. */
const struct gp_nv_transport *gp_nv_transport_soft_files(void);
/* The transport of the loaded libcuda (tracker). */
const struct gp_nv_transport *gp_nv_transport_current(void);
/* The libcuda for @t, loaded if necessary; NULL and errno. */
void *gp_nv_libcuda(const struct gp_nv_transport *t);

/* ---- RM calls; rm.c ------------------------------------------------------ */

/* A client of our own on a control file of our own. */
struct gp_nv_client {
	const struct gp_nv_transport *t;
	int fd;
	uint32_t handle;
	pid_t pid; /* its creator: a fork's child must not free it */
};

/* RM's status of this thread's last call, for messages and tests. */
uint32_t gp_nv_last_status(void);
int gp_nv_status_errno(uint32_t status);
const char *gp_nv_status_name(uint32_t status);

int gp_nv_control(const struct gp_nv_transport *t, int fd, uint32_t client, uint32_t object,
		  uint32_t cmd, void *params, uint32_t bytes);
/* @object: in 0 or the wanted handle, out the handle. */
int gp_nv_alloc(const struct gp_nv_client *c, uint32_t parent, uint32_t cls, void *params,
		uint32_t *object);
int gp_nv_free(const struct gp_nv_client *c, uint32_t parent, uint32_t object);
/* Prepare @map->fd for mmap. */
int gp_nv_map(const struct gp_nv_client *c, struct gp_rm_map_memory *map);
int gp_nv_client_open(const struct gp_nv_transport *t, struct gp_nv_client *c);
void gp_nv_client_close(struct gp_nv_client *c);
int gp_nv_handle_class(const struct gp_nv_transport *t, int fd, uint32_t client, uint32_t object,
		       uint32_t *cls);
int gp_nv_handle_parent(const struct gp_nv_transport *t, int fd, uint32_t client, uint32_t object,
			uint32_t *parent);

/* Driver's version, as "580.159.04"; 0, -ENODEV none, -EOPNOTSUPP too old. */
#define GP_NV_OLDEST_DRIVER 535
int gp_nv_driver_version(const struct gp_nv_transport *t, char *buf, size_t len);
/* Explains -ENODEV into @why if a card is there, but not the driver or its device files. */
void gp_nv_explain_missing(char *why, size_t why_len);

/* Real time in ns, even if the device's clock is virtual. */
static inline uint64_t gp_nv_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- devices; device.c --------------------------------------------------- */

struct gp_nv_log;

struct gp_nv_device {
	struct gp_device base;
	const struct gp_nv_transport *t;
	uint32_t gpu_id;
	pthread_mutex_t lock;  /* protects log, compute_clients */
	struct gp_nv_log *log; /* the latest one opened: source of usage() */
	struct gp_nv_compute_clients *compute_clients; /* made at the first query; or NULL */
	uint32_t compute_class;			       /* atomic; 0: unknown */
};

#define gp_nv_of(type, ptr) ((struct type *)(void *)(ptr))

int gp_nv_probe(const struct gp_nv_transport *t, struct gp_device_list *list,
		uint32_t gpu_id[GP_HAL_MAX_DEVICES]);
int gp_nv_device_open(const struct gp_nv_transport *t, const struct gp_hal_ops *ops,
		      const struct gp_device_id *id, struct gp_device **dev);
/*
 * On our own client, wake the GPU and make a device and a subdevice of it. @gpu_fd keeps the
 * GPU awake; -1: not needed.
 */
int gp_nv_client_device(const struct gp_nv_client *c, uint32_t gpu_id, uint32_t minor, int *gpu_fd,
			uint32_t *device, uint32_t *subdevice);
/* The ops table of a transport. */
const struct gp_hal_ops *gp_nv_ops(const struct gp_nv_transport *t);

/* ---- control files and groups; group.c ----------------------------------- */

/*
 * An open control file, shared by its groups. A duplicated file keeps the RM client of a dead
 * process alive, and with it the groups, which RM would still serve. So @pidfd shows whether
 * the process lives.
 */
struct gp_nv_file {
	int fd;
	int pidfd;     /* of the process it is from; -1: ours */
	bool owned;    /* close with the last reference */
	uint32_t refs; /* atomic */
};
struct gp_nv_file *gp_nv_file_new(int fd, bool owned);
void gp_nv_file_ref(struct gp_nv_file *file);
void gp_nv_file_unref(struct gp_nv_file *file);
/* Has the process of @pidfd ended? Never, for -1. */
bool gp_nv_process_gone(int pidfd);

/*
 * Descriptors of this process that this backend opened or duplicated: their groups are not the
 * app's. Lock-free, correct in a fork's child.
 */
void gp_nv_fd_mark(int fd);
bool gp_nv_fd_marked(int fd);
void gp_nv_fd_close(int fd); /* and clear the mark */

struct gp_nv_group {
	struct gp_group base;
	const struct gp_nv_transport *t;
	struct gp_nv_file *file;
	uint32_t client;
	uint32_t device;
	uint32_t subdevice;
	uint32_t tsg;
	uint32_t engine; /* GP_RM_ENGINE_*, 0: unknown */
	bool suspended;	 /* by this object; caller serialises */
	uint32_t channel[GP_NV_MAX_CHANNELS];
};

uint32_t gp_nv_group_id(uint32_t client, uint32_t tsg);
enum gp_group_kind gp_nv_engine_kind(uint32_t engine);
int gp_nv_get_slice(struct gp_group *group, uint64_t *us);
int gp_nv_set_slice(struct gp_group *group, uint64_t us);
int gp_nv_preempt(struct gp_group *group);
int gp_nv_set_preempt_mode(struct gp_group *group, enum gp_preempt_mode mode);
int gp_nv_suspend(struct gp_group *const *group, size_t n);
int gp_nv_resume(struct gp_group *const *group, size_t n);
void gp_nv_group_put(struct gp_group *group);
int gp_nv_usage(struct gp_group *group, uint64_t *busy_ns);

#define GP_NV_MIN_SLICE_US 1u
#define GP_NV_MAX_SLICE_US 5000000u /* LC's, proven on the card */

/* ---- processes that compute on a device; compute_clients.c ----------------- */

/*
 * RM's own list, in one call. 1: @pid made a client with a compute object there; 0: it did
 * not. -EAGAIN: the class of compute objects is unknown. Else -errno.
 */
int gp_nv_has_compute_client(struct gp_device *dev, pid_t pid);
/*
 * Does RM list processes that made such clients, now, and @pid is none of them? 1; 0: it may be
 * one; -ENOMEM, -EMFILE, -ENFILE: RM could not be asked.
 */
int gp_nv_made_no_client(struct gp_nv_device *dev, pid_t pid);
/* Did memory or files run out? */
static inline bool gp_nv_is_shortage(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}
void gp_nv_compute_clients_close(struct gp_nv_device *dev);

/* ---- discovery; scan.c ---------------------------------------------------- */

/* Figures of a scan, for debugging. */
struct gp_nv_scan_stat {
	uint32_t files; /* control files of the process */
	uint32_t clients;
	uint32_t calls;
	uint32_t objects;
	uint32_t groups;				   /* on any device */
	uint32_t channel_class, compute_class, copy_class; /* last seen */
};
int gp_nv_groups(struct gp_device *dev, pid_t pid, struct gp_group_list *list);
int gp_nv_groups_from(struct gp_device *dev, pid_t pid, const int *fd, const uint32_t *key,
		      size_t n, struct gp_group_list *list);
int gp_nv_has_driver_open(struct gp_device *dev, pid_t pid);
/* Is @fd, from any source, a control file? */
bool gp_nv_is_control_file(const struct gp_nv_transport *t, int fd);
ssize_t gp_nv_take_files(const struct gp_nv_transport *t, pid_t pid, int pidfd, int *fd,
			 size_t max);
int gp_nv_scan(struct gp_nv_device *dev, pid_t pid, struct gp_group_list *list,
	       struct gp_nv_scan_stat *stat);
int gp_nv_subdevice_uuid(const struct gp_nv_transport *t, int fd, uint32_t client,
			 uint32_t subdevice, uint8_t uuid[16]);
int gp_nv_list_add(struct gp_group_list *list, struct gp_nv_group *group);

struct gp_track_ops;
/* Like gp_nv_track_start(), for libcuda's calls over @t. */
int gp_nv_track_start_over(const struct gp_nv_transport *t, const struct gp_track_ops *ops,
			   void *arg);
/* Groups on @dev that the tracker knows; -ENOENT: it is not watching. */
int gp_nv_track_groups(struct gp_nv_device *dev, struct gp_group_list *list);
ssize_t gp_nv_control_files(struct gp_device *dev, int *fd, uint32_t *key, size_t max);

/* ---- timers, holds, logs ---------------------------------------------------- */

int gp_nv_now(struct gp_device *dev, uint64_t *ns);
int gp_nv_timer_create(struct gp_device *dev, struct gp_timer **timer);
int gp_nv_timer_arm(struct gp_timer *timer, uint64_t at_ns);
int gp_nv_timer_ack(struct gp_timer *timer);
int gp_nv_timer_done(struct gp_timer *timer);
void gp_nv_timer_destroy(struct gp_timer *timer);

#define GP_NV_MAX_HOLD_NS 1000000000ull

bool gp_nv_one_connection(void);
int gp_nv_hold_create(struct gp_device *dev, void *context, struct gp_hold **hold);
int gp_nv_hold(struct gp_hold *hold, uint64_t limit_ns);
int gp_nv_release(struct gp_hold *hold);
int gp_nv_hold_queued(struct gp_hold *hold, void *stream);
int gp_nv_hold_stat(struct gp_hold *hold, struct gp_hold_stat *stat);
void gp_nv_hold_destroy(struct gp_hold *hold);

int gp_nv_log_open(struct gp_device *dev, struct gp_log **log);
ssize_t gp_nv_log_read(struct gp_log *log, struct gp_switch_record *rec, size_t n);
int gp_nv_log_now(struct gp_log *log, uint64_t *ns);
void gp_nv_log_close(struct gp_log *log);
/* Time that @log saw @group's context on the device. */
int gp_nv_log_usage(struct gp_nv_log *log, const struct gp_nv_group *group, uint64_t *busy_ns);

/*
 * The log's reader, independent of the memory's source: one consumer's place in a ring of
 * @size records.
 */
struct gp_nv_ring {
	const volatile struct gp_rm_event_header *header;
	const volatile struct gp_rm_event_record *record;
	uint32_t size;
	uint32_t get;	/* index to read next */
	uint64_t count; /* header's count at the last update of get */
	bool seq_known;
	uint16_t seq; /* of the last record */
};
void gp_nv_ring_init(struct gp_nv_ring *ring, const void *header, const void *records,
		     uint32_t size);
size_t gp_nv_ring_read(struct gp_nv_ring *ring, struct gp_switch_record *rec, size_t n);

#endif
