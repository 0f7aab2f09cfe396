/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpreempt.h - libgpreempt: announce when a process needs the GPU.
 *
 * A latency-critical (LC) process announces its work with gp_hint() and marks
 * the span in which it needs the device with gp_segment_begin() and
 * gp_segment_end(). A best-effort (BE) process needs none of these calls. The
 * library works alone and under `gpreempt run`, where both share one state.
 * `pkg-config --cflags --libs gpreempt` prints the flags for a compiler.
 *
 * Every function may be called from any thread. Functions that return int
 * return 0 or a negative errno and keep the caller's errno. The library never
 * prints unless GPREEMPT_LOG asks for it, never exits and never changes signal
 * handlers. The library asks the CUDA or HIP runtime of the process which device
 * the process uses.
 *
 * The child of a fork cannot use its parent's handles: calls return -ECHILD
 * there. With GPREEMPT_DISABLE=1 in the environment, calls do nothing and
 * return 0.
 */
#ifndef GPREEMPT_H
#define GPREEMPT_H

#include <stddef.h>
#include <stdint.h>

#include "gpreempt/class.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef GP_API
#define GP_API __attribute__((visibility("default")))
#endif
#define GP_MUST_CHECK __attribute__((warn_unused_result))

#define GP_HINT_MAX_NS 10000000000ull /* the most that gp_hint() looks ahead: 10 s */

struct gp_handle;

/**
 * struct gp_open_opts - Options of gp_open(). Zero is each field's default.
 * @size: sizeof(struct gp_open_opts). A newer library accepts an older size. An
 *	older library refuses non-zero fields that it does not know (-E2BIG)
 * @device: "soft0", a UUID ("GPU-..."), or a PCI address ("0000:3b:00.0"). NULL:
 *	the device of @context; on AMD, HIP's current device, else the first
 *	device on which the process has queues
 * @context: a CUcontext. NULL: the current one of the calling thread. On AMD,
 *	NULL: the process is the context
 * @cls: enum gp_class. GP_CLASS_NONE: the class that `gpreempt run` set, else
 *	GP_CLASS_LC
 * @level: LC level, 0 (most urgent) to GP_LEVEL_MAX
 * @weight: BE weight, GP_WEIGHT_MIN to GP_WEIGHT_MAX; 0: GP_WEIGHT_DEFAULT
 * @flags: must be 0
 * @hold_limit_ns: longest limit that gp_hold() accepts, ns; 0: 20 ms. No hold,
 *	segment or hint keeps the device longer than 20 ms
 */
struct gp_open_opts {
	size_t size;
	const char *device;
	void *context;
	uint32_t cls;
	uint32_t level;
	uint32_t weight;
	uint32_t flags;
	uint64_t hold_limit_ns;
};

/**
 * struct gp_stats - Counters of one context since gp_open().
 * @size: the caller sets it to sizeof(struct gp_stats)
 * @hints: calls of gp_hint()
 * @segments: segments; nested ones count once
 * @holds: holds that started; a renewal is the same hold
 * @holds_late: hinted work that arrived before its hold had the device
 * @holds_expired: holds that ended at their limit
 * @syncs_cut: holds that ended because the program waited for the whole device
 * @held_ns: device time that holds kept, total, ns
 * @switch_ns: last measured time from the start of a hold until the context had
 *	the device, ns; 0: not measured yet
 * @switch_min_ns: shortest such time, ns; 0: not measured yet
 * @switch_max_ns: longest such time, ns; 0: not measured yet
 * @margin_ns: safety margin: the next hold starts so much earlier than the
 *	measured switch requires, ns
 */
struct gp_stats {
	size_t size;
	uint64_t hints;
	uint64_t segments;
	uint64_t holds;
	uint64_t holds_late;
	uint64_t holds_expired;
	uint64_t syncs_cut;
	uint64_t held_ns;
	uint64_t switch_ns;
	uint64_t switch_min_ns;
	uint64_t switch_max_ns;
	uint64_t margin_ns;
};

/**
 * gp_open() - Get a handle for one context of this process.
 * @opts: options, borrowed for the call; NULL: all defaults
 * @handle: receives the handle, which the caller owns until gp_close(); unchanged
 *	on failure
 *
 * Handles of one context share its state. A class in @opts becomes the class of
 * the whole process on that device.
 *
 * Context: Any thread; not signal-safe. Blocks. NVIDIA: milliseconds for the
 *	first handle of a context, which compiles and launches the hold kernel.
 *	With gpreemptd: up to 1 s for its answer.
 * Return: 0, or
 * * -EINVAL: NULL @handle, a field out of range, a malformed device name, or
 *	one that several devices match
 * * -E2BIG: a non-zero field that this library does not know
 * * -ENODEV: no GPU, no such device, or @context belongs to another device
 * * -ENXIO: no context given and none current
 * * -EACCES: this user may not open the GPU's device files
 * * -EPERM: the class is refused
 * * -EOPNOTSUPP: the driver is too old, see `gpreempt doctor`
 * * -ENOSPC: 32 contexts on the device or 16 devices are open
 * * -EBUSY: eight class changes wait for gpreemptd
 * * -ENOMEM: out of memory
 * * -EIO: the driver failed
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
GP_API GP_MUST_CHECK int gp_open(const struct gp_open_opts *opts, struct gp_handle **handle);

/**
 * gp_close() - End the handle's holds and free the handle.
 * @handle: the handle; invalid afterwards. NULL is legal
 *
 * The last handle on a device also removes the class, unless `gpreempt run` set
 * one. In a forked child the call only frees memory.
 *
 * Context: Any thread, while no other call uses @handle; not signal-safe. Blocks
 *	for the driver: some 0.25 ms a group.
 * Since: 0.1.0
 */
GP_API void gp_close(struct gp_handle *handle);

/**
 * gp_set_class() - Change the class of this process on the handle's device.
 * @handle: the handle
 * @cls: new class
 * @level_or_weight: LC: level, 0 to GP_LEVEL_MAX. BE: weight, GP_WEIGHT_MIN to
 *	GP_WEIGHT_MAX; 0: GP_WEIGHT_DEFAULT. NONE: 0
 *
 * The class applies to all contexts of the process on the device. With
 * gpreemptd, its rules decide.
 *
 * Context: Any thread; not signal-safe. Blocks. NVIDIA: some 0.25 ms a group.
 *	AMD: one ioctl. With gpreemptd: up to 1 s for its answer.
 * Return: 0, or
 * * -EINVAL: no such class, level or weight, or NULL @handle
 * * -EPERM: gpreemptd's rules forbid the class (gp_set_log() receives the
 *	reason), or, on AMD, raising it takes CAP_SYS_ADMIN or a grant (hsaq.h)
 * * -ETIMEDOUT: gpreemptd has not answered yet, the class applies once it does
 * * -EBUSY: eight class changes wait for gpreemptd
 * * -EIO: the driver failed
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
GP_API GP_MUST_CHECK int gp_set_class(struct gp_handle *handle, enum gp_class cls,
				      uint32_t level_or_weight);

/**
 * gp_hint() - Announce that work of this context will arrive.
 * @handle: handle of an LC context
 * @in_ns: time until the work arrives, ns of CLOCK_MONOTONIC from now, 0 to
 *	GP_HINT_MAX_NS
 *
 * The switch to this context is then over when the work arrives. A later hint
 * replaces a hint whose work has not arrived. A wrong hint costs BE time only.
 *
 * A hint covers work up to the first wait for it. A request that waits several
 * times, as for each token, is one segment: gp_segment_begin() takes the hint's
 * hold over. gp_queued() ends it when the last launch is queued.
 *
 * Context: Any thread; not signal-safe. Under 2 us. A hint that is due at once
 *	starts the hold itself and costs as much as gp_hold(). Waits for other
 *	calls on the same device.
 * Return: 0, also where the device cannot be held, or
 * * -EINVAL: @in_ns over GP_HINT_MAX_NS, or NULL @handle
 * * -EPERM: not LC
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
GP_API int gp_hint(struct gp_handle *handle, uint64_t in_ns);

/**
 * gp_queued() - Report that all work of a request is launched.
 * @handle: the handle
 * @stream: stream of the last launch: a CUstream or cudaStream_t of the handle's
 *	context, or a hipStream_t; NULL: the default stream. Borrowed. It must not
 *	be capturing a graph
 *
 * Call it between the last launch and the wait. The hint's hold ends, which
 * otherwise occupies one block until 0.5 ms after the hinted time. In a segment
 * or a hold by hand the device stays held. After an error the hint's hold goes on.
 *
 * NVIDIA: the call queues a 4-byte write behind the work. Until the work is
 * done, other clients of the same MPS server then run beside it. Without the
 * write they wait for its end. On AMD, and where the context is not LC, the call
 * does nothing.
 *
 * Context: Any thread; not signal-safe. Costs one cuStreamWriteValue32(): 1.0 to
 *	1.3 us on an H200. Waits while @stream is full.
 * Return: 0, or
 * * -ENXIO: CUDA refuses the context or @stream
 * * -ENOMEM, -EIO: another CUDA error
 * * -EINVAL: NULL @handle
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
GP_API int gp_queued(struct gp_handle *handle, void *stream);

/**
 * gp_segment_begin() - Start a span in which this context needs the device.
 * @handle: handle of an LC context
 *
 * Until gp_segment_end(), gaps with nothing queued do not lose the device. The
 * limit is 20 ms from the begin, or from the start of the hint's hold. Longer
 * requests end one segment and begin another where they wait anyway. Segments
 * nest.
 *
 * Context: Any thread; not signal-safe. NVIDIA: 5 us, none of it if a hint holds
 *	already.
 *	AMD: blocks until the BE queues are saved (up to milliseconds); with the
 *	stock driver until the BE processes answer, at most 20 ms.
 * Return: 0, also where the device cannot be held, which is logged once, or
 * * -EPERM: not LC
 * * -EINVAL: NULL @handle
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
GP_API int gp_segment_begin(struct gp_handle *handle);

/**
 * gp_segment_end() - End the span that gp_segment_begin() started.
 * @handle: handle of an LC context
 *
 * The last end of nested segments gives the device back.
 *
 * Context: Any thread; not signal-safe. NVIDIA: a store. AMD: one ioctl, which
 *	loads the BE queues again.
 * Return: 0, or
 * * -EINVAL: no segment is open, or NULL @handle
 * * -EPERM: not LC
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
GP_API int gp_segment_end(struct gp_handle *handle);

/**
 * gp_hold() - Keep the device for this context until gp_release().
 * @handle: handle of an LC context
 * @limit_ns: longest hold, ns, up to the handle's hold_limit_ns; 0: hold_limit_ns
 *
 * Holds nest: the last release, or the limit, gives the device back.
 *
 * Context: Any thread; not signal-safe. Costs as much as gp_segment_begin().
 * Return: 0, also where the device cannot be held, which is logged once, or
 * * -EPERM: not LC
 * * -ERANGE: @limit_ns over hold_limit_ns
 * * -EINVAL: NULL @handle
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
GP_API int gp_hold(struct gp_handle *handle, uint64_t limit_ns);

/**
 * gp_release() - Undo one gp_hold().
 * @handle: handle of an LC context
 *
 * Context: Any thread; not signal-safe. Costs as much as gp_segment_end().
 * Return: 0, or
 * * -EINVAL: no gp_hold() is open, or NULL @handle
 * * -EPERM: not LC
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
GP_API int gp_release(struct gp_handle *handle);

/**
 * gp_stats_get() - Read the counters of the handle's context.
 * @handle: the handle
 * @stats: receives the counters, as far as @stats->size reaches; the caller's
 *
 * Context: Any thread; not signal-safe. Waits for other calls on the same device.
 * Return: 0, or
 * * -EINVAL: NULL @stats, @stats->size too small, or NULL @handle
 * * -ECHILD: forked child
 * Since: 0.1.0
 */
GP_API int gp_stats_get(struct gp_handle *handle, struct gp_stats *stats);

/**
 * enum gp_log_level - Severity of a log message.
 * @GP_LOG_ERR: a request failed
 * @GP_LOG_WARN: gpreempt goes on, with less than was asked for
 * @GP_LOG_INFO: a change of state
 * @GP_LOG_DEBUG: details for work on gpreempt itself
 */
enum gp_log_level {
	GP_LOG_ERR,
	GP_LOG_WARN,
	GP_LOG_INFO,
	GP_LOG_DEBUG
};

/**
 * typedef gp_log_fn - Receiver of log messages, see gp_set_log().
 * @level: severity
 * @message: one line without a newline; valid during the call
 * @arg: as given to gp_set_log()
 */
typedef void (*gp_log_fn)(enum gp_log_level level, const char *message, void *arg);

/**
 * gp_set_log() - Set the function that receives log messages.
 * @fn: receives messages of every level, on any thread, the library's own too;
 *	must not call the library. NULL: no function. Messages then go to stderr
 *	from the level that GPREEMPT_LOG names
 * @arg: passed to @fn; must stay valid, since the previous function may still
 *	run on another thread when the call returns
 *
 * Context: Any thread; not signal-safe. Does not block.
 * Since: 0.1.0
 */
GP_API void gp_set_log(gp_log_fn fn, void *arg);

/**
 * gp_version() - Get the version of the library.
 *
 * Context: Any thread; signal-safe. Does not block.
 * Return: "0.1.0"; static, never NULL.
 * Since: 0.1.0
 */
GP_API const char *gp_version(void);

#ifdef __cplusplus
}
#endif
#endif
