/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - which class a process has, and which it may ask for. Pure: what is
 * known of the process goes in, a verdict comes out.
 */
#ifndef GP_DAEMON_RULES_H
#define GP_DAEMON_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/config.h"

#define GP_CONTAINER_LEN 65 /* 64 hexadecimal digits */
#define GP_COMM_LEN 64	    /* as the kernel shows it, kernel threads too */
#define GP_VERDICT_WHY_LEN 1024

/**
 * struct gp_subject - a process, as proc.h reads it.
 * @start_ticks: since boot: with @pid the one process there ever was
 * @uid, @gid: the effective ones, as SO_PEERCRED has them
 * @groups: supplementary; owned
 * @exe: of its program; owned. NULL: not known, or nobody can say that this path
 *	is that program: no rule with exe: fits
 * @cgroup: in cgroup v2, where there is none in v1; owned. NULL: not known
 * @container: its id; "": in none
 * @comm: for people only, a process names itself; control characters are "?"
 * @device: the one that is asked about; borrowed. NULL: none, and no rule with
 *	device: fits
 */
struct gp_subject {
	pid_t pid;
	uint64_t start_ticks;
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t group_count;
	char *exe;
	char *cgroup;
	char container[GP_CONTAINER_LEN];
	char comm[GP_COMM_LEN];
	const struct gp_device_id *device;
};

/**
 * struct gp_verdict
 * @rule: that fits; NULL: none does, default_class counts. Lives as long as the
 *	configuration
 * @given: what it has without asking
 * @why: where that comes from, in words, one line
 */
struct gp_verdict {
	const struct gp_rule *rule;
	struct gp_class_request given;
	char why[GP_VERDICT_WHY_LEN];
};

/** The first rule that fits @subject, or default_class. */
void gp_rules_find(const struct gp_config *config, const struct gp_subject *subject,
		   struct gp_verdict *verdict);

/**
 * gp_rules_may() - may @subject have @asked, which it asks for itself or its
 * user for it? What it is given, and what its rule's max_class: says, and whatever is
 * no higher than one of them. Root is no exception: in containers everybody is.
 * @why: on refusal the reason, in words, one line, GP_VERDICT_WHY_LEN bytes
 * Return: 0; -EPERM.
 */
int gp_rules_may(const struct gp_config *config, const struct gp_subject *subject,
		 const struct gp_class_request *asked, char *why, size_t len);

/**
 * gp_class_no_higher() - does @a claim no more of a device than @b does?
 *
 * be with the default weight or less is lower than none, which has the driver's
 * slice and is never set aside; more weight takes more from others of be than none
 * does. be and none are lower than lc. Among be: no greater weight, and no greater cap (none is
 * 100 %). Among lc: no more urgent level; and where @a has a deadline, so has
 * @b, no later than @a's, for a greater or equal part of the device
 * (runtime / period): a deadline is a claim more. Two may each claim something
 * that the other does not: then neither is lower.
 */
bool gp_class_no_higher(const struct gp_class_request *a, const struct gp_class_request *b);

/**
 * gp_container_of() - the id in @cgroup: of its last name that is 64 hexadecimal
 * digits, or ends so behind a dash or colon, ".scope" aside. So docker, podman, containerd,
 * CRI-O and kubelet name cgroups of containers; a conmon is in none, though named
 * as one. "" where there is none.
 */
void gp_container_of(const char *cgroup, char id[GP_CONTAINER_LEN]);

#endif
