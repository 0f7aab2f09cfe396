// SPDX-License-Identifier: Apache-2.0
/* The bench's reference computes in closed form; here it is compared with iteration. */
#include "tests/common/gp_test.h"

#include <string.h>

#include "bench/gpu/reference.c"

#define BLOCKS 3u
#define WORDS (BLOCKS * GP_KERNEL_WORDS)

static void work_iterates(void **state)
{
	uint32_t buf[WORDS], in[WORDS], expect[WORDS];

	gp_ref_fill(buf, WORDS, 1);
	gp_ref_fill(in, WORDS, 2);
	for (uint32_t g = 0; g < WORDS; g++) {
		expect[g] = buf[g] + in[g];
		for (int i = 0; i < 777; i++)
			expect[g] = GP_KERNEL_MUL * expect[g] + (2 * g + 1);
	}
	gp_ref_work(buf, in, GP_KERNEL_MUL, 777, 2, 1);
	gp_ref_work(buf, in, GP_KERNEL_MUL, 777, 0, 2);
	assert_memory_equal(buf, expect, sizeof(buf));
}

/* From any word, any number of them, by any instructions, and none beside them. */
static void any_number_of_words(void **state)
{
	const struct lcg_jump jump = lcg_jump(GP_KERNEL_MUL, 55);
	uint32_t buf[64], portable[64], in[64], expect[64];

	gp_ref_fill(in, 64, 2);
	for (size_t first = 0; first < 12; first++) {
		for (size_t count = 0; count < 40; count++) {
			gp_ref_fill(buf, 64, 1);
			memcpy(portable, buf, sizeof(buf));
			memcpy(expect, buf, sizeof(buf));
			for (size_t g = first; g < first + count; g++)
				expect[g] = lcg_apply(jump, buf[g] + in[g], 2 * (uint32_t)g + 1);
			gp_ref_words(buf, in, GP_KERNEL_MUL, 55, first, count);
			assert_memory_equal(buf, expect, sizeof(buf));
			words(portable, in, jump, first, count);
			assert_memory_equal(portable, expect, sizeof(buf));
		}
	}
}

/* The other registers count: a wrong pair changes the result. */
static void live_is_work(void **state)
{
	static uint32_t (*const live[])(uint32_t x, uint32_t mul, uint32_t add, uint32_t iters,
					uint32_t one) = {
#define BODY(registers, pairs) gp_body_live_##registers,
		GP_LIVE_KERNELS(BODY)
#undef BODY
	};
	uint32_t buf[WORDS], expect[WORDS];

	for (size_t i = 0; i < sizeof(live) / sizeof(*live); i++) {
		gp_ref_fill(buf, WORDS, 3);
		memcpy(expect, buf, sizeof(buf));
		gp_ref_words(expect, NULL, GP_KERNEL_MUL, 1000, 0, WORDS);
		for (uint32_t g = 0; g < WORDS; g++) {
			assert_int_equal(live[i](buf[g], GP_KERNEL_MUL, 2 * g + 1, 1000, 1),
					 expect[g]);
			assert_int_not_equal(live[i](buf[g], GP_KERNEL_MUL, 2 * g + 1, 1000, 3),
					     expect[g]);
		}
	}
}

static uint32_t smem_thread(const uint32_t *start, uint32_t t, uint32_t iters)
{
	const uint32_t next = start[(t + 1) % GP_KERNEL_THREADS];
	uint32_t r[GP_KERNEL_SMEM_REGS], s[GP_KERNEL_SMEM_WORDS], x = start[t];

	for (uint32_t j = 0; j < GP_KERNEL_SMEM_REGS; j++)
		r[j] = x + j * GP_KERNEL_MIX;
	for (uint32_t k = 0; k < GP_KERNEL_SMEM_WORDS; k++)
		s[k] = next ^ (k * GP_KERNEL_MIX);
	for (uint32_t i = 0; i < iters; i++) {
		const uint32_t k = i % GP_KERNEL_SMEM_WORDS;

		for (uint32_t j = 0; j < GP_KERNEL_SMEM_REGS; j++)
			r[j] = GP_KERNEL_MUL * r[j] + (2 * j + 1);
		s[k] = GP_KERNEL_MUL * s[k] + (2 * k + 1);
	}
	for (uint32_t j = 0; j < GP_KERNEL_SMEM_REGS; j++)
		x = (x * 33) ^ r[j];
	for (uint32_t k = 0; k < GP_KERNEL_SMEM_WORDS; k++)
		x = (x * 33) ^ s[k];
	return x;
}

static void smem_iterates(void **state)
{
	static const uint32_t iters[] = { 0, 1, 47, 48, 49, 500 };
	uint32_t start[GP_KERNEL_WORDS], buf[GP_KERNEL_WORDS];

	for (size_t i = 0; i < sizeof(iters) / sizeof(*iters); i++) {
		gp_ref_fill(start, GP_KERNEL_WORDS, 5);
		memcpy(buf, start, sizeof(buf));
		gp_ref_smem(buf, GP_KERNEL_MUL, iters[i], 0, 1);
		for (uint32_t t = 0; t < GP_KERNEL_THREADS; t++)
			assert_int_equal(buf[t], smem_thread(start, t, iters[i]));
	}
}

/* The kernel's own text, thread by thread. */
static void stream_is_what_the_kernel_does(void **state)
{
	static const uint32_t iters[] = { 0, 1, 2, 3, 4, 100 };
	enum {
		ROWS = 3,
		ALL = BLOCKS * ROWS * GP_KERNEL_ROW_WORDS
	};
	static uint32_t buf[ALL] __attribute__((aligned(16))), expect[ALL];

	for (size_t i = 0; i < sizeof(iters) / sizeof(*iters); i++) {
		gp_ref_fill(buf, ALL, 4);
		memcpy(expect, buf, sizeof(buf));
		for (uint32_t launch = 0; launch < 2; launch++)
			for (uint32_t g = 0; g < BLOCKS * GP_KERNEL_THREADS; g++)
				gp_body_stream(buf, GP_KERNEL_MUL, iters[i], ROWS,
					       g / GP_KERNEL_THREADS, g % GP_KERNEL_THREADS);
		gp_ref_stream(expect, GP_KERNEL_MUL, iters[i], ROWS, 2, 0, 1);
		assert_int_equal(!memcmp(expect, buf, sizeof(buf)), !iters[i]);
		gp_ref_stream(expect, GP_KERNEL_MUL, iters[i], ROWS, 2, 1, BLOCKS - 1);
		assert_memory_equal(expect, buf, sizeof(buf));
	}
}

static void tensor_adds_up(void **state)
{
	uint32_t at_once[GP_KERNEL_TENSOR_WORDS], in_steps[GP_KERNEL_TENSOR_WORDS];

	gp_ref_fill(at_once, GP_KERNEL_TENSOR_WORDS, 9);
	memcpy(in_steps, at_once, sizeof(at_once));
	gp_ref_tensor(at_once, 3, 5, 0, 1);
	for (int i = 0; i < 5; i++)
		gp_ref_tensor(in_steps, 3, 1, 0, 1);
	assert_memory_equal(at_once, in_steps, sizeof(at_once));
	gp_ref_tensor(at_once, 3, 1, 0, 1);
	assert_memory_not_equal(at_once, in_steps, sizeof(at_once));
}

/* No block writes what another block of the same phase reads. */
static void coop_uses_two_planes(void **state)
{
	uint32_t buf[2 * WORDS], expect[2 * WORDS];

	gp_ref_fill(buf, 2 * WORDS, 4);
	memcpy(expect, buf, sizeof(buf));
	for (uint32_t p = 0; p < 4; p++) {
		for (uint32_t g = 0; g < WORDS; g++) {
			const uint32_t *from = expect + (p % 2) * WORDS;
			uint32_t x = from[g] + from[(g + 128 * BLOCKS + 1) % WORDS];

			for (int i = 0; i < 10; i++)
				x = GP_KERNEL_MUL * x + (2 * g + 1);
			expect[((p + 1) % 2) * WORDS + g] = x;
		}
	}
	gp_ref_coop(buf, GP_KERNEL_MUL, 10, 4, BLOCKS);
	assert_memory_equal(buf, expect, sizeof(buf));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_iterates),
		cmocka_unit_test(any_number_of_words),
		cmocka_unit_test(live_is_work),
		cmocka_unit_test(smem_iterates),
		cmocka_unit_test(stream_is_what_the_kernel_does),
		cmocka_unit_test(tensor_adds_up),
		cmocka_unit_test(coop_uses_two_planes),
	};

	return gp_run_tests(tests);
}
