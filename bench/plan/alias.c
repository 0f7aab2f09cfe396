// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/alias.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bench/plan/one_line.h"

struct file {
	const char *path;
	char *why;
	size_t why_len;
};

static int wrong(const struct file *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int wrong(const struct file *f, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	gp_one_line_say(f->why, f->why_len, f->path, format, ap);
	va_end(ap);
	return -EINVAL;
}

static bool is_name(const json_t *value)
{
	const char *text = json_string_value(value);

	return gp_is_one_line(text) && *text && strlen(text) < GP_ALIAS_LEN;
}

static int check_all(const struct file *f, json_t *aliases)
{
	const char *key;
	char found[40];
	json_t *value;

	if (!json_is_object(aliases))
		return wrong(f, "aliases: {\"NAME\": \"WORKLOAD\", ..} is wanted");
	json_object_foreach(aliases, key, value)
	{
		if (is_name(value))
			continue;
		gp_one_line_value(value, found, sizeof(found));
		return wrong(f, "aliases.%.40s: found %s, a workload's name is wanted", key, found);
	}
	return 0;
}

static int find(const struct file *f, const json_t *root, const char *model,
		char name[GP_ALIAS_LEN])
{
	json_t *aliases = json_object_get(root, "aliases");
	const char *found;
	int err;

	if (json_integer_value(json_object_get(root, "schema_version")) != 1)
		return wrong(f, "schema_version: 1 is wanted");
	if (json_object_size(root) > 2)
		return wrong(f, "nothing but \"schema_version\" and \"aliases\" is wanted");
	err = check_all(f, aliases);
	if (err)
		return err;
	found = json_string_value(json_object_get(aliases, model));
	if (!found)
		return -ENOENT;
	strcpy(name, found);
	return 0;
}

/* Owns @root. */
static int find_in(json_t *root, const json_error_t *error, const struct file *f, const char *model,
		   char name[GP_ALIAS_LEN])
{
	int err;

	if (!root) {
		gp_one_line_json(error, f->path, f->why, f->why_len);
		return -EINVAL;
	}
	err = find(f, root, model, name);
	json_decref(root);
	return err;
}

int gp_alias_find(const char *path, const char *model, char name[GP_ALIAS_LEN], char *why,
		  size_t why_len)
{
	const struct file f = { path, why, why_len };
	json_error_t error;

	return find_in(json_load_file(path, JSON_REJECT_DUPLICATES, &error), &error, &f, model,
		       name);
}

int gp_alias_parse(const char *path, const char *text, size_t bytes, const char *model,
		   char name[GP_ALIAS_LEN], char *why, size_t why_len)
{
	const struct file f = { path, why, why_len };
	json_error_t error;

	return find_in(json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error), &error, &f, model,
		       name);
}
