// SPDX-License-Identifier: Apache-2.0
/*
 * journal.c - a file of words that its processes map. It must be right if its writer is killed
 * at any instruction. So each record has a state word, written last, and a new record never
 * overwrites the one that it replaces. Roles are open file description locks: they end with
 * their holder, and the kernel answers for them, not the file.
 */
#include "daemon/supervise/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/discover/proc.h"

#define MAGIC 0x6c6e726a65727067ull /* "gprejrnl" */
#define WORDS (sizeof(struct gp_journal_record) / sizeof(uint64_t))
#define INIT_BYTE GP_ROLES /* locked during the file's creation */
#define WHO_TRIES 5
#define WHO_PAUSE_NS 1000000
#define SOON_NS 250000000ull  /* after this time the end is not a crash at start */
#define PAUSE_NS 100000000ull /* before the third start in a row, doubling */
#define PAUSE_MAX_NS 5000000000ull
#define KEEPER_PAUSE_MAX_NS 1000000000ull /* shorter, because only keepers restore */
#define PAUSE_DOUBLINGS 6

#define AWAY_WORD (offsetof(struct gp_journal_record, banned) / sizeof(uint64_t))

_Static_assert(sizeof(struct gp_journal_record) == 80, "part of the file");
_Static_assert(offsetof(struct gp_journal_record, away) == AWAY_WORD * sizeof(uint64_t) + 4,
	       "one word with banned");
_Static_assert(GP_ROLES == 3, "part of the file");

/* A slot's word: its state, and in the other bits the number of its changes. */
enum slot_state {
	SLOT_FREE,
	SLOT_WRITING,
	SLOT_VALID
};
#define STATE_MASK 3ull
#define CHANGE 4ull

/*
 * @stamp: of two records of one process the newer has the greater.
 */
struct slot {
	_Atomic uint64_t state;
	_Atomic uint64_t stamp;
	_Atomic uint64_t word[WORDS];
};

/* @pid 0: the lock's holder has not written it yet. */
struct holder {
	_Atomic uint64_t pid;
	_Atomic uint64_t start_ticks;
};

struct file {
	_Atomic uint64_t magic; /* 0: not complete */
	uint32_t version;
	uint32_t bytes;
	_Atomic uint32_t epoch;
	_Atomic uint32_t restores;
	_Atomic uint32_t stopping;
	_Atomic uint32_t ready; /* PID of the ready daemon; 0: none */
	_Atomic uint64_t stamp; /* the last one given */
	struct holder holder[GP_ROLES];
	_Atomic uint64_t started_ns[GP_ROLES];
	_Atomic uint32_t soon[GP_ROLES]; /* starts in a row that came too soon */
	_Atomic uint32_t restorer;	 /* process that has the daemon's role only to restore */
	_Atomic uint64_t beat_ns[GP_ROLES];
	struct slot slot[GP_JOURNAL_RECORDS];
};

_Static_assert(sizeof(struct file) == 152 + GP_JOURNAL_RECORDS * 96, "its size is told in it");

struct gp_journal {
	int fd;
	struct file *file;
	bool mine[GP_ROLES];
	uint32_t next; /* where to look for a free place */
};

/* ---- the file ------------------------------------------------------------- */

static int lock(int fd, int command, short type, off_t byte)
{
	struct flock place = { .l_type = type, .l_start = byte, .l_len = 1 };
	int err;

	do {
		err = fcntl(fd, command, &place) ? -errno : 0;
	} while (err == -EINTR);
	return err;
}

/* 1: another process's open file has it. 0 or negative errno. */
static int is_locked(int fd, off_t byte)
{
	struct flock place = { .l_type = F_WRLCK, .l_start = byte, .l_len = 1 };

	if (fcntl(fd, F_OFD_GETLK, &place))
		return -errno;
	return place.l_type != F_UNLCK;
}

/* A new file is all zero until its magic is there. */
static int map(int fd, struct file **file)
{
	struct file *f;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	if (st.st_size && st.st_size != sizeof(*f))
		return -EBADMSG;
	/* Allocates all pages now: with a full tmpfs a later store would kill us. */
	err = posix_fallocate(fd, 0, sizeof(*f));
	if (err)
		return -err;
	f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (f == MAP_FAILED)
		return -errno;
	if (!f->magic) {
		memset(f, 0, sizeof(*f));
		f->version = GP_JOURNAL_VERSION;
		f->bytes = sizeof(*f);
		atomic_store(&f->magic, MAGIC);
	}
	if (f->magic != MAGIC || f->version != GP_JOURNAL_VERSION || f->bytes != sizeof(*f)) {
		munmap(f, sizeof(*f));
		return -EBADMSG;
	}
	*file = f;
	return 0;
}

/* One process at a time, so that no other sees a file that is half made. */
static int map_alone(int fd, struct file **file)
{
	int err = lock(fd, F_OFD_SETLKW, F_WRLCK, INIT_BYTE);

	if (err)
		return err;
	err = map(fd, file);
	lock(fd, F_OFD_SETLK, F_UNLCK, INIT_BYTE);
	return err;
}

int gp_journal_adopt(int fd, struct gp_journal **journal)
{
	struct gp_journal *j = calloc(1, sizeof(*j));
	int err = j ? 0 : -ENOMEM;

	if (!err && fcntl(fd, F_SETFD, FD_CLOEXEC))
		err = -errno;
	if (!err)
		err = map_alone(fd, &j->file);
	if (err) {
		free(j);
		return err;
	}
	j->fd = fd;
	*journal = j;
	return 0;
}

int gp_journal_open(const char *path, struct gp_journal **journal)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = gp_journal_adopt(fd, journal);
	if (err)
		close(fd);
	return err;
}

int gp_journal_again(const struct gp_journal *journal)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", journal->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int gp_journal_fd(const struct gp_journal *journal)
{
	return journal->fd;
}

bool gp_journal_is_at(const struct gp_journal *journal, const char *path)
{
	struct stat ours, there;

	return !fstat(journal->fd, &ours) && !stat(path, &there) && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

void gp_journal_close(struct gp_journal *journal)
{
	if (!journal)
		return;
	/* A mapping keeps the open file, and the locks, alive. */
	munmap(journal->file, sizeof(*journal->file));
	close(journal->fd);
	free(journal);
}

bool gp_journal_in_use(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool used = false;

	if (fd < 0)
		return false;
	for (off_t role = 0; role < GP_ROLES; role++)
		used |= is_locked(fd, role) > 0;
	close(fd);
	return used;
}

/* ---- records --------------------------------------------------------------- */

static void write_slot(struct slot *slot, const struct gp_journal_record *record, uint64_t stamp)
{
	uint64_t word[WORDS];
	uint64_t was = atomic_load_explicit(&slot->state, memory_order_relaxed) & ~STATE_MASK;

	memcpy(word, record, sizeof(word));
	atomic_store_explicit(&slot->state, (was + CHANGE) | SLOT_WRITING, memory_order_relaxed);
	/* A reader that sees any of the words also sees that they are being written. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&slot->stamp, stamp, memory_order_relaxed);
	for (size_t i = 0; i < WORDS; i++)
		atomic_store_explicit(&slot->word[i], word[i], memory_order_relaxed);
	atomic_store_explicit(&slot->state, (was + CHANGE) | SLOT_VALID, memory_order_release);
}

/* False: no valid record. */
static bool read_slot(const struct slot *slot, struct gp_journal_record *record, uint64_t *stamp)
{
	uint64_t word[WORDS], before, after;

	do {
		before = atomic_load_explicit(&slot->state, memory_order_acquire);
		if ((before & STATE_MASK) != SLOT_VALID)
			return false;
		*stamp = atomic_load_explicit(&slot->stamp, memory_order_relaxed);
		for (size_t i = 0; i < WORDS; i++)
			word[i] = atomic_load_explicit(&slot->word[i], memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&slot->state, memory_order_relaxed);
	} while (before != after);
	memcpy(record, word, sizeof(*record));
	return true;
}

static bool is_free(const struct slot *slot)
{
	/* A record that is being written has lost its writer: only one writes at a time. */
	return (atomic_load_explicit(&slot->state, memory_order_relaxed) & STATE_MASK) !=
	       SLOT_VALID;
}

int gp_journal_put(struct gp_journal *journal, const struct gp_journal_record *record)
{
	struct file *f = journal->file;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++) {
		uint32_t place = (journal->next + i) % GP_JOURNAL_RECORDS;

		if (!is_free(&f->slot[place]))
			continue;
		write_slot(&f->slot[place], record, atomic_fetch_add(&f->stamp, 1) + 1);
		journal->next = place + 1;
		return (int)place;
	}
	return -ENOSPC;
}

void gp_journal_away(struct gp_journal *journal, int place, enum gp_journal_away away)
{
	_Atomic uint64_t *word;
	uint32_t half[2];
	uint64_t value;

	if (place < 0 || place >= (int)GP_JOURNAL_RECORDS)
		return;
	word = &journal->file->slot[place].word[AWAY_WORD];
	value = atomic_load_explicit(word, memory_order_relaxed);
	memcpy(half, &value, sizeof(half));
	half[1] = away;
	memcpy(&value, half, sizeof(value));
	atomic_store_explicit(word, value, memory_order_release);
}

void gp_journal_drop(struct gp_journal *journal, int place)
{
	struct slot *slot;
	uint64_t was;

	if (place < 0 || place >= (int)GP_JOURNAL_RECORDS)
		return;
	slot = &journal->file->slot[place];
	was = atomic_load_explicit(&slot->state, memory_order_relaxed) & ~STATE_MASK;
	atomic_store_explicit(&slot->state, was | SLOT_FREE, memory_order_release);
}

bool gp_journal_get(const struct gp_journal *journal, uint32_t place,
		    struct gp_journal_record *record)
{
	uint64_t stamp;

	return place < GP_JOURNAL_RECORDS && read_slot(&journal->file->slot[place], record, &stamp);
}

bool gp_journal_lives(const struct gp_journal_record *r)
{
	uint64_t ticks;

	return r->pid > 0 && !gp_proc_start(r->pid, &ticks) && ticks == r->start_ticks;
}

bool gp_journal_has_records(const struct gp_journal *journal)
{
	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
		if (!is_free(&journal->file->slot[i]))
			return true;
	return false;
}

uint32_t gp_journal_count(const struct gp_journal *journal)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
		n += !is_free(&journal->file->slot[i]);
	return n;
}

int gp_journal_away_of(const struct gp_journal *journal, int32_t pid, uint64_t start_ticks,
		       const uint8_t uuid[16], enum gp_journal_away *away)
{
	struct gp_journal_record r;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
		if (gp_journal_get(journal, i, &r) && r.away && r.pid == pid &&
		    r.start_ticks == start_ticks && !memcmp(r.uuid, uuid, sizeof(r.uuid))) {
			*away = (enum gp_journal_away)r.away;
			return (int)i;
		}
	return -ENOENT;
}

static bool same_process(const struct gp_journal_record *a, const struct gp_journal_record *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks &&
	       !memcmp(a->uuid, b->uuid, sizeof(a->uuid));
}

/* A writer killed between a put and its drop left two. */
static void drop_older(struct gp_journal *journal)
{
	const struct slot *slot = journal->file->slot;
	struct gp_journal_record a, b;
	uint64_t first, second;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++) {
		if (!read_slot(&slot[i], &a, &first))
			continue;
		for (uint32_t k = i + 1; k < GP_JOURNAL_RECORDS; k++)
			if (read_slot(&slot[k], &b, &second) && same_process(&a, &b)) {
				gp_journal_drop(journal, (int)(first < second ? i : k));
				if (first < second)
					break;
			}
	}
}

/* ---- roles ----------------------------------------------------------------- */

/* Writes this process's kind before its PID. */
static void write_holder(struct gp_journal *journal, enum gp_role role, uint64_t ticks,
			 bool restores)
{
	struct holder *holder = &journal->file->holder[role];

	atomic_store(&holder->pid, 0);
	if (role == GP_ROLE_DAEMON) {
		atomic_store(&journal->file->ready, 0);
		atomic_store(&journal->file->restorer, restores ? (uint32_t)getpid() : 0);
	}
	atomic_store(&journal->file->beat_ns[role], 0);
	atomic_store(&holder->start_ticks, ticks);
	atomic_store(&holder->pid, (uint64_t)getpid());
}

static int take(struct gp_journal *journal, enum gp_role role, bool restores)
{
	uint64_t ticks;
	int err = lock(journal->fd, F_OFD_SETLK, F_WRLCK, (off_t)role);

	if (err)
		return err == -EAGAIN || err == -EACCES ? -EBUSY : err;
	err = gp_proc_start(getpid(), &ticks);
	if (err) {
		lock(journal->fd, F_OFD_SETLK, F_UNLCK, (off_t)role);
		return err;
	}
	write_holder(journal, role, ticks, restores);
	journal->mine[role] = true;
	if (role == GP_ROLE_DAEMON)
		drop_older(journal);
	return 0;
}

int gp_journal_take(struct gp_journal *journal, enum gp_role role)
{
	return take(journal, role, false);
}

int gp_journal_take_to_restore(struct gp_journal *journal)
{
	return take(journal, GP_ROLE_DAEMON, true);
}

/* The process named in the file, if it is the one that wrote it; else 0. */
static pid_t written(const struct holder *holder)
{
	uint64_t pid = atomic_load(&holder->pid), ticks;

	if (!pid || pid > INT32_MAX || gp_proc_start((pid_t)pid, &ticks) ||
	    ticks != atomic_load(&holder->start_ticks))
		return 0;
	return (pid_t)pid;
}

pid_t gp_journal_who(const struct gp_journal *journal, enum gp_role role)
{
	const struct timespec pause = { .tv_nsec = WHO_PAUSE_NS };
	pid_t pid;

	if (journal->mine[role])
		return getpid();
	/* Between its lock and its word the holder is unknown. */
	for (int i = 0; i < WHO_TRIES; i++) {
		if (is_locked(journal->fd, (off_t)role) <= 0)
			return 0;
		pid = written(&journal->file->holder[role]);
		if (pid)
			return pid;
		nanosleep(&pause, NULL);
	}
	return 0;
}

pid_t gp_journal_last(const struct gp_journal *journal, enum gp_role role)
{
	uint64_t pid = atomic_load(&journal->file->holder[role].pid);

	return pid <= INT32_MAX ? (pid_t)pid : 0;
}

void gp_journal_beat(struct gp_journal *journal, enum gp_role role, uint64_t now_ns)
{
	atomic_store(&journal->file->beat_ns[role], now_ns);
}

uint64_t gp_journal_beat_of(const struct gp_journal *journal, enum gp_role role, pid_t pid)
{
	uint64_t beat_ns = atomic_load(&journal->file->beat_ns[role]);

	return pid > 0 && gp_journal_last(journal, role) == pid ? beat_ns : 0;
}

void gp_journal_begin(struct gp_journal *journal)
{
	struct file *f = journal->file;

	atomic_store(&f->stopping, 0);
	for (enum gp_role role = 0; role < GP_ROLES; role++) {
		atomic_store(&f->started_ns[role], 0);
		atomic_store(&f->soon[role], 0);
	}
}

/* From one start to the next. */
static uint64_t pause_after(enum gp_role role, uint32_t soon)
{
	const uint64_t max = role == GP_ROLE_DAEMON ? PAUSE_MAX_NS : KEEPER_PAUSE_MAX_NS;
	uint64_t pause = soon ? PAUSE_NS << (soon > PAUSE_DOUBLINGS ? PAUSE_DOUBLINGS : soon - 1) :
				0;

	return pause > max ? max : pause;
}

uint64_t gp_journal_start_at(const struct gp_journal *journal, enum gp_role role)
{
	uint64_t started = atomic_load(&journal->file->started_ns[role]);

	return started ? started + pause_after(role, atomic_load(&journal->file->soon[role])) : 0;
}

void gp_journal_started(struct gp_journal *journal, enum gp_role role, uint64_t now_ns)
{
	struct file *f = journal->file;
	bool soon = atomic_load(&f->started_ns[role]) &&
		    now_ns < gp_journal_start_at(journal, role) + SOON_NS;

	atomic_store(&f->soon[role], soon ? atomic_load(&f->soon[role]) + 1 : 0);
	atomic_store(&f->started_ns[role], now_ns);
}

void gp_journal_ready(struct gp_journal *journal)
{
	atomic_fetch_add(&journal->file->epoch, 1);
	atomic_store(&journal->file->ready, (uint32_t)getpid());
}

uint32_t gp_journal_epoch(const struct gp_journal *journal)
{
	return atomic_load(&journal->file->epoch);
}

bool gp_journal_is_ready(const struct gp_journal *journal)
{
	uint32_t ready = atomic_load(&journal->file->ready);

	return ready && (pid_t)ready == gp_journal_who(journal, GP_ROLE_DAEMON);
}

pid_t gp_journal_restorer(const struct gp_journal *journal)
{
	uint32_t restorer = atomic_load(&journal->file->restorer);

	return restorer && (pid_t)restorer == gp_journal_who(journal, GP_ROLE_DAEMON) ?
		       (pid_t)restorer :
		       0;
}

void gp_journal_restored(struct gp_journal *journal)
{
	atomic_fetch_add(&journal->file->restores, 1);
}

uint32_t gp_journal_restores(const struct gp_journal *journal)
{
	return atomic_load(&journal->file->restores);
}

void gp_journal_stop(struct gp_journal *journal, bool stop)
{
	atomic_store(&journal->file->stopping, stop);
}

bool gp_journal_stopping(const struct gp_journal *journal)
{
	return atomic_load(&journal->file->stopping);
}
