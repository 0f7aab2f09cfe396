/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - a record of all processes that the daemon may have changed. It is written before
 * the change, in a file that outlives the daemon (tmpfs; shared memory of the daemon and its
 * keepers). If the daemon dies, its successor or a keeper restores the processes in it.
 *
 * A record means "groups of this process on this device may be suspended, or have another
 * slice". The restore scans the process and sets all its groups, which is right for any state.
 * So a rotation writes nothing here.
 *
 * One writer at a time, which has the daemon's role; readers see a record whole or not at all.
 */
#ifndef GP_DAEMON_JOURNAL_H
#define GP_DAEMON_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/wire.h"

#define GP_JOURNAL_RECORDS 1024u

/**
 * struct gp_journal_record
 * @start_ticks: as in struct gp_subject: with @pid it identifies the process
 * @origin: enum gp_wire_origin
 * @request: its class; a successor gives it the same
 * @banned: suspended for good: only a successor daemon keeps it so
 * @away: enum gp_journal_away: its memory is off the device, so only the process itself resumes it
 */
struct gp_journal_record {
	int32_t pid;
	uint32_t origin;
	uint64_t start_ticks;
	uint8_t uuid[16];
	struct gp_wire_request request;
	uint32_t banned;
	uint32_t away;
};

enum gp_journal_away {
	GP_JOURNAL_HERE,
	GP_JOURNAL_AWAY,
	GP_JOURNAL_AWAY_ASKED, /* for room that the daemon had to find */
};

/* Processes that watch each other; each keeps its lock while it lives. */
enum gp_role {
	GP_ROLE_DAEMON,
	GP_ROLE_KEEPER,
	GP_ROLE_SECOND,
	GP_ROLES
};

struct gp_journal;

/* Of the file; a program checks it before it replaces another. */
#define GP_JOURNAL_VERSION 3u

/**
 * gp_journal_open() - open or make @path. -EBADMSG: not a journal, or of another version;
 * -EPERM: another user's; other negative errno.
 */
int gp_journal_open(const char *path, struct gp_journal **journal);
/**
 * The journal in the open file @fd, which it owns from then on, with the file's roles. Errors
 * as above; @fd then remains the caller's.
 */
int gp_journal_adopt(int fd, struct gp_journal **journal);
/** Another open file of it (O_CLOEXEC), without a role: for a child. fd or negative errno. */
int gp_journal_again(const struct gp_journal *journal);
/** The open file itself, with its roles: for the program that replaces this one. Borrowed. */
int gp_journal_fd(const struct gp_journal *journal);
/** Does @path name it now? */
bool gp_journal_is_at(const struct gp_journal *journal, const char *path);
/** NULL is legal. Releases its roles. */
void gp_journal_close(struct gp_journal *journal);
/** Does any process have a role in the file @path, even an invalid file? */
bool gp_journal_in_use(const char *path);

/**
 * Write a record; it is complete on return. Its place, or -ENOSPC. To replace a record of the
 * same process and device, drop the old one after this: so there is always one, and the newer
 * of two counts.
 */
int gp_journal_put(struct gp_journal *journal, const struct gp_journal_record *record);
/** Change @away of the record at @place; complete on return. A reader sees the old or the new. */
void gp_journal_away(struct gp_journal *journal, int place, enum gp_journal_away away);
/** The place of a record with @away of process @pid on @uuid; negative: none. */
int gp_journal_away_of(const struct gp_journal *journal, int32_t pid, uint64_t start_ticks,
		       const uint8_t uuid[16], enum gp_journal_away *away);
/** Nothing of the process is changed any more. */
void gp_journal_drop(struct gp_journal *journal, int place);
/** Is there any record? */
bool gp_journal_has_records(const struct gp_journal *journal);
uint32_t gp_journal_count(const struct gp_journal *journal);
/** The record at @place (0 .. GP_JOURNAL_RECORDS - 1), if there is one. */
bool gp_journal_get(const struct gp_journal *journal, uint32_t place,
		    struct gp_journal_record *record);
/** Does its process live, and not another one that has its PID by now? */
bool gp_journal_lives(const struct gp_journal_record *record);

/**
 * Take @role, until this journal is closed or the process ends. -EBUSY. After GP_ROLE_DAEMON
 * is taken there is one record of each process and device.
 */
int gp_journal_take(struct gp_journal *journal, enum gp_role role);
/** The process with the role; 0: none. */
pid_t gp_journal_who(const struct gp_journal *journal, enum gp_role role);
/** The last process that took @role: it may have it no more. 0: none. */
pid_t gp_journal_last(const struct gp_journal *journal, enum gp_role role);

/**
 * The holder of @role runs at @now_ns (CLOCK_MONOTONIC). Others kill it unless it calls this
 * again and again (supervise.h). 0: it may sleep from now on.
 */
void gp_journal_beat(struct gp_journal *journal, enum gp_role role, uint64_t now_ns);
/** The last beat, if process @pid took @role last; else 0. 0: it may sleep, too. */
uint64_t gp_journal_beat_of(const struct gp_journal *journal, enum gp_role role, pid_t pid);

/** The daemon has processed all records, and decides from now on. Counts daemons. */
void gp_journal_ready(struct gp_journal *journal);
uint32_t gp_journal_epoch(const struct gp_journal *journal);
/** Has a living daemon called gp_journal_ready()? */
bool gp_journal_is_ready(const struct gp_journal *journal);

/**
 * For the first keeper after it took its role: resets the stop and start counts. Records
 * remain.
 */
void gp_journal_begin(struct gp_journal *journal);
/**
 * @role is being started, at @now_ns (CLOCK_MONOTONIC). Not before start_at(): after repeated
 * starts a daemon waits up to 5 s, a keeper up to 1 s.
 */
void gp_journal_started(struct gp_journal *journal, enum gp_role role, uint64_t now_ns);
uint64_t gp_journal_start_at(const struct gp_journal *journal, enum gp_role role);

/**
 * Take GP_ROLE_DAEMON only to restore after a daemon's death; like gp_journal_take().
 * gp_journal_restored() counts.
 */
int gp_journal_take_to_restore(struct gp_journal *journal);
void gp_journal_restored(struct gp_journal *journal);
/** The process that restores now; 0: none. */
pid_t gp_journal_restorer(const struct gp_journal *journal);
uint32_t gp_journal_restores(const struct gp_journal *journal);

/** All must end, and none is restarted. @stop false: cancels that. */
void gp_journal_stop(struct gp_journal *journal, bool stop);
bool gp_journal_stopping(const struct gp_journal *journal);

#endif
