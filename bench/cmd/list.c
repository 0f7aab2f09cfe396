// SPDX-License-Identifier: Apache-2.0
/* list.c - gpreempt-bench list FILE: the kind of file, by its fields. */
#include "bench/cmd/list.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plan/one_line.h"

/* Read the file once, as it may be a pipe. @bytes: its size. NULL with errno on error. */
static char *read_text(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "r");
	char *text = NULL, *more;
	size_t room = 0, n;

	*bytes = 0;
	if (!file)
		return NULL;
	do {
		room = room ? 2 * room : 65536;
		more = realloc(text, room);
		if (!more)
			break;
		text = more;
		n = fread(text + *bytes, 1, room - *bytes, file);
		*bytes += n;
	} while (*bytes == room);
	if (!more || ferror(file)) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

static int list_text(const char *path, const char *text, size_t bytes)
{
	json_error_t error;
	json_t *root = json_loadb(text, bytes, 0, &error);
	const bool plan = json_object_get(root, "tasks");
	const bool workload = json_object_get(root, "kernels");
	char why[256];

	if (!root)
		gp_one_line_json(&error, path, why, sizeof(why));
	else
		snprintf(why, sizeof(why),
			 "%s: found neither \"tasks\" nor \"kernels\", a plan or "
			 "a workload is wanted",
			 path);
	json_decref(root);
	if (plan)
		return gp_list_plan(path, text, bytes);
	if (workload)
		return gp_list_workload(path, text, bytes);
	fprintf(stderr, "gpreempt-bench: %s\n", why);
	return 2;
}

int gp_list_file(const char *path)
{
	size_t bytes;
	char *text = read_text(path, &bytes);
	int status;

	if (!text) {
		fprintf(stderr, "gpreempt-bench: %s: %s\n", path, strerror(errno));
		return 2;
	}
	status = list_text(path, text, bytes);
	free(text);
	return status;
}
