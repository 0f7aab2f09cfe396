// SPDX-License-Identifier: Apache-2.0
/*
 * stat.c - gpreempt stat: run CMD, then say on stderr what happened. Time on the
 * GPU comes from the device's context-switch log and is exact; counts of hints and
 * holds are what the tenants in CMD's tree said when last asked, every LOOK_MS.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "wire/wire.h"

#define SCHEMA_VERSION 1
#define LOOK_MS 50
/* The driver's timer delivers records up to 33 ms late; docs/nvidia.md. */
#define LOG_DRAIN_MS 100
#define MAX_PROCESSES 1024
#define MAX_TENANTS 64
#define RECORDS 256
#define QUERY_MS 200

struct tenant {
	pid_t pid;
	int fd;
	struct gp_wire_status st;
};

struct on_gpu {
	pid_t pid;
	uint32_t context;
	uint64_t since_ns; /* 0: not on the device */
};

struct stat_run {
	const char *class_text;
	const char *device;
	const char *output;
	bool json;
	char **cmd;
	FILE *out;

	pid_t child;
	int pidfd, signal_fd;
	sigset_t old_mask;
	int status; /* of CMD, as wait() gives it */
	uint64_t start_ns, elapsed_ns;

	pid_t process[MAX_PROCESSES];
	size_t processes;
	struct tenant tenant[MAX_TENANTS];
	size_t tenants;

	struct gp_device *dev;
	struct gp_log *log;
	struct on_gpu on[MAX_PROCESSES];
	size_t ons;
	uint64_t gpu_ns, stretches, lost;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- which processes are CMD's -------------------------------------------------- */

static bool is_ours(const struct stat_run *s, pid_t pid)
{
	for (size_t i = 0; i < s->processes; i++)
		if (s->process[i] == pid)
			return true;
	return false;
}

static void add_process(struct stat_run *s, pid_t pid)
{
	if (!is_ours(s, pid) && s->processes < MAX_PROCESSES)
		s->process[s->processes++] = pid;
}

static void add_children(struct stat_run *s, pid_t pid)
{
	char path[64];
	FILE *f;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
		 (int)pid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fscanf(f, "%d", &child) == 1)
		add_process(s, child);
	fclose(f);
}

/*
 * We are the subreaper, so what CMD's tree leaves behind stays below us. The
 * list grows while it is walked: children of children follow.
 */
static void find_processes(struct stat_run *s)
{
	add_children(s, getpid());
	for (size_t i = 0; i < s->processes; i++)
		add_children(s, s->process[i]);
}

/* ---- tenants ------------------------------------------------------------------------ */

static struct tenant *find_tenant(struct stat_run *s, pid_t pid)
{
	for (size_t i = 0; i < s->tenants; i++)
		if (s->tenant[i].pid == pid)
			return &s->tenant[i];
	return NULL;
}

static void add_tenant(struct stat_run *s, pid_t pid)
{
	int fd;

	if (find_tenant(s, pid) || s->tenants == MAX_TENANTS)
		return;
	fd = gp_wire_connect(pid);
	if (fd >= 0)
		s->tenant[s->tenants++] = (struct tenant){.pid = pid, .fd = fd};
}

static void ask_tenant(struct tenant *t)
{
	union gp_wire_msg msg;
	int err;

	if (t->fd < 0)
		return;
	gp_wire_init(&msg, GP_WIRE_QUERY);
	err = gp_wire_call(t->fd, &msg, QUERY_MS);
	if (!err) {
		t->st = msg.status;
	} else {
		/* Gone, or its late answer would be taken for the next one's. */
		close(t->fd);
		t->fd = err == -ETIMEDOUT ? gp_wire_connect(t->pid) : -1;
	}
}

static void look_at_tenants(struct stat_run *s)
{
	pid_t pid[MAX_TENANTS];
	ssize_t n = gp_wire_tenants(pid, MAX_TENANTS);

	for (ssize_t i = 0; i < n; i++)
		if (is_ours(s, pid[i]))
			add_tenant(s, pid[i]);
	for (size_t i = 0; i < s->tenants; i++)
		ask_tenant(&s->tenant[i]);
}

/* ---- the context-switch log ------------------------------------------------------------ */

static void open_log(struct stat_run *s)
{
	char why[GP_WHY_LEN];
	const char *device = s->device ? s->device : getenv("GPREEMPT_DEVICE");

	if (gp_device_open(device && *device ? device : NULL, &s->dev, why,
			   sizeof(why)))
		s->dev = NULL;
	else if (s->dev->ops->log_open(s->dev, &s->log))
		s->log = NULL;
}

static struct on_gpu *find_on(struct stat_run *s,
			      const struct gp_switch_record *r)
{
	for (size_t i = 0; i < s->ons; i++)
		if (s->on[i].pid == r->pid && s->on[i].context == r->context)
			return &s->on[i];
	if (s->ons == MAX_PROCESSES)
		return NULL;
	s->on[s->ons] = (struct on_gpu){.pid = r->pid, .context = r->context};
	return &s->on[s->ons++];
}

static void take_record(struct stat_run *s, const struct gp_switch_record *r)
{
	struct on_gpu *on;

	if (r->kind == GP_SWITCH_LOST) {
		/* What was open may have ended there: not counted, but said. */
		s->lost += r->count;
		for (size_t i = 0; i < s->ons; i++)
			s->on[i].since_ns = 0;
		return;
	}
	if (!r->pid || !is_ours(s, r->pid))
		return;
	on = find_on(s, r);
	if (!on)
		return;
	if (r->kind == GP_SWITCH_START) {
		on->since_ns = r->time_ns;
	} else if (on->since_ns && r->time_ns >= on->since_ns) {
		s->gpu_ns += r->time_ns - on->since_ns;
		s->stretches++;
		on->since_ns = 0;
	}
}

static void read_log(struct stat_run *s)
{
	struct gp_switch_record rec[RECORDS];
	ssize_t n;

	if (!s->log)
		return;
	while ((n = s->dev->ops->log_read(s->log, rec, RECORDS)) > 0)
		for (ssize_t i = 0; i < n; i++)
			take_record(s, &rec[i]);
}

static void close_log(struct stat_run *s)
{
	uint64_t until = now_ns() + LOG_DRAIN_MS * 1000000ull;

	while (s->log && now_ns() < until) {
		read_log(s);
		poll(NULL, 0, 10);
	}
	if (s->dev) {
		s->dev->ops->log_close(s->log);
		gp_device_close(s->dev);
	}
}

/* ---- CMD ----------------------------------------------------------------------------------- */

static const int forwarded[] = {SIGHUP,	 SIGINT,  SIGQUIT, SIGTERM,
				SIGUSR1, SIGUSR2, SIGCONT};

static int block_signals(struct stat_run *s)
{
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&mask, forwarded[i]);
	if (sigprocmask(SIG_BLOCK, &mask, &s->old_mask))
		return -errno;
	s->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? -errno : 0;
}

/* What the terminal sends goes to the whole foreground group: CMD has it. */
static void forward_signals(const struct stat_run *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_code != SI_KERNEL &&
		    info.ssi_pid != (uint32_t)s->child)
			kill(s->child, (int)info.ssi_signo);
}

/* The reason of a failed exec comes back through a pipe that exec closes. */
static int start_child(struct stat_run *s)
{
	int pipe_fd[2], err = 0;
	ssize_t n;

	if (pipe2(pipe_fd, O_CLOEXEC))
		return gp_fail("stat: pipe: %s", strerror(errno));
	s->child = fork();
	if (s->child < 0)
		return gp_fail("stat: fork: %s", strerror(errno));
	if (!s->child) {
		sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
		execvp(s->cmd[0], s->cmd);
		err = errno;
		(void)!write(pipe_fd[1], &err, sizeof(err));
		_exit(GP_EXIT_NOT_FOUND);
	}
	close(pipe_fd[1]);
	do {
		n = read(pipe_fd[0], &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	close(pipe_fd[0]);
	if (n == sizeof(err)) {
		waitpid(s->child, NULL, 0);
		return gp_launch_failed("stat", s->cmd[0], err);
	}
	s->pidfd = (int)syscall(SYS_pidfd_open, s->child, 0u);
	return s->pidfd < 0 ? gp_fail("stat: pidfd_open: %s", strerror(errno))
			    : 0;
}

static void look(struct stat_run *s)
{
	find_processes(s);
	look_at_tenants(s);
	read_log(s);
}

static void watch_child(struct stat_run *s)
{
	struct pollfd pfd[] = {
		{.fd = s->pidfd, .events = POLLIN},
		{.fd = s->signal_fd, .events = POLLIN},
	};

	while (!(pfd[0].revents & POLLIN)) {
		pfd[0].revents = pfd[1].revents = 0;
		if (poll(pfd, 2, LOOK_MS) < 0 && errno != EINTR)
			break;
		if (pfd[1].revents)
			forward_signals(s);
		look(s);
	}
	while (waitpid(s->child, &s->status, 0) < 0 && errno == EINTR)
		;
	s->elapsed_ns = now_ns() - s->start_ns;
}

/* ---- the summary ------------------------------------------------------------------------------ */

struct sum {
	bool any, lc;
	uint64_t hints, segments, holds, holds_late, holds_expired, syncs_cut;
	uint64_t held_ns, switch_ns, switch_min_ns, switch_max_ns;
};

static void add_switch(struct sum *sum, const struct gp_wire_status *st)
{
	if (!st->switch_ns)
		return;
	if (!sum->switch_ns || st->switch_min_ns < sum->switch_min_ns)
		sum->switch_min_ns = st->switch_min_ns;
	if (st->switch_max_ns > sum->switch_max_ns)
		sum->switch_max_ns = st->switch_max_ns;
	sum->switch_ns = st->switch_ns;
}

static struct sum sum_tenants(const struct stat_run *s)
{
	struct sum sum = {0};

	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_wire_status *st = &s->tenant[i].st;

		if (!st->pid)
			continue;
		sum.any = true;
		sum.lc |= st->cls == GP_CLASS_LC || st->holds;
		sum.hints += st->hints;
		sum.segments += st->segments;
		sum.holds += st->holds;
		sum.holds_late += st->holds_late;
		sum.holds_expired += st->holds_expired;
		sum.syncs_cut += st->syncs_cut;
		sum.held_ns += st->held_ns;
		add_switch(&sum, st);
	}
	return sum;
}

/* @divisor 0: a count. */
static void line(FILE *to, bool known, uint64_t value, uint64_t divisor,
		 const char *what)
{
	if (!known)
		fprintf(to, "%16s  %s\n", "-", what);
	else if (!divisor)
		fprintf(to, "%16llu  %s\n", (unsigned long long)value, what);
	else
		fprintf(to, "%16.3f  %s\n", (double)value / (double)divisor,
			what);
}

static void print_text(const struct stat_run *s, const struct sum *sum)
{
	bool sw = sum->switch_ns;
	FILE *to = s->out;

	fprintf(to, "\n gpreempt stat: %s\n\n", s->cmd[0]);
	line(to, true, s->elapsed_ns, 1000000000, "s elapsed");
	line(to, s->log, s->gpu_ns, 1000000,
	     "ms on the GPU (context-switch log)");
	line(to, s->log, s->stretches, 0, "stretches on the GPU");
	if (s->lost)
		line(to, true, s->lost, 0,
		     "records of the log were lost: both are too low");
	line(to, sum->lc, sum->hints, 0, "hints");
	line(to, sum->lc, sum->segments, 0, "segments");
	line(to, sum->lc, sum->holds, 0, "holds");
	line(to, sum->lc, sum->held_ns, 1000000, "ms held");
	line(to, sum->lc, sum->holds_late, 0,
	     "waits: work came before its hold had the GPU");
	line(to, sum->lc, sum->holds_expired, 0, "holds ended by their limit");
	line(to, sum->lc, sum->syncs_cut, 0,
	     "holds ended for a device-wide wait");
	line(to, sw, sum->switch_ns, 1000, "us last switch");
	line(to, sw, sum->switch_min_ns, 1000, "us shortest switch");
	line(to, sw, sum->switch_max_ns, 1000, "us longest switch");
	fputc('\n', to);
}

static json_t *known(bool is, uint64_t value)
{
	return is ? json_integer((json_int_t)value) : json_null();
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static void print_json(const struct stat_run *s, const struct sum *sum)
{
	const bool sw = sum->switch_ns;
	struct {
		const char *name;
		bool known;
		uint64_t value;
	} field[] = {
		{"schema_version", true, SCHEMA_VERSION},
		{"exit_status", true, (uint64_t)exit_status(s->status)},
		{"elapsed_ns", true, s->elapsed_ns},
		{"gpu_ns", s->log, s->gpu_ns},
		{"gpu_stretches", s->log, s->stretches},
		{"log_records_lost", s->log, s->lost},
		{"tenants", true, s->tenants},
		{"hints", sum->lc, sum->hints},
		{"segments", sum->lc, sum->segments},
		{"holds", sum->lc, sum->holds},
		{"held_ns", sum->lc, sum->held_ns},
		{"holds_late", sum->lc, sum->holds_late},
		{"holds_expired", sum->lc, sum->holds_expired},
		{"syncs_cut", sum->lc, sum->syncs_cut},
		{"switch_ns", sw, sum->switch_ns},
		{"switch_min_ns", sw, sum->switch_min_ns},
		{"switch_max_ns", sw, sum->switch_max_ns},
	};
	json_t *json = json_object();

	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		json_object_set_new(json, field[i].name,
				    known(field[i].known, field[i].value));
	json_dumpf(json, s->out, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	fputc('\n', s->out);
	json_decref(json);
}

static void summarise(struct stat_run *s)
{
	struct sum sum = sum_tenants(s);

	if (s->json)
		print_json(s, &sum);
	else
		print_text(s, &sum);
	if (fflush(s->out))
		gp_note("stat: %s: %s", s->output ? s->output : "stderr",
			strerror(errno));
}

/* ---- the verb ------------------------------------------------------------------------------------ */

static const struct argp_option options[] = {
	{"class", 'c', "CLASS", 0,
	 "run CMD with this class, as gpreempt run does", 0},
	{"device", 'd', "DEVICE", 0,
	 "whose log is read, and where --class acts: a UUID, a PCI address or "
	 "soft0",
	 0},
	{"output", 'o', "FILE", 0, "write the summary there instead of stderr",
	 0},
	{"json", 'j', NULL, 0, "write JSON; times are integers, _ns", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stat_run *s = state->input;
	struct gp_class_value cls;

	switch (key) {
	case 'c':
		s->class_text = arg;
		return gp_args_class("stat", arg, &cls);
	case 'd':
		s->device = arg;
		return 0;
	case 'o':
		s->output = arg;
		return 0;
	case 'j':
		s->json = true;
		return 0;
	case ARGP_KEY_ARG:
		s->cmd = gp_args_rest(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int open_output(struct stat_run *s)
{
	s->out = s->output ? fopen(s->output, "we") : stderr;
	if (s->out)
		return 0;
	return gp_fail("stat: -o %s: %s", s->output, strerror(errno));
}

static int run_stat(struct stat_run *s)
{
	int err = s->class_text
			  ? gp_launch_prepare("stat", s->class_text, s->device)
			  : 0;

	if (!err)
		err = open_output(s);
	if (err)
		return err;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) || block_signals(s))
		return gp_fail("stat: %s", strerror(errno));
	open_log(s);
	s->start_ns = now_ns();
	err = start_child(s);
	if (err)
		return err;
	watch_child(s);
	close_log(s);
	summarise(s);
	return exit_status(s->status);
}

int gp_verb_stat(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-- CMD [ARG...]",
		.doc = "Run CMD, then say how long it had the GPU, and how "
		       "often it was held for it."
		       "\vExit status: CMD's own, or 128 and the signal that "
		       "ended it; 125, 126 "
		       "and 127 as of gpreempt run. \"-\" stands for what has "
		       "no source here.",
	};
	static struct stat_run s;
	int err = gp_args(&argp, argc, argv, &s);

	if (err)
		return err;
	if (!s.cmd)
		return gp_fail("stat: no command; write gpreempt stat -- CMD");
	return run_stat(&s);
}
