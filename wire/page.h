/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - one page of memory between a tenant and the daemon, for each device
 * that the tenant uses: what would be a message on the path of a launch, a
 * segment or a hold is a store here, and the daemon looks when it has to decide.
 *
 * The daemon makes it (a sealed memfd) and both map it. Neither believes it: what
 * a tenant writes concerns only itself, and the daemon copies a value once and
 * checks the copy. Times are in the clock of gp_hal_ops.now().
 */
#ifndef GP_WIRE_PAGE_H
#define GP_WIRE_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define GP_PAGE_MAGIC 0x47505047u /* "GPPG" */
#define GP_PAGE_VERSION 1u
#define GP_PAGE_BYTES 4096u
#define GP_PAGE_SAMPLES 128u /* powers of two */
#define GP_PAGE_SEGMENTS 64u

/* Why a tenant needs its device now: bits of gp_page.doing. */
enum gp_page_doing {
	GP_PAGE_SEGMENT = 1u << 0, /* between begin and end of a segment */
	GP_PAGE_HELD = 1u << 1,	   /* the device is held for it, or just was, for
					 * work that is queued now */
	GP_PAGE_WORK = 1u << 2,	   /* it has work queued or running */
};

/* What it would tell: bits of gp_page.tells. */
enum gp_page_tells {
	GP_PAGE_TELLS_WORK = 1u << 0, /* GP_PAGE_WORK is kept up to date */
	GP_PAGE_TELLS_NEXT = 1u << 1, /* next_ns is, by hints or a rhythm */
};

/* When the wake file is to be written: bits of gp_page.wakes. */
enum gp_page_wakes {
	GP_PAGE_WAKES_LATER = 1u << 0, /* not now, but may be soon: LC of other urgency
					 * shares the device */
	GP_PAGE_WAKES_NOW = 1u << 1,   /* when this one needs the device, and when it
					 * does not any more */
	GP_PAGE_WAKES_NEXT = 1u << 2,  /* when next_ns is another, and it needs nothing now */
	GP_PAGE_ASKS_WORK = 1u << 3,   /* never for this: best-effort is to keep GP_PAGE_WORK
					 * up to date, since its turn ends when it has none */
};

/* One finished hold. */
struct gp_page_sample {
	_Atomic uint64_t from_ns;   /* asked for */
	_Atomic uint64_t held_ns;   /* the device was kept so long */
	_Atomic uint64_t switch_ns; /* from asking to having it; 0: not known */
};

struct gp_page {
	uint32_t magic, version, bytes; /* the daemon's, before it is sent */
	uint32_t pad;

	/* The tenant's. */
	_Alignas(64) _Atomic uint32_t doing; /* enum gp_page_doing */
	_Atomic uint32_t tells;		     /* enum gp_page_tells */
	_Atomic uint64_t next_ns;	     /* its next work comes then; 0: not known */
	_Atomic uint64_t hints, segments, holds, holds_late, holds_expired;
	_Atomic uint64_t held_ns; /* by all holds so far */
	_Atomic uint64_t margin_ns;
	_Atomic uint64_t samples; /* so many were written; the latest are in
						 * sample[], at their number modulo
						 * GP_PAGE_SAMPLES */
	struct gp_page_sample sample[GP_PAGE_SAMPLES];
	_Atomic uint64_t segments_timed;	       /* so many have ended; as samples is of
						 * sample[] */
	_Atomic uint64_t segment_ns[GP_PAGE_SEGMENTS]; /* from begin to end */
	_Atomic uint64_t begun; /* so often doing was no longer 0: written before it */

	/* The daemon's. */
	_Alignas(64) _Atomic uint32_t wakes; /* enum gp_page_wakes */
	_Atomic uint32_t epoch;		     /* of this daemon; changes when
						 * another takes over */
};

_Static_assert(sizeof(struct gp_page) <= GP_PAGE_BYTES, "one page");
_Static_assert(offsetof(struct gp_page, doing) == 64, "ABI");
_Static_assert(offsetof(struct gp_page, sample) == 144, "ABI");
_Static_assert(offsetof(struct gp_page, segments_timed) == 3216, "ABI");
_Static_assert(offsetof(struct gp_page, begun) == 3736, "ABI");
_Static_assert(offsetof(struct gp_page, wakes) == 3776, "ABI");

#endif
