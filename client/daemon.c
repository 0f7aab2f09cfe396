// SPDX-License-Identifier: Apache-2.0
#include "client/daemon.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/engine_internal.h"
#include "client/pile.h"
#include "client/start_daemon.h"
#include "client/yield.h"
#include "hal/timer.h"
#include "runtime/log.h"
#include "wire/wire.h"

#define MESSAGES 32 /* per read: timers wait meanwhile */
#define WORDS 480   /* longest text of the daemon's in our messages */
/* A welcome after a refusal comes right after it. */
#define REFUSED_WAIT_NS 100000000u

void gp_daemon_link_init(struct gp_daemon_link *d)
{
	pthread_condattr_t attr;

	d->fd = -1;
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->answered, &attr);
	pthread_condattr_destroy(&attr);
}

void gp_daemon_link_forget(struct gp_client_device *dev)
{
	if (dev->link.fd >= 0)
		close(dev->link.fd);
	dev->link.fd = -1;
	gp_status_page_forget(dev);
}

bool gp_daemon_link_manages(const struct gp_client_device *dev)
{
	return atomic_load(&dev->link.manages);
}

bool gp_daemon_link_welcome(const struct gp_daemon_link *d)
{
	return d->state == GP_DAEMON_LINK_WELCOME;
}

void gp_daemon_link_regrouped(struct gp_client_device *dev)
{
	atomic_store(&dev->link.regrouped, true);
	gp_thread_wake();
}

/* ---- asking ------------------------------------------------------------------ */

uint64_t gp_daemon_link_ask(struct gp_client_device *dev, const struct gp_class_request *request)
{
	struct gp_daemon_link *d = &dev->link;
	uint64_t ask = 0;

	pthread_mutex_lock(&d->lock);
	if (d->asked - d->done < GP_DAEMON_LINK_ASKS) {
		d->ask[d->asked % GP_DAEMON_LINK_ASKS] = *request;
		ask = ++d->asked;
	}
	pthread_mutex_unlock(&d->lock);
	gp_thread_wake();
	return ask;
}

/* d->lock held. A late query, after its place was reused, gets no answer. */
static bool answered(const struct gp_daemon_link *d, uint64_t ask, int *result)
{
	if (ask > d->done)
		return false;
	*result = d->done - ask < GP_DAEMON_LINK_ASKS ? d->result[(ask - 1) % GP_DAEMON_LINK_ASKS] :
							-EBUSY;
	return true;
}

bool gp_daemon_link_answered(struct gp_client_device *dev, uint64_t ask, int *result)
{
	bool is;

	pthread_mutex_lock(&dev->link.lock);
	is = answered(&dev->link, ask, result);
	pthread_mutex_unlock(&dev->link.lock);
	return is;
}

int gp_daemon_link_wait(struct gp_client_device *dev, uint64_t ask)
{
	struct gp_daemon_link *d = &dev->link;
	uint64_t end_ns = gp_wall_ns() + GP_DAEMON_LINK_ANSWER_NS;
	const struct timespec end = {
		.tv_sec = (time_t)(end_ns / 1000000000),
		.tv_nsec = (long)(end_ns % 1000000000),
	};
	int result = -ETIMEDOUT, err = 0;

	if (!ask)
		return -EBUSY;
	pthread_mutex_lock(&d->lock);
	while (!answered(d, ask, &result) && !err)
		err = pthread_cond_timedwait(&d->answered, &d->lock, &end);
	pthread_mutex_unlock(&d->lock);
	return result;
}

/* The oldest unanswered request; false: none. */
static bool ask_oldest(struct gp_daemon_link *d, struct gp_class_request *request)
{
	bool is;

	pthread_mutex_lock(&d->lock);
	is = d->done < d->asked;
	if (is)
		*request = d->ask[d->done % GP_DAEMON_LINK_ASKS];
	pthread_mutex_unlock(&d->lock);
	return is;
}

static void ask_done(struct gp_daemon_link *d, int result)
{
	pthread_mutex_lock(&d->lock);
	d->result[d->done % GP_DAEMON_LINK_ASKS] = result;
	d->done++;
	if (d->sent < d->done)
		d->sent = d->done;
	pthread_cond_broadcast(&d->answered);
	pthread_mutex_unlock(&d->lock);
}

/* ---- memory that leaves ----------------------------------------------------------- */

void gp_daemon_link_note_away(struct gp_client_device *dev, enum gp_memory_stop what)
{
	pthread_mutex_lock(&dev->link.lock);
	dev->link.away = what;
	pthread_mutex_unlock(&dev->link.lock);
	gp_thread_wake();
}

bool gp_daemon_link_is_away(struct gp_client_device *dev)
{
	bool is;

	pthread_mutex_lock(&dev->link.lock);
	is = dev->link.away != GP_MEMORY_RUN || dev->link.away_done < dev->link.away_asked;
	pthread_mutex_unlock(&dev->link.lock);
	return is;
}

/* The daemon may be another one by the time of its answer, and the request is then sent again. */
int gp_daemon_link_away(struct gp_client_device *dev, enum gp_memory_stop what)
{
	struct gp_daemon_link *d = &dev->link;
	uint64_t mine;
	int result;

	pthread_mutex_lock(&d->lock);
	d->away = what;
	d->away_due = true;
	mine = ++d->away_asked;
	gp_thread_wake();
	while (d->away_done < mine)
		pthread_cond_wait(&d->answered, &d->lock);
	result = d->away_result;
	pthread_mutex_unlock(&d->lock);
	return result;
}

/* d->lock held. */
static void away_end(struct gp_daemon_link *d, uint64_t number, int result)
{
	d->away_flies = false;
	if (number <= d->away_done)
		return;
	d->away_done = number;
	d->away_result = result;
	pthread_cond_broadcast(&d->answered);
}

/* There is no daemon: this process suspends its groups itself. */
static void away_alone(struct gp_daemon_link *d)
{
	pthread_mutex_lock(&d->lock);
	d->away_due = false;
	away_end(d, d->away_asked, -ENOTCONN);
	pthread_mutex_unlock(&d->lock);
}

static void set_stopped(struct gp_client_device *dev, bool stopped)
{
	pthread_mutex_lock(&dev->lock);
	gp_runtime_lock(dev->rt);
	dev->stopped = stopped;
	gp_runtime_unlock(dev->rt);
	gp_client_device_unlock(dev);
}

static bool away_answered(struct gp_client_device *dev, const struct gp_wire_away *msg)
{
	struct gp_daemon_link *d = &dev->link;
	bool due;

	pthread_mutex_lock(&d->lock);
	due = d->away_flies;
	pthread_mutex_unlock(&d->lock);
	if (!due)
		return false;
	/* Before anybody hears of it: should the daemon end, this process keeps to it. */
	if (!msg->head.result)
		set_stopped(dev, msg->away);
	pthread_mutex_lock(&d->lock);
	/* A move out that was refused has not begun. */
	if (msg->head.result && !dev->stopped)
		d->away = GP_MEMORY_RUN;
	away_end(d, d->away_sent, msg->head.result);
	pthread_mutex_unlock(&d->lock);
	/* It may do now what it has put off. */
	gp_thread_wake();
	return true;
}

static void fill_keep(struct gp_client_device *dev, struct gp_wire_away *msg)
{
	gp_runtime_lock(dev->rt);
	for (uint32_t i = 0; i < dev->keeps; i++)
		msg->keep[msg->count++] = dev->keep[i]->id;
	gp_runtime_unlock(dev->rt);
}

/* False: nothing is to be sent, or it has to wait. */
static bool away_take(struct gp_daemon_link *d, enum gp_memory_stop *what)
{
	bool due;

	pthread_mutex_lock(&d->lock);
	due = d->away_due && !d->away_flies;
	*what = d->away;
	if (due) {
		d->away_due = false;
		d->away_flies = true;
		d->away_sent = d->away_asked;
	}
	pthread_mutex_unlock(&d->lock);
	return due;
}

/* To @again: it is not answered, and has to be sent to the next daemon. */
static void away_lost(struct gp_daemon_link *d, bool again)
{
	pthread_mutex_lock(&d->lock);
	d->away_due |= again || d->away_done < d->away_asked;
	d->away_flies = false;
	pthread_mutex_unlock(&d->lock);
}

/*
 * @wanted: requested by this process; else given from outside.
 */
static int apply(struct gp_client_device *dev, const struct gp_class_request *request, bool wanted)
{
	int err = gp_client_device_apply_class(dev, &request->cls, wanted ? request : NULL);

	if (err)
		gp_log(GP_LOG_WARN, "%s: cannot apply gpreemptd's class: %s", dev->hal->id.name,
		       strerror(-err));
	return err;
}

/* ---- continuing without a daemon ------------------------------------------------------ */

static void set_manages(struct gp_client_device *dev, bool manages)
{
	atomic_store(&dev->link.manages, manages);
}

static void put_back(struct gp_client_device *dev)
{
	static atomic_int said;
	struct gp_daemon_link *d = &dev->link;
	int err;

	pthread_mutex_lock(&dev->lock);
	err = gp_client_device_take_back(dev);
	gp_client_device_unlock(dev);
	set_manages(dev, false);
	d->resume_ns = err ? gp_wall_ns() + GP_DAEMON_LINK_NAP_NS : 0;
	if (err)
		gp_log_once(&said, GP_LOG_WARN, "%s: cannot resume a group: %s; retrying",
			    dev->hal->id.name, strerror(-err));
}

static void slices_again(struct gp_client_device *dev)
{
	dev->link.again_ns = 0;
	pthread_mutex_lock(&dev->lock);
	gp_client_device_slices_again(dev);
	gp_client_device_unlock(dev);
}

static void alone(struct gp_client_device *dev, uint64_t look_in_ns)
{
	struct gp_daemon_link *d = &dev->link;

	put_back(dev);
	d->state = GP_DAEMON_LINK_NONE;
	d->missed_ns = 0;
	d->next_ns = gp_wall_ns() + look_in_ns;
}

/* ---- losing the daemon -------------------------------------------------------------- */

static void disconnect(struct gp_client_device *dev)
{
	struct gp_daemon_link *d = &dev->link;

	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	d->files_ns = 0;
	pthread_mutex_lock(&dev->lock);
	gp_status_page_drop(dev);
	gp_client_device_unlock(dev);
	/* The next daemon gets the unanswered requests. */
	pthread_mutex_lock(&d->lock);
	d->sent = d->done;
	pthread_mutex_unlock(&d->lock);
	away_lost(d, false);
}

/* The connection is over, but its effects on groups may remain. */
static void gone(struct gp_client_device *dev)
{
	struct gp_daemon_link *d = &dev->link;
	const uint64_t now_ns = gp_wall_ns();
	const bool late = d->state == GP_DAEMON_LINK_LATE;

	disconnect(dev);
	if (late) {
		d->state = GP_DAEMON_LINK_NONE;
		d->next_ns = now_ns;
		return;
	}
	if (d->refused) {
		d->refused = false;
		alone(dev, GP_DAEMON_LINK_REFUSED_NS);
		return;
	}
	if (!d->missed_ns)
		d->missed_ns = now_ns + GP_DAEMON_LINK_MISSED_NS;
	d->state = GP_DAEMON_LINK_MISSED;
	d->next_ns = now_ns + (d->distrusted ? GP_DAEMON_LINK_MISSED_NS / 2 : 0);
}

static void distrust(struct gp_client_device *dev, const char *what)
{
	static atomic_int said;

	gp_log_once(&said, GP_LOG_WARN,
		    "gpreemptd sent an invalid message (%s); disconnecting; install the same "
		    "version of both",
		    what);
	dev->link.distrusted = true;
	gone(dev);
}

/* ---- sending ------------------------------------------------------------------------ */

/* Sends @msg with @dev's control files, if any; @key: @msg's field for their keys. */
static int send_files(struct gp_client_device *dev, const union gp_wire_msg *msg, uint32_t *key)
{
	int fd[GP_WIRE_MAX_FILES], err;
	ssize_t n = dev->ops.control_files(dev->hal, fd, key, GP_WIRE_MAX_FILES);

	/* Then the daemon looks for them itself. */
	if (n < 0)
		n = 0;
	err = gp_wire_send(dev->link.fd, msg, fd, (size_t)n);
	for (ssize_t i = 0; i < n; i++)
		close(fd[i]);
	return err;
}

static int say_hello(struct gp_client_device *dev)
{
	struct gp_class_request asked;
	union gp_wire_msg msg;
	bool stopped;

	pthread_mutex_lock(&dev->lock);
	asked = dev->asked;
	stopped = dev->stopped;
	gp_client_device_unlock(dev);
	gp_wire_init(&msg, GP_WIRE_HELLO);
	memcpy(msg.hello.uuid, dev->hal->id.uuid, sizeof(msg.hello.uuid));
	if (asked.cls.cls != GP_CLASS_NONE)
		msg.hello.flags = GP_WIRE_ASKS;
	if (stopped)
		msg.hello.flags |= GP_WIRE_HELLO_AWAY;
	gp_class_request_to_wire(&asked, &msg.hello.request);
	return send_files(dev, &msg, msg.hello.key);
}

/* The daemon uses the groups from then on, so they must be its own by then. */
static void give(struct gp_client_device *dev)
{
	gp_yield_drop(dev);
	pthread_mutex_lock(&dev->lock);
	gp_client_device_give(dev);
	gp_client_device_unlock(dev);
	set_manages(dev, true);
}

/* ---- receiving ----------------------------------------------------------------------- */

/* Terminates a received text. */
static const char *words(char text[GP_WIRE_TEXT_LEN])
{
	text[GP_WIRE_TEXT_LEN - 1] = '\0';
	return text;
}

/* Only these two are trusted. */
static const char *whose(const struct gp_daemon_link *d)
{
	pid_t pid;
	uid_t uid;

	return gp_wire_peer(d->fd, &pid, &uid) || !uid ? "root's" : "this user's";
}

static void welcome(struct gp_client_device *dev, union gp_wire_msg *msg, int file[2])
{
	const bool had = gp_client_device_class(dev).cls != GP_CLASS_NONE;
	struct gp_daemon_link *d = &dev->link;
	static atomic_int said;
	char text[GP_CLASS_REQUEST_TEXT_LEN];
	struct gp_class_request request;
	int err;

	err = gp_class_request_from_wire(&msg->welcome.request, &request);
	if (!err) {
		pthread_mutex_lock(&dev->lock);
		err = gp_status_page_take(dev, file[0], file[1]);
		gp_client_device_unlock(dev);
	}
	close(file[0]);
	if (err) {
		close(file[1]);
		if (err == -ENOMEM) {
			gp_log_once(&said, GP_LOG_WARN,
				    "%s: cannot map gpreemptd's page: %s; disconnecting",
				    dev->hal->id.name, strerror(ENOMEM));
			gone(dev);
		} else {
			distrust(dev, "a welcome");
		}
		return;
	}
	d->state = GP_DAEMON_LINK_WELCOME;
	d->missed_ns = 0;
	away_lost(d, dev->stopped);
	d->refused = d->said = false;
	if (msg->head.result < 0) {
		gp_class_request_format(&request, text, sizeof(text));
		gp_log(GP_LOG_WARN,
		       "%s: %s gpreemptd refused the requested class and gave %s: %.*s",
		       dev->hal->id.name, whose(d), text, WORDS, words(msg->welcome.why));
	}
	(void)apply(dev, &request, false);
	if (gp_engine_hooks()->managed)
		gp_engine_hooks()->managed();
	/* The daemon leaves a tenant without a class as it was: with its slices from before. */
	if (had && request.cls.cls == GP_CLASS_NONE)
		gp_client_device_slices_off(dev);
}

/* An answer to HELLO: temporary, or final unless a welcome follows. */
static void refused(struct gp_client_device *dev, union gp_wire_msg *msg)
{
	struct gp_daemon_link *d = &dev->link;

	/* The daemon has not yet noticed the end of the last connection. */
	if (msg->head.result == -EEXIST) {
		gone(dev);
		d->next_ns += GP_DAEMON_LINK_NAP_NS;
		return;
	}
	if (!d->said)
		gp_log(GP_LOG_WARN, "%s: gpreemptd refused this process: %.*s", dev->hal->id.name,
		       WORDS, words(msg->said.text));
	d->said = d->refused = true;
	d->end_ns = gp_wall_ns() + REFUSED_WAIT_NS;
}

/* Answers come in the order of the requests. */
static void ask_answered(struct gp_client_device *dev, union gp_wire_msg *msg)
{
	struct gp_daemon_link *d = &dev->link;
	struct gp_class_request request;
	bool due;

	pthread_mutex_lock(&d->lock);
	due = d->done < d->sent;
	pthread_mutex_unlock(&d->lock);
	if (!due || !ask_oldest(d, &request)) {
		gp_log(GP_LOG_WARN, "%s: gpreemptd: %.*s", dev->hal->id.name, WORDS,
		       words(msg->said.text));
		return;
	}
	if (msg->head.result < 0) {
		gp_log(GP_LOG_WARN, "%s: %s gpreemptd refused a class: %.*s", dev->hal->id.name,
		       whose(d), WORDS, words(msg->said.text));
		ask_done(d, -EPERM);
		return;
	}
	ask_done(d, apply(dev, &request, true));
}

static void class_given(struct gp_client_device *dev, union gp_wire_msg *msg)
{
	struct gp_class_request request;

	if (gp_class_request_from_wire(&msg->welcome.request, &request)) {
		distrust(dev, "a class");
		return;
	}
	gp_log(GP_LOG_INFO, "%s: gpreemptd changed the class: %.*s", dev->hal->id.name, WORDS,
	       words(msg->welcome.why));
	(void)apply(dev, &request, false);
}

static void memory_wanted(struct gp_client_device *dev, const struct gp_wire_memory *msg)
{
	struct gp_memory_stat stat;

	if (msg->leave)
		gp_memory_read(dev, gp_client_device_is_be(dev), &msg->need, &stat);
	gp_memory_changed(dev->hal->id.uuid);
}

/* True: @file have an owner now. */
static bool take_message(struct gp_client_device *dev, union gp_wire_msg *msg, int *file, size_t n)
{
	const enum gp_daemon_link_state state = dev->link.state;
	const uint16_t type = msg->head.type;

	if (state == GP_DAEMON_LINK_JOINING && type == GP_WIRE_WELCOME && n == 2) {
		welcome(dev, msg, file);
		return true;
	}
	if (state == GP_DAEMON_LINK_JOINING && type == GP_WIRE_SAID)
		refused(dev, msg);
	else if (state == GP_DAEMON_LINK_WELCOME && type == GP_WIRE_SAID)
		ask_answered(dev, msg);
	else if (state == GP_DAEMON_LINK_WELCOME && type == GP_WIRE_CLASS)
		class_given(dev, msg);
	else if (state == GP_DAEMON_LINK_WELCOME && type == GP_WIRE_MEMORY)
		memory_wanted(dev, &msg->memory);
	else if (state == GP_DAEMON_LINK_WELCOME && type == GP_WIRE_AWAY &&
		 away_answered(dev, &msg->away))
		return false;
	else
		distrust(dev, "unexpected");
	return false;
}

/* False: no further message, or no connection. */
static bool hear(struct gp_client_device *dev)
{
	int file[GP_WIRE_MAX_FILES];
	union gp_wire_msg msg;
	size_t files = 0;
	ssize_t n = gp_wire_recv(dev->link.fd, &msg, file, &files);

	/* If the peer closed without reading, this comes once; then its last messages. */
	if (n == -ECONNRESET)
		n = gp_wire_recv(dev->link.fd, &msg, file, &files);
	if (n == -EAGAIN)
		return false;
	if (n == -EPROTO)
		distrust(dev, "too long");
	else if (n <= 0)
		gone(dev);
	else if (gp_wire_check(&msg, (size_t)n) || gp_wire_check_body(&msg))
		distrust(dev, "no message");
	else if (take_message(dev, &msg, file, files))
		files = 0;
	while (files)
		close(file[--files]);
	return dev->link.fd >= 0;
}

static void hear_all(struct gp_client_device *dev)
{
	/* A late answer belongs to a greeting that no longer counts. */
	if (dev->link.state == GP_DAEMON_LINK_LATE) {
		gone(dev);
		return;
	}
	for (int i = 0; i < MESSAGES && hear(dev); i++)
		;
}

/* ---- joining --------------------------------------------------------------------- */

static void join(struct gp_client_device *dev, int fd)
{
	struct gp_daemon_link *d = &dev->link;

	d->fd = fd;
	d->refused = d->distrusted = false;
	d->resume_ns = d->again_ns = 0;
	give(dev);
	/* Later groups are reported again. */
	atomic_store(&d->regrouped, false);
	d->state = GP_DAEMON_LINK_JOINING;
	d->end_ns = d->missed_ns ? d->missed_ns : gp_wall_ns() + GP_DAEMON_LINK_JOIN_NS;
	if (!say_hello(dev))
		return;
	/* It may have sent a reason before it closed. */
	hear_all(dev);
	if (d->fd >= 0)
		gone(dev);
}

static void say_slot(struct gp_client_device *dev)
{
	pthread_mutex_lock(&dev->lock);
	gp_slot_say(dev);
	gp_client_device_unlock(dev);
}

static bool others_are_there(void)
{
	pid_t pid[2];

	return gp_wire_tenants(pid, 2) > 1;
}

/*
 * Another best-effort process has the short slice: only a daemon lets them take turns. Or this
 * process's launches could pile up: only a daemon preempts others as it waits.
 */
static bool needs_one(struct gp_client_device *dev)
{
	bool needs;

	pthread_mutex_lock(&dev->lock);
	needs = dev->slot == GP_SLOT_WAITING || (gp_pile_could(dev) && others_are_there());
	gp_client_device_unlock(dev);
	return needs && dev->link.state == GP_DAEMON_LINK_NONE;
}

static void look_for_it(struct gp_client_device *dev)
{
	static atomic_int said;
	struct gp_daemon_link *d = &dev->link;
	int fd = gp_wire_daemon_connect();

	if (fd >= 0) {
		gp_start_daemon_found();
		join(dev, fd);
		return;
	}
	if (fd == -ENOENT && needs_one(dev) && gp_start_daemon()) {
		d->next_ns = gp_wall_ns() + GP_DAEMON_LINK_NAP_NS;
		return;
	}
	if (fd != -ENOENT && fd != -EAGAIN)
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot connect to gpreemptd: %s; continuing without it",
			    fd == -EPERM  ? "its socket belongs to another user" :
			    fd == -EACCES ? "this user may not open its socket; let its owner set "
					    "mode 755 on the folder" :
					    strerror(-fd));
	/* A daemon has the short timeslice itself, and gives each tenant its turn. */
	if (fd != -EAGAIN && d->state != GP_DAEMON_LINK_MISSED)
		say_slot(dev);
	d->next_ns = gp_wall_ns() + (d->state == GP_DAEMON_LINK_MISSED || fd == -EAGAIN ?
					     GP_DAEMON_LINK_NAP_NS :
					     GP_DAEMON_LINK_LOOK_NS);
}

/* ---- in the thread's loop ------------------------------------------------------------ */

int gp_daemon_link_fd(const struct gp_client_device *dev)
{
	return dev->link.fd;
}

static void say_files(struct gp_client_device *dev)
{
	struct gp_daemon_link *d = &dev->link;
	union gp_wire_msg msg;
	int err;

	gp_wire_init(&msg, GP_WIRE_FILES);
	err = send_files(dev, &msg, msg.files.key);
	d->files_ns = err == -EAGAIN ? gp_wall_ns() + GP_DAEMON_LINK_NAP_NS : 0;
	if (err && err != -EAGAIN)
		gone(dev);
}

/* The next unsent request; false: none, or no room. */
static bool say_ask(struct gp_client_device *dev)
{
	struct gp_daemon_link *d = &dev->link;
	union gp_wire_msg msg;
	bool is;
	int err;

	gp_wire_init(&msg, GP_WIRE_ASK_CLASS);
	pthread_mutex_lock(&d->lock);
	is = d->sent < d->asked;
	if (is)
		gp_class_request_to_wire(&d->ask[d->sent % GP_DAEMON_LINK_ASKS],
					 &msg.ask_class.request);
	pthread_mutex_unlock(&d->lock);
	if (!is)
		return false;
	err = gp_wire_send(d->fd, &msg, NULL, 0);
	if (err && err != -EAGAIN)
		gone(dev);
	if (err)
		return false;
	pthread_mutex_lock(&d->lock);
	d->sent++;
	pthread_mutex_unlock(&d->lock);
	return true;
}

static void say_away(struct gp_client_device *dev)
{
	struct gp_daemon_link *d = &dev->link;
	enum gp_memory_stop what;
	union gp_wire_msg msg;
	int err;

	if (!away_take(d, &what))
		return;
	gp_wire_init(&msg, GP_WIRE_AWAY);
	msg.away.away = what != GP_MEMORY_RUN;
	if (what == GP_MEMORY_MOVE)
		fill_keep(dev, &msg.away);
	err = gp_wire_send(d->fd, &msg, NULL, 0);
	if (err)
		away_lost(d, true);
	if (err && err != -EAGAIN)
		gone(dev);
}

/* Without a daemon, requested classes are in force. */
static void grant_all(struct gp_client_device *dev)
{
	struct gp_daemon_link *d = &dev->link;
	struct gp_class_request request;

	while (ask_oldest(d, &request))
		ask_done(d, gp_client_device_apply_class(dev, &request.cls, &request));
}

static void say_all(struct gp_client_device *dev, uint64_t now_ns)
{
	struct gp_daemon_link *d = &dev->link;

	if (atomic_exchange(&d->regrouped, false) && !d->files_ns)
		d->files_ns = now_ns + GP_DAEMON_LINK_FILES_NS;
	if (d->files_ns && d->files_ns <= now_ns)
		say_files(dev);
	while (d->state == GP_DAEMON_LINK_WELCOME && say_ask(dev))
		;
	if (d->state == GP_DAEMON_LINK_WELCOME)
		say_away(dev);
}

/* Linked programs without an open handle need none. */
static bool wants_one(struct gp_client_device *dev)
{
	return gp_client_device_group_count(dev) || (dev->preloaded && dev->link.fd >= 0);
}

static void leave(struct gp_client_device *dev)
{
	disconnect(dev);
	alone(dev, 0);
}

static void late(struct gp_client_device *dev)
{
	struct gp_daemon_link *d = &dev->link;

	if (d->refused) {
		gone(dev);
		return;
	}
	gp_log(GP_LOG_WARN, "%s: gpreemptd does not answer; continuing without it",
	       dev->hal->id.name);
	alone(dev, 0);
	d->state = GP_DAEMON_LINK_LATE;
}

static void step(struct gp_client_device *dev, uint64_t now_ns)
{
	struct gp_daemon_link *d = &dev->link;

	switch (d->state) {
	case GP_DAEMON_LINK_NONE:
		if (now_ns >= d->next_ns)
			look_for_it(dev);
		break;
	case GP_DAEMON_LINK_JOINING:
		if (now_ns >= d->end_ns)
			late(dev);
		break;
	case GP_DAEMON_LINK_LATE:
		break;
	case GP_DAEMON_LINK_WELCOME:
		say_all(dev, now_ns);
		break;
	case GP_DAEMON_LINK_MISSED:
		if (now_ns < d->missed_ns) {
			if (now_ns >= d->next_ns)
				look_for_it(dev);
			break;
		}
		gp_log(GP_LOG_WARN, "%s: gpreemptd is gone; continuing without it",
		       dev->hal->id.name);
		alone(dev, d->distrusted ? GP_DAEMON_LINK_REFUSED_NS : GP_DAEMON_LINK_LOOK_NS);
		/* Its keepers restore all groups as well, about now. */
		d->again_ns = gp_wall_ns() + GP_DAEMON_LINK_AGAIN_NS;
		break;
	}
}

void gp_daemon_link_serve(struct gp_client_device *dev, short revents)
{
	struct gp_daemon_link *d = &dev->link;

	if (revents && d->fd >= 0)
		hear_all(dev);
	if (wants_one(dev))
		step(dev, gp_wall_ns());
	else if (d->state != GP_DAEMON_LINK_NONE)
		leave(dev);
	if (d->state == GP_DAEMON_LINK_NONE || d->state == GP_DAEMON_LINK_LATE)
		grant_all(dev);
	if (d->state == GP_DAEMON_LINK_NONE || d->state == GP_DAEMON_LINK_LATE)
		away_alone(d);
	if (d->resume_ns && gp_wall_ns() >= d->resume_ns)
		put_back(dev);
	if (d->again_ns && gp_wall_ns() >= d->again_ns)
		slices_again(dev);
}

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
	return b_ns && b_ns < a_ns ? b_ns : a_ns;
}

/* UINT64_MAX: nothing is due. */
static uint64_t due_ns(const struct gp_daemon_link *d)
{
	switch (d->state) {
	case GP_DAEMON_LINK_NONE:
		return d->next_ns;
	case GP_DAEMON_LINK_JOINING:
		return d->end_ns;
	case GP_DAEMON_LINK_WELCOME:
		return sooner(UINT64_MAX, d->files_ns);
	case GP_DAEMON_LINK_MISSED:
		return sooner(d->next_ns, d->missed_ns);
	case GP_DAEMON_LINK_LATE:
		break;
	}
	return UINT64_MAX;
}

/* Requests that are not sent, because the daemon does not read. */
static bool unsent(struct gp_daemon_link *d)
{
	bool is;

	pthread_mutex_lock(&d->lock);
	is = d->state == GP_DAEMON_LINK_WELCOME &&
	     (d->sent < d->asked || (d->away_due && !d->away_flies));
	pthread_mutex_unlock(&d->lock);
	return is;
}

int gp_daemon_link_wait_ms(struct gp_client_device *dev)
{
	struct gp_daemon_link *d = &dev->link;
	const uint64_t now_ns = gp_wall_ns();
	uint64_t ns = wants_one(dev) ? due_ns(d) : UINT64_MAX;

	ns = sooner(sooner(ns, d->resume_ns), d->again_ns);
	if (unsent(d))
		ns = sooner(ns, now_ns + GP_DAEMON_LINK_NAP_NS);
	if (ns == UINT64_MAX)
		return -1;
	return ns <= now_ns ? 0 : (int)((ns - now_ns + 999999) / 1000000);
}
