// SPDX-License-Identifier: Apache-2.0
/*
 * own_queues.c - queues of this process by UPDATE_QUEUE, which every kernel has. A percentage of
 * 0 unloads a queue in mid-wave. The call sets all properties, so each queue's own must be known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libhsaq/hsaq_internal.h"
#include "libhsaq/kfd_abi.h"

static struct hsaq_own_queue *find(struct hsaq *h, uint32_t queue_id)
{
	for (struct hsaq_own_queue *q = h->own_queues; q; q = q->next)
		if (q->ring.queue_id == queue_id)
			return q;
	return NULL;
}

static int update(const struct hsaq *h, struct hsaq_own_queue *q, uint32_t percentage)
{
	struct hsaq_kfd_update args = {
		.ring_base = q->ring.ring_base,
		.queue_id = q->ring.queue_id,
		.ring_bytes = q->ring.ring_bytes,
		.percentage = percentage,
		.priority = q->ring.priority,
	};
	int r;

	if (q->percentage == percentage)
		return 0;
	r = hsaq_ioctl(h, HSAQ_KFD_UPDATE_QUEUE, &args);
	/* pqm_update_queue_properties() returns -EFAULT for an unknown queue. */
	if (r)
		return r == -EFAULT ? -ENOENT : r;
	q->percentage = percentage;
	return 0;
}

static int take_off(const struct hsaq *h, struct hsaq_own_queue *q)
{
	int r = update(h, q, q->ring.percentage & ~HSAQ_KFD_PERCENTAGE_MASK);

	q->off |= !r;
	return r;
}

/* With the application's own percentage, which may be 0. */
static int put_on(const struct hsaq *h, struct hsaq_own_queue *q)
{
	int r = update(h, q, q->ring.percentage);

	q->off &= r != 0;
	return r;
}

static int check_ring(const struct hsaq_ring *ring)
{
	if (!ring || ring->size < sizeof(*ring) || !ring->gpu_id ||
	    ring->priority > HSAQ_KFD_PRIORITY_MAX || ring->queue_id >= HSAQ_KFD_QUEUES_MAX)
		return -EINVAL;
	return 0;
}

int hsaq_queue_adopt(struct hsaq *h, const struct hsaq_ring *ring)
{
	struct hsaq_own_queue *q;
	int r = hsaq_usable(h);

	if (!r)
		r = check_ring(ring);
	if (r)
		return r;
	pthread_mutex_lock(&h->lock);
	q = find(h, ring->queue_id);
	if (!q) {
		q = calloc(1, sizeof(*q));
		if (!q) {
			pthread_mutex_unlock(&h->lock);
			return -ENOMEM;
		}
		q->next = h->own_queues;
		h->own_queues = q;
	}
	q->ring = *ring;
	q->ring.size = sizeof(q->ring);
	q->percentage = ring->percentage;
	q->off = false;
	pthread_mutex_unlock(&h->lock);
	return 0;
}

void hsaq_queue_forget(struct hsaq *h, uint32_t queue_id)
{
	struct hsaq_own_queue *gone = NULL;

	if (hsaq_usable(h))
		return;
	pthread_mutex_lock(&h->lock);
	for (struct hsaq_own_queue **at = &h->own_queues; *at; at = &(*at)->next) {
		if ((*at)->ring.queue_id == queue_id) {
			gone = *at;
			*at = gone->next;
			break;
		}
	}
	pthread_mutex_unlock(&h->lock);
	free(gone);
}

void hsaq_own_free(struct hsaq *h)
{
	bool ours = !hsaq_usable(h);

	while (h->own_queues) {
		struct hsaq_own_queue *q = h->own_queues;

		h->own_queues = q->next;
		/* Closing loads all unloaded queues. A failure means that the queue is gone. */
		if (ours && q->off)
			(void)put_on(h, q);
		free(q);
	}
}

int hsaq_own_update(struct hsaq *h, struct hsaq_kfd_update *args, int (*call)(void *arg), void *arg)
{
	const uint32_t wanted = args->percentage;
	struct hsaq_own_queue *q;
	int r;

	if (hsaq_usable(h))
		return call(arg);
	pthread_mutex_lock(&h->lock);
	q = find(h, args->queue_id);
	if (q && q->off)
		args->percentage &= ~HSAQ_KFD_PERCENTAGE_MASK;
	r = call(arg);
	if (q && r >= 0) {
		q->ring.ring_base = args->ring_base;
		q->ring.ring_bytes = args->ring_bytes;
		q->ring.priority = args->priority;
		q->ring.percentage = wanted;
		q->percentage = args->percentage;
	}
	pthread_mutex_unlock(&h->lock);
	return r;
}

/* ---- unload and load ------------------------------------------------------------ */

static bool matches(const struct hsaq_own_queue *q, uint32_t gpu_id, uint32_t queue_id)
{
	return q->ring.gpu_id == gpu_id &&
	       (queue_id == HSAQ_ALL_QUEUES || q->ring.queue_id == queue_id);
}

/*
 * All that match, or none: after a failure, queues unloaded before it are loaded again. A queue
 * that is gone needs no unload: its DESTROY_QUEUE may not have returned yet.
 */
int hsaq_own_unload(struct hsaq *h, uint32_t gpu_id, uint32_t queue_id)
{
	struct hsaq_own_queue *taken[HSAQ_KFD_QUEUES_MAX];
	size_t n = 0, found = 0;
	int one, r = 0;

	pthread_mutex_lock(&h->lock);
	for (struct hsaq_own_queue *q = h->own_queues; q && !r; q = q->next) {
		if (!matches(q, gpu_id, queue_id))
			continue;
		one = q->off || n == HSAQ_KFD_QUEUES_MAX ? -EALREADY : take_off(h, q);
		found += one != -ENOENT;
		if (!one)
			taken[n++] = q;
		else if (one != -EALREADY && one != -ENOENT)
			r = one;
	}
	while (r && n--)
		(void)put_on(h, taken[n]);
	pthread_mutex_unlock(&h->lock);
	return !r && !found ? -ENOENT : r;
}

bool hsaq_own_is_unloaded(struct hsaq *h, uint32_t gpu_id, uint32_t queue_id)
{
	bool off = false;

	pthread_mutex_lock(&h->lock);
	for (struct hsaq_own_queue *q = h->own_queues; q && !off; q = q->next)
		off = matches(q, gpu_id, queue_id) && q->off;
	pthread_mutex_unlock(&h->lock);
	return off;
}

/* Loads the others even if one fails, or is gone. Returns the first error. */
int hsaq_own_load(struct hsaq *h, uint32_t gpu_id, uint32_t queue_id)
{
	size_t found = 0;
	int first = 0;

	pthread_mutex_lock(&h->lock);
	for (struct hsaq_own_queue *q = h->own_queues; q; q = q->next) {
		int r;

		if (!matches(q, gpu_id, queue_id))
			continue;
		r = put_on(h, q);
		found += r != -ENOENT;
		if (r != -ENOENT)
			first = first ? first : r;
	}
	pthread_mutex_unlock(&h->lock);
	return !first && !found ? -ENOENT : first;
}
