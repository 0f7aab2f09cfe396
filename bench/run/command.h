/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - the command of a client: a peer's words, then the client's options. */
#ifndef GP_BENCH_RUN_COMMAND_H
#define GP_BENCH_RUN_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/run/run.h"

#define GP_COMMAND_WORDS (GP_PEER_WORDS + 24)
#define GP_COMMAND_WORD_LEN 512

struct gp_command {
	char word[GP_COMMAND_WORDS][GP_COMMAND_WORD_LEN];
	char *argv[GP_COMMAND_WORDS + 1];
	int words;
};

/**
 * gp_command_peer() - @words of the peer's, with their names replaced for @client (its index; any,
 * where the words belong to no client). 0; -E2BIG; -ENOENT: there is no such name.
 */
int gp_command_peer(struct gp_command *command, const struct gp_device_run *run, char *const *words,
		    size_t client, const char *folder);
void gp_command_add(struct gp_command *command, const char *word);
/** Has it a workload of PyTorch's client? */
bool gp_command_is_torch(const struct gp_device_run *run, size_t client);
/** The options of one client, whose files are in @folder. */
void gp_command_client(struct gp_command *command, const struct gp_device_run *run, size_t client,
		       const char *folder);
/** The file that its requests are written to. */
void gp_command_samples(const char *folder, size_t client, char *path, size_t len);

/** The files of its options, in @folder: its trace, its FIFO. 0, or negative errno. */
int gp_command_files(const struct gp_device_run *run, size_t client, const char *folder);

#endif
