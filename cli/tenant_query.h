/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_query.h - verbs that ask gpreemptd about one process: why, hist. */
#ifndef GP_CLI_TENANT_QUERY_H
#define GP_CLI_TENANT_QUERY_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/view.h"
#include "wire/wire.h"

/**
 * struct gp_tenant_query - the query, and its results so far
 * @device: NULL: on each of its devices
 * @view: the daemon's, from the time of the query
 * @list: receives JSON from print(); printed with --json
 * @printed: number of the process's devices printed so far
 */
struct gp_tenant_query {
	const char *verb;
	bool json;
	const char *device;
	pid_t pid;

	int fd;
	struct gp_view view;
	json_t *list;
	size_t printed;
};

struct gp_tenant_query_verb {
	const char *name, *doc;
	const char *json_doc; /* of the option */
	const char *list;     /* name of the list in JSON */
	/* Prints one answer. 0, or an exit status after a message. */
	int (*print)(struct gp_tenant_query *query);
};

/** Runs the verb with its arguments; returns the exit status. */
int gp_tenant_query_run(const struct gp_tenant_query_verb *verb, int argc, char **argv);

/** Ask; puts the answer of type @wanted into @msg. 0, or an exit status after a message. */
int gp_tenant_query_ask(const struct gp_tenant_query *query, union gp_wire_msg *msg,
			enum gp_wire_type wanted);

/** Prints "process 12 (name), be, on gpu0", after an empty line unless it is the first. */
void gp_tenant_query_head(const struct gp_tenant_query *query, const char *comm, const char *device,
			  const struct gp_wire_request *request);

/** An object with the process and its device. */
json_t *gp_tenant_query_json(const struct gp_tenant_query *query, const char *comm,
			     const char *device, const uint8_t uuid[16]);

#endif
