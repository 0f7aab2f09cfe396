// SPDX-License-Identifier: Apache-2.0
/*
 * Peers' messages to the daemon, with files. Only valid messages are accepted, their contents
 * are safe to use, and no file stays open.
 *
 * The input is a row of messages: number of files, their form (bits, below), length (2 bytes),
 * and the bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/class.h"
#include "tests/fuzz/fuzz.h"
#include "wire/quota.h"

#define FILES_MOST 24u /* more than GP_WIRE_MAX_FILES */
#define BYTES_MOST (sizeof(union gp_wire_msg) + 32)
#define MESSAGES_MOST 64

enum how {
	WITH_HEAD = 1, /* the first byte is its type; the head is valid */
	FILES_UNWANTED = 2,
	TWO_ROWS = 4, /* of files */
	PEEKED = 8,   /* like the daemon's loop */
};

struct message {
	uint8_t files, how, len[2];
};

static int pair[2] = { -1, -1 }, file[FILES_MOST];

static void set_up(void)
{
	if (pair[0] >= 0)
		return;
	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	for (unsigned int i = 0; i < FILES_MOST; i++) {
		file[i] = memfd_create("fuzz", MFD_CLOEXEC);
		FUZZ_CHECK(file[i] >= 0);
	}
}

/* The next descriptor of this process. */
static int next_file(void)
{
	int fd = dup(file[0]);

	FUZZ_CHECK(fd >= 0);
	close(fd);
	return fd;
}

static void check_request(const struct gp_wire_request *wire)
{
	char text[GP_CLASS_REQUEST_TEXT_LEN];
	struct gp_class_request request, again;
	struct gp_wire_request back;
	const char *why;

	FUZZ_CHECK(!gp_class_request_from_wire(wire, &request));
	gp_class_request_to_wire(&request, &back);
	FUZZ_CHECK(!memcmp(&back, wire, sizeof(back)));
	if (request.cls.cls == GP_CLASS_NONE)
		return;
	/* A user could have written it. */
	gp_class_request_format(&request, text, sizeof(text));
	FUZZ_CHECK(!gp_class_request_parse(text, &again, &why));
	FUZZ_CHECK(!memcmp(&again, &request, sizeof(again)));
}

static void check_text(const char *text, size_t size)
{
	FUZZ_CHECK(strnlen(text, size) < size);
}

/* The assumptions of @msg's users. */
static void check_believed(const union gp_wire_msg *msg)
{
	FUZZ_CHECK(msg->head.result <= 0);
	switch (msg->head.type) {
	case GP_WIRE_HELLO:
		check_request(&msg->hello.request);
		break;
	case GP_WIRE_AWAY:
		FUZZ_CHECK(msg->away.away <= 1 && msg->away.count <= GP_WIRE_KEEP_MAX);
		break;
	case GP_WIRE_ROOM:
		FUZZ_CHECK(msg->room.may_come <= 1 && msg->room.moving <= 1);
		break;
	case GP_WIRE_POOL:
		FUZZ_CHECK(msg->pool.pid > 0 && msg->pool.count <= GP_WIRE_POOL_MAX);
		break;
	case GP_WIRE_RULED:
		FUZZ_CHECK(msg->ruled.pool <= 1 && msg->ruled.percent <= 100 &&
			   msg->ruled.memory_max && msg->ruled.one <= 1 && msg->ruled.turns <= 1);
		break;
	case GP_WIRE_QUOTA:
		FUZZ_CHECK(msg->quota.place < GP_QUOTA_PLACES);
		break;
	case GP_WIRE_ASK_CLASS:
	case GP_WIRE_RULE:
		check_request(&msg->ask_class.request);
		break;
	case GP_WIRE_WHY:
	case GP_WIRE_TAKE:
	case GP_WIRE_HISTOGRAM:
		check_request(&msg->take.request);
		FUZZ_CHECK(msg->take.pid > 0 && msg->take.kind < GP_WIRE_HISTS);
		break;
	case GP_WIRE_WELCOME:
	case GP_WIRE_CLASS:
		check_request(&msg->welcome.request);
		check_text(msg->welcome.why, sizeof(msg->welcome.why));
		break;
	case GP_WIRE_TENANT:
		check_request(&msg->tenant.request);
		check_text(msg->tenant.comm, sizeof(msg->tenant.comm));
		check_text(msg->tenant.device, sizeof(msg->tenant.device));
		check_text(msg->tenant.why, sizeof(msg->tenant.why));
		break;
	case GP_WIRE_DEVICE:
		check_text(msg->device.name, sizeof(msg->device.name));
		check_text(msg->device.be_policy, sizeof(msg->device.be_policy));
		check_text(msg->device.lc_policy, sizeof(msg->device.lc_policy));
		break;
	case GP_WIRE_REASON:
		check_request(&msg->reason.request);
		check_text(msg->reason.why, sizeof(msg->reason.why));
		break;
	case GP_WIRE_SAID:
		check_text(msg->said.text, sizeof(msg->said.text));
		break;
	case GP_WIRE_TRACED:
		FUZZ_CHECK(msg->traced.count <= GP_WIRE_TRACE_RECORDS);
		break;
	default:
		break;
	}
}

/* Is it a valid message? In a buffer of its exact size, so that a read past it is found. */
static bool look(const uint8_t *bytes, size_t len)
{
	union gp_wire_msg *msg = malloc(len ? len : 1), whole;
	bool is_one;

	FUZZ_CHECK(msg);
	if (len)
		memcpy(msg, bytes, len);
	is_one = !gp_wire_check((const void *)msg, len);
	free(msg);
	if (!is_one)
		return false;
	FUZZ_CHECK(len >= sizeof(whole.head) && len <= sizeof(whole));
	/* No NUL past its end could terminate a text. */
	memset(&whole, 0xff, sizeof(whole));
	memcpy(&whole, bytes, len);
	if (!gp_wire_check_body(&whole))
		check_believed(&whole);
	return true;
}

static void add_files(struct msghdr *hdr, struct cmsghdr *at, const int *files, size_t n)
{
	at->cmsg_level = SOL_SOCKET;
	at->cmsg_type = SCM_RIGHTS;
	at->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(at), files, sizeof(int) * n);
	hdr->msg_controllen += CMSG_SPACE(sizeof(int) * n);
}

static void send_raw(const uint8_t *bytes, size_t len, size_t n, bool two_rows)
{
	union {
		struct cmsghdr align;
		char bytes[2 * CMSG_SPACE(sizeof(int) * FILES_MOST)];
	} control;
	struct iovec iov = { .iov_base = (void *)bytes, .iov_len = len };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };
	const size_t first = two_rows ? n / 2 : n;

	memset(&control, 0, sizeof(control));
	if (n)
		hdr.msg_control = &control;
	if (first)
		add_files(&hdr, &control.align, file, first);
	if (n > first)
		add_files(&hdr, (void *)(control.bytes + hdr.msg_controllen), file + first,
			  n - first);
	FUZZ_CHECK(sendmsg(pair[0], &hdr, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len);
}

/* A message arrives unchanged, or is refused with the right error. */
static void receive(const uint8_t *bytes, size_t len, size_t files)
{
	const bool fits = len <= sizeof(union gp_wire_msg) && files <= GP_WIRE_MAX_FILES &&
			  (len || !files);
	union gp_wire_msg msg;
	int got[GP_WIRE_MAX_FILES];
	size_t n = 99;
	ssize_t err = gp_wire_recv(pair[1], &msg, got, &n);

	FUZZ_CHECK(err == (fits ? (ssize_t)len : -EPROTO));
	FUZZ_CHECK(n == (fits ? files : 0));
	FUZZ_CHECK(!fits || !memcmp(&msg, bytes, len));
	for (size_t i = 0; i < n; i++) {
		FUZZ_CHECK(fcntl(got[i], F_GETFD) == FD_CLOEXEC);
		close(got[i]);
	}
}

static void receive_without(size_t len)
{
	union gp_wire_msg msg;

	FUZZ_CHECK(gp_wire_recv(pair[1], &msg, NULL, NULL) ==
		   (len > sizeof(msg) ? -EPROTO : (ssize_t)len));
}

/* A valid message passes through gp_wire_send() unchanged. */
static void send_again(const uint8_t *bytes, size_t len, size_t files)
{
	union gp_wire_msg msg;
	int err;

	memcpy(&msg, bytes, len);
	err = gp_wire_send(pair[0], &msg, file, files);
	FUZZ_CHECK(err == (files > GP_WIRE_MAX_FILES ? -EINVAL : 0));
	if (!err)
		receive(bytes, len, files);
}

/* A look shows that there are files, and takes none. */
static void peek(size_t len, size_t files)
{
	const int no = 0;
	union gp_wire_msg msg;
	bool any, some;

	FUZZ_CHECK(!gp_wire_can_peek(pair[1]));
	FUZZ_CHECK(gp_wire_peek(pair[1], &msg, &any, &some) ==
		   (ssize_t)(len < sizeof(msg) ? len : sizeof(msg)));
	FUZZ_CHECK(any);
	FUZZ_CHECK(some == (files > 0));
	FUZZ_CHECK(!setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &no, sizeof(no)));
}

static void one_message(const struct message *m, const uint8_t *bytes, size_t len)
{
	const size_t files = m->files % (FILES_MOST + 1);
	const int before = next_file();
	const bool is_one = look(bytes, len);

	send_raw(bytes, len, files, m->how & TWO_ROWS);
	if (m->how & PEEKED)
		peek(len, files);
	if (m->how & FILES_UNWANTED)
		receive_without(len);
	else
		receive(bytes, len, files);
	if (is_one)
		send_again(bytes, len, files);
	FUZZ_CHECK(next_file() == before);
}

/* A type's own size and head, because most input would be refused otherwise. Its length. */
static size_t put_head(uint8_t *bytes, size_t len)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, (enum gp_wire_type)bytes[0]);
	if (!msg.head.size)
		return len;
	if (len > 1)
		memcpy((uint8_t *)&msg + sizeof(msg.head), bytes + 1,
		       len - 1 < sizeof(msg) - sizeof(msg.head) ? len - 1 :
								  sizeof(msg) - sizeof(msg.head));
	memcpy(bytes, &msg, msg.head.size);
	return msg.head.size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[BYTES_MOST];
	struct message m;

	set_up();
	for (int i = 0; i < MESSAGES_MOST && size >= sizeof(m); i++) {
		size_t len;

		memcpy(&m, data, sizeof(m));
		data += sizeof(m);
		size -= sizeof(m);
		len = m.len[0] | (size_t)m.len[1] << 8;
		if (len > size)
			len = size;
		if (len > sizeof(bytes))
			len = sizeof(bytes);
		if (len)
			memcpy(bytes, data, len);
		data += len;
		size -= len;
		if (len && m.how & WITH_HEAD)
			len = put_head(bytes, len);
		one_message(&m, bytes, len);
	}
	return 0;
}
