// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/common/gp_test.h"
#include "tests/conformance/conformance.h"

#define MS 1000000ull
#define NO_PID 0x3ffffff /* above any pid_max */
/* enum gp_class, by number for backends. */
#define CLASS_NONE 0u
#define CLASS_LC 1u
#define CLASS_BE 2u
#define FILES 32u

static const struct rig *rig;

/* The start of most tests. */
struct world {
	struct gp_device *dev;
	const struct gp_hal_ops *ops;
	struct gp_hal_caps caps;
};

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w || rig->open(&w->dev)) {
		free(w);
		return -1;
	}
	w->ops = w->dev->ops;
	assert_int_equal(w->ops->caps(w->dev, &w->caps), 0);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	rig->reset();
	w->ops->close(w->dev);
	free(w);
	return 0;
}

static void need(const struct world *w, uint32_t cap)
{
	if ((w->caps.caps & cap) == cap)
		return;
	gp_note_skip();
	skip();
}

/* Makes the next such op fail; false: this rig cannot. */
static bool inject(enum rig_fault fault, size_t at, int err)
{
	return rig->inject && rig->inject(fault, at, err);
}

/* ---- a best-effort process and its compute group -------------------------- */

struct be {
	struct rig_be *proc;
	struct gp_group_list list;
	struct gp_group *group;
};

static struct gp_group *compute_of(const struct gp_group_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->kind == GP_GROUP_COMPUTE)
			return list->group[i];
	fail_msg("no compute group among %zu", list->count);
	return NULL;
}

static struct be be_start(struct world *w)
{
	struct be be = { .proc = rig->be_start() };

	assert_non_null(be.proc);
	assert_int_equal(w->ops->groups(w->dev, rig->be_pid(be.proc), &be.list), 0);
	be.group = compute_of(&be.list);
	return be;
}

static void be_stop(struct be *be)
{
	gp_group_list_put(&be->list);
	rig->be_stop(be->proc);
}

static uint64_t progress(struct be *be, uint64_t ns)
{
	uint64_t before = rig->be_done(be->proc);

	rig->run(ns);
	return rig->be_done(be->proc) - before;
}

/* Kernels that were finishing when the count began may still be counted. */
static void assert_off(struct be *be)
{
	rig->run(10 * MS);
	assert_true(progress(be, 50 * MS) == 0);
}

static void assert_runs(struct be *be)
{
	rig->run(10 * MS);
	assert_true(progress(be, 50 * MS) > 0);
}

/* ---- a latency-critical context of our own --------------------------------- */

struct lc {
	struct rig_lc *proc;
	struct gp_group_list list;
	struct gp_hold *hold;
};

/* With slices, a hold lasts only as long as its own slice; with classes, it needs LC. */
static struct lc lc_start(struct world *w)
{
	const struct gp_class_value cls = { .cls = CLASS_LC };
	struct lc lc = { .proc = rig->lc_start() };
	uint64_t us = 5000000;

	assert_non_null(lc.proc);
	assert_int_equal(w->ops->groups(w->dev, 0, &lc.list), 0);
	if (w->caps.caps & GP_CAP_SLICES) {
		if (us > w->caps.max_slice_us)
			us = w->caps.max_slice_us;
		assert_int_equal(w->ops->set_slice(compute_of(&lc.list), us), 0);
	}
	if (w->caps.caps & GP_CAP_CLASS)
		assert_int_equal(w->ops->set_class(w->dev, 0, &cls), 0);
	assert_int_equal(w->ops->hold_create(w->dev, rig->lc_context(lc.proc), &lc.hold), 0);
	return lc;
}

static void lc_stop(struct world *w, struct lc *lc)
{
	const struct gp_class_value none = { .cls = CLASS_NONE };

	w->ops->hold_destroy(lc->hold);
	if (w->caps.caps & GP_CAP_CLASS)
		assert_int_equal(w->ops->set_class(w->dev, 0, &none), 0);
	gp_group_list_put(&lc->list);
	rig->lc_stop(lc->proc);
}

/* ---- devices ---------------------------------------------------------------- */

static void probe_lists_what_open_opens(void **state)
{
	struct world *w = *state;
	struct gp_device_list list = { 0 };
	struct gp_device_id nobody = { 0 };
	struct gp_device *dev = NULL;
	bool found = false;

	assert_int_equal(rig->ops->probe(&list), 0);
	for (size_t i = 0; i < list.count; i++)
		found |= !memcmp(list.dev[i].uuid, w->dev->id.uuid, 16);
	assert_true(found);
	memset(nobody.uuid, 0xee, sizeof(nobody.uuid));
	nobody.minor = 0xffff;
	assert_int_equal(rig->ops->open(&nobody, &dev), -ENODEV);
	assert_null(dev);
	assert_int_equal(rig->ops->open(&w->dev->id, &dev), 0);
	assert_memory_equal(dev->id.uuid, w->dev->id.uuid, 16);
	dev->ops->close(dev);
}

/* More often than any table has entries: nothing is left behind. */
static void devices_and_timers_leave_nothing(void **state)
{
	struct world *w = *state;
	struct gp_device *dev = NULL;
	struct gp_timer *timer = NULL;
	struct be be;

	for (int i = 0; i < 300; i++) {
		assert_int_equal(rig->ops->open(&w->dev->id, &dev), 0);
		assert_int_equal(dev->ops->timer_create(dev, &timer), 0);
		dev->ops->timer_destroy(timer);
		dev->ops->close(dev);
	}
	be = be_start(w);
	be_stop(&be);
}

static void null_may_be_put_back(void **state)
{
	struct world *w = *state;

	w->ops->close(NULL);
	w->ops->group_put(NULL);
	w->ops->hold_destroy(NULL);
	w->ops->log_close(NULL);
	w->ops->timer_destroy(NULL);
	assert_int_equal(w->ops->abi, GP_HAL_ABI);
}

static void caps_make_sense(void **state)
{
	struct world *w = *state;
	const struct gp_hal_caps *c = &w->caps;

	if (c->caps & GP_CAP_SLICES) {
		assert_true(c->min_slice_us > 0);
		assert_true(c->min_slice_us <= c->default_slice_us);
		assert_true(c->default_slice_us <= c->max_slice_us);
		assert_true(c->min_slice_us <= c->default_copy_slice_us);
		assert_true(c->default_copy_slice_us <= c->max_slice_us);
	}
	if (c->caps & GP_CAP_SLICE_PREEMPTS)
		assert_true(c->caps & GP_CAP_SLICES);
	if (c->caps & GP_CAP_HOLD)
		assert_true(c->max_hold_ns > 0);
}

static void memory_has_room(void **state)
{
	struct world *w = *state;
	uint64_t total = 7, room = 7;
	int err = w->ops->memory(w->dev, &total, &room);

	if (err == -EOPNOTSUPP) {
		assert_true(total == 7 && room == 7);
		return;
	}
	assert_int_equal(err, 0);
	assert_true(room > 0 && room <= total);
}

static void what_is_not_there_says_so(void **state)
{
	struct world *w = *state;
	struct be be = be_start(w);
	const struct gp_class_value cls = { CLASS_BE, 100 };
	uint64_t us = 77;
	struct gp_log *log = NULL;
	void *context = w;

	if (!(w->caps.caps & GP_CAP_SLICES)) {
		assert_int_equal(w->ops->set_slice(be.group, 1000), -EOPNOTSUPP);
		assert_int_equal(w->ops->get_slice(be.group, &us), -EOPNOTSUPP);
		assert_int_equal(us, 77);
	}
	if (!(w->caps.caps & GP_CAP_PREEMPT_MODE))
		assert_int_equal(w->ops->set_preempt_mode(be.group, GP_PREEMPT_INSTRUCTION),
				 -EOPNOTSUPP);
	if (!(w->caps.caps & GP_CAP_PREEMPT))
		assert_int_equal(w->ops->preempt(be.group), -EOPNOTSUPP);
	if (!(w->caps.caps & GP_CAP_SUSPEND))
		assert_int_equal(w->ops->suspend(&be.group, 1), -EOPNOTSUPP);
	if (!(w->caps.caps & GP_CAP_SWITCH_LOG))
		assert_true(w->ops->log_open(w->dev, &log) < 0);
	assert_null(log);
	if (!(w->caps.caps & GP_CAP_CLASS))
		assert_int_equal(w->ops->set_class(w->dev, 0, &cls), -EOPNOTSUPP);
	if (!(w->caps.caps & GP_CAP_HOLD_OUTSIDE)) {
		assert_int_equal(w->ops->process_context(w->dev, &context), -EOPNOTSUPP);
		assert_ptr_equal(context, w);
	}
	be_stop(&be);
}

static void time_goes_forward(void **state)
{
	struct world *w = *state;
	uint64_t a = 0, b = 0;

	assert_int_equal(w->ops->now(w->dev, &a), 0);
	rig->run(2 * MS);
	assert_int_equal(w->ops->now(w->dev, &b), 0);
	assert_true(b >= a + 2 * MS);
}

/* ---- groups ----------------------------------------------------------------- */

static void groups_are_found_and_stay(void **state)
{
	struct world *w = *state;
	struct be be = be_start(w);
	struct gp_group_list again = { 0 };

	for (size_t i = 0; i < be.list.count; i++) {
		assert_ptr_equal(be.list.group[i]->dev, w->dev);
		assert_int_equal(be.list.group[i]->pid, rig->be_pid(be.proc));
		for (size_t k = 0; k < i; k++)
			assert_true(be.list.group[i]->id != be.list.group[k]->id);
	}
	assert_true(be.group->channels > 0);
	assert_int_equal(w->ops->groups(w->dev, rig->be_pid(be.proc), &again), 0);
	assert_int_equal(again.count, be.list.count);
	assert_int_equal(compute_of(&again)->id, be.group->id);
	gp_group_list_put(&again);
	be_stop(&be);
}

static void groups_of_nobody(void **state)
{
	struct world *w = *state;
	struct gp_group_list list = { .count = 99 };

	assert_int_equal(w->ops->groups(w->dev, NO_PID, &list), -ESRCH);
	assert_int_equal(list.count, 99);
}

static void groups_of_the_dead_are_gone(void **state)
{
	struct world *w = *state;
	struct be be = be_start(w);
	struct gp_group_list list = { 0 };
	pid_t pid = rig->be_pid(be.proc);
	int err;

	rig->be_stop(be.proc);
	assert_int_equal(w->ops->groups(w->dev, pid, &list), -ESRCH);
	if (w->caps.caps & GP_CAP_SLICES) {
		err = w->ops->set_slice(be.group, w->caps.default_slice_us);
		assert_int_equal(err, -ESRCH);
	}
	if (w->caps.caps & GP_CAP_SUSPEND)
		assert_int_equal(w->ops->suspend(&be.group, 1), -ESRCH);
	if (w->caps.caps & GP_CAP_PREEMPT)
		assert_int_equal(w->ops->preempt(be.group), -ESRCH);
	gp_group_list_put(&be.list);
}

static void has_driver_open_names_processes(void **state)
{
	struct world *w = *state;
	struct be be = be_start(w);
	pid_t pid = rig->be_pid(be.proc);

	assert_int_equal(w->ops->has_driver_open(w->dev, pid), 1);
	assert_int_equal(w->ops->has_driver_open(w->dev, NO_PID), -ESRCH);
	if (rig->stranger)
		assert_int_equal(w->ops->has_driver_open(w->dev, rig->stranger()), 0);
	assert_int_not_equal(w->ops->has_compute_client(w->dev, pid), 0);
	if (rig->stranger)
		assert_int_not_equal(w->ops->has_compute_client(w->dev, rig->stranger()), 1);
	be_stop(&be);
	assert_int_equal(w->ops->has_driver_open(w->dev, pid), -ESRCH);
}

/* ---- groups from a process's own files ------------------------------------------ */

struct files {
	int fd[FILES];
	uint32_t key[FILES]; /* 0: not given */
	size_t n;
};

static struct files files_of(struct be *be)
{
	struct files f = { .n = 0 };

	f.n = rig->be_files(be->proc, f.fd, FILES);
	assert_true(f.n > 0 && f.n <= FILES);
	return f;
}

/* They remain the caller's: each is still open here. */
static void close_files(struct files *f)
{
	for (size_t i = 0; i < f->n; i++)
		assert_int_equal(close(f->fd[i]), 0);
}

static void need_files(struct world *w)
{
	struct gp_group_list list = { .count = 99 };
	uint32_t key = 0;
	int fd = -1;

	if (rig->be_files)
		return;
	assert_int_equal(w->ops->control_files(w->dev, &fd, &key, 1), -EOPNOTSUPP);
	assert_int_equal(w->ops->is_control_file(0), -EOPNOTSUPP);
	assert_int_equal(w->ops->groups_from(w->dev, getpid(), &fd, &key, 0, &list), -EOPNOTSUPP);
	assert_int_equal(list.count, 99);
	gp_note_skip();
	skip();
}

static int from(struct world *w, pid_t pid, const struct files *f, struct gp_group_list *list)
{
	return w->ops->groups_from(w->dev, pid, f->fd, f->key, f->n, list);
}

static void groups_from_files_are_those_of_the_process(void **state)
{
	struct world *w = *state;
	struct gp_group_list list = { 0 };
	struct files f;
	struct be be;

	need_files(w);
	be = be_start(w);
	f = files_of(&be);
	for (size_t i = 0; i < f.n; i++)
		assert_int_equal(w->ops->is_control_file(f.fd[i]), 1);
	assert_int_equal(from(w, rig->be_pid(be.proc), &f, &list), 0);
	close_files(&f);
	assert_int_equal(list.count, be.list.count);
	for (size_t i = 0; i < list.count; i++) {
		assert_ptr_equal(list.group[i]->dev, w->dev);
		assert_int_equal(list.group[i]->pid, be.list.group[i]->pid);
		assert_int_equal(list.group[i]->id, be.list.group[i]->id);
		assert_int_equal(list.group[i]->kind, be.list.group[i]->kind);
		assert_int_equal(list.group[i]->channels, be.list.group[i]->channels);
	}
	/* Groups work after the files are closed. */
	gp_group_list_put(&be.list);
	be.list = list;
	be.group = compute_of(&be.list);
	assert_int_equal(w->ops->suspend(&be.group, 1), 0);
	assert_off(&be);
	assert_int_equal(w->ops->resume(&be.group, 1), 0);
	assert_runs(&be);
	be_stop(&be);
}

static void groups_from_files_of_the_dead_are_gone(void **state)
{
	struct gp_group_list list = { 0 }, none = { .count = 99 };
	struct world *w = *state;
	struct files f;
	struct be be;
	pid_t pid;

	need_files(w);
	be = be_start(w);
	pid = rig->be_pid(be.proc);
	f = files_of(&be);
	assert_int_equal(from(w, pid, &f, &list), 0);
	be_stop(&be);
	assert_int_equal(w->ops->suspend(list.group, 1), -ESRCH);
	gp_group_list_put(&list);
	/* The files are still valid, but their process is gone. */
	assert_int_equal(from(w, pid, &f, &none), -ESRCH);
	assert_int_equal(from(w, NO_PID, &f, &none), -ESRCH);
	assert_int_equal(none.count, 99);
	close_files(&f);
}

static void groups_from_other_files_are_none(void **state)
{
	struct gp_group_list list = { .count = 99 };
	struct world *w = *state;
	struct files f, odd = { .n = 4 };
	struct be be, other;
	int ends[2];
	pid_t pid;

	need_files(w);
	be = be_start(w);
	pid = rig->be_pid(be.proc);
	assert_int_equal(pipe(ends), 0);
	odd.fd[0] = ends[0];
	odd.fd[1] = ends[1];
	odd.fd[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	odd.fd[3] = memfd_create("odd", MFD_CLOEXEC);
	for (size_t i = 0; i < odd.n; i++)
		assert_int_equal(w->ops->is_control_file(odd.fd[i]), 0);
	assert_int_equal(w->ops->is_control_file(-1), 0);
	assert_int_equal(from(w, pid, &odd, &list), 0);
	assert_int_equal(list.count, 0);
	gp_group_list_put(&list);
	assert_int_equal(w->ops->groups_from(w->dev, pid, NULL, NULL, 0, &list), 0);
	assert_int_equal(list.count, 0);
	gp_group_list_put(&list);

	/* Another process's files, by themselves and beside its own. */
	other = be_start(w);
	f = files_of(&other);
	assert_int_equal(from(w, pid, &f, &list), 0);
	assert_int_equal(list.count, 0);
	gp_group_list_put(&list);
	assert_true(f.n < FILES);
	f.n += rig->be_files(be.proc, f.fd + f.n, FILES - f.n);
	assert_int_equal(from(w, pid, &f, &list), 0);
	assert_int_equal(list.count, be.list.count);
	assert_int_equal(compute_of(&list)->id, be.group->id);
	gp_group_list_put(&list);
	close_files(&f);
	close_files(&odd);
	be_stop(&other);
	be_stop(&be);
}

/* This process's own files give its own groups. */
static void control_files_are_handed_over(void **state)
{
	struct gp_group_list list = { 0 };
	struct files f = { .n = 0 };
	struct world *w = *state;
	struct rig_lc *lc;
	ssize_t n;

	need_files(w);
	lc = rig->lc_start();
	n = w->ops->control_files(w->dev, f.fd, f.key, FILES);
	if (n == -ENOENT) { /* no tracker watches here */
		rig->lc_stop(lc);
		gp_note_skip();
		skip();
	}
	assert_true(n > 0);
	f.n = (size_t)n;
	for (size_t i = 0; i < f.n; i++)
		assert_true(fcntl(f.fd[i], F_GETFD) & FD_CLOEXEC);
	/* With their keys, without, and with wrong ones. */
	for (uint32_t wrong = 0; wrong < 3; wrong++) {
		for (size_t i = 0; i < f.n && wrong; i++)
			f.key[i] = wrong - 1;
		assert_int_equal(from(w, getpid(), &f, &list), 0);
		assert_int_equal(compute_of(&list)->pid, getpid());
		gp_group_list_put(&list);
	}
	assert_int_equal(w->ops->control_files(w->dev, NULL, NULL, 0), 0);
	close_files(&f);
	rig->lc_stop(lc);
	assert_int_equal(w->ops->control_files(w->dev, f.fd, f.key, FILES), -ENOENT);
}

/* ---- slices and modes -------------------------------------------------------- */

static void slice_is_read_as_set(void **state)
{
	struct world *w = *state;
	struct be be;
	uint64_t us = 0;

	need(w, GP_CAP_SLICES);
	be = be_start(w);
	assert_int_equal(w->ops->set_slice(be.group, w->caps.min_slice_us), 0);
	assert_int_equal(w->ops->get_slice(be.group, &us), 0);
	assert_int_equal(us, w->caps.min_slice_us);
	assert_int_equal(w->ops->set_slice(be.group, 1000), 0);
	assert_int_equal(w->ops->get_slice(be.group, &us), 0);
	assert_int_equal(us, 1000);
	be_stop(&be);
}

static void slice_out_of_range_leaves_the_old(void **state)
{
	struct world *w = *state;
	struct be be;
	uint64_t us = 0;

	need(w, GP_CAP_SLICES);
	be = be_start(w);
	assert_int_equal(w->ops->set_slice(be.group, 1000), 0);
	assert_int_equal(w->ops->set_slice(be.group, w->caps.max_slice_us + 1), -ERANGE);
	assert_int_equal(w->ops->set_slice(be.group, w->caps.min_slice_us - 1), -ERANGE);
	assert_int_equal(w->ops->get_slice(be.group, &us), 0);
	assert_int_equal(us, 1000);
	be_stop(&be);
}

static void slice_that_fails_leaves_the_old(void **state)
{
	struct world *w = *state;
	struct be be;
	uint64_t us = 0;

	need(w, GP_CAP_SLICES);
	be = be_start(w);
	assert_int_equal(w->ops->set_slice(be.group, 1000), 0);
	if (!inject(RIG_FAIL_SET_SLICE, 0, -EIO)) {
		be_stop(&be);
		gp_note_skip();
		skip();
	}
	assert_int_equal(w->ops->set_slice(be.group, 500), -EIO);
	assert_int_equal(w->ops->get_slice(be.group, &us), 0);
	assert_int_equal(us, 1000);
	be_stop(&be);
}

static void modes_are_taken(void **state)
{
	struct world *w = *state;
	struct be be;

	need(w, GP_CAP_PREEMPT_MODE);
	be = be_start(w);
	assert_int_equal(w->ops->set_preempt_mode(be.group, GP_PREEMPT_BLOCK), 0);
	assert_runs(&be);
	assert_int_equal(w->ops->set_preempt_mode(be.group, GP_PREEMPT_INSTRUCTION), 0);
	assert_runs(&be);
	be_stop(&be);
}

/* ---- the end of a turn ------------------------------------------------------- */

/* @be's slice is its long turn: it alone runs from now on. */
static void keep_on(struct world *w, struct be *be, struct be *other)
{
	assert_int_equal(w->ops->set_slice(be->group, w->caps.max_slice_us), 0);
	for (int i = 0; i < 40; i++)
		if (!progress(other, 25 * MS))
			return;
	fail_msg("it has no turn of its own");
}

static void preempt_ends_a_turn(void **state)
{
	struct world *w = *state;
	struct be a, b;

	need(w, GP_CAP_PREEMPT | GP_CAP_SLICES);
	a = be_start(w);
	b = be_start(w);
	assert_int_equal(w->ops->set_slice(b.group, 20000), 0);
	keep_on(w, &a, &b);
	/* The other one is not on the device, so it has no turn to end. */
	assert_int_equal(w->ops->preempt(b.group), 0);
	assert_true(progress(&a, 50 * MS) > 0);
	assert_true(progress(&b, 50 * MS) == 0);
	assert_int_equal(w->ops->preempt(a.group), 0);
	assert_true(progress(&b, 30 * MS) > 0);
	/* And it runs again in its next turn. */
	rig->run(50 * MS);
	assert_true(progress(&a, 50 * MS) > 0);
	be_stop(&b);
	be_stop(&a);
}

static void preempt_leaves_who_is_alone_and_who_is_off(void **state)
{
	struct world *w = *state;
	struct be be;

	need(w, GP_CAP_PREEMPT | GP_CAP_SUSPEND);
	be = be_start(w);
	assert_int_equal(w->ops->preempt(be.group), 0);
	assert_runs(&be);
	assert_int_equal(w->ops->suspend(&be.group, 1), 0);
	assert_int_equal(w->ops->preempt(be.group), 0);
	assert_off(&be);
	assert_int_equal(w->ops->resume(&be.group, 1), 0);
	assert_runs(&be);
	be_stop(&be);
}

/* ---- classes ----------------------------------------------------------------- */

static void classes_are_taken_of_others(void **state)
{
	const struct gp_class_value light = { CLASS_BE, 10 }, urgent = { CLASS_LC, 3 };
	const struct gp_class_value none = { CLASS_NONE, 0 }, no = { 9, 0 };
	const struct gp_class_value beyond = { CLASS_LC, 16 };
	struct world *w = *state;
	struct be be;
	pid_t pid;

	need(w, GP_CAP_CLASS | GP_CAP_ATTACH | GP_CAP_HOLD);
	be = be_start(w);
	pid = rig->be_pid(be.proc);
	assert_int_equal(w->ops->set_class(w->dev, pid, &light), 0);
	assert_int_equal(w->ops->set_class(w->dev, pid, &urgent), 0);
	assert_int_equal(w->ops->set_class(w->dev, pid, &no), -EINVAL);
	assert_int_equal(w->ops->set_class(w->dev, pid, &beyond), -EINVAL);
	assert_runs(&be);
	assert_int_equal(w->ops->set_class(w->dev, pid, &none), 0);
	assert_int_equal(w->ops->set_class(w->dev, NO_PID, &light), -ESRCH);
	be_stop(&be);
}

/* A hold has its holder's level: groups at or above it keep running. */
static void hold_leaves_who_is_as_urgent(void **state)
{
	const struct gp_class_value lc_0 = { CLASS_LC, 0 }, lc_1 = { CLASS_LC, 1 };
	struct world *w = *state;
	struct be be;
	struct lc lc;

	need(w, GP_CAP_CLASS | GP_CAP_ATTACH | GP_CAP_HOLD);
	be = be_start(w);
	lc = lc_start(w);
	assert_int_equal(w->ops->set_class(w->dev, rig->be_pid(be.proc), &lc_0), 0);
	assert_int_equal(w->ops->hold(lc.hold, 900 * MS), 0);
	assert_runs(&be);
	assert_int_equal(w->ops->set_class(w->dev, rig->be_pid(be.proc), &lc_1), 0);
	assert_off(&be);
	assert_int_equal(w->ops->release(lc.hold), 0);
	assert_runs(&be);
	lc_stop(w, &lc);
	be_stop(&be);
}

/* ---- suspend and resume ------------------------------------------------------ */

static void suspend_stops_resume_goes_on(void **state)
{
	struct world *w = *state;
	struct be be;

	need(w, GP_CAP_SUSPEND);
	be = be_start(w);
	assert_runs(&be);
	assert_int_equal(w->ops->suspend(&be.group, 1), 0);
	assert_off(&be);
	assert_int_equal(w->ops->suspend(&be.group, 1), 0);
	assert_off(&be);
	assert_int_equal(w->ops->resume(&be.group, 1), 0);
	assert_runs(&be);
	assert_int_equal(w->ops->resume(&be.group, 1), 0);
	assert_runs(&be);
	be_stop(&be);
}

static void suspend_takes_many(void **state)
{
	struct world *w = *state;
	struct be a, b;
	struct gp_group *both[2];

	need(w, GP_CAP_SUSPEND);
	a = be_start(w);
	b = be_start(w);
	both[0] = a.group;
	both[1] = b.group;
	assert_int_equal(w->ops->suspend(both, 2), 0);
	assert_off(&a);
	assert_off(&b);
	assert_int_equal(w->ops->resume(both + 1, 1), 0);
	assert_off(&a);
	assert_runs(&b);
	assert_int_equal(w->ops->resume(both, 2), 0);
	assert_runs(&a);
	assert_runs(&b);
	be_stop(&a);
	be_stop(&b);
}

static void suspend_of_none_is_nothing(void **state)
{
	struct world *w = *state;

	need(w, GP_CAP_SUSPEND);
	assert_int_equal(w->ops->suspend(NULL, 0), 0);
	assert_int_equal(w->ops->resume(NULL, 0), 0);
}

/* One of the list is gone: the other must not stay suspended. */
static void suspend_with_a_bad_group_leaves_the_good_running(void **state)
{
	struct world *w = *state;
	struct be good, bad;
	struct gp_group *both[2];

	need(w, GP_CAP_SUSPEND);
	good = be_start(w);
	bad = be_start(w);
	both[0] = good.group;
	both[1] = bad.group;
	rig->be_stop(bad.proc);
	assert_int_equal(w->ops->suspend(both, 2), -ESRCH);
	assert_runs(&good);
	gp_group_list_put(&bad.list);
	be_stop(&good);
}

static void suspend_that_fails_halfway_is_undone(void **state)
{
	struct world *w = *state;
	struct be be[3];
	struct gp_group *all[3];

	need(w, GP_CAP_SUSPEND);
	for (int i = 0; i < 3; i++) {
		be[i] = be_start(w);
		all[i] = be[i].group;
	}
	/* A group that was suspended before stays so: this call did not suspend it. */
	assert_int_equal(w->ops->suspend(&all[2], 1), 0);
	if (!inject(RIG_FAIL_SUSPEND, 1, -EIO)) {
		for (int i = 0; i < 3; i++)
			be_stop(&be[i]);
		gp_note_skip();
		skip();
	}
	assert_int_equal(w->ops->suspend(all, 3), -EIO);
	assert_runs(&be[0]);
	assert_runs(&be[1]);
	assert_off(&be[2]);
	for (int i = 0; i < 3; i++)
		be_stop(&be[i]);
}

static void resume_that_fails_halfway_suspends_nobody(void **state)
{
	struct world *w = *state;
	struct be be[3];
	struct gp_group *all[3];

	need(w, GP_CAP_SUSPEND);
	for (int i = 0; i < 3; i++) {
		be[i] = be_start(w);
		all[i] = be[i].group;
	}
	assert_int_equal(w->ops->suspend(all, 2), 0);
	if (!inject(RIG_FAIL_RESUME, 1, -EIO)) {
		for (int i = 0; i < 3; i++)
			be_stop(&be[i]);
		gp_note_skip();
		skip();
	}
	assert_int_equal(w->ops->resume(all, 3), -EIO);
	assert_runs(&be[2]);
	assert_int_equal(w->ops->resume(all, 3), 0);
	for (int i = 0; i < 3; i++) {
		assert_runs(&be[i]);
		be_stop(&be[i]);
	}
}

/* ---- holds ------------------------------------------------------------------- */

static void hold_keeps_the_device_until_release(void **state)
{
	struct world *w = *state;
	struct gp_hold_stat stat;
	struct be be;
	struct lc lc;

	need(w, GP_CAP_HOLD);
	be = be_start(w);
	lc = lc_start(w);
	assert_runs(&be);
	assert_int_equal(w->ops->hold(lc.hold, 500 * MS), 0);
	assert_off(&be);
	assert_int_equal(w->ops->hold(lc.hold, 500 * MS), -EBUSY);
	assert_off(&be);
	assert_int_equal(w->ops->release(lc.hold), 0);
	assert_runs(&be);
	assert_int_equal(w->ops->hold_stat(lc.hold, &stat), 0);
	assert_int_equal(stat.seq, 1);
	assert_int_equal(stat.expired, 0);
	assert_true(stat.held_ns >= 100 * MS);
	lc_stop(w, &lc);
	be_stop(&be);
}

static void release_of_nothing_is_success(void **state)
{
	struct world *w = *state;
	struct lc lc;

	need(w, GP_CAP_HOLD);
	lc = lc_start(w);
	assert_int_equal(w->ops->release(lc.hold), 0);
	assert_int_equal(w->ops->hold(lc.hold, 100 * MS), 0);
	assert_int_equal(w->ops->release(lc.hold), 0);
	assert_int_equal(w->ops->release(lc.hold), 0);
	lc_stop(w, &lc);
}

static void hold_ends_by_its_limit(void **state)
{
	struct world *w = *state;
	struct gp_hold_stat stat;
	struct be be;
	struct lc lc;

	need(w, GP_CAP_HOLD);
	be = be_start(w);
	lc = lc_start(w);
	assert_int_equal(w->ops->hold(lc.hold, 5 * MS), 0);
	rig->run(30 * MS);
	assert_runs(&be);
	assert_int_equal(w->ops->release(lc.hold), 0);
	assert_int_equal(w->ops->hold_stat(lc.hold, &stat), 0);
	assert_int_equal(stat.expired, 1);
	assert_int_equal(w->ops->hold(lc.hold, 500 * MS), 0);
	assert_off(&be);
	assert_int_equal(w->ops->release(lc.hold), 0);
	assert_runs(&be);
	lc_stop(w, &lc);
	be_stop(&be);
}

static void hold_refuses_a_wrong_limit(void **state)
{
	struct world *w = *state;
	struct gp_hold_stat stat;
	struct be be;
	struct lc lc;

	need(w, GP_CAP_HOLD);
	be = be_start(w);
	lc = lc_start(w);
	assert_int_equal(w->ops->hold(lc.hold, 0), -ERANGE);
	assert_int_equal(w->ops->hold(lc.hold, w->caps.max_hold_ns + 1), -ERANGE);
	assert_runs(&be);
	assert_int_equal(w->ops->hold_stat(lc.hold, &stat), 0);
	assert_int_equal(stat.seq, 0);
	lc_stop(w, &lc);
	be_stop(&be);
}

static void hold_that_is_destroyed_ends(void **state)
{
	struct world *w = *state;
	struct be be;
	struct lc lc;

	need(w, GP_CAP_HOLD);
	be = be_start(w);
	lc = lc_start(w);
	assert_int_equal(w->ops->hold(lc.hold, 900 * MS), 0);
	assert_off(&be);
	w->ops->hold_destroy(lc.hold);
	lc.hold = NULL;
	assert_runs(&be);
	lc_stop(w, &lc);
	be_stop(&be);
}

/* A hold needs a current context, and a new thread has none. */
static void *create_without_context(void *arg)
{
	struct world *w = arg;
	struct gp_hold *hold = NULL;
	int err = w->ops->hold_create(w->dev, NULL, &hold);

	return err == -ENXIO && !hold ? w : NULL;
}

static void hold_needs_a_context(void **state)
{
	struct world *w = *state;
	pthread_t thread;
	void *right = NULL;

	need(w, GP_CAP_HOLD);
	assert_int_equal(pthread_create(&thread, NULL, create_without_context, w), 0);
	pthread_join(thread, &right);
	assert_ptr_equal(right, w);
}

static uint64_t slow(void)
{
	return rig->slow ? rig->slow : 1;
}

/* The switch is over before the work arrives. */
static void work_under_a_hold_does_not_wait(void **state)
{
	struct world *w = *state;
	struct gp_hold_stat stat;
	struct be be;
	struct lc lc;
	uint64_t took;

	need(w, GP_CAP_HOLD);
	be = be_start(w);
	lc = lc_start(w);
	rig->lc_request(lc.proc);
	assert_int_equal(w->ops->hold(lc.hold, 200 * MS), 0);
	rig->run(10 * MS);
	took = rig->lc_request(lc.proc);
	assert_int_equal(w->ops->release(lc.hold), 0);
	rig->run(10 * MS);
	assert_true(took < MS / 2 * slow());
	assert_int_equal(w->ops->hold_stat(lc.hold, &stat), 0);
	assert_true(stat.held_ns >= 5 * MS);
	assert_true(stat.switch_ns < 10 * MS * slow());
	if (stat.until_ns)
		assert_true(stat.until_ns >= stat.from_ns + 5 * MS);
	lc_stop(w, &lc);
	be_stop(&be);
}

/* ---- log and usage ----------------------------------------------------------- */

/* Times do not go back. Returns how often @be_pid started. */
static void check_records(const struct gp_switch_record *rec, ssize_t n, pid_t be_pid,
			  size_t *starts)
{
	for (ssize_t i = 0; i < n; i++) {
		assert_true(rec[i].kind >= GP_SWITCH_START && rec[i].kind <= GP_SWITCH_LOST);
		if (i && rec[i].kind != GP_SWITCH_LOST)
			assert_true(rec[i].time_ns >= rec[i - 1].time_ns);
		if (rec[i].kind == GP_SWITCH_START && (rec[i].pid == be_pid || !rec[i].pid))
			++*starts;
	}
}

static void log_tells_of_switches(void **state)
{
	struct world *w = *state;
	struct gp_switch_record rec[4096];
	struct gp_log *log = NULL;
	struct be be;
	size_t starts = 0;
	uint64_t now = 0;
	ssize_t n;
	int err;

	need(w, GP_CAP_SWITCH_LOG | GP_CAP_SUSPEND);
	err = w->ops->log_open(w->dev, &log);
	if (err == -EPERM) {
		gp_note_skip();
		skip();
	}
	assert_int_equal(err, 0);
	be = be_start(w);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(w->ops->suspend(&be.group, 1), 0);
		rig->run(2 * MS);
		assert_int_equal(w->ops->resume(&be.group, 1), 0);
		rig->run(2 * MS);
	}
	rig->run(100 * MS);
	n = w->ops->log_read(log, rec, 4096);
	assert_true(n >= 5);
	check_records(rec, n, rig->be_pid(be.proc), &starts);
	assert_true(starts >= 5);
	assert_int_equal(w->ops->log_read(log, rec, 0), 0);
	/* If its clock is readable, no record is of the future. */
	if (w->ops->log_now && !w->ops->log_now(log, &now) && n > 0)
		assert_true(now >= rec[n - 1].time_ns);
	w->ops->log_close(log);
	be_stop(&be);
}

/* The log is the standard if there is one; skips without permission. */
static struct gp_log *open_log_if_any(struct world *w)
{
	struct gp_log *log = NULL;
	int err;

	if (!(w->caps.caps & GP_CAP_SWITCH_LOG))
		return NULL;
	err = w->ops->log_open(w->dev, &log);
	if (err == -EPERM) {
		gp_note_skip();
		skip();
	}
	assert_int_equal(err, 0);
	return log;
}

static void usage_counts_what_runs(void **state)
{
	struct world *w = *state;
	struct gp_log *log;
	uint64_t a = 0, b = 0, c = 0;
	struct be be;
	int err;

	need(w, GP_CAP_SUSPEND);
	log = open_log_if_any(w);
	be = be_start(w);
	err = w->ops->usage(be.group, &a);
	if (err == -ENODATA) {
		w->ops->log_close(log);
		be_stop(&be);
		gp_note_skip();
		skip();
	}
	assert_int_equal(err, 0);
	assert_runs(&be);
	assert_int_equal(w->ops->suspend(&be.group, 1), 0);
	rig->run(100 * MS);
	assert_int_equal(w->ops->usage(be.group, &b), 0);
	assert_true(b >= a + 50 * MS);
	rig->run(100 * MS);
	assert_int_equal(w->ops->usage(be.group, &c), 0);
	assert_true(c - b < 5 * MS);
	w->ops->log_close(log);
	be_stop(&be);
}

/* ---- timers and the slot ------------------------------------------------------ */

static bool due(const struct gp_timer *timer)
{
	struct pollfd p = { .fd = timer->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

static void timer_comes_when_it_should(void **state)
{
	struct world *w = *state;
	struct gp_timer *timer = NULL;
	uint64_t now = 0;

	assert_int_equal(w->ops->timer_create(w->dev, &timer), 0);
	assert_false(due(timer));
	assert_int_equal(w->ops->now(w->dev, &now), 0);
	assert_int_equal(w->ops->timer_arm(timer, now + 200 * MS), 0);
	rig->run(20 * MS);
	assert_false(due(timer));
	rig->run(200 * MS);
	assert_true(due(timer));
	assert_int_equal(w->ops->timer_ack(timer), 0);
	assert_false(due(timer));
	assert_int_equal(w->ops->timer_done(timer), 0);

	/* Disarmed, it does not fire. */
	assert_int_equal(w->ops->now(w->dev, &now), 0);
	assert_int_equal(w->ops->timer_arm(timer, now + 20 * MS), 0);
	assert_int_equal(w->ops->timer_arm(timer, 0), 0);
	rig->run(50 * MS);
	assert_false(due(timer));

	/* A past time is due now. */
	assert_int_equal(w->ops->timer_arm(timer, 1), 0);
	rig->run(MS);
	assert_true(due(timer));
	w->ops->timer_destroy(timer);
}

static void slot_has_one_holder(void **state)
{
	struct world *w = *state;
	int first = -1, second = -1;

	need(w, GP_CAP_SLICE_PREEMPTS);
	assert_int_equal(gp_slot_try(w->dev, &first), 0);
	assert_int_equal(gp_slot_try(w->dev, &second), -EBUSY);
	assert_int_equal(second, -1);
	close(first);
	assert_int_equal(gp_slot_try(w->dev, &second), 0);
	close(second);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

int gp_conformance(const struct rig *of)
{
	const struct CMUnitTest conformance[] = {
		TEST(probe_lists_what_open_opens),
		TEST(devices_and_timers_leave_nothing),
		TEST(null_may_be_put_back),
		TEST(caps_make_sense),
		TEST(memory_has_room),
		TEST(what_is_not_there_says_so),
		TEST(time_goes_forward),
		TEST(groups_are_found_and_stay),
		TEST(groups_of_nobody),
		TEST(groups_of_the_dead_are_gone),
		TEST(has_driver_open_names_processes),
		TEST(groups_from_files_are_those_of_the_process),
		TEST(groups_from_files_of_the_dead_are_gone),
		TEST(groups_from_other_files_are_none),
		TEST(control_files_are_handed_over),
		TEST(slice_is_read_as_set),
		TEST(slice_out_of_range_leaves_the_old),
		TEST(slice_that_fails_leaves_the_old),
		TEST(modes_are_taken),
		TEST(preempt_ends_a_turn),
		TEST(preempt_leaves_who_is_alone_and_who_is_off),
		TEST(classes_are_taken_of_others),
		TEST(hold_leaves_who_is_as_urgent),
		TEST(suspend_stops_resume_goes_on),
		TEST(suspend_takes_many),
		TEST(suspend_of_none_is_nothing),
		TEST(suspend_with_a_bad_group_leaves_the_good_running),
		TEST(suspend_that_fails_halfway_is_undone),
		TEST(resume_that_fails_halfway_suspends_nobody),
		TEST(hold_keeps_the_device_until_release),
		TEST(release_of_nothing_is_success),
		TEST(hold_ends_by_its_limit),
		TEST(hold_refuses_a_wrong_limit),
		TEST(hold_that_is_destroyed_ends),
		TEST(hold_needs_a_context),
		TEST(work_under_a_hold_does_not_wait),
		TEST(log_tells_of_switches),
		TEST(usage_counts_what_runs),
		TEST(timer_comes_when_it_should),
		TEST(slot_has_one_holder),
	};
	int status;

	rig = of;
	if (rig->setup()) {
		printf("%s: 0 run, 0 failed, %zu skipped\n", rig->name,
		       sizeof(conformance) / sizeof(conformance[0]));
		return 77;
	}
	printf("conformance of %s\n", rig->name);
	status = gp_run_tests(conformance);
	rig->teardown();
	return status;
}
