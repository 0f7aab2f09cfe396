// SPDX-License-Identifier: Apache-2.0
/* Calls for sleep and wake as users write them, and the answers of a program. */
#include <stdio.h>

#include "runtime/hook.h"
#include "tests/fuzz/fuzz.h"

static void check_url(const struct gp_hook_url *url)
{
	struct gp_hook_url again;
	char text[GP_HOOK_URL_LEN + 32];

	FUZZ_CHECK(url->port && url->path[0] == '/');
	snprintf(text, sizeof(text), "http://127.0.0.1:%u%s", url->port, url->path);
	FUZZ_CHECK(!gp_hook_parse_url(text, &again));
	FUZZ_CHECK(again.port == url->port && !strcmp(again.path, url->path));
	for (const char *c = url->path; *c; c++)
		FUZZ_CHECK(*c > ' ' && *c <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct gp_hook_url url;
	struct gp_hook hook;

	if (!gp_hook_parse(text, &hook)) {
		check_url(&hook.sleep);
		check_url(&hook.wake);
		FUZZ_CHECK(hook.limit_ns && hook.limit_ns <= GP_HOOK_LIMIT_MAX_NS);
	}
	if (!gp_hook_parse_url(text, &url))
		check_url(&url);
	if (!gp_hook_answer((const char *)data, size))
		FUZZ_CHECK(size >= 12 && data[9] == '2');
	free(text);
	return 0;
}
