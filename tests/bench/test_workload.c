// SPDX-License-Identifier: Apache-2.0
/* Workloads: from a file, from a name, and refused ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/plan/workload.h"
#include "tests/common/gp_test.h"

#define COLUMNS \
	"[\"gap_us\", \"length_us\", \"blocks\", \"threads\", \"registers\", \"shared_bytes\"]"
#define WITH(version, name, solo, columns, more, kernels)                                       \
	"{\"schema_version\": " version ", \"name\": " name ", \"what\": \"a model, batch 1\"," \
	" \"device\": \"NVIDIA H200\", \"driver\": \"580.159.04\", \"solo_us\": " solo          \
	", \"columns\": " columns more ", \"kernels\": " kernels "}"
#define KERNELS(kernels) WITH("1", "\"vgg19\"", "1234.5", COLUMNS, "", kernels)
#define DECODER(tokens)                                             \
	WITH("2", "\"llm\"", "9", COLUMNS, ", \"tokens\": " tokens, \
	     "[[0, 4, 1, 1, 0, 0], [0, 2, 1, 1, 0, 0], [0, 3, 1, 1, 0, 0]]")
#define ROW(row) KERNELS("[[3.2, 10.4, 512, 256, 64, 0], " row "]")

static struct gp_workload *parse(const char *text, char *why, size_t len)
{
	return gp_workload_parse("w.json", text, strlen(text), why, len);
}

static struct gp_workload *taken(struct gp_workload *w, const char *why)
{
	if (!w)
		fail_msg("%s", why);
	return w;
}

static void takes_what_it_says(void **state)
{
	char why[256] = "";
	struct gp_workload *w = taken(parse(KERNELS("[[3.2, 10.4, 512, 256, 64, 0], "
						    "[0, 0.001, 1, 1, 0, 262144], "
						    "[1e6, 1000000, 2147483647, 1024, 255, 1]]"),
					    why, sizeof(why)),
				      why);
	const struct gp_workload_kernel *k = w->kernel;

	assert_string_equal(w->name, "vgg19");
	assert_string_equal(w->what, "a model, batch 1");
	assert_string_equal(w->device, "NVIDIA H200");
	assert_string_equal(w->driver, "580.159.04");
	assert_int_equal(w->solo_ns, 1234500);
	assert_int_equal(w->kernels, 3);
	assert_int_equal(k[0].gap_ns, 3200);
	assert_int_equal(k[0].length_ns, 10400);
	assert_int_equal(k[0].blocks, 512);
	assert_int_equal(k[0].threads, 256);
	assert_int_equal(k[0].registers, 64);
	assert_int_equal(k[0].shared_bytes, 0);
	assert_int_equal(k[1].length_ns, 1);
	assert_int_equal(k[1].shared_bytes, 262144);
	assert_int_equal(k[2].gap_ns, 1000000000);
	assert_int_equal(k[2].blocks, INT32_MAX);
	assert_int_equal(gp_workload_sum(w).gap_ns, 1000003200);
	assert_int_equal(gp_workload_sum(w).length_ns, 1000010401);
	gp_workload_destroy(w);
	gp_workload_destroy(NULL);
}

static void reads_a_file(void **state)
{
	const char *text = KERNELS("[[0, 1, 1, 1, 0, 0]]");
	char path[] = "/tmp/gp-workload-XXXXXX", why[256] = "";
	int fd = mkstemp(path);
	struct gp_workload *w;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	w = taken(gp_workload_read(path, why, sizeof(why)), why);
	assert_int_equal(w->kernel->length_ns, 1000);
	gp_workload_destroy(w);
	unlink(path);
	assert_null(gp_workload_read(path, why, sizeof(why)));
	assert_non_null(strstr(why, path));
}

/* Work that depends on a token is never queued before the token. */
static void gives_tokens(void **state)
{
	char why[256] = "";
	struct gp_workload *w = taken(parse(DECODER("[1, 3]"), why, sizeof(why)), why);

	assert_int_equal(w->tokens, 2);
	assert_true(w->kernel[0].token && !w->kernel[1].token && w->kernel[2].token);
	assert_true(!gp_workload_is_queued(w, 1) && gp_workload_is_queued(w, 2));
	gp_workload_destroy(w);
	w = taken(parse(DECODER("[2]"), why, sizeof(why)), why);
	assert_int_equal(w->tokens, 1);
	assert_true(w->kernel[1].token && !w->kernel[2].token);
	gp_workload_destroy(w);
	w = taken(gp_workload_named("decoder:20ms,next=3x2ms,gap=50us", why, sizeof(why)), why);
	assert_int_equal(w->tokens, 4);
	assert_int_equal(w->kernels, 4);
	assert_int_equal(w->kernel[0].length_ns, 20000000);
	assert_int_equal(w->kernel[3].length_ns, 2000000);
	assert_int_equal(gp_workload_sum(w).gap_ns, 150000);
	for (size_t i = 0; i < 4; i++)
		assert_true(w->kernel[i].token && !gp_workload_is_queued(w, i));
	gp_workload_destroy(w);
	w = taken(gp_workload_named("decoder:1us", why, sizeof(why)), why);
	assert_int_equal(w->tokens, 1);
	gp_workload_destroy(w);
	w = taken(gp_workload_named("train:2x1us", why, sizeof(why)), why);
	assert_int_equal(w->tokens, 0);
	gp_workload_destroy(w);
}

/* Both sides of the limit: 100,000 kernels, and one more. */
static void so_many_at_most(void **state)
{
	const size_t room = GP_WORKLOAD_KERNELS_MAX * 16 + 1000;
	char *rows = malloc(room), *text = malloc(room), why[256] = "";
	struct gp_workload *w;
	size_t at = 1;

	strcpy(rows, "[");
	for (size_t i = 0; i < GP_WORKLOAD_KERNELS_MAX; i++)
		at += (size_t)sprintf(rows + at, "%s[0,1,1,1,0,0]", i ? "," : "");
	for (int more = 0; more < 2; more++) {
		at += (size_t)sprintf(rows + at, "%s", more ? ",[0,1,1,1,0,0]" : "");
		snprintf(text, room, KERNELS("%s]"), rows);
		w = parse(text, why, sizeof(why));
		assert_int_equal(!w, more);
		if (w)
			assert_int_equal(gp_workload_sum(w).length_ns, 100000000);
		gp_workload_destroy(w);
	}
	assert_string_equal(why, "w.json: kernels: found 100001, a list of 1 to 100000 is wanted");
	free(rows);
	free(text);
}

static void refused(struct gp_workload *w, const char *why, const char *part)
{
	assert_null(w);
	if (!strstr(why, part) || strchr(why, '\n'))
		fail_msg("\"%s\" is not in \"%s\"", part, why);
}

static void says_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *why;
	} tries[] = {
		{ "", "w.json:1: " },
		{ "[1]", "w.json: schema_version: found nothing, 1, or 2 where there are tokens" },
		{ WITH("3", "\"a\"", "1", COLUMNS, ", \"new\": 1", "[]"),
		  "schema_version: found 3, 1, or 2 where there are tokens, is wanted" },
		{ WITH("1", "\"a\"", "1", COLUMNS, ", \"tokens\": [1]", "[]"),
		  "\"tokens\": found a field that is not known; name, what, device, driver, "
		  "solo_us, columns and kernels" },
		{ WITH("2", "\"a\"", "1", COLUMNS, ", \"new\": 1", "[]"),
		  "solo_us, columns, tokens and kernels are wanted" },
		{ DECODER("7"), "tokens: found 7, a list of how many kernels are done when" },
		{ DECODER("[]"), "tokens: found [], a list" },
		{ DECODER("[0]"), "tokens[0]: found 0, a whole number from 1 to 3 is wanted" },
		{ DECODER("[2, 2]"), "tokens[1]: found 2, a whole number from 3 to 3" },
		{ DECODER("[1, 4]"), "tokens[1]: found 4, a whole number from 2 to 3" },
		{ DECODER("[1.5]"), "tokens[0]: found 1.5, a whole number" },
		{ WITH("2", "\"a\"", "1", COLUMNS, "", "[[0, 1, 1, 1, 0, 0]]"),
		  "tokens: found nothing, a list" },
		{ WITH("1", "\"a\"", "1", COLUMNS, ", \"new\": 1", "[]"),
		  "w.json: \"new\": found a field that is not known; name, what, " },
		{ WITH("1", "\"a\"", "1", COLUMNS, ", \"\\u001b[2J\": 1", "[]"), "\"?[2J\": " },
		{ WITH("1", "3", "1", COLUMNS, "", "[]"), "name: found 3, a line of 1 to 200" },
		{ WITH("1", "\"\"", "1", COLUMNS, "", "[]"), "name: found \"\", a line" },
		{ WITH("1", "\"a b\"", "1", COLUMNS, "", "[]"), "none of them a blank" },
		{ WITH("1", "\"a\\n\"", "1", COLUMNS, "", "[]"), "name: found \"a\\n\", a line" },
		{ "{\"schema_version\": 1, \"name\": \"a\"}", "what: found nothing, a line" },
		{ WITH("1", "\"a\"", "0", COLUMNS, "", "[]"), "solo_us: found 0, a time in us" },
		{ WITH("1", "\"a\"", "1e12", COLUMNS, "", "[]"), "from 0.001 to 2e11" },
		{ WITH("1", "\"a\"", "\"1\"", COLUMNS, "", "[]"), "solo_us: found \"1\"" },
		{ WITH("1", "\"a\"", "1e999", COLUMNS, "", "[]"), "w.json:1: " },
		{ WITH("1", "\"a\"", "1", "6", "", "[]"), "columns: found 6, a list of six names" },
		{ WITH("1", "\"a\"", "1", "[\"gap_us\", \"blocks\"]", "", "[]"),
		  "columns[1]: found \"blocks\", \"length_us\" is wanted" },
		{ WITH("1", "\"a\"", "1", "[\"gap_us\"]", "", "[]"),
		  "columns[1]: found nothing, \"length_us\" is wanted" },
		{ WITH("1", "\"a\"", "1",
		       "[\"gap_us\", \"length_us\", \"blocks\", \"threads\", \"registers\", "
		       "\"shared_bytes\", \"more\"]",
		       "", "[]"),
		  "columns[6]: found \"more\", no more than six" },
		{ KERNELS("{}"), "kernels: found {}, a list of kernels" },
		{ KERNELS("[]"), "kernels: found 0, a list of 1 to 100000 is wanted" },
		{ ROW("3"), "kernels[1]: found 3, a list of six numbers" },
		{ ROW("[1, 2, 3, 4, 5]"), "kernels[1]: found [1,2,3,4,5], a list of six" },
		{ ROW("[-1, 1, 1, 1, 0, 0]"),
		  "kernels[1].gap_us: found -1, a number from 0 to 1000000 is wanted" },
		{ ROW("[1000001, 1, 1, 1, 0, 0]"), "kernels[1].gap_us: found 1000001, " },
		{ ROW("[0, 0, 1, 1, 0, 0]"),
		  "kernels[1].length_us: found 0, a number from 0.001 to 1000000 is wanted" },
		{ ROW("[0, 1000000.5, 1, 1, 0, 0]"), "kernels[1].length_us: found 1000000.5" },
		{ ROW("[0, null, 1, 1, 0, 0]"), "kernels[1].length_us: found null, " },
		{ ROW("[0, 1, 0, 1, 0, 0]"),
		  "blocks: found 0, a whole number from 1 to 2147483647 is wanted" },
		{ ROW("[0, 1, 2147483648, 1, 0, 0]"), "blocks: found 2147483648, " },
		{ ROW("[0, 1, 1.5, 1, 0, 0]"), "blocks: found 1.5, a whole number" },
		{ ROW("[0, 1, 1, 0, 0, 0]"), "threads: found 0, a whole number from 1 to 1024" },
		{ ROW("[0, 1, 1, 1025, 0, 0]"), "threads: found 1025, " },
		{ ROW("[0, 1, 1, 1, 256, 0]"),
		  "registers: found 256, a whole number from 0 to 255" },
		{ ROW("[0, 1, 1, 1, -1, 0]"), "registers: found -1, " },
		{ ROW("[0, 1, 1, 1, 0, 262145]"), "shared_bytes: found 262145, " },
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		char why[256] = "";

		refused(parse(tries[i].text, why, sizeof(why)), why, tries[i].why);
	}
}

static void made_by_a_name(void **state)
{
	static const struct {
		const char *text;
		size_t kernels;
		uint64_t length_ns, gap_ns;
	} tries[] = {
		{ "spin:500us", 1, 500000, 0 },
		{ "spin:1s", 1, 1000000000, 0 },
		{ "train:20x25us,gap=30us", 20, 25000, 30000 },
		{ "train:1x1.5ms,gap=1s", 1, 1500000, 1000000000 },
		{ "train:100000x1ns", 100000, 1, 0 },
		{ "train:3x2us,gap=0s", 3, 2000, 0 },
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		const size_t kernels = tries[i].kernels;
		char why[256] = "";
		struct gp_workload *w =
			taken(gp_workload_named(tries[i].text, why, sizeof(why)), why);

		assert_string_equal(w->name, tries[i].text);
		assert_null(w->device);
		assert_int_equal(w->solo_ns, 0);
		assert_int_equal(w->kernels, kernels);
		/* A gap between kernels is not before the first. */
		assert_int_equal(w->kernel[0].gap_ns, 0);
		assert_int_equal(w->kernel[0].blocks, 0);
		assert_int_equal(w->kernel[kernels - 1].length_ns, tries[i].length_ns);
		assert_int_equal(gp_workload_sum(w).length_ns, kernels * tries[i].length_ns);
		assert_int_equal(gp_workload_sum(w).gap_ns, (kernels - 1) * tries[i].gap_ns);
		gp_workload_destroy(w);
	}
}

static void of_other_kinds(void **state)
{
	static const struct {
		const char *text;
		enum gp_workload_kind kind;
		uint64_t bytes;
		uint32_t blocks, shared_bytes;
	} tries[] = {
		{ "spin:5us,blocks=32,shared=48KiB", GP_WORKLOAD_PLAIN, 0, 32, 49152 },
		{ "train:5x5us,shared=1B,blocks=65536", GP_WORKLOAD_PLAIN, 0, 65536, 1 },
		{ "memory:5us", GP_WORKLOAD_MEMORY, 0, 0, 0 },
		{ "memory:5us,blocks=7,set=64GiB", GP_WORKLOAD_MEMORY, 64ull << 30, 7, 0 },
		{ "smem:5us", GP_WORKLOAD_SMEM, 0, 0, 0 },
		{ "tensor:5us,blocks=9", GP_WORKLOAD_TENSOR, 0, 9, 0 },
		{ "coop:5us", GP_WORKLOAD_COOP, 0, 0, 0 },
		{ "graph:5us", GP_WORKLOAD_GRAPH, 0, 0, 0 },
		{ "copy:in", GP_WORKLOAD_COPY_IN, 4u << 20, 0, 0 },
		{ "copy:out,bytes=4096B", GP_WORKLOAD_COPY_OUT, 4096, 0, 0 },
		{ "bfs:8", GP_WORKLOAD_BFS, 0, 0, 0 },
		{ "sssp:22", GP_WORKLOAD_SSSP, 0, 0, 0 },
		{ "components:16", GP_WORKLOAD_COMPONENTS, 0, 0, 0 },
		{ "pagerank:16", GP_WORKLOAD_PAGERANK, 0, 0, 0 },
		{ "stencil:4x16384", GP_WORKLOAD_STENCIL, 0, 0, 0 },
		{ "uvm:64MiB", GP_WORKLOAD_UVM, 64u << 20, 0, 0 },
		{ "torch:train:resnet152,batch=8", GP_WORKLOAD_TORCH, 0, 0, 0 },
		{ "torch:decoder,tokens=32", GP_WORKLOAD_TORCH, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		char why[256] = "";
		struct gp_workload *w =
			taken(gp_workload_named(tries[i].text, why, sizeof(why)), why);

		assert_int_equal(w->kind, tries[i].kind);
		assert_int_equal(w->bytes, tries[i].bytes);
		assert_int_equal(gp_workload_needs_device(w), w->kind >= GP_WORKLOAD_COPY_IN);
		if (!gp_workload_needs_device(w)) {
			assert_int_equal(w->kernel->length_ns, 5000);
			assert_int_equal(w->kernel->blocks, tries[i].blocks);
			assert_int_equal(w->kernel->threads, tries[i].blocks ? 256 : 0);
			assert_int_equal(w->kernel->shared_bytes, tries[i].shared_bytes);
		}
		gp_workload_destroy(w);
	}
}

static void of_graphs_and_grids(void **state)
{
	char why[256] = "";
	struct gp_workload *w = taken(gp_workload_named("bfs:18", why, sizeof(why)), why);

	assert_int_equal(w->scale, 18);
	gp_workload_destroy(w);
	w = taken(gp_workload_named("stencil:400x200", why, sizeof(why)), why);
	assert_int_equal(w->width, 400);
	assert_int_equal(w->height, 200);
	assert_int_equal(w->steps, 20);
	gp_workload_destroy(w);
	w = taken(gp_workload_named("stencil:4x4,steps=10000", why, sizeof(why)), why);
	assert_int_equal(w->steps, 10000);
	gp_workload_destroy(w);
}

static void other_names_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} tries[] = {
		{ "", "found another kind; spin, train, decoder, memory, smem, " },
		{ "spin", "found another kind" },
		{ "Spin:1us", "found another kind" },
		{ "spin:", "length: found \"\", a time such as 25us, from 1ns to 1s, is wanted" },
		{ "spin:0us", "length: found \"0us\"" },
		{ "spin:500", "length: found \"500\"" },
		{ "spin:1us ", "length: found \"1us \"" },
		{ "spin:1000000001ns", "length: found" },
		{ "spin:1us,gap=1us", "after a comma: found \"gap=1us\", spin:LENGTH[,blocks="
				      "NUMBER][,shared=SIZE] is wanted" },
		{ "train:25us", "train: found \"25us\", NUMBERxLENGTH is wanted" },
		{ "train:0x25us", "number: found \"0\", a whole number from 1 to 100000 is" },
		{ "train:100001x25us", "number: found \"100001\"" },
		{ "train:99999999999999999999x1us", "number: found \"99999999999999999999\"" },
		{ "train:-1x25us", "number: found \"-1\"" },
		{ "train: 1x25us", "number: found \" 1\"" },
		{ "train:x25us", "number: found \"\"" },
		{ "train:2x", "length: found \"\"" },
		{ "train:2x25us,", "after a comma: found \"\", train:NUMBERxLENGTH[,gap=TIME]" },
		{ "train:2x25us,gap=", "gap: found \"\", a time such as 25us, from 0s to 1s" },
		{ "train:2x25us,gap=2s", "gap: found \"2s\"" },
		{ "train:2x25us,gap=1us,gap=1us", "after a comma: found \"gap=1us\", train:" },
		{ "train:2x25us,pause=1us", "after a comma: found \"pause=1us\", train:" },
		{ "train:2x25us,gap", "after a comma: found \"gap\", train:" },
		{ "decoder:2ms,next=3", "next: found \"3\", NUMBERxLENGTH is wanted" },
		{ "decoder:2ms,next=100000x1ns", "number: found \"100000\", a whole number from 1 "
						 "to 99999 is" },
		{ "decoder:2x3ms", "length: found \"2x3ms\"" },
		{ "decoder:2ms,tokens=3", "decoder:LENGTH[,next=NUMBERxLENGTH][,gap=TIME]" },
		{ "spin:1us,blocks=0", "blocks: found \"0\", a whole number from 1 to 65536 is" },
		{ "spin:1us,blocks=65537", "blocks: found \"65537\"" },
		{ "spin:1us,blocks=1,blocks=1", "after a comma: found \"blocks=1\", spin:" },
		{ "spin:1us,shared=49KiB", "shared: found \"49KiB\", a size such as 4MiB, up to "
					   "48KiB, is wanted" },
		{ "spin:1us,shared=0B", "shared: found \"0B\"" },
		{ "spin:1us,set=1MiB", "after a comma: found \"set=1MiB\", spin:" },
		{ "memory:1us,set=65GiB", "set: found \"65GiB\", a size such as 4MiB, up to 64" },
		{ "memory:1us,set=MiB", "set: found \"MiB\"" },
		{ "memory:1us,set=4M", "set: found \"4M\"" },
		{ "memory:1us,set=999999999999GiB", "set: found \"999999999999GiB\"" },
		{ "memory:4MiB", "length: found \"4MiB\"" },
		{ "bfs:7", "scale: found \"7\", a whole number from 8 to 22 is wanted" },
		{ "sssp:23", "scale: found \"23\"" },
		{ "pagerank:", "scale: found \"\"" },
		{ "components:9,blocks=3", "after a comma: found \"blocks=3\", components:" },
		{ "stencil:400", "stencil: found \"400\", WIDTHxHEIGHT is wanted" },
		{ "stencil:3x4", "width: found \"3\", a whole number from 4 to 16384 is wanted" },
		{ "stencil:4x16385", "height: found \"16385\"" },
		{ "stencil:4x4,steps=0", "steps: found \"0\", a whole number from 1 to 10000" },
		{ "uvm:64", "bytes: found \"64\", a size such as 4MiB" },
		{ "torch:", "torch: found \"\", a model such as vgg19 is wanted" },
		{ "torch:vgg19;rm", "torch: found \"vgg19;rm\"" },
		{ "torch:vgg19,batch=0", "batch: found \"0\", a whole number from 1 to 65536" },
		{ "copy:4MiB", "copy: found \"4MiB\", in or out is wanted" },
		{ "copy:in,blocks=3", "after a comma: found \"blocks=3\", copy:in[,bytes=SIZE]" },
		{ "spin:0000000000000000000000000000000000000000000000000000000001us",
		  "found 65 characters, up to 63 are wanted" },
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		char why[256] = "";

		refused(gp_workload_named(tries[i].text, why, sizeof(why)), why, tries[i].why);
	}
}

static void how_often_it_waits(void **state)
{
	static const struct {
		const char *text;
		bool often;
	} named[] = {
		{ "train:5x110us", false }, { "decoder:5ms", false },
		{ "decoder:5ms,next=1x1ms", true }, { "pagerank:10", false },
		{ "bfs:10", true }, { "copy:in", false },
	}, read[] = {
		{ KERNELS("[[0, 4, 1, 1, 0, 0], [0, 2, 1, 1, 0, 0]]"), false },
		{ DECODER("[3]"), false }, { DECODER("[2]"), true }, { DECODER("[1, 3]"), true },
	};
	char why[256];

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		struct gp_workload *w = gp_workload_named(named[i].text, why, sizeof(why));

		assert_int_equal(gp_workload_waits_often(taken(w, why)), named[i].often);
		gp_workload_destroy(w);
	}
	for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++) {
		struct gp_workload *w = parse(read[i].text, why, sizeof(why));

		assert_int_equal(gp_workload_waits_often(taken(w, why)), read[i].often);
		gp_workload_destroy(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_it_says),  cmocka_unit_test(reads_a_file),
		cmocka_unit_test(gives_tokens),	       cmocka_unit_test(how_often_it_waits),
		cmocka_unit_test(so_many_at_most),     cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(made_by_a_name),      cmocka_unit_test(of_other_kinds),
		cmocka_unit_test(of_graphs_and_grids), cmocka_unit_test(other_names_are_refused),
	};

	return gp_run_tests(tests);
}
