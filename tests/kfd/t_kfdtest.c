// SPDX-License-Identifier: Apache-2.0
/*
 * AMD's kfdtest, each test in a process of its own, against the results in kfdtest.txt.
 *
 * kfdtest is built elsewhere; kfd-patch/rig/README.md has how, and the results.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kfd.h"
#include "run.h"

#define KFDTEST "/t/kfdtest"
#define EXPECTED "/t/kfdtest.txt"
#define SUITES "KFDCWSRTest.*:KFDQMTest.*:KFDEventTest.*:KFDMemoryTest.*"
#define TESTS 256
#define NAME 128
#define SECONDS "30"
#define KILLED 137

struct test {
	char name[NAME];
	bool passes;
	bool listed;
};

static struct test test[TESTS];
static unsigned int tests;

/* Lines "NAME passes", or "NAME fails REASON". */
static void read_expected(void)
{
	char line[512], name[NAME], result[16];
	FILE *f = fopen(EXPECTED, "re");

	must(f ? 0 : -ENOENT, EXPECTED);
	while (tests < TESTS && fgets(line, sizeof(line), f)) {
		if (line[0] == '#' || sscanf(line, "%127s %15s", name, result) != 2)
			continue;
		snprintf(test[tests].name, NAME, "%s", name);
		test[tests++].passes = !strcmp(result, "passes");
	}
	fclose(f);
}

static struct test *find(const char *name)
{
	for (unsigned int i = 0; i < tests; i++)
		if (!strcmp(test[i].name, name))
			return &test[i];
	if (tests == TESTS)
		bail("too many tests");
	snprintf(test[tests].name, NAME, "%s", name);
	return &test[tests++];
}

/* Lines "Case." and, indented, "Test" or "Test/0  # GetParam() = ...". */
static void list(void)
{
	char suite[64] = "", name[NAME], *line, *save = NULL;

	is_err(run_quietly((char *const[]){ KFDTEST, "--gtest_list_tests", "--gtest_filter=" SUITES,
					    NULL }),
	       0, "kfdtest lists its tests");
	for (line = strtok_r(run_output, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (line[0] != ' ') {
			snprintf(suite, sizeof(suite), "%.*s", (int)strcspn(line, " "), line);
			continue;
		}
		line += strspn(line, " ");
		line[strcspn(line, " ")] = 0;
		snprintf(name, sizeof(name), "%s%.60s", suite, line);
		find(name)->listed = true;
	}
}

/* The line of the output that says most, without the path in it. */
static const char *reason(void)
{
	static const char *const words[] = { "Failure", "kipping", "not supported", "rror" };
	static char text[160];
	const char *at = NULL;

	for (unsigned int i = 0; !at && i < sizeof(words) / sizeof(words[0]); i++)
		at = strstr(run_output, words[i]);
	if (!at)
		return "";
	while (at > run_output && at[-1] != '\n' && at[-1] != '/')
		at--;
	snprintf(text, sizeof(text), "%.150s", at);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return text;
}

/* If memory runs out, the kernel is to kill the test. */
static void run_one(const struct test *t)
{
	char command[NAME + 128];
	uint64_t start = now_ns();
	int status;

	snprintf(command, sizeof(command),
		 "echo 1000 >/proc/self/oom_score_adj; "
		 "exec timeout -s KILL " SECONDS " " KFDTEST " --gtest_filter=%s",
		 t->name);
	status = run_quietly((char *const[]){ "/bin/sh", "-c", command, NULL });
	note("%s %s, %llu s: %s", t->name, status ? "fails" : "passes",
	     (unsigned long long)(now_ns() - start) / 1000000000,
	     status == KILLED ? "killed" : reason());
	ok(t->listed && !status == t->passes, "%s %s, as before", t->name,
	   status ? "fails" : "passes");
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Tests that fail leave queues in the middle of a packet. */
	expect_dmesg(".");
	run_find_libraries();
	read_expected();
	list();
	for (unsigned int i = 0; i < tests; i++)
		run_one(&test[i]);
	return done();
}
