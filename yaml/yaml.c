// SPDX-License-Identifier: Apache-2.0
/*
 * yaml.c - two passes over a text that is not trusted. The first refuses features that no file
 * of ours uses, before anything is built of them. The second checks libyaml's document against
 * the schema.
 */
#include "yaml/yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Nesting of mappings and lists, at most: one more than any schema has. */
#define DEPTH_MAX 4
#define FOUND_LEN 64
#define NAME_LEN 160
#define IN_QUOTES ", in quotes if it begins with {"

/* ---- reporting errors ------------------------------------------ */

/* Appends, and truncates at the end of the buffer. */
static void say(struct gp_yaml *y, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct gp_yaml *y, const char *format, ...)
{
	size_t used = y->why_len ? strnlen(y->why, y->why_len) : 0;
	va_list ap;

	if (used + 1 >= y->why_len)
		return;
	va_start(ap, format);
	vsnprintf(y->why + used, y->why_len - used, format, ap);
	va_end(ap);
}

/* Makes one line of it, without terminal control characters from the file. */
static void clean(struct gp_yaml *y)
{
	for (size_t i = 0; i < y->why_len && y->why[i]; i++)
		if ((unsigned char)y->why[i] < ' ' || y->why[i] == 127)
			y->why[i] = '?';
}

/* Never half of a UTF-8 character. */
static int shown_bytes(const char *text)
{
	size_t n = strnlen(text, FOUND_LEN);

	if (n == FOUND_LEN)
		while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
	return (int)n;
}

/* The end of a long path, with the file's own name. */
static const char *shown_name(const char *name)
{
	const size_t n = strlen(name);

	return n > NAME_LEN ? name + n - NAME_LEN : name;
}

int gp_yaml_refuse(struct gp_yaml *y, size_t line, const char *key, const char *found,
		   const char *right, ...)
{
	va_list ap;
	char text[GP_YAML_WHY_LEN];

	va_start(ap, right);
	vsnprintf(text, sizeof(text), right, ap);
	va_end(ap);
	if (y->why_len)
		y->why[0] = '\0';
	say(y, "%s:", shown_name(y->name));
	if (line)
		say(y, "%zu:", line);
	if (key)
		say(y, " %.*s:", shown_bytes(key), key);
	if (found)
		say(y, " found '%.*s%s';", shown_bytes(found), found,
		    found[shown_bytes(found)] ? "..." : "");
	say(y, " %s", text);
	clean(y);
	return -EINVAL;
}

/* A plain value that begins with a brace is parsed as a mapping, too. */
static bool is_in_braces(const yaml_node_t *node)
{
	return node->type == YAML_MAPPING_NODE &&
	       node->data.mapping.style == YAML_FLOW_MAPPING_STYLE;
}

static void known_keys(const struct gp_yaml_key *keys, char *buf, size_t len)
{
	size_t used = 0;

	for (; keys->key && used < len; keys++)
		used += (size_t)snprintf(buf + used, len - used, "%s%s", used ? ", " : "",
					 keys->key);
}

static int refuse_no_mapping(struct gp_yaml *y, size_t line, const char *key, const char *found,
			     const struct gp_yaml_key *keys)
{
	char known[256];

	known_keys(keys, known, sizeof(known));
	return gp_yaml_refuse(y, line, key, NULL, "found %s; write KEY: VALUE, keys here are %s",
			      found, known);
}

/* ---- characters ------------------------------------- */

/*
 * The length of the character at @at, stored to @c; 0: invalid. Refuses overlong forms,
 * surrogates and anything beyond U+10FFFF.
 */
static size_t utf8(const unsigned char *at, size_t left, uint32_t *c)
{
	const size_t n = at[0] < 0x80 ? 1 :
			 at[0] < 0xc2 ? 0 :
			 at[0] < 0xe0 ? 2 :
			 at[0] < 0xf0 ? 3 :
			 at[0] < 0xf5 ? 4 :
					0;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (!n || n > left)
		return 0;
	*c = n == 1 ? at[0] : at[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (at[i] & 0x3f);
	}
	if (*c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000))
		return 0;
	return n;
}

/* Controls, line ends of some tools only, the byte order mark, invalid characters. */
static bool is_invisible(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
	       (c & 0xfffe) == 0xfffe;
}

static int check_text(struct gp_yaml *y, const char *text, size_t bytes)
{
	const unsigned char *t = (const unsigned char *)text;
	size_t line = 1, n;
	uint32_t c;

	for (size_t i = 0; i < bytes; i += n) {
		n = utf8(t + i, bytes - i, &c);
		if (!n)
			return gp_yaml_refuse(y, line, NULL, NULL,
					      "found byte 0x%02x; write UTF-8 text", t[i]);
		if (is_invisible(c) && c != '\n' && c != '\r' && c != '\t')
			return gp_yaml_refuse(y, line, NULL, NULL,
					      "found character U+%04X; leave it out", c);
		line += c == '\n' || (c == '\r' && (i + 1 == bytes || t[i + 1] != '\n'));
	}
	return 0;
}

/* The text after its escapes are expanded. */
static bool is_visible(const yaml_char_t *text, size_t bytes)
{
	uint32_t c;
	size_t n;

	for (size_t i = 0; i < bytes; i += n) {
		n = utf8(text + i, bytes - i, &c);
		if (!n || is_invisible(c))
			return false;
	}
	return true;
}

/* ---- first pass: features that no file needs --------------------------------- */

struct guard {
	unsigned int depth, documents;
};

static int check_node(struct gp_yaml *y, size_t line, const yaml_char_t *anchor,
		      const yaml_char_t *tag)
{
	if (anchor)
		return gp_yaml_refuse(y, line, NULL, NULL,
				      "found the anchor &%.32s; write the value where it is needed",
				      (const char *)anchor);
	if (tag)
		return gp_yaml_refuse(y, line, NULL, NULL,
				      "found the tag %.32s; write the value without a tag",
				      (const char *)tag);
	return 0;
}

static int check_scalar(struct gp_yaml *y, size_t line, const yaml_event_t *e)
{
	int err = check_node(y, line, e->data.scalar.anchor, e->data.scalar.tag);

	if (!err && !is_visible(e->data.scalar.value, e->data.scalar.length))
		err = gp_yaml_refuse(y, line, NULL, NULL,
				     "found a line break or a control character in a value; write "
				     "the value in one line");
	return err;
}

static int check_depth(struct gp_yaml *y, size_t line, struct guard *g)
{
	if (++g->depth <= DEPTH_MAX)
		return 0;
	return gp_yaml_refuse(y, line, NULL, NULL,
			      "found more than %d nested lists and mappings; write fewer levels",
			      DEPTH_MAX);
}

static int check_event(struct gp_yaml *y, const yaml_event_t *e, struct guard *g)
{
	const size_t line = e->start_mark.line + 1;
	int err;

	switch (e->type) {
	case YAML_ALIAS_EVENT:
		return gp_yaml_refuse(y, line, NULL, NULL,
				      "found the alias *%.32s; write the value itself",
				      (const char *)e->data.alias.anchor);
	case YAML_SCALAR_EVENT:
		return check_scalar(y, line, e);
	case YAML_MAPPING_START_EVENT:
		err = check_node(y, line, e->data.mapping_start.anchor, e->data.mapping_start.tag);
		return err ? err : check_depth(y, line, g);
	case YAML_SEQUENCE_START_EVENT:
		err = check_node(y, line, e->data.sequence_start.anchor,
				 e->data.sequence_start.tag);
		return err ? err : check_depth(y, line, g);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		g->depth--;
		return 0;
	case YAML_DOCUMENT_START_EVENT:
		if (!g->documents++)
			return 0;
		return gp_yaml_refuse(y, line, NULL, NULL,
				      "found a second document; write one, without ---");
	default:
		return 0;
	}
}

static int not_yaml(struct gp_yaml *y, const yaml_parser_t *parser)
{
	if (parser->error == YAML_MEMORY_ERROR) {
		gp_yaml_refuse(y, 0, NULL, NULL, "out of memory; free some, then try again");
		return -ENOMEM;
	}
	return gp_yaml_refuse(y, parser->problem_mark.line + 1, NULL, NULL,
			      "not YAML: %s; write KEY: VALUE, indent with blanks, not tabs, and "
			      "quote a value with { or a colon",
			      parser->problem ? parser->problem : "unreadable text");
}

static int check_events(struct gp_yaml *y, yaml_parser_t *parser)
{
	struct guard guard = { 0 };
	bool more = true;
	yaml_event_t e;
	int err = 0;

	while (more && !err) {
		if (!yaml_parser_parse(parser, &e))
			return not_yaml(y, parser);
		more = e.type != YAML_STREAM_END_EVENT;
		err = check_event(y, &e, &guard);
		yaml_event_delete(&e);
	}
	if (!err && !guard.documents)
		err = refuse_no_mapping(y, 1, NULL, "nothing", y->keys);
	return err;
}

static int guard_text(struct gp_yaml *y, const char *text, size_t bytes)
{
	yaml_parser_t parser;
	int err;

	if (bytes > GP_YAML_BYTES_MAX)
		return gp_yaml_refuse(y, 0, NULL, NULL, "found %zu bytes; write at most %u", bytes,
				      GP_YAML_BYTES_MAX);
	err = check_text(y, text, bytes);
	if (err)
		return err;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
	err = check_events(y, &parser);
	yaml_parser_delete(&parser);
	return err;
}

/* ---- second pass: the schema ------------------------------------- */

static int check_value(struct gp_yaml *y, yaml_node_t *node, const struct gp_yaml_type *type,
		       const char *key);

uint32_t gp_yaml_line(const yaml_node_t *node)
{
	return (uint32_t)node->start_mark.line + 1;
}

static const char *text_of(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

static const char *kind_of(const yaml_node_t *node)
{
	switch (node->type) {
	case YAML_SCALAR_NODE:
		return node->data.scalar.length ? "one value" : "nothing";
	case YAML_SEQUENCE_NODE:
		return "a list";
	default:
		return "a mapping";
	}
}

static const struct gp_yaml_key *key_of(const struct gp_yaml_key *keys, const char *text)
{
	while (keys->key && strcmp(keys->key, text))
		keys++;
	return keys->key ? keys : NULL;
}

/* An earlier place of @pair's key in @mapping; NULL: none. */
static yaml_node_t *earlier(struct gp_yaml *y, const yaml_node_t *mapping,
			    const yaml_node_pair_t *pair)
{
	yaml_node_t *key = yaml_document_get_node(&y->document, pair->key);

	for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < pair; p++) {
		yaml_node_t *other = yaml_document_get_node(&y->document, p->key);

		if (!strcmp(text_of(key), text_of(other)))
			return other;
	}
	return NULL;
}

static int check_pair(struct gp_yaml *y, const yaml_node_t *mapping, const yaml_node_pair_t *pair,
		      const struct gp_yaml_key *keys)
{
	yaml_node_t *key = yaml_document_get_node(&y->document, pair->key);
	const struct gp_yaml_key *known_key;
	yaml_node_t *before;
	char known[256];

	known_keys(keys, known, sizeof(known));
	if (key->type != YAML_SCALAR_NODE)
		return gp_yaml_refuse(y, gp_yaml_line(key), NULL, NULL,
				      "found %s where a key goes; keys here are %s", kind_of(key),
				      known);
	known_key = key_of(keys, text_of(key));
	if (!known_key)
		return gp_yaml_refuse(y, gp_yaml_line(key), text_of(key), NULL,
				      "no such key; keys here are %s", known);
	before = earlier(y, mapping, pair);
	if (before)
		return gp_yaml_refuse(y, gp_yaml_line(key), known_key->key, NULL,
				      "found a second time, first in line %u; write it once",
				      gp_yaml_line(before));
	return check_value(y, yaml_document_get_node(&y->document, pair->value), known_key->type,
			   known_key->key);
}

static int check_all_there(struct gp_yaml *y, yaml_node_t *mapping, const struct gp_yaml_key *keys)
{
	for (; keys->key; keys++)
		if (keys->required && !gp_yaml_value(y, mapping, keys->key))
			return gp_yaml_refuse(y, gp_yaml_line(mapping), keys->key, NULL,
					      "required key missing; add it");
	return 0;
}

static int check_mapping(struct gp_yaml *y, yaml_node_t *node, const struct gp_yaml_key *keys,
			 const char *key)
{
	yaml_node_pair_t *pair;
	int err = 0;

	if (node->type != YAML_MAPPING_NODE)
		return refuse_no_mapping(y, gp_yaml_line(node), key, kind_of(node), keys);
	for (pair = node->data.mapping.pairs.start; !err && pair < node->data.mapping.pairs.top;
	     pair++)
		err = check_pair(y, node, pair, keys);
	return err ? err : check_all_there(y, node, keys);
}

static int check_list(struct gp_yaml *y, yaml_node_t *node, const struct gp_yaml_type *type,
		      const char *key)
{
	uint32_t count = 0;
	yaml_node_t *entry;
	int err = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return gp_yaml_refuse(y, gp_yaml_line(node), key, NULL,
				      "found %s; write a list, a dash before each entry",
				      kind_of(node));
	while (!err && (entry = gp_yaml_entry(y, node, count))) {
		if (count++ == type->max)
			return gp_yaml_refuse(y, gp_yaml_line(entry), key, NULL,
					      "found more than %u entries; write fewer", type->max);
		err = check_value(y, entry, type->entry, key);
	}
	return err;
}

static int check_bool(struct gp_yaml *y, yaml_node_t *node, const char *key)
{
	if (!strcmp(text_of(node), "true") || !strcmp(text_of(node), "false"))
		return 0;
	return gp_yaml_refuse(y, gp_yaml_line(node), key, text_of(node), "write true or false");
}

static int check_string(struct gp_yaml *y, yaml_node_t *node, const struct gp_yaml_type *type,
			const char *key)
{
	const size_t bytes = node->data.scalar.length;

	if (bytes < type->min)
		return gp_yaml_refuse(y, gp_yaml_line(node), key, NULL,
				      "found nothing; write a value");
	if (bytes > type->max)
		return gp_yaml_refuse(y, gp_yaml_line(node), key, text_of(node),
				      "write %u bytes at most", type->max);
	return 0;
}

static int check_value(struct gp_yaml *y, yaml_node_t *node, const struct gp_yaml_type *type,
		       const char *key)
{
	if (type->kind == GP_YAML_MAPPING)
		return check_mapping(y, node, type->keys, key);
	if (type->kind == GP_YAML_LIST)
		return check_list(y, node, type, key);
	if (node->type != YAML_SCALAR_NODE)
		return gp_yaml_refuse(y, gp_yaml_line(node), key, NULL,
				      "found %s; write one value%s", kind_of(node),
				      is_in_braces(node) ? IN_QUOTES : "");
	return type->kind == GP_YAML_BOOL ? check_bool(y, node, key) :
					    check_string(y, node, type, key);
}

static int check_not_empty(struct gp_yaml *y)
{
	const yaml_node_t *root = gp_yaml_root(y);

	if (root->data.mapping.pairs.start < root->data.mapping.pairs.top)
		return 0;
	return refuse_no_mapping(y, gp_yaml_line(root), NULL, "nothing", y->keys);
}

static int load_document(struct gp_yaml *y, const char *text, size_t bytes)
{
	yaml_parser_t parser;
	int err = 0;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
	if (!yaml_parser_load(&parser, &y->document))
		err = not_yaml(y, &parser);
	yaml_parser_delete(&parser);
	return err;
}

int gp_yaml_open(struct gp_yaml *y, const struct gp_yaml_key *keys, const char *name,
		 const char *text, size_t bytes, char *why, size_t why_len)
{
	int err;

	y->name = name;
	y->keys = keys;
	y->why = why;
	y->why_len = why_len;
	err = guard_text(y, text, bytes);
	if (!err)
		err = load_document(y, text, bytes);
	if (err)
		goto err_say;
	err = check_mapping(y, gp_yaml_root(y), keys, NULL);
	if (!err)
		err = check_not_empty(y);
	if (!err)
		return 0;
	yaml_document_delete(&y->document);
err_say:
	if (err == -ENOMEM)
		gp_yaml_refuse(y, 0, NULL, NULL, "out of memory; free some, then try again");
	return err;
}

void gp_yaml_close(struct gp_yaml *y)
{
	yaml_document_delete(&y->document);
}

/* ---- taking values ------------------------------------- */

yaml_node_t *gp_yaml_root(struct gp_yaml *y)
{
	return yaml_document_get_root_node(&y->document);
}

yaml_node_t *gp_yaml_value(struct gp_yaml *y, yaml_node_t *mapping, const char *key)
{
	yaml_node_pair_t *pair;

	for (pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top;
	     pair++)
		if (!strcmp(text_of(yaml_document_get_node(&y->document, pair->key)), key))
			return yaml_document_get_node(&y->document, pair->value);
	return NULL;
}

size_t gp_yaml_entries(const yaml_node_t *list)
{
	return list ? (size_t)(list->data.sequence.items.top - list->data.sequence.items.start) : 0;
}

yaml_node_t *gp_yaml_entry(struct gp_yaml *y, yaml_node_t *list, size_t i)
{
	if (i >= gp_yaml_entries(list))
		return NULL;
	return yaml_document_get_node(&y->document, list->data.sequence.items.start[i]);
}

int gp_yaml_refuse_value(struct gp_yaml *y, const yaml_node_t *node, const char *key)
{
	return gp_yaml_refuse(y, gp_yaml_line(node), key, text_of(node), "%s", y->right);
}

static int take_text(struct gp_yaml *y, const yaml_node_t *node, const struct gp_yaml_key *key,
		     void *to)
{
	int err = key->take(y, text_of(node), to);

	return err == -EINVAL ? gp_yaml_refuse_value(y, node, key->key) : err;
}

static int take_value(struct gp_yaml *y, yaml_node_t *node, const struct gp_yaml_key *key, void *to)
{
	yaml_node_t *entry;
	int err = 0;

	if (key->type->kind == GP_YAML_MAPPING)
		return gp_yaml_take(y, node, key->type->keys, to);
	if (!key->take)
		return 0;
	if (key->type->kind != GP_YAML_LIST)
		return take_text(y, node, key, to);
	for (size_t i = 0; !err && (entry = gp_yaml_entry(y, node, i)); i++)
		err = take_text(y, entry, key, to);
	return err;
}

int gp_yaml_take(struct gp_yaml *y, yaml_node_t *mapping, const struct gp_yaml_key *keys, void *to)
{
	int err = 0;

	for (; !err && keys->key; keys++) {
		yaml_node_t *node = gp_yaml_value(y, mapping, keys->key);

		if (node)
			err = take_value(y, node, keys, (char *)to + keys->offset);
	}
	return err;
}
