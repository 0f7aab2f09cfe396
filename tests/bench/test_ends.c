// SPDX-License-Identifier: Apache-2.0
/* A client that waits for the ends of others' requests: their order, and the last one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/gpu/ends.h"
#include "tests/common/gp_test.h"

#define ME 3
#define A (1u << 0)
#define B (1u << 5)

struct fix {
	char folder[32], path[64];
	struct gp_ends ends;
	int teller;
};

static void begin(struct fix *f, uint64_t after)
{
	char prefix[48];

	strcpy(f->folder, "/tmp/gp-ends-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(prefix, sizeof(prefix), "%s/ends", f->folder);
	gp_ends_path(prefix, ME, f->path, sizeof(f->path));
	assert_int_equal(mkfifo(f->path, 0600), 0);
	f->teller = gp_ends_teller(f->path);
	assert_true(f->teller >= 0);
	assert_int_equal(gp_ends_listen(&f->ends, f->path, after), 0);
}

static void end(struct fix *f)
{
	close(f->teller);
	close(f->ends.fd);
	unlink(f->path);
	rmdir(f->folder);
}

static void tell(struct fix *f, unsigned int who, uint64_t end_ns)
{
	assert_int_equal(gp_ends_tell(f->teller, who, end_ns), 0);
}

static void waits_for_all(void **state)
{
	struct fix f;

	begin(&f, A | B);
	tell(&f, 0, 10);
	tell(&f, 0, 20);
	tell(&f, 5, 15);
	tell(&f, 5, 30);
	tell(&f, 0, 40);
	/* Two ends of client 0 count as one. The last end of all is the time. */
	assert_int_equal(gp_ends_next(&f.ends), 20);
	assert_int_equal(gp_ends_next(&f.ends), 40);
	end(&f);
}

static void is_over(void **state)
{
	struct fix f;

	begin(&f, A | B);
	tell(&f, 5, 10);
	tell(&f, 5, GP_ENDS_NO_MORE);
	tell(&f, 0, 20);
	tell(&f, 0, 30);
	assert_int_equal(gp_ends_next(&f.ends), 20);
	/* One client has no more, so the other's ends do not matter. */
	assert_true(gp_ends_next(&f.ends) == GP_ENDS_NO_MORE);
	assert_true(gp_ends_next(&f.ends) == GP_ENDS_NO_MORE);
	end(&f);
}

static void has_a_limit(void **state)
{
	struct fix f;
	size_t told = 0;

	begin(&f, A);
	while (!gp_ends_tell(f.teller, 0, ++told))
		;
	assert_int_equal(gp_ends_tell(f.teller, 0, 1), -EAGAIN);
	/* A pipe of the default size holds 4096 entries. */
	assert_true(told > 4096);
	for (size_t i = 1; i < told; i++)
		assert_int_equal(gp_ends_next(&f.ends), i);
	end(&f);
	assert_true(gp_ends_listen(&f.ends, "/none/such", A) == -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_all),
		cmocka_unit_test(is_over),
		cmocka_unit_test(has_a_limit),
	};

	return gp_run_tests(tests);
}
