// SPDX-License-Identifier: Apache-2.0
/* hsaq.c - hsaq(1): options, the verb, and messages that all verbs share. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/parse.h"
#include "cli/text.h"
#include "libhsaq/cmd/cmd.h"

static int check_nothing(const struct hsaq_args *args)
{
	if (args->rest[0])
		return hsaq_fail(args, "%s: unexpected argument", args->rest[0]);
	return 0;
}

/* @takes: the values of its options in options[]. */
static const struct verb {
	const char *name;
	const char *takes;
	const char *args;
	const char *doc;
	int (*check)(const struct hsaq_args *args);
	int (*run)(const struct hsaq_args *args, struct hsaq *h);
} verbs[] = {
	{ "mode", "hd", "", "print the mode of each device", check_nothing, hsaq_verb_mode },
	{ "ls", "hd", "", "list devices and queues", check_nothing, hsaq_verb_ls },
	{ "unload", "hdf", "[--for=1s] PID[:QUEUE]", "unload queues, and keep them unloaded",
	  hsaq_check_target, hsaq_verb_unload },
	{ "load", "hd", "PID[:QUEUE]", "end an hsaq unload", hsaq_check_target, hsaq_verb_load },
	{ "hold", "hdfl", "[--level=N] [--for=1s | -- CMD]", "unload all best-effort queues",
	  hsaq_check_hold, hsaq_verb_hold },
	{ "grant", "hdmr", "[--rights=R] [--min-level=N] -- CMD", "run CMD with a right to hold",
	  hsaq_check_grant, hsaq_verb_grant },
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static const struct option options[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "for", required_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "level", required_argument, NULL, 'l' },
	{ "min-level", required_argument, NULL, 'm' },
	{ "rights", required_argument, NULL, 'r' },
	{ 0 },
};

static void help(void)
{
	printf("Usage: hsaq VERB [OPTION...]\n\nQueues of AMD's compute driver "
	       "(KFD).\n\n");
	for (size_t i = 0; i < VERBS; i++)
		printf("  %-6s %-39s %s\n", verbs[i].name, verbs[i].args, verbs[i].doc);
	printf("\nAll take --device=D: a PCI address, GPU-<unique id>, or a gpu_id.\nLevels are 0 "
	       "(most urgent) to %d. R: hold, raise, others, read, with commas.\nSee hsaq(1).\n",
	       HSAQ_LEVEL_MAX);
}

int hsaq_fail(const struct hsaq_args *args, const char *fmt, ...)
{
	char verb[64], line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	snprintf(verb, sizeof(verb), "%s", args->verb);
	gp_one_line(line);
	gp_one_line(verb);
	fprintf(stderr, "hsaq: %s: %s\n", verb, line);
	return HSAQ_EXIT_OWN;
}

int hsaq_fail_call(const struct hsaq_args *args, const struct hsaq *h, uint32_t gpu_id,
		   const char *what, int err)
{
	char line[HSAQ_WHY_LEN];

	switch (err) {
	case -EOPNOTSUPP:
		hsaq_device_mode_line(h, gpu_id, line, sizeof(line));
		return hsaq_fail(args, "%s: not with this kernel: %s", what, line);
	case -EPERM:
		return hsaq_fail(args,
				 "%s: not permitted: use sudo (CAP_SYS_ADMIN), or join the group "
				 "of /dev/kfd_sched (ls -l)",
				 what);
	case -ESRCH:
		return hsaq_fail(args,
				 "%s: no such process, or it does not have "
				 "the KFD open",
				 what);
	case -ENOENT:
		return hsaq_fail(args, "%s: no such queue; see hsaq ls", what);
	case -ETIME:
		return hsaq_fail(
			args, "%s: the queue did not answer, and is quarantined; see dmesg", what);
	default:
		return hsaq_fail(args, "%s: %s", what, strerror(-err));
	}
}

/* With the KFD open. */
static int run(const struct hsaq_args *args, const struct verb *verb)
{
	char why[HSAQ_WHY_LEN] = "";
	const struct hsaq_open_opts opts = {
		.size = sizeof(opts),
		.why = why,
		.why_len = sizeof(why),
	};
	struct hsaq *h;
	int err = hsaq_open(&opts, &h);

	if (err)
		return hsaq_fail(args, "%s", why[0] ? why : strerror(-err));
	err = verb->run(args, h);
	hsaq_close(h);
	return err;
}

bool hsaq_names(const char *device, const struct hsaq_device_info *info)
{
	char pci[32], uuid[32], id[16];

	if (!device)
		return true;
	snprintf(pci, sizeof(pci), "%04x:%02x:%02x.%x", info->pci_domain, info->pci_bus,
		 info->pci_dev, info->pci_fn);
	snprintf(uuid, sizeof(uuid), "GPU-%016llx", (unsigned long long)info->unique_id);
	snprintf(id, sizeof(id), "%u", info->gpu_id);
	return !strcasecmp(device, pci) || !strcasecmp(device, uuid) || !strcmp(device, id);
}

int hsaq_fail_device(const struct hsaq_args *args)
{
	if (args->device)
		return hsaq_fail(args, "--device=%s: no such device; see hsaq ls", args->device);
	return hsaq_fail(args, "the KFD lists no GPU; see dmesg for errors of amdgpu");
}

struct choice {
	const char *device;
	size_t count;
	struct hsaq_device_info *info;
};

static int choose(const struct hsaq_device_info *info, void *arg)
{
	struct choice *c = arg;

	if (hsaq_names(c->device, info) && !c->count++)
		*c->info = *info;
	return 0;
}

int hsaq_get_device(const struct hsaq_args *args, struct hsaq *h, struct hsaq_device_info *info)
{
	struct choice c = { .device = args->device, .info = info };
	int err = hsaq_devices(h, choose, &c);

	if (err)
		return hsaq_fail_call(args, h, 0, "devices", err);
	if (!c.count)
		return hsaq_fail_device(args);
	if (c.count > 1)
		return hsaq_fail(args, "%zu devices; select one by --device (see hsaq ls)",
				 c.count);
	return 0;
}

/* ---- options --------------------------------------------------------------------- */

static int parse_level(const struct hsaq_args *args, const char *option, const char *text,
		       uint32_t *level)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || v > HSAQ_LEVEL_MAX)
		return hsaq_fail(args, "--%s=%s: not a level; write 0 (most urgent) to %d", option,
				 text, HSAQ_LEVEL_MAX);
	*level = (uint32_t)v;
	return 0;
}

static int parse_rights(const struct hsaq_args *args, char *text, uint32_t *rights)
{
	static const struct {
		const char *name;
		uint32_t bit;
	} right[] = {
		{ "hold", HSAQ_RIGHT_HOLD },
		{ "raise", HSAQ_RIGHT_RAISE },
		{ "others", HSAQ_RIGHT_OTHERS },
		{ "read", HSAQ_RIGHT_READ },
	};
	const size_t count = sizeof(right) / sizeof(right[0]);
	char *save = NULL;

	*rights = 0;
	for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		size_t i = 0;

		while (i < count && strcmp(word, right[i].name))
			i++;
		if (i == count)
			return hsaq_fail(
				args, "%s: unknown right; write hold, raise, others or read", word);
		*rights |= right[i].bit;
	}
	return *rights ? 0 :
			 hsaq_fail(args, "--rights= is empty; write hold, raise, others or read");
}

static int parse_for(const struct hsaq_args *args, const char *text, uint64_t *ns)
{
	if (gp_parse_duration(text, ns) || !*ns)
		return hsaq_fail(args,
				 "--for=%s: not a time; write a number and "
				 "a unit: 300us, 2s",
				 text);
	return 0;
}

/* The option that getopt_long() just parsed. */
static const char *option_name(int key)
{
	for (const struct option *o = options; o->name; o++)
		if (o->val == key)
			return o->name;
	return "";
}

/* 0, or the command's exit status; *@helped: 0, after --help or the like. */
static int parse(int argc, char **argv, const struct verb *verb, struct hsaq_args *args,
		 bool *helped)
{
	int key, err = 0;

	/* "+": options after CMD are CMD's. */
	opterr = 0;
	while (!err && (key = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (key != '?' && !strchr(verb->takes, key))
			return hsaq_fail(args, "--%s: this verb does not take it; see hsaq --help",
					 option_name(key));
		switch (key) {
		case 'd':
			args->device = optarg;
			break;
		case 'f':
			args->has_for = true;
			err = parse_for(args, optarg, &args->for_ns);
			break;
		case 'h':
			help();
			*helped = true;
			return 0;
		case 'l':
			err = parse_level(args, "level", optarg, &args->level);
			break;
		case 'm':
			err = parse_level(args, "min-level", optarg, &args->min_level);
			break;
		case 'r':
			err = parse_rights(args, optarg, &args->rights);
			break;
		default:
			err = hsaq_fail(args,
					"%s: unknown option, or missing value; see hsaq --help",
					argv[optind - 1]);
		}
	}
	args->rest = argv + optind;
	return err;
}

/* @status, or an error if output could not be written. */
static int flush_output(const struct hsaq_args *args, int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return hsaq_fail(args, "cannot write standard output");
}

int main(int argc, char **argv)
{
	struct hsaq_args args = {
		.verb = argc > 1 ? argv[1] : "?",
		.level = HSAQ_LEVEL_MAX,
		.rights = HSAQ_RIGHT_HOLD | HSAQ_RIGHT_RAISE,
	};
	bool helped = false;
	int err;

	if (argc < 2) {
		fprintf(stderr, "hsaq: verb missing; see hsaq --help\n");
		return HSAQ_EXIT_OWN;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		help();
		return flush_output(&args, 0);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("hsaq %s\n", hsaq_version());
		return flush_output(&args, 0);
	}
	for (size_t i = 0; i < VERBS; i++) {
		if (strcmp(argv[1], verbs[i].name))
			continue;
		err = parse(argc - 1, argv + 1, &verbs[i], &args, &helped);
		if (!err && !helped)
			err = verbs[i].check(&args);
		if (!err && !helped)
			err = run(&args, &verbs[i]);
		return flush_output(&args, err);
	}
	return hsaq_fail(&args, "unknown verb; see hsaq --help");
}
