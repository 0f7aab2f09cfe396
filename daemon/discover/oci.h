/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oci.h - from a container's id to the facts that its runtime recorded: config.json of the
 * container's bundle. containerd (Kubernetes, docker, k3s) names the folder by the id. Under
 * podman and CRI-O, the state of runc or crun names the folder.
 */
#ifndef GP_DAEMON_OCI_H
#define GP_DAEMON_OCI_H

#include <limits.h>
#include <stddef.h>

#include "daemon/config/container.h"

/**
 * gp_oci_config() - the facts in @bytes of a bundle's config.json.
 * Return: 0, and the caller frees *@out; -EBADMSG: not such a file; -ENOMEM. Pure.
 */
int gp_oci_config(const char *text, size_t bytes, struct gp_container **out);

/**
 * gp_oci_bundle() - the bundle's folder in @bytes of runc's state.json or crun's status.
 * Return: 0; -EBADMSG: it names no absolute path. Pure.
 */
int gp_oci_bundle(const char *text, size_t bytes, char path[PATH_MAX]);

/**
 * gp_oci_read() - find and read the facts on container @id, 64 hexadecimal digits.
 * @root: folder of all paths, without a slash at its end; "": the machine's
 *
 * Every folder on the way, and the file, belong to root or to the daemon's user, no other user
 * may write to them, and none is a link. So no user can direct the daemon to a file or to a
 * file system that never answers.
 * Return: 0, and the caller frees *@out; -ENOENT: no runtime knows it; -EPERM: a user owns a
 * folder; other negative errno.
 */
int gp_oci_read(const char *root, const char *id, struct gp_container **out);

#endif
