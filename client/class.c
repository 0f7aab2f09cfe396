// SPDX-License-Identifier: Apache-2.0
#include "client/class.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

int gp_class_parse(const char *text, struct gp_class_value *out)
{
	struct gp_class_value v;
	uint32_t max;
	int err;

	if (!text)
		return -EINVAL;
	if (!strncmp(text, "lc", 2)) {
		v = (struct gp_class_value){ GP_CLASS_LC, 0 };
		max = GP_LEVEL_MAX;
	} else if (!strncmp(text, "be", 2)) {
		v = (struct gp_class_value){ GP_CLASS_BE, GP_WEIGHT_DEFAULT };
		max = GP_WEIGHT_MAX;
	} else {
		return -EINVAL;
	}
	if (text[2] == ':') {
		err = parse_number(text + 3, max, &v.value);
		if (err)
			return err;
		if (v.cls == GP_CLASS_BE && v.value < GP_WEIGHT_MIN)
			return -ERANGE;
	} else if (text[2]) {
		return -EINVAL;
	}
	*out = v;
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

void gp_class_format(const struct gp_class_value *cls, char *buf, size_t len)
{
	if (cls->cls == GP_CLASS_LC)
		snprintf(buf, len, "lc:%u", cls->value);
	else if (cls->cls == GP_CLASS_BE)
		snprintf(buf, len, "be:%u", cls->value);
	else
		snprintf(buf, len, "none");
}
