// SPDX-License-Identifier: Apache-2.0
/*
 * An HSA program over Debian's ROCr, the layer below HIP: queues, a dispatch,
 * barriers, signals by polling and by interrupt, an asynchronous handler, and
 * locked memory.
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP 64u
#define ITEMS 256u
#define ITERS 40u
#define SEED 7u

/* The code object of kernels.cl, as the build made it. */
__asm__(".section .rodata\n"
	".balign 64\n"
	"kernels_co: .incbin \"" KERNELS_CO "\"\n"
	"kernels_co_end:\n"
	".previous\n");
extern const uint8_t kernels_co[], kernels_co_end[];

static unsigned int points, failures;

static bool ok(bool good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %u - ", good ? "" : "not ", ++points);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
	failures += !good;
	return good;
}

static void must(hsa_status_t status, const char *what)
{
	const char *text = "?";

	if (status == HSA_STATUS_SUCCESS)
		return;
	hsa_status_string(status, &text);
	printf("Bail out! %s: %s\n", what, text);
	exit(1);
}
#define MUST(call) must(call, #call)

struct pools {
	hsa_agent_t gpu;
	bool has_gpu;
	hsa_amd_memory_pool_t kernarg;
	hsa_amd_memory_pool_t system;
};

static struct pools p;

static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void *data)
{
	hsa_amd_segment_t segment;
	uint32_t flags;

	MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
		p.kernarg = pool;
	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)
		p.system = pool;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t on_agent(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU)
		return hsa_amd_agent_iterate_memory_pools(agent, on_pool, NULL);
	if (!p.has_gpu)
		p.gpu = agent;
	p.has_gpu = true;
	return HSA_STATUS_SUCCESS;
}

/* Zeroed system memory that the GPU can access. */
static void *shared(hsa_amd_memory_pool_t pool, size_t bytes)
{
	void *mem;

	MUST(hsa_amd_memory_pool_allocate(pool, bytes, 0, &mem));
	MUST(hsa_amd_agents_allow_access(1, &p.gpu, NULL, mem));
	memset(mem, 0, bytes);
	return mem;
}

static uint64_t load_kernel(const char *name)
{
	hsa_code_object_reader_t reader;
	hsa_executable_symbol_t symbol;
	hsa_executable_t exe;
	uint64_t object;

	MUST(hsa_code_object_reader_create_from_memory(
		kernels_co, (size_t)(kernels_co_end - kernels_co), &reader));
	MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
				       NULL, &exe));
	MUST(hsa_executable_load_agent_code_object(exe, p.gpu, reader, NULL, NULL));
	MUST(hsa_executable_freeze(exe, NULL));
	MUST(hsa_executable_get_symbol_by_name(exe, name, &p.gpu, &symbol));
	MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
					    &object));
	return object;
}

static uint64_t next_packet(hsa_queue_t *q, void **slot)
{
	uint64_t index = hsa_queue_add_write_index_relaxed(q, 1);

	*slot = (char *)q->base_address + (index % q->size) * 64;
	return index;
}

static void ring(hsa_queue_t *q, void *slot, uint64_t index, uint16_t type)
{
	uint16_t header = type << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

	__atomic_store_n((uint16_t *)slot, header, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(q->doorbell_signal, (hsa_signal_value_t)index);
}

static void dispatch(hsa_queue_t *q, uint64_t kernel, void *args, hsa_signal_t done)
{
	hsa_kernel_dispatch_packet_t *d;
	void *slot;
	uint64_t index = next_packet(q, &slot);

	d = slot;
	d->setup = 1;
	d->workgroup_size_x = GROUP;
	d->workgroup_size_y = d->workgroup_size_z = 1;
	d->grid_size_x = ITEMS;
	d->grid_size_y = d->grid_size_z = 1;
	d->private_segment_size = d->group_segment_size = 0;
	d->kernel_object = kernel;
	d->kernarg_address = args;
	d->completion_signal = done;
	ring(q, slot, index, HSA_PACKET_TYPE_KERNEL_DISPATCH);
}

static void barrier(hsa_queue_t *q, hsa_signal_t dep, hsa_signal_t done, uint16_t type)
{
	hsa_barrier_and_packet_t *b; /* barrier-or has the same layout */
	void *slot;
	uint64_t index = next_packet(q, &slot);

	b = slot;
	memset(b->dep_signal, 0, sizeof(b->dep_signal));
	b->dep_signal[2] = dep;
	b->completion_signal = done;
	ring(q, slot, index, type);
}

static hsa_signal_value_t wait_one(hsa_signal_t s, hsa_wait_state_t how)
{
	return hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, how);
}

static uint32_t hash(uint32_t i)
{
	uint32_t x = i ^ SEED;

	for (uint32_t n = 0; n < ITERS; n++) {
		x = x * 1664525u + 1013904223u;
		x ^= x >> 13;
	}
	return x;
}

static uint32_t wrong(const uint32_t *out, uint32_t times)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ITEMS; i++)
		count += out[i] != times * hash(i);
	return count;
}

struct args {
	uint32_t *out;
	uint32_t iters, seed;
};

static bool on_signal(hsa_signal_value_t value, void *arg)
{
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
	return false;
}

static void dispatches(hsa_queue_t *q, uint64_t kernel, struct args *args)
{
	hsa_signal_t done;
	int called = 0;

	MUST(hsa_signal_create(1, 0, NULL, &done));
	dispatch(q, kernel, args, done);
	wait_one(done, HSA_WAIT_STATE_ACTIVE);
	ok(!wrong(args->out, 1), "a dispatch, waited for by polling");

	hsa_signal_store_relaxed(done, 1);
	dispatch(q, kernel, args, done);
	wait_one(done, HSA_WAIT_STATE_BLOCKED);
	ok(!wrong(args->out, 2), "a dispatch, waited for by an interrupt");

	hsa_signal_store_relaxed(done, 1);
	MUST(hsa_amd_signal_async_handler(done, HSA_SIGNAL_CONDITION_LT, 1, on_signal, &called));
	dispatch(q, kernel, args, done);
	while (!__atomic_load_n(&called, __ATOMIC_ACQUIRE))
		;
	ok(!wrong(args->out, 3), "a dispatch that calls an asynchronous handler");
	MUST(hsa_signal_destroy(done));
}

static void barriers(hsa_queue_t *q, hsa_queue_t *other, uint64_t kernel, struct args *args)
{
	hsa_signal_t gate, first, last;

	MUST(hsa_signal_create(1, 0, NULL, &gate));
	MUST(hsa_signal_create(1, 0, NULL, &first));
	MUST(hsa_signal_create(1, 0, NULL, &last));
	barrier(q, gate, (hsa_signal_t){ 0 }, HSA_PACKET_TYPE_BARRIER_AND);
	dispatch(q, kernel, args, first);
	barrier(other, first, last, HSA_PACKET_TYPE_BARRIER_OR);
	ok(hsa_signal_load_scacquire(first) == 1 && hsa_signal_load_scacquire(last) == 1,
	   "nothing passes a barrier whose signal is not there");
	hsa_signal_store_screlease(gate, 0);
	wait_one(last, HSA_WAIT_STATE_BLOCKED);
	ok(!wrong(args->out, 4), "barrier-and and barrier-or, across two queues");
	MUST(hsa_signal_destroy(gate));
	MUST(hsa_signal_destroy(first));
	MUST(hsa_signal_destroy(last));
}

static void locked(hsa_queue_t *q, uint64_t kernel, struct args *args)
{
	static uint32_t mine[ITEMS];
	hsa_signal_t done;
	void *gpu_view;

	MUST(hsa_amd_memory_lock(mine, sizeof(mine), &p.gpu, 1, &gpu_view));
	MUST(hsa_signal_create(1, 0, NULL, &done));
	args->out = gpu_view;
	dispatch(q, kernel, args, done);
	wait_one(done, HSA_WAIT_STATE_BLOCKED);
	ok(!wrong(mine, 1), "results in the program's own memory, locked");
	MUST(hsa_amd_memory_unlock(mine));
	MUST(hsa_signal_destroy(done));
}

int main(void)
{
	hsa_queue_t *q, *other;
	struct args *args;
	uint64_t kernel;

	MUST(hsa_init());
	MUST(hsa_iterate_agents(on_agent, NULL));
	if (!ok(p.has_gpu, "there is a GPU"))
		return 1;
	MUST(hsa_queue_create(p.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
			      &q));
	MUST(hsa_queue_create(p.gpu, 64, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, UINT32_MAX, UINT32_MAX,
			      &other));
	ok(true, "two queues");
	kernel = load_kernel("k_hash.kd");
	args = shared(p.kernarg, sizeof(*args));
	*args = (struct args){ .out = shared(p.system, ITEMS * 4), .iters = ITERS, .seed = SEED };
	dispatches(q, kernel, args);
	barriers(q, other, kernel, args);
	locked(q, kernel, args);
	MUST(hsa_queue_destroy(other));
	MUST(hsa_queue_destroy(q));
	ok(hsa_shut_down() == HSA_STATUS_SUCCESS, "shut down");
	printf("1..%u\n", points);
	return failures != 0;
}
