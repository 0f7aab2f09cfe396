// SPDX-License-Identifier: Apache-2.0
#include "bench/device/peer.h"

#include <errno.h>
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
		if (!json_is_string(word) || !*json_string_value(word))
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

static bool take_some_words(const struct reading *r, const json_t *root, const char *field,
			    char *words[GP_PEER_WORDS + 1])
{
	return !json_object_get(root, field) || take_words(r, root, field, words);
}

static bool take_bool(const struct reading *r, const json_t *value, const char *field,
		      bool *is)
{
	*is = json_is_true(value);
	return json_is_boolean(value) || wrong(r, field, "true or false is wanted");
}

static bool take_folder(const struct reading *r, struct gp_peer *p)
{
	const char *slash = strrchr(r->path, '/');

	p->folder = slash ? strndup(r->path, (size_t)(slash - r->path)) : strdup(".");
	return p->folder || wrong(r, "-", "no memory");
}

static bool knows_all(const struct reading *r, json_t *root)
{
	static const char *const fields[] = { "schema_version", "name", "what", "lc", "be",
					      "hint", "needs", "together", "beside",
					      "cards_only" };
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
	if (!take_folder(r, p) || !take_some_words(r, root, "together", p->together) ||
	    !take_some_words(r, root, "beside", p->beside) ||
	    !take_bool(r, json_object_get(root, "hint"), "hint", &p->hint))
		return false;
	if (p->together[0] && (p->lc[0] || p->be[0]))
		return wrong(r, "together", "nothing in \"lc\" and \"be\" is wanted beside it");
	return !json_object_get(root, "cards_only") ||
	       take_bool(r, json_object_get(root, "cards_only"), "cards_only", &p->cards_only);
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
	free(peer->folder);
	free_words(peer->lc);
	free_words(peer->be);
	free_words(peer->needs);
	free_words(peer->together);
	free_words(peer->beside);
	free(peer);
}

/* ---- words ----------------------------------------------------------------------- */

/* NULL: there is no such one. */
static const char *value_of(const struct gp_peer *peer, const struct gp_peer_names *names,
			    const char *name)
{
	const struct {
		const char *name, *value;
	} known[] = {
		{ "device", names->device }, { "class", names->class_name },
		{ "client", names->client }, { "folder", names->folder },
		{ "peers", peer->folder }, { "class_times", names->class_times },
	};

	if (*name == '$')
		return getenv(name + 1);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, name))
			return known[i].value;
	return NULL;
}

static int add(char *out, size_t len, size_t *at, const char *text, size_t n)
{
	if (n >= len - *at)
		return -E2BIG;
	memcpy(out + *at, text, n);
	*at += n;
	out[*at] = '\0';
	return 0;
}

int gp_peer_word(const struct gp_peer *peer, const struct gp_peer_names *names,
		 const char *word, char *out, size_t len)
{
	size_t at = 0;
	int err = 0;

	*out = '\0';
	while (*word && !err) {
		const size_t plain = *word == '{' ? 0 : strcspn(word, "{");
		const char *end = plain ? NULL : strchr(word, '}'), *value;
		char name[64];

		if (plain || !end) {
			/* A brace that nothing closes is one. */
			const size_t n = plain ? plain : strlen(word);

			err = add(out, len, &at, word, n);
			word += n;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(end - word - 1), word + 1);
		value = value_of(peer, names, name);
		if (!value) {
			snprintf(out, len, "%s", name);
			return -ENOENT;
		}
		err = add(out, len, &at, value, strlen(value));
		word = end + 1;
	}
	return err;
}

/* ---- whether it is there --------------------------------------------------------- */

static bool is_found(const char *program)
{
	const char *at = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(program, '/'))
		return !access(program, R_OK);
	for (; at && *at; at += strcspn(at, ":"), at += *at == ':') {
		const int n = (int)strcspn(at, ":");

		if ((size_t)snprintf(path, sizeof(path), "%.*s/%s", n, at, program) <
			    sizeof(path) && !access(path, X_OK))
			return true;
	}
	return false;
}

bool gp_peer_is_absent(const struct gp_peer *peer, bool soft, char *why, size_t why_len)
{
	const struct gp_peer_names names = { 0 };
	char need[PATH_MAX];

	if (soft && peer->cards_only) {
		snprintf(why, why_len, "it is nothing for the software GPU");
		return true;
	}
	for (char *const *word = peer->needs; *word; word++) {
		if (gp_peer_word(peer, &names, *word, need, sizeof(need))) {
			snprintf(why, why_len, "%.64s is not set", need);
			return true;
		}
		if (!is_found(need)) {
			snprintf(why, why_len, "%.160s is not installed", need);
			return true;
		}
	}
	return false;
}
