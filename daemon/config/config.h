/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - gpreempt.yaml(5): the classes of processes, and the sharing of devices. A
 * configuration is made whole from a text or not at all, and never changed.
 */
#ifndef GP_DAEMON_CONFIG_H
#define GP_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "gpreempt/gpreempt.h"
#include "hal/spec.h"
#include "runtime/class.h"
#include "runtime/size.h"
#include "sched/sched.h"
#include "yaml/yaml.h"

#define GP_CONFIG_PATH "/etc/gpreempt/gpreempt.yaml"

#define GP_CONFIG_BYTES_MAX GP_YAML_BYTES_MAX /* of a file */
#define GP_CONFIG_RULES_MAX 128u
#define GP_CONFIG_DEVICES_MAX 16u /* the maximum of a backend's list */
#define GP_CONFIG_TEXT_MAX 512u	  /* bytes of one value */
#define GP_CONFIG_WHY_LEN GP_YAML_WHY_LEN

/* Defaults for values that are not in the file. */
#define GP_CONFIG_QUANTUM_NS 50000000u
#define GP_CONFIG_BE_MIN_PCT 5u
/* A suspend in the middle of a training step took 1.3 ms (H200, median), with page faults 13. */
#define GP_CONFIG_LEAVE_LIMIT_NS 3000000u
#define GP_CONFIG_TENANTS 64u
#define GP_CONFIG_CONNECTIONS 64u

/**
 * struct gp_config_settings - how one device is shared.
 * @quantum_ns: length of a best-effort tenant's turn
 * @be_min_pct: best-effort's minimum, however busy latency-critical is
 * @leave_limit_ns: best-effort that takes longer to leave the device is off while latency-critical
 *	work may come; 0: never
 * @default_class: the class of processes without a rule
 */
struct gp_config_settings {
	const struct gp_be_policy *be_policy;
	const struct gp_lc_policy *lc_policy;
	uint64_t quantum_ns;
	uint32_t be_min_pct;
	uint64_t leave_limit_ns;
	struct gp_class_request default_class;
};

/**
 * @text: as written; @settings: other values are as for all devices.
 */
struct gp_config_device {
	char *text;
	struct gp_spec spec;
	struct gp_config_settings settings;
};

enum gp_config_metrics_kind {
	GP_CONFIG_METRICS_OFF,
	GP_CONFIG_METRICS_UNIX, /* path */
	GP_CONFIG_METRICS_IPV4, /* ipv4, port */
	GP_CONFIG_METRICS_IPV6, /* ::1, port */
};

struct gp_config_metrics {
	enum gp_config_metrics_kind kind;
	char path[108];	 /* as in sun_path, with its NUL */
	uint8_t ipv4[4]; /* 127.x.y.z */
	uint16_t port;
};

/**
 * struct gp_rule - its conditions (all that are not NULL), and its class.
 * @line: of its first key
 * @user, @group, @device: as written; @uid, @gid, @spec: their values
 * @cgroup, @exe: patterns of glob.h
 * @container: leading hexadecimal digits of the id
 * @namespace, @pod, @image: patterns of glob.h, of names
 * @annotation: "KEY=PATTERN"
 * @has_class: false: the device's default_class counts
 * @pool: gpreempt run puts their programs into the pool of their class; @percent: of its threads
 *	for each; 0: all
 * @memory: device memory of programs of gpreempt run: the most that their MIN may be, and their
 *	MAX; UINT64_MAX: no limit
 * @turns: that of best-effort ones leaves, and takes turns
 * @hook, @wake: URLs of hook.h, by which such programs free memory; NULL: it moves
 * @hook_limit_ns: for each call
 * @one: its BE processes of a cgroup share one weight and one place in a round
 * @gang: the turns of its BE processes begin and end on all their devices at once
 * @max_class: the highest class that its processes may ask for; @has_max_class: false:
 *	that is @class_given
 */
struct gp_rule {
	uint32_t line;
	char *user, *group, *cgroup, *exe, *container, *device;
	char *namespace, *pod, *image, *annotation;
	uid_t uid;
	gid_t gid;
	struct gp_spec spec;
	bool has_class, has_max_class, pool, one, gang, turns;
	uint32_t percent;
	struct gp_size_range memory;
	char *hook, *wake;
	uint64_t hook_limit_ns;
	struct gp_class_request class_given;
	struct gp_class_request max_class;
};

/* A rule's condition, as written; text NULL: none. */
#define GP_RULE_MATCHES 10
struct gp_rule_match {
	const char *key, *text; /* borrowed from the rule */
};

/**
 * struct gp_config_right - the highest class for which a process without a rule may ask.
 * @any: every class; else @cls
 * @line: of its key; 0: it is the default
 */
struct gp_config_right {
	bool any;
	struct gp_class_request cls;
	uint32_t line;
};

void gp_rule_matches(const struct gp_rule *rule, struct gp_rule_match match[GP_RULE_MATCHES]);

struct gp_config {
	char *file; /* for messages; "" without one */
	struct gp_config_settings settings;
	struct gp_config_right default_max_class;
	struct gp_config_metrics metrics;
	int log_level;	       /* enum gp_log_level */
	uint32_t user_tenants; /* of one user, at once */
	uint32_t user_connections;
	uint64_t host_memory; /* that a program of gpreempt run pins for memory that leaves */
	size_t device_count;
	struct gp_config_device *device; /* the first that fits counts */
	size_t rule_count;
	struct gp_rule *rule; /* the first that fits counts */
};

/** Looks names up. 0; -ENOENT: unknown; other negative errno. */
struct gp_config_names {
	int (*uid)(const char *name, uid_t *uid);
	int (*gid)(const char *name, gid_t *gid);
};

/** The system's: getpwnam(3), getgrnam(3). */
extern const struct gp_config_names gp_config_system_names;

/**
 * gp_config_load() - read @path.
 * @config: on success the new one, which the caller frees; the old value is neither read
 *	nor freed. Untouched on failure.
 * @why: on failure one line "FILE:LINE: KEY: found value; valid values",
 *	GP_CONFIG_WHY_LEN bytes, without control characters
 * Return: 0; -EINVAL: invalid file; -EPERM: anybody may write to it; other negative errno: not
 * readable, or -ENOMEM. May block on the file and on name services.
 */
int gp_config_load(const char *path, struct gp_config **config, char *why, size_t len);

/** The same of @bytes of @text, called @file. Pure but for @names. */
int gp_config_parse(const char *file, const char *text, size_t bytes,
		    const struct gp_config_names *names, struct gp_config **config, char *why,
		    size_t len);

/** The defaults without a file. 0 or -ENOMEM. */
int gp_config_default(struct gp_config **config);

/** NULL is legal. */
void gp_config_free(struct gp_config *config);

/**
 * gp_config_print() - print all of @config, with defaults; gp_config_parse() makes an equal
 * one of it. 0 or -EIO.
 */
int gp_config_print(const struct gp_config *config, FILE *to);

/** Are they equal? Names of files and lines do not count. */
bool gp_config_equal(const struct gp_config *a, const struct gp_config *b);

/** How @id is shared. */
const struct gp_config_settings *gp_config_settings_of(const struct gp_config *config,
						       const struct gp_device_id *id);

#endif
