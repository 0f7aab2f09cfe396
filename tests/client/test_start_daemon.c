// SPDX-License-Identifier: Apache-2.0
/* The start of gpreemptd by the library, of which the application sees nothing. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/start_daemon.h"
#include "runtime/log.h"
#include "tests/common/gp_test.h"

#define LONG_MS 60000 /* ends a test that hangs */
#define FILE_FD 77    /* an application's open file */

struct place {
	char dir[64], program[128], answer[128];
};

static char said[1024];
static volatile sig_atomic_t children;

static void listen_to(enum gp_log_level level, const char *line, void *arg)
{
	strncat(said, line, sizeof(said) - strlen(said) - 1);
	strncat(said, "\n", sizeof(said) - strlen(said) - 1);
}

static void child_ended(int number)
{
	children++;
}

/* The program writes its arguments, environment, files and parent to "answer". */
static int up(void **state)
{
	static struct place p;
	FILE *f;

	snprintf(p.dir, sizeof(p.dir), "/tmp/gp-start-XXXXXX");
	if (!mkdtemp(p.dir))
		return -1;
	snprintf(p.program, sizeof(p.program), "%s/daemon", p.dir);
	snprintf(p.answer, sizeof(p.answer), "%s/answer", p.dir);
	f = fopen(p.program, "w");
	if (!f)
		return -1;
	fprintf(f,
		"#!/bin/sh\n"
		"exec >%s.part\n"
		"echo args $*\n"
		"echo env $XDG_RUNTIME_DIR $LD_PRELOAD $GPREEMPT_CLASS\n"
		"echo files $(ls /proc/$$/fd | grep -x %d)\n"
		"echo stdout $(readlink /proc/$$/fd/2)\n"
		"echo folder $(pwd) session $(cut -d' ' -f6 /proc/$$/stat) $$\n"
		"echo blocked $(sed -n 's/^SigBlk:[^0-9a-f]*//p' /proc/$$/status)\n"
		"mv %s.part %s\n",
		p.answer, FILE_FD, p.answer, p.answer);
	fclose(f);
	chmod(p.program, 0700);
	setenv("XDG_RUNTIME_DIR", p.dir, 1);
	unsetenv("GPREEMPT_DAEMON");
	*state = &p;
	return 0;
}

static int down(void **state)
{
	const struct place *p = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", p->dir);
	return system(command);
}

/* The starter's state is a process's: each test needs its own. */
static void in_child(void (*test)(const struct place *p), const struct place *p)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		said[0] = '\0';
		gp_set_log(listen_to, NULL);
		test(p);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define NEED(condition)                                                                         \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "line %d: %s; said: %s\n", __LINE__, #condition, said); \
			_exit(1);                                                               \
		}                                                                               \
	} while (0)

static void answer(const struct place *p, char *text, size_t len)
{
	size_t n;
	FILE *f = NULL;

	for (int ms = 0; !f && ms < LONG_MS; ms += 10) {
		f = fopen(p->answer, "r");
		if (!f)
			poll(NULL, 0, 10);
	}
	NEED(f);
	n = fread(text, 1, len - 1, f);
	text[n] = '\0';
	fclose(f);
}

static void starts(const struct place *p)
{
	struct sigaction action = { .sa_handler = child_ended };
	char text[1024], want[1024], *session, *end;
	long sid;
	int fd;

	sigaction(SIGCHLD, &action, NULL);
	fd = open("/dev/zero", O_RDONLY);
	NEED(dup2(fd, FILE_FD) == FILE_FD);
	setenv("GPREEMPT_START_DAEMON", p->program, 1);
	setenv("GPREEMPT_CLASS", "be", 1);
	gp_start_daemon_setup();
	NEED(gp_start_daemon());
	answer(p, text, sizeof(text));
	/* It is on its way: nothing is started twice, and this would fail. */
	NEED(!unlink(p->program));
	NEED(gp_start_daemon());
	snprintf(want, sizeof(want),
		 "args --on-demand --idle-exit=10s\nenv %s\nfiles\nstdout /dev/null\nfolder / "
		 "session ",
		 p->dir);
	NEED(!strncmp(text, want, strlen(want)));
	session = text + strlen(want);
	end = strchr(session, '\n');
	NEED(end);
	/* It leads a session of its own, and no signal is blocked. */
	sid = strtol(session, &session, 10);
	NEED(sid > 0 && sid == strtol(session, NULL, 10));
	NEED(!strcmp(end, "\nblocked 0000000000000000\n"));
	/* The application sees no child and no signal. */
	NEED(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	NEED(!children && !said[0]);
}

static void test_starts(void **state)
{
	in_child(starts, *state);
}

static void cannot(const struct place *p)
{
	NEED(!unlink(p->program));
	setenv("GPREEMPT_START_DAEMON", p->program, 1);
	gp_start_daemon_setup();
	NEED(!gp_start_daemon());
	NEED(strstr(said,
		    "cannot start gpreemptd for several best-effort processes: /tmp/gp-start-"));
	NEED(strstr(said, "/daemon: No such file or directory\n"));
	said[0] = '\0';
	NEED(!gp_start_daemon() && !said[0]);
	/* Another one was there meanwhile. */
	gp_start_daemon_found();
	NEED(!gp_start_daemon() && said[0]);
}

static void test_cannot(void **state)
{
	in_child(cannot, *state);
}

static void not_in_this_folder(const struct place *p)
{
	char own[128];

	snprintf(own, sizeof(own), "%s/gpreempt", p->dir);
	NEED(!mkdir(own, 0755));
	setenv("GPREEMPT_START_DAEMON", p->program, 1);
	gp_start_daemon_setup();
	NEED(!gp_start_daemon());
	NEED(strstr(said, "/gpreempt: Operation not permitted; make it a directory of this user"));
	NEED(access(p->answer, F_OK));
}

static void test_not_in_this_folder(void **state)
{
	in_child(not_in_this_folder, *state);
}

static void refused(const struct place *p)
{
	static const char *const programs[] = { "0", "", "daemon" };

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		setenv("GPREEMPT_START_DAEMON", programs[i], 1);
		gp_start_daemon_setup();
		NEED(!gp_start_daemon());
	}
	setenv("GPREEMPT_START_DAEMON", p->program, 1);
	setenv("GPREEMPT_DAEMON", "none", 1);
	gp_start_daemon_setup();
	NEED(!gp_start_daemon() && !said[0]);
}

static void test_refused(void **state)
{
	in_child(refused, *state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_starts),
		TEST(test_cannot),
		TEST(test_not_in_this_folder),
		TEST(test_refused),
	};

	return gp_run_tests(tests);
}
