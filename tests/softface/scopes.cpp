// SPDX-License-Identifier: Apache-2.0
/*
 * scopes - gpreempt.hpp on a GPU: what a scope begins ends with it, also after an exception, and
 * a failed call throws its errno. Prints "ok" and the number of checks.
 */
#include <gpreempt/gpreempt.hpp>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>

using namespace std::chrono_literals;
using gpreempt::Handle;
using gpreempt::Hold;
using gpreempt::Segment;

static unsigned int checks;

#define CHECK(condition)                                                                 \
	do {                                                                             \
		checks++;                                                                \
		if (!(condition)) {                                                      \
			std::printf("scopes.cpp:%d: %s: false\n", __LINE__, #condition); \
			std::exit(1);                                                    \
		}                                                                        \
	} while (0)

static_assert(!std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle>);
static_assert(std::is_nothrow_move_constructible_v<Handle>);
static_assert(!std::is_copy_constructible_v<Segment> && !std::is_move_constructible_v<Segment>);
static_assert(!std::is_copy_constructible_v<Hold> && !std::is_move_constructible_v<Hold>);

/* Does @f throw @error, with the name of @call? */
template <typename F> static bool throws(int error, const std::string &call, F f)
{
	try {
		f();
	} catch (const std::system_error &e) {
		return e.code() == std::error_code(error, std::generic_category()) &&
		       std::string(e.what()).find(call) == 0;
	}
	return false;
}

/* The primary context of the first GPU becomes this thread's. */
static void use_gpu()
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context = nullptr;

	CHECK(cuda);
	auto init = reinterpret_cast<int (*)(unsigned int)>(dlsym(cuda, "cuInit"));
	auto retain =
		reinterpret_cast<int (*)(void **, int)>(dlsym(cuda, "cuDevicePrimaryCtxRetain"));
	auto set = reinterpret_cast<int (*)(void *)>(dlsym(cuda, "cuCtxSetCurrent"));
	CHECK(!init(0) && !retain(&context, 0) && !set(context));
}

static void segments(Handle &gpu)
{
	gpu.hint(300us);
	CHECK(gpu.stats().hints == 1);
	CHECK(throws(EINVAL, "gp_hint", [&] { gpu.hint(11s); }));
	CHECK(throws(EINVAL, "gp_hint", [&] { gpu.hint(-1ns); }));
	{
		Segment outer(gpu);
		Segment inner(gpu);
		gpu.queued();
	}
	CHECK(gp_segment_end(gpu.get()) == -EINVAL);
	CHECK(gpu.stats().segments == 1);
	try {
		Segment segment(gpu);
		throw std::runtime_error("request failed");
	} catch (const std::runtime_error &) {
	}
	CHECK(gp_segment_end(gpu.get()) == -EINVAL);
	CHECK(gpu.stats().segments == 2);
}

static void holds(Handle &gpu)
{
	{
		Hold hold(gpu, 1ms);
		Hold again(gpu);
		CHECK(gp_release(gpu.get()) == 0);
		CHECK(gp_hold(gpu.get(), 0) == 0);
	}
	CHECK(gp_release(gpu.get()) == -EINVAL);
	CHECK(throws(ERANGE, "gp_hold", [&] { Hold hold(gpu, 21ms); }));
	CHECK(throws(ERANGE, "gp_hold", [&] { Hold hold(gpu, -1ns); }));
	CHECK(gp_release(gpu.get()) == -EINVAL);
}

static void classes(Handle &gpu)
{
	gpu.set_class(GP_CLASS_BE, 50);
	CHECK(throws(EPERM, "gp_segment_begin", [&] { Segment segment(gpu); }));
	CHECK(throws(EINVAL, "gp_set_class", [&] { gpu.set_class(GP_CLASS_LC, 16); }));
	gpu.set_class(GP_CLASS_LC);
	Segment segment(gpu);
}

static void handles()
{
	gp_open_opts opts = {};

	opts.hold_limit_ns = 2000000;
	Handle first(opts);
	gp_handle *raw = first.get();
	Handle second(std::move(first));
	CHECK(!first.get() && second.get() == raw);
	CHECK(throws(EINVAL, "gp_hint", [&] { first.hint(1us); }));
	CHECK(throws(ERANGE, "gp_hold", [&] { Hold hold(second, 3ms); }));
	first = std::move(second);
	CHECK(first.get() == raw && !second.get());
	opts.cls = 7;
	CHECK(throws(EINVAL, "gp_open", [&] { Handle none(opts); }));
}

int main()
{
	CHECK(throws(ENXIO, "gp_open", [] { Handle none; }));
	use_gpu();
	Handle gpu;
	segments(gpu);
	holds(gpu);
	classes(gpu);
	handles();
	std::printf("ok %u\n", checks);
	return 0;
}
