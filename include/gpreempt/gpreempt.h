/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpreempt.h - for programs that know when they need the GPU.
 *
 * A latency-critical (LC) program tells when its work is coming (gp_hint) and
 * from when to when it needs the device (gp_segment_begin, gp_segment_end);
 * best-effort (BE) programs need nothing of this. Works alone and under
 * `gpreempt run`, where both share one state.
 *
 * All functions are thread-safe and, where not said otherwise, do not block.
 * They return 0 or a negative errno. The library never prints, exits, or
 * changes signals. The CUDA or HIP that the program has loaded is asked which
 * device it uses.
 *
 * The child of a fork has no part in its parent's handles: each call that returns
 * a status says -ECHILD there. With GPREEMPT_DISABLE=1 in the environment calls
 * do nothing and succeed.
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

#define GP_HINT_MAX_NS 10000000000ull /* farthest that gp_hint() looks ahead: 10 s */

struct gp_handle;

/**
 * struct gp_open_opts - how to open. Zero is the default of each field.
 * @size: sizeof(struct gp_open_opts); a later library takes an older size, an
 *	older one refuses non-zero fields that it does not know (-E2BIG)
 * @device: "soft0", "GPU-…", PCI address; NULL: the device of @context; on AMD
 *	HIP's current one, else the first that the process has queues on
 * @context: a CUcontext; NULL: the calling thread's current one. On AMD NULL: the
 *	process holds, and has one class on a device
 * @cls: enum gp_class; NONE: as `gpreempt run` set it, else GP_CLASS_LC
 * @level: LC level, 0..GP_LEVEL_MAX
 * @weight: BE weight; 0: GP_WEIGHT_DEFAULT
 * @hold_limit_ns: longest limit that gp_hold() takes; 0: 20 ms. No hold lasts
 *	longer than 20 ms, whatever this says; segments and hints neither
 */
struct gp_open_opts {
	size_t size;
	const char *device;
	void *context;
	uint32_t cls;
	uint32_t level;
	uint32_t weight;
	uint32_t flags; /* must be 0 */
	uint64_t hold_limit_ns;
};

/**
 * struct gp_stats - counts since the handle was opened. Times in ns.
 * @size: set by the caller to sizeof(struct gp_stats)
 * @switch_ns: last measured time from a hold's start to having the device; 0:
 *	none measured yet
 */
struct gp_stats {
	size_t size;
	uint64_t hints;
	uint64_t segments;
	uint64_t holds;
	uint64_t holds_late;	/* work came before the hold had the device */
	uint64_t holds_expired; /* ended by their limit: nobody released */
	uint64_t syncs_cut;	/* ended because the app waits for the device */
	uint64_t held_ns;	/* device time kept, in all */
	uint64_t switch_ns;
	uint64_t switch_min_ns;
	uint64_t switch_max_ns;
	uint64_t margin_ns; /* margin of the next hold */
};

/**
 * gp_open() - get a handle for one context of this process.
 * @opts: NULL for the defaults
 * @handle: out; owned by the caller, gp_close() it
 *
 * Blocks: on NVIDIA compiles the hold kernel on first use (milliseconds).
 * Return: 0; -EINVAL bad option; -E2BIG unknown option set; -ENODEV no such
 * device, or no GPU; -ENXIO no context; -EPERM class not allowed; -ENOMEM;
 * -ENOSPC more than 32 contexts of one device, or 16 devices; -EOPNOTSUPP driver
 * too old, see `gpreempt doctor`. @handle is untouched on failure.
 */
GP_API GP_MUST_CHECK int gp_open(const struct gp_open_opts *opts, struct gp_handle **handle);

/** gp_close() - end what @handle holds, free it. NULL is legal. */
GP_API void gp_close(struct gp_handle *handle);

/**
 * gp_set_class() - change the class of this process on the handle's device.
 * All its contexts there: which group is whose the driver does not tell.
 * Cost: one driver call per group (some 200 µs); on AMD one. With gpreemptd it is
 * asked, and waited for: a second at most. Return: 0; -EINVAL; -EPERM: gpreemptd
 * refuses (its reason goes to gp_set_log()); AMD: raising it takes CAP_SYS_ADMIN or
 * a grant, see hsaq.h; -ETIMEDOUT: gpreemptd does not answer yet, the class is had
 * when it does; -EBUSY: too many such calls at once.
 */
GP_API GP_MUST_CHECK int gp_set_class(struct gp_handle *handle, enum gp_class cls,
				      uint32_t level_or_weight);

/**
 * gp_hint() - work will arrive in @in_ns from now (CLOCK_MONOTONIC).
 * The switch to this context is then over when it arrives. A later hint
 * replaces one whose work has not come. Wrong hints cost best-effort time
 * only. A hint is for work up to the first wait for it. A request that waits for the
 * device several times, as for each token, is one segment, which its work begins
 * with: gp_segment_begin() takes over what the hint holds; another may say when all of it
 * is launched, gp_queued(). Cost: under 2 µs.
 * Return: 0; -EINVAL in_ns over GP_HINT_MAX_NS; -EPERM not LC.
 */
GP_API int gp_hint(struct gp_handle *handle, uint64_t in_ns);

/**
 * gp_queued() - all that a request needs is launched, the last of it into @stream (a
 * CUstream or cudaStream_t of the handle's context, a hipStream_t; NULL: the default
 * one). Best between the last launch and the wait. The hint's hold ends, which is a
 * block of its own on the device and would stay until 0.5 ms after the time that was
 * hinted. On NVIDIA a word is written behind the work: until that is done other
 * processes of the same group, clients of one MPS server, get in beside it, which else
 * wait for its end. Not while @stream captures a graph. In a segment or a hold by hand
 * that lasts. Who is not LC, and AMD: nothing to do. Cost: a cuStreamWriteValue32()
 * (1.0 to 1.3 µs on an H200). Return: 0; negative errno for what CUDA said of @stream:
 * then nothing has ended.
 */
GP_API int gp_queued(struct gp_handle *handle, void *stream);

/**
 * gp_segment_begin() / gp_segment_end() - from first to last need of the
 * device. In between, gaps with nothing queued do not lose it, for 20 ms from its
 * begin, or from that of the hint's hold; what takes longer ends one segment and begins
 * another where it waits anyway. Nests.
 * On AMD begin returns when the best-effort queues are off, which takes the
 * slowest save (up to milliseconds), and end puts them back, each with one ioctl.
 * On NVIDIA begin costs a kernel launch and a write (5 µs) unless a hint had it held already,
 * and the process's first one some 3 ms more: it starts to watch, with CUPTI,
 * for device-wide synchronisation, which has to end the hold first;
 * end costs a store. Return: 0; -EPERM not LC; end: -EINVAL without begin.
 */
GP_API int gp_segment_begin(struct gp_handle *handle);
GP_API int gp_segment_end(struct gp_handle *handle);

/**
 * gp_hold() / gp_release() - keep the device by hand, for at most @limit_ns
 * (0: the handle's limit). Nests; the last release gives the device back. Costs
 * what a segment's begin and end cost. Return: 0; -EPERM not LC; -ERANGE
 * @limit_ns over the handle's limit; release: -EINVAL without hold.
 */
GP_API int gp_hold(struct gp_handle *handle, uint64_t limit_ns);
GP_API int gp_release(struct gp_handle *handle);

/**
 * gp_stats_get() - read counters into @stats, the caller's, as far as its size
 * reaches. Return: 0; -EINVAL size.
 */
GP_API int gp_stats_get(struct gp_handle *handle, struct gp_stats *stats);

enum gp_log_level {
	GP_LOG_ERR,
	GP_LOG_WARN,
	GP_LOG_INFO,
	GP_LOG_DEBUG
};
typedef void (*gp_log_fn)(enum gp_log_level level, const char *message, void *arg);

/**
 * gp_set_log() - receive messages (one line, no newline; @message is @fn's for
 * the call). Default, and with NULL again: none, or stderr from the level that
 * GPREEMPT_LOG names. @fn may be called from any thread, the library's own too,
 * and must not call the library. errno is preserved.
 */
GP_API void gp_set_log(gp_log_fn fn, void *arg);

/** gp_version() - "0.1.0". Static, never NULL. */
GP_API const char *gp_version(void);

#ifdef __cplusplus
}
#endif
#endif
