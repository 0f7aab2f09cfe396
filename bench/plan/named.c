// SPDX-License-Identifier: Apache-2.0
/*
 * named.c - workloads by a name, KIND:FIRST[,KEY=VALUE ...]. docs/bench.md describes
 * each of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plan/reader.h"
#include "runtime/duration.h"
#include "runtime/size.h"

#define BLOCKS_MAX 65536u
#define SCALE_MIN 8 /* below, the vertices fill no block */
#define SCALE_MAX 22
#define SIDE_MIN 4 /* with fewer, a cell would be its own neighbour */
#define SIDE_MAX 16384
#define STEPS_MAX 10000
#define STEPS 20
#define SHARED_MAX 49152u /* a block needs an opt-in for more */
#define BYTES_MAX (UINT64_C(64) << 30)
#define BATCH_MAX 65536u
#define TOKENS_MAX 65536u
#define MODEL "abcdefghijklmnopqrstuvwxyz0123456789_:" /* characters of a name */

struct named {
	struct gp_workload_reader *reader;
	enum gp_workload_kind kind;
	uint64_t length_ns, gap_ns, next_ns, bytes, shared;
	size_t count, next; /* kernels; tokens after the first */
	size_t blocks, scale, width, height, steps, batch, tokens;
};

/* ---- words --------------------------------------------------------------------------- */

static bool take_time(struct named *n, const char *what, const char *text, uint64_t min_ns,
		      uint64_t *ns)
{
	if (gp_parse_duration(text, ns) || *ns < min_ns || *ns > GP_WORKLOAD_TIME_MAX_NS)
		return gp_workload_wrong(n->reader,
					 "%s: found \"%s\", a time such as 25us, from "
					 "%s to 1s, is wanted",
					 what, text, min_ns ? "1ns" : "0s");
	return true;
}

static bool take_within(struct named *n, const char *what, const char *text, size_t min, size_t max,
			size_t *number)
{
	const size_t digits = strspn(text, "0123456789");

	*number = strtoul(text, NULL, 10);
	if (!digits || text[digits] || *number < min || *number > max)
		return gp_workload_wrong(n->reader,
					 "%s: found \"%s\", a whole number from %zu to "
					 "%zu is wanted",
					 what, text, min, max);
	return true;
}

static bool take_number(struct named *n, const char *what, const char *text, size_t max,
			size_t *number)
{
	return take_within(n, what, text, 1, max, number);
}

/* "20x25us"; writes NULs into @text. */
static bool take_row(struct named *n, const char *what, char *text, size_t max, size_t *count,
		     uint64_t *ns)
{
	char *times = strchr(text, 'x');

	if (!times)
		return gp_workload_wrong(n->reader, "%s: found \"%s\", NUMBERxLENGTH is wanted",
					 what, text);
	*times++ = 0;
	return take_number(n, "number", text, max, count) && take_time(n, "length", times, 1, ns);
}

/* "4MiB". */
static bool take_bytes(struct named *n, const char *what, const char *text, uint64_t max,
		       uint64_t *bytes)
{
	if (!gp_parse_size(text, bytes) && *bytes && *bytes <= max)
		return true;
	return gp_workload_wrong(n->reader,
				 "%s: found \"%s\", a size such as 4MiB, up to %llu%s, "
				 "is wanted",
				 what, text,
				 (unsigned long long)(max < 1u << 20 ? max >> 10 : max >> 30),
				 max < 1u << 20 ? "KiB" : "GiB");
}

static bool take_length(struct named *n, char *text)
{
	return take_time(n, "length", text, 1, &n->length_ns);
}

static bool take_train(struct named *n, char *text)
{
	return take_row(n, "train", text, GP_WORKLOAD_KERNELS_MAX, &n->count, &n->length_ns);
}

static bool take_gap(struct named *n, char *text)
{
	return take_time(n, "gap", text, 0, &n->gap_ns);
}

static bool take_next(struct named *n, char *text)
{
	return take_row(n, "next", text, GP_WORKLOAD_KERNELS_MAX - 1, &n->next, &n->next_ns);
}

static bool take_blocks(struct named *n, char *text)
{
	return take_number(n, "blocks", text, BLOCKS_MAX, &n->blocks);
}

static bool take_shared(struct named *n, char *text)
{
	return take_bytes(n, "shared", text, SHARED_MAX, &n->shared);
}

static bool take_set(struct named *n, char *text)
{
	return take_bytes(n, "set", text, BYTES_MAX, &n->bytes);
}

static bool take_way(struct named *n, char *text)
{
	if (strcmp(text, "in") && strcmp(text, "out"))
		return gp_workload_wrong(n->reader, "copy: found \"%s\", in or out is wanted",
					 text);
	n->kind = !strcmp(text, "in") ? GP_WORKLOAD_COPY_IN : GP_WORKLOAD_COPY_OUT;
	n->bytes = 4u << 20;
	return true;
}

static bool take_scale(struct named *n, char *text)
{
	return take_within(n, "scale", text, SCALE_MIN, SCALE_MAX, &n->scale);
}

static bool take_sides(struct named *n, char *text)
{
	char *times = strchr(text, 'x');

	n->steps = STEPS;
	if (!times)
		return gp_workload_wrong(n->reader, "stencil: found \"%s\", WIDTHxHEIGHT is wanted",
					 text);
	*times++ = 0;
	return take_within(n, "width", text, SIDE_MIN, SIDE_MAX, &n->width) &&
	       take_within(n, "height", times, SIDE_MIN, SIDE_MAX, &n->height);
}

static bool take_steps(struct named *n, char *text)
{
	return take_number(n, "steps", text, STEPS_MAX, &n->steps);
}

static bool take_size(struct named *n, char *text)
{
	return take_bytes(n, "bytes", text, BYTES_MAX, &n->bytes);
}

/* Only the PyTorch client knows the models and the options of each. */
static bool take_model(struct named *n, char *text)
{
	if (!*text || text[strspn(text, MODEL)])
		return gp_workload_wrong(n->reader,
					 "torch: found \"%s\", a model such as vgg19 is "
					 "wanted",
					 text);
	return true;
}

static bool take_batch(struct named *n, char *text)
{
	return take_number(n, "batch", text, BATCH_MAX, &n->batch);
}

static bool take_tokens(struct named *n, char *text)
{
	return take_number(n, "tokens", text, TOKENS_MAX, &n->tokens);
}

/* ---- kinds --------------------------------------------------------------------------- */

#define KEYS_MAX 4

struct key {
	const char *name;
	bool (*take)(struct named *n, char *text);
};

static const struct key gap = { "gap", take_gap }, next = { "next", take_next },
			blocks = { "blocks", take_blocks }, shared = { "shared", take_shared },
			set = { "set", take_set }, bytes = { "bytes", take_size },
			steps = { "steps", take_steps }, batch = { "batch", take_batch },
			tokens = { "tokens", take_tokens };

static const struct kind {
	const char *name, *form;
	bool (*take_first)(struct named *n, char *text);
	enum gp_workload_kind kind;
	const struct key *keys[KEYS_MAX];
} kinds[] = {
	{ "spin",
	  "spin:LENGTH[,blocks=NUMBER][,shared=SIZE]",
	  take_length,
	  GP_WORKLOAD_PLAIN,
	  { &blocks, &shared } },
	{ "train",
	  "train:NUMBERxLENGTH[,gap=TIME][,blocks=NUMBER][,shared=SIZE]",
	  take_train,
	  GP_WORKLOAD_PLAIN,
	  { &gap, &blocks, &shared } },
	{ "decoder",
	  "decoder:LENGTH[,next=NUMBERxLENGTH][,gap=TIME][,blocks=NUMBER]"
	  "[,shared=SIZE]",
	  take_length,
	  GP_WORKLOAD_PLAIN,
	  { &next, &gap, &blocks, &shared } },
	{ "memory",
	  "memory:LENGTH[,set=SIZE][,blocks=NUMBER]",
	  take_length,
	  GP_WORKLOAD_MEMORY,
	  { &set, &blocks } },
	{ "smem", "smem:LENGTH[,blocks=NUMBER]", take_length, GP_WORKLOAD_SMEM, { &blocks } },
	{ "tensor", "tensor:LENGTH[,blocks=NUMBER]", take_length, GP_WORKLOAD_TENSOR, { &blocks } },
	{ "coop", "coop:LENGTH[,blocks=NUMBER]", take_length, GP_WORKLOAD_COOP, { &blocks } },
	{ "graph", "graph:LENGTH[,blocks=NUMBER]", take_length, GP_WORKLOAD_GRAPH, { &blocks } },
	{ "copy",
	  "copy:in[,bytes=SIZE] or copy:out[,bytes=SIZE]",
	  take_way,
	  GP_WORKLOAD_COPY_IN,
	  { &bytes } },
	{ "bfs", "bfs:SCALE", take_scale, GP_WORKLOAD_BFS, { NULL } },
	{ "sssp", "sssp:SCALE", take_scale, GP_WORKLOAD_SSSP, { NULL } },
	{ "components", "components:SCALE", take_scale, GP_WORKLOAD_COMPONENTS, { NULL } },
	{ "pagerank", "pagerank:SCALE", take_scale, GP_WORKLOAD_PAGERANK, { NULL } },
	{ "stencil",
	  "stencil:WIDTHxHEIGHT[,steps=NUMBER]",
	  take_sides,
	  GP_WORKLOAD_STENCIL,
	  { &steps } },
	{ "uvm", "uvm:SIZE", take_size, GP_WORKLOAD_UVM, { NULL } },
	{ "torch",
	  "torch:MODEL[,batch=NUMBER][,tokens=NUMBER]",
	  take_model,
	  GP_WORKLOAD_TORCH,
	  { &batch, &tokens } },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

void gp_workload_list(FILE *to)
{
	for (size_t i = 0; i < KINDS; i++)
		fprintf(to, "  %s\n", kinds[i].form);
}

static const struct kind *find_kind(const char *text)
{
	const size_t len = strcspn(text, ":");

	for (size_t i = 0; i < KINDS && text[len]; i++)
		if (strlen(kinds[i].name) == len && !strncmp(kinds[i].name, text, len))
			return &kinds[i];
	return NULL;
}

static bool wrong_kind(struct named *n)
{
	char list[200] = "";

	for (size_t i = 0; i < KINDS; i++) {
		if (i)
			strcat(list, i + 1 < KINDS ? ", " : " or ");
		strcat(list, kinds[i].name);
	}
	return gp_workload_wrong(
		n->reader, "found another kind; %s is wanted, with its argument after a colon",
		list);
}

/* @seen: bits of @kind's keys in earlier words. */
static bool take_key(struct named *n, const struct kind *kind, char *word, unsigned int *seen)
{
	const size_t len = strcspn(word, "=");

	for (unsigned int i = 0; i < KEYS_MAX && kind->keys[i]; i++) {
		const struct key *key = kind->keys[i];

		if (!word[len] || strlen(key->name) != len || strncmp(key->name, word, len) ||
		    *seen & 1u << i)
			continue;
		*seen |= 1u << i;
		return key->take(n, word + len + 1);
	}
	return gp_workload_wrong(n->reader, "after a comma: found \"%s\", %s is wanted", word,
				 kind->form);
}

/* @text: after the colon; the function writes NULs into it. */
static bool take_words(struct named *n, const struct kind *kind, char *text)
{
	char *word = strsep(&text, ",");
	unsigned int seen = 0;

	if (!kind->take_first(n, word))
		return false;
	while ((word = strsep(&text, ",")))
		if (!take_key(n, kind, word, &seen))
			return false;
	return true;
}

/* ---- kernels ------------------------------------------------------------------------- */

static bool is_decoder(const struct kind *kind)
{
	return !strcmp(kind->name, "decoder");
}

static void fill(const struct named *n, const struct kind *kind, struct gp_workload *w)
{
	for (size_t i = 0; i < w->kernels; i++)
		w->kernel[i] = (struct gp_workload_kernel){
			.gap_ns = i ? n->gap_ns : 0,
			.length_ns = i < n->count ? n->length_ns : n->next_ns,
			.blocks = (uint32_t)n->blocks,
			.threads = n->blocks ? GP_WORKLOAD_THREADS : 0,
			.shared_bytes = (uint32_t)n->shared,
			.token = is_decoder(kind),
		};
	w->tokens = is_decoder(kind) ? w->kernels : n->tokens;
	w->kind = n->kind;
	w->bytes = n->bytes;
	w->scale = (uint32_t)n->scale;
	w->width = (uint32_t)n->width;
	w->height = (uint32_t)n->height;
	w->steps = (uint32_t)n->steps;
}

bool gp_workload_make_named(struct gp_workload_reader *r, const char *text)
{
	struct named n = { .reader = r, .count = 1 };
	const struct kind *kind = find_kind(text);
	char rest[GP_WORKLOAD_NAME_MAX + 1];

	if (strlen(text) > GP_WORKLOAD_NAME_MAX)
		return gp_workload_wrong(r, "found %zu characters, up to %d are wanted",
					 strlen(text), GP_WORKLOAD_NAME_MAX);
	if (!kind)
		return wrong_kind(&n);
	strcpy(rest, strchr(text, ':') + 1);
	n.kind = kind->kind;
	if (!take_words(&n, kind, rest))
		return false;
	if (n.length_ns && !gp_workload_make_room(r, n.count + n.next))
		return false;
	fill(&n, kind, r->workload);
	r->workload->name = strdup(text);
	return r->workload->name || gp_workload_no_memory(r);
}
