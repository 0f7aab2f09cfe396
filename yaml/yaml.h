/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h - a file that a user writes: libyaml's document, checked against a schema of ours.
 * All values are texts; the schema's callbacks parse them.
 */
#ifndef GP_YAML_H
#define GP_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <yaml.h>

#define GP_YAML_BYTES_MAX 65536u /* of a file */
#define GP_YAML_WHY_LEN 512u	 /* no line of why is longer */

enum gp_yaml_kind {
	GP_YAML_TEXT,
	GP_YAML_BOOL,
	GP_YAML_LIST,
	GP_YAML_MAPPING
};

struct gp_yaml;
struct gp_yaml_key;

/**
 * struct gp_yaml_type - The type of a value.
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
 * struct gp_yaml_key - A key of a mapping, and the place of its value.
 * @take: parses @text to @to, which is @offset bytes into gp_yaml_take()'s @to; for a
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
	const char *right; /* valid values, after a refusal; static */
	char *why;
	size_t why_len;
};

/**
 * gp_yaml_load() - the text of the file @path, which the caller frees, to @text.
 * @guarded: refuse a file that anybody may write to
 * Return: its bytes; -EINVAL: too many; -ENOTSUP: no regular file; -EPERM: anybody may write
 * to it; other negative errno: not readable. On failure @why has the message, and @text is
 * untouched.
 */
ssize_t gp_yaml_load(const char *path, bool guarded, char **text, char *why, size_t why_len);

/**
 * gp_yaml_open() - read @bytes of @text, a mapping of @keys. Every key is known, written once
 * and of its type; every required key is there. Texts are UTF-8 without control characters.
 * Return: 0; -EINVAL, -ENOMEM: @why has the message, and there is nothing to close.
 */
int gp_yaml_open(struct gp_yaml *y, const struct gp_yaml_key *keys, const char *name,
		 const char *text, size_t bytes, char *why, size_t why_len);
void gp_yaml_close(struct gp_yaml *y);

/**
 * gp_yaml_take() - pass the values of @mapping to the callbacks of @keys, in their order. Does
 * so for a mapping within it, too. The caller walks a list of mappings.
 * Return: 0; -EINVAL: @why has the message; another negative errno of a callback.
 */
int gp_yaml_take(struct gp_yaml *y, yaml_node_t *mapping, const struct gp_yaml_key *keys, void *to);

/** The whole file; the value of @key in @mapping; entry @i of @list. NULL: none. */
yaml_node_t *gp_yaml_root(struct gp_yaml *y);
yaml_node_t *gp_yaml_value(struct gp_yaml *y, yaml_node_t *mapping, const char *key);
yaml_node_t *gp_yaml_entry(struct gp_yaml *y, yaml_node_t *list, size_t i);
size_t gp_yaml_entries(const yaml_node_t *list); /* NULL: 0 */
uint32_t gp_yaml_line(const yaml_node_t *node);

/**
 * "NAME:LINE: KEY: found 'FOUND'; RIGHT". @line 0: none; @key NULL: none; @found NULL: RIGHT
 * alone. Returns -EINVAL.
 */
int gp_yaml_refuse(struct gp_yaml *y, size_t line, const char *key, const char *found,
		   const char *right, ...) __attribute__((format(printf, 5, 6)));

/** Refuse the text @node; @y->right names valid values. Returns -EINVAL. */
int gp_yaml_refuse_value(struct gp_yaml *y, const yaml_node_t *node, const char *key);

#endif
