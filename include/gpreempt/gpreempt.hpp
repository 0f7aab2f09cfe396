/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpreempt.hpp - libgpreempt for C++17: a handle, segments and holds that end with their scope.
 *
 * The header is all of it; link with -lgpreempt. gpreempt.h describes the calls, their costs and
 * their errors. An error of a call is a std::system_error with the call's errno. Destructors
 * ignore errors. A Segment or Hold must not outlive its Handle.
 *
 *	gpreempt::Handle gpu;			// this thread's CUDA context
 *	gpu.hint(300us);			// a request arrives in 300 us
 *	gpreempt::Segment segment(gpu);		// ... launch kernels, wait
 */
#ifndef GPREEMPT_HPP
#define GPREEMPT_HPP

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

#include "gpreempt/gpreempt.h"

namespace gpreempt
{

/**
 * check() - Turn the result of a call of gpreempt.h into an exception.
 * @result: 0 or a negative errno
 * @call: the call's name, for the message
 *
 * Context: Any thread.
 * Since: 0.1.0
 */
inline void check(int result, const char *call)
{
	if (result < 0)
		throw std::system_error(-result, std::generic_category(), call);
}

/* A negative time is out of range: each call refuses it by its own limit. */
inline std::uint64_t count_ns(std::chrono::nanoseconds time)
{
	return static_cast<std::uint64_t>(time.count());
}

/**
 * class Handle - A handle of gp_open() that ends with its scope. Movable, not copyable.
 *
 * Context: Any thread. A Handle that was moved from only may be destroyed or assigned.
 * Since: 0.1.0
 */
class Handle
{
      public:
	/** The calling thread's context, with the defaults of struct gp_open_opts. */
	Handle()
	{
		check(gp_open(nullptr, &handle_), "gp_open");
	}

	/** @opts: as for gp_open(); its size is set here. */
	explicit Handle(gp_open_opts opts)
	{
		opts.size = sizeof(opts);
		check(gp_open(&opts, &handle_), "gp_open");
	}

	~Handle()
	{
		gp_close(handle_);
	}

	Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
	{
	}

	Handle &operator=(Handle &&other) noexcept
	{
		std::swap(handle_, other.handle_);
		return *this;
	}

	/** gp_hint(): work arrives in @in. */
	void hint(std::chrono::nanoseconds in)
	{
		check(gp_hint(handle_, count_ns(in)), "gp_hint");
	}

	/** gp_queued(): all work of the request is launched, the last on @stream. */
	void queued(void *stream = nullptr)
	{
		check(gp_queued(handle_, stream), "gp_queued");
	}

	/** gp_set_class() */
	void set_class(gp_class cls, std::uint32_t level_or_weight = 0)
	{
		check(gp_set_class(handle_, cls, level_or_weight), "gp_set_class");
	}

	/** gp_stats_get() */
	gp_stats stats() const
	{
		gp_stats stats = {};

		stats.size = sizeof(stats);
		check(gp_stats_get(handle_, &stats), "gp_stats_get");
		return stats;
	}

	/** For calls of gpreempt.h; this object keeps the handle. */
	gp_handle *get() const noexcept
	{
		return handle_;
	}

      private:
	gp_handle *handle_ = nullptr;
};

/**
 * class Segment - The span of one request: gp_segment_begin() to gp_segment_end().
 *
 * Context: Any thread. Segments of one handle nest.
 * Since: 0.1.0
 */
class Segment
{
      public:
	explicit Segment(Handle &handle) : handle_(handle.get())
	{
		check(gp_segment_begin(handle_), "gp_segment_begin");
	}

	~Segment()
	{
		gp_segment_end(handle_);
	}

	Segment(const Segment &) = delete;
	Segment &operator=(const Segment &) = delete;

      private:
	gp_handle *handle_;
};

/**
 * class Hold - Keep the device for the span of a scope: gp_hold() to gp_release().
 *
 * Context: Any thread. Holds of one handle nest.
 * Since: 0.1.0
 */
class Hold
{
      public:
	/** @limit: longest hold; 0: the handle's hold_limit_ns */
	explicit Hold(Handle &handle, std::chrono::nanoseconds limit = {}) : handle_(handle.get())
	{
		check(gp_hold(handle_, count_ns(limit)), "gp_hold");
	}

	~Hold()
	{
		gp_release(handle_);
	}

	Hold(const Hold &) = delete;
	Hold &operator=(const Hold &) = delete;

      private:
	gp_handle *handle_;
};

} // namespace gpreempt
#endif
