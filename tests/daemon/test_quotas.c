// SPDX-License-Identifier: Apache-2.0
/* Places of processes in the page of their one limit of memory. Processes and the loop are real. */
#include <dirent.h>
#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/quotas.h"
#include "tests/common/gp_child.h"
#include "tests/common/gp_test.h"

#define MIB (1ull << 20)
#define DEVICES 2
#define USER 1000u
#define NUMBER(i) (3u * (i) + 1) /* of a device: not its index */

static const char text[] = "limits_per_user: {tenants: 600}\n"
			   "rules:\n"
			   "- cgroup: /jobs/*\n"
			   "  as: one\n"
			   "  memory: {max: 32MiB}\n"
			   "- cgroup: /weights/*\n"
			   "  class: be\n"
			   "  as: one\n"
			   "- cgroup: /each/*\n"
			   "  class: be\n"
			   "  memory: {max: 32MiB}\n";

static struct gp_daemon d;
static struct gp_ddev dev[DEVICES];
static struct gp_device hal[DEVICES];
static struct gp_conn conn;

/* ---- the process that asks, and its answer --------------------------------------------- */

static struct gp_subject asks;
static int read_err, alive;
static bool files_left;
static int result;
static char why[256];
static uint32_t place;
static int file = -1; /* the page's; this test's own */

int __wrap_gp_enroll_read(const struct gp_conn *from, struct gp_subject *who);
bool __wrap_gp_enroll_has_files(const struct gp_daemon *of, const struct gp_subject *who);
int __wrap_gp_conn_lives(const struct gp_conn *of);
bool __wrap_gp_conn_say(struct gp_conn *to, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool __wrap_gp_conn_send(struct gp_conn *to, const union gp_wire_msg *msg, const int *files,
			 size_t n);

int __wrap_gp_enroll_read(const struct gp_conn *from, struct gp_subject *who)
{
	*who = asks;
	who->cgroup = strdup(asks.cgroup);
	return read_err;
}

bool __wrap_gp_enroll_has_files(const struct gp_daemon *of, const struct gp_subject *who)
{
	return files_left;
}

int __wrap_gp_conn_lives(const struct gp_conn *of)
{
	return alive;
}

bool __wrap_gp_conn_say(struct gp_conn *to, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	result = err;
	return true;
}

bool __wrap_gp_conn_send(struct gp_conn *to, const union gp_wire_msg *msg, const int *files,
			 size_t n)
{
	assert_int_equal(msg->head.type, GP_WIRE_QUOTA);
	assert_int_equal(msg->head.size, sizeof(msg->quota));
	assert_int_equal(n, 1);
	place = msg->quota.place;
	file = dup(files[0]);
	result = 0;
	return true;
}

static int ask(pid_t pid, uint64_t start_ticks, char *cgroup)
{
	asks = (struct gp_subject){
		.pid = pid,
		.start_ticks = start_ticks,
		.uid = asks.uid,
		.cgroup = cgroup,
	};
	if (file >= 0)
		close(file);
	file = -1;
	why[0] = '\0';
	result = 1;
	gp_quotas_ask(&d, &conn);
	return result;
}

static struct gp_quota_page *page_of_answer(void)
{
	struct gp_quota_page *page =
		mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	assert_true(page != MAP_FAILED);
	return page;
}

/* ---- real processes ------------------------------------------------------------------- */

/* The loop notices it. */
static void end(pid_t pid)
{
	gp_child_end(pid);
	assert_int_equal(gp_loop_once(d.loop, -1), 0);
}

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* ---- the daemon ------------------------------------------------------------------------ */

static unsigned int maps_of_pages(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[256];
	unsigned int n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "gpreempt-quota") != NULL;
	fclose(maps);
	return n;
}

static unsigned int files_before;

static int setup(void **state)
{
	static const struct gp_config_names names = { 0 };
	char bad[GP_CONFIG_WHY_LEN];

	files_before = open_files();
	memset(&d, 0, sizeof(d));
	if (gp_config_parse("f", text, strlen(text), &names, &d.config, bad, sizeof(bad)))
		fail_msg("%s", bad);
	assert_int_equal(gp_loop_create(&d.loop), 0);
	for (size_t i = 0; i < DEVICES; i++) {
		memset(hal[i].id.uuid, (int)i + 5, sizeof(hal[i].id.uuid));
		dev[i] = (struct gp_ddev){ .hal = &hal[i], .number = (uint16_t)NUMBER(i) };
		d.dev[d.devs++] = &dev[i];
	}
	asks.uid = USER;
	read_err = 0;
	alive = 1;
	files_left = true;
	return 0;
}

/* Nothing stays behind. */
static int teardown(void **state)
{
	gp_quotas_destroy(&d);
	assert_null(d.quotas);
	if (file >= 0)
		close(file);
	file = -1;
	gp_loop_destroy(d.loop);
	gp_config_free(d.config);
	assert_int_equal(maps_of_pages(), 0);
	assert_int_equal(open_files(), files_before);
	return 0;
}

/* As views have it for the device of index @i. */
static struct gp_wire_tenant figures(char *cgroup, size_t i)
{
	const struct gp_dtenant t = { .dev = &dev[i], .cgroup = cgroup };
	struct gp_wire_tenant row;

	gp_quotas_show(&d, &t, &row);
	return row;
}

static bool has_page(char *cgroup)
{
	return figures(cgroup, 0).quota_max != GP_WIRE_UNKNOWN;
}

static void test_page(void **state)
{
	static const uint8_t none[16];
	struct gp_quota_page *page;
	const pid_t pid = gp_child_start();

	assert_int_equal(ask(pid, 1, "/jobs/a"), 0);
	page = page_of_answer();
	assert_int_equal(page->magic, GP_QUOTA_MAGIC);
	for (size_t i = 0; i < GP_WIRE_MAX_DEVICES; i++) {
		const uint8_t *want = i == NUMBER(0) ? hal[0].id.uuid :
				      i == NUMBER(1) ? hal[1].id.uuid :
						       none;

		assert_memory_equal(page->uuid[i], want, 16);
		assert_int_equal(gp_quota_column_sum(page->bytes[i]), 0);
	}
	/* If it could shrink, a load would kill the daemon. */
	assert_int_equal(ftruncate(file, 0), -1);
	assert_int_equal(ftruncate(file, 2 * (off_t)sizeof(*page)), -1);
	assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	munmap(page, sizeof(*page));
	end(pid);
}

static void test_places(void **state)
{
	const pid_t one = gp_child_start(), two = gp_child_start();
	struct gp_quota_page *page, *other;

	assert_int_equal(ask(one, 1, "/jobs/a"), 0);
	assert_int_equal(place, 0);
	page = page_of_answer();
	atomic_store(&page->bytes[0][0], 5 * MIB);
	/* Deeper in the same cgroup; and again. */
	assert_int_equal(ask(two, 1, "/jobs/a/deeper"), 0);
	assert_int_equal(place, 1);
	other = page_of_answer();
	assert_int_equal(other->bytes[0][0], 5 * MIB);
	munmap(other, sizeof(*other));
	assert_int_equal(ask(one, 1, "/jobs/a"), 0);
	assert_int_equal(place, 0);
	/* Another process that has this PID. */
	assert_int_equal(ask(one, 2, "/jobs/a"), 0);
	assert_int_equal(place, 2);
	/* Another cgroup. */
	assert_int_equal(ask(one, 1, "/jobs/b"), 0);
	assert_int_equal(place, 0);
	other = page_of_answer();
	assert_int_equal(other->bytes[0][0], 0);
	munmap(other, sizeof(*other));
	munmap(page, sizeof(*page));
	gp_child_end(one);
	gp_child_end(two);
}

/* It gives back what it had, on each device, and nothing of others. */
static void test_end_clears_the_place(void **state)
{
	const pid_t one = gp_child_start(), two = gp_child_start(), three = gp_child_start();
	struct gp_quota_page *page;

	assert_int_equal(ask(one, 1, "/jobs/a"), 0);
	assert_int_equal(ask(two, 1, "/jobs/a"), 0);
	page = page_of_answer();
	for (size_t i = 0; i < GP_WIRE_MAX_DEVICES; i++) {
		atomic_store(&page->bytes[i][0], MIB);
		atomic_store(&page->bytes[i][1], 2 * MIB);
	}
	end(two);
	for (size_t i = 0; i < GP_WIRE_MAX_DEVICES; i++)
		assert_int_equal(gp_quota_column_sum(page->bytes[i]), MIB);
	/* The page lasts, and the place is free. */
	assert_int_equal(ask(three, 1, "/jobs/a"), 0);
	assert_int_equal(place, 1);
	end(one);
	assert_int_equal(page->bytes[0][0], 0);
	assert_non_null(d.quotas);
	end(three);
	assert_null(d.quotas);
	munmap(page, sizeof(*page));
}

/* A page that is not the newest one goes, too. */
static void test_pages_go_in_any_order(void **state)
{
	static char *const cgroup[] = { "/jobs/a", "/jobs/b", "/jobs/c" };
	pid_t pid[3];

	for (size_t i = 0; i < 3; i++) {
		pid[i] = gp_child_start();
		assert_int_equal(ask(pid[i], 1, cgroup[i]), 0);
	}
	end(pid[1]);
	assert_true(has_page(cgroup[0]) && !has_page(cgroup[1]) && has_page(cgroup[2]));
	end(pid[0]);
	end(pid[2]);
	assert_null(d.quotas);
}

static void refused(int err, const char *line)
{
	assert_int_equal(result, err);
	assert_string_equal(why, line);
}

static void test_no_rule(void **state)
{
	static char *const cgroup[] = { "/", "/else/a", "/weights/a", "/each/a" };
	const pid_t pid = gp_child_start();

	for (size_t i = 0; i < sizeof(cgroup) / sizeof(cgroup[0]); i++) {
		ask(pid, 1, cgroup[i]);
		refused(-ENOENT, "no rule with as: one and memory: is for this process");
	}
	assert_null(d.quotas);
	gp_child_end(pid);
}

static void test_unknown_process(void **state)
{
	read_err = -EACCES;
	ask(1, 1, "/jobs/a");
	refused(-EACCES, strerror(EACCES));
	assert_null(d.quotas);
}

static void test_too_few_files(void **state)
{
	const pid_t pid = gp_child_start();

	files_left = false;
	assert_int_equal(ask(pid, 1, "/jobs/a"), -EMFILE);
	assert_null(d.quotas);
	/* A process that has its place needs none. */
	files_left = true;
	assert_int_equal(ask(pid, 1, "/jobs/a"), 0);
	files_left = false;
	assert_int_equal(ask(pid, 1, "/jobs/a"), 0);
	end(pid);
}

/* The kernel's own limit: at each file that the daemon needs. */
static void test_no_file(void **state)
{
	struct rlimit before, few;
	const pid_t pid = gp_child_start();
	const int first = dup(0);

	assert_true(first >= 0);
	close(first);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (rlim_t i = 0; i < 2; i++) {
		few = (struct rlimit){ (rlim_t)first + i, before.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_int_equal(ask(pid, 1, "/jobs/a"), -EMFILE);
		assert_null(d.quotas);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(ask(pid, 1, "/jobs/a"), 0);
	end(pid);
}

static void test_user_has_too_many(void **state)
{
	const pid_t pid = gp_child_start();

	d.config->user_tenants = 3;
	assert_int_equal(ask(pid, 1, "/jobs/a"), 0);
	assert_int_equal(ask(pid, 1, "/jobs/b"), 0);
	assert_int_equal(ask(pid, 3, "/jobs/b"), 0);
	ask(pid, 2, "/jobs/b");
	refused(-EUSERS,
		"this user has too many tenants; raise limits_per_user: tenants: in gpreempt.yaml");
	ask(pid, 1, "/jobs/c");
	assert_int_equal(result, -EUSERS);
	assert_false(has_page("/jobs/c"));
	/* The place that it has is no further one. Others have their own number. */
	assert_int_equal(ask(pid, 1, "/jobs/a"), 0);
	asks.uid = USER + 1;
	assert_int_equal(ask(pid, 4, "/jobs/a"), 0);
	gp_child_end(pid);
}

static void test_cgroup_has_too_many(void **state)
{
	const pid_t pid = gp_child_start();

	for (uint32_t i = 0; i < GP_QUOTA_PLACES; i++) {
		assert_int_equal(ask(pid, i + 1, "/jobs/a"), 0);
		assert_int_equal(place, i);
	}
	ask(pid, GP_QUOTA_PLACES + 1, "/jobs/a");
	refused(-ENOSPC, "its cgroup has too many processes");
	assert_int_equal(ask(pid, GP_QUOTA_PLACES, "/jobs/a"), 0);
	assert_int_equal(place, GP_QUOTA_PLACES - 1);
	gp_child_end(pid);
}

/* It ended before its PID was watched, or before this was sure to be its own. */
static void test_ended_process(void **state)
{
	const pid_t gone = gp_child_start(), pid = gp_child_start(), other = gp_child_start();

	gp_child_end(gone);
	assert_int_equal(ask(gone, 1, "/jobs/a"), -ESRCH);
	assert_null(d.quotas);
	for (alive = 0; alive >= -1; alive--) {
		assert_int_equal(ask(pid, 1, "/jobs/a"), -ESRCH);
		assert_null(d.quotas);
	}
	alive = 1;
	assert_int_equal(ask(other, 1, "/jobs/a"), 0);
	alive = 0;
	assert_int_equal(ask(pid, 1, "/jobs/a"), -ESRCH);
	alive = 1;
	assert_int_equal(ask(pid, 1, "/jobs/a"), 0);
	assert_int_equal(place, 1);
	gp_child_end(pid);
	gp_child_end(other);
}

static void test_views(void **state)
{
	struct gp_quota_page *page;
	const pid_t pid = gp_child_start();

	assert_int_equal(figures("/jobs/a", 1).quota_used, GP_WIRE_UNKNOWN);
	assert_false(has_page("/jobs/a"));
	assert_int_equal(ask(pid, 1, "/jobs/a"), 0);
	assert_int_equal(ask(pid, 2, "/jobs/a"), 0);
	page = page_of_answer();
	atomic_store(&page->bytes[NUMBER(0)][0], 64 * MIB);
	atomic_store(&page->bytes[NUMBER(1)][0], 3 * MIB);
	atomic_store(&page->bytes[NUMBER(1)][1], 4 * MIB);
	assert_int_equal(figures("/jobs/a", 0).quota_used, 64 * MIB);
	assert_int_equal(figures("/jobs/a", 1).quota_used, 7 * MIB);
	assert_int_equal(figures("/jobs/a", 1).quota_max, 32 * MIB);
	/* The rule has another limit since. */
	d.config->rule[0].memory.max = 16 * MIB;
	assert_int_equal(ask(pid, 1, "/jobs/a"), 0);
	assert_int_equal(figures("/jobs/a", 1).quota_max, 16 * MIB);
	assert_int_equal(figures(NULL, 1).quota_used, GP_WIRE_UNKNOWN);
	munmap(page, sizeof(*page));
	gp_child_end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_clears_the_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pages_go_in_any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_rule, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_few_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_user_has_too_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cgroup_has_too_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_views, setup, teardown),
	};

	return gp_run_tests(tests);
}
