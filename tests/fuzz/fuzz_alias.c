// SPDX-License-Identifier: Apache-2.0
/* Stand-ins for models: refused input leaves one line, accepted input is a name. */
#include <errno.h>

#include "bench/plan/alias.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[GP_ALIAS_LEN] = "", why[256] = "";
	int err = gp_alias_parse("fuzz", (const char *)data, size, "a", name, why, sizeof(why));

	FUZZ_CHECK(err == 0 || err == -ENOENT || err == -EINVAL);
	FUZZ_CHECK((err == 0) == (*name != 0) && (err == -EINVAL) == (*why != 0));
	for (const char *at = err ? why : name; *at; at++)
		FUZZ_CHECK((unsigned char)*at >= ' ' && *at != 127);
	return 0;
}
