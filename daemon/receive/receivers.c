// SPDX-License-Identifier: Apache-2.0
/*
 * receivers.c - the daemon's side of its receivers. Each has a lock, for one request at a time,
 * and a thread for the loop's requests. Lock order: a receiver's lock, then that of all.
 */
#include "daemon/receive/receivers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/discover/proc.h"
#include "daemon/loop/log.h"
#include "daemon/loop/spawn_self.h"
#include "daemon/receive/receiver_internal.h"
#include "runtime/log.h"

#define NONE_NOW "cannot start a receiver process"
#define ANSWER_MS 1000
#define LOOK_NS 1000000000u
#define IDLE_NS 30000000000u
#define LATE_USER 2u   /* that do not die, of one user .. */
#define LATE_ALL 8u    /* .. and of all: then nobody gets a second one */
#define LATE_MOST 128u /* places: each user may have a first one */
#define ODD_MOST 16u
#define KEPT_MOST 1024u /* then another receiver takes over */

struct odd {
	pid_t pid;
	uint64_t until_ns;
};

/**
 * struct gp_receiver
 * @users: threads and jobs that use it; @used_ns: when the last one did
 * @pid: 0: it has no process now. @kept: see struct gp_receiver_answer
 */
struct gp_receiver {
	struct gp_receivers *all;
	uid_t uid;

	/* Under the lock of all. */
	pid_t seen; /* @pid, for other threads */
	struct gp_receiver *next;
	uint32_t users;
	uint64_t used_ns;

	struct gp_loop_worker worker; /* the loop's */

	pthread_mutex_t lock; /* protects the rest */
	pid_t pid;	      /* a child, which is not reaped before end_process() */
	int sock;
	uint32_t kept;
	bool refused; /* and that was logged */
	/* Processes with files that only look like control files: see is_odd(). */
	struct odd odd[ODD_MOST];
	size_t odds;
};

/* Killed, but perhaps not dead. */
struct late {
	pid_t pid;
	uid_t uid;
};

struct gp_receivers {
	pthread_mutex_t lock; /* protects these */
	struct gp_receiver *first;
	size_t count;
	struct late late[LATE_MOST];
	size_t lates;

	/* Constant after the start. */
	char backend[GP_RECEIVER_BACKENDS][GP_RECEIVER_NAME_LEN];
	size_t backends;

	/* The loop's. */
	struct gp_loop *loop; /* NULL: none */
	struct gp_tick tick;
	bool stopped;
};

/* ---- processes that were killed ------------------------------------------------- */

/* Lock of all held. */
static void reap(struct gp_receivers *all)
{
	size_t left = 0;

	for (size_t i = 0; i < all->lates; i++)
		if (!waitpid(all->late[i].pid, NULL, WNOHANG))
			all->late[left++] = all->late[i];
	all->lates = left;
}

static uint32_t lates_of(const struct gp_receivers *all, uid_t uid)
{
	uint32_t n = 0;

	for (size_t i = 0; i < all->lates; i++)
		n += all->late[i].uid == uid;
	return n;
}

/* May @uid have another process, in spite of those that hang? */
static bool may_start(struct gp_receivers *all, uid_t uid)
{
	uint32_t own;
	bool may;

	pthread_mutex_lock(&all->lock);
	reap(all);
	own = lates_of(all, uid);
	may = own < LATE_USER && (!own || all->lates < LATE_ALL) &&
	      all->lates + all->count < LATE_MOST;
	pthread_mutex_unlock(&all->lock);
	return may;
}

/* Its lock held, or nobody uses it. */
static void end_process(struct gp_receiver *r)
{
	struct gp_receivers *all = r->all;

	if (!r->pid)
		return;
	kill(r->pid, SIGKILL);
	close(r->sock);
	pthread_mutex_lock(&all->lock);
	reap(all);
	/* may_start() leaves a place for each. */
	if (all->lates < LATE_MOST)
		all->late[all->lates++] = (struct late){ r->pid, r->uid };
	r->seen = 0;
	pthread_mutex_unlock(&all->lock);
	r->pid = 0;
	r->kept = 0;
}

static int start_process(struct gp_receiver *r)
{
	static char name[] = "gpreemptd", option[] = "--receive";
	char *const argv[] = { name, option, NULL };
	int pair[2], err;

	if (!may_start(r->all, r->uid)) {
		if (!r->refused)
			gp_log(GP_LOG_WARN,
			       "user %u: no more messages with files: files of that user do not "
			       "close; end the server of its FUSE mount",
			       (unsigned int)r->uid);
		r->refused = true;
		return -EAGAIN;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		gp_log_shortage(err, NONE_NOW);
		return err;
	}
	err = gp_spawn_self(argv, &pair[1], 1, &r->pid);
	close(pair[1]);
	if (err) {
		r->pid = 0;
		close(pair[0]);
		gp_log(GP_LOG_WARN, "cannot start a receiver for user %u: %s", (unsigned int)r->uid,
		       strerror(-err));
		/* One errno for all that a later attempt may not meet. */
		return -EAGAIN;
	}
	r->sock = pair[0];
	r->refused = false;
	pthread_mutex_lock(&r->all->lock);
	r->seen = r->pid;
	pthread_mutex_unlock(&r->all->lock);
	return 0;
}

/* ---- one for each user -------------------------------------------------------------- */

static struct gp_receiver *new_receiver(struct gp_receivers *all, uid_t uid)
{
	struct gp_receiver *r = calloc(1, sizeof(*r));

	if (!r) {
		gp_log_shortage(-ENOMEM, NONE_NOW);
		return NULL;
	}
	r->all = all;
	r->uid = uid;
	pthread_mutex_init(&r->lock, NULL);
	r->next = all->first;
	all->first = r;
	all->count++;
	return r;
}

/* NULL: too many, or out of memory. */
static struct gp_receiver *get(struct gp_receivers *all, uid_t uid)
{
	struct gp_receiver *r;

	pthread_mutex_lock(&all->lock);
	for (r = all->first; r && r->uid != uid;)
		r = r->next;
	if (!r && all->count < GP_RECEIVERS_MOST)
		r = new_receiver(all, uid);
	if (r) {
		r->users++;
		r->used_ns = gp_loop_now_ns();
	}
	pthread_mutex_unlock(&all->lock);
	return r;
}

static void put(struct gp_receiver *r)
{
	pthread_mutex_lock(&r->all->lock);
	r->users--;
	pthread_mutex_unlock(&r->all->lock);
}

/* Nobody uses it, and it is not in the list any more. */
static void free_receiver(struct gp_receiver *r)
{
	gp_loop_worker_destroy(&r->worker);
	end_process(r);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

bool gp_receivers_has(struct gp_receivers *all, pid_t pid)
{
	bool has = false;

	pthread_mutex_lock(&all->lock);
	for (const struct gp_receiver *r = all->first; r; r = r->next)
		has |= r->seen == pid;
	for (size_t i = 0; i < all->lates; i++)
		has |= all->late[i].pid == pid;
	pthread_mutex_unlock(&all->lock);
	return has;
}

/* ---- requests -------------------------------------------------------------------------- */

static int wait_for(int fd, short events, uint64_t until_ns)
{
	struct pollfd p = { .fd = fd, .events = events };
	uint64_t now_ns = gp_loop_now_ns();
	int n;

	do {
		n = poll(&p, 1, now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) + 1 : 0);
		now_ns = gp_loop_now_ns();
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

/* -EPIPE: its process has ended. */
static int tell(struct gp_receiver *r, const struct gp_receiver_ask *ask, int fd, uint64_t until_ns)
{
	int err;

	while ((err = gp_receiver_send(r->sock, ask, sizeof(*ask), &fd, 1, MSG_DONTWAIT)) ==
	       -EAGAIN) {
		err = wait_for(r->sock, POLLOUT, until_ns);
		if (err)
			return err;
	}
	return err == -ECONNRESET ? -EPIPE : err;
}

static int hear(struct gp_receiver *r, struct gp_receiver_answer *a, int *file, size_t *n,
		uint64_t until_ns)
{
	int flags = 0, err = wait_for(r->sock, POLLIN, until_ns);
	ssize_t len;

	if (err)
		return err;
	len = gp_receiver_recv(r->sock, a, sizeof(*a), file, GP_RECEIVER_FILES, n, MSG_DONTWAIT,
			       &flags);
	if (len == (ssize_t)sizeof(*a) && !(flags & MSG_CTRUNC))
		return 0;
	/* Control files: they can be closed here. */
	while (*n)
		close(file[--*n]);
	return flags & MSG_CTRUNC ? -EMFILE : -EPIPE;
}

/*
 * Each look at such a process leaves another file with the receiver, so it is rarely looked
 * at. It is hostile: no other process has a path like that by chance.
 */
static bool is_odd(struct gp_receiver *r, pid_t pid)
{
	const uint64_t now_ns = gp_loop_now_ns();

	for (size_t i = 0; i < ODD_MOST; i++)
		if (r->odd[i].pid == pid && now_ns < r->odd[i].until_ns)
			return true;
	return false;
}

static void note_odd(struct gp_receiver *r, pid_t pid)
{
	r->odd[r->odds++ % ODD_MOST] = (struct odd){ pid, gp_loop_now_ns() + IDLE_NS };
}

static int request_once(struct gp_receiver *r, const struct gp_receiver_ask *ask, int fd,
			struct gp_receiver_answer *a, int *file, size_t *n)
{
	const uint64_t until_ns = gp_loop_now_ns() + ANSWER_MS * 1000000ull;
	int err = tell(r, ask, fd, until_ns);

	if (!err && a)
		err = hear(r, a, file, n, until_ns);
	if (!err && a && ask->what == GP_RECEIVER_TAKE && a->kept > r->kept)
		note_odd(r, ask->pid);
	if (err)
		end_process(r);
	else if (a)
		r->kept = a->kept;
	else
		r->kept++;
	/* Another one has room, unless too many hang already. */
	if (!err && (r->kept >= KEPT_MOST || (a && a->result == -EMFILE)) &&
	    may_start(r->all, r->uid))
		end_process(r);
	return err;
}

/* @a NULL: no answer comes. A process that was killed meanwhile is replaced, once. */
static int request(struct gp_receivers *all, uid_t uid, const struct gp_receiver_ask *ask, int fd,
		   struct gp_receiver_answer *a, int *file, size_t *n)
{
	struct gp_receiver *r = get(all, uid);
	int err;

	if (!r)
		return -EAGAIN;
	pthread_mutex_lock(&r->lock);
	if (ask->what == GP_RECEIVER_TAKE && is_odd(r, ask->pid))
		err = -ENXIO;
	else
		err = r->pid ? 0 : start_process(r);
	if (!err)
		err = request_once(r, ask, fd, a, file, n);
	if (err == -EPIPE) {
		err = start_process(r);
		if (!err)
			err = request_once(r, ask, fd, a, file, n);
	}
	pthread_mutex_unlock(&r->lock);
	put(r);
	if (err == -ETIMEDOUT)
		gp_log(GP_LOG_WARN,
		       "the receiver of user %u's files hangs and was killed; a file of that user "
		       "does not close",
		       (unsigned int)uid);
	return err;
}

/* For all backends, or for @only. */
static struct gp_receiver_ask new_ask(const struct gp_receivers *all, enum gp_receiver_what what,
				      const char *only)
{
	struct gp_receiver_ask ask = { .what = what };

	if (only)
		snprintf(ask.backend[0], sizeof(ask.backend[0]), "%s", only);
	else
		memcpy(ask.backend, all->backend, sizeof(ask.backend));
	return ask;
}

int gp_receivers_message(struct gp_receivers *all, uid_t uid, int conn, struct gp_received *out)
{
	const struct gp_receiver_ask ask = new_ask(all, GP_RECEIVER_MESSAGE, NULL);
	struct gp_receiver_answer a;
	int file[GP_RECEIVER_FILES];
	size_t n = 0, next = 0;
	int err = request(all, uid, &ask, conn, &a, file, &n);

	if (err)
		return err;
	if (a.result)
		return a.result;
	memcpy(&out->msg, &a.msg, a.len);
	out->len = a.len;
	out->files = a.sent;
	for (size_t i = 0; i < a.sent; i++)
		out->file[i] = a.places >> i & 1u && next < n ? file[next++] : -1;
	return 0;
}

int gp_receivers_keep(struct gp_receivers *all, uid_t uid, int conn)
{
	const struct gp_receiver_ask ask = new_ask(all, GP_RECEIVER_KEEP, NULL);

	return request(all, uid, &ask, conn, NULL, NULL, NULL);
}

static bool has_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

static int groups_of(struct gp_receivers *all, struct gp_device *dev, pid_t pid, int pidfd,
		     struct gp_group_list *list)
{
	struct gp_receiver_ask ask = new_ask(all, GP_RECEIVER_TAKE, dev->ops->name);
	struct gp_receiver_answer a;
	int file[GP_RECEIVER_FILES], err;
	uid_t uid;
	size_t n = 0;

	ask.pid = pid;
	err = gp_proc_user(pid, &uid);
	if (!err)
		err = request(all, uid, &ask, pidfd, &a, file, &n);
	/* Without a look, it has none. */
	if (err == -ENXIO) {
		*list = (struct gp_group_list){ 0 };
		return 0;
	}
	if (!err)
		err = a.result;
	if (!err)
		err = dev->ops->groups_from(dev, pid, file, NULL, n, list);
	while (n)
		close(file[--n]);
	/* Another process may have had its number in between. */
	if (!err && has_ended(pidfd)) {
		gp_group_list_put(list);
		err = -ESRCH;
	}
	return err;
}

int gp_receivers_groups(struct gp_receivers *all, struct gp_device *dev, pid_t pid,
			struct gp_group_list *list)
{
	int uses, pidfd, err;

	/* Its groups need no files. */
	if (pid == getpid() || dev->ops->is_control_file(-1) == -EOPNOTSUPP)
		return dev->ops->groups(dev, pid, list);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0u);
	if (pidfd < 0)
		return -errno;
	uses = dev->ops->has_driver_open(dev, pid);
	if (uses == 1) {
		err = groups_of(all, dev, pid, pidfd, list);
	} else {
		*list = (struct gp_group_list){ 0 };
		err = uses;
	}
	close(pidfd);
	return err;
}

/* ---- jobs of the loop, and the end ----------------------------------------------------- */

/* NULL: all are in use. Lock of all held. */
static struct gp_receiver **longest_unused(struct gp_receivers *all)
{
	struct gp_receiver **found = NULL;

	for (struct gp_receiver **at = &all->first; *at; at = &(*at)->next)
		if (!(*at)->users && (!found || (*at)->used_ns < (*found)->used_ns))
			found = at;
	return found;
}

/* One that was not used since @before_ns; false: there is none. */
static bool end_one(struct gp_receivers *all, uint64_t before_ns)
{
	struct gp_receiver **at, *r = NULL;

	pthread_mutex_lock(&all->lock);
	at = longest_unused(all);
	if (at && (*at)->used_ns < before_ns) {
		r = *at;
		*at = r->next;
		all->count--;
	}
	pthread_mutex_unlock(&all->lock);
	if (r)
		free_receiver(r);
	return r;
}

static void tick_due(struct gp_tick *tick)
{
	struct gp_receivers *all = gp_holder(tick, struct gp_receivers, tick);
	const uint64_t now_ns = gp_loop_now_ns();

	pthread_mutex_lock(&all->lock);
	reap(all);
	pthread_mutex_unlock(&all->lock);
	while (now_ns > IDLE_NS && end_one(all, now_ns - IDLE_NS))
		;
	gp_tick_in(tick, LOOK_NS);
}

static void job_work(struct gp_job *job)
{
	struct gp_receivers_job *j = gp_holder(job, struct gp_receivers_job, job);

	j->work(j);
}

static void job_done(struct gp_job *job)
{
	struct gp_receivers_job *j = gp_holder(job, struct gp_receivers_job, job);

	put(j->receiver);
	j->done(j);
}

int gp_receivers_post(struct gp_receivers *all, uid_t uid, struct gp_receivers_job *job)
{
	struct gp_receiver *r;
	int err = 0;

	if (all->stopped || !all->loop)
		return -EAGAIN;
	r = get(all, uid);
	if (!r && end_one(all, UINT64_MAX))
		r = get(all, uid);
	if (!r)
		return -EAGAIN;
	if (!r->worker.worker)
		err = gp_loop_worker_create(all->loop, false, &r->worker);
	if (err) {
		gp_log_shortage(err, NONE_NOW);
		put(r);
		return -EAGAIN;
	}
	job->job = (struct gp_job){ .work = job_work, .done = job_done };
	job->receiver = r;
	gp_worker_post(r->worker.worker, &job->job);
	return 0;
}

int gp_receivers_attach(struct gp_receivers *all, struct gp_loop *loop)
{
	int err;

	all->tick.due = tick_due;
	err = gp_tick_add(loop, &all->tick);
	if (err)
		return err;
	all->loop = loop;
	gp_tick_in(&all->tick, LOOK_NS);
	return 0;
}

void gp_receivers_stop(struct gp_receivers *all)
{
	all->stopped = true;
	gp_tick_remove(&all->tick);
	for (struct gp_receiver *r = all->first; r; r = r->next)
		gp_loop_worker_destroy(&r->worker);
}

void gp_receivers_backend(struct gp_receivers *all, const char *name)
{
	for (size_t i = 0; i < all->backends; i++)
		if (!strcmp(all->backend[i], name))
			return;
	if (all->backends < GP_RECEIVER_BACKENDS)
		snprintf(all->backend[all->backends++], GP_RECEIVER_NAME_LEN, "%s", name);
}

int gp_receivers_create(struct gp_receivers **receivers)
{
	struct gp_receivers *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	pthread_mutex_init(&all->lock, NULL);
	*receivers = all;
	return 0;
}

void gp_receivers_destroy(struct gp_receivers *all)
{
	struct gp_receiver *r;

	if (!all)
		return;
	gp_receivers_stop(all);
	while ((r = all->first)) {
		all->first = r->next;
		free_receiver(r);
	}
	pthread_mutex_destroy(&all->lock);
	free(all);
}
