// SPDX-License-Identifier: Apache-2.0
/*
 * The journal: whole records or none, whenever its writer is killed; roles that end with their
 * process; invalid files.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/supervise/journal.h"
#include "daemon/discover/proc.h"
#include "tests/common/gp_test.h"

#define SEED 11u
#define KILLS 300
#define TOLD 17 /* exit status of a child that succeeded */

static char folder[64], path[96];
static unsigned int seed = SEED;

static int setup(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/gp-journal-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/journal", folder);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	return rmdir(folder);
}

static struct gp_journal *opened(void)
{
	struct gp_journal *journal = NULL;

	assert_int_equal(gp_journal_open(path, &journal), 0);
	return journal;
}

/* Every field has @n. */
static struct gp_journal_record record_of(uint32_t n)
{
	struct gp_journal_record r = {
		.pid = (int32_t)n,
		.origin = n,
		.start_ticks = n,
		.request = { .cls = n,
			     .value = n,
			     .cap_pct = n,
			     .pad = n,
			     .period_ns = n,
			     .deadline_ns = n,
			     .runtime_ns = n },
		.banned = n,
		.away = n,
	};

	memset(r.uuid, (int)(n & 0xff), sizeof(r.uuid));
	return r;
}

static void assert_whole(const struct gp_journal_record *r)
{
	const struct gp_journal_record all = record_of(r->origin);

	assert_memory_equal(r, &all, sizeof(all));
}

/* A record of the one process, the @n th. */
static struct gp_journal_record version_of(uint32_t n)
{
	const struct gp_journal_record one = record_of(1);
	struct gp_journal_record r = record_of(n);

	r.pid = one.pid;
	r.start_ticks = one.start_ticks;
	memcpy(r.uuid, one.uuid, sizeof(r.uuid));
	return r;
}

static void assert_version(const struct gp_journal_record *r)
{
	const struct gp_journal_record all = version_of(r->origin);

	assert_memory_equal(r, &all, sizeof(all));
}

static uint32_t count(const struct gp_journal *journal)
{
	struct gp_journal_record r;
	uint32_t n = 0;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
		n += gp_journal_get(journal, i, &r);
	return n;
}

/* ---- records --------------------------------------------------------------- */

static void test_put_get_drop(void **state)
{
	struct gp_journal *journal = opened();
	struct gp_journal_record r = record_of(7), got;
	int place = gp_journal_put(journal, &r), other;

	assert_true(place >= 0);
	assert_true(gp_journal_get(journal, (uint32_t)place, &got));
	assert_memory_equal(&r, &got, sizeof(r));
	r = record_of(8);
	other = gp_journal_put(journal, &r);
	assert_true(other >= 0 && other != place);
	gp_journal_drop(journal, place);
	assert_false(gp_journal_get(journal, (uint32_t)place, &got));
	assert_true(gp_journal_get(journal, (uint32_t)other, &got));
	assert_whole(&got);
	gp_journal_drop(journal, -1);
	gp_journal_drop(journal, GP_JOURNAL_RECORDS);
	assert_false(gp_journal_get(journal, GP_JOURNAL_RECORDS, &got));
	assert_int_equal(count(journal), 1);
	gp_journal_close(journal);
	gp_journal_close(NULL);
}

static void test_full(void **state)
{
	struct gp_journal *journal = opened();
	struct gp_journal_record r;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++) {
		r = record_of(i + 1);
		assert_true(gp_journal_put(journal, &r) >= 0);
	}
	assert_int_equal(gp_journal_put(journal, &r), -ENOSPC);
	gp_journal_drop(journal, 500);
	assert_int_equal(gp_journal_put(journal, &r), 500);
	assert_int_equal(count(journal), GP_JOURNAL_RECORDS);
	gp_journal_close(journal);
}

static void test_outlives_its_writer(void **state)
{
	struct gp_journal *journal = opened();
	struct gp_journal_record r = record_of(3), got;
	int place = gp_journal_put(journal, &r);
	uint32_t epoch = gp_journal_epoch(journal);

	gp_journal_ready(journal);
	gp_journal_restored(journal);
	gp_journal_stop(journal, true);
	gp_journal_close(journal);
	journal = opened();
	assert_true(gp_journal_get(journal, (uint32_t)place, &got));
	assert_whole(&got);
	assert_int_equal(gp_journal_epoch(journal), epoch + 1);
	assert_int_equal(gp_journal_restores(journal), 1);
	assert_true(gp_journal_stopping(journal));
	/* It is not ready without the role. */
	assert_false(gp_journal_is_ready(journal));
	gp_journal_close(journal);
}

static void test_the_newer_of_two_counts(void **state)
{
	struct gp_journal *journal = opened();
	struct gp_journal_record old = record_of(5), new = old, got;
	int first, second;

	new.banned = 99;
	first = gp_journal_put(journal, &old);
	second = gp_journal_put(journal, &new);
	/* The same again, with the newer at the lower place. */
	old.pid = new.pid = 6;
	gp_journal_drop(journal, 0);
	assert_int_equal(first, 0);
	first = gp_journal_put(journal, &old);
	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS - 3; i++)
		gp_journal_drop(journal, gp_journal_put(journal, &old));
	assert_int_equal(gp_journal_put(journal, &new), 0);
	assert_int_equal(gp_journal_take(journal, GP_ROLE_DAEMON), 0);
	assert_int_equal(count(journal), 2);
	assert_false(gp_journal_get(journal, (uint32_t)first, &got));
	assert_true(gp_journal_get(journal, 0, &got));
	assert_int_equal(got.banned, 99);
	assert_true(gp_journal_get(journal, (uint32_t)second, &got));
	assert_int_equal(got.banned, 99);
	gp_journal_close(journal);
}

/* One field changes, and the record is found by it. */
static void test_away(void **state)
{
	struct gp_journal *journal = opened();
	struct gp_journal_record here = record_of(3), other = record_of(4), got;
	enum gp_journal_away away = GP_JOURNAL_HERE;
	int place, place_of_other;

	here.away = other.away = GP_JOURNAL_HERE;
	place_of_other = gp_journal_put(journal, &other);
	place = gp_journal_put(journal, &here);
	assert_int_equal(gp_journal_away_of(journal, 3, 3, here.uuid, &away), -ENOENT);
	gp_journal_away(journal, place, GP_JOURNAL_AWAY_ASKED);
	assert_int_equal(gp_journal_away_of(journal, 3, 3, here.uuid, &away), place);
	assert_int_equal(away, GP_JOURNAL_AWAY_ASKED);
	/* Another process, and another device. */
	assert_int_equal(gp_journal_away_of(journal, 3, 4, here.uuid, &away), -ENOENT);
	assert_int_equal(gp_journal_away_of(journal, 3, 3, other.uuid, &away), -ENOENT);
	assert_true(gp_journal_get(journal, (uint32_t)place, &got));
	here.away = GP_JOURNAL_AWAY_ASKED;
	assert_memory_equal(&got, &here, sizeof(here));
	assert_true(gp_journal_get(journal, (uint32_t)place_of_other, &got));
	assert_memory_equal(&got, &other, sizeof(other));
	gp_journal_away(journal, place, GP_JOURNAL_HERE);
	assert_int_equal(gp_journal_away_of(journal, 3, 3, here.uuid, &away), -ENOENT);
	gp_journal_away(journal, -1, GP_JOURNAL_AWAY);
	gp_journal_away(journal, GP_JOURNAL_RECORDS, GP_JOURNAL_AWAY);
	gp_journal_close(journal);
}

/* ---- roles ----------------------------------------------------------------- */

/* No child outlives a failed test. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A child that takes @role, reports it, and waits to be killed. */
static pid_t child_with(enum gp_role role)
{
	struct gp_journal *journal;
	int pipe_fd[2];
	char said;
	pid_t pid;

	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	pid = fork_child();
	if (!pid) {
		if (gp_journal_open(path, &journal) || gp_journal_take(journal, role))
			_exit(1);
		if (role == GP_ROLE_DAEMON)
			gp_journal_ready(journal);
		(void)!write(pipe_fd[1], "x", 1);
		pause();
		_exit(0);
	}
	close(pipe_fd[1]);
	assert_int_equal(read(pipe_fd[0], &said, 1), 1);
	close(pipe_fd[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_a_role_is_gone_with_its_process(void **state)
{
	struct gp_journal *journal = opened();

	for (enum gp_role role = 0; role < GP_ROLES; role++) {
		pid_t pid = child_with(role);

		assert_int_equal(gp_journal_who(journal, role), pid);
		assert_int_equal(gp_journal_take(journal, role), -EBUSY);
		assert_int_equal(gp_journal_is_ready(journal), role == GP_ROLE_DAEMON);
		assert_true(gp_journal_in_use(path));
		end(pid);
		assert_int_equal(gp_journal_who(journal, role), 0);
		assert_false(gp_journal_is_ready(journal));
		assert_false(gp_journal_in_use(path));
		assert_int_equal(gp_journal_take(journal, role), 0);
		assert_int_equal(gp_journal_who(journal, role), getpid());
		assert_false(gp_journal_is_ready(journal));
		gp_journal_close(journal);
		journal = opened();
	}
	gp_journal_close(journal);
}

/* It has the role, but is no daemon: no process waits for it to be ready. */
static void test_who_puts_back(void **state)
{
	struct gp_journal *journal = opened(), *other = opened();

	assert_int_equal(gp_journal_restorer(journal), 0);
	assert_int_equal(gp_journal_take_to_restore(journal), 0);
	assert_int_equal(gp_journal_take_to_restore(other), -EBUSY);
	assert_int_equal(gp_journal_take(other, GP_ROLE_DAEMON), -EBUSY);
	assert_int_equal(gp_journal_restorer(other), getpid());
	assert_int_equal(gp_journal_who(other, GP_ROLE_DAEMON), getpid());
	assert_false(gp_journal_is_ready(other));
	gp_journal_close(journal);
	assert_int_equal(gp_journal_restorer(other), 0);
	assert_int_equal(gp_journal_take(other, GP_ROLE_DAEMON), 0);
	assert_int_equal(gp_journal_restorer(other), 0);
	gp_journal_close(other);
}

static void test_a_child_gets_the_file_and_no_role(void **state)
{
	struct gp_journal *journal = opened(), *again;
	struct gp_journal_record r = record_of(2);
	int fd;

	assert_int_equal(gp_journal_take(journal, GP_ROLE_KEEPER), 0);
	/* Even if no process finds it by its name any more. */
	assert_true(gp_journal_is_at(journal, path));
	assert_int_equal(unlink(path), 0);
	assert_false(gp_journal_is_at(journal, path));
	fd = gp_journal_again(journal);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(gp_journal_adopt(fd, &again), 0);
	assert_int_equal(gp_journal_fd(again), fd);
	assert_int_equal(gp_journal_take(again, GP_ROLE_KEEPER), -EBUSY);
	assert_int_equal(gp_journal_take(again, GP_ROLE_SECOND), 0);
	gp_journal_put(journal, &r);
	assert_int_equal(count(again), 1);
	gp_journal_close(journal);
	assert_int_equal(gp_journal_take(again, GP_ROLE_KEEPER), 0);
	gp_journal_close(again);
}

static void test_a_program_that_takes_over_has_the_role(void **state)
{
	struct gp_journal *journal = opened(), *same, *other = opened();
	int fd;

	assert_int_equal(gp_journal_take(journal, GP_ROLE_KEEPER), 0);
	fd = dup(gp_journal_fd(journal));
	gp_journal_close(journal);
	assert_int_equal(gp_journal_take(other, GP_ROLE_KEEPER), -EBUSY);
	assert_int_equal(gp_journal_adopt(fd, &same), 0);
	assert_int_equal(gp_journal_take(same, GP_ROLE_KEEPER), 0);
	assert_int_equal(gp_journal_who(other, GP_ROLE_KEEPER), getpid());
	gp_journal_close(same);
	gp_journal_close(other);
}

/* Starts again and again, each time as early as allowed. */
static uint64_t start_in_a_row(struct gp_journal *journal, enum gp_role role,
			       const uint64_t *pause_ms, size_t n)
{
	uint64_t now = 7000000000ull, next;

	assert_int_equal(gp_journal_start_at(journal, role), 0);
	for (size_t i = 0; i < n; i++) {
		gp_journal_started(journal, role, now);
		next = gp_journal_start_at(journal, role);
		assert_int_equal(next - now, pause_ms[i] * 1000000);
		now = next;
	}
	return now;
}

static void test_starts_in_a_row_are_paused(void **state)
{
	static const uint64_t daemon_ms[] = { 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000 };
	static const uint64_t keeper_ms[] = { 0, 100, 200, 400, 800, 1000, 1000 };
	struct gp_journal *journal = opened();
	uint64_t now = start_in_a_row(journal, GP_ROLE_DAEMON, daemon_ms,
				      sizeof(daemon_ms) / sizeof(daemon_ms[0]));

	start_in_a_row(journal, GP_ROLE_SECOND, keeper_ms,
		       sizeof(keeper_ms) / sizeof(keeper_ms[0]));
	/* One that lived long does not count as crashing at once. */
	now += 250000000;
	gp_journal_started(journal, GP_ROLE_DAEMON, now);
	assert_int_equal(gp_journal_start_at(journal, GP_ROLE_DAEMON), now);
	gp_journal_stop(journal, true);
	gp_journal_begin(journal);
	assert_int_equal(gp_journal_start_at(journal, GP_ROLE_DAEMON), 0);
	assert_false(gp_journal_stopping(journal));
	gp_journal_close(journal);
}

/* ---- invalid files ------------------------------------------------------------ */

static void put_file(const void *bytes, size_t n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void test_garbage(void **state)
{
	static const size_t lengths[] = { 1, 8, 127, 128, 4096, 98455, 98456, 98457 };
	static uint8_t bytes[98457];
	struct gp_journal *journal = NULL;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(rand_r(&seed) >> 8);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct stat st;

		put_file(bytes, lengths[i]);
		assert_int_equal(gp_journal_open(path, &journal), -EBADMSG);
		assert_null(journal);
		/* Unchanged, so that an operator can inspect it. */
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, lengths[i]);
	}
	assert_int_equal(unlink(path), 0);
	journal = opened();
	gp_journal_close(journal);
}

static void test_another_version(void **state)
{
	struct gp_journal *journal = opened();
	uint32_t version = GP_JOURNAL_VERSION + 1;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_int_equal(pwrite(fd, &version, sizeof(version), 8), sizeof(version));
	gp_journal_close(journal);
	journal = NULL;
	assert_int_equal(gp_journal_open(path, &journal), -EBADMSG);
	assert_int_equal(gp_journal_adopt(fd, &journal), -EBADMSG);
	assert_null(journal);
	close(fd);
}

static void test_what_is_no_file(void **state)
{
	struct gp_journal *journal = NULL;
	char other[128];

	snprintf(other, sizeof(other), "%s/other", folder);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(gp_journal_open(path, &journal), -ELOOP);
	assert_int_equal(access(other, F_OK), -1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(gp_journal_open(path, &journal), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(gp_journal_open(path, &journal), -EISDIR);
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/none/journal", folder);
	assert_int_equal(gp_journal_open(path, &journal), -ENOENT);
	snprintf(path, sizeof(path), "%s/journal", folder);
	assert_null(journal);
}

/* ---- killed at any moment ----------------------------------------------------- */

static void pause_us(unsigned int us)
{
	const struct timespec t = { .tv_nsec = us * 1000l };

	nanosleep(&t, NULL);
}

/* Changes the one record again and again, like a daemon. */
static void write_for_ever(int told)
{
	struct gp_journal *journal;
	struct gp_journal_record r;
	int place = -1, next;

	if (gp_journal_open(path, &journal) || gp_journal_take(journal, GP_ROLE_DAEMON))
		_exit(1);
	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS && place < 0; i++)
		if (gp_journal_get(journal, i, &r))
			place = (int)i;
	for (uint32_t n = 1;; n++) {
		r = version_of(n);
		next = gp_journal_put(journal, &r);
		if (next < 0)
			_exit(1);
		gp_journal_drop(journal, place);
		place = next;
		if (n == 1)
			(void)!write(told, "x", 1);
	}
}

static pid_t start_writer(void)
{
	int pipe_fd[2];
	char said;
	pid_t pid;

	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	pid = fork_child();
	if (!pid)
		write_for_ever(pipe_fd[1]);
	close(pipe_fd[1]);
	assert_int_equal(read(pipe_fd[0], &said, 1), 1);
	close(pipe_fd[0]);
	return pid;
}

/*
 * A reader during a write, or after the writer was killed, finds whole records, and at least
 * one of the process in it.
 */
static void test_writer_is_killed(void **state)
{
	struct gp_journal *journal = opened();
	struct gp_journal_record r;

	printf("seed %u\n", SEED);
	for (int round = 0; round < KILLS; round++) {
		pid_t pid = start_writer();
		unsigned int us = (unsigned int)rand_r(&seed) % 300;
		uint32_t left;

		for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
			if (gp_journal_get(journal, i, &r))
				assert_version(&r);
		pause_us(us);
		end(pid);
		left = count(journal);
		assert_true(left == 1 || left == 2);
		for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
			if (gp_journal_get(journal, i, &r))
				assert_version(&r);
	}
	gp_journal_close(journal);
}

static void test_maker_is_killed(void **state)
{
	for (int round = 0; round < KILLS; round++) {
		unsigned int us = (unsigned int)rand_r(&seed) % 600;
		struct gp_journal *journal;
		pid_t pid = fork_child();

		if (!pid)
			for (;;)
				if (!gp_journal_open(path, &journal)) {
					gp_journal_close(journal);
					unlink(path);
				}
		pause_us(us);
		end(pid);
		journal = opened();
		assert_int_equal(count(journal), 0);
		gp_journal_close(journal);
		unlink(path);
	}
}

/* Two that create it at the same time get the same one. */
static void test_made_by_two(void **state)
{
	for (int round = 0; round < KILLS; round++) {
		struct gp_journal *journal;
		struct gp_journal_record r = record_of(4);
		pid_t pid = fork_child();
		int status;

		if (!pid)
			_exit(gp_journal_open(path, &journal) || gp_journal_put(journal, &r) < 0 ?
				      1 :
				      TOLD);
		journal = opened();
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == TOLD);
		assert_int_equal(count(journal), 1);
		gp_journal_close(journal);
		unlink(path);
	}
}

static void test_start_of_a_process(void **state)
{
	struct gp_subject subject;
	uint64_t ticks;
	pid_t pid;

	assert_int_equal(gp_proc_read(getpid(), &subject), 0);
	assert_int_equal(gp_proc_start(getpid(), &ticks), 0);
	assert_int_equal(ticks, subject.start_ticks);
	gp_proc_clear(&subject);
	pid = fork_child();
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(gp_proc_start(pid, &ticks), -ESRCH);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest journal[] = {
		TEST(test_put_get_drop),
		TEST(test_full),
		TEST(test_outlives_its_writer),
		TEST(test_away),
		TEST(test_the_newer_of_two_counts),
		TEST(test_a_role_is_gone_with_its_process),
		TEST(test_who_puts_back),
		TEST(test_a_child_gets_the_file_and_no_role),
		TEST(test_a_program_that_takes_over_has_the_role),
		TEST(test_starts_in_a_row_are_paused),
		TEST(test_garbage),
		TEST(test_another_version),
		TEST(test_what_is_no_file),
		TEST(test_writer_is_killed),
		TEST(test_maker_is_killed),
		TEST(test_made_by_two),
		TEST(test_start_of_a_process),
	};

	return gp_run_tests(journal);
}
