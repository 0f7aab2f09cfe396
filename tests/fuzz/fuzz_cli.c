// SPDX-License-Identifier: Apache-2.0
/* Durations, sizes and PIDs of the command line. */
#include "cli/cli.h"
#include "runtime/size.h"
#include "tests/fuzz/fuzz.h"

#define UNTOUCHED 0x5a5a5a5a

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	uint64_t ns = UNTOUCHED, bytes = UNTOUCHED, again;
	char written[GP_SIZE_TEXT_LEN];
	struct gp_size_range range = { 1, 0 };
	pid_t pid = UNTOUCHED;

	if (gp_parse_duration(text, &ns))
		FUZZ_CHECK(ns == UNTOUCHED);
	if (gp_parse_size(text, &bytes)) {
		FUZZ_CHECK(bytes == UNTOUCHED);
	} else {
		gp_format_size(bytes, written, sizeof(written));
		FUZZ_CHECK(!gp_parse_size(written, &again) && again == bytes);
	}
	if (gp_parse_size_range(text, &range))
		FUZZ_CHECK(range.min == 1 && !range.max);
	else
		FUZZ_CHECK(range.min <= range.max && range.max);
	if (gp_parse_pid(text, &pid))
		FUZZ_CHECK(pid == UNTOUCHED);
	else
		FUZZ_CHECK(pid > 0);
	free(text);
	return 0;
}
