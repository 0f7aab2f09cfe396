/* SPDX-License-Identifier: Apache-2.0 */
/* cmd.h - what the verbs of hsaq(1) share. Only main() exits. */
#ifndef HSAQ_CMD_H
#define HSAQ_CMD_H

#include <stdbool.h>
#include <sys/types.h>

#include "hsaq.h"

#define HSAQ_EXIT_OWN 125
#define HSAQ_WHY_LEN 256

/* Options of all verbs, of which each takes its own. */
struct hsaq_args {
	const char *verb;
	const char *device; /* PCI address, GPU-<unique id>, or gpu_id */
	bool has_for;
	uint64_t for_ns;
	uint32_t level;
	uint32_t rights;
	uint32_t min_level;
	char **rest; /* what is left; ends with NULL */
};

/* What the words of a verb are, looked at before the KFD is opened. */
int hsaq_check_target(const struct hsaq_args *args);
int hsaq_check_hold(const struct hsaq_args *args);
int hsaq_check_grant(const struct hsaq_args *args);

/* The verbs; what the command shall exit with. */
int hsaq_verb_mode(const struct hsaq_args *args, struct hsaq *h);
int hsaq_verb_ls(const struct hsaq_args *args, struct hsaq *h);
int hsaq_verb_unload(const struct hsaq_args *args, struct hsaq *h);
int hsaq_verb_load(const struct hsaq_args *args, struct hsaq *h);
int hsaq_verb_hold(const struct hsaq_args *args, struct hsaq *h);
int hsaq_verb_grant(const struct hsaq_args *args, struct hsaq *h);

/** One line "hsaq: VERB: ..." on stderr. Returns HSAQ_EXIT_OWN. */
int hsaq_fail(const struct hsaq_args *args, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** What @err of a call about @gpu_id (0: about none) means, and what would be right. */
int hsaq_fail_call(const struct hsaq_args *args, const struct hsaq *h, uint32_t gpu_id,
		   const char *what, int err);
/** The device that --device names, else the only one. 0 or HSAQ_EXIT_OWN. */
int hsaq_get_device(const struct hsaq_args *args, struct hsaq *h, struct hsaq_device_info *info);
/** Does --device name @info? Always, where there is none. */
bool hsaq_names(const char *device, const struct hsaq_device_info *info);
/** No device is the one that --device names. Returns HSAQ_EXIT_OWN. */
int hsaq_fail_device(const struct hsaq_args *args);

/* stay.c: keep something on until it is to end */
/**
 * struct hsaq_stay - what ends it: a signal, @until_ns, @listen_fd or @child
 * @until_ns: CLOCK_MONOTONIC; 0: never
 * @listen_fd: somebody connects, root or of this user (others are told -EPERM);
 *	-1: none listens
 * @asker_fd: out: who connected, to be told by hsaq_answer() and closed; -1
 * @child: 0: none; signals are then passed on to it
 * @status: out: the child's, of waitpid()
 * @renew: called every @renew_ns (0: never); its failure ends it
 */
struct hsaq_stay {
	uint64_t until_ns;
	uint64_t renew_ns;
	int listen_fd;
	int asker_fd;
	pid_t child;
	int status;
	int (*renew)(void *arg);
	void *arg;
};
/** Block what ends it; before a child is started. */
int hsaq_stay_prepare(void);
/** In the child, before exec. */
void hsaq_stay_child(void);
/** 0, or what @renew returned. */
int hsaq_stay(struct hsaq_stay *stay);
/** How what @fd asked for went: 0 or negative errno, as an int32_t. */
void hsaq_answer(int fd, int err);
uint64_t hsaq_now_ns(void);

/* drm.c */
/** What AMD calls the card of /dev/dri/renderD@minor. false: not known. */
bool hsaq_drm_name(uint32_t minor, char *name, size_t len);

#endif
