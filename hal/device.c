// SPDX-License-Identifier: Apache-2.0
/*
 * device.c - find and open a device by the user's text. Strict: it refuses any text that is
 * not exactly one of the forms, and its message lists them.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpreempt/hal.h"
#include "hal/spec.h"

static void explain(char *why, size_t len, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void explain(char *why, size_t len, const char *format, ...)
{
	va_list ap;

	if (!why || !len)
		return;
	va_start(ap, format);
	vsnprintf(why, len, format, ap);
	va_end(ap);
}

void gp_uuid_format(const uint8_t uuid[16], char *buf, size_t len)
{
	const uint8_t *u = uuid;

	snprintf(buf, len,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
}

/* ---- the forms --------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* @digits hexadecimal digits exactly; moves @at behind them. */
static bool hex(const char **at, unsigned int digits, uint32_t *value)
{
	uint32_t v = 0;

	for (unsigned int i = 0; i < digits; i++) {
		int d = hex_digit((*at)[i]);

		if (d < 0)
			return false;
		v = v << 4 | (uint32_t)d;
	}
	*at += digits;
	*value = v;
	return true;
}

/* Number of digits from @at on. */
static unsigned int hex_run(const char *at)
{
	unsigned int n = 0;

	while (hex_digit(at[n]) >= 0)
		n++;
	return n;
}

/* "BB:DD.F" or "DDDD:BB:DD.F", the domain with 4 to 8 digits (nvidia-smi's). */
static bool parse_pci(const char *text, struct gp_spec *spec)
{
	uint32_t domain = 0, bus, dev, fn;
	unsigned int run = hex_run(text);

	if (run >= 4 && run <= 8) {
		if (!hex(&text, run, &domain) || *text++ != ':')
			return false;
	}
	if (!hex(&text, 2, &bus) || *text++ != ':' || !hex(&text, 2, &dev) || *text++ != '.' ||
	    !hex(&text, 1, &fn) || *text)
		return false;
	if (dev > 0x1f || fn > 7)
		return false;
	spec->kind = GP_SPEC_PCI;
	spec->pci_domain = domain;
	spec->pci_bus = (uint8_t)bus;
	spec->pci_dev = (uint8_t)dev;
	spec->pci_fn = (uint8_t)fn;
	return true;
}

/* "GPU-" and at least 8 digits, dashes only where a UUID has them. */
static bool parse_uuid(const char *text, struct gp_spec *spec)
{
	unsigned int n = 0;

	if (strncmp(text, "GPU-", 4))
		return false;
	for (text += 4; *text; text++) {
		int d = hex_digit(*text);

		if (*text == '-') {
			if ((n != 8 && n != 12 && n != 16 && n != 20) || text[-1] == '-')
				return false;
			continue;
		}
		if (d < 0 || n == 32)
			return false;
		if (n % 2)
			spec->uuid[n / 2] |= (uint8_t)d;
		else
			spec->uuid[n / 2] = (uint8_t)(d << 4);
		n++;
	}
	if (n < 8)
		return false;
	spec->kind = GP_SPEC_UUID;
	spec->uuid_digits = n;
	return true;
}

static bool parse_soft(const char *text, struct gp_spec *spec)
{
	uint32_t n = 0;

	if (strncmp(text, "soft", 4) || !text[4])
		return false;
	text += 4;
	if (text[0] == '0' && text[1])
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || n > 999)
			return false;
		n = n * 10 + (uint32_t)(*text - '0');
	}
	spec->kind = GP_SPEC_SOFT;
	spec->soft = n;
	return true;
}

int gp_spec_parse(const char *text, struct gp_spec *spec)
{
	struct gp_spec s = { 0 };

	if (!text) {
		s.kind = GP_SPEC_ANY;
	} else if (!parse_soft(text, &s)) {
		memset(&s, 0, sizeof(s));
		if (!parse_uuid(text, &s)) {
			memset(&s, 0, sizeof(s));
			if (!parse_pci(text, &s))
				return -EINVAL;
		}
	}
	*spec = s;
	return 0;
}

static bool uuid_matches(const struct gp_spec *spec, const uint8_t uuid[16])
{
	unsigned int whole = spec->uuid_digits / 2;

	if (memcmp(spec->uuid, uuid, whole))
		return false;
	return !(spec->uuid_digits % 2) || spec->uuid[whole] >> 4 == uuid[whole] >> 4;
}

bool gp_spec_matches(const struct gp_spec *spec, const struct gp_device_id *id)
{
	char soft[GP_DEVICE_NAME_LEN];

	switch (spec->kind) {
	case GP_SPEC_ANY:
		return true;
	case GP_SPEC_SOFT:
		snprintf(soft, sizeof(soft), "soft%u", spec->soft);
		return !strcmp(soft, id->name);
	case GP_SPEC_UUID:
		return uuid_matches(spec, id->uuid);
	case GP_SPEC_PCI:
		return spec->pci_domain == id->pci_domain && spec->pci_bus == id->pci_bus &&
		       spec->pci_dev == id->pci_dev && spec->pci_fn == id->pci_fn;
	}
	return false;
}

/* ---- opening --------------------------------------------------------------------- */

static bool digits_only(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static int refuse_spec(const char *text, char *why, size_t why_len)
{
	if (digits_only(text))
		explain(why, why_len,
			"device '%.64s': a bare index is ambiguous under CUDA_VISIBLE_DEVICES; "
			"write a UUID (GPU-...), a PCI address (0000:3b:00.0) or soft0",
			text);
	else
		explain(why, why_len,
			"device '%.64s': not a UUID (GPU- and at least 8 hex "
			"digits), a PCI address (0000:3b:00.0) or soft0",
			text);
	return -EINVAL;
}

/*
 * One backend's devices that match; opens one if it is the only one. @chosen: the user chose
 * this backend, so it explains itself if it has no device.
 */
static int open_in(const struct gp_hal_ops *ops, const struct gp_spec *spec, const char *text,
		   bool chosen, struct gp_device **dev, char *why, size_t why_len)
{
	struct gp_device_list list = { 0 };
	const struct gp_device_id *match = NULL;
	int r = ops->probe(&list);

	if (r) {
		explain(why, why_len, "%s: cannot list devices: %s", ops->name, strerror(-r));
		if (why && why_len)
			ops->explain(r, why, why_len);
		return r;
	}
	for (size_t i = 0; i < list.count; i++) {
		if (!gp_spec_matches(spec, &list.dev[i]))
			continue;
		if (match && spec->kind != GP_SPEC_ANY) {
			explain(why, why_len,
				"device '%.64s': several devices match; write more digits", text);
			return -EINVAL;
		}
		match = match ? match : &list.dev[i];
	}
	if (!match) {
		if (chosen && !list.count && why && why_len)
			ops->explain(-ENODEV, why, why_len);
		return -ENODEV;
	}
	r = ops->open(match, dev);
	if (r) {
		explain(why, why_len, "%s: cannot open %s: %s", ops->name, match->name,
			strerror(-r));
		if (why && why_len)
			ops->explain(r, why, why_len);
	}
	if (!r)
		(*dev)->ops = ops;
	return r;
}

/* NVIDIA's backend finds cards without a driver. */
static void explain_missing(char *why, size_t why_len)
{
	const struct gp_hal_ops *ops = gp_hal_find("nvidia");

	explain(why, why_len,
		"no GPU found: neither NVIDIA's driver nor AMD's KFD lists one; see gpreempt "
		"doctor, or use the software GPU, --device=soft0 or GPREEMPT_BACKEND=softgpu");
	if (ops && why && why_len)
		ops->explain(-ENODEV, why, why_len);
}

int gp_device_open(const char *text, struct gp_device **dev, char *why, size_t why_len)
{
	static const char *const order[] = { "nvidia", "amd" };
	const char *chosen = getenv("GPREEMPT_BACKEND");
	const struct gp_hal_ops *ops;
	struct gp_spec spec;
	int r = gp_spec_parse(text, &spec);

	if (r)
		return refuse_spec(text, why, why_len);
	explain(why, why_len, "%s", "");
	if (spec.kind == GP_SPEC_SOFT)
		chosen = "softgpu";
	if (chosen && *chosen) {
		ops = gp_hal_find(chosen);
		if (!ops) {
			explain(why, why_len,
				"GPREEMPT_BACKEND='%.32s': unknown backend; write nvidia, amd or "
				"softgpu",
				chosen);
			return -EINVAL;
		}
		r = open_in(ops, &spec, text, true, dev, why, why_len);
	} else {
		r = -ENODEV;
		for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && r == -ENODEV; i++) {
			ops = gp_hal_find(order[i]);
			if (ops)
				r = open_in(ops, &spec, text, false, dev, why, why_len);
		}
	}
	if (r == -ENODEV && (!why || !why_len || !*why)) {
		if (text)
			explain(why, why_len, "device '%.64s': no such device; see gpreempt doctor",
				text);
		else
			explain_missing(why, why_len);
	}
	return r;
}

void gp_device_close(struct gp_device *dev)
{
	if (dev)
		dev->ops->close(dev);
}
