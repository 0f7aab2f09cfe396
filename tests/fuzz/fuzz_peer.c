// SPDX-License-Identifier: Apache-2.0
/*
 * A peer's file: refused input leaves one line, accepted input is complete, and its commands
 * can be printed.
 */
#include <errno.h>

#include "bench/run/peer.h"
#include "tests/fuzz/fuzz.h"

static void check_line(const char *text)
{
	FUZZ_CHECK(*text);
	for (; *text; text++)
		FUZZ_CHECK((unsigned char)*text >= ' ' && *text != 127);
}

static void check_words(const struct gp_peer *peer, const struct gp_peer_words *words)
{
	const struct gp_peer_names names = {
		.device = "soft0",
		.class_name = "be:300",
		.client = "/b/client",
		.folder = "/tmp/f",
		.class_times = ",period=10ms,runtime=1ms",
	};
	char out[GP_PEER_TEXT_MAX];

	FUZZ_CHECK(words->count <= GP_PEER_WORDS && !words->word[words->count]);
	for (uint32_t i = 0; i < words->count; i++) {
		int err = gp_peer_word(peer, &names, words->word[i], out, sizeof(out));

		check_line(words->word[i]);
		FUZZ_CHECK(!err || err == -E2BIG || err == -ENOENT);
		FUZZ_CHECK(memchr(out, '\0', sizeof(out)));
	}
}

static void check_peer(const struct gp_peer *peer)
{
	check_line(peer->name);
	check_line(peer->what);
	FUZZ_CHECK(!strcmp(peer->folder, "/peers"));
	check_words(peer, &peer->lc);
	check_words(peer, &peer->be);
	check_words(peer, &peer->needs);
	check_words(peer, &peer->together);
	check_words(peer, &peer->beside);
	FUZZ_CHECK(!peer->together.count || !(peer->lc.count || peer->be.count));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[GP_PEER_WHY_LEN] = "";
	/* In a buffer of its exact size, without a terminator, so that a read past it is found. */
	char *text = malloc(size ? size : 1);
	struct gp_peer *peer;

	FUZZ_CHECK(text);
	if (size)
		memcpy(text, data, size);
	peer = gp_peer_parse("/peers/fuzz", text, size, why, sizeof(why));
	if (peer) {
		check_peer(peer);
	} else {
		FUZZ_CHECK(!strncmp(why, "/peers/fuzz:", 12) && strlen(why) < sizeof(why) - 1);
		check_line(why);
	}
	gp_peer_destroy(peer);
	free(text);
	return 0;
}
