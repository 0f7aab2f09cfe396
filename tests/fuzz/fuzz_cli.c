// SPDX-License-Identifier: Apache-2.0
/* Durations and PIDs of the command line. */
#include "cli/cli.h"
#include "tests/fuzz/fuzz.h"

#define UNTOUCHED 0x5a5a5a5a

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	uint64_t ns = UNTOUCHED;
	pid_t pid = UNTOUCHED;

	if (gp_parse_duration(text, &ns))
		FUZZ_CHECK(ns == UNTOUCHED);
	if (gp_parse_pid(text, &pid))
		FUZZ_CHECK(pid == UNTOUCHED);
	else
		FUZZ_CHECK(pid > 0);
	free(text);
	return 0;
}
