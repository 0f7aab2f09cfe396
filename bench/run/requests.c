// SPDX-License-Identifier: Apache-2.0
#include "bench/run/requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool make_room(struct gp_plan_done *c, size_t *room)
{
	const size_t more = *room ? 2 * *room : 1024;
	struct gp_request *request;
	uint64_t *token_ns;

	if (c->requests < *room)
		return true;
	request = realloc(c->request, more * sizeof(*request));
	if (!request)
		return false;
	c->request = request;
	token_ns = realloc(c->tokens.ns, (more * c->tokens.of_each + 1) * sizeof(*token_ns));
	if (!token_ns)
		return false;
	c->tokens.ns = token_ns;
	*room = more;
	return true;
}

static size_t count_tokens(const char *text)
{
	size_t count = *text == ',';

	for (; *text; text++)
		count += *text == ' ';
	return count;
}

/* As many as the first request had. */
static bool read_tokens(const struct gp_plan_done *c, const char *text)
{
	uint64_t *ns = c->tokens.ns + c->requests * c->tokens.of_each;
	char *end;

	if (count_tokens(text) != c->tokens.of_each)
		return false;
	for (size_t i = 0; i < c->tokens.of_each; i++, text = end) {
		ns[i] = strtoull(text + 1, &end, 10);
		if (end == text + 1)
			return false;
	}
	return true;
}

/* A line of the client's file; its head is none. */
static int read_sample(struct gp_plan_done *c, size_t *room, const char *line)
{
	struct gp_request one;
	int n = 0;

	if (sscanf(line, "%" SCNu64 ",%" SCNu64 ",%" SCNu64 "%n", &one.intended_ns, &one.start_ns,
		   &one.end_ns, &n) != 3)
		return 0;
	if (!c->requests)
		c->tokens.of_each = count_tokens(line + n);
	if (!make_room(c, room))
		return -ENOMEM;
	if (!read_tokens(c, line + n))
		return -EBADMSG;
	c->request[c->requests++] = one;
	return 0;
}

int gp_requests_read(const char *path, struct gp_plan_done *c)
{
	FILE *file = fopen(path, "re");
	size_t room = 0, len = 0;
	char *line = NULL;
	int err = 0;

	if (!file)
		return -errno;
	while (!err && getline(&line, &len, file) > 0)
		err = read_sample(c, &room, line);
	free(line);
	fclose(file);
	return err;
}
