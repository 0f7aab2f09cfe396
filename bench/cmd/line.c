// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_"

/* Within single quotes only the quote itself is special to a shell. */
static void add_quoted(FILE *line, const char *word)
{
	fputc('\'', line);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", line);
		else
			fputc(*word, line);
	fputc('\'', line);
}

static void add_word(FILE *line, const char *word)
{
	if (*word && strspn(word, PLAIN) == strlen(word))
		fputs(word, line);
	else
		add_quoted(line, word);
}

char *gp_command_line(int argc, char *const *argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	char *text = NULL;
	size_t len;
	FILE *line = open_memstream(&text, &len);

	if (!line)
		return NULL;
	for (int i = 0; i < argc; i++) {
		if (i)
			fputc(' ', line);
		add_word(line, i || !slash ? argv[i] : slash + 1);
	}
	if (fclose(line)) {
		free(text);
		return NULL;
	}
	return text;
}
