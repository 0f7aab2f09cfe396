/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - the class of a process, and the classes that it may ask for. Pure: facts on the
 * process go in, a verdict comes out.
 */
#ifndef GP_DAEMON_RULES_H
#define GP_DAEMON_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/config/config.h"
#include "daemon/config/container.h"
#include "runtime/job.h"

#define GP_CONTAINER_LEN 65 /* 64 hexadecimal digits */
#define GP_COMM_LEN 64	    /* in the kernel's form, also for kernel threads */
#define GP_VERDICT_WHY_LEN 1024

/**
 * struct gp_subject - a process, as read by proc.h.
 * @start_ticks: since boot: with @pid it identifies the process for ever
 * @uid, @gid: the real ones: those of the user that started it
 * @ids_differ: they are not the effective and the saved ones: it runs, or ran, a setuid or
 *	setgid program, or has changed its users
 * @groups: supplementary; owned
 * @exe: of its program; owned. NULL: unknown, or the path is not proven: no rule with
 *	exe: fits
 * @cgroup: in cgroup v2, else in v1; owned. NULL: unknown
 * @container: its id, which no user can forge; "": in none, or not proven
 * @facts: of that container; owned. NULL: unknown, and no rule by them fits
 * @job: of Slurm; "": none
 * @contained: it is, or may be, in a container: root there is not root of the machine
 * @comm: for people only, because a process names itself; control characters are "?"
 * @device: the device in question; borrowed. NULL: none, and no rule with device: fits
 */
struct gp_subject {
	pid_t pid;
	uint64_t start_ticks;
	uid_t uid;
	gid_t gid;
	bool ids_differ;
	gid_t *groups;
	size_t group_count;
	char *exe;
	char *cgroup;
	char container[GP_CONTAINER_LEN];
	struct gp_container *facts;
	char job[GP_JOB_LEN];
	bool contained;
	char comm[GP_COMM_LEN];
	const struct gp_device_id *device;
};

/**
 * struct gp_verdict
 * @rule: the one that fits; NULL: none, default_class counts. Lives as long as the
 *	configuration
 * @given: its class without asking
 * @why: the origin of that, one line
 */
struct gp_verdict {
	const struct gp_rule *rule;
	struct gp_class_request given;
	char why[GP_VERDICT_WHY_LEN];
};

/** The first rule that fits @subject, or default_class. */
void gp_rules_find(const struct gp_config *config, const struct gp_subject *subject,
		   struct gp_verdict *verdict);

/** "the rule at FILE:LINE (user 5)", truncated at @len. */
void gp_rules_text(const struct gp_config *config, const struct gp_rule *rule, char *text,
		   size_t len);

/**
 * gp_rules_party() - the cgroup whose processes count as one, by the rule that fits @subject: the
 * outermost folder of @subject's cgroup that the rule's pattern matches. To be freed. NULL: each
 * counts for itself, or -ENOMEM.
 */
char *gp_rules_party(const struct gp_config *config, const struct gp_subject *subject);

/**
 * gp_rules_may() - may @subject have @asked, for itself or by its user? Allowed are its given
 * class, its rule's max_class: (without a rule: default_max_class:), and any class no higher than
 * one of them. Root is no exception, because in containers everybody is root.
 * @why: on refusal the reason, with its place in the file and the remedy: one line,
 *	GP_VERDICT_WHY_LEN bytes
 * Return: 0; -EPERM.
 */
int gp_rules_may(const struct gp_config *config, const struct gp_subject *subject,
		 const struct gp_class_request *asked, char *why, size_t len);

/**
 * gp_class_no_higher() - does @a claim no more of a device than @b does?
 *
 * - be with at most the default weight is lower than none, which has the driver's slice and is
 *   never suspended. With more weight it takes more from other be.
 * - be and none are lower than lc.
 * - Among be: no greater weight, and no greater cap (none is 100 %).
 * - Among lc: no more urgent level. A deadline is a further claim: if @a has one, so has @b.
 *   @b's is no later, for at least the same part of the device (runtime / period).
 *
 * Each of two may claim something that the other does not: then neither is lower.
 */
bool gp_class_no_higher(const struct gp_class_request *a, const struct gp_class_request *b);

/**
 * gp_container_of() - the container id in @cgroup: its first name of 64 hexadecimal digits, or
 * with such an end after a dash or colon, without ".scope". These are the names of docker,
 * podman, containerd, CRI-O and kubelet. A conmon is in no container, in spite of its name.
 *
 * Only the runtimes of the machine make cgroups where such a name counts: in slices but
 * user.slice, and in folders with the runtimes' own names. A user may own any other folder, and
 * a container its own, so names below these count for nothing. "": none.
 */
void gp_container_of(const char *cgroup, char id[GP_CONTAINER_LEN]);
/** Has any folder of @cgroup such a name, wherever it is? */
bool gp_container_is_named(const char *cgroup);

#endif
