// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/loop/loop.h"
#include "tests/common/gp_test.h"

struct seen {
	struct gp_source source;
	struct seen *removes;
	int times;
};

static void ready(struct gp_source *source, uint32_t events)
{
	struct seen *s = (struct seen *)(void *)source;
	uint64_t n;

	s->times++;
	assert_int_equal(read(source->fd, &n, sizeof(n)), sizeof(n));
	if (s->removes)
		gp_loop_remove(&s->removes->source);
}

static void add(struct gp_loop *loop, struct seen *s)
{
	*s = (struct seen){ .source = { .fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC),
					.ready = ready } };
	assert_true(s->source.fd >= 0);
	assert_int_equal(gp_loop_add(loop, &s->source, EPOLLIN), 0);
}

static void removed_in_a_round(void **state)
{
	struct gp_loop *loop;
	struct seen a, b;

	assert_int_equal(gp_loop_create(&loop), 0);
	add(loop, &a);
	add(loop, &b);
	/* Both are ready in one round; the first removes the other. */
	a.removes = &b;
	b.removes = &a;
	assert_int_equal(gp_loop_once(loop, 0), 0);
	assert_int_equal(a.times + b.times, 1);
	assert_int_equal(gp_loop_once(loop, 0), 0);
	assert_int_equal(a.times + b.times, 1);
	gp_loop_remove(&a.source);
	gp_loop_remove(&b.source);
	close(a.source.fd);
	close(b.source.fd);
	gp_loop_destroy(loop);
}

#define MANY 20

struct turn {
	struct gp_source source;
	struct turn *wakes, *removes;
	int *count, at; /* when it was served; 0: not yet */
};

static void serve(struct gp_source *source, uint32_t events)
{
	struct turn *t = (struct turn *)(void *)source;
	uint64_t one = 1, n;

	assert_int_equal(read(source->fd, &n, sizeof(n)), sizeof(n));
	t->at = ++*t->count;
	if (t->wakes)
		assert_int_equal(write(t->wakes->source.fd, &one, sizeof(one)), sizeof(one));
	if (t->removes)
		gp_loop_remove(&t->removes->source);
}

static void add_turn(struct gp_loop *loop, struct turn *t, int *count, bool urgent, uint64_t n)
{
	*t = (struct turn){ .source = { .fd = eventfd((unsigned int)n, EFD_NONBLOCK | EFD_CLOEXEC),
					.ready = serve,
					.is_urgent = urgent },
			    .count = count };
	assert_true(t->source.fd >= 0);
	assert_int_equal(gp_loop_add(loop, &t->source, EPOLLIN), 0);
}

/* It becomes ready in the middle of a round, and is next; a source that it removes is not. */
static void urgent_waits_for_one(void **state)
{
	struct turn many[MANY], urgent;
	struct gp_loop *loop;
	int count = 0, first = -1, last = 0;

	assert_int_equal(gp_loop_create(&loop), 0);
	for (int i = 0; i < MANY; i++)
		add_turn(loop, &many[i], &count, false, 1);
	add_turn(loop, &urgent, &count, true, 0);
	for (int i = 0; i < MANY; i++)
		many[i].wakes = i ? NULL : &urgent;
	urgent.removes = &many[MANY - 1];
	assert_int_equal(gp_loop_once(loop, 0), 0);
	first = many[0].at;
	for (int i = 0; i < MANY; i++)
		last = many[i].at > last ? many[i].at : last;
	assert_int_equal(urgent.at, first + 1);
	assert_true(many[MANY - 1].at < first);
	assert_int_equal(last, many[MANY - 1].at ? MANY + 1 : MANY);
	/* Alone it is served as well, and none of the others again. */
	assert_int_equal(write(urgent.source.fd, &(uint64_t){ 1 }, 8), 8);
	assert_int_equal(gp_loop_once(loop, 0), 0);
	assert_int_equal(urgent.at, count);
	for (int i = 0; i < MANY; i++) {
		gp_loop_remove(&many[i].source);
		close(many[i].source.fd);
	}
	gp_loop_remove(&urgent.source);
	close(urgent.source.fd);
	gp_loop_destroy(loop);
}

struct stops {
	struct gp_tick tick;
	struct gp_loop *loop;
	int times;
};

static void due(struct gp_tick *tick)
{
	struct stops *s = (struct stops *)(void *)tick;

	if (++s->times == 3)
		gp_loop_stop(s->loop);
	else
		gp_tick_in(tick, 1000000);
}

static void ticks_and_stop(void **state)
{
	struct stops s = { .tick.due = due };
	uint64_t start_ns = gp_loop_now_ns();

	assert_int_equal(gp_loop_create(&s.loop), 0);
	assert_int_equal(gp_tick_add(s.loop, &s.tick), 0);
	gp_tick_in(&s.tick, 1000000);
	assert_int_equal(gp_loop_run(s.loop), 0);
	assert_int_equal(s.times, 3);
	assert_true(gp_loop_now_ns() - start_ns >= 3000000);
	/* Disarmed, it does not fire. */
	gp_tick_in(&s.tick, 1000000);
	gp_tick_at(&s.tick, 0);
	assert_int_equal(gp_loop_once(s.loop, 20), 0);
	assert_int_equal(s.times, 3);
	gp_tick_remove(&s.tick);
	gp_tick_remove(&s.tick);
	gp_loop_destroy(s.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removed_in_a_round),
		cmocka_unit_test(urgent_waits_for_one),
		cmocka_unit_test(ticks_and_stop),
	};

	return gp_run_tests(tests);
}
