/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the one protocol between tenants (a process with libgpreempt or the preload in it),
 * the daemon and the CLI: fixed structs over SOCK_SEQPACKET.
 *
 * A tenant listens on the abstract address "gpreempt/1/tenant/PID": nothing on disk, gone with
 * the process, visible in /proc/net/unix. SO_PEERCRED identifies the peer: only the tenant's
 * own user and root may change it, others may read. The daemon listens on a path, see
 * daemon.h. Every message has the same head. A receiver answers unknown versions and sizes
 * with -EPROTO, and the connection stays up.
 */
#ifndef GP_WIRE_H
#define GP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpreempt/class.h"

#define GP_WIRE_MAGIC 0x47505245u /* "GPRE" */
#define GP_WIRE_VERSION 1u
#define GP_WIRE_COMM_LEN 16
#define GP_WIRE_MAX_DEVICES 16
#define GP_WIRE_MAX_FILES 16 /* with one message */
#define GP_WIRE_NAME_LEN 64
#define GP_WIRE_TEXT_LEN 512
#define GP_WIRE_CGROUP_LEN 256
#define GP_WIRE_UNKNOWN UINT64_MAX /* a figure without a source */

enum gp_wire_type {
	/* To a tenant. */
	GP_WIRE_QUERY = 1,	  /* -> GP_WIRE_STATUS */
	GP_WIRE_SET_CLASS = 2,	  /* -> GP_WIRE_RESULT */
	GP_WIRE_HINT = 3,	  /* -> GP_WIRE_RESULT */
	GP_WIRE_YIELD = 4,	  /* -> GP_WIRE_RESULT; lasts as long as its connection */
	GP_WIRE_QUERY_DEVICE = 5, /* -> GP_WIRE_STATUS, of one of its devices */
	GP_WIRE_MEMORY = 6,	  /* -> GP_WIRE_MEMORY */

	/* To the daemon, from a tenant: one connection for each device. */
	/*
	 * with its control files -> GP_WIRE_WELCOME with the page and the wake file, or
	 * GP_WIRE_SAID
	 */
	GP_WIRE_HELLO = 16,
	/* with its control files, after its groups changed. Has no answer */
	GP_WIRE_FILES = 17,
	GP_WIRE_ASK_CLASS = 18, /* -> GP_WIRE_SAID */
	GP_WIRE_AWAY = 19,	/* its memory leaves, or is back -> GP_WIRE_AWAY */

	/* To the daemon, from anybody. */
	GP_WIRE_LIST = 24,	/* -> GP_WIRE_TENANT .., GP_WIRE_RESULT */
	GP_WIRE_DEVICES = 25,	/* -> GP_WIRE_DEVICE .., GP_WIRE_RESULT */
	GP_WIRE_WHY = 26,	/* -> GP_WIRE_REASON or GP_WIRE_SAID */
	GP_WIRE_TAKE = 27,	/* gives a process a class -> GP_WIRE_SAID */
	GP_WIRE_HISTOGRAM = 28, /* -> GP_WIRE_BUCKETS or GP_WIRE_SAID */
	GP_WIRE_TRACE = 29,	/* -> GP_WIRE_TRACED .., until the connection closes */
	GP_WIRE_POOL = 30,	/* the clients of a tenant, an MPS server -> GP_WIRE_SAID */
	GP_WIRE_RULE = 31,	/* the rules for this process with a class -> GP_WIRE_RULED */
	GP_WIRE_ROOM = 32,	/* an allocation does not fit -> GP_WIRE_ROOM */
	GP_WIRE_QUOTA =
		33, /* its place among those with one limit -> GP_WIRE_QUOTA with the page */

	GP_WIRE_STATUS = 64,
	GP_WIRE_RESULT = 65,

	/* From the daemon. */
	GP_WIRE_WELCOME = 80,
	GP_WIRE_CLASS = 81, /* to a tenant, at any time: its class from now on */
	GP_WIRE_TENANT = 82,
	GP_WIRE_DEVICE = 83,
	GP_WIRE_REASON = 84,
	GP_WIRE_SAID = 85,
	GP_WIRE_BUCKETS = 86,
	GP_WIRE_TRACED = 87,
	GP_WIRE_RULED = 88,
};

struct gp_wire_head {
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	uint32_t size;	/* of the whole message, bytes */
	int32_t result; /* replies: 0 or negative errno */
};

struct gp_wire_set_class {
	struct gp_wire_head head;
	uint32_t cls;	/* enum gp_class */
	uint32_t value; /* level or weight */
};

struct gp_wire_hint {
	struct gp_wire_head head;
	uint64_t in_ns;
};

/* Between tenants: suspend your groups on a device, or resume them. */
struct gp_wire_yield {
	struct gp_wire_head head;
	uint32_t on;
	uint32_t level; /* level of the asking tenant; equally urgent ones stay */
	uint64_t limit_ns;
	uint8_t uuid[16];
};

/* Device memory of one process, of the calls that its layer sees; bytes, but for @moves. */
struct gp_wire_memory_figures {
	uint64_t movable;  /* on the device, and can leave */
	uint64_t fixed;	   /* on the device, and stays */
	uint64_t out;	   /* on the host */
	uint64_t moves;	   /* times that memory left */
	uint64_t moved;	   /* all that left, and all that came back */
	uint64_t move_ns;  /* time that this took */
	uint64_t pinned;   /* of the host, for memory that leaves */
	uint64_t kept;	   /* part of @fixed that stays because @pinned has a limit */
	uint64_t host_max; /* that limit; 0: none */
};

/*
 * Between tenants: what of your memory can leave the device? The answer has all fields. From the
 * daemon to a tenant, with @leave alone and without an answer: let it leave now.
 */
struct gp_wire_memory {
	struct gp_wire_head head;
	uint32_t leave; /* 1: and let it leave now; what has left stays away for a while */
	uint32_t moving;
	struct gp_wire_memory_figures figures;
	uint8_t uuid[16];
	uint64_t need; /* with leave: bytes that shall leave, beyond those that have; 0: none */
};

struct gp_wire_query {
	struct gp_wire_head head;
	uint32_t number; /* of its devices, from 0; -ENODEV: it has fewer */
};

/* Of all its devices together, or of one of them. */
struct gp_wire_status {
	struct gp_wire_head head;
	int32_t pid;
	uint32_t uid;
	uint32_t cls; /* enum gp_class */
	uint32_t value;
	uint32_t groups;      /* compute groups */
	uint32_t short_slice; /* BE: 1: this tenant has the device's short slice */
	uint32_t sync_seen;   /* 1: device-wide synchronisation is seen */
	uint32_t preloaded;   /* 1: by `gpreempt run` */
	uint64_t slice_us;    /* of the first compute group, as read back */
	uint64_t hints, segments, holds, holds_late, holds_expired, syncs_cut;
	uint64_t held_ns, switch_ns, switch_min_ns, switch_max_ns, margin_ns;
	uint32_t learns; /* LC: 1: its period is, or may be, predicted */
	uint32_t rhythm; /* 1: it has a period now */
	uint64_t guesses, guess_hits, guess_misses;
	char comm[GP_WIRE_COMM_LEN];
	char device[64]; /* name of the device; of all: the first one's */
	char uuid[48];
};

/* ---- with the daemon ---------------------------------------------------- */

#define GP_WIRE_PERIOD_MAX_NS 10000000000ull /* 10 s */
#define GP_WIRE_CAP_MAX_PCT 100u

/* A class and its options; 0: option not given. */
struct gp_wire_request {
	uint32_t cls;	/* enum gp_class */
	uint32_t value; /* level or weight */
	uint32_t cap_pct;
	uint32_t pad;
	uint64_t period_ns, deadline_ns, runtime_ns;
};

enum gp_wire_hello_flags {
	GP_WIRE_ASKS = 1u << 0,	      /* @request is asked for; else the rules decide */
	GP_WIRE_HELLO_AWAY = 1u << 1, /* its memory is off the device: none of its groups runs */
};

struct gp_wire_hello {
	struct gp_wire_head head;
	uint8_t uuid[16]; /* of the device */
	uint32_t flags;	  /* enum gp_wire_hello_flags */
	uint32_t pad;
	struct gp_wire_request request;
	uint32_t key[GP_WIRE_MAX_FILES];
};

/*
 * @key: of each file, the part that leads to groups (hal.h, control_files()); or 0.
 */
struct gp_wire_files {
	struct gp_wire_head head;
	uint32_t key[GP_WIRE_MAX_FILES];
};

/* Also GP_WIRE_CLASS. @why: origin of the class, one line. */
struct gp_wire_welcome {
	struct gp_wire_head head;
	int32_t daemon_pid; /* as the daemon sees itself */
	uint32_t pad;
	struct gp_wire_request request; /* the class in force */
	char why[GP_WIRE_TEXT_LEN];
};

struct gp_wire_ask_class {
	struct gp_wire_head head;
	struct gp_wire_request request;
};

/*
 * The sender's groups are suspended from the answer on, but @keep: these are its mover's, and copy
 * its memory. Those that appear later too. @away 0: all is back, and its groups run at its turns
 * again. The answer repeats @away; head.result: -EPERM: the daemon asked for no room; -EBUSY: the
 * last one is not answered; -EIO: the groups are as before.
 */
#define GP_WIRE_KEEP_MAX 16

struct gp_wire_away {
	struct gp_wire_head head;
	uint32_t away;
	uint32_t count;
	uint32_t keep[GP_WIRE_KEEP_MAX]; /* 0 beyond @count */
};

/* An allocation does not fit. Answer: @may_come: try again, as others give room. */
struct gp_wire_room {
	struct gp_wire_head head;
	uint8_t uuid[16]; /* of the device */
	uint32_t may_come;
	/* asked: choose no further tenant, I have not tried since; answered: one moves now */
	uint32_t moving;
	uint64_t need; /* bytes that are missing; 0 in the answer */
};

/* The answer has the file of quota.h. */
struct gp_wire_quota {
	struct gp_wire_head head;
	uint32_t place;
	uint32_t pad;
};

/* WHY, TAKE, HISTOGRAM: the process. uuid all 0: its first device. */
struct gp_wire_take {
	struct gp_wire_head head;
	int32_t pid;
	uint32_t kind; /* HISTOGRAM: enum gp_wire_histogram */
	uint8_t uuid[16];
	struct gp_wire_request request; /* TAKE */
};

/* Other processes that use the device through tenant @pid, until this connection closes. */
#define GP_WIRE_POOL_MAX 64

struct gp_wire_pool {
	struct gp_wire_head head;
	int32_t pid;
	uint32_t count;
	int32_t client[GP_WIRE_POOL_MAX]; /* PIDs; 0 beyond @count */
};

/* GP_WIRE_RULE is struct gp_wire_ask_class. A class that is not allowed: GP_WIRE_SAID. */
struct gp_wire_ruled {
	struct gp_wire_head head;
	uint32_t pool;	  /* 1: the rule puts the process into a pool */
	uint32_t percent; /* of the pool's threads; 0: all */
	uint32_t one;	  /* 1: memory_max is of all processes of its cgroup together */
	uint32_t turns;	  /* 1: best-effort memory takes turns with others' */
	/* Device memory: the most that MIN may be, and MAX; what may be pinned of the host's */
	uint64_t memory_min, memory_max, host_memory; /* GP_WIRE_UNKNOWN: no limit */
	char rule[GP_WIRE_TEXT_LEN];		      /* its place in the file; "": no rule */
	char hook[GP_WIRE_TEXT_LEN];		      /* as gp_hook_parse() takes it; "": none */
};

/* head.result, and one line of text: the refused action and the cause. */
struct gp_wire_said {
	struct gp_wire_head head;
	char text[GP_WIRE_TEXT_LEN];
};

/* How the daemon got a tenant. */
enum gp_wire_origin {
	GP_WIRE_BY_RUN = 1,    /* it connected: preload or library */
	GP_WIRE_BY_RULE = 2,   /* discovered, and named by a rule */
	GP_WIRE_BY_ATTACH = 3, /* gpreempt attach named it */
	GP_WIRE_BY_POOL = 4,   /* a client of a tenant, whose class and state it has */
};

/* Where a tenant's used_ns comes from. */
enum gp_wire_usage {
	GP_WIRE_USAGE_NONE,   /* unknown: used_ns is GP_WIRE_UNKNOWN */
	GP_WIRE_USAGE_LOG,    /* the device's context-switch log */
	GP_WIRE_USAGE_DRIVER, /* the driver's counters */
};

enum gp_wire_tenant_flags {
	GP_WIRE_RESIDENT = 1u << 0,
	GP_WIRE_SUSPENDED = 1u << 1, /* all its compute groups are */
	GP_WIRE_SEGMENT = 1u << 2,
	GP_WIRE_HELD = 1u << 3,
	GP_WIRE_BUSY = 1u << 4,	  /* known to have work .. */
	GP_WIRE_IDLE = 1u << 5,	  /* .. or to have none; neither: unknown */
	GP_WIRE_BANNED = 1u << 6, /* it broke its class too often: suspended for good */
	GP_WIRE_PILES = 1u << 7,  /* its launches piled up lately (docs/sched.md) */
	GP_WIRE_OUT = 1u << 8,	  /* its memory is off the device, or moves */
	GP_WIRE_FROZEN = 1u << 9, /* its cgroup is: suspended until it is thawed */
};

/* Unknown figures are GP_WIRE_UNKNOWN. */
struct gp_wire_tenant {
	struct gp_wire_head head;
	int32_t pid;
	uint32_t uid;
	uint8_t uuid[16];
	uint32_t origin; /* enum gp_wire_origin */
	uint32_t flags;	 /* enum gp_wire_tenant_flags */
	uint32_t groups; /* compute groups */
	uint32_t usage;	 /* enum gp_wire_usage */
	struct gp_wire_request request;
	uint64_t age_ns;      /* since the daemon got it */
	uint64_t resident_ns; /* BE: total time of its turns */
	uint64_t used_ns;     /* time on the device, by the hardware's report */
	uint64_t suspended_ns;
	uint64_t turns;			       /* BE: times it became resident */
	uint64_t preempted;		       /* BE: turns that ended before it was idle */
	uint64_t wait_p50_ns, wait_p99_ns;     /* BE: from having work to its turn */
	uint64_t switch_p50_ns, switch_p99_ns; /* LC: from asking to having it */
	uint64_t hints, segments, holds, holds_late, holds_expired;
	uint64_t held_ns;
	uint64_t corrected; /* times the daemon corrected a setting of the tenant */
	struct gp_wire_memory_figures memory;
	/* Device memory of all processes of @cgroup, and their limit. */
	uint64_t quota_used, quota_max;
	char comm[GP_WIRE_COMM_LEN];
	char device[GP_WIRE_NAME_LEN];
	/* it counts as one with the other processes of it; its end, if it is long; "": none */
	char cgroup[GP_WIRE_CGROUP_LEN];
	char why[GP_WIRE_TEXT_LEN]; /* origin of its class */
};

struct gp_wire_device {
	struct gp_wire_head head;
	uint8_t uuid[16];
	char name[GP_WIRE_NAME_LEN];
	char be_policy[16], lc_policy[16];
	uint32_t be_min_pct;
	uint32_t tenants, groups;
	int32_t resident_pid; /* 0: none */
	uint32_t usage;	      /* enum gp_wire_usage */
	int32_t daemon_pid;   /* its own open files include those of tenants */
	uint64_t quantum_ns;
	uint64_t up_ns;					     /* since the daemon got it */
	uint64_t turns, suspends, resumes, slices, preempts; /* executed */
	uint64_t failed;				     /* failures of these */
	uint64_t control_ns;				     /* total time of these */
	uint64_t log_lost;				     /* lost records of the log */
};

/* A @reason besides those of sched.h: its memory is off the device, for @other_pid. */
#define GP_WIRE_WHY_OUT 1000u
/* Likewise: its cgroup is frozen. */
#define GP_WIRE_WHY_FROZEN 1001u

/* enum gp_why of sched.h, with processes for tenants. */
struct gp_wire_reason {
	struct gp_wire_head head;
	int32_t pid;
	uint32_t reason;
	int32_t other_pid; /* 0: none */
	uint32_t ahead;
	int32_t error;
	uint32_t pad;
	uint8_t uuid[16];
	uint64_t for_ns;   /* time since then; GP_WIRE_UNKNOWN */
	uint64_t until_ns; /* from now on, at most; GP_WIRE_UNKNOWN */
	struct gp_wire_request request;
	char comm[GP_WIRE_COMM_LEN];
	char other_comm[GP_WIRE_COMM_LEN];
	char device[GP_WIRE_NAME_LEN];
	char why[GP_WIRE_TEXT_LEN]; /* origin of its class */
};

enum gp_wire_histogram {
	GP_WIRE_HIST_WAIT,	/* BE: from having work to its turn */
	GP_WIRE_HIST_SWITCH,	/* LC: from asking for the device to having it */
	GP_WIRE_HIST_HOLD,	/* LC: length of a hold */
	GP_WIRE_HIST_SUSPENDED, /* BE: length of a suspension */
	GP_WIRE_HIST_SEGMENT,	/* LC: from a segment's begin to its end */
	GP_WIRE_HISTS,
};

/* Log-linear: bounds are gp_hist_bound_ns() of hist.h. */
#define GP_WIRE_BUCKETS_MAX 448

struct gp_wire_buckets {
	struct gp_wire_head head;
	uint64_t sum_ns;
	uint64_t count[GP_WIRE_BUCKETS_MAX];
};

enum gp_wire_trace_kind {
	GP_WIRE_TRACE_START = 1, /* the hardware: a context's stretch */
	GP_WIRE_TRACE_END,
	GP_WIRE_TRACE_LOST, /* @value records of the hardware's */
	GP_WIRE_TRACE_JOIN, /* @value: class << 32 | level or weight */
	GP_WIRE_TRACE_LEAVE,
	GP_WIRE_TRACE_RESIDENT, /* @pid has its turn; 0: none */
	GP_WIRE_TRACE_SUSPEND,	/* @value: ns it took */
	GP_WIRE_TRACE_RESUME,	/* likewise */
	GP_WIRE_TRACE_SLICE,	/* @value: us */
	GP_WIRE_TRACE_PREEMPT,	/* @value: ns it took */
	GP_WIRE_TRACE_BUSY,	/* @value: enum gp_page_activity, as observed */
	GP_WIRE_TRACE_HOLD,	/* a hold of @value ns began then */
};

#define GP_WIRE_TRACE_RECORDS 32

struct gp_wire_trace_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC, or the software GPU's time */
	uint64_t value;
	int32_t pid;
	uint32_t context; /* the hardware's; 0: unknown */
	uint16_t kind;	  /* enum gp_wire_trace_kind */
	uint16_t device;  /* as GP_WIRE_DEVICES lists them, from 0 */
	uint32_t pad;
};

struct gp_wire_traced {
	struct gp_wire_head head;
	uint32_t count;
	uint32_t lost; /* records that found no room before these */
	struct gp_wire_trace_record record[GP_WIRE_TRACE_RECORDS];
};

union gp_wire_msg {
	struct gp_wire_head head;
	struct gp_wire_set_class set_class;
	struct gp_wire_hint hint;
	struct gp_wire_yield yield;
	struct gp_wire_memory memory;
	struct gp_wire_query query;
	struct gp_wire_status status;
	struct gp_wire_hello hello;
	struct gp_wire_files files;
	struct gp_wire_welcome welcome;
	struct gp_wire_ask_class ask_class;
	struct gp_wire_take take;
	struct gp_wire_away away;
	struct gp_wire_room room;
	struct gp_wire_quota quota;
	struct gp_wire_pool pool;
	struct gp_wire_ruled ruled;
	struct gp_wire_said said;
	struct gp_wire_tenant tenant;
	struct gp_wire_device device;
	struct gp_wire_reason reason;
	struct gp_wire_buckets buckets;
	struct gp_wire_traced traced;
};

/** Fill in the head of a request or reply of @type. */
void gp_wire_init(union gp_wire_msg *msg, enum gp_wire_type type);
/** Is the message of @len bytes at @msg safe to act on? 0, -EPROTO. */
int gp_wire_check(const union gp_wire_msg *msg, size_t len);
/**
 * Are the contents of @msg, which gp_wire_check() has passed, valid by themselves? Every text
 * ends, every enumeration and flag is a known one, every class is valid for a user, and every
 * meaningless field is 0. 0 or -EINVAL.
 */
int gp_wire_check_body(const union gp_wire_msg *msg);
/** Is it a class that a user could write (with the default deadline)? 0 or -EINVAL. */
int gp_wire_request_check(const struct gp_wire_request *request);
/** @request in its message form. */
void gp_class_request_to_wire(const struct gp_class_request *request, struct gp_wire_request *out);
/** @wire, which a peer sent, as a request. 0; -EINVAL: not a valid class, and @out is untouched. */
int gp_class_request_from_wire(const struct gp_wire_request *wire, struct gp_class_request *out);
/** Does @text end within @size bytes? */
bool gp_wire_text_ok(const char *text, size_t size);
/** Listen for process @pid (non-blocking socket). fd or negative errno. */
int gp_wire_listen(pid_t pid);
/**
 * Connect to tenant @pid; -ESRCH: no tenant there. fd or negative errno. Checks the listener's
 * own PID, because any process can bind a name.
 */
int gp_wire_connect(pid_t pid);
/**
 * Send a request that has one answer, wait at most @timeout_ms for it, into the same @msg. The
 * reply's result, or -ETIMEDOUT, -EPROTO (also for a request with many answers, or none),
 * -ECONNRESET. A refusal is GP_WIRE_RESULT, or GP_WIRE_SAID by the daemon.
 */
int gp_wire_call(int fd, union gp_wire_msg *msg, int timeout_ms);
/** Likewise, for an answer with one file, the caller's (O_CLOEXEC); *@file: -1 on failure. */
int gp_wire_call_file(int fd, union gp_wire_msg *msg, int *file, int timeout_ms);
/**
 * Wait at most @timeout_ms for the next message, any that passes gp_wire_check() and
 * gp_wire_check_body(); drops its files. 0, for any head.result; -ETIMEDOUT; -EPROTO;
 * -ECONNRESET: the peer is done; other negative errno.
 */
int gp_wire_next(int fd, union gp_wire_msg *msg, int timeout_ms);
/** The peer at the other end of @fd, as this process sees it. 0 or negative errno. */
int gp_wire_peer(int fd, pid_t *pid, uid_t *uid);
/* ---- files and the daemon's place; files.c ------------------------------- */

/**
 * Send @msg with @n files, which remain the caller's. Never blocks: -EAGAIN when the peer does
 * not read. 0; -EINVAL: more than GP_WIRE_MAX_FILES; -EPROTO: not a message; -EPIPE: the peer
 * is gone; other negative errno.
 */
int gp_wire_send(int fd, const union gp_wire_msg *msg, const int *file, size_t n);
/**
 * Receive one message, never blocks. The caller runs gp_wire_check(). @file: up to
 * GP_WIRE_MAX_FILES, O_CLOEXEC, the caller's; @n their number, 0 on failure. Both NULL: files
 * are closed.
 * Return: its length (0: the peer is done); -EAGAIN: none is there; -EPROTO: too long, or more
 * files than fit; -EMFILE: file limit of this process; other negative errno.
 *
 * A failure closes the files. -EPROTO and -EMFILE drop that message, and the next can be
 * received.
 */
ssize_t gp_wire_recv(int fd, union gp_wire_msg *msg, int *file, size_t *n);

/* For a server of other users, which must not have their files: closing one may wait. */
/** Needed before gp_wire_peek() of @fd, which else takes files. 0 or negative errno. */
int gp_wire_can_peek(int fd);
/**
 * Look at the next message, never block, and leave it. @any: there is one, perhaps empty;
 * @files: it has files. Without files gp_wire_recv() may read it.
 * Return: its length, cut to that of @msg; 0 and not @any: the peer is done; -EAGAIN: none is
 * there; other negative errno.
 */
ssize_t gp_wire_peek(int fd, union gp_wire_msg *msg, bool *any, bool *files);

/** The daemon's folder: /run/gpreempt for root's, else the user's. */
#define GP_WIRE_RUN_DIR "/run/gpreempt"
#define GP_WIRE_SOCKET "gpreemptd.sock"
#define GP_WIRE_SHARED "socket" /* folder of GP_WIRE_RUN_DIR with the socket alone */
#define GP_WIRE_PATH_LEN 108	/* of sun_path */

#pragma GCC visibility push(default) /* also for the preload */

/**
 * The path of the user's own folder for a daemon: $XDG_RUNTIME_DIR/gpreempt, or /tmp/gpreempt-UID
 * if no such directory is named. Any user can make a folder in /tmp: gp_wire_check_dir() first. 0
 * or -ENAMETOOLONG.
 */
int gp_wire_user_dir(char *path, size_t len);
/**
 * Is @path a directory of this process's user, with none of the mode bits @refused? 0; -EPERM;
 * -ENOTDIR, also for a symbolic link; -ENOENT; other negative errno.
 */
int gp_wire_check_dir(const char *path, mode_t refused);

#pragma GCC visibility pop
/**
 * Connect to the daemon: $GPREEMPT_DAEMON (the path of a socket; "none": no daemon), else the
 * machine's, else the user's own, in a folder with mode 0700. The listener must run as root or as
 * this process's user.
 * Non-blocking socket; -ENOENT: there is no daemon; -EPERM: another user listens there;
 * -EAGAIN: it is overrun.
 */
int gp_wire_daemon_connect(void);
/** Does a daemon of the machine's listen, whatever $GPREEMPT_DAEMON says? */
bool gp_wire_machine_has_daemon(void);
/**
 * Listen at @path, for every user (mode 0666); non-blocking socket. Replaces a socket without
 * a listener. One process at a time does this. fd or negative errno; -EADDRINUSE: another
 * process listens there; -ENOTSOCK: another kind of file is there, and remains.
 */
int gp_wire_daemon_listen(const char *path);

/** All tenants that listen now, at most @max; returns their number. */
ssize_t gp_wire_tenants(pid_t *pid, size_t max);

#endif
