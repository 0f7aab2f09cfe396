// SPDX-License-Identifier: Apache-2.0
/* What container runtimes record: facts of names and values without control characters. */
#include "daemon/discover/oci.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *text)
{
	FUZZ_CHECK(!text || strlen(text) <= GP_CONTAINER_VALUE_MAX);
	for (; text && *text; text++)
		FUZZ_CHECK((unsigned char)*text >= ' ' && *text != 127);
}

static void check_facts(struct gp_container *c)
{
	check_text(c->name);
	check_text(c->pod);
	check_text(c->namespace);
	check_text(c->image);
	FUZZ_CHECK(c->annotations <= GP_CONTAINER_ANNOTATIONS_MAX);
	for (size_t i = 0; i < c->annotations; i++) {
		check_text(c->annotation[i].key);
		check_text(c->annotation[i].value);
		FUZZ_CHECK(gp_container_annotation(c, c->annotation[i].key));
	}
	gp_container_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* In a buffer of its exact size, so that a read past it is found. */
	char *text = malloc(size ? size : 1), path[PATH_MAX];
	struct gp_container *c = NULL;

	FUZZ_CHECK(text);
	if (size)
		memcpy(text, data, size);
	if (!gp_oci_config(text, size, &c))
		check_facts(c);
	else
		FUZZ_CHECK(!c);
	if (!gp_oci_bundle(text, size, path))
		FUZZ_CHECK(*path == '/' && strlen(path) < PATH_MAX);
	free(text);
	return 0;
}
