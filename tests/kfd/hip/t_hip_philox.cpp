// SPDX-License-Identifier: Apache-2.0
/*
 * The Philox kernels of Debian's prebuilt librocrand against the published generator
 * (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011:
 * Philox4x32-10).
 */
#include "tap.h"

#include <rocrand/rocrand.h>

#include <cstdint>
#include <vector>

#define WORDS 65536
#define SEED 12345ull

struct block {
	uint32_t w[4];
};

static block philox4x32_10(block ctr, uint32_t k0, uint32_t k1)
{
	for (int round = 0; round < 10; round++) {
		uint64_t p0 = 0xd2511f53ull * ctr.w[0];
		uint64_t p1 = 0xcd9e8d57ull * ctr.w[2];

		ctr = { { (uint32_t)(p1 >> 32) ^ ctr.w[1] ^ k0, (uint32_t)p1,
			  (uint32_t)(p0 >> 32) ^ ctr.w[3] ^ k1, (uint32_t)p0 } };
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
	return ctr;
}

/* The counter's words are the number of the block and that of the subsequence. */
static uint32_t textbook(uint64_t word)
{
	block ctr = { { (uint32_t)(word / 4), 0, 0, 0 } };

	return philox4x32_10(ctr, (uint32_t)SEED, (uint32_t)(SEED >> 32)).w[word % 4];
}

int main()
{
	std::vector<uint32_t> got(WORDS), sorted, want(WORDS);
	rocrand_generator gen;
	uint32_t *d, wrong = 0;

	MUST(hipMalloc(&d, WORDS * 4));
	ok(rocrand_create_generator(&gen, ROCRAND_RNG_PSEUDO_PHILOX4_32_10) ==
			   ROCRAND_STATUS_SUCCESS &&
		   rocrand_set_seed(gen, SEED) == ROCRAND_STATUS_SUCCESS &&
		   rocrand_generate(gen, d, WORDS) == ROCRAND_STATUS_SUCCESS,
	   "rocrand generates %d words", WORDS);
	MUST(hipMemcpy(got.data(), d, WORDS * 4, hipMemcpyDeviceToHost));
	for (uint32_t i = 0; i < WORDS; i++)
		wrong += got[i] != textbook(i);
	ok(!wrong, "%u of %d words differ from the textbook's", wrong, WORDS);
	MUST(hipFree(d));
	rocrand_destroy_generator(gen);
	return tap_done();
}
