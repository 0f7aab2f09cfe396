// SPDX-License-Identifier: Apache-2.0
/* check.c - the contents that a message of the right size may have. */
#include "wire/wire.h"

#include <errno.h>
#include <string.h>

#include "gpreempt/gpreempt.h"
#include "wire/quota.h"

#define TEXT_OK(field) gp_wire_text_ok(field, sizeof(field))

#define HELLO_FLAGS (GP_WIRE_ASKS | GP_WIRE_HELLO_AWAY)
#define TENANT_FLAGS                                                                            \
	(GP_WIRE_RESIDENT | GP_WIRE_SUSPENDED | GP_WIRE_SEGMENT | GP_WIRE_HELD | GP_WIRE_BUSY | \
	 GP_WIRE_IDLE | GP_WIRE_BANNED | GP_WIRE_PILES | GP_WIRE_OUT | GP_WIRE_FROZEN)

bool gp_wire_text_ok(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool times_ok(const struct gp_wire_request *r)
{
	if (!r->period_ns)
		return !r->deadline_ns && !r->runtime_ns;
	return r->runtime_ns && r->runtime_ns <= r->deadline_ns && r->deadline_ns <= r->period_ns &&
	       r->period_ns <= GP_WIRE_PERIOD_MAX_NS;
}

static bool no_times(const struct gp_wire_request *r)
{
	return !r->period_ns && !r->deadline_ns && !r->runtime_ns;
}

static bool request_ok(const struct gp_wire_request *r)
{
	if (r->pad)
		return false;
	switch (r->cls) {
	case GP_CLASS_NONE:
		return !r->value && !r->cap_pct && no_times(r);
	case GP_CLASS_LC:
		return r->value <= GP_LEVEL_MAX && !r->cap_pct && times_ok(r);
	case GP_CLASS_BE:
		return r->value >= GP_WEIGHT_MIN && r->value <= GP_WEIGHT_MAX &&
		       r->cap_pct <= GP_WIRE_CAP_MAX_PCT && no_times(r);
	default:
		return false;
	}
}

int gp_wire_request_check(const struct gp_wire_request *request)
{
	return request_ok(request) ? 0 : -EINVAL;
}

/* Without a class the rest is 0 too. */
static bool request_none(const struct gp_wire_request *r)
{
	return r->cls == GP_CLASS_NONE && request_ok(r);
}

static bool status_ok(const struct gp_wire_status *m)
{
	return TEXT_OK(m->comm) && TEXT_OK(m->device) && TEXT_OK(m->uuid);
}

static bool hello_ok(const struct gp_wire_hello *m)
{
	if (m->flags & ~(uint32_t)HELLO_FLAGS || m->pad)
		return false;
	return m->flags & GP_WIRE_ASKS ? request_ok(&m->request) : request_none(&m->request);
}

static bool welcome_ok(const struct gp_wire_welcome *m)
{
	return m->daemon_pid > 0 && !m->pad && request_ok(&m->request) && TEXT_OK(m->why);
}

static bool take_ok(const struct gp_wire_take *m)
{
	const uint32_t kinds = m->head.type == GP_WIRE_HISTOGRAM ? GP_WIRE_HISTS : 1;

	if (m->pid <= 0 || m->kind >= kinds)
		return false;
	return m->head.type == GP_WIRE_TAKE ? request_ok(&m->request) : request_none(&m->request);
}

static bool away_ok(const struct gp_wire_away *m)
{
	if (m->away > 1 || m->count > (m->away ? GP_WIRE_KEEP_MAX : 0))
		return false;
	for (uint32_t i = 0; i < GP_WIRE_KEEP_MAX; i++)
		if (!m->keep[i] == (i < m->count))
			return false;
	return true;
}

static bool pool_ok(const struct gp_wire_pool *m)
{
	if (m->pid <= 0 || m->count > GP_WIRE_POOL_MAX)
		return false;
	for (uint32_t i = 0; i < GP_WIRE_POOL_MAX; i++)
		if (i < m->count ? m->client[i] <= 0 : m->client[i] != 0)
			return false;
	return true;
}

static bool ruled_ok(const struct gp_wire_ruled *m)
{
	return m->pool <= 1 && m->percent <= 100 && (m->pool || !m->percent) && m->memory_max &&
	       m->host_memory && m->one <= 1 && m->turns <= 1 && TEXT_OK(m->rule) &&
	       TEXT_OK(m->hook);
}

static bool tenant_ok(const struct gp_wire_tenant *m)
{
	return m->pid > 0 && m->origin >= GP_WIRE_BY_RUN && m->origin <= GP_WIRE_BY_POOL &&
	       !(m->flags & ~(uint32_t)TENANT_FLAGS) && m->usage <= GP_WIRE_USAGE_DRIVER &&
	       request_ok(&m->request) && TEXT_OK(m->comm) && TEXT_OK(m->device) &&
	       TEXT_OK(m->cgroup) && TEXT_OK(m->why);
}

static bool device_ok(const struct gp_wire_device *m)
{
	return TEXT_OK(m->name) && TEXT_OK(m->be_policy) && TEXT_OK(m->lc_policy) &&
	       m->be_min_pct <= 100 && m->resident_pid >= 0 && m->usage <= GP_WIRE_USAGE_DRIVER &&
	       m->daemon_pid >= 0;
}

/* @reason is the scheduler's; the code that prints it knows the values. */
static bool reason_ok(const struct gp_wire_reason *m)
{
	return m->pid > 0 && m->other_pid >= 0 && !m->pad && request_ok(&m->request) &&
	       TEXT_OK(m->comm) && TEXT_OK(m->other_comm) && TEXT_OK(m->device) && TEXT_OK(m->why);
}

static bool traced_ok(const struct gp_wire_traced *m)
{
	const struct gp_wire_trace_record *r;

	if (m->count > GP_WIRE_TRACE_RECORDS)
		return false;
	for (r = m->record; r < m->record + m->count; r++)
		if (r->kind < GP_WIRE_TRACE_START || r->kind > GP_WIRE_TRACE_HOLD ||
		    r->device >= GP_WIRE_MAX_DEVICES || r->pad)
			return false;
	return true;
}

static bool body_ok(const union gp_wire_msg *msg)
{
	switch (msg->head.type) {
	case GP_WIRE_STATUS:
		return status_ok(&msg->status);
	case GP_WIRE_HELLO:
		return hello_ok(&msg->hello);
	case GP_WIRE_MEMORY:
		return msg->memory.leave <= 1 && msg->memory.moving <= 1 &&
		       (msg->memory.leave || !msg->memory.need);
	case GP_WIRE_AWAY:
		return away_ok(&msg->away);
	case GP_WIRE_ROOM:
		return msg->room.may_come <= 1 && msg->room.moving <= 1;
	case GP_WIRE_QUOTA:
		return msg->quota.place < GP_QUOTA_PLACES && !msg->quota.pad;
	case GP_WIRE_POOL:
		return pool_ok(&msg->pool);
	case GP_WIRE_RULED:
		return ruled_ok(&msg->ruled);
	case GP_WIRE_ASK_CLASS:
	case GP_WIRE_RULE:
		return request_ok(&msg->ask_class.request);
	case GP_WIRE_WHY:
	case GP_WIRE_TAKE:
	case GP_WIRE_HISTOGRAM:
		return take_ok(&msg->take);
	case GP_WIRE_WELCOME:
	case GP_WIRE_CLASS:
		return welcome_ok(&msg->welcome);
	case GP_WIRE_TENANT:
		return tenant_ok(&msg->tenant);
	case GP_WIRE_DEVICE:
		return device_ok(&msg->device);
	case GP_WIRE_REASON:
		return reason_ok(&msg->reason);
	case GP_WIRE_SAID:
		return TEXT_OK(msg->said.text);
	case GP_WIRE_TRACED:
		return traced_ok(&msg->traced);
	default:
		/* Numbers only; their users check them. */
		return true;
	}
}

int gp_wire_check_body(const union gp_wire_msg *msg)
{
	/* Success has no value but 0; errors are negative. */
	return msg->head.result <= 0 && body_ok(msg) ? 0 : -EINVAL;
}
