// SPDX-License-Identifier: Apache-2.0
#include "bench/device/peer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "yaml/yaml.h"

_Static_assert(GP_PEER_WHY_LEN >= GP_YAML_WHY_LEN, "its lines are not cut");

/* ---- the file -------------------------------------------------------------------- */

static const cyaml_schema_value_t word_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, GP_PEER_TEXT_MAX),
};

#define TEXT(member)                                                                   \
	CYAML_FIELD_STRING_PTR(#member, CYAML_FLAG_POINTER, struct gp_peer, member, 1, \
			       GP_PEER_TEXT_MAX)
#define BOOL(member, flags) CYAML_FIELD_BOOL(#member, flags, struct gp_peer, member)
#define WORDS(member, flags)                                                                  \
	CYAML_FIELD_SEQUENCE_COUNT(#member, flags, struct gp_peer, member.word, member.count, \
				   &word_schema, 0, GP_PEER_WORDS)

static const cyaml_schema_field_t fields[] = { TEXT(name),
					       TEXT(what),
					       WORDS(lc, CYAML_FLAG_DEFAULT),
					       WORDS(be, CYAML_FLAG_DEFAULT),
					       BOOL(hint, CYAML_FLAG_DEFAULT),
					       WORDS(needs, CYAML_FLAG_DEFAULT),
					       WORDS(together, CYAML_FLAG_OPTIONAL),
					       WORDS(beside, CYAML_FLAG_OPTIONAL),
					       BOOL(cards_only, CYAML_FLAG_OPTIONAL),
					       CYAML_FIELD_END };

static const cyaml_schema_value_t schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct gp_peer, fields),
};

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

/* 0, and what @y holds is whole; else it was said what is wrong. */
static int finish(struct gp_yaml *y)
{
	yaml_node_t *together = gp_yaml_value(y, gp_yaml_root(y), "together");
	struct gp_peer *p = y->data;

	if (p->together.count && (p->lc.count || p->be.count))
		return gp_yaml_refuse(y, gp_yaml_line(together), "together", NULL,
				      "found beside words in lc or be; write \"lc: []\" and "
				      "\"be: []\", or no together");
	p->folder = folder_of(y->name);
	return p->folder ? 0 : gp_yaml_refuse(y, 0, NULL, NULL, "out of memory");
}

struct gp_peer *gp_peer_parse(const char *path, const char *text, size_t bytes, char *why,
			      size_t why_len)
{
	struct gp_peer *p = NULL;
	struct gp_yaml y;

	if (gp_yaml_open(&y, &schema, path, text, bytes, why, why_len))
		return NULL;
	if (!finish(&y)) {
		p = y.data;
		y.data = NULL;
	}
	gp_yaml_close(&y);
	return p;
}

struct gp_peer *gp_peer_read(const char *path, char *why, size_t why_len)
{
	char *text;
	const ssize_t bytes = gp_yaml_load(path, false, &text, why, why_len);
	struct gp_peer *p;

	if (bytes < 0)
		return NULL;
	p = gp_peer_parse(path, text, (size_t)bytes, why, why_len);
	free(text);
	return p;
}

void gp_peer_destroy(struct gp_peer *peer)
{
	if (!peer)
		return;
	free(peer->folder);
	gp_yaml_free(&schema, peer);
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
		{ "peers", peer->folder },   { "class_times", names->class_times },
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

int gp_peer_word(const struct gp_peer *peer, const struct gp_peer_names *names, const char *word,
		 char *out, size_t len)
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
			    sizeof(path) &&
		    !access(path, X_OK))
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
	for (char *const *word = peer->needs.word; *word; word++) {
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
