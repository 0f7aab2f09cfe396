// SPDX-License-Identifier: Apache-2.0
/*
 * arrival_predictor.c - see arrival_predictor.h. In three parts, stretches become marks, marks
 * are fitted to a grid, and the results of holds judge the predictions.
 *
 * A wrong prediction costs best-effort time. A missing one costs nothing. So every doubt ends
 * in GP_ARRIVAL_OBSERVING.
 */
#include <string.h>

#include "sched/arrival_predictor.h"

#define US 1000ll
#define MS 1000000ll
#define FP 1024 /* of cycle_fp */

/* A request's stretches are less than two switches and a margin apart. */
#define MERGE_NS (300 * US)
#define LAG_MAX_NS (500 * US)
/* A stretch that starts this much sooner after its hold than others was begun by its work. */
#define LATE_NS (60 * US)
/* From a stretch's start until its kernels run: state is restored. */
#define RESTORE_NS (60 * US)

#define SLOT_MIN_NS (500 * US) /* least distance of two requests */
#define CYCLE_MAX_NS (500 * MS)
#define PAUSE_NS (1000 * MS)	/* older marks do not count after this pause */
#define FUTURE_NS (10 * MS)	/* beyond any clock's error */
#define SPREAD_MAX_NS (60 * US) /* larger: no period */
#define DIFF_TOL_NS (100 * US)	/* of two marks one cycle apart */
#define MARKS_FIRST 12u		/* .. and 4 more for each further phase */
#define MARKS_EXACT 6u		/* enough if none is off */
#define MARKS_RECENT 4u		/* of these at most one is off the grid */
/*
 * Another process may keep the device: a switch does not preempt latency-critical work.
 * Requests that came on time then start late. So 3 of 10 marks may be off, and each of them
 * spoils two distances between marks.
 */
#define NEAR_OF_10 7u
#define GOOD_OF_10 6u
#define WINDOW 32u /* marks to fit one phase */
#define TRIAL_HITS 4u
#define TRIAL_HITS_EXACT 2u
#define TRIAL_TOL_NS (100 * US) /* a hold bridges that */

#define EXACT_LEAD_MAX_NS (1000ull * US) /* also enough to suspend best-effort */
#define LEAD_MORE_NS (50ull * US)	 /* lead beyond the longest observed switch */
#define GUARD_NS (50 * US)		 /* from a request's end to a hold */
#define LINGER_MIN_NS (40 * US)
/* Work may be there but not ready: a copy before it must end (seen: 200 us). */
#define LINGER_MAX_NS (250 * US)

#define STRAYS 8u	  /* after this many, requests have a new length .. */
#define STRAYS_UNEVEN 32u /* .. or may have become alike */
#define FOLLOW_MIN 8u	  /* least marks to move a known grid .. */
#define FOLLOW_CYCLE 20u  /* .. and to change its cycle */
#define EVEN_NS (25 * US) /* ends that scatter more do not count */
#define UNFIT_MARKS 4u	  /* failed fits that drop the marks .. */
#define UNFIT_MAX 16u	  /* .. and the grid */
/* After as many slots as there are marks, one slot of 8 gets no hold, for a new mark. */
#define BLIND_ONE_IN 8
/*
 * One hold of 8 starts early. If its work ends sooner than that of others, all others were
 * late.
 */
#define EARLY_ONE_IN 8
#define EARLY_NS (60 * US)
#define EARLY_MIN 3u /* samples before a comparison */
#define EARLY_GAIN_NS (10 * US)
#define EARLY_MAX_NS (200ull * US) /* in all, until the period is lost */

#define REST_FIRST_NS (20ull * MS)
#define REST_MAX_NS (5000ull * MS)
#define KEPT_WELL 64u /* hits that reset the pause */
#define CREDIT_MAX_NS (5 * MS)
#define CREDIT_SHARE 50		/* misses may cost 1/50 of the time */
#define MISS_COST_NS (340 * US) /* two switches, beside the hold */

static int64_t diff(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b);
}

static int64_t abs64(int64_t v)
{
	return v < 0 ? -v : v;
}

/* The value that @per_mille of @n do not exceed; sorts them. */
static int64_t rank(int64_t *v, uint32_t n, uint32_t per_mille)
{
	for (uint32_t i = 1; i < n; i++) {
		int64_t x = v[i];
		uint32_t k = i;

		for (; k && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
	return n ? v[(uint64_t)(n - 1) * per_mille / 1000] : 0;
}

/* ---- tails of held requests --------------------------------------------------- */

/*
 * The second latest, not the median: a hold that is early costs best-effort little. @most:
 * largest distance from the median.
 */
static int64_t tail_ns(const struct gp_arrival_predictor *p, int64_t *most)
{
	int64_t v[GP_ARRIVAL_TAILS], middle;

	memcpy(v, p->tail, GP_ARRIVAL_TAILS * sizeof(v[0]));
	middle = rank(v, GP_ARRIVAL_TAILS, 500);
	*most = middle - v[0] > v[GP_ARRIVAL_TAILS - 1] - middle ? middle - v[0] :
								   v[GP_ARRIVAL_TAILS - 1] - middle;
	return v[GP_ARRIVAL_TAILS - 2];
}

/* ---- the grid ---------------------------------------------------------------- */

static int64_t cycles_ns(const struct gp_arrival_grid *g, int64_t k)
{
	return k * (int64_t)g->cycle_fp / FP;
}

/* Round to the nearest. */
static int64_t divide(int64_t a, int64_t b)
{
	return (a < 0 ? a - b / 2 : a + b / 2) / b;
}

/* The cycle of @at for phase @j. */
static int64_t cycle_of(const struct gp_arrival_grid *g, uint64_t at_ns, uint32_t j)
{
	int64_t d = diff(at_ns, g->base_ns) - g->phase_ns[j];

	return divide(d, (int64_t)(g->cycle_fp / FP));
}

/* Distance of @at from its nearest slot; @phase: that slot's. */
static int64_t off_grid(const struct gp_arrival_grid *g, uint64_t at_ns, uint32_t *phase)
{
	int64_t best = INT64_MAX;

	for (uint32_t j = 0; j < g->phases; j++) {
		int64_t off = diff(at_ns, g->base_ns) - g->phase_ns[j] -
			      cycles_ns(g, cycle_of(g, at_ns, j));

		if (abs64(off) < abs64(best)) {
			best = off;
			*phase = j;
		}
	}
	return best;
}

static int64_t tolerance(int64_t cycle_ns)
{
	return cycle_ns / 10 < DIFF_TOL_NS ? cycle_ns / 10 : DIFF_TOL_NS;
}

/*
 * With @m requests to a cycle, each comes one cycle after the @m-th before it, or several
 * cycles if requests are missing. Return: 0: no such cycle.
 */
static int64_t cycle_of_lag(const struct gp_arrival_mark *mark, uint32_t n, uint32_t m)
{
	int64_t d[GP_ARRIVAL_MARKS], cycle, sum = 0, count = 0;
	uint32_t good = 0;

	for (uint32_t i = m; i < n; i++)
		d[i - m] = diff(mark[i].at_ns, mark[i - m].at_ns);
	cycle = rank(d, n - m, 500);
	if (cycle < SLOT_MIN_NS * m || cycle > CYCLE_MAX_NS)
		return 0;
	for (uint32_t i = 0; i < n - m; i++) {
		int64_t k = divide(d[i], cycle);

		if (k < 1 || k > 8 || abs64(d[i] - k * cycle) > tolerance(cycle))
			continue;
		good++;
		sum += d[i];
		count += k;
	}
	return good * 10 >= (n - m) * GOOD_OF_10 ? sum / count : 0;
}

/*
 * Least squares over all marks near their slots: one slope, and a level for each phase.
 * refine_phase() recomputes the levels.
 */
static void refine_cycle(struct gp_arrival_grid *g, const struct gp_arrival_mark *mark, uint32_t n)
{
	double k_mean[GP_ARRIVAL_PHASES] = { 0 }, y_mean[GP_ARRIVAL_PHASES] = { 0 };
	double count[GP_ARRIVAL_PHASES] = { 0 }, ky = 0, kk = 0;
	int64_t tol = tolerance((int64_t)(g->cycle_fp / FP));
	uint32_t j = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < n; i++) {
			double k, y;

			if (abs64(off_grid(g, mark[i].at_ns, &j)) > tol)
				continue;
			k = (double)cycle_of(g, mark[i].at_ns, j);
			y = (double)diff(mark[i].at_ns, g->base_ns);
			if (!pass) {
				k_mean[j] += k;
				y_mean[j] += y;
				count[j]++;
			} else {
				k -= k_mean[j] / count[j];
				y -= y_mean[j] / count[j];
				ky += k * y;
				kk += k * k;
			}
		}
	}
	if (kk > 0 && abs64((int64_t)(ky / kk) - (int64_t)(g->cycle_fp / FP)) < tol)
		g->cycle_fp = (uint64_t)(ky / kk * FP);
}

/* The median of the latest marks of phase @j; older ones may have drifted. */
static void refine_phase(struct gp_arrival_grid *g, const struct gp_arrival_mark *mark, uint32_t n,
			 uint32_t j)
{
	int64_t off[16], tol = tolerance((int64_t)(g->cycle_fp / FP));
	uint32_t count = 0, phase = 0;

	for (uint32_t i = n; i-- && count < 16;) {
		int64_t o = off_grid(g, mark[i].at_ns, &phase);

		if (phase == j && abs64(o) <= tol)
			off[count++] = o;
	}
	if (count)
		g->phase_ns[j] += rank(off, count, 500);
}

/* Are most slots between the first mark and the last filled? */
static bool filled(const struct gp_arrival_grid *g, const struct gp_arrival_mark *mark, uint32_t n)
{
	int64_t span = diff(mark[n - 1].at_ns, mark[0].at_ns);
	int64_t slots = divide(span, (int64_t)(g->cycle_fp / FP)) * g->phases;

	return (int64_t)n * 4 >= slots * 3;
}

/*
 * Measures the distance of marks from the grid, and the length of requests. Return: is the
 * grid usable?
 */
static bool grid_measure(struct gp_arrival_grid *g, const struct gp_arrival_mark *mark, uint32_t n)
{
	int64_t off[GP_ARRIVAL_MARKS], busy[GP_ARRIVAL_MARKS];
	uint32_t j = 0, strays = 0, near = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t o = abs64(off_grid(g, mark[i].at_ns, &j));

		busy[i] = diff(mark[i].end_ns, mark[i].at_ns);
		strays += n - i <= MARKS_RECENT && o > SPREAD_MAX_NS;
		if (o <= DIFF_TOL_NS)
			off[near++] = o;
	}
	if (strays > 1 || near * 10 < n * NEAR_OF_10)
		return false;
	g->spread_ns = (uint64_t)rank(off, near, 900);
	g->busy_ns = (uint64_t)rank(busy, n, 900);
	g->short_ns = (uint64_t)rank(busy, n, 250);
	return g->spread_ns <= (uint64_t)SPREAD_MAX_NS;
}

static bool grid_of_phases(struct gp_arrival_grid *g, const struct gp_arrival_mark *mark,
			   uint32_t n, uint32_t m)
{
	int64_t cycle = cycle_of_lag(mark, n, m);

	if (!cycle)
		return false;
	*g = (struct gp_arrival_grid){
		.base_ns = mark[n - m].at_ns,
		.cycle_fp = (uint64_t)cycle * FP,
		.phases = m,
	};
	for (uint32_t j = 0; j < m; j++)
		g->phase_ns[j] = diff(mark[n - m + j].at_ns, g->base_ns);
	refine_cycle(g, mark, n);
	for (uint32_t j = 0; j < m; j++)
		refine_phase(g, mark, n, j);
	return filled(g, mark, n) && grid_measure(g, mark, n);
}

/* Requests that are longer for a while, by chance, must not bend the grid. */
static uint64_t even_ns(const struct gp_arrival_predictor *p)
{
	uint64_t ns = p->level_ns * 3 / 2;

	return ns > (uint64_t)EVEN_NS ? ns : (uint64_t)EVEN_NS;
}

/* Moves a grid that predicted right along with the marks, which may be few. */
static bool grid_follow(struct gp_arrival_grid *g, const struct gp_arrival_predictor *p)
{
	uint32_t n = p->marks < WINDOW ? p->marks : WINDOW;
	const struct gp_arrival_mark *mark = p->mark + p->marks - n;

	*g = p->grid;
	if (n < FOLLOW_MIN)
		return true;
	if (n >= FOLLOW_CYCLE || p->exact)
		refine_cycle(g, mark, n);
	for (uint32_t j = 0; j < g->phases; j++)
		refine_phase(g, mark, n, j);
	return grid_measure(g, mark, n) && (!p->by_ends || g->spread_ns <= even_ns(p));
}

/* A few marks may be one cycle apart by chance, so all must fit. */
static bool grid_of_few(struct gp_arrival_grid *g, const struct gp_arrival_predictor *p)
{
	uint32_t phase = 0;

	if (!p->exact || p->marks < MARKS_EXACT || !grid_of_phases(g, p->mark, p->marks, 1))
		return false;
	for (uint32_t i = 0; i < p->marks; i++)
		if (abs64(off_grid(g, p->mark[i].at_ns, &phase)) > SPREAD_MAX_NS)
			return false;
	return true;
}

/* Fewest phases first: twice as many phases fit any period too. */
static bool grid_fit(struct gp_arrival_grid *g, const struct gp_arrival_predictor *p)
{
	for (uint32_t m = 1; m <= GP_ARRIVAL_PHASES; m++) {
		uint32_t n = p->marks, most = WINDOW + 8 * (m - 1);

		if (n < MARKS_FIRST && m == 1)
			return grid_of_few(g, p);
		if (n < MARKS_FIRST + 4 * (m - 1))
			return false;
		if (n > most)
			n = most;
		if (grid_of_phases(g, p->mark + p->marks - n, n, m))
			return true;
	}
	return false;
}

/* ---- marks --------------------------------------------------------------------- */

static void observe_again(struct gp_arrival_predictor *p)
{
	p->marks = p->fresh = 0;
	p->by_ends = false;
	p->shifted_ns = 0;
	p->unfit = 0;
	p->grid.phases = 0;
	p->tails = p->strays = 0;
	p->miss_bits = p->late_bits = 0;
	p->kept = 0;
	p->state = GP_ARRIVAL_OBSERVING;
}

static void lose(struct gp_arrival_predictor *p, enum gp_arrival_loss why)
{
	struct gp_arrival_grid grid = p->grid;

	observe_again(p);
	/* The loss may be chance: the next work decides. */
	p->grid = grid;
	p->loss = why;
	p->state = GP_ARRIVAL_RESTING;
	p->rest_until_ns = p->now_ns + p->rest_ns;
	p->rest_ns = p->rest_ns * 2 < REST_MAX_NS ? p->rest_ns * 2 : REST_MAX_NS;
}

static void add_mark(struct gp_arrival_predictor *p, uint64_t at_ns, uint64_t end_ns)
{
	uint32_t phase = 0;

	/* A slot has one mark: a probe's start, or a held end. */
	if (p->marks && diff(at_ns, p->mark[p->marks - 1].at_ns) < 0)
		return;
	if (p->grid.phases && p->state != GP_ARRIVAL_SURE) {
		if (abs64(off_grid(&p->grid, at_ns, &phase)) <= TRIAL_TOL_NS)
			p->kept++;
		else if (p->kept)
			p->kept--;
		else
			p->grid.phases = 0;
	}
	if (p->marks == GP_ARRIVAL_MARKS) {
		p->marks--;
		memmove(p->mark, p->mark + 1, p->marks * sizeof(p->mark[0]));
	}
	p->mark[p->marks++] = (struct gp_arrival_mark){ at_ns, end_ns };
	p->fresh++;
}

/* ---- verdicts -------------------------------------------------------------------- */

/*
 * A stretch that work began. Once ends are the marks, starts do not count: they scatter by
 * some 40 us, which is not the process's doing.
 */
static void add_start(struct gp_arrival_predictor *p, const struct gp_arrival_stretch *s)
{
	if (!p->by_ends)
		add_mark(p, s->start_ns, s->end_ns);
}

/*
 * Was the work there before the hold? The switch had then begun already, and the hold changes
 * little. Such work ends late by the same time each time.
 */
static bool came_first(const struct gp_arrival_predictor *p, const struct gp_arrival_stretch *s)
{
	return diff(s->start_ns, s->hold.from_ns) + LATE_NS < (int64_t)p->lag_ns;
}

static void lag_is(struct gp_arrival_predictor *p, uint64_t ns)
{
	p->lag_ns = ns;
	for (uint32_t i = 0; i < GP_ARRIVAL_LAGS; i++)
		p->lag[i] = ns;
}

/*
 * The second shortest of the latest. Switches are longer while another latency-critical
 * process has the device, and one may be short by chance.
 */
static void count_lag(struct gp_arrival_predictor *p, const struct gp_arrival_stretch *s)
{
	int64_t lag = diff(s->start_ns, s->hold.from_ns);
	uint64_t least = UINT64_MAX, next = UINT64_MAX;

	if (lag < 0 || lag > LAG_MAX_NS)
		return;
	p->lag[p->lags++ % GP_ARRIVAL_LAGS] = (uint64_t)lag;
	for (uint32_t i = 0; i < GP_ARRIVAL_LAGS; i++) {
		if (p->lag[i] < least) {
			next = least;
			least = p->lag[i];
		} else if (p->lag[i] < next) {
			next = p->lag[i];
		}
	}
	p->lag_ns = next;
}

/* Enough held ends: use them if they are alike. Starts and ends do not mix. */
static void take_ends(struct gp_arrival_predictor *p)
{
	int64_t most;

	tail_ns(p, &most);
	if (!p->by_ends)
		p->level_ns = p->grid.spread_ns;
	if (most <= SPREAD_MAX_NS / 2)
		p->marks = p->fresh = 0;
	p->by_ends = most <= SPREAD_MAX_NS / 2;
	p->ends[0] = p->ends[1] = 0;
}

/* Ends may be near each other although all are off: then the starts' spread counts. */
static uint64_t spread_ns(const struct gp_arrival_predictor *p)
{
	return p->by_ends && p->grid.spread_ns < p->level_ns ? p->level_ns : p->grid.spread_ns;
}

/* All slots were @ns late; the tails stay right. */
static void shift(struct gp_arrival_predictor *p, uint64_t ns)
{
	p->grid.base_ns -= ns;
	for (uint32_t i = 0; i < p->marks; i++)
		p->mark[i].at_ns -= ns;
	for (uint32_t i = 0; i < p->holds; i++)
		p->hold[i].slot_ns -= ns;
	for (uint32_t i = 0; i < GP_ARRIVAL_TAILS; i++)
		p->tail[i] += (int64_t)ns;
	p->shifted_ns += ns;
}

static void compare_early(struct gp_arrival_predictor *p, int64_t off_ns, bool early)
{
	int64_t gain;

	p->end_off_ns[early] += p->ends[early] ? (off_ns - p->end_off_ns[early]) / 4 :
						 off_ns - p->end_off_ns[early];
	p->ends[early]++;
	if (!early || p->ends[1] < EARLY_MIN || p->ends[0] < EARLY_MIN)
		return;
	gain = p->end_off_ns[0] - p->end_off_ns[1];
	p->ends[0] = p->ends[1] = 0;
	if (gain > EARLY_GAIN_NS + (int64_t)p->level_ns / 2 && p->shifted_ns < EARLY_MAX_NS)
		shift(p, (uint64_t)(gain < EARLY_NS ? gain : EARLY_NS));
}

/*
 * Work came into a hold. Its end shows its arrival, once the time from the slot to the end is
 * known. The first few are assumed to be on time. So are later ones that all end at another
 * time: request lengths changed. Ends that differ from each other show nothing.
 */
static void held_end(struct gp_arrival_predictor *p, const struct gp_arrival_stretch *s)
{
	int64_t tail = diff(s->end_ns, s->hold.slot_ns);
	int64_t off, most;

	if (p->tails < GP_ARRIVAL_TAILS) {
		p->tail[p->tails++] = tail;
		if (p->tails == GP_ARRIVAL_TAILS)
			take_ends(p);
		return;
	}
	off = tail - tail_ns(p, &most);
	if (p->by_ends && abs64(off) <= SPREAD_MAX_NS) {
		p->strays = 0;
		compare_early(p, off, s->hold.early);
		add_mark(p, s->hold.slot_ns + (uint64_t)off, s->end_ns);
	} else if (++p->strays == (p->by_ends ? STRAYS : STRAYS_UNEVEN)) {
		p->tails = p->strays = 0;
	}
}

static void verdict(struct gp_arrival_predictor *p, bool miss, bool late)
{
	p->miss_bits = p->miss_bits << 1 | miss;
	p->late_bits = p->late_bits << 1 | late;
	if (p->state != GP_ARRIVAL_SURE)
		return;
	if (!miss && ++p->kept >= KEPT_WELL)
		p->rest_ns = REST_FIRST_NS;
	if ((p->miss_bits & 3) == 3 || __builtin_popcount(p->miss_bits & 0xff) > 2) {
		lose(p, GP_ARRIVAL_MISSED);
	} else if (__builtin_popcount(p->late_bits & 0xff) > 3) {
		/* Or switches became shorter: adapt, so that this does not repeat. */
		lag_is(p, p->lag_ns - p->lag_ns / 8);
		lose(p, GP_ARRIVAL_EARLY);
	}
}

/*
 * No work came into the hold. The stretch is then as long as the hold, less the switch to it
 * and plus the time to leave (H200: 70 us of 175). With work the stretch may be as short, if
 * another latency-critical process made the switch longer. That stretch ends with the work,
 * not with the hold.
 */
static bool missed(const struct gp_arrival_predictor *p, const struct gp_arrival_stretch *s)
{
	return s->held && !s->hold.worked && s->start_ns >= s->hold.from_ns &&
	       diff(s->end_ns, s->hold.until_ns) <= (int64_t)p->lag_ns &&
	       diff(s->end_ns, s->start_ns) <=
		       diff(s->hold.until_ns, s->hold.from_ns) - (int64_t)p->lag_ns / 4;
}

static void judge(struct gp_arrival_predictor *p, const struct gp_arrival_stretch *s)
{
	if (came_first(p, s) && !missed(p, s)) {
		p->stat.late++;
		add_start(p, s);
		verdict(p, false, true);
		return;
	}
	count_lag(p, s);
	if (!missed(p, s)) {
		p->stat.hits++;
		if (p->state == GP_ARRIVAL_SURE)
			held_end(p, s);
		verdict(p, false, false);
		return;
	}
	p->stat.misses++;
	p->credit_ns -= diff(s->hold.until_ns, s->hold.from_ns) + MISS_COST_NS;
	verdict(p, true, false);
}

/* ---- stretches --------------------------------------------------------------------- */

static void hold_drop(struct gp_arrival_predictor *p)
{
	p->holds--;
	memmove(p->hold, p->hold + 1, p->holds * sizeof(p->hold[0]));
}

/* Takes the hold that @s belongs to. Earlier holds had no effect. */
static bool hold_take(struct gp_arrival_predictor *p, struct gp_arrival_stretch *s)
{
	uint64_t lag = p->lag_ns;

	while (p->holds && diff(s->start_ns, p->hold[0].until_ns + lag) > 0)
		hold_drop(p);
	if (!p->holds || diff(s->end_ns, p->hold[0].from_ns) <= 0)
		return false;
	s->hold = p->hold[0];
	s->held = true;
	hold_drop(p);
	return true;
}

void gp_arrival_forget(struct gp_arrival_predictor *p)
{
	const bool resting = p->state == GP_ARRIVAL_RESTING;

	p->open.end_ns = 0;
	p->came_ns = 0;
	observe_again(p);
	if (resting)
		p->state = GP_ARRIVAL_RESTING;
}

static void close_open(struct gp_arrival_predictor *p)
{
	struct gp_arrival_stretch s = p->open;

	if (!s.end_ns)
		return;
	p->open.end_ns = 0;
	if (s.held)
		judge(p, &s);
	else
		add_start(p, &s);
}

void gp_arrival_stretch(struct gp_arrival_predictor *p, uint64_t start_ns, uint64_t end_ns)
{
	struct gp_arrival_stretch s = { .start_ns = start_ns, .end_ns = end_ns };

	if (diff(end_ns, start_ns) <= 0 || diff(start_ns, p->last_end_ns) < 0)
		return;
	if (p->exact) {
		p->last_end_ns = end_ns;
		return;
	}
	if (diff(start_ns, p->last_end_ns) > PAUSE_NS)
		gp_arrival_forget(p);
	p->last_end_ns = end_ns;
	if (!hold_take(p, &s) && p->open.end_ns && !missed(p, &p->open) &&
	    diff(start_ns, p->open.end_ns) < MERGE_NS) {
		p->open.end_ns = end_ns;
		return;
	}
	close_open(p);
	p->open = s;
}

void gp_arrival_held(struct gp_arrival_predictor *p, const struct gp_arrival_prediction *guess,
		     uint64_t from_ns, uint64_t until_ns, bool worked)
{
	if (p->holds == GP_ARRIVAL_HOLDS)
		hold_drop(p);
	p->stat.held++;
	p->hold[p->holds++] =
		(struct gp_arrival_hold){ guess->slot_ns, from_ns, until_ns, worked, guess->early };
}

/* Holds that ended before @ns without work. */
static void miss_until(struct gp_arrival_predictor *p, uint64_t ns)
{
	while (p->holds && diff(ns, p->hold[0].until_ns) > 0) {
		p->stat.misses++;
		p->credit_ns -= diff(p->hold[0].until_ns, p->hold[0].from_ns) + MISS_COST_NS;
		hold_drop(p);
		verdict(p, true, false);
	}
}

void gp_arrival_came(struct gp_arrival_predictor *p, uint64_t came_ns)
{
	if (!p->exact) {
		gp_arrival_forget(p);
		p->holds = 0;
		p->exact = true;
	}
	if (p->marks && diff(came_ns, p->mark[p->marks - 1].at_ns) > PAUSE_NS)
		gp_arrival_forget(p);
	miss_until(p, came_ns);
	p->came_ns = came_ns;
}

void gp_arrival_over(struct gp_arrival_predictor *p, uint64_t end_ns)
{
	bool late;

	if (!p->came_ns || diff(end_ns, p->came_ns) <= 0)
		return;
	if (p->holds && diff(end_ns, p->hold[0].from_ns) > 0) {
		late = diff(p->hold[0].from_ns, p->came_ns) > 0;
		hold_drop(p);
		p->stat.hits += !late;
		p->stat.late += late;
		verdict(p, false, late);
	}
	add_mark(p, p->came_ns, end_ns);
	p->came_ns = 0;
}

void gp_arrival_seen_until(struct gp_arrival_predictor *p, uint64_t ns)
{
	if (p->exact && !p->came_ns)
		miss_until(p, ns);
}

void gp_arrival_init(struct gp_arrival_predictor *p, uint64_t switch_ns)
{
	memset(p, 0, sizeof(*p));
	lag_is(p, switch_ns < (uint64_t)LAG_MAX_NS ? switch_ns : (uint64_t)LAG_MAX_NS);
	p->rest_ns = REST_FIRST_NS;
	p->credit_ns = CREDIT_MAX_NS;
}

/* ---- the states ------------------------------------------------------------------------ */

/* By more than the latest marks, which may all be late. */
static bool still_fits(const struct gp_arrival_predictor *p)
{
	uint32_t n = p->marks < 16 ? p->marks : 16, near = 0, j = 0;

	for (uint32_t i = p->marks - n; p->grid.phases && i < p->marks; i++)
		near += abs64(off_grid(&p->grid, p->mark[i].at_ns, &j)) <= TRIAL_TOL_NS;
	return near * 10 >= n * NEAR_OF_10;
}

static void refit(struct gp_arrival_predictor *p)
{
	struct gp_arrival_grid grid = { 0 };
	bool good = grid_fit(&grid, p);

	if (good) {
		if (!p->grid.phases)
			p->kept = 0;
		p->grid = grid;
	} else if (p->marks >= MARKS_FIRST && !still_fits(p)) {
		p->grid.phases = 0;
	}
	p->state = p->grid.phases ? GP_ARRIVAL_TRIAL : GP_ARRIVAL_OBSERVING;
}

/* The predictions are right, or the grid would be lost: stray marks may be wrong. */
static void follow(struct gp_arrival_predictor *p)
{
	struct gp_arrival_grid grid = { 0 };

	if (grid_follow(&grid, p)) {
		p->grid = grid;
		p->unfit = 0;
	} else if (++p->unfit == UNFIT_MAX) {
		lose(p, GP_ARRIVAL_STRAYED);
	} else if (!(p->unfit % UNFIT_MARKS)) {
		p->marks = 0;
	}
}

void gp_arrival_update(struct gp_arrival_predictor *p, uint64_t now_ns)
{
	if (p->now_ns && diff(now_ns, p->now_ns) > 0) {
		p->credit_ns += diff(now_ns, p->now_ns) / CREDIT_SHARE;
		if (p->credit_ns > CREDIT_MAX_NS)
			p->credit_ns = CREDIT_MAX_NS;
	}
	p->now_ns = now_ns;
	/* Ignore a record from the future: all later ones would count as older. */
	if (diff(p->last_end_ns, now_ns) > (int64_t)FUTURE_NS) {
		p->last_end_ns = now_ns;
		gp_arrival_forget(p);
	}
	if (p->open.end_ns && diff(now_ns, p->open.end_ns) > MERGE_NS)
		close_open(p);
	if (p->state == GP_ARRIVAL_RESTING) {
		if (diff(now_ns, p->rest_until_ns) < 0)
			return;
		p->state = p->grid.phases ? GP_ARRIVAL_TRIAL : GP_ARRIVAL_OBSERVING;
	}
	if (p->state == GP_ARRIVAL_TRIAL && p->grid.phases &&
	    p->kept >= (p->exact ? TRIAL_HITS_EXACT : TRIAL_HITS)) {
		p->state = GP_ARRIVAL_SURE;
		p->kept = 0;
		p->miss_bits = p->late_bits = 0;
	}
	if (!p->fresh)
		return;
	p->fresh = 0;
	if (p->state == GP_ARRIVAL_SURE)
		follow(p);
	else
		refit(p);
}

/* ---- predictions ------------------------------------------------------------------------ */

/* The latest end of the request before slot @slot_ns of phase @j. */
static uint64_t free_from(const struct gp_arrival_grid *g, uint64_t slot_ns, uint32_t j)
{
	int64_t back = j ? g->phase_ns[j] - g->phase_ns[j - 1] :
			   g->phase_ns[0] - g->phase_ns[g->phases - 1] + cycles_ns(g, 1);

	return slot_ns - (uint64_t)back + g->busy_ns;
}

/* No hold here, to see a start without one. */
static bool is_probe(const struct gp_arrival_predictor *p, uint64_t slot_ns, uint32_t j)
{
	int64_t cycles;

	if (!p->marks)
		return false;
	cycles =
		cycle_of(&p->grid, slot_ns, j) - cycle_of(&p->grid, p->mark[p->marks - 1].at_ns, j);
	return !p->by_ends && !p->exact && cycles * p->grid.phases > (int64_t)p->marks &&
	       !(cycles % BLIND_ONE_IN);
}

static bool is_early(const struct gp_arrival_predictor *p, uint64_t slot_ns, uint32_t j)
{
	return p->by_ends && !(cycle_of(&p->grid, slot_ns, j) % EARLY_ONE_IN);
}

/* From the work's arrival to its slot in the grid. */
static uint64_t slot_lag(const struct gp_arrival_predictor *p)
{
	return p->exact ? 0 : p->lag_ns;
}

/* Longest lead for work at @at_ns of slot @slot_ns. */
static int64_t lead_max(const struct gp_arrival_predictor *p, uint64_t at_ns, uint64_t slot_ns,
			uint32_t j)
{
	return diff(at_ns, free_from(&p->grid, slot_ns, j)) - GUARD_NS;
}

/* The first suitable slot of phase @j, of the next four. */
static bool next_of_phase(const struct gp_arrival_predictor *p, uint32_t j, uint64_t after_ns,
			  uint64_t lead_ns, uint64_t *slot_ns)
{
	const struct gp_arrival_grid *g = &p->grid;
	const uint64_t before = lead_ns + spread_ns(p) + slot_lag(p);
	int64_t k = cycle_of(g, after_ns + before, j);

	for (int tries = 0; tries < 4; tries++, k++) {
		uint64_t slot = g->base_ns + (uint64_t)(g->phase_ns[j] + cycles_ns(g, k));
		uint64_t start = slot - before;

		if (is_early(p, slot, j))
			start -= EARLY_NS;
		if (diff(start, after_ns) < 0 || is_probe(p, slot, j))
			continue;
		if (lead_max(p, start + lead_ns, slot, j) < (int64_t)lead_ns)
			return false;
		*slot_ns = slot;
		return true;
	}
	return false;
}

/*
 * How long to hold past the arrival. Work that ends before its hold looks like none. Return:
 * 0: requests are too short to judge any hold.
 */
static int64_t hint_timeout(const struct gp_arrival_predictor *p)
{
	/* Counts from the arrival, less the switch needed to see the work. */
	int64_t most = (int64_t)p->grid.short_ns;

	if (!p->exact)
		most -= RESTORE_NS;
	if (!p->exact && !p->by_ends)
		most -= (int64_t)p->lag_ns + RESTORE_NS;
	if (most > LINGER_MAX_NS)
		return LINGER_MAX_NS;
	return most < LINGER_MIN_NS ? 0 : most;
}

bool gp_arrival_next(const struct gp_arrival_predictor *p, uint64_t after_ns, uint64_t lead_ns,
		     struct gp_arrival_prediction *guess)
{
	const struct gp_arrival_grid *g = &p->grid;
	uint64_t best = 0, slot;
	uint32_t phase = 0;

	/* The switch estimate may be off, and only holds would correct it. */
	if (lead_ns > p->lag_ns + LEAD_MORE_NS)
		lead_ns = p->lag_ns + LEAD_MORE_NS;
	if (p->state != GP_ARRIVAL_SURE || p->credit_ns < 0 || !hint_timeout(p))
		return false;
	/* No other process had the device lately, so this process has it anyway. */
	if (diff(after_ns, p->last_end_ns) > 60 * MS + cycles_ns(g, 3))
		return false;
	for (uint32_t j = 0; j < g->phases; j++)
		if (next_of_phase(p, j, after_ns, lead_ns, &slot) &&
		    (!best || diff(slot, best) < 0))
			best = slot, phase = j;
	if (!best)
		return false;
	*guess = (struct gp_arrival_prediction){
		.at_ns = best - slot_lag(p),
		.spread_ns = spread_ns(p),
		.hint_timeout_ns = (uint64_t)hint_timeout(p),
		.slot_ns = best,
		.early = is_early(p, best, phase),
	};
	if (guess->early)
		guess->spread_ns += EARLY_NS;
	guess->lead_max_ns = (uint64_t)lead_max(p, guess->at_ns - guess->spread_ns, best, phase);
	/* The estimate includes waits for more urgent tenants, which no lead shortens. */
	if (p->exact && guess->lead_max_ns > EXACT_LEAD_MAX_NS)
		guess->lead_max_ns = EXACT_LEAD_MAX_NS;
	return true;
}
