// SPDX-License-Identifier: Apache-2.0
#include "client/status_page.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/engine_internal.h"
#include "client/pile.h"
#include "client/predict.h"
#include "wire/page.h"

#define LOOK_MS 100 /* others may come to share the device at any time */

/* ---- taking and dropping ------------------------------------------------------- */

/* If the file could shrink, a store could kill this process. */
static int check_file(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return seals >= 0 && (seals & F_SEAL_SHRINK) && st.st_size == GP_PAGE_BYTES ? 0 : -EPROTO;
}

int gp_status_page_take(struct gp_client_device *dev, int page_fd, int wake_fd)
{
	struct gp_page *page;
	int err = check_file(page_fd), flags = fcntl(wake_fd, F_GETFL);

	if (err)
		return err;
	/* A wake must never wait, for any kind of file. */
	if (flags < 0 || fcntl(wake_fd, F_SETFL, flags | O_NONBLOCK))
		return -errno;
	page = mmap(NULL, GP_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	if (page->magic != GP_PAGE_MAGIC || page->version != GP_PAGE_VERSION ||
	    page->bytes != GP_PAGE_BYTES) {
		munmap(page, GP_PAGE_BYTES);
		return -EPROTO;
	}
	(void)madvise(page, GP_PAGE_BYTES, MADV_DONTFORK);
	gp_status_page_drop(dev);
	dev->status_page.page = page;
	dev->status_page.wake_fd = wake_fd;
	gp_status_page_update(dev);
	gp_status_page_memory(dev);
	return 0;
}

void gp_status_page_drop(struct gp_client_device *dev)
{
	struct gp_status_page *p = &dev->status_page;

	if (!p->page)
		return;
	munmap(p->page, GP_PAGE_BYTES);
	close(p->wake_fd);
	p->page = NULL;
	p->wake_fd = -1;
	p->activity = 0;
	p->work_seq = p->next_ns = 0;
	p->samples = p->segments_timed = 0;
	p->looked = dev->reported_busy = -ENODATA;
}

void gp_status_page_forget(struct gp_client_device *dev)
{
	if (dev->status_page.wake_fd >= 0)
		close(dev->status_page.wake_fd);
	/* MADV_DONTFORK: a fork's child does not have this memory. */
	dev->status_page.page = NULL;
	dev->status_page.wake_fd = -1;
}

/* ---- updating ----------------------------------------------------------------- */

/* Sums over present contexts; counters include former ones. */
struct sums {
	uint64_t hints, segments, holds, late, expired, held_ns, margin_ns, next_ns, needs_ns;
	uint32_t activity;
	size_t contexts, unreported;
};

/* As hinted; else, after hints at a constant distance, the expected next one. */
static uint64_t next_of(const struct gp_client_device *dev, const struct gp_ectx *c)
{
	const uint64_t now_ns = gp_runtime_stepped_ns(dev->rt);
	uint64_t then_ns = c->hint_every_ns ? c->hint_ns + c->hint_every_ns : 0;

	if (c->next_ns > now_ns)
		return c->next_ns;
	return then_ns > now_ns ? then_ns : 0;
}

/* The launches of all contexts with work pile up, or none's do. */
static void add_work(const struct gp_ectx *c, struct sums *s)
{
	const bool first = !(s->activity & GP_PAGE_WORK);

	s->activity |= GP_PAGE_WORK;
	if (!c->needs_ns || (!first && !(s->activity & GP_PAGE_PILES))) {
		s->activity &= ~(uint32_t)GP_PAGE_PILES;
		return;
	}
	s->activity |= GP_PAGE_PILES;
	if (first || c->needs_ns < s->needs_ns)
		s->needs_ns = c->needs_ns;
}

static void add_context(const struct gp_client_device *dev, const struct gp_ectx *c, struct sums *s)
{
	struct gp_sched_tenant_stat st;
	uint64_t next_ns;

	if (gp_sched_tenant_stat(gp_runtime_core(dev->rt), c->tenant, &st))
		return;
	s->hints += st.hints;
	s->segments += st.segments;
	s->holds += st.holds;
	s->late += st.holds_late;
	s->expired += st.holds_expired;
	s->held_ns += c->held_ns;
	if (c->gone)
		return;
	s->margin_ns = st.margin_ns;
	next_ns = next_of(dev, c);
	if (next_ns && (!s->next_ns || next_ns < s->next_ns))
		s->next_ns = next_ns;
	if (st.in_segment)
		s->activity |= GP_PAGE_SEGMENT;
	if (st.held || st.queued)
		s->activity |= GP_PAGE_HELD;
	if (c->work == GP_WORK_THERE)
		add_work(c, s);
	s->contexts++;
	s->unreported += c->work == GP_WORK_UNKNOWN;
}

static void add_all(const struct gp_client_device *dev, struct sums *s)
{
	const struct gp_status_page *p = &dev->status_page;

	*s = (struct sums){
		.hints = p->left_hints,
		.segments = p->left_segments,
		.holds = p->left_holds,
		.late = p->left_late,
		.expired = p->left_expired,
		.held_ns = dev->base_held_ns,
	};
	for (size_t i = 0; i < GP_CLIENT_DEVICE_CONTEXTS; i++)
		if (atomic_load_explicit(&dev->ctx[i].context, memory_order_relaxed))
			add_context(dev, &dev->ctx[i], s);
}

/*
 * Launches are watched in requested contexts (callbacks.c), so all groups must belong to such
 * contexts. There, work is over when the program has waited for it. Assumption: latency only
 * counts work that a latency-critical program waits for. A best-effort program that does not
 * wait for all of its streams loses a turn. When it is seen to run, its page is not trusted
 * any more.
 */
static bool provides_work(struct gp_client_device *dev, const struct sums *s)
{
	if (dev->caps.caps & GP_CAP_BUSY)
		return dev->status_page.looked >= 0;
	return dev->cls.cls != GP_CLASS_NONE && dev->sync_seen && s->contexts && !s->unreported &&
	       gp_client_device_group_count(dev) == s->contexts;
}

/* If its queues are polled, that counts. */
static uint32_t activity_of(const struct gp_client_device *dev, const struct sums *s)
{
	if (!(dev->caps.caps & GP_CAP_BUSY))
		return s->activity;
	return (s->activity & ~(uint32_t)GP_PAGE_WORK) |
	       (dev->status_page.looked == 1 ? GP_PAGE_WORK : 0);
}

/*
 * The daemon sets wake_on, then reads activity; here it is the other way round, and both are in
 * one order. So one of the two always sees the other.
 */
static void wake(const struct gp_status_page *p, uint32_t why)
{
	const uint64_t one = 1;

	/* Full means that the daemon has not even seen the last wake. */
	if (atomic_load(&p->page->wake_on) & why)
		(void)!write(p->wake_fd, &one, sizeof(one));
}

static void put(_Atomic uint64_t *where, uint64_t value)
{
	atomic_store_explicit(where, value, memory_order_release);
}

static void set_activity(struct gp_client_device *dev, uint32_t activity)
{
	struct gp_status_page *p = &dev->status_page;
	const uint32_t before = p->activity;
	uint32_t why = 0;

	if (activity == before)
		return;
	p->activity = activity;
	if (!before)
		put(&p->page->work_seq, ++p->work_seq);
	atomic_store(&p->page->activity, activity);
	if (!before || !activity)
		why |= GP_PAGE_WAKE_NOW;
	if ((before | activity) & GP_PAGE_PILES)
		why |= GP_PAGE_TAKES_PILES;
	wake(p, why);
}

void gp_status_page_update(struct gp_client_device *dev)
{
	struct gp_status_page *p = &dev->status_page;
	struct gp_page *page = p->page;
	uint32_t provides = 0;
	bool other_next;
	struct sums s;

	if (!page)
		return;
	add_all(dev, &s);
	other_next = s.next_ns != p->next_ns;
	p->next_ns = s.next_ns;
	if (other_next)
		atomic_store(&page->next_ns, s.next_ns);
	put(&page->hints, s.hints);
	put(&page->segments, s.segments);
	put(&page->holds, s.holds);
	put(&page->holds_late, s.late);
	put(&page->holds_expired, s.expired);
	put(&page->held_ns, s.held_ns);
	put(&page->margin_ns, s.margin_ns);
	if (provides_work(dev, &s))
		provides |= GP_PAGE_PROVIDES_WORK;
	if (p->hints || p->predicts)
		provides |= GP_PAGE_PROVIDES_NEXT;
	/* Work bits are valid from the time that they are kept up to date. */
	if (gp_pile_could(dev))
		provides |= GP_PAGE_PROVIDES_PILES;
	if (s.activity & GP_PAGE_PILES)
		put(&page->needs_ns, s.needs_ns);
	if (!(provides & GP_PAGE_PROVIDES_WORK))
		atomic_store_explicit(&page->provides, provides, memory_order_release);
	set_activity(dev, activity_of(dev, &s));
	if (other_next && s.next_ns && !p->activity)
		wake(p, GP_PAGE_WAKE_NEXT);
	if (provides & GP_PAGE_PROVIDES_WORK)
		atomic_store_explicit(&page->provides, provides, memory_order_release);
}

/* Not before the mover is ready: it has work until then. True: they are others. */
static bool put_movers(struct gp_client_device *dev)
{
	struct gp_page *page = dev->status_page.page;
	bool others = false;

	gp_runtime_lock(dev->rt);
	for (uint32_t i = 0; i < GP_PAGE_MOVERS; i++) {
		const uint32_t id = i < dev->keeps ? dev->keep[i]->id : 0;

		others |= atomic_load_explicit(&page->mover[i], memory_order_relaxed) != id;
		atomic_store_explicit(&page->mover[i], id, memory_order_relaxed);
	}
	gp_runtime_unlock(dev->rt);
	return others;
}

void gp_status_page_memory(struct gp_client_device *dev)
{
	struct gp_page *page = dev->status_page.page;
	struct gp_memory_stat stat;

	if (!page)
		return;
	gp_memory_read(dev, dev->cls.cls == GP_CLASS_BE, NULL, &stat);
	put(&page->movable, stat.figures.movable);
	put(&page->fixed, stat.figures.fixed);
	put(&page->out, stat.figures.out);
	put(&page->moves, stat.figures.moves);
	put(&page->moved, stat.figures.moved);
	put(&page->move_ns, stat.figures.move_ns);
	put(&page->pinned, stat.figures.pinned);
	put(&page->kept, stat.figures.kept);
	put(&page->host_max, stat.figures.host_max);
	atomic_store_explicit(&page->takes_turns, stat.takes_turns, memory_order_relaxed);
	atomic_store_explicit(&page->moving, stat.moving, memory_order_release);
	if (stat.ready && put_movers(dev))
		gp_daemon_link_regrouped(dev);
}

static struct gp_ectx *context_of(struct gp_client_device *dev, uint32_t tenant)
{
	const uint32_t i = tenant - GP_BASE_TENANT - 1;

	return i < GP_CLIENT_DEVICE_CONTEXTS ? &dev->ctx[i] : NULL;
}

static void hint_came(struct gp_ectx *c, uint64_t at_ns)
{
	uint64_t gap_ns = at_ns > c->hint_ns ? at_ns - c->hint_ns : 0;
	uint64_t more_ns = gap_ns > c->hint_gap_ns ? gap_ns - c->hint_gap_ns :
						     c->hint_gap_ns - gap_ns;

	c->hint_every_ns = more_ns <= gap_ns / 8 ? gap_ns : 0;
	c->hint_gap_ns = gap_ns;
	c->hint_ns = at_ns;
}

static void segment_ended(struct gp_client_device *dev, struct gp_ectx *c, uint64_t at_ns)
{
	struct gp_status_page *p = &dev->status_page;
	struct gp_sched_tenant_stat st;

	/* Only the last end of nested segments counts. */
	if (gp_sched_tenant_stat(gp_runtime_core(dev->rt), c->tenant, &st) || st.in_segment)
		return;
	if (p->page) {
		atomic_store_explicit(&p->page->segment_ns[p->segments_timed % GP_PAGE_SEGMENTS],
				      at_ns - c->segment_ns, memory_order_relaxed);
		put(&p->page->segments_timed, ++p->segments_timed);
	}
	c->segment_ns = 0;
}

static void take_work(struct gp_ectx *c, bool busy)
{
	/* Only work after idleness is the hinted work. */
	if (busy && c->work != GP_WORK_THERE)
		c->next_ns = 0;
	c->work = busy ? GP_WORK_THERE : GP_WORK_NONE;
}

void gp_status_page_work(struct gp_client_device *dev, struct gp_ectx *c, bool busy)
{
	take_work(c, busy);
	gp_status_page_update(dev);
}

void gp_status_page_event(struct gp_client_device *dev, const struct gp_event *ev, uint64_t at_ns)
{
	struct gp_ectx *c = context_of(dev, ev->tenant);

	if (c && ev->type == GP_EV_HINT) {
		c->next_ns = ev->hint.at_ns;
		dev->status_page.hints |= !ev->hint.guess;
		hint_came(c, ev->hint.at_ns);
	} else if (c && ev->type == GP_EV_SEGMENT_BEGIN) {
		c->next_ns = 0;
		if (!c->segment_ns)
			c->segment_ns = at_ns;
	} else if (c && ev->type == GP_EV_SEGMENT_END) {
		segment_ended(dev, c, at_ns);
	} else if (c && ev->type == GP_EV_TENANT_CLASS && ev->spec.cls.cls != GP_CLASS_LC) {
		c->segment_ns = 0; /* it is in no segment then */
	} else if (c && (ev->type == GP_EV_BUSY || ev->type == GP_EV_IDLE)) {
		take_work(c, ev->type == GP_EV_BUSY);
	}
	gp_status_page_update(dev);
}

void gp_status_page_hold(struct gp_client_device *dev, uint64_t from_ns, uint64_t held_ns,
			 uint64_t switch_ns)
{
	struct gp_status_page *p = &dev->status_page;
	struct gp_page_sample *sample;

	if (!p->page)
		return;
	sample = &p->page->sample[p->samples % GP_PAGE_SAMPLES];
	atomic_store_explicit(&sample->from_ns, from_ns, memory_order_relaxed);
	atomic_store_explicit(&sample->held_ns, held_ns, memory_order_relaxed);
	atomic_store_explicit(&sample->switch_ns, switch_ns, memory_order_relaxed);
	put(&p->page->samples, ++p->samples);
}

void gp_status_page_leave(struct gp_client_device *dev, const struct gp_ectx *c)
{
	struct gp_status_page *p = &dev->status_page;
	struct gp_sched_tenant_stat st;

	if (gp_sched_tenant_stat(gp_runtime_core(dev->rt), c->tenant, &st))
		return;
	p->left_hints += st.hints;
	p->left_segments += st.segments;
	p->left_holds += st.holds;
	p->left_late += st.holds_late;
	p->left_expired += st.holds_expired;
}

/* ---- requests of the daemon ------------------------------------------------------ */

/*
 * A tenant with hints holds in time, but only launches show the end of its work. Without that,
 * less urgent tenants were preempted once more.
 */
static bool wants_launches(struct gp_client_device *dev)
{
	const bool saw_work = gp_predict_saw_work(dev);
	uint32_t wake_on;
	bool wants;

	pthread_mutex_lock(&dev->lock);
	wake_on = dev->status_page.page ? atomic_load(&dev->status_page.page->wake_on) : 0;
	wants = dev->cls.cls == GP_CLASS_LC ? saw_work && wake_on :
					      (wake_on & GP_PAGE_ASKS_WORK) != 0;
	gp_client_device_unlock(dev);
	return wants;
}

void gp_status_page_serve(struct gp_client_device *dev)
{
	if (atomic_load(&dev->launches_asked) || !gp_daemon_link_welcome(&dev->link) ||
	    gp_daemon_link_is_away(dev) || !wants_launches(dev))
		return;
	atomic_store(&dev->launches_asked, true);
	gp_engine_watch_launches();
}

int gp_status_page_wait_ms(const struct gp_client_device *dev)
{
	return atomic_load(&dev->launches_asked) || !gp_daemon_link_welcome(&dev->link) ? -1 :
											  LOOK_MS;
}

/* ---- observations of the thread -------------------------------------------------- */

void gp_status_page_looked(struct gp_client_device *dev, int busy)
{
	pthread_mutex_lock(&dev->lock);
	if (dev->status_page.looked != busy) {
		dev->status_page.looked = busy;
		gp_status_page_update(dev);
	}
	gp_client_device_unlock(dev);
}

void gp_status_page_predicts(struct gp_client_device *dev, bool predicts)
{
	pthread_mutex_lock(&dev->lock);
	dev->status_page.predicts = predicts;
	gp_status_page_update(dev);
	gp_client_device_unlock(dev);
}
