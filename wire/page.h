/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - one page of memory between a tenant and the daemon, for each device that the tenant
 * uses. A store here replaces a message on the path of a launch, a segment or a hold. The
 * daemon reads the page when it has to decide.
 *
 * The daemon makes it (a sealed memfd) and both map it. Neither trusts the other: a tenant's
 * values concern only the tenant itself, and the daemon copies a value once and checks the
 * copy. Times are in the clock of gp_hal_ops.now().
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
#define GP_PAGE_MOVERS 16u

/* Why a tenant needs its device now: bits of gp_page.activity. */
enum gp_page_activity {
	GP_PAGE_SEGMENT = 1u << 0, /* between begin and end of a segment */
	/* the device is held for it, or was just now, for work that is queued */
	GP_PAGE_HELD = 1u << 1,
	GP_PAGE_WORK = 1u << 2, /* it has work queued or running */
	/* with GP_PAGE_WORK: launches pile up; it needs the device at needs_ns at the latest */
	GP_PAGE_PILES = 1u << 3,
};

/* Facts that the tenant keeps up to date: bits of gp_page.provides. */
enum gp_page_provides {
	GP_PAGE_PROVIDES_WORK = 1u << 0,  /* GP_PAGE_WORK */
	GP_PAGE_PROVIDES_NEXT = 1u << 1,  /* next_ns, by hints or by prediction */
	GP_PAGE_PROVIDES_PILES = 1u << 2, /* GP_PAGE_PILES, if the daemon takes it */
};

/* When to write the wake file: bits of gp_page.wake_on. */
enum gp_page_wake_on {
	/* not now, but perhaps soon: LC of another urgency shares the device */
	GP_PAGE_WAKE_LATER = 1u << 0,
	GP_PAGE_WAKE_NOW = 1u << 1,  /* when this tenant begins or ceases to need the device */
	GP_PAGE_WAKE_NEXT = 1u << 2, /* when next_ns changes while the tenant needs nothing */
	/*
	 * never for this bit: best-effort keeps GP_PAGE_WORK up to date, because its turn ends
	 * when it has none
	 */
	GP_PAGE_ASKS_WORK = 1u << 3,
	/* when GP_PAGE_PILES comes or goes: best-effort has a long slice meanwhile */
	GP_PAGE_TAKES_PILES = 1u << 4,
};

/* One finished hold. */
struct gp_page_sample {
	_Atomic uint64_t from_ns;   /* asked for */
	_Atomic uint64_t held_ns;   /* time that the device was kept */
	_Atomic uint64_t switch_ns; /* from asking to having it; 0: unknown */
};

struct gp_page {
	uint32_t magic, version, bytes; /* set by the daemon before it sends the page */
	uint32_t pad;

	/* Written by the tenant. */
	_Alignas(64) _Atomic uint32_t activity; /* enum gp_page_activity */
	_Atomic uint32_t provides;		/* enum gp_page_provides */
	_Atomic uint64_t next_ns;		/* its next work comes then; 0: unknown */
	_Atomic uint64_t hints, segments, holds, holds_late, holds_expired;
	_Atomic uint64_t held_ns; /* total of all holds */
	_Atomic uint64_t margin_ns;
	/* number written so far; sample[] has the latest, at their number modulo GP_PAGE_SAMPLES */
	_Atomic uint64_t samples;
	struct gp_page_sample sample[GP_PAGE_SAMPLES];
	/* number that have ended; segment_ns[] is used like sample[] */
	_Atomic uint64_t segments_timed;
	_Atomic uint64_t segment_ns[GP_PAGE_SEGMENTS]; /* from begin to end */
	_Atomic uint64_t work_seq; /* how often activity became nonzero; written before activity */
	_Atomic uint64_t needs_ns; /* of GP_PAGE_PILES; written before activity */
	/* As struct gp_wire_memory_figures. */
	_Atomic uint64_t movable, out, moves, fixed, moved, move_ns, pinned, kept, host_max;
	_Atomic uint32_t moving;
	_Atomic uint32_t takes_turns; /* of memory: run --mem-turns */
	/* groups of its memory's mover: they have work only while memory moves; 0: none */
	_Atomic uint32_t mover[GP_PAGE_MOVERS];

	/* Written by the daemon. */
	_Alignas(64) _Atomic uint32_t wake_on; /* enum gp_page_wake_on */
	_Atomic uint32_t epoch;		       /* this daemon's; changes when another takes over */
};

_Static_assert(sizeof(struct gp_page) <= GP_PAGE_BYTES, "one page");
_Static_assert(offsetof(struct gp_page, activity) == 64, "ABI");
_Static_assert(offsetof(struct gp_page, sample) == 144, "ABI");
_Static_assert(offsetof(struct gp_page, segments_timed) == 3216, "ABI");
_Static_assert(offsetof(struct gp_page, work_seq) == 3736, "ABI");
_Static_assert(offsetof(struct gp_page, needs_ns) == 3744, "ABI");
_Static_assert(offsetof(struct gp_page, movable) == 3752, "ABI");
_Static_assert(offsetof(struct gp_page, moving) == 3824, "ABI");
_Static_assert(offsetof(struct gp_page, takes_turns) == 3828, "ABI");
_Static_assert(offsetof(struct gp_page, mover) == 3832, "ABI");
_Static_assert(offsetof(struct gp_page, wake_on) == 3904, "ABI");

#endif
