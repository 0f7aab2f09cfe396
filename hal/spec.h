/* SPDX-License-Identifier: Apache-2.0 */
/* spec.h - the parser of device names; its tests and the fuzzer use it too. */
#ifndef GP_HAL_SPEC_H
#define GP_HAL_SPEC_H

#include <stdbool.h>

#include "gpreempt/hal.h"

enum gp_spec_kind {
	GP_SPEC_ANY,
	GP_SPEC_SOFT,
	GP_SPEC_UUID,
	GP_SPEC_PCI
};

struct gp_spec {
	enum gp_spec_kind kind;
	uint32_t soft;
	uint8_t uuid[16];
	unsigned int uuid_digits; /* digits given in uuid */
	uint32_t pci_domain;
	uint8_t pci_bus, pci_dev, pci_fn;
};

/** 0, or -EINVAL: none of the forms. NULL is GP_SPEC_ANY. */
int gp_spec_parse(const char *text, struct gp_spec *spec);
bool gp_spec_matches(const struct gp_spec *spec, const struct gp_device_id *id);

#endif
