// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/container.h"

#include <stdlib.h>
#include <string.h>

const char *gp_container_annotation(const struct gp_container *c, const char *key)
{
	for (size_t i = 0; c && i < c->annotations; i++)
		if (!strcmp(c->annotation[i].key, key))
			return c->annotation[i].value;
	return NULL;
}

void gp_container_free(struct gp_container *c)
{
	if (!c)
		return;
	free(c->name);
	free(c->pod);
	free(c->namespace);
	free(c->image);
	for (size_t i = 0; i < c->annotations; i++) {
		free(c->annotation[i].key);
		free(c->annotation[i].value);
	}
	free(c);
}
