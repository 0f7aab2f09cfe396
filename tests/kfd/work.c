// SPDX-License-Identifier: Apache-2.0
/* Kernels of several kinds with a known sum of results. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kfd.h"

static const char *const kernel_of[WORK_VARIANTS] = {
	"k_hash", "k_lds", "k_diverge", "k_regs", "k_f32", "k_hash", "k_lds", "k_regs",
};

struct variant {
	uint32_t iters, seed;
};

static const float F32_A = 0.9990234375f, F32_B = 1.0f / 3;

static struct variant variant_of(const struct kfd_work *w, uint32_t v)
{
	static const uint32_t turns[WORK_VARIANTS] = { 20, 4, 2, 3, 20, 40, 8, 5 };

	return (struct variant){ turns[v] * w->heavy, v * 0x9e37u + 1 };
}

static void fill_want(struct kfd_work *w, uint32_t v)
{
	struct variant var = variant_of(w, v);
	uint32_t i, *want = w->want[v];

	for (i = 0; i < w->items; i++) {
		if (!strcmp(kernel_of[v], "k_hash"))
			want[i] = kfd_ref_hash(i, var.iters, var.seed);
		else if (!strcmp(kernel_of[v], "k_diverge"))
			want[i] = kfd_ref_diverge(i, var.iters, var.seed);
		else if (!strcmp(kernel_of[v], "k_regs"))
			want[i] = kfd_ref_regs(i, var.iters, var.seed);
		else if (!strcmp(kernel_of[v], "k_f32"))
			want[i] = kfd_ref_f32(i, var.iters, F32_A, F32_B);
		else if (i % 256 == 0)
			kfd_ref_lds(i / 256, var.iters, var.seed, &want[i]);
	}
}

int kfd_work_create(struct kfd *k, unsigned int gpu, uint32_t items, uint32_t heavy,
		    struct kfd_work *w)
{
	uint32_t v;
	int err;

	memset(w, 0, sizeof(*w));
	if (!items || items % 256)
		return -EINVAL;
	w->k = k;
	w->items = items;
	w->heavy = heavy;
	err = kfd_code_load(k, gpu, KFD_MEM_VRAM, &w->code);
	if (!err)
		err = kfd_mem_alloc(k, gpu, items * 4, KFD_MEM_GTT, &w->out);
	for (v = 0; v < WORK_VARIANTS && !err; v++) {
		w->want[v] = calloc(items, 4);
		if (!w->want[v])
			return -ENOMEM;
		fill_want(w, v);
	}
	return err;
}

int kfd_work_launch(struct kfd_work *w, struct kfd_queue *q, uint32_t v, struct kfd_signal *signal)
{
	struct variant var = variant_of(w, v);
	struct k_hash_args args = { w->out.va, var.iters, var.seed };
	struct k_f32_args f32_args = { w->out.va, var.iters, F32_A, F32_B };
	bool f32 = !strcmp(kernel_of[v], "k_f32"), lds = !strcmp(kernel_of[v], "k_lds");
	struct kfd_launch l = {
		.kernel = kfd_code_find(&w->code, kernel_of[v]),
		.grid = { w->items },
		.workgroup = { lds ? 256 : 64 },
		.args = f32 ? (const void *)&f32_args : &args,
		.args_bytes = f32 ? sizeof(f32_args) : sizeof(args),
		.signal = signal,
	};
	int err = kfd_launch(q, &l);

	if (!err)
		w->launched[v]++;
	return err;
}

uint32_t kfd_work_wrong(const struct kfd_work *w)
{
	const uint32_t *out = w->out.va;
	uint32_t i, v, wrong = 0;

	for (i = 0; i < w->items; i++) {
		uint32_t sum = 0;

		for (v = 0; v < WORK_VARIANTS; v++)
			sum += w->launched[v] * w->want[v][i];
		wrong += out[i] != sum;
	}
	return wrong;
}

volatile uint32_t *kfd_lose_queue(struct kfd *k, struct kfd_queue *q)
{
	struct k_spin_args args;
	struct kfd_launch spin = {
		.grid = { 64 }, .workgroup = { 64 }, .args = &args, .args_bytes = sizeof(args)
	};
	struct kfd_code code;
	struct kfd_mem m;
	uint32_t *w;

	must(kfd_code_load(k, 0, KFD_MEM_VRAM, &code), "code");
	must(kfd_mem_alloc(k, 0, KFD_PAGE_BYTES, KFD_MEM_GTT, &m), "memory");
	must(kfd_queue_create(k, 0, 64, q), "queue");
	w = m.va;
	args = (struct k_spin_args){ w + TENANT_OUT, w + TENANT_BEAT, w + TENANT_STOP };
	spin.kernel = kfd_code_find(&code, "k_spin");
	must(kfd_launch(q, &spin), "launch");
	must(wait_word(&w[TENANT_BEAT], 1, 20000), "the wave runs");
	must(simgpu_write_u64(0, "engine/faults/ignore", 1), "ignore");
	return w;
}
