/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - what schedules the clients, by how they are started: a command in front of
 * each. From a JSON file (schema_version 1):
 *
 *   {"schema_version": 1, "name": "gpreempt", "what": "one line",
 *    "lc": ["gpreempt", "run", "--class={class}", "--device={device}", "--"],
 *    "be": ["gpreempt", "run", "--class={class}", "--device={device}", "--"],
 *    "hint": false, "needs": ["gpreempt"]}
 *
 * "hint": latency-critical clients say that work comes. "needs": programs, and, where there
 * is a slash in it, files, without which it is absent. Three more may be there:
 * "together": one process is all clients; the command that starts it, to which
 *   --together=FILE is added (bench/apps/client.c, or what takes such a file and prints and
 *   writes the same); "lc" and "be" are empty.
 * "beside": a command that runs beside the clients. It prints "ready" before they are
 *   started, and ends when its standard input does.
 * "cards_only": true: it is nothing for the software GPU.
 *
 * In a word {device} stands for the device's name, {class} for the client's class as
 * gpreempt run takes it, {class_times} for what follows that of a client with deadlines (else
 * nothing), {client} for the program that is a client, {folder} for a folder of this run, {peers}
 * for the file's own, {$NAME} for a variable of the environment, without which it is absent.
 */
#ifndef GP_BENCH_DEVICE_PEER_H
#define GP_BENCH_DEVICE_PEER_H

#include <stdbool.h>
#include <stddef.h>

#define GP_PEER_WORDS 16

struct gp_peer {
	char *name, *what, *folder;
	char *lc[GP_PEER_WORDS + 1], *be[GP_PEER_WORDS + 1];	/* NULL at the end */
	char *needs[GP_PEER_WORDS + 1];
	char *together[GP_PEER_WORDS + 1], *beside[GP_PEER_WORDS + 1];	/* or nothing */
	bool hint, cards_only;
};

/* What words' names stand for. */
struct gp_peer_names {
	const char *device, *class_name, *client, *folder, *class_times;
};

/**
 * NULL and one line in @why: the file, where in it, what was found there and what
 * would be right. Free with gp_peer_destroy().
 */
struct gp_peer *gp_peer_read(const char *path, char *why, size_t why_len);
void gp_peer_destroy(struct gp_peer *peer);	/* NULL is fine */

/** Cannot it run here? Then @why says what it lacks. */
bool gp_peer_is_absent(const struct gp_peer *peer, bool soft, char *why, size_t why_len);

/**
 * @word with its names replaced. 0; -E2BIG; -ENOENT: there is no such name, or no such
 * variable, of which @out then has the name.
 */
int gp_peer_word(const struct gp_peer *peer, const struct gp_peer_names *names,
		 const char *word, char *out, size_t len);

#endif
