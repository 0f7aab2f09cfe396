// SPDX-License-Identifier: Apache-2.0
#include "bench/device/peer.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/json/one_line.h"

struct reading {
	const char *path;
	char *why;
	size_t why_len;
};

static bool wrong(const struct reading *r, const char *where, const char *what)
{
	snprintf(r->why, r->why_len, "%s: %s: %s", r->path, where, what);
	return false;
}

static bool take_words(const struct reading *r, const json_t *root, const char *field,
		       char *words[GP_PEER_WORDS + 1])
{
	const json_t *array = json_object_get(root, field), *word;
	size_t i;

	if (!json_is_array(array) || json_array_size(array) > GP_PEER_WORDS)
		return wrong(r, field, "a list of at most 16 words is wanted");
	json_array_foreach(array, i, word) {
		if (!json_is_string(word))
			return wrong(r, field, "something else than a word is in the list");
		words[i] = strdup(json_string_value(word));
		if (!words[i])
			return wrong(r, field, "no memory");
	}
	return true;
}

static bool take_text(const struct reading *r, const json_t *root, const char *field,
		      char **text)
{
	const char *value = json_string_value(json_object_get(root, field));

	if (!value || !*value)
		return wrong(r, field, "a text is wanted");
	*text = strdup(value);
	return *text || wrong(r, field, "no memory");
}

static bool knows_all(const struct reading *r, json_t *root)
{
	static const char *const fields[] = { "schema_version", "name", "what", "lc", "be",
					      "hint", "needs" };
	const char *key;
	json_t *value;

	json_object_foreach(root, key, value) {
		size_t i = 0;

		while (i < sizeof(fields) / sizeof(fields[0]) && strcmp(key, fields[i]))
			i++;
		if (i == sizeof(fields) / sizeof(fields[0]))
			return wrong(r, key, "there is no such field");
	}
	return true;
}

static bool take(const struct reading *r, json_t *root, struct gp_peer *p)
{
	if (!json_is_object(root) ||
	    json_integer_value(json_object_get(root, "schema_version")) != 1)
		return wrong(r, "schema_version", "1 is wanted");
	if (!knows_all(r, root) || !take_text(r, root, "name", &p->name) ||
	    !take_text(r, root, "what", &p->what) || !take_words(r, root, "lc", p->lc) ||
	    !take_words(r, root, "be", p->be) || !take_words(r, root, "needs", p->needs))
		return false;
	if (!json_is_boolean(json_object_get(root, "hint")))
		return wrong(r, "hint", "true or false is wanted");
	p->hint = json_is_true(json_object_get(root, "hint"));
	return true;
}

struct gp_peer *gp_peer_read(const char *path, char *why, size_t why_len)
{
	const struct reading r = { path, why, why_len };
	struct gp_peer *p;
	json_error_t error;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	if (!root) {
		gp_one_line_json(&error, path, why, why_len);
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (p && !take(&r, root, p)) {
		gp_one_line(why);
		gp_peer_destroy(p);
		p = NULL;
	} else if (!p) {
		wrong(&r, "-", "no memory");
	}
	json_decref(root);
	return p;
}

static void free_words(char **words)
{
	while (*words)
		free(*words++);
}

void gp_peer_destroy(struct gp_peer *peer)
{
	if (!peer)
		return;
	free(peer->name);
	free(peer->what);
	free_words(peer->lc);
	free_words(peer->be);
	free_words(peer->needs);
	free(peer);
}

static bool is_found(const char *program)
{
	const char *at = getenv("PATH");
	char path[PATH_MAX];

	for (; at && *at; at += strcspn(at, ":"), at += *at == ':') {
		const int n = (int)strcspn(at, ":");

		if ((size_t)snprintf(path, sizeof(path), "%.*s/%s", n, at, program) <
			    sizeof(path) && !access(path, X_OK))
			return true;
	}
	return false;
}

const char *gp_peer_lacks(const struct gp_peer *peer)
{
	for (char *const *program = peer->needs; *program; program++)
		if (!is_found(*program))
			return *program;
	return NULL;
}
