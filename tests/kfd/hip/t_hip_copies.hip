// SPDX-License-Identifier: Apache-2.0
/*
 * Copies and fills of HIP, of all kinds and sizes, with every word checked. The SDMA
 * engines must have made them, or the shaders if the GPU has no engines.
 */
#include "tap.h"
#include "work.h"

#include <cstring>
#include <vector>

#define ENGINES "/sys/class/kfd/kfd/topology/nodes/1/properties"
#define COUNTERS "/sys/kernel/debug/simgpu/0/engine/counters"
/* A linear copy packet counts bytes in 22 bits: this copy needs two. */
#define LARGE_WORDS (5u << 18)
/* ROCr's SDMA ring has 1 MiB, and a copy takes at least 108 bytes of it. */
#define BATCH 100u
#define BATCHES 100u

static uint64_t field(const char *path, const char *name)
{
	unsigned long long value, found = 0;
	FILE *f = fopen(path, "re");
	char key[64];

	while (f && fscanf(f, "%63s %llu", key, &value) == 2)
		if (!strcmp(key, name))
			found = value;
	if (f)
		fclose(f);
	return found;
}

static uint32_t word(uint32_t i, uint32_t seed)
{
	return (i + seed) * 2654435761u;
}

static uint32_t wrong_words(const uint32_t *got, uint32_t n, uint32_t seed)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < n; i++)
		wrong += got[i] != word(i, seed);
	return wrong;
}

static void fill_words(uint32_t *to, uint32_t n, uint32_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = word(i, seed);
}

/* Copy in, across and out, from host memory that is pinned or not. */
static void round_trip(uint32_t n, bool pinned)
{
	uint32_t *in, *out, *a, *b, wrong;
	std::vector<uint32_t> pageable(pinned ? 0 : 2 * n);

	if (pinned) {
		MUST(hipHostMalloc(&in, n * 4, 0));
		MUST(hipHostMalloc(&out, n * 4, 0));
	} else {
		in = pageable.data();
		out = in + n;
	}
	MUST(hipMalloc(&a, n * 4));
	MUST(hipMalloc(&b, n * 4));
	fill_words(in, n, n);
	memset(out, 0, n * 4);
	MUST(hipMemcpy(a, in, n * 4, hipMemcpyHostToDevice));
	MUST(hipMemcpy(b, a, n * 4, hipMemcpyDeviceToDevice));
	MUST(hipMemcpy(out, b, n * 4, hipMemcpyDeviceToHost));
	wrong = wrong_words(out, n, n);
	ok(!wrong, "%u words of %s memory in, across and out: %u wrong", n,
	   pinned ? "pinned" : "pageable", wrong);
	MUST(hipFree(a));
	MUST(hipFree(b));
	if (pinned) {
		MUST(hipHostFree(in));
		MUST(hipHostFree(out));
	}
}

/* Two streams, each of which copies in, runs a kernel, and copies out. */
static void beside_kernels(void)
{
	const uint32_t n = 64 * 64, rounds = 4;
	uint32_t *host[2], *buf[2], wrong = 0;
	hipStream_t s[2];

	for (int i = 0; i < 2; i++) {
		MUST(hipStreamCreateWithFlags(&s[i], hipStreamNonBlocking));
		MUST(hipHostMalloc(&host[i], n * 4, 0));
		MUST(hipMalloc(&buf[i], n * 4));
		memset(host[i], 0, n * 4);
	}
	for (uint32_t round = 0; round < rounds; round++)
		for (int i = 0; i < 2; i++) {
			MUST(hipMemcpyAsync(buf[i], host[i], n * 4, hipMemcpyHostToDevice, s[i]));
			work<<<dim3(n / 64), dim3(64), 0, s[i]>>>(buf[i], 20);
			MUST(hipMemcpyAsync(host[i], buf[i], n * 4, hipMemcpyDeviceToHost, s[i]));
		}
	for (int i = 0; i < 2; i++) {
		MUST(hipStreamSynchronize(s[i]));
		for (uint32_t w = 0; w < n; w++)
			wrong += host[i][w] != work_expect(w, 20 * rounds);
	}
	ok(!wrong, "copies and kernels in turn on two streams: %u wrong", wrong);
}

/* Copy a window of a larger image in and out. */
static void windows(void)
{
	const uint32_t pitch = 100, width = 37, height = 21;
	uint32_t *host, *d, wrong = 0;

	MUST(hipHostMalloc(&host, pitch * height * 4, 0));
	MUST(hipMalloc(&d, width * height * 4));
	fill_words(host, pitch * height, 3);
	MUST(hipMemcpy2D(d, width * 4, host + 5, pitch * 4, width * 4, height,
			 hipMemcpyHostToDevice));
	memset(host, 0, pitch * height * 4);
	MUST(hipMemcpy2D(host + 5, pitch * 4, d, width * 4, width * 4, height,
			 hipMemcpyDeviceToHost));
	for (uint32_t i = 0; i < pitch * height; i++) {
		bool inside = i % pitch >= 5 && i % pitch < 5 + width;

		wrong += host[i] != (inside ? word(i, 3) : 0);
	}
	ok(!wrong, "a window in and out: %u words wrong", wrong);
}

/* Enough copies into the GPU that the ring's pointers wrap. */
static void many(void)
{
	uint32_t *host, *d, wrong = 0;

	MUST(hipHostMalloc(&host, BATCH * 64 * 4, 0));
	MUST(hipMalloc(&d, BATCH * 64 * 4));
	for (uint32_t batch = 0; batch < BATCHES; batch++) {
		fill_words(host, BATCH * 64, batch);
		for (uint32_t i = 0; i < BATCH; i++)
			MUST(hipMemcpyAsync(d + i * 64, host + i * 64, 64 * 4,
					    hipMemcpyHostToDevice, 0));
		MUST(hipStreamSynchronize(0));
		memset(host, 0, BATCH * 64 * 4);
		MUST(hipMemcpy(host, d, BATCH * 64 * 4, hipMemcpyDeviceToHost));
		wrong += wrong_words(host, BATCH * 64, batch);
	}
	ok(!wrong, "%u small copies: %u words wrong", BATCH * BATCHES, wrong);
}

int main()
{
	uint64_t engines = field(ENGINES, "num_sdma_engines"), packets, bytes;

	setvbuf(stdout, NULL, _IOLBF, 0);
	packets = field(COUNTERS, "sdma_packets");
	bytes = field(COUNTERS, "sdma_bytes");
	round_trip(1, true);
	round_trip(1000, false);
	round_trip(1000, true);
	round_trip(LARGE_WORDS, true);
	round_trip(LARGE_WORDS, false);
	windows();
	beside_kernels();
	many();
	packets = field(COUNTERS, "sdma_packets") - packets;
	bytes = field(COUNTERS, "sdma_bytes") - bytes;
	if (engines)
		ok(packets > BATCH * BATCHES && bytes > LARGE_WORDS * 4,
		   "%llu SDMA engines: %llu packets, %llu bytes", (unsigned long long)engines,
		   (unsigned long long)packets, (unsigned long long)bytes);
	else
		ok(!packets, "no SDMA engines: %llu packets", (unsigned long long)packets);
	return tap_done();
}
