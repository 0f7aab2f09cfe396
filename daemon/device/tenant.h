/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenant.h - a process on a device, with its class.
 */
#ifndef GP_DAEMON_TENANT_H
#define GP_DAEMON_TENANT_H

#include "daemon/device/away.h"
#include "daemon/device/device.h"
#include "daemon/device/frozen.h"
#include "daemon/device/gangs.h"
#include "daemon/supervise/journal.h"
#include "daemon/config/rules.h"
#include "wire/page.h"

struct gp_conn;
struct gp_clients;
struct gp_freezer_watch;

/* The last report to the core on a tenant. */
enum gp_reported {
	GP_REPORTED_NOTHING,
	GP_REPORTED_IDLE,
	GP_REPORTED_SOON,  /* LC: it will have work */
	GP_REPORTED_PILES, /* LC: its launches pile up, and need no device yet */
	GP_REPORTED_BUSY,
};

struct gp_dtenant {
	struct gp_dtenant *next;
	struct gp_ddev *dev;
	uint32_t id; /* the core's */
	struct gp_subject who;
	struct gp_source ended; /* its pidfd */
	enum gp_wire_origin origin;
	struct gp_class_request request;
	bool asked;		    /* it has the class that it requested */
	char *cgroup;		    /* its processes count as one; NULL: each for itself */
	uint32_t party;		    /* the core's number for these; 0 */
	struct gp_dgang *gang;	    /* NULL: it is in none */
	char why[GP_WIRE_TEXT_LEN]; /* source of the class */
	uint64_t since_ns;	    /* by the core's clock */
	int place;		    /* in the journal */
	uint64_t files;		    /* that it had open, when it was looked at */

	/* Of a connected tenant; otherwise NULL, -1. */
	struct gp_conn *conn;
	struct gp_page *page;
	int page_fd;
	struct gp_source wake;		  /* its wake file */
	uint64_t samples, segments_timed; /* of the page, that were counted */

	enum gp_reported reported;
	uint32_t reported_how; /* idle: enum gp_idle */
	bool reported_guessed; /* busy, as far as can be seen */
	uint64_t work_seq;     /* page->work_seq at the last report */
	uint64_t worked_ns;    /* it was seen to have work last; 0: never */

	/* Best-effort: its turns. */
	uint64_t wants_since_ns; /* a turn; 0: it has one, or no work */
	uint64_t off_since_ns;	 /* 0: it is on .. */
	uint64_t resumed_ns;	 /* .. again since; 0: it never was off */
	uint64_t turn_since_ns;	 /* 0: it has none */
	uint64_t on_since_ns;	 /* resumed in this turn, and whether it has
					 * work was not seen yet; else 0 */
	uint64_t starts;	 /* stretches of its on the device, as of then .. */
	uint64_t log_seen_ns;	 /* .. or, since then, of when the log was read */
	uint64_t idle_since_ns;	 /* its page says it has no work; 0: it has */
	uint64_t idle_work_seq;	 /* page->work_seq at the last look */
	uint32_t look_shift;	 /* it had work in so many turns in a row */
	bool page_wrong;	 /* it ran all the same */
	bool mover_wrong;	 /* the groups that it calls its mover's ran, too */
	uint64_t off_ns, turns, preempted, corrected;
	uint64_t used_ns;     /* GP_WIRE_UNKNOWN: nobody knows */
	uint64_t turn_end_ns; /* of its last turn; 0: it had none */
	bool banned;
	struct gp_away away;
	struct gp_frozen frozen;
	struct gp_freezer_watch *freezer; /* of its cgroup; NULL: not watched */
	struct gp_hist hist[GP_WIRE_HISTS];
	struct gp_wire_memory_figures memory; /* when its page was read last */
	struct gp_account *account;	      /* of its container; NULL: out of memory */
	struct gp_clients *clients;	      /* see clients.h; NULL: none */

	void (*gone)(struct gp_dtenant *tenant, void *arg);
	void *gone_arg;
};

/**
 * struct gp_join - how a tenant comes to be.
 * @who: the tenant's from then on
 * @party: the cgroup whose processes count as one; the tenant's. NULL: it counts for itself
 * @gang: it is one with its groups on all devices, and those of @party's other processes
 * @list: its groups, compute ones and others; the tenant's if it succeeds
 * @away: as the journal has it, if it joins with its memory off the device
 * @recover: its groups may be suspended for a move that was not answered
 * @gone: called once, when it leaves; it is freed after that
 */
struct gp_join {
	struct gp_subject who;
	char *party;
	bool gang;
	struct gp_group_list list;
	enum gp_wire_origin origin;
	struct gp_class_request request;
	bool asked;
	const char *why;
	bool page, recover;
	enum gp_journal_away away;
	void (*gone)(struct gp_dtenant *tenant, void *arg);
	void *arg;
};

/**
 * gp_dtenant_join() - take @how->who under its class. 0; -ESRCH: it has ended;
 * -EEXIST: it is a tenant already; -ENOSPC: there are too many; other negative
 * errno. Of these nothing is changed.
 */
int gp_dtenant_join(struct gp_ddev *dev, struct gp_join *how, struct gp_dtenant **tenant);
/**
 * Restore its groups in the background (gp_ddev_putting_back()), and free it. @ended: its
 * process has ended, so nothing needs a restore.
 */
void gp_dtenant_leave(struct gp_dtenant *tenant, bool ended);

/** Its groups are these now; @list is taken. */
void gp_dtenant_groups(struct gp_dtenant *tenant, struct gp_group_list *list);
/**
 * It counts as one with the processes of @cgroup, which is the tenant's; NULL: for itself. @gang:
 * as in struct gp_join.
 */
void gp_dtenant_party(struct gp_dtenant *tenant, char *cgroup, bool gang);
/** A class from now on. 0; -ENOSPC: there is no room for such a one. */
int gp_dtenant_class(struct gp_dtenant *tenant, const struct gp_class_request *request, bool asked,
		     const char *why);
/**
 * May it have @request beside what others were promised? 0; -EINVAL, -ENOSPC, and
 * @why in words. @tenant NULL: one that is to join.
 */
int gp_dtenant_admit(struct gp_ddev *dev, const struct gp_dtenant *tenant,
		     const struct gp_class_request *request, char *why, size_t len);

static inline bool gp_dtenant_is_be(const struct gp_dtenant *tenant)
{
	return tenant->request.cls.cls == GP_CLASS_BE;
}

struct gp_dtenant *gp_dtenant_of(struct gp_ddev *dev, uint32_t id);
struct gp_dtenant *gp_dtenant_of_pid(struct gp_ddev *dev, pid_t pid);

/** Does its page tell whether it has work? */
bool gp_dtenant_provides_work(const struct gp_dtenant *tenant);
/** Does it say that it has? */
bool gp_dtenant_reports_work(const struct gp_dtenant *tenant);
/** Number of its present or last work; new work has another number. */
uint64_t gp_dtenant_work_seq(const struct gp_dtenant *tenant);
/** LC: does it need the device now, or within @ahead_ns? By its page; else by the log. */
enum gp_reported gp_dtenant_activity(const struct gp_dtenant *tenant, uint64_t now_ns,
				     uint64_t ahead_ns);
/** Can LC that is more urgent, perhaps only by a deadline, take its device from it? */
bool gp_dtenant_may_be_cut(const struct gp_dtenant *tenant);
/** Must the daemon know its next work in advance? That, or a BE tenant is slow to leave. */
bool gp_dtenant_must_tell(const struct gp_dtenant *tenant);
/**
 * When gp_dtenant_activity() will return another value than the reported one, by the time that
 * its page names for its next work; 0: it names none.
 */
uint64_t gp_dtenant_next_look_ns(const struct gp_dtenant *tenant, uint64_t now_ns,
				 uint64_t ahead_ns);
/** Tell the core, if that is news. @now_ns: of the present look; a clock may cost a message. */
void gp_dtenant_report(struct gp_dtenant *tenant, enum gp_reported what, uint64_t now_ns);
/** And that it was seen on the device, if it is LC with work. */
void gp_dtenant_report_on(struct gp_dtenant *tenant);
/** The most urgent one: somebody who is less so may have the device in its place. */
bool gp_dtenant_waits_for_cut(const struct gp_dtenant *tenant);
/** Count the finished holds and segments of its page. */
void gp_dtenant_samples(struct gp_dtenant *tenant);
/** Take the figures of its memory from the page. */
void gp_dtenant_memory(struct gp_dtenant *tenant);
/** It had the device for @ns more. */
void gp_dtenant_used(struct gp_dtenant *tenant, uint64_t ns);

/** Must none of its groups run: is it banned or frozen? */
static inline bool gp_dtenant_is_stopped(const struct gp_dtenant *tenant)
{
	return tenant->banned || gp_frozen_is_off(&tenant->frozen);
}

/** Off, until its process ends or the daemon does. */
void gp_dtenant_ban(struct gp_dtenant *tenant);

/** Fill in its row of a view. */
void gp_dtenant_show(struct gp_dtenant *tenant, struct gp_wire_tenant *out);

#endif
