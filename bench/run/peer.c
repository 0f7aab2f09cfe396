// SPDX-License-Identifier: Apache-2.0
#include "bench/run/peer.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "yaml/yaml.h"

_Static_assert(GP_PEER_WHY_LEN >= GP_YAML_WHY_LEN, "its lines are not cut");

/* ---- the file -------------------------------------------------------------------- */

static const struct gp_yaml_type text_type = { GP_YAML_TEXT, 1, GP_PEER_TEXT_MAX, NULL, NULL };
static const struct gp_yaml_type bool_type = { .kind = GP_YAML_BOOL };
static const struct gp_yaml_type words_type = { GP_YAML_LIST, 0, GP_PEER_WORDS, &text_type, NULL };

static int take_text(struct gp_yaml *y, const char *text, void *to)
{
	char **copy = to;

	*copy = strdup(text);
	return *copy ? 0 : -ENOMEM;
}

static int take_bool(struct gp_yaml *y, const char *text, void *to)
{
	*(bool *)to = !strcmp(text, "true");
	return 0;
}

static int take_word(struct gp_yaml *y, const char *text, void *to)
{
	struct gp_peer_words *words = to;

	return take_text(y, text, &words->word[words->count++]);
}

#define KEY(member, kind, required, fn)                                                           \
	{                                                                                         \
		.key = #member, .type = &kind##_type, required, offsetof(struct gp_peer, member), \
		fn                                                                                \
	}

static const struct gp_yaml_key keys[] = {
	KEY(name, text, true, take_text),	 KEY(what, text, true, take_text),
	KEY(lc, words, true, take_word),	 KEY(be, words, true, take_word),
	KEY(hint, bool, true, take_bool),	 KEY(needs, words, true, take_word),
	KEY(together, words, false, take_word),	 KEY(beside, words, false, take_word),
	KEY(cards_only, bool, false, take_bool), { NULL },
};

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

static int take_all(struct gp_yaml *y, struct gp_peer *p)
{
	yaml_node_t *together = gp_yaml_value(y, gp_yaml_root(y), "together");
	int err = gp_yaml_take(y, gp_yaml_root(y), keys, p);

	if (err)
		return err;
	if (p->together.count && (p->lc.count || p->be.count))
		return gp_yaml_refuse(y, gp_yaml_line(together), "together", NULL,
				      "found beside words in lc or be; write \"lc: []\" and "
				      "\"be: []\", or no together");
	p->folder = folder_of(y->name);
	return p->folder ? 0 : -ENOMEM;
}

struct gp_peer *gp_peer_parse(const char *path, const char *text, size_t bytes, char *why,
			      size_t why_len)
{
	struct gp_peer *p;
	struct gp_yaml y;
	int err = gp_yaml_open(&y, keys, path, text, bytes, why, why_len);

	if (err)
		return NULL;
	p = calloc(1, sizeof(*p));
	err = p ? take_all(&y, p) : -ENOMEM;
	if (err == -ENOMEM)
		gp_yaml_refuse(&y, 0, NULL, NULL, "out of memory");
	gp_yaml_close(&y);
	if (!err)
		return p;
	gp_peer_destroy(p);
	return NULL;
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

static void destroy_words(const struct gp_peer_words *words)
{
	for (uint32_t i = 0; i < words->count; i++)
		free(words->word[i]);
}

void gp_peer_destroy(struct gp_peer *peer)
{
	if (!peer)
		return;
	destroy_words(&peer->lc);
	destroy_words(&peer->be);
	destroy_words(&peer->needs);
	destroy_words(&peer->together);
	destroy_words(&peer->beside);
	free(peer->name);
	free(peer->what);
	free(peer->folder);
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
		snprintf(why, why_len, "does not run on the software GPU");
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
