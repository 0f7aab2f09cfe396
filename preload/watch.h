/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - from the entry of a driver call to its return. */
#ifndef GP_PRELOAD_WATCH_H
#define GP_PRELOAD_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "client/engine.h"
#include "preload/driver_calls.h"

enum {
	GP_WATCH_NOTHING, /* no call came here yet */
	GP_WATCH_PASSED,  /* calls come here; nothing needs them */
	GP_WATCH_ON
};

/** Never returns from ON. */
extern _Atomic(int) gp_watch_state;

/** One call, on its caller's stack. */
struct gp_watched {
	enum gp_call_kind kind;
	void *context; /* current at the entry */
	void *synced;  /* its SYNC is reported; NULL: none */
};

/**
 * A call begins; @word: the argument that its kind names. False: its end is of no interest, and
 * @w is not set.
 */
bool gp_watch_begin(struct gp_watched *w, enum gp_call_kind kind, void *word);
/** It returned @result. */
void gp_watch_end(const struct gp_watched *w, int result);

/** The first call of all. As gp_watch_begin(). */
bool gp_watch_first(struct gp_watched *w, enum gp_call_kind kind, void *word);

/** The common case costs one load. As gp_watch_begin(). */
static inline bool gp_watch_enter(struct gp_watched *w, enum gp_call_kind kind, void *word)
{
	const int state = atomic_load_explicit(&gp_watch_state, memory_order_acquire);

	if (__builtin_expect(state == GP_WATCH_ON, 0))
		return gp_watch_begin(w, kind, word);
	return __builtin_expect(state == GP_WATCH_NOTHING, 0) && gp_watch_first(w, kind, word);
}

#endif
