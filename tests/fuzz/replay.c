// SPDX-License-Identifier: Apache-2.0
/*
 * Feed every file of a corpus folder to a fuzz target, without libFuzzer:
 * replay_NAME [FOLDER], which is tests/fuzz/corpus/NAME when not given.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data;
	size_t size;

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	fseek(file, 0, SEEK_END);
	size = (size_t)ftell(file);
	rewind(file);
	/* Exactly as large as the input: a read past its end is seen. */
	data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, file) != size) {
		fprintf(stderr, "%s: cannot be read\n", path);
		free(data);
		fclose(file);
		return -1;
	}
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 0;
}

static const char *own_name(const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;

	return strncmp(name, "replay_", 7) ? name : name + 7;
}

int main(int argc, char **argv)
{
	unsigned int run = 0, failed = 0;
	struct dirent *entry;
	char folder[256], path[4096];
	DIR *dir;

	snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%s", own_name(argv[0]));
	if (argc > 1)
		snprintf(folder, sizeof(folder), "%s", argv[1]);
	dir = opendir(folder);
	if (!dir) {
		fprintf(stderr, "%s: %s\n", folder, strerror(errno));
		return 2;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		run++;
		if (replay_file(path))
			failed++;
	}
	closedir(dir);
	printf("%s: %u run, %u failed, 0 skipped\n", folder, run, failed);
	return run && !failed ? 0 : 1;
}
