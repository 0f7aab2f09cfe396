// SPDX-License-Identifier: Apache-2.0
#include "daemon/config_yaml.h"

#include "daemon/config.h"

#define TEXT(key, type, member)                                                                    \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct type, member, \
			       0, GP_CONFIG_TEXT_MAX)

static const cyaml_schema_field_t limits_fields[] = {
	TEXT("tenants", gp_config_yaml_limits, tenants),
	TEXT("connections", gp_config_yaml_limits, connections), CYAML_FIELD_END
};

static const cyaml_schema_field_t device_fields[] = {
	TEXT("device", gp_config_yaml_device, device),
	TEXT("policy", gp_config_yaml_device, policy),
	TEXT("lc_policy", gp_config_yaml_device, lc_policy),
	TEXT("quantum", gp_config_yaml_device, quantum),
	TEXT("be_min_pct", gp_config_yaml_device, be_min_pct),
	TEXT("strangers", gp_config_yaml_device, strangers),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t rule_fields[] = { TEXT("user", gp_config_yaml_rule, user),
						    TEXT("group", gp_config_yaml_rule, group),
						    TEXT("cgroup", gp_config_yaml_rule, cgroup),
						    TEXT("exe", gp_config_yaml_rule, exe),
						    TEXT("container", gp_config_yaml_rule,
							 container),
						    TEXT("device", gp_config_yaml_rule, device),
						    TEXT("class", gp_config_yaml_rule, class_given),
						    TEXT("may", gp_config_yaml_rule, may),
						    CYAML_FIELD_END };

static const cyaml_schema_value_t device_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct gp_config_yaml_device, device_fields),
};

static const cyaml_schema_value_t rule_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct gp_config_yaml_rule, rule_fields),
};

static const cyaml_schema_field_t file_fields[] = {
	TEXT("policy", gp_config_yaml, policy),
	TEXT("lc_policy", gp_config_yaml, lc_policy),
	TEXT("quantum", gp_config_yaml, quantum),
	TEXT("be_min_pct", gp_config_yaml, be_min_pct),
	TEXT("strangers", gp_config_yaml, strangers),
	TEXT("metrics", gp_config_yaml, metrics),
	TEXT("log_level", gp_config_yaml, log_level),
	CYAML_FIELD_MAPPING_PTR("limits_per_user", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
				struct gp_config_yaml, limits_per_user, limits_fields),
	CYAML_FIELD_SEQUENCE("devices", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct gp_config_yaml, devices, &device_schema, 0,
			     GP_CONFIG_DEVICES_MAX),
	CYAML_FIELD_SEQUENCE("rules", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct gp_config_yaml, rules, &rule_schema, 0, GP_CONFIG_RULES_MAX),
	CYAML_FIELD_END
};

const cyaml_schema_value_t gp_config_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct gp_config_yaml, file_fields),
};
