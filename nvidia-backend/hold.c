// SPDX-License-Identifier: Apache-2.0
/*
 * hold.c - keep the device for a context that has nothing queued yet. A hold kernel
 * (hold_abi.h) runs on a stream of its own, and a word in memory that both sides map ends it.
 *
 * Tickets and the word only grow: nothing is ever reset, so a release can be one store from a
 * signal handler. Each ticket has a stamp in a ring. The results of a hold are read from it
 * later, without a wait.
 *
 * gp_nv_hold.lock serialises hold, stat and destroy; release takes no lock and touches only
 * the fields marked atomic.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvidia-backend/cuda.h"
#include "nvidia-backend/gdr.h"
#include "nvidia-backend/nv_internal.h"

#define RING 32u /* stamps; holds in flight at most */
#define WORD_OFFSET 0u
#define BEHIND_OFFSET 32u /* the last ticket with kernel and write complete */
#define QUEUED_OFFSET 48u /* target of hold_queued()'s write; never read */
#define STAMP_OFFSET 64u
#define AREA_BYTES (STAMP_OFFSET + RING * sizeof(struct gp_nv_hold_stamp))
#define DRAIN_NS 50000u /* measured: 13 us at most, while the group has the device */

struct gp_nv_hold {
	struct gp_hold base;
	struct gp_nv_cuda cu;
	void *context;
	void *module;
	void *function;
	void *stream;
	uint8_t *area;	       /* mapped host memory */
	uint64_t area_at;      /* its device address */
	struct gp_nv_gdr *gdr; /* the word in device memory; or NULL */
	volatile uint32_t *word;
	uint64_t word_at;
	pthread_mutex_t lock;
	uint32_t ticket;	 /* last one launched; atomic */
	uint32_t released;	 /* last one released; atomic */
	uint64_t held_at_ns;	 /* when hold() was called */
	uint64_t released_at_ns; /* atomic; of ticket `released` */
	uint32_t accounted;	 /* tickets known to have ended */
	uint64_t seq;
	uint64_t expired;
};

static struct gp_nv_hold *hold_of(struct gp_hold *hold)
{
	return gp_nv_of(gp_nv_hold, hold);
}

static volatile struct gp_nv_hold_stamp *stamp_of(const struct gp_nv_hold *h, uint32_t ticket)
{
	return (volatile struct gp_nv_hold_stamp *)(void *)(h->area + STAMP_OFFSET) + ticket % RING;
}

static volatile uint32_t *behind(const struct gp_nv_hold *h)
{
	return (volatile uint32_t *)(void *)(h->area + BEHIND_OFFSET);
}

/* Has the kernel of @ticket ended? Then its figures are valid. */
static bool ended(const struct gp_nv_hold *h, uint32_t ticket)
{
	return __atomic_load_n(&stamp_of(h, ticket)->ticket, __ATOMIC_ACQUIRE) == ticket;
}

static uint64_t now_ns(const struct gp_nv_hold *h)
{
	uint64_t ns = 0;

	gp_nv_now(h->base.dev, &ns);
	return ns;
}

/* ---- context: ours for the call, the thread's own left as it was ------------- */

struct guard {
	const struct gp_nv_cuda *cu;
	int capture_mode;
	bool capture_changed;
};

static int guard_enter(struct guard *g, const struct gp_nv_cuda *cu, void *ctx)
{
	int r = cu->ctx_push(ctx);

	if (r)
		return gp_nv_cuda_errno(r);
	g->cu = cu;
	/* The thread may be capturing a graph, and must be able to continue. */
	g->capture_mode = GP_CU_CAPTURE_MODE_RELAXED;
	g->capture_changed = cu->exchange_capture_mode &&
			     !cu->exchange_capture_mode(&g->capture_mode);
	return 0;
}

static void guard_leave(struct guard *g)
{
	void *ctx;

	if (g->capture_changed)
		g->cu->exchange_capture_mode(&g->capture_mode);
	g->cu->ctx_pop(&ctx);
}

/* ---- creating and destroying ------------------------------------------------------- */

/*
 * A group without a pending method gives up the device, whatever it runs. The write gives it
 * one: it waits for the kernel. A second kernel works as well, for 2 us more of the CPU. A
 * recorded event does not (docs/nvidia.md, tried on the card).
 */
static int launch(const struct gp_nv_hold *h, uint32_t ticket, uint64_t limit_ns)
{
	struct gp_nv_hold_params p = {
		.word = h->word_at,
		.stamp =
			h->area_at + STAMP_OFFSET + ticket % RING * sizeof(struct gp_nv_hold_stamp),
		.limit_ns = limit_ns,
		.ticket = ticket,
	};
	void *params[] = { &p.word, &p.stamp, &p.limit_ns, &p.ticket };
	int r;

	stamp_of(h, ticket)->start_ns = 0;
	r = h->cu.launch(h->function, 1, 1, 1, 1, 1, 1, 0, h->stream, params, NULL);
	if (!r)
		r = h->cu.stream_write32(h->stream, h->area_at + BEHIND_OFFSET, ticket, 0);
	return gp_nv_cuda_errno(r);
}

/* Is @context on @dev? True if the driver cannot answer. */
static int check_device(const struct gp_nv_hold *h)
{
	uint8_t uuid[16];
	int device;

	if (h->cu.ctx_get_device(&device))
		return -ENXIO;
	if (!h->cu.device_uuid || h->cu.device_uuid(uuid, device))
		return 0;
	return memcmp(uuid, h->base.dev->id.uuid, sizeof(uuid)) ? -ENODEV : 0;
}

static int make_area(struct gp_nv_hold *h)
{
	void *area;
	int r = h->cu.host_alloc(&area, AREA_BYTES, GP_CU_HOST_PORTABLE_DEVICEMAP);

	if (r)
		return gp_nv_cuda_errno(r);
	memset(area, 0, AREA_BYTES);
	h->area = area;
	r = h->cu.host_device_pointer(&h->area_at, area, 0);
	if (r)
		return gp_nv_cuda_errno(r);
	/* Ticket 0 would match a ring of zeros, so the first is 1. */
	h->gdr = gp_nv_gdr_create(&h->cu, &h->word, &h->word_at);
	if (!h->gdr) {
		h->word = (volatile uint32_t *)(void *)(h->area + WORD_OFFSET);
		h->word_at = h->area_at + WORD_OFFSET;
	}
	return 0;
}

static int make_stream(struct gp_nv_hold *h)
{
	int least = 0, greatest = 0;
	int r = h->cu.ctx_priorities(&least, &greatest);

	if (!r)
		r = h->cu.stream_create(&h->stream, GP_CU_STREAM_NON_BLOCKING, greatest);
	return gp_nv_cuda_errno(r);
}

static int make_kernel(struct gp_nv_hold *h)
{
	int r = h->cu.module_load(&h->module, gp_nv_hold_ptx);

	if (!r)
		r = h->cu.module_function(&h->function, h->module, GP_NV_HOLD_KERNEL);
	return gp_nv_cuda_errno(r);
}

/* Does everything now that the driver would do lazily at a first launch. */
static int warm_up(struct gp_nv_hold *h)
{
	uint32_t ticket = 1;
	int r = launch(h, ticket, 0);

	if (!r)
		r = gp_nv_cuda_errno(h->cu.stream_synchronize(h->stream));
	h->ticket = h->released = h->accounted = ticket;
	*h->word = ticket;
	return r;
}

/*
 * Wait for the write behind the last hold. A hold that was queued earlier, while its group had
 * the device, can keep its own group's kernels off until its limit: one in a hundred did. None
 * did after that write (docs/nvidia.md). There is no wait for a hold that has not begun or was
 * preempted: its end is a switch away.
 */
static void drain(const struct gp_nv_hold *h)
{
	const uint64_t from_ns = now_ns(h);

	if (!stamp_of(h, h->ticket)->start_ns)
		return;
	while (*behind(h) != h->ticket && now_ns(h) - from_ns < DRAIN_NS)
		;
}

/* Inside the context's guard. */
static void unmake(struct gp_nv_hold *h)
{
	if (h->stream) {
		h->cu.stream_synchronize(h->stream);
		h->cu.stream_destroy(h->stream);
	}
	if (h->module)
		h->cu.module_unload(h->module);
	gp_nv_gdr_destroy(h->gdr);
	if (h->area)
		h->cu.host_free(h->area);
}

/*
 * With one connection to the device all streams of a process are one queue. A hold would block
 * the work that it is for (libcuda takes 1 to 32; 8 if unset).
 */
bool gp_nv_one_connection(void)
{
	const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");

	return connections && strtol(connections, NULL, 10) == 1;
}

static int load_cuda(const struct gp_nv_transport *t, struct gp_nv_cuda *cu)
{
	void *library;

	if (t->cuda)
		return t->cuda(cu);
	library = gp_nv_libcuda(t);
	return library ? gp_nv_cuda_load(library, cu) : -ENODEV;
}

int gp_nv_hold_create(struct gp_device *dev, void *context, struct gp_hold **hold)
{
	const struct gp_nv_transport *t = gp_nv_of(gp_nv_device, dev)->t;
	struct gp_nv_hold *h;
	struct guard guard;
	int r;

	if (gp_nv_one_connection())
		return -EOPNOTSUPP;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->base.dev = dev;
	h->context = context;
	r = load_cuda(t, &h->cu);
	if (r)
		goto err_free;
	if (!h->context && h->cu.ctx_get_current(&h->context))
		h->context = NULL;
	r = h->context ? guard_enter(&guard, &h->cu, h->context) : -ENXIO;
	if (r)
		goto err_free;
	r = check_device(h);
	if (!r)
		r = make_area(h);
	if (!r)
		r = make_stream(h);
	if (!r)
		r = make_kernel(h);
	if (!r)
		r = warm_up(h);
	if (r)
		unmake(h);
	guard_leave(&guard);
	if (r)
		goto err_free;
	pthread_mutex_init(&h->lock, NULL);
	*hold = &h->base;
	return 0;

err_free:
	free(h);
	return r;
}

void gp_nv_hold_destroy(struct gp_hold *hold)
{
	struct gp_nv_hold *h = hold_of(hold);
	struct guard guard;

	if (!h)
		return;
	gp_nv_release(hold);
	/* If the app has destroyed its context, all of this went with it. */
	if (!guard_enter(&guard, &h->cu, h->context)) {
		unmake(h);
		guard_leave(&guard);
	}
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* ---- holding ------------------------------------------------------------------------ */

/* Account for tickets that ended since the last call. Lock held. */
static void account(struct gp_nv_hold *h)
{
	while (h->accounted != h->ticket && ended(h, h->accounted + 1)) {
		h->accounted++;
		if (stamp_of(h, h->accounted)->how & GP_NV_HOLD_LIMIT)
			h->expired++;
	}
}

static bool is_on(const struct gp_nv_hold *h)
{
	return h->ticket != __atomic_load_n(&h->released, __ATOMIC_ACQUIRE) &&
	       h->accounted != h->ticket;
}

/*
 * Give up @ticket after a failed launch: any part that was launched ends at once. Its stamp
 * marks it as ended, because a missing kernel never will.
 */
static void forfeit(struct gp_nv_hold *h, uint32_t ticket)
{
	*h->word = ticket;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	stamp_of(h, ticket)->ticket = ticket;
	*behind(h) = ticket;
	h->accounted = ticket;
	__atomic_store_n(&h->ticket, ticket, __ATOMIC_RELEASE);
	__atomic_store_n(&h->released, ticket, __ATOMIC_RELEASE);
}

int gp_nv_hold(struct gp_hold *hold, uint64_t limit_ns)
{
	struct gp_nv_hold *h = hold_of(hold);
	struct guard guard;
	uint64_t at_ns;
	uint32_t ticket;
	int r;

	if (!limit_ns || limit_ns > GP_NV_MAX_HOLD_NS)
		return -ERANGE;
	pthread_mutex_lock(&h->lock);
	account(h);
	ticket = h->ticket + 1;
	/* The stamp is reused, so the kernel of its last owner must have ended. */
	if (is_on(h) || (ticket > RING && !ended(h, ticket - RING))) {
		pthread_mutex_unlock(&h->lock);
		return -EBUSY;
	}
	at_ns = now_ns(h);
	r = guard_enter(&guard, &h->cu, h->context);
	if (!r) {
		drain(h);
		r = launch(h, ticket, limit_ns);
		if (r)
			forfeit(h, ticket);
		guard_leave(&guard);
	}
	if (!r) {
		h->held_at_ns = at_ns;
		h->seq++;
		__atomic_store_n(&h->ticket, ticket, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&h->lock);
	return r;
}

int gp_nv_release(struct gp_hold *hold)
{
	struct gp_nv_hold *h = hold_of(hold);
	uint32_t ticket = __atomic_load_n(&h->ticket, __ATOMIC_ACQUIRE);

	if (ticket == __atomic_load_n(&h->released, __ATOMIC_ACQUIRE))
		return 0;
	*h->word = ticket;
	/* A write-combining mapping holds stores back until a fence. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&h->released_at_ns, now_ns(h), __ATOMIC_RELAXED);
	__atomic_store_n(&h->released, ticket, __ATOMIC_RELEASE);
	return 0;
}

/*
 * A group without pending methods loses the front end, which moves to the next group that has
 * some, and waits there until that one gets the device. Work that the first group's other
 * channels queue meanwhile runs only after the next switch (EXPERIMENTS.md, "Launches and queues").
 * The write waits for all work before it.
 */
int gp_nv_hold_queued(struct gp_hold *hold, void *stream)
{
	const struct gp_nv_hold *h = hold_of(hold);
	struct guard guard;
	int r = guard_enter(&guard, &h->cu, h->context);

	if (r)
		return r;
	r = gp_nv_cuda_errno(h->cu.stream_write32(stream, h->area_at + QUEUED_OFFSET, 0, 0));
	guard_leave(&guard);
	return r;
}

/*
 * The hold was on from held_at_ns to released_at_ns by the CPU's clock, and from start to end
 * by the GPU's. The difference of these lengths is the time until it ran. No clock is compared
 * with another.
 */
static void measure(const struct gp_nv_hold *h, struct gp_hold_stat *stat)
{
	volatile struct gp_nv_hold_stamp *s = stamp_of(h, h->ticket);
	uint32_t how = s->how;
	uint64_t asked_ns;

	stat->held_ns = s->end_ns - s->start_ns;
	asked_ns = __atomic_load_n(&h->released_at_ns, __ATOMIC_RELAXED) - h->held_at_ns;
	if (how == GP_NV_HOLD_RELEASED) /* it found itself released */
		stat->missed_ns = asked_ns;
	if (how != (GP_NV_HOLD_RELEASED | GP_NV_HOLD_WAITED))
		return; /* it ended by its limit, or never had to wait */
	if (asked_ns > stat->held_ns)
		stat->switch_ns = asked_ns - stat->held_ns;
}

int gp_nv_hold_stat(struct gp_hold *hold, struct gp_hold_stat *stat)
{
	struct gp_nv_hold *h = hold_of(hold);
	struct gp_hold_stat s = { 0 };

	pthread_mutex_lock(&h->lock);
	account(h);
	s.seq = h->seq;
	s.expired = h->expired;
	s.from_ns = h->held_at_ns;
	if (h->ticket == __atomic_load_n(&h->released, __ATOMIC_ACQUIRE))
		s.until_ns = __atomic_load_n(&h->released_at_ns, __ATOMIC_RELAXED);
	if (h->seq && h->accounted == h->ticket &&
	    h->ticket == __atomic_load_n(&h->released, __ATOMIC_ACQUIRE))
		measure(h, &s);
	pthread_mutex_unlock(&h->lock);
	*stat = s;
	return 0;
}
