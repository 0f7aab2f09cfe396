// SPDX-License-Identifier: Apache-2.0
/* What the software GPU's server reads of a thread: does it run, and did it? */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softgpu/server/thread_state.h"
#include "tests/common/gp_test.h"

/* Sleeps, except for a moment after each byte. Its name looks like the fields after it. */
static pid_t start(int bytes)
{
	const pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, "a) R 1 (b)");
	while (read(bytes, &c, 1) == 1)
		;
	_exit(0);
}

static void until(const struct soft_thread_files *t, char wanted)
{
	char letter = 0;
	uint64_t n;

	for (int i = 0; i < 10000 && letter != wanted; i++) {
		assert_true(soft_thread_read(t, &letter, &n));
		usleep(1000);
	}
	assert_int_equal(letter, wanted);
}

static void test_sleeping_thread(void **state)
{
	struct soft_thread_files own, other;
	uint64_t before, after, again;
	int bytes[2];
	char letter;
	pid_t pid;

	soft_thread_open(&own, getpid(), gettid());
	assert_true(soft_thread_read(&own, &letter, &before));
	assert_int_equal(letter, 'R');
	soft_thread_close(&own);

	assert_int_equal(pipe(bytes), 0);
	pid = start(bytes[0]);
	close(bytes[0]);
	soft_thread_open(&other, pid, pid);
	until(&other, 'S');
	assert_true(soft_thread_read(&other, &letter, &before));
	assert_true(soft_thread_read(&other, &letter, &again));
	assert_int_equal(before, again);
	assert_int_equal(write(bytes[1], ".", 1), 1);
	until(&other, 'S');
	assert_true(soft_thread_read(&other, &letter, &after));
	assert_true(after > before);
	/* As a zombie it neither runs nor did. */
	kill(pid, SIGKILL);
	until(&other, 'Z');
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(soft_thread_read(&other, &letter, &after));
	soft_thread_close(&other);
	assert_false(soft_thread_read(&other, &letter, &after));
	close(bytes[1]);
}

/* A kernel that counts no times of CPUs has the counts of `status`. */
static void test_kernel_without_times(void **state)
{
	char path[64], letter;
	struct soft_thread_files own;
	uint64_t n = 0;

	soft_thread_open(&own, getpid(), gettid());
	close(own.count);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", getpid(), gettid());
	own.count = open(path, O_RDONLY);
	usleep(1000);
	assert_true(soft_thread_read(&own, &letter, &n));
	assert_true(n > 0);
	soft_thread_close(&own);
}

static void test_threads_of_a_process(void **state)
{
	DIR *tasks = opendir("/proc/self/task");
	uint64_t ns = 0;
	char own[16];

	assert_non_null(tasks);
	snprintf(own, sizeof(own), "%d", gettid());
	assert_int_equal(soft_thread_letter(dirfd(tasks), own), 'R');
	assert_true(soft_thread_cpu(dirfd(tasks), own, &ns));
	assert_true(ns > 0);
	assert_int_equal(soft_thread_letter(dirfd(tasks), "1073741824"), 'X');
	assert_false(soft_thread_cpu(dirfd(tasks), "1073741824", &ns));
	closedir(tasks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleeping_thread),
		cmocka_unit_test(test_kernel_without_times),
		cmocka_unit_test(test_threads_of_a_process),
	};

	return gp_run_tests(tests);
}
