// SPDX-License-Identifier: Apache-2.0
/* A run's folder is read as it was written. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "bench/report/rundir.h"
#include "tests/common/gp_test.h"

static const struct gp_rundir_about about = {
	.suite = "test",
	.command = "gpreempt-bench run test",
	.device = "none",
	.driver = "",
	.seed = 7,
};
static const struct gp_request requests[] = { { 10, 11, 20 }, { 30, 30, 45 } };
static const struct gp_stretch stretches[] = { { 12, 19, 0 }, { 19, 30, 2 } };
static const uint64_t came[] = { 12, 20, 40, 45 };

static void folder_of(char path[64])
{
	strcpy(path, "/tmp/gp-rundir-XXXXXX");
	assert_non_null(mkdtemp(path));
}

static void read_table(const char *folder, const char *name, char *text, size_t len)
{
	char path[512];
	gzFile file;
	int n;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = gzopen(path, "rb");
	assert_non_null(file);
	n = gzread(file, text, (unsigned int)len - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	gzclose(file);
	unlink(path);
}

static struct gp_rundir_run run_of(const struct gp_rundir_client *client, size_t clients)
{
	return (struct gp_rundir_run){ .plan = "A/../b \n",
				       .scheduler = "gpreempt, hinted",
				       .number = 3,
				       .seconds = 1.5,
				       .beside_cpu_s = 0.25,
				       .client = client,
				       .clients = clients };
}

static void whole(void **state)
{
	const struct gp_rundir_client client[3] = {
		{ .id = "lc",
		  .workload = "spin:1ms",
		  .load = "periodic 2/s",
		  .lc = true,
		  .offered = 0.25,
		  .alone_us = 1010,
		  .alone_per_s = 990,
		  .request = requests,
		  .requests = 2,
		  .done_per_s = 2 },
		{ .id = "llm",
		  .workload = "decoder:1us,next=1x1us",
		  .load = "periodic 2/s",
		  .lc = true,
		  .alone_us = 2,
		  .alone_first_us = 1,
		  .alone_next_us = 1.5,
		  .request = requests,
		  .requests = 2,
		  .tokens = { (uint64_t *)came, 2 } },
		{ .id = "be \"1\"",
		  .workload = "spin:1ms",
		  .load = "continuous",
		  .offered = -1,
		  .alone_us = 1010,
		  .alone_per_s = 990,
		  .left = 3,
		  .done_per_s = 5,
		  .killed = true,
		  .kills = 6 },
	};
	struct gp_rundir_run run = run_of(client, 3);
	struct gp_rundir *dir, *second;
	char folder[64], path[128], text[256];
	json_t *root, *one, *c;

	run.stretch = stretches;
	run.stretches = 2;
	folder_of(folder);
	assert_int_equal(gp_rundir_create(folder, &about, &dir), 0);
	assert_int_equal(gp_rundir_add(dir, &run), 0);
	assert_int_equal(gp_rundir_close(dir), 0);
	assert_int_equal(gp_rundir_create(folder, &about, &second), -EEXIST);
	snprintf(path, sizeof(path), "%s/run.json", folder);
	root = json_load_file(path, 0, NULL);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "schema_version")), 1);
	assert_int_equal(json_integer_value(json_object_get(root, "seed")), 7);
	one = json_array_get(json_object_get(root, "runs"), 0);
	assert_string_equal(json_string_value(json_object_get(one, "plan")), run.plan);
	assert_true(json_is_null(json_object_get(one, "energy_j")));
	assert_true(json_real_value(json_object_get(one, "beside_cpu_s")) == 0.25);
	c = json_array_get(json_object_get(one, "clients"), 0);
	assert_string_equal(json_string_value(json_object_get(c, "class")), "lc");
	/* A client's name cannot lead out of the folder. */
	read_table(folder, json_string_value(json_object_get(c, "samples")), text, sizeof(text));
	assert_string_equal(text, "intended_ns,start_ns,end_ns\n10,11,20\n30,30,45\n");
	assert_null(json_object_get(c, "tokens"));
	assert_null(json_object_get(c, "killed"));
	c = json_array_get(json_object_get(one, "clients"), 1);
	assert_int_equal(json_integer_value(json_object_get(c, "tokens")), 2);
	assert_true(json_real_value(json_object_get(c, "alone_next_us")) == 1.5);
	read_table(folder, json_string_value(json_object_get(c, "samples")), text, sizeof(text));
	assert_string_equal(text, "intended_ns,start_ns,end_ns,tokens_ns\n10,11,20,12 20\n"
				  "30,30,45,40 45\n");
	c = json_array_get(json_object_get(one, "clients"), 2);
	assert_true(json_is_null(json_object_get(c, "offered")));
	assert_int_equal(json_integer_value(json_object_get(c, "left")), 3);
	assert_int_equal(json_integer_value(json_object_get(c, "killed")), 6);
	assert_true(json_is_null(json_object_get(c, "done_per_s")));
	assert_true(json_is_null(json_object_get(c, "requests")));
	read_table(folder, json_string_value(json_object_get(c, "samples")), text, sizeof(text));
	assert_string_equal(text, "intended_ns,start_ns,end_ns\n");
	read_table(folder, json_string_value(json_object_get(one, "timeline")), text, sizeof(text));
	assert_string_equal(text, "start_ns,end_ns,client\n12,19,lc\n19,30,be \"1\"\n");
	json_decref(root);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
}

/* Intervals of the percentiles with enough samples; none for best-effort. */
static void intervals(void **state)
{
	struct gp_request many[100];
	const struct gp_rundir_client client[2] = {
		{ .id = "lc",
		  .workload = "w",
		  .load = "l",
		  .lc = true,
		  .request = many,
		  .requests = 100 },
		{ .id = "be", .workload = "w", .load = "l", .request = many, .requests = 100 },
	};
	const struct gp_rundir_run run = run_of(client, 2);
	char folder[64], path[128], command[96];
	json_t *root, *clients, *of, *p90;
	struct gp_rundir *dir;

	for (uint64_t i = 0; i < 100; i++)
		many[i] = (struct gp_request){ i * 1000000, i * 1000000,
					       i * 1000000 + 1000 * (i * 37 % 100) };
	folder_of(folder);
	assert_int_equal(gp_rundir_create(folder, &about, &dir), 0);
	assert_int_equal(gp_rundir_add(dir, &run), 0);
	assert_int_equal(gp_rundir_close(dir), 0);
	snprintf(path, sizeof(path), "%s/run.json", folder);
	root = json_load_file(path, 0, NULL);
	clients = json_object_get(json_array_get(json_object_get(root, "runs"), 0), "clients");
	of = json_object_get(json_array_get(clients, 0), "intervals_us");
	assert_int_equal(json_object_size(of), 2); /* p50, p90 */
	p90 = json_object_get(of, "p90");
	assert_true(json_real_value(json_array_get(p90, 0)) < 90);
	assert_true(json_real_value(json_array_get(p90, 0)) > 75);
	assert_true(json_real_value(json_array_get(p90, 1)) >= 89);
	assert_null(json_object_get(json_array_get(clients, 1), "intervals_us"));
	json_decref(root);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* A command that is ended keeps the finished runs. */
static void before_it_is_over(void **state)
{
	const struct gp_rundir_client client = { .id = "lc", .workload = "w", .load = "l" };
	const struct gp_rundir_run run = run_of(&client, 1);
	char folder[64], path[128], command[96];
	struct gp_rundir *dir;

	folder_of(folder);
	snprintf(path, sizeof(path), "%s/run.json", folder);
	assert_int_equal(gp_rundir_create(folder, &about, &dir), 0);
	for (size_t n = 1; n <= 3; n++) {
		json_t *root;

		assert_int_equal(n == 2 ? gp_rundir_absent(dir, "p", "MPS", "no such command") :
					  gp_rundir_add(dir, &run),
				 0);
		root = json_load_file(path, 0, NULL);
		assert_int_equal(json_array_size(json_object_get(root, "runs")), n);
		json_decref(root);
	}
	assert_int_equal(gp_rundir_close(dir), 0);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* Nothing of it remains, so the name is free again. */
static void without_a_run(void **state)
{
	struct gp_rundir *dir;
	char folder[64];

	folder_of(folder);
	assert_int_equal(gp_rundir_create(folder, &about, &dir), 0);
	assert_int_equal(gp_rundir_close(dir), 0);
	assert_int_equal(rmdir(folder), -1);
	assert_int_equal(errno, ENOENT);
}

static void where_nothing_can_be_written(void **state)
{
	const struct gp_rundir_client client[2] = { { .id = "a", .workload = "w", .load = "l" },
						    { .id = "b", .workload = "w", .load = "l" } };
	const struct gp_rundir_run run = run_of(client, 2);
	struct gp_rundir *dir;
	char folder[64];

	assert_int_equal(gp_rundir_create("/proc/none/such", &about, &dir), -ENOENT);
	folder_of(folder);
	assert_int_equal(gp_rundir_create(folder, &about, &dir), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(gp_rundir_add(dir, &run), -ENOENT);
	assert_int_equal(gp_rundir_close(dir), -ENOENT);
	assert_int_equal(gp_rundir_close(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(intervals),
		cmocka_unit_test(before_it_is_over),
		cmocka_unit_test(without_a_run),
		cmocka_unit_test(where_nothing_can_be_written),
	};

	return gp_run_tests(tests);
}
