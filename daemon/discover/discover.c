// SPDX-License-Identifier: Apache-2.0
/*
 * discover.c - the discovery thread: it reads /proc, receives process events, and scans for
 * groups. The loop only answers which processes are wanted, and takes the discovered groups.
 * docs/daemon.md has its cost.
 *
 * A new process (an event of its fork or execve came, or its PID appeared) is checked every
 * FAST_NS for YOUNG_NS. So is a process with a driver's files open, when its number of open
 * files changes. All others are checked every SLOW_NS.
 *
 * A check is one stat of /proc/PID/fd. Its size is the number of open files since Linux 6.2.
 * Only if that has changed does the thread ask the driver whether the process has its files
 * open (has_driver_open), and only then for its groups. Where the size is always 0, each check
 * asks.
 *
 * Without the kernel's events, the thread reads the last PID (/proc/loadavg) every NEW_NS, and
 * checks the numbers in between.
 *
 * The cost of checks is bounded relative to their own length: see the SHARE_ constants.
 *
 * The thread owns all of struct gp_discovery except the fields under its lock. It sends PIDs, not
 * pointers: a process may be gone meanwhile, and another may have its PID. A serial number
 * distinguishes them.
 */
#include "daemon/discover/discover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/loop/log.h"
#include "daemon/loop/times.h"

#define MS 1000000ull
#define FAST_NS (50 * MS)
#define SLOW_NS (2000 * MS)
#define NEW_NS (100 * MS) /* without events: interval of reads of the last PID */
#define YOUNG_NS (30000 * MS)
#define MORE_NS (500 * MS)  /* interval of scans for further devices, after the first groups */
#define GATHER_NS (50 * MS) /* close events are handled together */
#define REGARDLESS 64u	    /* a driver is asked once in this many sweeps without a change */
#define NEW_MAX 128	    /* PIDs that are tried one by one */
#define NO_GROUPS "cannot look for a process's work on a device"
#define NEXT_SWEEP "a process is looked at again in the next sweep"
#define BUCKETS 1024u
#define EVENTS_BYTES (4 << 20)
#define NEVER UINT64_MAX

/*
 * After work that took t of a core, the next of its kind comes at least this many t later.
 * Only CPU time counts, so a busy machine does not slow discovery.
 */
#define SHARE_SWEEP 1000u
#define SHARE_LOST 50u /* a sweep because events were lost */
#define SHARE_ROUND 50u
#define SHARE_GROUPS 1u /* of one new process */
#define SHARE_MORE 20u
#define SHARE_OLD 1000u

/* A process; masks have a bit for each device. */
struct seen {
	struct seen *next; /* of its bucket */
	pid_t pid;
	uint32_t serial;
	uint32_t sweep;		  /* last sweep that met it */
	uint32_t asked_sweep;	  /* last sweep that asked the drivers */
	ino_t ino;		  /* of its /proc/PID/fd: another inode is another process */
	off_t files;		  /* number of open files; -1: not read yet */
	uint32_t driver_open;	  /* has the driver's files open */
	uint32_t calm;		  /* of these, not wanted at the last query */
	uint32_t done;		  /* handled, until its open files change */
	uint32_t asked;		  /* of these; the loop has not answered yet */
	bool has_some;		  /* it has known groups, or is not wanted on some device */
	uint64_t young_ns;	  /* end of frequent checks */
	uint64_t end_ns, cost_ns; /* of its last scan for groups: end and CPU time */
};

enum say {
	SAY_WANTED,
	SAY_FOUND,
	SAY_CALM,
	SAY_DONE
};

/* To the loop: is it wanted; discovered. Back: is wanted (@mask), was refused, was taken. */
struct word {
	struct word *next;
	enum say say;
	pid_t pid;
	uint32_t serial;
	uint32_t mask;
	struct gp_group_list list; /* SAY_FOUND, on the one device of @mask */
};

struct words {
	struct word *first, **last;
};

struct gp_discovery {
	/* Constant. */
	struct gp_device *dev[GP_HAL_MAX_DEVICES];
	size_t n;
	const struct gp_discover_ops *ops;
	void *arg;
	bool counts; /* the size of /proc/PID/fd is a count */
	unsigned int hurry;
	int proc_fd, load_fd;
	int events_fd;		 /* -1: none */
	int wake_fd;		 /* eventfd: for the thread */
	struct gp_source source; /* eventfd: for the loop */
	pthread_t thread;

	pthread_mutex_t lock; /* protects these */
	struct words to_loop, to_thread;
	bool all, stop;

	/* The thread's. */
	struct seen *bucket[BUCKETS];
	uint32_t serial, sweep;
	pid_t last_pid;		    /* from /proc/loadavg */
	bool lost;		    /* events were lost: check all */
	uint64_t sweep_ns, lost_ns; /* next sweep; next one for lost events */
	uint64_t round_ns;	    /* NEVER: no frequent checks */
	uint64_t round_min_ns;
	uint64_t gather_ns;
	uint64_t asking_ns; /* CPU time of queries for computing processes: due_ns() */
};

/* ---- messages to and from the loop ---------------------------------------------- */

static void words_init(struct words *w)
{
	w->first = NULL;
	w->last = &w->first;
}

static void word_free(struct word *word)
{
	gp_group_list_put(&word->list);
	free(word);
}

static void ring(int fd)
{
	const uint64_t one = 1;

	/* Cannot fail: the count never reaches 2^64. */
	(void)!write(fd, &one, sizeof(one));
}

static void silence(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count));
}

static void send_word(struct gp_discovery *f, struct words *to, int fd, struct word *word)
{
	pthread_mutex_lock(&f->lock);
	word->next = NULL;
	*to->last = word;
	to->last = &word->next;
	pthread_mutex_unlock(&f->lock);
	ring(fd);
}

/* All received messages, in order. */
static struct word *take_words(struct gp_discovery *f, struct words *from)
{
	struct word *first;

	pthread_mutex_lock(&f->lock);
	first = from->first;
	words_init(from);
	pthread_mutex_unlock(&f->lock);
	return first;
}

/* false: out of memory. */
static bool say(struct gp_discovery *f, const struct seen *s, enum say say, uint32_t mask,
		struct gp_group_list *list)
{
	struct word *word = calloc(1, sizeof(*word));

	if (!word) {
		gp_log_shortage(-ENOMEM, NEXT_SWEEP);
		return false;
	}
	word->say = say;
	word->pid = s->pid;
	word->serial = s->serial;
	word->mask = mask;
	if (list)
		word->list = *list;
	send_word(f, &f->to_loop, f->source.fd, word);
	return true;
}

/* ---- known processes ----------------------------------------------------------- */

static struct seen **seen_link(struct gp_discovery *f, pid_t pid)
{
	struct seen **link = &f->bucket[(uint32_t)pid % BUCKETS];

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	return link;
}

static void seen_drop(struct seen **link)
{
	struct seen *s = *link;

	if (!s)
		return;
	*link = s->next;
	free(s);
}

/* It counts as another process from here on: pending results for it are dropped. */
static void seen_anew(struct gp_discovery *f, struct seen *s, uint64_t young_ns)
{
	s->serial = ++f->serial;
	s->files = -1;
	s->driver_open = 0;
	s->calm = 0;
	s->done = 0;
	s->asked = 0;
	s->has_some = false;
	s->young_ns = young_ns;
	s->end_ns = 0;
	s->cost_ns = 0;
}

static struct seen *seen_get(struct gp_discovery *f, pid_t pid, uint64_t young_ns)
{
	struct seen **link = seen_link(f, pid), *s = *link;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s) {
		gp_log_shortage(-ENOMEM, NEXT_SWEEP);
		return NULL;
	}
	s->pid = pid;
	s->sweep = f->sweep;
	seen_anew(f, s, young_ns);
	*link = s;
	return s;
}

static void seen_drop_all(struct gp_discovery *f)
{
	for (size_t i = 0; i < BUCKETS; i++)
		while (f->bucket[i])
			seen_drop(&f->bucket[i]);
}

/* ---- a check -------------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* CPU time of checks; queries have a share of their own. */
static uint64_t looking_ns(const struct gp_discovery *f)
{
	return cpu_ns() - f->asking_ns;
}

/* Checked often, unless its devices do not want it. */
static bool is_young(const struct seen *s, uint64_t now_ns)
{
	return now_ns < s->young_ns && (!s->driver_open || s->driver_open & ~s->calm & ~s->done);
}

/* Time of the next scan for groups. */
static uint64_t due_ns(const struct gp_discovery *f, const struct seen *s, uint64_t now_ns)
{
	if (!s->end_ns)
		return 0;
	/* At the next sweep, which may come before the last scan is that old. */
	if (!is_young(s, now_ns))
		return s->end_ns +
		       gp_later(SLOW_NS / f->hurry * 3 / 4, SHARE_OLD / f->hurry * s->cost_ns);
	if (s->has_some)
		return s->end_ns + gp_later(MORE_NS / f->hurry, SHARE_MORE * s->cost_ns);
	/* The first round after that is up to FAST_NS later. */
	return s->end_ns + gp_later(FAST_NS / f->hurry / 2, SHARE_GROUPS * s->cost_ns);
}

/*
 * The part of @mask with groups. A process with groups on one device opens the files of all,
 * but rarely has groups on the others. (The first scan of a process asks this itself, after
 * the likely clients.)
 */
static uint32_t compute_clients_on(const struct gp_discovery *f, const struct seen *s,
				   uint32_t mask)
{
	for (size_t i = 0; i < f->n; i++) {
		int has = mask & 1u << i ? f->dev[i]->ops->has_compute_client(f->dev[i], s->pid) :
					   0;

		gp_log_shortage(has, "cannot ask the driver who computes");
		if (!has)
			mask &= ~(1u << i);
	}
	return mask;
}

/* Unwanted processes are queried only when their time has come. */
static void ask_if_due(struct gp_discovery *f, struct seen *s)
{
	uint64_t now = gp_loop_now_ns(), from;
	uint32_t mask = s->driver_open & ~s->done & (is_young(s, now) ? ~s->calm : ~0u);

	if (!mask || s->asked || now < due_ns(f, s, now))
		return;
	from = cpu_ns();
	if (s->has_some)
		mask = compute_clients_on(f, s, mask);
	s->asked = mask && say(f, s, SAY_WANTED, mask, NULL) ? mask : 0;
	if (s->asked)
		return;
	s->end_ns = now;
	s->cost_ns = cpu_ns() - from;
	f->asking_ns += s->cost_ns;
}

static uint32_t used_by(const struct gp_discovery *f, pid_t pid)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->dev[i]->ops->has_driver_open(f->dev[i], pid) == 1)
			mask |= 1u << i;
	return mask;
}

/* A process that closed one file and opened another has the same count. */
static bool is_turn(const struct gp_discovery *f, const struct seen *s)
{
	return (f->sweep + (uint32_t)s->pid) % REGARDLESS == 0 && s->asked_sweep != f->sweep;
}

/* A process that opens or closes files may be creating a context. */
static void look_inside(struct gp_discovery *f, struct seen *s, bool changed)
{
	if (changed) {
		s->calm |= s->done;
		s->done = 0;
	}
	changed |= !s->driver_open;
	s->asked_sweep = f->sweep;
	s->driver_open = used_by(f, s->pid);
	if (changed && s->driver_open & ~s->calm)
		s->young_ns = gp_loop_now_ns() + YOUNG_NS;
}

/* 0; -ESRCH: it has ended. */
static int look(struct gp_discovery *f, struct seen *s)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "%d/fd", (int)s->pid);
	if (fstatat(f->proc_fd, path, &st, 0))
		return errno == ENOENT || errno == ESRCH ? -ESRCH : 0;
	if (s->files >= 0 && s->ino != st.st_ino)
		seen_anew(f, s, s->young_ns);
	if (!f->counts || s->files != st.st_size || is_turn(f, s))
		look_inside(f, s, s->files != st.st_size);
	s->ino = st.st_ino;
	s->files = st.st_size;
	ask_if_due(f, s);
	return 0;
}

/* ---- groups ------------------------------------------------------------------------ */

static bool any_compute(const struct gp_group_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->kind == GP_GROUP_COMPUTE)
			return true;
	return false;
}

/* 0; -ESRCH: it has ended. */
static int scan_device(struct gp_discovery *f, struct seen *s, size_t i)
{
	struct gp_group_list list = { 0 };
	int err = f->ops->groups ? f->ops->groups(f->arg, f->dev[i], s->pid, &list) :
				   f->dev[i]->ops->groups(f->dev[i], s->pid, &list);

	gp_log_shortage(err, NO_GROUPS);
	if (err)
		return err == -ESRCH ? err : 0;
	if (any_compute(&list) && say(f, s, SAY_FOUND, 1u << i, &list)) {
		s->has_some = true;
		return 0;
	}
	gp_group_list_put(&list);
	return 0;
}

static void scan(struct gp_discovery *f, struct seen *s, uint32_t mask)
{
	uint64_t from = cpu_ns();
	int err = 0;

	for (size_t i = 0; i < f->n && !err; i++)
		if (mask & 1u << i)
			err = scan_device(f, s, i);
	s->end_ns = gp_loop_now_ns();
	s->cost_ns = cpu_ns() - from;
	if (err)
		seen_drop(seen_link(f, s->pid));
}

static void hear_loop(struct gp_discovery *f, const struct word *word)
{
	struct seen *s = *seen_link(f, word->pid);

	if (!s || s->serial != word->serial)
		return;
	if (word->say == SAY_CALM)
		s->calm |= word->mask;
	if (word->say == SAY_DONE)
		s->done |= word->mask;
	if (word->say != SAY_WANTED)
		return;
	s->calm = (s->calm & ~s->asked) | (s->asked & ~word->mask);
	s->has_some |= s->asked & ~word->mask;
	s->asked = 0;
	if (word->mask) {
		scan(f, s, word->mask);
		return;
	}
	s->end_ns = gp_loop_now_ns();
	s->cost_ns = 0;
}

/* ---- all processes ------------------------------------------------------------------- */

static void drop_unmet(struct gp_discovery *f)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct seen **link = &f->bucket[i]; *link;) {
			if ((*link)->sweep == f->sweep)
				link = &(*link)->next;
			else
				seen_drop(link);
		}
}

/* A process that is met for the first time is new, except in the first sweep. */
static void sweep(struct gp_discovery *f)
{
	uint64_t from = looking_ns(f), took, now;
	const bool first = !f->sweep;
	uint64_t young = first ? 0 : gp_loop_now_ns() + YOUNG_NS;
	const struct dirent *entry;
	DIR *dir = opendir("/proc");
	struct seen *s;

	f->sweep++;
	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		s = seen_get(f, atoi(entry->d_name), young);
		if (!s)
			continue;
		s->sweep = f->sweep;
		if (look(f, s))
			seen_drop(seen_link(f, s->pid));
	}
	if (dir) {
		closedir(dir);
		drop_unmet(f);
	}
	now = gp_loop_now_ns();
	took = looking_ns(f) - from;
	f->lost = false;
	f->lost_ns = now + SHARE_LOST * took;
	/* The first sweep asks the drivers about all processes; the others do not. */
	f->sweep_ns = now + (first ? SLOW_NS / f->hurry :
				     gp_later(SLOW_NS / f->hurry, SHARE_SWEEP / f->hurry * took));
}

/* ---- new processes -------------------------------------------------------------------- */

static pid_t read_last_pid(struct gp_discovery *f)
{
	char text[128], *last;
	ssize_t n = pread(f->load_fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return f->last_pid;
	text[n] = '\0';
	last = strrchr(text, ' ');
	return last ? atoi(last) : f->last_pid;
}

/* A thread has a folder too, with its process's files. */
static bool is_process(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static void look_at_new(struct gp_discovery *f, uint64_t now_ns)
{
	pid_t last = read_last_pid(f);

	if (last < f->last_pid || last - f->last_pid > NEW_MAX)
		f->lost = true;
	else
		for (pid_t pid = f->last_pid + 1; pid <= last; pid++)
			if (is_process(pid))
				seen_get(f, pid, now_ns + YOUNG_NS);
	f->last_pid = last;
}

/* Checks the new processes; true: there are some. */
static bool look_at_young(struct gp_discovery *f, uint64_t now_ns)
{
	bool any = false;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct seen **link = &f->bucket[i]; *link;) {
			struct seen *s = *link;

			if (is_young(s, now_ns)) {
				any = true;
				if (look(f, s)) {
					seen_drop(link);
					continue;
				}
			}
			link = &s->next;
		}
	return any;
}

static void do_round(struct gp_discovery *f)
{
	uint64_t from = looking_ns(f), now = gp_loop_now_ns();
	bool young;

	if (f->events_fd < 0)
		look_at_new(f, now);
	young = look_at_young(f, now);
	now = gp_loop_now_ns();
	f->round_min_ns = now + gp_later(FAST_NS / f->hurry, SHARE_ROUND * (looking_ns(f) - from));
	if (young)
		f->round_ns = f->round_min_ns;
	else
		f->round_ns = f->events_fd < 0 ? now + NEW_NS / f->hurry : NEVER;
}

/* ---- the kernel's events ------------------------------------------------------------------ */

/* A new program has not opened its files yet. */
static void hear_new(struct gp_discovery *f, pid_t pid, bool execs)
{
	uint64_t now = gp_loop_now_ns();
	struct seen *s = seen_get(f, pid, now + YOUNG_NS);

	if (s && execs)
		seen_anew(f, s, now + YOUNG_NS);
	if (f->round_ns == NEVER)
		f->round_ns = gp_later(now + FAST_NS / f->hurry, f->round_min_ns);
}

static void hear_event(struct gp_discovery *f, const struct proc_event *e)
{
	switch (e->what) {
	case PROC_EVENT_FORK:
		if (e->event_data.fork.child_pid == e->event_data.fork.child_tgid)
			hear_new(f, e->event_data.fork.child_tgid, false);
		break;
	case PROC_EVENT_EXEC:
		hear_new(f, e->event_data.exec.process_tgid, true);
		break;
	case PROC_EVENT_EXIT:
		if (e->event_data.exit.process_pid == e->event_data.exit.process_tgid)
			seen_drop(seen_link(f, e->event_data.exit.process_tgid));
		break;
	default:
		break;
	}
}

union event_buf {
	struct nlmsghdr head;
	char bytes[NLMSG_SPACE(sizeof(struct cn_msg) + sizeof(struct proc_event)) + 64];
};

/* 1: an event; 0: another message; -EAGAIN: none; -ENOBUFS: some were lost. */
static int receive(int fd, struct proc_event *e)
{
	struct sockaddr_nl from = { 0 };
	socklen_t len = sizeof(from);
	union event_buf buf;
	const struct cn_msg *msg = NLMSG_DATA(&buf.head);
	ssize_t n = recvfrom(fd, &buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from, &len);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	/* From the kernel, and complete. */
	if (from.nl_pid || (size_t)n < NLMSG_LENGTH(sizeof(*msg) + sizeof(*e)) ||
	    msg->id.idx != CN_IDX_PROC || msg->id.val != CN_VAL_PROC)
		return 0;
	memcpy(e, msg->data, sizeof(*e));
	return 1;
}

static void hear_kernel(struct gp_discovery *f)
{
	struct proc_event e;
	int r;

	do {
		r = receive(f->events_fd, &e);
		if (r > 0)
			hear_event(f, &e);
		else if (r == -ENOBUFS)
			f->lost = true;
	} while (r >= 0 || r == -ENOBUFS);
	f->gather_ns = gp_loop_now_ns() + GATHER_NS / f->hurry;
}

/* The kernel acknowledges before send() returns (cn_proc.c, cn_proc_mcast_ctl()), or never. */
static bool is_heard(int fd)
{
	struct proc_event e;
	int r;

	while ((r = receive(fd, &e)) >= 0)
		if (r && e.what == PROC_EVENT_NONE)
			return !e.event_data.ack.err;
	return false;
}

static bool listen_to(int fd)
{
	const enum proc_cn_mcast_op op = PROC_CN_MCAST_LISTEN;
	const struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK,
		.nl_groups = CN_IDX_PROC,
	};
	union event_buf buf = { 0 };
	struct cn_msg *msg = NLMSG_DATA(&buf.head);
	const int bytes = EVENTS_BYTES;

	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return false;
	/* More than rmem_max needs the same right as listening. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	buf.head.nlmsg_len = NLMSG_LENGTH(sizeof(*msg) + sizeof(op));
	buf.head.nlmsg_type = NLMSG_DONE;
	msg->id.idx = CN_IDX_PROC;
	msg->id.val = CN_VAL_PROC;
	msg->len = sizeof(op);
	memcpy(msg->data, &op, sizeof(op));
	return send(fd, &buf, buf.head.nlmsg_len, 0) >= 0 && is_heard(fd);
}

/* -1: it needs CAP_NET_ADMIN, and the machine's own PIDs, users and network. */
static int open_events(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);

	if (fd < 0)
		gp_log_shortage(-errno, "the kernel does not report new processes");
	if (fd < 0 || listen_to(fd))
		return fd;
	close(fd);
	return -1;
}

/* ---- the thread --------------------------------------------------------------------------- */

/* false: it must end. */
static bool hear_all(struct gp_discovery *f)
{
	struct word *word, *next;
	bool all, stop;

	silence(f->wake_fd);
	pthread_mutex_lock(&f->lock);
	all = f->all;
	stop = f->stop;
	f->all = false;
	pthread_mutex_unlock(&f->lock);
	for (word = take_words(f, &f->to_thread); word; word = next) {
		next = word->next;
		if (!stop && !all)
			hear_loop(f, word);
		word_free(word);
	}
	if (all) {
		seen_drop_all(f);
		f->sweep = 0;
		f->sweep_ns = 0;
	}
	return !stop;
}

static uint64_t sweep_at(const struct gp_discovery *f)
{
	return f->lost && f->lost_ns < f->sweep_ns ? f->lost_ns : f->sweep_ns;
}

/* In ms, rounded up. */
static int wait_ms(uint64_t until_ns, uint64_t now_ns)
{
	uint64_t ms = until_ns > now_ns ? (until_ns - now_ns + MS - 1) / MS : 0;

	return ms > SLOW_NS / MS ? (int)(SLOW_NS / MS) : (int)ms;
}

/* Waits for work; events wait until they are gathered. */
static bool wait_for_work(struct gp_discovery *f)
{
	struct pollfd p[2] = {
		{ .fd = f->wake_fd, .events = POLLIN },
		{ .fd = f->events_fd, .events = POLLIN },
	};
	uint64_t now = gp_loop_now_ns(), until = sweep_at(f);

	if (f->round_ns < until)
		until = f->round_ns;
	if (now < f->gather_ns) {
		p[1].fd = -1;
		if (f->gather_ns < until)
			until = f->gather_ns;
	}
	if (poll(p, 2, wait_ms(until, now)) > 0 && p[1].revents)
		hear_kernel(f);
	return !p[0].revents || hear_all(f);
}

static void *find_thread(void *arg)
{
	struct gp_discovery *f = arg;
	uint64_t now;

	prctl(PR_SET_NAME, "gpreempt-find");
	do {
		now = gp_loop_now_ns();
		if (now >= sweep_at(f))
			sweep(f);
		if (now >= f->round_ns)
			do_round(f);
	} while (wait_for_work(f));
	seen_drop_all(f);
	return NULL;
}

/* ---- the loop ----------------------------------------------------------------------------- */

static void answer(struct gp_discovery *f, struct word *word, enum say say, uint32_t mask)
{
	word->say = say;
	word->mask = mask;
	send_word(f, &f->to_thread, f->wake_fd, word);
}

static void tell_wanted(struct gp_discovery *f, struct word *word)
{
	uint32_t mask = word->mask;

	for (size_t i = 0; i < f->n; i++)
		if (mask & 1u << i && f->ops->skip(f->arg, f->dev[i], word->pid))
			mask &= ~(1u << i);
	answer(f, word, SAY_WANTED, mask);
}

static void tell_found(struct gp_discovery *f, struct word *word)
{
	struct gp_device *dev = word->list.group[0]->dev;

	/* It may have connected meanwhile. */
	if (f->ops->skip(f->arg, dev, word->pid)) {
		word_free(word);
	} else if (f->ops->found(f->arg, dev, word->pid, &word->list)) {
		word->list = (struct gp_group_list){ 0 };
		answer(f, word, SAY_DONE, word->mask);
	} else {
		gp_group_list_put(&word->list);
		answer(f, word, SAY_CALM, word->mask);
	}
}

static void loop_ready(struct gp_source *source, uint32_t events)
{
	struct gp_discovery *f =
		(struct gp_discovery *)(void *)((char *)source -
						offsetof(struct gp_discovery, source));
	struct word *word, *next;

	silence(source->fd);
	for (word = take_words(f, &f->to_loop); word; word = next) {
		next = word->next;
		if (word->say == SAY_FOUND)
			tell_found(f, word);
		else
			tell_wanted(f, word);
	}
}

/* ---- all together ---------------------------------------------------------------------------- */

static void close_if(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void find_free(struct gp_discovery *f)
{
	close_if(f->proc_fd);
	close_if(f->load_fd);
	close_if(f->events_fd);
	close_if(f->wake_fd);
	close_if(f->source.fd);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static int open_files(struct gp_discovery *f)
{
	struct stat st;

	f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	f->load_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	if (f->wake_fd < 0 || f->source.fd < 0 || f->proc_fd < 0 || f->load_fd < 0)
		return -errno;
	/* This process has open files in any case. */
	f->counts = !fstatat(f->proc_fd, "self/fd", &st, 0) && st.st_size > 0;
	f->events_fd = open_events();
	return 0;
}

/* The loop handles signals. */
static int start_thread(struct gp_discovery *f)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&f->thread, NULL, find_thread, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

int gp_discover_create(struct gp_loop *loop, struct gp_device *const *dev, size_t n,
		       const struct gp_discover_ops *ops, void *arg, unsigned int hurry,
		       struct gp_discovery **find)
{
	struct gp_discovery *f;
	int err;

	if (n > GP_HAL_MAX_DEVICES)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	memcpy(f->dev, dev, n * sizeof(f->dev[0]));
	f->n = n;
	f->ops = ops;
	f->arg = arg;
	f->hurry = hurry;
	f->events_fd = -1;
	pthread_mutex_init(&f->lock, NULL);
	words_init(&f->to_loop);
	words_init(&f->to_thread);
	err = open_files(f);
	if (err)
		goto err_free;
	f->last_pid = read_last_pid(f);
	f->source.ready = loop_ready;
	err = gp_loop_add(loop, &f->source, EPOLLIN);
	if (err)
		goto err_free;
	err = start_thread(f);
	if (err)
		goto err_remove;
	*find = f;
	return 0;

err_remove:
	gp_loop_remove(&f->source);
err_free:
	find_free(f);
	return err;
}

static void free_words(struct word *word)
{
	struct word *next;

	for (; word; word = next) {
		next = word->next;
		word_free(word);
	}
}

void gp_discover_stop(struct gp_discovery *find)
{
	if (!find)
		return;
	gp_loop_remove(&find->source);
	pthread_mutex_lock(&find->lock);
	find->stop = true;
	pthread_mutex_unlock(&find->lock);
	ring(find->wake_fd);
}

void gp_discover_destroy(struct gp_discovery *find)
{
	if (!find)
		return;
	gp_discover_stop(find);
	pthread_join(find->thread, NULL);
	free_words(find->to_loop.first);
	free_words(find->to_thread.first);
	find_free(find);
}

void gp_discover_all(struct gp_discovery *find)
{
	pthread_mutex_lock(&find->lock);
	find->all = true;
	pthread_mutex_unlock(&find->lock);
	ring(find->wake_fd);
}

const char *gp_discover_how(const struct gp_discovery *find)
{
	return find->events_fd >= 0 ? "events and scan" : "scan";
}
