// SPDX-License-Identifier: Apache-2.0
/*
 * The firmware's scheduler (HWS) under the driver. A process switches its queue off and on,
 * beside others. Queues and processes that are too many take turns. A queue does not answer.
 *	t_hws			all of it
 *	t_hws turns		more processes than address spaces
 *	t_hws reset		others run while the owner of a queue that was reset lives
 *	t_hws xccs		several XCCs: all but a queue that does not answer
 *	t_hws mes		MES instead, at the level of its two functions
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define CYCLES 10000
#define UPDATES 50
#define PACKETS 3
#define RING_PACKETS 64
#define FAR (1ll << 40)
#define LOOK_NS 200000
#define TIMEOUT_MS 60000
#define MS_NS 1000000ull

static struct kfd k;

struct lane {
	struct kfd_queue q;
	struct kfd_work w;
	struct kfd_signal *sig;
	uint32_t sent;
};

static void open_lane(struct lane *l)
{
	must(kfd_queue_create(&k, 0, RING_PACKETS, &l->q), "queue");
	must(kfd_work_create(&k, 0, 256, 1, &l->w), "work");
	l->sig = kfd_signal_create(&k, FAR, false);
}

static void launch(struct lane *l)
{
	for (unsigned int i = 0; i < PACKETS && kfd_queue_room(&l->q); i++) {
		must(kfd_work_launch(&l->w, &l->q, rng() % WORK_VARIANTS, l->sig), "launch");
		l->sent++;
	}
}

static void update(struct lane *l, uint32_t percentage)
{
	must(kfd_queue_update(&l->q, percentage), "update");
}

static void check_exact(struct lane *l)
{
	is_err(kfd_signal_wait(&k, l->sig, FAR - (int64_t)l->sent + 1, TIMEOUT_MS), 0,
	       "all its packets run");
	ok(!kfd_work_wrong(&l->w), "exactly once each");
}

/* Doorbells are rung while the queue is off, too. */
static void check_off_and_on(struct lane *l)
{
	const uint64_t midwave = simgpu_counter(0, "saves_midwave");
	unsigned int cycles = scaled(CYCLES), moved = 0;

	for (unsigned int n = 0; n < cycles; n++) {
		int64_t before;

		launch(l);
		sleep_ns(rng() % LOOK_NS);
		update(l, 0);
		before = kfd_signal_value(l->sig);
		launch(l);
		sleep_ns(LOOK_NS);
		moved += kfd_signal_value(l->sig) != before;
		update(l, 100);
	}
	ok(!moved, "%u times off: no packet ran meanwhile (%u)", cycles, moved);
	ok(simgpu_counter(0, "saves_midwave") > midwave + cycles / 10, "many of them in mid-wave");
	check_exact(l);
}

/*
 * For each update under HWS, the driver unmaps all queues of the device, and loads them again.
 * MES takes that queue alone.
 */
static void check_bystanders(struct lane *l, bool mes)
{
	struct tenant *t = tenants_alloc(1);
	const uint64_t queues = 2, others = mes ? 0 : 2 * queues;
	uint64_t saves, start;

	t->queues = (uint32_t)queues;
	tenant_start(t);
	must(tenants_ready(t, 1, TIMEOUT_MS), "a bystander");
	saves = simgpu_counter(0, "saves");
	start = now_ns();
	for (unsigned int n = 0; n < UPDATES; n++) {
		update(l, 0);
		update(l, 100);
	}
	figure("an update beside %llu queues: %llu us", (unsigned long long)queues,
	       (unsigned long long)(now_ns() - start) / (2 * UPDATES * 1000ull));
	saves = simgpu_counter(0, "saves") - saves;
	ok(saves == UPDATES * (others + 1),
	   "each update saves %s of the bystander's queues (%llu saves in all)",
	   mes ? "none" : "each", (unsigned long long)saves);
	tenants_stop(t, 1, TIMEOUT_MS);
}

static void check_turns(void)
{
	const unsigned int num = 3;
	struct tenant *t = tenants_alloc(num);
	uint64_t before = simgpu_counter(0, "hws_turns");

	tenants_simple(t, num, 4, 2);
	sleep_ns(300 * MS_NS);
	ok(simgpu_counter(0, "hws_turns") >= before + 10, "%u processes take turns", num);
	tenants_stop(t, num, TIMEOUT_MS);
}

static int lose_queue(void)
{
	struct kfd own = { 0 };
	struct kfd_queue q;

	must(kfd_setup(&own), "set up");
	kfd_lose_queue(&own, &q);
	return -kfd_queue_update(&q, 0);
}

static int answer(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return -WEXITSTATUS(status);
}

/* The driver resets such a queue alone, and the end of its process leaves the others alone. */
static void check_stuck(struct lane *l)
{
	const uint64_t start = now_ns();
	pid_t pid;

	expect_dmesg("HWS: HQD .* does not answer");
	pid = fork();
	if (!pid)
		_exit(lose_queue());
	is_err(answer(pid), -EACCES, "an update of a queue that does not answer");
	figure("it took %llu ms", (unsigned long long)((now_ns() - start) / MS_NS));
	launch(l);
	check_exact(l);
}

/* The stock driver leaves all queues unmapped after such an update. */
static void check_reset(struct lane *l)
{
	int go[2];
	char c = 0;
	pid_t pid;

	expect_dmesg("HWS: HQD .* does not answer");
	must(pipe(go) ? -errno : 0, "pipe");
	pid = fork();
	if (!pid) {
		c = (char)lose_queue();
		_exit(write(go[1], &c, 1) == 1 ? pause() : 1);
	}
	must(read(go[0], &c, 1) == 1 ? 0 : -EIO, "read");
	is_err(-c, -EACCES, "an update of a queue that does not answer");
	launch(l);
	check_exact(l);
	kill(pid, SIGKILL);
	(void)answer(pid);
}

/* A failed removal lets the driver reset the GPU, on which every process loses its queues. */
static void check_hang(struct lane *l)
{
	uint64_t before = 0, after = 0;
	const uint64_t start = now_ns();
	pid_t pid;

	expect_dmesg("MES does not answer|failed to remove hardware queue|unrecoverable state|"
		     "HWS: HQD .* does not answer|Failed to evict|unmap queue failed|reset|hang");
	must(simgpu_read_u64(0, "resets", &before), "resets");
	pid = fork();
	if (!pid)
		_exit(lose_queue());
	is_err(answer(pid), -EACCES, "an update of a queue that MES cannot remove");
	for (int i = 0; i < TIMEOUT_MS && after == before; i++) {
		sleep_ns(MS_NS);
		must(simgpu_read_u64(0, "resets", &after), "resets");
	}
	figure("it took %llu ms", (unsigned long long)((now_ns() - start) / MS_NS));
	ok(after == before + 1, "resets the GPU");
	is_err(kfd_queue_update(&l->q, 0), -EACCES, "and other processes' queues are gone");
}

static void mes(struct lane *l)
{
	open_lane(l);
	check_off_and_on(l);
	check_bystanders(l, true);
	check_turns();
	ok(simgpu_counter(0, "mes_adds") > scaled(CYCLES), "MES was asked to add queues");
	ok(simgpu_counter(0, "mes_removes") > scaled(CYCLES), "and to remove them");
	check_hang(l);
}

int main(int argc, char **argv)
{
	static struct lane lane;

	rng_seed(31);
	must(kfd_setup(&k), "set up");
	if (argc > 1 && !strcmp(argv[1], "mes")) {
		mes(&lane);
		ok(!simgpu_checks(), "the GPU saw nothing wrong");
		return done();
	}
	if (argc > 1 && !strcmp(argv[1], "reset")) {
		open_lane(&lane);
		check_reset(&lane);
	} else if (argc < 2) {
		open_lane(&lane);
		check_off_and_on(&lane);
		check_bystanders(&lane, false);
		check_turns();
		check_stuck(&lane);
	} else if (!strcmp(argv[1], "xccs")) {
		open_lane(&lane);
		ok(k.gpus[0].xccs > 1, "the card has %u XCCs", k.gpus[0].xccs);
		check_off_and_on(&lane);
		check_bystanders(&lane, false);
		check_turns();
	} else {
		check_turns();
	}
	ok(simgpu_counter(0, "hws_runlists") > 0, "the firmware scheduled the queues");
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
