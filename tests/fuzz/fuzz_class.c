// SPDX-License-Identifier: Apache-2.0
/*
 * A class as users write it: what is accepted survives a round trip, and both
 * parsers are of one mind.
 */
#include "runtime/class.h"
#include "tests/fuzz/fuzz.h"

static void round_trip(const struct gp_class_request *request)
{
	struct gp_class_request again;
	char text[GP_CLASS_REQUEST_TEXT_LEN];
	const char *why;

	FUZZ_CHECK(!gp_class_check(request->cls.cls, request->cls.value));
	FUZZ_CHECK(request->runtime_ns <= request->deadline_ns &&
		   request->deadline_ns <= request->period_ns &&
		   request->period_ns <= GP_PERIOD_MAX_NS);
	FUZZ_CHECK(!request->runtime_ns == !request->period_ns);
	FUZZ_CHECK(request->cap_pct <= GP_CAP_MAX_PCT);
	FUZZ_CHECK(!request->cap_pct || !request->period_ns);
	gp_class_request_format(request, text, sizeof(text));
	FUZZ_CHECK(!gp_class_request_parse(text, &again, &why));
	FUZZ_CHECK(!memcmp(request, &again, sizeof(again)));
}

static void short_form(const char *text, int err, const struct gp_class_request *request)
{
	struct gp_class_value cls = { 77, 77 };
	int r = gp_class_parse(text, &cls);

	FUZZ_CHECK(!r == (!err && !gp_class_request_extra(request)));
	if (r)
		FUZZ_CHECK(cls.cls == 77 && cls.value == 77);
	else
		FUZZ_CHECK(cls.cls == request->cls.cls && cls.value == request->cls.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp_class_request request = { { 77, 77 }, 77, 77, 77, 77, 77 };
	const struct gp_class_request untouched = request;
	char *text = fuzz_text(data, size);
	const char *why = NULL;
	int err = gp_class_request_parse(text, &request, &why);

	if (err)
		FUZZ_CHECK(why && *why && !memcmp(&request, &untouched, sizeof(request)));
	else
		round_trip(&request);
	short_form(text, err, &request);
	free(text);
	return 0;
}
