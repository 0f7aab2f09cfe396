// SPDX-License-Identifier: Apache-2.0
/*
 * Recorded inputs of the core, replayed: it decides the same. The recordings are of
 * test_property, of the tests of single decisions, and of the virtual bench (record.c).
 * GP_RECORDING names another file to replay.
 */
#include <errno.h>
#include <glob.h>

#include "tests/common/gp_test.h"
#include "tests/sched/recording.h"

#define EVENTS_MIN 3000 /* of all recordings: fewer show little */

struct replay {
	struct gp_sched *sched[REC_INSTANCES];
	size_t events, decisions;
};

static const struct gp_be_policy *be_of(const char *name)
{
	for (size_t i = 0; gp_be_policies[i]; i++)
		if (!strcmp(gp_be_policies[i]->name, name))
			return gp_be_policies[i];
	return NULL;
}

static const struct gp_lc_policy *lc_of(const char *name)
{
	for (size_t i = 0; gp_lc_policies[i]; i++)
		if (!strcmp(gp_lc_policies[i]->name, name))
			return gp_lc_policies[i];
	return NULL;
}

/* "BE LC" at @text, and the rest. */
static char *read_policies(char *text, const struct gp_be_policy **be,
			   const struct gp_lc_policy **lc)
{
	char be_name[16], lc_name[16];
	int used = 0;

	assert_int_equal(sscanf(text, " %15s %15s%n", be_name, lc_name, &used), 2);
	*be = be_of(be_name);
	*lc = lc_of(lc_name);
	return text + used;
}

static void replay_init(struct gp_sched **sched, char *text)
{
	struct gp_sched_config c = { 0 };

	text = read_policies(text, &c.be_policy, &c.lc_policy);
#define REC_READ(field) c.field = (__typeof__(c.field))strtoull(text, &text, 10);
	REC_CONFIG_FIELDS(REC_READ)
#undef REC_READ
	free(*sched);
	*sched = calloc(1, gp_sched_size());
	assert_non_null(*sched);
	assert_int_equal(gp_sched_init(*sched, &c), 0);
}

static void replay_step(struct replay *r, struct gp_sched *sched, char *text, const char *where)
{
	static struct gp_decisions out;
	const uint64_t now_ns = strtoull(text, &text, 10);
	const struct gp_event ev = rec_read_event(text, &text);
	uint64_t hash, got = 0;
	size_t count;
	int rc, err;

	assert_int_equal(sscanf(text, "= %d %zu %" SCNx64, &rc, &count, &hash), 3);
	err = gp_sched_step(sched, now_ns, &ev, &out);
	if (!err)
		got = rec_hash(&out);
	if (err != -rc || got != hash || (!err && out.count != count))
		fail_msg("%s: the core says %d, with %zu decisions of hash %" PRIx64, where, err,
			 err ? 0 : out.count, got);
	r->events++;
	r->decisions += count;
}

static void replay_line(struct replay *r, char *line, const char *where)
{
	const size_t i = strtoull(line + 1, &line, 10);
	const struct gp_be_policy *be;
	const struct gp_lc_policy *lc;
	struct gp_sched **sched;
	uint64_t value;

	assert_in_range(i, 0, REC_INSTANCES - 1);
	sched = &r->sched[i];
	assert_true(where[0] == 'C' || *sched);
	switch (where[0]) {
	case 'C':
		replay_init(sched, line);
		break;
	case 'P':
		read_policies(line, &be, &lc);
		gp_sched_set_policy(*sched, be, lc);
		break;
	case 'S':
		value = strtoull(line, &line, 10);
		gp_sched_set_share(*sched, value, (uint32_t)strtoul(line, NULL, 10));
		break;
	case 'H':
		gp_sched_set_hold_piece(*sched, strtoull(line, NULL, 10));
		break;
	case 'E':
		replay_step(r, *sched, line, where);
		break;
	default:
		fail_msg("no such line: %s", where);
	}
}

static void replay_file(struct replay *r, const char *path)
{
	char line[REC_LINE], where[REC_LINE];
	FILE *f = fopen(path, "re");

	if (!f) {
		fail_msg("%s: %s", path, strerror(errno));
		return; /* cppcheck does not know that fail_msg() never returns */
	}
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		memcpy(where, line, sizeof(where));
		replay_line(r, line, where);
	}
	fclose(f);
	for (size_t i = 0; i < REC_INSTANCES; i++) {
		free(r->sched[i]);
		r->sched[i] = NULL;
	}
}

static void the_core_decides_as_recorded(void **state)
{
	const char *path = getenv("GP_RECORDING");
	struct replay r = { 0 };
	glob_t files;

	if (path) {
		replay_file(&r, path);
		print_message("%s: %zu events, %zu decisions\n", path, r.events, r.decisions);
		return;
	}
	assert_int_equal(glob("tests/sched/recorded/*", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++)
		replay_file(&r, files.gl_pathv[i]);
	globfree(&files);
	assert_true(r.events >= EVENTS_MIN);
	assert_true(r.decisions >= EVENTS_MIN / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_core_decides_as_recorded),
	};

	return gp_run_tests(tests);
}
