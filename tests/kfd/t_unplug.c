// SPDX-License-Identifier: Apache-2.0
/*
 * A GPU is unplugged while processes use it. The KFD keeps what they have data of, and lets it
 * go when the last of them ends.
 *	t_unplug stock		a process that has /dev/kfd open, and no VM
 *	t_unplug		with the series: such processes hold the GPU or wait for events,
 *				while the queues of a tenant are suspended
 *
 * The test itself does not open the KFD, which would keep the device.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define MS 1000000ull
#define SECOND_NS (1000 * MS)
#define QUEUES 3
#define GONE 2

struct helper {
	pid_t pid;
	int up[2], down[2];
};

static struct helper helper_new(void)
{
	struct helper h;

	must(pipe(h.up) || pipe(h.down) ? -errno : 0, "pipe");
	return h;
}

static void tell(int fd)
{
	char c = 1;

	must(write(fd, &c, 1) == 1 ? 0 : -EIO, "write");
}

static bool told(int fd)
{
	char c;

	return read(fd, &c, 1) == 1;
}

/* ---- processes ------------------------------------------------------------------ */

static int wait_event(struct kfd *own, uint64_t seq, uint32_t timeout_ms)
{
	struct kfd_ioctl_sched_wait_args args = {
		.size = sizeof(args),
		.gpu_id = own->gpus[0].gpu_id,
		.timeout_ms = timeout_ms,
		.seq = seq,
		.grant_fd = -1,
	};

	return kfd_call(own, AMDKFD_IOC_SCHED_WAIT, &args);
}

/* Waits for an event: before the hold's end after 9 s, its call has to end with the GPU. */
static int watcher(struct kfd *own, const struct helper *h)
{
	struct kfd_sched_device_state dev;
	struct kfd_ioctl_sched_hold_args hold;
	uint64_t start = now_ns();
	uint32_t gpu = own->gpus[0].gpu_id;

	must(kfd_states(own, gpu, NULL, 0, &dev) < 0 ? -EIO : 0, "state");
	tell(h->up[1]);
	if (wait_event(own, dev.seq + 1000, 60000) != -ENODEV || now_ns() - start > 5 * SECOND_NS)
		return 1;
	if (kfd_states(own, gpu, NULL, 0, &dev) != -ENODEV)
		return 2;
	return kfd_hold(own, gpu, 0, SECOND_NS, 0, &hold) == -ENODEV ? 0 : 3;
}

/* Holds the GPU, and lets the file go with its end. */
static int holder(struct kfd *own, const struct helper *h)
{
	struct kfd_ioctl_sched_hold_args hold;

	must(kfd_hold(own, own->gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 9 * SECOND_NS, 0, &hold),
	     "hold");
	tell(h->up[1]);
	return told(h->down[0]) ? 0 : 1;
}

static int idler(struct kfd *own, const struct helper *h)
{
	struct kfd_ioctl_get_clock_counters_args clock = { .gpu_id = own->gpus[0].gpu_id };

	tell(h->up[1]);
	if (!told(h->down[0]))
		return 1;
	return kfd_call(own, AMDKFD_IOC_GET_CLOCK_COUNTERS, &clock) ? 2 : 0;
}

static struct helper start(int (*what)(struct kfd *, const struct helper *))
{
	struct helper h = helper_new();

	h.pid = fork();
	if (!h.pid) {
		struct kfd own = { 0 };

		must(kfd_open(&own), "open");
		_exit(what(&own, &h));
	}
	must(told(h.up[0]) ? 0 : -EIO, "a helper");
	return h;
}

static int end(const struct helper *h)
{
	int status = -1;

	waitpid(h->pid, &status, 0);
	return status;
}

/* ---- tests ------------------------------------------------------------------------ */

static void unplug(void)
{
	is_err(simgpu_write_u64(0, "unplug", 1), 0, "the GPU is unplugged");
}

static uint64_t state_of_device(void)
{
	uint64_t state = 0;

	must(simgpu_read_u64(0, "unplug", &state), "unplug");
	return state;
}

static void check_let_go(void)
{
	const uint64_t until = now_ns() + 10 * SECOND_NS;

	while (state_of_device() != GONE && now_ns() < until)
		sleep_ns(10 * MS);
	ok(state_of_device() == GONE, "then the KFD lets the device go");
}

static void check_stock(void)
{
	struct helper h = start(idler);

	unplug();
	sleep_ns(200 * MS);
	ok(state_of_device() != GONE, "its device stays for a process without a VM");
	tell(h.down[1]);
	ok(!end(&h), "which goes on, and ends");
	check_let_go();
}

/* The tenant's queues are suspended; they do not come back. */
static void check_series(void)
{
	struct tenant *t = tenants_alloc(1);
	struct helper w, h;

	tenants_simple(t, 1, QUEUES, 0);
	w = start(watcher);
	h = start(holder);
	sleep_ns(200 * MS); /* by now the first is in its call */
	unplug();
	ok(!end(&w), "a process that waits for events is told");
	ok(state_of_device() != GONE, "the device stays for the others");
	tell(h.down[1]);
	ok(!end(&h), "the holder ends");
	ok(state_of_device() != GONE, "the device stays for the tenant");
	tenant_kill(t);
	check_let_go();
}

int main(int argc, char **argv)
{
	rng_seed(43);
	expect_dmesg("the KFD's device is gone");
	if (argc > 1 && !strcmp(argv[1], "stock"))
		check_stock();
	else
		check_series();
	ok(!simgpu_checks(), "nobody used a device that is gone");
	return done();
}
