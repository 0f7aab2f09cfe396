// SPDX-License-Identifier: Apache-2.0
/*
 * record.c - linked into a program that drives the core, with --wrap of its calls: writes
 * them to the file that GP_SCHED_RECORD names, as recording.h says. To make a recording:
 *
 *	make build/tests/sched/record_property
 *	GP_SCHED_RECORD=FILE GP_SEQUENCES=70 build/tests/sched/record_property
 */
#include "tests/sched/recording.h"

static FILE *file;
static const struct gp_sched *instance[REC_INSTANCES];

int __real_gp_sched_init(struct gp_sched *s, const struct gp_sched_config *config);
int __real_gp_sched_step(struct gp_sched *s, uint64_t now_ns, const struct gp_event *ev,
			 struct gp_decisions *out);
void __real_gp_sched_set_policy(struct gp_sched *s, const struct gp_be_policy *be,
				const struct gp_lc_policy *lc);
int __real_gp_sched_set_share(struct gp_sched *s, uint64_t quantum_ns, uint32_t be_min_pct);
void __real_gp_sched_set_hold_piece(struct gp_sched *s, uint64_t piece_ns);
int __wrap_gp_sched_init(struct gp_sched *s, const struct gp_sched_config *config);
int __wrap_gp_sched_step(struct gp_sched *s, uint64_t now_ns, const struct gp_event *ev,
			 struct gp_decisions *out);
void __wrap_gp_sched_set_policy(struct gp_sched *s, const struct gp_be_policy *be,
				const struct gp_lc_policy *lc);
int __wrap_gp_sched_set_share(struct gp_sched *s, uint64_t quantum_ns, uint32_t be_min_pct);
void __wrap_gp_sched_set_hold_piece(struct gp_sched *s, uint64_t piece_ns);

/* Its number, made if need be: the oldest one's where there are too many. */
static size_t number_of(const struct gp_sched *s)
{
	static size_t next;

	for (size_t i = 0; i < REC_INSTANCES; i++)
		if (instance[i] == s)
			return i;
	instance[next % REC_INSTANCES] = s;
	return next++ % REC_INSTANCES;
}

static bool recording(void)
{
	const char *path = getenv("GP_SCHED_RECORD");

	if (!file && path)
		file = fopen(path, "we");
	return file;
}

int __wrap_gp_sched_init(struct gp_sched *s, const struct gp_sched_config *c)
{
	const int rc = __real_gp_sched_init(s, c);

	if (rc || !recording())
		return rc;
	fprintf(file, "C %zu %s %s", number_of(s), rec_be_name(c->be_policy),
		rec_lc_name(c->lc_policy));
#define REC_WRITE(field) fprintf(file, " %" PRIu64, (uint64_t)c->field);
	REC_CONFIG_FIELDS(REC_WRITE)
#undef REC_WRITE
	fputc('\n', file);
	return rc;
}

int __wrap_gp_sched_step(struct gp_sched *s, uint64_t now_ns, const struct gp_event *ev,
			 struct gp_decisions *out)
{
	const int rc = __real_gp_sched_step(s, now_ns, ev, out);

	if (!recording())
		return rc;
	fprintf(file, "E %zu %" PRIu64 " ", number_of(s), now_ns);
	rec_write_event(file, ev);
	fprintf(file, " = %d %zu %" PRIx64 "\n", -rc, rc ? 0 : out->count, rc ? 0 : rec_hash(out));
	return rc;
}

void __wrap_gp_sched_set_policy(struct gp_sched *s, const struct gp_be_policy *be,
				const struct gp_lc_policy *lc)
{
	__real_gp_sched_set_policy(s, be, lc);
	if (recording())
		fprintf(file, "P %zu %s %s\n", number_of(s), rec_be_name(be), rec_lc_name(lc));
}

int __wrap_gp_sched_set_share(struct gp_sched *s, uint64_t quantum_ns, uint32_t be_min_pct)
{
	if (recording())
		fprintf(file, "S %zu %" PRIu64 " %u\n", number_of(s), quantum_ns, be_min_pct);
	return __real_gp_sched_set_share(s, quantum_ns, be_min_pct);
}

void __wrap_gp_sched_set_hold_piece(struct gp_sched *s, uint64_t piece_ns)
{
	if (recording())
		fprintf(file, "H %zu %" PRIu64 "\n", number_of(s), piece_ns);
	__real_gp_sched_set_hold_piece(s, piece_ns);
}
