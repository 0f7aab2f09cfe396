// SPDX-License-Identifier: Apache-2.0
/* handle.c - one message: checks it, charges it in modelled time, executes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "softgpu/server/server.h"

/* Assumption: both costs. */
#define NOW_COST_NS 25u /* clock_gettime() through the vDSO */
#define MEM_COST_NS 2000u
#define NOW_LUMP_NS 1000u    /* see now_cost_ns() */
#define COST_MAX_NS 1000000u /* most that a client may declare for one call */

static const struct gp_soft_req *request(const struct soft_conn *c)
{
	return (const void *)c->msg;
}

static uint64_t clamp_cost(uint64_t ns)
{
	return ns > COST_MAX_NS ? COST_MAX_NS : ns;
}

/*
 * Charges clock reads in lumps. A thread may read the clock under a lock that another thread
 * waits for: it must not have to wait for time to move. A thread that only reads the clock
 * must still see it move.
 */
static uint64_t now_cost_ns(struct soft_conn *c)
{
	uint64_t ns = c->clock_debt_ns + NOW_COST_NS;

	if (ns < NOW_LUMP_NS) {
		c->clock_debt_ns = ns;
		return 0;
	}
	c->clock_debt_ns = 0;
	return ns;
}

static uint64_t cost_ns(struct soft_server *s, struct soft_conn *c)
{
	const struct gp_soft_req *req = request(c);
	uint64_t ns = 0;

	switch (req->op) {
	case GP_SOFT_NOW:
		return now_cost_ns(c);
	case GP_SOFT_MEM_ALLOC:
	case GP_SOFT_MEM_FREE:
	case GP_SOFT_VIRTUAL:
		return MEM_COST_NS;
	case GP_SOFT_SUBMIT:
		return clamp_cost(req->u.submit.cost_ns);
	case GP_SOFT_WAIT:
	case GP_SOFT_QUERY:
		return clamp_cost(req->u.wait.cost_ns);
	case GP_SOFT_RM_IOCTL:
		soft_rm_cost(s, c, &ns);
		return ns;
	default:
		return 0;
	}
}

static void reply(struct soft_server *s, struct soft_conn *c, int status, uint64_t value)
{
	soft_reply(s, c, status, value, 0, NULL, 0, -1);
}

/* ---- hello --------------------------------------------------------------- */

static bool hello(struct soft_server *s, struct soft_conn *c)
{
	const struct gp_soft_req *req = request(c);
	int fd = -1;

	if (c->kind || req->u.hello.version != GP_SOFT_PROTO_VERSION)
		return false;
	if (req->u.hello.kind == GP_SOFT_TIMER) {
		c->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (c->event_fd < 0)
			return false;
		fd = c->event_fd;
		c->state = SOFT_OFF;
	} else if (req->u.hello.kind != GP_SOFT_THREAD) {
		return false;
	}
	c->kind = req->u.hello.kind;
	c->tid = req->u.hello.tid;
	if (c->kind == GP_SOFT_THREAD && !s->fuzzing)
		soft_thread_open(&c->thread, c->proc->pid, c->tid);
	soft_reply(s, c, 0, s->id, 0, NULL, 0, fd);
	return true;
}

/* ---- timers -------------------------------------------------------------- */

static void timer_clear(struct soft_conn *c)
{
	uint64_t count;
	/* Fails when it was not due: nothing to clear then. */
	ssize_t n = read(c->event_fd, &count, sizeof(count));

	(void)n;
}

static int timer_arm(struct soft_server *s, struct soft_conn *c)
{
	const struct gp_soft_req *req = request(c);
	const bool by_worker = c->state == SOFT_ACKED && c->ack_tid == req->u.timer.tid;

	timer_clear(c);
	c->wake_ns = req->a;
	soft_conn_block(s, c, req->a ? SOFT_ARMED : SOFT_OFF);
	if (by_worker)
		soft_park_thread(s, c->proc, c->ack_tid);
	return 0;
}

static int timer_ack(struct soft_conn *c)
{
	timer_clear(c);
	if (c->state != SOFT_FIRED)
		return -EAGAIN;
	c->state = SOFT_ACKED;
	c->ignored = false;
	c->stall_since_ns = 0;
	c->ack_tid = request(c)->u.timer.tid;
	return 0;
}

static int timer_done(struct soft_server *s, struct soft_conn *c)
{
	if (c->state != SOFT_ACKED)
		return 0;
	c->state = SOFT_OFF;
	soft_park_thread(s, c->proc, c->ack_tid);
	return 0;
}

static bool handle_timer(struct soft_server *s, struct soft_conn *c)
{
	int err;

	switch (request(c)->op) {
	case GP_SOFT_TIMER_ARM:
		err = timer_arm(s, c);
		break;
	case GP_SOFT_TIMER_ACK:
		err = timer_ack(c);
		break;
	case GP_SOFT_TIMER_DONE:
		err = timer_done(s, c);
		break;
	default:
		return false;
	}
	reply(s, c, err, 0);
	return true;
}

/* ---- memory, kernels ------------------------------------------------------ */

static void mem_alloc(struct soft_server *s, struct soft_conn *c)
{
	const struct gp_soft_req *req = request(c);
	struct soft_region *r = NULL;
	const bool host = req->b == 1;
	int fd = -1;
	int err = soft_region_create(s, c->proc, req->a, host, &r, &fd);

	if (err)
		reply(s, c, err, 0);
	else
		soft_reply(s, c, 0, host ? r->token : r->addr, r->bytes, NULL, 0, fd);
	if (fd >= 0)
		close(fd);
}

static void mem_range(struct soft_server *s, struct soft_conn *c)
{
	const uint64_t addr = request(c)->a;
	struct soft_region *r = soft_region_get(c->proc, addr, 1);
	uint64_t base = 0, bytes = 0;
	int err = r ? 0 : -EINVAL;

	if (r && r->reserved)
		err = soft_virtual_range(r, addr, &base, &bytes) ? 0 : -EINVAL;
	else if (r) {
		base = r->addr;
		bytes = r->bytes;
	}
	soft_region_put(r);
	soft_reply(s, c, err, base, bytes, NULL, 0, -1);
}

/* Returns a file, or -1. */
static int virtual_file(struct soft_server *s, struct soft_conn *c)
{
	const int fd = soft_physical_file(c->proc, request(c)->a);

	soft_reply(s, c, fd < 0 ? fd : 0, 0, 0, NULL, 0, fd);
	return fd;
}

static int virtual_change(struct soft_server *s, struct soft_conn *c, uint64_t *value)
{
	const struct gp_soft_req *req = request(c);
	struct soft_proc *p = c->proc;

	switch (req->u.virt.what) {
	case GP_SOFT_RESERVE:
		return soft_virtual_reserve(p, req->a, req->b, value);
	case GP_SOFT_UNRESERVE:
		return soft_virtual_free(s, p, req->a, req->b);
	case GP_SOFT_CREATE:
		return soft_fault_planted(s, SOFT_FAULT_CREATE) ?
			       -ENOMEM :
			       soft_physical_create(s, p, req->a, value);
	case GP_SOFT_RELEASE:
		return soft_physical_release(s, p, req->a);
	case GP_SOFT_MAP:
		return soft_fault_planted(s, SOFT_FAULT_MAP) ?
			       -ENOMEM :
			       soft_virtual_map(p, req->a, req->b, req->u.virt.handle);
	case GP_SOFT_RETAIN:
		return soft_physical_retain(s, p, req->a, value);
	case GP_SOFT_UNMAP:
		return soft_virtual_unmap(s, p, req->a, req->b);
	case GP_SOFT_ACCESS:
		return soft_virtual_access(p, req->a, req->b, req->u.virt.access);
	default:
		return -EOPNOTSUPP;
	}
}

static void virtual(struct soft_server *s, struct soft_conn *c)
{
	uint64_t value = 0;
	int fd, err;

	if (request(c)->u.virt.what == GP_SOFT_EXPORT) {
		fd = virtual_file(s, c);
		if (fd >= 0)
			close(fd);
		return;
	}
	err = virtual_change(s, c, &value);
	reply(s, c, err, value);
}

static void kernel_find(struct soft_server *s, struct soft_conn *c)
{
	char name[GP_SOFT_NAME_MAX] = { 0 };
	const size_t len = c->bytes - sizeof(struct gp_soft_req);
	uint32_t id = 0;

	if (len < sizeof(name)) {
		memcpy(name, c->msg + sizeof(struct gp_soft_req), len);
		id = soft_kernel_find(name);
	}
	if (id)
		soft_reply(s, c, 0, id, soft_kernel(id)->args_bytes, NULL, 0, -1);
	else
		reply(s, c, -ENOENT, 0);
}

/* ---- work ------------------------------------------------------------------ */

static void submit(struct soft_server *s, struct soft_conn *c)
{
	uint64_t seq = 0;
	int err = soft_submit(s, c, &seq);

	if (err == -ENOSPC) {
		soft_conn_block(s, c, SOFT_SPACE);
		return;
	}
	reply(s, c, err, seq);
}

bool soft_points_done(struct soft_server *s, struct soft_conn *c)
{
	const struct gp_soft_req *req = request(c);
	const struct gp_soft_point *point = (const void *)(req + 1);

	if (c->proc->error)
		return true;
	for (uint32_t i = 0; i < req->u.wait.count; i++) {
		const struct soft_object *o =
			soft_rm_channel(s, c->proc, point[i].client, point[i].channel);

		if (o && o->done_seq < point[i].seq)
			return false;
	}
	return true;
}

static bool points_ok(const struct soft_conn *c)
{
	const struct gp_soft_req *req = request(c);

	return req->u.wait.count <= GP_SOFT_MSG_MAX &&
	       c->bytes == sizeof(*req) + req->u.wait.count * sizeof(struct gp_soft_point);
}

static void wait_points(struct soft_server *s, struct soft_conn *c)
{
	if (!points_ok(c))
		reply(s, c, -EPROTO, 0);
	else if (soft_points_done(s, c))
		reply(s, c, 0, 0);
	else if (request(c)->op == GP_SOFT_QUERY)
		reply(s, c, -EAGAIN, 0);
	else
		soft_conn_block(s, c, SOFT_WAIT);
}

static void sleep_until(struct soft_server *s, struct soft_conn *c)
{
	const struct gp_soft_req *req = request(c);

	if (req->a <= soft_now(s)) {
		reply(s, c, 0, 0);
		return;
	}
	c->wake_ns = req->a;
	soft_conn_block(s, c, SOFT_SLEEP);
}

static void rm_open(struct soft_server *s, struct soft_conn *c)
{
	int fd = -1;
	int err = soft_rm_open(s, c->proc, &fd);

	soft_reply(s, c, err, 0, 0, NULL, 0, fd);
	if (fd >= 0)
		close(fd);
}

/* ---- dispatch --------------------------------------------------------------- */

static void carry_out(struct soft_server *s, struct soft_conn *c)
{
	const struct gp_soft_req *req = request(c);
	int err;

	switch (req->op) {
	case GP_SOFT_NOW:
		reply(s, c, 0, soft_now(s));
		break;
	case GP_SOFT_SLEEP:
		sleep_until(s, c);
		break;
	case GP_SOFT_RM_OPEN:
		rm_open(s, c);
		break;
	case GP_SOFT_RM_IOCTL:
		err = soft_rm_ioctl(s, c);
		if (err)
			reply(s, c, err, 0);
		break;
	case GP_SOFT_MEM_ALLOC:
		mem_alloc(s, c);
		break;
	case GP_SOFT_MEM_BIND:
		reply(s, c, soft_region_bind(c->proc, req->a, req->b), 0);
		break;
	case GP_SOFT_MEM_FREE:
		reply(s, c, soft_region_free(s, c->proc, req->a, false), 0);
		break;
	case GP_SOFT_MEM_INFO:
		soft_reply(s, c, 0, s->memory_bytes - s->device_bytes, s->memory_bytes, NULL, 0,
			   -1);
		break;
	case GP_SOFT_MEM_RANGE:
		mem_range(s, c);
		break;
	case GP_SOFT_VIRTUAL:
		virtual(s, c);
		break;
	case GP_SOFT_KERNEL:
		kernel_find(s, c);
		break;
	case GP_SOFT_SUBMIT:
		submit(s, c);
		break;
	case GP_SOFT_WAIT:
	case GP_SOFT_QUERY:
		wait_points(s, c);
		break;
	default:
		reply(s, c, -EOPNOTSUPP, 0);
		break;
	}
}

void soft_go_on(struct soft_server *s, struct soft_conn *c)
{
	int err;

	switch (c->state) {
	case SOFT_SLEEP:
	case SOFT_WAIT:
		reply(s, c, 0, 0);
		break;
	case SOFT_CONTROL:
		err = soft_rm_ioctl(s, c);
		if (err)
			reply(s, c, err, 0);
		break;
	case SOFT_ARMED:
		c->state = SOFT_FIRED;
		c->ignored = false;
		c->stall_since_ns = 0;
		if (eventfd_write(c->event_fd, 1))
			c->closing = true;
		break;
	default:
		carry_out(s, c);
		break;
	}
}

bool soft_handle(struct soft_server *s, struct soft_conn *c, size_t bytes)
{
	const struct gp_soft_req *req = request(c);
	uint64_t cost;

	if (bytes < sizeof(*req) || req->magic != GP_SOFT_PROTO_MAGIC)
		return false;
	c->bytes = (uint32_t)bytes;
	if (req->op == GP_SOFT_HELLO)
		return hello(s, c);
	if (c->kind == GP_SOFT_TIMER)
		return handle_timer(s, c);
	if (c->kind != GP_SOFT_THREAD)
		return false;
	cost = cost_ns(s, c);
	if (!cost) {
		carry_out(s, c);
		return true;
	}
	c->wake_ns = soft_now(s) + cost;
	soft_conn_block(s, c, SOFT_DELAY);
	return true;
}
