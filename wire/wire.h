/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the one protocol between tenants (a process with libgpreempt or the
 * preload in it) and the CLI: fixed structs over SOCK_SEQPACKET.
 *
 * A tenant listens on the abstract address "gpreempt/1/tenant/PID": nothing on
 * disk, gone with the process, visible in /proc/net/unix. Who connects is known
 * by SO_PEERCRED: the tenant's own user and root may change it, others only
 * read. Every message has the same head; unknown versions and sizes are
 * answered with -EPROTO and the connection stays up.
 */
#ifndef GP_WIRE_H
#define GP_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GP_WIRE_MAGIC 0x47505245u	/* "GPRE" */
#define GP_WIRE_VERSION 1u
#define GP_WIRE_COMM_LEN 16
#define GP_WIRE_MAX_DEVICES 16

enum gp_wire_type {
	GP_WIRE_QUERY = 1,	/* -> GP_WIRE_STATUS */
	GP_WIRE_SET_CLASS = 2,	/* -> GP_WIRE_RESULT */
	GP_WIRE_HINT = 3,	/* -> GP_WIRE_RESULT */
	GP_WIRE_YIELD = 4,	/* -> GP_WIRE_RESULT; lasts as its connection */
	GP_WIRE_STATUS = 64,
	GP_WIRE_RESULT = 65,
};

struct gp_wire_head {
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	uint32_t size;		/* of the whole message, bytes */
	int32_t result;		/* replies: 0 or negative errno */
};

struct gp_wire_set_class {
	struct gp_wire_head head;
	uint32_t cls;		/* enum gp_class */
	uint32_t value;		/* level or weight */
};

struct gp_wire_hint {
	struct gp_wire_head head;
	uint64_t in_ns;
};

/* Between tenants: take your groups off a device, or put them back. */
struct gp_wire_yield {
	struct gp_wire_head head;
	uint32_t on;
	uint32_t level;		/* who asks; as urgent ones stay */
	uint64_t limit_ns;
	uint8_t uuid[16];
};

struct gp_wire_status {
	struct gp_wire_head head;
	int32_t pid;
	uint32_t uid;
	uint32_t cls;		/* enum gp_class */
	uint32_t value;
	uint32_t groups;	/* compute groups */
	uint32_t short_slice;	/* BE: 1 this one has the device's short slice */
	uint32_t sync_seen;	/* 1: device-wide synchronisation is seen */
	uint32_t preloaded;	/* 1: by `gpreempt run` */
	uint64_t slice_us;	/* of the first compute group, as read back */
	uint64_t hints, segments, holds, holds_late, holds_expired, syncs_cut;
	uint64_t held_ns, switch_ns, switch_min_ns, switch_max_ns, margin_ns;
	uint32_t learns;	/* LC: 1 its rhythm is, or may be, learned */
	uint32_t rhythm;	/* 1: it has one now */
	uint64_t guesses, guess_hits, guess_misses;
	char comm[GP_WIRE_COMM_LEN];
	char device[64];	/* name of the first device */
	char uuid[48];
};

union gp_wire_msg {
	struct gp_wire_head head;
	struct gp_wire_set_class set_class;
	struct gp_wire_hint hint;
	struct gp_wire_yield yield;
	struct gp_wire_status status;
};

/** Fill in the head of a request or reply of @type. */
void gp_wire_init(union gp_wire_msg *msg, enum gp_wire_type type);
/** Is @len bytes at @msg a message that may be acted on? 0, -EPROTO. */
int gp_wire_check(const union gp_wire_msg *msg, size_t len);
/** Listen for process @pid (non-blocking socket). fd or negative errno. */
int gp_wire_listen(pid_t pid);
/** Connect to tenant @pid; -ESRCH: no tenant there. fd or negative errno.
 * The listener's own PID is checked: a name can be taken by anybody. */
int gp_wire_connect(pid_t pid);
/** Send, wait at most @timeout_ms for the reply into the same @msg. The
 * reply's result, or -ETIMEDOUT, -EPROTO. */
int gp_wire_call(int fd, union gp_wire_msg *msg, int timeout_ms);
/** Who is at the other end of @fd, as this process sees it. 0 or negative errno. */
int gp_wire_peer(int fd, pid_t *pid, uid_t *uid);
/** All tenants that listen now, at most @max; returns how many. */
ssize_t gp_wire_tenants(pid_t *pid, size_t max);

#endif
