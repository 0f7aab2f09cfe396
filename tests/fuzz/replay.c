// SPDX-License-Identifier: Apache-2.0
/* Feed every file of a corpus folder to a fuzz target, without libFuzzer. */
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

int main(int argc, char **argv)
{
	struct dirent *entry;
	unsigned int count = 0;
	char path[4096];
	DIR *dir;

	if (argc != 2 || !(dir = opendir(argv[1]))) {
		fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
		return 2;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		if (replay_file(path))
			return 1;
		count++;
	}
	closedir(dir);
	printf("%s: %u inputs replayed\n", argv[1], count);
	return count ? 0 : 1;
}
