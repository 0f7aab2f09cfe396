/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h - a file that a user writes, as the structure that a schema of libcyaml's
 * describes, and where in the text each of its values was.
 */
#ifndef GP_YAML_H
#define GP_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cyaml/cyaml.h>
#include <yaml.h>

#define GP_YAML_BYTES_MAX 65536u /* of a file */
#define GP_YAML_WHY_LEN 512u	 /* no line of why is cut shorter */

struct gp_yaml {
	const char *name; /* of the file */
	const cyaml_schema_value_t *schema;
	void *data;		  /* as the schema has it */
	yaml_document_t document; /* of the same text: for lines */
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
 * gp_yaml_open() - read @bytes of @text by @schema, of a pointer to a mapping in which all
 * values are strings, booleans, mappings or lists. Everything that is there is known and of
 * the right type, and what is not optional is there; strings have no control characters in
 * them, and are UTF-8.
 * 0; -EINVAL, -ENOMEM: @why says it, and there is nothing to close.
 */
int gp_yaml_open(struct gp_yaml *y, const cyaml_schema_value_t *schema, const char *name,
		 const char *text, size_t bytes, char *why, size_t why_len);
void gp_yaml_close(struct gp_yaml *y);

/** What was taken out of @data before it was closed; NULL is fine. */
void gp_yaml_free(const cyaml_schema_value_t *schema, void *data);

/** The whole file; the value of @key in @mapping; entry @i of @list. NULL: none. */
yaml_node_t *gp_yaml_root(struct gp_yaml *y);
yaml_node_t *gp_yaml_value(struct gp_yaml *y, yaml_node_t *mapping, const char *key);
yaml_node_t *gp_yaml_entry(struct gp_yaml *y, yaml_node_t *list, size_t i);
uint32_t gp_yaml_line(const yaml_node_t *node);

/**
 * "NAME:LINE: KEY: found 'FOUND'; RIGHT". @line 0: none; @key NULL: none; @found
 * NULL: RIGHT says it all. Returns -EINVAL.
 */
int gp_yaml_refuse(struct gp_yaml *y, size_t line, const char *key, const char *found,
		   const char *right, ...) __attribute__((format(printf, 5, 6)));

#endif
