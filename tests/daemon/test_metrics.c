// SPDX-License-Identifier: Apache-2.0
/*
 * Scrapes of the metrics, over a constructed view. Client and server are one thread: the loop
 * runs a round whenever the client has to wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/serve/metrics.h"
#include "gpreempt/gpreempt.h"
#include "tests/common/gp_test.h"

#define PAGE_MAX (256u * 1024u)
#define ROUNDS 2000
#define GP_ACCOUNTS \
	512 /* of daemon/device/account.h: all have a place, and the one without names */
#define UUID "GPU-01010101-0101-0101-0101-010101010101"

struct rig {
	char dir[64];
	struct gp_config_metrics config;
	struct gp_loop *loop;
	struct gp_metrics *metrics;
	char text[PAGE_MAX];
};

/* ---- a view ---------------------------------------------------------------------- */

static struct gp_hist wait_hist;

static size_t view_devices(void *arg, struct gp_wire_device *out, size_t max)
{
	const struct gp_wire_device device = {
		.uuid = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
		.name = "GPU \"one\" \\ two\n",
		.be_policy = "fair",
		.lc_policy = "level",
		.be_min_pct = 5,
		.groups = 3,
		.quantum_ns = 50000000,
		.up_ns = 1500000000,
		.turns = 7,
		.suspends = 6,
		.resumes = 5,
		.slices = 4,
		.preempts = 3,
		.failed = 1,
		.control_ns = 2000000001,
		.log_lost = GP_WIRE_UNKNOWN,
	};

	assert_true(max >= 2);
	out[0] = device;
	out[1] = (struct gp_wire_device){ .uuid = { 2 }, .name = "other" };
	return 2;
}

static size_t view_tenants(void *arg, struct gp_wire_tenant *out, size_t max)
{
	static const struct {
		uint32_t cls, flags;
	} of[] = {
		{ GP_CLASS_LC, 0 },
		{ GP_CLASS_BE, GP_WIRE_RESIDENT },
		{ GP_CLASS_BE, GP_WIRE_SUSPENDED },
		{ GP_CLASS_BE, GP_WIRE_SUSPENDED | GP_WIRE_BANNED },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		out[i] = (struct gp_wire_tenant){ .pid = 10 + (int)i, .flags = of[i].flags };
		out[i].request.cls = of[i].cls;
		out[i].memory.movable = 100 + i;
		out[i].memory.fixed = 200;
		out[i].memory.out = i == 2 ? 300 : 0;
		memset(out[i].uuid, 1, sizeof(out[i].uuid));
	}
	/* Clients of a pool are no tenants. */
	for (size_t i = 4; i < 7; i++) {
		out[i] = out[1];
		out[i].origin = GP_WIRE_BY_POOL;
		snprintf(out[i].comm, sizeof(out[i].comm), i == 5 ? "a\"b" : "python");
	}
	return 7;
}

static const struct gp_hist *view_histogram(void *arg, size_t device, enum gp_wire_histogram kind)
{
	return device == 0 && kind == GP_WIRE_HIST_WAIT ? &wait_hist : NULL;
}

static uint64_t view_used_ns(void *arg, size_t device, uint32_t cls)
{
	return device == 0 && cls == GP_CLASS_LC ? 250000000 : GP_WIRE_UNKNOWN;
}

static size_t view_accounts(void *arg, size_t device, struct gp_view_account *out, size_t max)
{
	static const struct gp_view_account of[] = {
		{ "", "", "", "", GP_WIRE_UNKNOWN, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0 },
		{ "research", "train-0", "a\"b", "7", 1500000000, 2000000000, 250000000, 7, 5, 150,
		  6 << 20, 3 << 20, 1 << 20, 2, 5 << 20, 1250000000, 7 << 20 },
	};

	assert_true(max > GP_ACCOUNTS);
	memcpy(out, of, sizeof(of));
	return device ? 0 : sizeof(of) / sizeof(of[0]);
}

static const struct gp_view_ops view = {
	.devices = view_devices,
	.histogram = view_histogram,
	.tenants = view_tenants,
	.used_ns = view_used_ns,
	.accounts = view_accounts,
};

static int setup(void **state)
{
	static struct rig rig;

	memset(&rig, 0, sizeof(rig));
	memset(&wait_hist, 0, sizeof(wait_hist));
	strcpy(rig.dir, "/tmp/gp-metrics-XXXXXX");
	if (!mkdtemp(rig.dir))
		return -1;
	rig.config.kind = GP_CONFIG_METRICS_UNIX;
	snprintf(rig.config.path, sizeof(rig.config.path), "%s/socket", rig.dir);
	*state = &rig;
	return gp_loop_create(&rig.loop);
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	gp_metrics_destroy(rig->metrics);
	gp_loop_destroy(rig->loop);
	unlink(rig->config.path);
	return rmdir(rig->dir);
}

static int start(struct rig *rig)
{
	char why[256] = "";
	int err = gp_metrics_create(rig->loop, &rig->config, &view, NULL, &rig->metrics, why,
				    sizeof(why));

	assert_int_equal(!err, !*why);
	return err;
}

/* ---- a client -------------------------------------------------------------------- */

static int connect_unix(struct rig *rig)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, rig->config.path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

/* The server's answer to @request until it closes, into rig->text. */
static void ask(struct rig *rig, int fd, const char *request)
{
	size_t used = 0;
	ssize_t n;

	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(gp_loop_once(rig->loop, 10), 0);
		while ((n = recv(fd, rig->text + used, PAGE_MAX - 1 - used, MSG_DONTWAIT)) > 0)
			used += (size_t)n;
		if (!n)
			break;
	}
	rig->text[used] = '\0';
	close(fd);
}

#define REQUEST(method, path) method " " path " HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"

static const char *scrape(struct rig *rig)
{
	const char *body;

	ask(rig, connect_unix(rig), REQUEST("GET", "/metrics"));
	assert_non_null(strstr(rig->text, "HTTP/1.1 200 "));
	assert_non_null(strstr(rig->text, "Content-Type: text/plain; version=0.0.4"));
	body = strstr(rig->text, "\r\n\r\n");
	assert_non_null(body);
	return body + 4;
}

/* @body contains @line as a whole line. */
static void assert_line(const char *body, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = body; (at = strstr(at, line)); at++)
		if ((at == body || at[-1] == '\n') && at[len] == '\n')
			return;
	fail_msg("no line %s in:\n%s", line, body);
}

/* ---- tests ----------------------------------------------------------------------- */

static void values(void **state)
{
	struct rig *rig = *state;
	const char *body;

	assert_int_equal(start(rig), 0);
	body = scrape(rig);
	assert_line(body, "gpreempt_device_info{device=\"" UUID "\","
			  "name=\"GPU \\\"one\\\" \\\\ two\\n\",be_policy=\"fair\","
			  "lc_policy=\"level\"} 1");
	assert_line(body, "gpreempt_device_up_seconds{device=\"" UUID "\"} 1.500000000");
	assert_line(body, "gpreempt_be_min_ratio{device=\"" UUID "\"} 0.05");
	assert_line(body, "gpreempt_compute_groups{device=\"" UUID "\"} 3");
	assert_line(body, "gpreempt_hal_op_seconds_total{device=\"" UUID "\"} 2.000000001");
	assert_line(body, "gpreempt_tenants{device=\"" UUID "\",class=\"be\"} 3");
	assert_line(body, "gpreempt_tenants{device=\"" UUID "\",class=\"lc\"} 1");
	assert_line(body, "gpreempt_tenants_suspended{device=\"" UUID "\",class=\"be\"} 2");
	assert_line(body, "gpreempt_tenants_banned{device=\"" UUID "\",class=\"be\"} 1");
	assert_line(body,
		    "gpreempt_pool_clients{device=\"" UUID "\",class=\"be\",command=\"python\"} 2");
	assert_line(body,
		    "gpreempt_pool_clients{device=\"" UUID "\",class=\"be\",command=\"a\\\"b\"} 1");
	assert_line(body, "gpreempt_used_seconds_total{device=\"" UUID "\",class=\"lc\"} "
			  "0.250000000");
}

static void memory_by_kind(void **state)
{
	struct rig *rig = *state;
	const char *body;

	assert_int_equal(start(rig), 0);
	body = scrape(rig);
	assert_line(body,
		    "gpreempt_memory_bytes{device=\"" UUID "\",class=\"lc\",kind=\"movable\"} 100");
	assert_line(body,
		    "gpreempt_memory_bytes{device=\"" UUID "\",class=\"be\",kind=\"movable\"} 306");
	assert_line(body,
		    "gpreempt_memory_bytes{device=\"" UUID "\",class=\"be\",kind=\"fixed\"} 600");
	assert_line(body,
		    "gpreempt_memory_bytes{device=\"" UUID "\",class=\"be\",kind=\"out\"} 300");
	assert_line(body,
		    "gpreempt_memory_bytes{device=\"GPU-02000000-0000-0000-0000-000000000000\""
		    ",class=\"be\",kind=\"out\"} 0");
}

static void sums_of_containers(void **state)
{
	static const char labels[] = "{device=\"" UUID "\",namespace=\"research\",pod=\"train-0\","
				     "container=\"a\\\"b\",job=\"7\"}";
	static const struct {
		const char *name, *value;
	} of[] = {
		{ "used_seconds_total", "1.500000000" },
		{ "waited_seconds_total", "2.000000000" },
		{ "held_seconds_total", "0.250000000" },
		{ "turns_total", "7" },
		{ "preempted_total", "5" },
		{ "weight", "150" },
		{ "memory_movable_bytes", "6291456" },
		{ "memory_fixed_bytes", "3145728" },
		{ "memory_out_bytes", "1048576" },
		{ "memory_pinned_bytes", "7340032" },
		{ "memory_moves_total", "2" },
		{ "memory_moved_bytes_total", "5242880" },
		{ "memory_move_seconds_total", "1.250000000" },
	};
	struct rig *rig = *state;
	const char *body;
	char line[256];

	assert_int_equal(start(rig), 0);
	body = scrape(rig);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		snprintf(line, sizeof(line), "gpreempt_container_%s%s %s", of[i].name, labels,
			 of[i].value);
		assert_line(body, line);
	}
	assert_line(body, "gpreempt_container_turns_total{device=\"" UUID
			  "\",namespace=\"\",pod=\"\",container=\"\",job=\"\"} 3");
}

/* A figure without a source has no sample. */
static void unknown_is_not_there(void **state)
{
	struct rig *rig = *state;
	const char *body;

	assert_int_equal(start(rig), 0);
	body = scrape(rig);
	assert_null(strstr(body, "log_lost_records_total{device=\"" UUID));
	assert_non_null(strstr(body, "log_lost_records_total{device=\"GPU-02"));
	assert_null(strstr(body, "used_seconds_total{device=\"" UUID "\",class=\"be\"}"));
	assert_null(
		strstr(body, "container_used_seconds_total{device=\"" UUID "\",namespace=\"\""));
	assert_null(strstr(body, "hold_seconds_count"));
	assert_null(strstr(body, "segment_seconds_count"));
	assert_line(body, "# TYPE gpreempt_segment_seconds histogram");
	assert_null(strstr(body, "18446744073"));
	assert_null(strstr(body, "pid"));
}

static void buckets_are_cumulative(void **state)
{
	struct rig *rig = *state;
	unsigned long long count, last = 0, buckets = 0;
	const char *body, *at;

	gp_hist_add(&wait_hist, 1024);
	gp_hist_add(&wait_hist, 1025);
	gp_hist_add(&wait_hist, 1000000000);
	gp_hist_add(&wait_hist, UINT64_MAX - 2000000000);
	assert_int_equal(start(rig), 0);
	body = scrape(rig);
	assert_line(body, "gpreempt_turn_wait_seconds_bucket{device=\"" UUID "\",class=\"be\","
			  "le=\"1.024e-06\"} 1");
	assert_line(body, "gpreempt_turn_wait_seconds_bucket{device=\"" UUID "\",class=\"be\","
			  "le=\"2.048e-06\"} 2");
	assert_line(body, "gpreempt_turn_wait_seconds_bucket{device=\"" UUID "\",class=\"be\","
			  "le=\"1.07374182\"} 3");
	assert_line(body, "gpreempt_turn_wait_seconds_bucket{device=\"" UUID "\",class=\"be\","
			  "le=\"+Inf\"} 4");
	assert_line(body, "gpreempt_turn_wait_seconds_count{device=\"" UUID "\",class=\"be\"} 4");
	for (at = body; (at = strstr(at, "gpreempt_turn_wait_seconds_bucket{")); at++) {
		assert_int_equal(sscanf(strchr(at, '}') + 1, "%llu", &count), 1);
		assert_true(count >= last);
		last = count;
		buckets++;
	}
	assert_int_equal(buckets, 29);
}

/* Prometheus' own checker, if it is installed. */
static void promtool_agrees(void **state)
{
	struct rig *rig = *state;
	const char *body;
	FILE *judge;

	if (system("command -v promtool >/dev/null")) {
		gp_note_skip();
		skip();
	}
	gp_hist_add(&wait_hist, 5000);
	assert_int_equal(start(rig), 0);
	body = scrape(rig);
	judge = popen("promtool check metrics", "w");
	assert_non_null(judge);
	fputs(body, judge);
	assert_int_equal(pclose(judge), 0);
}

/* The server has every name in @expr. */
static void check_names(const char *body, const char *expr)
{
	char type[128];
	size_t len;

	for (const char *at = expr; (at = strstr(at, "gpreempt_")); at += len) {
		len = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
		snprintf(type, sizeof(type), "# TYPE %.*s ", (int)len, at);
		/* A histogram's name covers all its parts. */
		if (len > 7 && !strncmp(at + len - 7, "_bucket", 7))
			snprintf(type, sizeof(type), "# TYPE %.*s histogram", (int)len - 7, at);
		if (!strstr(body, type))
			fail_msg("no %s, which the dashboard shows: %s", type, expr);
	}
}

static void the_dashboard_shows_what_there_is(void **state)
{
	json_t *board = json_load_file("docs/grafana/gpreempt.json", 0, NULL), *panel, *target;
	struct rig *rig = *state;
	size_t i, k, targets = 0;
	const char *body;

	assert_non_null(board);
	assert_int_equal(start(rig), 0);
	body = scrape(rig);
	json_array_foreach(json_object_get(board, "panels"), i, panel)
		json_array_foreach(json_object_get(panel, "targets"), k, target)
	{
		check_names(body, json_string_value(json_object_get(target, "expr")));
		targets++;
	}
	assert_true(targets > 10);
	json_decref(board);
}

static void other_requests(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(start(rig), 0);
	ask(rig, connect_unix(rig), REQUEST("GET", "/"));
	assert_non_null(strstr(rig->text, "HTTP/1.1 404 "));
	ask(rig, connect_unix(rig), REQUEST("DELETE", "/metrics"));
	assert_non_null(strstr(rig->text, "HTTP/1.1 405 "));
	ask(rig, connect_unix(rig),
	    "POST /metrics HTTP/1.1\r\nHost: here\r\n"
	    "Connection: close\r\nContent-Length: 4\r\n\r\nfour");
	assert_non_null(strstr(rig->text, "HTTP/1.1 405 "));
	ask(rig, connect_unix(rig), REQUEST("HEAD", "/metrics"));
	assert_non_null(strstr(rig->text, "HTTP/1.1 200 "));
	assert_null(strstr(rig->text, "gpreempt_"));
	ask(rig, connect_unix(rig), "nonsense\r\n\r\n\r\n");
	/* The server still answers. */
	scrape(rig);
}

static void silent_ones(void **state)
{
	struct rig *rig = *state;
	int fd[15];

	assert_int_equal(start(rig), 0);
	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++) {
		fd[i] = connect_unix(rig);
		assert_int_equal(send(fd[i], "GET /met", 8, MSG_NOSIGNAL), 8);
	}
	scrape(rig);
	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		close(fd[i]);
	scrape(rig);
}

/* Rounds of the loop until @ns have passed. */
static void run_for(struct rig *rig, uint64_t ns)
{
	uint64_t until_ns = gp_loop_now_ns() + ns;

	while (gp_loop_now_ns() < until_ns)
		assert_int_equal(gp_loop_once(rig->loop, 1), 0);
}

/* Like connect_unix(), with a round of the loop whenever the backlog is full. */
static int connect_late(struct rig *rig)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int tries = ROUNDS;

	strcpy(addr.sun_path, rig->config.path);
	while (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) && --tries) {
		assert_int_equal(errno, EAGAIN);
		assert_int_equal(gp_loop_once(rig->loop, 10), 0);
	}
	assert_true(tries);
	return fd;
}

static void assert_serves_within(struct rig *rig, uint64_t ns)
{
	uint64_t since_ns = gp_loop_now_ns();

	ask(rig, connect_late(rig), REQUEST("GET", "/metrics"));
	assert_non_null(strstr(rig->text, "gpreempt_build_info{"));
	assert_in_range(gp_loop_now_ns() - since_ns, 0, ns);
}

#define HOSTILE 32

/* Half of them idle, half of them in the middle of a request. */
static void connect_hostile(struct rig *rig, int fd[HOSTILE])
{
	for (size_t i = 0; i < HOSTILE; i++) {
		fd[i] = connect_late(rig);
		if (i % 2)
			assert_int_equal(send(fd[i], "GET /met", 8, MSG_NOSIGNAL), 8);
	}
}

static void close_hostile(int fd[HOSTILE])
{
	for (size_t i = 0; i < HOSTILE; i++)
		close(fd[i]);
}

static void idle_and_slow_ones_come_and_go(void **state)
{
	struct rig *rig = *state;
	int fd[HOSTILE];

	assert_int_equal(start(rig), 0);
	for (int i = 0; i < 100; i++) {
		connect_hostile(rig, fd);
		close_hostile(fd);
		if (i % 10 == 0)
			assert_serves_within(rig, 1000000000);
	}
	assert_serves_within(rig, 1000000000);
}

static void idle_and_slow_ones_stay(void **state)
{
	struct rig *rig = *state;
	int fd[HOSTILE], more[HOSTILE];

	assert_int_equal(start(rig), 0);
	connect_hostile(rig, fd);
	connect_hostile(rig, more);
	assert_serves_within(rig, 1000000000);
	close_hostile(fd);
	close_hostile(more);
}

/* Each byte in time does not make a request last. */
static void a_slow_request_ends(void **state)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: a-very-slow-client\r\n";
	struct rig *rig = *state;
	uint64_t since_ns;
	size_t sent = 0;
	int fd;

	assert_int_equal(start(rig), 0);
	since_ns = gp_loop_now_ns();
	fd = connect_unix(rig);
	while (sent < sizeof(request) - 1 && send(fd, request + sent, 1, MSG_NOSIGNAL) == 1) {
		sent++;
		run_for(rig, 100000000);
	}
	assert_in_range(gp_loop_now_ns() - since_ns, 1900000000, 3000000000);
	assert_true(sent < sizeof(request) - 1);
	close(fd);
	scrape(rig);
}

/* The user with the most connections loses its own. */
static void another_user_cannot_replace_ours(void **state)
{
	struct rig *rig = *state;
	int ready[2], fd, status;
	char byte;
	pid_t pid;

	if (geteuid()) {
		gp_note_skip();
		skip();
	}
	assert_int_equal(start(rig), 0);
	assert_int_equal(chmod(rig->dir, 0755), 0);
	fd = connect_unix(rig);
	assert_int_equal(send(fd, "GET /met", 8, MSG_NOSIGNAL), 8);
	run_for(rig, 50000000);
	assert_int_equal(pipe2(ready, O_NONBLOCK), 0);
	pid = fork();
	if (!pid) {
		struct sockaddr_un addr = { .sun_family = AF_UNIX };

		strcpy(addr.sun_path, rig->config.path);
		if (setresuid(1, 1, 1))
			_exit(1);
		for (int i = 0; i < 2 * HOSTILE; i++)
			if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&addr,
				    sizeof(addr)))
				_exit(1);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	for (int i = 0; i < ROUNDS && read(ready[0], &byte, 1) != 1; i++)
		assert_int_equal(gp_loop_once(rig->loop, 10), 0);
	run_for(rig, 200000000);
	ask(rig, fd, "rics HTTP/1.1\r\nHost: here\r\n\r\n");
	assert_non_null(strstr(rig->text, "gpreempt_build_info{"));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	close(ready[0]);
	close(ready[1]);
}

/* A silent connection does not keep the loop turning. */
static void silence_costs_nothing(void **state)
{
	struct rig *rig = *state;
	uint64_t since_ns;
	int fd;

	assert_int_equal(start(rig), 0);
	scrape(rig);
	fd = connect_unix(rig);
	for (int i = 0; i < 20; i++)
		assert_int_equal(gp_loop_once(rig->loop, 1), 0);
	since_ns = gp_loop_now_ns();
	assert_int_equal(gp_loop_once(rig->loop, 60), 0);
	assert_true(gp_loop_now_ns() - since_ns >= 55000000);
	close(fd);
}

static void off_unless_configured(void **state)
{
	struct rig *rig = *state;

	rig->config.kind = GP_CONFIG_METRICS_OFF;
	rig->metrics = (struct gp_metrics *)(void *)rig;
	assert_int_equal(start(rig), 0);
	assert_null(rig->metrics);
}

static void a_stale_socket_is_replaced(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct rig *rig = *state;
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(addr.sun_path, rig->config.path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(start(rig), -EADDRINUSE);
	close(fd);
	assert_int_equal(start(rig), 0);
	scrape(rig);
	gp_metrics_destroy(rig->metrics);
	rig->metrics = NULL;
	assert_int_equal(stat(rig->config.path, &st), -1);
}

static void no_place(void **state)
{
	struct rig *rig = *state;

	strcpy(rig->config.path, "/nowhere/at/all");
	assert_int_equal(start(rig), -ENOENT);
}

/* A free port: the kernel's choice, released again. */
static uint16_t free_port(const uint8_t ipv4[4])
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	memcpy(&addr.sin_addr, ipv4, 4);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	close(fd);
	return ntohs(addr.sin_port);
}

static void on_loopback(void **state)
{
	static const uint8_t ipv4[4] = { 127, 0, 0, 2 };
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rig *rig = *state;
	int fd;

	rig->config = (struct gp_config_metrics){ .kind = GP_CONFIG_METRICS_IPV4 };
	memcpy(rig->config.ipv4, ipv4, sizeof(ipv4));
	rig->config.port = free_port(ipv4);
	assert_int_equal(start(rig), 0);
	memcpy(&addr.sin_addr, ipv4, sizeof(ipv4));
	addr.sin_port = htons(rig->config.port);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ask(rig, fd, REQUEST("GET", "/metrics"));
	assert_non_null(strstr(rig->text, "gpreempt_build_info{"));
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIGGED(values),
		RIGGED(memory_by_kind),
		RIGGED(sums_of_containers),
		RIGGED(unknown_is_not_there),
		RIGGED(buckets_are_cumulative),
		RIGGED(promtool_agrees),
		RIGGED(the_dashboard_shows_what_there_is),
		RIGGED(other_requests),
		RIGGED(silent_ones),
		RIGGED(idle_and_slow_ones_come_and_go),
		RIGGED(idle_and_slow_ones_stay),
		RIGGED(a_slow_request_ends),
		RIGGED(another_user_cannot_replace_ours),
		RIGGED(silence_costs_nothing),
		RIGGED(off_unless_configured),
		RIGGED(a_stale_socket_is_replaced),
		RIGGED(no_place),
		RIGGED(on_loopback),
	};

	return gp_run_tests(tests);
}
