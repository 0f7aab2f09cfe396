// SPDX-License-Identifier: Apache-2.0
/* The CPU time of a process and its descendants: present, waited for, or orphaned. */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/run/process.h"
#include "bench/run/usage.h"
#include "tests/common/gp_test.h"

#define BUSY_NS 50000000
#define TICK_NS 10000000
#define WAIT_MS 60000
#define STEP_US 5000

#define LOOP "while :; do :; done"
/* The busy process is orphaned by its starter. */
#define LEAVES "(sh -c '" LOOP "' & echo $!); echo ready; read x"

static struct gp_process begin(const char *script,
			       int (*start)(struct gp_process *p, char *const argv[]))
{
	char text[512];
	char *argv[] = { "sh", "-c", text, NULL };
	struct gp_process p;
	char line[64];

	snprintf(text, sizeof(text), "%s", script);
	assert_int_equal(start(&p, argv), 0);
	assert_int_equal(gp_process_expect(&p, "ready", WAIT_MS, line, sizeof(line)), 0);
	return p;
}

/* Does it grow by this much, while this CPU waits? */
static bool grows(pid_t pid)
{
	const int64_t before = gp_usage_ns(pid);

	assert_true(before >= 0);
	for (int i = 0; i < WAIT_MS * 1000 / STEP_US; i++) {
		if (gp_usage_ns(pid) >= before + BUSY_NS)
			return true;
		usleep(STEP_US);
	}
	return false;
}

static void below(void **state)
{
	struct gp_process p = begin("sh -c '" LOOP "' & echo ready; read x", gp_process_start);

	assert_true(grows(p.pid));
	gp_process_kill(&p);
}

/* An orphan still counts for the starter of its tree, and for no other. */
static void left_behind(void **state)
{
	struct gp_process tree = begin(LEAVES, gp_process_start_tree);
	struct gp_process other = begin(LEAVES, gp_process_start);
	const int64_t before = gp_usage_ns(other.pid);

	assert_true(grows(tree.pid));
	assert_true(gp_usage_ns(other.pid) < before + BUSY_NS);
	gp_process_kill(&tree);
	gp_process_kill(&other);
}

/* The shell's own account of its children: "0m0.120000s 0m0.010000s". */
static int64_t children_ns(struct gp_process *p)
{
	double minutes[2], seconds[2];
	char line[64];

	assert_int_equal(gp_process_expect(p, "", WAIT_MS, line, sizeof(line)), 0);
	assert_int_equal(gp_process_expect(p, "", WAIT_MS, line, sizeof(line)), 0);
	assert_int_equal(sscanf(line, "%lfm%lfs %lfm%lfs", &minutes[0], &seconds[0], &minutes[1],
				&seconds[1]),
			 4);
	return (int64_t)((60 * (minutes[0] + minutes[1]) + seconds[0] + seconds[1]) * 1e9);
}

static void waited_for(void **state)
{
	struct gp_process p = begin("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; "
				    "echo ready; times; read x",
				    gp_process_start);
	const int64_t children = children_ns(&p), all = gp_usage_ns(p.pid);

	assert_true(children > 3 * TICK_NS);
	/* User and system time in whole ticks, and the shell's own time. */
	assert_true(all > children - 3 * TICK_NS);
	assert_true(all < children + 3 * TICK_NS);
	gp_process_kill(&p);
}

static void nobody(void **state)
{
	struct gp_process p = begin("echo ready", gp_process_start);
	const pid_t pid = p.pid;

	assert_int_equal(gp_process_end(&p, WAIT_MS), 0);
	assert_true(gp_usage_ns(pid) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below),
		cmocka_unit_test(left_behind),
		cmocka_unit_test(waited_for),
		cmocka_unit_test(nobody),
	};

	return gp_run_tests(tests);
}
