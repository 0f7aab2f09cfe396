/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container.h - facts on a container, as its runtime recorded them. Rules match them, and metrics
 * have them as labels.
 */
#ifndef GP_DAEMON_CONTAINER_H
#define GP_DAEMON_CONTAINER_H

#include <stddef.h>

/* Longer values, and those with control characters, are left out. */
#define GP_CONTAINER_VALUE_MAX 256u
#define GP_CONTAINER_ANNOTATIONS_MAX 64u

/* The class that a pod or a container asks for, as "be-50" or "be:50". */
#define GP_CONTAINER_CLASS "gpreempt.io/class"

struct gp_annotation {
	char *key, *value;
};

/**
 * struct gp_container - all of it is owned; NULL: unknown.
 * @name: in its pod
 * @pod, @namespace: Kubernetes' names
 */
struct gp_container {
	char *name, *pod, *namespace, *image;
	size_t annotations;
	struct gp_annotation annotation[GP_CONTAINER_ANNOTATIONS_MAX];
};

/** The value of @key; NULL: none, or no @container. */
const char *gp_container_annotation(const struct gp_container *container, const char *key);
/** NULL is legal. */
void gp_container_free(struct gp_container *container);

#endif
