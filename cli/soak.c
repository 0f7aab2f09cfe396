// SPDX-License-Identifier: Apache-2.0
/*
 * soak.c - gpreempt doctor --soak: CMD as best effort, of which the queues are taken off and put
 * on again many times. If each cycle is answered and CMD ends well, it leaves a mark on disk.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/soak.h"
#include "cli/text.h"
#include "hsaq.h"
#include "wire/wire.h"

#define VERB "doctor --soak"
#define START_MS 120000 /* until CMD has a queue */
#define LOOK_MS 20
#define ANSWER_MS 10000 /* a firmware that does not answer is reset by then */
#define LIMIT_NS 1000000000u
#define REST_US 500 /* between two cycles, for the waves */

struct soak {
	struct hsaq_device_info card;
	struct gp_device *dev;
	struct gp_child child;
	int fd; /* of CMD's control socket */
	uint64_t *took_ns;
	uint32_t cycles, done;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- the card ------------------------------------------------------------------ */

static int is_card(const struct hsaq_device_info *info, void *arg)
{
	struct soak *s = arg;
	const struct gp_device_id *id = &s->dev->id;

	if (info->pci_domain != id->pci_domain || info->pci_bus != id->pci_bus ||
	    info->pci_dev != id->pci_dev || info->pci_fn != id->pci_fn)
		return 0;
	s->card = *info;
	return 1;
}

/* 0, or the exit status after a message. The environment opens the route for this run. */
static int find_card(struct soak *s, const char *device)
{
	char why[GP_WHY_LEN] = "";
	enum hsaq_mode mode;
	struct hsaq *h;
	int err = gp_device_open(device, &s->dev, why, sizeof(why));

	if (err)
		return gp_fail(VERB ": %s", why[0] ? why : strerror(-err));
	if (strcmp(s->dev->ops->name, "amd"))
		return gp_fail(VERB ": %s needs none; name an AMD card with --device",
			       s->dev->id.name);
	if (setenv("GPREEMPT_SOAK", "1", 1))
		return gp_fail(VERB ": cannot set the environment: %s", strerror(errno));
	err = hsaq_open(NULL, &h);
	if (err)
		return gp_fail(VERB ": cannot open /dev/kfd: %s", strerror(-err));
	err = hsaq_devices(h, is_card, s);
	mode = hsaq_device_mode(h, s->card.gpu_id);
	hsaq_close(h);
	if (err != 1)
		return gp_fail(VERB ": %s: the KFD does not list it", s->dev->id.name);
	if (mode == HSAQ_MODE_SCHED)
		return gp_fail(VERB ": %s needs none: its driver has holds", s->dev->id.name);
	if (!hsaq_can_unload_own(&s->card, why, sizeof(why)))
		return gp_fail(VERB ": %s: %s", s->dev->id.name, why);
	return 0;
}

/* ---- CMD ----------------------------------------------------------------------- */

/* Does it still run after at most @ms? Forwards signals to it. */
static bool runs_on(struct soak *s, int ms)
{
	struct pollfd pfd[] = {
		{ .fd = s->child.pidfd, .events = POLLIN },
		{ .fd = s->child.signal_fd, .events = POLLIN },
	};

	poll(pfd, 2, ms);
	if (pfd[1].revents)
		gp_child_forward(&s->child);
	return !pfd[0].revents;
}

/* 0, or the exit status after a message. */
static int wait_for_queues(struct soak *s)
{
	struct gp_wire_status status = { 0 };

	for (int ms = 0; ms < START_MS; ms += LOOK_MS) {
		if (!runs_on(s, LOOK_MS))
			return gp_fail(VERB ": the program ended before it had a queue on %s",
				       s->dev->id.name);
		if (gp_tenant_status(s->child.pid, &status, LOOK_MS) || !status.groups)
			continue;
		s->fd = gp_wire_connect(s->child.pid);
		return s->fd < 0 ? gp_fail(VERB ": cannot reach process %d: %s", (int)s->child.pid,
					   strerror(-s->fd)) :
				   0;
	}
	return gp_fail(VERB ": process %d has no queue on %s after %d s; name the program itself, "
			    "not a script that starts it",
		       (int)s->child.pid, s->dev->id.name, START_MS / 1000);
}

static int yield(const struct soak *s, bool on)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_YIELD);
	msg.yield.on = on;
	msg.yield.limit_ns = on ? LIMIT_NS : 0;
	memcpy(msg.yield.uuid, s->dev->id.uuid, sizeof(msg.yield.uuid));
	return gp_wire_call(s->fd, &msg, ANSWER_MS);
}

/* 0, or the exit status after a message. */
static int cycle(struct soak *s)
{
	const struct timespec rest = { .tv_nsec = REST_US * 1000 };
	uint64_t start_ns = now_ns();
	int err = yield(s, true);

	s->took_ns[s->done] = now_ns() - start_ns;
	if (!err)
		err = yield(s, false);
	if (!err) {
		s->done++;
		nanosleep(&rest, NULL);
		return 0;
	}
	if (!runs_on(s, LOOK_MS))
		return gp_fail(VERB ": the program ended in cycle %u of %u; give it more work, or "
				    "write a smaller --cycles",
			       s->done + 1, s->cycles);
	return gp_fail(VERB ": failed: cycle %u of %u: %s; see dmesg. This card does not take part "
			    "in gpreempt",
		       s->done + 1, s->cycles, err == -ETIMEDOUT ? "no answer" : strerror(-err));
}

/* ---- the result -------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* CMD checks its own results. */
static int finish(struct soak *s)
{
	char text[128];
	int status, err;

	while (runs_on(s, -1))
		;
	status = gp_child_exit_status(gp_child_wait(&s->child));
	s->child.pid = 0;
	if (status)
		return gp_fail(VERB ": failed: after %u cycles the program ended with status %d",
			       s->done, status);
	qsort(s->took_ns, s->done, sizeof(*s->took_ns), by_value);
	snprintf(text, sizeof(text),
		 "%u cycles; off after %.0f us at p50, %.0f at p99, %.0f at most", s->done,
		 (double)s->took_ns[s->done / 2] / 1000,
		 (double)s->took_ns[s->done - 1 - s->done / 100] / 1000,
		 (double)s->took_ns[s->done - 1] / 1000);
	printf("passed   %s: %s\n", s->dev->id.name, text);
	err = hsaq_soak_record(&s->card, text);
	if (err)
		return gp_fail(VERB ": passed, but its mark cannot be written: %s; set HOME or "
				    "XDG_STATE_HOME, or run it as root",
			       strerror(-err));
	return 0;
}

static int run(struct soak *s, char **argv)
{
	int status = gp_child_block_signals(&s->child);

	if (status)
		return gp_fail(VERB ": cannot watch signals: %s", strerror(-status));
	status = gp_child_start(&s->child, VERB, argv);
	if (status)
		return status;
	status = wait_for_queues(s);
	while (!status && s->done < s->cycles)
		status = cycle(s);
	if (s->fd >= 0)
		close(s->fd);
	if (!status)
		return finish(s);
	kill(s->child.pid, SIGTERM);
	(void)gp_child_wait(&s->child);
	return status;
}

int gp_soak(const char *device, uint32_t cycles, char **argv)
{
	struct soak s = { .cycles = cycles, .fd = -1, .child = GP_CHILD_NONE };
	int status = find_card(&s, device);

	if (!status)
		status = gp_launch_prepare(VERB, "be", device, argv[0]);
	s.took_ns = calloc(cycles, sizeof(*s.took_ns));
	if (!status)
		status = s.took_ns ? run(&s, argv) : gp_fail(VERB ": out of memory");
	gp_child_done(&s.child);
	gp_device_close(s.dev);
	free(s.took_ns);
	return gp_flush_output(status);
}
