// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/plans.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/cmd/data.h"

/* The file of a suite's description, one line, in its folder. */
#define WHAT "what"
/* Likewise, if its plans are for some peers only. */
#define PEERS "peers"
#define DEPTH_MAX 4

static bool is_folder(const char *path)
{
	struct stat s;

	return !stat(path, &s) && S_ISDIR(s.st_mode);
}

#define PLANS "data/plans/"

static bool is_plan_file(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && !strcmp(dot, ".json");
}

/* The folder of an installed suite or of the user's; @below: where plan names begin in it. */
static void find_folder(const char *word, char path[PATH_MAX], size_t *below)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), PLANS "%s", strcmp(word, GP_PLANS_ALL) ? word : "");
	gp_data_path(name, path);
	*below = strlen(path) - strlen(name) + strlen(PLANS);
	if (!strchr(word, '.') && is_folder(path))
		return;
	snprintf(path, PATH_MAX, "%s", word);
	*below = 0;
}

bool gp_plans_are(const char *word)
{
	char path[PATH_MAX];
	size_t below;

	find_folder(word, path, &below);
	return *word && is_folder(path);
}

/* ---- reading --------------------------------------------------------------------- */

static int add_plan(struct gp_plans *plans, const char *path, const char *name)
{
	struct gp_corun_plan *more = realloc(plans->list, (plans->count + 1) * sizeof(*more));
	char why[256];

	if (!more)
		return -ENOMEM;
	plans->list = more;
	more += plans->count;
	more->plan = gp_plan_read(path, why, sizeof(why));
	if (!more->plan) {
		fprintf(stderr, "gpreempt-bench: %s\n", why);
		return -EINVAL;
	}
	more->name = strndup(name, strlen(name) - strlen(".json"));
	plans->count++;
	return more->name ? 0 : -ENOMEM;
}

static int add_folder(struct gp_plans *plans, const char *path, size_t below, int depth);

static int add_entry(struct gp_plans *plans, const char *folder, const char *name, size_t below,
		     int depth)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
		return -ENAMETOOLONG;
	if (*name != '.' && is_folder(path))
		return add_folder(plans, path, below, depth + 1);
	return is_plan_file(name) ? add_plan(plans, path, path + below) : 0;
}

static int add_folder(struct gp_plans *plans, const char *path, size_t below, int depth)
{
	struct dirent **entry;
	const int n = scandir(path, &entry, NULL, alphasort);
	int err = 0;

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (!err && depth < DEPTH_MAX)
			err = add_entry(plans, path, entry[i]->d_name, below, depth);
		free(entry[i]);
	}
	free(entry);
	return err;
}

/* The first line of the file @name in @folder, without its end; "": there is none. */
static void first_line(const char *folder, const char *name, char *line, size_t size)
{
	char path[2 * PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	*line = '\0';
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(line, (int)size, file))
		line[strcspn(line, "\n")] = '\0';
	fclose(file);
}

int gp_plans_open(struct gp_plans *plans, const char *word)
{
	const char *slash = strrchr(word, '/');
	char path[PATH_MAX];
	size_t below;
	int err;

	*plans = (struct gp_plans){ 0 };
	if (is_plan_file(word))
		return add_plan(plans, word, slash ? slash + 1 : word);
	find_folder(word, path, &below);
	first_line(path, PEERS, plans->only, sizeof(plans->only));
	err = add_folder(plans, path, below, 0);
	if (err || plans->count)
		return err;
	fprintf(stderr, "gpreempt-bench: %s: no plan there; a plan's file ends in .json\n", path);
	return -EINVAL;
}

void gp_plans_close(struct gp_plans *plans)
{
	for (size_t i = 0; i < plans->count; i++) {
		free((char *)plans->list[i].name);
		gp_plan_destroy((struct gp_plan *)plans->list[i].plan);
	}
	free(plans->list);
	*plans = (struct gp_plans){ 0 };
}

/* ---- listing --------------------------------------------------------------------- */

static void list_one(const char *folder, const char *name, FILE *out)
{
	char path[2 * PATH_MAX], line[256];

	snprintf(path, sizeof(path), "%s%s", folder, name);
	first_line(path, WHAT, line, sizeof(line));
	if (*line)
		fprintf(out, "%-13s %s\n", name, line);
}

void gp_plans_list(FILE *out)
{
	struct dirent **entry;
	char folder[PATH_MAX];
	int n;

	gp_data_path(PLANS, folder);
	n = scandir(folder, &entry, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		list_one(folder, entry[i]->d_name, out);
		free(entry[i]);
	}
	if (n < 0)
		return;
	free(entry);
	fprintf(out, "%-13s all of these, one after the other\n", GP_PLANS_ALL);
}
