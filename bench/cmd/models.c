// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/models.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/cmd/data.h"
#include "bench/workload/alias.h"

#define NO_MODEL "-"		/* as aliases.json calls it */

struct search {
	const char *folder;
	char aliases[PATH_MAX];
	char *why;
	size_t why_len;
};

static bool is_file_name(const char *model)
{
	return *model && *model != '.' && !strchr(model, '/');
}

static bool is_made_by_name(const char *model)
{
	return strchr(model, ':');
}

static bool path_of(const struct search *s, const char *model, char path[PATH_MAX])
{
	return (size_t)snprintf(path, PATH_MAX, "%s/%s.json", s->folder, model) < PATH_MAX;
}

static void find_aliases(struct search *s)
{
	if (!path_of(s, "aliases", s->aliases) || access(s->aliases, R_OK))
		gp_data_path("workloads/aliases.json", s->aliases);
}

/* Of a model itself, or of what stands for it. */
static struct gp_workload *open_named(const struct search *s, const char *model, char **name)
{
	char path[PATH_MAX];

	if (is_made_by_name(model)) {
		*name = strdup(model);
		return gp_workload_named(model, s->why, s->why_len);
	}
	if (!is_file_name(model) || !path_of(s, model, path)) {
		snprintf(s->why, s->why_len, "%s: a workload's name is wanted", model);
		return NULL;
	}
	*name = strdup(path);
	return gp_workload_read(path, s->why, s->why_len);
}

static bool is_there(const struct search *s, const char *model)
{
	char path[PATH_MAX];

	return is_made_by_name(model) || !is_file_name(model) ||
	       (path_of(s, model, path) && !access(path, F_OK));
}

static struct gp_workload *open_model(const struct search *s, const char *model, char **name)
{
	char alias[GP_ALIAS_LEN], why[256];
	struct gp_workload *w;
	int err;

	if (is_there(s, model))
		return open_named(s, model, name);
	err = gp_alias_find(s->aliases, model, alias, s->why, s->why_len);
	if (err == -EINVAL)
		return NULL;
	if (err) {
		snprintf(s->why, s->why_len, "%s is neither a file of --workloads=%s nor in %s: "
			 "record it (bench/record/record.py), or say there what stands for it",
			 model, s->folder, s->aliases);
		return NULL;
	}
	w = open_named(&(struct search){ .folder = s->folder, .why = why,
					 .why_len = sizeof(why) }, alias, name);
	if (!w)
		snprintf(s->why, s->why_len, "%s, for which %s stands: %s; --workloads=DIR is "
			 "where recorded models are", model, alias, why);
	return w;
}

int gp_models_open(struct gp_models *models, const char *plan_name,
		   const struct gp_plan *plan, const char *folder, bool on_device)
{
	char why[2 * PATH_MAX + 512];
	struct search s = { .folder = folder, .why = why, .why_len = sizeof(why) };

	*models = (struct gp_models){ 0 };
	find_aliases(&s);
	for (size_t i = 0; i < plan->clients; i++) {
		const struct gp_plan_client *c = &plan->client[i];

		if (c->batch > 1)
			snprintf(why, sizeof(why), "client.batch_size: found %u, 1 is wanted",
				 c->batch);
		else
			models->workload[i] = open_model(&s, c->model ? c->model : NO_MODEL,
							 &models->name[i]);
		if (models->workload[i] && !on_device &&
		    gp_workload_needs_device(models->workload[i])) {
			snprintf(why, sizeof(why), "%s: only a device can say what it takes; "
				 "--device=ID is wanted", c->model);
			gp_workload_destroy(models->workload[i]);
			models->workload[i] = NULL;
		}
		if (!models->workload[i]) {
			fprintf(stderr, "gpreempt-bench: %s: %s: %s\n", plan_name, c->id, why);
			return -ENOENT;
		}
	}
	return 0;
}

void gp_models_close(struct gp_models *models)
{
	for (size_t i = 0; i < GP_PLAN_CLIENTS_MAX; i++) {
		gp_workload_destroy(models->workload[i]);
		free(models->name[i]);
	}
	*models = (struct gp_models){ 0 };
}

void gp_models_say(const struct gp_models *models, const struct gp_plan *plan, size_t client,
		   char *text, size_t len)
{
	const char *model = plan->client[client].model ? plan->client[client].model : NO_MODEL;
	const char *name = models->workload[client]->name;

	if (strcmp(model, name))
		snprintf(text, len, "%s for %s", name, model);
	else
		snprintf(text, len, "%s", name);
}
