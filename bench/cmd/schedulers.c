// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/schedulers.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_peer(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".yaml");
}

static int read_peer(const char *folder, const char *name, struct gp_scheduler *to)
{
	char path[PATH_MAX], why[GP_PEER_WHY_LEN];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	to->peer = gp_peer_read(path, why, sizeof(why));
	if (!to->peer) {
		fprintf(stderr, "gpreempt-bench: %s\n", why);
		return -EINVAL;
	}
	to->name = to->peer->name;
	return 0;
}

/* Is @name, without .yaml, one of the words of @only? */
static bool is_one_of(const char *name, const char *only)
{
	const size_t length = strlen(name) - strlen(".yaml");

	for (only += strspn(only, " "); *only; only += strspn(only, " ")) {
		const size_t word = strcspn(only, " ");

		if (word == length && !strncmp(only, name, word))
			return true;
		only += word;
	}
	return false;
}

static int read_peers(struct gp_schedulers *s, const char *folder, const char *only)
{
	struct dirent **entry;
	int n = scandir(folder, &entry, is_peer, alphasort), err = 0;

	if (n <= 0) {
		fprintf(stderr, "gpreempt-bench: --peers=%s: %s\n", folder,
			n ? strerror(errno) : "no file there ends in .yaml");
		return -ENOENT;
	}
	s->list = calloc((size_t)n, sizeof(*s->list));
	for (int i = 0; i < n; i++) {
		if (s->list && !err && (!only || !*only || is_one_of(entry[i]->d_name, only)))
			err = read_peer(folder, entry[i]->d_name, &s->list[s->count++]);
		free(entry[i]);
	}
	free(entry);
	if (s->list && !err && !s->count) {
		fprintf(stderr, "gpreempt-bench: %s: no peer of the suite is there: %s\n", folder,
			only);
		err = -ENOENT;
	}
	return s->list ? err : -ENOMEM;
}

static int of_model(struct gp_schedulers *s)
{
	s->list = calloc(GP_CORUN_SCHEDULERS, sizeof(*s->list));
	if (!s->list)
		return -ENOMEM;
	for (int i = 0; i < GP_CORUN_SCHEDULERS; i++)
		s->list[i] =
			(struct gp_scheduler){ .name = gp_corun_name((enum gp_corun_scheduler)i),
					       .of_model = (enum gp_corun_scheduler)i };
	s->count = GP_CORUN_SCHEDULERS;
	return 0;
}

int gp_schedulers_open(struct gp_schedulers *s, const char *peers, const char *only)
{
	*s = (struct gp_schedulers){ 0 };
	return peers ? read_peers(s, peers, only) : of_model(s);
}

void gp_schedulers_close(struct gp_schedulers *s)
{
	for (size_t i = 0; i < s->count; i++)
		gp_peer_destroy(s->list[i].peer);
	free(s->list);
	*s = (struct gp_schedulers){ 0 };
}
