// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <unistd.h>

#include "runtime/worker.h"
#include "tests/common/gp_test.h"

#define JOBS 8

struct rig {
	struct gp_worker *worker;
	int gate[2]; /* the first job reads a byte from it */
	struct job {
		struct gp_job job;
		struct rig *rig;
		bool worked;
	} job[JOBS];
	size_t done;
};

static void work(struct gp_job *job)
{
	struct job *j = (struct job *)(void *)job;
	char c;

	if (j == &j->rig->job[0])
		assert_int_equal(read(j->rig->gate[0], &c, 1), 1);
	j->worked = true;
}

/* In order of the requests. */
static void is_done(struct gp_job *job)
{
	struct job *j = (struct job *)(void *)job;

	assert_ptr_equal(j, &j->rig->job[j->rig->done]);
	j->rig->done++;
}

static void start(struct rig *r, unsigned int can_wait)
{
	*r = (struct rig){ 0 };
	assert_int_equal(pipe(r->gate), 0);
	assert_int_equal(gp_worker_create(&r->worker), 0);
	for (unsigned int i = 0; i < JOBS; i++) {
		r->job[i] = (struct job){
			.job = { .work = work, .done = is_done, .can_wait = can_wait >> i & 1 },
			.rig = r,
		};
		gp_worker_post(r->worker, &r->job[i].job);
	}
	assert_int_equal(write(r->gate[1], "x", 1), 1);
}

static void end(struct rig *r)
{
	gp_worker_destroy(r->worker);
	close(r->gate[0]);
	close(r->gate[1]);
}

static void wait_ready(struct rig *r)
{
	struct pollfd pfd = { .fd = gp_worker_fd(r->worker), .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, 10000), 1);
	gp_worker_ready(r->worker);
}

/* Rounds of a loop in which a job was done. */
static size_t rounds(struct rig *r)
{
	size_t n = 0;

	while (r->done < JOBS) {
		const size_t had = r->done;

		wait_ready(r);
		n += r->done != had;
		/* A slow caller: waiting jobs have time to come one by one. */
		poll(NULL, 0, 2);
	}
	return n;
}

static void all_are_done_in_order(void **state)
{
	for (unsigned int can_wait = 0; can_wait < 1u << JOBS; can_wait += 7) {
		struct rig r;

		start(&r, can_wait);
		rounds(&r);
		end(&r);
	}
}

static void many_that_can_wait_wake_once(void **state)
{
	struct rig r;

	start(&r, (1u << JOBS) - 1);
	assert_int_equal(rounds(&r), 1);
	end(&r);
}

static void what_was_not_begun_is_done_too(void **state)
{
	struct rig r;

	start(&r, (1u << JOBS) - 1);
	end(&r);
	assert_int_equal(r.done, JOBS);
}

/* An urgent job waits neither for a thread to wake nor for the turn of others. */
static void at_once_if_nothing_is_before(void **state)
{
	struct rig r;
	struct job more = { .job = { .work = work, .done = is_done, .at_once = true }, .rig = &r };

	start(&r, 0);
	rounds(&r);
	r.done = 1;
	r.job[1] = more;
	gp_worker_post(r.worker, &r.job[1].job);
	assert_true(r.job[1].worked);
	assert_int_equal(r.done, 1);
	wait_ready(&r);
	assert_int_equal(r.done, 2);

	r.done = 0;
	r.job[0].worked = false;
	r.job[1].worked = false;
	gp_worker_post(r.worker, &r.job[0].job);
	gp_worker_post(r.worker, &r.job[1].job);
	assert_false(r.job[1].worked);
	assert_int_equal(write(r.gate[1], "x", 1), 1);
	while (r.done < 2)
		wait_ready(&r);
	assert_true(r.job[1].worked);
	end(&r);
}

static void a_late_job_is_reported_once(void **state)
{
	struct gp_worker *worker;
	struct rig rig = { 0 };
	struct job *j = &rig.job[0];
	bool late = false;

	*j = (struct job){ .job = { .work = work, .done = is_done }, .rig = &rig };
	assert_int_equal(pipe(rig.gate), 0);
	assert_int_equal(gp_worker_create(&worker), 0);
	assert_false(gp_worker_is_late(worker, 0));
	gp_worker_post(worker, &j->job);
	for (int i = 0; i < 1000 && !late; i++) {
		poll(NULL, 0, 1);
		late = gp_worker_is_late(worker, 10000000);
	}
	assert_true(late);
	assert_false(j->worked);
	poll(NULL, 0, 20);
	assert_false(gp_worker_is_late(worker, 10000000));
	assert_int_equal(write(rig.gate[1], "x", 1), 1);
	while (!rig.done)
		gp_worker_ready(worker);
	assert_false(gp_worker_is_late(worker, 0));
	gp_worker_destroy(worker);
	close(rig.gate[0]);
	close(rig.gate[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_done_in_order),
		cmocka_unit_test(many_that_can_wait_wake_once),
		cmocka_unit_test(what_was_not_begun_is_done_too),
		cmocka_unit_test(at_once_if_nothing_is_before),
		cmocka_unit_test(a_late_job_is_reported_once),
	};

	return gp_run_tests(tests);
}
