// SPDX-License-Identifier: Apache-2.0
#include "tests/hsaq/fake_kfd.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kfd-patch/uapi/linux/kfd_sched.h"
#include "libhsaq/hsaq_internal.h"
#include "libhsaq/kfd_abi.h"
#include "tests/common/gp_test.h"

#define FILES 1024
#define FIRST_FD 5000
#define PROCESSES 32
#define QUEUES 64 /* of one process */
#define HOLDS 256
#define CALLS 256
#define TEXTS 1024 /* files of sysfs */
#define ANY (~0u)

enum file_kind {
	FILE_FREE,
	FILE_KFD,
	FILE_SCHED
};

struct file {
	enum file_kind kind;
	pid_t owner;
	uint32_t rights, min_level, gpu_id;
};

struct cls {
	uint32_t cls, level, weight;
};

struct queue {
	bool there;
	uint32_t gpu_id, type, percentage, priority, state;
	unsigned int updated;
	struct cls cls;
	uint64_t since_ns, loaded_ns, loads, saves;
};

struct process {
	pid_t pid;	   /* 0: free */
	struct cls cls[2]; /* of each device */
	struct queue queue[QUEUES];
};

struct hold {
	uint32_t id; /* 0: free */
	int fd;
	pid_t pid;
	uint32_t gpu_id, level, flags, only_pid, only_queue;
	uint64_t since_ns, until_ns, ended_ns;
};

/* A file of sysfs. Directories exist only as parts of paths. */
struct text {
	char path[128]; /* "": free */
	char text[320];
};

static struct {
	struct fake_config config;
	struct text text[TEXTS];
	struct file file[FILES];
	struct process process[PROCESSES];
	struct hold hold[HOLDS];
	uint32_t last_hold;
	uint64_t seq, expired;
	unsigned int updates;
	uint64_t update_ns;
	unsigned int calls[CALLS];
	unsigned int fail_nr, fail_skip;
	int fail_err;
} k;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void nap(uint64_t ns)
{
	const struct timespec ts = { .tv_nsec = (long)ns };

	if (ns)
		nanosleep(&ts, NULL);
}

/* ---- sysfs -------------------------------------------------------------------- */

static void put(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static struct text *text_find(const char *path)
{
	for (size_t i = 0; i < TEXTS; i++)
		if (!strcmp(k.text[i].path, path))
			return &k.text[i];
	return NULL;
}

static void put(const char *path, const char *fmt, ...)
{
	struct text *t = text_find(path);
	va_list ap;
	int n;

	t = t ? t : text_find("");
	assert_non_null(t);
	assert_true(strlen(path) < sizeof(t->path));
	strcpy(t->path, path);
	va_start(ap, fmt);
	n = vsnprintf(t->text, sizeof(t->text), fmt, ap);
	va_end(ap);
	assert_true((size_t)n < sizeof(t->text));
}

/* The part of @path after directory @dir and a slash; NULL: @path is not below @dir. */
static const char *below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && path[n] == '/' ? path + n + 1 : NULL;
}

/* Remove all files below @dir. */
static void take(const char *dir)
{
	for (size_t i = 0; i < TEXTS; i++)
		if (below(k.text[i].path, dir))
			k.text[i].path[0] = '\0';
}

static int read_real(const char *path, char *buf, size_t len)
{
	FILE *f = fopen(path, "re");

	if (!f)
		return -ENOENT;
	buf[fread(buf, 1, len - 1, f)] = '\0';
	fclose(f);
	return 0;
}

static int fake_read(const char *path, char *buf, size_t len)
{
	const struct text *t;

	/* Marks of gpreempt doctor --soak */
	if (strncmp(path, "/sys/", 5))
		return read_real(path, buf, len);
	pthread_mutex_lock(&lock);
	t = text_find(path);
	if (t)
		snprintf(buf, len, "%s", t->text);
	pthread_mutex_unlock(&lock);
	return t ? 0 : -ENOENT;
}

struct name {
	char name[32];
};

/* The next name of file @n below @dir; false if an earlier file has the same name. */
static bool new_name(const char *dir, size_t n, struct name *out)
{
	const char *rest = below(k.text[n].path, dir);
	size_t len;

	if (!rest)
		return false;
	len = strcspn(rest, "/");
	for (size_t i = 0; i < n; i++) {
		const char *other = below(k.text[i].path, dir);

		if (other && !strncmp(other, rest, len) && strcspn(other, "/") == len)
			return false;
	}
	snprintf(out->name, sizeof(out->name), "%.*s", (int)len, rest);
	return true;
}

static int fake_list(const char *dir, hsaq_name_fn fn, void *arg)
{
	static __thread struct name names[TEXTS];
	size_t n = 0;
	int r = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < TEXTS; i++)
		n += new_name(dir, i, &names[n]);
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < n && !r; i++)
		r = fn(names[i].name, arg);
	return n ? r : -ENOENT;
}

static void put_node(uint32_t node, uint32_t gpu_id, uint32_t slots)
{
	const uint64_t unique_id = k.config.unique_id ? k.config.unique_id : FAKE_UNIQUE_ID;
	char path[128];

	snprintf(path, sizeof(path), HSAQ_SYSFS "/topology/nodes/%u/gpu_id", node);
	put(path, "%u\n", gpu_id);
	snprintf(path, sizeof(path), HSAQ_SYSFS "/topology/nodes/%u/name", node);
	put(path, "%s\n", gpu_id ? "vega20" : "");
	snprintf(path, sizeof(path), HSAQ_SYSFS "/topology/nodes/%u/properties", node);
	put(path,
	    "cpu_cores_count %u\nsimd_count %u\ngfx_target_version %u\n"
	    "vendor_id 4098\ndevice_id 26273\nlocation_id %u\ndomain 1\n"
	    "drm_render_minor %u\nnum_cp_queues %u\nunique_id %llu\nnum_xcc 1\n",
	    gpu_id ? 0 : 8, gpu_id ? 240 : 0, gpu_id ? k.config.gfx : 0, 0x3b00u + node * 0x100,
	    127 + node, slots, (unsigned long long)unique_id + node - 1);
}

static void put_queue(pid_t pid, uint32_t id, const struct queue *q)
{
	char path[128];

	snprintf(path, sizeof(path), HSAQ_SYSFS "/proc/%d/queues/%u/gpuid", (int)pid, id);
	put(path, "%u", q->gpu_id);
	snprintf(path, sizeof(path), HSAQ_SYSFS "/proc/%d/queues/%u/type", (int)pid, id);
	put(path, "%u", q->type);
}

static bool is_patched(void)
{
	return k.config.kernel == FAKE_PATCHED || k.config.kernel == FAKE_PATCHED_HWS;
}

static bool no_hws(void)
{
	return k.config.kernel == FAKE_PATCHED || k.config.kernel == FAKE_STOCK;
}

/* ---- slots ------------------------------------------------------------------------- */

static struct process *process_find(pid_t pid)
{
	for (size_t i = 0; i < PROCESSES; i++)
		if (pid && k.process[i].pid == pid)
			return &k.process[i];
	return NULL;
}

static bool hold_on(const struct hold *h)
{
	return h->id && !h->ended_ns;
}

static bool is_held(const struct process *p, uint32_t id)
{
	const struct queue *q = &p->queue[id];

	for (size_t i = 0; i < HOLDS; i++) {
		const struct hold *h = &k.hold[i];

		if (!hold_on(h) || h->gpu_id != q->gpu_id)
			continue;
		if (h->flags & KFD_SCHED_HOLD_ONLY) {
			if (h->only_pid == (uint32_t)p->pid &&
			    (h->only_queue == ANY || h->only_queue == id))
				return true;
		} else if (q->cls.cls == KFD_SCHED_CLASS_BE || q->cls.level > h->level) {
			return true;
		}
	}
	return false;
}

static void set_state(struct queue *q, uint32_t state, uint64_t at_ns)
{
	if (q->state == state)
		return;
	if (q->state == KFD_SCHED_STATE_LOADED) {
		q->loaded_ns += at_ns - q->since_ns;
		q->saves++;
	}
	if (state == KFD_SCHED_STATE_LOADED)
		q->loads++;
	q->state = state;
	q->since_ns = at_ns;
}

/* Fill the slots with LC queues, then with BE ones in order of creation. No rotation. */
static void place(uint64_t at_ns)
{
	uint32_t used[2] = { 0 };

	for (uint32_t cls = 2; cls-- > 0;)
		for (size_t i = 0; i < PROCESSES; i++)
			for (uint32_t id = 0; k.process[i].pid && id < QUEUES; id++) {
				struct queue *q = &k.process[i].queue[id];
				uint32_t *n = &used[q->gpu_id == FAKE_GPU2];

				if (!q->there || q->type || q->cls.cls != cls)
					continue;
				if (!(q->percentage & 0xff))
					set_state(q, KFD_SCHED_STATE_INACTIVE, at_ns);
				else if (is_held(&k.process[i], id))
					set_state(q, KFD_SCHED_STATE_HELD, at_ns);
				else if (*n == k.config.slots)
					set_state(q, KFD_SCHED_STATE_WAITING, at_ns);
				else if (++*n)
					set_state(q, KFD_SCHED_STATE_LOADED, at_ns);
			}
}

/* End the holds whose limits have passed, in order, as a timer would have. */
static void settle(void)
{
	uint64_t now_ns = wall_ns();

	for (;;) {
		struct hold *first = NULL;

		for (size_t i = 0; i < HOLDS; i++)
			if (hold_on(&k.hold[i]) && k.hold[i].until_ns <= now_ns &&
			    (!first || k.hold[i].until_ns < first->until_ns))
				first = &k.hold[i];
		if (!first)
			break;
		first->ended_ns = first->until_ns;
		k.expired++;
		place(first->ended_ns);
	}
	place(now_ns);
}

static uint32_t count_queues(uint32_t gpu_id, uint32_t state)
{
	uint32_t n = 0;

	for (size_t i = 0; i < PROCESSES; i++)
		for (uint32_t id = 0; k.process[i].pid && id < QUEUES; id++) {
			const struct queue *q = &k.process[i].queue[id];

			n += q->there && !q->type && q->gpu_id == gpu_id &&
			     (state == ANY || q->state == state);
		}
	return n;
}

/* ---- rights ---------------------------------------------------------------------------- */

static const struct file *file_of(int fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + FILES && k.file[fd - FIRST_FD].kind ?
		       &k.file[fd - FIRST_FD] :
		       NULL;
}

/* 0, -EPERM, -EBADF. */
static int check_right(int32_t grant_fd, uint32_t right, uint32_t gpu_id, uint32_t level)
{
	const struct file *f = file_of(grant_fd);

	if (!k.config.unprivileged)
		return 0;
	if (grant_fd < 0)
		return -EPERM;
	if (!f || f->kind != FILE_SCHED)
		return -EBADF;
	return (f->rights & right) == right && level >= f->min_level &&
			       (!f->gpu_id || f->gpu_id == gpu_id) ?
		       0 :
		       -EPERM;
}

static bool lowers(const struct cls *from, const struct cls *to)
{
	if (from->cls != to->cls)
		return to->cls == KFD_SCHED_CLASS_BE;
	return to->cls == KFD_SCHED_CLASS_LC ? to->level >= from->level :
					       to->weight <= from->weight;
}

/* ---- the calls -------------------------------------------------------------------------- */

static bool known_gpu(uint32_t gpu_id)
{
	return gpu_id == FAKE_GPU || gpu_id == FAKE_GPU2;
}

/* Bytes beyond the @known ones must be zero. */
static int check_size(const void *arg, uint32_t size, uint32_t known)
{
	const unsigned char *bytes = arg;

	for (uint32_t i = known; i < size; i++)
		if (bytes[i])
			return -E2BIG;
	return size < 4 ? -EINVAL : 0;
}

static int do_set_class(struct kfd_ioctl_sched_set_class_args *a)
{
	bool all = a->flags & KFD_SCHED_SET_PROCESS;
	struct process *p = process_find(a->pid ? (pid_t)a->pid : getpid());
	struct cls to = { a->sched_class, a->level, a->weight };
	struct cls *from;
	int r = check_size(a, a->size, sizeof(*a));

	if (r)
		return r;
	if (a->flags & ~KFD_SCHED_SET_PROCESS || a->pad || (all && a->queue_id) ||
	    to.cls > KFD_SCHED_CLASS_LC ||
	    (to.cls == KFD_SCHED_CLASS_LC ? to.weight || to.level > KFD_SCHED_LEVEL_MAX :
					    to.level || to.weight > KFD_SCHED_WEIGHT_MAX))
		return -EINVAL;
	if (!known_gpu(a->gpu_id))
		return -ENODEV;
	if (!p)
		return -ESRCH;
	if (!all && (a->queue_id >= QUEUES || !p->queue[a->queue_id].there))
		return -ENOENT;
	if (to.cls == KFD_SCHED_CLASS_BE && !to.weight)
		to.weight = KFD_SCHED_WEIGHT_DEFAULT;
	from = all ? &p->cls[a->gpu_id == FAKE_GPU2] : &p->queue[a->queue_id].cls;
	if (p->pid != getpid())
		r = check_right(a->grant_fd, KFD_SCHED_RIGHT_OTHERS, a->gpu_id,
				to.cls ? to.level : KFD_SCHED_LEVEL_MAX);
	else if (!lowers(from, &to))
		r = check_right(a->grant_fd, KFD_SCHED_RIGHT_RAISE, a->gpu_id,
				to.cls ? to.level : KFD_SCHED_LEVEL_MAX);
	if (r)
		return r;
	*from = to;
	for (uint32_t id = 0; all && id < QUEUES; id++)
		if (p->queue[id].gpu_id == a->gpu_id)
			p->queue[id].cls = to;
	return 0;
}

static int check_hold(const struct kfd_ioctl_sched_hold_args *a)
{
	uint32_t known = k.config.no_only ? offsetof(struct kfd_ioctl_sched_hold_args, pid) :
					    sizeof(*a);
	bool only = a->flags & KFD_SCHED_HOLD_ONLY;
	const struct process *p = process_find(a->pid ? (pid_t)a->pid : getpid());
	int r = check_size(a, a->size, known);

	if (r)
		return r;
	if (a->flags & ~(KFD_SCHED_HOLD_NOWAIT | (k.config.no_only ? 0 : KFD_SCHED_HOLD_ONLY)) ||
	    a->pad || a->level > KFD_SCHED_LEVEL_MAX || !a->limit_ns ||
	    a->limit_ns > FAKE_MAX_HOLD_NS || (!only && (a->pid || a->queue_id)) ||
	    (only && a->level))
		return -EINVAL;
	if (!known_gpu(a->gpu_id))
		return -ENODEV;
	if (only && !p)
		return -ESRCH;
	if (only && a->queue_id != ANY &&
	    (a->queue_id >= QUEUES || !p->queue[a->queue_id].there ||
	     p->queue[a->queue_id].gpu_id != a->gpu_id))
		return -ENOENT;
	if (only && p->pid == getpid())
		return 0;
	return check_right(a->grant_fd, KFD_SCHED_RIGHT_HOLD | (only ? KFD_SCHED_RIGHT_OTHERS : 0),
			   a->gpu_id, only ? 0 : a->level);
}

static int do_hold(int fd, struct kfd_ioctl_sched_hold_args *a)
{
	uint32_t before = count_queues(a->gpu_id, KFD_SCHED_STATE_LOADED);
	struct hold *h = NULL;
	int r = check_hold(a);

	if (r)
		return r;
	for (size_t i = 0; i < HOLDS && !h; i++)
		if (!k.hold[i].id)
			h = &k.hold[i];
	assert_non_null(h);
	*h = (struct hold){
		.id = ++k.last_hold,
		.fd = fd,
		.pid = getpid(),
		.gpu_id = a->gpu_id,
		.level = a->level,
		.flags = a->flags,
		.only_pid = a->pid ? a->pid : (uint32_t)getpid(),
		.only_queue = a->queue_id,
		.since_ns = wall_ns(),
	};
	h->until_ns = h->since_ns + a->limit_ns;
	place(h->since_ns);
	a->hold_id = h->id;
	a->unloaded = before - count_queues(a->gpu_id, KFD_SCHED_STATE_LOADED);
	a->failed = 0;
	a->pending = 0;
	a->wait_ns = a->unloaded ? 250000 : 0;
	k.seq++;
	return 0;
}

static int do_release(struct kfd_ioctl_sched_release_args *a)
{
	uint32_t before = count_queues(a->gpu_id, KFD_SCHED_STATE_LOADED);
	struct hold *h = NULL;
	int r = check_size(a, a->size, sizeof(*a));

	if (r)
		return r;
	if (a->flags || a->pad)
		return -EINVAL;
	for (size_t i = 0; i < HOLDS; i++)
		if (k.hold[i].id == a->hold_id && k.hold[i].pid == getpid() &&
		    k.hold[i].gpu_id == a->gpu_id && a->hold_id)
			h = &k.hold[i];
	if (!h)
		return -ENOENT;
	a->ended = h->ended_ns ? KFD_SCHED_ENDED_LIMIT : KFD_SCHED_ENDED_RELEASED;
	a->held_ns = (h->ended_ns ? h->ended_ns : wall_ns()) - h->since_ns;
	h->id = 0;
	place(wall_ns());
	a->loaded = count_queues(a->gpu_id, KFD_SCHED_STATE_LOADED) - before;
	a->holders = 0;
	for (size_t i = 0; i < HOLDS; i++)
		a->holders += hold_on(&k.hold[i]);
	k.seq++;
	return 0;
}

static void fill_queue(const struct process *p, uint32_t id, struct kfd_sched_queue_state *out)
{
	const struct queue *q = &p->queue[id];
	bool on = q->state == KFD_SCHED_STATE_LOADED;

	*out = (struct kfd_sched_queue_state){
		.pid = (uint32_t)p->pid,
		.queue_id = id,
		.state = q->state,
		.sched_class = q->cls.cls,
		.level = q->cls.level,
		.weight = q->cls.weight,
		.pipe = on ? 0 : ANY,
		.slot = on ? id : ANY,
		.vmid = on ? 8 : ANY,
		.loads = q->loads,
		.saves = q->saves,
		.loaded_ns = q->loaded_ns + (on ? wall_ns() - q->since_ns : 0),
	};
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void write_queues(struct kfd_ioctl_sched_state_args *a, bool all)
{
	struct kfd_sched_queue_state state;
	uint32_t n = 0, size = least(a->queue_size, sizeof(state));

	for (size_t i = 0; i < PROCESSES; i++) {
		const struct process *p = &k.process[i];

		if (!p->pid || (a->pid ? (uint32_t)p->pid != a->pid : !all && p->pid != getpid()))
			continue;
		for (uint32_t id = 0; id < QUEUES; id++) {
			if (!p->queue[id].there || p->queue[id].type ||
			    p->queue[id].gpu_id != a->gpu_id)
				continue;
			fill_queue(p, id, &state);
			if (a->queues_ptr && n < a->num_queues)
				memcpy((char *)(uintptr_t)a->queues_ptr + n * a->queue_size, &state,
				       size);
			n++;
		}
	}
	a->num_queues = n;
	a->queue_size = sizeof(state);
}

static int do_state(struct kfd_ioctl_sched_state_args *a)
{
	struct kfd_sched_device_state d = {
		.slots = k.config.slots,
		.vmids = 8,
		.hold_level = ANY,
		.queues = count_queues(a->gpu_id, ANY),
		.loaded = count_queues(a->gpu_id, KFD_SCHED_STATE_LOADED),
		.quantum_ns = 10000000,
		.max_hold_ns = FAKE_MAX_HOLD_NS,
		.seq = k.seq,
		.holds = k.last_hold,
		.holds_expired = k.expired,
	};
	bool others = a->pid && (pid_t)a->pid != getpid();
	int r = check_size(a, a->size, sizeof(*a));
	int right = check_right(a->grant_fd, KFD_SCHED_RIGHT_READ, a->gpu_id, KFD_SCHED_LEVEL_MAX);

	if (r || a->flags)
		return r ? r : -EINVAL;
	if (!known_gpu(a->gpu_id))
		return -ENODEV;
	if (others && right)
		return right;
	if (others && !process_find((pid_t)a->pid))
		return -ESRCH;
	for (size_t i = 0; i < HOLDS; i++)
		if (hold_on(&k.hold[i]) && !(k.hold[i].flags & KFD_SCHED_HOLD_ONLY)) {
			d.holders++;
			d.hold_level = least(d.hold_level, k.hold[i].level);
		}
	write_queues(a, !right);
	if (a->device_ptr)
		memcpy((void *)(uintptr_t)a->device_ptr, &d, least(a->device_size, sizeof(d)));
	a->device_size = sizeof(d);
	return 0;
}

static int do_wait(struct kfd_ioctl_sched_wait_args *a)
{
	if (a->seq >= k.seq)
		return -ETIME;
	a->seq = k.seq;
	a->kind = KFD_SCHED_EVENT_HELD;
	a->hold_id = k.last_hold;
	a->time_ns = wall_ns();
	return 0;
}

static int do_update(const struct hsaq_kfd_update *u)
{
	struct process *p = process_find(getpid());
	struct queue *q;

	if (u->percentage > 0xffff || (u->percentage & 0xff) > 100 || u->priority > 15)
		return -EINVAL;
	if (!p || u->queue_id >= QUEUES || !p->queue[u->queue_id].there)
		return -EFAULT;
	q = &p->queue[u->queue_id];
	q->percentage = u->percentage;
	q->priority = u->priority;
	q->updated = ++k.updates;
	return 0;
}

/* Lock held. */
static uint32_t queue_create(struct process *p, uint32_t gpu_id, uint32_t type)
{
	uint32_t id = 0;

	while (p->queue[id].there)
		assert_true(++id < QUEUES);
	p->queue[id] = (struct queue){
		.there = true,
		.gpu_id = gpu_id,
		.type = type,
		.percentage = 100,
		.priority = 7,
		.since_ns = wall_ns(),
		.cls = p->cls[gpu_id == FAKE_GPU2],
	};
	put_queue(p->pid, id, &p->queue[id]);
	settle();
	return id;
}

/* Lock held. */
static void queue_destroy(struct process *p, uint32_t id)
{
	char path[128];

	p->queue[id].there = false;
	snprintf(path, sizeof(path), HSAQ_SYSFS "/proc/%d/queues/%u", (int)p->pid, id);
	take(path);
	settle();
}

static int do_create(struct hsaq_kfd_create *c)
{
	struct process *p = process_find(getpid());
	bool compute = c->type == HSAQ_KFD_QUEUE_COMPUTE || c->type == HSAQ_KFD_QUEUE_COMPUTE_AQL;

	if (!p || !known_gpu(c->gpu_id))
		return -EINVAL;
	c->queue_id = queue_create(p, c->gpu_id, compute ? 0 : 1);
	p->queue[c->queue_id].percentage = c->percentage;
	p->queue[c->queue_id].priority = c->priority;
	return 0;
}

static int do_destroy(const struct hsaq_kfd_destroy *d)
{
	struct process *p = process_find(getpid());

	if (!p || d->queue_id >= QUEUES || !p->queue[d->queue_id].there)
		return -EINVAL;
	queue_destroy(p, d->queue_id);
	return 0;
}

static int do_version(struct hsaq_kfd_version *v)
{
	v->major = k.config.major;
	v->minor = k.config.minor;
	return 0;
}

/* The answer of the configured kernel to a call that only the series has. */
static int sched_call(int fd, unsigned int nr, void *arg)
{
	if (!is_patched())
		return -ENOTTY;
	/* All arguments begin with size and gpu_id. */
	if (!no_hws() ||
	    (k.config.gpu2_hws && ((struct kfd_ioctl_sched_state_args *)arg)->gpu_id == FAKE_GPU2))
		return -EOPNOTSUPP;
	switch (nr) {
	case _IOC_NR(AMDKFD_IOC_SCHED_SET_CLASS):
		return do_set_class(arg);
	case _IOC_NR(AMDKFD_IOC_SCHED_HOLD):
		return do_hold(fd, arg);
	case _IOC_NR(AMDKFD_IOC_SCHED_RELEASE):
		return do_release(arg);
	case _IOC_NR(AMDKFD_IOC_SCHED_STATE):
		return do_state(arg);
	}
	return do_wait(arg);
}

static int kfd_call(int fd, unsigned int nr, void *arg)
{
	const struct file *f = file_of(fd);

	if (!f)
		return -EBADF;
	if (f->kind == FILE_SCHED)
		return -ENOTTY;
	if (f->owner != getpid())
		return -EBADF;
	switch (nr) {
	case HSAQ_KFD_NR_GET_VERSION:
		return do_version(arg);
	case HSAQ_KFD_NR_CREATE_QUEUE:
		return do_create(arg);
	case HSAQ_KFD_NR_DESTROY_QUEUE:
		return do_destroy(arg);
	case HSAQ_KFD_NR_UPDATE_QUEUE:
		return do_update(arg);
	}
	return nr >= _IOC_NR(AMDKFD_IOC_SCHED_SET_CLASS) && nr <= _IOC_NR(AMDKFD_IOC_SCHED_WAIT) ?
		       sched_call(fd, nr, arg) :
		       -ENOTTY;
}

static int do_narrow(int fd, struct kfd_sched_grant_args *a)
{
	struct file *f = (struct file *)file_of(fd);

	if (!f)
		return -EBADF;
	if (f->kind != FILE_SCHED)
		return -ENOTTY;
	f->rights &= a->rights;
	if (a->min_level > f->min_level)
		f->min_level = a->min_level;
	if (a->gpu_id)
		f->gpu_id = a->gpu_id;
	a->rights = f->rights;
	a->min_level = f->min_level;
	return 0;
}

int fake_ioctl(int fd, unsigned long request, void *arg)
{
	unsigned int nr = _IOC_NR(request);
	int r;

	if (nr == HSAQ_KFD_NR_UPDATE_QUEUE)
		nap(__atomic_load_n(&k.update_ns, __ATOMIC_RELAXED));
	pthread_mutex_lock(&lock);
	settle();
	k.calls[nr]++;
	if (k.fail_err && k.fail_nr == nr && !k.fail_skip--) {
		r = k.fail_err;
		k.fail_err = 0;
	} else {
		r = nr == _IOC_NR(KFD_SCHED_IOC_NARROW) ? do_narrow(fd, arg) :
							  kfd_call(fd, nr, arg);
	}
	settle();
	pthread_mutex_unlock(&lock);
	return r;
}

/* ---- files ----------------------------------------------------------------------------- */

static int file_new(const struct file *as)
{
	for (int i = 0; i < FILES; i++) {
		if (k.file[i].kind)
			continue;
		k.file[i] = *as;
		return FIRST_FD + i;
	}
	return -EMFILE;
}

/* Lock held. */
static void process_add(pid_t pid)
{
	char path[128];

	if (process_find(pid))
		return;
	for (size_t i = 0; i < PROCESSES; i++) {
		if (k.process[i].pid)
			continue;
		k.process[i] = (struct process){ .pid = pid };
		for (int g = 0; g < 2; g++)
			k.process[i].cls[g].weight = KFD_SCHED_WEIGHT_DEFAULT;
		snprintf(path, sizeof(path), HSAQ_SYSFS "/proc/%d/pasid", (int)pid);
		put(path, "1");
		return;
	}
	fail_msg("too many processes");
}

static int fake_open(const char *path, int flags)
{
	struct file f = { .owner = getpid(), .rights = KFD_SCHED_RIGHT_ALL };
	int fd;

	if (!strcmp(path, HSAQ_DEV_SCHED)) {
		if (k.config.kernel != FAKE_PATCHED)
			return -ENOENT;
		if (k.config.sched_node)
			return k.config.sched_node;
		f.kind = FILE_SCHED;
	} else if (!strcmp(path, HSAQ_DEV_KFD)) {
		if (k.config.no_kfd)
			return k.config.no_kfd;
		f.kind = FILE_KFD;
	} else {
		return -ENOENT;
	}
	pthread_mutex_lock(&lock);
	if (f.kind == FILE_KFD)
		process_add(getpid());
	fd = file_new(&f);
	pthread_mutex_unlock(&lock);
	return fd;
}

int fake_open_kfd(void)
{
	return fake_open(HSAQ_DEV_KFD, 0);
}

/* A real copy of a grant shares its rights; this copy gets rights of its own. */
static int fake_dup(int fd)
{
	const struct file *f = file_of(fd);

	return f ? file_new(f) : -EBADF;
}

static void fake_close(int fd)
{
	pthread_mutex_lock(&lock);
	settle();
	assert_non_null(file_of(fd));
	k.file[fd - FIRST_FD].kind = FILE_FREE;
	for (size_t i = 0; i < HOLDS; i++)
		if (k.hold[i].id && k.hold[i].fd == fd)
			k.hold[i].id = 0;
	settle();
	pthread_mutex_unlock(&lock);
}

static bool fake_is_kfd(int fd)
{
	const struct file *f = file_of(fd);

	return f && f->kind == FILE_KFD;
}

/* Not the namespace that the test runs in: a container has one of its own. */
static bool fake_pids_are_ours(void)
{
	return !k.config.pid_namespace;
}

static struct hsaq_io fake_io = {
	.open = fake_open,
	.dup = fake_dup,
	.close = fake_close,
	.ioctl = fake_ioctl,
	.is_kfd = fake_is_kfd,
	.read = fake_read,
	.list = fake_list,
	.pids_are_ours = fake_pids_are_ours,
};

void fake_kfd_start(const struct fake_config *config)
{
	memset(&k, 0, sizeof(k));
	k.config = *config;
	if (!k.config.slots)
		k.config.slots = 8;
	if (!k.config.major && !k.config.minor) {
		k.config.major = 1;
		k.config.minor = 17;
	}
	if (!k.config.gfx)
		k.config.gfx = 90006;
	if (!k.config.no_kfd) {
		put_node(0, 0, 0);
		put_node(1, FAKE_GPU, k.config.slots);
		put_node(2, FAKE_GPU2, k.config.slots);
		put(HSAQ_SYSFS_POLICY, "%d\n", no_hws() ? 2 : 0);
		put(HSAQ_SYSFS_PARAM "cwsr_enable", "%d\n", !k.config.cwsr_off);
		put(HSAQ_SYSFS_PARAM "mes", "%d\n", k.config.mes);
	}
	hsaq_io_set(&fake_io);
}

void fake_kfd_stop(void)
{
	hsaq_io_set(NULL);
}

void fake_kfd_privilege(bool has)
{
	k.config.unprivileged = !has;
}

/* ---- other processes ----------------------------------------------------------------------- */

void fake_process_add(pid_t pid)
{
	pthread_mutex_lock(&lock);
	process_add(pid);
	pthread_mutex_unlock(&lock);
}

void fake_process_end(pid_t pid)
{
	char path[128];

	pthread_mutex_lock(&lock);
	settle();
	process_find(pid)->pid = 0;
	for (size_t i = 0; i < HOLDS; i++)
		if (k.hold[i].pid == pid)
			k.hold[i].id = 0;
	snprintf(path, sizeof(path), HSAQ_SYSFS "/proc/%d", (int)pid);
	take(path);
	settle();
	pthread_mutex_unlock(&lock);
}

uint32_t fake_queue_create(pid_t pid, uint32_t gpu_id, uint32_t type)
{
	uint32_t id;

	pthread_mutex_lock(&lock);
	settle();
	id = queue_create(process_find(pid), gpu_id, type);
	pthread_mutex_unlock(&lock);
	return id;
}

void fake_queue_destroy(pid_t pid, uint32_t queue_id)
{
	pthread_mutex_lock(&lock);
	settle();
	queue_destroy(process_find(pid), queue_id);
	pthread_mutex_unlock(&lock);
}

/* A copy of the queue's present state. */
static struct queue look(pid_t pid, uint32_t queue_id)
{
	const struct process *p;
	struct queue q = { 0 };

	pthread_mutex_lock(&lock);
	settle();
	p = process_find(pid);
	if (p && queue_id < QUEUES)
		q = p->queue[queue_id];
	pthread_mutex_unlock(&lock);
	return q;
}

uint64_t fake_queue_ran_ns(pid_t pid, uint32_t queue_id)
{
	struct queue q = look(pid, queue_id);

	return q.loaded_ns + (q.state == KFD_SCHED_STATE_LOADED ? wall_ns() - q.since_ns : 0);
}

uint64_t fake_queue_saves(pid_t pid, uint32_t queue_id)
{
	return look(pid, queue_id).saves;
}

uint32_t fake_queue_state(pid_t pid, uint32_t queue_id)
{
	struct queue q = look(pid, queue_id);

	return q.there ? q.state : ANY;
}

void fake_queue_class(pid_t pid, uint32_t queue_id, uint32_t *cls, uint32_t *level,
		      uint32_t *weight)
{
	struct queue q = look(pid, queue_id);

	*cls = q.cls.cls;
	*level = q.cls.level;
	*weight = q.cls.weight;
}

void fake_queue_properties(pid_t pid, uint32_t queue_id, uint32_t *percentage, uint32_t *priority)
{
	struct queue q = look(pid, queue_id);

	*percentage = q.percentage;
	*priority = q.priority;
}

unsigned int fake_queue_updated(pid_t pid, uint32_t queue_id)
{
	return look(pid, queue_id).updated;
}

void fake_slow_update(uint64_t ns)
{
	__atomic_store_n(&k.update_ns, ns, __ATOMIC_RELAXED);
}

void fake_fail(unsigned int nr, unsigned int skip, int err)
{
	pthread_mutex_lock(&lock);
	k.fail_nr = nr;
	k.fail_skip = skip;
	k.fail_err = err;
	pthread_mutex_unlock(&lock);
}

unsigned int fake_calls(unsigned int nr)
{
	return k.calls[nr];
}

unsigned int fake_files(void)
{
	unsigned int n = 0;

	for (size_t i = 0; i < FILES; i++)
		n += k.file[i].kind != FILE_FREE;
	return n;
}
