/* SPDX-License-Identifier: Apache-2.0 */
/* config_yaml.h - internal to daemon/: the file's text as structures of strings. */
#ifndef GP_DAEMON_CONFIG_YAML_H
#define GP_DAEMON_CONFIG_YAML_H

#include <stdint.h>

#include "yaml/yaml.h"

/* As written. NULL: not in the file. */
struct gp_config_yaml_limits {
	char *tenants, *connections;
};

struct gp_config_yaml_device {
	char *device, *policy, *lc_policy, *quantum, *be_min_pct, *strangers;
};

struct gp_config_yaml_rule {
	char *user, *group, *cgroup, *exe, *container, *device, *class_given, *may;
};

struct gp_config_yaml {
	char *policy, *lc_policy, *quantum, *be_min_pct, *strangers;
	char *metrics, *log_level;
	struct gp_config_yaml_limits *limits_per_user;
	struct gp_config_yaml_device *devices;
	uint32_t devices_count;
	struct gp_config_yaml_rule *rules;
	uint32_t rules_count;
};

extern const cyaml_schema_value_t gp_config_schema; /* of struct gp_config_yaml */

#endif
