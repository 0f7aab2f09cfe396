/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - a scheduler of the clients: a command in front of each. It is read from a YAML file;
 * docs/bench-plans.md ("Peers") explains its keys.
 */
#ifndef GP_BENCH_RUN_PEER_H
#define GP_BENCH_RUN_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_PEER_WORDS 16
#define GP_PEER_TEXT_MAX 512u /* bytes of one value */
#define GP_PEER_WHY_LEN 512u  /* no reason is longer */

struct gp_peer_words {
	char *word[GP_PEER_WORDS + 1]; /* NULL at the end */
	uint32_t count;
};

/* @folder: the file's own. @needs and later members may be empty. */
struct gp_peer {
	char *name, *what, *folder;
	struct gp_peer_words lc, be; /* in front of a client */
	struct gp_peer_words needs, together, beside;
	bool hint, cards_only;
};

/* Values of the names in words. */
struct gp_peer_names {
	const char *device, *class_name, *client, *folder, *class_times;
};

/**
 * NULL and one line in @why (GP_PEER_WHY_LEN): the file, the place, the value there and a right
 * one. Free with gp_peer_destroy().
 */
struct gp_peer *gp_peer_read(const char *path, char *why, size_t why_len);
/** The same of @bytes of @text, as if @path had them. */
struct gp_peer *gp_peer_parse(const char *path, const char *text, size_t bytes, char *why,
			      size_t why_len);
void gp_peer_destroy(struct gp_peer *peer); /* NULL is fine */

/** True if it cannot run here; @why has the reason. */
bool gp_peer_is_absent(const struct gp_peer *peer, bool soft, char *why, size_t why_len);

/**
 * @word with its names replaced. 0; -E2BIG; -ENOENT: there is no such name, or no such
 * variable, of which @out then has the name.
 */
int gp_peer_word(const struct gp_peer *peer, const struct gp_peer_names *names, const char *word,
		 char *out, size_t len);

#endif
