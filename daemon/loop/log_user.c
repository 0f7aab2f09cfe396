// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/log_user.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "daemon/loop/loop.h"

#define MINUTE_NS 60000000000u
#define PLACES 128u
#define TEXT_LEN 900

/* @since_ns: begin of the minute; 0: free. The last place is of all users without one. */
static struct place {
	uint64_t since_ns;
	uid_t uid;
	enum gp_log_kind kind;
	uint32_t count, left_out;
} places[PLACES + 1];

static struct place *place_of(uid_t uid, enum gp_log_kind kind)
{
	struct place *empty = NULL;

	for (size_t i = 0; i < PLACES; i++) {
		struct place *p = &places[i];

		if (p->since_ns && p->uid == uid && p->kind == kind)
			return p;
		if (!p->since_ns && !empty)
			empty = p;
	}
	return empty ? empty : &places[PLACES];
}

static void flush(struct place *p)
{
	if (p->left_out && p == &places[PLACES])
		gp_log(GP_LOG_WARN, "other users: %u more messages of this kind within a minute",
		       p->left_out);
	else if (p->left_out)
		gp_log(GP_LOG_WARN, "user %u: %u more %s within a minute", (unsigned int)p->uid,
		       p->left_out,
		       p->kind == GP_LOG_JOINS ? "processes became tenants" : "refusals");
	*p = (struct place){ 0 };
}

void gp_log_user_flush(uint64_t now_ns)
{
	for (size_t i = 0; i <= PLACES; i++)
		if (places[i].since_ns && now_ns >= places[i].since_ns + MINUTE_NS)
			flush(&places[i]);
}

void gp_log_user(uid_t uid, enum gp_log_kind kind, enum gp_log_level level, const char *format, ...)
{
	uint64_t now_ns = gp_loop_now_ns();
	char text[TEXT_LEN];
	struct place *p;
	va_list ap;

	gp_log_user_flush(now_ns);
	p = place_of(uid, kind);
	if (!p->since_ns)
		*p = (struct place){ .since_ns = now_ns, .uid = uid, .kind = kind };
	if (p->count >= (uint32_t)kind) {
		p->left_out++;
		return;
	}
	p->count++;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	gp_log(level, "%s", text);
}
