// SPDX-License-Identifier: Apache-2.0
/*
 * The software GPU's server, with clients that send anything: two threads and a timer of one
 * process, and a thread of another user's. A group with a channel and 64 KiB of device memory
 * exist already.
 *
 * The input is a row of records: connection, operation, file, number of the ioctl, bytes of
 * its structure / 4, length (2 bytes), and the bytes. These follow the request's magic and
 * operation.
 */
#include <fcntl.h>
#include <unistd.h>

#include "softgpu/server/server.h"
#include "tests/fuzz/fuzz.h"

#define CONNS 4u
#define FILES 4u
#define STEPS 64
#define MEMORY_BYTES 65536u

enum {
	CLIENT = 1,
	DEVICE,
	SUBDEVICE,
	GROUP,
	CHANNEL
};

struct rig {
	struct soft_server *s;
	struct soft_conn *conn[CONNS];
	dev_t dev[FILES];
	ino_t ino[FILES];
	int fd[FILES];
};

static struct gp_soft_req *request(struct soft_conn *c, uint32_t op)
{
	struct gp_soft_req *req = (void *)c->msg;

	memset(c->msg, 0, sizeof(c->msg));
	req->magic = GP_SOFT_PROTO_MAGIC;
	req->op = op;
	return req;
}

static bool may_speak(const struct soft_conn *c)
{
	return !c->closing && (c->kind == GP_SOFT_TIMER || c->state == SOFT_RUN ||
			       c->state == SOFT_AWAY || c->state == SOFT_PARKED);
}

static void settle(struct rig *rig)
{
	for (int i = 0; i < STEPS; i++) {
		struct soft_conn *c = soft_ready(rig->s);

		if (c)
			soft_go_on(rig->s, c);
		else if (!soft_advance(rig->s))
			return;
	}
}

static void say(struct rig *rig, struct soft_conn *c, size_t bytes)
{
	if (!soft_handle(rig->s, c, bytes))
		c->closing = true;
	settle(rig);
}

static void hello(struct rig *rig, uint32_t i, uint32_t kind)
{
	struct gp_soft_req *req = request(rig->conn[i], GP_SOFT_HELLO);

	req->u.hello.version = GP_SOFT_PROTO_VERSION;
	req->u.hello.kind = kind;
	req->u.hello.tid = (int32_t)i;
	say(rig, rig->conn[i], sizeof(*req));
	FUZZ_CHECK(rig->conn[i]->kind == kind);
}

static void use_file(struct rig *rig, struct soft_conn *c, uint32_t i)
{
	c->has_file = true;
	c->file_dev = rig->dev[i % FILES];
	c->file_ino = rig->ino[i % FILES];
	if (c->file2 >= 0)
		close(c->file2);
	c->file2 = fcntl(rig->fd[i / FILES % FILES], F_DUPFD_CLOEXEC, 0);
}

static void rm(struct rig *rig, uint32_t nr, const void *arg, size_t bytes, const void *params,
	       size_t params_bytes)
{
	struct soft_conn *c = rig->conn[0];
	struct gp_soft_req *req = request(c, GP_SOFT_RM_IOCTL);
	uint8_t *at = (uint8_t *)(req + 1);

	req->u.ioctl.request = (uint32_t)GP_RM_REQUEST_BYTES(nr, bytes);
	req->u.ioctl.struct_bytes = (uint32_t)bytes;
	req->u.ioctl.params_bytes = (uint32_t)params_bytes;
	memcpy(at, arg, bytes);
	memcpy(at + bytes, params, params_bytes);
	use_file(rig, c, 0);
	say(rig, c, sizeof(*req) + bytes + params_bytes);
}

static void rm_alloc(struct rig *rig, uint32_t parent, uint32_t handle, uint32_t cls)
{
	const struct gp_rm_channel_group_params params = { .engine = 1 };
	const struct gp_rm_alloc64 a = {
		.client = CLIENT,
		.parent = parent,
		.object = handle,
		.cls = cls,
	};

	rm(rig, GP_RM_ESC_ALLOC, &a, sizeof(a), &params, sizeof(params));
}

static void make_objects(struct rig *rig)
{
	const struct gp_rm_tsg_schedule on = { .enable = 1 };
	const struct gp_rm_control ctl = {
		.client = CLIENT,
		.object = GROUP,
		.cmd = GP_RM_CTRL_TSG_SCHEDULE,
		.params_size = sizeof(on),
	};
	struct gp_soft_req *req;

	rm_alloc(rig, 0, CLIENT, GP_RM_CLASS_ROOT_CLIENT);
	rm_alloc(rig, CLIENT, DEVICE, GP_RM_CLASS_DEVICE);
	rm_alloc(rig, DEVICE, SUBDEVICE, GP_RM_CLASS_SUBDEVICE);
	rm_alloc(rig, DEVICE, GROUP, GP_RM_CLASS_CHANNEL_GROUP);
	rm_alloc(rig, GROUP, CHANNEL, GP_RM_CLASS_HOPPER_CHANNEL);
	FUZZ_CHECK(soft_rm_channel(rig->s, rig->conn[0]->proc, CLIENT, CHANNEL));
	rm(rig, GP_RM_ESC_CONTROL, &ctl, sizeof(ctl), &on, sizeof(on));
	req = request(rig->conn[0], GP_SOFT_MEM_ALLOC);
	req->a = MEMORY_BYTES;
	say(rig, rig->conn[0], sizeof(*req));
}

static void rig_init(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	rig->s = soft_server_create(-1, &(struct soft_options){ .gpus = 2 });
	FUZZ_CHECK(rig->s);
	rig->s->fuzzing = true;
	for (uint32_t i = 0; i < CONNS; i++) {
		rig->conn[i] = soft_conn_create(rig->s, -1, i < 3 ? 100 : 200, i < 3 ? 1000 : 2000);
		FUZZ_CHECK(rig->conn[i]);
	}
	hello(rig, 0, GP_SOFT_THREAD);
	hello(rig, 1, GP_SOFT_THREAD);
	hello(rig, 2, GP_SOFT_TIMER);
	hello(rig, 3, GP_SOFT_THREAD);
	for (uint32_t i = 0; i < FILES; i++) {
		FUZZ_CHECK(!soft_rm_open(rig->s, rig->conn[i < 3 ? 0 : 3]->proc, &rig->fd[i]));
		rig->dev[i] = rig->s->files->dev;
		rig->ino[i] = rig->s->files->ino;
	}
	make_objects(rig);
}

struct record {
	uint8_t conn, op, file, nr, words, len[2];
};

/* An ioctl's sizes match its bytes, because most input would be refused otherwise. */
static void fit_ioctl(struct gp_soft_req *req, const struct record *r, size_t bytes)
{
	const size_t room = bytes - sizeof(*req);
	size_t arg = r->words * 4u;

	if (arg > room)
		arg = room / 8 * 8;
	req->u.ioctl.request = (uint32_t)GP_RM_REQUEST_BYTES(r->nr, arg);
	req->u.ioctl.struct_bytes = (uint32_t)arg;
	req->u.ioctl.params_bytes = (uint32_t)(room - (arg + 7) / 8 * 8);
}

static void one_record(struct rig *rig, const struct record *r, const uint8_t *data, size_t len)
{
	struct soft_conn *c = rig->conn[r->conn % CONNS];
	const size_t head = 2 * sizeof(uint32_t);
	struct gp_soft_req *req;
	size_t bytes = head + len;

	if (!may_speak(c))
		return;
	req = request(c, r->op);
	if (len)
		memcpy(c->msg + head, data, len);
	if (bytes < sizeof(*req) && !(r->conn & 0x80))
		bytes = sizeof(*req);
	if (r->op == GP_SOFT_RM_IOCTL && bytes >= sizeof(*req) && !(r->conn & 0x40))
		fit_ioctl(req, r, bytes);
	use_file(rig, c, r->file);
	say(rig, c, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record r;
	struct rig rig;

	rig_init(&rig);
	while (size >= sizeof(r)) {
		size_t len;

		memcpy(&r, data, sizeof(r));
		data += sizeof(r);
		size -= sizeof(r);
		len = r.len[0] | (size_t)r.len[1] << 8;
		if (len > size)
			len = size;
		if (len > GP_SOFT_MSG_MAX - 2 * sizeof(uint32_t))
			len = GP_SOFT_MSG_MAX - 2 * sizeof(uint32_t);
		one_record(&rig, &r, data, len);
		data += len;
		size -= len;
	}
	soft_server_destroy(rig.s);
	for (uint32_t i = 0; i < FILES; i++)
		close(rig.fd[i]);
	return 0;
}
