// SPDX-License-Identifier: Apache-2.0
/* Devices, memory, code and signals over raw /dev/kfd calls. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kfd.h"

#define SIMD_PER_CU_GFX10 2 /* and later; 4 before */
#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"
#define EVENT_PAGE_BYTES (KFD_SIGNAL_EVENT_LIMIT * 8)
#define SIGNAL_POOL_BYTES (1024 * sizeof(struct kfd_signal))

_Static_assert(sizeof(struct kfd_signal) == 64, "amd_signal_t");
_Static_assert(offsetof(struct kfd_signal, start_ts) == 32, "amd_signal_t");
_Static_assert(sizeof(struct kfd_packet) == 64, "AQL packet");
_Static_assert(offsetof(struct kfd_packet, dispatch.kernel_object) == 32, "AQL packet");
_Static_assert(offsetof(struct kfd_packet, barrier.dep) == 8, "AQL packet");

__asm__(".section .rodata\n"
	".balign 64\n"
	".global kernels_co, kernels_co_end\n"
	"kernels_co: .incbin \"" KERNELS_CO "\"\n"
	"kernels_co_end:\n"
	".previous\n");
extern const uint8_t kernels_co[], kernels_co_end[];

int kfd_call(const struct kfd *k, unsigned long request, void *args)
{
	return ioctl(k->fd, request, args) < 0 ? -errno : 0;
}

/* ---- devices --------------------------------------------------------------- */

static uint64_t node_property(uint32_t node, const char *name)
{
	char path[128], key[64];
	unsigned long long value, found = 0;
	FILE *f;

	snprintf(path, sizeof(path), TOPOLOGY "/%u/properties", node);
	f = fopen(path, "re");
	while (f && fscanf(f, "%63s %llu", key, &value) == 2)
		if (!strcmp(key, name))
			found = value;
	if (f)
		fclose(f);
	return found;
}

static uint32_t node_gpu_id(uint32_t node, bool *exists)
{
	unsigned int id = 0;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), TOPOLOGY "/%u/gpu_id", node);
	f = fopen(path, "re");
	*exists = f;
	if (f) {
		if (fscanf(f, "%u", &id) != 1)
			id = 0;
		fclose(f);
	}
	return id;
}

static void read_gpu(struct kfd_gpu *gpu, uint32_t node)
{
	uint32_t per_cu = node_property(node, "simd_per_cu");
	uint32_t arrays = node_property(node, "array_count");
	uint32_t per_engine = node_property(node, "simd_arrays_per_engine");
	uint32_t waves;

	gpu->node = node;
	gpu->render_fd = -1;
	gpu->render_minor = node_property(node, "drm_render_minor");
	gpu->simd_count = node_property(node, "simd_count");
	gpu->gfx_version = node_property(node, "gfx_target_version");
	gpu->cwsr_bytes = node_property(node, "cwsr_size");
	gpu->ctl_stack_bytes = node_property(node, "ctl_stack_size");
	gpu->xccs = node_property(node, "num_xcc");
	if (!gpu->xccs)
		gpu->xccs = 1;
	gpu->cus = per_cu ? gpu->simd_count / per_cu / gpu->xccs : 0;
	/* As kfd_queue_ctx_save_restore_size() of the driver has it. */
	waves = gpu->cus * 40;
	if (per_cu == SIMD_PER_CU_GFX10)
		waves = gpu->cus * 32;
	else if (per_engine && waves > arrays / per_engine * 512)
		waves = arrays / per_engine * 512;
	gpu->debug_bytes = (waves * 32 + 63) / 64 * 64;
}

int kfd_open(struct kfd *k)
{
	bool exists = true;
	uint32_t node, id;
	int err;

	memset(k, 0, sizeof(*k));
	k->fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (k->fd < 0)
		return -errno;
	err = kfd_call(k, AMDKFD_IOC_GET_VERSION, &k->version);
	if (err)
		return err;
	for (node = 0; exists && k->num_gpus < KFD_MAX_GPUS; node++) {
		id = node_gpu_id(node, &exists);
		if (!id)
			continue;
		k->gpus[k->num_gpus].gpu_id = id;
		k->gpus[k->num_gpus].index = k->num_gpus;
		read_gpu(&k->gpus[k->num_gpus++], node);
	}
	return k->num_gpus ? 0 : -ENODEV;
}

int kfd_acquire(struct kfd *k, unsigned int gpu)
{
	struct kfd_process_device_apertures apertures[KFD_MAX_GPUS];
	struct kfd_ioctl_get_process_apertures_new_args get = {
		.kfd_process_device_apertures_ptr = (uintptr_t)apertures,
		.num_of_nodes = k->num_gpus,
	};
	struct kfd_gpu *g = &k->gpus[gpu];
	struct kfd_ioctl_acquire_vm_args acquire = { .gpu_id = g->gpu_id };
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/dev/dri/renderD%u", g->render_minor);
	g->render_fd = open(path, O_RDWR | O_CLOEXEC);
	if (g->render_fd < 0)
		return -errno;
	err = kfd_call(k, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &get);
	if (err)
		return err;
	acquire.drm_fd = g->render_fd;
	return kfd_call(k, AMDKFD_IOC_ACQUIRE_VM, &acquire);
}

int kfd_setup(struct kfd *k)
{
	int err = kfd_open(k);

	return err ? err : kfd_acquire(k, 0);
}

void kfd_close(struct kfd *k)
{
	unsigned int i;

	for (i = 0; i < k->num_gpus; i++)
		if (k->gpus[i].render_fd >= 0)
			close(k->gpus[i].render_fd);
	close(k->fd);
}

/* ---- memory ---------------------------------------------------------------- */

static int map_to_gpu(struct kfd *k, struct kfd_mem *mem)
{
	struct kfd_ioctl_map_memory_to_gpu_args map = {
		.handle = mem->handle,
		.device_ids_array_ptr = (uintptr_t)&mem->gpu_id,
		.n_devices = 1,
	};
	int err = kfd_call(k, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map);

	mem->mapped = !err;
	return err;
}

int kfd_mem_import(struct kfd *k, unsigned int gpu, void *va, uint64_t bytes, struct kfd_mem *mem)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args alloc = {
		.gpu_id = k->gpus[gpu].gpu_id,
		.flags = KFD_MEM_USERPTR,
		.va_addr = (uintptr_t)va,
		.mmap_offset = (uintptr_t)va,
		.size = bytes,
	};
	int err = kfd_call(k, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &alloc);

	if (err)
		return err;
	*mem = (struct kfd_mem){
		.va = va,
		.bytes = bytes,
		.handle = alloc.handle,
		.gpu_id = alloc.gpu_id,
	};
	return map_to_gpu(k, mem);
}

int kfd_mem_alloc(struct kfd *k, unsigned int gpu, uint64_t bytes, uint32_t flags,
		  struct kfd_mem *mem)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args alloc = {
		.gpu_id = k->gpus[gpu].gpu_id,
		.flags = flags,
	};
	bool own = flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR;
	int err;

	memset(mem, 0, sizeof(*mem));
	mem->bytes = (bytes + KFD_PAGE_BYTES - 1) / KFD_PAGE_BYTES * KFD_PAGE_BYTES;
	mem->gpu_id = alloc.gpu_id;
	mem->va = mmap(NULL, mem->bytes, own ? PROT_READ | PROT_WRITE : PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem->va == MAP_FAILED)
		return -errno;
	alloc.va_addr = (uintptr_t)mem->va;
	alloc.size = mem->bytes;
	alloc.mmap_offset = own ? alloc.va_addr : 0;
	err = kfd_call(k, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &alloc);
	if (err) {
		munmap(mem->va, mem->bytes);
		return err;
	}
	mem->handle = alloc.handle;
	if (!own && mmap(mem->va, mem->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 k->gpus[gpu].render_fd, alloc.mmap_offset) == MAP_FAILED)
		return -errno;
	memset(mem->va, 0, mem->bytes);
	return map_to_gpu(k, mem);
}

int kfd_mem_free(struct kfd *k, struct kfd_mem *mem)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args unmap = {
		.handle = mem->handle,
		.device_ids_array_ptr = (uintptr_t)&mem->gpu_id,
		.n_devices = 1,
	};
	struct kfd_ioctl_free_memory_of_gpu_args release = { .handle = mem->handle };
	int err = 0;

	if (!mem->handle)
		return 0;
	if (mem->mapped)
		err = kfd_call(k, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &unmap);
	if (!err)
		err = kfd_call(k, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &release);
	munmap(mem->va, mem->bytes);
	memset(mem, 0, sizeof(*mem));
	return err;
}

/* ---- code ------------------------------------------------------------------ */

static const Elf64_Phdr *segments(unsigned int *num)
{
	const Elf64_Ehdr *eh = (const void *)kernels_co;

	*num = eh->e_phnum;
	return (const void *)(kernels_co + eh->e_phoff);
}

int kfd_code_load(struct kfd *k, unsigned int gpu, uint32_t flags, struct kfd_code *code)
{
	const Elf64_Phdr *ph;
	uint64_t bytes = 0;
	unsigned int i, num;
	int err;

	ph = segments(&num);
	for (i = 0; i < num; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr + ph[i].p_memsz > bytes)
			bytes = ph[i].p_vaddr + ph[i].p_memsz;
	err = kfd_mem_alloc(k, gpu, bytes, flags, &code->mem);
	if (err)
		return err;
	/* No relocations: kernels and descriptors refer to each other by distance. */
	for (i = 0; i < num; i++)
		if (ph[i].p_type == PT_LOAD)
			memcpy((uint8_t *)code->mem.va + ph[i].p_vaddr, kernels_co + ph[i].p_offset,
			       ph[i].p_filesz);
	return 0;
}

uint64_t kfd_code_find(const struct kfd_code *code, const char *name)
{
	const Elf64_Ehdr *eh = (const void *)kernels_co;
	const Elf64_Shdr *sh = (const void *)(kernels_co + eh->e_shoff);
	char want[64];
	unsigned int i, n;

	snprintf(want, sizeof(want), "%s.kd", name);
	for (i = 0; i < eh->e_shnum; i++) {
		const Elf64_Sym *sym = (const void *)(kernels_co + sh[i].sh_offset);
		const char *strings = (const char *)kernels_co + sh[sh[i].sh_link].sh_offset;

		if (sh[i].sh_type != SHT_DYNSYM)
			continue;
		for (n = 0; n < sh[i].sh_size / sizeof(*sym); n++)
			if (!strcmp(strings + sym[n].st_name, want))
				return (uintptr_t)code->mem.va + sym[n].st_value;
	}
	return 0;
}

/* ---- signals --------------------------------------------------------------- */

static int create_event(struct kfd *k, struct kfd_signal *sig)
{
	struct kfd_ioctl_create_event_args create = {
		.event_type = KFD_IOC_EVENT_SIGNAL,
		.auto_reset = 1,
	};
	int err;

	if (!k->event_page.handle) {
		err = kfd_mem_alloc(k, 0, EVENT_PAGE_BYTES, KFD_MEM_GTT, &k->event_page);
		if (err)
			return err;
		create.event_page_offset = k->event_page.handle;
	}
	err = kfd_call(k, AMDKFD_IOC_CREATE_EVENT, &create);
	if (err)
		return err;
	sig->event_mailbox_ptr = (uintptr_t)k->event_page.va + create.event_slot_index * 8ull;
	sig->event_id = create.event_id;
	return 0;
}

struct kfd_signal *kfd_signal_create(struct kfd *k, int64_t value, bool by_event)
{
	struct kfd_signal *sig;

	if (!k->signal_pool.handle &&
	    kfd_mem_alloc(k, 0, SIGNAL_POOL_BYTES, KFD_MEM_GTT, &k->signal_pool))
		return NULL;
	if (k->signals_used == SIGNAL_POOL_BYTES / sizeof(*sig))
		return NULL;
	sig = (struct kfd_signal *)k->signal_pool.va + k->signals_used;
	memset(sig, 0, sizeof(*sig));
	sig->kind = 1; /* AMD_SIGNAL_KIND_USER */
	sig->value = value;
	if (by_event && create_event(k, sig))
		return NULL;
	k->signals_used++;
	return sig;
}

int64_t kfd_signal_value(const struct kfd_signal *sig)
{
	return __atomic_load_n(&sig->value, __ATOMIC_ACQUIRE);
}

void kfd_signal_set(struct kfd_signal *sig, int64_t value)
{
	__atomic_store_n(&sig->value, value, __ATOMIC_RELEASE);
}

static void wait_event(struct kfd *k, struct kfd_signal *sig, uint32_t timeout_ms)
{
	struct kfd_event_data data = { .event_id = sig->event_id };
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)&data,
		.num_events = 1,
		.timeout = timeout_ms,
	};

	kfd_call(k, AMDKFD_IOC_WAIT_EVENTS, &args);
}

int kfd_signal_wait(struct kfd *k, struct kfd_signal *sig, int64_t limit, int timeout_ms)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ull;
	uint64_t nap_ns = 5000;

	while (kfd_signal_value(sig) >= limit) {
		uint64_t now = now_ns();

		if (now > end)
			return -ETIME;
		if (sig->event_id) {
			wait_event(k, sig, (end - now) / 1000000 + 1);
		} else {
			sleep_ns(nap_ns);
			if (nap_ns < 200000)
				nap_ns += nap_ns / 4;
		}
	}
	return 0;
}

/* ---- the software GPU's debugfs ------------------------------------------------ */

static int debugfs_open(unsigned int gpu, const char *file, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/simgpu/%u/%s", gpu, file);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int simgpu_write(unsigned int gpu, const char *file, const char *text)
{
	int fd = debugfs_open(gpu, file, O_WRONLY);
	int err;

	if (fd < 0)
		return fd;
	err = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

int simgpu_write_u64(unsigned int gpu, const char *file, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	return simgpu_write(gpu, file, text);
}

int simgpu_read_u64(unsigned int gpu, const char *file, uint64_t *value)
{
	int fd = debugfs_open(gpu, file, O_RDONLY);
	char text[32];
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -EIO;
	text[n] = 0;
	*value = strtoull(text, NULL, 0);
	return 0;
}

uint64_t simgpu_param(const char *name, uint64_t value)
{
	uint64_t before = 0;
	char file[64];

	snprintf(file, sizeof(file), "engine/params/%s", name);
	must(simgpu_read_u64(0, file, &before), name);
	must(simgpu_write_u64(0, file, value), name);
	return before;
}
