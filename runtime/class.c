// SPDX-License-Identifier: Apache-2.0
#include "runtime/class.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/duration.h"

/* Longer than any text that is a field of a class. */
#define FIELD_LEN 48

#define TEXT_OF(x) #x
#define NUMBER(x) TEXT_OF(x)

static const char no_class[] = "write lc, lc:LEVEL, be or be:WEIGHT";
static const char level_range[] = "levels are lc:0 (most urgent) to lc:" NUMBER(GP_LEVEL_MAX);
static const char weight_range[] =
	"weights are be:" NUMBER(GP_WEIGHT_MIN) " to be:" NUMBER(GP_WEIGHT_MAX);
static const char cap_range[] = "caps are cap=1% to cap=" NUMBER(GP_CAP_MAX_PCT) "%";

/* Digits only, no leading zero, at most @max. */
static int parse_number(const char *text, uint32_t max, uint32_t *out)
{
	uint32_t n = 0;
	const char *p;

	if (!*text || (text[0] == '0' && text[1]))
		return -EINVAL;
	for (p = text; *p; p++)
		if (*p < '0' || *p > '9')
			return -EINVAL;
	for (p = text; *p; p++) {
		n = n * 10 + (uint32_t)(*p - '0');
		if (n > max)
			return -ERANGE;
	}
	*out = n;
	return 0;
}

/* "lc", "lc:N", "be", "be:W". */
static int parse_value(const char *text, struct gp_class_value *v, const char **why)
{
	bool lc = !strncmp(text, "lc", 2);
	int err = 0;

	*why = no_class;
	if (!lc && strncmp(text, "be", 2))
		return -EINVAL;
	*v = lc ? (struct gp_class_value){ GP_CLASS_LC, 0 } :
		  (struct gp_class_value){ GP_CLASS_BE, GP_WEIGHT_DEFAULT };
	if (text[2] == ':')
		err = parse_number(text + 3, lc ? GP_LEVEL_MAX : GP_WEIGHT_MAX, &v->value);
	else if (text[2])
		err = -EINVAL;
	if (!err && !lc && v->value < GP_WEIGHT_MIN)
		err = -ERANGE;
	if (err == -ERANGE)
		*why = lc ? level_range : weight_range;
	return err;
}

static int parse_cap(const char *text, uint32_t *pct, const char **why)
{
	size_t digits = strspn(text, "0123456789");
	char number[FIELD_LEN];
	int err;

	*why = "write a share of the device, such as cap=30%";
	if (strcmp(text + digits, "%"))
		return -EINVAL;
	memcpy(number, text, digits);
	number[digits] = '\0';
	err = parse_number(number, GP_CAP_MAX_PCT, pct);
	if (!err && !*pct)
		err = -ERANGE;
	if (err == -ERANGE)
		*why = cap_range;
	return err;
}

static int parse_time(const char *text, uint64_t *ns, const char **why)
{
	uint64_t value;
	int err = gp_parse_duration(text, &value);

	if (!err && (!value || value > GP_PERIOD_MAX_NS))
		err = -ERANGE;
	*why = err == -ERANGE ? "write a time above 0s and at most 10s" :
				"write a number and a unit (us, ms, s), such as 20ms";
	if (!err)
		*ns = value;
	return err;
}

/* The rest of @text after @key and "=", or NULL. */
static const char *value_of(const char *text, const char *key)
{
	size_t n = strlen(key);

	return !strncmp(text, key, n) && text[n] == '=' ? text + n + 1 : NULL;
}

static int take_cap(struct gp_class_request *r, const char *value, const char **why)
{
	*why = "cap is for be";
	if (r->cls.cls != GP_CLASS_BE)
		return -EINVAL;
	*why = "cap is given twice";
	if (r->cap_pct)
		return -EINVAL;
	return parse_cap(value, &r->cap_pct, why);
}

/* One "key=value". No value can be 0, so a nonzero one was given. */
static int parse_field(struct gp_class_request *r, const char *field, const char **why)
{
	const struct {
		const char *key;
		uint64_t *ns;
		const char *twice;
	} times[] = {
		{ "period", &r->period_ns, "period is given twice" },
		{ "deadline", &r->deadline_ns, "deadline is given twice" },
		{ "runtime", &r->runtime_ns, "runtime is given twice" },
	};
	const char *value = value_of(field, "cap");

	if (value)
		return take_cap(r, value, why);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		value = value_of(field, times[i].key);
		if (!value)
			continue;
		*why = "period, deadline and runtime are for lc";
		if (r->cls.cls != GP_CLASS_LC)
			return -EINVAL;
		*why = times[i].twice;
		return *times[i].ns ? -EINVAL : parse_time(value, times[i].ns, why);
	}
	*why = r->cls.cls == GP_CLASS_LC ?
		       "after lc:LEVEL come period=TIME, deadline=TIME and runtime=TIME" :
		       "after be:WEIGHT comes cap=PERCENT%";
	return -EINVAL;
}

/* Are its times consistent? The default deadline is the period. */
static int check_times(struct gp_class_request *r, const char **why)
{
	if (!r->period_ns && !r->deadline_ns && !r->runtime_ns)
		return 0;
	*why = "a deadline needs runtime=TIME and period=TIME";
	if (r->deadline_ns && (!r->runtime_ns || !r->period_ns))
		return -EINVAL;
	*why = "a period needs runtime=TIME";
	if (!r->runtime_ns)
		return -EINVAL;
	*why = "a runtime needs period=TIME";
	if (!r->period_ns)
		return -EINVAL;
	if (!r->deadline_ns)
		r->deadline_ns = r->period_ns;
	*why = "the deadline is after the period's end";
	if (r->deadline_ns > r->period_ns)
		return -EINVAL;
	*why = "the runtime is longer than the deadline";
	return r->runtime_ns > r->deadline_ns ? -EINVAL : 0;
}

/* Copies the next field, up to a comma or the end, to @field; NULL: too long. */
static const char *next_field(const char *text, char field[FIELD_LEN])
{
	size_t n = strcspn(text, ",");

	if (n >= FIELD_LEN)
		return NULL;
	memcpy(field, text, n);
	field[n] = '\0';
	return text + n;
}

int gp_class_request_parse(const char *text, struct gp_class_request *out, const char **why)
{
	struct gp_class_request r = { 0 };
	char field[FIELD_LEN];
	const char *at = text;
	int err;

	*why = no_class;
	if (!text)
		return -EINVAL;
	at = next_field(text, field);
	if (!at)
		return -EINVAL;
	err = parse_value(field, &r.cls, why);
	while (!err && *at == ',') {
		at = next_field(at + 1, field);
		if (!at) {
			*why = "the value is too long";
			return -EINVAL;
		}
		err = parse_field(&r, field, why);
	}
	if (!err)
		err = check_times(&r, why);
	if (!err)
		*out = r;
	return err;
}

int gp_class_parse(const char *text, struct gp_class_value *out)
{
	struct gp_class_request r;
	const char *why;
	int err = gp_class_request_parse(text, &r, &why);

	if (err)
		return err;
	if (gp_class_request_extra(&r))
		return -EOPNOTSUPP;
	*out = r.cls;
	return 0;
}

int gp_class_check(uint32_t cls, uint32_t value)
{
	switch (cls) {
	case GP_CLASS_NONE:
		return 0;
	case GP_CLASS_LC:
		return value <= GP_LEVEL_MAX ? 0 : -EINVAL;
	case GP_CLASS_BE:
		return value >= GP_WEIGHT_MIN && value <= GP_WEIGHT_MAX ? 0 : -EINVAL;
	}
	return -EINVAL;
}

bool gp_class_request_extra(const struct gp_class_request *r)
{
	return r->period_ns || r->cap_pct;
}

void gp_class_format(const struct gp_class_value *cls, char *buf, size_t len)
{
	if (cls->cls == GP_CLASS_LC)
		snprintf(buf, len, "lc:%u", cls->value);
	else if (cls->cls == GP_CLASS_BE)
		snprintf(buf, len, "be:%u", cls->value);
	else
		snprintf(buf, len, "none");
}

void gp_class_request_format(const struct gp_class_request *r, char *buf, size_t len)
{
	char cls[GP_CLASS_TEXT_LEN], period[GP_DURATION_TEXT_LEN], deadline[GP_DURATION_TEXT_LEN],
		runtime[GP_DURATION_TEXT_LEN];

	gp_class_format(&r->cls, cls, sizeof(cls));
	gp_format_duration(r->period_ns, period, sizeof(period));
	gp_format_duration(r->deadline_ns, deadline, sizeof(deadline));
	gp_format_duration(r->runtime_ns, runtime, sizeof(runtime));
	if (r->period_ns)
		snprintf(buf, len, "%s,period=%s,deadline=%s,runtime=%s", cls, period, deadline,
			 runtime);
	else if (r->cap_pct)
		snprintf(buf, len, "%s,cap=%u%%", cls, r->cap_pct);
	else
		snprintf(buf, len, "%s", cls);
}
