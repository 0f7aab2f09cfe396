// SPDX-License-Identifier: Apache-2.0
/*
 * ctxlog - write the device's own context-switch log to a file, one record a line: time
 * (ns, by the device's clock or the programs' clock), start|end|lost, pid, context, count.
 * It ends at the end of its input, or at SIGTERM.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/opts.h"
#include "gpreempt/hal.h"
#include "runtime/clocks.h"

#define RECORDS 1024
#define PERIOD_NS 20000000u
#define LAST_MS 100 /* the driver passes records on every 33 ms */

static char device[64], out_path[512];
static bool common_clock;
static struct gp_clocks clocks;

static const struct gp_opt opts[] = {
	{ .name = "device",
	  .text = device,
	  .text_len = sizeof(device),
	  .help = "soft0, UUID or PCI address (default: the first)" },
	{ .name = "out",
	  .text = out_path,
	  .text_len = sizeof(out_path),
	  .help = "file (default: stdout)" },
	{ .name = "common-clock",
	  .flag = &common_clock,
	  .help = "write times of the system's clock, not the log's own" },
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = 1;
}

static void write_records(FILE *out, const struct gp_switch_record *rec, ssize_t count)
{
	static const char *const kinds[] = {
		[GP_SWITCH_START] = "start",
		[GP_SWITCH_END] = "end",
		[GP_SWITCH_LOST] = "lost",
	};

	for (ssize_t i = 0; i < count; i++)
		fprintf(out, "%llu %s %d %u %u\n",
			(unsigned long long)(rec[i].time_ns - (uint64_t)clocks.ahead_ns),
			rec[i].kind <= GP_SWITCH_LOST && kinds[rec[i].kind] ? kinds[rec[i].kind] :
									      "?",
			rec[i].pid, rec[i].context, rec[i].count);
}

/* The program reads no record before the clocks are known, so that it loses none. */
static int compare_clocks(struct gp_device *dev, struct gp_log *log)
{
	struct gp_hal_caps caps;
	int error = dev->ops->caps(dev, &caps);

	return error ? error :
		       gp_clocks_of_log(&clocks, dev->ops, dev, log,
					caps.caps & GP_CAP_VIRTUAL_TIME);
}

static int copy_records(struct gp_device *dev, struct gp_log *log, FILE *out)
{
	const struct gp_hal_ops *ops = dev->ops;
	struct gp_switch_record rec[RECORDS];
	ssize_t count;
	int error = common_clock ? compare_clocks(dev, log) : 0;

	if (error || (common_clock && !clocks.known))
		return error;
	while ((count = ops->log_read(log, rec, RECORDS)) > 0)
		write_records(out, rec, count);
	return (int)count;
}

/* Wait for the timer, which is armed. False when input ended. */
static bool wait_due(struct gp_timer *timer)
{
	struct pollfd poll_fd[2] = {
		{ .fd = timer->fd, .events = POLLIN },
		{ .fd = 0, .events = POLLIN },
	};
	char line[16];

	if (poll(poll_fd, 2, -1) < 0)
		return true;
	return !poll_fd[1].revents || fgets(line, sizeof(line), stdin);
}

/*
 * Wait by the device's own clock. A virtual one stands still while a program runs, so no
 * wait may be in real time.
 */
static int follow(struct gp_device *dev, struct gp_log *log, FILE *out)
{
	const struct gp_hal_ops *ops = dev->ops;
	struct gp_timer *timer;
	uint64_t now_ns = 0;
	int error;

	error = ops->timer_create(dev, &timer);
	if (error)
		return error;
	while (!error && !stop) {
		error = ops->now(dev, &now_ns);
		if (!error)
			error = ops->timer_arm(timer, now_ns + PERIOD_NS);
		if (error || !wait_due(timer))
			break;
		error = ops->timer_ack(timer);
		if (!error || error == -EAGAIN)
			error = copy_records(dev, log, out);
	}
	ops->timer_destroy(timer);
	return error;
}

static int fail(const char *what, int error, const char *why)
{
	fprintf(stderr, "ctxlog: %s: %s%s%s\n", what, strerror(-error), why[0] ? ": " : "", why);
	return 1;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct gp_device *dev;
	struct gp_log *log;
	char why[256] = "";
	FILE *out;
	int error;

	gp_opts_parse(opts, sizeof(opts) / sizeof(*opts), argc, argv);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	setvbuf(stdin, NULL, _IONBF, 0);
	error = gp_device_open(device[0] ? device : NULL, &dev, why, sizeof(why));
	if (error)
		return fail("device", error, why);
	error = dev->ops->log_open(dev, &log);
	if (error)
		return fail("context-switch log", error, "");
	out = out_path[0] ? fopen(out_path, "we") : stdout;
	if (!out)
		return fail(out_path, -errno, "");
	fprintf(out_path[0] ? stdout : stderr, "ready\n");
	fflush(stdout);
	error = follow(dev, log, out);
	poll(NULL, 0, LAST_MS);
	if (!error)
		error = copy_records(dev, log, out);
	dev->ops->log_close(log);
	gp_device_close(dev);
	if (fclose(out) && !error)
		error = -errno;
	return error ? fail("context-switch log", error, "") : 0;
}
