/* SPDX-License-Identifier: Apache-2.0 */
/* cmd.h - shared by the verbs of hsaq(1). Only main() exits. */
#ifndef HSAQ_CMD_H
#define HSAQ_CMD_H

#include <stdbool.h>
#include <sys/types.h>

#include "hsaq.h"

#define HSAQ_EXIT_OWN 125
#define HSAQ_WHY_LEN 256

/* Options of all verbs; each verb uses its own. */
struct hsaq_args {
	const char *verb;
	const char *device; /* PCI address, GPU-<unique id>, or gpu_id */
	bool has_for;
	uint64_t for_ns;
	uint32_t level;
	uint32_t rights;
	uint32_t min_level;
	char **rest; /* the other arguments; ends with NULL */
};

/* Check a verb's arguments before the KFD is opened. */
int hsaq_check_target(const struct hsaq_args *args);
int hsaq_check_hold(const struct hsaq_args *args);
int hsaq_check_grant(const struct hsaq_args *args);

/* The verbs; each returns the exit status of the command. */
int hsaq_verb_mode(const struct hsaq_args *args, struct hsaq *h);
int hsaq_verb_ls(const struct hsaq_args *args, struct hsaq *h);
int hsaq_verb_unload(const struct hsaq_args *args, struct hsaq *h);
int hsaq_verb_load(const struct hsaq_args *args, struct hsaq *h);
int hsaq_verb_hold(const struct hsaq_args *args, struct hsaq *h);
int hsaq_verb_grant(const struct hsaq_args *args, struct hsaq *h);

/** One line "hsaq: VERB: ..." on stderr. Returns HSAQ_EXIT_OWN. */
int hsaq_fail(const struct hsaq_args *args, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Explain @err of a call about @gpu_id (0: about none), and name the next step. */
int hsaq_fail_call(const struct hsaq_args *args, const struct hsaq *h, uint32_t gpu_id,
		   const char *what, int err);
/** The device that --device names, else the only one. 0 or HSAQ_EXIT_OWN. */
int hsaq_get_device(const struct hsaq_args *args, struct hsaq *h, struct hsaq_device_info *info);
/** Does --device name @info? True without --device. */
bool hsaq_names(const char *device, const struct hsaq_device_info *info);
/** --device names no device. Returns HSAQ_EXIT_OWN. */
int hsaq_fail_device(const struct hsaq_args *args);

/* stay.c: keep a state until an event ends it */
/**
 * struct hsaq_stay - the events that end it: a signal, @until_ns, @listen_fd or @child
 * @until_ns: CLOCK_MONOTONIC; 0: never
 * @listen_fd: root or this user connects (others get -EPERM); -1: not listening
 * @asker_fd: out: that connection, for hsaq_answer(), to be closed; -1
 * @child: 0: none; signals are then passed on to it
 * @status: out: the child's, of waitpid()
 * @renew: called every @renew_ns (0: never); its failure ends the stay
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
/** Block the signals that end it; before a child is started. */
int hsaq_stay_prepare(void);
/** In the child, before exec. */
void hsaq_stay_child(void);
/** 0, or @renew's error. */
int hsaq_stay(struct hsaq_stay *stay);
/** Answer the request on @fd: 0 or negative errno, as an int32_t. */
void hsaq_answer(int fd, int err);
uint64_t hsaq_now_ns(void);

/* drm.c */
/** AMD's name for the card of /dev/dri/renderD@minor. false: unknown. */
bool hsaq_drm_name(uint32_t minor, char *name, size_t len);

#endif
