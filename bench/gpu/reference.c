// SPDX-License-Identifier: Apache-2.0
/* reference.c - the bench's kernels on the CPU. See kernels.h. */
#include "bench/gpu/bodies.h"
#include "bench/gpu/kernels.h"

/* x after @n steps of x = mul * x + c is a * x + g * c. */
struct lcg_jump {
	uint32_t a, g;
};

static struct lcg_jump lcg_jump(uint32_t mul, uint64_t n)
{
	struct lcg_jump all = { 1, 0 }, step = { mul, 1 };

	for (; n; n >>= 1) {
		if (n & 1) {
			all.g = step.a * all.g + step.g;
			all.a *= step.a;
		}
		step.g += step.a * step.g;
		step.a *= step.a;
	}
	return all;
}

static uint32_t lcg_apply(struct lcg_jump j, uint32_t x, uint32_t c)
{
	return j.a * x + j.g * c;
}

/* So many words at once; the compiler makes of it what the processor has. */
#define LANES 8
typedef uint32_t lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static inline __attribute__((always_inline)) void
words(uint32_t *buf, const uint32_t *in, struct lcg_jump jump, size_t first, size_t count)
{
	const size_t end = first + count;
	const lanes place = { 0, 1, 2, 3, 4, 5, 6, 7 };
	lanes c = 2 * ((uint32_t)first + place) + 1;
	size_t g = first;

	for (; end - g >= LANES; g += LANES, c += 2 * LANES) {
		lanes x = *(const lanes *)(buf + g);

		if (in)
			x += *(const lanes *)(in + g);
		*(lanes *)(buf + g) = jump.a * x + jump.g * c;
	}
	for (; g < end; g++)
		buf[g] = lcg_apply(jump, buf[g] + (in ? in[g] : 0), 2 * (uint32_t)g + 1);
}

#ifdef __x86_64__
/* A multiplication of lanes is one instruction there, and five on any x86-64. */
__attribute__((target("avx2"))) static void
words_avx2(uint32_t *buf, const uint32_t *in, struct lcg_jump jump, size_t first, size_t count)
{
	words(buf, in, jump, first, count);
}
#endif

void gp_ref_words(uint32_t *buf, const uint32_t *in, uint32_t mul, uint32_t iters, size_t first,
		  size_t count)
{
	const struct lcg_jump jump = lcg_jump(mul, iters);

#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		words_avx2(buf, in, jump, first, count);
		return;
	}
#endif
	words(buf, in, jump, first, count);
}

void gp_ref_work(uint32_t *buf, const uint32_t *in, uint32_t mul, uint32_t iters, uint64_t first,
		 uint64_t count)
{
	gp_ref_words(buf, in, mul, iters, first * GP_KERNEL_WORDS, count * GP_KERNEL_WORDS);
}

static void smem_block(uint32_t *buf, struct lcg_jump all, const struct lcg_jump *word_jump)
{
	uint32_t start[GP_KERNEL_THREADS];

	for (uint32_t t = 0; t < GP_KERNEL_THREADS; t++)
		start[t] = buf[t];
	for (uint32_t t = 0; t < GP_KERNEL_THREADS; t++) {
		uint32_t x = start[t];
		const uint32_t next = start[(t + 1) % GP_KERNEL_THREADS];
		const uint32_t own = x;

		for (uint32_t j = 0; j < GP_KERNEL_SMEM_REGS; j++)
			x = (x * 33) ^ lcg_apply(all, own + j * GP_KERNEL_MIX, 2 * j + 1);
		for (uint32_t k = 0; k < GP_KERNEL_SMEM_WORDS; k++)
			x = (x * 33) ^
			    lcg_apply(word_jump[k], next ^ (k * GP_KERNEL_MIX), 2 * k + 1);
		buf[t] = x;
	}
}

void gp_ref_smem(uint32_t *buf, uint32_t mul, uint32_t iters, uint64_t first, uint64_t count)
{
	struct lcg_jump word_jump[GP_KERNEL_SMEM_WORDS];

	for (uint32_t k = 0; k < GP_KERNEL_SMEM_WORDS; k++)
		word_jump[k] = lcg_jump(mul, (iters + GP_KERNEL_SMEM_WORDS - 1 - k) /
						     GP_KERNEL_SMEM_WORDS);
	for (uint64_t b = first; b < first + count; b++)
		smem_block(buf + b * GP_KERNEL_WORDS, lcg_jump(mul, iters), word_jump);
}

void gp_ref_stream(uint32_t *buf, uint32_t mul, uint32_t iters, uint32_t rows, uint64_t launches,
		   uint64_t first, uint64_t count)
{
	for (uint64_t row = first * rows; row < (first + count) * rows; row++) {
		const uint64_t k = row % rows;
		const uint64_t steps = (iters + (rows - 1 - k)) / rows * launches;
		/* Their period is 2^32. */
		const struct lcg_jump jump = lcg_jump(mul, (uint32_t)steps);
		const size_t at = row * GP_KERNEL_ROW_WORDS;

		for (size_t w = at; w < at + GP_KERNEL_ROW_WORDS; w++)
			buf[w] = lcg_apply(jump, buf[w], 2 * (uint32_t)w + 1);
	}
}

static int32_t tensor_byte(uint32_t seed, uint32_t index)
{
	return (int8_t)(((seed + index) * 2654435761u) >> 24);
}

static void tensor_tile(uint32_t *tile, uint32_t seed, uint32_t iters, uint32_t base)
{
	for (uint32_t i = 0; i < 16; i++) {
		for (uint32_t j = 0; j < 16; j++) {
			int32_t sum = 0;

			for (uint32_t k = 0; k < 16; k++)
				sum += tensor_byte(seed, base + 16 * i + k) *
				       tensor_byte(seed, base + 256 + 16 * k + j);
			tile[16 * i + j] += iters * (uint32_t)sum;
		}
	}
}

void gp_ref_tensor(uint32_t *buf, uint32_t seed, uint32_t iters, uint64_t first, uint64_t count)
{
	for (uint64_t w = first * 8; w < (first + count) * 8; w++)
		tensor_tile(buf + w * GP_KERNEL_TILE_WORDS, seed, iters, (uint32_t)w * 512);
}

void gp_ref_coop(uint32_t *buf, uint32_t mul, uint32_t iters, uint32_t phases, uint64_t blocks)
{
	const struct lcg_jump jump = lcg_jump(mul, iters);
	const size_t words = blocks * GP_KERNEL_WORDS;

	for (uint32_t p = 0; p < phases; p++) {
		const uint32_t *from = buf + (p % 2) * words;
		uint32_t *to = buf + ((p + 1) % 2) * words;

		for (size_t g = 0; g < words; g++)
			to[g] = lcg_apply(jump, from[g] + from[(g + words / 2 + 1) % words],
					  2 * (uint32_t)g + 1);
	}
}

void gp_ref_stencil(const uint32_t *in, uint32_t *out, uint32_t width, uint32_t height,
		    uint32_t along_z, uint64_t first, uint64_t count)
{
	for (uint64_t g = first * GP_KERNEL_THREADS; g < (first + count) * GP_KERNEL_THREADS; g++)
		gp_body_stencil(in, out, width, height, along_z, (uint32_t)g);
}

/* The edges of a vertex lead to vertices. */
static bool is_whole(uint32_t vertices, uint32_t edges, const uint32_t *row, const uint32_t *col,
		     uint32_t v)
{
	if (row[v] > row[v + 1] || row[v + 1] > edges)
		return false;
	for (uint32_t e = row[v]; e < row[v + 1]; e++)
		if (col[e] >= vertices)
			return false;
	return true;
}

bool gp_ref_csr(uint32_t op, uint32_t vertices, uint32_t edges, uint32_t round, const uint32_t *row,
		const uint32_t *col, const uint32_t *in, uint32_t *out, uint64_t first,
		uint64_t count)
{
	uint64_t end = (first + count) * GP_KERNEL_THREADS;

	if (end > vertices)
		end = vertices;
	for (uint64_t v = first * GP_KERNEL_THREADS; v < end; v++) {
		if (!is_whole(vertices, edges, row, col, (uint32_t)v))
			return false;
		gp_body_csr(op, vertices, round, row, col, in, out, (uint32_t)v);
	}
	return true;
}

void gp_ref_fill(uint32_t *buf, size_t words, uint32_t seed)
{
	for (size_t i = 0; i < words; i++)
		buf[i] = ((uint32_t)i + seed) * 2246822519u ^ seed;
}

uint64_t gp_ref_checksum(const void *data, size_t bytes)
{
	const unsigned char *p = data;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash;
}
