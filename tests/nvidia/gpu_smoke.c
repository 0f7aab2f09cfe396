// SPDX-License-Identifier: Apache-2.0
/*
 * gpu_smoke.c - run each op of the backend once on a GPU, and print its status, RM's
 * status and its time. It helps a person find errors in structures on an untested
 * driver.
 *
 *   gpu_smoke [DEVICE]	(a UUID, a PCI address, soft0; none: the first)
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"
#include "nvidia-backend/track.h"

#define ROUNDS 20

static int failures;

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void row(const char *what, int r, uint64_t ns, const char *more)
{
	uint32_t status = gp_nv_last_status();

	printf("%-26s %-5s %8.1f us  rm 0x%02x %-22s %s\n", what, r ? "FAIL" : "ok",
	       (double)ns / 1000.0, status, status ? gp_nv_status_name(status) : "", more);
	if (r) {
		printf("%26s errno %d: %s\n", "", -r, strerror(-r));
		failures++;
	}
	fflush(stdout);
}

#define STEP(what, call, ...)                                            \
	do {                                                             \
		char more_[256] = "";                                    \
		uint64_t t0_ = wall_ns();                                \
		int r_ = (int)(call);                                    \
		uint64_t t1_ = wall_ns();                                \
		if (!r_)                                                 \
			snprintf(more_, sizeof(more_), " " __VA_ARGS__); \
		row(what, r_, t1_ - t0_, more_);                         \
	} while (0)

/* ---- CUDA ----------------------------------------------------------------------- */

static int context_make(void **ctx)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(unsigned int);
	int (*create)(void **, unsigned int, int);
	int r;

	if (!cuda) {
		printf("libcuda.so.1: %s\n", dlerror());
		return -ENODEV;
	}
	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&create = dlsym(cuda, "cuCtxCreate_v2");
	r = init(0);
	if (!r)
		r = create(ctx, 0, 0);
	if (r)
		printf("CUDA error %d\n", r);
	return r ? -EIO : 0;
}

/* A process with a context that waits until its input closes. */
static pid_t bystander(int *hold_open)
{
	int ready[2], stay[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) || pipe(stay))
		return -1;
	pid = fork();
	if (!pid) {
		void *ctx;

		close(ready[0]);
		close(stay[1]);
		if (context_make(&ctx) || write(ready[1], "r", 1) != 1)
			_exit(1);
		if (read(stay[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(ready[1]);
	close(stay[0]);
	if (read(ready[0], &byte, 1) != 1)
		printf("the second process got no context\n");
	close(ready[0]);
	*hold_open = stay[1];
	return pid;
}

/* ---- groups ------------------------------------------------------------------------ */

static const char *kind_name(enum gp_group_kind kind)
{
	return kind == GP_GROUP_COMPUTE ? "compute" : kind == GP_GROUP_COPY ? "copy" : "?";
}

static struct gp_group *show_groups(const struct gp_group_list *list)
{
	struct gp_group *compute = NULL;

	for (size_t i = 0; i < list->count; i++) {
		struct gp_group *g = list->group[i];
		struct gp_nv_group *n = gp_nv_of(gp_nv_group, g);
		uint64_t us = 0;
		int r = g->dev->ops->get_slice(g, &us);

		printf("  group %08x pid %d %-7s client %08x device %08x "
		       "subdevice %08x tsg %08x engine 0x%x channels %u "
		       "(first %08x) slice %s%llu us\n",
		       g->id, (int)g->pid, kind_name(g->kind), n->client, n->device, n->subdevice,
		       n->tsg, n->engine, g->channels, n->channel[0], r ? "? " : "",
		       (unsigned long long)us);
		if (g->kind == GP_GROUP_COMPUTE && !compute)
			compute = g;
	}
	return compute;
}

static void scan(struct gp_device *dev, pid_t pid, const char *what, struct gp_group_list *list)
{
	struct gp_nv_scan_stat s;
	uint64_t t0 = wall_ns();
	int r = gp_nv_scan(gp_nv_of(gp_nv_device, dev), pid, list, &s);
	uint64_t t1 = wall_ns();

	row(what, r, t1 - t0, "");
	printf("  files %u clients %u calls %u objects %u groups %u classes: "
	       "channel %04x compute %04x copy %04x\n",
	       s.files, s.clients, s.calls, s.objects, s.groups, s.channel_class, s.compute_class,
	       s.copy_class);
}

static void group_ops(struct gp_group *g)
{
	const struct gp_hal_ops *ops = g->dev->ops;
	uint64_t old = 0, us = 0;

	STEP("get_slice", ops->get_slice(g, &old), "%llu us", (unsigned long long)old);
	STEP("set_slice 200", ops->set_slice(g, 200));
	STEP("get_slice again", ops->get_slice(g, &us), "%llu us (want 200)",
	     (unsigned long long)us);
	STEP("set_slice 5 s", ops->set_slice(g, 5000000));
	STEP("get_slice again", ops->get_slice(g, &us), "%llu us (want 5000000)",
	     (unsigned long long)us);
	STEP("set_slice 1", ops->set_slice(g, 1));
	STEP("set_slice back", ops->set_slice(g, old ? old : 2048));
	STEP("set_preempt_mode CTA", ops->set_preempt_mode(g, GP_PREEMPT_BLOCK));
	STEP("set_preempt_mode CILP", ops->set_preempt_mode(g, GP_PREEMPT_INSTRUCTION));
	STEP("suspend", ops->suspend(&g, 1));
	STEP("suspend again", ops->suspend(&g, 1));
	STEP("resume", ops->resume(&g, 1));
	STEP("resume again", ops->resume(&g, 1));
}

/* ---- holds ----------------------------------------------------------------------------- */

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000u),
			       .tv_nsec = (long)(ns % 1000000000u) };

	nanosleep(&ts, NULL);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void holds(struct gp_device *dev, void *ctx)
{
	const struct gp_hal_ops *ops = dev->ops;
	struct gp_hold *hold = NULL;
	struct gp_hold_stat st = { 0 };
	uint64_t took[ROUNDS], released[ROUNDS];
	int r = 0;

	STEP("hold_create", ops->hold_create(dev, ctx, &hold));
	if (!hold)
		return;
	for (int i = 0; i < ROUNDS && !r; i++) {
		uint64_t t0 = wall_ns(), t1;

		r = ops->hold(hold, 20000000);
		t1 = wall_ns();
		took[i] = t1 - t0;
		sleep_ns(500000);
		t0 = wall_ns();
		ops->release(hold);
		released[i] = wall_ns() - t0;
		sleep_ns(500000);
	}
	row("hold, 500 us, release", r, 0, "");
	if (!r) {
		qsort(took, ROUNDS, sizeof(took[0]), compare);
		qsort(released, ROUNDS, sizeof(released[0]), compare);
		printf("  hold p50 %.1f max %.1f us, release p50 %.2f max %.2f us\n",
		       (double)took[ROUNDS / 2] / 1e3, (double)took[ROUNDS - 1] / 1e3,
		       (double)released[ROUNDS / 2] / 1e3, (double)released[ROUNDS - 1] / 1e3);
	}
	STEP("hold_stat", ops->hold_stat(hold, &st),
	     "seq %llu switch %.1f us held %.1f us expired %llu", (unsigned long long)st.seq,
	     (double)st.switch_ns / 1e3, (double)st.held_ns / 1e3, (unsigned long long)st.expired);
	STEP("hold to its limit (1 ms)", ops->hold(hold, 1000000));
	sleep_ns(5000000);
	STEP("hold_stat", ops->hold_stat(hold, &st), "expired %llu (want 1) switch %.1f (want 0)",
	     (unsigned long long)st.expired, (double)st.switch_ns / 1e3);
	STEP("hold after that", ops->hold(hold, 1000000));
	STEP("hold while held", ops->hold(hold, 1000000) == -EBUSY ? 0 : -EIO);
	STEP("release", ops->release(hold));
	sleep_ns(5000000);
	ops->hold_stat(hold, &st);
	printf("  held %.1f us in all\n", (double)st.held_ns / 1e3);
	ops->hold_destroy(hold);
}

/* ---- the log ------------------------------------------------------------------------------ */

static void log_second(struct gp_device *dev, void *ctx, struct gp_group *g)
{
	static struct gp_switch_record rec[1024];
	const struct gp_hal_ops *ops = dev->ops;
	struct gp_log *log = NULL;
	struct gp_hold *hold = NULL;
	uint64_t count[4] = { 0 }, first = 0, last = 0, busy = 0, worst = 0;
	uint64_t end;
	struct timespec wall;
	ssize_t n;
	int pid = 0;

	STEP("log_open", ops->log_open(dev, &log));
	if (!log)
		return;
	if (ops->hold_create(dev, ctx, &hold))
		hold = NULL;
	end = wall_ns() + 1000000000u;
	while (wall_ns() < end) {
		uint64_t t0;

		if (hold && !ops->hold(hold, 2000000)) {
			sleep_ns(300000);
			ops->release(hold);
		}
		sleep_ns(5000000);
		t0 = wall_ns();
		while ((n = ops->log_read(log, rec, 1024)) > 0) {
			for (ssize_t i = 0; i < n; i++) {
				count[rec[i].kind & 3] += rec[i].count;
				first = first ? first : rec[i].time_ns;
				last = rec[i].time_ns;
				pid = rec[i].pid ? rec[i].pid : pid;
			}
		}
		if (wall_ns() - t0 > worst)
			worst = wall_ns() - t0;
	}
	clock_gettime(CLOCK_REALTIME, &wall);
	printf("  log: %llu starts, %llu ends, %llu lost over %.1f ms; last pid "
	       "seen %d (ours %d); last record %.3f ms behind CLOCK_REALTIME; "
	       "worst read %.1f us\n",
	       (unsigned long long)count[GP_SWITCH_START], (unsigned long long)count[GP_SWITCH_END],
	       (unsigned long long)count[GP_SWITCH_LOST], (double)(last - first) / 1e6, pid,
	       (int)getpid(),
	       ((double)wall.tv_sec * 1e9 + (double)wall.tv_nsec - (double)last) / 1e6,
	       (double)worst / 1e3);
	if (g)
		STEP("usage", ops->usage(g, &busy), "%.3f ms busy", (double)busy / 1e6);
	ops->hold_destroy(hold);
	ops->log_close(log);
}

static void slot(struct gp_device *dev)
{
	struct gp_slot_place place = { .fd = -1 };
	char path[64], target[256] = "";
	int one = -1, two = -1;

	STEP("slot", dev->ops->slot(dev, &place));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place.fd);
	if (readlink(path, target, sizeof(target) - 1) > 0)
		printf("  lock on byte %llu of %s\n", (unsigned long long)place.offset, target);
	if (place.fd >= 0)
		close(place.fd);
	STEP("slot_try", gp_slot_try(dev, &one));
	STEP("slot_try, taken", gp_slot_try(dev, &two) == -EBUSY ? 0 : -EIO);
	if (one >= 0)
		close(one);
	STEP("slot_try, given back", gp_slot_try(dev, &two));
	if (two >= 0)
		close(two);
}

static void show_device(struct gp_device *dev)
{
	const struct gp_device_id *id = &dev->id;
	char uuid[48];

	gp_uuid_format(id->uuid, uuid, sizeof(uuid));
	printf("  %s: %s %s %04x:%02x:%02x.%x minor %u\n", dev->ops->name, id->name, uuid,
	       id->pci_domain, id->pci_bus, id->pci_dev, id->pci_fn, id->minor);
}

int main(int argc, char **argv)
{
	struct gp_device *dev = NULL;
	struct gp_group_list own = { 0 }, other = { 0 };
	struct gp_group *compute, *theirs;
	char why[256] = "", version[64] = "?";
	const struct gp_nv_transport *t;
	void *ctx = NULL;
	int stay = -1;
	pid_t pid = bystander(&stay);

	STEP("gp_device_open", gp_device_open(argc > 1 ? argv[1] : NULL, &dev, why, sizeof(why)));
	if (!dev) {
		printf("%s\n", why);
		return 1;
	}
	show_device(dev);
	t = gp_nv_of(gp_nv_device, dev)->t;
	STEP("driver version", gp_nv_driver_version(t, version, sizeof(version)), "%s", version);
	STEP("cuCtxCreate", context_make(&ctx));
	scan(dev, 0, "scan, own process", &own);
	compute = show_groups(&own);
	if (compute)
		group_ops(compute);
	scan(dev, pid, "scan, another process", &other);
	theirs = show_groups(&other);
	if (theirs)
		group_ops(theirs);
	gp_group_list_put(&other);
	if (ctx)
		holds(dev, ctx);
	if (ctx)
		log_second(dev, ctx, compute);
	slot(dev);
	gp_group_list_put(&own);
	gp_device_close(dev);
	close(stay);
	waitpid(pid, NULL, 0);
	printf("%d failed\n", failures);
	return failures ? 1 : 0;
}
