// SPDX-License-Identifier: Apache-2.0
#include "daemon/quotas.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/discover/proc.h"
#include "daemon/loop/log.h"

struct member {
	struct gp_source ended; /* its pidfd */
	struct gp_daemon *daemon;
	struct gp_quota *quota;
	uint32_t place;
	pid_t pid;
	uint64_t start_ticks;
	uid_t uid;
};

struct gp_quota {
	struct gp_quota *next;
	char *cgroup;
	uint64_t max; /* by the rule, when a process asked last */
	int fd;
	struct gp_quota_page *page;
	struct member *member[GP_QUOTA_PLACES];
	uint32_t members;
};

/* ---- the page ------------------------------------------------------------------------ */

static void quota_free(struct gp_quota *q)
{
	if (q->page)
		munmap(q->page, sizeof(*q->page));
	if (q->fd >= 0)
		close(q->fd);
	free(q->cgroup);
	free(q);
}

/* Sealed: no process of the cgroup can take memory away from the others, or from the daemon. */
static int page_create(struct gp_daemon *d, struct gp_quota *q)
{
	q->fd = memfd_create("gpreempt-quota", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (q->fd < 0)
		return -errno;
	if (ftruncate(q->fd, sizeof(*q->page)) ||
	    fcntl(q->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	q->page = mmap(NULL, sizeof(*q->page), PROT_READ | PROT_WRITE, MAP_SHARED, q->fd, 0);
	if (q->page == MAP_FAILED) {
		q->page = NULL;
		return -errno;
	}
	q->page->magic = GP_QUOTA_MAGIC;
	for (size_t i = 0; i < d->devs; i++)
		memcpy(q->page->uuid[d->dev[i]->number], d->dev[i]->hal->id.uuid,
		       sizeof(q->page->uuid[0]));
	return 0;
}

static void clear(struct gp_quota *q, uint32_t place)
{
	for (size_t i = 0; i < GP_WIRE_MAX_DEVICES; i++)
		atomic_store(&q->page->bytes[i][place], 0);
}

static struct gp_quota *find(const struct gp_daemon *d, const char *cgroup)
{
	struct gp_quota *q = d->quotas;

	while (q && strcmp(q->cgroup, cgroup))
		q = q->next;
	return q;
}

/* @cgroup is its own from then on, if it succeeds. */
static int create(struct gp_daemon *d, char *cgroup, struct gp_quota **quota)
{
	struct gp_quota *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->fd = -1;
	err = page_create(d, q);
	if (err) {
		quota_free(q);
		return err;
	}
	q->cgroup = cgroup;
	q->next = d->quotas;
	d->quotas = q;
	*quota = q;
	return 0;
}

static void drop_unused(struct gp_daemon *d, struct gp_quota *q)
{
	struct gp_quota **at = &d->quotas;

	if (q->members)
		return;
	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	quota_free(q);
}

/* ---- its processes ------------------------------------------------------------------- */

static void member_free(struct member *m)
{
	struct gp_quota *q = m->quota;

	gp_loop_remove(&m->ended);
	if (m->ended.fd >= 0)
		close(m->ended.fd);
	clear(q, m->place);
	q->member[m->place] = NULL;
	q->members--;
	free(m);
}

static void member_ended(struct gp_source *source, uint32_t events)
{
	struct member *m = gp_holder(source, struct member, ended);
	struct gp_daemon *d = m->daemon;
	struct gp_quota *q = m->quota;

	member_free(m);
	drop_unused(d, q);
}

static struct member *member_of(const struct gp_quota *q, const struct gp_subject *who)
{
	for (size_t i = 0; i < GP_QUOTA_PLACES; i++)
		if (q->member[i] && q->member[i]->pid == who->pid &&
		    q->member[i]->start_ticks == who->start_ticks)
			return q->member[i];
	return NULL;
}

static uint32_t free_place(const struct gp_quota *q)
{
	uint32_t i = 0;

	while (i < GP_QUOTA_PLACES && q->member[i])
		i++;
	return i;
}

static uint32_t of_user(const struct gp_daemon *d, uid_t uid)
{
	uint32_t n = 0;

	for (const struct gp_quota *q = d->quotas; q; q = q->next)
		for (size_t i = 0; i < GP_QUOTA_PLACES; i++)
			n += q->member[i] && q->member[i]->uid == uid;
	return n;
}

/* gp_quotas_ask() checks afterwards that the process lives: then its PID was its own here. */
static int watch(struct member *m)
{
	m->ended.fd = (int)syscall(SYS_pidfd_open, m->pid, 0u);
	if (m->ended.fd < 0)
		return -errno;
	m->ended.ready = member_ended;
	return gp_loop_add(m->daemon->loop, &m->ended, EPOLLIN);
}

static int join(struct gp_daemon *d, struct gp_quota *q, const struct gp_subject *who,
		struct member **member)
{
	const uint32_t place = free_place(q);
	struct member *m;
	int err;

	if (place == GP_QUOTA_PLACES)
		return -ENOSPC;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	*m = (struct member){
		.daemon = d,
		.quota = q,
		.place = place,
		.pid = who->pid,
		.start_ticks = who->start_ticks,
		.uid = who->uid,
	};
	q->member[place] = m;
	q->members++;
	err = watch(m);
	if (err)
		member_free(m);
	else
		*member = m;
	return err;
}

/* ---- requests ------------------------------------------------------------------------ */

/* @who's cgroup, to be freed, and its limit. NULL: it has none, or -ENOMEM. */
static char *shared_by(const struct gp_daemon *d, const struct gp_subject *who, uint64_t *max)
{
	struct gp_verdict verdict;

	gp_rules_find(d->config, who, &verdict);
	if (!verdict.rule || verdict.rule->memory.max == UINT64_MAX)
		return NULL;
	*max = verdict.rule->memory.max;
	return gp_rules_party(d->config, who);
}

static int may_join(const struct gp_daemon *d, const struct gp_subject *who)
{
	if (of_user(d, who->uid) >= d->config->user_tenants)
		return -EUSERS;
	return gp_enroll_has_files(d, who) ? 0 : -EMFILE;
}

static int place_of(struct gp_daemon *d, const struct gp_subject *who, struct member **member)
{
	uint64_t max = 0;
	char *cgroup = shared_by(d, who, &max);
	struct gp_quota *q = cgroup ? find(d, cgroup) : NULL;
	int err = cgroup ? 0 : -ENOENT;

	*member = q ? member_of(q, who) : NULL;
	if (!err && !*member)
		err = may_join(d, who);
	if (!err && !q) {
		err = create(d, cgroup, &q);
		cgroup = err ? cgroup : NULL;
	}
	free(cgroup);
	if (err)
		return err;
	q->max = max;
	if (!*member)
		err = join(d, q, who, member);
	drop_unused(d, q);
	return err;
}

static void refuse(struct gp_conn *conn, int err)
{
	gp_log_shortage(err, "cannot give a process a place among those with one limit of memory");
	gp_conn_say(conn, err, "%s",
		    err == -ENOENT ? "no rule with as: one and memory: is for this process" :
		    err == -EUSERS ? "this user has too many tenants; raise limits_per_user: "
				     "tenants: in gpreempt.yaml" :
		    err == -ENOSPC ? "its cgroup has too many processes" :
				     strerror(-err));
}

void gp_quotas_ask(struct gp_daemon *d, struct gp_conn *conn)
{
	struct gp_subject who = { 0 };
	struct member *member = NULL;
	union gp_wire_msg out;
	int err = gp_enroll_read(conn, &who);

	if (!err)
		err = place_of(d, &who, &member);
	/* Its PID was its own when the pidfd was opened. */
	if (!err && gp_conn_lives(conn) != 1) {
		struct gp_quota *q = member->quota;

		member_free(member);
		drop_unused(d, q);
		err = -ESRCH;
	}
	gp_proc_clear(&who);
	if (err) {
		refuse(conn, err);
		return;
	}
	gp_wire_init(&out, GP_WIRE_QUOTA);
	out.quota.place = member->place;
	gp_conn_send(conn, &out, &member->quota->fd, 1);
}

void gp_quotas_show(const struct gp_daemon *d, const struct gp_dtenant *t,
		    struct gp_wire_tenant *out)
{
	const struct gp_quota *q = t->cgroup ? find(d, t->cgroup) : NULL;

	out->quota_used = q ? gp_quota_column_sum(q->page->bytes[t->dev->number]) : GP_WIRE_UNKNOWN;
	out->quota_max = q ? q->max : GP_WIRE_UNKNOWN;
}

void gp_quotas_destroy(struct gp_daemon *d)
{
	for (struct gp_quota *q = d->quotas, *next; q; q = next) {
		next = q->next;
		for (size_t i = 0; i < GP_QUOTA_PLACES; i++)
			if (q->member[i])
				member_free(q->member[i]);
		quota_free(q);
	}
	d->quotas = NULL;
}
