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

static int all_peers(struct gp_schedulers *s, const char *folder)
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
		if (s->list && !err)
			err = read_peer(folder, entry[i]->d_name, &s->list[i]);
		free(entry[i]);
	}
	free(entry);
	s->count = s->list ? (size_t)n : 0;
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

int gp_schedulers_open(struct gp_schedulers *s, const char *peers)
{
	*s = (struct gp_schedulers){ 0 };
	return peers ? all_peers(s, peers) : of_model(s);
}

void gp_schedulers_close(struct gp_schedulers *s)
{
	for (size_t i = 0; i < s->count; i++)
		gp_peer_destroy(s->list[i].peer);
	free(s->list);
	*s = (struct gp_schedulers){ 0 };
}
