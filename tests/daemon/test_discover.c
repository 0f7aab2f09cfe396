// SPDX-License-Identifier: Apache-2.0
/*
 * Processes are real, but the drivers' reports are faked in @world. Each test runs with the
 * kernel's events, if this process may receive them, and without.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/discover/discover.h"
#include "tests/common/gp_test.h"

#define MS 1000000ull
#define DEVICES 2
#define PROCS 16
#define FOUND_MS 100 /* discover.h promises this to its users */
/* Periods are shorter in tests that wait for several: an 8th. */
#define HURRY 8
#define SWEEP_MS (2000 / HURRY)
/* Sweeps may take 0.1 % of a core, here 0.8 %: after a long one the next is later. */
#define QUIET_MS (2 * SWEEP_MS)
#define SOON_MS 1500	  /* before the next sweep, without hurry */
#define WAKES 8		  /* of threads, from a process's groups until it is found */
#define OPENS 5		  /* other than the files that a fork's child closes first */
#define PATIENCE_MS 20000 /* ends a wait that hangs */

/* ---- the drivers' reports -------------------------------------------------------- */

struct proc {
	pid_t pid;
	uint32_t driver_open, compute, copy; /* a bit for each device */
	unsigned int groups_ms;		     /* CPU time of a scan */
	unsigned int open_calls, groups_calls, groups_done;
	uint64_t scan_end_ns, pause_ns; /* last scan: its end, and the time since the one before */
};

static struct {
	pthread_mutex_t lock; /* protects all fields */
	struct proc proc[PROCS];
	int groups; /* not put yet */
	bool tells; /* reports computing processes */
} world = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct gp_device device[DEVICES];
static atomic_bool deaf;  /* there are no events */
static atomic_bool lossy; /* events are lost */

/* Lock held. */
static struct proc *proc_of(pid_t pid)
{
	for (size_t i = 0; i < PROCS; i++)
		if (world.proc[i].pid == pid)
			return &world.proc[i];
	return NULL;
}

static uint32_t bit_of(const struct gp_device *dev)
{
	return 1u << (dev - device);
}

static int fake_has_driver_open(struct gp_device *dev, pid_t pid)
{
	struct proc *p;
	int r = 0;

	pthread_mutex_lock(&world.lock);
	p = proc_of(pid);
	if (p) {
		p->open_calls++;
		r = !!(p->driver_open & bit_of(dev));
	}
	pthread_mutex_unlock(&world.lock);
	return r;
}

static int fake_has_compute_client(struct gp_device *dev, pid_t pid)
{
	const struct proc *p;
	int r = -EAGAIN;

	pthread_mutex_lock(&world.lock);
	p = proc_of(pid);
	if (world.tells)
		r = p && p->compute & bit_of(dev);
	pthread_mutex_unlock(&world.lock);
	return r;
}

static void add_group(struct gp_group_list *list, struct gp_device *dev, pid_t pid,
		      enum gp_group_kind kind)
{
	struct gp_group *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->dev = dev;
	g->pid = pid;
	g->kind = kind;
	list->group = realloc(list->group, (list->count + 1) * sizeof(g));
	assert_non_null(list->group);
	list->group[list->count++] = g;
	world.groups++;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int fake_groups(struct gp_device *dev, pid_t pid, struct gp_group_list *list)
{
	struct gp_group_list made = { 0 };
	uint64_t busy_ns = 0, from = cpu_ns();
	struct proc *p;
	int r = -ESRCH;

	pthread_mutex_lock(&world.lock);
	p = proc_of(pid);
	if (p) {
		p->groups_calls++;
		p->pause_ns = gp_loop_now_ns() - p->scan_end_ns;
		busy_ns = p->groups_ms * MS;
	}
	pthread_mutex_unlock(&world.lock);
	while (cpu_ns() < from + busy_ns)
		;
	pthread_mutex_lock(&world.lock);
	p = proc_of(pid);
	if (p) {
		p->groups_done++;
		p->scan_end_ns = gp_loop_now_ns();
		if (p->copy & bit_of(dev))
			add_group(&made, dev, pid, GP_GROUP_COPY);
		if (p->compute & bit_of(dev))
			add_group(&made, dev, pid, GP_GROUP_COMPUTE);
		*list = made;
		r = 0;
	}
	pthread_mutex_unlock(&world.lock);
	return r;
}

static void fake_group_put(struct gp_group *group)
{
	pthread_mutex_lock(&world.lock);
	world.groups--;
	pthread_mutex_unlock(&world.lock);
	free(group);
}

static const struct gp_hal_ops fake_ops = {
	.name = "fake",
	.abi = GP_HAL_ABI,
	.has_compute_client = fake_has_compute_client,
	.group_put = fake_group_put,
	.groups = fake_groups,
	.has_driver_open = fake_has_driver_open,
};

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && deaf) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return __real_socket(domain, type, protocol);
}

ssize_t __real_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
			socklen_t *from_len);
ssize_t __wrap_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
			socklen_t *from_len);
ssize_t __wrap_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
			socklen_t *from_len)
{
	ssize_t n = __real_recvfrom(fd, buf, len, flags, from, from_len);

	if (n < 0 || !lossy)
		return n;
	errno = ENOBUFS;
	return -1;
}

/* ---- processes -------------------------------------------------------------------- */

struct child {
	pid_t pid;
	int to; /* a byte: open OPENS files more; its end: end */
};

static void be_child(int from)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(from, "", 1) != 1)
		_exit(1);
	while (read(from, &byte, 1) == 1)
		for (int i = 0; i < OPENS; i++)
			if (open("/dev/null", O_RDONLY) < 0)
				_exit(1);
	_exit(0);
}

static struct child child_start(uint32_t driver_open, uint32_t compute)
{
	struct child c;
	int ends[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	/* It is known before any thread can look at it. */
	pthread_mutex_lock(&world.lock);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (!c.pid) {
		close(ends[0]);
		be_child(ends[1]);
	}
	*proc_of(0) = (struct proc){ .pid = c.pid, .driver_open = driver_open, .compute = compute };
	pthread_mutex_unlock(&world.lock);
	close(ends[1]);
	c.to = ends[0];
	/* Its open files count as no change from now on, even on a busy machine. */
	assert_int_equal(read(c.to, &byte, 1), 1);
	return c;
}

static void child_end(const struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->to);
	pthread_mutex_lock(&world.lock);
	memset(proc_of(c->pid), 0, sizeof(struct proc));
	pthread_mutex_unlock(&world.lock);
}

static void child_opens(const struct child *c)
{
	assert_int_equal(write(c->to, "o", 1), 1);
}

static void child_set(const struct child *c, uint32_t driver_open, uint32_t compute)
{
	struct proc *p;

	pthread_mutex_lock(&world.lock);
	p = proc_of(c->pid);
	p->driver_open = driver_open;
	p->compute = compute;
	pthread_mutex_unlock(&world.lock);
}

static struct proc child_get(const struct child *c)
{
	struct proc p;

	pthread_mutex_lock(&world.lock);
	p = *proc_of(c->pid);
	pthread_mutex_unlock(&world.lock);
	return p;
}

/* ---- the loop's side ---------------------------------------------------------------- */

struct fix {
	struct gp_loop *loop;
	struct gp_discovery *find;
	pid_t skipped;	     /* 0: none .. */
	uint32_t skipped_on; /* .. on these; 0: on all */
	bool refuse, leave_alone;
	unsigned int found; /* calls */
	pid_t pid;	    /* of the last */
	uint32_t on;	    /* devices so far */
	struct gp_group_list taken[8];
	size_t n_taken;
	uint64_t late_ns; /* by which waits of the loop were longer than they should be .. */
	uint64_t waits;	  /* .. in all of these */
};

static bool is_skipped(void *arg, struct gp_device *dev, pid_t pid)
{
	const struct fix *f = arg;

	for (size_t i = 0; i < f->n_taken; i++)
		if (f->taken[i].group[0]->pid == pid && f->taken[i].group[0]->dev == dev)
			return true;
	return pid == f->skipped && (!f->skipped_on || f->skipped_on & bit_of(dev));
}

static bool is_found(void *arg, struct gp_device *dev, pid_t pid, struct gp_group_list *list)
{
	struct fix *f = arg;
	bool compute = false;

	assert_true(list->count > 0);
	for (size_t i = 0; i < list->count; i++) {
		assert_ptr_equal(list->group[i]->dev, dev);
		assert_int_equal(list->group[i]->pid, pid);
		compute |= list->group[i]->kind == GP_GROUP_COMPUTE;
	}
	assert_true(compute);
	f->found++;
	f->pid = pid;
	f->on |= bit_of(dev);
	if (f->refuse)
		return false;
	if (f->leave_alone) {
		gp_group_list_put(list);
		return true;
	}
	assert_true(f->n_taken < 8);
	f->taken[f->n_taken++] = *list;
	return true;
}

static struct fix *current; /* NULL: none */

static const struct gp_discover_ops find_ops = { .skip = is_skipped, .found = is_found };

static struct fix *start_hurry(unsigned int hurry)
{
	struct gp_device *dev[DEVICES];
	struct fix *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	for (size_t i = 0; i < DEVICES; i++) {
		device[i].ops = &fake_ops;
		dev[i] = &device[i];
	}
	assert_int_equal(gp_loop_create(&f->loop), 0);
	assert_int_equal(gp_discover_create(f->loop, dev, DEVICES, &find_ops, f, hurry, &f->find),
			 0);
	current = f;
	return f;
}

static struct fix *start(void)
{
	return start_hurry(HURRY);
}

static void stop(struct fix *f)
{
	current = NULL;
	gp_discover_destroy(f->find);
	gp_loop_destroy(f->loop);
	for (size_t i = 0; i < f->n_taken; i++)
		gp_group_list_put(&f->taken[i]);
	free(f);
	pthread_mutex_lock(&world.lock);
	assert_int_equal(world.groups, 0);
	pthread_mutex_unlock(&world.lock);
}

static bool hears(const struct fix *f)
{
	return strcmp(gp_discover_how(f->find), "scan") != 0;
}

/* Until @n were found, or @ms have passed; returns the ms it took. */
static unsigned int run(struct fix *f, unsigned int n, unsigned int ms)
{
	uint64_t from = gp_loop_now_ns(), now = from, before;

	while (f->found < n && now < from + ms * MS) {
		before = now;
		assert_int_equal(gp_loop_once(f->loop, 2), 0);
		now = gp_loop_now_ns();
		f->late_ns += now > before + 2 * MS ? now - before - 2 * MS : 0;
		f->waits++;
	}
	return (unsigned int)((now - from) / MS);
}

/* The first sweep, of existing processes, is done when it has met @c. */
static void first_sweep(struct fix *f, const struct child *c)
{
	for (int i = 0; i < PATIENCE_MS / 5 && !child_get(c).open_calls; i++)
		run(f, UINT32_MAX, 5);
	assert_true(child_get(c).open_calls > 0);
	run(f, UINT32_MAX, 50);
}

/* ---- tests ---------------------------------------------------------------------------- */

static void who_was_there_is_found(void **state)
{
	struct child c = child_start(2, 2);
	struct fix *f = start();

	run(f, 1, PATIENCE_MS);
	assert_int_equal(f->found, 1);
	assert_int_equal(f->pid, c.pid);
	assert_int_equal(f->on, 2);
	/* It is a tenant now, and that is all. */
	run(f, 2, QUIET_MS);
	assert_int_equal(f->found, 1);
	stop(f);
	child_end(&c);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * From the time that its groups exist. Making them takes some time, and opens files. On a busy
 * machine each wake of a thread is later, by as much as this thread's.
 */
static void who_comes_is_found_at_once(void **state)
{
	struct child there = child_start(0, 0), c[7];
	struct fix *f = start_hurry(1);
	uint64_t late_ns;
	int took[7];

	first_sweep(f, &there);
	for (unsigned int i = 0; i < 7; i++) {
		c[i] = child_start(0, 0);
		run(f, UINT32_MAX, 61);
		child_set(&c[i], 1, 0);
		child_opens(&c[i]);
		run(f, UINT32_MAX, 90 + 13 * i);
		assert_int_equal(f->found, i);
		child_set(&c[i], 1, 1);
		took[i] = (int)run(f, i + 1, PATIENCE_MS);
		assert_int_equal(f->found, i + 1);
		assert_int_equal(f->pid, c[i].pid);
	}
	qsort(took, 7, sizeof(took[0]), compare);
	late_ns = f->late_ns / f->waits;
	printf("found after %d .. %d .. %d ms; threads run %llu us late\n", took[0], took[3],
	       took[6], (unsigned long long)late_ns / 1000);
	assert_true(took[3] <= FOUND_MS + (int)(WAKES * late_ns / MS));
	for (unsigned int i = 0; i < 7; i++)
		child_end(&c[i]);
	child_end(&there);
	stop(f);
}

/* An old process that opens the device. */
static void who_opens_late_is_found_by_the_sweep(void **state)
{
	struct child c = child_start(0, 0);
	struct fix *f = start();
	unsigned int took;

	first_sweep(f, &c);
	child_set(&c, 1, 1);
	child_opens(&c);
	took = run(f, 1, PATIENCE_MS);
	assert_int_equal(f->found, 1);
	printf("found after %u ms\n", took);
	stop(f);
	child_end(&c);
}

/* Unchanged processes are queried only in their turn. */
static void drivers_are_asked_of_what_changed(void **state)
{
	struct child c = child_start(0, 0);
	struct fix *f = start();
	unsigned int calls;

	first_sweep(f, &c);
	run(f, UINT32_MAX, QUIET_MS);
	calls = child_get(&c).open_calls;
	assert_true(calls == DEVICES || calls == 2 * DEVICES);
	assert_int_equal(child_get(&c).groups_calls, 0);
	stop(f);
	child_end(&c);
}

static void who_is_skipped_is_not_looked_into(void **state)
{
	struct child c = child_start(1, 1);
	struct fix *f = start();

	f->skipped = c.pid;
	run(f, 1, QUIET_MS);
	assert_int_equal(child_get(&c).groups_calls, 0);
	f->skipped = 0;
	run(f, 1, PATIENCE_MS);
	assert_int_equal(f->found, 1);
	stop(f);
	child_end(&c);
}

static void who_is_refused_comes_again_later(void **state)
{
	struct child c = child_start(1, 1);
	struct fix *f = start();

	f->refuse = true;
	run(f, 1, PATIENCE_MS);
	assert_int_equal(f->found, 1);
	run(f, 2, PATIENCE_MS);
	assert_int_equal(f->found, 2);
	assert_true(child_get(&c).pause_ns >= SWEEP_MS * MS * 3 / 4);
	stop(f);
	/* The rules have changed: at once, long before the next sweep. */
	f = start_hurry(1);
	f->refuse = true;
	run(f, 1, PATIENCE_MS);
	f->refuse = false;
	gp_discover_all(f->find);
	run(f, 2, SOON_MS);
	assert_int_equal(f->found, 2);
	stop(f);
	child_end(&c);
}

/* It was a candidate, and is no tenant: refused in its present state. */
static void who_is_left_alone_comes_when_it_changes(void **state)
{
	struct child c = child_start(1, 1);
	struct fix *f = start();
	unsigned int calls;

	f->leave_alone = true;
	run(f, 1, PATIENCE_MS);
	assert_int_equal(f->found, 1);
	/* A scan that had begun at that time may end after it. */
	for (int i = 0; i < 3; i++)
		run(f, 2, FOUND_MS);
	calls = child_get(&c).groups_calls;
	run(f, 2, QUIET_MS);
	assert_int_equal(child_get(&c).groups_calls, calls);
	child_opens(&c);
	run(f, 2, PATIENCE_MS);
	assert_int_equal(f->found, 2);
	stop(f);
	child_end(&c);
}

static void groups_of_each_device_are_found(void **state)
{
	struct child c = child_start(3, 2);
	struct fix *f = start_hurry(1);

	run(f, 1, PATIENCE_MS);
	assert_int_equal(f->on, 2);
	child_set(&c, 3, 3);
	run(f, 2, SOON_MS);
	assert_int_equal(f->found, 2);
	assert_int_equal(f->on, 3);
	stop(f);
	child_end(&c);
}

/* A process opens the files of all devices, and computes on one: the others are queried. */
static void where_none_computes_nothing_is_looked_for(void **state)
{
	struct fix *f;
	struct child c;

	world.tells = true;
	f = start();
	c = child_start(3, 1);
	run(f, 1, PATIENCE_MS);
	assert_int_equal(f->found, 1);
	assert_int_equal(f->on, 1);
	run(f, 2, QUIET_MS);
	assert_int_equal(child_get(&c).groups_calls, 2);
	/* Later on another one as well. */
	child_set(&c, 3, 3);
	run(f, 2, PATIENCE_MS);
	assert_int_equal(f->on, 3);
	assert_int_equal(child_get(&c).groups_calls, 3);
	stop(f);
	/* A tenant of one device already: one scan on the other. */
	child_set(&c, 3, 1);
	f = start();
	f->skipped = c.pid;
	f->skipped_on = 1;
	run(f, 1, QUIET_MS);
	assert_int_equal(child_get(&c).groups_calls, 4);
	stop(f);
	child_end(&c);
	world.tells = false;
}

static void copies_alone_are_nothing(void **state)
{
	struct child c = child_start(1, 0);
	struct fix *f;

	pthread_mutex_lock(&world.lock);
	proc_of(c.pid)->copy = 1;
	pthread_mutex_unlock(&world.lock);
	f = start();
	for (int i = 0; i < PATIENCE_MS / 10 && child_get(&c).groups_done < 3; i++)
		run(f, 1, 10);
	assert_int_equal(f->found, 0);
	assert_true(child_get(&c).groups_done > 1);
	child_set(&c, 1, 1);
	run(f, 1, PATIENCE_MS);
	assert_int_equal(f->found, 1);
	assert_int_equal(f->taken[0].count, 2);
	stop(f);
	child_end(&c);
}

/* A driver's scan may take long: the loop does not wait, and scans are rare. */
static void a_long_scan_keeps_nobody_waiting(void **state)
{
	struct child c = child_start(1, 0);
	unsigned int rounds = 0, most = 0;
	struct proc p = { 0 };
	struct fix *f;

	pthread_mutex_lock(&world.lock);
	proc_of(c.pid)->groups_ms = 100;
	pthread_mutex_unlock(&world.lock);
	f = start();
	for (int i = 0; i < PATIENCE_MS / 2 && p.groups_done < 3; i++) {
		run(f, 1, 2);
		p = child_get(&c);
		rounds = p.groups_calls > p.groups_done ? rounds + 1 : 0;
		most = rounds > most ? rounds : most;
	}
	assert_true(p.groups_done >= 2);
	/* It pauses for as long as the scan has used of a core. */
	assert_true(p.pause_ns >= 100 * MS);
	/* The loop went on during one scan. */
	printf("%u rounds during a scan\n", most);
	assert_true(most >= 5);
	stop(f);
	child_end(&c);
}

static void its_stop_waits_for_no_scan(void **state)
{
	struct child c = child_start(1, 1);
	struct proc p = { 0 };
	struct fix *f;

	pthread_mutex_lock(&world.lock);
	proc_of(c.pid)->groups_ms = 500;
	pthread_mutex_unlock(&world.lock);
	f = start();
	for (int i = 0; i < PATIENCE_MS / 2 && !p.groups_calls; i++) {
		run(f, 1, 2);
		p = child_get(&c);
	}
	assert_int_equal(p.groups_calls, 1);
	gp_discover_stop(f->find);
	assert_int_equal(child_get(&c).groups_done, 0);
	/* What the scan finds is for nobody any more. */
	run(f, 1, 700);
	assert_int_equal(f->found, 0);
	stop(f);
	child_end(&c);
}

static void what_was_lost_is_looked_for(void **state)
{
	struct child there = child_start(0, 0), c;
	struct fix *f = start_hurry(1);

	if (!hears(f)) {
		stop(f);
		child_end(&there);
		gp_note_skip();
		skip();
	}
	first_sweep(f, &there);
	lossy = true;
	c = child_start(1, 1);
	run(f, 1, SOON_MS);
	lossy = false;
	assert_int_equal(f->found, 1);
	stop(f);
	child_end(&c);
	child_end(&there);
}

/* Discovered groups that were not passed on are released. */
static void it_ends_at_any_time(void **state)
{
	struct child c = child_start(1, 1);
	struct fix *f;

	for (unsigned int ms = 0; ms < 40; ms += 3) {
		f = start();
		run(f, 1, ms);
		usleep(ms * 1000);
		stop(f);
	}
	child_end(&c);
	gp_discover_destroy(NULL);
}

struct sleeper {
	atomic_int tid;
	int end; /* closed: it ends */
};

static void *sleeper_thread(void *arg)
{
	struct sleeper *s = arg;
	char byte;

	s->tid = (int)syscall(SYS_gettid);
	return read(s->end, &byte, 1) ? arg : NULL;
}

/* Threads have numbers and folders like processes. */
static void threads_are_no_processes(void **state)
{
	struct child there = child_start(0, 0);
	struct fix *f = start();
	struct sleeper s = { 0 };
	pthread_t thread;
	int ends[2];

	first_sweep(f, &there);
	assert_int_equal(pipe(ends), 0);
	s.end = ends[0];
	pthread_mutex_lock(&world.lock);
	assert_int_equal(pthread_create(&thread, NULL, sleeper_thread, &s), 0);
	while (!s.tid)
		usleep(100);
	*proc_of(0) = (struct proc){ .pid = s.tid, .driver_open = 1, .compute = 1 };
	pthread_mutex_unlock(&world.lock);
	run(f, 1, QUIET_MS);
	assert_int_equal(f->found, 0);
	close(ends[1]);
	pthread_join(thread, NULL);
	close(ends[0]);
	pthread_mutex_lock(&world.lock);
	assert_int_equal(proc_of(s.tid)->open_calls, 0);
	memset(proc_of(s.tid), 0, sizeof(struct proc));
	pthread_mutex_unlock(&world.lock);
	stop(f);
	child_end(&there);
}

static void how_it_finds(void **state)
{
	struct fix *f = start();
	bool heard = hears(f);

	assert_string_equal(gp_discover_how(f->find), heard ? "events and scan" : "scan");
	stop(f);
	if (deaf)
		assert_false(heard);
	else if (!heard) {
		gp_note_skip();
		skip();
	}
}

/* Cleans up after a failed test. */
static int clean(void **state)
{
	if (current)
		stop(current);
	lossy = false;
	for (size_t i = 0; i < PROCS; i++)
		if (world.proc[i].pid) {
			kill(world.proc[i].pid, SIGKILL);
			waitpid(world.proc[i].pid, NULL, 0);
			memset(&world.proc[i], 0, sizeof(world.proc[i]));
		}
	return 0;
}

static int with_events(void **state)
{
	deaf = false;
	return 0;
}

static int without_events(void **state)
{
	deaf = true;
	return 0;
}

#define BOTH(f)                                                 \
	cmocka_unit_test_setup_teardown(f, with_events, clean), \
		cmocka_unit_test_setup_teardown(f, without_events, clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(how_it_finds),
		BOTH(who_was_there_is_found),
		BOTH(who_comes_is_found_at_once),
		BOTH(who_opens_late_is_found_by_the_sweep),
		BOTH(drivers_are_asked_of_what_changed),
		BOTH(who_is_skipped_is_not_looked_into),
		BOTH(who_is_refused_comes_again_later),
		BOTH(who_is_left_alone_comes_when_it_changes),
		BOTH(groups_of_each_device_are_found),
		BOTH(where_none_computes_nothing_is_looked_for),
		BOTH(copies_alone_are_nothing),
		BOTH(a_long_scan_keeps_nobody_waiting),
		BOTH(its_stop_waits_for_no_scan),
		cmocka_unit_test_setup_teardown(what_was_lost_is_looked_for, with_events, clean),
		BOTH(it_ends_at_any_time),
		BOTH(threads_are_no_processes),
	};

	return gp_run_tests(tests);
}
