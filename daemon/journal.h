/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - whom the daemon may have changed anything of, written before it
 * does, in a file that outlives it (tmpfs; shared memory of the daemon and its
 * keepers). Whoever finds the daemon dead puts back what stands here.
 *
 * A record says "groups of this process on this device may be suspended, or have
 * another slice". No more is needed: who puts back scans the process and sets
 * all its groups, which is right whatever state the daemon died in. So there is
 * no write on the path of a rotation.
 *
 * One writer at a time (who has the daemon's role); readers see a record whole or
 * not at all.
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
 * @start_ticks: as struct gp_subject has it: with @pid the one process
 * @taken: enum gp_wire_taken
 * @request: its class; a successor gives it the same
 * @banned: it is suspended for good: a successor keeps it so, nobody else does
 */
struct gp_journal_record {
	int32_t pid;
	uint32_t taken;
	uint64_t start_ticks;
	uint8_t uuid[16];
	struct gp_wire_request request;
	uint32_t banned;
	uint32_t pad;
};

/* Processes that watch each other; each has its lock as long as it lives. */
enum gp_role {
	GP_ROLE_DAEMON,
	GP_ROLE_KEEPER,
	GP_ROLE_SECOND,
	GP_ROLES
};

struct gp_journal;

/* Of the file; told by a program that is to take another's place. */
#define GP_JOURNAL_VERSION 1u

/**
 * gp_journal_open() - open or make @path. -EBADMSG: it is not a journal, or of
 * another version; -EPERM: it is somebody else's; other negative errno.
 */
int gp_journal_open(const char *path, struct gp_journal **journal);
/**
 * The journal in the open file @fd, which is this one's from then on, with the
 * roles that it has. Errors as above; @fd stays the caller's then.
 */
int gp_journal_adopt(int fd, struct gp_journal **journal);
/** Another open file of it (O_CLOEXEC), without a role: for a child. fd or negative errno. */
int gp_journal_again(const struct gp_journal *journal);
/** The open file itself, roles and all: for the program that replaces this one. Borrowed. */
int gp_journal_fd(const struct gp_journal *journal);
/** Is it what @path names now? */
bool gp_journal_is_at(const struct gp_journal *journal, const char *path);
/** NULL is legal. Gives the roles back. */
void gp_journal_close(struct gp_journal *journal);
/** Has anybody a role in the file @path, whatever is written in it? */
bool gp_journal_in_use(const char *path);

/**
 * Write a record; it is there when this returns. Its place, or -ENOSPC. Who has
 * another one of the same process and device drops it after that: so there is
 * one at any time, and the newer of two counts.
 */
int gp_journal_put(struct gp_journal *journal, const struct gp_journal_record *record);
/** Nothing of it is changed any more. */
void gp_journal_drop(struct gp_journal *journal, int place);
/** The record at @place (0 .. GP_JOURNAL_RECORDS - 1), if there is one. */
bool gp_journal_get(const struct gp_journal *journal, uint32_t place,
		    struct gp_journal_record *record);

/**
 * Take @role, until this journal is closed or the process ends. -EBUSY. To what
 * takes GP_ROLE_DAEMON there is one record of each process and device.
 */
int gp_journal_take(struct gp_journal *journal, enum gp_role role);
/** Who has it; 0: nobody. */
pid_t gp_journal_who(const struct gp_journal *journal, enum gp_role role);

/** The daemon has taken up what stands here, and decides. Counts daemons. */
void gp_journal_ready(struct gp_journal *journal);
uint32_t gp_journal_epoch(const struct gp_journal *journal);
/** Has a daemon, which lives, said so? */
bool gp_journal_is_ready(const struct gp_journal *journal);

/**
 * To the first keeper, which has just taken its role: nothing is ending, nobody
 * was started. Records stay.
 */
void gp_journal_begin(struct gp_journal *journal);
/**
 * @role is being started, at @now_ns (CLOCK_MONOTONIC). Not before start_at() has
 * come: whoever was started again and again has to wait, a daemon up to 5 s, a
 * keeper 1 s.
 */
void gp_journal_started(struct gp_journal *journal, enum gp_role role, uint64_t now_ns);
uint64_t gp_journal_start_at(const struct gp_journal *journal, enum gp_role role);

/**
 * Take GP_ROLE_DAEMON, to put back in the dead one's stead and no more; as
 * gp_journal_take(). It has: counts.
 */
int gp_journal_take_to_restore(struct gp_journal *journal);
void gp_journal_restored(struct gp_journal *journal);
/** Who does so now; 0: nobody. */
pid_t gp_journal_restorer(const struct gp_journal *journal);
uint32_t gp_journal_restores(const struct gp_journal *journal);

/** All are to end, and nobody is to be started anew. @stop false: they are not. */
void gp_journal_stop(struct gp_journal *journal, bool stop);
bool gp_journal_stopping(const struct gp_journal *journal);

#endif
