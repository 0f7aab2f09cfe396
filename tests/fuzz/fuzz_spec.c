// SPDX-License-Identifier: Apache-2.0
/* Names of devices. */
#include "hal/spec.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct gp_device_id id = { 0 };
	char *text = fuzz_text(data, size);
	struct gp_spec spec = { 0 };

	if (!gp_spec_parse(text, &spec)) {
		FUZZ_CHECK(spec.kind != GP_SPEC_ANY);
		FUZZ_CHECK(spec.uuid_digits <= 2 * sizeof(spec.uuid));
		gp_spec_matches(&spec, &id);
	}
	free(text);
	return 0;
}
