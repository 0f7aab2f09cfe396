// SPDX-License-Identifier: Apache-2.0
/* A class as users write it: what is accepted survives a round trip. */
#include "client/class.h"
#include "tests/fuzz/fuzz.h"

static void round_trip(const struct gp_class_value *cls)
{
	struct gp_class_value again = { 0 };
	char text[GP_CLASS_TEXT_LEN];

	FUZZ_CHECK(!gp_class_check(cls->cls, cls->value));
	gp_class_format(cls, text, sizeof(text));
	FUZZ_CHECK(!gp_class_parse(text, &again));
	FUZZ_CHECK(again.cls == cls->cls && again.value == cls->value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp_class_value cls = { 77, 77 };
	char *text = fuzz_text(data, size);

	if (!gp_class_parse(text, &cls))
		round_trip(&cls);
	else
		FUZZ_CHECK(cls.cls == 77 && cls.value == 77);
	free(text);
	return 0;
}
