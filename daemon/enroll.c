// SPDX-License-Identifier: Apache-2.0
/*
 * enroll.c - makes processes tenants. The class comes from the process's request and the
 * rules, or from the rules alone. A search for a process's groups takes milliseconds of
 * driver calls, so the scanner does it. Afterwards the request is checked again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/daemon_internal.h"
#include "daemon/device/clients.h"
#include "daemon/discover/oci.h"
#include "daemon/discover/proc.h"
#include "daemon/loop/log.h"
#include "daemon/loop/log_user.h"
#include "runtime/duration.h"
#include "runtime/log.h"

#define OTHER_IDS                                                                                \
	"this process's real, effective and saved users and groups must be equal, and those of " \
	"its connection"
#define USER_SCANS 8u

/* A process is looked into. */
struct gp_scan {
	struct gp_job job;
	struct gp_scan *next; /* of all that are not over */
	uid_t uid;	      /* that asked or was meant, or of the process */
	void (*done)(struct gp_job *job);
	uint64_t took_ns; /* of a core */
	struct gp_daemon *daemon;
	struct gp_ddev *dev;
	pid_t pid;
	int file[GP_WIRE_MAX_FILES]; /* handed over; none: they are taken */
	uint32_t key[GP_WIRE_MAX_FILES];
	size_t files;
	uint64_t conn;	 /* that asked; 0: nobody waits */
	uint32_t tenant; /* that has it; 0: none yet */
	uint64_t start;	 /* of the process that gpreempt attach meant */
	bool admin;	 /* it may be any user's */
	struct gp_class_request request;
	bool asks, away;
	enum gp_wire_origin origin; /* how it is to become a tenant; 0: it is one */
	bool banned, frozen;
	int place; /* of the earlier tenant in the journal; -1 */
	struct gp_group_list list;
	int err;
};

static void scan_work(struct gp_job *job)
{
	struct gp_scan *s = (struct gp_scan *)(void *)job;
	const struct gp_hal_ops *ops = s->dev->hal->ops;
	uint64_t start_ns = gp_loop_cpu_ns();

	if (s->files)
		s->err = ops->groups_from(s->dev->hal, s->pid, s->file, s->key, s->files, &s->list);
	else
		s->err = gp_receivers_groups(s->daemon->receivers, s->dev->hal, s->pid, &s->list);
	s->took_ns = gp_loop_cpu_ns() - start_ns;
}

/* The user who asked pays. */
static void scan_done(struct gp_job *job)
{
	struct gp_scan *s = (struct gp_scan *)(void *)job;
	struct gp_serve *serve = s->daemon->serve;
	uint64_t took_ns = s->took_ns, start_ns = gp_loop_cpu_ns();
	bool asked = s->conn;
	uid_t uid = s->uid;

	gp_log_shortage(s->err, "cannot look for a process's work on a device");
	s->done(job);
	if (asked)
		gp_serve_charge(serve, uid, took_ns + gp_loop_cpu_ns() - start_ns);
}

/*
 * A user has at most USER_SCANS under way, and a connection one. Its next message waits unread
 * meanwhile. Users take turns in the scanner.
 */
bool gp_enroll_busy(const struct gp_daemon *d, const struct gp_conn *conn)
{
	uint32_t n = 0;

	for (const struct gp_scan *s = d->scans; s; s = s->next) {
		if (s->conn == conn->id)
			return true;
		n += s->conn && s->uid == conn->uid;
	}
	return n >= USER_SCANS;
}

/* @conn: the connection that asked; NULL: the daemon itself, for a process of @uid. */
static void scan_post(struct gp_scan *s, const struct gp_conn *conn, uid_t uid)
{
	s->conn = conn ? conn->id : 0;
	s->uid = uid;
	s->job.lane = (uint64_t)s->uid + 1;
	s->next = s->daemon->scans;
	s->daemon->scans = s;
	gp_worker_post(s->daemon->scanner.worker, &s->job);
}

static void scan_free(struct gp_scan *s)
{
	struct gp_scan **at = &s->daemon->scans;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (s->conn)
		gp_serve_resume(s->daemon->serve, s->uid);
	gp_files_close(s->file, s->files);
	gp_group_list_put(&s->list);
	free(s);
}

/* @file is the scan's from then on, also if it fails; @key: of each. */
static struct gp_scan *scan_new(struct gp_daemon *d, struct gp_ddev *dev, pid_t pid,
				const int *file, const uint32_t *key, size_t n,
				void (*done)(struct gp_job *job))
{
	struct gp_scan *s = calloc(1, sizeof(*s));

	if (!s) {
		gp_log_shortage(-ENOMEM, "cannot look into a process");
		gp_files_close(file, n);
		return NULL;
	}
	s->job = (struct gp_job){ .work = scan_work, .done = scan_done };
	s->done = done;
	s->daemon = d;
	s->dev = dev;
	s->pid = pid;
	s->err = -ECANCELED;
	s->place = -1;
	for (size_t i = 0; i < n; i++) {
		if (file[i] < 0)
			continue;
		s->key[s->files] = key[i];
		s->file[s->files++] = file[i];
	}
	return s;
}

/* ---- the class ------------------------------------------------------- */

/* Without facts on its container, no rule by them matches. */
static int read_process(pid_t pid, struct gp_subject *who)
{
	int err = gp_proc_read(pid, who);

	if (!err && who->container[0])
		gp_log_shortage(gp_oci_read("", who->container, &who->facts),
				"cannot read the facts on a container");
	return err;
}

/* The class for which the annotation of @who's container asks. 0; -ENOENT: none; -EINVAL. */
static int asked_by_container(const struct gp_subject *who, struct gp_class_request *asked,
			      char why[GP_WIRE_TEXT_LEN])
{
	const char *value = gp_container_annotation(who->facts, GP_CONTAINER_CLASS), *right;
	char text[GP_CONTAINER_VALUE_MAX + 1];

	if (!value)
		return -ENOENT;
	snprintf(text, sizeof(text), "%s", value);
	/* As devices of gpreempt cdi are called. */
	if (text[0] && text[1] && text[2] == '-')
		text[2] = ':';
	if (!gp_class_request_parse(text, asked, &right))
		return 0;
	snprintf(why, GP_WIRE_TEXT_LEN, "annotation " GP_CONTAINER_CLASS ": found '%.64s'; %.256s",
		 value, right);
	return -EINVAL;
}

/* A daemon of one user's serves that user, who could do without it. */
static bool may_have_any(const struct gp_subject *who)
{
	return geteuid() != 0 && who->uid == geteuid();
}

static uint32_t of_user(const struct gp_daemon *d, uid_t uid)
{
	uint32_t n = 0;

	for (size_t i = 0; i < d->devs; i++)
		for (const struct gp_dtenant *t = d->dev[i]->tenants; t; t = t->next)
			n += t->who.uid == uid;
	return n;
}

/*
 * The class of @who on @dev: the requested one if the rules allow it, else the rules' own. If
 * the process requests none, the annotation of its container may.
 * @why: the reason of the class or of the refusal. 0; -EPERM, -ENOSPC, -EINVAL: the request
 * is refused.
 */
static int decide(struct gp_daemon *d, struct gp_ddev *dev, struct gp_subject *who,
		  const struct gp_dtenant *tenant, const struct gp_class_request *asked,
		  struct gp_class_request *given, char why[GP_WIRE_TEXT_LEN])
{
	char text[GP_VERDICT_WHY_LEN];
	const bool by_process = asked;
	struct gp_class_request annotated;
	struct gp_verdict verdict;
	int err = asked ? 0 : asked_by_container(who, &annotated, text);

	if (!asked && !err)
		asked = &annotated;
	err = err == -ENOENT ? 0 : err;
	who->device = &dev->hal->id;
	gp_rules_find(d->config, who, &verdict);
	if (asked && !err && !may_have_any(who))
		err = gp_rules_may(d->config, who, asked, text, sizeof(text));
	if (asked && !err)
		err = gp_dtenant_admit(dev, tenant, asked, text, sizeof(text));
	who->device = NULL;
	*given = asked && !err ? *asked : verdict.given;
	if (err)
		snprintf(why, GP_WIRE_TEXT_LEN, "%.*s", GP_WIRE_TEXT_LEN - 1, text);
	else if (asked)
		snprintf(why, GP_WIRE_TEXT_LEN, "the %s asked for it",
			 by_process ? "process" : "annotation " GP_CONTAINER_CLASS);
	else
		snprintf(why, GP_WIRE_TEXT_LEN, "%.*s", GP_WIRE_TEXT_LEN - 1, verdict.why);
	return err;
}

static bool is_gang(const struct gp_daemon *d, const struct gp_ddev *dev, struct gp_subject *who)
{
	struct gp_verdict verdict;

	who->device = &dev->hal->id;
	gp_rules_find(d->config, who, &verdict);
	who->device = NULL;
	return verdict.rule && verdict.rule->gang;
}

/* The cgroup whose processes count as one with @who; to be freed. */
static char *party_of(const struct gp_daemon *d, const struct gp_ddev *dev, struct gp_subject *who)
{
	char *cgroup;

	who->device = &dev->hal->id;
	cgroup = gp_rules_party(d->config, who);
	who->device = NULL;
	return cgroup;
}

static void log_refusal(const struct gp_ddev *dev, const struct gp_subject *who, const char *why)
{
	gp_log_user(who->uid, GP_LOG_REFUSALS, GP_LOG_WARN, "%s: process %d (%s) class refused: %s",
		    dev->hal->id.name, (int)who->pid, who->comm, why);
}

bool gp_enroll_has_files(const struct gp_daemon *d, const struct gp_subject *who)
{
	return (who->uid == 0 && !who->contained) || gp_serve_has_files(d->serve);
}

static void cgroup_changed(void *arg, bool frozen)
{
	gp_frozen_set(arg, frozen);
}

static void watch_cgroup(struct gp_daemon *d, struct gp_dtenant *t)
{
	if (d->freezer)
		gp_log_shortage(gp_freezer_watch(d->freezer, t->who.pid, cgroup_changed, t,
						 &t->freezer),
				"cannot watch the cgroup of a process");
}

static void tenant_gone(struct gp_dtenant *t, void *arg)
{
	gp_freezer_unwatch(t->freezer);
	t->freezer = NULL;
	if (t->conn)
		t->conn->tenant = NULL;
	t->conn = NULL;
}

/* What the daemon, or the one before it, knows of its memory; its record stays until it joins. */
static int journal_away(const struct gp_scan *s, const struct gp_subject *who,
			enum gp_journal_away *away)
{
	*away = GP_JOURNAL_HERE;
	return gp_journal_away_of(s->daemon->journal, who->pid, who->start_ticks,
				  s->dev->hal->id.uuid, away);
}

static int join(struct gp_scan *s, struct gp_subject *who, const struct gp_class_request *given,
		bool asked, const char *why, struct gp_dtenant **tenant)
{
	struct gp_join how = {
		.who = *who,
		.party = party_of(s->daemon, s->dev, who),
		.gang = is_gang(s->daemon, s->dev, who),
		.list = s->list,
		.origin = s->origin,
		.request = *given,
		.asked = asked,
		.why = why,
		.page = s->origin == GP_WIRE_BY_RUN,
		.gone = tenant_gone,
		.arg = s->daemon,
	};
	enum gp_journal_away known;
	const int place = journal_away(s, who, &known);
	int err;

	how.away = !s->away ? GP_JOURNAL_HERE : known ? known : GP_JOURNAL_AWAY;
	how.recover = !s->away && known;
	gp_supervise_begin(s->daemon->setup->keep);
	err = gp_dtenant_join(s->dev, &how, tenant);
	/* The new record is there before the old one goes. */
	if (!err && place >= 0)
		gp_journal_drop(s->daemon->journal, place);
	gp_log_shortage(err, "cannot manage a process");
	free(how.party);
	*who = how.who;
	s->list = how.list;
	if (err)
		return err;
	gp_log_user((*tenant)->who.uid, GP_LOG_JOINS, GP_LOG_INFO,
		    "%s: process %d (%s) is a tenant: %s", s->dev->hal->id.name,
		    (int)(*tenant)->who.pid, (*tenant)->who.comm, why);
	watch_cgroup(s->daemon, *tenant);
	return 0;
}

/* ---- connected tenants ----------------------------------------------- */

static bool welcome(struct gp_daemon *d, struct gp_conn *conn, struct gp_dtenant *t, int result,
		    const char *why)
{
	const int file[] = { t->page_fd, t->wake.fd };
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_WELCOME);
	msg.head.result = result;
	msg.welcome.daemon_pid = (int32_t)getpid();
	gp_class_request_to_wire(&t->request, &msg.welcome.request);
	snprintf(msg.welcome.why, sizeof(msg.welcome.why), "%s", why);
	return gp_conn_send(conn, &msg, file, 2);
}

/*
 * A setuid program may have inherited the connection, and another process may send on it. So
 * the process must have had one user all the time.
 */
static bool is_its_own(const struct gp_conn *conn, const struct gp_subject *who)
{
	return !who->ids_differ && who->uid == conn->uid;
}

int gp_enroll_read(const struct gp_conn *conn, struct gp_subject *who)
{
	const int err = conn->pid > 0 ? read_process(conn->pid, who) : -ESRCH;

	return err || is_its_own(conn, who) ? err : -EACCES;
}

static void hello_done(struct gp_job *job)
{
	struct gp_scan *s = (struct gp_scan *)(void *)job;
	struct gp_daemon *d = s->daemon;
	struct gp_conn *conn = gp_serve_find(d->serve, s->conn);
	struct gp_class_request given;
	struct gp_subject who = { 0 };
	struct gp_dtenant *t;
	char why[GP_WIRE_TEXT_LEN];
	int err = s->err, refused = 0;

	if (!conn || conn->tenant || d->stopping)
		goto out;
	if (!err)
		err = read_process(conn->pid, &who);
	if (!err && gp_conn_lives(conn) != 1)
		err = -ESRCH;
	if (!err && !is_its_own(conn, &who))
		err = -EACCES;
	t = gp_dtenant_of_pid(s->dev, conn->pid);
	/* Otherwise it is known from discovery, an attach, or a lost connection. */
	if (!err && t && t->conn)
		err = -EEXIST;
	else if (!err && t && t->banned)
		err = -EPERM;
	else if (!err && t)
		gp_dtenant_leave(t, false);
	else if (!err && of_user(d, who.uid) >= d->config->user_tenants)
		err = -EUSERS;
	else if (!err && !gp_enroll_has_files(d, &who))
		err = -EMFILE;
	if (!err) {
		refused = decide(d, s->dev, &who, NULL, s->asks ? &s->request : NULL, &given, why);
		err = join(s, &who, &given, s->asks && !refused, why, &t);
	}
	if (err) {
		gp_conn_say(conn, err, "%s",
			    err == -EUSERS ? "this user has too many tenants; raise "
					     "limits_per_user: tenants: in gpreempt.yaml" :
			    err == -EEXIST ? "this process has another connection for this device" :
			    err == -EMFILE ? "gpreemptd has too few file descriptors; raise its "
					     "limit of open files (LimitNOFILE=)" :
			    err == -ENOSPC ? "the device has no room for another tenant" :
			    err == -EPERM  ? "this process is suspended until it ends" :
			    err == -EACCES ? OTHER_IDS :
					     strerror(-err));
		goto out;
	}
	t->conn = conn;
	conn->tenant = t;
	if (refused)
		log_refusal(s->dev, &t->who, why);
	welcome(d, conn, t, refused, why);
out:
	gp_proc_clear(&who);
	scan_free(s);
}

void gp_enroll_hello(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_hello *msg,
		     const int *file, size_t n)
{
	struct gp_ddev *dev = gp_daemon_device(d, msg->uuid);
	struct gp_scan *s;

	if (!dev || conn->tenant || conn->pid <= 0) {
		gp_files_close(file, n);
		gp_conn_say(conn, !dev ? -ENODEV : -EINVAL, "%s",
			    !dev	 ? "this daemon has no such device" :
			    conn->tenant ? "this connection has a tenant already" :
					   "the daemon cannot see this process: it is in another "
					   "PID namespace");
		return;
	}
	s = scan_new(d, dev, conn->pid, file, msg->key, n, hello_done);
	if (!s) {
		gp_conn_say(conn, -ENOMEM, "%s", strerror(ENOMEM));
		return;
	}
	s->origin = GP_WIRE_BY_RUN;
	s->asks = msg->flags & GP_WIRE_ASKS;
	s->away = msg->flags & GP_WIRE_HELLO_AWAY;
	if (gp_class_request_from_wire(&msg->request, &s->request))
		s->asks = false;
	scan_post(s, conn, conn->uid);
}

static void groups_done(struct gp_job *job)
{
	struct gp_scan *s = (struct gp_scan *)(void *)job;
	/* By its id: another process may have its PID. */
	struct gp_dtenant *t = gp_dtenant_of(s->dev, s->tenant);

	if (t && !s->err)
		gp_dtenant_groups(t, &s->list);
	scan_free(s);
}

/* @file, @key: sent by the tenant; NULL: the daemon looks by itself. */
static void look_again(struct gp_daemon *d, struct gp_dtenant *t, const int *file,
		       const uint32_t *key, size_t n)
{
	struct gp_scan *s = scan_new(d, t->dev, t->who.pid, file, key, n, groups_done);

	if (!s)
		return;
	s->tenant = t->id;
	scan_post(s, key ? t->conn : NULL, t->who.uid);
}

void gp_enroll_files(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_files *msg,
		     const int *file, size_t n)
{
	if (conn->tenant)
		look_again(d, conn->tenant, file, msg->key, n);
	else
		gp_files_close(file, n);
}

/* Report a class that the tenant did not request on its connection. */
static void tell_class(struct gp_dtenant *t)
{
	union gp_wire_msg msg;

	if (!t->conn)
		return;
	gp_wire_init(&msg, GP_WIRE_CLASS);
	msg.welcome.daemon_pid = (int32_t)getpid();
	gp_class_request_to_wire(&t->request, &msg.welcome.request);
	snprintf(msg.welcome.why, sizeof(msg.welcome.why), "%s", t->why);
	gp_conn_send(t->conn, &msg, NULL, 0);
}

/* @conn is answered. */
static void change(struct gp_daemon *d, struct gp_conn *conn, struct gp_dtenant *t,
		   const struct gp_class_request *asked)
{
	char why[GP_WIRE_TEXT_LEN];
	struct gp_class_request given;
	int err = decide(d, t->dev, &t->who, t, asked, &given, why);

	if (!err)
		err = gp_dtenant_class(t, asked, true, why);
	if (err == -ENOSPC && !why[0])
		snprintf(why, sizeof(why), "no room for this class on %s", t->dev->hal->id.name);
	if (!err && conn->tenant != t)
		tell_class(t);
	gp_conn_say(conn, err, "%s", err ? why : "");
}

/* Its process may have changed its users since its hello. */
static bool may_raise(const struct gp_conn *conn)
{
	struct gp_subject who = { 0 };
	bool may = !gp_proc_read(conn->pid, &who) && is_its_own(conn, &who) &&
		   gp_conn_lives(conn) == 1;

	gp_proc_clear(&who);
	return may;
}

void gp_enroll_ask(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_ask_class *msg)
{
	struct gp_class_request asked;

	if (!conn->tenant)
		gp_conn_say(conn, -EINVAL, "this connection has no tenant; send a hello first");
	else if (gp_class_request_from_wire(&msg->request, &asked))
		gp_conn_say(conn, -EINVAL, "no such class");
	else if (!gp_class_no_higher(&asked, &conn->tenant->request) && !may_raise(conn))
		gp_conn_say(conn, -EPERM, OTHER_IDS);
	else
		change(d, conn, conn->tenant, &asked);
}

void gp_enroll_left(struct gp_daemon *d, struct gp_conn *conn)
{
	struct gp_dtenant *t = conn->tenant;

	for (size_t i = 0; i < d->devs; i++)
		for (struct gp_dtenant *one = d->dev[i]->tenants; one; one = one->next)
			gp_clients_forget(one, conn->id);
	conn->tenant = NULL;
	if (!t)
		return;
	t->conn = NULL;
	/* Its pidfd would report its end: the process lives and only leaves. A ban stays. */
	if (!t->banned)
		gp_dtenant_leave(t, false);
}

/* ---- attached tenants ------------------------------------------------ */

static bool is_away(struct gp_daemon *d, const struct gp_ddev *dev, pid_t pid)
{
	enum gp_journal_away away;
	uint64_t start;

	return !gp_proc_start(pid, &start) &&
	       gp_journal_away_of(d->journal, pid, start, dev->hal->id.uuid, &away) >= 0;
}

/* Does it belong to the user that attaches it, whatever it has become? */
static bool is_users(const struct gp_scan *s, const struct gp_subject *who)
{
	return s->admin || (!who->ids_differ && who->uid == s->uid);
}

/* May @s->uid have process @s->pid? Finds @s->start. 0; -ESRCH; -EPERM. */
static int may_take(struct gp_scan *s)
{
	struct gp_subject who = { 0 };
	int err = gp_proc_read(s->pid, &who);

	if (!err && !is_users(s, &who))
		err = -EPERM;
	s->start = who.start_ticks;
	gp_proc_clear(&who);
	return err;
}

static void take_done(struct gp_job *job)
{
	struct gp_scan *s = (struct gp_scan *)(void *)job;
	struct gp_conn *conn = gp_serve_find(s->daemon->serve, s->conn);
	struct gp_class_request given;
	struct gp_subject who = { 0 };
	struct gp_dtenant *t;
	char why[GP_WIRE_TEXT_LEN] = "";
	int err = s->err;

	if (!err)
		err = read_process(s->pid, &who);
	if (!err && who.start_ticks != s->start)
		err = -ESRCH;
	if (!err && !s->list.count)
		err = -ENXIO;
	if (err)
		snprintf(why, sizeof(why), "%s",
			 err == -ENXIO ?
				 "it has no GPU work; attach it once it uses the GPU, or start it "
				 "with gpreempt run" :
			 err == -ESRCH ? "it has ended" :
			 err == -EPERM ? "the daemon may not access it; start gpreemptd with "
					 "CAP_SYS_PTRACE" :
					 strerror(-err));
	if (!err && gp_dtenant_of_pid(s->dev, s->pid)) {
		snprintf(why, sizeof(why), "it became a tenant in the meantime; retry");
		err = -EAGAIN;
	}
	if (!err && !s->banned && is_away(s->daemon, s->dev, s->pid)) {
		snprintf(why, sizeof(why), "its memory is off the device");
		err = -EBUSY;
	}
	if (!err && !is_users(s, &who)) {
		snprintf(why, sizeof(why), "it has changed its user");
		err = -EPERM;
	}
	if (!err && !s->banned && !gp_enroll_has_files(s->daemon, &who))
		err = -EMFILE;
	given = s->request;
	if (!err && !s->banned)
		err = decide(s->daemon, s->dev, &who, NULL, &s->request, &given, why);
	if (!err)
		err = join(s, &who, &given, true,
			   s->banned ? "suspended until it ends" :
			   s->frozen ? "its cgroup was frozen when gpreemptd started" :
				       "attached by gpreempt attach",
			   &t);
	if (err && !why[0])
		snprintf(why, sizeof(why), "%s", strerror(-err));
	if (!err && s->banned)
		gp_dtenant_ban(t);
	/* The new record is there before the old one goes. */
	if (s->place >= 0)
		gp_journal_drop(s->daemon->journal, s->place);
	if (conn)
		gp_conn_say(conn, err, "%s", err ? why : "");
	gp_proc_clear(&who);
	scan_free(s);
}

/* A container's root is an ordinary user. */
static bool is_admin(const struct gp_conn *conn)
{
	return conn->uid == 0 && gp_proc_is_root(conn->pid) && gp_conn_lives(conn) == 1;
}

static void take_new(struct gp_daemon *d, struct gp_conn *conn, struct gp_ddev *dev,
		     const struct gp_scan *meant, const struct gp_class_request *asked)
{
	struct gp_scan *s = scan_new(d, dev, meant->pid, NULL, NULL, 0, take_done);

	if (!s) {
		gp_conn_say(conn, -ENOMEM, "%s", strerror(ENOMEM));
		return;
	}
	s->origin = GP_WIRE_BY_ATTACH;
	s->request = *asked;
	s->start = meant->start;
	s->admin = meant->admin;
	scan_post(s, conn, conn->uid);
}

void gp_enroll_take(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_take *msg)
{
	static const uint8_t any[16];
	struct gp_dtenant *t = gp_daemon_tenant(d, msg->pid, msg->uuid);
	struct gp_ddev *dev = t					  ? t->dev :
			      memcmp(msg->uuid, any, sizeof(any)) ? gp_daemon_device(d, msg->uuid) :
								    d->dev[0];
	struct gp_scan meant = { .pid = msg->pid, .uid = conn->uid, .admin = is_admin(conn) };
	struct gp_class_request asked;
	int err = may_take(&meant);

	if (!dev)
		gp_conn_say(conn, -ENODEV, "this daemon has no such device");
	else if (gp_class_request_from_wire(&msg->request, &asked))
		gp_conn_say(conn, -EINVAL, "no such class");
	else if (err == -ESRCH)
		gp_conn_say(conn, -ESRCH, "no process %d", (int)msg->pid);
	else if (err && err != -EPERM)
		gp_conn_say(conn, err, "cannot read /proc/%d: %s", (int)msg->pid, strerror(-err));
	else if (err)
		gp_conn_say(
			conn, -EPERM,
			"process %d belongs to another user; only that user or root may change it",
			(int)msg->pid);
	else if (t)
		change(d, conn, t, &asked);
	else
		take_new(d, conn, dev, &meant, &asked);
}

/* ---- pools ------------------------------------------------------------- */

void gp_enroll_pool(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_pool *msg)
{
	struct gp_scan meant = { .pid = msg->pid, .uid = conn->uid, .admin = is_admin(conn) };
	int err = may_take(&meant);
	bool found = false;

	for (size_t i = 0; !err && i < d->devs; i++) {
		struct gp_dtenant *t = gp_dtenant_of_pid(d->dev[i], msg->pid);

		found |= t != NULL;
		if (t)
			err = gp_clients_set(t, conn->id, msg);
	}
	if (!err && !found)
		err = -ESRCH;
	gp_conn_say(conn, err, "%s",
		    !err	  ? "" :
		    err == -ESRCH ? "it is no tenant" :
		    err == -EPERM ? "it belongs to another user" :
				    strerror(-err));
}

/* As gp_hook_parse() takes it. */
static void write_hook(const struct gp_rule *rule, char text[GP_WIRE_TEXT_LEN])
{
	char limit[GP_DURATION_TEXT_LEN];

	gp_format_duration(rule->hook_limit_ns, limit, sizeof(limit));
	snprintf(text, GP_WIRE_TEXT_LEN, "%s,%s,%s", rule->hook, rule->wake, limit);
}

void gp_enroll_rule(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_ask_class *msg)
{
	char why[GP_VERDICT_WHY_LEN] = "";
	struct gp_class_request asked;
	struct gp_subject who = { 0 };
	struct gp_verdict verdict;
	union gp_wire_msg out;
	int err = conn->pid > 0 ? read_process(conn->pid, &who) : -ESRCH;

	if (!err && gp_class_request_from_wire(&msg->request, &asked))
		err = -EINVAL;
	if (!err)
		gp_rules_find(d->config, &who, &verdict);
	/* Class none stands for the one that it gets. */
	if (!err && asked.cls.cls != GP_CLASS_NONE && !may_have_any(&who))
		err = gp_rules_may(d->config, &who, &asked, why, sizeof(why));
	gp_proc_clear(&who);
	if (err) {
		gp_conn_say(conn, err, "%.*s", GP_WIRE_TEXT_LEN - 1, *why ? why : strerror(-err));
		return;
	}
	gp_wire_init(&out, GP_WIRE_RULED);
	if (verdict.rule && verdict.rule->pool) {
		out.ruled.pool = 1;
		out.ruled.percent = verdict.rule->percent;
	}
	out.ruled.memory_min = out.ruled.memory_max = GP_WIRE_UNKNOWN;
	out.ruled.host_memory = d->config->host_memory;
	if (verdict.rule) {
		out.ruled.memory_min = verdict.rule->memory.min;
		out.ruled.memory_max = verdict.rule->memory.max;
		out.ruled.one = verdict.rule->one;
		out.ruled.turns = verdict.rule->turns;
		if (verdict.rule->hook)
			write_hook(verdict.rule, out.ruled.hook);
		gp_rules_text(d->config, verdict.rule, out.ruled.rule, sizeof(out.ruled.rule));
	}
	gp_conn_send(conn, &out, NULL, 0);
}

/* Records of processes without a tenant: they come again, or end. */
static void drop_ended(struct gp_daemon *d)
{
	struct gp_journal_record r;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
		if (gp_journal_get(d->journal, i, &r) && r.away &&
		    !gp_daemon_tenant(d, r.pid, r.uuid) && !gp_journal_lives(&r))
			gp_journal_drop(d->journal, (int)i);
}

bool gp_enroll_again(struct gp_daemon *d, const struct gp_journal_record *r, int place)
{
	struct gp_ddev *dev = gp_daemon_device(d, r->uuid);
	struct gp_class_request request;
	struct gp_scan *s;
	bool frozen;

	if (r->away && !r->banned)
		return gp_journal_lives(r);

	frozen = r->origin == GP_WIRE_BY_RUN && d->freezer &&
		 gp_freezer_is_frozen(d->freezer, r->pid);
	if ((r->origin != GP_WIRE_BY_ATTACH && !r->banned && !frozen) || !dev ||
	    gp_class_request_from_wire(&r->request, &request) || !gp_journal_lives(r))
		return false;
	s = scan_new(d, dev, r->pid, NULL, NULL, 0, take_done);
	if (!s)
		return false;
	s->origin = GP_WIRE_BY_ATTACH;
	s->request = request;
	s->banned = r->banned;
	s->frozen = frozen;
	s->place = place;
	s->start = r->start_ticks;
	s->admin = true;
	scan_post(s, NULL, 0);
	return true;
}

/* ---- discovered tenants ---------------------------------------------- */

static struct gp_ddev *of_hal(struct gp_daemon *d, const struct gp_device *hal)
{
	for (size_t i = 0; i < d->devs; i++)
		if (d->dev[i]->hal == hal)
			return d->dev[i];
	return NULL;
}

static bool find_skip(void *arg, struct gp_device *hal, pid_t pid)
{
	struct gp_daemon *d = arg;
	struct gp_ddev *dev = of_hal(arg, hal);

	return !dev || pid == getpid() || gp_dtenant_of_pid(dev, pid) ||
	       gp_receivers_has(d->receivers, pid) || is_away(d, dev, pid);
}

/* A process without a class is left alone: true, no need to check it again. */
static bool find_found(void *arg, struct gp_device *hal, pid_t pid, struct gp_group_list *list)
{
	struct gp_daemon *d = arg;
	struct gp_scan s = { .daemon = d,
			     .dev = of_hal(d, hal),
			     .pid = pid,
			     .origin = GP_WIRE_BY_RULE,
			     .list = *list };
	struct gp_class_request given = { 0 };
	struct gp_subject who = { 0 };
	char why[GP_WIRE_TEXT_LEN];
	struct gp_dtenant *t;
	int err = read_process(pid, &who), refused = 0;

	if (!err)
		refused = decide(d, s.dev, &who, NULL, NULL, &given, why);
	if (refused)
		log_refusal(s.dev, &who, why);
	if (!err && !gp_enroll_has_files(d, &who))
		err = -EMFILE;
	if (!err && given.cls.cls != GP_CLASS_NONE)
		err = join(&s, &who, &given, false, why, &t);
	if (err && err != -ESRCH && err != -EEXIST)
		gp_log_user(who.uid, GP_LOG_REFUSALS, GP_LOG_WARN,
			    "%s: cannot manage process %d: %s", hal->id.name, (int)pid,
			    strerror(-err));
	gp_group_list_put(&s.list);
	gp_proc_clear(&who);
	return true;
}

/* In the discovery thread: nothing else of @arg is used there. */
static int find_groups(void *arg, struct gp_device *hal, pid_t pid, struct gp_group_list *list)
{
	const struct gp_daemon *d = arg;

	return gp_receivers_groups(d->receivers, hal, pid, list);
}

const struct gp_discover_ops gp_enroll_discover_ops = {
	.skip = find_skip,
	.found = find_found,
	.groups = find_groups,
};

/* ---- changes of rules and groups -------------------------------------- */

static void class_anew(struct gp_daemon *d, struct gp_dtenant *t)
{
	const struct gp_class_request old = t->request;
	char why[GP_WIRE_TEXT_LEN];
	struct gp_class_request given;
	bool asked = t->asked && !decide(d, t->dev, &t->who, t, &old, &given, why);
	int err;

	if (asked)
		return;
	decide(d, t->dev, &t->who, t, NULL, &given, why);
	if (t->origin == GP_WIRE_BY_RULE && given.cls.cls == GP_CLASS_NONE) {
		gp_dtenant_leave(t, false);
		return;
	}
	if (!memcmp(&given, &old, sizeof(given)))
		return;
	err = gp_dtenant_class(t, &given, false, why);
	if (err)
		gp_log(GP_LOG_WARN, "%s: cannot change the class of process %d: %s",
		       t->dev->hal->id.name, (int)t->who.pid, strerror(-err));
	else
		tell_class(t);
}

static void rule_anew(struct gp_daemon *d, struct gp_dtenant *t)
{
	gp_dtenant_party(t, party_of(d, t->dev, &t->who), is_gang(d, t->dev, &t->who));
	class_anew(d, t);
}

void gp_enroll_rules(struct gp_daemon *d)
{
	for (size_t i = 0; i < d->devs; i++) {
		struct gp_dtenant *next;

		for (struct gp_dtenant *t = d->dev[i]->tenants; t; t = next) {
			next = t->next;
			rule_anew(d, t);
		}
	}
	gp_discover_all(d->find);
}

/* Since Linux 6.2 the folder's size is how many files a process has open. */
static uint64_t open_files(pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static bool is_scanned(const struct gp_daemon *d, const struct gp_dtenant *t)
{
	for (const struct gp_scan *s = d->scans; s; s = s->next)
		if (s->dev == t->dev && s->pid == t->who.pid)
			return true;
	return false;
}

void gp_enroll_check(struct gp_daemon *d)
{
	drop_ended(d);
	if (d->freezer)
		gp_freezer_check(d->freezer);
	for (size_t i = 0; i < d->devs; i++) {
		for (struct gp_dtenant *t = d->dev[i]->tenants; t; t = t->next) {
			uint64_t files = t->conn ? 0 : open_files(t->who.pid);

			gp_away_check(t);
			gp_frozen_check(t);
			/* A slow scan must not have others behind it. */
			if (is_scanned(d, t))
				continue;
			/* A queue of AMD's takes no file. */
			if (files != t->files || t->dev->caps.caps & GP_CAP_CLASS)
				look_again(d, t, NULL, NULL, 0);
			t->files = files;
		}
	}
}
