/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_yaml.h - internal to daemon/: the file's text as structures of strings,
 * and where in the text each of them was.
 */
#ifndef GP_DAEMON_CONFIG_YAML_H
#define GP_DAEMON_CONFIG_YAML_H

#include <stddef.h>
#include <stdint.h>

#include <yaml.h>

/* As written. NULL: not in the file. */
struct gp_yaml_limits {
	char *tenants, *connections;
};

struct gp_yaml_device {
	char *device, *policy, *lc_policy, *quantum, *be_min_pct, *strangers;
};

struct gp_yaml_rule {
	char *user, *group, *cgroup, *exe, *container, *device, *class_given, *may;
};

struct gp_yaml_file {
	char *policy, *lc_policy, *quantum, *be_min_pct, *strangers;
	char *metrics, *log_level;
	struct gp_yaml_limits *limits_per_user;
	struct gp_yaml_device *devices;
	uint32_t devices_count;
	struct gp_yaml_rule *rules;
	uint32_t rules_count;
};

struct gp_yaml {
	const char *name;		/* of the file */
	struct gp_yaml_file *file;
	yaml_document_t document;	/* of the same text: for lines */
	char *why;
	size_t why_len;
};

/**
 * gp_yaml_open() - read @bytes of @text. Everything that is there is known and of
 * the right type; texts have no control characters in them, and are UTF-8.
 * 0; -EINVAL, -ENOMEM: @why says it, and there is nothing to close.
 */
int gp_yaml_open(struct gp_yaml *y, const char *name, const char *text, size_t bytes,
		 char *why, size_t why_len);
void gp_yaml_close(struct gp_yaml *y);

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
