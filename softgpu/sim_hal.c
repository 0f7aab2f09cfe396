// SPDX-License-Identifier: Apache-2.0
/*
 * sim_hal.c - hal.h over the model, in this process, in virtual time.
 *
 * One mutex per simulated device, recursive because agents submit work while time moves. The
 * list of devices has its own, taken first.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softgpu/sim_hal.h"

#define MAX_HOLD_NS 1000000000u
#define LOG_RECORDS 4096u
#define HOLD_COOKIE (1ull << 63)
#define CONTROL_COOKIE (1ull << 62)
#define CHUNK 64u /* groups that one control takes */
#define PIDS 512u
#define FILE_NAME "gpreempt-sim-ctl"

/* Contents of a control file. */
struct sim_file {
	char name[24]; /* FILE_NAME */
	uint32_t minor;
	int32_t pid;
};

struct gp_sim_context {
	struct gp_sim *sim;
	struct gp_sim_context *next;
	pid_t pid;
	uint32_t compute, copy; /* groups */
	uint32_t copy_channel;
	unsigned int streams;
	bool evicted; /* GP_MODEL_SLOTS: suspended for a hold */
	uint32_t stream[];
};

struct sim_device {
	struct gp_device dev;
	struct gp_hal_ops ops;
	struct gp_sim *sim;
};

struct sim_group {
	struct gp_group group;
	struct gp_sim *sim;
};

struct sim_hold {
	struct gp_hold hold;
	struct gp_sim *sim;
	struct sim_hold *next;
	struct gp_sim_context *context; /* NULL: it is gone */
	uint64_t id;
	uint32_t channel;
	volatile uint32_t word;
	uint32_t ticket;
	bool on, started;
	uint64_t asked_ns, started_ns, until_ns;
	struct gp_hold_stat stat;
};

struct gp_log {
	struct gp_sim *sim;
	uint64_t at; /* next record to read */
};

struct sim_timer {
	struct gp_timer timer;
	struct gp_sim *sim;
	struct sim_timer *next;
	uint64_t at_ns; /* 0: not armed */
};

struct gp_sim {
	struct gp_sim *next;
	pthread_mutex_t lock;
	struct gp_device_id id;
	struct gp_model_config cfg;
	struct gp_model *model;
	struct gp_sim_agent agent;
	struct gp_sim_context *contexts;
	struct sim_hold *holds;
	struct sim_timer *timers;
	pid_t pid[PIDS];
	uint64_t hold_ids, control_ids;
	uint64_t waiting; /* cookie of a control, 0: it is done */
	bool stop;	  /* an agent ends advancing */
	int slot_fd;
	struct gp_switch_record log[LOG_RECORDS];
	uint64_t log_head;
	struct {
		bool armed;
		size_t at;
		int err;
	} fail[GP_SIM_HOLD + 1];
};

static pthread_mutex_t sims_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gp_sim *sims; /* protected by sims_lock */
static uint32_t sims_made;  /* likewise */

static struct sim_device *to_device(struct gp_device *dev)
{
	return (struct sim_device *)dev;
}

static struct sim_group *to_group(struct gp_group *group)
{
	return (struct sim_group *)group;
}

static struct sim_hold *to_hold(struct gp_hold *hold)
{
	return (struct sim_hold *)hold;
}

static struct sim_timer *to_timer(struct gp_timer *timer)
{
	return (struct sim_timer *)timer;
}

static void lock(struct gp_sim *sim)
{
	pthread_mutex_lock(&sim->lock);
}

static void unlock(struct gp_sim *sim)
{
	pthread_mutex_unlock(&sim->lock);
}

/* ---- time --------------------------------------------------------------- */

static void log_switch(struct gp_sim *sim, const struct gp_model_event *ev)
{
	sim->log[sim->log_head++ % LOG_RECORDS] = (struct gp_switch_record){
		.time_ns = ev->time_ns,
		.kind = ev->switch_kind,
		.pid = ev->pid,
		.context = ev->group,
	};
}

static struct sim_hold *find_hold(struct gp_sim *sim, uint64_t cookie)
{
	struct sim_hold *h = sim->holds;

	while (h && h->id != (cookie & ~HOLD_COOKIE))
		h = h->next;
	return h;
}

static void hold_event(struct gp_sim *sim, const struct gp_model_event *ev)
{
	struct sim_hold *h = find_hold(sim, ev->cookie);

	if (!h || !h->on || h->started || ev->type != GP_MODEL_STARTED)
		return;
	h->started = true;
	h->started_ns = ev->time_ns;
	h->until_ns += ev->time_ns;
}

static void on_event(void *arg, const struct gp_model_event *ev)
{
	struct gp_sim *sim = arg;

	if (ev->type == GP_MODEL_SWITCH)
		log_switch(sim, ev);
	else if (ev->type == GP_MODEL_CONTROL_DONE && ev->cookie == sim->waiting)
		sim->waiting = 0;
	else if (ev->cookie & HOLD_COOKIE)
		hold_event(sim, ev);
	if (sim->agent.event)
		sim->agent.event(sim->agent.arg, ev);
}

static void run_timers(struct gp_sim *sim)
{
	const uint64_t one = 1;

	for (struct sim_timer *t = sim->timers; t; t = t->next) {
		if (!t->at_ns || t->at_ns > gp_model_now(sim->model))
			continue;
		t->at_ns = 0;
		/* Cannot block: the count never reaches 2^64. */
		if (write(t->timer.fd, &one, sizeof(one)) != sizeof(one))
			t->at_ns = gp_model_now(sim->model);
	}
}

static void hold_end(struct gp_sim *sim, struct sim_hold *h, bool expired);

static void run_limits(struct gp_sim *sim)
{
	for (struct sim_hold *h = sim->holds; h; h = h->next)
		if (h->on && h->started && h->until_ns <= gp_model_now(sim->model))
			hold_end(sim, h, true);
}

static uint64_t next_ns(struct gp_sim *sim)
{
	uint64_t next = gp_model_next(sim->model), at;

	for (struct sim_timer *t = sim->timers; t; t = t->next)
		if (t->at_ns && t->at_ns < next)
			next = t->at_ns;
	for (struct sim_hold *h = sim->holds; h; h = h->next)
		if (h->on && h->started && h->until_ns < next)
			next = h->until_ns;
	at = sim->agent.next ? sim->agent.next(sim->agent.arg) : UINT64_MAX;
	return at < next ? at : next;
}

/* One event, at most at @to_ns. */
static void step(struct gp_sim *sim, uint64_t to_ns)
{
	uint64_t next = next_ns(sim), now;

	gp_model_advance(sim->model, next < to_ns ? next : to_ns);
	now = gp_model_now(sim->model);
	run_timers(sim);
	run_limits(sim);
	if (sim->agent.next && sim->agent.next(sim->agent.arg) <= now)
		sim->agent.run(sim->agent.arg, now);
}

static void advance(struct gp_sim *sim, uint64_t to_ns)
{
	while (gp_model_now(sim->model) < to_ns)
		step(sim, to_ns);
}

uint64_t gp_sim_now(struct gp_sim *sim)
{
	uint64_t now;

	lock(sim);
	now = gp_model_now(sim->model);
	unlock(sim);
	return now;
}

void gp_sim_advance(struct gp_sim *sim, uint64_t to_ns)
{
	lock(sim);
	sim->stop = false;
	while (gp_model_now(sim->model) < to_ns && !sim->stop)
		step(sim, to_ns);
	unlock(sim);
}

void gp_sim_stop(struct gp_sim *sim)
{
	lock(sim);
	sim->stop = true;
	unlock(sim);
}

void gp_sim_set_agent(struct gp_sim *sim, const struct gp_sim_agent *agent)
{
	lock(sim);
	sim->agent = *agent;
	unlock(sim);
}

void gp_sim_fail(struct gp_sim *sim, enum gp_sim_op op, size_t at, int err)
{
	lock(sim);
	sim->fail[op].armed = true;
	sim->fail[op].at = at;
	sim->fail[op].err = err;
	unlock(sim);
}

/* The error requested for group @at of @op, once; else 0. */
static int injected(struct gp_sim *sim, enum gp_sim_op op, size_t at)
{
	if (!sim->fail[op].armed || sim->fail[op].at != at)
		return 0;
	sim->fail[op].armed = false;
	return sim->fail[op].err;
}

/* ---- the simulated world ------------------------------------------------ */

static int lock_init(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;
	int err = pthread_mutexattr_init(&attr);

	if (err)
		return err;
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	err = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return err;
}

struct gp_sim *gp_sim_create(const struct gp_model_config *config)
{
	struct gp_sim *sim = calloc(1, sizeof(*sim));

	if (!sim)
		return NULL;
	sim->cfg = *config;
	sim->slot_fd = memfd_create("gpreempt-sim-slot", MFD_CLOEXEC);
	if (sim->slot_fd < 0)
		goto err_free;
	sim->model = gp_model_create(config, on_event, sim);
	if (!sim->model)
		goto err_slot;
	if (lock_init(&sim->lock)) {
		errno = ENOMEM;
		goto err_model;
	}
	pthread_mutex_lock(&sims_lock);
	sim->id.minor = sims_made++;
	snprintf(sim->id.name, sizeof(sim->id.name), "sim%u", sim->id.minor);
	memcpy(sim->id.uuid, "gpreempt-sim", 12);
	memcpy(sim->id.uuid + 12, &sim->id.minor, sizeof(sim->id.minor));
	sim->next = sims;
	sims = sim;
	pthread_mutex_unlock(&sims_lock);
	return sim;

err_model:
	gp_model_destroy(sim->model);
err_slot:
	close(sim->slot_fd);
err_free:
	free(sim);
	return NULL;
}

void gp_sim_destroy(struct gp_sim *sim)
{
	struct gp_sim **link = &sims;

	if (!sim)
		return;
	pthread_mutex_lock(&sims_lock);
	while (*link != sim)
		link = &(*link)->next;
	*link = sim->next;
	pthread_mutex_unlock(&sims_lock);
	while (sim->contexts)
		gp_sim_context_destroy(sim->contexts);
	gp_model_destroy(sim->model);
	pthread_mutex_destroy(&sim->lock);
	close(sim->slot_fd);
	free(sim);
}

void gp_sim_id(const struct gp_sim *sim, struct gp_device_id *id)
{
	*id = sim->id;
}

static pid_t *find_pid(struct gp_sim *sim, pid_t pid)
{
	for (size_t i = 0; i < PIDS; i++)
		if (sim->pid[i] == pid)
			return &sim->pid[i];
	return NULL;
}

int gp_sim_process_add(struct gp_sim *sim, pid_t pid)
{
	pid_t *place;
	int err = 0;

	if (pid <= 0)
		return -EINVAL;
	lock(sim);
	place = find_pid(sim, pid);
	if (!place)
		place = find_pid(sim, 0);
	if (place)
		*place = pid;
	else
		err = -ENOSPC;
	unlock(sim);
	return err;
}

void gp_sim_process_end(struct gp_sim *sim, pid_t pid)
{
	struct gp_sim_context *c, *next;
	pid_t *place;

	lock(sim);
	place = find_pid(sim, pid);
	if (place)
		*place = 0;
	for (c = sim->contexts; c; c = next) {
		next = c->next;
		if (c->pid == pid)
			gp_sim_context_destroy(c);
	}
	unlock(sim);
}

static bool held_by_others(struct gp_sim *sim, const struct gp_sim_context *c)
{
	for (struct sim_hold *h = sim->holds; h; h = h->next)
		if (h->on && h->context && h->context->pid != c->pid)
			return true;
	return false;
}

static void evict(struct gp_sim *sim, struct gp_sim_context *c)
{
	if (!c->evicted && gp_model_suspended(sim->model, c->compute) == 0)
		c->evicted = gp_model_suspend(sim->model, &c->compute, 1, 0) == 0;
}

/* Makes both groups and all channels; after an error the caller destroys them. */
static int context_fill(struct gp_sim *sim, struct gp_sim_context *c)
{
	int id = gp_model_group_add(sim->model, c->pid, GP_GROUP_COMPUTE);

	if (id < 0)
		return id;
	c->compute = (uint32_t)id;
	id = gp_model_group_add(sim->model, c->pid, GP_GROUP_COPY);
	if (id < 0)
		return id;
	c->copy = (uint32_t)id;
	id = gp_model_channel_add(sim->model, c->copy);
	if (id < 0)
		return id;
	c->copy_channel = (uint32_t)id;
	for (unsigned int i = 0; i < c->streams; i++) {
		id = gp_model_channel_add(sim->model, c->compute);
		if (id < 0)
			return id;
		c->stream[i] = (uint32_t)id;
	}
	return 0;
}

struct gp_sim_context *gp_sim_context_create(struct gp_sim *sim, pid_t pid, unsigned int streams)
{
	struct gp_sim_context *c;
	int err = gp_sim_process_add(sim, pid);

	if (err) {
		errno = -err;
		return NULL;
	}
	c = calloc(1, sizeof(*c) + streams * sizeof(c->stream[0]));
	if (!c)
		return NULL;
	c->sim = sim;
	c->pid = pid;
	c->streams = streams;
	lock(sim);
	err = context_fill(sim, c);
	c->next = sim->contexts;
	sim->contexts = c;
	if (!err && sim->cfg.kind == GP_MODEL_SLOTS && held_by_others(sim, c))
		evict(sim, c);
	if (err) {
		gp_sim_context_destroy(c);
		errno = -err;
		c = NULL;
	}
	unlock(sim);
	return c;
}

void gp_sim_context_destroy(struct gp_sim_context *c)
{
	struct gp_sim_context **link;
	struct gp_sim *sim;

	if (!c)
		return;
	sim = c->sim;
	lock(sim);
	for (struct sim_hold *h = sim->holds; h; h = h->next) {
		if (h->context != c)
			continue;
		if (h->on)
			hold_end(sim, h, false);
		h->context = NULL;
	}
	for (link = &sim->contexts; *link != c; link = &(*link)->next)
		;
	*link = c->next;
	if (c->compute)
		gp_model_group_del(sim->model, c->compute);
	if (c->copy)
		gp_model_group_del(sim->model, c->copy);
	free(c);
	unlock(sim);
}

uint32_t gp_sim_context_group(const struct gp_sim_context *context)
{
	return context->compute;
}

int gp_sim_submit(struct gp_sim_context *c, unsigned int stream,
		  const struct gp_model_method *method, uint64_t *seq)
{
	int err;

	if (stream != UINT_MAX && stream >= c->streams)
		return -EINVAL;
	lock(c->sim);
	err = gp_model_submit(c->sim->model,
			      stream == UINT_MAX ? c->copy_channel : c->stream[stream], method,
			      seq);
	unlock(c->sim);
	return err;
}

/* ---- devices ------------------------------------------------------------ */

static int probe_kind(struct gp_device_list *list, uint32_t kind)
{
	list->count = 0;
	pthread_mutex_lock(&sims_lock);
	for (struct gp_sim *s = sims; s; s = s->next)
		if (s->cfg.kind == kind && list->count < GP_HAL_MAX_DEVICES)
			list->dev[list->count++] = s->id;
	pthread_mutex_unlock(&sims_lock);
	return 0;
}

static int probe_timeslice(struct gp_device_list *list)
{
	return probe_kind(list, GP_MODEL_TIMESLICE);
}

static int probe_slots(struct gp_device_list *list)
{
	return probe_kind(list, GP_MODEL_SLOTS);
}

static int sim_open(const struct gp_device_id *id, struct gp_device **dev)
{
	struct sim_device *d;
	struct gp_sim *s;

	pthread_mutex_lock(&sims_lock);
	for (s = sims; s && memcmp(s->id.uuid, id->uuid, sizeof(id->uuid));)
		s = s->next;
	pthread_mutex_unlock(&sims_lock);
	if (!s)
		return -ENODEV;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	gp_hal_set_ops(&d->ops,
		       s->cfg.kind == GP_MODEL_SLOTS ? &gp_sim_slots_ops : &gp_sim_timeslice_ops);
	d->dev.ops = &d->ops;
	d->dev.id = s->id;
	d->sim = s;
	*dev = &d->dev;
	return 0;
}

static void sim_close(struct gp_device *dev)
{
	free(dev);
}

static int sim_caps(struct gp_device *dev, struct gp_hal_caps *caps)
{
	const struct gp_model_config *c = &to_device(dev)->sim->cfg;
	struct gp_hal_caps v = {
		.caps = GP_CAP_SUSPEND | GP_CAP_HOLD | GP_CAP_SWITCH_LOG | GP_CAP_ATTACH |
			GP_CAP_VIRTUAL_TIME,
		.switch_ns = c->notice_ns + c->switch_out_ns + c->save_ns + c->switch_in_ns +
			     c->begin_ns,
		.suspend_ns = c->suspend_ns,
		.resume_ns = c->resume_ns,
		.max_hold_ns = MAX_HOLD_NS,
	};

	if (c->kind == GP_MODEL_SLOTS) {
		v.slots = c->slots;
	} else {
		v.caps |= GP_CAP_SLICES | GP_CAP_SLICE_PREEMPTS | GP_CAP_PREEMPT_MODE |
			  GP_CAP_PREEMPT;
		v.min_slice_us = c->min_slice_us;
		v.max_slice_us = c->max_slice_us;
		v.default_slice_us = c->default_slice_us;
		v.default_copy_slice_us = c->default_copy_slice_us;
		v.set_slice_ns = c->set_slice_ns;
	}
	*caps = v;
	return 0;
}

static int sim_now(struct gp_device *dev, uint64_t *ns)
{
	*ns = gp_sim_now(to_device(dev)->sim);
	return 0;
}

/* A new open file each time: the lock belongs to it. */
static int sim_slot(struct gp_device *dev, struct gp_slot_place *place)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", to_device(dev)->sim->slot_fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	place->fd = fd;
	place->offset = 0;
	return 0;
}

/* ---- groups ------------------------------------------------------------- */

static struct gp_group *group_make(struct gp_device *dev, const struct gp_sim_context *c,
				   enum gp_group_kind kind)
{
	struct sim_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->group.dev = dev;
	g->group.pid = c->pid;
	g->group.kind = kind;
	g->group.id = kind == GP_GROUP_COPY ? c->copy : c->compute;
	g->group.channels = kind == GP_GROUP_COPY ? 1 : c->streams;
	g->sim = c->sim;
	return &g->group;
}

static int groups_fill(struct gp_device *dev, pid_t pid, struct gp_group_list *list)
{
	struct gp_sim *sim = to_device(dev)->sim;

	for (struct gp_sim_context *c = sim->contexts; c; c = c->next) {
		if (c->pid != pid)
			continue;
		for (int kind = GP_GROUP_COMPUTE; kind <= GP_GROUP_COPY; kind++) {
			list->group[list->count] = group_make(dev, c, (enum gp_group_kind)kind);
			if (!list->group[list->count])
				return -ENOMEM;
			list->count++;
		}
	}
	return 0;
}

static int sim_groups(struct gp_device *dev, pid_t pid, struct gp_group_list *list)
{
	struct gp_sim *sim = to_device(dev)->sim;
	struct gp_group_list found = { 0 };
	size_t contexts = 0;
	int err = 0;

	lock(sim);
	if (pid < 0 || (pid && !find_pid(sim, pid)))
		err = -ESRCH;
	if (!pid)
		pid = getpid();
	for (struct gp_sim_context *c = sim->contexts; c; c = c->next)
		contexts++;
	if (!err) {
		found.group = calloc(2 * contexts + 1, sizeof(found.group[0]));
		err = found.group ? groups_fill(dev, pid, &found) : -ENOMEM;
	}
	unlock(sim);
	if (err)
		gp_group_list_put(&found);
	else
		*list = found;
	return err;
}

int gp_sim_control_file(struct gp_sim *sim, pid_t pid)
{
	struct sim_file file = {
		.name = FILE_NAME,
		.minor = sim->id.minor,
		.pid = pid,
	};
	int fd = memfd_create(FILE_NAME, MFD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	if (pwrite(fd, &file, sizeof(file), 0) == sizeof(file))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static bool has_context(struct gp_sim *sim, pid_t pid)
{
	struct gp_sim_context *c = sim->contexts;

	while (c && c->pid != pid)
		c = c->next;
	return c;
}

static ssize_t sim_control_files(struct gp_device *dev, int *fd, uint32_t *key, size_t max)
{
	struct gp_sim *sim = to_device(dev)->sim;
	bool any;
	int made;

	lock(sim);
	any = has_context(sim, getpid());
	unlock(sim);
	if (!any)
		return -ENOENT;
	if (!max)
		return 0;
	made = gp_sim_control_file(sim, getpid());
	if (made < 0)
		return made;
	fd[0] = made;
	key[0] = 0;
	return 1;
}

static bool read_file(int fd, struct sim_file *file)
{
	return fcntl(fd, F_GET_SEALS) >= 0 && pread(fd, file, sizeof(*file), 0) == sizeof(*file) &&
	       !memcmp(file->name, FILE_NAME, sizeof(FILE_NAME));
}

static int sim_is_control_file(int fd)
{
	struct sim_file file;

	return read_file(fd, &file);
}

static bool is_file_of(const struct gp_sim *sim, pid_t pid, int fd)
{
	struct sim_file file;

	return read_file(fd, &file) && file.minor == sim->id.minor && file.pid == pid;
}

static int sim_groups_from(struct gp_device *dev, pid_t pid, const int *fd, const uint32_t *key,
			   size_t n, struct gp_group_list *list)
{
	struct gp_group_list found = { 0 };
	int err = sim_groups(dev, pid, &found);
	bool any = false;

	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		any |= is_file_of(to_device(dev)->sim, pid ? pid : getpid(), fd[i]);
	if (!any)
		gp_group_list_put(&found);
	*list = found;
	return 0;
}

static int sim_has_driver_open(struct gp_device *dev, pid_t pid)
{
	struct gp_sim *sim = to_device(dev)->sim;
	bool known;

	lock(sim);
	known = pid >= 0 && find_pid(sim, pid ? pid : getpid());
	unlock(sim);
	return known ? 1 : -ESRCH;
}

static void sim_group_put(struct gp_group *group)
{
	free(group);
}

static int gone(int err)
{
	return err == -ENOENT ? -ESRCH : err;
}

static int sim_get_slice(struct gp_group *group, uint64_t *us)
{
	struct gp_sim *sim = to_group(group)->sim;
	int err;

	lock(sim);
	err = gp_model_get_slice(sim->model, group->id, us);
	unlock(sim);
	return gone(err);
}

static int sim_set_slice(struct gp_group *group, uint64_t us)
{
	struct gp_sim *sim = to_group(group)->sim;
	int err;

	lock(sim);
	err = injected(sim, GP_SIM_SET_SLICE, 0);
	if (!err)
		err = gp_model_set_slice(sim->model, group->id, us);
	if (!err)
		advance(sim, gp_model_now(sim->model) + sim->cfg.set_slice_ns);
	unlock(sim);
	return gone(err);
}

/* Takes effect at the call's end, the latest possible time. */
static int sim_preempt(struct gp_group *group)
{
	struct gp_sim *sim = to_group(group)->sim;
	int err;

	lock(sim);
	advance(sim, gp_model_now(sim->model) + sim->cfg.preempt_ns);
	err = gp_model_preempt(sim->model, group->id);
	unlock(sim);
	return gone(err);
}

static int sim_set_mode(struct gp_group *group, enum gp_preempt_mode mode)
{
	struct gp_sim *sim = to_group(group)->sim;
	int err;

	lock(sim);
	err = gp_model_set_mode(sim->model, group->id, mode);
	unlock(sim);
	return gone(err);
}

static int sim_usage(struct gp_group *group, uint64_t *busy_ns)
{
	struct gp_sim *sim = to_group(group)->sim;
	int err;

	lock(sim);
	err = gp_model_usage(sim->model, group->id, busy_ns);
	unlock(sim);
	return gone(err);
}

/* ---- suspend and resume ------------------------------------------------- */

static struct gp_sim_context *context_of(struct gp_sim *sim, uint32_t group)
{
	struct gp_sim_context *c = sim->contexts;

	while (c && c->compute != group)
		c = c->next;
	return c;
}

static int wait_control(struct gp_sim *sim)
{
	while (sim->waiting) {
		if (next_ns(sim) == UINT64_MAX)
			return -EIO;
		step(sim, UINT64_MAX);
	}
	return 0;
}

static int control(struct gp_sim *sim, const uint32_t *id, size_t n, bool resume)
{
	int err;

	for (size_t i = 0; i < n; i += CHUNK) {
		size_t k = n - i < CHUNK ? n - i : CHUNK;
		uint64_t cookie = CONTROL_COOKIE | ++sim->control_ids;

		sim->waiting = cookie;
		err = resume ? gp_model_resume(sim->model, id + i, k, cookie) :
			       gp_model_suspend(sim->model, id + i, k, cookie);
		if (!err)
			err = wait_control(sim);
		if (err)
			return gone(err);
	}
	return 0;
}

/* Ids of all of @group into a new array; all must exist. */
static int take_ids(struct gp_group *const *group, size_t n, uint32_t **ids)
{
	struct gp_sim *sim = to_group(group[0])->sim;
	uint32_t *id = calloc(n, sizeof(*id));

	if (!id)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int err = 0;

		if (to_group(group[i])->sim != sim)
			err = -EINVAL;
		else if (gp_model_suspended(sim->model, group[i]->id) < 0)
			err = -ESRCH;
		if (err) {
			free(id);
			return err;
		}
		id[i] = group[i]->id;
	}
	*ids = id;
	return 0;
}

/*
 * Groups that a hold evicted resume at its release, unless suspended meanwhile. A resume
 * during a hold takes effect then, too.
 */
static bool defer_to_hold(struct gp_sim *sim, uint32_t id, bool resume)
{
	struct gp_sim_context *c = context_of(sim, id);

	if (!c || sim->cfg.kind != GP_MODEL_SLOTS || !held_by_others(sim, c))
		return false;
	c->evicted = resume;
	return resume;
}

/* Of @n ids those that this call must change. */
static size_t to_change(struct gp_sim *sim, uint32_t *id, size_t n, bool resume)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (defer_to_hold(sim, id[i], resume))
			continue;
		if ((gp_model_suspended(sim->model, id[i]) == 1) == resume)
			id[kept++] = id[i];
	}
	return kept;
}

static int suspend_ids(struct gp_sim *sim, uint32_t *id, size_t n)
{
	int err = 0;
	size_t k;

	for (k = 0; k < n && !err; k++)
		err = injected(sim, GP_SIM_SUSPEND, k);
	if (!err)
		return n ? control(sim, id, n, false) : 0;
	/* The last of k failed: those before were suspended, and are resumed. */
	if (k > 1 && control(sim, id, k - 1, false) == 0)
		control(sim, id, k - 1, true);
	return err;
}

static int resume_ids(struct gp_sim *sim, uint32_t *id, size_t n)
{
	int err = 0;
	size_t k;

	for (k = 0; k < n && !err; k++)
		err = injected(sim, GP_SIM_RESUME, k);
	if (!err)
		return n ? control(sim, id, n, true) : 0;
	if (k > 1)
		control(sim, id, k - 1, true);
	return err;
}

static int set_running(struct gp_group *const *group, size_t n, bool running)
{
	struct gp_sim *sim;
	uint32_t *id;
	int err;

	if (!n)
		return 0;
	sim = to_group(group[0])->sim;
	lock(sim);
	err = take_ids(group, n, &id);
	if (!err) {
		n = to_change(sim, id, n, running);
		err = running ? resume_ids(sim, id, n) : suspend_ids(sim, id, n);
		free(id);
	}
	unlock(sim);
	return err;
}

static int sim_suspend(struct gp_group *const *group, size_t n)
{
	return set_running(group, n, false);
}

static int sim_resume(struct gp_group *const *group, size_t n)
{
	return set_running(group, n, true);
}

/* ---- holds -------------------------------------------------------------- */

static int sim_hold_create(struct gp_device *dev, void *context, struct gp_hold **hold)
{
	struct gp_sim *sim = to_device(dev)->sim;
	struct gp_sim_context *c;
	struct sim_hold *h = NULL;
	int err = -ENXIO;

	lock(sim);
	for (c = sim->contexts; c && c != context; c = c->next)
		;
	if (c) {
		h = calloc(1, sizeof(*h));
		err = h ? gp_model_channel_add(sim->model, c->compute) : -ENOMEM;
	}
	if (err < 0) {
		free(h);
	} else {
		h->channel = (uint32_t)err;
		err = 0;
		h->hold.dev = dev;
		h->sim = sim;
		h->context = c;
		h->id = ++sim->hold_ids;
		h->next = sim->holds;
		sim->holds = h;
		*hold = &h->hold;
	}
	unlock(sim);
	return err;
}

/* Two kernels: a single one does not keep the device (softgpu/model.h). */
static int hold_by_kernels(struct gp_sim *sim, struct sim_hold *h, uint64_t limit_ns)
{
	struct gp_model_method k = {
		.type = GP_METHOD_HOLD,
		.word = &h->word,
		.ticket = h->ticket + 1,
		.limit_ns = limit_ns,
		.cookie = HOLD_COOKIE | h->id,
	};

	for (int i = 0; i < 2; i++) {
		int err = gp_model_submit(sim->model, h->channel, &k, NULL);

		if (!err)
			continue;
		h->word = k.ticket; /* ends the queued one */
		h->ticket = k.ticket;
		return err;
	}
	h->ticket = k.ticket;
	return 0;
}

/* Evicts all other queues; they are off the device some 100 µs later. */
static int hold_by_eviction(struct gp_sim *sim, struct sim_hold *h)
{
	for (struct gp_sim_context *c = sim->contexts; c; c = c->next)
		if (c->pid != h->context->pid)
			evict(sim, c);
	h->started = true;
	h->started_ns = gp_model_now(sim->model);
	h->until_ns += h->started_ns;
	return 0;
}

static int sim_hold(struct gp_hold *hold, uint64_t limit_ns)
{
	struct sim_hold *h = to_hold(hold);
	struct gp_sim *sim = h->sim;
	int err;

	if (!limit_ns || limit_ns > MAX_HOLD_NS)
		return -ERANGE;
	lock(sim);
	err = h->on ? -EBUSY : !h->context ? -ENXIO : injected(sim, GP_SIM_HOLD, 0);
	if (!err) {
		h->started = false;
		h->until_ns = limit_ns;
		h->asked_ns = gp_model_now(sim->model);
		err = sim->cfg.kind == GP_MODEL_SLOTS ? hold_by_eviction(sim, h) :
							hold_by_kernels(sim, h, limit_ns);
	}
	if (!err) {
		h->on = true;
		h->stat.seq++;
		h->stat.switch_ns = 0;
		h->stat.held_ns = 0;
		h->stat.missed_ns = 0;
	}
	unlock(sim);
	return err;
}

static void bring_back(struct gp_sim *sim)
{
	for (struct gp_sim_context *c = sim->contexts; c; c = c->next) {
		if (!c->evicted || held_by_others(sim, c))
			continue;
		c->evicted = false;
		gp_model_resume(sim->model, &c->compute, 1, 0);
	}
}

static void hold_end(struct gp_sim *sim, struct sim_hold *h, bool expired)
{
	uint64_t now = gp_model_now(sim->model);

	h->on = false;
	h->word = h->ticket;
	if (expired) {
		h->stat.expired++;
	} else if (h->started) {
		h->stat.switch_ns = h->started_ns - h->asked_ns;
		h->stat.held_ns = now - h->started_ns;
	} else {
		h->stat.missed_ns = now - h->asked_ns;
	}
	bring_back(sim);
}

static int sim_release(struct gp_hold *hold)
{
	struct sim_hold *h = to_hold(hold);

	lock(h->sim);
	if (h->on)
		hold_end(h->sim, h, false);
	unlock(h->sim);
	return 0;
}

static int sim_hold_stat(struct gp_hold *hold, struct gp_hold_stat *stat)
{
	struct sim_hold *h = to_hold(hold);

	lock(h->sim);
	*stat = h->stat;
	unlock(h->sim);
	return 0;
}

static void sim_hold_destroy(struct gp_hold *hold)
{
	struct sim_hold *h = to_hold(hold), **link;
	struct gp_sim *sim;

	if (!h)
		return;
	sim = h->sim;
	sim_release(hold);
	lock(sim);
	/* Its kernels may not have read the word yet, and it is freed now. */
	gp_model_channel_del(sim->model, h->channel);
	for (link = &sim->holds; *link != h; link = &(*link)->next)
		;
	*link = h->next;
	unlock(sim);
	free(h);
}

/* ---- log ---------------------------------------------------------------- */

static int sim_log_open(struct gp_device *dev, struct gp_log **log)
{
	struct gp_log *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->sim = to_device(dev)->sim;
	lock(l->sim);
	l->at = l->sim->log_head;
	unlock(l->sim);
	*log = l;
	return 0;
}

static void sim_log_close(struct gp_log *log)
{
	free(log);
}

static ssize_t sim_log_read(struct gp_log *log, struct gp_switch_record *rec, size_t n)
{
	struct gp_sim *sim = log->sim;
	size_t got = 0;

	lock(sim);
	if (n && sim->log_head - log->at > LOG_RECORDS) {
		uint64_t lost = sim->log_head - LOG_RECORDS - log->at;

		log->at += lost;
		rec[got++] = (struct gp_switch_record){
			.time_ns = sim->log[log->at % LOG_RECORDS].time_ns,
			.kind = GP_SWITCH_LOST,
			.count = lost > UINT32_MAX ? UINT32_MAX : (uint32_t)lost,
		};
	}
	while (got < n && log->at < sim->log_head)
		rec[got++] = sim->log[log->at++ % LOG_RECORDS];
	unlock(sim);
	return (ssize_t)got;
}

/* ---- timers ------------------------------------------------------------- */

static int sim_timer_create(struct gp_device *dev, struct gp_timer **timer)
{
	struct sim_timer *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->timer.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->timer.fd < 0) {
		err = -errno;
		free(t);
		return err;
	}
	t->timer.dev = dev;
	t->sim = to_device(dev)->sim;
	lock(t->sim);
	t->next = t->sim->timers;
	t->sim->timers = t;
	unlock(t->sim);
	*timer = &t->timer;
	return 0;
}

static void drain(struct sim_timer *t)
{
	uint64_t count;

	/* EAGAIN: it was not due. */
	while (read(t->timer.fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

static int sim_timer_arm(struct gp_timer *timer, uint64_t at_ns)
{
	struct sim_timer *t = to_timer(timer);

	lock(t->sim);
	drain(t);
	t->at_ns = at_ns;
	run_timers(t->sim);
	unlock(t->sim);
	return 0;
}

static int sim_timer_ack(struct gp_timer *timer)
{
	drain(to_timer(timer));
	return 0;
}

/* Time does not move here anyway. */
static int sim_timer_done(struct gp_timer *timer)
{
	return 0;
}

static void sim_timer_destroy(struct gp_timer *timer)
{
	struct sim_timer *t = to_timer(timer), **link;

	if (!t)
		return;
	lock(t->sim);
	for (link = &t->sim->timers; *link != t; link = &(*link)->next)
		;
	*link = t->next;
	unlock(t->sim);
	close(t->timer.fd);
	free(t);
}

const struct gp_hal_ops gp_sim_timeslice_ops = {
	.name = "sim-timeslice",
	.abi = GP_HAL_ABI,
	.caps = sim_caps,
	.close = sim_close,
	.control_files = sim_control_files,
	.get_slice = sim_get_slice,
	.group_put = sim_group_put,
	.groups = sim_groups,
	.groups_from = sim_groups_from,
	.has_driver_open = sim_has_driver_open,
	.is_control_file = sim_is_control_file,
	.hold = sim_hold,
	.hold_create = sim_hold_create,
	.hold_destroy = sim_hold_destroy,
	.hold_stat = sim_hold_stat,
	.log_close = sim_log_close,
	.log_open = sim_log_open,
	.log_read = sim_log_read,
	.now = sim_now,
	.open = sim_open,
	.preempt = sim_preempt,
	.probe = probe_timeslice,
	.release = sim_release,
	.resume = sim_resume,
	.set_preempt_mode = sim_set_mode,
	.set_slice = sim_set_slice,
	.slot = sim_slot,
	.suspend = sim_suspend,
	.timer_arm = sim_timer_arm,
	.timer_create = sim_timer_create,
	.timer_destroy = sim_timer_destroy,
	.timer_ack = sim_timer_ack,
	.timer_done = sim_timer_done,
	.usage = sim_usage,
};

/* Queues in slots have no slices, so there is no short slice to lock. */
const struct gp_hal_ops gp_sim_slots_ops = {
	.name = "sim-slots",
	.abi = GP_HAL_ABI,
	.caps = sim_caps,
	.close = sim_close,
	.group_put = sim_group_put,
	.groups = sim_groups,
	.has_driver_open = sim_has_driver_open,
	.hold = sim_hold,
	.hold_create = sim_hold_create,
	.hold_destroy = sim_hold_destroy,
	.hold_stat = sim_hold_stat,
	.log_close = sim_log_close,
	.log_open = sim_log_open,
	.log_read = sim_log_read,
	.now = sim_now,
	.open = sim_open,
	.probe = probe_slots,
	.release = sim_release,
	.resume = sim_resume,
	.suspend = sim_suspend,
	.timer_arm = sim_timer_arm,
	.timer_create = sim_timer_create,
	.timer_destroy = sim_timer_destroy,
	.timer_ack = sim_timer_ack,
	.timer_done = sim_timer_done,
	.usage = sim_usage,
};
