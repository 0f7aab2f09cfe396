// SPDX-License-Identifier: Apache-2.0
/*
 * A queue that does not leave its slot is reset alone, and its process hears of it. If that
 * takes a reset of the whole pipe, the other queues of the pipe are saved before. An eviction
 * or an update of the queue waits for the answer or the reset, as the stock driver does, and
 * keeps nobody else waiting.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define MS 1000000ull
#define RESET_MS 600
#define LATE_MS 900
#define TENANTS 2
#define QUEUES 4
#define NO_QUEUE_RESET 1

enum answer {
	READY = 'r',
	TOLD = 't',
	REFUSED = 'e',
	GOES_ON = 'g',
	OTHER = 'o'
};

static struct kfd k;
static struct kfd_sched_device_state dev;

static void read_dev(void)
{
	must(kfd_states(&k, k.gpus[0].gpu_id, NULL, 0, &dev) < 0 ? -EIO : 0, "state");
}

static void set_timeout(unsigned int ms)
{
	FILE *f = fopen("/sys/module/amdgpu/parameters/nohws_reset_timeout_ms", "we");

	must(f && fprintf(f, "%u\n", ms) > 0 && !fclose(f) ? 0 : -EIO, "timeout");
}

static unsigned int pasid_of_self(void)
{
	unsigned int pasid = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/pasid", getpid());
	f = fopen(path, "re");
	must(f && fscanf(f, "%u", &pasid) == 1 ? 0 : -EIO, "pasid");
	fclose(f);
	return pasid;
}

/* The next event of a kind after *seq. Kind 0: none came. */
static struct kfd_ioctl_sched_wait_args await(uint64_t *seq, uint32_t kind)
{
	const uint64_t end = now_ns() + 10000 * MS;
	struct kfd_ioctl_sched_wait_args ev;

	do {
		ev = (struct kfd_ioctl_sched_wait_args){
			.size = sizeof(ev),
			.gpu_id = k.gpus[0].gpu_id,
			.timeout_ms = 200,
			.seq = *seq,
			.grant_fd = -1,
		};
		if (kfd_call(&k, AMDKFD_IOC_SCHED_WAIT, &ev))
			continue;
		*seq = ev.seq;
		if (ev.kind == kind)
			return ev;
	} while (now_ns() < end);
	ev.kind = 0;
	return ev;
}

/* ---- the process whose queue hangs ------------------------------------------- */

static void must_not(bool bad, enum answer *a)
{
	if (bad)
		*a = OTHER;
}

static uint32_t exception_event(struct kfd *own)
{
	struct kfd_ioctl_create_event_args args = { .event_type = KFD_IOC_EVENT_HW_EXCEPTION };

	must(kfd_call(own, AMDKFD_IOC_CREATE_EVENT, &args), "event");
	return args.event_id;
}

static bool was_told(struct kfd *own, uint32_t event)
{
	struct kfd_event_data data = { .event_id = event };
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)&data,
		.num_events = 1,
		.wait_for_all = 1,
		.timeout = 5000,
	};

	return !kfd_call(own, AMDKFD_IOC_WAIT_EVENTS, &args) && !args.wait_result;
}

struct victim {
	pid_t pid;
	int to, from;
};

static void say(const struct victim *v, char c)
{
	must(write(v->to, &c, 1) == 1 ? 0 : -EIO, "say");
}

static char hear(const struct victim *v)
{
	char c = 0;

	return read(v->from, &c, 1) == 1 ? c : 0;
}

/* Off and on again: does its wave go on from where it was? */
static enum answer update(struct kfd_queue *q, volatile uint32_t *beat)
{
	const int err = kfd_queue_update(q, 0);
	uint32_t before = *beat;

	if (err)
		return err == -EACCES ? REFUSED : OTHER;
	if (kfd_queue_update(q, 100) || wait_word(beat, before + 2, 5000))
		return OTHER;
	return GOES_ON;
}

/* Has a queue with an endless wave, and does what its parent says. */
static void victim_main(const struct victim *v, const char *fault)
{
	struct kfd own = { 0 };
	enum answer a = TOLD;
	volatile uint32_t *words;
	struct kfd_queue q;
	uint32_t event;

	must(kfd_setup(&own), "set up");
	event = exception_event(&own);
	must(simgpu_write_u64(0, "engine/faults/pasid", pasid_of_self()), "pasid");
	words = kfd_lose_queue(&own, &q);
	if (strcmp(fault, "ignore")) {
		must(simgpu_write_u64(0, "engine/faults/ignore", 0), "no fault");
		must(simgpu_write_u64(0, "engine/faults/late_ns", LATE_MS * MS), "late_ns");
		must(simgpu_write_u64(0, "engine/faults/late", 1), "late");
	}
	say(v, READY);
	switch (hear(v)) {
	case 'd':
		must_not(kfd_queue_destroy(&q), &a);
		break;
	case 'e':
		must_not(!was_told(&own, event), &a);
		say(v, (char)a);
		a = kfd_queue_update(&q, 100) == -EACCES ? REFUSED : OTHER;
		break;
	case 'u':
		a = update(&q, &words[TENANT_BEAT]);
		break;
	default:
		break;
	}
	say(v, (char)a);
	pause();
}

static struct victim start_victim(const char *fault)
{
	struct victim v;
	int up[2], down[2];

	must(pipe(up) || pipe(down) ? -errno : 0, "pipe");
	v.pid = fork();
	if (!v.pid) {
		victim_main(&(struct victim){ .to = up[1], .from = down[0] }, fault);
		_exit(0);
	}
	v.to = down[1];
	v.from = up[0];
	close(up[1]);
	close(down[0]);
	must(hear(&v) == READY ? 0 : -EIO, "a queue that hangs");
	return v;
}

static void end_victim(struct victim *v)
{
	kill(v->pid, SIGKILL);
	waitpid(v->pid, NULL, 0);
	close(v->to);
	close(v->from);
	must(simgpu_write_u64(0, "engine/faults/pasid", 0), "pasid");
}

static uint64_t hold_now(void)
{
	struct kfd_ioctl_sched_hold_args hold;
	const uint64_t start = now_ns();

	must(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 3000 * MS, 0, &hold), "hold");
	must(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, NULL), "release");
	return now_ns() - start;
}

/* ---- tests ------------------------------------------------------------------- */

static void check_alone(uint32_t no_reset, const char *what)
{
	struct kfd_ioctl_sched_wait_args ev;
	struct tenant *t = tenants_alloc(TENANTS);
	struct victim v;
	uint64_t seq, resets;

	read_dev();
	seq = dev.seq;
	resets = dev.resets;
	must(simgpu_write_u64(0, "engine/faults/no_reset", no_reset), "no_reset");
	tenants_simple(t, TENANTS, QUEUES, 2);
	v = start_victim("ignore");
	hold_now();
	ev = await(&seq, KFD_SCHED_EVENT_QUARANTINED);
	ok(ev.kind && ev.pid == (uint32_t)v.pid, "a queue does not answer");
	ev = await(&seq, KFD_SCHED_EVENT_RECOVERED);
	ok(ev.kind && ev.pid == (uint32_t)v.pid, "it is reset %s", what);
	ok(ev.took_ns >= RESET_MS * MS, "after the timeout");
	say(&v, 'e');
	ok(hear(&v) == TOLD, "its process is told");
	ok(hear(&v) == REFUSED, "and cannot update it any more");
	read_dev();
	ok(dev.resets == resets, "the GPU is not reset");
	ok(!dev.slots_quarantined, "no slot is lost");
	tenants_stop(t, TENANTS, 60000);
	end_victim(&v);
	must(simgpu_write_u64(0, "engine/faults/no_reset", 0), "no_reset");
}

static void check_destroyed(void)
{
	struct victim v = start_victim("ignore");
	uint64_t resets;

	read_dev();
	resets = dev.resets;
	say(&v, 'd');
	ok(hear(&v) == TOLD, "a queue that hangs is destroyed");
	read_dev();
	ok(!dev.slots_quarantined && dev.resets == resets, "at once, and its slot is free");
	end_victim(&v);
}

static pid_t write_later(const char *file, pid_t victim)
{
	pid_t pid = fork();

	if (!pid)
		_exit(simgpu_write_u64(0, file, (uint64_t)victim) ? 1 : 0);
	return pid;
}

/* Returns when @pid ended, and whether it succeeded. */
static uint64_t ended_ns(pid_t pid, bool *good)
{
	int status = -1;

	waitpid(pid, &status, 0);
	*good = !status;
	return now_ns();
}

/*
 * The second eviction comes while the first one waits: it has to wait as well. A late queue
 * answers at LATE_MS, a silent one is reset after RESET_MS.
 */
static void check_evicted(const char *fault, uint64_t least_ms, unsigned int timeout_ms)
{
	struct victim v = start_victim(fault);
	uint64_t resets, start, first, second;
	pid_t evict, quiesce;
	bool good[2];

	read_dev();
	resets = dev.resets;
	set_timeout(timeout_ms);
	start = now_ns();
	evict = write_later("evict", v.pid);
	sleep_ns(200 * MS);
	quiesce = write_later("quiesce", v.pid);
	sleep_ns(20 * MS);
	ok_time(hold_now() < 50 * MS, "a hold does not wait for an eviction");
	second = ended_ns(quiesce, &good[1]) - start;
	first = ended_ns(evict, &good[0]) - start;
	ok(good[0] && good[1], "two evictions of a process with a queue %s",
	   strcmp(fault, "late") ? "that hangs" : "that is late");
	ok(first >= least_ms * MS, "the first waits for it (%llu ms)",
	   (unsigned long long)(first / MS));
	ok(second >= least_ms * MS, "so does the second (%llu ms)",
	   (unsigned long long)(second / MS));
	read_dev();
	ok(dev.resets == resets && !dev.slots_quarantined, "the GPU is not reset");
	end_victim(&v);
	set_timeout(RESET_MS);
}

/* With @evict, the process is evicted and restored while its update waits. */
static void check_updated(const char *fault, uint64_t least_ms, bool evict)
{
	const bool late = !strcmp(fault, "late");
	struct victim v = start_victim(fault);
	uint64_t resets, start;
	bool evicted = true;
	pid_t evictor = -1;
	char answer;

	read_dev();
	resets = dev.resets;
	start = now_ns();
	say(&v, 'u');
	sleep_ns(200 * MS);
	if (evict)
		evictor = write_later("evict", v.pid);
	ok_time(hold_now() < 50 * MS, "a hold does not wait for an update");
	answer = hear(&v);
	if (evict)
		ended_ns(evictor, &evicted);
	ok(answer == (late ? GOES_ON : REFUSED), "an update of a queue that %s%s %s",
	   late ? "is late" : "hangs", evict ? ", and of an evicted process," : "",
	   late ? "succeeds" : "is refused");
	ok(evicted && now_ns() - start >= least_ms * MS, "after it has waited (%llu ms)",
	   (unsigned long long)((now_ns() - start) / MS));
	read_dev();
	ok(dev.resets == resets && !dev.slots_quarantined, "the GPU is not reset");
	end_victim(&v);
}

int main(void)
{
	rng_seed(41);
	expect_dmesg("does not leave pipe|left its slot|is reset after|Resetting wave fronts");
	kfd_open_sched(&k);
	set_timeout(RESET_MS);
	check_alone(0, "alone");
	check_alone(NO_QUEUE_RESET, "with its pipe");
	check_destroyed();
	check_evicted("late", LATE_MS, 4000);
	check_evicted("ignore", RESET_MS, RESET_MS);
	check_updated("ignore", RESET_MS, false);
	set_timeout(4000);
	check_updated("late", LATE_MS, false);
	check_updated("late", LATE_MS, true);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
