// SPDX-License-Identifier: Apache-2.0
/* The calls by which a program frees its memory itself, as users write them, and their answers. */
#include <errno.h>
#include <string.h>

#include "runtime/hook.h"
#include "tests/common/gp_test.h"

static void test_url(void **state)
{
	struct gp_hook_url url = { 0 };

	assert_int_equal(gp_hook_parse_url("http://127.0.0.1:8000/sleep?level=1", &url), 0);
	assert_int_equal(url.port, 8000);
	assert_string_equal(url.path, "/sleep?level=1");
	assert_int_equal(gp_hook_parse_url("http://localhost:65535/", &url), 0);
	assert_int_equal(url.port, 65535);
	assert_string_equal(url.path, "/");
}

static void test_url_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"/",
		"http://",
		"http://127.0.0.1/",
		"http://127.0.0.1:/",
		"http://127.0.0.1:0/",
		"http://127.0.0.1:65536/",
		"http://127.0.0.1:99999999999999999999/",
		"http://127.0.0.1:+80/",
		"http://127.0.0.1:80",
		"http://127.0.0.1:80sleep",
		"http://127.0.0.1:80/a b",
		"http://127.0.0.1:80/a,b",
		"http://127.0.0.1:80/a\r\nb",
		"http://127.0.0.1:80/\x7f",
		"http://127.0.0.1:80/\xc3\xa4",
		"http://127.0.0.2:80/",
		"http://example.com:80/",
		"https://127.0.0.1:80/",
		" http://127.0.0.1:80/",
	};
	struct gp_hook_url url = { .port = 7 };
	char text[GP_HOOK_URL_LEN + 1] = "http://localhost:80/";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (gp_hook_parse_url(bad[i], &url) != -EINVAL || url.port != 7)
			fail_msg("'%s' is taken", bad[i]);
	memset(text + strlen(text), 'a', sizeof(text) - 1 - strlen(text));
	assert_int_equal(gp_hook_parse_url(text, &url), -EINVAL);
	text[GP_HOOK_URL_LEN - 1] = '\0';
	assert_int_equal(gp_hook_parse_url(text, &url), 0);
}

#define SLEEP "http://localhost:1/a"
#define WAKE "http://localhost:2/b"

static void test_hook(void **state)
{
	static const char *const bad[] = {
		"",
		SLEEP,
		SLEEP ",",
		"," WAKE,
		SLEEP "," WAKE ",",
		SLEEP "," WAKE ",0s",
		SLEEP "," WAKE ",61s",
		SLEEP "," WAKE ",10",
		SLEEP "," WAKE ",10s,",
		SLEEP ", " WAKE,
	};
	char text[GP_HOOK_TEXT_LEN + 1] = SLEEP "," WAKE ",10s";
	struct gp_hook hook = { .limit_ns = 7 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (gp_hook_parse(bad[i], &hook) != -EINVAL || hook.limit_ns != 7)
			fail_msg("'%s' is taken", bad[i]);
	memset(text + strlen(text), '0', sizeof(text) - 1 - strlen(text));
	assert_int_equal(gp_hook_parse(text, &hook), -EINVAL);
	assert_int_equal(gp_hook_parse(SLEEP "," WAKE, &hook), 0);
	assert_int_equal(hook.sleep.port, 1);
	assert_string_equal(hook.sleep.path, "/a");
	assert_int_equal(hook.wake.port, 2);
	assert_string_equal(hook.wake.path, "/b");
	assert_int_equal(hook.limit_ns, GP_HOOK_LIMIT_NS);
	assert_int_equal(gp_hook_parse(SLEEP "," WAKE ",60s", &hook), 0);
	assert_int_equal(hook.limit_ns, GP_HOOK_LIMIT_MAX_NS);
}

static void test_answer(void **state)
{
	static const struct {
		const char *text;
		int err;
	} answers[] = {
		{ "HTTP/1.0 200 OK\r\n", 0 },
		{ "HTTP/1.1 204", 0 },
		{ "HTTP/1.1 404 Not Found\r\n", -EREMOTEIO },
		{ "HTTP/1.1 500", -EREMOTEIO },
		{ "HTTP/1.1 50", -EPROTO },
		{ "HTTP/2.0 200", -EPROTO },
		{ "HTTP/1.x 200", -EPROTO },
		{ "HTTP/1.1 2x0", -EPROTO },
		{ "HTTP/1.1  200", -EPROTO },
		{ "", -EPROTO },
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (gp_hook_answer(answers[i].text, strlen(answers[i].text)) != answers[i].err)
			fail_msg("'%s' is not %d", answers[i].text, answers[i].err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_url),
		cmocka_unit_test(test_url_refused),
		cmocka_unit_test(test_hook),
		cmocka_unit_test(test_answer),
	};

	return gp_run_tests(tests);
}
