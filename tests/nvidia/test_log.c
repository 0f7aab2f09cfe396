// SPDX-License-Identifier: Apache-2.0
#include "tests/common/gp_test.h"

#include <string.h>

#include "nvidia-backend/nv_internal.h"

#define SIZE 16u

static struct gp_rm_event_header header;
static struct gp_rm_event_record record[SIZE];
static uint16_t next_seq;

static void start(uint16_t seq)
{
	memset(&header, 0, sizeof(header));
	memset(record, 0xee, sizeof(record));
	next_seq = seq;
}

/* Write as RM does when it keeps the newest records. */
static void put(uint8_t tag, uint32_t pid, uint64_t time_ns)
{
	struct gp_rm_event_record *r = &record[header.put];

	memset(r, 0, sizeof(*r));
	r->type = GP_RM_EVENT_TYPE_FECS_V2;
	r->tag = tag;
	r->seqno = next_seq++;
	r->pid = pid;
	r->context = 0x5c000010;
	r->time_ns = time_ns;
	header.put = (header.put + 1) % SIZE;
	header.count++;
}

static void test_reads_in_order(void **state)
{
	struct gp_switch_record rec[8];
	struct gp_nv_ring ring;

	start(65534); /* the sequence number wraps */
	gp_nv_ring_init(&ring, &header, record, SIZE);
	assert_int_equal(gp_nv_ring_read(&ring, rec, 8), 0);
	put(GP_RM_FECS_TAG_SIMPLE_START, 42, 1000);
	put(GP_RM_FECS_TAG_SIMPLE_END, 42, 2000);
	put(GP_RM_FECS_TAG_SIMPLE_START, 0xffffffff, 3000);
	assert_int_equal(gp_nv_ring_read(&ring, rec, 2), 2);
	assert_int_equal(rec[0].kind, GP_SWITCH_START);
	assert_int_equal(rec[0].pid, 42);
	assert_int_equal(rec[0].context, 0x5c000010);
	assert_int_equal(rec[0].time_ns, 1000);
	assert_int_equal(rec[1].kind, GP_SWITCH_END);
	assert_int_equal(gp_nv_ring_read(&ring, rec, 8), 1);
	assert_int_equal(rec[0].pid, 0); /* a kernel client is no process */
	assert_int_equal(gp_nv_ring_read(&ring, rec, 8), 0);
}

static void test_gap_is_told(void **state)
{
	struct gp_switch_record rec[8];
	struct gp_nv_ring ring;

	start(10);
	gp_nv_ring_init(&ring, &header, record, SIZE);
	put(GP_RM_FECS_TAG_SIMPLE_START, 1, 1);
	next_seq += 5;
	put(GP_RM_FECS_TAG_SIMPLE_END, 1, 2);
	assert_int_equal(gp_nv_ring_read(&ring, rec, 8), 3);
	assert_int_equal(rec[1].kind, GP_SWITCH_LOST);
	assert_int_equal(rec[1].count, 5);
	assert_int_equal(rec[2].kind, GP_SWITCH_END);
}

static void test_gap_at_the_end_of_the_callers_room(void **state)
{
	struct gp_switch_record rec[2];
	struct gp_nv_ring ring;

	start(10);
	gp_nv_ring_init(&ring, &header, record, SIZE);
	put(GP_RM_FECS_TAG_SIMPLE_START, 1, 1);
	next_seq += 3;
	put(GP_RM_FECS_TAG_SIMPLE_END, 1, 2);
	assert_int_equal(gp_nv_ring_read(&ring, rec, 2), 2);
	assert_int_equal(rec[1].kind, GP_SWITCH_LOST);
	assert_int_equal(gp_nv_ring_read(&ring, rec, 2), 1);
	assert_int_equal(rec[0].kind, GP_SWITCH_END);
}

static void test_overrun(void **state)
{
	struct gp_switch_record rec[64];
	struct gp_nv_ring ring;
	size_t n;

	start(0);
	gp_nv_ring_init(&ring, &header, record, SIZE);
	put(GP_RM_FECS_TAG_SIMPLE_START, 1, 1);
	assert_int_equal(gp_nv_ring_read(&ring, rec, 64), 1);
	for (uint64_t i = 0; i < 50; i++)
		put(i % 2 ? GP_RM_FECS_TAG_SIMPLE_START : GP_RM_FECS_TAG_SIMPLE_END, 1, 10 + i);
	n = gp_nv_ring_read(&ring, rec, 64);
	/* 15 of the 50 are left, and one record counts the other 35. */
	assert_int_equal(n, SIZE);
	assert_int_equal(rec[0].kind, GP_SWITCH_LOST);
	assert_int_equal(rec[0].count, 35);
	assert_int_equal(rec[n - 1].time_ns, 59);
	assert_int_equal(gp_nv_ring_read(&ring, rec, 64), 0);
}

static void test_other_records_are_skipped(void **state)
{
	struct gp_switch_record rec[8];
	struct gp_nv_ring ring;

	start(0);
	gp_nv_ring_init(&ring, &header, record, SIZE);
	put(GP_RM_FECS_TAG_INVALID_TIMESTAMP, 1, 1);
	put(GP_RM_FECS_TAG_SIMPLE_START, 1, 2);
	record[1].type = 77;
	put(GP_RM_FECS_TAG_SIMPLE_END, 1, 3);
	assert_int_equal(gp_nv_ring_read(&ring, rec, 8), 1);
	assert_int_equal(rec[0].time_ns, 3);
}

/* With any contents of the shared memory, the reader stays inside it. */
static void test_garbage_is_survived(void **state)
{
	struct gp_switch_record rec[64];
	struct gp_nv_ring ring;
	uint32_t seed = 20240607, x = seed;

	print_message("seed %u\n", seed);
	start(0);
	gp_nv_ring_init(&ring, &header, record, SIZE);
	for (int i = 0; i < 20000; i++) {
		uint8_t *bytes = i % 2 ? (uint8_t *)&header : (uint8_t *)record;
		size_t n = i % 2 ? sizeof(header) : sizeof(record);

		x = x * 1664525u + 1013904223u;
		bytes[(x >> 8) % n] = (uint8_t)(x >> 24);
		assert_true(gp_nv_ring_read(&ring, rec, 64) <= 64);
		assert_true(ring.get < SIZE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_in_order),
		cmocka_unit_test(test_gap_is_told),
		cmocka_unit_test(test_gap_at_the_end_of_the_callers_room),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_other_records_are_skipped),
		cmocka_unit_test(test_garbage_is_survived),
	};

	return gp_run_tests(tests);
}
