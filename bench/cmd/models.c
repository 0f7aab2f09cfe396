// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/models.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/cmd/data.h"
#include "bench/cmd/device.h"
#include "bench/plan/alias.h"

#define NO_MODEL "-" /* of a client without a model, in aliases.json */

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
		gp_data_path("data/workloads/aliases.json", s->aliases);
}

static bool keep(const struct search *s, const char *text, char **copy)
{
	*copy = strdup(text);
	if (!*copy)
		snprintf(s->why, s->why_len, "out of memory");
	return *copy;
}

/* Open the workload of a model, or of its alias. */
static struct gp_workload *open_named(const struct search *s, const char *model, char **name)
{
	char path[PATH_MAX];

	if (is_made_by_name(model))
		return keep(s, model, name) ? gp_workload_named(model, s->why, s->why_len) : NULL;
	if (!is_file_name(model) || !path_of(s, model, path)) {
		snprintf(s->why, s->why_len, "%s: a workload's name is wanted", model);
		return NULL;
	}
	return keep(s, path, name) ? gp_workload_read(path, s->why, s->why_len) : NULL;
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
		snprintf(s->why, s->why_len,
			 "%s is neither a file of --workloads=%s nor in %s; record it with "
			 "bench/record/record.py, or name a substitute there",
			 model, s->folder, s->aliases);
		return NULL;
	}
	w = open_named(&(struct search){ .folder = s->folder, .why = why, .why_len = sizeof(why) },
		       alias, name);
	if (!w)
		snprintf(s->why, s->why_len,
			 "%s, replaced by %s: %s; name the folder of recorded models with "
			 "--workloads=DIR",
			 model, alias, why);
	return w;
}

/* Return: the reason why the workload cannot run there; NULL: it can. */
static const char *what_keeps(const struct gp_workload *w, const struct gp_plan *plan, size_t i,
			      const char *device)
{
	if (gp_workload_needs_device(w) && !device)
		return "its time is known only on a device; add --device=ID";
	if (!gp_workload_is_torch(w))
		return NULL;
	if (gp_device_is_soft(device))
		return "PyTorch does not run on the software GPU";
	if (plan->client[i].after || gp_plan_waiters(plan, i))
		return "a client in PyTorch cannot depend on other clients, nor they on it";
	return NULL;
}

static struct gp_workload *open_client(struct search *s, const struct gp_plan *plan, size_t i,
				       const char *device, char **name)
{
	const struct gp_plan_client *c = &plan->client[i];
	const char *model = c->model ? c->model : NO_MODEL, *keeps;
	struct gp_workload *w;

	if (c->batch > 1) {
		snprintf(s->why, s->why_len, "client.batch_size: found %u, 1 is wanted", c->batch);
		return NULL;
	}
	w = open_model(s, model, name);
	keeps = w ? what_keeps(w, plan, i, device) : NULL;
	if (!keeps)
		return w;
	snprintf(s->why, s->why_len, "%s: %s", model, keeps);
	gp_workload_destroy(w);
	return NULL;
}

int gp_models_open(struct gp_models *models, const char *plan_name, const struct gp_plan *plan,
		   const char *folder, const char *device)
{
	char why[2 * PATH_MAX + 512];
	struct search s = { .folder = folder, .why = why, .why_len = sizeof(why) };

	*models = (struct gp_models){ 0 };
	find_aliases(&s);
	for (size_t i = 0; i < plan->clients; i++) {
		models->workload[i] = open_client(&s, plan, i, device, &models->name[i]);
		if (!models->workload[i]) {
			fprintf(stderr, "gpreempt-bench: %s: %s: %s\n", plan_name,
				plan->client[i].id, why);
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
