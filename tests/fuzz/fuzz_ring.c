// SPDX-License-Identifier: Apache-2.0
/*
 * The switch log's ring, with a writer that may be ahead, behind or broken. The input has a
 * byte for the ring's size and one for the size of a read. Then, repeatedly, a header and
 * records overwrite the ring.
 */
#include "nvidia-backend/nv_internal.h"
#include "tests/fuzz/fuzz.h"

#define RECORDS_MAX 64u
#define READ_MAX 32u

static size_t take(const uint8_t **data, size_t *size, void *to, size_t bytes)
{
	const size_t n = *size < bytes ? *size : bytes;

	if (n)
		memcpy(to, *data, n);
	*data += n;
	*size -= n;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp_switch_record out[READ_MAX];
	struct gp_rm_event_header header = { 0 };
	struct gp_rm_event_record *record;
	struct gp_nv_ring ring;
	uint8_t head[2] = { 0 };
	uint32_t records;
	size_t batch;

	take(&data, &size, head, sizeof(head));
	records = 2 + head[0] % (RECORDS_MAX - 1);
	batch = 1 + head[1] % READ_MAX;
	record = calloc(records, sizeof(*record));
	FUZZ_CHECK(record);
	take(&data, &size, &header, sizeof(header));
	gp_nv_ring_init(&ring, &header, record, records);
	while (take(&data, &size, &header, sizeof(header))) {
		take(&data, &size, record, records * sizeof(*record));
		/* A reader gets to the end: at most two entries per record. */
		for (uint32_t i = 0; i <= 2 * records; i++) {
			size_t n = gp_nv_ring_read(&ring, out, batch);

			FUZZ_CHECK(n <= batch && ring.get < records);
			for (size_t k = 0; k < n; k++)
				FUZZ_CHECK(out[k].count);
		}
		FUZZ_CHECK(!gp_nv_ring_read(&ring, out, batch));
	}
	free(record);
	return 0;
}
