/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h - a file that a user writes: libyaml's document, held against a schema of
 * ours. All values are texts; the schema's callbacks parse them.
 */
#ifndef GP_YAML_H
#define GP_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <yaml.h>

#define GP_YAML_BYTES_MAX 65536u /* of a file */
#define GP_YAML_WHY_LEN 512u	 /* no line of why is cut shorter */

enum gp_yaml_kind {
	GP_YAML_TEXT,
	GP_YAML_BOOL,
	GP_YAML_LIST,
	GP_YAML_MAPPING
};

struct gp_yaml;
struct gp_yaml_key;

/**
 * struct gp_yaml_type - what a value may be.
 * @min, @max: bytes of a text; @max: entries of a list
 * @entry: of a list
 * @keys: of a mapping; the last one has no name
 */
struct gp_yaml_type {
	enum gp_yaml_kind kind;
	uint32_t min, max;
	const struct gp_yaml_type *entry;
	const struct gp_yaml_key *keys;
};

/**
 * struct gp_yaml_key - a key of a mapping, and where its value goes.
 * @take: parses @text to @to, which is @offset bytes into what gp_yaml_take() got; of a
 *	list, each entry. -EINVAL: @y->right is set. NULL: gp_yaml_take() skips the key.
 */
struct gp_yaml_key {
	const char *key;
	const struct gp_yaml_type *type;
	bool required;
	size_t offset;
	int (*take)(struct gp_yaml *y, const char *text, void *to);
};

struct gp_yaml {
	const char *name; /* of the file */
	const struct gp_yaml_key *keys;
	yaml_document_t document;
	const char *right; /* of a value that was refused: what would be; static */
	char *why;
	size_t why_len;
};

/**
 * gp_yaml_load() - the text of the file @path, which the caller frees, to @text.
 * @guarded: one that anybody may write to is refused
 * Return: its bytes; -EINVAL: too many; -ENOTSUP: no regular file; -EPERM: anybody may
 * write to it; other negative errno: it could not be read. Then @why says it, and @text
 * is untouched.
 */
ssize_t gp_yaml_load(const char *path, bool guarded, char **text, char *why, size_t why_len);

/**
 * gp_yaml_open() - read @bytes of @text, a mapping of @keys. Every key is known, written
 * once and of its type; what is required is there. Texts are UTF-8 without control
 * characters.
 * Return: 0; -EINVAL, -ENOMEM: @why says it, and there is nothing to close.
 */
int gp_yaml_open(struct gp_yaml *y, const struct gp_yaml_key *keys, const char *name,
		 const char *text, size_t bytes, char *why, size_t why_len);
void gp_yaml_close(struct gp_yaml *y);

/**
 * gp_yaml_take() - give what @mapping says to the callbacks of @keys, in their order.
 * A mapping within it is taken likewise; a list of mappings is the caller's to walk.
 * Return: 0; -EINVAL: @why says it; another negative errno of a callback.
 */
int gp_yaml_take(struct gp_yaml *y, yaml_node_t *mapping, const struct gp_yaml_key *keys, void *to);

/** The whole file; the value of @key in @mapping; entry @i of @list. NULL: none. */
yaml_node_t *gp_yaml_root(struct gp_yaml *y);
yaml_node_t *gp_yaml_value(struct gp_yaml *y, yaml_node_t *mapping, const char *key);
yaml_node_t *gp_yaml_entry(struct gp_yaml *y, yaml_node_t *list, size_t i);
size_t gp_yaml_entries(const yaml_node_t *list); /* NULL: 0 */
uint32_t gp_yaml_line(const yaml_node_t *node);

/**
 * "NAME:LINE: KEY: found 'FOUND'; RIGHT". @line 0: none; @key NULL: none; @found
 * NULL: RIGHT says it all. Returns -EINVAL.
 */
int gp_yaml_refuse(struct gp_yaml *y, size_t line, const char *key, const char *found,
		   const char *right, ...) __attribute__((format(printf, 5, 6)));

/** Refuse the text @node; @y->right says what would be right. Returns -EINVAL. */
int gp_yaml_refuse_value(struct gp_yaml *y, const yaml_node_t *node, const char *key);

#endif
