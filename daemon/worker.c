// SPDX-License-Identifier: Apache-2.0
/*
 * worker.c - two queues, a lock, and an eventfd for the loop.
 */
#include "daemon/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

struct queue {
	struct gp_job *first, **last;
};

struct gp_worker {
	struct gp_source source; /* eventfd: something is done */
	pthread_t thread;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t wake;
	struct queue todo, done;
	bool works; /* the thread does something */
	bool stop;
};

static void push(struct queue *q, struct gp_job *job)
{
	job->next = NULL;
	if (!q->first)
		q->last = &q->first;
	*q->last = job;
	q->last = &job->next;
}

static struct gp_job *pop(struct queue *q)
{
	struct gp_job *job = q->first;

	if (job)
		q->first = job->next;
	return job;
}

/* Lock held, and given up meanwhile. */
static void do_job(struct gp_worker *w, struct gp_job *job)
{
	const uint64_t one = 1;

	pthread_mutex_unlock(&w->lock);
	job->work(job);
	pthread_mutex_lock(&w->lock);
	push(&w->done, job);
	if (!job->can_wait || !w->todo.first)
		(void)!write(w->source.fd, &one, sizeof(one));
}

static void *thread_main(void *arg)
{
	struct gp_worker *w = arg;
	struct gp_job *job;

	prctl(PR_SET_NAME, "gpreempt-worker");
	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		job = pop(&w->todo);
		w->works = job;
		if (job)
			do_job(w, job);
		else
			pthread_cond_wait(&w->wake, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static struct gp_job *take_done(struct gp_worker *w)
{
	struct gp_job *job;

	pthread_mutex_lock(&w->lock);
	job = pop(&w->done);
	pthread_mutex_unlock(&w->lock);
	return job;
}

static void ready(struct gp_source *source, uint32_t events)
{
	struct gp_worker *w = (struct gp_worker *)(void *)source;
	struct gp_job *job;
	uint64_t n;

	(void)!read(source->fd, &n, sizeof(n));
	while ((job = take_done(w)))
		job->done(job);
}

static int start(struct gp_worker *w)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&w->thread, NULL, thread_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

int gp_worker_create(struct gp_loop *loop, struct gp_worker **worker)
{
	struct gp_worker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->source.ready = ready;
	w->source.is_urgent = true;
	w->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = w->source.fd < 0 ? -errno : gp_loop_add(loop, &w->source, EPOLLIN);
	if (!err)
		err = start(w);
	if (err) {
		gp_loop_remove(&w->source);
		if (w->source.fd >= 0)
			close(w->source.fd);
		free(w);
		return err;
	}
	*worker = w;
	return 0;
}

void gp_worker_post(struct gp_worker *w, struct gp_job *job)
{
	pthread_mutex_lock(&w->lock);
	if (job->at_once && !w->works && !w->todo.first) {
		do_job(w, job);
	} else {
		push(&w->todo, job);
		pthread_cond_signal(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
}

void gp_worker_destroy(struct gp_worker *w)
{
	struct gp_job *job;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	while ((job = pop(&w->done)) || (job = pop(&w->todo)))
		job->done(job);
	gp_loop_remove(&w->source);
	close(w->source.fd);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
