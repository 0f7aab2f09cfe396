// SPDX-License-Identifier: Apache-2.0
/*
 * A tenant's socket: messages, each behind two bytes of its length; the first
 * byte of the input says whether the peer may change anything.
 */
#include "client/tenant_socket.h"
#include "tests/fuzz/fuzz.h"

static void one_message(const uint8_t *data, size_t size, bool may_change)
{
	/* Odd and of its own: the handler may not trust alignment or length. */
	uint8_t *bytes = malloc(size + 1);
	struct gp_tenant_socket_wait wait = { 0 };
	union gp_wire_msg reply;

	FUZZ_CHECK(bytes);
	if (size)
		memcpy(bytes + 1, data, size);
	gp_tenant_socket_handle(bytes + 1, size, may_change, &reply, &wait);
	FUZZ_CHECK(!wait.count);
	FUZZ_CHECK(!gp_wire_check(&reply, reply.head.size) || reply.head.type == GP_WIRE_RESULT ||
		   reply.head.type == GP_WIRE_STATUS);
	FUZZ_CHECK(reply.head.size <= sizeof(reply));
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool may_change = size && (data[0] & 1);
	size_t at = 1;

	while (at + 2 <= size) {
		size_t len = data[at] | (size_t)data[at + 1] << 8;

		at += 2;
		if (len > size - at)
			len = size - at;
		one_message(data + at, len, may_change);
		at += len;
	}
	return 0;
}
