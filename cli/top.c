// SPDX-License-Identifier: Apache-2.0
/*
 * top.c - gpreempt top: gpreemptd's tenants, repeatedly. -b writes to standard output and
 * needs no terminal. It waits for a daemon that goes away.
 */
#include <errno.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/view.h"

#define INTERVAL_NS 2000000000ull

struct top {
	bool batch;
	uint64_t times; /* 0: no limit */
	uint64_t interval_ns;
	struct gp_top_order order;

	int fd;			/* of the daemon; < 0: none, an errno */
	struct gp_view view[2]; /* the latest is view[at] */
	int at;
	bool have, had; /* the latest is valid, and the one before it */
};

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
	ended = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- the daemon ---------------------------------------------------------------- */

static void lose_daemon(struct top *top, int err)
{
	if (top->fd >= 0)
		close(top->fd);
	top->fd = err;
	top->have = false;
	top->had = false;
}

/* 0; negative errno: there is no view now. */
static int look(struct top *top)
{
	int err;

	if (top->fd < 0)
		top->fd = gp_wire_daemon_connect();
	if (top->fd < 0) {
		lose_daemon(top, top->fd);
		return top->fd;
	}
	err = gp_view_read(top->fd, &top->view[!top->at]);
	if (err) {
		lose_daemon(top, err);
		return err;
	}
	top->at = !top->at;
	top->had = top->have;
	top->have = true;
	return 0;
}

static void print(const struct top *top, FILE *out)
{
	gp_top_print(out, top->had ? &top->view[!top->at] : NULL, &top->view[top->at], &top->order);
}

/* ---- -b -------------------------------------------------------------------------- */

/* Until @until_ns, or a signal. */
static void sleep_until(uint64_t until_ns)
{
	const struct timespec ts = {
		.tv_sec = (time_t)(until_ns / 1000000000),
		.tv_nsec = (long)(until_ns % 1000000000),
	};

	while (!ended && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static void print_head(const struct top *top)
{
	char at[32], every[GP_VIEW_TEXT_LEN];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%S%z", &tm);
	printf("gpreempt top - %s, over %s\n", at, gp_view_time(top->interval_ns, every));
}

/* A rate covers the interval before it, so even the first needs a wait. */
static int batch(struct top *top)
{
	uint64_t due_ns = now_ns();
	int err = look(top), status = 0;

	if (err)
		return gp_fail_daemon("top", err);
	for (uint64_t i = 0; !ended && (!top->times || i < top->times); i++) {
		due_ns += top->interval_ns;
		sleep_until(due_ns);
		err = ended ? 0 : look(top);
		if (ended)
			break;
		if (err) {
			status = gp_fail_daemon("top", err);
			continue;
		}
		status = 0;
		if (i)
			putchar('\n');
		print_head(top);
		print(top, stdout);
		/* The reader is gone: gp_flush_output() reports it. */
		if (fflush(stdout))
			break;
	}
	return status;
}

/* ---- the screen -------------------------------------------------------------------- */

struct screen {
	struct top *top;
	char *text; /* the lines on the screen */
	int lines;
	int first; /* the top line on the screen */
	int err;   /* of the daemon */
};

static void render(struct screen *s)
{
	size_t len;
	FILE *out;

	free(s->text);
	s->text = NULL;
	s->lines = 0;
	if (s->err)
		return;
	out = open_memstream(&s->text, &len);
	if (!out)
		return;
	print(s->top, out);
	if (fclose(out)) {
		free(s->text);
		s->text = NULL;
	}
	for (const char *at = s->text; at && (at = strchr(at, '\n')); at++)
		s->lines++;
}

static void draw_title(const struct screen *s)
{
	char line[160], at[16], every[GP_VIEW_TEXT_LEN];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(at, sizeof(at), "%H:%M:%S", &tm);
	snprintf(line, sizeof(line), "gpreempt top  %s  every %s  by %s%s", at,
		 gp_view_time(s->top->interval_ns, every), gp_top_key_name(s->top->order.key),
		 s->top->order.reverse ? ", reversed" : "");
	attron(A_REVERSE);
	mvprintw(0, 0, "%-*.*s", COLS, COLS, line);
	attroff(A_REVERSE);
}

static void draw(struct screen *s)
{
	int room = LINES - 2, number = 0;
	const char *at = s->text, *end;

	if (s->first > s->lines - room)
		s->first = s->lines - room;
	if (s->first < 0)
		s->first = 0;
	erase();
	draw_title(s);
	if (s->err)
		mvprintw(2, 2, "%.*s", COLS - 2,
			 s->err == -ENOENT ? "no gpreemptd runs; waiting for it" :
					     "gpreemptd does not answer; retrying");
	for (; at && (end = strchr(at, '\n')); at = end + 1, number++)
		if (number >= s->first && number < s->first + room)
			mvaddnstr(1 + number - s->first, 0, at,
				  end - at < COLS ? (int)(end - at) : COLS);
	mvprintw(LINES - 1, 0, "%.*s", COLS - 1,
		 "q quit  sort: u used  t turn  w wait  s switch  p pid  n name  "
		 "r reverse  arrows: scroll");
	refresh();
}

static void sort_by(struct screen *s, enum gp_top_key key)
{
	s->top->order.key = key;
	render(s);
}

/* false: quit. */
static bool key(struct screen *s, int ch)
{
	switch (ch) {
	case 'q':
	case 'Q':
		return false;
	case 'u':
		sort_by(s, GP_TOP_USED);
		break;
	case 't':
		sort_by(s, GP_TOP_TURN);
		break;
	case 'w':
		sort_by(s, GP_TOP_WAIT);
		break;
	case 's':
		sort_by(s, GP_TOP_SWITCH);
		break;
	case 'p':
		sort_by(s, GP_TOP_PID);
		break;
	case 'n':
		sort_by(s, GP_TOP_NAME);
		break;
	case 'r':
		s->top->order.reverse = !s->top->order.reverse;
		render(s);
		break;
	case KEY_UP:
		s->first--;
		break;
	case KEY_DOWN:
		s->first++;
		break;
	case KEY_PPAGE:
		s->first -= LINES - 2;
		break;
	case KEY_NPAGE:
		s->first += LINES - 2;
		break;
	case KEY_HOME:
		s->first = 0;
		break;
	case KEY_END:
		s->first = s->lines;
		break;
	}
	return true;
}

/* Until the next update; false: quit. KEY_RESIZE is a key like others. */
static bool wait_keys(struct screen *s, uint64_t until_ns)
{
	uint64_t now;
	int ch;

	while (!ended && (now = now_ns()) < until_ns) {
		timeout((int)((until_ns - now) / 1000000) + 1);
		ch = getch();
		if (ch == ERR) {
			/* The terminal is gone: getch() would return at once for ever. */
			if (!isatty(STDIN_FILENO))
				return false;
			continue;
		}
		if (!key(s, ch))
			return false;
		draw(s);
	}
	return !ended;
}

static void run_screen(struct top *top)
{
	struct screen s = { .top = top };
	uint64_t due_ns = now_ns();

	for (uint64_t i = 0; !top->times || i < top->times; i++) {
		s.err = look(top);
		render(&s);
		draw(&s);
		due_ns += top->interval_ns;
		/* After a stop, skip the missed updates. */
		if (due_ns < now_ns())
			due_ns = now_ns() + top->interval_ns;
		if (!wait_keys(&s, due_ns))
			break;
	}
	free(s.text);
}

/* NULL: not a terminal with cursor control. */
static SCREEN *open_screen(const char *term)
{
	SCREEN *screen = term && *term ? newterm(term, stdout, stdin) : NULL;

	if (!screen || tigetstr("cup"))
		return screen;
	endwin();
	delscreen(screen);
	return NULL;
}

static int interactive(struct top *top)
{
	const char *term = getenv("TERM");
	SCREEN *screen;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return gp_fail("top: standard output is no terminal; write gpreempt top -b -n 1");
	screen = open_screen(term);
	if (!screen)
		return gp_fail("top: cannot draw on this terminal (TERM=%s); write gpreempt top "
			       "-b, or set TERM",
			       term ? term : "");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	run_screen(top);
	endwin();
	delscreen(screen);
	return 0;
}

/* ---- the verb ------------------------------------------------------------------------ */

static const struct argp_option options[] = {
	{ "batch", 'b', NULL, 0, "print to standard output, without a terminal", 0 },
	{ "delay", 'd', "SECONDS", 0, "interval: 2, 0.5, 500ms; default 2", 0 },
	{ "count", 'n', "N", 0, "exit after N intervals", 0 },
	{ "sort", 's', "KEY", 0, "sort by used, turn, wait, switch, pid or name", 0 },
	{ 0 },
};

static error_t parse_count(const char *text, uint64_t *out)
{
	pid_t count;

	/* Same strictness and same range as a PID. */
	if (gp_parse_pid(text, &count)) {
		gp_fail("top: --count=%s: not a number; write 1 or more", text);
		return GP_ARGS_SAID;
	}
	*out = (uint64_t)count;
	return 0;
}

static error_t parse(int opt, char *arg, struct argp_state *state)
{
	struct top *top = state->input;

	switch (opt) {
	case 'b':
		top->batch = true;
		return 0;
	case 'd':
		return gp_args_seconds("top", "--delay", arg, &top->interval_ns);
	case 'n':
		return parse_count(arg, &top->times);
	case 's':
		if (!gp_top_key_parse(arg, &top->order.key))
			return 0;
		gp_fail("top: --sort=%s: unknown key; write used, turn, wait, switch, pid or name",
			arg);
		return GP_ARGS_SAID;
	case ARGP_KEY_ARG:
		gp_fail("top: %s: unexpected argument; see gpreempt top --help", arg);
		return GP_ARGS_SAID;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void watch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

int gp_verb_top(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "",
		.doc = "Show gpreemptd's devices and tenants. USED% is the share of the device by "
		       "its log or driver, TURN% the share of the time that was its turn. WAIT is "
		       "from having work to its turn, SWITCH from requesting the device to having "
		       "it, each as p50 and p99. CUT/s counts turns that ended before the work "
		       "did.\vKeys: q quits; u, t, w, s, p, n sort, r reverses the order; arrows "
		       "and page keys scroll.",
	};
	struct top top = { .interval_ns = INTERVAL_NS, .fd = -ENOENT };
	int err = gp_args(&argp, argc, argv, &top);

	if (err)
		return err;
	watch_signals();
	err = top.batch ? batch(&top) : interactive(&top);
	lose_daemon(&top, -ENOENT);
	gp_view_clear(&top.view[0]);
	gp_view_clear(&top.view[1]);
	return err;
}
