/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - what schedules the clients, by how they are started: a command in front of
 * each. From a JSON file (schema_version 1):
 *
 *   {"schema_version": 1, "name": "gpreempt", "what": "one line",
 *    "lc": ["gpreempt", "run", "--class=lc", "--device={device}", "--"],
 *    "be": ["gpreempt", "run", "--class=be", "--device={device}", "--"],
 *    "hint": false, "needs": ["gpreempt"]}
 *
 * {device} is the device's name; "hint": latency-critical clients say that work comes;
 * "needs": programs without which it is absent.
 */
#ifndef GP_BENCH_DEVICE_PEER_H
#define GP_BENCH_DEVICE_PEER_H

#include <stdbool.h>
#include <stddef.h>

#define GP_PEER_WORDS 16

struct gp_peer {
	char *name, *what;
	char *lc[GP_PEER_WORDS + 1], *be[GP_PEER_WORDS + 1];	/* NULL at the end */
	char *needs[GP_PEER_WORDS + 1];
	bool hint;
};

/**
 * NULL and one line in @why: the file, where in it, what was found there and what
 * would be right. Free with gp_peer_destroy().
 */
struct gp_peer *gp_peer_read(const char *path, char *why, size_t why_len);
void gp_peer_destroy(struct gp_peer *peer);	/* NULL is fine */

/** The first program that it needs and that is not found, or NULL. */
const char *gp_peer_lacks(const struct gp_peer *peer);

#endif
