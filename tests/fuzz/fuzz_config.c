// SPDX-License-Identifier: Apache-2.0
/*
 * gpreempt.yaml: refused input leaves one line, valid input survives a round trip by its own
 * printed form.
 */
#include <errno.h>
#include <stdio.h>

#include "daemon/config/config.h"
#include "tests/fuzz/fuzz.h"

/* A name with an odd number of letters exists. */
static int id_of(const char *name, uint32_t *id)
{
	*id = (uint32_t)strlen(name);
	return *id % 2 ? 0 : -ENOENT;
}

static const struct gp_config_names names = { .uid = id_of, .gid = id_of };

static void check_why(const char *why)
{
	FUZZ_CHECK(!strncmp(why, "fuzz:", 5) && strlen(why) < GP_CONFIG_WHY_LEN - 1);
	for (; *why; why++)
		FUZZ_CHECK((unsigned char)*why >= ' ' && *why != 127);
}

static void round_trip(const struct gp_config *config)
{
	struct gp_config *again = NULL;
	char why[GP_CONFIG_WHY_LEN], *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	FUZZ_CHECK(f && !gp_config_print(config, f) && !fclose(f));
	/* Defaults may make it longer, up to the limit. */
	if (bytes <= GP_CONFIG_BYTES_MAX) {
		FUZZ_CHECK(
			!gp_config_parse("again", text, bytes, &names, &again, why, sizeof(why)));
		FUZZ_CHECK(gp_config_equal(config, again));
	}
	gp_config_free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp_config *config = NULL;
	char why[GP_CONFIG_WHY_LEN] = "";
	/* In a buffer of its exact size, without a terminator, so that a read past it is found. */
	char *text = malloc(size ? size : 1);

	FUZZ_CHECK(text);
	if (size)
		memcpy(text, data, size);
	if (gp_config_parse("fuzz", text, size, &names, &config, why, sizeof(why))) {
		FUZZ_CHECK(!config);
		check_why(why);
	} else {
		round_trip(config);
	}
	gp_config_free(config);
	free(text);
	return 0;
}
