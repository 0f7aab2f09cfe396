// SPDX-License-Identifier: Apache-2.0
/*
 * why_text.c - a sentence for each enum gp_why of sched.h.
 */
#include <string.h>

#include "cli/text.h"
#include "cli/view.h"
#include "cli/why.h"
#include "gpreempt/gpreempt.h"
#include "sched/sched.h"

#define PROCESS_LEN 64

const char *gp_why_name(uint32_t reason)
{
	static const char *const name[] = {
		[GP_WHY_RUNS] = "runs",	      [GP_WHY_NO_GROUP] = "no_group",
		[GP_WHY_IDLE] = "idle",	      [GP_WHY_TURN] = "turn",
		[GP_WHY_PUT_OFF] = "put_off", [GP_WHY_SWITCHING] = "switching",
		[GP_WHY_CAP] = "cap",	      [GP_WHY_LC] = "lc",
		[GP_WHY_MINIMUM] = "minimum", [GP_WHY_RETRY] = "retry",
		[GP_WHY_SLOW] = "slow",	      [GP_WHY_PILES] = "piles",
	};

	if (reason == GP_WIRE_WHY_OUT)
		return "out";
	if (reason == GP_WIRE_WHY_FROZEN)
		return "frozen";
	return reason < sizeof(name) / sizeof(name[0]) ? name[reason] : "unknown";
}

/* "process 4711 (serve)", or @nobody. */
static const char *other(const struct gp_wire_reason *r, const char *nobody, char buf[PROCESS_LEN])
{
	char comm[sizeof(r->other_comm)];

	memcpy(comm, r->other_comm, sizeof(comm));
	if (r->other_pid)
		snprintf(buf, PROCESS_LEN, "process %d (%s)", r->other_pid, gp_printable(comm));
	else
		snprintf(buf, PROCESS_LEN, "%s", nobody);
	return buf;
}

/* ", for 3ms so far and 7ms more at most". */
static void times(FILE *out, const struct gp_wire_reason *r)
{
	char since[GP_VIEW_TEXT_LEN], until[GP_VIEW_TEXT_LEN];
	const bool has_since = r->for_ns != GP_WIRE_UNKNOWN;
	const bool has_until = r->until_ns != GP_WIRE_UNKNOWN;

	gp_view_time(r->for_ns, since);
	gp_view_time(r->until_ns, until);
	if (has_since && has_until)
		fprintf(out, ", for %s so far and %s more at most", since, until);
	else if (has_since)
		fprintf(out, ", for %s so far; the rest is unknown", since);
	else if (has_until)
		fprintf(out, ", for %s more at most", until);
}

static void turn(FILE *out, const struct gp_wire_reason *r)
{
	char process[PROCESS_LEN];

	fputs("It waits for its turn", out);
	if (r->ahead)
		fprintf(out, "; %u %s before it", r->ahead,
			r->ahead == 1 ? "other goes" : "others go");
	if (!r->other_pid) {
		fputc('.', out);
		return;
	}
	fprintf(out, ". It is the turn of %s", other(r, "", process));
	times(out, r);
	fputc('.', out);
}

static void switching(FILE *out, const struct gp_wire_reason *r)
{
	char process[PROCESS_LEN];

	if (r->other_pid)
		fprintf(out, "Its turn has begun: gpreemptd suspends %s first.",
			other(r, "", process));
	else
		fputs("Its turn has begun: gpreemptd resumes it.", out);
}

static void capped(FILE *out, const struct gp_wire_reason *r)
{
	char until[GP_VIEW_TEXT_LEN];

	if (r->request.cap_pct)
		fprintf(out, "It has used its cap, %u %% of the device, for now",
			r->request.cap_pct);
	else
		fputs("It has used its cap for now", out);
	if (r->until_ns == GP_WIRE_UNKNOWN)
		fputc('.', out);
	else
		fprintf(out, "; it may run again in %s.", gp_view_time(r->until_ns, until));
}

static void retry(FILE *out, const struct gp_wire_reason *r)
{
	char until[GP_VIEW_TEXT_LEN];

	fprintf(out, "It could not be resumed (%s)",
		r->error ? strerror(r->error < 0 ? -r->error : r->error) : "unknown error");
	if (r->until_ns == GP_WIRE_UNKNOWN)
		fputs("; gpreemptd retries.", out);
	else
		fprintf(out, "; gpreemptd retries in %s.", gp_view_time(r->until_ns, until));
}

void gp_why_sentence(FILE *out, const struct gp_wire_reason *r)
{
	char process[PROCESS_LEN];

	switch (r->reason) {
	case GP_WHY_RUNS:
		fputs("Nothing delays it: its work runs.", out);
		break;
	case GP_WHY_NO_GROUP:
		fputs("It has nothing to run: it has no known compute group on this device.", out);
		break;
	case GP_WHY_IDLE:
		fputs("It has no work.", out);
		break;
	case GP_WHY_TURN:
		turn(out, r);
		break;
	case GP_WHY_PUT_OFF:
		fprintf(out, "Its turn has come, but latency-critical %s defers it",
			other(r, "work", process));
		times(out, r);
		fputc('.', out);
		break;
	case GP_WHY_SWITCHING:
		switching(out, r);
		break;
	case GP_WHY_CAP:
		capped(out, r);
		break;
	case GP_WHY_LC:
		fprintf(out, "Latency-critical %s has the device, or goes first",
			other(r, "work", process));
		times(out, r);
		fputc('.', out);
		break;
	case GP_WHY_MINIMUM:
		fputs("Best-effort has its minimum of the device now", out);
		times(out, r);
		fputc('.', out);
		break;
	case GP_WHY_RETRY:
		retry(out, r);
		break;
	case GP_WHY_SLOW:
		fputs("It takes longer than be_leave_limit to leave the device, and "
		      "latency-critical work may come before it has left",
		      out);
		times(out, r);
		fputc('.', out);
		break;
	case GP_WHY_PILES:
		fprintf(out, "Its launches pile up while %s runs, until it waits for them",
			other(r, "best-effort work", process));
		times(out, r);
		fputc('.', out);
		break;
	case GP_WIRE_WHY_OUT:
		fprintf(out, "Its memory is on the host, as %s needed room",
			other(r, "another process", process));
		times(out, r);
		fputs(". It comes back when there is room.", out);
		break;
	case GP_WIRE_WHY_FROZEN:
		fputs("Its cgroup is frozen", out);
		times(out, r);
		fputs(". It runs again when the cgroup is thawed.", out);
		break;
	default:
		fprintf(out, "Unknown reason %u; install the gpreempt of gpreemptd's version.",
			r->reason);
	}
}

void gp_why_piles(FILE *out)
{
	fputs("Its requests launch for longer than their kernels run. So best-effort makes way "
	      "only "
	      "when it waits, or a predicted time before; gpreempt run --no-pile turns this off.",
	      out);
}

void gp_why_late(FILE *out, const struct gp_wire_tenant *tenant,
		 const struct gp_wire_device *device)
{
	char each[GP_VIEW_TEXT_LEN];
	uint64_t n;

	if (tenant->request.cls != GP_CLASS_LC || tenant->origin == GP_WIRE_BY_RUN)
		return;
	fputs("It announces no work, since gpreempt run did not start it: ", out);
	switch (tenant->usage) {
	case GP_WIRE_USAGE_LOG:
		fputs("gpreemptd sees its work only in the context-switch log, on NVIDIA some 33 "
		      "ms after it arrives.",
		      out);
		break;
	case GP_WIRE_USAGE_DRIVER:
		fputs("gpreemptd sees its work only in the driver's counters, after it arrives.",
		      out);
		break;
	default:
		fputs("gpreemptd does not see its work, because nothing here reports the use of "
		      "the device.",
		      out);
	}
	fputs(" It still preempts best-effort, but without holds, and a best-effort turn may "
	      "change during its work",
	      out);
	n = device ? device->suspends + device->resumes + device->slices + device->preempts : 0;
	if (n)
		fprintf(out, ": one suspend, resume or slice takes %s on average",
			gp_view_time(device->control_ns / n, each));
	fputs(". Start it with gpreempt run to avoid this.", out);
}
