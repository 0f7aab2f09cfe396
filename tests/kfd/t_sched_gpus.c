// SPDX-License-Identifier: Apache-2.0
/*
 * Two GPUs, and processes with queues on both. A hold, a class, and the end of a hold
 * or a process affect one device only. A reset evicts all processes from all devices
 * for good, as in the stock driver, but the other GPU itself works on.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define GPUS 2
#define SLOTS 4u /* sim_hqds of tests.ini */
#define VMIDS 2u /* sim_vmids */
#define CUS 4u	 /* sim_cus */
#define PROCESSES 3
#define QUEUES 2 /* of a process, on each GPU: more than slots in all */
#define MAX_STATES 32
#define MS_NS 1000000ull
#define RING_PACKETS 64
#define TIMEOUT_MS 30000

/* A process with endless waves on both GPUs; it shares this struct with its parent. */
struct duo {
	pid_t pid;
	uint32_t ready, stop;
	uint32_t queue_id[GPUS][QUEUES];
	volatile uint32_t *words[GPUS][QUEUES]; /* as a tenant's */
};

static struct kfd k;
static struct kfd_sched_queue_state states[MAX_STATES];

/* ---- the processes ------------------------------------------------------------ */

static void start_wave(struct kfd *own, struct kfd_queue *q, const struct kfd_code *code,
		       uint32_t *words)
{
	struct k_spin_args args = {
		words + TENANT_OUT,
		words + TENANT_BEAT,
		words + TENANT_STOP,
	};
	struct kfd_launch launch = {
		.kernel = kfd_code_find(code, "k_spin"),
		.grid = { 64 },
		.workgroup = { 64 },
		.args = &args,
		.args_bytes = sizeof(args),
	};
	struct kfd_mem mem;

	must(kfd_mem_import(own, q->gpu, words, KFD_PAGE_BYTES, &mem), "import");
	must(kfd_launch(q, &launch), "launch");
}

static bool drained(const struct kfd_queue *q)
{
	uint64_t end = now_ns() + TIMEOUT_MS * MS_NS;

	while (kfd_queue_room(q) != q->packets && now_ns() < end)
		sleep_ns(MS_NS);
	return kfd_queue_room(q) == q->packets;
}

static void duo_main(struct duo *d)
{
	static struct kfd_queue q[GPUS][QUEUES];
	static struct kfd_code code[GPUS];
	static struct kfd own;
	unsigned int g, n, i, wrong = 0;

	must(kfd_open(&own), "open");
	for (g = 0; g < GPUS; g++) {
		must(kfd_acquire(&own, g), "acquire");
		must(kfd_code_load(&own, g, KFD_MEM_VRAM, &code[g]), "code");
	}
	for (g = 0; g < GPUS; g++) {
		for (n = 0; n < QUEUES; n++) {
			must(kfd_queue_create(&own, g, RING_PACKETS, &q[g][n]), "queue");
			d->queue_id[g][n] = q[g][n].id;
			start_wave(&own, &q[g][n], &code[g], (uint32_t *)d->words[g][n]);
		}
	}
	__atomic_store_n(&d->ready, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&d->stop, __ATOMIC_ACQUIRE))
		sleep_ns(MS_NS);
	for (g = 0; g < GPUS; g++) {
		for (n = 0; n < QUEUES; n++) {
			d->words[g][n][TENANT_STOP] = 1;
			wrong += !drained(&q[g][n]);
			for (i = 0; i < 64; i++)
				wrong += d->words[g][n][TENANT_OUT + i] != 1;
		}
	}
	_exit(wrong != 0);
}

static void duo_start(struct duo *d)
{
	uint64_t end = now_ns() + TIMEOUT_MS * MS_NS;
	unsigned int g, n;
	pid_t pid;

	d->ready = d->stop = 0;
	for (g = 0; g < GPUS; g++)
		for (n = 0; n < QUEUES; n++) {
			if (!d->words[g][n])
				d->words[g][n] = shared_alloc(KFD_PAGE_BYTES);
			memset((void *)d->words[g][n], 0, KFD_PAGE_BYTES);
		}
	/* The struct is shared memory: the child must not write its 0 to @pid. */
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		duo_main(d);
	}
	d->pid = pid;
	while (!__atomic_load_n(&d->ready, __ATOMIC_ACQUIRE)) {
		if (waitpid(d->pid, NULL, WNOHANG) || now_ns() > end)
			bail("a process with queues on both GPUs did not start");
		sleep_ns(MS_NS);
	}
}

static void duo_kill(struct duo *d)
{
	kill(d->pid, SIGKILL);
	waitpid(d->pid, NULL, 0);
	d->pid = 0;
}

/* Ask it to end. Exit status 0: all results were right. */
static int duo_finish(struct duo *d)
{
	int status = -1;

	__atomic_store_n(&d->stop, 1, __ATOMIC_RELEASE);
	waitpid(d->pid, &status, 0);
	d->pid = 0;
	return status;
}

/* ---- states ------------------------------------------------------------------- */

static struct kfd_sched_device_state look(unsigned int gpu, int *queues)
{
	struct kfd_sched_device_state dev;
	int n = kfd_states(&k, k.gpus[gpu].gpu_id, states, MAX_STATES, &dev);

	must(n < 0 ? n : 0, "states");
	*queues = n < MAX_STATES ? n : MAX_STATES;
	return dev;
}

static unsigned int count_state(unsigned int gpu, uint32_t state)
{
	unsigned int found = 0;
	int i, n;

	look(gpu, &n);
	for (i = 0; i < n; i++)
		found += states[i].state == state;
	return found;
}

static unsigned int count_lc(unsigned int gpu)
{
	unsigned int found = 0;
	int i, n;

	look(gpu, &n);
	for (i = 0; i < n; i++)
		found += states[i].sched_class == KFD_SCHED_CLASS_LC && states[i].level == 2;
	return found;
}

static bool await_queues(unsigned int gpu, int want)
{
	uint64_t end = now_ns() + TIMEOUT_MS * MS_NS;
	int n;

	do {
		look(gpu, &n);
		if (n == want)
			return true;
		sleep_ns(10 * MS_NS);
	} while (now_ns() < end);
	return false;
}

/*
 * The number of endless waves of a GPU that beat. Waits until @want do, because turns
 * take long on a kernel with checks (KFD_SLOW_KERNEL).
 */
static unsigned int beating(const struct duo *d, unsigned int num, unsigned int gpu,
			    unsigned int want)
{
	uint64_t end = now_ns() + TIMEOUT_MS * MS_NS;
	uint32_t before[PROCESSES][QUEUES];
	unsigned int i, n, found;

	for (i = 0; i < num; i++)
		for (n = 0; n < QUEUES; n++)
			before[i][n] = d[i].words[gpu][n][TENANT_BEAT];
	do {
		sleep_ns(200 * MS_NS);
		found = 0;
		for (i = 0; i < num; i++)
			for (n = 0; n < QUEUES; n++)
				found += d[i].words[gpu][n][TENANT_BEAT] != before[i][n];
	} while (found < want && now_ns() < end);
	return found;
}

/* ---- the tests ----------------------------------------------------------------- */

static void check_topology(void)
{
	struct kfd_sched_device_state dev;
	unsigned int g;
	int n;

	if (!ok(k.num_gpus == GPUS, "the topology has %u GPUs", k.num_gpus))
		exit(done());
	ok(k.gpus[0].gpu_id != k.gpus[1].gpu_id && k.gpus[0].node != k.gpus[1].node &&
		   k.gpus[0].render_minor != k.gpus[1].render_minor,
	   "with ids, nodes and render nodes of their own");
	for (g = 0; g < GPUS; g++) {
		dev = look(g, &n);
		ok(k.gpus[g].cus == CUS, "GPU %u has %u CUs", g, k.gpus[g].cus);
		ok(dev.slots == SLOTS && dev.vmids == VMIDS, "%u slots and %u VMIDs", dev.slots,
		   dev.vmids);
	}
}

static void check_all_run(const struct duo *d, const char *when)
{
	unsigned int g;

	for (g = 0; g < GPUS; g++)
		ok(beating(d, PROCESSES, g, PROCESSES * QUEUES) == PROCESSES * QUEUES,
		   "%s all queues of GPU %u run", when, g);
}

static void check_hold(const struct duo *d, unsigned int gpu)
{
	unsigned int other = !gpu, beats;
	struct kfd_ioctl_sched_hold_args hold;
	int n;

	must(kfd_hold(&k, k.gpus[gpu].gpu_id, KFD_SCHED_LEVEL_MAX, 9000 * MS_NS, 0, &hold), "hold");
	ok(count_state(gpu, KFD_SCHED_STATE_HELD) == PROCESSES * QUEUES,
	   "a hold of GPU %u has all its queues off", gpu);
	ok(!count_state(other, KFD_SCHED_STATE_HELD), "and none of GPU %u", other);
	beats = beating(d, PROCESSES, gpu, 0);
	ok(!beats, "%u of its waves run", beats);
	beats = beating(d, PROCESSES, other, PROCESSES * QUEUES);
	ok(beats == PROCESSES * QUEUES, "and %u of GPU %u", beats, other);
	ok(look(gpu, &n).holders == 1 && look(other, &n).holders == 0, "one holder, there only");
	is_err(kfd_release(&k, k.gpus[other].gpu_id, hold.hold_id, NULL), -ENOENT,
	       "the other GPU does not know the hold");
	is_err(kfd_release(&k, k.gpus[gpu].gpu_id, hold.hold_id, NULL), 0, "release");
	check_all_run(d, "then");
}

static void check_classes(const struct duo *d)
{
	uint32_t pid = d[0].pid;

	is_err(kfd_set_class(&k, k.gpus[0].gpu_id, pid, UINT32_MAX, KFD_SCHED_CLASS_LC, 2, 0), 0,
	       "a process is LC on GPU 0");
	ok(count_lc(0) == QUEUES && !count_lc(1), "its %u queues there are, none of GPU 1",
	   count_lc(0));
	is_err(kfd_set_class(&k, k.gpus[1].gpu_id, pid, d[0].queue_id[0][0], KFD_SCHED_CLASS_LC, 2,
			     0),
	       -ENOENT, "a queue of GPU 0 is none of GPU 1");
	is_err(kfd_set_class(&k, k.gpus[1].gpu_id, pid, d[0].queue_id[1][0], KFD_SCHED_CLASS_LC, 2,
			     0),
	       0, "one of its queues of GPU 1 is LC");
	ok(count_lc(0) == QUEUES && count_lc(1) == 1, "it alone");
	is_err(kfd_set_class(&k, k.gpus[0].gpu_id, pid, UINT32_MAX, KFD_SCHED_CLASS_BE, 0, 0), 0,
	       "the process is BE again on GPU 0");
	ok(!count_lc(0) && count_lc(1) == 1, "and that queue still LC on GPU 1");
	must(kfd_set_class(&k, k.gpus[1].gpu_id, pid, UINT32_MAX, KFD_SCHED_CLASS_BE, 0, 0),
	     "class");
}

/* hsaq ls prints one line for each GPU and one for each queue. */
static void check_hsaq(void)
{
	unsigned int gpus = 0, queues[GPUS] = { 0 }, g;
	char line[512], id[32];
	FILE *f;

	f = popen("LD_LIBRARY_PATH=/t /t/hsaq ls", "re");
	while (f && fgets(line, sizeof(line), f)) {
		for (g = 0; g < GPUS; g++) {
			snprintf(id, sizeof(id), " %u ", k.gpus[g].gpu_id);
			if (!strstr(line, id))
				continue;
			if (strstr(line, "GPU-"))
				gpus++;
			else
				queues[g]++;
		}
	}
	ok(f && !pclose(f), "hsaq ls");
	ok(gpus == GPUS, "it shows %u GPUs", gpus);
	for (g = 0; g < GPUS; g++)
		ok(queues[g] == PROCESSES * QUEUES, "and %u queues of GPU %u", queues[g], g);
}

static void check_exit(struct duo *d)
{
	unsigned int g, beats;

	duo_kill(&d[PROCESSES - 1]);
	for (g = 0; g < GPUS; g++) {
		ok(await_queues(g, (PROCESSES - 1) * QUEUES), "a killed process leaves GPU %u", g);
		beats = beating(d, PROCESSES - 1, g, (PROCESSES - 1) * QUEUES);
		ok(beats == (PROCESSES - 1) * QUEUES, "%u waves of the others run there", beats);
	}
	duo_start(&d[PROCESSES - 1]);
}

static void check_reset(struct duo *d)
{
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd_sched_device_state dev;
	uint64_t resets = 1;
	unsigned int i;
	int n;

	must(kfd_hold(&k, k.gpus[1].gpu_id, KFD_SCHED_LEVEL_MAX, 9000 * MS_NS, 0, &hold), "hold");
	must(simgpu_write_u64(0, "reset", 1), "reset");
	ok(look(0, &n).resets == 1, "GPU 0 was reset");
	dev = look(1, &n);
	must(simgpu_read_u64(1, "resets", &resets), "resets");
	ok(!dev.resets && !resets, "GPU 1 was not");
	ok(dev.holders == 1, "a hold of GPU 1 is still on");
	is_err(kfd_release(&k, k.gpus[1].gpu_id, hold.hold_id, NULL), 0, "release");
	for (i = 0; i < PROCESSES; i++)
		duo_kill(&d[i]);
	ok(await_queues(0, 0) && await_queues(1, 0), "who lived through it goes");
	for (i = 0; i < PROCESSES; i++)
		duo_start(&d[i]);
	check_all_run(d, "after a reset of GPU 0");
}

int main(void)
{
	struct duo *d = shared_alloc(PROCESSES * sizeof(*d));
	unsigned int i, wrong = 0;

	kfd_open_sched(&k);
	driver_be_patient();
	check_topology();
	for (i = 0; i < PROCESSES; i++)
		duo_start(&d[i]);
	check_all_run(d, "at first");
	check_hold(d, 0);
	check_hold(d, 1);
	check_classes(d);
	check_hsaq();
	check_exit(d);
	check_reset(d);
	for (i = 0; i < PROCESSES; i++)
		wrong += duo_finish(&d[i]) != 0;
	ok(!wrong, "every wave ran once and to its end (%u processes wrong)", wrong);
	ok(!simgpu_checks(), "the GPUs saw nothing wrong");
	return done();
}
