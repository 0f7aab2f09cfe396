// SPDX-License-Identifier: Apache-2.0
/* main.c - gpreempt(1): find the verb and call it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/cli.h"

static const struct gp_verb verbs[] = {
	{ "run", "--class=CLASS [--device=DEVICE] -- CMD", "run CMD with a class", gp_verb_run },
	{ "attach", "--class=CLASS [--device=DEVICE] PID", "give a running process a class",
	  gp_verb_attach },
	{ "set", "--class=CLASS PID", "change the class of a process", gp_verb_set },
	{ "hint", "PID --in=300us", "announce that its work arrives then", gp_verb_hint },
	{ "ls", "[--json]", "list processes on the GPU", gp_verb_ls },
	{ "top", "[-b] [-n N] [-d SECONDS]", "monitor GPU use, every 2 s", gp_verb_top },
	{ "why", "[--json] PID", "explain why it runs or waits now", gp_verb_why },
	{ "hist", "[--json] PID", "histograms of its waits, switches and holds", gp_verb_hist },
	{ "stat", "[--json] [-o FILE] -- CMD", "run CMD, then print a summary", gp_verb_stat },
	{ "trace", "-o FILE [-d SECONDS] [-- CMD]", "record GPU use and decisions for Perfetto",
	  gp_verb_trace },
	{ "cdi", "[CLASS...]", "print the classes as devices for containers", gp_verb_cdi },
	{ "doctor", "", "check this machine", gp_verb_doctor },
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int help(void)
{
	printf("Usage: gpreempt VERB [OPTION...]\n\nGive a latency-critical process the GPU the "
	       "moment it needs it.\n\n");
	for (size_t i = 0; i < VERBS; i++)
		printf("  %-7s %-39s %s\n", verbs[i].name, verbs[i].args, verbs[i].doc);
	printf("\nCLASS is lc or lc:LEVEL (latency-critical, 0 most urgent, to %d), or\nbe or "
	       "be:WEIGHT (best-effort, %d to %d). DEVICE is a UUID, a PCI address,\nor soft0, the "
	       "software GPU.\n\nSee gpreempt VERB --help, or gpreempt(1).\n",
	       GP_LEVEL_MAX, GP_WEIGHT_MIN, GP_WEIGHT_MAX);
	return gp_flush_output(0);
}

/* argp takes the program's name from argv[0]: "gpreempt VERB". */
static int call(const struct gp_verb *verb, int argc, char **argv)
{
	static char name[64];

	snprintf(name, sizeof(name), "gpreempt %s", verb->name);
	argv[1] = name;
	return gp_flush_output(verb->run(argc - 1, argv + 1));
}

/* ---- no verb: what was meant? ------------------------------------------------- */

/* Is @word @verb but for one letter that is missing, wrong or too much? */
static bool is_near(const char *word, const char *verb)
{
	size_t same = 0, n = strlen(word), m = strlen(verb);

	while (word[same] && tolower((unsigned char)word[same]) == verb[same])
		same++;
	if (!word[same] && !verb[same])
		return true;
	if (n == m)
		return !strcasecmp(word + same + 1, verb + same + 1);
	if (n + 1 == m)
		return !strcasecmp(word + same, verb + same + 1);
	return n == m + 1 && !strcasecmp(word + same + 1, verb + same);
}

static int fail_verb(const char *word)
{
	if (!strncmp(word, "--class", strlen("--class")) || !strncmp(word, "-c", 2))
		return gp_fail("%s: verb missing; write gpreempt run --class=CLASS -- CMD", word);
	for (size_t i = 0; i < VERBS; i++)
		if (is_near(word, verbs[i].name))
			return gp_fail("%s: unknown verb; write gpreempt %s", word, verbs[i].name);
	if (gp_path_is_program(word))
		return gp_fail("%s: unknown verb; to run that program, write gpreempt run "
			       "--class=be -- %s",
			       word, word);
	return gp_fail("%s: unknown verb; see gpreempt --help", word);
}

int main(int argc, char **argv)
{
	argp_program_version = "gpreempt " GP_VERSION;
	argp_err_exit_status = GP_EXIT_OWN;
	if (argc < 2) {
		gp_note("verb missing; write gpreempt run --class=lc -- CMD, or see gpreempt "
			"--help");
		return GP_EXIT_OWN;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts(argp_program_version);
		return gp_flush_output(0);
	}
	if (!strcmp(argv[1], GP_SLOT_HOLDER_VERB))
		return gp_slot_holder_main(argc - 1, argv + 1);
	for (size_t i = 0; i < VERBS; i++)
		if (!strcmp(argv[1], verbs[i].name))
			return call(&verbs[i], argc, argv);
	return fail_verb(argv[1]);
}
