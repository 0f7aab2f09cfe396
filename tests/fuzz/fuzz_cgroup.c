// SPDX-License-Identifier: Apache-2.0
/* /proc/PID/cgroup and cgroup.events. */
#include "daemon/discover/freezer.h"
#include "daemon/discover/proc.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *path;

	FUZZ_CHECK(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	FUZZ_CHECK(!gp_freezer_parse(text) || strstr(text, "frozen 1"));
	path = gp_proc_parse_cgroup2(text);
	if (path) {
		FUZZ_CHECK(path > text && path <= text + size);
		FUZZ_CHECK(*path == '/' && !strchr(path, '\n'));
	}
	free(text);
	return 0;
}
