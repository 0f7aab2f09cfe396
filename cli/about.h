/* SPDX-License-Identifier: Apache-2.0 */
/* about.h - a verb that asks gpreemptd about one process: why, hist. */
#ifndef GP_CLI_ABOUT_H
#define GP_CLI_ABOUT_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/view.h"
#include "wire/wire.h"

/**
 * struct gp_about - what was asked, and what is told
 * @device: NULL: on each of its devices
 * @view: as the daemon had it when it was asked
 * @list: what @tell adds to is printed, with --json
 * @told: how many devices of the process have been told of
 */
struct gp_about {
	const char *verb;
	bool json;
	const char *device;
	pid_t pid;

	int fd;
	struct gp_view view;
	json_t *list;
	size_t told;
};

struct gp_about_verb {
	const char *name, *doc;
	const char *json_doc; /* of the option */
	const char *list;     /* name of what JSON has */
	/* All that is asked for; 0 or an exit status, having said why. */
	int (*tell)(struct gp_about *about);
};

/** The verb, from its words to its exit status. */
int gp_about(const struct gp_about_verb *verb, int argc, char **argv);

/** Ask; the answer of type @wanted is in @msg. 0 or an exit status, having said why. */
int gp_about_ask(const struct gp_about *about, union gp_wire_msg *msg, enum gp_wire_type wanted);

/** "process 12 (name), be, on gpu0", after an empty line if it is not the first. */
void gp_about_head(const struct gp_about *about, const char *comm, const char *device,
		   const struct gp_wire_request *request);

/** With the process, its device, and nothing else yet. */
json_t *gp_about_json(const struct gp_about *about, const char *comm, const char *device,
		      const uint8_t uuid[16]);

#endif
