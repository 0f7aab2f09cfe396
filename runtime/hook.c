// SPDX-License-Identifier: Apache-2.0
#include "runtime/hook.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/duration.h"

#define STATUS_LEN 12 /* "HTTP/1.1 200" */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits at *@text, moved past; 0: none, or no port. */
static uint16_t read_port(const char **text)
{
	unsigned int port = 0;
	const char *p = *text;

	for (; is_digit(*p) && port <= UINT16_MAX; p++)
		port = port * 10 + (unsigned int)(*p - '0');
	*text = p;
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

static bool is_path(const char *text)
{
	if (*text != '/')
		return false;
	for (; *text; text++)
		if (*text <= ' ' || *text > '~' || *text == ',')
			return false;
	return true;
}

int gp_hook_parse_url(const char *text, struct gp_hook_url *url)
{
	static const char *const hosts[] = { "http://127.0.0.1:", "http://localhost:" };
	struct gp_hook_url u = { 0 };
	const char *at = NULL;

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (!strncmp(text, hosts[i], strlen(hosts[i])))
			at = text + strlen(hosts[i]);
	if (!at || strlen(text) >= GP_HOOK_URL_LEN)
		return -EINVAL;
	u.port = read_port(&at);
	if (!u.port || !is_path(at))
		return -EINVAL;
	memcpy(u.path, at, strlen(at));
	*url = u;
	return 0;
}

static int parse_limit(const char *text, uint64_t *limit_ns)
{
	int err = gp_parse_duration(text, limit_ns);

	return err || !*limit_ns || *limit_ns > GP_HOOK_LIMIT_MAX_NS ? -EINVAL : 0;
}

int gp_hook_parse(const char *text, struct gp_hook *hook)
{
	struct gp_hook h = { .limit_ns = GP_HOOK_LIMIT_NS };
	char copy[GP_HOOK_TEXT_LEN], *wake, *limit;
	int err;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, strlen(text) + 1);
	wake = strchr(copy, ',');
	if (!wake)
		return -EINVAL;
	*wake++ = '\0';
	limit = strchr(wake, ',');
	if (limit)
		*limit++ = '\0';
	err = gp_hook_parse_url(copy, &h.sleep);
	if (!err)
		err = gp_hook_parse_url(wake, &h.wake);
	if (!err && limit)
		err = parse_limit(limit, &h.limit_ns);
	if (!err)
		*hook = h;
	return err;
}

int gp_hook_answer(const char *text, size_t len)
{
	if (len < STATUS_LEN || memcmp(text, "HTTP/1.", 7) || !is_digit(text[7]) ||
	    text[8] != ' ' || !is_digit(text[9]) || !is_digit(text[10]) || !is_digit(text[11]))
		return -EPROTO;
	return text[9] == '2' ? 0 : -EREMOTEIO;
}
