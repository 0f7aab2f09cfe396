// SPDX-License-Identifier: Apache-2.0
/*
 * Out of memory at each allocation in turn. For each call the first allocation fails,
 * then the second, and so on, until the call makes no more. A call returns -ENOMEM or
 * works without the memory. It leaks nothing, and works when repeated. Needs a kernel
 * with fault injection: see fault-injection.rst, "systematic faults using fail-nth".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define FAIL_NTH "/proc/thread-self/fail-nth"
#define DEBUG "/sys/kernel/debug/"
#define MOST_ALLOCATIONS 1000
#define BYTES 65536
#define EOP_BYTES 4096
#define RING_BYTES 4096
#define HOLD_NS 1000000000ull

static struct kfd k;
static uint32_t gpu_id;
static int fail_nth_fd = -1;

/* The objects of an operation, created by its before() or by the call itself. */
static struct kfd_mem mem;
static struct kfd_mem ring, pointers, eop, cwsr;
static uint32_t queue_id, event_id, hold_id;
static int fd = -1;
static void *place;

/* ---- one allocation that fails ------------------------------------------------- */

static void set_option(const char *path, const char *text)
{
	int opt = open(path, O_WRONLY | O_CLOEXEC);

	if (opt < 0 || write(opt, text, strlen(text)) < 0)
		bail("%s: %s", path, strerror(errno));
	close(opt);
}

/* Inject also into allocations that may sleep and into single pages; log no traces. */
static void arm(void)
{
	set_option(DEBUG "failslab/ignore-gfp-wait", "N");
	set_option(DEBUG "failslab/verbose", "0");
	set_option(DEBUG "fail_page_alloc/ignore-gfp-wait", "N");
	set_option(DEBUG "fail_page_alloc/ignore-gfp-highmem", "N");
	set_option(DEBUG "fail_page_alloc/min-order", "0");
	set_option(DEBUG "fail_page_alloc/verbose", "0");
}

static void write_nth(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	if (pwrite(fail_nth_fd, text, len, 0) != len)
		bail(FAIL_NTH ": %s", strerror(errno));
}

/* Returns whether the call reached the allocation, which then failed. */
static bool end_nth(void)
{
	char text[16] = "";

	if (pread(fail_nth_fd, text, sizeof(text) - 1, 0) <= 0)
		bail(FAIL_NTH ": %s", strerror(errno));
	write_nth(0);
	return !atoi(text);
}

/* ---- calls --------------------------------------------------------------------- */

static int call_open(void)
{
	fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

static int close_fd(void)
{
	return close(fd) ? -errno : 0;
}

static int before_acquire(void)
{
	char path[64];
	int err = kfd_open(&k);

	snprintf(path, sizeof(path), "/dev/dri/renderD%u", k.gpus[0].render_minor);
	fd = err ? -1 : open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -ENODEV : 0;
}

static int call_acquire(void)
{
	struct kfd_ioctl_acquire_vm_args args = { .drm_fd = fd, .gpu_id = k.gpus[0].gpu_id };

	return kfd_call(&k, AMDKFD_IOC_ACQUIRE_VM, &args);
}

static int call_apertures(void)
{
	struct kfd_process_device_apertures apertures[KFD_MAX_GPUS];
	struct kfd_ioctl_get_process_apertures_new_args args = {
		.kfd_process_device_apertures_ptr = (uintptr_t)apertures,
		.num_of_nodes = k.num_gpus,
	};

	return kfd_call(&k, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &args);
}

static int alloc(uint32_t flags)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = (uintptr_t)place,
		.size = BYTES,
		.mmap_offset = flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR ? (uintptr_t)place : 0,
		.gpu_id = gpu_id,
		.flags = flags,
	};
	int err = kfd_call(&k, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args);

	if (!err)
		mem = (struct kfd_mem){ .handle = args.handle, .gpu_id = gpu_id };
	return err;
}

static int call_alloc_gtt(void)
{
	return alloc(KFD_MEM_GTT);
}

static int call_alloc_vram(void)
{
	return alloc(KFD_MEM_VRAM);
}

static int call_alloc_userptr(void)
{
	return alloc(KFD_MEM_USERPTR);
}

static int call_map(void)
{
	struct kfd_ioctl_map_memory_to_gpu_args args = {
		.handle = mem.handle,
		.device_ids_array_ptr = (uintptr_t)&gpu_id,
		.n_devices = 1,
	};

	return kfd_call(&k, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args);
}

static int call_unmap(void)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args args = {
		.handle = mem.handle,
		.device_ids_array_ptr = (uintptr_t)&gpu_id,
		.n_devices = 1,
	};

	return kfd_call(&k, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &args);
}

static int call_free(void)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = { .handle = mem.handle };

	return kfd_call(&k, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args);
}

static int alloc_and_map(void)
{
	int err = call_alloc_gtt();

	return err ? err : call_map();
}

static int unmap_and_free(void)
{
	int err = call_unmap();

	return err ? err : call_free();
}

static int call_create_queue(void)
{
	struct kfd_ioctl_create_queue_args args = {
		.ring_base_address = (uintptr_t)ring.va,
		.ring_size = RING_BYTES,
		.write_pointer_address = (uintptr_t)pointers.va,
		.read_pointer_address = (uintptr_t)pointers.va + 64,
		.gpu_id = gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = 7,
		.eop_buffer_address = (uintptr_t)eop.va,
		.eop_buffer_size = EOP_BYTES,
		.ctx_save_restore_address = (uintptr_t)cwsr.va,
		.ctx_save_restore_size = k.gpus[0].cwsr_bytes,
		.ctl_stack_size = k.gpus[0].ctl_stack_bytes,
	};
	int err = kfd_call(&k, AMDKFD_IOC_CREATE_QUEUE, &args);

	if (!err)
		queue_id = args.queue_id;
	return err;
}

static int update_queue(uint32_t percentage)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = (uintptr_t)ring.va,
		.ring_size = RING_BYTES,
		.queue_id = queue_id,
		.queue_percentage = percentage,
		.queue_priority = 7,
	};

	return kfd_call(&k, AMDKFD_IOC_UPDATE_QUEUE, &args);
}

static int call_stop_queue(void)
{
	return update_queue(0);
}

static int call_start_queue(void)
{
	return update_queue(100);
}

static int create_stopped(void)
{
	int err = call_create_queue();

	return err ? err : call_stop_queue();
}

static int call_destroy_queue(void)
{
	struct kfd_ioctl_destroy_queue_args args = { .queue_id = queue_id };

	return kfd_call(&k, AMDKFD_IOC_DESTROY_QUEUE, &args);
}

static int call_create_event(void)
{
	struct kfd_ioctl_create_event_args args = { .event_type = KFD_IOC_EVENT_SIGNAL };
	int err = kfd_call(&k, AMDKFD_IOC_CREATE_EVENT, &args);

	if (!err)
		event_id = args.event_id;
	return err;
}

static int call_destroy_event(void)
{
	struct kfd_ioctl_destroy_event_args args = { .event_id = event_id };

	return kfd_call(&k, AMDKFD_IOC_DESTROY_EVENT, &args);
}

static int call_set_class(void)
{
	return kfd_set_class(&k, gpu_id, 0, UINT32_MAX, KFD_SCHED_CLASS_LC, 3, 0);
}

static int set_class_back(void)
{
	return kfd_set_class(&k, gpu_id, 0, UINT32_MAX, KFD_SCHED_CLASS_BE, 0, 0);
}

static int hold(uint32_t flags)
{
	struct kfd_ioctl_sched_hold_args args = {
		.size = sizeof(args),
		.flags = flags,
		.gpu_id = gpu_id,
		.limit_ns = HOLD_NS,
		.grant_fd = -1,
		.queue_id = flags & KFD_SCHED_HOLD_ONLY ? KFD_SCHED_ALL_QUEUES : 0,
	};
	int err = kfd_call(&k, AMDKFD_IOC_SCHED_HOLD, &args);

	if (!err)
		hold_id = args.hold_id;
	return err;
}

static int call_hold(void)
{
	return hold(0);
}

static int call_hold_nowait(void)
{
	return hold(KFD_SCHED_HOLD_NOWAIT);
}

static int call_hold_only(void)
{
	return hold(KFD_SCHED_HOLD_ONLY);
}

static int call_release(void)
{
	return kfd_release(&k, gpu_id, hold_id, NULL);
}

static int call_state(void)
{
	struct kfd_sched_queue_state states[16];
	struct kfd_sched_device_state dev;
	int num = kfd_states(&k, gpu_id, states, 16, &dev);

	return num < 0 ? num : 0;
}

static int call_wait(void)
{
	struct kfd_ioctl_sched_wait_args args = {
		.size = sizeof(args),
		.gpu_id = gpu_id,
		.grant_fd = -1,
	};

	return kfd_call(&k, AMDKFD_IOC_SCHED_WAIT, &args);
}

static int call_open_grant(void)
{
	fd = open("/dev/kfd_sched", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

static int call_narrow(void)
{
	struct kfd_sched_grant_args args = {
		.size = sizeof(args),
		.rights = KFD_SCHED_RIGHT_READ,
	};

	return ioctl(fd, KFD_SCHED_IOC_NARROW, &args) ? -errno : 0;
}

/* ---- all calls -------------------------------------------------------------------- */

/**
 * struct op - a call under test
 * @least: minimum of its allocations; with fewer, the injection did not work
 * @fresh: run in a new process each time, because the call cannot be undone
 * @before: creates the objects that the call needs
 * @call: succeeds, or fails without any effect
 * @after: undoes @before and @call
 */
static const struct op {
	const char *name;
	unsigned int least;
	bool fresh;
	int (*before)(void);
	int (*call)(void);
	int (*after)(void);
} ops[] = {
	{ "open /dev/kfd", 5, true, NULL, call_open, NULL },
	{ "acquire VM", 1, true, before_acquire, call_acquire, NULL },
	{ "apertures", 1, false, NULL, call_apertures, NULL },
	{ "alloc GTT", 3, false, NULL, call_alloc_gtt, call_free },
	{ "alloc VRAM", 3, false, NULL, call_alloc_vram, call_free },
	{ "alloc userptr", 3, false, NULL, call_alloc_userptr, call_free },
	{ "map", 1, false, call_alloc_gtt, call_map, unmap_and_free },
	{ "unmap", 1, false, alloc_and_map, call_unmap, call_free },
	{ "free", 0, false, call_alloc_gtt, call_free, NULL },
	{ "create queue", 2, false, NULL, call_create_queue, call_destroy_queue },
	{ "stop queue", 0, false, call_create_queue, call_stop_queue, call_destroy_queue },
	{ "start queue", 0, false, create_stopped, call_start_queue, call_destroy_queue },
	{ "destroy queue", 0, false, call_create_queue, call_destroy_queue, NULL },
	{ "create event", 1, false, NULL, call_create_event, call_destroy_event },
	{ "destroy event", 0, false, call_create_event, call_destroy_event, NULL },
	{ "set class", 0, false, NULL, call_set_class, set_class_back },
	{ "hold", 1, false, NULL, call_hold, call_release },
	{ "hold, not waiting", 1, false, NULL, call_hold_nowait, call_release },
	{ "hold one process", 1, false, NULL, call_hold_only, call_release },
	{ "release", 0, false, call_hold, call_release, NULL },
	{ "state", 1, false, NULL, call_state, NULL },
	{ "wait", 0, false, NULL, call_wait, NULL },
	{ "open /dev/kfd_sched", 1, false, NULL, call_open_grant, close_fd },
	{ "narrow", 0, false, call_open_grant, call_narrow, close_fd },
};

/**
 * struct tally - results of one op
 * @failed: allocations that failed, one a call
 * @refused: calls that returned -ENOMEM
 * @odd: calls that returned another error
 * @again: calls that failed when repeated
 * @lost: calls whose @before or @after failed
 */
struct tally {
	unsigned int failed, refused, odd, again, lost;
	int odd_err, again_err, lost_err;
};

/* Returns false if the call has no nth allocation. */
static bool once(const struct op *op, unsigned int nth, struct tally *sum)
{
	int err = op->before ? op->before() : 0;
	bool failed;

	if (err) {
		sum->lost++;
		sum->lost_err = err;
		return false;
	}
	write_nth(nth);
	err = op->call();
	failed = end_nth();
	sum->failed += failed;
	if (err == -ENOMEM && failed) {
		sum->refused++;
	} else if (err) {
		sum->odd++;
		sum->odd_err = err;
	}
	if (err) {
		err = op->call();
		sum->again += err != 0;
		sum->again_err = err ? err : sum->again_err;
	}
	if (!err && op->after) {
		err = op->after();
		sum->lost += err != 0;
		sum->lost_err = err ? err : sum->lost_err;
	}
	return failed;
}

static void open_fail_nth(void)
{
	fail_nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	must(fail_nth_fd < 0 ? -errno : 0, FAIL_NTH);
}

static bool once_fresh(const struct op *op, unsigned int nth, struct tally *sum)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		open_fail_nth();
		_exit(once(op, nth, sum));
	}
	must(pid < 0 ? -errno : 0, "fork");
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status)) {
		sum->lost++;
		sum->lost_err = -EINTR;
	}
	return WIFEXITED(status) && WEXITSTATUS(status);
}

static uint64_t available(void)
{
	struct kfd_ioctl_get_available_memory_args args = { .gpu_id = gpu_id };

	must(kfd_call(&k, AMDKFD_IOC_AVAILABLE_MEMORY, &args), "available memory");
	return args.available;
}

static void check_op(const struct op *op)
{
	struct tally *sum = shared_alloc(sizeof(*sum));
	unsigned int nth = 1;
	uint64_t room = 0;
	bool more;

	if (!op->fresh)
		room = available();
	do {
		more = op->fresh ? once_fresh(op, nth, sum) : once(op, nth, sum);
	} while (more && nth++ < MOST_ALLOCATIONS);
	note("%s: odd %d, again %d, lost %d", op->name, sum->odd_err, sum->again_err,
	     sum->lost_err);
	ok(!sum->odd && !sum->again && !sum->lost && !more && sum->failed >= op->least,
	   "%s: %u allocations, each failed once: %u refusals (%u odd, %u not repeatable, %u lost)",
	   op->name, sum->failed, sum->refused, sum->odd, sum->again, sum->lost);
	if (!op->fresh && available() != room)
		ok(false, "%s: the memory there is, is as before (%llu bytes less)", op->name,
		   (unsigned long long)(room - available()));
}

static void make_buffers(void)
{
	must(kfd_mem_alloc(&k, 0, RING_BYTES, KFD_MEM_GTT, &ring), "ring");
	must(kfd_mem_alloc(&k, 0, KFD_PAGE_BYTES, KFD_MEM_GTT, &pointers), "pointers");
	must(kfd_mem_alloc(&k, 0, EOP_BYTES, KFD_MEM_VRAM, &eop), "EOP buffer");
	must(kfd_mem_alloc(&k, 0, (uint64_t)k.gpus[0].cwsr_bytes + k.gpus[0].debug_bytes,
			   KFD_MEM_GTT, &cwsr),
	     "save area");
	place = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	must(place == MAP_FAILED ? -errno : 0, "memory");
}

/* Create the event page, which the first event allocates and no event frees. */
static void make_event_page(void)
{
	must(kfd_signal_create(&k, 1, true) ? 0 : -ENOMEM, "event page");
}

static void check_all(bool fresh)
{
	unsigned int i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].fresh == fresh)
			check_op(&ops[i]);
}

int main(void)
{
	struct tenant *t = tenants_alloc(1);

	rng_seed(14);
	if (access(FAIL_NTH, W_OK)) {
		skip("a kernel without fault injection", "no call trips over memory that runs out");
		return done();
	}
	arm();
	expect_dmesg("amdgpu: .*");
	/* Before this process opens the KFD, because children would inherit the file. */
	check_all(true);
	tenants_simple(t, 1, 2, 2);
	kfd_open_sched(&k);
	must(kfd_acquire(&k, 0), "acquire VM");
	gpu_id = k.gpus[0].gpu_id;
	open_fail_nth();
	make_buffers();
	make_event_page();
	check_all(false);
	tenants_stop(t, 1, 120000);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
