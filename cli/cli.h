/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - shared by the verbs of gpreempt(1). A verb is one file; it returns the exit status,
 * and only main() exits.
 */
#ifndef GP_CLI_H
#define GP_CLI_H

#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/parse.h"
#include "gpreempt/hal.h"
#include "runtime/class.h"

/* Exit statuses of env(1), timeout(1). */
#define GP_EXIT_OWN 125
#define GP_EXIT_NOT_EXECUTABLE 126
#define GP_EXIT_NOT_FOUND 127

#define GP_WHY_LEN 256
#define GP_CALL_MS 2000

struct gp_verb {
	const char *name;
	const char *args;
	const char *doc;
	int (*run)(int argc, char **argv);
};

int gp_verb_run(int argc, char **argv);
int gp_verb_attach(int argc, char **argv);
int gp_verb_cdi(int argc, char **argv);
int gp_verb_set(int argc, char **argv);
int gp_verb_hist(int argc, char **argv);
int gp_verb_hint(int argc, char **argv);
int gp_verb_ls(int argc, char **argv);
int gp_verb_stat(int argc, char **argv);
int gp_verb_top(int argc, char **argv);
int gp_verb_trace(int argc, char **argv);
int gp_verb_why(int argc, char **argv);
int gp_verb_doctor(int argc, char **argv);

/* ---- message.c ---------------------------------------------------------------- */

/** One line "gpreempt: ..." on stderr. Returns GP_EXIT_OWN. */
int gp_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** The same for messages that do not end the verb. */
void gp_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** Flush standard output. @status, or GP_EXIT_OWN after a message. */
int gp_flush_output(int status);

/* ---- args.c --------------------------------------------------------------- */

/**
 * gp_args() - argp_parse(), with one line for an unknown argument.
 * Return: 0, or GP_EXIT_OWN after a message. A parser that printed its own message returns
 * GP_ARGS_SAID.
 */
#define GP_ARGS_SAID ECANCELED
int gp_args(const struct argp *argp, int argc, char **argv, void *input);
/** Is it a class, as users write it? */
bool gp_args_is_class(const char *text);
/** A class option; 0 or GP_ARGS_SAID. */
int gp_args_request(const char *verb, const char *text, struct gp_class_request *out);
/** A time option, "500ms" or seconds, as "2" or "0.5"; 0 or GP_ARGS_SAID. */
int gp_args_seconds(const char *verb, const char *name, const char *text, uint64_t *ns);
/** A PID argument; 0 or GP_ARGS_SAID. */
int gp_args_pid(const char *verb, const char *text, pid_t *out);
/** The verb's only process, as PID or -p PID: @pid is 0 until then. 0 or GP_ARGS_SAID. */
int gp_args_process(const char *verb, const char *text, pid_t *pid);
#define GP_OPTION_PID                                                   \
	{                                                               \
		"pid", 'p', "PID", 0, "the same as the argument PID", 0 \
	}
/* --device has no short form: -d is a duration. */
#define GP_KEY_DEVICE 0x100

/** CMD and its options, for run and stat. All of it points into main()'s argv. */
struct gp_cmd_args {
	const char *class_text; /* as written, valid; NULL: none */
	const char *device;	/* NULL: none */
	char **argv;		/* ends with NULL; NULL: no CMD */
};
/** --class, --device and CMD; ARGP_ERR_UNKNOWN: it is another key. */
error_t gp_args_cmd(const char *verb, struct gp_cmd_args *cmd, int key, char *arg,
		    struct argp_state *state);

/* ---- paths.c: folders of the libraries ------------------------------------ */

/** The directory of libgpreempt-preload.so. 0 or -ENOENT. */
int gp_path_libdir(char *buf, size_t len);
/** The directory of the software GPU's libcuda.so.1. 0 or -ENOENT. */
int gp_path_softgpu(char *buf, size_t len);
/** The program gpreemptd. 0 or -ENOENT. */
int gp_path_daemon(char *buf, size_t len);
/** Is @word the path or, in PATH, the name of an executable file? */
bool gp_path_is_program(const char *word);

/* ---- device.c --------------------------------------------------------------- */

struct gp_devices {
	size_t count;
	struct gp_device *dev[GP_HAL_MAX_DEVICES];
};

/** Opens the device @spec, or all of the backend. 0; negative: @why has the message. */
int gp_devices_open(const char *spec, struct gp_devices *devices, char *why, size_t why_len);
void gp_devices_close(struct gp_devices *devices);
/** A spec that a user may write for @dev: "GPU-...", or "soft0". */
void gp_device_spec(const struct gp_device *dev, char *buf, size_t len);
/** Does @dev belong to the software GPU? Its programs need its libcuda. */
bool gp_device_is_soft(const struct gp_device *dev);

/* ---- tenant.c ---------------------------------------------------------------- */

struct gp_wire_memory_figures;
struct gp_wire_status;
/**
 * Ask tenant @pid; its texts are terminated. 0; -ESRCH: no tenant; -ETIMEDOUT: no
 * answer in @timeout_ms; other negative errno of the socket.
 */
int gp_tenant_status(pid_t pid, struct gp_wire_status *status, int timeout_ms);
/**
 * The same for each of its devices. Returns their number, at least 1, or a negative errno. If
 * the tenant has no device yet, @status[0] belongs to none.
 */
ssize_t gp_tenant_devices(pid_t pid, struct gp_wire_status *status, size_t max, int timeout_ms);
/**
 * gp_tenant_ask() - ask @n tenants at once for their devices.
 * @fd: of each: its connection, with an answer to read, which the caller closes; or negative
 *	errno, -ETIMEDOUT: no answer in @timeout_ms, which are those of all together.
 */
#define GP_TENANT_ASK_MAX 256
void gp_tenant_ask(const pid_t *pid, int *fd, size_t n, int timeout_ms);
/** gp_tenant_devices() of a tenant that has answered gp_tenant_ask(). */
ssize_t gp_tenant_answer(int fd, struct gp_wire_status *status, size_t max, int timeout_ms);
/** Memory of @pid on the device @uuid, as its status has it. 0 or negative errno. */
int gp_tenant_memory(pid_t pid, const char *uuid, struct gp_wire_memory_figures *figures,
		     int timeout_ms);

/* ---- environment of CMD; launch.c -------------------------------------------- */

/**
 * gp_launch_prepare() - set this process's environment for CMD.
 * @class_text: NULL: set only the variables for @device, no class.
 * @device: NULL: only check whether there is a GPU.
 * @cmd: the program, as execvp() takes it
 *
 * Returns 0, or GP_EXIT_OWN after a message.
 */
int gp_launch_prepare(const char *verb, const char *class_text, const char *device,
		      const char *cmd);
/** Exit status for execvp() that failed with @err, after a message. */
int gp_launch_failed(const char *verb, const char *file, int err);

/* ---- set_class.c: a class for a running process ------------------------------------- */

/** attach and set: @pid gets @request, on @device (NULL: all its devices). */
int gp_process_set_class(const char *verb, pid_t pid, const struct gp_class_request *request,
			 const char *device);
/** Does the process exist? 0, or GP_EXIT_OWN after a message. */
int gp_check_pid(const char *verb, pid_t pid);
/** Prints one line for @err of an access to @pid. GP_EXIT_OWN. */
int gp_fail_access(const char *verb, pid_t pid, int err);
/** Moves the compute groups to the front of @list; returns their number. */
size_t gp_compute_groups(struct gp_group_list *list);

/* ---- slot_holder.c: holds the short slice's slot for a process without gpreempt ------ */

enum gp_slot_holder_state {
	GP_SLOT_HOLDER_NONE,
	GP_SLOT_HOLDER_HAS,
	GP_SLOT_HOLDER_WAITS
};

/** Ask the keeper of @pid on @dev. */
int gp_slot_holder_query(pid_t pid, const struct gp_device *dev, enum gp_slot_holder_state *state);
/** End it; returns after its slot is free. 0 also if there is none. -EPERM. */
int gp_slot_holder_stop(pid_t pid, const struct gp_device *dev);
/**
 * gp_slot_holder_start() - a process that lives as long as @pid.
 * @slot_fd: as gp_slot_try() gave it, or -1: wait for it, then set the slice.
 */
int gp_slot_holder_start(pid_t pid, struct gp_device *dev, int slot_fd);
/** The keeper's own main(). */
int gp_slot_holder_main(int argc, char **argv);
#define GP_SLOT_HOLDER_VERB "keep-slot"

/* ---- cdi.c ---------------------------------------------------------------------- */

/**
 * gp_cdi_check() - the file @path, as gpreempt cdi printed it.
 * @missing: the path that containers would mount and that is not there
 * Return: 0; -ENODATA: no file; -EBADMSG: not such a file; other negative errno of @missing.
 */
int gp_cdi_check(const char *path, char missing[PATH_MAX]);

/* ---- cleanup --------------------------------------------------------------------- */

void gp_cleanup_close(int *fd);
void gp_cleanup_free(void *ptr);
#define GP_CLOSE __attribute__((cleanup(gp_cleanup_close)))
#define GP_FREE __attribute__((cleanup(gp_cleanup_free)))
#define GP_DEVICES __attribute__((cleanup(gp_devices_close)))

#endif
