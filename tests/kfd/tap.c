// SPDX-License-Identifier: Apache-2.0
/* TAP, time and random numbers for all tests. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kfd.h"

static unsigned int points, failures;
static uint64_t rng_state = 88172645463325252ull;

static void point(const char *word, const char *fmt, va_list ap, const char *more)
{
	printf("%s %u - ", word, ++points);
	vprintf(fmt, ap);
	printf("%s\n", more);
	fflush(stdout);
}

bool ok(bool cond, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	point(cond ? "ok" : "not ok", fmt, ap, "");
	va_end(ap);
	failures += !cond;
	return cond;
}

bool ok_or_fault(bool cond, const char *fault, const char *fmt, ...)
{
	va_list ap;

	if (!cond)
		printf("# fault: %s\n", fault);
	va_start(ap, fmt);
	point(cond ? "ok" : "not ok", fmt, ap, "");
	va_end(ap);
	failures += !cond;
	return cond;
}

bool ok_time(bool cond, const char *fmt, ...)
{
	const char *more = "";
	va_list ap;

	if (getenv("KFD_SLOW_KERNEL")) {
		more = " # SKIP a time, on a kernel that looks for faults";
		cond = true;
	}
	va_start(ap, fmt);
	point(cond ? "ok" : "not ok", fmt, ap, more);
	va_end(ap);
	failures += !cond;
	return cond;
}

bool is_err(int got, int want, const char *fmt, ...)
{
	char more[96] = "";
	va_list ap;

	if (got != want)
		snprintf(more, sizeof(more), " (got %d %s, want %d)", got,
			 strerror(got < 0 ? -got : 0), want);
	va_start(ap, fmt);
	point(got == want ? "ok" : "not ok", fmt, ap, more);
	va_end(ap);
	failures += got != want;
	return got == want;
}

void skip(const char *why, const char *fmt, ...)
{
	char more[128];
	va_list ap;

	snprintf(more, sizeof(more), " # SKIP %s", why);
	va_start(ap, fmt);
	point("ok", fmt, ap, more);
	va_end(ap);
}

static void comment(const char *word, const char *fmt, va_list ap)
{
	printf("# %s", word);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
}

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	comment("", fmt, ap);
	va_end(ap);
}

void figure(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	comment("figure: ", fmt, ap);
	va_end(ap);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void figure_times(const char *what, uint64_t *ns, unsigned int num)
{
	qsort(ns, num, sizeof(*ns), by_size);
	figure("%s: p50 %llu us, p99 %llu us, at most %llu us", what,
	       (unsigned long long)ns[num / 2] / 1000,
	       (unsigned long long)ns[num * 99 / 100] / 1000,
	       (unsigned long long)ns[num - 1] / 1000);
}

void expect_dmesg(const char *regex)
{
	printf("# dmesg-allow: %s\n", regex);
	fflush(stdout);
}

void bail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	point("not ok", fmt, ap, "");
	va_end(ap);
	printf("1..%u\n", points);
	fflush(stdout);
	_exit(1);
}

int done(void)
{
	printf("1..%u\n", points);
	fflush(stdout);
	return failures ? 1 : 0;
}

void must(int err, const char *what)
{
	if (err < 0)
		bail("%s: %s", what, strerror(-err));
}

unsigned int scaled(unsigned int count)
{
	const char *text = getenv("KFD_SCALE");
	double n = count * (text ? atof(text) : 1.0);

	return n < 1 ? 1 : (unsigned int)n;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void sleep_ns(uint64_t ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

uint32_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state >> 16;
}

void rng_start(uint64_t seed)
{
	rng_state = seed * 0x9e3779b97f4a7c15ull + 1;
	rng();
}

void rng_seed(uint64_t seed)
{
	const char *text = getenv("KFD_SEED");

	if (text)
		seed = strtoull(text, NULL, 0);
	note("KFD_SEED=%llu", (unsigned long long)seed);
	rng_start(seed);
}

void *shared_alloc(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bail("shared memory: %s", strerror(errno));
	return p;
}

int wait_word(volatile uint32_t *word, uint32_t value, int timeout_ms)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ull;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) {
		if (now_ns() > end)
			return -ETIME;
		sleep_ns(20000);
	}
	return 0;
}
