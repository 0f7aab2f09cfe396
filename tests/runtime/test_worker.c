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

#define OF_A 100

static struct lane_job {
	struct gp_job job;
	int number;
} lane_job[OF_A + 2];
static int order[OF_A + 2], worked, ended;
static int lanes_gate[2];

static void lane_work(struct gp_job *job)
{
	struct lane_job *j = (struct lane_job *)(void *)job;
	char c;

	if (j->number == 0)
		assert_int_equal(read(lanes_gate[0], &c, 1), 1);
	order[worked++] = j->number;
}

static void lane_done(struct gp_job *job)
{
	ended++;
}

/* A flood of one lane does not delay others, and does not fill a round of the loop. */
static void lanes_take_turns(void **state)
{
	struct pollfd pfd = { .events = POLLIN };
	struct gp_worker *worker;
	int before;

	worked = ended = 0;
	assert_int_equal(pipe(lanes_gate), 0);
	assert_int_equal(gp_worker_create(&worker), 0);
	pfd.fd = gp_worker_fd(worker);
	for (int i = 0; i < OF_A + 2; i++) {
		lane_job[i] = (struct lane_job){
			.job = { .work = lane_work, .done = lane_done, .lane = i < OF_A ? 1 : 2 },
			.number = i,
		};
		gp_worker_post(worker, &lane_job[i].job);
		/* The thread waits in the first one. */
		poll(NULL, 0, i ? 0 : 20);
	}
	assert_int_equal(write(lanes_gate[1], "x", 1), 1);
	while (ended < OF_A + 2) {
		assert_int_equal(poll(&pfd, 1, 10000), 1);
		before = ended;
		gp_worker_ready(worker);
		assert_in_range(ended - before, 0, 2);
	}
	/* One of the other lane after each of this one's. */
	assert_int_equal(order[1], OF_A);
	assert_int_equal(order[2], 1);
	assert_int_equal(order[3], OF_A + 1);
	for (int i = 4; i < OF_A + 2; i++)
		assert_int_equal(order[i], i - 2);
	gp_worker_destroy(worker);
	close(lanes_gate[0]);
	close(lanes_gate[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_done_in_order),
		cmocka_unit_test(many_that_can_wait_wake_once),
		cmocka_unit_test(what_was_not_begun_is_done_too),
		cmocka_unit_test(at_once_if_nothing_is_before),
		cmocka_unit_test(a_late_job_is_reported_once),
		cmocka_unit_test(lanes_take_turns),
	};

	return gp_run_tests(tests);
}
